//! Every scene of `scenes/validation` against mechanics: beams, plates, elastica, vibrations,
//! momentum. The expected values are solutions of the equations of beams and plates, or closed
//! forms; the tolerances are guarantees for users.

#[cfg(test)]
mod tests {
    use reefknot_sim::integrate::Scratch;
    use reefknot_sim::model::Model;
    use reefknot_sim::probe::ProbeSeries;
    use reefknot_sim::scene::{Scene, SceneRequest, shipped};
    use reefknot_sim::step::{Step, step};
    use serde_json::Value;

    /// Probes of a validation scene at its quick size, with some values set.
    fn run(name: &str, sets: &[&str]) -> Value {
        simulate(name, sets).0
    }

    /// Probes of a validation scene, its last step and its model.
    fn simulate(name: &str, sets: &[&str]) -> (Value, Step, Model) {
        let scene = Scene::read(&SceneRequest {
            text: shipped::find(&format!("validation/{name}"))
                .unwrap()
                .text
                .into(),
            quick: true,
            sets: sets.iter().map(|set| (*set).to_owned()).collect(),
            ..SceneRequest::default()
        });
        let scene = scene.unwrap_or_else(|problems| panic!("{problems}"));
        let model = Model::build(&scene).unwrap_or_else(|problems| panic!("{problems}"));
        let mut scratch = Scratch::new(&model);
        let mut state = model.start.clone();
        let mut series = ProbeSeries::new(&model.probes, model.clock.h(), &model.method.integrator);
        let row = |state: &_, step: Option<&Step>| -> Vec<f64> {
            let values = model.probes.iter();
            values
                .flat_map(|probe| probe.values(&model, state, step))
                .collect()
        };
        series.add(&row(&state, None));
        let mut last = None;
        while state.step < model.clock.steps() {
            let step = step(&model, &state, &mut scratch)
                .unwrap_or_else(|error| panic!("{name} {sets:?} step {}: {error}", state.step));
            series.add(&row(&step.to, Some(&step)));
            state = step.to.clone();
            last = Some(step);
        }
        (series.summary(), last.unwrap(), model)
    }

    /// Asserts that a probe has the expected value within a relative tolerance.
    fn assert_close(probes: &Value, probe: &str, expected: f64, within: f64) {
        let value = probes[probe].as_f64().unwrap_or(f64::NAN);
        assert!(
            (value / expected - 1.0).abs() <= within,
            "{probe} is {value}, expected {expected} within {within}"
        );
    }

    #[test]
    fn validation_rod_cantilever_matches_the_heavy_elastica() {
        for (length, drop, x) in [
            (0.059662, 0.12347, 0.99125),
            (0.128538, 0.70020, 0.65635),
            (0.276926, 0.93752, 0.15922),
            (0.596618, 0.98114, 0.045986),
        ] {
            let edges = if length > 0.5 { 160 } else { 64 };
            let sets = [
                format!("parameters.L={length}"),
                format!("parameters.edges={edges}"),
            ];
            let probes = run("rod-cantilever", &[&sets[0], &sets[1]]);
            assert_close(&probes, "tip_drop_over_L", drop, 0.01);
            assert_close(&probes, "tip_x_over_L", x, 0.01);
        }
    }

    #[test]
    fn validation_rod_end_load_matches_the_elastica() {
        for (force, deflection) in [
            (1.96350e-4, 0.30172),
            (3.92699e-4, 0.49346),
            (9.81748e-4, 0.71379),
            (1.963495e-3, 0.81061),
        ] {
            let probes = run("rod-end-load", &[&format!("parameters.P={force}")]);
            assert_close(&probes, "tip_deflection_over_L", deflection, 0.005);
        }
    }

    #[test]
    fn validation_rod_rollup_closes_the_circle() {
        let probes = run("rod-rollup", &[]);
        let gap = probes["tip_to_clamp_over_L"].as_f64().unwrap();
        assert!(gap < 0.01, "{gap}");
    }

    #[test]
    fn validation_rod_elastica_has_deflection_and_force_of_theory() {
        for (chord, deflection, force) in [
            (0.969731, 0.10971, 1.01540),
            (0.741020, 0.29660, 1.15172),
            (0.348989, 0.39577, 1.51839),
        ] {
            let probes = run(
                "rod-elastica",
                &[&format!("parameters.chord_over_L={chord}")],
            );
            assert_close(&probes, "mid_deflection_over_L", deflection, 0.01);
            assert_close(&probes, "force_over_critical", force, 0.01);
        }
    }

