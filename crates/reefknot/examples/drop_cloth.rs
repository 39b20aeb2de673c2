//! Drops a generated cloth onto a ball, and prints its height over time.
//!
//! `cargo run --release -p reefknot --example drop_cloth`

use std::error::Error;

use reefknot::glam::DVec3;
use reefknot::{Mesh, Model, Scene, SceneRequest, Scratch, step};

const SCENE: &str = r#"
time = { duration = "1 s", frame_rate = 25, h = "10 ms" }
[material.sheet]
preset = "cotton"
[object.cloth]
kind = "cloth-mesh"
file = "sheet.obj"
material = "sheet"
position = [0, 0, 0.5]
[collider.ball]
kind = "sphere"
radius = "0.2 m"
position = [0, 0, 0.2]
[collider.ground]
kind = "plane"
[contact]
friction = 0.4
"#;

/// A square sheet of n × n vertices about the origin.
fn sheet(n: u32, side: f64) -> Mesh {
    let place = |i: u32| side * (f64::from(i) / f64::from(n - 1) - 0.5);
    let vertex = |row: u32, column: u32| row * n + column;
    let mut mesh = Mesh::default();
    for row in 0..n {
        for column in 0..n {
            let point = DVec3::new(place(column), place(row), 0.0);
            mesh.points.push(point);
        }
    }
    for row in 1..n {
        for column in 1..n {
            let [a, b] = [vertex(row - 1, column - 1), vertex(row - 1, column)];
            let [c, d] = [vertex(row, column - 1), vertex(row, column)];
            mesh.triangles.extend([[a, b, d], [a, d, c]]);
        }
    }
    mesh
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut scene = Scene::read(&SceneRequest {
        name: "drop".into(),
        text: SCENE.into(),
        ..SceneRequest::default()
    })?;
    scene.add_mesh("sheet.obj", &sheet(25, 0.6))?;
    let model = Model::build(&scene)?;
    let cloth = model.object("cloth").ok_or("the scene has no cloth")?;
    let mut state = model.start.clone();
    let mut scratch = Scratch::new(&model);
    println!("time (s), lowest point (m), contacts, contact error (m)");
    while state.step < model.clock.steps() {
        let step = step(&model, &state, &mut scratch)?;
        state = step.to;
        if model.clock.frame_at(state.step).is_some() {
            let points = model.points(cloth, &state);
            let lowest = points.iter().map(|point| point.z).fold(f64::MAX, f64::min);
            let (time, report) = (model.clock.time(state.step), &step.report);
            let error = report.contact_error_m.unwrap_or_default();
            println!("{time:.2}, {lowest:.4}, {}, {error:.1e}", report.contacts);
        }
    }
    Ok(())
}
