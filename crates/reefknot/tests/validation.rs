//! A sheet of cloth against mechanics, with the reason for each number.

#[cfg(test)]
mod tests {
    use glam::DVec3;
    use reefknot_sim::energy::term::Elastic;
    use reefknot_sim::integrate::{Scratch, StepError};
    use reefknot_sim::model::{Elements, Model};
    use reefknot_sim::scene::{Scene, SceneRequest};
    use reefknot_sim::state::State;
    use reefknot_sim::step::{Step, step};

    const SHEET: &str = r#"
time = { duration = "1 s", frame_rate = 100, substeps = 1 }
[material.sheet]
young = 1e5
thickness = "1 mm"
poisson = 0
density = 300
[object.sheet]
kind = "cloth-grid"
size = [0.3, 1]
vertices = [7, 21]
material = "sheet"
rotation = { axis = [1, 0, 0], angle = "90 deg" }
"#;

    const HELD: &str = "
[pin.top]
object = \"sheet\"
at = { group = \"top\" }
";

    struct Simulation {
        model: Model,
        state: State,
        scratch: Scratch,
    }

    impl Simulation {
        fn new(text: &str, sets: &[&str]) -> Simulation {
            let scene = Scene::read(&SceneRequest {
                text: text.into(),
                sets: sets.iter().map(|set| (*set).to_owned()).collect(),
                ..SceneRequest::default()
            })
            .unwrap_or_else(|problems| panic!("{problems}"));
            let model = Model::build(&scene).unwrap_or_else(|problems| panic!("{problems}"));
            Simulation {
                state: model.start.clone(),
                scratch: Scratch::new(&model),
                model,
            }
        }

        fn step(&mut self) -> Step {
            let step = step(&self.model, &self.state, &mut self.scratch).unwrap();
            self.state = step.to.clone();
            step
        }

        fn steps(&mut self, count: usize) -> Step {
            (1..count).for_each(|_| drop(self.step()));
            self.step()
        }

        fn weight(&self) -> f64 {
            9.81 * self.model.masses.iter().sum::<f64>()
        }
    }

    /// Implicit Euler falls by h² g n(n + 1)/2 in n steps, up to rounding.
    #[test]
    fn validation_free_fall() {
        let mut sheet = Simulation::new(SHEET, &[]);
        sheet.steps(100);
        let fallen = 0.01_f64.powi(2) * 9.81 * 100.0 * 101.0 / 2.0;
        for (start, end) in sheet
            .model
            .start
            .positions
            .iter()
            .zip(&sheet.state.positions)
        {
            assert!((*start - DVec3::Z * fallen - *end).length() < 1e-10);
        }
    }

    /// Elongation of a hanging St. Venant-Kirchhoff strip of length 1: the first Piola stress
    /// E λ(λ² − 1)/2 equals ρ g s at height s above the lower end. To first order it is ρ g/2E,
    /// 0.014715 m; the stiffening of the model reduces it by 2 to 3%.
    fn hanging_elongation(young: f64, weight: f64) -> f64 {
        let cells = 1000;
        let stretch = |s: f64| {
            let mut stretch = 1.0;
            for _ in 0..20 {
                let excess = young * stretch * (stretch * stretch - 1.0) / 2.0 - weight * s;
                stretch -= excess / (young * (3.0 * stretch * stretch - 1.0) / 2.0);
            }
            stretch - 1.0
        };
        let middle = |cell: i32| stretch((f64::from(cell) + 0.5) / f64::from(cells));
        (0..cells).map(middle).sum::<f64>() / f64::from(cells)
    }

    /// The elongation of a hanging strip follows from its stress-strain law, for any triangulation.
    #[test]
    fn validation_hanging_strip() {
        for triangles in ["right", "alternating"] {
            let set = format!("object.sheet.triangles={triangles}");
            let text = format!("{SHEET}{HELD}");
            // Drag damps the slow modes within the run, and has no effect at rest.
            let mut strip = Simulation::new(&text, &[&set, "material.sheet.mass_damping=20"]);
            let step = strip.steps(600);
            let start = &strip.model.start.positions;
            let drop_of = |node: usize| (start[node] - strip.state.positions[node]).z;
            // Mean of the lower edge: its corners have less mass than their neighbours.
            let moved = (0..7).map(drop_of).sum::<f64>() / 7.0;
            let expected = hanging_elongation(1e5, 300.0 * 9.81);
            assert!(
                (moved / expected - 1.0).abs() < 3e-3,
                "{triangles}: {moved} against {expected}"
            );
            // At rest the pins carry the weight.
            let force = step.pin_force(&strip.model, 0);
            assert!(
                (force.z / strip.weight() - 1.0).abs() < 1e-6,
                "{force} against {}",
                strip.weight()
            );
            assert!(force.x.abs().max(force.y.abs()) < 1e-6 * strip.weight());
        }
    }

    /// Δ(kinetic + elastic + gravity) = work − losses in every step of a fast motion with all kinds
    /// of damping and wind.
    #[test]
    fn validation_energy_balance() {
        let text = format!("{SHEET}{HELD}[wind]\nvelocity = [0, 12, 0]\nturbulence = 4\n");
        let sets = [
            "material.sheet.membrane_damping=0.002",
            "material.sheet.bending_damping=0.01",
            "material.sheet.mass_damping=0.5",
            "object.sheet.velocity=[0, 3, 0]",
        ];
        let mut sheet = Simulation::new(&text, &sets);
        let mut before = reefknot_sim::certify::energies(&sheet.model, &sheet.state);
        let mut flowed = 0.0_f64;
        for _ in 0..100 {
            let after = sheet.step().report.energy_j;
            let flow = after.flow();
            let error = after.total() - before.total() - flow;
            assert!(
                error.abs() < 1e-10 * (after.kinetic + after.elastic),
                "{error}"
            );
            assert!(after.viscous >= 0.0);
            flowed = flowed.max(after.work.abs());
            before = after;
        }
        assert!(flowed > 1e-3, "the wind does no work: {flowed} J");
    }

    /// The balance uses the energies of the current state, not those cached from the step before.
    #[test]
    fn validation_energy_balance_of_a_changed_state() {
        let mut sheet = Simulation::new(SHEET, &[]);
        sheet.steps(5);
        for position in &mut sheet.state.positions {
            position.x *= 1.1;
        }
        let before = reefknot_sim::certify::energies(&sheet.model, &sheet.state);
        let after = sheet.step().report.energy_j;
        let flow = after.flow();
        let error = after.total() - before.total() - flow;
        assert!(error.abs() < 1e-10 * before.elastic, "{error}");
    }

    /// Without external forces the momentum of a free sheet is constant.
    #[test]
    fn validation_momentum() {
        let mut sheet = Simulation::new(SHEET, &["gravity=[0, 0, 0]"]);
        for (node, velocity) in sheet.state.velocities.iter_mut().enumerate() {
            *velocity = DVec3::new((node as f64).sin(), (2.0 * node as f64).cos(), 0.3);
        }
        let momentum = |sheet: &Simulation| -> DVec3 {
            let nodes = sheet.model.masses.iter().zip(&sheet.state.velocities);
            nodes.map(|(mass, velocity)| *mass * *velocity).sum()
        };
        let before = momentum(&sheet);
        sheet.steps(50);
        let scale: f64 = sheet.model.masses.iter().sum();
        assert!((momentum(&sheet) - before).length() < 1e-12 * scale);
    }

    /// Terminal velocity of a flat falling sheet: m g = ½ ρ C A v².
    #[test]
    fn validation_terminal_velocity() {
        let text = format!("{SHEET}[wind]\nvelocity = [0, 0, 0]\n");
        let mut sheet = Simulation::new(&text, &["object.sheet.rotation.angle=0"]);
        sheet.steps(400);
        let expected = (2.0 * sheet.weight() / (1.2 * 1.2 * 0.3)).sqrt();
        let middle = sheet.state.velocities[10 * 7 + 3];
        assert!(
            (middle.z / -expected - 1.0).abs() < 1e-3,
            "{middle} against {expected}"
        );
    }

    /// A strip rolled to a cylinder stores D/2 · area/R², without the hinges at its two ends.
    #[test]
    fn validation_cylinder_roll() {
        let (radius, length, cells) = (0.05, 0.314_159_265, 64_usize);
        let sets = [
            "object.sheet.size=[0.314159265, 0.1]",
            "object.sheet.vertices=[65, 9]",
            "object.sheet.rotation.angle=0",
            "material.sheet.young=1e7",
        ];
        let sheet = Simulation::new(SHEET, &sets);
        let body = &sheet.model.bodies[0];
        let rolled: Vec<DVec3> = sheet
            .state
            .positions
            .iter()
            .map(|p| {
                let (sine, cosine) = (p.x / radius).sin_cos();
                DVec3::new(radius * sine, p.y, radius * (1.0 - cosine))
            })
            .collect();
        let Elements::Blocks(blocks) = &body.elements else {
            panic!("cloth is made of blocks")
        };
        let hinges = blocks
            .terms
            .iter()
            .find(|term| matches!(term.elastic, Elastic::Hinges(_)));
        let bending = hinges.unwrap().value(&rolled);
        let rigidity = 1e7 * 1e-9 / 12.0;
        let expected = 0.5 * rigidity * length * 0.1 / (radius * radius);
        let ends = (cells - 1) as f64 / cells as f64;
        assert!(
            (bending / (expected * ends) - 1.0).abs() < 2e-3,
            "{bending} against {expected}"
        );
    }

    /// A pin of all vertices holds them until its release; then they fall freely.
    #[test]
    fn validation_release() {
        let text = format!("{SHEET}{HELD}").replace(
            "group = \"top\"",
            "box = { min = [-9, -9, -9], max = [9, 9, 9] }",
        );
        let mut sheet = Simulation::new(&text, &["pin.top.release=0.5"]);
        sheet.steps(50);
        assert_eq!(sheet.state.positions, sheet.model.start.positions);
        sheet.steps(10);
        let fallen = sheet.model.start.positions[0].z - sheet.state.positions[0].z;
        let expected = 0.01_f64.powi(2) * 9.81 * 10.0 * 11.0 / 2.0;
        assert!(
            (fallen - expected).abs() < 1e-10,
            "{fallen} against {expected}"
        );
    }

    /// A vertex that moves onto the opposite edge collapses its triangle: the step fails with
    /// object and triangle, and its start state is unchanged.
    #[test]
    fn a_collapsed_triangle_is_named() {
        let soft = [
            "method.solver=\"none\"",
            "material.sheet.membrane=1e-6",
            "material.sheet.bending=0",
            "gravity=[0, 0, 0]",
        ];
        let mut sheet = Simulation::new(SHEET, &soft);
        let triangle = 17;
        let [a, b, c] =
            sheet.model.objects[0].mesh.triangles[triangle].map(|corner| corner as usize);
        let x = &sheet.state.positions;
        // The material is so soft that the vertex moves straight for one step of 10 ms.
        sheet.state.velocities[a] = (0.5 * (x[b] + x[c]) - x[a]) / 0.01;
        let before = sheet.state.clone();
        let result = step(&sheet.model, &sheet.state, &mut sheet.scratch);
        match result.unwrap_err() {
            StepError::Collapsed {
                object,
                element,
                ratio,
            } => {
                assert_eq!((object.as_str(), element), ("sheet", triangle));
                assert!(ratio < 1e-6, "{ratio}");
            }
            other => panic!("{other}"),
        }
        assert_eq!(sheet.state, before);
    }

    /// A value that is not finite fails the step with object and vertex.
    #[test]
    fn a_vertex_that_is_not_finite_is_named() {
        for spoil in [
            (|state: &mut State| state.positions[40].y = f64::NAN) as fn(&mut State),
            |state| state.velocities[40].z = f64::INFINITY,
        ] {
            let mut sheet = Simulation::new(SHEET, &[]);
            spoil(&mut sheet.state);
            let result = step(&sheet.model, &sheet.state, &mut sheet.scratch);
            let message = result.unwrap_err().to_string();
            assert!(
                message.contains("`sheet`") && message.contains("vert"),
                "{message}"
            );
            assert!(message.contains("not finite"), "{message}");
        }
    }
}
