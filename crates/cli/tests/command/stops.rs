//! Runs that are stopped, by request or without any.

use crate::common::{Place, Ran, same_run};

/// A run of about two seconds.
const LONG: [&str; 9] = [
    "run",
    "flag",
    "--quick",
    "--set",
    "parameters.n=16",
    "--frames",
    "120",
    "--threads",
    "1",
];

/// Stops a run with a signal once it has taken some steps.
fn stopped(place: &Place, out: &str, signal: &str) -> Ran {
    let mut running = place.start(&[&LONG[..], &["--out", out, "--summary", "json"]].concat());
    running.wait_for(&place.path(out).join("frames/00010.safetensors"));
    running.signal(signal);
    running.wait()
}

#[test]
fn a_stopped_run_goes_on_to_the_same_end() {
    let place = Place::new();
    let hash = place.hash(&LONG, &["--out", "whole"]);
    for (signal, code, word) in [("-TERM", 75, "signal"), ("-INT", 130, "Ctrl-C")] {
        let ran = stopped(&place, signal.trim_start_matches('-'), signal);
        assert_eq!(ran.code, Some(code), "{ran:#?}");
        ran.says(word).says("--resume");
        let frames = ran.summary()["frames"].as_u64().unwrap();
        assert!((10..120).contains(&frames), "{frames}");
    }
    let limit = ["--out", "limit", "--time-limit", "200 ms"];
    place.expect(75, &LONG, &limit).says("by the time limit");
    for out in ["TERM", "INT", "limit"] {
        place.expect(0, &["check", out], &[]);
        assert_eq!(
            place.hash(&LONG, &["--out", out, "--resume"]),
            hash,
            "{out}"
        );
        same_run(&place.path(out), &place.path("whole"));
        place.expect(0, &["check", out], &[]);
    }
}

#[test]
fn every_call_within_a_time_limit_gets_somewhere() {
    let place = Place::new();
    let short = [&LONG[..5], &["--frames", "1", "--out", "a"]].concat();
    let hash = place.hash(&LONG[..5], &["--frames", "1", "--out", "whole"]);
    for _ in 0..4 {
        place.expect(75, &short, &["--resume", "--time-limit", "0 s"]);
    }
    assert_eq!(
        place.hash(&short, &["--resume", "--time-limit", "0 s"]),
        hash
    );
}

#[test]
fn a_second_signal_of_either_kind_ends_a_long_step_at_once() {
    // A single step of this takes about a second.
    let slow = [
        "run",
        "flag",
        "--quick",
        "--set",
        "parameters.n=200",
        "--threads",
        "1",
        "--quiet",
    ];
    for (first, second, code) in [
        ("-TERM", "-TERM", 75),
        ("-TERM", "-INT", 130),
        ("-INT", "-TERM", 75),
    ] {
        let came_first = |_| {
            let place = Place::new();
            let mut running = place.start(&slow);
            running.wait_for(&place.path("runs/flag/checkpoints/000000000.safetensors"));
            running.signal(first);
            // Two that wait together come in the order of their numbers.
            std::thread::sleep(std::time::Duration::from_millis(100));
            running.signal(second);
            let ran = running.wait();
            let log = std::fs::read_to_string(place.path("runs/flag/run.jsonl")).unwrap();
            // On a busy machine the step may be over before the second signal comes.
            let is_first = log.is_empty();
            if is_first {
                assert_eq!(ran.code, Some(code), "{first} {second}: {ran:#?}");
            }
            is_first
        };
        assert!((0..8).any(came_first), "the step was always finished first");
    }
}
