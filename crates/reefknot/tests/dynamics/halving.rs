//! Steps that fail as a whole and succeed in parts.

use glam::DVec3;
use reefknot::integrate;

use super::common::*;

/// A rod that lies flat, held at one end, and falls far within a step: Newton's method needs more iterations for a long step.
const FALLING: &str = "
[object.rod]
kind = \"rod\"
length = 0.5
vertices = 11
radius = 0.004
material = \"stuff\"
[clamp.end]
object = \"rod\"
end = \"first\"
";

/// The method with so many iterations and halvings at most.
fn few(iterations: usize, halvings: usize) -> String {
    format!(
        "method = {{ integrator = {{ kind = \"newton\", iterations = {iterations} }}, tolerance = \"1e-6 m\", halvings = {halvings}, converge = true }}\n"
    )
}

fn tip(simulation: &Simulation) -> DVec3 {
    simulation.state.positions[10]
}

#[test]
fn a_step_that_does_not_converge_is_taken_in_parts() {
    let (h, steps) = (0.05, 10);
    // As a whole it fails, and says what could be done.
    let mut whole = Simulation::new(&few(ITERATIONS, 0), h, FALLING);
    let failed = (0..steps).find_map(|_| {
        let step = integrate::step(&whole.model, &whole.state, &mut whole.scratch);
        match step {
            Ok(step) => {
                whole.state = step.to;
                None
            }
            Err(error) => Some(error),
        }
    });
    let message = failed.expect("each step converges at once").to_string();
    assert!(message.contains("`iterations`"), "{message}");

    let mut halved = Simulation::new(&few(ITERATIONS, 6), h, FALLING);
    let mut count = 0;
    for _ in 0..steps {
        let before = halved.state.step;
        let report = halved.step().report;
        count += u64::from(report.halvings > 0);
        assert_eq!((report.step, halved.state.step), (before + 1, before + 1));
    }
    assert!(
        count > 0 && count < steps,
        "{count} of {steps} steps were halved"
    );

    // Enough iterations for all steps, and half of the time step: the halves are somewhere between.
    let mut exact = Simulation::new(&few(200, 0), h, FALLING);
    exact.steps(steps as usize);
    let mut shorter = Simulation::new(&few(200, 0), h / 2.0, FALLING);
    shorter.steps(2 * steps as usize);
    let apart = tip(&exact).distance(tip(&shorter));
    assert!(tip(&halved).distance(tip(&shorter)) < 1.5 * apart);
    assert!(tip(&halved).distance(tip(&exact)) < 1.5 * apart);
    assert!(apart > 1e-3, "the test tells nothing: {apart} m");
}

/// Newton's method starts anew with each part, so a step whose both halves succeed at once is two steps of half the length,
/// but for rounding in times.
#[test]
fn halves_are_steps_of_half_the_length() {
    let mut halved = Simulation::new(&few(ITERATIONS, 6), 0.05, FALLING);
    let mut shorter = Simulation::new(&few(200, 0), 0.025, FALLING);
    let halvings = (0..10).find_map(|_| {
        let from = halved.state.clone();
        let report = halved.step().report;
        (report.halvings == 1).then_some(from)
    });
    let from = halvings.expect("no step was halved just once");
    shorter.state = from;
    shorter.state.step *= 2;
    shorter.steps(2);
    for (one, two) in halved.state.positions.iter().zip(&shorter.state.positions) {
        assert!(one.distance(*two) < 1e-12, "{one} against {two}");
    }
}

/// A force beyond numbers leaves nothing to search for: each part of the step gives up at once, so that it takes no longer
/// with a thousand times the iterations.
#[test]
fn newtons_method_gives_up_where_nothing_is_better() {
    let load = "[load.tip]\nobject = \"rod\"\nat = { end = \"last\" }\nforce = [1e308, 0, 0]\n";
    let text = format!("{FALLING}{load}");
    let seconds = |iterations: usize| {
        let mut rod = Simulation::new(&few(iterations, 6), 0.05, &text);
        let start = std::time::Instant::now();
        assert!(integrate::step(&rod.model, &rod.state, &mut rod.scratch).is_err());
        start.elapsed().as_secs_f64()
    };
    let (short, long) = (seconds(10), seconds(10_000));
    // A busy machine may stop either for a while.
    assert!(long < 50.0 * short + 0.2, "{long} s against {short} s");
}

const ITERATIONS: usize = 6;
