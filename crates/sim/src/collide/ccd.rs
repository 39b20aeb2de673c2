//! Time of impact of two features that move along straight lines, or come as close as a given
//! separation. It is never late, whatever the rounding.
//!
//! Consider the differences of the corners of the two features: d = p − q for a point and the three
//! corners of a triangle, or for the ends of two edges. The features touch when the origin is in
//! the convex hull of the differences: a flat triangle or parallelogram (the *body*) whose corners
//! move along straight lines. There are two certificates that the body is clear of the origin, each
//! with a bound for its own rounding:
//!
//! - A fixed direction n: while n·d > 0 for all corners, the origin is outside. n·d is linear in
//!   time, so one direction certifies a whole interval (`DifferenceBody::clear_along`). The choice
//!   of directions does not affect correctness: a bad one certifies less, never too much.
//! - The plane of the body does not contain the origin: a cubic in time (`plane`). Where the body
//!   rotates, no fixed direction stays valid.
//!
//! The search advances from one certified time to the next, with the direction of the nearest point
//! each time (conservative advancement, with the motion along the direction instead of a bound for
//! all of it). It ends at 1, or where no certificate advances it. In doubles it ends within the
//! rounding of an impact, and also at near misses. If a collision cannot be proved there, the
//! search continues in double-double arithmetic. The number of rounds is bounded. A pair that
//! remains undecided counts as an impact at the last certified time.

mod direction;
mod filter;
mod plane;
mod real;

#[cfg(test)]
mod tests;

use glam::DVec3;

pub(super) use filter::Filter;

use direction::nearest;
use plane::CoplanarityCubic;
use real::{DoubleDouble, Real, UNIT_ROUNDOFF, Vector};

/// The end of the search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Impact {
    /// Fraction of the motion until which the features are certainly separated; 0 also if a
    /// position is not finite.
    pub time: f64,
    /// Unit direction from the second feature to the first that separates them until then; zero if
    /// none does at the start.
    pub normal: DVec3,
}

/// Time of impact of a point, the first of the four, with a triangle, within `separation` (m); None
/// if they never come that close.
#[must_use]
pub fn point_triangle(from: &[DVec3; 4], to: &[DVec3; 4], separation: f64) -> Option<Impact> {
    let separation = separation.max(0.0);
    if filter::point_triangle(from, to, separation) > 0.0 {
        return None;
    }
    search(from, to, &POINT_TRIANGLE, separation)
}

/// Time of impact of two edges, the first two and the last two of the four points, within
/// `separation` (m); None if they never come that close.
#[must_use]
pub fn edge_edge(from: &[DVec3; 4], to: &[DVec3; 4], separation: f64) -> Option<Impact> {
    let separation = separation.max(0.0);
    if filter::edge_edge(from, to, separation) > 0.0 {
        return None;
    }
    search(from, to, &EDGE_EDGE, separation)
}

/// Certain distance (m), beyond `separation`, between the lines of two edges, or between a point
/// and the plane of a triangle, during the whole motion. It proves that features are clear which
/// slide and rotate together, where no fixed direction stays valid. Not positive if unknown.
pub(super) fn plane_slack<const EDGES: bool>(
    from: &[DVec3; 4],
    to: &[DVec3; 4],
    separation: f64,
) -> f64 {
    if EDGES {
        let body = DifferenceBody::<f64, 4>::new(from, to, &EDGE_EDGE, 1.0);
        CoplanarityCubic::new(&body, separation).slack()
    } else {
        let body = DifferenceBody::<f64, 3>::new(from, to, &POINT_TRIANGLE, 1.0);
        CoplanarityCubic::new(&body, separation).slack()
    }
}

/// Passes in doubles, each followed by rounds in double-double arithmetic.
const MAX_PASSES: usize = 4;
/// Passes with a separation, in doubles only. There doubles always make progress: hair that turns
/// with a head, a micrometre beside a root, takes 700 rounds.
const MAX_PASSES_WITH_SEPARATION: usize = 64;
/// Rounds of a pass in doubles. Most pairs need one, an impact three to ten; passing closely with a
/// rotation may need all.
const ROUNDS_PER_PASS: usize = 64;

/// Rounds in double-double arithmetic, of all passes together. They take about 6 µs each; with 32,
/// hardly fewer near misses count as impacts.
const MAX_EXTENDED_ROUNDS: usize = 20;

/// After a step of this length in double-double arithmetic, doubles continue.
const DOUBLE_RESUME_STEP: f64 = 1e-9;

/// Steps shorter than this fraction of the time are followed by an attempt to prove the impact.
const PROOF_STEP: f64 = 1e-7;

