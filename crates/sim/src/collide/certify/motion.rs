//! Collision of two moving features: a proof by bisection of the step.
//!
//! A time interval is tested in doubles first, and in integers where rounding hides a sign
//! ([`super::polygon`]). An interval without a proof is halved, the earlier half first, so the
//! result is the first collision. Most pairs need only the whole step in doubles.
//!
//! Where features only touch, at a time that is no multiple of a power of two, no interval that
//! contains this time has a proof. An interval of 2^-96 of the step counts as a collision, and so
//! does the one after [`MAX_INTERVALS`] intervals. These are the only possible false positives, for
//! features that pass each other by as little.

use glam::DVec3;

use super::PairKind;
use super::integer::Integer;
use super::polygon::{MovingPolygon, PARALLELOGRAM, TRIANGLE, TimeInterval, Verdict};

/// Collision of two features during a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CollisionTime {
    /// They do not collide: proved, whatever the rounding.
    Never,
    /// They collide, and not before this time; the step lasts from 0 to 1.
    At(f64),
}

/// The time of a collision is the start of an interval of 2^-this.
const REPORTED_DEPTH: u32 = 32;
/// An undecided interval of 2^-this counts as a collision.
const MAX_DEPTH: u32 = 96;
/// After this many intervals, the undecided one counts as a collision. A million motions between
/// small integer coordinates, where degenerate cases are frequent, needed 174 at most.
const MAX_INTERVALS: usize = 1000;

/// Collision of two closed features whose points move linearly: a point and the three corners of a
/// triangle, or the ends of two edges. Features that are not finite collide at time 0.
#[must_use]
pub fn collision_time(kind: PairKind, from: &[DVec3; 4], to: &[DVec3; 4]) -> CollisionTime {
    if !from.iter().chain(to).all(|point| point.is_finite()) {
        return CollisionTime::At(0.0);
    }
    match kind {
        PairKind::PointTriangle => search([from, to], TRIANGLE),
        PairKind::EdgeEdge => search([from, to], PARALLELOGRAM),
    }
}

/// The first interval that is not proved to be free of collisions.
fn search<const CORNERS: usize>(
    ends: [&[DVec3; 4]; 2],
    pairs: [[usize; 2]; CORNERS],
) -> CollisionTime {
    let Some(rounded) = MovingPolygon::<f64, CORNERS>::unless_apart(ends, pairs) else {
        return CollisionTime::Never;
    };
    // Most pairs end here, without the cost of weights.
    if rounded.judge() == Verdict::Apart {
        return CollisionTime::Never;
    }
    let mut exact = None;
    let mut span = TimeInterval {
        number: 0,
        depth: 0,
    };
    for _ in 0..MAX_INTERVALS {
        let mut verdict = rounded.during(span).judge();
        if verdict == Verdict::Inexact {
            let exact: &MovingPolygon<Integer, CORNERS> =
                exact.get_or_insert_with(|| MovingPolygon::exact(ends, pairs));
            verdict = exact.during(span).judge();
        }
        match verdict {
            Verdict::Apart => match span.next() {
                Some(next) => span = next,
                None => return CollisionTime::Never,
            },
            Verdict::CollideAtStart => return CollisionTime::At(span.start()),
            Verdict::Collide if span.depth >= REPORTED_DEPTH => {
                return CollisionTime::At(span.start());
            }
            _ if span.depth >= MAX_DEPTH => return CollisionTime::At(span.start()),
            _ => span = span.first_half(),
        }
    }
    CollisionTime::At(span.start())
}

impl TimeInterval {
    fn first_half(self) -> TimeInterval {
        TimeInterval {
            number: 2 * self.number,
            depth: self.depth + 1,
        }
    }

    /// The longest interval of the bisection that starts at the end of this one; None at the end of
    /// the step.
    fn next(self) -> Option<TimeInterval> {
        let number = self.number + 1;
        let up = number.trailing_zeros().min(self.depth);
        let next = TimeInterval {
            number: number >> up,
            depth: self.depth - up,
        };
        (next.number < 1 << next.depth).then_some(next)
    }

    /// Its start time, rounded down.
    fn start(self) -> f64 {
        let bits = u128::BITS - self.number.leading_zeros();
        let excess = bits.saturating_sub(f64::MANTISSA_DIGITS);
        ((self.number >> excess) << excess) as f64 / (1u128 << self.depth) as f64
    }
}

#[cfg(test)]
mod tests;
