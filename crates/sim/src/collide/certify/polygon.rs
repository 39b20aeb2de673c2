//! A moving polygon and the origin: proofs from the signs of polynomials over a time interval.
//!
//! Two features collide where a difference of their points is 0. The differences of a triangle and
//! a point form a triangle, those of two edges a parallelogram: in both cases a flat convex polygon
//! with corners q₀, q₁, … in cyclic order that are linear in time. Closed features collide exactly
//! if the polygon contains the origin. At a given time it does *not* if one of these holds:
//!
//! - 1D: along a coordinate axis all corners are strictly on one side of the origin;
//! - 2D: in the projection along a coordinate axis, two of the signed areas qᵢ × qᵢ₊₁ have strictly
//!   opposite signs (the origin is to the left of one side and to the right of another);
//! - 3D: the volume det(q₀, q₁, q₂) is not 0 (the origin is not in the plane of the polygon).
//!
//! The list is complete. If the corners span a plane through the origin, along some axis the
//! projection of this plane is not a line. Areas without opposite signs, not all of them 0, then
//! prove that the polygon contains the origin. If they span a line through the origin, along some
//! axis the line is not a point; corners on both sides of the origin, or at it, contain it. If they
//! are all at the origin, they contain it. So motion in a plane, parallel edges, and features
//! without length or area are no special cases.
//!
//! Coordinates, areas and volume are polynomials in time of degree 1, 2 and 3. Over a time interval
//! a polynomial has a strict sign if its Bernstein coefficients have. Near every time at which the
//! features are separated one of the three is strict, so bisection finds a proof for every motion
//! that keeps features separated.

use std::array::from_fn;
use std::cmp::Ordering;
use std::iter::once;

use glam::DVec3;

use super::integer::{Integer, lowest_bit};

/// Corners of the polygon of differences in cyclic order, as pairs of points: for a triangle and a
/// point.
pub(super) const TRIANGLE: [[usize; 2]; 3] = [[1, 0], [2, 0], [3, 0]];
/// For the ends of two edges.
pub(super) const PARALLELOGRAM: [[usize; 2]; 4] = [[0, 2], [1, 2], [1, 3], [0, 3]];

/// The time interval from `number`/2^`depth` to (`number` + 1)/2^`depth` of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TimeInterval {
    pub(super) number: u128,
    pub(super) depth: u32,
}

/// Proof from the signs over a time interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The features are separated throughout.
    Apart,
    /// They collide at the start of the interval.
    CollideAtStart,
    /// They collide in the interval.
    Collide,
    /// There is no proof; shorter intervals may have one.
    Undecided,
    /// Rounding hides a sign that may decide.
    Inexact,
}

/// The arithmetic of the test: doubles with an error bound, or exact integers.
pub(super) trait Scalar: Sized {
    /// `numerator`/2^`depth`, or that times 2^`depth`: the same choice for all of an interval.
    fn weight(numerator: u128, depth: u32) -> Self;
    fn plus(&self, other: &Self) -> Self;
    fn minus(&self, other: &Self) -> Self;
    fn times(&self, other: &Self) -> Self;
    /// The sign, unless an error of this size can change it.
    fn sign(&self, error: f64) -> Option<Ordering>;
}

impl Scalar for f64 {
    fn weight(numerator: u128, depth: u32) -> f64 {
        // The division is exact: 2^depth is a power of two.
        numerator as f64 / (1u128 << depth) as f64
    }

    fn plus(&self, other: &f64) -> f64 {
        self + other
    }

    fn minus(&self, other: &f64) -> f64 {
        self - other
    }

    fn times(&self, other: &f64) -> f64 {
        self * other
    }

    fn sign(&self, error: f64) -> Option<Ordering> {
        // Both comparisons fail for NaN, and for an infinite error.
        if *self > error {
            Some(Ordering::Greater)
        } else if *self < -error {
            Some(Ordering::Less)
        } else {
            None
        }
    }
}

impl Scalar for Integer {
    fn weight(numerator: u128, _: u32) -> Integer {
        Integer::natural(numerator)
    }

    fn plus(&self, other: &Integer) -> Integer {
        Integer::plus(self, other)
    }

    fn minus(&self, other: &Integer) -> Integer {
        Integer::minus(self, other)
    }

    fn times(&self, other: &Integer) -> Integer {
        Integer::times(self, other)
    }

    fn sign(&self, _: f64) -> Option<Ordering> {
        Some(Integer::sign(self))
    }
}

/// A polygon whose corners move linearly with time.
pub(super) struct MovingPolygon<T, const CORNERS: usize> {
    start: [[T; 3]; CORNERS],
    end: [[T; 3]; CORNERS],
}

