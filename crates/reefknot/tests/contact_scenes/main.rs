//! Scenes with contact. Those of `scenes/validation` are compared with mechanics: expected values
//! are closed forms or solutions of the equations, tolerances are guarantees for users. Shipped
//! scenes at their quick size are tested for intersections, errors, and the same bits on two
//! threads.

#[cfg(test)]
mod rods;

#[cfg(test)]
mod tests {
    use reefknot_contact::solve::table::SOLVERS;
    use reefknot_sim::check;
    use reefknot_sim::integrate::{Scratch, StepOptions};
    use reefknot_sim::model::Model;
    use reefknot_sim::probe::ProbeSeries;
    use reefknot_sim::scene::{Scene, SceneRequest, shipped};
    use reefknot_sim::state::State;
    use reefknot_sim::step::{Step, step_with};
    use serde_json::Value;

    pub(crate) fn build(name: &str, sets: &[&str]) -> Model {
        build_size(name, sets, true)
    }

    pub(crate) fn build_size(name: &str, sets: &[&str], is_quick: bool) -> Model {
        let scene = Scene::read(&SceneRequest {
            text: shipped::find(name).unwrap().text.into(),
            quick: is_quick,
            sets: sets.iter().map(|set| (*set).to_owned()).collect(),
            ..SceneRequest::default()
        });
        let scene = scene.unwrap_or_else(|problems| panic!("{problems}"));
        Model::build(&scene).unwrap_or_else(|problems| panic!("{problems}"))
    }

    /// Result of a run, with its largest number of contacts and largest errors.
    pub(crate) struct Outcome {
        pub(crate) probes: Value,
        pub(crate) state: State,
        pub(crate) contacts: u64,
        pub(crate) errors: [f64; 2],
    }

    /// Runs a scene, with an independent test for intersections in every step.
    pub(crate) fn run(name: &str, sets: &[&str]) -> Outcome {
        let model = build(name, sets);
        assert_eq!(check::intersections(&model), Vec::<String>::new(), "{name}");
        let mut scratch = Scratch::new(&model);
        let mut series = ProbeSeries::new(&model.probes, model.clock.h(), &model.method.integrator);
        let row = |state: &_, step: Option<&Step>| -> Vec<f64> {
            let values = model.probes.iter();
            values
                .flat_map(|probe| probe.values(&model, state, step))
                .collect()
        };
        series.add(&row(&model.start, None));
        let mut outcome = Outcome {
            probes: Value::Null,
            state: model.start.clone(),
            contacts: 0,
            errors: [0.0; 2],
        };
        while outcome.state.step < model.clock.steps() {
            let step = step_with(&model, &outcome.state, StepOptions::TEST, &mut scratch)
                .0
                .unwrap_or_else(|error| panic!("{name} {sets:?}: {error}"));
            let report = &step.report;
            assert_eq!(
                report.intersections,
                Some(0),
                "{name}: {:?}",
                step.violation
            );
            outcome.contacts = outcome.contacts.max(report.contacts);
            let errors = [report.contact_error_m, report.momentum_error_m];
            for (largest, error) in outcome.errors.iter_mut().zip(errors) {
                *largest = largest.max(error.unwrap_or(0.0));
            }
            series.add(&row(&step.to, Some(&step)));
            outcome.state = step.to;
        }
        outcome.probes = series.summary();
        outcome
    }

    pub(crate) fn probe(outcome: &Outcome, name: &str) -> f64 {
        outcome.probes[name].as_f64().unwrap_or(f64::NAN)
    }

    pub(crate) fn assert_close(outcome: &Outcome, name: &str, expected: f64, within: f64) {
        let value = probe(outcome, name);
        assert!(
            (value / expected - 1.0).abs() <= within,
            "{name} is {value}, expected {expected} within {within}"
        );
    }

    #[test]
    fn validation_incline_slides_by_coulombs_law_and_sticks_above_its_limit() {
        // g (sin α − μ cos α) t²/2; the tolerance covers a·t·h/2 and the tolerance of the scene.
        let sets = ["time.duration=\"1 s\""];
        let slides = run("validation/incline", &sets);
        assert_close(&slides, "distance", 1.6029, 5e-3);
        assert_close(&slides, "speed", 3.2058, 5e-3);
        for body in ["cube", "cloth", "rod"] {
            let body = format!("parameters.body=\"{body}\"");
            let below = ["time.duration=\"1 s\"", &body, "parameters.mu=0.5745"];
            let speed = probe(&run("validation/incline", &below), "speed");
            assert!(speed > 0.02, "0.5% below tan 30° it slides: {speed}");
            let above = ["time.duration=\"3 s\"", &body, "parameters.mu=0.5802"];
            let creep = probe(&run("validation/incline", &above), "creep");
            assert!(creep < 2e-6, "0.5% above it rests: {creep} m in 2 s");
        }
    }

