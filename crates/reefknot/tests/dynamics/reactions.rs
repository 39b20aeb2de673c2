//! What holds a thing at rest carries its weight.

use super::common::*;

/// Each begins at rest in every step, and long steps lead to equilibrium.
const STATIC: &str = "method = { integrator = { kind = \"newton\", iterations = 100 }, quasi_static = true, tolerance = \"1e-10 m\" }\n";

/// Takes long steps until nothing moves, and compares the force of the only pin with the weight.
fn carries_its_weight(text: &str) {
    let mut thing = Simulation::new(STATIC, 1.0, text);
    thing.steps(9);
    let before = thing.state.clone();
    let step = thing.step();
    let moved = before.positions.iter().zip(&thing.state.positions);
    let moved = moved.map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
    assert!(moved < 1e-6, "it still moves by {moved} m\n{text}");
    let (force, weight) = (step.pin_force(&thing.model, 0), thing.weight());
    assert!(
        (force + weight).length() < 1e-6 * weight.length(),
        "{force} N against {weight} N\n{text}"
    );
    // It is deformed by its weight, else there is nothing to test; only props are not.
    let elastic = step.report.energy_j.elastic;
    assert!(elastic > 0.0 || text.contains("\"rigid\""), "{text}");
}

const UPRIGHT: &str = "rotation = { axis = [1, 0, 0], angle = \"90 deg\" }\n";

#[test]
fn cloth_hangs_with_its_weight() {
    for models in [
        ("stvk", "hinge"),
        ("neo-hookean", "plate"),
        ("corotated", "hinge"),
        ("springs", "hinge"),
    ] {
        carries_its_weight(&format!(
            "[material.cloth]\ndensity = 1000\nyoung = 1e6\npoisson = 0.3\nthickness = \"2 mm\"\nmembrane_model = \"{}\"\nbending_model = \"{}\"\n[object.cloth]\nkind = \"cloth-grid\"\nsize = [0.4, 0.3]\nvertices = [5, 4]\nmaterial = \"cloth\"\n{UPRIGHT}[pin.top]\nobject = \"cloth\"\nat = {{ group = \"top\" }}\n",
            models.0, models.1
        ));
    }
}

#[test]
fn a_rod_hangs_with_its_weight_and_a_cantilever_too() {
    let rod = "[object.rod]\nkind = \"rod\"\nlength = 0.5\nvertices = 11\nradius = 0.01\nmaterial = \"stuff\"\n";
    carries_its_weight(&format!(
        "{rod}rotation = {{ axis = [0, 1, 0], angle = \"90 deg\" }}\n[pin.top]\nobject = \"rod\"\nat = {{ end = \"first\" }}\n"
    ));
    carries_its_weight(&format!(
        "{rod}[clamp.wall]\nobject = \"rod\"\nend = \"first\"\n"
    ));
}

#[test]
fn a_solid_hangs_with_its_weight() {
    for law in [
        "corotated",
        "fixed-corotated",
        "neo-hookean",
        "stable-neo-hookean",
    ] {
        carries_its_weight(&format!(
            "[material.solid]\ndensity = 1000\nyoung = 1e6\npoisson = 0.3\nsolid_model = \"{law}\"\n[object.solid]\nkind = \"solid-box\"\nsize = [0.2, 0.2, 0.3]\ncells = [2, 2, 3]\nmaterial = \"solid\"\n[pin.top]\nobject = \"solid\"\nat = {{ side = {{ point = [0, 0, 0.14], normal = [0, 0, 1] }} }}\n"
        ));
    }
}

#[test]
fn an_embedded_surface_hangs_with_its_weight() {
    carries_its_weight(
        "[object.toy]\nkind = \"embedded\"\nsurface = { kind = \"sphere\", radius = 0.1, edge = 0.05 }\ncells = 4\nmaterial = \"stuff\"\n[pin.top]\nobject = \"toy\"\nat = { side = { point = [0, 0, 0.08], normal = [0, 0, 1] } }\n",
    );
}

#[test]
fn a_prop_is_held_with_its_weight() {
    carries_its_weight(
        "[object.prop]\nkind = \"rigid\"\nshape = { kind = \"box\", size = [0.1, 0.2, 0.3] }\nmaterial = \"stuff\"\n[pin.top]\nobject = \"prop\"\nat = { side = { point = [0, 0, 0.1], normal = [0, 0, 1] } }\n",
    );
}