/// Bounds the loss of products that underflow: sizes are kept within 1e±40.
const UNDERFLOW: f64 = 1e-290;

/// The differences that form the body.
struct DifferencePairs<const N: usize> {
    /// Its corners, in cyclic order.
    corners: [[usize; 2]; N],
    /// Its sides from the first corner, as differences of points, so that short sides keep their
    /// precision.
    sides: [[usize; 2]; 2],
}

const POINT_TRIANGLE: DifferencePairs<3> = DifferencePairs {
    corners: [[0, 1], [0, 2], [0, 3]],
    sides: [[1, 2], [1, 3]],
};

const EDGE_EDGE: DifferencePairs<4> = DifferencePairs {
    corners: [[0, 2], [1, 2], [1, 3], [0, 3]],
    sides: [[1, 0], [2, 3]],
};

/// Result of a search.
enum SearchResult<T> {
    Never,
    Proved(T),
    /// Doubles can continue from here.
    Resumable(T),
    Undecided(T),
}

/// Differences of the features' corners, at the start and at the end of their motion.
struct DifferenceBody<T, const N: usize> {
    corners: [[Vector<T>; N]; 2],
    sides: [[Vector<T>; 2]; 2],
}

/// Time of impact of two features, within a separation.
fn search<const N: usize>(
    from: &[DVec3; 4],
    to: &[DVec3; 4],
    pairing: &DifferencePairs<N>,
    mut separation: f64,
) -> Option<Impact> {
    let mut body = DifferenceBody::<f64, N>::new(from, to, pairing, 1.0);
    let size = body.size();
    if size.is_infinite() && from.iter().chain(to).all(|point| point.is_finite()) {
        // Differences of the largest numbers overflow: scale down.
        const SHRINK: f64 = 1.0 / 65536.0;
        let [from, to] = [from, to].map(|points| points.map(|point| point * SHRINK));
        return search(&from, &to, pairing, separation * SHRINK);
    }
    if !(size > 0.0 && size + separation < f64::INFINITY) {
        return Some(Impact {
            time: 0.0,
            normal: DVec3::ZERO,
        });
    }
    let mut scale = 1.0;
    if !(1e-40..1e40).contains(&size) {
        scale = 2.0f64.powi(-(size.log2() as i32).clamp(-1000, 1000));
        separation *= scale;
        body = DifferenceBody::new(from, to, pairing, scale);
    }
    if separation > PROOF_STEP * size * scale {
        search_in_doubles(&body, separation)
    } else {
        let extended = || DifferenceBody::new(from, to, pairing, scale);
        search_in_both(&body, extended, separation)
    }
}

/// Search with a separation that doubles resolve.
fn search_in_doubles<const N: usize>(
    body: &DifferenceBody<f64, N>,
    separation: f64,
) -> Option<Impact> {
    let (mut time, mut normal) = (0.0, DVec3::ZERO);
    for _ in 0..MAX_PASSES_WITH_SEPARATION {
        let mut rounds = ROUNDS_PER_PASS;
        time = match body.advance(time, separation, f64::INFINITY, &mut rounds, &mut normal) {
            SearchResult::Never => return None,
            SearchResult::Proved(time) => return Some(Impact::new(time, normal)),
            SearchResult::Resumable(time) | SearchResult::Undecided(time) => time,
        };
        if rounds > 0 {
            break;
        }
    }
    Some(Impact::new(time, normal))
}

/// Search in doubles and in double-double arithmetic by turns. Most searches end in doubles, so
/// `extended` is a function.
fn search_in_both<const N: usize>(
    body: &DifferenceBody<f64, N>,
    extended: impl Fn() -> DifferenceBody<DoubleDouble, N>,
    separation: f64,
) -> Option<Impact> {
    let (mut time, mut normal) = (0.0, DVec3::ZERO);
    let mut extended_rounds = MAX_EXTENDED_ROUNDS;
    for pass in 1..=MAX_PASSES {
        let mut rounds = ROUNDS_PER_PASS;
        time = match body.advance(time, separation, f64::INFINITY, &mut rounds, &mut normal) {
            SearchResult::Never => return None,
            SearchResult::Proved(time) => return Some(Impact::new(time, normal)),
            SearchResult::Resumable(time) | SearchResult::Undecided(time) => time,
        };
        let resume_step = if pass < MAX_PASSES {
            DOUBLE_RESUME_STEP
        } else {
            f64::INFINITY
        };
        let start = DoubleDouble::of(time);
        let rounds = &mut extended_rounds;
        time = match extended().advance(start, separation, resume_step, rounds, &mut normal) {
            SearchResult::Never => return None,
            SearchResult::Resumable(time) => time.rounded_down(),
            SearchResult::Proved(time) | SearchResult::Undecided(time) => {
                return Some(Impact::new(time.rounded_down(), normal));
            }
        };
    }
    Some(Impact::new(time, normal))
}

