//! The equations of a step against finite differences of the action, for a model with every kind of
//! object, energy and force.

use super::*;
use crate::equations::{Equations, Linearised, VectorPool};
use crate::random::Random;
use crate::scene::{Scene, SceneRequest};

/// Rods open and closed, cloth with hinges and plates, a solid, an embedded surface, a prop, ties,
/// wind and viscosity.
const SCENE: &str = r#"
time = { duration = "1 s", h = "10 ms" }
wind = { velocity = [3, 1, 0] }
[material.soft]
young = "0.1 MPa"
poisson = 0.3
density = 1000
thickness = "2 mm"
damping = "5 ms"
mass_damping = 0.3
[material.plate]
young = "0.1 MPa"
poisson = 0.3
density = 1000
thickness = "2 mm"
membrane_model = "corotated"
bending_model = "plate"
[object.rod]
kind = "rod"
material = "soft"
length = 0.2
vertices = 6
radius = ["5 mm", "3 mm"]
natural_curvature = [3, 1]
start_twist = "40 deg"
[object.ring]
kind = "rod-ring"
material = "soft"
ring_radius = 0.1
vertices = 7
radius = "5 mm"
start_twist = 1
[object.cloth]
kind = "cloth-grid"
material = "soft"
size = [0.2, 0.2]
vertices = [4, 4]
[object.plate]
kind = "cloth-grid"
material = "plate"
size = [0.2, 0.2]
vertices = [4, 4]
[object.solid]
kind = "solid-box"
material = "soft"
size = [0.2, 0.1, 0.1]
cells = [2, 1, 1]
[object.embedded]
kind = "embedded"
material = "soft"
surface = { kind = "sphere", radius = 0.1 }
cells = 2
[object.prop]
kind = "rigid"
material = "soft"
shape = { kind = "box", size = [0.2, 0.1, 0.1] }
rigidity = "1 MPa"
[pin.corner]
object = "cloth"
at = { vertices = [0] }
free = ["y"]
[clamp.end]
object = "rod"
end = "first"
[attachment.tie]
object = "rod"
at = { end = "last" }
to = "prop"
reach = 1
[stitch.seam]
from = { object = "cloth", at = { vertices = [5, 6] } }
to = { object = "embedded", at = { vertices = [0, 9] } }
length = "1 cm"
"#;

pub(crate) fn model() -> Model {
    let request = SceneRequest {
        text: SCENE.into(),
        ..SceneRequest::default()
    };
    let scene = Scene::read(&request).unwrap_or_else(|problems| panic!("{problems}"));
    Model::build(&scene).unwrap_or_else(|problems| panic!("{problems}"))
}

pub(crate) fn input(model: &Model) -> StepInput<'_> {
    StepInput::of(model, &model.start, model.clock.span(0))
}

/// The equations of the first step, linearised at its start.
fn at_start(input: &StepInput<'_>) -> (Equations, Linearised) {
    let mut equations = Equations::new(input.model);
    let mut linearised = Linearised::new(input.model);
    prepare(input, &mut equations);
    linearize(
        input,
        LinearisationPoint::Start,
        BodySubset::All,
        &mut equations,
        &mut linearised,
    );
    (equations, linearised)
}

/// Random velocities, which deform all objects within a step.
pub(crate) fn velocities(model: &Model, seed: u64, size: f64) -> Vec<f64> {
    let mut random = Random::new(seed);
    let entries = 0..model.unknowns.count;
    entries.map(|_| random.between(-size, size)).collect()
}

#[test]
fn the_residual_is_the_gradient_of_the_action() {
    let model = model();
    let input = input(&model);
    let (mut equations, _) = at_start(&input);
    for seed in 0..8 {
        let v = velocities(&model, seed, 0.3);
        let residual = differentiate(&input, &v, &mut equations);
        let direction = velocities(&model, seed + 100, 1.0);
        let moved = |step: f64| -> Vec<f64> {
            v.iter()
                .zip(&direction)
                .map(|(v, d)| v + step * d)
                .collect()
        };
        let step = 1e-6;
        let ahead = action(&input, &moved(step), &equations);
        let behind = action(&input, &moved(-step), &equations);
        let slope: f64 = residual.iter().zip(&direction).map(|(r, d)| r * d).sum();
        let found = (ahead - behind) / (2.0 * step);
        let size: f64 = residual
            .iter()
            .zip(&direction)
            .map(|(r, d)| (r * d).abs())
            .sum();
        assert!(
            (found - slope).abs() < 1e-6 * size,
            "{found} against {slope}"
        );
    }
}

#[test]
fn each_entry_of_the_residual_is_a_partial_derivative_of_the_action() {
    let model = model();
    let input = input(&model);
    let (mut equations, _) = at_start(&input);
    let v = velocities(&model, 3, 0.2);
    let residual = differentiate(&input, &v, &mut equations);
    let scale = residual.iter().fold(0.0_f64, |most, r| most.max(r.abs()));
    for dof in (0..v.len()).step_by(5) {
        let step = 1e-5;
        let moved = |step: f64| {
            let mut moved = v.clone();
            moved[dof] += step;
            action(&input, &moved, &equations)
        };
        let found = (moved(step) - moved(-step)) / (2.0 * step);
        let error = (found - residual[dof]).abs();
        assert!(
            error < 1e-6 * scale,
            "unknown {dof}: {found} against {}",
            residual[dof]
        );
    }
}

#[test]
fn relinearising_affine_bodies_leaves_other_bodies_unchanged() {
    let model = model();
    let input = input(&model);
    let (mut equations, mut linearised) = at_start(&input);
    let v = velocities(&model, 7, 0.05);
    // ρ(v) of the linear equations, before and after.
    let left = |linearised: &Linearised| linearised.residual_at(&v, &mut VectorPool::default());
    let before = left(&linearised);
    let at = LinearisationPoint::Velocities(&v);
    linearize(
        &input,
        at,
        BodySubset::Affine,
        &mut equations,
        &mut linearised,
    );
    let after = left(&linearised);
    let scale = before.iter().fold(0.0_f64, |most, r| most.max(r.abs()));
    for body in &model.bodies {
        let dofs = body.dofs.clone();
        let pairs = before[dofs.clone()].iter().zip(&after[dofs]);
        let changed = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        if BodySubset::Affine.contains(body) {
            assert!(changed > 1e-6 * scale);
        } else {
            assert!(changed < 1e-13 * scale, "{changed} of {scale}");
        }
    }
}
