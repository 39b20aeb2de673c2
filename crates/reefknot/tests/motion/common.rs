//! Small scenes, and steps that assert their energy balance.

use std::path::Path;

use glam::DVec3;
use reefknot_sim::integrate::Scratch;
use reefknot_sim::model::Model;
use reefknot_sim::model::kinematics::Held;
use reefknot_sim::scene::Scene;
use reefknot_sim::state::State;
use reefknot_sim::step::{Step, step};

pub(crate) use crate::read::read_in;

pub(crate) const HEAD: &str = "
time = { duration = \"1 s\", frame_rate = 10, substeps = 10 }
[material.stuff]
density = 1000
young = 1e5
poisson = 0.2
thickness = \"1 mm\"
membrane_damping = \"1 ms\"
";

pub(crate) const SHEET: &str = "
[object.sheet]
kind = \"cloth-grid\"
size = [0.4, 0.4]
vertices = [5, 5]
material = \"stuff\"
position = [0, 0, 1]
";

pub(crate) const ROD: &str = "
[object.rod]
kind = \"rod\"
length = 1
vertices = 6
radius = [0.01, 0.002]
material = \"stuff\"
";

pub(crate) struct Simulation {
    pub(crate) scene: Scene,
    pub(crate) model: Model,
    pub(crate) state: State,
    pub(crate) scratch: Scratch,
}

impl Simulation {
    pub(crate) fn new(text: &str) -> Simulation {
        Simulation::new_in(Path::new(""), text)
    }

    pub(crate) fn new_in(folder: &Path, text: &str) -> Simulation {
        let scene = read_in(folder, &format!("{HEAD}{text}"));
        let model = Model::build(&scene).unwrap_or_else(|problems| panic!("{problems}"));
        Simulation {
            state: model.start.clone(),
            scratch: Scratch::new(&model),
            scene,
            model,
        }
    }

    pub(crate) fn step(&mut self) -> Step {
        let step = step(&self.model, &self.state, &mut self.scratch).unwrap();
        self.state = step.to.clone();
        step
    }

    /// Takes steps, and asserts the energy balance of each.
    pub(crate) fn balanced_steps(&mut self, count: usize) {
        for _ in 0..count {
            let before = reefknot_sim::certify::energies(&self.model, &self.state);
            let after = self.step().report.energy_j;
            let flow = after.flow();
            let error = after.total() - before.total() - flow;
            let scale = after.kinetic + after.elastic + after.work.abs() + 1e-6;
            assert!(error.abs() < 1e-9 * scale, "{error} J of {scale} J");
        }
    }

    /// Held nodes of the next step, with their targets.
    pub(crate) fn held(&self) -> Held {
        held_from(&self.model, &self.state)
    }

    /// Nodes with a load in the next step, and the forces on them (N).
    pub(crate) fn load_forces(&self) -> Vec<(usize, DVec3)> {
        load_forces_from(&self.model, &self.state)
    }

    /// Points of a prescribed object at a time.
    pub(crate) fn at(&self, object: usize, time: f64) -> Vec<DVec3> {
        let step = (time / self.model.clock.h()).round() as u64;
        let state = State {
            step,
            ..self.state.clone()
        };
        self.model.points(object, &state)
    }
}

pub(crate) fn held_from(model: &Model, state: &State) -> Held {
    model.held(state, &model.clock.span(state.step))
}

pub(crate) fn load_forces_from(model: &Model, state: &State) -> Vec<(usize, DVec3)> {
    let flat = model.load_forces(state, &model.clock.span(state.step));
    let forces = model.unknowns.nodes(&flat).into_iter().enumerate();
    forces.filter(|(_, force)| *force != DVec3::ZERO).collect()
}

pub(crate) fn close(a: DVec3, b: DVec3, tolerance: f64) -> bool {
    a.distance(b) <= tolerance
}
