//! Sorting of pairs of indices from several tasks.
//!
//! Pairs are sorted by their first index with a counting sort, which is linear; the few with the
//! same first index by their ranks. The range of first indices is divided among the threads. Each
//! thread reads all pairs and sorts those of its range: for a few threads, reading is cheaper than
//! distributing. The order is the same for any number of ranges.
//!
//! Lists for hair are long, so memory holds the results of the tasks and one sorted list, not more.

use rayon::prelude::*;

/// Ranges, at most: each costs a pass over all pairs.
const MAX_RANGES: usize = 8;
/// Longer lists use the sort of the standard library.
const MAX_RANK_SORT_LENGTH: usize = 16;

/// All pairs, sorted. `count` is larger than all first indices. Pairs must be unique.
pub(super) fn sort_pairs(found: Vec<Vec<[u32; 2]>>, count: usize) -> Vec<[u32; 2]> {
    let ranges = rayon::current_num_threads().clamp(1, MAX_RANGES);
    let width = count.div_ceil(ranges).max(1);
    let counts = found.par_iter().map(|pairs| {
        let mut counts = [0; MAX_RANGES];
        for pair in pairs {
            counts[pair[0] as usize / width] += 1;
        }
        counts
    });
    let counts: Vec<[usize; MAX_RANGES]> = counts.collect();
    let mut all = vec![[0; 2]; found.iter().map(Vec::len).sum()];
    let mut rest = &mut all[..];
    let mut parts = Vec::new();
    for range in 0..ranges {
        let count = counts.iter().map(|counts| counts[range]).sum();
        parts.push(rest.split_off_mut(..count).unwrap_or_default());
    }
    let parts = parts.into_par_iter().enumerate();
    parts.for_each(|(range, sorted)| sort_range(&found, range * width, width, sorted));
    all
}

/// Sorts the pairs whose first index is in the range of `width` from `first` on.
fn sort_range(found: &[Vec<[u32; 2]>], first: usize, width: usize, sorted: &mut [[u32; 2]]) {
    if sorted.is_empty() {
        return;
    }
    let mut ends = vec![0; width];
    let offset = |pair: &[u32; 2]| (pair[0] as usize).wrapping_sub(first);
    for pair in found.iter().flatten() {
        if let Some(end) = ends.get_mut(offset(pair)) {
            *end += 1;
        }
    }
    let mut sum = 0;
    for end in &mut ends {
        sum += std::mem::replace(end, sum);
    }
    for pair in found.iter().flatten() {
        if let Some(end) = ends.get_mut(offset(pair)) {
            sorted[*end as usize] = *pair;
            *end += 1;
        }
    }
    let mut from = 0;
    for end in ends {
        let to: u32 = end;
        sort_list(&mut sorted[from as usize..to as usize]);
        from = to;
    }
}

/// Sorts pairs with the same first index.
#[inline]
fn sort_list(list: &mut [[u32; 2]]) {
    if list.len() > MAX_RANK_SORT_LENGTH {
        list.sort_unstable_by_key(|pair| pair[1]);
        return;
    }
    let mut seconds = [0; MAX_RANK_SORT_LENGTH];
    for (second, pair) in seconds.iter_mut().zip(&*list) {
        *second = pair[1];
    }
    let seconds = &seconds[..list.len()];
    // All are different, so the number of smaller ones is the position of each; this has no
    // branches.
    for second in seconds {
        let mut rank = 0;
        for other in seconds {
            rank += usize::from(other < second);
        }
        list[rank][1] = *second;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn pairs_of_all_tasks_come_out_sorted(
            pairs in proptest::collection::btree_set((0u32..500, 0u32..40), 0..2000),
            tasks in 1usize..8,
            extra in 0usize..100_000,
        ) {
            let pairs: BTreeSet<[u32; 2]> = pairs.into_iter().map(|(a, b)| [a, b]).collect();
            let expected: Vec<[u32; 2]> = pairs.iter().copied().collect();
            // Distributed in reverse, so that each task has pairs of all ranges.
            let found = (0..tasks).map(|task| {
                let own = expected.iter().rev().skip(task).step_by(tasks);
                own.copied().collect::<Vec<_>>()
            });
            prop_assert_eq!(sort_pairs(found.collect(), 500 + extra), expected);
        }
    }

    #[test]
    fn an_empty_list_is_sorted() {
        assert_eq!(sort_pairs(vec![], 0), Vec::<[u32; 2]>::new());
        assert_eq!(sort_pairs(vec![vec![]], 0), Vec::<[u32; 2]>::new());
    }
}
