//! The first collision of a feature with a shape, and its distance at the end: a search with proof.
//!
//! A *cell* is a part of a feature during a part of the step. Points move along straight lines, so
//! all of a cell is in the hull of its corners at both ends of its time. A cell that is not proved
//! to be clear of the shape is halved, in time or across the feature, whichever is longer.
//!
//! The proof is a ball. φ changes by no more than the displacement, so the ball of radius φ(x)
//! about any point x is free of the shape, and so is a cell whose corners are all in it. A ball
//! about the centre of a cell is enough for distant cells. A close cell needs a large ball that
//! touches the shape between the two, almost a half space: its centre is on the line from the
//! closest point of the cell straight away from the shape. So a sheet on a floor, and one that
//! slides over an edge, are proved to be clear at once, however small the gap is relative to the
//! motion. The proof does not depend on the accuracy of the centre: neither the search for the
//! closest point nor the direction, from differences of φ, is part of it.
//!
//! Radii about the points are a fourth coordinate of the corners.

use std::array::from_fn;

use glam::{DVec3, DVec4};

use crate::generate::shape::Shape;

/// Bounds the rounding error of a distance, relative to the coordinates and the lengths of the
/// shape: a few ulp of the formula, and one for each of about a hundred halvings.
const RELATIVE_ROUNDING: f64 = 128.0 * f64::EPSILON;
/// A cell smaller than this fraction of the guard that is not proved clear counts as a collision.
const MIN_CELL_FRACTION: f64 = 1.0 / 1024.0;
/// The time of a collision is the start of an interval of this fraction of the step.
const REPORTED_DURATION: f64 = 1.0 / (1u64 << 32) as f64;
/// After this many cells of a feature, all open cells count as not clear.
const MAX_CELLS: usize = 4096;
/// Tolerance of the smallest distance at the end, relative to itself or to the guard.
const RELATIVE_TOLERANCE: f64 = 1.0 / 1024.0;
/// Steps towards the closest point of a cell.
const MAX_STEPS: usize = 32;
/// Golden sections of a step: less than a millionth of it remains.
const SECTIONS: usize = 32;
/// The inverse of the golden ratio.
const INVERSE_GOLDEN_RATIO: f64 = 0.618_033_988_749_894_9;
/// Differences for the gradient, relative to the distance, and at least relative to the
/// coordinates.
const DIFFERENCE: [f64; 2] = [1e-3, 1e-9];

/// The corners of a cell at some times: positions, with the radius as a fourth coordinate.
pub(super) type Corners<const TIMES: usize, const COUNT: usize> = [[DVec4; COUNT]; TIMES];
/// Corners of a triangle at two times.
const MAX_CORNERS: usize = 6;

/// A part of a feature during a part of the step.
struct Cell<const COUNT: usize> {
    corners: Corners<2, COUNT>,
    start: f64,
    duration: f64,
}

/// Bounds for the distance minus the radius in the hull of corners.
struct DistanceBound {
    /// The smallest at a corner.
    nearest: f64,
    /// The smallest found so far.
    found: f64,
    /// A lower bound.
    bound: f64,
}

/// Tolerance of a bound: relative to the distance, but at least to a length.
#[derive(Clone, Copy)]
struct Precision {
    part: f64,
    length: f64,
}

/// The test of a feature.
pub(super) struct ShapeTest<'a> {
    shape: &'a Shape,
    pub(super) guard: f64,
    /// Error bound of distances.
    rounding: f64,
    /// Cells of this size are not halved.
    smallest: f64,
}

