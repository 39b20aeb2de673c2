//! Impacts: pairs that come too close along a motion, as contact points with the normal and the
//! weights of the time of impact.

use glam::DVec3;
use rayon::prelude::*;

use super::shapes::ShapeMargins;
use super::{ContactPoint, Detection};
use crate::collide::ccd::{self, Impact};
use crate::collide::distance::{Closest, edge_edge, point_triangle};
use crate::collide::features::Features;
use crate::collide::impacts::{PairImpact, impacts_since};
use crate::collide::margins::{Margins, PathLengths};
use crate::collide::minimum::PairDistance;
use crate::collide::pair::{Feature, FeaturePair};
use crate::collide::proximity;
use crate::collide::volume::PointMotion;

/// A pair that starts closer than its separation keeps at least this fraction of its distance in a
/// step.
const MIN_KEPT_FRACTION: f64 = 0.5;

/// A distance below this fraction of the separation is tiny. Gaps that halve in every step would
/// vanish in rounding after thirty.
const TINY_GAP_FRACTION: f64 = 0.01;

/// Fraction of a tiny distance that a pair keeps in a step.
const TINY_GAP_KEPT_FRACTION: f64 = 0.95;

/// Impacts that one task turns into contact points.
const CHUNK_SIZE: usize = 64;

/// A motion from the start of the step, and the distances that pairs must keep along it.
pub(super) struct ImpactQuery<'a> {
    /// Positions of the points at the end of the motion.
    pub(super) to: &'a [DVec3],
    /// Fraction of the thickness that pairs must keep.
    pub(super) fraction: f64,
    /// Points whose pairs are tested; all if None.
    pub(super) marked: Option<&'a [bool]>,
}

/// Results of earlier tests of the motion. They show which pairs need no new test.
#[derive(Default)]
pub(super) struct MotionCache {
    /// Fraction of the thickness in the last test.
    fraction: f64,
    path_lengths: PathLengths,
    pair_margins: Margins,
    shape_margins: Vec<ShapeMargins>,
}

impl MotionCache {
    /// Prepares the test of another motion. Margins for a larger fraction hold for a smaller one,
    /// but not the other way round.
    fn begin(&mut self, detection: &Detection<'_>, query: &ImpactQuery<'_>) {
        self.path_lengths
            .advance(&detection.collision.features, query.to);
        if query.fraction > self.fraction {
            self.pair_margins = Margins::default();
            self.shape_margins.clear();
        }
        self.fraction = query.fraction;
        self.shape_margins
            .resize_with(detection.moving_colliders.len(), ShapeMargins::default);
    }
}

