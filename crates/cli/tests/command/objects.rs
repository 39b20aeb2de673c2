//! Scenes with every kind of object: runs, exports, and what is said about mistakes in them.

use std::fs;

use reefknot::io::import;
use reefknot::io::tensors::TensorFile;

use crate::common::{Place, same_run};

/// The gallery, with fewer frames than its quick size has.
const GALLERY: [&str; 3] = ["run", "gallery", "--quick"];

#[test]
fn the_gallery_has_the_same_bits_on_any_threads_and_after_a_stop() {
    let place = Place::new();
    let hash = place.hash(&GALLERY, &["--out", "1", "--threads", "1", "--frames", "5"]);
    for threads in ["2", "3"] {
        // Frames too: what is not simulated is not in the hash.
        let more = ["--out", threads, "--threads", threads, "--frames", "2"];
        place.expect(0, &GALLERY, &more);
        let more = [
            "--out",
            threads,
            "--resume",
            "--threads",
            "1",
            "--frames",
            "5",
        ];
        assert_eq!(place.hash(&GALLERY, &more), hash);
        same_run(&place.path(threads), &place.path("1"));
    }
    place.expect(0, &["check", "3"], &[]);
}

#[test]
fn the_end_of_a_run_tells_what_was_simulated_and_what_only_moved() {
    let place = Place::new();
    let checked = place.expect(0, &["check", "gallery", "--quick"], &[]);
    checked
        .says("25 objects, 11 colliders")
        .says(" vertices (6263 simulated), 17597 elements");
    let ran = place.expect(0, &GALLERY, &["--frames", "1"]);
    ran.says(" vertices (6263 simulated), 5 steps")
        .says("0 contacts in a step, at most 0; ");
    let flag = [
        "run",
        "flag",
        "--quick",
        "--frames",
        "1",
        "--set",
        "parameters.n=8",
    ];
    place.expect(0, &flag, &[]).says("  40 vertices, ");
}

/// The bytes of an array in a `.vtu` file, after their length.
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

