//! Damaged files of a run: `check` reports them, `--resume` repairs them.

use std::fs;
use std::path::Path;

use crate::common::{Output, Sandbox, TINY, assert_same_run};

/// Makes a run `whole` in one go, and a run `a` in three calls, so that it has three checkpoints.
/// Returns the hash of the last state.
fn two_runs(sandbox: &Sandbox) -> String {
    let hash = sandbox.hash(&TINY, &["--out", "whole", "--frames", "12"]);
    for frames in ["4", "8", "12"] {
        sandbox.expect(0, &TINY, &["--out", "a", "--frames", frames, "--resume"]);
    }
    assert_eq!(checkpoints(sandbox).len(), 3);
    hash
}

fn checkpoints(sandbox: &Sandbox) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(sandbox.path("a/checkpoints"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn flip(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    fs::write(path, bytes).unwrap();
}

fn truncate(path: &Path, lost: usize) {
    let bytes = fs::read(path).unwrap();
    fs::write(path, &bytes[..bytes.len() - lost]).unwrap();
}

/// Resumes a damaged run, and asserts that it equals the undamaged one.
fn assert_repaired(sandbox: &Sandbox, hash: &str) -> Output {
    let resume = [
        "--out",
        "a",
        "--frames",
        "12",
        "--resume",
        "--summary",
        "json",
    ];
    let output = sandbox.expect(0, &TINY, &resume);
    assert_eq!(output.summary()["state_hash"], hash);
    assert_same_run(&sandbox.path("a"), &sandbox.path("whole"));
    let check = sandbox.expect(0, &["check", "a"], &[]);
    assert!(!check.stdout.contains("wrong"), "{check:#?}");
    output
}

#[test]
fn after_damage_to_the_newest_checkpoint_a_run_resumes_from_the_previous_one() {
    let sandbox = Sandbox::new();
    let hash = two_runs(&sandbox);
    flip(&sandbox.path("a/checkpoints/000000060.safetensors"));
    sandbox
        .expect(1, &["check", "a"], &[])
        .prints("000000060.safetensors");
    let output = assert_repaired(&sandbox, &hash);
    output.prints("000000060.safetensors was damaged");
    output.prints("resumed from a/checkpoints/000000040.safetensors");
    output.prints("20 steps");
}

#[test]
fn a_run_without_an_intact_checkpoint_starts_again() {
    let sandbox = Sandbox::new();
    let hash = two_runs(&sandbox);
    for name in checkpoints(&sandbox) {
        flip(&sandbox.path("a/checkpoints").join(name));
    }
    sandbox
        .expect(1, &["check", "a"], &[])
        .prints("000000040.safetensors is damaged");
    assert_repaired(&sandbox, &hash).prints("the run starts again");
}

#[test]
fn damaged_frames_are_computed_again() {
    for frame in ["00000", "00003", "00006", "00012"] {
        for how in ["truncated", "flipped", "empty", "missing"] {
            let sandbox = Sandbox::new();
            let hash = two_runs(&sandbox);
            let name = format!("frames/{frame}.safetensors");
            let path = sandbox.path("a").join(&name);
            match how {
                "truncated" => truncate(&path, 100),
                "flipped" => flip(&path),
                "empty" => fs::write(&path, "").unwrap(),
                _ => fs::remove_file(&path).unwrap(),
            }
            sandbox.expect(1, &["check", "a"], &[]).prints(&name);
            assert_repaired(&sandbox, &hash);
        }
    }
}

#[test]
fn checkpoints_written_after_a_return_to_an_older_one_are_kept() {
    // Regression: checkpoints of later steps counted as the newest, so new ones were removed.
    let sandbox = Sandbox::new();
    two_runs(&sandbox);
    flip(&sandbox.path("a/frames/00001.safetensors"));
    let stopped = [
        "--out",
        "a",
        "--frames",
        "12",
        "--resume",
        "--time-limit",
        "0 s",
    ];
    sandbox.expect(75, &TINY, &stopped);
    assert_eq!(
        checkpoints(&sandbox),
        ["000000000.safetensors", "000000001.safetensors"]
    );
    sandbox.expect(75, &TINY, &stopped);
    assert!(checkpoints(&sandbox).contains(&"000000002.safetensors".to_owned()));
}

#[test]
fn check_reports_damage_to_every_file_and_resume_repairs_it() {
    type Damage = fn(&Path);
    let damage: [(&str, Damage); 12] = [
        ("manifest.json", |path| fs::write(path, "").unwrap()),
        ("manifest.json", |path| {
            fs::write(path, "\u{0}garbage").unwrap()
        }),
        ("manifest.json", |path| fs::write(path, "{}").unwrap()),
        ("manifest.json", |path| fs::remove_file(path).unwrap()),
        ("topology.safetensors", |path| {
            fs::remove_file(path).unwrap()
        }),
        ("topology.safetensors", flip),
        ("run.jsonl", |path| truncate(path, 7)),
        ("run.jsonl", |path| append(path, b"{\"step\":61,\"ti")),
        ("run.jsonl", |path| fs::remove_file(path).unwrap()),
        ("probes.csv", |path| truncate(path, 7)),
        ("probes.csv", |path| append(path, b"61,\xff\x00")),
        ("probes.csv", |path| fs::write(path, "").unwrap()),
    ];
    for (name, damage) in damage {
        let sandbox = Sandbox::new();
        let hash = two_runs(&sandbox);
        damage(&sandbox.path("a").join(name));
        sandbox.expect(1, &["check", "a"], &[]).prints(name);
        assert_repaired(&sandbox, &hash);
    }
}

#[test]
fn a_frame_under_the_name_of_another_is_detected() {
    let sandbox = Sandbox::new();
    let hash = two_runs(&sandbox);
    fs::copy(
        sandbox.path("a/frames/00011.safetensors"),
        sandbox.path("a/frames/00010.safetensors"),
    )
    .unwrap();
    sandbox
        .expect(1, &["check", "a"], &[])
        .prints("it holds frame 11");
    assert_repaired(&sandbox, &hash);
}

fn append(path: &Path, bytes: &[u8]) {
    let mut all = fs::read(path).unwrap();
    all.extend_from_slice(bytes);
    fs::write(path, all).unwrap();
}
