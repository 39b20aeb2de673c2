//! Shipped scenes with contact at their quick size: intersections, errors, and the same bits on two
//! threads. `tests/validation_scenes.rs` compares contact with mechanics.

#[cfg(test)]
mod forces;
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
