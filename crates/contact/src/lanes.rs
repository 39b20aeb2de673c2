//! Vector arithmetic on four numbers, one from each of four problems of the same shape.
//!
//! Batches of small problems of the same shape (rods) are stored in groups of four, so that one
//! vector instruction works on four problems. A computation is written once, as a [`Kernel`]. It is
//! compiled twice, with and without AVX2, and [`dispatch`] selects a version for the processor. The
//! compiler vectorizes operations on arrays if all functions are inlined. Fused multiply-add is not
//! used, so both versions have the same bits.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// Problems per group.
pub const LANES: usize = 4;

/// One number of each problem of a group, with arithmetic lane by lane.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(align(32))]
pub struct Lanes(pub [f64; LANES]);

/// Scalar type of formulas: [`Lanes`], or a type with the same operations (dual numbers).
pub trait Scalar:
    Copy
    + Send
    + Sync
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// The same number in all lanes.
    fn splat(value: f64) -> Self;

    /// Square root.
    fn sqrt(self) -> Self;

    /// `then` in the lanes where `self > bound`, `otherwise` in the others.
    fn where_greater(self, bound: Self, then: Self, otherwise: Self) -> Self;

    /// Sine and cosine.
    fn sin_cos(self) -> (Self, Self);

    /// Larger of two numbers; `bound` if `self` is NaN.
    #[inline(always)]
    fn at_least(self, bound: Self) -> Self {
        self.where_greater(bound, self, bound)
    }

    /// Absolute value.
    #[inline(always)]
    fn abs(self) -> Self {
        self.where_greater(Self::splat(0.0), self, -self)
    }

    /// Angle in [−π, π] whose sine and cosine are proportional to these; 0 if both are 0.
    #[inline(always)]
    fn angle(sine: Self, cosine: Self) -> Self {
        angle(sine, cosine)
    }
}

/// Computation on groups. `run`, and every function with [`Lanes`] that it calls, must be
/// `#[inline(always)]`: a function that is not inlined is compiled without AVX2.
pub trait Kernel {
    /// Result of the computation.
    type Output;

    /// Runs the computation.
    fn run(self) -> Self::Output;
}

/// Runs a kernel with AVX2 if the processor has it.
pub fn dispatch<K: Kernel>(kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        #[target_feature(enable = "avx2")]
        fn run<K: Kernel>(kernel: K) -> K::Output {
            kernel.run()
        }
        #[allow(unsafe_code, reason = "the feature was detected above")]
        return unsafe { run(kernel) };
    }
    kernel.run()
}

macro_rules! lanewise {
    ($trait:ident, $method:ident, $operator:tt) => {
        impl $trait for Lanes {
            type Output = Self;

            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                let (a, b) = (self.0, other.0);
                Self([
                    a[0] $operator b[0],
                    a[1] $operator b[1],
                    a[2] $operator b[2],
                    a[3] $operator b[3],
                ])
            }
        }
    };
}

lanewise!(Add, add, +);
lanewise!(Sub, sub, -);
lanewise!(Mul, mul, *);
lanewise!(Div, div, /);

impl Neg for Lanes {
    type Output = Self;

    #[inline(always)]
    fn neg(self) -> Self {
        Self(self.0.map(|a| -a))
    }
}

impl Scalar for Lanes {
    #[inline(always)]
    fn splat(value: f64) -> Self {
        Self([value; LANES])
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        Self(self.0.map(f64::sqrt))
    }

    #[inline(always)]
    fn where_greater(self, bound: Self, then: Self, otherwise: Self) -> Self {
        let mut chosen = otherwise;
        for lane in 0..LANES {
            if self.0[lane] > bound.0[lane] {
                chosen.0[lane] = then.0[lane];
            }
        }
        chosen
    }

    #[inline(always)]
    fn sin_cos(self) -> (Self, Self) {
        (Self(self.0.map(f64::sin)), Self(self.0.map(f64::cos)))
    }
}

/// Coefficients of the rational approximation of (atan(z) − z)/z³ for |z| ≤ 0.66 in Moshier's
/// Cephes library (atan.c), highest power first.
const NUMERATOR: [f64; 5] = [
    -8.750_608_600_031_904e-1,
    -1.615_753_718_733_365e1,
    -7.500_855_792_314_705e1,
    -1.228_866_684_490_136_2e2,
    -6.485_021_904_942_025e1,
];
const DENOMINATOR: [f64; 6] = [
    1.0,
    2.485_846_490_142_306_4e1,
    1.650_270_098_316_988_5e2,
    4.328_810_604_912_903e2,
    4.853_903_996_359_137e2,
    1.945_506_571_482_614e2,
];

