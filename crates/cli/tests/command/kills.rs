//! Processes that are killed at moments nobody chose.

use std::fs;
use std::time::{Duration, Instant};

use reefknot::io::folder::RunFolder;
use reefknot::io::tensors::TensorFile;
use reefknot::random::Random;
use serde_json::json;

use crate::common::{Place, same_run};

/// Kills runs again and again and goes on with them, until there were enough kills; expects every
/// run to end as one that was left in peace. Returns how many kills left a checkpoint beyond the
/// start to go on from.
fn kill_runs(kills: usize, threads: &str, frames: &str, seed: u64) -> usize {
    let place = Place::new();
    let scene = [
        "run",
        "flag",
        "--quick",
        "--frames",
        frames,
        "--threads",
        threads,
    ];
    let began = Instant::now();
    let hash = place.hash(&scene, &["--out", "whole"]);
    let whole = began.elapsed();
    let mut random = Random::new(seed);
    let (mut done, mut finished, mut midway) = (0, 0, 0);
    while done < kills {
        let out = format!("run{finished}");
        // Up to five kills a run, so that several checkpoints are passed.
        for _ in 0..5 {
            let arguments = [&scene[..], &["--out", &out, "--resume", "--quiet"]].concat();
            let mut running = place.start(&arguments);
            std::thread::sleep(Duration::from_secs_f64(
                whole.as_secs_f64() * random.between(0.0, 0.7),
            ));
            let alive = running.kill();
            done += usize::from(alive);
            let checkpoints = fs::read_dir(place.path(&out).join("checkpoints"));
            let names = checkpoints.into_iter().flatten();
            let beyond =
                |name: String| name.ends_with(".safetensors") && !name.starts_with("000000000");
            midway += usize::from(
                alive
                    && names
                        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                        .any(beyond),
            );
            if !alive || done == kills {
                break;
            }
        }
        let ended = place.hash(&scene, &["--out", &out, "--resume"]);
        assert_eq!(ended, hash);
        same_run(&place.path(&out), &place.path("whole"));
        place.expect(0, &["check", &out], &[]);
        fs::remove_dir_all(place.path(&out)).unwrap();
        finished += 1;
    }
    midway
}

#[test]
fn killed_runs_end_as_if_nothing_had_happened() {
    kill_runs(5, "1", "72", 1);
}

#[test]
fn killed_runs_of_two_threads_end_as_if_nothing_had_happened() {
    kill_runs(5, "2", "72", 2);
}

/// Kills the run in `killed` soon after a checkpoint that comes later than some frame; how many contacts push in the checkpoint.
fn kill_after_a_checkpoint(place: &Place, run: &[&str], frame: &str) -> usize {
    let mut running = place.start(run);
    running.wait_for(&place.path("killed/frames").join(frame));
    let folder = RunFolder::new(place.path("killed"));
    let newest = || folder.checkpoints().unwrap().pop();
    let before = newest();
    // The next frame brings a checkpoint, however fast the machine: the last one is older than a second then.
    running.signal("-STOP");
    std::thread::sleep(Duration::from_millis(1100));
    running.signal("-CONT");
    running.wait_until("a checkpoint", || newest() > before);
    std::thread::sleep(Duration::from_millis(20));
    assert!(running.kill(), "it ended before it could be killed");
    let checkpoint = folder.checkpoint(newest().unwrap());
    let checkpoint = TensorFile::read(&checkpoint).unwrap();
    checkpoint.f64("contact/force").unwrap().0[0]
}

#[test]
fn a_run_killed_amid_a_thousand_contacts_ends_as_if_nothing_had_happened() {
    let place = Place::new();
    // A cloth whose side is lifted from the ground: nearly every vertex that still lies there is pushed.
    let scene = [
        "run",
        "drag",
        "--quick",
        "--set",
        "parameters.n=50",
        "--frames",
        "9",
    ];
    ends_as_if_never_killed(
        &place,
        &scene,
        ["00002.safetensors", "00005.safetensors"],
        1000,
    );
}

/// Kills a run after a checkpoint beyond each of some frames, in which at least so many contacts push, and expects it to end as one that was not.
fn ends_as_if_never_killed<const N: usize>(
    place: &Place,
    scene: &[&str],
    frames: [&str; N],
    least: usize,
) {
    let hash = place.hash(scene, &["--out", "whole"]);
    let run = [scene, &["--out", "killed", "--resume"]].concat();
    for frame in frames {
        let contacts = kill_after_a_checkpoint(place, &run, frame);
        assert!(contacts > least, "{contacts} contacts after {frame}");
    }
    assert_eq!(place.hash(&run, &[]), hash);
    same_run(&place.path("killed"), &place.path("whole"));
    place.expect(0, &["check", "killed"], &[]);
}

/// Frames of rods, ties to what hair grows on and forces between strands are all in the state.
#[test]
fn killed_runs_of_hair_and_fur_end_as_if_nothing_had_happened() {
    let place = Place::new();
    let hair = [
        "run",
        "hairy-ball",
        "--quick",
        "--frames",
        "10",
        "--set",
        "parameters.rods=150",
    ];
    ends_as_if_never_killed(&place, &hair, ["00005.safetensors"], 5);
    let place = Place::new();
    let fur = ["run", "furry-bunny", "--quick", "--frames", "8"];
    ends_as_if_never_killed(&place, &fur, ["00005.safetensors"], 0);
}

/// `cargo test --release -p reefknot-cli --test command -- --ignored --nocapture twenty_kills`
#[test]
#[ignore = "takes a minute or two; prints one line of JSON for each number of threads"]
fn twenty_kills_for_each_number_of_threads() {
    for (threads, seed) in [("1", 3), ("2", 4)] {
        let kills = 20;
        let midway = kill_runs(kills, threads, "240", seed);
        assert!(
            midway > 0,
            "every run was killed before its first checkpoint"
        );
        let threads: u64 = threads.parse().unwrap();
        // Anything else has ended the test.
        println!(
            "{}",
            json!({"kills": kills, "threads": threads, "after_a_checkpoint": midway, "same_hash": true})
        );
    }
}
