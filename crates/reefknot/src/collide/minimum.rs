//! Which pairs of features are contacts: where the distance between two surfaces has a local minimum.
//!
//! Let v join the closest points of two features. From each of them the surface goes on into the features around: from a point
//! along its edges, from an edge into its triangles. The pair is a minimum if none of these ways comes closer, u·v ≥ 0 for
//! every way u of the first and u·v ≤ 0 for every way of the second; v then lies in the normal cones of both. To first order the
//! two sides are independent, and the edges of a corner span its triangles, so a few scalar products decide.
//!
//! The same question, asked on the border of a feature, tells whether the closest points are inside of it: they are not if from
//! some part of its border the way into it comes no closer, and then that part stands for it. One test with one slack
//! serves both, so that a point over a shared side, or edges side by side (the two ends of their overlap), give the same
//! answer from whichever side they are looked at: one contact, not none and not two. A pair is passed over only where
//! another one is closer, so what is closest of all is always found; also where surfaces cross each other, and a way would end
//! where an edge pierces a triangle, which no pair stands for.
//!
//! Ways that lead to the other feature itself do not count, since neighbours do not meet: a sharp fold keeps the contacts next to its
//! crease. Two features that are parts of one edge or triangle make no contact.

use glam::DVec3;

use super::distance::{Closest, edge_edge, point_edge, point_triangle};
use super::features::Features;
use super::pair::{Feature, Pair};

/// A way that descends by less than this sine is level.
const LEVEL: f64 = 1e-9;

/// Surfaces that are parallel up to this sine touch where their creases cross.
const CREASE: f64 = 0.1;

/// What rounding may leave of a zero in the distance of two points, as a part of their coordinates.
const ROUNDING: f64 = 32.0 * f64::EPSILON;

/// A triangle narrower than this part of its side has no inside.
const NARROW: f64 = 1e-12;

/// The closest points of a pair.
#[derive(Clone, Copy, Debug)]
pub struct Near {
    /// The points of the first feature and then of the second; a place that is not needed repeats a point.
    pub points: [u32; 4],
    /// Weights and vector.
    pub closest: Closest,
    /// What rounding may have done to the vector (m).
    pub rounding: f64,
}

/// Features with their points at certain places.
#[derive(Clone, Copy)]
pub struct Placed<'a> {
    /// The features.
    pub features: &'a Features,
    /// Where the points are (m).
    pub positions: &'a [DVec3],
}

