//! The independent test of an accepted step, for the certificate: collisions along the motion, and
//! distances at its end.
//!
//! It shares only vectors, features and candidate pairs with the detection that accepted the step.
//! Distances ([`distance()`]) and collisions of moving features ([`collision_time`]) are its own.
//! The test of motion proves collisions and their absence, whatever the rounding: it finds a rod
//! that passes through another within a step, and accepts one that misses by an ulp.
//!
//! The motion does not show whether surfaces intersect at the start: [`crossings`] tests a single
//! state, and [`Enclosure`] whether a point is inside a closed surface. [`certify_shape`] tests
//! a motion against exact shapes.

use glam::DVec3;
use rayon::prelude::*;

use super::features::{Features, NONE};

mod distance;
mod enclosure;
mod integer;
mod motion;
mod polygon;
mod shapes;
mod surfaces;
#[cfg(test)]
mod tests;

pub use distance::distance;
pub use enclosure::Enclosure;
pub use motion::{CollisionTime, collision_time};
pub use shapes::{ShapeReport, ShapeViolation, certify_shape};
pub use surfaces::{Crossing, crossings};

/// The two kinds of pairs of features, given by four points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PairKind {
    /// A point and the three corners of a triangle.
    PointTriangle,
    /// The two ends of an edge and of another.
    EdgeEdge,
}

/// A violation of the requirements by a pair or a feature.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Violation {
    /// It has a point without a finite position.
    NotFinite,
    /// It collides, and not before this time; the step lasts from 0 to 1.
    Collision(f64),
    /// It does not collide, but ends closer than its guard, at this distance (m).
    TooClose(f64),
}

/// A pair of features with a violation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairViolation {
    /// The kind of the pair.
    pub kind: PairKind,
    /// The point and the triangle, or the two edges.
    pub features: [u32; 2],
    /// The violation.
    pub violation: Violation,
}

/// Result of the test of pairs.
#[derive(Clone, Debug, PartialEq)]
pub struct PairReport {
    /// Pairs tested.
    pub tested: usize,
    /// Pairs with a violation.
    pub intersections: usize,
    /// The smallest distance of any pair at the end of the step (m); infinite without pairs, 0 if a
    /// point is not finite.
    pub closest: f64,
    /// The first violations by time, then kind, then features; at most [`MAX_LISTED`].
    pub violations: Vec<PairViolation>,
}

/// Violations that a report lists, at most.
pub const MAX_LISTED: usize = 16;

/// Pairs that one task tests.
const CHUNK_SIZE: usize = 1024;

/// Tests the motion `from` → `to` of pairs of a point and a triangle and of pairs of edges, and
/// their distances at its end. A violation is a collision, a distance below the `guard` at the end
/// (m; a guard that is NaN is always violated), or a point without a finite position. The report
/// does not depend on the number of threads.
#[must_use]
pub fn certify(
    features: &Features,
    point_triangle: &[[u32; 2]],
    edge_edge: &[[u32; 2]],
    from: &[DVec3],
    to: &[DVec3],
    guard: impl Fn(PairKind, [u32; 2]) -> f64 + Sync,
) -> PairReport {
    let judge = |kind: PairKind, pairs: &[[u32; 2]]| {
        let mut report = PairReport::empty();
        for &pair in pairs {
            let points = points_of(features, kind, pair);
            let [from, to] = [from, to].map(|positions| points.map(|point| at(positions, point)));
            report.add(kind, pair, [&from, &to], guard(kind, pair));
        }
        report
    };
    let lists = [
        (PairKind::PointTriangle, point_triangle),
        (PairKind::EdgeEdge, edge_edge),
    ];
    let mut report = PairReport::empty();
    for (kind, pairs) in lists {
        let chunks = pairs.par_chunks(CHUNK_SIZE).map(|pairs| judge(kind, pairs));
        for part in chunks.collect::<Vec<_>>() {
            report.join(part);
        }
    }
    report
}

impl PairReport {
    fn empty() -> PairReport {
        PairReport {
            tested: 0,
            intersections: 0,
            closest: f64::INFINITY,
            violations: Vec::new(),
        }
    }

    /// Tests a pair. The exact distance is computed only if it may be the smallest, or below the
    /// guard.
    fn add(
        &mut self,
        kind: PairKind,
        features: [u32; 2],
        [from, to]: [&[DVec3; 4]; 2],
        guard: f64,
    ) {
        self.tested += 1;
        let is_finite = from.iter().chain(to).all(|point| point.is_finite());
        let bound = distance::distance_of_boxes(kind, to);
        let is_far = bound > self.closest && bound > guard && is_finite;
        let distance = if is_far { bound } else { distance(kind, to) };
        self.closest = self.closest.min(distance);
        let violation = match collision_time(kind, from, to) {
            _ if !is_finite => Violation::NotFinite,
            CollisionTime::At(time) => Violation::Collision(time),
            CollisionTime::Never if distance >= guard => return,
            CollisionTime::Never => Violation::TooClose(distance),
        };
        self.intersections += 1;
        self.show(PairViolation {
            kind,
            features,
            violation,
        });
    }

    /// Merges the report of later pairs.
    fn join(&mut self, other: PairReport) {
        self.tested += other.tested;
        self.intersections += other.intersections;
        self.closest = self.closest.min(other.closest);
        for violation in other.violations {
            self.show(violation);
        }
    }

    /// Inserts a violation into the sorted list.
    fn show(&mut self, violation: PairViolation) {
        let is_earlier = |shown: &PairViolation| {
            let [one, other] = [shown, &violation].map(|it| (it.kind, it.features));
            let by_time = shown
                .violation
                .time()
                .total_cmp(&violation.violation.time());
            by_time.then(one.cmp(&other)).is_le()
        };
        let index = self.violations.partition_point(is_earlier);
        if index < MAX_LISTED {
            self.violations.insert(index, violation);
            self.violations.truncate(MAX_LISTED);
        }
    }
}

impl Violation {
    /// The time of the violation; the step lasts from 0 to 1.
    #[must_use]
    pub fn time(self) -> f64 {
        match self {
            Violation::NotFinite => 0.0,
            Violation::Collision(time) => time,
            Violation::TooClose(_) => 1.0,
        }
    }
}

/// The points of a pair; `NONE` for a feature that does not exist.
fn points_of(features: &Features, kind: PairKind, [one, other]: [u32; 2]) -> [u32; 4] {
    let edge = |edge: u32| features.edges.get(edge as usize).copied();
    match kind {
        PairKind::PointTriangle => {
            let triangle = features.triangles.get(other as usize).copied();
            let [a, b, c] = triangle.unwrap_or([NONE; 3]);
            [one, a, b, c]
        }
        PairKind::EdgeEdge => {
            let [[a, b], [c, d]] = [one, other].map(|it| edge(it).unwrap_or([NONE; 2]));
            [a, b, c, d]
        }
    }
}

/// The position of a point; NaN if it does not exist.
fn at(positions: &[DVec3], point: u32) -> DVec3 {
    positions.get(point as usize).copied().unwrap_or(DVec3::NAN)
}