    /// Asserts that a scene buckles above a critical value of a parameter, and not below.
    fn assert_critical(name: &str, parameter: &str, sets: &[&str], critical: f64, within: f64) {
        for (part, expected) in [(1.0 - within, 0), (1.0 + within, 1)] {
            let set = format!("parameters.{parameter}={}", critical * part);
            let sets: Vec<&str> = sets.iter().copied().chain([set.as_str()]).collect();
            let probes = run(name, &sets);
            assert_eq!(probes["buckled"], expected, "{name} {sets:?}");
        }
    }

    #[test]
    fn validation_rod_twist_buckles_at_the_critical_turn() {
        let turn = std::f64::consts::TAU;
        assert_critical(
            "rod-twist",
            "turns",
            &["parameters.nu=0"],
            8.9868 / turn,
            0.02,
        );
        assert_critical(
            "rod-twist",
            "turns",
            &["parameters.nu=0.5"],
            13.4802 / turn,
            0.02,
        );
    }

    #[test]
    fn validation_ring_twist_buckles_at_michells_critical_twist() {
        assert_critical("ring-twist", "twist", &["parameters.nu=0"], 10.8828, 0.02);
        assert_critical("ring-twist", "twist", &["parameters.nu=0.5"], 16.3242, 0.02);
    }

    #[test]
    fn validation_rod_bend_twist_leaves_its_plane_at_the_critical_curvature() {
        for (length, critical) in [(0.276926, 7.573), (0.596618, 16.114)] {
            let out_of_plane = |part: f64| {
                let kappa = critical * part / length;
                let sets = [
                    format!("parameters.L={length}"),
                    format!("parameters.kappa0={kappa}"),
                ];
                let probes = run("rod-bend-twist", &[&sets[0], &sets[1]]);
                probes["out_of_plane_over_L"].as_f64().unwrap()
            };
            assert!(out_of_plane(0.95) < 1e-3);
            assert!(out_of_plane(1.05) > 0.02);
        }
    }

    #[test]
    fn validation_rod_frequency_is_that_of_a_beam_at_any_time_step() {
        assert_close(&run("rod-frequency", &[]), "f1", 2.5542, 0.01);
        assert_close(
            &run("rod-frequency", &["time.substeps=160"]),
            "f1",
            2.5542,
            0.01,
        );
        // A rod of twice the radius has twice the frequency.
        let probes = run("rod-frequency", &["parameters.radius=2e-3"]);
        assert_close(&probes, "f1", 5.1084, 0.01);
    }

    #[test]
    fn validation_hanging_rod_stretches_under_its_weight() {
        // ρ g L² / 2E.
        assert_close(&run("hanging-rod", &[]), "elongation", 0.05886, 0.005);
    }

    #[test]
    fn validation_catenary_has_the_sag_of_theory() {
        assert_close(&run("catenary", &[]), "sag", 0.36278, 0.003);
    }

    #[test]
    fn validation_strip_cantilever_matches_the_heavy_elastica() {
        for mesh in ["right", "unstructured"] {
            for (length, drop, x) in [(0.0089123, 0.12347, 0.99125), (0.0192010, 0.70020, 0.65635)]
            {
                let sets = [
                    format!("parameters.L={length}"),
                    format!("parameters.mesh=\"{mesh}\""),
                ];
                let probes = run("strip-cantilever", &[&sets[0], &sets[1]]);
                assert_close(&probes, "tip_drop_over_L", drop, 0.02);
                assert_close(&probes, "tip_x_over_L", x, 0.02);
            }
        }
    }

    #[test]
    fn validation_plates_deflect_the_same_on_all_meshes() {
        for mesh in ["right", "alternating", "unstructured"] {
            let mesh = format!("parameters.mesh=\"{mesh}\"");
            assert_close(
                &run("plate-clamped", &[&mesh]),
                "center_deflection",
                1.10538e-5,
                0.02,
            );
            assert_close(
                &run("plate-supported", &[&mesh]),
                "center_deflection",
                3.54887e-5,
                0.02,
            );
        }
    }

    #[test]
    fn validation_strip_buckles_laterally_at_the_critical_length() {
        let out_of_plane = |length: f64| {
            let probes = run(
                "strip-lateral-buckling",
                &[&format!("parameters.L={length}")],
            );
            probes["out_of_plane_over_L"].as_f64().unwrap()
        };
        assert!(out_of_plane(0.95 * 0.14684) < 1e-2);
        assert!(out_of_plane(1.05 * 0.14684) > 0.05);
    }

    #[test]
    fn validation_cylinder_roll_has_the_energy_of_a_bent_plate() {
        // E t³/12 · length · width / 2R².
        assert_close(&run("cylinder-roll", &[]), "energy", 5.2360e-3, 0.02);
    }

