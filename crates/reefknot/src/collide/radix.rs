//! Sorting by whole numbers, in linear time.

/// Bits by which one pass sorts, at most: its counters still fit the nearest cache.
const DIGIT: u32 = 12;

/// Sorts fewer than 2³² items by keys below 2 to `bits`; those with equal keys keep their order.
pub(super) fn radix_sort<T: Copy>(items: &mut Vec<T>, bits: u32, key: impl Fn(&T) -> u64) {
    let passes = bits.div_ceil(DIGIT).max(1);
    let width = bits.div_ceil(passes);
    let mut sorted = items.clone();
    for pass in 0..passes {
        let digit = |item: &T| (key(item) >> (pass * width)) as usize & ((1 << width) - 1);
        let mut next = [0u32; 1 << DIGIT];
        for item in items.iter() {
            next[digit(item)] += 1;
        }
        let mut sum = 0;
        for place in &mut next {
            sum += std::mem::replace(place, sum);
        }
        for item in items.iter() {
            let place = &mut next[digit(item)];
            sorted[*place as usize] = *item;
            *place += 1;
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
        fn items_are_sorted_and_equal_ones_keep_their_order(
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