impl<const CORNERS: usize> MovingPolygon<f64, CORNERS> {
    /// The differences of pairs of points, rounded; None if along an axis all are strictly on one
    /// side of the origin at both ends, which rounding does not change.
    ///
    /// Each axis is scaled by a power of two so that the largest difference is in [1, 2): signs do
    /// not change, and products stay in range. Where a difference overflows, its axis contains
    /// zeros and NaN, and so does every polynomial with it: these have no known sign.
    pub(super) fn unless_apart(
        [from, to]: [&[DVec3; 4]; 2],
        pairs: [[usize; 2]; CORNERS],
    ) -> Option<MovingPolygon<f64, CORNERS>> {
        let start = pairs.map(|[one, other]| from[one] - from[other]);
        let end = pairs.map(|[one, other]| to[one] - to[other]);
        let [mut least, mut most] = [start[0]; 2];
        for &corner in start[1..].iter().chain(&end) {
            (least, most) = (least.min(corner), most.max(corner));
        }
        if (least.cmpgt(DVec3::ZERO) | most.cmplt(DVec3::ZERO)).any() {
            return None;
        }
        let unit = most.max(-least).map(inverse_power);
        let scaled = |corner: DVec3| (corner * unit).to_array();
        Some(MovingPolygon {
            start: start.map(scaled),
            end: end.map(scaled),
        })
    }
}

/// The power of two that scales a size into [1, 2), if there is one.
pub(super) fn inverse_power(size: f64) -> f64 {
    const EXPONENT_BITS: u64 = 0x7ff << 52;
    let power = f64::from_bits(size.to_bits() & EXPONENT_BITS);
    // The inverses of smaller powers overflow.
    1.0 / power.max(f64::MIN_POSITIVE)
}

impl<const CORNERS: usize> MovingPolygon<Integer, CORNERS> {
    /// The exact differences of pairs of points, in units of the lowest bit of all coordinates
    /// along each axis.
    pub(super) fn exact(
        [from, to]: [&[DVec3; 4]; 2],
        pairs: [[usize; 2]; CORNERS],
    ) -> MovingPolygon<Integer, CORNERS> {
        let lowest = lowest_bits(from.iter().chain(to));
        let difference = |points: &[DVec3; 4], [one, other]: [usize; 2]| {
            exact_difference(points[one], points[other], lowest)
        };
        MovingPolygon {
            start: pairs.map(|pair| difference(from, pair)),
            end: pairs.map(|pair| difference(to, pair)),
        }
    }
}

/// The exponents of the lowest bits of all coordinates, by axis.
pub(super) fn lowest_bits<'a>(points: impl Iterator<Item = &'a DVec3> + Clone) -> [i32; 3] {
    from_fn(|axis| {
        let coordinates = points.clone().map(|point| point[axis]);
        coordinates.filter_map(lowest_bit).min().unwrap_or(0)
    })
}

/// The difference of two points in units of the lowest bits.
pub(super) fn exact_difference(one: DVec3, other: DVec3, lowest: [i32; 3]) -> [Integer; 3] {
    from_fn(|axis| {
        let [one, other] = [one, other].map(|point| Integer::multiple(point[axis], lowest[axis]));
        one.minus(&other)
    })
}

/// Error bounds of the quantities of a rounded polygon. With u = 2^-53: the coordinates of a corner
/// are below 2, with an error of at most 4u of that (a difference, two weights that add up to 1,
/// two products, a sum). A product of two is below 4 with an error of 9u of that; an area adds at
/// most 4 of them, 46u · 4 < 2^-45. A volume adds 18 products of three, below 8, each with an error
/// of 19u of that, 342u · 8 < 2^-41.
const COORDINATE_ERROR: f64 = f64::EPSILON * 8.0;
pub(super) const AREA_ERROR: f64 = f64::EPSILON * 128.0;
pub(super) const VOLUME_ERROR: f64 = f64::EPSILON * 2048.0;

/// A sign, if known.
pub(super) type Sign = Option<Ordering>;

/// The sign of a polynomial over a time interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IntervalSign {
    /// Strictly above zero.
    Positive,
    /// Strictly below zero.
    Negative,
    /// Its coefficients prove neither.
    Mixed,
    /// As `Mixed`, but rounding hides a coefficient that may prove a sign.
    Inexact,
}

impl IntervalSign {
    /// The sign from those of the Bernstein coefficients.
    fn of<'a>(coefficients: impl Iterator<Item = &'a Sign>) -> IntervalSign {
        let (mut may_be_positive, mut may_be_negative, mut is_hidden) = (true, true, false);
        for sign in coefficients {
            is_hidden |= sign.is_none();
            may_be_positive &= sign.is_none_or(Ordering::is_gt);
            may_be_negative &= sign.is_none_or(Ordering::is_lt);
        }
        match (may_be_positive || may_be_negative, is_hidden) {
            (false, _) => IntervalSign::Mixed,
            (true, true) => IntervalSign::Inexact,
            (true, false) if may_be_positive => IntervalSign::Positive,
            (true, false) => IntervalSign::Negative,
        }
    }

    fn is_strict(self) -> bool {
        matches!(self, IntervalSign::Positive | IntervalSign::Negative)
    }
}

/// Whether both strict signs occur.
fn has_opposites(courses: &[IntervalSign]) -> bool {
    courses.contains(&IntervalSign::Positive) && courses.contains(&IntervalSign::Negative)
}

