//! Mesh files of a scene, and their copies in the folder `inputs` of a run.

use std::fs;
use std::path::Path;

use crate::common::{Output, Sandbox, assert_same_run, files};
use crate::disk::Disk;

const SCENE: &str = r#"
time = { duration = "0.2 s", frame_rate = 24, h = "10 ms" }
method = { solver = "none" } # the meshes lie on top of each other
[parameters]
path = "b/mesh.obj"
[material.cotton]
preset = "cotton"
[material.jelly]
preset = "jelly"
[object.one]
kind = "cloth-mesh"
file = "a/mesh.obj"
material = "cotton"
[object.two]
kind = "cloth-mesh"
file = "$path"
material = "cotton"
[object.three]
kind = "cloth-mesh"
file = "a/../größe und farbe/mesh 3.obj"
material = "cotton"
[object.bunny]
kind = "solid-mesh"
file = "bunny_coarse.msh"
up = "y"
material = "jelly"
[collider.body]
kind = "mesh"
file = "body/0001.obj"
motion = { sequence = { file = "body/####.obj" } }
[pin.corner]
object = "one"
at = { vertices = [0] }
"#;

/// Mesh files of the scene, with the number of vertices along a side.
const MESHES: [(&str, usize); 6] = [
    ("a/mesh.obj", 6),
    ("b/mesh.obj", 5),
    ("größe und farbe/mesh 3.obj", 4),
    ("body/0001.obj", 3),
    ("body/0002.obj", 3),
    ("body/0003.obj", 3),
];

const COPIES: [&str; 7] = [
    "2-mesh.obj",
    "3-mesh 3.obj",
    "4-bunny_coarse.msh",
    "5-0001.obj",
    "5-0002.obj",
    "5-0003.obj",
    "mesh.obj",
];

const RUN: [&str; 2] = ["run", "s/my.toml"];

