//! Reads contact forces: a block rests on a slope, and the forces of the slope balance its weight.
//!
//! `cargo run --release -p reefknot --example contact_forces`

use std::error::Error;

use reefknot::glam::DVec3;
use reefknot::{Model, Scene, SceneRequest, Scratch, step};

const SCENE: &str = r#"
time = { duration = "0.5 s", h = "5 ms" }
[material.wood]
density = "600 kg/m^3"
[object.block]
kind = "rigid"
shape = { kind = "box", size = ["10 cm", "10 cm", "4 cm"] }
material = "wood"
position = [0, 0, 0.021]
[collider.slope]
kind = "plane"
[contact]
friction = 0.5
"#;

/// Slope of the plane: gravity is tilted instead, so that the block starts flat on it.
const SLOPE_DEGREES: f64 = 20.0;

fn main() -> Result<(), Box<dyn Error>> {
    let slope = SLOPE_DEGREES.to_radians();
    let gravity = 9.81 * DVec3::new(slope.sin(), 0.0, -slope.cos());
    let scene = Scene::read(&SceneRequest {
        name: "block".into(),
        text: SCENE.into(),
        sets: vec![format!(
            "gravity=[{}, {}, {}]",
            gravity.x, gravity.y, gravity.z
        )],
        ..SceneRequest::default()
    })?;
    let model = Model::build(&scene)?;
    let mut state = model.start.clone();
    let mut scratch = Scratch::new(&model);
    let mut last = step(&model, &state, &mut scratch)?;
    while last.to.step < model.clock.steps() {
        state = last.to;
        last = step(&model, &state, &mut scratch)?;
    }
    let mut total = DVec3::ZERO;
    for contact in &last.contacts {
        let [first, second] = contact.objects.map(|object| &model.objects[object].name);
        let (point, force) = (contact.point, contact.force);
        println!(
            "{first} on {second} at {point:.4}: {force:.4} N, {:?}",
            contact.state
        );
        total += force;
    }
    let weight = gravity * 600.0 * 0.1 * 0.1 * 0.04;
    println!("sum of contact forces {total:.4} N, weight {weight:.4} N");
    Ok(())
}