    #[test]
    fn validation_slide_to_stop_has_the_same_distance_in_any_direction() {
        for direction in [0, 33] {
            let direction = format!("parameters.direction_deg={direction}");
            let stopped = run("validation/slide-to-stop", &[&direction]);
            assert_close(&stopped, "distance", 0.67958, 5e-3);
            assert_close(&stopped, "time", 0.67958, 5e-3);
            assert!(probe(&stopped, "sideways").abs() < 1e-4);
        }
    }

    #[test]
    fn validation_puck_turns_downhill() {
        let puck = run("validation/puck", &[]);
        assert_close(&puck, "x", 0.19840, 1e-2);
        assert_close(&puck, "y", 0.44412, 1e-2);
        assert_close(&puck, "final_speed", 0.5, 1e-2);
    }

    #[test]
    fn validation_ball_rolls_with_five_sevenths_of_its_speed() {
        assert_close(
            &run("validation/ball-roll", &[]),
            "final_speed",
            5.0 / 7.0,
            2e-2,
        );
        let other = ["parameters.mu=0.1", "parameters.radius=\"2 cm\""];
        assert_close(
            &run("validation/ball-roll", &other),
            "final_speed",
            5.0 / 7.0,
            2e-2,
        );
    }

    #[test]
    fn validation_two_cards_stand_above_half_the_tangent_of_their_angle() {
        for angle in [15.0_f64, 30.0] {
            let limit = 0.5 * angle.to_radians().tan();
            let stands = |part: f64| {
                let mu = format!("parameters.mu={}", part * limit);
                let angle = format!("parameters.half_angle_deg={angle}");
                probe(&run("validation/two-cards", &[&mu, &angle]), "stands")
            };
            assert_eq!((stands(0.97), stands(1.03)), (0.0, 1.0), "{angle}");
        }
    }

    #[test]
    fn validation_block_topples_at_the_angle_of_its_diagonal() {
        assert_close(
            &run("validation/block-topple", &[]),
            "topple_angle_deg",
            26.565,
            1e-2,
        );
    }

    #[test]
    fn validation_ladder_slides_at_the_critical_angle() {
        assert_close(&run("validation/ladder", &[]), "min_angle_deg", 48.99, 2e-2);
    }

    #[test]
    fn validation_hertz_force_of_a_soft_ball() {
        assert_close(&run("validation/hertz", &[]), "force", 11.24, 5e-2);
    }

    #[test]
    fn validation_ball_bounces_to_the_squared_restitution_times_its_height() {
        assert_close(&run("validation/bounce", &[]), "h1", 0.49, 2e-2);
        let low = [
            "parameters.e=0.3",
            "parameters.h0=\"0.5 m\"",
            "parameters.h=\"2 ms\"",
        ];
        assert_close(&run("validation/bounce", &low), "h1", 0.045, 2e-2);
    }

    #[test]
    fn validation_colliding_bodies_conserve_momentum() {
        let drift = probe(&run("validation/collide", &[]), "linear_drift");
        assert!(drift < 1e-10, "{drift}");
    }

    #[test]
    fn validation_contact_forces_of_all_kinds_of_bodies_equal_their_weight() {
        let resting = run("validation/resting-weight", &["time.duration=\"1 s\""]);
        for name in [
            "force_over_weight",
            "cloth",
            "solid",
            "embedded",
            "rigid",
            "ball",
            "rod",
        ] {
            assert_close(&resting, name, 1.0, 1e-3);
        }
    }

    #[test]
    fn validation_grip_does_not_slip() {
        let sets = ["time.duration=\"2 s\"", "parameters.h=\"10 ms\""];
        let slip = probe(&run("validation/grip", &sets), "slip");
        assert!(slip < 1e-5, "{slip} m in a second");
    }

    /// The shipped scenes, shortened where the quick size is more than a test needs.
    const SCENES: [(&str, &[&str]); 9] = [
        ("drape", &["time.duration=\"0.7 s\""]),
        ("cards", &["time.duration=\"0.1 s\""]),
        ("drag", &["time.duration=\"0.6 s\""]),
        ("box-and-cone", &["time.duration=\"0.5 s\""]),
        ("pinch", &["time.duration=\"0.6 s\""]),
        ("bunnies", &["time.duration=\"0.4 s\""]),
        ("pile", &["time.duration=\"0.4 s\""]),
        ("grip", &["time.duration=\"0.5 s\""]),
        ("stack", &["time.duration=\"0.2 s\""]),
    ];

