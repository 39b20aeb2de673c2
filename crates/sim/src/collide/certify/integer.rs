//! Integers of any size, for signs that rounding hides.
//!
//! Every coordinate is an integer multiple of some power of two, and so are polynomials of
//! coordinates. Their signs are computed without rounding, overflow or underflow. Sizes adapt to
//! the numbers: small for most coordinates, about 30 words where the largest and the smallest
//! double occur together.

use std::cmp::Ordering;

/// An integer: a sign and a magnitude.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Integer {
    is_negative: bool,
    /// Lowest word first; the last is never 0, so zero has no words.
    words: Vec<u64>,
}

impl Integer {
    /// An integer from a sign and a magnitude; the words may end in zeros.
    fn new(is_negative: bool, mut words: Vec<u64>) -> Integer {
        while words.last() == Some(&0) {
            words.pop();
        }
        Integer {
            is_negative: is_negative && !words.is_empty(),
            words,
        }
    }

    /// A non-negative integer.
    pub(super) fn natural(value: u128) -> Integer {
        Integer::new(false, vec![value as u64, (value >> 64) as u64])
    }

    /// `value` in units of 2^`exponent`; `exponent` must not exceed [`lowest_bit`] of a nonzero
    /// value.
    pub(super) fn multiple(value: f64, exponent: i32) -> Integer {
        let (mantissa, own) = decompose(value);
        if mantissa == 0 {
            return Integer::new(false, Vec::new());
        }
        let shift = (own - exponent) as usize;
        let mut words = vec![0; shift / 64];
        let shifted = u128::from(mantissa) << (shift % 64);
        words.extend([shifted as u64, (shifted >> 64) as u64]);
        Integer::new(value < 0.0, words)
    }

    /// Its sign.
    pub(super) fn sign(&self) -> Ordering {
        match (self.words.is_empty(), self.is_negative) {
            (true, _) => Ordering::Equal,
            (false, true) => Ordering::Less,
            (false, false) => Ordering::Greater,
        }
    }

    pub(super) fn plus(&self, other: &Integer) -> Integer {
        self.plus_signed(other, other.is_negative)
    }

    pub(super) fn minus(&self, other: &Integer) -> Integer {
        self.plus_signed(other, !other.is_negative)
    }

    pub(super) fn times(&self, other: &Integer) -> Integer {
        let mut words = vec![0; self.words.len() + other.words.len()];
        for (index, &one) in self.words.iter().enumerate() {
            let mut carry = 0;
            for (word, &another) in words[index..].iter_mut().zip(&other.words) {
                let sum = u128::from(one) * u128::from(another) + u128::from(*word) + carry;
                *word = sum as u64;
                carry = sum >> 64;
            }
            words[index + other.words.len()] = carry as u64;
        }
        Integer::new(self.is_negative != other.is_negative, words)
    }

    /// Adds the magnitude of `other` with this sign.
    fn plus_signed(&self, other: &Integer, is_negative: bool) -> Integer {
        if self.is_negative == is_negative {
            return Integer::new(is_negative, sum(&self.words, &other.words));
        }
        match compare(&self.words, &other.words) {
            Ordering::Less => Integer::new(is_negative, difference(&other.words, &self.words)),
            _ => Integer::new(self.is_negative, difference(&self.words, &other.words)),
        }
    }
}

/// The exponent of the lowest bit of a finite number; None for zero.
pub(super) fn lowest_bit(value: f64) -> Option<i32> {
    let (mantissa, exponent) = decompose(value);
    (mantissa != 0).then_some(exponent)
}

/// The magnitude of a finite number as mantissa · 2^exponent with an odd mantissa; (0, 0) for zero.
fn decompose(value: f64) -> (u64, i32) {
    const MANTISSA_BITS: u32 = f64::MANTISSA_DIGITS - 1;
    const LOWEST_EXPONENT: i32 = f64::MIN_EXP - f64::MANTISSA_DIGITS as i32;
    let bits = value.to_bits();
    let fraction = bits & ((1 << MANTISSA_BITS) - 1);
    let biased = (bits >> MANTISSA_BITS) as i32 & 0x7ff;
    let (mantissa, exponent) = match biased {
        0 => (fraction, LOWEST_EXPONENT),
        _ => (fraction | 1 << MANTISSA_BITS, LOWEST_EXPONENT + biased - 1),
    };
    if mantissa == 0 {
        return (0, 0);
    }
    let zeros = mantissa.trailing_zeros();
    (mantissa >> zeros, exponent + zeros as i32)
}

