//! Runs stopped by a signal or a time limit.

use crate::common::{Output, Sandbox, assert_same_run};

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

/// Stops a run with a signal after its tenth frame.
fn stopped(sandbox: &Sandbox, out: &str, signal: &str) -> Output {
    let mut running = sandbox.start(&[&LONG[..], &["--out", out, "--summary", "json"]].concat());
    running.wait_for(&sandbox.path(out).join("frames/00010.safetensors"));
    running.signal(signal);
    running.wait()
}

#[test]
fn a_stopped_run_resumes_to_the_same_bits() {
    let sandbox = Sandbox::new();
    let hash = sandbox.hash(&LONG, &["--out", "whole"]);
    for (signal, code, word) in [("-TERM", 75, "signal"), ("-INT", 130, "Ctrl-C")] {
        let output = stopped(&sandbox, signal.trim_start_matches('-'), signal);
        assert_eq!(output.code, Some(code), "{output:#?}");
        output.prints(word).prints("--resume");
        let frames = output.summary()["frames"].as_u64().unwrap();
        assert!((10..120).contains(&frames), "{frames}");
    }
    let limit = ["--out", "limit", "--time-limit", "200 ms"];
    sandbox
        .expect(75, &LONG, &limit)
        .prints("by the time limit");
    for out in ["TERM", "INT", "limit"] {
        sandbox.expect(0, &["check", out], &[]);
        assert_eq!(
            sandbox.hash(&LONG, &["--out", out, "--resume"]),
            hash,
            "{out}"
        );
        assert_same_run(&sandbox.path(out), &sandbox.path("whole"));
        sandbox.expect(0, &["check", out], &[]);
    }
}

#[test]
fn every_call_with_a_time_limit_computes_at_least_one_step() {
    let sandbox = Sandbox::new();
    let short = [&LONG[..5], &["--frames", "1", "--out", "a"]].concat();
    let hash = sandbox.hash(&LONG[..5], &["--frames", "1", "--out", "whole"]);
    for _ in 0..4 {
        sandbox.expect(75, &short, &["--resume", "--time-limit", "0 s"]);
    }
    assert_eq!(
        sandbox.hash(&short, &["--resume", "--time-limit", "0 s"]),
        hash
    );
}

#[test]
fn a_second_signal_of_either_kind_ends_a_long_step_at_once() {
    // One step takes about a second.
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
        let signal_during_step = |_| {
            let sandbox = Sandbox::new();
            let mut running = sandbox.start(&slow);
            running.wait_for(&sandbox.path("runs/flag/checkpoints/000000000.safetensors"));
            running.signal(first);
            // Pending signals are delivered in the order of their numbers, so wait between the two.
            std::thread::sleep(std::time::Duration::from_millis(100));
            running.signal(second);
            let output = running.wait();
            let log = std::fs::read_to_string(sandbox.path("runs/flag/run.jsonl")).unwrap();
            // On a busy machine the step may end before the second signal.
            let is_in_step = log.is_empty();
            if is_in_step {
                assert_eq!(output.code, Some(code), "{first} {second}: {output:#?}");
            }
            is_in_step
        };
        assert!(
            (0..8).any(signal_during_step),
            "the step always ended before the signal"
        );
    }
}
