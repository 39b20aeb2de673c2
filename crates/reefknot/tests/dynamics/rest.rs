//! Rest states of rods.

use glam::DVec3;

use super::common::*;

/// A held edge is rigid, so the strains next to it are integrated over half the length. The rest
/// angles must still be those of the start.
#[test]
fn a_curved_rod_with_held_ends_stays_at_rest() {
    let helix = "[object.rod]\nkind = \"rod-helix\"\nhelix_radius = 0.05\npitch = 0.1\n\
        length = 0.6\nvertices = 13\nradius = [0.01, 0.005]\nmaterial = \"stuff\"\n";
    let clamp = |end: &str| format!("[clamp.{end}]\nobject = \"rod\"\nend = \"{end}\"\n");
    let one = format!("{helix}{}", clamp("first"));
    let both = format!("{one}{}", clamp("last"));
    let curly = "[object.hair]\nkind = \"groom\"\non = \"head\"\ncount = 9\nlength = 0.06\n\
        curl_radius = 0.005\nvertices = 9\nradius = 0.001\nmaterial = \"stuff\"\n[collider.head]\n\
        kind = \"sphere\"\nradius = 0.1\nedge = 0.05\n";
    for text in [helix, &one, &both, curly] {
        let mut rod = Simulation::new(NEWTON, 5e-3, text);
        rod.model.gravity = DVec3::ZERO;
        rod.steps(20);
        for (start, now) in rod.model.start.positions.iter().zip(&rod.state.positions) {
            assert!(start.distance(*now) < 1e-9, "{now} from {start}\n{text}");
        }
    }
}

/// A straight rod with a natural curvature of 5 1/m bends to an arc of radius 0.2 m, up to the
/// clamp.
#[test]
fn a_straight_rod_with_natural_curvature_bends_to_an_arc() {
    let text = "[object.rod]\nkind = \"rod\"\nlength = 0.5\nvertices = 26\nradius = 0.01\n\
        natural_curvature = [5, 0]\nmaterial = \"stuff\"\n[clamp.end]\nobject = \"rod\"\n\
        end = \"first\"\n";
    let method =
        "method = { integrator = { kind = \"newton\", iterations = 200 }, quasi_static = true }\n";
    let mut rod = Simulation::new(method, 1.0, text);
    rod.model.gravity = DVec3::ZERO;
    rod.steps(10);
    let x = &rod.state.positions;
    let along = |edge: usize| (x[edge + 1] - x[edge]).normalize();
    // From the rigid edge to the middle of the last: 0.47 m and 2.35 rad.
    let angle: f64 = (0..24)
        .map(|edge| along(edge).angle_between(along(edge + 1)))
        .sum();
    assert!((angle / 2.35 - 1.0).abs() < 2e-3, "{angle}");
    let energy = reefknot_sim::certify::energies(&rod.model, &rod.state).elastic;
    assert!(energy < 1e-9, "{energy} J");
}