fn compare(a: &[u64], b: &[u64]) -> Ordering {
    let by_word = || a.iter().rev().cmp(b.iter().rev());
    a.len().cmp(&b.len()).then_with(by_word)
}

fn sum(a: &[u64], b: &[u64]) -> Vec<u64> {
    let (long, short) = if a.len() < b.len() { (b, a) } else { (a, b) };
    let mut words = Vec::with_capacity(long.len() + 1);
    let mut carry = 0;
    for (index, &word) in long.iter().enumerate() {
        let other = short.get(index).copied().unwrap_or(0);
        let sum = u128::from(word) + u128::from(other) + carry;
        words.push(sum as u64);
        carry = sum >> 64;
    }
    words.push(carry as u64);
    words
}

/// The difference of a magnitude and one that is not larger.
fn difference(large: &[u64], small: &[u64]) -> Vec<u64> {
    let mut words = Vec::with_capacity(large.len());
    let mut borrow = false;
    for (index, &word) in large.iter().enumerate() {
        let other = small.get(index).copied().unwrap_or(0);
        let (first, is_below) = word.overflowing_sub(other);
        let (second, is_still_below) = first.overflowing_sub(u64::from(borrow));
        words.push(second);
        borrow = is_below || is_still_below;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The value of an integer of at most two words.
    fn value(number: &Integer) -> i128 {
        let word = |index: usize| i128::from(number.words.get(index).copied().unwrap_or(0));
        let magnitude = word(1) << 64 | word(0);
        if number.is_negative {
            -magnitude
        } else {
            magnitude
        }
    }

    fn integer(value: i128) -> Integer {
        let natural = Integer::natural(value.unsigned_abs());
        Integer::natural(0).plus_signed(&natural, value < 0)
    }

    proptest! {
        #[test]
        fn small_sums_and_products_equal_machine_arithmetic(
            a in any::<i64>(), b in any::<i64>(), c in any::<i64>()
        ) {
            let [x, y, z] = [a, b, c].map(i128::from);
            prop_assert_eq!(value(&integer(x * y).plus(&integer(z))), x * y + z);
            prop_assert_eq!(value(&integer(x * y).minus(&integer(z))), x * y - z);
            prop_assert_eq!(value(&integer(x).times(&integer(y))), x * y);
            prop_assert_eq!(integer(x * y).sign(), (x * y).cmp(&0));
        }

        #[test]
        fn products_of_any_length_distribute_over_sums(
            parts in prop::array::uniform3(any::<(u128, u128)>()),
            factors in 0u32..4,
        ) {
            let long = |(high, low): (u128, u128)| {
                let (largest, low) = (Integer::natural(u128::MAX), Integer::natural(low));
                let mut number = Integer::natural(high);
                for _ in 0..factors {
                    number = number.times(&largest).minus(&low);
                }
                number
            };
            let [a, b, c] = parts.map(long);
            let product = a.minus(&b).times(&c);
            prop_assert_eq!(&product, &a.times(&c).minus(&b.times(&c)));
            // The square of a difference, computed in another order.
            let square = a.minus(&b).times(&a.minus(&b));
            let twice = a.times(&b).plus(&a.times(&b));
            prop_assert_eq!(square, a.times(&a).minus(&twice).plus(&b.times(&b)));
        }

        #[test]
        fn a_double_is_an_integer_multiple_of_a_power_of_two(
            mantissa in -(1i64 << 53)..(1i64 << 53),
            exponent in -1074i32..=918,
        ) {
            let scale = 2f64.powi(exponent.min(-1000) + 1000);
            let value = mantissa as f64 * 2f64.powi(exponent.max(-1000)) * scale;
            let lowest = lowest_bit(value).unwrap_or(exponent);
            prop_assert!(lowest >= exponent);
            let shifted = Integer::natural(mantissa.unsigned_abs().into());
            prop_assert_eq!(Integer::multiple(value, exponent).words, shifted.words);
        }
    }

    #[test]
    fn the_largest_and_the_smallest_double_add_without_loss() {
        let lowest = lowest_bit(f64::from_bits(1)).unwrap();
        assert_eq!(lowest, -1074);
        let [large, small] = [f64::MAX, f64::from_bits(1)].map(|x| Integer::multiple(x, lowest));
        let sum = large.plus(&small);
        assert_eq!(sum.minus(&large), small);
        assert_eq!(sum.minus(&small).minus(&large).sign(), Ordering::Equal);
    }
}
