//! The commands `scenes`, `schema`, `check` and `export`, and invalid arguments.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::Value as Json;

use crate::common::{Sandbox, TINY};

#[test]
fn a_printed_scene_runs_from_a_file() {
    let sandbox = Sandbox::new();
    let list = sandbox.expect(0, &["scenes"], &[]);
    let names: Vec<&str> = list
        .stdout
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(names.contains(&"flag"), "{names:?}");
    let text = sandbox
        .expect(0, &["scenes", "--print", "flag"], &[])
        .stdout;
    fs::write(sandbox.path("mine.toml"), text).unwrap();
    let mine = ["run", "mine.toml", "--quick", "--set", "parameters.n=8"];
    assert_eq!(sandbox.hash(&TINY, &[]), sandbox.hash(&mine, &[]));
    assert!(sandbox.path("runs/flag/manifest.json").is_file());
    assert!(sandbox.path("runs/mine/manifest.json").is_file());
}

/// Regression: in the build folder, the program itself was read as a scene.
#[test]
fn a_file_with_the_name_of_a_shipped_scene_does_not_hide_it() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path("flag"), [0xff, 0xfe, 0]).unwrap();
    sandbox.expect(0, &["check", "flag"], &["--quick"]);
}

#[test]
fn the_schema_contains_every_table_of_every_shipped_scene() {
    let sandbox = Sandbox::new();
    let schema: Json = serde_json::from_str(&sandbox.expect(0, &["schema"], &[]).stdout).unwrap();
    let properties = schema["properties"].as_object().unwrap();
    for line in sandbox.expect(0, &["scenes"], &[]).stdout.lines() {
        let name = line.split_whitespace().next().unwrap();
        let text = sandbox.expect(0, &["scenes", "--print", name], &[]).stdout;
        let (top, tables) = text.split_once("\n[").unwrap();
        let lines = top.lines().filter(|line| !line.starts_with('#'));
        let keys = lines.filter_map(|line| line.split_once(" = "));
        let tables = tables
            .split("\n[")
            .filter_map(|table| table.trim_start_matches('[').split_once(['.', ']']));
        for (key, _) in keys.chain(tables) {
            assert!(properties.contains_key(key), "{name}: {key}");
        }
    }
    let page = sandbox.expect(0, &["schema", "--markdown"], &[]).stdout;
    assert!(page.starts_with("# Scene files"));
}

#[test]
fn every_shipped_scene_passes_its_check() {
    let sandbox = Sandbox::new();
    for line in sandbox.expect(0, &["scenes"], &[]).stdout.lines() {
        let name = line.split_whitespace().next().unwrap();
        sandbox
            .expect(0, &["check", name, "--quick"], &[])
            .prints("vertices");
    }
}

#[test]
fn a_check_of_a_scene_warns_of_implausible_values_and_misspelt_names() {
    let sandbox = Sandbox::new();
    let check = ["check", "flag", "--quick", "--set"];
    sandbox
        .expect(0, &check, &["material.cloth.area_density=\"60 kg/m^2\""])
        .prints("warning: `flag` has an area density");
    sandbox
        .expect(2, &check, &["object.flag.material=\"clot\""])
        .prints("did you mean `cloth`");
}

#[test]
fn exports_have_the_requested_unit_and_up_axis() {
    let sandbox = Sandbox::new();
    sandbox.expect(0, &TINY, &["--out", "a", "--frames", "2"]);
    sandbox
        .expect(0, &["export", "a", "--to", "obj"], &[])
        .prints("3 files");
    let other = [
        "export", "a", "--to", "obj", "--up", "y", "--unit", "cm", "--out", "deep/er",
    ];
    sandbox.expect(0, &other, &[]).prints("deep/er");
    let corner = |folder: &str| -> Vec<f64> {
        let text = fs::read_to_string(sandbox.path(folder).join("flag.0000.obj")).unwrap();
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
    sandbox.expect(0, &["export", "a", "--to", "vtk", "--out", "v"], &[]);
    let files: Vec<String> = fs::read_dir(sandbox.path("v"))
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
fn impossible_exports_are_refused() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("empty")).unwrap();
    sandbox
        .expect(2, &["export", "empty", "--to", "obj"], &[])
        .prints("empty holds no run");
    sandbox
        .expect(2, &["export", "absent", "--to", "obj"], &[])
        .prints("absent");
    sandbox
        .expect(2, &["check", "empty"], &[])
        .prints("empty holds no run");
    sandbox.expect(0, &TINY, &["--out", "a", "--frames", "1"]);
    sandbox
        .expect(2, &["export", "a", "--to", "obj", "--unit", "kg"], &[])
        .prints("length");
    sandbox
        .expect(2, &["export", "a", "--to", "abc"], &[])
        .prints("vtk");
    let onto_file = ["export", "a", "--to", "obj", "--out", "a/manifest.json/x"];
    sandbox
        .expect(2, &onto_file, &[])
        .prints("a/manifest.json/x");
}

#[test]
fn invalid_arguments_are_refused_with_a_reason() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("folder")).unwrap();
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
            "the time limit is too large",
        ),
        (&["run", "flag", "--time-limit", "-5"], "cannot be negative"),
        (&["run", "flag", "--time-limit=-5 s"], "cannot be negative"),
        (&["run", "flag", "--time-limit", "nan"], "--time-limit"),
        (&["run", "flag", "--time-limit", "3 m"], "expected a time"),
        (
            &["run", "flag", "--set", "parameters.m=3"],
            "no parameter `m`",
        ),
        (&["run", "flag", "--set", "time.h=\"3 kg\""], "kg"),
        (&["run", "flag", "--resume", "--overwrite"], "--overwrite"),
        (&["scenes", "--print", "falg"], "did you mean `flag`"),
    ];
    for (arguments, reason) in cases {
        sandbox.expect(2, arguments, &[]).prints(reason);
    }
    assert!(!sandbox.path("runs").exists(), "no run was started");
}

#[test]
fn a_closed_standard_output_does_not_panic() {
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
