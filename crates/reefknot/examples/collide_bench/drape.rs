//! Steps of a cloth that drapes over a ball.
//!
//! Dynamics are those of the simulator. Contact is a simple projection: after each step, vertices
//! inside the ball are moved to its surface, and lose their normal velocity and most of the
//! tangential one. Folds may intersect late in the fall; such steps are recorded as they are.

use glam::DVec3;
use reefknot_sim::integrate::Scratch;
use reefknot_sim::model::Model;
use reefknot_sim::scene::{Scene, SceneRequest};
use reefknot_sim::step::step;

use crate::cases::Case;

/// Radius of the ball (m).
const RADIUS: f64 = 0.2;

/// Distance of vertices from the mesh of the ball (m).
const SKIN: f64 = 3e-3;

/// Records the motion of the steps that end at the given times (s).
///
/// # Errors
/// If the scene cannot be built or stepped.
pub(crate) fn record(vertices: usize, times: &[f64]) -> Result<Vec<Case>, String> {
    let request = SceneRequest {
        file: "drape".to_owned(),
        text: scene(vertices),
        ..SceneRequest::default()
    };
    let scene = Scene::read(&request).map_err(|problems| problems.to_string())?;
    let model = Model::build(&scene).map_err(|problems| problems.to_string())?;
    let ball = &model.objects[1];
    let mut scratch = Scratch::new(&model);
    let mut state = model.start.clone();
    let mut cases = Vec::new();
    while cases.len() < times.len() {
        let mut next = step(&model, &state, &mut scratch)
            .map_err(|error| error.to_string())?
            .to;
        for (position, velocity) in next.positions.iter_mut().zip(&mut next.velocities) {
            project_out(position, velocity);
        }
        let time = model.clock.time(next.step);
        if time >= times[cases.len()] - 0.5 * model.clock.h() {
            let still = ball.mesh.points.iter().copied();
            let mut triangles = model.objects[0].mesh.triangles.clone();
            let first = state.positions.len() as u32;
            triangles.extend(
                ball.mesh
                    .triangles
                    .iter()
                    .map(|corners| corners.map(|corner| first + corner)),
            );
            cases.push(Case {
                name: format!("drape at {time:.2} s"),
                from: state
                    .positions
                    .iter()
                    .copied()
                    .chain(still.clone())
                    .collect(),
                to: next.positions.iter().copied().chain(still).collect(),
                reach: 5e-4,
                triangles,
            });
        }
        state = next;
    }
    Ok(cases)
}

/// Moves a vertex out of the ball.
fn project_out(position: &mut DVec3, velocity: &mut DVec3) {
    let distance = position.length();
    if distance < RADIUS + SKIN && distance > 0.0 {
        let normal = *position / distance;
        *position = (RADIUS + SKIN) * normal;
        let across = *velocity - velocity.dot(normal) * normal;
        *velocity = 0.2 * across + velocity.dot(normal).max(0.0) * normal;
    }
}

fn scene(vertices: usize) -> String {
    format!(
        r#"
time = {{ duration = "2 s", frame_rate = 25, h = "10 ms" }}
method = {{ integrator = "linear-euler" }}
[material.sheet]
preset = "cotton"
[object.cloth]
kind = "cloth-grid"
size = ["1 m", "1 m"]
vertices = [{vertices}, {vertices}]
material = "sheet"
position = [0.03, 0.02, 0.21]
[collider.ball]
kind = "sphere"
radius = {RADIUS}
"#
    )
}
