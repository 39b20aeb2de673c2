//! Runs killed at random times.

use std::fs;
use std::time::{Duration, Instant};

use reefknot_sim::io::folder::RunFolder;
use reefknot_sim::io::tensors::TensorFile;
use reefknot_sim::random::Random;
use serde_json::json;

use crate::common::{Sandbox, assert_same_run};

/// Kills and resumes runs until the number of kills is reached, and asserts that each run ends with
/// the bits of an undisturbed one. Returns the number of kills after a checkpoint beyond step 0.
fn kill_runs(kills: usize, threads: &str, frames: &str, seed: u64) -> usize {
    let sandbox = Sandbox::new();
    let scene = [
        "run",
        "flag",
        "--quick",
        "--frames",
        frames,
        "--threads",
        threads,
    ];
    let start = Instant::now();
    let hash = sandbox.hash(&scene, &["--out", "whole"]);
    let whole = start.elapsed();
    let mut random = Random::new(seed);
    let (mut done, mut finished, mut midway) = (0, 0, 0);
    while done < kills {
        let out = format!("run{finished}");
        // Up to five kills per run, so that it resumes from several checkpoints.
        for _ in 0..5 {
            let arguments = [&scene[..], &["--out", &out, "--resume", "--quiet"]].concat();
            let mut running = sandbox.start(&arguments);
            std::thread::sleep(Duration::from_secs_f64(
                whole.as_secs_f64() * random.between(0.0, 0.7),
            ));
            let alive = running.kill();
            done += usize::from(alive);
            let checkpoints = fs::read_dir(sandbox.path(&out).join("checkpoints"));
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
        let ended = sandbox.hash(&scene, &["--out", &out, "--resume"]);
        assert_eq!(ended, hash);
        assert_same_run(&sandbox.path(&out), &sandbox.path("whole"));
        sandbox.expect(0, &["check", &out], &[]);
        fs::remove_dir_all(sandbox.path(&out)).unwrap();
        finished += 1;
    }
    midway
}

#[test]
fn killed_runs_on_one_thread_end_with_the_same_bits() {
    kill_runs(5, "1", "72", 1);
}

#[test]
fn killed_runs_on_two_threads_end_with_the_same_bits() {
    kill_runs(5, "2", "72", 2);
}

/// Kills the run in `killed` soon after the first checkpoint beyond a frame. Returns the number of
/// contacts with a force in the checkpoint.
fn kill_after_a_checkpoint(sandbox: &Sandbox, run: &[&str], frame: &str) -> usize {
    let mut running = sandbox.start(run);
    running.wait_for(&sandbox.path("killed/frames").join(frame));
    let folder = RunFolder::new(sandbox.path("killed"));
    let newest = || folder.checkpoints().unwrap().pop();
    let before = newest();
    // After a pause of more than a second, the next frame writes a checkpoint on any machine.
    running.signal("-STOP");
    std::thread::sleep(Duration::from_millis(1100));
    running.signal("-CONT");
    running.wait_until("a checkpoint", || newest() > before);
    std::thread::sleep(Duration::from_millis(20));
    assert!(running.kill(), "the run ended before the kill");
    let checkpoint = folder.checkpoint(newest().unwrap());
    let checkpoint = TensorFile::read(&checkpoint).unwrap();
    checkpoint.f64("contact/force").unwrap().0[0]
}

#[test]
fn a_run_killed_with_a_thousand_contacts_ends_with_the_same_bits() {
    let sandbox = Sandbox::new();
    // A cloth lifted at one side: nearly every vertex on the ground has a contact force.
    let scene = [
        "run",
        "drag",
        "--quick",
        "--set",
        "parameters.n=50",
        "--frames",
        "9",
    ];
    assert_killed_run_has_same_bits(
        &sandbox,
        &scene,
        ["00002.safetensors", "00005.safetensors"],
        1000,
    );
}

/// Kills a run after a checkpoint beyond each of the frames, with more than `min_contacts` contacts
/// in it, and asserts that it ends with the bits of an undisturbed run.
fn assert_killed_run_has_same_bits<const N: usize>(
    sandbox: &Sandbox,
    scene: &[&str],
    frames: [&str; N],
    min_contacts: usize,
) {
    let hash = sandbox.hash(scene, &["--out", "whole"]);
    let run = [scene, &["--out", "killed", "--resume"]].concat();
    for frame in frames {
        let contacts = kill_after_a_checkpoint(sandbox, &run, frame);
        assert!(contacts > min_contacts, "{contacts} contacts after {frame}");
    }
    assert_eq!(sandbox.hash(&run, &[]), hash);
    assert_same_run(&sandbox.path("killed"), &sandbox.path("whole"));
    sandbox.expect(0, &["check", "killed"], &[]);
}

/// Material frames of rods, ties to the host and contact forces between strands are in the state.
#[test]
fn killed_runs_of_hair_and_fur_end_with_the_same_bits() {
    let sandbox = Sandbox::new();
    let hair = [
        "run",
        "hairy-ball",
        "--quick",
        "--frames",
        "10",
        "--set",
        "parameters.rods=150",
    ];
    assert_killed_run_has_same_bits(&sandbox, &hair, ["00005.safetensors"], 5);
    let sandbox = Sandbox::new();
    let fur = ["run", "furry-bunny", "--quick", "--frames", "8"];
    assert_killed_run_has_same_bits(&sandbox, &fur, ["00005.safetensors"], 0);
}

/// `cargo test --release -p reefknot --test command -- --ignored --nocapture twenty_kills`
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
        // A different hash has already failed the test.
        println!(
            "{}",
            json!({
                "kills": kills,
                "threads": threads,
                "after_a_checkpoint": midway,
                "same_hash": true,
            })
        );
    }
}
