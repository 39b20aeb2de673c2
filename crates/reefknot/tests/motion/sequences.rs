//! Mesh sequences.

use std::path::Path;

use glam::DVec3;
use reefknot_sim::model::Model;
use reefknot_sim::state::State;

use super::common::*;

const TRIANGLES: &str = "f 1 2 3\nf 1 3 4\n";

/// A square of 1 m, shifted along z.
fn square(z: f64) -> String {
    format!("v 0 0 {z}\nv 1 0 {z}\nv 1 1 {z}\nv 0 1 {z}\n")
}

fn ply(z: f64) -> String {
    format!(
        "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\n\
            property float z\nend_header\n0 0 {z}\n1 0 {z}\n1 1 {z}\n0 1 {z}\n"
    )
}

fn folder_with(files: &[(String, String)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

/// Squares at the heights 0, 1, 4, 9 and 16 times a quarter, in files 7 to 11.
fn squares(extension: &str) -> tempfile::TempDir {
    let file = |i: usize| {
        let z = (i * i) as f64 / 4.0;
        let text = match extension {
            "obj" => square(z) + TRIANGLES,
            _ => ply(z),
        };
        (format!("s{:03}.{extension}", i + 7), text)
    };
    let mut files: Vec<_> = (0..5).map(file).collect();
    files.push(("mesh.obj".into(), square(0.0) + TRIANGLES));
    folder_with(&files)
}

#[test]
fn a_sequence_interpolates_its_files() {
    for extension in ["obj", "ply"] {
        let folder = squares(extension);
        let height = |time: f64, more: &str| {
            let simulation = Simulation::new_in(
                folder.path(),
                &format!(
                    "[collider.it]\nkind = \"mesh\"\nfile = \"mesh.obj\"\nscale = 2\n\
                        position = [0, 0, 5]\n\
                        motion = {{ sequence = {{ file = \"s###.{extension}\", \
                        frame_rate = 5{more} }} }}\n"
                ),
            );
            let points = simulation.at(0, time);
            assert!(close(
                points[2] - points[0],
                DVec3::new(2.0, 2.0, 0.0),
                1e-12
            ));
            (points[0].z - 5.0) / 2.0
        };
        // A file every 0.2 s; the last one holds.
        for (time, z) in [(0.0, 0.0), (0.2, 0.25), (0.4, 1.0), (0.8, 4.0), (1.0, 4.0)] {
            for interpolation in ["linear", "smooth", "hold"] {
                let more = format!(", interpolation = \"{interpolation}\"");
                assert_eq!(height(time, &more), z, "{interpolation}");
            }
        }
        // Between 1 and 2.25. The cubic through four points of a parabola is the parabola.
        assert!((height(0.5, "") - 1.625).abs() < 1e-12);
        assert!((height(0.5, ", interpolation = \"smooth\"") - 1.5625).abs() < 1e-12);
        assert_eq!(height(0.5, ", interpolation = \"hold\""), 1.0);
        assert_eq!(height(0.5, ", offset = 0.3"), 0.25);
        assert_eq!(height(0.2, ", offset = -0.2"), 1.0);
        assert_eq!(height(0.2, ", first = 9"), 2.25);
    }
}

fn cloth_with_sequence(folder: &Path, at: &str, more: &str) -> Result<Model, String> {
    let text = format!(
        "{HEAD}[object.cloth]\nkind = \"cloth-mesh\"\nfile = \"mesh.obj\"\nmaterial = \"stuff\"\n\
            {more}[pin.it]\nobject = \"cloth\"\nat = {{ {at} }}\n\
            motion = {{ sequence = {{ file = \"s###.obj\", frame_rate = 5 }} }}\n"
    );
    Model::build(&read_in(folder, &text)).map_err(|problems| problems.to_string())
}

fn targets(model: &Model, step: u64) -> Vec<(usize, DVec3)> {
    let state = State {
        step,
        ..model.start.clone()
    };
    held_from(model, &state).targets
}

#[test]
fn pins_follow_files_of_the_whole_object() {
    let folder = squares("obj");
    let model = cloth_with_sequence(folder.path(), "vertices = [1, 3]", "").unwrap();
    // At the end of the step to 0.4 s: the third file, at a height of 1 m.
    let expected = vec![
        (1, DVec3::new(1.0, 0.0, 1.0)),
        (3, DVec3::new(0.0, 1.0, 1.0)),
    ];
    assert_eq!(targets(&model, 39), expected);
}

#[test]
fn pins_follow_files_of_the_held_vertices_only() {
    let mut files = vec![("mesh.obj".to_owned(), square(0.0) + TRIANGLES)];
    for (number, z) in [(1, 0.0), (2, 1.0)] {
        files.push((
            format!("s00{number}.obj"),
            format!("v 1 0 {z}\nv 0 1 -{z}\n"),
        ));
    }
    let folder = folder_with(&files);
    let model = cloth_with_sequence(folder.path(), "vertices = [3, 1]", "").unwrap();
    // In the order of vertex numbers.
    let expected = vec![
        (1, DVec3::new(1.0, 0.0, 0.5)),
        (3, DVec3::new(0.0, 1.0, -0.5)),
    ];
    assert_eq!(targets(&model, 9), expected);
    let refusal = cloth_with_sequence(folder.path(), "vertices = [3]", "").unwrap_err();
    assert!(
        refusal.contains("`s001.obj` does not match: it has 2 vertices"),
        "{refusal}"
    );
    assert!(
        refusal.contains("`cloth` has 4, of which 1 are held"),
        "{refusal}"
    );
}

/// Files of a pin contain the mesh of its object, so they get the placement of the object.
#[test]
fn sequences_of_pins_are_placed_like_their_object() {
    let folder = squares("obj");
    let placed = "scale = 2\nposition = [0, 0, 5]\nrotation = { angle = \"90 deg\" }\n";
    for at in ["vertices = [1, 3]", "vertices = [0, 1, 2, 3]"] {
        let model = cloth_with_sequence(folder.path(), at, placed).unwrap();
        for (node, target) in targets(&model, 39) {
            let expected = model.start.positions[node] + DVec3::Z * 2.0;
            assert!(
                close(target, expected, 1e-12),
                "{target} against {expected}"
            );
        }
    }
    // With two copies: vertex 5 is vertex 1 of the second.
    let copies =
        format!("{placed}copies = {{ array = {{ count = [2, 1, 1], spacing = [9, 0, 0] }} }}\n");
    let model = cloth_with_sequence(folder.path(), "vertices = [1, 5]", &copies).unwrap();
    for (node, target) in targets(&model, 39) {
        assert!(close(
            target,
            model.start.positions[node] + DVec3::Z * 2.0,
            1e-12
        ));
    }
}

/// Import reorders the vertices of a rod; the points of a sequence get the same order.
#[test]
fn sequences_of_a_reordered_mesh_are_reordered() {
    let line = |z: f64| format!("v 0 0 {z}\nv 2 0 {z}\nv 1 0 {z}\nl 1 3 2\n");
    let folder = folder_with(&[
        ("s001.obj".into(), line(0.0)),
        ("s002.obj".into(), line(1.0)),
    ]);
    let text = "[object.rod]\nkind = \"rod-mesh\"\nfile = \"s001.obj\"\nradius = 0.01\n\
        material = \"stuff\"\n[pin.it]\nobject = \"rod\"\nat = { vertices = [0, 1, 2] }\n\
        motion = { sequence = { file = \"s###.obj\", frame_rate = 5 } }\n";
    let mut rod = Simulation::new_in(folder.path(), text);
    rod.balanced_steps(20);
    let starts = rod.model.objects[0].mesh.points.iter();
    for (start, now) in starts.zip(&rod.state.positions) {
        assert!(close(*now, *start + DVec3::Z, 1e-15), "{now} from {start}");
    }
}

#[test]
fn invalid_sequences_are_refused_with_the_file() {
    let refusal = |files: &[(&str, String)]| {
        let mut all = vec![("mesh.obj".to_owned(), square(0.0) + TRIANGLES)];
        all.extend(
            files
                .iter()
                .map(|(name, text)| ((*name).to_owned(), text.clone())),
        );
        let folder = folder_with(&all);
        let text = format!(
            "{HEAD}[collider.it]\nkind = \"mesh\"\nfile = \"mesh.obj\"\n\
                motion = {{ sequence = {{ file = \"s#.obj\" }} }}\n"
        );
        let problems = Model::build(&read_in(folder.path(), &text)).unwrap_err();
        problems.to_string()
    };
    let (a, b) = (square(0.0), square(1.0));
    let gap = refusal(&[("s1.obj", a.clone()), ("s2.obj", b.clone()), ("s4.obj", b)]);
    assert!(
        gap.contains("no file with number 3") && gap.contains("s4.obj"),
        "{gap}"
    );
    let few = refusal(&[("s1.obj", a.clone()), ("s2.obj", "v 0 0 0\n".into())]);
    assert!(
        few.contains("`s2.obj` does not match: it has 1 vertices, but the mesh has 4"),
        "{few}"
    );
    assert!(
        few.contains("same order") || few.contains("in its order"),
        "{few}"
    );
    let none = refusal(&[]);
    assert!(none.contains("there is no file `s#.obj`"), "{none}");
    let broken = refusal(&[("s1.obj", a), ("s2.obj", "v 0 0 x\n".into())]);
    assert!(
        broken.contains("`s2.obj` cannot be read: line 1"),
        "{broken}"
    );
}
