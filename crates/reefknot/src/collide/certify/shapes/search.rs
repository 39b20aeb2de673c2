//! When a feature first meets a shape, and how far it is from it in the end: a search with proof.
//!
//! A part of a feature during a part of the step is a *cell*. Points move along straight lines, so everything in it lies
//! between its corners at both ends of its time. A cell that is not proved to be clear of the shape is halved, in time or
//! across the feature, whichever is longer.
//!
//! The proof is a ball. φ changes by no more than the way, so the ball of radius φ(x) about any place x is free of the
//! shape, and so is a cell whose corners are all in it. A ball about the middle of a cell dismisses what is far away.
//! A cell that is close needs a large one that touches the shape between them, almost a half space: its centre is
//! found by walking from the point of the cell that is closest to the shape straight away from it. A sheet on a floor and one
//! that slides over an edge are clear at once, however small the gap is compared with the way. Where the centre is
//! has to be good, not right: neither the search for the closest point nor the direction, from differences of φ,
//! is part of the proof.
//!
//! Radii about the points are one more coordinate of the corners.

use std::array::from_fn;

use glam::{DVec3, DVec4};

use crate::generate::shape::Shape;

/// More than all rounding on the way to a distance, relative to the coordinates and the lengths of the shape: a few units
/// in the last place of the formula, and one for each of some hundred halvings.
const ROUNDING: f64 = 128.0 * f64::EPSILON;
/// A cell smaller than this part of the guard that is not proved to be clear counts as a meeting.
const SMALLEST: f64 = 1.0 / 1024.0;
/// A meeting within a span of this part of the step is told by the start of the span.
const TOLD: f64 = 1.0 / (1u64 << 32) as f64;
/// After so many cells of a feature all that are open count as not clear.
const MOST_CELLS: usize = 4096;
/// The least distance at the end is known to this part of itself, or of the guard.
const TOLERANCE: f64 = 1.0 / 1024.0;
/// Steps towards the closest point of a cell.
const STEPS: usize = 32;
/// Golden sections of a step: less than a millionth of it is left.
const SECTIONS: usize = 32;
/// The golden section.
const GOLDEN: f64 = 0.618_033_988_749_894_9;
/// Differences for the slope, relative to the distance, and at least to the coordinates.
const DIFFERENCE: [f64; 2] = [1e-3, 1e-9];

/// The corners of a cell at some times: places, and the radius as a fourth coordinate.
pub(super) type Corners<const TIMES: usize, const COUNT: usize> = [[DVec4; COUNT]; TIMES];
/// Those of a triangle at two times.
const MOST_CORNERS: usize = 6;

/// A part of a feature during a part of the step.
struct Cell<const COUNT: usize> {
    corners: Corners<2, COUNT>,
    start: f64,
    duration: f64,
}

/// What is known of the distance beyond the radius between corners.
struct Glance {
    /// The least of the corners.
    nearest: f64,
    /// The least that was found.
    found: f64,
    /// Nothing is closer.
    bound: f64,
}

/// How well a bound is wanted: to a part of the distance, or of a length.
#[derive(Clone, Copy)]
struct Precision {
    part: f64,
    length: f64,
}

/// What a feature is tested with.
pub(super) struct Test<'a> {
    shape: &'a Shape,
    pub(super) guard: f64,
    /// Distances may be off by this.
    rounding: f64,
    /// Cells of this size are not halved.
    smallest: f64,
}

