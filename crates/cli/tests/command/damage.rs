//! Files that are not as they were written: noticed by a check, repaired by going on.

use std::fs;
use std::path::Path;

use crate::common::{Place, Ran, TINY, same_run};

/// A finished run `whole`, and `a` that was stopped a few times, so that it has several checkpoints.
fn two_runs(place: &Place) -> String {
    let hash = place.hash(&TINY, &["--out", "whole", "--frames", "12"]);
    for frames in ["4", "8", "12"] {
        place.expect(0, &TINY, &["--out", "a", "--frames", frames, "--resume"]);
    }
    assert_eq!(checkpoints(place).len(), 3);
    hash
}

fn checkpoints(place: &Place) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(place.path("a/checkpoints"))
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

/// Goes on after damage, and expects everything to be whole again.
fn repaired(place: &Place, hash: &str) -> Ran {
    let go_on = [
        "--out",
        "a",
        "--frames",
        "12",
        "--resume",
        "--summary",
        "json",
    ];
    let ran = place.expect(0, &TINY, &go_on);
    assert_eq!(ran.summary()["state_hash"], hash);
    same_run(&place.path("a"), &place.path("whole"));
    let check = place.expect(0, &["check", "a"], &[]);
    assert!(!check.stdout.contains("wrong"), "{check:#?}");
    ran
}

#[test]
fn a_damaged_newest_checkpoint_costs_only_what_came_after_the_one_before() {
    let place = Place::new();
    let hash = two_runs(&place);
    flip(&place.path("a/checkpoints/000000060.safetensors"));
    place
        .expect(1, &["check", "a"], &[])
        .says("000000060.safetensors");
    let ran = repaired(&place, &hash);
    ran.says("000000060.safetensors was damaged");
    ran.says("went back to a/checkpoints/000000040.safetensors");
    ran.says("20 steps");
}

#[test]
fn a_run_without_a_whole_checkpoint_starts_again() {
    let place = Place::new();
    let hash = two_runs(&place);
    for name in checkpoints(&place) {
        flip(&place.path("a/checkpoints").join(name));
    }
    place
        .expect(1, &["check", "a"], &[])
        .says("000000040.safetensors is damaged");
    repaired(&place, &hash).says("the run starts again");
}

#[test]
fn damaged_frames_are_made_again() {
    for frame in ["00000", "00003", "00006", "00012"] {
        for how in ["truncated", "flipped", "empty", "missing"] {
            let place = Place::new();
            let hash = two_runs(&place);
            let name = format!("frames/{frame}.safetensors");
            let path = place.path("a").join(&name);
            match how {
                "truncated" => truncate(&path, 100),
                "flipped" => flip(&path),
                "empty" => fs::write(&path, "").unwrap(),
                _ => fs::remove_file(&path).unwrap(),
            }
            place.expect(1, &["check", "a"], &[]).says(&name);
            repaired(&place, &hash);
        }
    }
}

#[test]
fn after_going_back_new_checkpoints_are_kept() {
    // Those of later steps counted as the newest, and every new one was removed at once.
    let place = Place::new();
    two_runs(&place);
    flip(&place.path("a/frames/00001.safetensors"));
    let stopped = [
        "--out",
        "a",
        "--frames",
        "12",
        "--resume",
        "--time-limit",
        "0 s",
    ];
    place.expect(75, &TINY, &stopped);
    assert_eq!(
        checkpoints(&place),
        ["000000000.safetensors", "000000001.safetensors"]
    );
    place.expect(75, &TINY, &stopped);
    assert!(checkpoints(&place).contains(&"000000002.safetensors".to_owned()));
}

#[test]
fn a_check_sees_damage_of_every_file_and_going_on_repairs_it() {
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
        let place = Place::new();
        let hash = two_runs(&place);
        damage(&place.path("a").join(name));
        place.expect(1, &["check", "a"], &[]).says(name);
        repaired(&place, &hash);
    }
}

#[test]
fn a_frame_in_the_place_of_another_is_noticed() {
    let place = Place::new();
    let hash = two_runs(&place);
    fs::copy(
        place.path("a/frames/00011.safetensors"),
        place.path("a/frames/00010.safetensors"),
    )
    .unwrap();
    place
        .expect(1, &["check", "a"], &[])
        .says("it holds frame 11");
    repaired(&place, &hash);
}

fn append(path: &Path, bytes: &[u8]) {
    let mut all = fs::read(path).unwrap();
    all.extend_from_slice(bytes);
    fs::write(path, all).unwrap();
}