impl ShapeTest<'_> {
    pub(super) fn new<'a>(
        shape: &'a Shape,
        size: f64,
        motion: &Corners<2, 3>,
        guard: f64,
    ) -> ShapeTest<'a> {
        let coordinates = motion.iter().flatten().map(|it| it.abs().max_element());
        let rounding = RELATIVE_ROUNDING * coordinates.fold(size, f64::max);
        let smallest = MIN_CELL_FRACTION * guard;
        let is_usable = smallest.is_finite() && smallest > rounding;
        ShapeTest {
            shape,
            guard,
            rounding,
            smallest: if is_usable { smallest } else { rounding },
        }
    }

    /// Whether a ball about its centre proves a feature clear, above its guard and not the closest.
    pub(super) fn is_far(&self, motion: &Corners<2, 3>, closest: f64) -> bool {
        let corners = motion.as_flattened();
        let middle = corners.iter().sum::<DVec4>() / corners.len() as f64;
        let bound = self.ball_bound(corners, middle.truncate());
        bound > 0.0 && bound > self.guard && bound > closest
    }

    /// The time of the first collision with the shape, if any, and the distance at the end minus
    /// the radius. If that is neither below the guard nor below `closest`, any such value.
    pub(super) fn run<const COUNT: usize>(
        &self,
        motion: Corners<2, COUNT>,
        closest: f64,
    ) -> (Option<f64>, f64) {
        let [_, end] = motion;
        (
            self.first_collision(motion),
            self.least_distance(end, closest),
        )
    }

    /// The start of the first cell that is not proved clear.
    fn first_collision<const COUNT: usize>(&self, corners: Corners<2, COUNT>) -> Option<f64> {
        let precision = Precision {
            part: 0.25,
            length: 0.0,
        };
        let mut open = vec![Cell {
            corners,
            start: 0.0,
            duration: 1.0,
        }];
        let mut first = f64::INFINITY;
        for _ in 0..MAX_CELLS {
            let Some(cell) = open.pop() else { break };
            if cell.start >= first {
                continue;
            }
            let corners = cell.corners.as_flattened();
            let bounds = self.bound_distance(corners, precision, |bounds| bounds.bound > 0.0);
            if bounds.bound > 0.0 {
                continue;
            }
            let is_inside = bounds.nearest <= self.rounding;
            if is_inside {
                first = first.min(cell.start + cell.duration);
            }
            let (side, ends) = longest_side(&cell.corners);
            let displacement = longest_displacement(&cell.corners);
            let is_resolved = is_inside && cell.duration <= REPORTED_DURATION;
            let is_small = side.max(displacement) <= self.smallest;
            if is_resolved || is_small || !bounds.bound.is_finite() {
                first = cell.start;
            } else if is_inside || displacement >= side {
                open.extend(cell.halves_in_time());
            } else {
                let halves = halves_across(&cell.corners, ends);
                open.extend(halves.map(|corners| Cell { corners, ..cell }));
            }
        }
        let first = open.iter().fold(first, |first, cell| first.min(cell.start));
        (first < f64::INFINITY).then_some(first)
    }

    /// The smallest distance of a feature at rest, or that of some point inside.
    fn least_distance<const COUNT: usize>(&self, corners: [DVec4; COUNT], closest: f64) -> f64 {
        let precision = Precision {
            part: 0.5 * RELATIVE_TOLERANCE,
            length: Some(self.guard).filter(|it| it.is_finite()).unwrap_or(0.0),
        };
        // A rough bound is enough to show that it is above the guard. A fine one for a large
        // feature beside a flat face, with a gap of less than a millionth of its size, may take
        // more than the allowed cells.
        let rough = Precision {
            part: 0.25,
            length: 0.0,
        };
        let rough = self.bound_distance(&corners, rough, |bounds| bounds.bound >= self.guard);
        let mut open = vec![([corners], rough.bound)];
        // The smallest distance found, and the smallest bound of cells that are not halved further.
        let (mut found, mut floor) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..MAX_CELLS {
            let Some((corners, known)) = open.pop() else {
                break;
            };
            let is_settled = |bounds: &DistanceBound| {
                let found = found.min(bounds.found);
                let tolerance = RELATIVE_TOLERANCE * found.max(precision.length);
                let is_kept = bounds.bound >= self.guard && bounds.bound > closest;
                found <= 0.0 || is_kept || bounds.bound >= found - tolerance
            };
            let bounds = self.bound_distance(corners.as_flattened(), precision, is_settled);
            let is_settled = is_settled(&bounds);
            found = found.min(bounds.found);
            let (side, ends) = longest_side(&corners);
            let bound = bounds.bound.max(known);
            if found <= 0.0 {
                return found;
            }
            if !is_settled && side > self.smallest && bound.is_finite() {
                open.extend(halves_across(&corners, ends).map(|half| (half, bound)));
            } else if !is_settled {
                floor = floor.min(bound);
            }
        }
        let floor = open
            .iter()
            .fold(floor, |floor, (_, known)| floor.min(*known));
        found.min(floor)
    }

    /// Bounds the distance in the hull of corners, until `is_enough`: moves to the point of the
    /// hull that is closest to the shape with pairwise Frank-Wolfe steps, and tries a ball there
    /// before each.
    fn bound_distance(
        &self,
        corners: &[DVec4],
        precision: Precision,
        is_enough: impl Fn(&DistanceBound) -> bool,
    ) -> DistanceBound {
        let at_corners = corners.iter().map(|corner| self.distance(*corner));
        let nearest = at_corners.zip(0..).min_by(|(a, _), (b, _)| a.total_cmp(b));
        let (nearest, start) = nearest.unwrap_or((f64::NAN, 0));
        let mut bounds = DistanceBound {
            nearest,
            found: nearest,
            bound: f64::NEG_INFINITY,
        };
        // The distance from a plane is linear: no point is closer than the closest corner, however
        // small the gap.
        if let Shape::Plane { .. } = self.shape {
            bounds.bound = nearest - self.rounding;
            return bounds;
        }
        let mut weights = [0.0; MAX_CORNERS];
        weights[start] = 1.0;
        let mut point = corners[start];
        for _ in 0..MAX_STEPS {
            let outward_direction = self.outward_direction(point);
            let centre = self.centre(corners, point, outward_direction, precision);
            bounds.bound = bounds.bound.max(self.ball_bound(corners, centre));
            let is_apart = bounds.found > self.rounding;
            if is_enough(&bounds) || !is_apart {
                break;
            }
            let slope = outward_direction.extend(-1.0);
            let heights = || corners.iter().map(|corner| slope.dot(*corner)).zip(0..);
            let lowest = heights().min_by(|(a, _), (b, _)| a.total_cmp(b));
            let used = heights().filter(|(_, corner)| weights[*corner] > 0.0);
            let highest = used.max_by(|(a, _), (b, _)| a.total_cmp(b));
            let (Some((_, to)), Some((_, from))) = (lowest, highest) else {
                break;
            };
            let step = self.best_step(point, (corners[to] - corners[from]) * weights[from]);
            let moved = step * weights[from];
            weights[from] -= moved;
            weights[to] += moved;
            let parts = corners.iter().zip(weights);
            point = parts.map(|(corner, weight)| *corner * weight).sum();
            bounds.found = bounds.found.min(self.distance(point));
        }
        bounds
    }

    /// The fraction of a step with the smallest distance, by golden sections.
    fn best_step(&self, from: DVec4, step: DVec4) -> f64 {
        let at = |part: f64| self.distance(from + part * step);
        let (mut low, mut high) = (0.0, 1.0);
        let mut inner = [1.0 - INVERSE_GOLDEN_RATIO, INVERSE_GOLDEN_RATIO];
        let mut found = inner.map(at);
        for _ in 0..SECTIONS {
            if found[0] <= found[1] {
                high = inner[1];
                inner = [high - INVERSE_GOLDEN_RATIO * (high - low), inner[0]];
                found = [at(inner[0]), found[0]];
            } else {
                low = inner[0];
                inner = [inner[1], low + INVERSE_GOLDEN_RATIO * (high - low)];
                found = [found[1], at(inner[1])];
            }
        }
        // Golden sections never reach the ends.
        let ends = [0.0, 1.0].map(|end| (at(end), end));
        let all = [(found[0], inner[0]), ends[0], ends[1]];
        let best = all.into_iter().min_by(|a, b| a.0.total_cmp(&b.0));
        best.map_or(0.0, |(_, part)| part)
    }

    /// The centre of a ball that touches the shape below a point. It is so far away that the ball
    /// contains the hull around the point up to a part of the tolerance, and not so far that
    /// rounding exceeds the tolerance.
    fn centre(
        &self,
        corners: &[DVec4],
        point: DVec4,
        outward_direction: DVec3,
        precision: Precision,
    ) -> DVec3 {
        let tolerance = precision.part * self.distance(point).max(precision.length);
        let squares = corners
            .iter()
            .map(|corner| (corner - point).truncate().length_squared());
        // The ball deviates from its tangent plane by the square of the lateral distance over twice
        // its radius.
        let enough = squares.fold(0.0, f64::max) / tolerance;
        let most = 0.25 * tolerance / RELATIVE_ROUNDING;
        let far = enough.min(most).max(0.0);
        point.truncate() + far * outward_direction
    }

    /// The distance minus the radius that a ball about a centre proves for the hull of corners.
    fn ball_bound(&self, corners: &[DVec4], centre: DVec3) -> f64 {
        let distances = corners
            .iter()
            .map(|corner| corner.truncate().distance(centre) + corner.w);
        let farthest = distances.fold(f64::NEG_INFINITY, f64::max);
        let rounding = self
            .rounding
            .max(RELATIVE_ROUNDING * centre.abs().max_element());
        self.distance(centre.extend(0.0)) - farthest - rounding
    }

    /// The approximate direction away from the shape.
    fn outward_direction(&self, point: DVec4) -> DVec3 {
        let position = point.truncate();
        let at = |position: DVec3| self.distance(position.extend(0.0));
        let [part, smallest] = DIFFERENCE;
        let step = (part * at(position).abs()).max(smallest * self.rounding / RELATIVE_ROUNDING);
        let gradient =
            DVec3::AXES.map(|axis| at(position + step * axis) - at(position - step * axis));
        DVec3::from(gradient).normalize_or_zero()
    }

    fn distance(&self, corner: DVec4) -> f64 {
        beyond_radius(self.shape, corner)
    }
}