impl<T: Scalar, const CORNERS: usize> MovingPolygon<T, CORNERS> {
    /// The polygon during a part of the step.
    pub(super) fn during(&self, span: TimeInterval) -> MovingPolygon<T, CORNERS> {
        let at = |number: u128| {
            let rest = (1 << span.depth) - number;
            let [early, late] = [rest, number].map(|weight| T::weight(weight, span.depth));
            from_fn(|corner| {
                from_fn(|axis| {
                    let [one, other] = [&self.start, &self.end].map(|ends| &ends[corner][axis]);
                    early.times(one).plus(&late.times(other))
                })
            })
        };
        MovingPolygon {
            start: at(span.number),
            end: at(span.number + 1),
        }
    }

    /// The proof about the polygon and the origin from start to end.
    pub(super) fn judge(&self) -> Verdict {
        let coordinates = self.coordinates();
        let along = coordinates
            .each_ref()
            .map(|corners| IntervalSign::of(corners.iter().flatten()));
        if along.iter().any(|sign| sign.is_strict()) {
            return Verdict::Apart;
        }
        let volume = self.volume();
        let through = IntervalSign::of(volume.iter());
        if through.is_strict() {
            return Verdict::Apart;
        }
        let areas = self.areas();
        let around = areas
            .each_ref()
            .map(|sides| sides.each_ref().map(|side| IntervalSign::of(side.iter())));
        if around.iter().any(|signs| has_opposites(signs)) {
            return Verdict::Apart;
        }

        // The polygon contains the origin if its plane does, and the origin is strictly within all
        // sides in some projection.
        let is_crossed = matches!(
            (volume[0], volume[3]),
            (Some(Ordering::Less), Some(Ordering::Greater))
                | (Some(Ordering::Greater), Some(Ordering::Less))
        );
        let is_within = around
            .iter()
            .any(|signs| signs[0].is_strict() && signs.iter().all(|it| *it == signs[0]));
        let collides_at = |end: usize| {
            volume[3 * end] == Some(Ordering::Equal)
                && !coordinates.iter().any(|corners| {
                    IntervalSign::of(corners.iter().map(|signs| &signs[end])).is_strict()
                })
                && !areas.iter().any(|sides| {
                    let at_end = |signs: &[Sign; 3]| IntervalSign::of(once(&signs[2 * end]));
                    has_opposites(&sides.each_ref().map(at_end))
                })
        };
        let mut signs = along
            .iter()
            .chain(around.iter().flatten())
            .chain([&through]);
        if collides_at(0) {
            Verdict::CollideAtStart
        } else if is_crossed && is_within || collides_at(1) {
            Verdict::Collide
        } else if signs.any(|it| *it == IntervalSign::Inexact) {
            Verdict::Inexact
        } else {
            Verdict::Undecided
        }
    }

    /// Signs of the coordinates at both ends, by axis and corner.
    fn coordinates(&self) -> [[[Sign; 2]; CORNERS]; 3] {
        from_fn(|axis| {
            from_fn(|corner| {
                [&self.start, &self.end].map(|ends| ends[corner][axis].sign(COORDINATE_ERROR))
            })
        })
    }

    /// The area vector of the origin and the side after a corner: Bernstein coefficients, the
    /// middle one times two.
    fn area(&self, corner: usize) -> [[T; 3]; 3] {
        let next = (corner + 1) % CORNERS;
        let [early, late] = [&self.start, &self.end].map(|ends| [&ends[corner], &ends[next]]);
        let middle = [cross(early[0], late[1]), cross(late[0], early[1])];
        [
            cross(early[0], early[1]),
            from_fn(|axis| middle[0][axis].plus(&middle[1][axis])),
            cross(late[0], late[1]),
        ]
    }

    /// Signs of the Bernstein coefficients of the areas, by axis and side.
    fn areas(&self) -> [[[Sign; 3]; CORNERS]; 3] {
        let areas: [[[T; 3]; 3]; CORNERS] = from_fn(|corner| self.area(corner));
        from_fn(|axis| {
            areas.each_ref().map(|coefficients| {
                coefficients
                    .each_ref()
                    .map(|area| area[axis].sign(AREA_ERROR))
            })
        })
    }

    /// Signs of the Bernstein coefficients of the volume.
    fn volume(&self) -> [Sign; 4] {
        let area = self.area(1);
        let [early, late] = [&self.start[0], &self.end[0]];
        [
            dot(early, &area[0]),
            dot(early, &area[1]).plus(&dot(late, &area[0])),
            dot(early, &area[2]).plus(&dot(late, &area[1])),
            dot(late, &area[2]),
        ]
        .map(|coefficient| coefficient.sign(VOLUME_ERROR))
    }
}

pub(super) fn cross<T: Scalar>(a: &[T; 3], b: &[T; 3]) -> [T; 3] {
    let minor = |i: usize, j: usize| a[i].times(&b[j]).minus(&a[j].times(&b[i]));
    [minor(1, 2), minor(2, 0), minor(0, 1)]
}

pub(super) fn dot<T: Scalar>(a: &[T; 3], b: &[T; 3]) -> T {
    let [x, y, z] = from_fn(|axis| a[axis].times(&b[axis]));
    x.plus(&y).plus(&z)
}
