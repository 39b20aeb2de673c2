//! The pin force on an object at rest equals its weight.

use super::common::*;

/// Quasi-static steps: velocities are reset in each, so that long steps reach equilibrium.
const STATIC: &str = "method = { integrator = { kind = \"newton\", iterations = 100 }, \
    quasi_static = true, tolerance = \"1e-10 m\" }\n";

/// Takes long steps to equilibrium, and asserts that the force of the only pin equals the weight.
fn assert_carries_weight(text: &str) {
    let mut simulation = Simulation::new(STATIC, 1.0, text);
    simulation.steps(9);
    let before = simulation.state.clone();
    let step = simulation.step();
    let moved = before.positions.iter().zip(&simulation.state.positions);
    let moved = moved.map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
    assert!(moved < 1e-6, "it still moves by {moved} m\n{text}");
    let (force, weight) = (step.pin_force(&simulation.model, 0), simulation.weight());
    assert!(
        (force + weight).length() < 1e-6 * weight.length(),
        "{force} N against {weight} N\n{text}"
    );
    // All objects but props are deformed by their weight.
    let elastic = step.report.energy_j.elastic;
    assert!(elastic > 0.0 || text.contains("\"rigid\""), "{text}");
}

const UPRIGHT: &str = "rotation = { axis = [1, 0, 0], angle = \"90 deg\" }\n";

#[test]
fn the_pin_force_on_hanging_cloth_is_its_weight() {
    for models in [
        ("stvk", "hinge"),
        ("neo-hookean", "plate"),
        ("corotated", "hinge"),
        ("springs", "hinge"),
    ] {
        assert_carries_weight(&format!(
            "[material.cloth]\ndensity = 1000\nyoung = 1e6\npoisson = 0.3\nthickness = \"2 mm\"\n\
                membrane_model = \"{}\"\nbending_model = \"{}\"\n[object.cloth]\n\
                kind = \"cloth-grid\"\nsize = [0.4, 0.3]\nvertices = [5, 4]\nmaterial = \"cloth\"\n\
                {UPRIGHT}[pin.top]\nobject = \"cloth\"\nat = {{ group = \"top\" }}\n",
            models.0, models.1
        ));
    }
}

#[test]
fn the_force_on_a_hanging_rod_and_on_a_cantilever_is_its_weight() {
    let rod = "[object.rod]\nkind = \"rod\"\nlength = 0.5\nvertices = 11\nradius = 0.01\n\
        material = \"stuff\"\n";
    assert_carries_weight(&format!(
        "{rod}rotation = {{ axis = [0, 1, 0], angle = \"90 deg\" }}\n[pin.top]\nobject = \"rod\"\n\
            at = {{ end = \"first\" }}\n"
    ));
    assert_carries_weight(&format!(
        "{rod}[clamp.wall]\nobject = \"rod\"\nend = \"first\"\n"
    ));
}

#[test]
fn the_pin_force_on_a_hanging_solid_is_its_weight() {
    for law in [
        "corotated",
        "fixed-corotated",
        "neo-hookean",
        "stable-neo-hookean",
    ] {
        assert_carries_weight(&format!(
            "[material.solid]\ndensity = 1000\nyoung = 1e6\npoisson = 0.3\n\
                solid_model = \"{law}\"\n[object.solid]\nkind = \"solid-box\"\n\
                size = [0.2, 0.2, 0.3]\ncells = [2, 2, 3]\nmaterial = \"solid\"\n[pin.top]\n\
                object = \"solid\"\n\
                at = {{ side = {{ point = [0, 0, 0.14], normal = [0, 0, 1] }} }}\n"
        ));
    }
}

#[test]
fn the_pin_force_on_a_hanging_embedded_surface_is_its_weight() {
    assert_carries_weight(
        "[object.toy]\nkind = \"embedded\"\n\
            surface = { kind = \"sphere\", radius = 0.1, edge = 0.05 }\ncells = 4\n\
            material = \"stuff\"\n[pin.top]\nobject = \"toy\"\n\
            at = { side = { point = [0, 0, 0.08], normal = [0, 0, 1] } }\n",
    );
}

#[test]
fn the_pin_force_on_a_prop_is_its_weight() {
    assert_carries_weight(
        "[object.prop]\nkind = \"rigid\"\nshape = { kind = \"box\", size = [0.1, 0.2, 0.3] }\n\
            material = \"stuff\"\n[pin.top]\nobject = \"prop\"\n\
            at = { side = { point = [0, 0, 0.1], normal = [0, 0, 1] } }\n",
    );
}
