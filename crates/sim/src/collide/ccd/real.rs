//! Real numbers of two precisions, and vectors of them: doubles, and double-double arithmetic for
//! the signs that doubles cannot resolve.

use std::fmt::Debug;
use std::ops::{Add, Div, Mul, Neg, Sub};

use glam::DVec3;

/// The unit roundoff of doubles.
pub(super) const UNIT_ROUNDOFF: f64 = f64::EPSILON / 2.0;

/// The arithmetic of the search.
pub(super) trait Real:
    Copy
    + Debug
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// Bounds the error of a scalar product of differences relative to the sum of the sizes of its
    /// terms, and of a quotient. About twice the result of the analysis: 1 rounding for the
    /// differences, 3 for product and sums.
    const ERROR: f64;

    /// Conversion from a double, exact.
    fn of(value: f64) -> Self;
    /// a − b, with an error of at most one rounding.
    fn difference(a: f64, b: f64) -> Self;
    /// The nearest double, up to a rounding.
    fn rounded(self) -> f64;
    /// A double that is not larger than the number.
    fn rounded_down(self) -> f64;
}

impl Real for f64 {
    const ERROR: f64 = 8.0 * UNIT_ROUNDOFF;

    #[inline]
    fn of(value: f64) -> f64 {
        value
    }
    #[inline]
    fn difference(a: f64, b: f64) -> f64 {
        a - b
    }
    #[inline]
    fn rounded(self) -> f64 {
        self
    }
    #[inline]
    fn rounded_down(self) -> f64 {
        self
    }
}

/// The sum of two doubles, the second at most half an ulp of the first: 106 bits.
///
/// Sums and products after Joldes, Muller and Popescu, Tight and rigorous error bounds for basic
/// building blocks of double-word arithmetic (2017): relative errors of at most 3, 7 and 15 units²
/// for sum, product and quotient.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(super) struct DoubleDouble {
    high: f64,
    low: f64,
}

/// a + b exactly (Knuth).
#[inline]
fn two_sum(a: f64, b: f64) -> DoubleDouble {
    let high = a + b;
    let from_b = high - a;
    DoubleDouble {
        high,
        low: (a - (high - from_b)) + (b - from_b),
    }
}

/// a + b exactly, if |a| ≥ |b| or a = 0 (Dekker).
#[inline]
fn quick_two_sum(a: f64, b: f64) -> DoubleDouble {
    let high = a + b;
    DoubleDouble {
        high,
        low: b - (high - a),
    }
}

/// a b exactly (Dekker; without fused multiplication, which not every processor has).
#[inline]
fn two_product(a: f64, b: f64) -> DoubleDouble {
    let split = |x: f64| {
        let shifted = 134_217_729.0 * x;
        let high = shifted - (shifted - x);
        (high, x - high)
    };
    let high = a * b;
    let ((a_high, a_low), (b_high, b_low)) = (split(a), split(b));
    DoubleDouble {
        high,
        low: ((a_high * b_high - high) + a_high * b_low + a_low * b_high) + a_low * b_low,
    }
}

impl Add for DoubleDouble {
    type Output = DoubleDouble;
    #[inline]
    fn add(self, other: DoubleDouble) -> DoubleDouble {
        let high = two_sum(self.high, other.high);
        let low = two_sum(self.low, other.low);
        let sum = quick_two_sum(high.high, high.low + low.high);
        quick_two_sum(sum.high, sum.low + low.low)
    }
}

impl Neg for DoubleDouble {
    type Output = DoubleDouble;
    #[inline]
    fn neg(self) -> DoubleDouble {
        DoubleDouble {
            high: -self.high,
            low: -self.low,
        }
    }
}

impl Sub for DoubleDouble {
    type Output = DoubleDouble;
    #[inline]
    fn sub(self, other: DoubleDouble) -> DoubleDouble {
        self + -other
    }
}

impl Mul for DoubleDouble {
    type Output = DoubleDouble;
    #[inline]
    fn mul(self, other: DoubleDouble) -> DoubleDouble {
        let product = two_product(self.high, other.high);
        let cross = self.high * other.low + self.low * other.high;
        quick_two_sum(product.high, product.low + cross)
    }
}

impl Div for DoubleDouble {
    type Output = DoubleDouble;
    #[inline]
    fn div(self, other: DoubleDouble) -> DoubleDouble {
        let first = self.high / other.high;
        let left = self - other * DoubleDouble::of(first);
        let second = left.high / other.high;
        let left = left - other * DoubleDouble::of(second);
        quick_two_sum(first, second) + DoubleDouble::of(left.high / other.high)
    }
}

impl Real for DoubleDouble {
    const ERROR: f64 = 64.0 * UNIT_ROUNDOFF * UNIT_ROUNDOFF;

    #[inline]
    fn of(value: f64) -> DoubleDouble {
        DoubleDouble {
            high: value,
            low: 0.0,
        }
    }
    #[inline]
    fn difference(a: f64, b: f64) -> DoubleDouble {
        two_sum(a, -b)
    }
    #[inline]
    fn rounded(self) -> f64 {
        self.high
    }
    #[inline]
    fn rounded_down(self) -> f64 {
        if self.low < 0.0 {
            self.high.next_down()
        } else {
            self.high
        }
    }
}

/// A vector of real numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Vector<T>(pub(super) [T; 3]);

impl<T: Real> Vector<T> {
    #[inline]
    pub(super) fn difference(a: DVec3, b: DVec3) -> Self {
        Vector([
            T::difference(a.x, b.x),
            T::difference(a.y, b.y),
            T::difference(a.z, b.z),
        ])
    }
    #[inline]
    pub(super) fn dot(self, other: Self) -> T {
        let ([a, b, c], [x, y, z]) = (self.0, other.0);
        a * x + b * y + c * z
    }
    #[inline]
    pub(super) fn cross(self, other: Self) -> Self {
        let ([a, b, c], [x, y, z]) = (self.0, other.0);
        Vector([b * z - c * y, c * x - a * z, a * y - b * x])
    }
    /// Rounded to doubles.
    #[inline]
    pub(super) fn rounded(self) -> DVec3 {
        DVec3::from(self.0.map(T::rounded))
    }
}

impl<T: Real> Add for Vector<T> {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Vector(std::array::from_fn(|axis| self.0[axis] + other.0[axis]))
    }
}

impl<T: Real> Sub for Vector<T> {
    type Output = Self;
    #[inline]
    fn sub(self, other: Self) -> Self {
        Vector(std::array::from_fn(|axis| self.0[axis] - other.0[axis]))
    }
}

impl<T: Real> Mul<T> for Vector<T> {
    type Output = Self;
    #[inline]
    fn mul(self, factor: T) -> Self {
        Vector(self.0.map(|value| value * factor))
    }
}
