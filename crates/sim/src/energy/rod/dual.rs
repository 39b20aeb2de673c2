//! Dual numbers, for forward-mode differentiation.

use std::ops::{Add, Div, Mul, Neg, Sub};

use reefknot_contact::lanes::Scalar;

/// value + slope ε with ε² = 0.
#[derive(Clone, Copy)]
pub(super) struct Dual<N> {
    pub(super) value: N,
    pub(super) slope: N,
}

impl<N: Scalar> Add for Dual<N> {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            value: self.value + other.value,
            slope: self.slope + other.slope,
        }
    }
}

impl<N: Scalar> Sub for Dual<N> {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            value: self.value - other.value,
            slope: self.slope - other.slope,
        }
    }
}

impl<N: Scalar> Mul for Dual<N> {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        Self {
            value: self.value * other.value,
            slope: self.slope * other.value + self.value * other.slope,
        }
    }
}

impl<N: Scalar> Div for Dual<N> {
    type Output = Self;

    fn div(self, other: Self) -> Self {
        let value = self.value / other.value;
        Self {
            value,
            slope: (self.slope - value * other.slope) / other.value,
        }
    }
}

impl<N: Scalar> Neg for Dual<N> {
    type Output = Self;

    fn neg(self) -> Self {
        Self {
            value: -self.value,
            slope: -self.slope,
        }
    }
}

impl<N: Scalar> Scalar for Dual<N> {
    fn splat(value: f64) -> Self {
        Self {
            value: N::splat(value),
            slope: N::splat(0.0),
        }
    }

    fn sqrt(self) -> Self {
        let value = self.value.sqrt();
        Self {
            value,
            slope: self.slope / (value + value),
        }
    }

    fn where_greater(self, bound: Self, then: Self, otherwise: Self) -> Self {
        let choose = |then, otherwise| self.value.where_greater(bound.value, then, otherwise);
        Self {
            value: choose(then.value, otherwise.value),
            slope: choose(then.slope, otherwise.slope),
        }
    }

    fn sin_cos(self) -> (Self, Self) {
        let (sine, cosine) = self.value.sin_cos();
        (
            Self {
                value: sine,
                slope: cosine * self.slope,
            },
            Self {
                value: cosine,
                slope: -(sine * self.slope),
            },
        )
    }

    fn angle(sine: Self, cosine: Self) -> Self {
        let square = sine.value * sine.value + cosine.value * cosine.value;
        let turned = cosine.value * sine.slope - sine.value * cosine.slope;
        Self {
            value: N::angle(sine.value, cosine.value),
            slope: turned / square.at_least(N::splat(f64::MIN_POSITIVE)),
        }
    }
}