    #[test]
    fn validation_cloth_hanging_stretches_under_its_weight_on_all_meshes() {
        for mesh in ["right", "alternating", "unstructured"] {
            let (probes, step, model) =
                simulate("cloth-hanging", &[&format!("parameters.mesh=\"{mesh}\"")]);
            // ρ g L² / 2E.
            assert_close(&probes, "elongation", 0.014715, 0.01);
            // The pin force equals the weight.
            let weight = 9.81 * model.masses.iter().sum::<f64>();
            let held = step.pin_force(&model, 0).z;
            assert!(
                (held / weight - 1.0).abs() < 1e-6,
                "{held} N for {weight} N"
            );
        }
    }

    #[test]
    fn validation_cloth_shear_has_the_energy_of_st_venant_and_kirchhoff() {
        assert_close(&run("cloth-shear", &[]), "energy", 1.93681e-3, 1e-3);
    }

    /// Asserts that the relative error is of second order in the cell size, and small enough for
    /// less than 2% with 16 cells.
    fn assert_second_order(name: &str, probe: &str, expected: f64) {
        let error = |cells: usize| {
            let probes = run(name, &[&format!("parameters.cells={cells}")]);
            (probes[probe].as_f64().unwrap() / expected - 1.0).abs()
        };
        let (coarse, fine) = (error(4), error(8));
        assert!(
            coarse / fine > 2.5,
            "{name}: {coarse} with 4 cells, {fine} with 8"
        );
        // Another halving leaves a quarter of it. The limit differs from beam theory by clamped
        // ends and shear.
        assert!(fine < 0.08, "{name}: {fine} with 8 cells");
    }

    #[test]
    fn validation_solid_beams_converge_to_beam_theory() {
        assert_second_order("solid-cantilever", "tip", 4.0306e-3);
        assert_second_order("solid-torsion", "end_rotation", 0.018495);
        assert_second_order("solid-frequency", "f1", 1.6029);
    }

    #[test]
    fn validation_solid_uniaxial_follows_each_material_law() {
        let probes = run("solid-uniaxial", &["parameters.stretch=1.5"]);
        assert_close(&probes, "stress", 37828.0, 1e-3);
        assert_close(&probes, "lateral", 0.88017, 1e-3);
        let probes = run("solid-uniaxial", &["parameters.stretch=0.7"]);
        assert_close(&probes, "stress", -40523.0, 1e-3);
        assert_close(&probes, "lateral", 1.10793, 1e-3);
        let sets = ["parameters.model=\"corotated\"", "parameters.nu=0"];
        assert_close(&run("solid-uniaxial", &sets), "stress", 50000.0, 1e-3);
        // For small strains all laws are linear: E ε.
        for model in [
            "corotated",
            "fixed-corotated",
            "neo-hookean",
            "stable-neo-hookean",
        ] {
            let model = format!("parameters.model=\"{model}\"");
            let probes = run("solid-uniaxial", &[&model, "parameters.stretch=1.0001"]);
            assert_close(&probes, "stress", 10.0, 1e-3);
            assert_close(&probes, "lateral", 1.0 - 0.3e-4, 1e-6);
        }
    }

    #[test]
    fn validation_solid_patch_is_exact() {
        let error = run("solid-patch", &[])["position_error"].as_f64().unwrap();
        assert!(error < 1e-9, "{error}");
    }

    #[test]
    fn validation_spherical_pendulum_has_nutation_and_precession_of_theory() {
        let probes = run("spherical-pendulum", &[]);
        assert_close(&probes, "nutation_period", 1.07967, 0.002);
        assert_close(&probes, "precession_deg", 219.51, 0.002);
    }

    #[test]
    fn validation_momentum_drift_is_that_of_the_integrator() {
        let probes = run("momentum", &["parameters.integrator=\"symplectic-euler\""]);
        assert!(probes["linear_drift"].as_f64().unwrap() < 1e-10);
        assert!(probes["angular_drift"].as_f64().unwrap() < 1e-10);
        for (omega, h) in [(20.0_f64, 5e-4), (10.0, 1e-3)] {
            let sets = [
                format!("parameters.omega={omega}"),
                format!("parameters.h={h}"),
            ];
            let probes = run("momentum", &[&sets[0], &sets[1]]);
            assert!(probes["linear_drift"].as_f64().unwrap() < 1e-10);
            assert_close(&probes, "angular_drift", (omega * h).powi(2), 0.1);
        }
    }

    #[test]
    fn validation_vibration_decays_at_the_rate_of_implicit_euler() {
        assert_close(&run("vibration", &[]), "amplitude_ratio", 0.13945, 0.02);
    }
}
