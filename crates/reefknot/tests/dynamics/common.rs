//! Small scenes with every kind of object, and steps that assert their balances.

use std::path::Path;

use glam::DVec3;
use reefknot_sim::certify::energies;
use reefknot_sim::claims::EquationsClaim;
use reefknot_sim::integrate::{Scratch, claims};
use reefknot_sim::model::Model;
use reefknot_sim::state::State;
use reefknot_sim::step::{Step, step};

use crate::read::read_in;

/// Rubber, with a speed of sound of 32 m/s.
const RUBBER: &str = "
[material.stuff]
density = 1000
young = 1e6
poisson = 0.3
thickness = \"2 mm\"
";

/// Implicit Euler with one linearisation.
pub(crate) const LINEAR: &str = "method = { integrator = \"linear-euler\" }\n";

/// Implicit Euler with Newton's method, converged.
pub(crate) const NEWTON: &str = "method = { integrator = { kind = \"newton\", iterations = 60 }, \
    tolerance = \"1e-12 m\", converge = true }\n";

/// Symplectic Euler.
pub(crate) const SYMPLECTIC: &str = "method = { integrator = \"symplectic-euler\" }\n";

/// Name of a kind, and the tables of a scene with it. Free objects start with velocity and spin.
pub(crate) const KINDS: [(&str, &str); 8] = [
    ("rod", ROD),
    ("ring", RING),
    ("cloth", CLOTH),
    ("solid", SOLID),
    ("embedded", EMBEDDED),
    ("prop", PROP),
    ("groom", GROOM),
    ("ties", TIES),
];

const ROD: &str = "
[object.rod]
kind = \"rod-helix\"
helix_radius = 0.05
pitch = 0.1
length = 0.6
vertices = 13
radius = [0.01, 0.005]
start_twist = \"0.5 turn\"
material = \"stuff\"
velocity = [1, 0, 0.5]
angular_velocity = [1, 2, 3]
";

const RING: &str = "
[object.ring]
kind = \"rod-ring\"
ring_radius = 0.1
vertices = 12
radius = [0.01, 0.005]
start_twist = \"0.5 turn\"
material = \"stuff\"
position = [1, 0, 0]
velocity = [0, 1, 0.5]
angular_velocity = [1, 2, 3]
";

const CLOTH: &str = "
[object.cloth]
kind = \"cloth-grid\"
size = [0.4, 0.3]
vertices = [5, 4]
material = \"stuff\"
position = [2, 0, 0]
velocity = [1, 0, 0.5]
angular_velocity = [1, 2, 3]
";

const SOLID: &str = "
[object.solid]
kind = \"solid-box\"
size = [0.2, 0.2, 0.3]
cells = [2, 2, 3]
material = \"stuff\"
position = [3, 0, 0]
velocity = [1, 0, 0.5]
angular_velocity = [1, 2, 3]
";

