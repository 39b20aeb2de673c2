//! Splines through given points, parametrized by arc length.
//!
//! The length of each piece is computed by adaptive Gauss quadrature of the speed: parts are halved
//! until two halves agree with the whole. Newton's method then finds the points at given lengths.

use glam::DVec3;

/// A spline of cubic pieces with known lengths.
#[derive(Clone, Debug)]
pub(super) struct Path {
    closed: bool,
    first: DVec3,
    last: DVec3,
    panels: Vec<Panel>,
}

/// A part of a piece that is short enough for one quadrature.
#[derive(Clone, Copy, Debug)]
struct Panel {
    cubic: Cubic,
    /// Parameters of its ends in the piece.
    from: f64,
    to: f64,
    /// Length of the curve before its start, and its own length (m).
    before: f64,
    length: f64,
}

/// p(u) = a + b u + c u² + d u³ for u from 0 to 1.
#[derive(Clone, Copy, Debug)]
struct Cubic([DVec3; 4]);

impl Path {
    /// The centripetal Catmull-Rom spline, which has no cusps and no loops within a piece (Yuksel,
    /// Schaefer and Keyser, Parameterization and applications of Catmull-Rom curves, 2011). At an
    /// open end its direction is that of the line between the last two points.
    pub(super) fn through(points: &[DVec3], closed: bool) -> Result<Path, String> {
        let count = points.len();
        let least = if closed { 3 } else { 2 };
        if count < least {
            return Err(format!(
                "{count} points are too few for the curve; give at least {least}"
            ));
        }
        if let Some(index) = points.iter().position(|point| !point.is_finite()) {
            return Err(format!("point {index} of the curve is not finite"));
        }
        let pieces = if closed { count } else { count - 1 };
        // Checked before the first piece, because a piece also depends on its neighbours.
        for piece in 0..pieces {
            let next = (piece + 1) % count;
            let distance = points[piece].distance(points[next]);
            if !(distance > 0.0 && distance.is_finite()) {
                return Err(format!(
                    "points {piece} and {next} of the curve are equal or too far apart"
                ));
            }
        }
        let mut panels = Vec::new();
        for piece in 0..pieces {
            let [second, third] = [points[piece], points[(piece + 1) % count]];
            let before = match piece {
                0 if closed => points[count - 1],
                0 => 2.0 * second - third,
                _ => points[piece - 1],
            };
            let after = match piece + 2 {
                next if next >= count && !closed => 2.0 * third - second,
                next => points[next % count],
            };
            let cubic = Cubic::catmull_rom([before, second, third, after]);
            let length = cubic.length(0.0, 1.0);
            cubic.add_panels([0.0, 1.0], length, MAX_HALVINGS, &mut panels);
        }
        let mut before = 0.0;
        for panel in &mut panels {
            panel.before = before;
            before += panel.length;
        }
        Ok(Path {
            closed,
            first: points[0],
            last: points[if closed { 0 } else { count - 1 }],
            panels,
        })
    }

    /// The length of the curve (m).
    pub(super) fn length(&self) -> f64 {
        self.panels
            .last()
            .map_or(0.0, |panel| panel.before + panel.length)
    }

    /// Points at equal distances along the curve, the first at its start and, if it is open, the
    /// last at its end.
    pub(super) fn evenly(&self, vertices: usize) -> Vec<DVec3> {
        let edges = if self.closed { vertices } else { vertices - 1 };
        let mut points = Vec::with_capacity(vertices);
        points.push(self.first);
        let mut panels = self.panels.iter().peekable();
        for vertex in 1..edges {
            let along = self.length() * (vertex as f64 / edges as f64);
            while panels
                .next_if(|panel| panel.before + panel.length < along)
                .is_some()
            {}
            points.push(panels.peek().map_or(self.last, |panel| panel.at(along)));
        }
        if !self.closed {
            points.push(self.last);
        }
        points
    }
}

impl Panel {
    /// The point at the arc length `along` (m) of the curve.
    fn at(&self, along: f64) -> DVec3 {
        let target = along - self.before;
        let (mut low, mut high) = (self.from, self.to);
        let mut place = low + (high - low) * (target / self.length);
        for _ in 0..50 {
            let excess = self.cubic.length(self.from, place) - target;
            if excess.abs() <= 1e-13 * self.length {
                break;
            }
            if excess > 0.0 {
                high = place;
            } else {
                low = place;
            }
            let newton = place - excess / self.cubic.velocity(place).length();
            place = if newton > low && newton < high {
                newton
            } else {
                0.5 * (low + high)
            };
        }
        self.cubic.point(place)
    }
}

/// Maximum depth of halving a piece, far more than a spline needs.
const MAX_HALVINGS: usize = 20;

