//! Whether features meet a shape with a formula while they move, from nothing but its signed distance φ.
//!
//! Triangles, segments and lone points are tested one by one, each along its motion and at the end ([`search`]). It must not
//! share anything with the search of the simulation itself, so nothing of the shape is used but its distance.

use glam::DVec3;
use rayon::prelude::*;

use super::super::features::{Features, Primitive};
use super::{CHUNK, Offence, SHOWN, at};
use crate::generate::shape::Shape;
use search::{Corners, Test, beyond_radius};

mod search;

/// A feature, and what it did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShapeOffender {
    /// Its corners; a segment repeats its second, a lone point its only one.
    pub feature: [u32; 3],
    /// What it did.
    pub offence: Offence,
}

/// What the test against a shape found.
#[derive(Clone, Debug, PartialEq)]
pub struct ShapeReport {
    /// Triangles, segments and lone points tested.
    pub tested: usize,
    /// How many of them offended.
    pub intersections: usize,
    /// The least distance at the end of the step, beyond the radius (m), to a thousandth of itself or of the guard: infinite
    /// without features, at most 0 if a point is not finite, and if something is inside, that of a point inside.
    pub closest: f64,
    /// The first of the offenders by time, then corners; at most [`SHOWN`].
    pub offenders: Vec<ShapeOffender>,
}

/// Tests the motion from → to, straight in the frame of the shape, of everything that `is_tested` says of.
///
/// No point of a triangle, segment or lone point may at any time come as close to the shape as its `radius` (m; how thick
/// the feature is about each of its points, in between linearly), nor be closer than its `guard` beyond that at the end
/// (m, kept to a thousandth; of a feature the smallest of its points). Clear is only what is proved to be: a feature
/// with a number among its positions or radii that is not finite offends, and so does one whose guard is no number. The
/// report does not depend on the number of threads; it is empty for shapes without a formula.
#[must_use]
pub fn certify_shape(
    features: &Features,
    shape: &Shape,
    [from, to]: [&[DVec3]; 2],
    radius: impl Fn(u32) -> f64 + Sync,
    guard: impl Fn(u32) -> f64 + Sync,
    is_tested: impl Fn(&Primitive) -> bool + Sync,
) -> ShapeReport {
    let mut report = ShapeReport::empty();
    if !shape.is_analytic() {
        return report;
    }
    let lengths = shape.lengths().into_iter().map(|(_, length)| length);
    let size = lengths.fold(0.0, f64::max);
    let corner = |positions, point| at(positions, point).extend(radius(point));
    let judge = |primitives: &[Primitive]| {
        let mut report = ShapeReport::empty();
        let tested = || {
            primitives
                .iter()
                .filter(|it| is_tested(it))
                .map(|it| it.points)
        };
        // Any corner will do for a start, and spares the search in most features that come closer one by one.
        let some = tested().map(|[point, ..]| beyond_radius(shape, corner(to, point)));
        report.closest = some.fold(f64::INFINITY, f64::min);
        for points in tested() {
            let motion = [from, to].map(|positions| points.map(|point| corner(positions, point)));
            let guard = smallest_of(points.map(&guard));
            report.add(points, &motion, &Test::new(shape, size, &motion, guard));
        }
        report
    };
    let chunks = features.primitives.par_chunks(CHUNK).map(judge);
    for part in chunks.collect::<Vec<_>>() {
        report.join(part);
    }
    report
}

/// The smallest of three numbers, or what is none.
fn smallest_of(numbers: [f64; 3]) -> f64 {
    let smaller = |a: f64, b: f64| if a.is_nan() || a < b { a } else { b };
    numbers.into_iter().fold(f64::INFINITY, smaller)
}

impl ShapeReport {
    fn empty() -> ShapeReport {
        ShapeReport {
            tested: 0,
            intersections: 0,
            closest: f64::INFINITY,
            offenders: Vec::new(),
        }
    }

    /// Tests a feature. Its true distance matters only if it may be the closest, or below the guard.
    fn add(&mut self, feature: [u32; 3], motion: &Corners<2, 3>, test: &Test) {
        self.tested += 1;
        if !motion.iter().flatten().all(|corner| corner.is_finite()) {
            self.closest = self.closest.min(0.0);
            self.offend(feature, Offence::NotFinite);
            return;
        }
        if test.is_far(motion, self.closest) {
            return;
        }
        let [a, b, c] = feature;
        let (meeting, distance) = match feature {
            _ if a == b && b == c => test.run(motion.map(|[a, _, _]| [a]), self.closest),
            _ if a == b || b == c => test.run(motion.map(|[a, _, c]| [a, c]), self.closest),
            _ if a == c => test.run(motion.map(|[a, b, _]| [a, b]), self.closest),
            _ => test.run(*motion, self.closest),
        };
        self.closest = self.closest.min(distance);
        match meeting {
            Some(time) => self.offend(feature, Offence::Met(time)),
            None if distance >= test.guard => {}
            None => self.offend(feature, Offence::TooClose(distance)),
        }
    }

    fn offend(&mut self, feature: [u32; 3], offence: Offence) {
        self.intersections += 1;
        self.show(ShapeOffender { feature, offence });
    }

    /// Joins what was found of later features.
    fn join(&mut self, other: ShapeReport) {
        self.tested += other.tested;
        self.intersections += other.intersections;
        self.closest = self.closest.min(other.closest);
        for offender in other.offenders {
            self.show(offender);
        }
    }

    /// Puts an offender in its place among those shown.
    fn show(&mut self, offender: ShapeOffender) {
        let is_earlier = |shown: &ShapeOffender| {
            let by_time = shown.offence.time().total_cmp(&offender.offence.time());
            by_time.then(shown.feature.cmp(&offender.feature)).is_le()
        };
        let place = self.offenders.partition_point(is_earlier);
        if place < SHOWN {
            self.offenders.insert(place, offender);
            self.offenders.truncate(SHOWN);
        }
    }
}

#[cfg(test)]
mod tests;
