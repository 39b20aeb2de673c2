//! When two features that move along straight lines first touch, or come as close as a given separation: never later than
//! they do, whatever rounding does.
//!
//! Take the differences of the corners of the two features: d = p − q for a point and the three corners of a triangle,
//! and for the ends of two edges. The features touch when the origin is in the hull of the differences, a flat
//! triangle or parallelogram (the *body*) whose corners move along straight lines. Until when it stays clear is
//! *certified*, in one of two ways, each with a bound for its own rounding:
//!
//! - A fixed direction n: while n·d > 0 for all corners, the origin is outside. The n·d are linear in time, so that one
//!   direction certifies a whole interval (`Body::clear_along`). Where directions come from does not
//!   matter: a bad one certifies less, never too much.
//! - The plane of the body does not pass through the origin: a cubic in time (`plane`). Where the body turns, no fixed
//!   direction lasts.
//!
//! The search goes along the time axis from one certified time to the next, with the direction of the nearest point
//! each time (conservative advancement, with the motion along the direction instead of a bound for all of it). It
//! ends at 1, or where nothing moves it on. Doubles come to such an end within their rounding of an impact, and
//! also at near misses; if a touch cannot be proved, the rest is done with twice the digits.
//! The number of rounds is bounded. Whatever is left undecided counts as an impact at the last certified time.

mod direction;
mod filter;
mod plane;
mod real;

#[cfg(test)]
mod tests;

use glam::DVec3;

pub(super) use filter::Filter;

use direction::nearest;
use plane::Plane;
use real::{Real, Two, UNIT, Vector};

/// Where the search stops.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Impact {
    /// Fraction of the motion until which the features are certainly apart. 0 too where positions are not finite.
    pub time: f64,
    /// Unit direction from the second feature to the first, which separates them until then; zero if nothing separates
    /// them at the start.
    pub normal: DVec3,
}

/// When a point, the first of the four, comes within `separation` of a triangle; nothing if never.
#[must_use]
pub fn point_triangle(from: &[DVec3; 4], to: &[DVec3; 4], separation: f64) -> Option<Impact> {
    let separation = separation.max(0.0);
    if filter::point_triangle(from, to, separation) > 0.0 {
        return None;
    }
    search(from, to, &POINT_TRIANGLE, separation)
}

/// When two edges, the first two and the last two of the four points, come within `separation`; nothing if never.
#[must_use]
pub fn edge_edge(from: &[DVec3; 4], to: &[DVec3; 4], separation: f64) -> Option<Impact> {
    let separation = separation.max(0.0);
    if filter::edge_edge(from, to, separation) > 0.0 {
        return None;
    }
    search(from, to, &EDGE_EDGE, separation)
}

/// How much more than `separation` (m) the line of one edge certainly keeps from that of the other all the time, or a point from the plane of a
/// triangle: what slides along another and turns with it is clear by this where no fixed direction lasts. Not positive if that is not known.
pub(super) fn plane_slack<const EDGES: bool>(
    from: &[DVec3; 4],
    to: &[DVec3; 4],
    separation: f64,
) -> f64 {
    match EDGES {
        true => Plane::new(&Body::<f64, 4>::new(from, to, &EDGE_EDGE, 1.0), separation).slack(),
        false => Plane::new(
            &Body::<f64, 3>::new(from, to, &POINT_TRIANGLE, 1.0),
            separation,
        )
        .slack(),
    }
}

/// How often the search goes from doubles to twice the digits and back. Each time it has so many rounds with doubles. Most pairs
/// need one, an impact three to ten; passing closely while turning may need all. Where doubles see all of a distance there is no end to what they can tell: hair
/// that turns with a head, a micrometre beside a root, takes 700 rounds.
const PASSES: usize = 4;
const PASSES_APART: usize = 64;
const ROUNDS: usize = 64;

/// Rounds with twice the digits, of all passes together. They cost some 6 µs each; with 32, hardly fewer near misses are hit.
const FINE_ROUNDS: usize = 20;

/// Steps from which doubles can go on, after more digits were needed.
const LARGE_STEP: f64 = 1e-9;

/// Steps that are smaller, as a part of the time, end in an attempt to prove the impact.
const SMALL_STEP: f64 = 1e-7;

/// Larger than what products lose when they underflow: sizes are kept within 1e±40.
const UNDERFLOW: f64 = 1e-290;

/// Which differences make the body.
struct Pairing<const N: usize> {
    /// Its corners, in the order around it.
    corners: [[usize; 2]; N],
    /// Its sides from the first corner, as differences of points: nothing is lost when they are short.
    sides: [[usize; 2]; 2],
}

const POINT_TRIANGLE: Pairing<3> = Pairing {
    corners: [[0, 1], [0, 2], [0, 3]],
    sides: [[1, 2], [1, 3]],
};

const EDGE_EDGE: Pairing<4> = Pairing {
    corners: [[0, 2], [1, 2], [1, 3], [0, 3]],
    sides: [[1, 0], [2, 3]],
};

/// What came of a search.
enum Search<T> {
    Never,
    Proved(T),
    /// Doubles can go on from here.
    Passed(T),
    Undecided(T),
}

/// The body: differences of the features' corners, at the start and at the end of their motion.
struct Body<T, const N: usize> {
    corners: [[Vector<T>; N]; 2],
    sides: [[Vector<T>; 2]; 2],
}