/// The number of elements of an object in the topology of a run.
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
    let place = Place::new();
    place.expect(0, &GALLERY, &["--out", "a", "--frames", "1"]);
    for format in ["obj", "vtk"] {
        place.expect(0, &["export", "a", "--to", format, "--out", format], &[]);
    }
    let topology = TensorFile::read(&place.path("a/topology.safetensors")).unwrap();
    let manifest = fs::read_to_string(place.path("a/manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    let names = manifest["objects"].as_array().unwrap().iter();
    let kinds = manifest["kinds"].as_array().unwrap().iter();
    let (mut vertices, mut lines, mut triangles) = (0, 0, 0);
    for (name, kind) in names.zip(kinds) {
        let (name, kind) = (name.as_str().unwrap(), kind.as_str().unwrap());
        let of = |what: &str| count(&topology, &format!("{name}/{what}"));
        let (points, _) = topology.f64(&format!("{name}/start_points")).unwrap();
        // VTK's numbers of a line, a tetrahedron and a triangle.
        let (cell, cells) = match kind {
            "rods" => (3, of("edges")),
            "solid" => (10, of("tetrahedra")),
            _ => (5, of("triangles")),
        };
        assert!(cells > 0, "{name} has nothing to draw");
        let path = place.path(&format!("vtk/gallery.{name}.0001.vtu"));
        let text = fs::read_to_string(path).unwrap();
        assert_eq!(array(&text, "types"), vec![cell; cells], "{name}");
        assert_eq!(array(&text, "Points").len(), 24 * points[0], "{name}");
        vertices += points[0];
        lines += of("edges");
        triangles += of("triangles");
    }
    let text = fs::read(place.path("obj/gallery.0001.obj")).unwrap();
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
method = { solver = "none" } # things lie on top of each other
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

fn check_with(place: &Place, code: i32, set: &str) -> crate::common::Ran {
    place.expect(code, &["check", "scene.toml", "--set"], &[set])
}

#[test]
fn values_of_objects_and_colliders_can_be_set() {
    let place = Place::new();
    fs::write(place.path("scene.toml"), SCENE).unwrap();
    // 500 by m² on 0.126 m² are 63 rods of 10 vertices; on four times the area 251. All but the ball is simulated.
    check_with(&place, 0, "object.fur.seed=5").says("1440 vertices (708 simulated)");
    check_with(&place, 0, "collider.ball.radius=\"20 cm\"").says("3310 vertices");
    check_with(&place, 0, "object.fur.density=\"0.05 1/cm^2\"").says("1440 vertices");
    // Six cubes more.
    check_with(&place, 0, "object.cubes.copies.scatter.count=10").says("1488 vertices");
}

/// Values, and what is said about them.
const MISTAKES: &[(&str, &str)] = &[
    // Kinds of the wrong table, or of none.
    (
        "collider.ball.kind=\"solid-box\"",
        "that is the kind of an object: write [object.ball]",
    ),
    (
        "object.cloth.kind=\"sphere\"",
        "write [collider.cloth] for what is touched only, or kind = \"rigid\"",
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
    // Keys of another kind, or of none.
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
        "`object.fur.density` is measured in 1/m^2, not in kg",
    ),
    (
        "object.rod.rotation={ angle = \"30 m\" }",
        "is measured in rad, not in m",
    ),
    // Values that make no sense.
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
        "`object.fur` is too large to compute with",
    ),
    (
        "object.rod.length=1e300",
        "`object.rod` is too large to compute with",
    ),
    (
        "object.rod.length=1e-300",
        "`object.rod` is too small to compute with",
    ),
    (
        "object.cubes.size=[1e300, 1, 1]",
        "`object.cubes` is too large to compute with",
    ),
    (
        "collider.ball.radius=1e300",
        "`collider.ball` is too large to compute with",
    ),
    (
        "object.rod.radius=1e300",
        "look at `young`, `density` and the `radius` of the rod",
    ),
    (
        "object.rod.position=[1e300, 0, 0]",
        "`object.rod` is too far away",
    ),
    // What would have been ignored.
    (
        "object.fur.position=[0, 0, 1]",
        "cannot have `position`: it goes with",
    ),
    (
        "object.fur.motion={ velocity = [1, 0, 0] }",
        "cannot have `motion`",
    ),
    (
        "load.a={ object = \"cloth\", at = { vertices = [0] } }",
        "has no `force`, no `moment` and no `pressure`",
    ),
    (
        "load.a={ object = \"cloth\", at = { vertices = [] }, force = [1, 0, 0] }",
        "`load.a` has no vertex of `cloth`",
    ),
    (
        "attachment.a={ object = \"cloth\", at = { group = \"left\" }, to = \"rod\" }",
        "the nearest is 1.03",
    ),
];

#[test]
fn mistakes_in_the_tables_of_objects_say_where_and_what_to_do() {
    let place = Place::new();
    fs::write(place.path("scene.toml"), SCENE).unwrap();
    for (set, message) in MISTAKES {
        let checked = check_with(&place, 2, set);
        checked.says(message);
        assert!(!checked.stderr.contains("panicked"), "{checked:#?}");
    }
}

#[test]
fn mistakes_in_a_list_over_several_lines_are_shown_on_their_line() {
    let place = Place::new();
    let keyframes = r#"
motion = { keyframes = [
  { time = 0 },
  { time = "0.5 s", position = [0, 0, "15 kg"] },
  { time = "0.4 s", rotatoin = { angle = "1 turn" } },
], interpolation = "smooth" }
"#;
    fs::write(place.path("scene.toml"), format!("{SCENE}{keyframes}")).unwrap();
    let checked = place.expect(2, &["check", "scene.toml"], &[]);
    checked
        .says("scene.toml:42:39")
        .says("is measured in m, not in kg")
        .says("scene.toml:43:21")
        .says("did you mean `rotation`?");
}

#[test]
fn a_run_begins_with_a_few_remarks_and_check_has_them_all() {
    let place = Place::new();
    let mut scene = String::from(SCENE);
    for index in 0..20 {
        let name = format!(
            "\n[object.thick{index}]\nkind = \"cloth-disc\"\nradius = \"10 cm\"\nedge = \"2 cm\"\n"
        );
        scene += &format!("{name}material = \"cotton\"\ncontact = {{ thickness = \"5 cm\" }}\n");
    }
    fs::write(place.path("scene.toml"), scene).unwrap();
    let ran = place.expect(0, &["run", "scene.toml", "--frames", "1"], &[]);
    let notes = ran.stderr.lines().filter(|line| line.starts_with("note: "));
    assert_eq!(notes.count(), 7, "{ran:#?}");
    ran.says("14 more findings: `reefknot check` lists them all");
    let checked = place.expect(0, &["check", "scene.toml"], &[]);
    assert_eq!(
        checked.stdout.matches("warning: ").count(),
        20,
        "{checked:#?}"
    );
}