impl Detection<'_> {
    /// All pairs that come closer than `fraction` of their thickness while the points move from the
    /// start to `to`, by ascending id. A pair that starts closer must keep a fraction of its
    /// distance. With `marked`, only pairs with a marked point.
    pub(crate) fn impacts(
        &mut self,
        to: &[DVec3],
        fraction: f64,
        marked: Option<&[bool]>,
    ) -> Vec<ContactPoint> {
        let query = ImpactQuery {
            to,
            fraction,
            marked,
        };
        self.update_candidates(to);
        let mut cache = match marked {
            None => MotionCache {
                pair_margins: std::mem::take(&mut self.lists.margins),
                ..std::mem::take(&mut self.cache)
            },
            Some(_) => MotionCache::default(),
        };
        cache.begin(self, &query);
        let mut contact_points = self.pair_impacts(&query, &mut cache);
        for (number, moving) in self.moving_colliders.iter().enumerate() {
            let margins = &mut cache.shape_margins[number];
            let lengths = &cache.path_lengths;
            contact_points.extend(moving.impacts(self, number as u32, &query, lengths, margins));
        }
        if marked.is_none() {
            self.lists.margins = std::mem::take(&mut cache.pair_margins);
            self.cache = cache;
        }
        contact_points
            .sort_by(|one, other| one.id.cmp(&other.id).then(one.time.total_cmp(&other.time)));
        contact_points.dedup_by_key(|contact_point| contact_point.id);
        contact_points
    }

    /// Extends the candidates so that they are complete for the motion to these positions.
    fn update_candidates(&mut self, to: &[DVec3]) {
        let motion = PointMotion {
            from: &self.from,
            to,
            reach: &self.reach,
        };
        let outside = self.lists.points_outside(&motion);
        if !outside.is_empty() {
            let features = &self.collision.features;
            self.lists
                .search_again(&mut self.tree, features, &motion, &outside);
        }
    }

    /// Impacts of pairs of features.
    fn pair_impacts(&self, query: &ImpactQuery<'_>, cache: &mut MotionCache) -> Vec<ContactPoint> {
        let features = &self.collision.features;
        let all = self.lists.candidates();
        let marked = query
            .marked
            .map(|marked| all.with_marked_points(features, marked));
        let found = impacts_since(
            features,
            marked.as_ref().unwrap_or(all),
            [&self.from, query.to],
            |points, _| self.separation(&points, query.fraction),
            &cache.path_lengths,
            &mut cache.pair_margins,
        );
        let contact_points = |found: &[PairImpact], is_edges: bool| -> Vec<ContactPoint> {
            let found = found.par_iter().with_min_len(CHUNK_SIZE);
            let points = found.filter_map(|found| self.impact_contact(found, is_edges, query));
            points.collect()
        };
        let mut impacts = contact_points(&found.point_triangle, false);
        impacts.extend(contact_points(&found.edge_edge, true));
        impacts
    }

    /// The distance that two features must keep (m).
    #[inline]
    fn separation(&self, points: &[u32; 4], fraction: f64) -> f64 {
        // All points of an object have the same thickness.
        let [one, other] = [points[0], points[3]].map(|point| point as usize);
        let collision = self.collision;
        let core = collision.core[one] + collision.core[other];
        let skin = collision.skin[one] + collision.skin[other];
        core + fraction * (skin + self.extra_thickness(points)).max(0.0)
    }

    /// The distance that a pair must keep at the end of a step (m); less for a pair that starts
    /// closer.
    pub(crate) fn least_distance(&self, pair: [u32; 2], is_edges: bool, fraction: f64) -> f64 {
        let (points, _) = points_of(&self.collision.features, pair, is_edges);
        let core = self.separation(&points, 0.0);
        let separation = self.separation(&points, fraction);
        let start = points.map(|point| self.from[point as usize]);
        let closest = if is_edges { edge_edge } else { point_triangle };
        let start = closest(start).distance;
        separation.min(core + MIN_KEPT_FRACTION * MIN_KEPT_FRACTION * (start - core))
    }

    /// Thickness of a pair of parts beyond that of their points (m).
    fn extra_thickness(&self, points: &[u32; 4]) -> f64 {
        if self.model.contact.pairs.is_empty() {
            return 0.0;
        }
        let part = |point: u32| self.collision.features.part_of[point as usize];
        self.collision
            .extra_thickness(self.model, part(points[0]), part(points[3]))
    }

    /// An impact as a contact point; None if both features are prescribed, or if a pair that starts
    /// too close keeps enough of its distance.
    fn impact_contact(
        &self,
        found: &PairImpact,
        is_edges: bool,
        query: &ImpactQuery<'_>,
    ) -> Option<ContactPoint> {
        let features = &self.collision.features;
        let (points, second) = points_of(features, found.pair, is_edges);
        if !self.has_movable(&points) {
            return None;
        }
        let at = |positions: &[DVec3]| points.map(|point| positions[point as usize]);
        let (from, end) = (at(&self.from), at(query.to));
        let closest = if is_edges { edge_edge } else { point_triangle };
        let start = closest(from);
        let core = self.separation(&points, 0.0);
        let separation = self.separation(&points, query.fraction);
        let mut impact = found.impact;
        if start.distance <= separation && start.distance > core {
            let kept = kept_distance(start.distance, core, separation);
            impact = time_of_impact(&from, &end, is_edges, kept)?;
        }
        let time = impact.time;
        let then: [DVec3; 4] = std::array::from_fn(|point| from[point].lerp(end[point], time));
        let there = closest(then);
        let direction = if impact.normal == DVec3::ZERO {
            start.vector.normalize_or(DVec3::Z)
        } else {
            impact.normal
        };
        let on = ClosestFeatures::new(features, found.pair, is_edges, &there);
        let (pair, points, weights, sign) = on.ordered(points, second, there.weights);
        let normal = direction * sign;
        let between: DVec3 = points
            .iter()
            .zip(weights)
            .map(|(point, weight)| self.from[*point as usize] * weight)
            .sum();
        let distance = PairDistance {
            points,
            closest: Closest { weights, ..there },
            rounding: 0.0,
        };
        let thickness =
            self.with_query(|query| proximity::thickness(features, pair, &distance, query));
        Some(ContactPoint {
            id: pair.id(),
            features: pair.features(),
            points,
            weights,
            normal,
            gap: normal.dot(between) - thickness,
            thickness,
            core,
            time,
        })
    }
}

