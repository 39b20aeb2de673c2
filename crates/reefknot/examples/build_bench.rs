//! Time and memory to build large scenes.
//!
//! `cargo run --release -p reefknot --example build_bench` prints one line of JSON. Each scene is
//! built in a separate process, for its own peak memory. `bound_s` is the time to write points and
//! elements once, a lower bound for any builder.

use std::process::Command;
use std::time::Instant;

use reefknot_sim::io::frame::{frame_file, topology_file};
use reefknot_sim::machine;
use reefknot_sim::model::Model;
use reefknot_sim::scene::{Scene, SceneRequest};
use serde_json::{Value, json};

/// Curly hair on a ball.
const GROOM: &str = r#"
time.duration = "1 s"
[parameters]
rods = 16000
vertices = 30
[material.hair]
preset = "hair"
[object.hair]
kind = "groom"
on = "head"
count = "$rods"
vertices = "$vertices"
length = "15 cm"
curl_radius = "4 mm"
curl_pitch = "3 cm"
direction = [0, 0, -1]
radius = "40 um"
material = "hair"
[collider.head]
kind = "sphere"
radius = "10 cm"
motion = { angular_velocity = [0, 0, "1 turn/s"] }
"#;

/// Scattered cubes above a floor.
const PILE: &str = r#"
time.duration = "1 s"
[parameters]
cubes = 2000
cells = 2
[material.rubber]
preset = "rubber"
[object.cube]
kind = "solid-box"
size = ["5 cm", "5 cm", "5 cm"]
cells = ["$cells", "$cells", "$cells"]
material = "rubber"
copies = { scatter = { count = "$cubes", min = [0, 0, 0], max = ["1.6 m", "1.6 m", "1.6 m"] } }
[collider.floor]
kind = "plane"
"#;

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [name] = arguments.as_slice() {
        println!("{}", measure(name)?);
        return Ok(());
    }
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut results = serde_json::Map::new();
    for name in ["groom", "pile"] {
        let output = Command::new(&program)
            .arg(name)
            .output()
            .map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&output.stdout);
        let result: Value = serde_json::from_str(&text)
            .map_err(|error| format!("{error}: {}", String::from_utf8_lossy(&output.stderr)))?;
        results.insert(name.to_owned(), result);
    }
    println!("{}", Value::Object(results));
    Ok(())
}

/// Builds a scene five times; reports the minimum of the times.
fn measure(name: &str) -> Result<Value, String> {
    let text = match name {
        "groom" => GROOM,
        "pile" => PILE,
        other => return Err(format!("unknown scene `{other}`; use groom or pile")),
    };
    let before = machine::peak_memory().unwrap_or(0);
    let request = SceneRequest {
        file: name.to_owned(),
        text: text.to_owned(),
        ..SceneRequest::default()
    };
    let scene = Scene::read(&request).map_err(|problems| problems.to_string())?;
    let (mut build_s, mut frame_s, mut bound_s) = (f64::INFINITY, f64::INFINITY, f64::INFINITY);
    let mut figures = json!({});
    for _ in 0..5 {
        let start = Instant::now();
        let model = Model::build(&scene).map_err(|problems| problems.to_string())?;
        build_s = build_s.min(start.elapsed().as_secs_f64());
        let peak = machine::peak_memory().unwrap_or(0);
        let start = Instant::now();
        let frame = frame_file(&model, &model.start, None);
        frame_s = frame_s.min(start.elapsed().as_secs_f64());
        let start = Instant::now();
        let copies: Vec<_> = model
            .objects
            .iter()
            .map(|object| object.mesh.clone())
            .collect();
        bound_s = bound_s.min(start.elapsed().as_secs_f64());
        let vertices: usize = copies.iter().map(|mesh| mesh.points.len()).sum();
        if figures == json!({}) {
            figures = json!({
                "vertices": vertices,
                "curves": copies.iter().map(|mesh| mesh.curves.len()).sum::<usize>(),
                "tetrahedra": copies.iter().map(|mesh| mesh.tetrahedra.len()).sum::<usize>(),
                "peak_rss_bytes": peak,
                "bytes_per_vertex": (peak - before) as f64 / vertices as f64,
                "arrays": frame.names().count() + topology_file(&model).names().count(),
            });
        }
    }
    figures["build_s"] = json!(build_s);
    figures["build_over_bound"] = json!(build_s / bound_s);
    figures["bound_s"] = json!(bound_s);
    figures["frame_s"] = json!(frame_s);
    Ok(figures)
}
