//! Scenes with every kind of object: runs, exports, and messages about mistakes.

use std::fs;

use reefknot_sim::io::import;
use reefknot_sim::io::tensors::TensorFile;

use crate::common::{Sandbox, assert_same_run};

/// The gallery at its quick size.
const GALLERY: [&str; 3] = ["run", "gallery", "--quick"];

#[test]
fn the_gallery_has_the_same_bits_on_any_number_of_threads_and_after_a_stop() {
    let sandbox = Sandbox::new();
    let hash = sandbox.hash(&GALLERY, &["--out", "1", "--threads", "1", "--frames", "5"]);
    for threads in ["2", "3"] {
        // Frames are compared too: the hash leaves out objects that are not simulated.
        let more = ["--out", threads, "--threads", threads, "--frames", "2"];
        sandbox.expect(0, &GALLERY, &more);
        let more = [
            "--out",
            threads,
            "--resume",
            "--threads",
            "1",
            "--frames",
            "5",
        ];
        assert_eq!(sandbox.hash(&GALLERY, &more), hash);
        assert_same_run(&sandbox.path(threads), &sandbox.path("1"));
    }
    sandbox.expect(0, &["check", "3"], &[]);
}

#[test]
fn the_printed_result_counts_all_vertices_and_the_simulated_ones() {
    let sandbox = Sandbox::new();
    let checked = sandbox.expect(0, &["check", "gallery", "--quick"], &[]);
    checked
        .prints("25 objects, 11 colliders")
        .prints(" vertices (6263 simulated), 17597 elements");
    let output = sandbox.expect(0, &GALLERY, &["--frames", "1"]);
    output
        .prints(" vertices (6263 simulated), 5 steps")
        .prints("  per step 0 contacts (max 0), ");
    let flag = [
        "run",
        "flag",
        "--quick",
        "--frames",
        "1",
        "--set",
        "parameters.n=8",
    ];
    sandbox.expect(0, &flag, &[]).prints("  40 vertices, ");
}

/// Decoded bytes of an array in a `.vtu` file.
fn array(text: &str, name: &str) -> Vec<u8> {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (_, after) = text.split_once(&format!("Name=\"{name}\"")).unwrap();
    let (_, after) = after.split_once('>').unwrap();
    let (base64, _) = after.split_once('<').unwrap();
    let value = |letter: u8| {
        LETTERS
            .iter()
            .position(|other| *other == letter)
            .unwrap_or(0) as u32
    };
    let mut bytes = Vec::new();
    for four in base64.as_bytes().chunks(4) {
        let bits = four
            .iter()
            .fold(0, |bits, letter| bits << 6 | value(*letter));
        bytes.extend(&bits.to_be_bytes()[1..]);
    }
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    bytes[8..8 + length].to_vec()
}

/// Number of elements of an array in the topology of a run; 0 without the array.
fn count(topology: &TensorFile, name: &str) -> usize {
    let found = topology.names().any(|other| other == name);
    if found {
        topology.i32(name).unwrap().0[0]
    } else {
        0
    }
}