fn time_of_impact(
    from: &[DVec3; 4],
    to: &[DVec3; 4],
    is_edges: bool,
    separation: f64,
) -> Option<Impact> {
    if is_edges {
        ccd::edge_edge(from, to, separation)
    } else {
        ccd::point_triangle(from, to, separation)
    }
}

/// The distance (m) that a pair keeps in a step if it starts at a distance below its separation.
pub(super) fn kept_distance(start: f64, core: f64, separation: f64) -> f64 {
    let is_tiny = start - core < TINY_GAP_FRACTION * (separation - core);
    let fraction = if is_tiny {
        TINY_GAP_KEPT_FRACTION
    } else {
        MIN_KEPT_FRACTION
    };
    core + fraction * (start - core)
}

/// The four points of a pair, and the index of the first point of the second feature.
pub(crate) fn points_of(
    features: &Features,
    [one, other]: [u32; 2],
    is_edges: bool,
) -> ([u32; 4], usize) {
    if is_edges {
        let [[a, b], [c, d]] = [one, other].map(|edge| features.edges[edge as usize]);
        ([a, b, c, d], 2)
    } else {
        let [a, b, c] = features.triangles[other as usize];
        ([one, a, b, c], 1)
    }
}

/// The features that contain the closest points of a pair.
struct ClosestFeatures {
    first: Feature,
    second: Feature,
}

impl ClosestFeatures {
    fn new(
        features: &Features,
        pair: [u32; 2],
        is_edges: bool,
        closest: &Closest,
    ) -> ClosestFeatures {
        let weights = closest.weights;
        let on_edge = |edge: u32, weights: [f64; 2]| {
            let [a, b] = features.edges[edge as usize];
            match weights {
                _ if a == b => Feature::Point(a),
                [_, 0.0] => Feature::Point(a),
                [0.0, _] => Feature::Point(b),
                _ => Feature::Edge(edge),
            }
        };
        if is_edges {
            return ClosestFeatures {
                first: on_edge(pair[0], [weights[0], weights[1]]),
                second: on_edge(pair[1], [weights[2], weights[3]]),
            };
        }
        let corners = features.triangles[pair[1] as usize];
        let sides = features.triangle_edges[pair[1] as usize];
        let is_zero = [weights[1], weights[2], weights[3]].map(|weight| weight == 0.0);
        let second = match is_zero {
            [false, true, true] => Feature::Point(corners[0]),
            [true, false, true] => Feature::Point(corners[1]),
            [true, true, false] => Feature::Point(corners[2]),
            [false, false, true] => Feature::Edge(sides[0]),
            [true, false, false] => Feature::Edge(sides[1]),
            [false, true, false] => Feature::Edge(sides[2]),
            _ => Feature::Triangle(pair[1]),
        };
        ClosestFeatures {
            first: Feature::Point(pair[0]),
            second,
        }
    }

    /// The pair with its lower feature first, points and weights in that order, and −1 if the two
    /// features were swapped, else 1.
    fn ordered(
        &self,
        points: [u32; 4],
        second: usize,
        weights: [f64; 4],
    ) -> (FeaturePair, [u32; 4], [f64; 4], f64) {
        let pair = FeaturePair::new(self.first, self.second);
        if pair.features()[0] == self.first {
            return (pair, points, weights, 1.0);
        }
        let mut swapped = ([0; 4], [0.0; 4]);
        for index in 0..4 {
            let from = (index + second) % 4;
            swapped.0[index] = points[from];
            swapped.1[index] = -weights[from];
        }
        (pair, swapped.0, swapped.1, -1.0)
    }
}
