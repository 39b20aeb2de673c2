//! Radix sort, in linear time.

/// Bits that one pass sorts by, at most: its counters fit in the first-level cache.
const DIGIT_BITS: u32 = 12;

/// Sorts fewer than 2³² items by keys below 2 to `bits`, stably.
pub(super) fn radix_sort<T: Copy>(items: &mut Vec<T>, bits: u32, key: impl Fn(&T) -> u64) {
    let passes = bits.div_ceil(DIGIT_BITS).max(1);
    let width = bits.div_ceil(passes);
    let mut sorted = items.clone();
    for pass in 0..passes {
        let digit = |item: &T| (key(item) >> (pass * width)) as usize & ((1 << width) - 1);
        let mut next = [0u32; 1 << DIGIT_BITS];
        for item in items.iter() {
            next[digit(item)] += 1;
        }
        let mut sum = 0;
        for slot in &mut next {
            sum += std::mem::replace(slot, sum);
        }
        for item in items.iter() {
            let slot = &mut next[digit(item)];
            sorted[*slot as usize] = *item;
            *slot += 1;
        }
        std::mem::swap(items, &mut sorted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn items_are_sorted_stably(
            keys in proptest::collection::vec(any::<u64>(), 0..300),
            bits in 0u32..63,
        ) {
            let keys = keys.into_iter().map(|key| key & ((1 << bits) - 1));
            let mut items: Vec<(u64, usize)> = keys.zip(0..).collect();
            let mut expected = items.clone();
            expected.sort_by_key(|item| item.0);
            radix_sort(&mut items, bits, |item| item.0);
            prop_assert_eq!(items, expected);
        }
    }
}
