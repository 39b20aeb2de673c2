//! Halving of steps without convergence.

use glam::DVec3;
use reefknot_sim::step::step;

use super::common::*;

/// A horizontal rod, clamped at one end, that falls far within a step. Newton's method needs more
/// iterations for longer steps.
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

/// Too few iterations for some steps of [`FALLING`].
const ITERATIONS: usize = 6;

/// Newton's method with limits on iterations and halvings.
fn newton(iterations: usize, halvings: usize) -> String {
    format!(
        "method = {{ integrator = {{ kind = \"newton\", iterations = {iterations} }}, \
            tolerance = \"1e-6 m\", halvings = {halvings}, converge = true }}\n"
    )
}

fn tip(simulation: &Simulation) -> DVec3 {
    simulation.state.positions[10]
}

#[test]
fn a_step_without_convergence_is_halved() {
    let (h, steps) = (0.05, 10);
    // Without halving it fails with advice.
    let mut whole = Simulation::new(&newton(ITERATIONS, 0), h, FALLING);
    let failed = (0..steps).find_map(|_| {
        let step = step(&whole.model, &whole.state, &mut whole.scratch);
        match step {
            Ok(step) => {
                whole.state = step.to;
                None
            }
            Err(error) => Some(error),
        }
    });
    let message = failed.expect("each step converges").to_string();
    assert!(message.contains("`iterations`"), "{message}");

    let mut halved = Simulation::new(&newton(ITERATIONS, 6), h, FALLING);
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

    // The result lies between those of converged steps of h and of h/2.
    let mut exact = Simulation::new(&newton(200, 0), h, FALLING);
    exact.steps(steps as usize);
    let mut shorter = Simulation::new(&newton(200, 0), h / 2.0, FALLING);
    shorter.steps(2 * steps as usize);
    let apart = tip(&exact).distance(tip(&shorter));
    assert!(tip(&halved).distance(tip(&shorter)) < 1.5 * apart);
    assert!(tip(&halved).distance(tip(&exact)) < 1.5 * apart);
    assert!(
        apart > 1e-3,
        "the time step has too little effect: {apart} m"
    );
}

/// A step that is halved once equals two steps of half the length, up to rounding of times.
#[test]
fn a_halved_step_equals_two_steps_of_half_the_length() {
    let mut halved = Simulation::new(&newton(ITERATIONS, 6), 0.05, FALLING);
    let mut shorter = Simulation::new(&newton(200, 0), 0.025, FALLING);
    let halvings = (0..10).find_map(|_| {
        let from = halved.state.clone();
        let report = halved.step().report;
        (report.halvings == 1).then_some(from)
    });
    let from = halvings.expect("no step is halved exactly once");
    shorter.state = from;
    shorter.state.step *= 2;
    shorter.steps(2);
    for (one, two) in halved.state.positions.iter().zip(&shorter.state.positions) {
        assert!(one.distance(*two) < 1e-12, "{one} against {two}");
    }
}

/// With an overflowing force the line search finds no decrease: Newton's method stops at once,
/// whatever its limit of iterations.
#[test]
fn newtons_method_stops_at_once_without_a_decrease() {
    let load = "[load.tip]\nobject = \"rod\"\nat = { end = \"last\" }\nforce = [1e308, 0, 0]\n";
    let text = format!("{FALLING}{load}");
    let seconds = |iterations: usize| {
        let mut rod = Simulation::new(&newton(iterations, 6), 0.05, &text);
        let start = std::time::Instant::now();
        assert!(step(&rod.model, &rod.state, &mut rod.scratch).is_err());
        start.elapsed().as_secs_f64()
    };
    let (short, long) = (seconds(10), seconds(10_000));
    // The limit allows for a busy machine.
    assert!(long < 50.0 * short + 0.2, "{long} s against {short} s");
}
