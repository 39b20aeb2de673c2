//! Untrusted run folders and scenes: links, FIFOs, devices, escape sequences.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

use crate::common::{Sandbox, TINY};

/// The commands that read a run folder `a`.
fn readers() -> [Vec<&'static str>; 4] {
    let resume = [&TINY[..], &["--out", "a", "--resume", "--frames", "6"]].concat();
    [
        vec!["check", "a"],
        vec!["export", "a", "--to", "obj"],
        vec!["view", "a", "--no-open"],
        resume,
    ]
}

/// Makes a run `a`, replaces one of its entries, and expects every reader to refuse it.
fn assert_refused(entry: &str, replace: impl Fn(&Sandbox), reason: &str) {
    let sandbox = Sandbox::new();
    sandbox.expect(0, &TINY, &["--out", "a", "--frames", "4"]);
    let path = sandbox.path("a").join(entry);
    if path.is_dir() {
        fs::rename(path, sandbox.path("moved")).unwrap();
    } else {
        fs::remove_file(path).unwrap();
    }
    replace(&sandbox);
    for reader in readers() {
        let output = sandbox.expect(2, &reader, &[]);
        output.prints(&format!("a/{entry}"));
        output.prints(reason);
    }
}

fn make_fifo(sandbox: &Sandbox, name: &str) {
    let status = Command::new("mkfifo").arg(sandbox.path(name)).status();
    assert!(status.unwrap().success());
}

#[test]
fn fifos_in_a_run_folder_are_refused_and_do_not_block() {
    for entry in [
        "manifest.json",
        "frames/00002.safetensors",
        "run.jsonl",
        ".lock",
    ] {
        assert_refused(entry, |it| make_fifo(it, &format!("a/{entry}")), "a FIFO");
    }
}

#[test]
fn links_out_of_a_run_folder_are_refused() {
    let link = |sandbox: &Sandbox, target: &str, entry: &str| {
        symlink(target, sandbox.path("a").join(entry)).unwrap();
    };
    let file = "frames/00001.safetensors";
    assert_refused(
        file,
        |it| link(it, "/dev/zero", file),
        "outside the run folder",
    );
    assert_refused(
        "probes.csv",
        |it| link(it, "/etc/passwd", "probes.csv"),
        "/etc/passwd",
    );
    let folder = "checkpoints";
    assert_refused(
        folder,
        |it| link(it, "../moved", folder),
        "outside the run folder",
    );
}

#[test]
fn a_run_behind_a_link_and_links_inside_a_run_are_read() {
    let sandbox = Sandbox::new();
    sandbox.expect(0, &TINY, &["--out", "disk/a", "--frames", "4"]);
    fs::rename(
        sandbox.path("disk/a/frames"),
        sandbox.path("disk/a/pictures"),
    )
    .unwrap();
    symlink("pictures", sandbox.path("disk/a/frames")).unwrap();
    symlink("disk/a", sandbox.path("a")).unwrap();
    sandbox.expect(0, &["check", "a"], &[]);
}

#[test]
fn escape_sequences_of_a_scene_are_printed_as_text() {
    let sandbox = Sandbox::new();
    let scene = r#"
        title = "\u001b[31mT"
        time = { duration = 0.02, frame_rate = 50, substeps = 1 }
        [material.m]
        preset = "cotton"
        [object.c]
        kind = "cloth-grid"
        size = [1, 1]
        vertices = [3, 3]
        material = "m"
        [[conclusions]]
        text = "\u001b]0;owned\u0007\u001b[2J hi"
    "#;
    let name = "\u{1b}[2Jscene.toml";
    fs::write(sandbox.path(name), scene).unwrap();
    let output = sandbox.expect(0, &["run", name], &["--out", "out\u{7}"]);
    output.prints(r"\u{1b}]0;owned\u{7}\u{1b}[2J hi");
    let printed = [output.stdout, output.stderr].concat();
    assert!(
        !printed.contains(|c: char| c.is_control() && c != '\n'),
        "{printed:?}"
    );
    let output = sandbox.expect(2, &["check", "\u{1b}[2Jnowhere.toml"], &[]);
    assert!(!output.stderr.contains('\u{1b}'), "{output:?}");
}