/// An OBJ file of a tilted square.
fn square(side: usize, tilt: f64) -> String {
    let mut text = String::new();
    for vertex in 0..side * side {
        let [x, y] = [vertex % side, vertex / side].map(|i| 0.05 * i as f64);
        text += &format!("v {x} {y} {}\n", tilt * x);
    }
    for y in 0..side - 1 {
        for x in 1..side {
            let (a, b) = (y * side + x, (y + 1) * side + x);
            text += &format!("f {a} {} {}\nf {a} {} {b}\n", a + 1, b + 1, b + 1);
        }
    }
    text
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A sandbox with the scene and its meshes in folder `s`.
fn sandbox_with_scene() -> Sandbox {
    let sandbox = Sandbox::new();
    write(&sandbox.path("s/my.toml"), SCENE);
    for (index, (name, side)) in MESHES.into_iter().enumerate() {
        let text = square(side, 0.1 * index as f64);
        write(&sandbox.path("s").join(name), &text);
    }
    sandbox
}

fn names(folder: &Path) -> Vec<String> {
    let found = files(folder).into_iter();
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    found.map(|(path, _)| name(&path)).collect()
}

#[test]
fn a_moved_run_resumes_without_the_original_files() {
    let sandbox = sandbox_with_scene();
    let hash = sandbox.hash(&RUN, &["--out", "whole", "--frames", "9"]);
    sandbox.expect(0, &RUN, &["--out", "a", "--frames", "3"]);
    assert_eq!(names(&sandbox.path("a/inputs")), COPIES);
    fs::create_dir(sandbox.path("moved")).unwrap();
    fs::rename(sandbox.path("a"), sandbox.path("moved/to here")).unwrap();
    fs::remove_dir_all(sandbox.path("s")).unwrap();
    sandbox.expect(0, &["check", "moved/to here"], &[]);
    let own = ["run", "moved/to here/scene.toml"];
    let more = ["--out", "moved/to here", "--resume", "--frames", "9"];
    assert_eq!(sandbox.hash(&own, &more), hash);
    assert_same_run(&sandbox.path("moved/to here"), &sandbox.path("whole"));
    assert_eq!(names(&sandbox.path("moved/to here/inputs")), COPIES);
    sandbox.expect(0, &["check", "moved/to here"], &[]);
}

#[test]
fn a_run_resumed_from_its_stored_scene_keeps_its_name() {
    // Regression: the name became "scene", and exports got another file name.
    let sandbox = sandbox_with_scene();
    sandbox.expect(0, &RUN, &["--out", "a", "--frames", "1"]);
    let own = ["run", "a/scene.toml", "--out", "a", "--resume"];
    let output = sandbox.expect(0, &own, &["--frames", "2", "--summary", "json"]);
    assert_eq!(output.summary()["scene"], "my");
    sandbox
        .expect(0, &["export", "a", "--to", "obj"], &[])
        .prints("my.0002.obj");
}

#[test]
fn a_run_resumes_from_the_original_scene_only_if_its_files_are_unchanged() {
    let sandbox = sandbox_with_scene();
    let hash = sandbox.hash(&RUN, &["--out", "whole", "--frames", "4"]);
    sandbox.expect(0, &RUN, &["--out", "a", "--frames", "2"]);
    let resume = ["--out", "a", "--resume", "--frames", "4"];
    // Regression: an added or removed file of a sequence changed the motion unnoticed.
    let cases: [(&str, Option<String>, &str); 5] = [
        (
            "a/mesh.obj",
            Some(square(6, 0.01)),
            "s/a/mesh.obj has changed since",
        ),
        (
            "body/0003.obj",
            Some(square(3, 0.7)),
            "s/body/0003.obj has changed since",
        ),
        ("body/0003.obj", None, "copied as 5-0003.obj is missing"),
        (
            "body/0004.obj",
            Some(square(3, 0.9)),
            "s/body/0004.obj was added after its start",
        ),
        ("b/mesh.obj", None, "cannot read `b/mesh.obj`"),
    ];
    let before = files(&sandbox.path("a"));
    for (name, text, message) in cases {
        let path = sandbox.path("s").join(name);
        let original = fs::read(&path).ok();
        match text {
            Some(text) => fs::write(&path, text).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
        let output = sandbox.expect(2, &RUN, &resume);
        output
            .prints(message)
            .prints("reefknot run a/scene.toml --out a --resume");
        assert!(files(&sandbox.path("a")) == before, "{name}");
        match original {
            Some(bytes) => fs::write(&path, bytes).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
    }
    assert_eq!(sandbox.hash(&RUN, &resume), hash);
    assert_same_run(&sandbox.path("a"), &sandbox.path("whole"));
}

#[test]
fn a_damaged_copy_is_named_and_restored_from_the_original() {
    // Regression: a damaged but readable copy was used as the mesh.
    let sandbox = sandbox_with_scene();
    let hash = sandbox.hash(&RUN, &["--out", "whole", "--frames", "4"]);
    sandbox.expect(0, &RUN, &["--out", "a", "--frames", "2"]);
    let more = ["--out", "a", "--resume", "--frames", "4"];
    for damage in [None, Some(square(5, 0.3)), Some("v 0 0".to_owned())] {
        let copy = sandbox.path("a/inputs/2-mesh.obj");
        match damage {
            None => fs::remove_file(&copy).unwrap(),
            Some(text) => fs::write(&copy, text).unwrap(),
        }
        let checked = sandbox.expect(1, &["check", "a"], &[]);
        checked
            .prints("a/inputs/2-mesh.obj")
            .prints("restore the file");
        let output = sandbox.expect(2, &["run", "a/scene.toml"], &more);
        output.prints("inputs/2-mesh.obj");
        let repaired = sandbox.expect(0, &RUN, &more);
        repaired.prints("a/inputs/2-mesh.obj was missing or damaged: copied again");
        sandbox.expect(0, &["check", "a"], &[]);
    }
    assert_eq!(sandbox.hash(&RUN, &more), hash);
    assert_same_run(&sandbox.path("a"), &sandbox.path("whole"));
    // The file would extend the sequence.
    fs::copy(
        sandbox.path("s/body/0001.obj"),
        sandbox.path("a/inputs/5-0004.obj"),
    )
    .unwrap();
    let stray = "a/inputs/5-0004.obj was added after its start";
    sandbox.expect(1, &["check", "a"], &[]).prints(stray);
    sandbox
        .expect(2, &["run", "a/scene.toml"], &more)
        .prints(stray);
}

#[test]
fn overwriting_removes_only_the_copies_of_the_old_run() {
    let sandbox = sandbox_with_scene();
    sandbox.expect(0, &RUN, &["--out", "a", "--frames", "1"]);
    write(&sandbox.path("a/inputs/notes.txt"), "mine");
    let other = ["--set", "parameters.path=\"a/mesh.obj\"", "--frames", "1"];
    sandbox.expect(
        0,
        &RUN,
        &[&["--out", "a", "--overwrite"], &other[..]].concat(),
    );
    let expected = [
        "2-mesh 3.obj",
        "3-bunny_coarse.msh",
        "4-0001.obj",
        "4-0002.obj",
        "4-0003.obj",
        "mesh.obj",
        "notes.txt",
    ];
    assert_eq!(names(&sandbox.path("a/inputs")), expected);
    sandbox.expect(0, &["check", "a"], &[]);
    sandbox.expect(
        0,
        &["run", "flag", "--quick"],
        &["--out", "a", "--overwrite", "--frames", "1"],
    );
    assert_eq!(names(&sandbox.path("a/inputs")), ["notes.txt"]);
}

#[test]
fn overwriting_a_run_from_its_stored_scene_keeps_its_inputs() {
    // Regression: the copies were removed before they were read, and the meshes were lost.
    let sandbox = sandbox_with_scene();
    let hash = sandbox.hash(&RUN, &["--out", "a", "--frames", "2"]);
    fs::remove_dir_all(sandbox.path("s")).unwrap();
    for scene in ["a/scene.toml", "./a/../a/scene.toml"] {
        let more = ["--out", "a", "--overwrite", "--frames", "2"];
        assert_eq!(sandbox.hash(&["run", scene], &more), hash);
        assert_eq!(names(&sandbox.path("a/inputs")), COPIES);
        sandbox.expect(0, &["check", "a"], &[]);
    }
}

#[test]
fn copies_of_a_run_killed_during_its_start_are_removed_by_the_next() {
    // Regression: a leftover file extended the sequence of the next run.
    let sandbox = sandbox_with_scene();
    sandbox.expect(0, &RUN, &["--out", "whole", "--frames", "2"]);
    fs::create_dir_all(sandbox.path("a")).unwrap();
    fs::write(sandbox.path("a/.lock"), "").unwrap();
    fs::write(
        sandbox.path("a/.copying"),
        "[\"5-0003.obj\", \"5-0004.obj\", \"../whole/scene.toml\"]",
    )
    .unwrap();
    for name in ["5-0003.obj", "5-0004.obj", "5-0005.obj.17.tmp"] {
        write(&sandbox.path("a/inputs").join(name), "from another scene");
    }
    sandbox.expect(0, &RUN, &["--out", "a", "--frames", "2"]);
    assert_eq!(names(&sandbox.path("a/inputs")), COPIES);
    assert!(!sandbox.path("a/.copying").exists());
    assert_same_run(&sandbox.path("a"), &sandbox.path("whole"));
    sandbox.expect(0, &["check", "a"], &[]);
}

#[test]
fn a_run_killed_while_copying_files_resumes_without_loss() {
    let sandbox = sandbox_with_scene();
    for number in 4..60 {
        let path = sandbox.path("s").join(format!("body/{number:04}.obj"));
        fs::write(path, square(3, 0.01 * f64::from(number))).unwrap();
    }
    sandbox.expect(0, &RUN, &["--out", "whole", "--frames", "1"]);
    for last in ["5-0001.obj", "5-0030.obj", "5-0059.obj"] {
        let start = [&RUN[..], &["--out", "a", "--frames", "1", "--resume"]].concat();
        let mut running = sandbox.start(&start);
        running.wait_for(&sandbox.path("a/inputs").join(last));
        running.kill();
    }
    sandbox.expect(0, &RUN, &["--out", "a", "--frames", "1", "--resume"]);
    assert_same_run(&sandbox.path("a"), &sandbox.path("whole"));
    sandbox.expect(0, &["check", "a"], &[]);
    assert_eq!(
        names(&sandbox.path("a/inputs")),
        names(&sandbox.path("whole/inputs"))
    );
}

#[test]
fn a_run_whose_disk_fills_up_while_copying_files_resumes_without_loss() {
    let sandbox = sandbox_with_scene();
    sandbox.expect(0, &RUN, &["--out", "whole", "--frames", "2"]);
    let Some(disk) = Disk::new(sandbox.path("disk"), "size=32k") else {
        return;
    };
    let out = ["--out", "disk/a", "--frames", "2", "--resume"];
    for _ in 0..2 {
        let full = sandbox.expect(2, &RUN, &out);
        full.prints("disk/a/inputs/4-bunny_coarse.msh: No space left on device");
    }
    disk.remount("size=16m");
    sandbox.expect(0, &RUN, &out);
    assert_same_run(&disk.path().join("a"), &sandbox.path("whole"));
    assert_eq!(names(&disk.path().join("a/inputs")), COPIES);
}

/// Runs a scene with one object from a mesh file.
fn run_one_mesh(sandbox: &Sandbox, file: &str) -> Output {
    let scene = format!(
        "time = {{ duration = \"0.1 s\" }}\n[material.c]\npreset = \"cotton\"\n[object.one]\n\
            kind = \"cloth-mesh\"\nmaterial = \"c\"\nfile = '{file}'\n"
    );
    fs::write(sandbox.path("s/one.toml"), scene).unwrap();
    sandbox.call(&[
        "run",
        "s/one.toml",
        "--out",
        "one",
        "--overwrite",
        "--frames",
        "1",
    ])
}

#[test]
fn invalid_mesh_files_are_refused_with_a_reason() {
    let sandbox = sandbox_with_scene();
    fs::create_dir(sandbox.path("s/folder.obj")).unwrap();
    fs::write(sandbox.path("s/empty.obj"), "").unwrap();
    fs::write(sandbox.path("s/noise.obj"), [0, 255, 13, 7]).unwrap();
    let large = fs::File::create(sandbox.path("s/large.obj")).unwrap();
    large.set_len(3 << 30).unwrap();
    let cases = [
        ("folder.obj", "it is a folder", "give a file in it"),
        ("..", "it is a folder", "give a file in it"),
        ("/dev/zero", "it is not a regular file", "a file on a disk"),
        ("empty.obj", "it is empty", "write the mesh again"),
        ("noise.obj", "line 1", "write the file again"),
        ("large.obj", "it has 3.2 GB", "at most 2 GB"),
        ("nowhere.obj", "No such file", "looked for s/nowhere.obj"),
        ("Bunny.obj", "No such file", "did you mean `bunny.obj`?"),
        (
            "my.toml",
            "the extension `toml` is not known",
            "Wavefront OBJ (.obj)",
        ),
    ];
    for (file, reason, advice) in cases {
        let output = run_one_mesh(&sandbox, file);
        assert_eq!(output.code, Some(2), "{file}: {output:#?}");
        output
            .prints(reason)
            .prints(advice)
            .prints("s/one.toml:7:8");
        assert!(!sandbox.path("one").exists(), "{file}");
    }
    let absolute = sandbox.path("s/a/mesh.obj").to_string_lossy().into_owned();
    for file in ["../s/b/mesh.obj", "./a/mesh.obj", &absolute] {
        let output = run_one_mesh(&sandbox, file);
        assert_eq!(output.code, Some(0), "{file}: {output:#?}");
        assert_eq!(names(&sandbox.path("one/inputs")), ["mesh.obj"]);
        sandbox.expect(0, &["check", "one"], &[]);
    }
    let set = ["--set", "object.one.file=\"b/mesh.obj\"", "--frames", "1"];
    sandbox.expect(0, &["run", "s/one.toml", "--out", "set"], &set);
    sandbox.expect(0, &["check", "set"], &[]);
    let kept = fs::read(sandbox.path("set/inputs/mesh.obj")).unwrap();
    assert!(kept == fs::read(sandbox.path("s/b/mesh.obj")).unwrap());
}
