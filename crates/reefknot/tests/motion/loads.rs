//! Loads, and initial velocities.

use glam::DVec3;

use super::common::*;

/// Total force, and total moment about the mean of the loaded vertices.
fn resultant(simulation: &Simulation) -> (DVec3, DVec3) {
    let forces = simulation.load_forces();
    let place = |node: usize| simulation.state.positions[node];
    let middle = forces.iter().map(|(node, _)| place(*node)).sum::<DVec3>() / forces.len() as f64;
    let force = forces.iter().map(|(_, force)| *force).sum();
    let moment = forces
        .iter()
        .map(|(node, force)| (place(*node) - middle).cross(*force))
        .sum();
    (force, moment)
}

#[test]
fn a_load_ramps_up_to_its_force_and_moment_and_stops() {
    let mut sheet = Simulation::new(&format!(
        "{SHEET}[load.it]\nobject = \"sheet\"\nat = {{ vertices = [0, 4, 20] }}\n\
            force = [0, 0.3, 0.6]\nmoment = [0.01, 0.02, -0.01]\nstart = 0.1\nramp = 0.2\n\
            stop = 0.5\n"
    ));
    let full = (DVec3::new(0.0, 0.3, 0.6), DVec3::new(0.01, 0.02, -0.01));
    assert!(sheet.load_forces().is_empty());
    sheet.balanced_steps(10);
    // A step uses the load at its end: a twentieth after 10 ms.
    let (force, moment) = resultant(&sheet);
    assert!(close(force, full.0 / 20.0, 1e-14) && close(moment, full.1 / 20.0, 1e-14));
    sheet.balanced_steps(9);
    let (force, moment) = resultant(&sheet);
    assert!(close(force, full.0 / 2.0, 1e-12) && close(moment, full.1 / 2.0, 1e-12));
    sheet.balanced_steps(20);
    let (force, moment) = resultant(&sheet);
    assert!(close(force, full.0, 1e-12) && close(moment, full.1, 1e-12));
    sheet.balanced_steps(11);
    assert!(sheet.load_forces().is_empty());
}

/// A force on a free weightless sheet changes its momentum by F t.
#[test]
fn a_load_changes_the_momentum_by_its_impulse() {
    let text = format!(
        "{SHEET}[load.it]\nobject = \"sheet\"\nat = {{ group = \"top\" }}\nforce = [0.1, 0, 0.2]\n"
    );
    let mut sheet = Simulation::new(&text);
    sheet.model.gravity = DVec3::ZERO;
    sheet.balanced_steps(50);
    let nodes = sheet.model.masses.iter().zip(&sheet.state.velocities);
    let momentum: DVec3 = nodes.map(|(mass, velocity)| *mass * *velocity).sum();
    assert!(
        close(momentum, DVec3::new(0.05, 0.0, 0.1), 1e-12),
        "{momentum}"
    );
}

/// L = I ω with the moments of inertia m a²/12 and m a²/6 of a square plate of side a. Lumped
/// masses of n × n cells increase them by the fraction 2/n².
#[test]
fn an_initial_angular_velocity_has_the_angular_momentum_of_a_plate() {
    let sheet = Simulation::new(&format!(
        "{SHEET}velocity = [5, 0, 0]\nangular_velocity = [3, 0, 2]\n"
    ));
    let model = &sheet.model;
    let middle = DVec3::Z;
    let momentum: DVec3 = (0..25)
        .map(|node| {
            let arm = model.start.positions[node] - middle;
            model.masses[node] * arm.cross(model.start.velocities[node])
        })
        .sum();
    let mass = 0.16;
    let about_x = mass * 0.16 / 12.0 * (1.0 + 2.0 / 16.0);
    let expected = DVec3::new(3.0 * about_x, 0.0, 2.0 * 2.0 * about_x);
    assert!(
        close(momentum, expected, 1e-2 * expected.length()),
        "{momentum} against {expected}"
    );
}