impl Test<'_> {
    pub(super) fn new<'a>(
        shape: &'a Shape,
        size: f64,
        motion: &Corners<2, 3>,
        guard: f64,
    ) -> Test<'a> {
        let coordinates = motion.iter().flatten().map(|it| it.abs().max_element());
        let rounding = ROUNDING * coordinates.fold(size, f64::max);
        let smallest = SMALLEST * guard;
        let is_usable = smallest.is_finite() && smallest > rounding;
        Test {
            shape,
            guard,
            rounding,
            smallest: if is_usable { smallest } else { rounding },
        }
    }

    /// Whether a feature is clear, above its guard and not the closest, as its middle alone shows.
    pub(super) fn is_far(&self, motion: &Corners<2, 3>, closest: f64) -> bool {
        let corners = motion.as_flattened();
        let middle = corners.iter().sum::<DVec4>() / corners.len() as f64;
        let bound = self.ball_bound(corners, middle.truncate());
        bound > 0.0 && bound > self.guard && bound > closest
    }

    /// When a feature first meets the shape, if it does, and its distance at the end beyond the radius; if that is neither
    /// below the guard nor below `closest`, any that is not either.
    pub(super) fn run<const COUNT: usize>(
        &self,
        motion: Corners<2, COUNT>,
        closest: f64,
    ) -> (Option<f64>, f64) {
        let [_, end] = motion;
        (self.first_meeting(motion), self.least(end, closest))
    }

    /// The start of the first cell that is not proved to be clear.
    fn first_meeting<const COUNT: usize>(&self, corners: Corners<2, COUNT>) -> Option<f64> {
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
        for _ in 0..MOST_CELLS {
            let Some(cell) = open.pop() else { break };
            if cell.start >= first {
                continue;
            }
            let corners = cell.corners.as_flattened();
            let glance = self.look(corners, precision, |glance| glance.bound > 0.0);
            if glance.bound > 0.0 {
                continue;
            }
            let is_inside = glance.nearest <= self.rounding;
            if is_inside {
                first = first.min(cell.start + cell.duration);
            }
            let (side, ends) = longest_side(&cell.corners);
            let way = longest_way(&cell.corners);
            let is_told = is_inside && cell.duration <= TOLD;
            let is_small = side.max(way) <= self.smallest;
            if is_told || is_small || !glance.bound.is_finite() {
                first = cell.start;
            } else if is_inside || way >= side {
                open.extend(cell.halves_in_time());
            } else {
                let halves = halves_across(&cell.corners, ends);
                open.extend(halves.map(|corners| Cell { corners, ..cell }));
            }
        }
        let first = open.iter().fold(first, |first, cell| first.min(cell.start));
        (first < f64::INFINITY).then_some(first)
    }

    /// The least distance of a feature that stands still, or that of some point inside.
    fn least<const COUNT: usize>(&self, corners: [DVec4; COUNT], closest: f64) -> f64 {
        let precision = Precision {
            part: 0.5 * TOLERANCE,
            length: Some(self.guard).filter(|it| it.is_finite()).unwrap_or(0.0),
        };
        // Whether it is above the guard needs a rough bound only. A fine one of a large feature beside a flat face, with a gap of
        // less than a millionth of its size, may take more cells than there are.
        let rough = Precision {
            part: 0.25,
            length: 0.0,
        };
        let rough = self.look(&corners, rough, |glance| glance.bound >= self.guard);
        let mut open = vec![([corners], rough.bound)];
        // The least that was found, and of the bounds of what is not halved further.
        let (mut found, mut floor) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..MOST_CELLS {
            let Some((corners, known)) = open.pop() else {
                break;
            };
            let is_settled = |glance: &Glance| {
                let found = found.min(glance.found);
                let tolerance = TOLERANCE * found.max(precision.length);
                let is_kept = glance.bound >= self.guard && glance.bound > closest;
                found <= 0.0 || is_kept || glance.bound >= found - tolerance
            };
            let glance = self.look(corners.as_flattened(), precision, is_settled);
            let is_settled = is_settled(&glance);
            found = found.min(glance.found);
            let (side, ends) = longest_side(&corners);
            let bound = glance.bound.max(known);
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

    /// Bounds the distance between corners, until that is enough: goes to the point between them that is closest to the
    /// shape, with pairwise steps of Frank and Wolfe, and tries a ball there before each.
    fn look(
        &self,
        corners: &[DVec4],
        precision: Precision,
        is_enough: impl Fn(&Glance) -> bool,
    ) -> Glance {
        let at_corners = corners.iter().map(|corner| self.distance(*corner));
        let nearest = at_corners.zip(0..).min_by(|(a, _), (b, _)| a.total_cmp(b));
        let (nearest, start) = nearest.unwrap_or((f64::NAN, 0));
        let mut glance = Glance {
            nearest,
            found: nearest,
            bound: f64::NEG_INFINITY,
        };
        // The distance from a plane is linear: no point is closer than the closest corner, however small the gap.
        if let Shape::Plane { .. } = self.shape {
            glance.bound = nearest - self.rounding;
            return glance;
        }
        let mut weights = [0.0; MOST_CORNERS];
        weights[start] = 1.0;
        let mut point = corners[start];
        for _ in 0..STEPS {
            let outwards = self.outwards(point);
            let centre = self.centre(corners, point, outwards, precision);
            glance.bound = glance.bound.max(self.ball_bound(corners, centre));
            let is_apart = glance.found > self.rounding;
            if is_enough(&glance) || !is_apart {
                break;
            }
            let slope = outwards.extend(-1.0);
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
            glance.found = glance.found.min(self.distance(point));
        }
        glance
    }

    /// The part of a way at the end of which the distance is least.
    fn best_step(&self, from: DVec4, way: DVec4) -> f64 {
        let at = |part: f64| self.distance(from + part * way);
        let (mut low, mut high) = (0.0, 1.0);
        let mut inner = [1.0 - GOLDEN, GOLDEN];
        let mut found = inner.map(at);
        for _ in 0..SECTIONS {
            if found[0] <= found[1] {
                high = inner[1];
                inner = [high - GOLDEN * (high - low), inner[0]];
                found = [at(inner[0]), found[0]];
            } else {
                low = inner[0];
                inner = [inner[1], low + GOLDEN * (high - low)];
                found = [found[1], at(inner[1])];
            }
        }
        // The ends are reached in no number of steps.
        let ends = [0.0, 1.0].map(|end| (at(end), end));
        let all = [(found[0], inner[0]), ends[0], ends[1]];
        let best = all.into_iter().min_by(|a, b| a.0.total_cmp(&b.0));
        best.map_or(0.0, |(_, part)| part)
    }

    /// The centre of a ball that touches the shape below a point: so far out that it holds what is about the point between the
    /// corners but for a part of what is wanted, and not so far that rounding spoils that.
    fn centre(
        &self,
        corners: &[DVec4],
        point: DVec4,
        outwards: DVec3,
        precision: Precision,
    ) -> DVec3 {
        let wanted = precision.part * self.distance(point).max(precision.length);
        let squares = corners
            .iter()
            .map(|corner| (corner - point).truncate().length_squared());
        // The ball falls behind its tangent plane by the square of the way to the side, over twice its radius.
        let enough = squares.fold(0.0, f64::max) / wanted;
        let most = 0.25 * wanted / ROUNDING;
        let far = enough.min(most).max(0.0);
        point.truncate() + far * outwards
    }

    /// The distance beyond the radius that a ball about a place proves for all between corners.
    fn ball_bound(&self, corners: &[DVec4], centre: DVec3) -> f64 {
        let ways = corners
            .iter()
            .map(|corner| corner.truncate().distance(centre) + corner.w);
        let farthest = ways.fold(f64::NEG_INFINITY, f64::max);
        let rounding = self.rounding.max(ROUNDING * centre.abs().max_element());
        self.distance(centre.extend(0.0)) - farthest - rounding
    }

    /// About the direction away from the shape.
    fn outwards(&self, point: DVec4) -> DVec3 {
        let place = point.truncate();
        let at = |place: DVec3| self.distance(place.extend(0.0));
        let [part, smallest] = DIFFERENCE;
        let difference = (part * at(place).abs()).max(smallest * self.rounding / ROUNDING);
        let slope =
            DVec3::AXES.map(|axis| at(place + difference * axis) - at(place - difference * axis));
        DVec3::from(slope).normalize_or_zero()
    }

    fn distance(&self, corner: DVec4) -> f64 {
        beyond_radius(self.shape, corner)
    }
}

/// How far a shape is from a corner, beyond its radius.
pub(super) fn beyond_radius(shape: &Shape, corner: DVec4) -> f64 {
    let distance = shape.distance(corner.truncate());
    distance.map_or(f64::NAN, |distance| distance - corner.w)
}

impl<const COUNT: usize> Cell<COUNT> {
    /// The later half and the earlier, which is looked at first and may spare the later one.
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

/// How far corners move.
fn longest_way<const COUNT: usize>([from, to]: &Corners<2, COUNT>) -> f64 {
    let ways = from.iter().zip(to).map(|(from, to)| from.distance(*to));
    ways.fold(0.0, f64::max)
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

/// Halves a cell at the middle of a side.
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