impl Placed<'_> {
    fn at(&self, point: u32) -> DVec3 {
        self.positions[point as usize]
    }

    /// The closest points of two features that meet: two edges, or a point and anything but a collider.
    #[must_use]
    pub fn near(&self, pair: Pair) -> Near {
        let [first, second] = pair.features();
        let [p, q, _] = first.corners(self.features);
        let [a, b, c] = second.corners(self.features);
        let at = |points: [u32; 4]| points.map(|point| self.at(point));
        let (points, closest) = match (first, second) {
            (Feature::Edge(_), _) => {
                let points = [p, q, a, b];
                (points, edge_edge(at(points)))
            }
            (_, Feature::Triangle(_)) => {
                let points = [p, a, b, c];
                (points, point_triangle(at(points)))
            }
            _ => {
                let points = [p, a, b, b];
                let [point, from, to, _] = at(points);
                (points, point_edge([point, from, to]))
            }
        };
        let largest = points
            .iter()
            .map(|&point| self.at(point).abs().max_element())
            .fold(0.0, f64::max);
        Near {
            points,
            closest,
            rounding: ROUNDING * largest,
        }
    }

    /// The pairs that stand for `pair`: itself if the closest points lie inside, else what they lie on.
    pub fn settle(&self, pair: Pair, found: &mut Vec<Pair>) {
        let [first, second] = pair.features();
        let mut is_inside = true;
        for (feature, other) in [(first, second), (second, first)] {
            for part in feature.border(self.features) {
                let smaller = Pair::new(part, other);
                let near = self.near(smaller);
                if !self.descends(smaller, &near, part, feature, 0.0) {
                    is_inside = false;
                    self.settle(smaller, found);
                }
            }
        }
        if is_inside {
            found.push(pair);
        }
    }

    /// Whether no way from the closest points of a settled pair comes closer.
    ///
    /// A point moves by itself: where the other surface is flat it is a contact though its own surface descends from there, by up to
    /// the sine `slope`. Then borders and creases of both surfaces that cross are contacts too, though these are not quite parallel: they are
    /// the corners of the area on which one thing lies on another, and without them it would rock.
    #[must_use]
    pub fn is_minimum(&self, pair: Pair, near: &Near, slope: f64) -> bool {
        let [first, second] = pair.features();
        let is_crossing = slope > 0.0 && self.is_sharp(first, near) && self.is_sharp(second, near);
        [(first, second), (second, first)]
            .into_iter()
            .all(|(feature, other)| {
                let is_point = matches!(feature, Feature::Point(_));
                let slope = if slope > 0.0 && is_point && self.is_flat(other, near) {
                    slope
                } else if is_crossing {
                    slope.min(CREASE)
                } else {
                    0.0
                };
                feature.around(self.features).all(|larger| {
                    !self.descends(pair, near, feature, larger, slope)
                        || self.leads_to(larger, other)
                        || !self.has_closer(larger, other, near.closest.distance)
                })
            })
    }

    /// Whether the surface ends at a feature, or turns away from the other by more than a crease must.
    fn is_sharp(&self, feature: Feature, near: &Near) -> bool {
        let turns_away = |larger: Feature| {
            let change = self.way(feature, larger).dot(near.closest.vector);
            change.abs() > 3.0 * CREASE * near.closest.distance
        };
        match feature {
            Feature::Triangle(_) | Feature::Collider(_) => false,
            Feature::Edge(_) => {
                feature.around(self.features).count() == 1
                    || feature.around(self.features).any(turns_away)
            }
            Feature::Point(_) => feature.around(self.features).any(turns_away),
        }
    }

    /// Whether the surface around a feature is at right angles to the vector between the closest points.
    fn is_flat(&self, feature: Feature, near: &Near) -> bool {
        let is_level = |larger: Feature| {
            let change = self.way(feature, larger).dot(near.closest.vector);
            change.abs() <= LEVEL * near.closest.distance + near.rounding
        };
        let mut around = feature.around(self.features).peekable();
        match feature {
            Feature::Triangle(_) => true,
            _ => around.peek().is_some() && around.all(is_level),
        }
    }

    /// Whether the way from `feature` of the pair into a `larger` one around it comes closer.
    fn descends(
        &self,
        pair: Pair,
        near: &Near,
        feature: Feature,
        larger: Feature,
        slope: f64,
    ) -> bool {
        let [first, second] = pair.features();
        let (other, sign) = if first == feature {
            (second, 1.0)
        } else {
            (first, -1.0)
        };
        let (vector, distance) = (near.closest.vector, near.closest.distance);
        let change = sign * self.way(feature, larger).dot(vector);
        let level = LEVEL * distance + near.rounding;
        if change < -level {
            return change < -(level + slope * distance);
        }
        // A level way may come closer yet, by the root of what rounding hides in its slope.
        change <= level
            && !is_edge_triangle(larger, other)
            && self.near(Pair::new(larger, other)).closest.distance < distance - level
    }

    /// The unit vector from a feature into a larger one around it; none if that has no size.
    fn way(&self, feature: Feature, larger: Feature) -> DVec3 {
        let [a, b, _] = feature.corners(self.features);
        let corners = larger.corners(self.features);
        let opposite = corners
            .into_iter()
            .find(|&corner| corner != a && corner != b);
        let Some(opposite) = opposite else {
            return DVec3::ZERO;
        };
        let out = self.at(opposite) - self.at(a);
        let along = (self.at(b) - self.at(a)).normalize_or_zero();
        let once = out - along * along.dot(out);
        let across = once - along * along.dot(once);
        if across.length_squared() <= NARROW * NARROW * out.length_squared() {
            return DVec3::ZERO;
        }
        across.normalize_or_zero()
    }

    /// Whether a way ends at the other feature, in part; one that contains all of it makes them neighbours instead.
    fn leads_to(&self, larger: Feature, other: Feature) -> bool {
        let ends = larger.corners(self.features);
        let is_met = |corner: &u32| {
            ends.iter()
                .any(|&end| self.features.are_joined(end, *corner))
        };
        let corners = other.corners(self.features);
        corners.iter().any(is_met) && !corners.iter().all(is_met)
    }

    /// Whether a way that descends leads to another pair: always, unless an edge pierces a triangle at its end.
    fn has_closer(&self, larger: Feature, other: Feature, distance: f64) -> bool {
        if !is_edge_triangle(larger, other) {
            return true;
        }
        let [edge, triangle] = Pair::new(larger, other).features();
        let ends = edge
            .border(self.features)
            .map(|end| Pair::new(end, triangle));
        let sides = triangle
            .border(self.features)
            .map(|side| Pair::new(side, edge));
        ends.chain(sides)
            .any(|pair| self.near(pair).closest.distance < distance)
    }
}

/// Whether two features are of kinds that are no pair: what they have in common is some of their parts.
fn is_edge_triangle(one: Feature, other: Feature) -> bool {
    matches!(
        Pair::new(one, other).features(),
        [Feature::Edge(_), Feature::Triangle(_)]
    )
}
