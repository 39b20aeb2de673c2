//! Selection of contacts among pairs of features: local minima of the distance between two
//! surfaces.
//!
//! Let v be the vector between the closest points of two features. At each closest point the
//! surface continues into the incident features: from a point along its edges, from an edge into
//! its triangles. The pair is a minimum if no such direction descends: u·v ≥ 0 for every direction
//! u of the first, u·v ≤ 0 for every direction of the second. v is then in the normal cones of
//! both. To first order the two sides are independent, and the edges of a corner span its
//! triangles, so a few scalar products decide.
//!
//! The same test on the boundary of a feature decides whether the closest points are in its
//! interior. They are not if from some part of the boundary the direction inwards does not descend;
//! then that part replaces the feature. One test with one tolerance serves both. So a point over a
//! shared side, or parallel edges (the two ends of their overlap), have one contact, not none and
//! not two. A pair is dropped only if another one is closer, so the closest pair of all is always
//! found. This holds where surfaces intersect too, and a direction ends where an edge pierces a
//! triangle, which is not a pair.
//!
//! Directions towards the other feature itself do not count, since neighbours do not collide: a
//! sharp fold keeps the contacts next to its crease. Two features of one edge or triangle have no
//! contact.

use glam::DVec3;

use super::distance::{Closest, edge_edge, point_edge, point_triangle};
use super::features::Features;
use super::pair::{Feature, FeaturePair};

/// A direction that descends by less than this sine is level.
const LEVEL_SLOPE: f64 = 1e-9;

/// Surfaces that are parallel up to this sine have contacts where their creases cross.
const CREASE_SLOPE: f64 = 0.1;

/// Bounds the rounding error of the distance of two points, relative to their coordinates.
const RELATIVE_ROUNDING: f64 = 32.0 * f64::EPSILON;

/// A triangle narrower than this fraction of its side has no interior.
const MIN_RELATIVE_WIDTH: f64 = 1e-12;

/// Distance and closest points of a pair.
#[derive(Clone, Copy, Debug)]
pub struct PairDistance {
    /// The points of the first feature, then of the second; unused entries repeat a point.
    pub points: [u32; 4],
    /// Weights and vector.
    pub closest: Closest,
    /// Bounds the rounding error of the vector (m).
    pub rounding: f64,
}

/// Features at given positions.
#[derive(Clone, Copy)]
pub struct PlacedFeatures<'a> {
    /// The features.
    pub features: &'a Features,
    /// Positions of the points (m).
    pub positions: &'a [DVec3],
}

