//! Whether two features meet while they move: a proof by bisection of the step.
//!
//! A span of time is judged in doubles first, and in whole numbers where rounding hides a sign ([`super::polygon`]).
//! A span that proves nothing is halved and the earlier half comes first, so what is found is the first meeting. Most
//! pairs need no more than the whole step in doubles.
//!
//! Where features only touch, at a time that is no multiple of a power of two, no span that holds this time proves
//! anything. If it is as short as 2^-96 of the step it counts as a meeting, and so it does when [`MOST_SPANS`] were
//! judged. Only there can be false alarms: for features that move past each other with as little to spare.

use glam::DVec3;

use super::Kind;
use super::integer::Integer;
use super::polygon::{MovingPolygon, PARALLELOGRAM, Span, TRIANGLE, Verdict};

/// Whether two features meet during a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Meeting {
    /// They do not: proved, whatever rounding does.
    Never,
    /// They do, and not before this time; the whole step lasts from 0 to 1.
    At(f64),
}

/// A meeting within a span of 2^-this is told by the start of the span.
const TOLD: u32 = 32;
/// A span of 2^-this that is open counts as a meeting.
const NARROW: u32 = 96;
/// After so many spans the open one counts as a meeting. A million motions between small whole coordinates, where
/// all that is degenerate is frequent, needed 174 at most.
const MOST_SPANS: usize = 1000;

/// Whether two closed features meet while their points move linearly: a point and the three corners of a triangle, or
/// the ends of an edge and of another. What is not finite meets at once.
#[must_use]
pub fn motion_meets(kind: Kind, from: &[DVec3; 4], to: &[DVec3; 4]) -> Meeting {
    if !from.iter().chain(to).all(|point| point.is_finite()) {
        return Meeting::At(0.0);
    }
    match kind {
        Kind::PointTriangle => search([from, to], TRIANGLE),
        Kind::EdgeEdge => search([from, to], PARALLELOGRAM),
    }
}

/// The first span that is not proved free of meetings.
fn search<const CORNERS: usize>(ends: [&[DVec3; 4]; 2], pairs: [[usize; 2]; CORNERS]) -> Meeting {
    let Some(rounded) = MovingPolygon::<f64, CORNERS>::unless_apart(ends, pairs) else {
        return Meeting::Never;
    };
    // Most pairs end here, without the cost of weights.
    if rounded.judge() == Verdict::Apart {
        return Meeting::Never;
    }
    let mut exact = None;
    let mut span = Span {
        number: 0,
        depth: 0,
    };
    for _ in 0..MOST_SPANS {
        let mut verdict = rounded.during(span).judge();
        if verdict == Verdict::Hidden {
            let exact: &MovingPolygon<Integer, CORNERS> =
                exact.get_or_insert_with(|| MovingPolygon::exact(ends, pairs));
            verdict = exact.during(span).judge();
        }
        match verdict {
            Verdict::Apart => match span.next() {
                Some(next) => span = next,
                None => return Meeting::Never,
            },
            Verdict::MeetAtStart => return Meeting::At(span.start()),
            Verdict::Meet if span.depth >= TOLD => return Meeting::At(span.start()),
            _ if span.depth >= NARROW => return Meeting::At(span.start()),
            _ => span = span.first_half(),
        }
    }
    Meeting::At(span.start())
}

impl Span {
    fn first_half(self) -> Span {
        Span {
            number: 2 * self.number,
            depth: self.depth + 1,
        }
    }

    /// The longest span of the bisection that starts where this one ends; nothing at the end of the step.
    fn next(self) -> Option<Span> {
        let number = self.number + 1;
        let up = number.trailing_zeros().min(self.depth);
        let next = Span {
            number: number >> up,
            depth: self.depth - up,
        };
        (next.number < 1 << next.depth).then_some(next)
    }

    /// The time at which it starts, rounded down.
    fn start(self) -> f64 {
        let bits = u128::BITS - self.number.leading_zeros();
        let excess = bits.saturating_sub(f64::MANTISSA_DIGITS);
        ((self.number >> excess) << excess) as f64 / (1u128 << self.depth) as f64
    }
}

#[cfg(test)]
mod tests;