    #[test]
    fn shipped_scenes_neither_intersect_nor_violate_the_contact_law() {
        for (name, sets) in SCENES {
            let outcome = run(name, sets);
            assert!(outcome.contacts > 0, "{name} has contacts");
            let [contact, momentum] = outcome.errors;
            assert!(
                contact < 1e-5 && momentum < 1e-5,
                "{name}: {contact} {momentum}"
            );
        }
    }

    /// Scenes for all solvers, with durations until most contacts exist.
    const SOLVER_SCENES: [(&str, &str); 6] = [
        ("drape", "0.45 s"),
        ("grip", "0.3 s"),
        ("cards", "0.1 s"),
        ("stack", "0.1 s"),
        ("belt", "0.2 s"),
        ("pinch", "0.6 s"),
    ];

    #[test]
    fn scenes_with_every_solver_neither_intersect_nor_violate_the_contact_law() {
        // All other tests use the default solver.
        for entry in SOLVERS.iter().filter(|entry| entry.name != "admm") {
            for (name, duration) in SOLVER_SCENES {
                let solver = format!("method.solver=\"{}\"", entry.name);
                let duration = format!("time.duration=\"{duration}\"");
                let outcome = run(name, &[&solver, &duration]);
                assert!(outcome.contacts > 0, "{name} has contacts");
                let [contact, momentum] = outcome.errors;
                // Ten times the tolerance: steps of Gauss-Seidel are accepted without convergence.
                let limit = 1e-5;
                let found = format!("{} {name}: {contact} m, {momentum} m", entry.name);
                assert!(contact < limit && momentum < limit, "{found}");
            }
        }
    }

    /// Regression: the cloth was held at all four corners, and hung above the ground.
    #[test]
    fn a_dragged_cloth_lies_on_the_ground() {
        let dragged = run("drag", &["time.duration=\"1.2 s\""]);
        let positions = &dragged.state.positions;
        let lying = positions.iter().filter(|point| point.z < 4e-3).count();
        assert!(2 * lying > positions.len(), "{lying} vertices");
    }

    #[test]
    fn shipped_scenes_start_without_intersections_at_their_full_size() {
        for (name, _) in SCENES {
            let found = check::intersections(&build_size(name, &[], false));
            assert!(found.is_empty(), "{name}: {found:?}");
        }
    }

    #[test]
    fn scenes_with_a_thousand_contacts_have_the_same_bits_on_two_threads() {
        let scenes: [(&str, &[&str]); 3] = [
            ("drape", &["parameters.n=36", "time.duration=\"0.32 s\""]),
            (
                "pile",
                &[
                    "parameters.side=6",
                    "parameters.layers=6",
                    "time.duration=\"0.16 s\"",
                ],
            ),
            // 36 stacks of five.
            (
                "stack",
                &[
                    "object.box.copies.array.count=[6, 6, 5]",
                    "object.box.copies.array.spacing=[0.2, 0.2, \"= $size + 1.01*$skin\"]",
                    "time.duration=\"0.1 s\"",
                ],
            ),
        ];
        for (name, sets) in scenes {
            let on = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
                pool.unwrap().install(|| run(name, sets))
            };
            let (one, two) = (on(1), on(2));
            assert!(one.contacts > 1000, "{name}: {}", one.contacts);
            assert_eq!(one.state.hash(), two.state.hash(), "{name}");
        }
    }

    #[test]
    fn a_house_of_cards_falls_with_little_friction() {
        let fallen = run("cards", &["parameters.mu=0.2"]);
        assert_eq!(probe(&fallen, "stands"), 0.0);
    }

    #[test]
    fn intersections_at_the_start_are_reported_with_both_objects() {
        let model = build("drape", &["object.cloth.position=[0, 0, 0.5]"]);
        let found = check::intersections(&model);
        assert!(
            found[0].contains("`cloth`") && found[0].contains("`ball`"),
            "{found:?}"
        );
        let crossing = build(
            "box-and-cone",
            &["collider.box.position=[-0.28, 0.05, 0.4]"],
        );
        assert!(!check::intersections(&crossing).is_empty());
    }

    #[test]
    fn a_step_without_room_between_colliders_fails_with_the_object() {
        let model = build(
            "pinch",
            &["parameters.room=-1", "parameters.n=10", "method.halvings=1"],
        );
        let mut scratch = Scratch::new(&model);
        let mut state = model.start.clone();
        let error = loop {
            match step_with(&model, &state, StepOptions::TEST, &mut scratch).0 {
                Ok(step) => state = step.to,
                Err(error) => break error.to_string(),
            }
            assert!(state.step < model.clock.steps(), "no step failed");
        };
        assert!(
            error.contains("`cloth`") && error.contains("no room"),
            "{error}"
        );
    }
}
