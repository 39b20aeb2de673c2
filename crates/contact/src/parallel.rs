//! Helpers for work that is shared among threads.

use rayon::prelude::*;

/// Splits a slice into consecutive parts of the given lengths. The remainder is dropped.
///
/// # Panics
/// If the slice is shorter than the sum of the lengths.
pub fn split_by_lengths<T>(slice: &mut [T], lengths: impl Iterator<Item = usize>) -> Vec<&mut [T]> {
    let mut rest = slice;
    let mut parts = Vec::new();
    for length in lengths {
        let (part, tail) = rest.split_at_mut(length);
        parts.push(part);
        rest = tail;
    }
    parts
}

/// Runs independent tasks. A single task runs on the current thread, because handing a small body
/// to another thread costs more than its work.
pub(crate) fn map_tasks<W: Send, R: Send>(
    tasks: Vec<W>,
    run: impl Fn(W) -> R + Sync + Send,
) -> Vec<R> {
    if tasks.len() == 1 {
        tasks.into_iter().map(run).collect()
    } else {
        tasks.into_par_iter().map(run).collect()
    }
}
