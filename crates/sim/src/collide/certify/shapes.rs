//! Collisions of moving features with an exact shape, from its signed distance φ alone.
//!
//! Triangles, segments and lone points are tested one by one, along their motion and at its end
//! ([`search`]). The test shares nothing of the shape but its distance with the detection of the
//! simulation.

use glam::DVec3;
use rayon::prelude::*;

use super::super::features::{Features, Primitive};
use super::{CHUNK_SIZE, MAX_LISTED, Violation, at};
use crate::generate::shape::Shape;
use search::{Corners, ShapeTest, beyond_radius};

mod search;

/// A feature with a violation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShapeViolation {
    /// Its corners; a segment repeats its second point, a lone point its only one.
    pub feature: [u32; 3],
    /// The violation.
    pub violation: Violation,
}

/// Result of the test against a shape.
#[derive(Clone, Debug, PartialEq)]
pub struct ShapeReport {
    /// Triangles, segments and lone points tested.
    pub tested: usize,
    /// Features with a violation.
    pub intersections: usize,
    /// The smallest distance at the end of the step, minus the radius (m), with a tolerance of a
    /// thousandth of itself or of the guard. Infinite without features, at most 0 if a point is not
    /// finite. If a feature intersects the shape, the value at a point inside.
    pub closest: f64,
    /// The first violations by time, then corners; at most [`MAX_LISTED`].
    pub violations: Vec<ShapeViolation>,
}

/// Tests the motion from → to, straight in the frame of the shape, of all primitives that satisfy
/// `is_tested`.
///
/// A violation is a distance to the shape of at most the `radius` at any time (m; thickness of the
/// feature about each of its points, linear in between), a distance minus radius below the `guard`
/// at the end (m, with a tolerance of a thousandth; the smallest of the points of a feature), or a
/// position or radius that is not finite. Features without a proof count as violations, and so do
/// those with a guard that is NaN. The report does not depend on the number of threads. It is empty
/// for shapes without an exact distance.
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
        // The distance of any corner is an upper bound of the smallest distance. It saves the
        // search for most features.
        let corners = tested().map(|[point, ..]| beyond_radius(shape, corner(to, point)));
        report.closest = corners.fold(f64::INFINITY, f64::min);
        for points in tested() {
            let motion = [from, to].map(|positions| points.map(|point| corner(positions, point)));
            let guard = smallest_of(points.map(&guard));
            report.add(
                points,
                &motion,
                &ShapeTest::new(shape, size, &motion, guard),
            );
        }
        report
    };
    let chunks = features.primitives.par_chunks(CHUNK_SIZE).map(judge);
    for part in chunks.collect::<Vec<_>>() {
        report.join(part);
    }
    report
}

/// The smallest of three numbers; NaN if one is.
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
            violations: Vec::new(),
        }
    }

    /// Tests a feature. The exact distance is computed only if it may be the smallest, or below the
    /// guard.
    fn add(&mut self, feature: [u32; 3], motion: &Corners<2, 3>, test: &ShapeTest) {
        self.tested += 1;
        if !motion.iter().flatten().all(|corner| corner.is_finite()) {
            self.closest = self.closest.min(0.0);
            self.add_violation(feature, Violation::NotFinite);
            return;
        }
        if test.is_far(motion, self.closest) {
            return;
        }
        let [a, b, c] = feature;
        let (collision, distance) = match feature {
            _ if a == b && b == c => test.run(motion.map(|[a, _, _]| [a]), self.closest),
            _ if a == b || b == c => test.run(motion.map(|[a, _, c]| [a, c]), self.closest),
            _ if a == c => test.run(motion.map(|[a, b, _]| [a, b]), self.closest),
            _ => test.run(*motion, self.closest),
        };
        self.closest = self.closest.min(distance);
        match collision {
            Some(time) => self.add_violation(feature, Violation::Collision(time)),
            None if distance >= test.guard => {}
            None => self.add_violation(feature, Violation::TooClose(distance)),
        }
    }

    fn add_violation(&mut self, feature: [u32; 3], violation: Violation) {
        self.intersections += 1;
        self.show(ShapeViolation { feature, violation });
    }

    /// Merges the report of later features.
    fn join(&mut self, other: ShapeReport) {
        self.tested += other.tested;
        self.intersections += other.intersections;
        self.closest = self.closest.min(other.closest);
        for violation in other.violations {
            self.show(violation);
        }
    }

    /// Inserts a violation into the sorted list.
    fn show(&mut self, violation: ShapeViolation) {
        let is_earlier = |shown: &ShapeViolation| {
            let by_time = shown
                .violation
                .time()
                .total_cmp(&violation.violation.time());
            by_time.then(shown.feature.cmp(&violation.feature)).is_le()
        };
        let index = self.violations.partition_point(is_earlier);
        if index < MAX_LISTED {
            self.violations.insert(index, violation);
            self.violations.truncate(MAX_LISTED);
        }
    }
}

#[cfg(test)]
mod tests;