impl PlacedFeatures<'_> {
    fn at(&self, point: u32) -> DVec3 {
        self.positions[point as usize]
    }

    /// The distance of two features: two edges, or a point and any feature but a collider.
    #[must_use]
    pub fn distance(&self, pair: FeaturePair) -> PairDistance {
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
        PairDistance {
            points,
            closest,
            rounding: RELATIVE_ROUNDING * largest,
        }
    }

    /// Adds the pairs that replace `pair`: itself if the closest points are in the interiors, else
    /// pairs of the parts of the boundary that contain them.
    pub fn resolve(&self, pair: FeaturePair, found: &mut Vec<FeaturePair>) {
        let [first, second] = pair.features();
        let mut is_inside = true;
        for (feature, other) in [(first, second), (second, first)] {
            for part in feature.boundary(self.features) {
                let smaller = FeaturePair::new(part, other);
                let near = self.distance(smaller);
                if !self.is_descending(smaller, &near, part, feature, 0.0) {
                    is_inside = false;
                    self.resolve(smaller, found);
                }
            }
        }
        if is_inside {
            found.push(pair);
        }
    }

    /// Whether no direction from the closest points of a resolved pair descends.
    ///
    /// A point moves independently: if the other surface is flat, it is a contact even if its own
    /// surface descends from there, by up to the sine `slope`. Then crossing boundaries and creases
    /// of the two surfaces are contacts too, even if the surfaces are not quite parallel: they are
    /// the corners of the contact area, without which a body would rock.
    #[must_use]
    pub fn is_minimum(&self, pair: FeaturePair, near: &PairDistance, slope: f64) -> bool {
        let [first, second] = pair.features();
        let is_crossing = slope > 0.0 && self.is_sharp(first, near) && self.is_sharp(second, near);
        [(first, second), (second, first)]
            .into_iter()
            .all(|(feature, other)| {
                let is_point = matches!(feature, Feature::Point(_));
                let slope = if slope > 0.0 && is_point && self.is_flat(other, near) {
                    slope
                } else if is_crossing {
                    slope.min(CREASE_SLOPE)
                } else {
                    0.0
                };
                feature.incident(self.features).all(|larger| {
                    !self.is_descending(pair, near, feature, larger, slope)
                        || self.is_leading_to(larger, other)
                        || !self.has_closer_pair(larger, other, near.closest.distance)
                })
            })
    }

    /// Whether the surface ends at a feature, or bends away from the other by more than the slope
    /// of a crease.
    fn is_sharp(&self, feature: Feature, near: &PairDistance) -> bool {
        let bends_away = |larger: Feature| {
            let direction = self.inward_direction(feature, larger);
            let change = direction.dot(near.closest.vector);
            change.abs() > 3.0 * CREASE_SLOPE * near.closest.distance
        };
        match feature {
            Feature::Triangle(_) | Feature::Collider(_) => false,
            Feature::Edge(_) => {
                feature.incident(self.features).count() == 1
                    || feature.incident(self.features).any(bends_away)
            }
            Feature::Point(_) => feature.incident(self.features).any(bends_away),
        }
    }

    /// Whether the surface around a feature is perpendicular to the vector between the closest
    /// points.
    fn is_flat(&self, feature: Feature, near: &PairDistance) -> bool {
        let is_level = |larger: Feature| {
            let direction = self.inward_direction(feature, larger);
            let change = direction.dot(near.closest.vector);
            change.abs() <= LEVEL_SLOPE * near.closest.distance + near.rounding
        };
        let mut around = feature.incident(self.features).peekable();
        match feature {
            Feature::Triangle(_) => true,
            _ => around.peek().is_some() && around.all(is_level),
        }
    }

    /// Whether the direction from `feature` of the pair into the incident one `larger` descends.
    fn is_descending(
        &self,
        pair: FeaturePair,
        near: &PairDistance,
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
        let change = sign * self.inward_direction(feature, larger).dot(vector);
        let level = LEVEL_SLOPE * distance + near.rounding;
        if change < -level {
            return change < -(level + slope * distance);
        }
        // A level direction may still descend: rounding hides a slope, whose square root is larger.
        change <= level
            && !is_edge_triangle(larger, other)
            && self
                .distance(FeaturePair::new(larger, other))
                .closest
                .distance
                < distance - level
    }

    /// Unit vector from a feature into a larger incident one; zero if that has no width.
    fn inward_direction(&self, feature: Feature, larger: Feature) -> DVec3 {
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
        if across.length_squared() <= MIN_RELATIVE_WIDTH * MIN_RELATIVE_WIDTH * out.length_squared()
        {
            return DVec3::ZERO;
        }
        across.normalize_or_zero()
    }

    /// Whether a direction ends at a part of the other feature. A feature that contains all of it
    /// makes them neighbours instead.
    fn is_leading_to(&self, larger: Feature, other: Feature) -> bool {
        let ends = larger.corners(self.features);
        let is_met = |corner: &u32| {
            ends.iter()
                .any(|&end| self.features.are_joined(end, *corner))
        };
        let corners = other.corners(self.features);
        corners.iter().any(is_met) && !corners.iter().all(is_met)
    }

    /// Whether a descending direction leads to a closer pair: always, unless an edge pierces a
    /// triangle at its end.
    fn has_closer_pair(&self, larger: Feature, other: Feature, distance: f64) -> bool {
        if !is_edge_triangle(larger, other) {
            return true;
        }
        let [edge, triangle] = FeaturePair::new(larger, other).features();
        let ends = edge
            .boundary(self.features)
            .map(|end| FeaturePair::new(end, triangle));
        let sides = triangle
            .boundary(self.features)
            .map(|side| FeaturePair::new(side, edge));
        ends.chain(sides)
            .any(|pair| self.distance(pair).closest.distance < distance)
    }
}

/// Whether two features are an edge and a triangle, which are not a pair of features.
fn is_edge_triangle(one: Feature, other: Feature) -> bool {
    matches!(
        FeaturePair::new(one, other).features(),
        [Feature::Edge(_), Feature::Triangle(_)]
    )
}