const EMBEDDED: &str = "
[object.embedded]
kind = \"embedded\"
surface = { kind = \"sphere\", radius = 0.1, edge = 0.05 }
cells = 3
material = \"stuff\"
position = [4, 0, 0]
velocity = [1, 0, 0.5]
angular_velocity = [1, 2, 3]
";

const PROP: &str = "
[object.prop]
kind = \"rigid\"
shape = { kind = \"box\", size = [0.1, 0.2, 0.3] }
material = \"stuff\"
rigidity = 1e6
position = [5, 0, 0]
velocity = [1, 0, 0.5]
angular_velocity = [1, 2, 3]
";

const GROOM: &str = "
[object.hair]
kind = \"groom\"
on = \"head\"
count = 9
length = 0.06
curl_radius = 0.005
vertices = 9
radius = 0.001
material = \"stuff\"
[collider.head]
kind = \"sphere\"
radius = 0.1
edge = 0.05
position = [6, 0, 0]
motion = { velocity = [0.2, 0, 0], angular_velocity = [0, 1, 2] }
";

const TIES: &str = "
[object.flap]
kind = \"cloth-grid\"
size = [0.4, 0.3]
vertices = [5, 4]
material = \"stuff\"
position = [7, 0, 0.3]
angular_velocity = [1, 2, 3]
[object.block]
kind = \"solid-box\"
size = [0.2, 0.2, 0.2]
cells = [1, 1, 1]
material = \"stuff\"
position = [7, 0, 0]
velocity = [1, 0, 0.5]
[object.cord]
kind = \"rod\"
length = 0.5
vertices = 6
radius = 0.01
material = \"stuff\"
position = [7, 0.5, 0.3]
[attachment.glue]
object = \"flap\"
at = { vertices = [7, 12] }
to = \"block\"
reach = 1
stiffness = \"50 N/m\"
[stitch.seam]
from = { object = \"flap\", at = { vertices = [15, 19] } }
to = { object = \"cord\", at = { vertices = [0, 5] } }
stiffness = \"50 N/m\"
length = 0.1
close = 0.05
";

pub(crate) struct Simulation {
    pub(crate) model: Model,
    pub(crate) state: State,
    pub(crate) scratch: Scratch,
}

impl Simulation {
    /// A scene of a second in steps of `h` seconds.
    pub(crate) fn new(method: &str, h: f64, text: &str) -> Simulation {
        let model = model(method, h, text);
        Simulation {
            state: model.start.clone(),
            scratch: Scratch::new(&model),
            model,
        }
    }

    pub(crate) fn step(&mut self) -> Step {
        let step = step(&self.model, &self.state, &mut self.scratch).unwrap();
        self.state = step.to.clone();
        step
    }

    pub(crate) fn steps(&mut self, count: usize) {
        (0..count).for_each(|_| drop(self.step()));
    }

    /// Takes a step, and asserts its energy balance to 1e-9 and its momentum balance to 1e-8;
    /// `case` is for error messages.
    pub(crate) fn balanced_step(&mut self, case: &str) {
        let before = energies(&self.model, &self.state);
        let momentum = self.momentum();
        let step = self.step();
        let after = step.report.energy_j;
        let flow = after.flow();
        let error = after.total() - before.total() - flow;
        let fall = (after.gravity - before.gravity).abs();
        let scale = after.kinetic + after.elastic + after.work.abs() + fall;
        assert!(error.abs() < 1e-9 * scale, "{case}: {error} J of {scale} J");
        // Only what is left of the equations at the end of the step works without a source.
        let unbalanced = after.unbalanced.abs();
        if claims(&self.model).equations != EquationsClaim::Linear {
            assert!(
                unbalanced < 1e-9 * scale,
                "{case}: {unbalanced} J of {scale} J"
            );
        }
        // External forces are gravity and the pin forces.
        let held: DVec3 = step
            .pin_forces
            .iter()
            .filter(|(node, _)| !self.model.is_axis(*node))
            .map(|(_, force)| *force)
            .sum();
        let impulse = self.model.clock.h() * (self.weight() + held);
        let error = (self.momentum() - momentum).distance(impulse);
        let scale = self.momentum().length() + impulse.length();
        assert!(error < 1e-8 * scale, "{case}: {error} N s of {scale} N s");
    }

    /// Σ m v of all nodes (N s).
    pub(crate) fn momentum(&self) -> DVec3 {
        let nodes = self.model.weights.iter().zip(&self.state.velocities);
        nodes.map(|(mass, velocity)| *mass * *velocity).sum()
    }

    /// Force of gravity on all nodes (N).
    pub(crate) fn weight(&self) -> DVec3 {
        self.model.weights.iter().sum::<f64>() * self.model.gravity
    }
}

pub(crate) fn model(method: &str, h: f64, text: &str) -> Model {
    let rate = 1.0 / h;
    let time = format!("time = {{ duration = \"1 s\", frame_rate = {rate}, substeps = 1 }}\n");
    let scene = read_in(Path::new(""), &format!("{method}{time}{RUBBER}{text}"));
    Model::build(&scene).unwrap_or_else(|problems| panic!("{problems}"))
}

/// One scene with all kinds.
pub(crate) fn all_kinds() -> String {
    KINDS.map(|(_, text)| text).concat()
}
