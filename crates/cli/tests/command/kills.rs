//! Processes that are killed at moments nobody chose.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::common::{Place, same_run};

/// Numbers that look random and are the same every time (xorshift).
struct Dice(u64);

impl Dice {
    /// Between 0 and 1.
    fn roll(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

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
    let mut dice = Dice(seed);
    let (mut done, mut finished, mut midway) = (0, 0, 0);
    while done < kills {
        let out = format!("run{finished}");
        // Up to five kills a run, so that several checkpoints are passed.
        for _ in 0..5 {
            let arguments = [&scene[..], &["--out", &out, "--resume", "--quiet"]].concat();
            let mut running = place.start(&arguments);
            std::thread::sleep(Duration::from_secs_f64(
                0.7 * whole.as_secs_f64() * dice.roll(),
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
    kill_runs(5, "1", "72", 0x9E37_79B9_7F4A_7C15);
}

#[test]
fn killed_runs_of_two_threads_end_as_if_nothing_had_happened() {
    kill_runs(5, "2", "72", 0x2545_F491_4F6C_DD1D);
}

/// `cargo test --release -p reefknot-cli --test command -- --ignored --nocapture twenty_kills`
#[test]
#[ignore = "takes a minute or two; prints one line of JSON for each number of threads"]
fn twenty_kills_for_each_number_of_threads() {
    for (threads, seed) in [("1", 0xD1B5_4A32_D192_ED03), ("2", 0xABC9_8388_FB8F_AC03)] {
        let kills = 20;
        let midway = kill_runs(kills, threads, "240", seed);
        let threads: u64 = threads.parse().unwrap();
        // Anything else has ended the test.
        println!(
            "{}",
            json!({"kills": kills, "threads": threads, "after_a_checkpoint": midway, "same_hash": true})
        );
    }
}
