//! The files that a scene is built from, and the copies that a run keeps of them.

use std::fs;
use std::path::Path;

use crate::common::{Place, Ran, files, same_run};
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

/// The files that the scene names, with the number of vertices along a side.
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

/// A square of cloth in a file, tilted.
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

/// A place with the scene and its meshes in the folder `s`.
fn place_with_scene() -> Place {
    let place = Place::new();
    write(&place.path("s/my.toml"), SCENE);
    for (index, (name, side)) in MESHES.into_iter().enumerate() {
        let text = square(side, 0.1 * index as f64);
        write(&place.path("s").join(name), &text);
    }
    place
}

fn names(folder: &Path) -> Vec<String> {
    let found = files(folder).into_iter();
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    found.map(|(path, _)| name(&path)).collect()
}

#[test]
fn a_run_goes_on_without_the_files_it_was_built_from_wherever_it_is_moved() {
    let place = place_with_scene();
    let hash = place.hash(&RUN, &["--out", "whole", "--frames", "9"]);
    place.expect(0, &RUN, &["--out", "a", "--frames", "3"]);
    assert_eq!(names(&place.path("a/inputs")), COPIES);
    fs::create_dir(place.path("moved")).unwrap();
    fs::rename(place.path("a"), place.path("moved/to here")).unwrap();
    fs::remove_dir_all(place.path("s")).unwrap();
    place.expect(0, &["check", "moved/to here"], &[]);
    let own = ["run", "moved/to here/scene.toml"];
    let more = ["--out", "moved/to here", "--resume", "--frames", "9"];
    assert_eq!(place.hash(&own, &more), hash);
    same_run(&place.path("moved/to here"), &place.path("whole"));
    assert_eq!(names(&place.path("moved/to here/inputs")), COPIES);
    place.expect(0, &["check", "moved/to here"], &[]);
}

#[test]
fn a_run_that_goes_on_from_its_own_scene_keeps_its_name() {
    // It was called "scene" from then on, and its export began under another name beside the old one.
    let place = place_with_scene();
    place.expect(0, &RUN, &["--out", "a", "--frames", "1"]);
    let own = ["run", "a/scene.toml", "--out", "a", "--resume"];
    let ran = place.expect(0, &own, &["--frames", "2", "--summary", "json"]);
    assert_eq!(ran.summary()["scene"], "my");
    place
        .expect(0, &["export", "a", "--to", "obj"], &[])
        .says("my.0002.obj");
}