impl Impact {
    /// An impact with a direction of any length.
    fn new(time: f64, direction: DVec3) -> Impact {
        // The square of the length may underflow.
        let normal = (direction / direction.abs().max_element()).normalize_or_zero();
        Impact { time, normal }
    }
}

impl<T: Real, const N: usize> DifferenceBody<T, N> {
    /// `scale` is a power of two.
    #[inline]
    fn new(from: &[DVec3; 4], to: &[DVec3; 4], pairing: &DifferencePairs<N>, scale: f64) -> Self {
        let scale = T::of(scale);
        let difference =
            |x: &[DVec3; 4], [p, q]: [usize; 2]| Vector::difference(x[p], x[q]) * scale;
        DifferenceBody {
            corners: [from, to].map(|x| pairing.corners.map(|pair| difference(x, pair))),
            sides: [from, to].map(|x| pairing.sides.map(|pair| difference(x, pair))),
        }
    }

    /// Sum of the sizes of all corners; not finite if any corner is not.
    #[inline]
    fn size(&self) -> f64 {
        let sizes = self
            .corners
            .iter()
            .flatten()
            .map(|corner| corner.rounded().abs().element_sum());
        sizes.sum()
    }

    #[inline]
    fn at(&self, time: T) -> [Vector<T>; N] {
        let [start, end] = &self.corners;
        std::array::from_fn(|corner| start[corner] + (end[corner] - start[corner]) * time)
    }

    /// Advances from a certified time as far as certificates are found. `normal` is the direction
    /// of the last one.
    fn advance(
        &self,
        mut time: T,
        separation: f64,
        resume_step: f64,
        rounds: &mut usize,
        normal: &mut DVec3,
    ) -> SearchResult<T> {
        let one = T::of(1.0);
        let mut plane = None;
        let most = *rounds;
        while *rounds > 0 {
            *rounds -= 1;
            let before = time;
            let towards = nearest(&self.at(time));
            let [from, until] = self.clear_along(towards.direction, separation);
            if from < time && until > time {
                if until >= one {
                    return SearchResult::Never;
                }
                time = until;
                *normal = towards.direction.rounded();
            }
            // The cubic is not needed where one direction is enough.
            if towards.is_inside && *rounds + 1 < most {
                let plane = plane.get_or_insert_with(|| CoplanarityCubic::new(self, separation));
                time = plane.clear_from(time);
                if time >= one {
                    return SearchResult::Never;
                }
                if (time - before).rounded() < PROOF_STEP * time.rounded()
                    && plane.is_crossed(self, time)
                {
                    *normal = nearest(&self.at(time)).direction.rounded();
                    return SearchResult::Proved(time);
                }
            }
            let step = (time - before).rounded();
            if step <= T::ERROR * time.rounded() {
                break;
            }
            if step > resume_step {
                return SearchResult::Resumable(time);
            }
        }
        SearchResult::Undecided(time)
    }

    /// The time interval, from after the first to the second, in which a direction keeps the body
    /// at a distance of more than `separation` from the origin.
    #[inline]
    fn clear_along(&self, direction: Vector<T>, separation: f64) -> [T; 2] {
        let (zero, one) = (T::of(0.0), T::of(1.0));
        let sizes = direction.rounded().abs();
        let mut distance = UNDERFLOW;
        if separation > 0.0 {
            distance += separation * direction.rounded().length() * (1.0 + 8.0 * UNIT_ROUNDOFF);
        }
        let clearance = |corner: Vector<T>| {
            let error = T::ERROR * sizes.dot(corner.rounded().abs());
            direction.dot(corner) - T::of(error + distance)
        };
        // −1: clear from the start on.
        let (mut from, mut until) = (-one, one);
        for corner in 0..N {
            let [start, end] = [0, 1].map(|side| clearance(self.corners[side][corner]));
            let zero_at = || start / (start - end);
            // NaN is never clear.
            match (start > zero, end > zero) {
                (true, true) => {}
                (true, false) => {
                    let bound = zero_at();
                    let bound = bound - T::of(T::ERROR * bound.rounded());
                    until = if until < bound { until } else { bound };
                }
                (false, true) => {
                    let bound = zero_at();
                    let bound = bound + T::of(T::ERROR * bound.rounded());
                    from = if from > bound { from } else { bound };
                }
                (false, false) => return [one, zero],
            }
        }
        [from, until]
    }
}