#[test]
fn output_that_cannot_be_written_fails() {
    let run = [&TINY[..], &["--frames", "1", "--summary", "json", "--out"]].concat();
    let calls: [&[&str]; 4] = [&["scenes"], &["schema"], &["--help"], &run];
    let sandbox = Sandbox::new();
    for arguments in calls {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let folder = sandbox.path("a").display().to_string();
        let is_run = arguments.last() == Some(&"--out");
        let status = Command::new(env!("CARGO_BIN_EXE_reefknot"))
            .args(arguments)
            .args(is_run.then_some(folder))
            .stdout(full)
            .stderr(Stdio::null())
            .status();
        assert_eq!(status.unwrap().code(), Some(1), "{arguments:?}");
    }
}

#[test]
fn a_damaged_problem_and_a_changed_manifest_are_found_by_check() {
    let sandbox = Sandbox::new();
    let drape = [
        "run",
        "drape",
        "--quick",
        "--set",
        "parameters.n=8",
        "--out",
        "a",
    ];
    sandbox.expect(0, &drape, &["--capture", "60", "--frames", "31"]);
    let check = sandbox.expect(0, &["check", "a"], &[]);
    check.prints("1 contact problems with valid checksums");
    let path = sandbox.path("a/problems/00060.safetensors");
    let whole = fs::read(&path).unwrap();
    let mut changed = whole.clone();
    let middle = changed.len() / 2;
    changed[middle] ^= 1;
    fs::write(&path, changed).unwrap();
    let check = sandbox.expect(1, &["check", "a"], &[]);
    check.prints("a/problems/00060.safetensors is damaged");
    check.prints("do not agree with their checksum");
    sandbox.expect(2, &["solve", "a/problems/00060.safetensors"], &[]);
    fs::write(&path, whole).unwrap();
    let manifest = fs::read_to_string(sandbox.path("a/manifest.json")).unwrap();
    let other = manifest.replace("\"frame_rate\": 50.0", "\"frame_rate\": 25.0");
    assert_ne!(manifest, other);
    fs::write(sandbox.path("a/manifest.json"), other).unwrap();
    let check = sandbox.expect(1, &["check", "a"], &[]);
    check.prints("its `frame_rate` is not that of scene.toml");
}

#[test]
fn check_suggests_to_delete_a_damaged_old_checkpoint() {
    let sandbox = Sandbox::new();
    sandbox.expect(0, &TINY, &["--out", "a"]);
    let path = sandbox.path("a/checkpoints/000000000.safetensors");
    let mut bytes = fs::read(&path).unwrap();
    bytes[300] ^= 1;
    fs::write(&path, bytes).unwrap();
    let check = sandbox.expect(1, &["check", "a"], &[]);
    check.prints("delete it: a newer checkpoint is intact");
    fs::remove_file(path).unwrap();
    sandbox.expect(0, &["check", "a"], &[]);
}

#[test]
fn a_mesh_sequence_beside_a_scene_without_a_folder_is_found() {
    let sandbox = Sandbox::new();
    for (number, z) in [0.0, 0.1, 0.2].into_iter().enumerate() {
        let text = format!("v 0 0 {z}\nv 1 0 {z}\nv 0 1 {z}\nf 1 2 3\n");
        fs::write(sandbox.path(&format!("body.000{number}.obj")), text).unwrap();
    }
    let scene = r#"
        time = { duration = 0.1 }
        [material.m]
        preset = "cotton"
        [object.c]
        kind = "cloth-grid"
        size = [0.2, 0.2]
        vertices = [4, 4]
        material = "m"
        position = [0, 0, 1]
        [collider.body]
        kind = "mesh"
        file = "body.0000.obj"
        motion = { sequence = { file = "body.####.obj" } }
    "#;
    fs::write(sandbox.path("scene.toml"), scene).unwrap();
    sandbox.expect(0, &["run", "scene.toml"], &[]);
    sandbox.expect(0, &["check", "runs/scene"], &[]);
}