#[test]
fn exports_have_rods_as_lines_solids_as_tetrahedra_and_every_collider() {
    let sandbox = Sandbox::new();
    sandbox.expect(0, &GALLERY, &["--out", "a", "--frames", "1"]);
    for format in ["obj", "vtk"] {
        sandbox.expect(0, &["export", "a", "--to", format, "--out", format], &[]);
    }
    let topology = TensorFile::read(&sandbox.path("a/topology.safetensors")).unwrap();
    let manifest = fs::read_to_string(sandbox.path("a/manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    let names = manifest["objects"].as_array().unwrap().iter();
    let kinds = manifest["kinds"].as_array().unwrap().iter();
    let (mut vertices, mut lines, mut triangles) = (0, 0, 0);
    for (name, kind) in names.zip(kinds) {
        let (name, kind) = (name.as_str().unwrap(), kind.as_str().unwrap());
        let elements = |what: &str| count(&topology, &format!("{name}/{what}"));
        let (points, _) = topology.f64(&format!("{name}/start_points")).unwrap();
        // VTK's cell types of a line, a tetrahedron and a triangle.
        let (cell, cells) = match kind {
            "rods" => (3, elements("edges")),
            "solid" => (10, elements("tetrahedra")),
            _ => (5, elements("triangles")),
        };
        assert!(cells > 0, "{name} has no cells");
        let path = sandbox.path(&format!("vtk/gallery.{name}.0001.vtu"));
        let text = fs::read_to_string(path).unwrap();
        assert_eq!(array(&text, "types"), vec![cell; cells], "{name}");
        assert_eq!(array(&text, "Points").len(), 24 * points[0], "{name}");
        vertices += points[0];
        lines += elements("edges");
        triangles += elements("triangles");
    }
    let text = fs::read(sandbox.path("obj/gallery.0001.obj")).unwrap();
    let imported = import::import("gallery.obj", &text).unwrap();
    assert_eq!(imported.points.len(), vertices);
    let starts = |letter: &str| {
        let text = String::from_utf8_lossy(&text).into_owned();
        text.lines().filter(|line| line.starts_with(letter)).count()
    };
    assert_eq!((starts("l "), starts("f ")), (lines, triangles));
}

const SCENE: &str = r#"
time = { duration = "0.1 s" }
method = { solver = "none" } # the objects overlap
[material.cotton]
preset = "cotton"
[material.steel]
preset = "steel"
[object.cloth]
kind = "cloth-grid"
size = ["50 cm", "50 cm"]
vertices = [5, 5]
material = "cotton"
[object.rod]
kind = "rod"
length = "40 cm"
vertices = 21
radius = "3 mm"
material = "steel"
position = [0, 0, 1]
[object.fur]
kind = "groom"
on = "ball"
density = 500
length = "12 cm"
vertices = 10
radius = "40 um"
material = "steel"
[object.cubes]
kind = "solid-box"
size = ["3 cm", "3 cm", "3 cm"]
cells = [1, 1, 1]
material = "steel"
position = [3, 0, 0]
copies = { scatter = { count = 4, min = [-1, -1, -1], max = [1, 1, 1] } }
[collider.ball]
kind = "sphere"
radius = "10 cm"
position = [5, 0, 0]
"#;

fn check_with(sandbox: &Sandbox, code: i32, set: &str) -> crate::common::Output {
    sandbox.expect(code, &["check", "scene.toml", "--set"], &[set])
}

#[test]
fn values_of_objects_and_colliders_can_be_set() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path("scene.toml"), SCENE).unwrap();
    // 500 per m² on 0.126 m² are 63 rods of 10 vertices; on four times the area 251. The ball is
    // not simulated.
    check_with(&sandbox, 0, "object.fur.seed=5").prints("1440 vertices (708 simulated)");
    check_with(&sandbox, 0, "collider.ball.radius=\"20 cm\"").prints("3310 vertices");
    check_with(&sandbox, 0, "object.fur.density=\"0.05 1/cm^2\"").prints("1440 vertices");
    // Six more cubes.
    check_with(&sandbox, 0, "object.cubes.copies.scatter.count=10").prints("1488 vertices");
}

