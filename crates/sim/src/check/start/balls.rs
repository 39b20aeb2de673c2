//! Balls that overlap other objects at the start. A ball is a point with a radius, so no edge
//! crosses a triangle; what is wholly inside it is nearer to its centre than its radius too.

use super::{Intersections, Start, position};
use crate::collide::certify::{PairKind, distance};
use crate::collide::pair::Feature;
use crate::collide::tree::Tree;
use crate::collide::volume::{PointMotion, Volumes};
use crate::detect::points_of;
use crate::units::short_number;

/// A ball that overlaps a feature.
#[derive(Clone, Copy)]
struct Overlap {
    /// The ball.
    ball: u32,
    /// A point of the feature.
    other: u32,
    /// Radius minus distance (m).
    depth: f64,
}

/// Adds balls that overlap other objects, each pair of a ball and an object once.
pub(super) fn add_overlaps(start: &Start<'_>, found: &mut Intersections) {
    let core = &start.collision.core;
    if !core.iter().any(|radius| *radius > 0.0) {
        return;
    }
    let mut overlaps = overlaps(start);
    let object = |overlap: &Overlap| start.collision.object_of(overlap.other);
    let key = |overlap: &Overlap| {
        let is_ball = core[overlap.other as usize] > 0.0;
        // Balls are listed one by one, also those of one object.
        (
            overlap.ball,
            object(overlap),
            is_ball.then_some(overlap.other),
        )
    };
    overlaps.sort_by(|a, b| key(a).cmp(&key(b)).then(b.depth.total_cmp(&a.depth)));
    overlaps.dedup_by_key(|overlap| key(overlap));
    for overlap in &overlaps {
        found.add(|| describe(start, overlap));
    }
}

fn describe(start: &Start<'_>, overlap: &Overlap) -> String {
    let at = overlap.ball as usize;
    let ball = format!(
        "{} (ball of radius {} m about {})",
        start.place(Feature::Point(overlap.ball)),
        short_number(start.collision.core[at]),
        position(start.points[at]),
    );
    let other = start.place(Feature::Point(overlap.other));
    if overlap.depth == 0.0 {
        return format!("{ball} touches {other} at the start: move them apart");
    }
    let depth = short_number(overlap.depth);
    format!("{ball} overlaps {other} by {depth} m at the start: move them apart by at least that")
}

/// All pairs of a ball and a feature that overlap, or touch.
fn overlaps(start: &Start<'_>) -> Vec<Overlap> {
    let (features, core) = (&start.collision.features, &start.collision.core);
    let volumes: Volumes<3> = Volumes::new(&PointMotion {
        from: &start.points,
        to: &start.points,
        reach: core,
    });
    let candidates = Tree::new(features, &volumes).candidates(features);
    let kinds = [
        (PairKind::PointTriangle, &candidates.point_triangle),
        (PairKind::EdgeEdge, &candidates.edge_edge),
    ];
    let mut overlaps = Vec::new();
    for (kind, pairs) in kinds {
        for pair in pairs {
            let (points, second) = points_of(features, *pair, kind == PairKind::EdgeEdge);
            let sides = [points[0], points[second]];
            let [one, other] = sides.map(|point| core[point as usize]);
            if (one == 0.0 && other == 0.0) || !start.any_movable(&points) {
                continue;
            }
            let places = points.map(|point| start.points[point as usize]);
            let depth = one + other - distance(kind, &places);
            if depth >= 0.0 {
                let [ball, other] = if one > 0.0 {
                    sides
                } else {
                    [sides[1], sides[0]]
                };
                overlaps.push(Overlap { ball, other, depth });
            }
        }
    }
    overlaps
}
