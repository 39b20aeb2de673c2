//! Numbers of two precisions, and vectors of them: doubles, and sums of two doubles for what doubles cannot tell apart.

use std::fmt::Debug;
use std::ops::{Add, Div, Mul, Neg, Sub};

use glam::DVec3;

/// The unit roundoff of doubles.
pub(super) const UNIT: f64 = f64::EPSILON / 2.0;

/// What the search computes with.
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
    /// Bounds the error of a scalar product of differences, relative to the sum of its terms' sizes, and of a quotient. About
    /// twice what the analysis gives: 1 rounding for the differences, 3 for product and sums.
    const ERROR: f64;

    /// The number that a double is.
    fn of(value: f64) -> Self;
    /// a − b, with an error of at most one rounding.
    fn difference(a: f64, b: f64) -> Self;
    /// The nearest double, up to a rounding.
    fn near(self) -> f64;
    /// A double that is not larger.
    fn below(self) -> f64;
}

impl Real for f64 {
    const ERROR: f64 = 8.0 * UNIT;

    #[inline]
    fn of(value: f64) -> f64 {
        value
    }
    #[inline]
    fn difference(a: f64, b: f64) -> f64 {
        a - b
    }
    #[inline]
    fn near(self) -> f64 {
        self
    }
    #[inline]
    fn below(self) -> f64 {
        self
    }
}

/// The sum of two doubles, the second at most half a unit in the last place of the first: 106 bits.
///
/// Sums and products after Joldes, Muller and Popescu, Tight and rigorous error bounds for basic building blocks of double-word
/// arithmetic (2017): relative errors of at most 3, 7 and 15 units² for sum, product and quotient.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(super) struct Two {
    high: f64,
    low: f64,
}

/// a + b exactly (Knuth).
#[inline]
fn two_sum(a: f64, b: f64) -> Two {
    let high = a + b;
    let from_b = high - a;
    Two {
        high,
        low: (a - (high - from_b)) + (b - from_b),
    }
}

/// a + b exactly, if |a| ≥ |b| or a = 0 (Dekker).
#[inline]
fn quick_two_sum(a: f64, b: f64) -> Two {
    let high = a + b;
    Two {
        high,
        low: b - (high - a),
    }
}

/// a b exactly (Dekker; without fused multiplication, which not every processor has).
#[inline]
fn two_product(a: f64, b: f64) -> Two {
    let split = |x: f64| {
        let shifted = 134_217_729.0 * x;
        let high = shifted - (shifted - x);
        (high, x - high)
    };
    let high = a * b;
    let ((a_high, a_low), (b_high, b_low)) = (split(a), split(b));
    Two {
        high,
        low: ((a_high * b_high - high) + a_high * b_low + a_low * b_high) + a_low * b_low,
    }
}

impl Add for Two {
    type Output = Two;
    #[inline]
    fn add(self, other: Two) -> Two {
        let high = two_sum(self.high, other.high);
        let low = two_sum(self.low, other.low);
        let sum = quick_two_sum(high.high, high.low + low.high);
        quick_two_sum(sum.high, sum.low + low.low)
    }
}

impl Neg for Two {
    type Output = Two;
    #[inline]
    fn neg(self) -> Two {
        Two {
            high: -self.high,
            low: -self.low,
        }
    }
}

impl Sub for Two {
    type Output = Two;
    #[inline]
    fn sub(self, other: Two) -> Two {
        self + -other
    }
}

impl Mul for Two {
    type Output = Two;
    #[inline]
    fn mul(self, other: Two) -> Two {
        let product = two_product(self.high, other.high);
        let cross = self.high * other.low + self.low * other.high;
        quick_two_sum(product.high, product.low + cross)
    }
}

impl Div for Two {
    type Output = Two;
    #[inline]
    fn div(self, other: Two) -> Two {
        let first = self.high / other.high;
        let left = self - other * Two::of(first);
        let second = left.high / other.high;
        let left = left - other * Two::of(second);
        quick_two_sum(first, second) + Two::of(left.high / other.high)
    }
}

impl Real for Two {
    const ERROR: f64 = 64.0 * UNIT * UNIT;

    #[inline]
    fn of(value: f64) -> Two {
        Two {
            high: value,
            low: 0.0,
        }
    }
    #[inline]
    fn difference(a: f64, b: f64) -> Two {
        two_sum(a, -b)
    }
    #[inline]
    fn near(self) -> f64 {
        self.high
    }
    #[inline]
    fn below(self) -> f64 {
        if self.low < 0.0 {
            self.high.next_down()
        } else {
            self.high
        }
    }
}

/// A vector of such numbers.
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
    pub(super) fn near(self) -> DVec3 {
        DVec3::from(self.0.map(T::near))
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