/// Invalid settings, and a part of the message for each.
const MISTAKES: &[(&str, &str)] = &[
    // Kinds of the wrong table, and unknown kinds.
    (
        "collider.ball.kind=\"solid-box\"",
        "that is the kind of an object: write [object.ball]",
    ),
    (
        "object.cloth.kind=\"sphere\"",
        "write [collider.cloth] for an obstacle, or kind = \"rigid\"",
    ),
    (
        "object.cloth.kind=\"cloth\"",
        "did you mean \"cloth-grid\" or \"cloth-strip\"",
    ),
    (
        "object.cloth.kind=5",
        "`object.cloth.kind` must be a text, not a whole number",
    ),
    (
        "object.new={ size = [1, 1] }",
        "`object.new.kind` is missing",
    ),
    (
        "collider.new={}",
        "add `kind = ...`, one of \"box\", \"sphere\"",
    ),
    // Keys of another kind, and unknown keys.
    (
        "object.rod.size=[1, 1]",
        "unknown key `size` in `object.rod`, whose kind is \"rod\"",
    ),
    ("collider.ball.radiu=1", "did you mean `radius`?"),
    (
        "collider.ball.motion={ velocty = [1, 0, 0] }",
        "did you mean `velocity`?",
    ),
    (
        "collider.ball.motion={ keyframes = [{ tme = 0 }] }",
        "`collider.ball.motion.keyframes.0.time` is missing",
    ),
    (
        "object.cubes.copies={ row = 2 }",
        "expected one of \"array\", \"scatter\"",
    ),
    ("contact.frictoin=1", "did you mean `friction`?"),
    (
        "clamp.a={ object = \"rod\", end = \"first\", twist = { rat = 1 } }",
        "did you mean `rate`?",
    ),
    (
        "load.a={ object = \"cloth\", at = { vertices = [0] }, forc = [1, 0, 0] }",
        "did you mean `force`?",
    ),
    (
        "attachment.a={ object = \"cloth\", at = { group = \"left\" }, two = \"rod\" }",
        "did you mean `to`?",
    ),
    (
        "stitch.a={ from = \"cloth\", to = \"rod\" }",
        "with keys such as object, at",
    ),
    (
        "object.rod.rotation=\"90 deg\"",
        "with keys such as axis, angle",
    ),
    // Units.
    (
        "object.fur.density=\"5 kg\"",
        "`object.fur.density` must be in 1/m^2, not in kg",
    ),
    (
        "object.rod.rotation={ angle = \"30 m\" }",
        "must be in rad, not in m",
    ),
    // Values out of range.
    (
        "object.fur.density=0",
        "`object.fur.density` must be above 0",
    ),
    (
        "object.fur.density=\"= 0 / 0\"",
        "the result is not a finite number",
    ),
    ("object.fur.density=nan", "`nan` is not a finite number"),
    ("object.fur.density=1e300", "makes the scene too large"),
    (
        "object.fur.length=1e300",
        "`object.fur` is too large: its size is",
    ),
    (
        "object.rod.length=1e300",
        "`object.rod` is too large: its size is",
    ),
    (
        "object.rod.length=1e-300",
        "`object.rod` is too small: its size is",
    ),
    (
        "object.cubes.size=[1e300, 1, 1]",
        "`object.cubes` is too large: its size is",
    ),
    (
        "collider.ball.radius=1e300",
        "`collider.ball` is too large: its size is",
    ),
    (
        "object.rod.radius=1e300",
        "check `young`, `density` and the `radius` of the rod",
    ),
    (
        "object.rod.position=[1e300, 0, 0]",
        "`object.rod` is too far away",
    ),
    // Settings without effect.
    (
        "object.fur.position=[0, 0, 1]",
        "cannot have `position`: it follows",
    ),
    (
        "object.fur.motion={ velocity = [1, 0, 0] }",
        "cannot have `motion`",
    ),
    (
        "load.a={ object = \"cloth\", at = { vertices = [0] } }",
        "has no `force`, `moment` or `pressure`",
    ),
    (
        "load.a={ object = \"cloth\", at = { vertices = [] }, force = [1, 0, 0] }",
        "`load.a` selects no vertex of `cloth`",
    ),
    (
        "attachment.a={ object = \"cloth\", at = { group = \"left\" }, to = \"rod\" }",
        "the nearest is 1.03",
    ),
];

#[test]
fn mistakes_in_object_tables_are_reported_with_advice() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path("scene.toml"), SCENE).unwrap();
    for (set, message) in MISTAKES {
        let checked = check_with(&sandbox, 2, set);
        checked.prints(message);
        assert!(!checked.stderr.contains("panicked"), "{checked:#?}");
    }
}

#[test]
fn mistakes_in_a_multi_line_list_are_reported_on_their_line() {
    let sandbox = Sandbox::new();
    let keyframes = r#"
motion = { keyframes = [
  { time = 0 },
  { time = "0.5 s", position = [0, 0, "15 kg"] },
  { time = "0.4 s", rotatoin = { angle = "1 turn" } },
], interpolation = "smooth" }
"#;
    fs::write(sandbox.path("scene.toml"), format!("{SCENE}{keyframes}")).unwrap();
    let checked = sandbox.expect(2, &["check", "scene.toml"], &[]);
    checked
        .prints("scene.toml:42:39")
        .prints("must be in m, not in kg")
        .prints("scene.toml:43:21")
        .prints("did you mean `rotation`?");
}

#[test]
fn a_run_prints_a_few_findings_and_check_prints_all() {
    let sandbox = Sandbox::new();
    let mut scene = String::from(SCENE);
    for index in 0..20 {
        let name = format!(
            "\n[object.thick{index}]\nkind = \"cloth-disc\"\nradius = \"10 cm\"\nedge = \"2 cm\"\n"
        );
        scene += &format!("{name}material = \"cotton\"\ncontact = {{ thickness = \"5 cm\" }}\n");
    }
    fs::write(sandbox.path("scene.toml"), scene).unwrap();
    let output = sandbox.expect(0, &["run", "scene.toml", "--frames", "1"], &[]);
    let notes = output
        .stderr
        .lines()
        .filter(|line| line.starts_with("note: "));
    assert_eq!(notes.count(), 7, "{output:#?}");
    output.prints("14 more findings: `reefknot check` lists them all");
    let checked = sandbox.expect(0, &["check", "scene.toml"], &[]);
    assert_eq!(
        checked.stdout.matches("warning: ").count(),
        20,
        "{checked:#?}"
    );
}
