//! Changes bytes of problem files at random, reads them and makes them ready to be solved: each must be a problem or an error, soon
//! and without much memory.
//!
//! Usage: `cargo run --release -p reefknot-contact --example fuzz_problems -- COUNT FILE…`

use std::error::Error;
use std::time::{Duration, Instant};

use reefknot_contact::file::ProblemFile;
use reefknot_contact::solve::task::Task;

/// Nothing takes longer, whatever it says.
const PATIENCE: Duration = Duration::from_secs(5);

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
                // A matrix without an inverse is an error too.
                let _ = Task::new(problem);
            }
            longest = longest.max(began.elapsed());
            if began.elapsed() > PATIENCE {
                return Err(format!("{path}: seed {seed} took {:?}", began.elapsed()).into());
            }
        }
        println!("{path}: {read} of {count} are problems, the slowest took {longest:?}");
    }
    Ok(())
}

/// The bytes with a few changes: single bytes, whole numbers, copies of other parts, the end cut off.
fn changed(bytes: &[u8], seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 16) as usize % below.max(1)
    };
    let mut changed = bytes.to_vec();
    for _ in 0..=next(4) {
        // Metadata is mostly at the start, and does more.
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
    changed
}