#[test]
fn a_run_goes_on_from_the_original_scene_while_its_files_are_the_same() {
    let place = place_with_scene();
    let hash = place.hash(&RUN, &["--out", "whole", "--frames", "4"]);
    place.expect(0, &RUN, &["--out", "a", "--frames", "2"]);
    let resume = ["--out", "a", "--resume", "--frames", "4"];
    // A file more or less in a sequence went unnoticed: from there on it was another motion.
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
            "s/body/0004.obj was not there when it began",
        ),
        ("b/mesh.obj", None, "cannot read `b/mesh.obj`"),
    ];
    let before = files(&place.path("a"));
    for (name, text, message) in cases {
        let path = place.path("s").join(name);
        let original = fs::read(&path).ok();
        match text {
            Some(text) => fs::write(&path, text).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
        let ran = place.expect(2, &RUN, &resume);
        ran.says(message)
            .says("reefknot run a/scene.toml --out a --resume");
        assert!(files(&place.path("a")) == before, "{name}");
        match original {
            Some(bytes) => fs::write(&path, bytes).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
    }
    assert_eq!(place.hash(&RUN, &resume), hash);
    same_run(&place.path("a"), &place.path("whole"));
}

#[test]
fn a_damaged_copy_is_named_and_made_again_from_the_original() {
    // A copy that was damaged but could be read was taken for the mesh: the run went on with another one.
    let place = place_with_scene();
    let hash = place.hash(&RUN, &["--out", "whole", "--frames", "4"]);
    place.expect(0, &RUN, &["--out", "a", "--frames", "2"]);
    let more = ["--out", "a", "--resume", "--frames", "4"];
    for damage in [None, Some(square(5, 0.3)), Some("v 0 0".to_owned())] {
        let copy = place.path("a/inputs/2-mesh.obj");
        match damage {
            None => fs::remove_file(&copy).unwrap(),
            Some(text) => fs::write(&copy, text).unwrap(),
        }
        let checked = place.expect(1, &["check", "a"], &[]);
        checked
            .says("a/inputs/2-mesh.obj")
            .says("put the file back");
        let ran = place.expect(2, &["run", "a/scene.toml"], &more);
        ran.says("inputs/2-mesh.obj");
        let repaired = place.expect(0, &RUN, &more);
        repaired.says("a/inputs/2-mesh.obj was missing or damaged: copied again");
        place.expect(0, &["check", "a"], &[]);
    }
    assert_eq!(place.hash(&RUN, &more), hash);
    same_run(&place.path("a"), &place.path("whole"));
    // The scene would take it for the fourth file of the sequence.
    fs::copy(
        place.path("s/body/0001.obj"),
        place.path("a/inputs/5-0004.obj"),
    )
    .unwrap();
    let stray = "a/inputs/5-0004.obj was not there when it began";
    place.expect(1, &["check", "a"], &[]).says(stray);
    place.expect(2, &["run", "a/scene.toml"], &more).says(stray);
}

#[test]
fn overwriting_removes_the_copies_of_the_old_run_and_nothing_else() {
    let place = place_with_scene();
    place.expect(0, &RUN, &["--out", "a", "--frames", "1"]);
    write(&place.path("a/inputs/notes.txt"), "mine");
    let other = ["--set", "parameters.path=\"a/mesh.obj\"", "--frames", "1"];
    place.expect(
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
    assert_eq!(names(&place.path("a/inputs")), expected);
    place.expect(0, &["check", "a"], &[]);
    place.expect(
        0,
        &["run", "flag", "--quick"],
        &["--out", "a", "--overwrite", "--frames", "1"],
    );
    assert_eq!(names(&place.path("a/inputs")), ["notes.txt"]);
}

#[test]
fn overwriting_a_run_from_its_own_scene_does_not_remove_what_it_is_built_from() {
    // The copies were removed before they were read again: run and meshes were lost.
    let place = place_with_scene();
    let hash = place.hash(&RUN, &["--out", "a", "--frames", "2"]);
    fs::remove_dir_all(place.path("s")).unwrap();
    for scene in ["a/scene.toml", "./a/../a/scene.toml"] {
        let more = ["--out", "a", "--overwrite", "--frames", "2"];
        assert_eq!(place.hash(&["run", scene], &more), hash);
        assert_eq!(names(&place.path("a/inputs")), COPIES);
        place.expect(0, &["check", "a"], &[]);
    }
}

#[test]
fn copies_of_a_run_that_was_killed_while_it_began_do_not_join_the_next() {
    // A file of a longer sequence stayed, and the scene of the next run would have gone on with it.
    let place = place_with_scene();
    place.expect(0, &RUN, &["--out", "whole", "--frames", "2"]);
    fs::create_dir_all(place.path("a")).unwrap();
    fs::write(place.path("a/.lock"), "").unwrap();
    fs::write(
        place.path("a/.copying"),
        "[\"5-0003.obj\", \"5-0004.obj\", \"../whole/scene.toml\"]",
    )
    .unwrap();
    for name in ["5-0003.obj", "5-0004.obj", "5-0005.obj.17.tmp"] {
        write(&place.path("a/inputs").join(name), "from another scene");
    }
    place.expect(0, &RUN, &["--out", "a", "--frames", "2"]);
    assert_eq!(names(&place.path("a/inputs")), COPIES);
    assert!(!place.path("a/.copying").exists());
    same_run(&place.path("a"), &place.path("whole"));
    place.expect(0, &["check", "a"], &[]);
}

#[test]
fn a_kill_while_files_are_copied_loses_nothing() {
    let place = place_with_scene();
    for number in 4..60 {
        let path = place.path("s").join(format!("body/{number:04}.obj"));
        fs::write(path, square(3, 0.01 * f64::from(number))).unwrap();
    }
    place.expect(0, &RUN, &["--out", "whole", "--frames", "1"]);
    for last in ["5-0001.obj", "5-0030.obj", "5-0059.obj"] {
        let start = [&RUN[..], &["--out", "a", "--frames", "1", "--resume"]].concat();
        let mut running = place.start(&start);
        running.wait_for(&place.path("a/inputs").join(last));
        running.kill();
    }
    place.expect(0, &RUN, &["--out", "a", "--frames", "1", "--resume"]);
    same_run(&place.path("a"), &place.path("whole"));
    place.expect(0, &["check", "a"], &[]);
    assert_eq!(
        names(&place.path("a/inputs")),
        names(&place.path("whole/inputs"))
    );
}

#[test]
fn a_disk_that_is_full_while_files_are_copied_loses_nothing() {
    let place = place_with_scene();
    place.expect(0, &RUN, &["--out", "whole", "--frames", "2"]);
    let Some(disk) = Disk::new(place.path("disk"), "size=32k") else {
        return;
    };
    let out = ["--out", "disk/a", "--frames", "2", "--resume"];
    for _ in 0..2 {
        let full = place.expect(2, &RUN, &out);
        full.says("disk/a/inputs/4-bunny_coarse.msh: No space left on device");
    }
    disk.remount("size=16m");
    place.expect(0, &RUN, &out);
    same_run(&disk.path().join("a"), &place.path("whole"));
    assert_eq!(names(&disk.path().join("a/inputs")), COPIES);
}

/// A scene of one object from this file.
fn one_mesh(place: &Place, file: &str) -> Ran {
    let scene = format!(
        "time = {{ duration = \"0.1 s\" }}\n[material.c]\npreset = \"cotton\"\n[object.one]\nkind = \"cloth-mesh\"\nmaterial = \"c\"\nfile = '{file}'\n"
    );
    fs::write(place.path("s/one.toml"), scene).unwrap();
    place.call(&[
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
fn files_that_are_no_meshes_are_refused_with_a_reason() {
    let place = place_with_scene();
    fs::create_dir(place.path("s/folder.obj")).unwrap();
    fs::write(place.path("s/empty.obj"), "").unwrap();
    fs::write(place.path("s/noise.obj"), [0, 255, 13, 7]).unwrap();
    let large = fs::File::create(place.path("s/large.obj")).unwrap();
    large.set_len(3 << 30).unwrap();
    let cases = [
        ("folder.obj", "it is a folder", "give a file in it"),
        ("..", "it is a folder", "give a file in it"),
        ("/dev/zero", "it is no file", "a file on a disk"),
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
        let ran = one_mesh(&place, file);
        assert_eq!(ran.code, Some(2), "{file}: {ran:#?}");
        ran.says(reason).says(advice).says("s/one.toml:7:8");
        assert!(!place.path("one").exists(), "{file}");
    }
    let absolute = place.path("s/a/mesh.obj").to_string_lossy().into_owned();
    for file in ["../s/b/mesh.obj", "./a/mesh.obj", &absolute] {
        let ran = one_mesh(&place, file);
        assert_eq!(ran.code, Some(0), "{file}: {ran:#?}");
        assert_eq!(names(&place.path("one/inputs")), ["mesh.obj"]);
        place.expect(0, &["check", "one"], &[]);
    }
    let set = ["--set", "object.one.file=\"b/mesh.obj\"", "--frames", "1"];
    place.expect(0, &["run", "s/one.toml", "--out", "set"], &set);
    place.expect(0, &["check", "set"], &[]);
    let kept = fs::read(place.path("set/inputs/mesh.obj")).unwrap();
    assert!(kept == fs::read(place.path("s/b/mesh.obj")).unwrap());
}