impl Cubic {
    /// The piece between the second and the third point. Time intervals are the square roots of
    /// distances.
    fn catmull_rom([before, start, end, after]: [DVec3; 4]) -> Cubic {
        let time = |from: DVec3, to: DVec3| from.distance(to).sqrt();
        let [left, here, right] = [time(before, start), time(start, end), time(end, after)];
        // Velocity at the middle one of three points, of the parabola through them. The spline is a
        // blend of two such parabolas (Barry and Goldman 1988).
        let velocity = |[a, at, b]: [DVec3; 3], early: f64, late: f64| {
            (at - a) / early - (b - a) / (early + late) + (b - at) / late
        };
        let leaving = here * velocity([before, start, end], left, here);
        let arriving = here * velocity([start, end, after], here, right);
        let chord = end - start;
        Cubic([
            start,
            leaving,
            3.0 * chord - 2.0 * leaving - arriving,
            leaving + arriving - 2.0 * chord,
        ])
    }

    fn point(&self, u: f64) -> DVec3 {
        let [a, b, c, d] = self.0;
        a + u * (b + u * (c + u * d))
    }

    fn velocity(&self, u: f64) -> DVec3 {
        let [_, b, c, d] = self.0;
        b + u * (2.0 * c + u * (3.0 * d))
    }

    /// Length between two parameters, by Gauss quadrature with five points.
    fn length(&self, from: f64, to: f64) -> f64 {
        const NODES: [(f64, f64); 5] = [
            (-0.906_179_845_938_664, 0.236_926_885_056_189_1),
            (-0.538_469_310_105_683_1, 0.478_628_670_499_366_47),
            (0.0, 0.568_888_888_888_888_9),
            (0.538_469_310_105_683_1, 0.478_628_670_499_366_47),
            (0.906_179_845_938_664, 0.236_926_885_056_189_1),
        ];
        let (middle, half) = (0.5 * (from + to), 0.5 * (to - from));
        let speed =
            |(node, weight): (f64, f64)| weight * self.velocity(middle + half * node).length();
        half * NODES.into_iter().map(speed).sum::<f64>()
    }

    /// Adds the panels of a part with the estimated length `whole`, halved until the halves agree
    /// with it.
    fn add_panels(
        &self,
        [from, to]: [f64; 2],
        whole: f64,
        halvings: usize,
        panels: &mut Vec<Panel>,
    ) {
        let middle = 0.5 * (from + to);
        let halves =
            [[from, middle], [middle, to]].map(|part| (part, self.length(part[0], part[1])));
        let agree = (halves[0].1 + halves[1].1 - whole).abs() <= 1e-9 * whole;
        for (part, length) in halves {
            if !agree && halvings > 0 {
                self.add_panels(part, length, halvings - 1, panels);
                continue;
            }
            panels.push(Panel {
                cubic: *self,
                from: part[0],
                to: part[1],
                before: 0.0,
                length,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_path_through_a_line_is_that_line() {
        let points = [0.0, 0.1, 3.0, 3.5].map(|x| DVec3::new(x, 2.0 * x, 0.0));
        let path = Path::through(&points, false).unwrap();
        assert!((path.length() - 3.5 * 5.0_f64.sqrt()).abs() < 1e-9);
        for (index, point) in path.evenly(8).iter().enumerate() {
            let x = 0.5 * index as f64;
            assert!(
                (*point - DVec3::new(x, 2.0 * x, 0.0)).length() < 1e-9,
                "{point}"
            );
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]
        #[test]
        fn points_have_equal_distances_along_a_path(
            coordinates in prop::collection::vec(prop::array::uniform3(-1.0..1.0), 3..9),
            closed: bool,
        ) {
            let points: Vec<_> = coordinates.into_iter().map(DVec3::from).collect();
            // At a sharp turn the chords below would not be short enough to measure the length.
            let count = points.len();
            for index in 0..count {
                let [a, b, c] = [0, 1, 2].map(|step| points[(index + step) % count]);
                prop_assume!(a.distance(b) > 0.1 && (b - a).angle_between(c - b) < 2.5);
            }
            // 7 arcs, each measured by the chords between 3000 more points on it.
            let (arcs, fine) = (7, 3000);
            let more = usize::from(!closed);
            let path = Path::through(&points, closed).unwrap();
            let (coarse, mut dense) = (path.evenly(arcs + more), path.evenly(arcs * fine + more));
            prop_assert_eq!(coarse[0], points[0]);
            if !closed {
                prop_assert_eq!(coarse[arcs], points[points.len() - 1]);
            }
            if closed {
                dense.push(points[0]);
            }
            let chords: Vec<f64> = dense.windows(2).map(|ends| ends[0].distance(ends[1])).collect();
            let mean = chords.iter().sum::<f64>() / arcs as f64;
            for (arc, part) in chords.chunks(fine).enumerate() {
                prop_assert!(coarse[arc].distance(dense[arc * fine]) < 1e-9 * mean);
                prop_assert!((part.iter().sum::<f64>() / mean - 1.0).abs() < 1e-6);
            }
        }
    }
}