fn search<const N: usize>(
    from: &[DVec3; 4],
    to: &[DVec3; 4],
    pairing: &Pairing<N>,
    mut separation: f64,
) -> Option<Impact> {
    let mut body = Body::<f64, N>::new(from, to, pairing, 1.0);
    let size = body.size();
    let mut normal = DVec3::ZERO;
    if size.is_infinite() && from.iter().chain(to).all(|point| point.is_finite()) {
        // Differences of the largest numbers overflow.
        const SHRINK: f64 = 1.0 / 65536.0;
        let [from, to] = [from, to].map(|points| points.map(|point| point * SHRINK));
        return search(&from, &to, pairing, separation * SHRINK);
    }
    if !(size > 0.0 && size + separation < f64::INFINITY) {
        return Some(Impact { time: 0.0, normal });
    }
    let mut scale = 1.0;
    if !(1e-40..1e40).contains(&size) {
        scale = 2.0f64.powi(-(size.log2() as i32).clamp(-1000, 1000));
        separation *= scale;
        body = Body::new(from, to, pairing, scale);
    }
    let impact = |time: f64, normal: DVec3| {
        // Its square may underflow.
        let normal = (normal / normal.abs().max_element()).normalize_or_zero();
        Some(Impact { time, normal })
    };
    let mut time = 0.0;
    let mut fine_rounds = FINE_ROUNDS;
    let is_apart = separation > SMALL_STEP * size * scale;
    let passes = if is_apart { PASSES_APART } else { PASSES };
    for pass in 1..=passes {
        let mut rounds = ROUNDS;
        time = match body.advance(time, separation, f64::INFINITY, &mut rounds, &mut normal) {
            Search::Never => return None,
            Search::Proved(time) => return impact(time, normal),
            Search::Passed(time) | Search::Undecided(time) => time,
        };
        if is_apart {
            if rounds > 0 {
                break;
            }
            continue;
        }
        let body = Body::<Two, N>::new(from, to, pairing, scale);
        let large_step = if pass < PASSES {
            LARGE_STEP
        } else {
            f64::INFINITY
        };
        time = match body.advance(
            Two::of(time),
            separation,
            large_step,
            &mut fine_rounds,
            &mut normal,
        ) {
            Search::Never => return None,
            Search::Passed(time) => time.below(),
            Search::Proved(time) | Search::Undecided(time) => return impact(time.below(), normal),
        };
    }
    impact(time, normal)
}

impl<T: Real, const N: usize> Body<T, N> {
    /// `scale` is a power of two.
    #[inline]
    fn new(from: &[DVec3; 4], to: &[DVec3; 4], pairing: &Pairing<N>, scale: f64) -> Self {
        let scale = T::of(scale);
        let difference =
            |x: &[DVec3; 4], [p, q]: [usize; 2]| Vector::difference(x[p], x[q]) * scale;
        Body {
            corners: [from, to].map(|x| pairing.corners.map(|pair| difference(x, pair))),
            sides: [from, to].map(|x| pairing.sides.map(|pair| difference(x, pair))),
        }
    }

    /// The sum of all sizes; not a number, or infinite, if any is.
    #[inline]
    fn size(&self) -> f64 {
        let sizes = self
            .corners
            .iter()
            .flatten()
            .map(|corner| corner.near().abs().element_sum());
        sizes.sum()
    }

    #[inline]
    fn at(&self, time: T) -> [Vector<T>; N] {
        let [start, end] = &self.corners;
        std::array::from_fn(|corner| start[corner] + (end[corner] - start[corner]) * time)
    }

    /// Moves on from a time until which the body is clear, as far as certificates are found. `normal` is the direction of the
    /// last one.
    fn advance(
        &self,
        mut time: T,
        separation: f64,
        large_step: f64,
        rounds: &mut usize,
        normal: &mut DVec3,
    ) -> Search<T> {
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
                    return Search::Never;
                }
                time = until;
                *normal = towards.direction.near();
            }
            // Where one direction lasts, the cubic is not needed.
            if towards.is_inside && *rounds + 1 < most {
                let plane = plane.get_or_insert_with(|| Plane::new(self, separation));
                time = plane.clear_from(time);
                if time >= one {
                    return Search::Never;
                }
                if (time - before).near() < SMALL_STEP * time.near() && plane.is_crossed(self, time)
                {
                    *normal = nearest(&self.at(time)).direction.near();
                    return Search::Proved(time);
                }
            }
            let step = (time - before).near();
            if step <= T::ERROR * time.near() {
                break;
            }
            if step > large_step {
                return Search::Passed(time);
            }
        }
        Search::Undecided(time)
    }

    /// The times, after the first and until the second, during which a direction keeps the body clear of the origin by
    /// `separation`.
    #[inline]
    fn clear_along(&self, direction: Vector<T>, separation: f64) -> [T; 2] {
        let (zero, one) = (T::of(0.0), T::of(1.0));
        let sizes = direction.near().abs();
        let mut distance = UNDERFLOW;
        if separation > 0.0 {
            distance += separation * direction.near().length() * (1.0 + 8.0 * UNIT);
        }
        let clearance = |corner: Vector<T>| {
            let error = T::ERROR * sizes.dot(corner.near().abs());
            direction.dot(corner) - T::of(error + distance)
        };
        // Before the start: clear from the start on, unless a corner says otherwise.
        let (mut from, mut until) = (-one, one);
        for corner in 0..N {
            let [start, end] = [0, 1].map(|side| clearance(self.corners[side][corner]));
            let zero_at = || start / (start - end);
            // What is not a number is never clear.
            match (start > zero, end > zero) {
                (true, true) => {}
                (true, false) => {
                    let bound = zero_at();
                    let bound = bound - T::of(T::ERROR * bound.near());
                    until = if until < bound { until } else { bound };
                }
                (false, true) => {
                    let bound = zero_at();
                    let bound = bound + T::of(T::ERROR * bound.near());
                    from = if from > bound { from } else { bound };
                }
                (false, false) => return [one, zero],
            }
        }
        [from, until]
    }
}