/// The distance of a corner from a shape, minus its radius.
pub(super) fn beyond_radius(shape: &Shape, corner: DVec4) -> f64 {
    let distance = shape.distance(corner.truncate());
    distance.map_or(f64::NAN, |distance| distance - corner.w)
}

impl<const COUNT: usize> Cell<COUNT> {
    /// The later half, then the earlier, which is tested first and may make the later unnecessary.
    fn halves_in_time(&self) -> [Cell<COUNT>; 2] {
        let [from, to] = self.corners;
        let between = from_fn(|corner| from[corner].midpoint(to[corner]));
        let duration = 0.5 * self.duration;
        let half = |corners, start| Cell {
            corners,
            start,
            duration,
        };
        [
            half([between, to], self.start + duration),
            half([from, between], self.start),
        ]
    }
}

/// The largest displacement of a corner.
fn longest_displacement<const COUNT: usize>([from, to]: &Corners<2, COUNT>) -> f64 {
    let displacements = from.iter().zip(to).map(|(from, to)| from.distance(*to));
    displacements.fold(0.0, f64::max)
}

/// The length of the longest side at any time, and its ends.
fn longest_side<const TIMES: usize, const COUNT: usize>(
    corners: &Corners<TIMES, COUNT>,
) -> (f64, [usize; 2]) {
    let mut longest = (0.0, [0, 0]);
    for corners in corners {
        for end in 0..COUNT {
            for start in 0..end {
                let length = corners[start].distance(corners[end]);
                if length > longest.0 {
                    longest = (length, [start, end]);
                }
            }
        }
    }
    longest
}

/// Halves a cell at the midpoint of a side.
fn halves_across<const TIMES: usize, const COUNT: usize>(
    corners: &Corners<TIMES, COUNT>,
    [start, end]: [usize; 2],
) -> [Corners<TIMES, COUNT>; 2] {
    [start, end].map(|replaced| {
        corners.map(|mut corners| {
            corners[replaced] = corners[start].midpoint(corners[end]);
            corners
        })
    })
}
