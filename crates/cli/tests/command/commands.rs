//! The other commands, and arguments that make no sense.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::Value as Json;

use crate::common::{Place, TINY};

#[test]
fn a_printed_scene_runs_from_a_file() {
    let place = Place::new();
    let list = place.expect(0, &["scenes"], &[]);
    let names: Vec<&str> = list
        .stdout
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(names.contains(&"flag"), "{names:?}");
    let text = place.expect(0, &["scenes", "--print", "flag"], &[]).stdout;
    fs::write(place.path("mine.toml"), text).unwrap();
    let mine = ["run", "mine.toml", "--quick", "--set", "parameters.n=8"];
    assert_eq!(place.hash(&TINY, &[]), place.hash(&mine, &[]));
    assert!(place.path("runs/flag/manifest.json").is_file());
    assert!(place.path("runs/mine/manifest.json").is_file());
}

/// The program itself, in the folder that it was built in, was taken for a scene.
#[test]
fn a_file_with_the_name_of_a_shipped_scene_does_not_stand_in_its_way() {
    let place = Place::new();
    fs::write(place.path("flag"), [0xff, 0xfe, 0]).unwrap();
    place.expect(0, &["check", "flag"], &["--quick"]);
}

#[test]
fn the_schema_has_every_table_of_every_shipped_scene() {
    let place = Place::new();
    let schema: Json = serde_json::from_str(&place.expect(0, &["schema"], &[]).stdout).unwrap();
    let properties = schema["properties"].as_object().unwrap();
    for line in place.expect(0, &["scenes"], &[]).stdout.lines() {
        let name = line.split_whitespace().next().unwrap();
        let text = place.expect(0, &["scenes", "--print", name], &[]).stdout;
        let (top, tables) = text.split_once("\n[").unwrap();
        let keys = top.lines().filter_map(|line| line.split_once(" = "));
        let tables = tables
            .split("\n[")
            .filter_map(|table| table.trim_start_matches('[').split_once(['.', ']']));
        for (key, _) in keys.chain(tables) {
            assert!(properties.contains_key(key), "{name}: {key}");
        }
    }
    let page = place.expect(0, &["schema", "--markdown"], &[]).stdout;
    assert!(page.starts_with("# Scene files"));
}

#[test]
fn every_shipped_scene_passes_its_check() {
    let place = Place::new();
    for line in place.expect(0, &["scenes"], &[]).stdout.lines() {
        let name = line.split_whitespace().next().unwrap();
        place
            .expect(0, &["check", name, "--quick"], &[])
            .says("vertices");
    }
}

#[test]
fn a_check_of_a_scene_names_what_was_probably_not_meant() {
    let place = Place::new();
    let check = ["check", "flag", "--quick", "--set"];
    place
        .expect(0, &check, &["material.cloth.area_density=\"60 kg/m^2\""])
        .says("warning: `flag` has an area density");
    place
        .expect(2, &check, &["object.flag.material=\"clot\""])
        .says("did you mean `cloth`");
}

#[test]
fn exports_have_the_unit_and_the_axis_that_were_asked_for() {
    let place = Place::new();
    place.expect(0, &TINY, &["--out", "a", "--frames", "2"]);
    place
        .expect(0, &["export", "a", "--to", "obj"], &[])
        .says("3 files");
    let other = [
        "export", "a", "--to", "obj", "--up", "y", "--unit", "cm", "--out", "deep/er",
    ];
    place.expect(0, &other, &[]).says("deep/er");
    let corner = |folder: &str| -> Vec<f64> {
        let text = fs::read_to_string(place.path(folder).join("flag.0000.obj")).unwrap();
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("v "))
            .unwrap();
        line.split_whitespace()
            .map(|word| word.parse().unwrap())
            .collect()
    };
    let (meters, centimeters) = (corner("a/export"), corner("deep/er"));
    // (x, y, z) becomes (x, z, −y).
    let expected = [meters[0], meters[2], -meters[1]].map(|length| 100.0 * length);
    for (found, expected) in centimeters.iter().zip(expected) {
        assert!(
            (found - expected).abs() < 1e-6,
            "{centimeters:?} {meters:?}"
        );
    }
    place.expect(0, &["export", "a", "--to", "vtk", "--out", "v"], &[]);
    let files: Vec<String> = fs::read_dir(place.path("v"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(
        files.iter().filter(|name| name.ends_with(".vtu")).count(),
        3
    );
    assert_eq!(
        files.iter().filter(|name| name.ends_with(".pvd")).count(),
        1
    );
}

#[test]
fn exports_that_cannot_be_made_are_refused() {
    let place = Place::new();
    fs::create_dir(place.path("empty")).unwrap();
    place
        .expect(2, &["export", "empty", "--to", "obj"], &[])
        .says("empty holds no run");
    place
        .expect(2, &["export", "absent", "--to", "obj"], &[])
        .says("absent");
    place
        .expect(2, &["check", "empty"], &[])
        .says("empty holds no run");
    place.expect(0, &TINY, &["--out", "a", "--frames", "1"]);
    place
        .expect(2, &["export", "a", "--to", "obj", "--unit", "kg"], &[])
        .says("length");
    place
        .expect(2, &["export", "a", "--to", "abc"], &[])
        .says("vtk");
    let onto_file = ["export", "a", "--to", "obj", "--out", "a/manifest.json/x"];
    place.expect(2, &onto_file, &[]).says("a/manifest.json/x");
}

#[test]
fn arguments_that_make_no_sense_are_refused_with_a_reason() {
    let place = Place::new();
    fs::create_dir(place.path("folder")).unwrap();
    let cases: [(&[&str], &str); 15] = [
        (&["run", "falg"], "did you mean `flag`?\n`reefknot scenes`"),
        (&["run", "absent.toml"], "absent.toml"),
        (&["run", "folder"], "folder is a folder"),
        (
            &["run", "flag", "--solver", "admn"],
            "robust, gauss-seidel, admm, none",
        ),
        (&["run", "flag", "--threads", "0"], "--threads"),
        (&["run", "flag", "--frames", "0"], "--frames"),
        (
            &["run", "flag", "--time-limit", "1e300"],
            "nothing takes that long",
        ),
        (&["run", "flag", "--time-limit", "-5"], "cannot be negative"),
        (&["run", "flag", "--time-limit=-5 s"], "cannot be negative"),
        (&["run", "flag", "--time-limit", "nan"], "--time-limit"),
        (&["run", "flag", "--time-limit", "3 m"], "a time is needed"),
        (
            &["run", "flag", "--set", "parameters.m=3"],
            "no parameter `m`",
        ),
        (&["run", "flag", "--set", "time.h=\"3 kg\""], "kg"),
        (&["run", "flag", "--resume", "--overwrite"], "--overwrite"),
        (&["scenes", "--print", "falg"], "did you mean `flag`"),
    ];
    for (arguments, reason) in cases {
        place.expect(2, arguments, &[]).says(reason);
    }
    assert!(!place.path("runs").exists(), "nothing was begun");
}

#[test]
fn a_reader_that_goes_away_is_no_panic() {
    for arguments in [
        &["scenes"][..],
        &["schema"],
        &["schema", "--markdown"],
        &["--help"],
    ] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_reefknot"))
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(!stderr.contains("panicked"), "{arguments:?}: {stderr}");
        assert_ne!(output.status.code(), Some(101));
    }
}