#[inline(always)]
fn polynomial<N: Scalar, const K: usize>(coefficients: [f64; K], z: N) -> N {
    let mut sum = N::splat(coefficients[0]);
    for coefficient in &coefficients[1..] {
        sum = sum * z + N::splat(*coefficient);
    }
    sum
}

/// Arc tangent of two arguments without branches. The ratio is reduced to [0, 1] by symmetry, and
/// to |z| ≤ tan(π/8) by a rotation of π/4.
#[inline(always)]
fn angle<N: Scalar>(sine: N, cosine: N) -> N {
    use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};
    let (zero, one) = (N::splat(0.0), N::splat(1.0));
    let (height, width) = (sine.abs(), cosine.abs());
    let larger = height.at_least(width);
    let smaller = height.where_greater(width, width, height);
    let ratio = smaller / larger.at_least(N::splat(f64::MIN_POSITIVE));
    let is_steep = N::splat(std::f64::consts::SQRT_2 - 1.0);
    let z = ratio.where_greater(is_steep, (ratio - one) / (ratio + one), ratio);
    let offset = ratio.where_greater(is_steep, N::splat(FRAC_PI_4), zero);
    let square = z * z;
    let rest = square * polynomial(NUMERATOR, square) / polynomial(DENOMINATOR, square);
    let eighth = offset + (z + z * rest);
    let quarter = height.where_greater(width, N::splat(FRAC_PI_2) - eighth, eighth);
    let half = zero.where_greater(cosine, N::splat(PI) - quarter, quarter);
    zero.where_greater(sine, -half, half)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    struct Angle(Lanes, Lanes);

    impl Kernel for Angle {
        type Output = Lanes;

        #[inline(always)]
        fn run(self) -> Lanes {
            Lanes::angle(self.0, self.1)
        }
    }

    proptest! {
        #[test]
        fn angles_agree_with_the_standard_library(
            y in -2.0..2.0f64,
            x in -2.0..2.0f64,
            tiny in -1e-12..1e-12f64,
        ) {
            let (sine, cosine) = ([y, tiny, y, 0.0], [x, x, tiny, x]);
            let found = dispatch(Angle(Lanes(sine), Lanes(cosine)));
            for lane in 0..LANES {
                let known = sine[lane].atan2(cosine[lane]);
                let difference = (found.0[lane] - known).abs();
                prop_assert!(
                    difference <= 1e-15 * known.abs().max(1e-300),
                    "{} {known}",
                    found.0[lane]
                );
            }
            prop_assert_eq!(found, Angle(Lanes(sine), Lanes(cosine)).run());
        }
    }

    #[test]
    fn the_angle_of_the_zero_vector_is_zero() {
        let zero = Lanes::default();
        assert_eq!(dispatch(Angle(zero, zero)), zero);
    }

    /// Kernel with every operation.
    struct AllOperations(Lanes, Lanes);

    impl Kernel for AllOperations {
        type Output = [Lanes; 5];

        #[inline(always)]
        fn run(self) -> [Lanes; 5] {
            let (a, b) = (self.0, self.1);
            let (sine, cosine) = a.sin_cos();
            [
                (a + b) * a / b - b,
                a.abs().sqrt(),
                a.at_least(b),
                -sine,
                cosine,
            ]
        }
    }

    #[test]
    fn vector_and_scalar_instructions_have_the_same_bits() {
        let a = Lanes([0.3, -1.7, 1e9, -0.0]);
        let b = Lanes([0.7, 3.1, -2.5e-4, 5.0]);
        assert_eq!(dispatch(AllOperations(a, b)), AllOperations(a, b).run());
        let [sum, root, larger, ..] = dispatch(AllOperations(a, b));
        assert_eq!(sum.0[0], (0.3 + 0.7) * 0.3 / 0.7 - 0.7);
        assert_eq!(root.0[1], 1.7f64.sqrt());
        assert_eq!(larger.0, [0.7, 3.1, 1e9, 5.0]);
    }
}
