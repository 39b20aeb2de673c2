//! The independent test of an accepted step, for the certificate: who meets whom along the motion, and who ends too
//! close.
//!
//! It trusts nothing of the detection that let the step pass: it shares vectors, the features and the lists of pairs
//! that could meet, and has its own distances ([`distance()`]) and its own test of motion ([`motion_meets`]). That
//! test is a proof in both directions, whatever rounding does: it finds a rod that jumps through a rod within a step,
//! and lets pass one that misses by a unit in the last place.
//!
//! Motion alone does not tell whether things that start within each other do: [`crossings`] finds that in a single
//! state. [`certify_shape`] is the test against shapes with a formula.

use glam::DVec3;
use rayon::prelude::*;

use super::features::{Features, NONE};

mod distance;
mod integer;
mod motion;
mod polygon;
mod shapes;
mod surfaces;
#[cfg(test)]
mod tests;

pub use distance::distance;
pub use motion::{Meeting, motion_meets};
pub use shapes::{ShapeOffender, ShapeReport, certify_shape};
pub use surfaces::{Crossing, crossings};

/// The two kinds of pairs of features, by their four points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A point, and the three corners of a triangle.
    PointTriangle,
    /// The two ends of an edge, and of another.
    EdgeEdge,
}

/// What two features did that they must not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Offence {
    /// They have a point without a finite position.
    NotFinite,
    /// They met, and not before this time; the whole step lasts from 0 to 1.
    Met(f64),
    /// They did not meet, but ended closer than their guard, at this distance (m).
    TooClose(f64),
}

/// Two features, and what they did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Offender {
    /// What the features are.
    pub kind: Kind,
    /// The point and the triangle, or the two edges.
    pub features: [u32; 2],
    /// What they did.
    pub offence: Offence,
}

/// What the test found.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Pairs tested.
    pub tested: usize,
    /// Pairs that offended.
    pub intersections: usize,
    /// The smallest distance of any pair at the end of the step (m): infinite without pairs, 0 if a point is not
    /// finite.
    pub closest: f64,
    /// The first of the offenders by time, then kind, then features; at most [`SHOWN`].
    pub offenders: Vec<Offender>,
}

/// Offenders that a report shows at most.
pub const SHOWN: usize = 16;

/// Pairs tested one after the other by one thread.
const CHUNK: usize = 1024;

/// Tests the motion `from` → `to` of pairs of a point and a triangle and of pairs of edges, and their distances at its
/// end. A pair offends if it meets on the way, if it ends closer than its `guard` (m; one that is no number is
/// never kept), or if it has a point without a finite position. The report does not depend on the number of threads.
#[must_use]
pub fn certify(
    features: &Features,
    point_triangle: &[[u32; 2]],
    edge_edge: &[[u32; 2]],
    from: &[DVec3],
    to: &[DVec3],
    guard: impl Fn(Kind, [u32; 2]) -> f64 + Sync,
) -> Report {
    let judge = |kind: Kind, pairs: &[[u32; 2]]| {
        let mut report = Report::empty();
        for &pair in pairs {
            let points = points_of(features, kind, pair);
            let [from, to] = [from, to].map(|positions| points.map(|point| at(positions, point)));
            report.add(kind, pair, [&from, &to], guard(kind, pair));
        }
        report
    };
    let lists = [
        (Kind::PointTriangle, point_triangle),
        (Kind::EdgeEdge, edge_edge),
    ];
    let mut report = Report::empty();
    for (kind, pairs) in lists {
        let chunks = pairs.par_chunks(CHUNK).map(|pairs| judge(kind, pairs));
        for part in chunks.collect::<Vec<_>>() {
            report.join(part);
        }
    }
    report
}

impl Report {
    fn empty() -> Report {
        Report {
            tested: 0,
            intersections: 0,
            closest: f64::INFINITY,
            offenders: Vec::new(),
        }
    }

    /// Tests a pair. Its true distance matters only if it may be the closest, or below the guard.
    fn add(&mut self, kind: Kind, features: [u32; 2], [from, to]: [&[DVec3; 4]; 2], guard: f64) {
        self.tested += 1;
        let is_finite = from.iter().chain(to).all(|point| point.is_finite());
        let bound = distance::distance_of_boxes(kind, to);
        let is_far = bound > self.closest && bound > guard && is_finite;
        let distance = if is_far { bound } else { distance(kind, to) };
        self.closest = self.closest.min(distance);
        let offence = match motion_meets(kind, from, to) {
            _ if !is_finite => Offence::NotFinite,
            Meeting::At(time) => Offence::Met(time),
            Meeting::Never if distance >= guard => return,
            Meeting::Never => Offence::TooClose(distance),
        };
        self.intersections += 1;
        self.show(Offender {
            kind,
            features,
            offence,
        });
    }

    /// Joins what was found of later pairs.
    fn join(&mut self, other: Report) {
        self.tested += other.tested;
        self.intersections += other.intersections;
        self.closest = self.closest.min(other.closest);
        for offender in other.offenders {
            self.show(offender);
        }
    }

    /// Puts an offender in its place among those shown.
    fn show(&mut self, offender: Offender) {
        let is_earlier = |shown: &Offender| {
            let [one, other] = [shown, &offender].map(|it| (it.kind, it.features));
            let by_time = shown.offence.time().total_cmp(&offender.offence.time());
            by_time.then(one.cmp(&other)).is_le()
        };
        let place = self.offenders.partition_point(is_earlier);
        if place < SHOWN {
            self.offenders.insert(place, offender);
            self.offenders.truncate(SHOWN);
        }
    }
}

impl Offence {
    /// The part of the step after which it was committed.
    #[must_use]
    pub fn time(self) -> f64 {
        match self {
            Offence::NotFinite => 0.0,
            Offence::Met(time) => time,
            Offence::TooClose(_) => 1.0,
        }
    }
}

/// The points of a pair; those of a feature that is not there are `NONE`.
fn points_of(features: &Features, kind: Kind, [one, other]: [u32; 2]) -> [u32; 4] {
    let edge = |edge: u32| features.edges.get(edge as usize).copied();
    match kind {
        Kind::PointTriangle => {
            let triangle = features.triangles.get(other as usize).copied();
            let [a, b, c] = triangle.unwrap_or([NONE; 3]);
            [one, a, b, c]
        }
        Kind::EdgeEdge => {
            let [[a, b], [c, d]] = [one, other].map(|it| edge(it).unwrap_or([NONE; 2]));
            [a, b, c, d]
        }
    }
}

/// The position of a point; one that is not there has none that is finite.
fn at(positions: &[DVec3], point: u32) -> DVec3 {
    positions.get(point as usize).copied().unwrap_or(DVec3::NAN)
}
