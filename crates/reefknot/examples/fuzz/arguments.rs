//! The command line of all fuzzers: `[COUNT] [SEED] [FIRST]`.

/// Count, seed and number of the first case.
///
/// # Errors
/// If an argument is not a number.
pub(crate) fn numbers(name: &str, default_count: u64) -> Result<[u64; 3], String> {
    let mut numbers = [default_count, 1, 0];
    for (number, text) in numbers.iter_mut().zip(std::env::args().skip(1)) {
        *number = text.parse().map_err(|_| {
            format!("`{text}` is not a number; usage: {name} [COUNT] [SEED] [FIRST]")
        })?;
    }
    Ok(numbers)
}

/// Number of messages to print, from `FUZZ_SAMPLE`.
pub(crate) fn sample() -> usize {
    let sample = std::env::var("FUZZ_SAMPLE").ok();
    sample.and_then(|text| text.parse().ok()).unwrap_or(0)
}
