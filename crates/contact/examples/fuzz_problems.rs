//! Changes bytes of problem files at random, reads the files and prepares them for a solver. The
//! result must be a problem or an error, in a short time and with little memory.
//!
//! Usage: `cargo run --release -p reefknot-contact --example fuzz_problems -- COUNT FILE…`

use std::error::Error;
use std::time::{Duration, Instant};

use reefknot_contact::file::ProblemFile;
use reefknot_contact::file::header::seal;
use reefknot_contact::random::Random;
use reefknot_contact::task::Task;

/// Time limit for each file.
const TIME_LIMIT: Duration = Duration::from_secs(5);

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let count: u64 = arguments
        .next()
        .ok_or("usage: fuzz_problems COUNT FILE…")?
        .parse()?;
    for path in arguments {
        let bytes = std::fs::read(&path)?;
        let (mut read, mut longest) = (0_u64, Duration::ZERO);
        for seed in 0..count {
            let changed = changed(&bytes, seed);
            let began = Instant::now();
            if let Ok(problem) = ProblemFile::from_bytes(&changed) {
                read += 1;
                // A singular matrix is an error too.
                let _ = Task::new(problem);
            }
            longest = longest.max(began.elapsed());
            if began.elapsed() > TIME_LIMIT {
                return Err(format!("{path}: seed {seed} took {:?}", began.elapsed()).into());
            }
        }
        println!("{path}: {read} of {count} are problems, the slowest took {longest:?}");
    }
    Ok(())
}

/// Bytes with a few changes: other bytes or integers, copies of other ranges, truncation.
fn changed(bytes: &[u8], seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    let mut next = |below: usize| random.below(below);
    let mut changed = bytes.to_vec();
    for _ in 0..=next(4) {
        // Metadata is mostly at the start, and its changes have more effect.
        let limit = if next(2) == 0 {
            2048.min(bytes.len())
        } else {
            bytes.len()
        };
        let place = next(limit);
        match next(4) {
            0 => changed[place] = next(256) as u8,
            1 => changed[place] ^= 1 << next(8),
            2 => {
                let value = [0, 1, u64::MAX, 1 << 32, 1 << 62, next(5000) as u64][next(6)];
                let end = (place + 8).min(bytes.len());
                changed[place..end].copy_from_slice(&value.to_le_bytes()[..end - place]);
            }
            _ => {
                let length = next(64).min(bytes.len() - place);
                let from = next(bytes.len() - length);
                changed[place..place + length].copy_from_slice(&bytes[from..from + length]);
            }
        }
    }
    if next(8) == 0 {
        changed.truncate(next(bytes.len()));
    }
    // A wrong checksum would hide the other tests of the reader.
    if next(4) != 0 {
        seal(&mut changed);
    }
    changed
}
