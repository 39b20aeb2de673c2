//! Positions of the points of a collision model: scripted points are functions of time, all others
//! are weighted sums of nodes.

use glam::DVec3;
use rayon::prelude::*;

use crate::model::Model;
use crate::model::collision::CollisionModel;

/// Points that one task interpolates.
const CHUNK_SIZE: usize = 1024;

/// A point is lost if its displacement in a step exceeds this multiple of the size of all points.
const MAX_DISPLACEMENT_FACTOR: f64 = 100.0;

/// Positions of all points at the start of a run.
pub(crate) fn points_at_start(model: &Model, collision: &CollisionModel) -> Vec<DVec3> {
    let scripted = |object| {
        let points = model.scripted_points_of(object, 0.0)?;
        Some((object, points))
    };
    let scripted: Vec<_> = collision
        .objects_with_points()
        .filter_map(scripted)
        .collect();
    let scripted = scripted
        .iter()
        .map(|(object, points)| (*object, &points[..]));
    interpolate_points(
        collision,
        &model.start.positions,
        scripted_points(collision, scripted),
    )
}

/// Positions of the points of scripted objects; all other points are at the origin.
pub(crate) fn scripted_points<'a>(
    collision: &CollisionModel,
    scripted: impl Iterator<Item = (usize, &'a [DVec3])>,
) -> Vec<DVec3> {
    let mut points = vec![DVec3::ZERO; collision.places.len()];
    for (object, positions) in scripted {
        for point in collision.points_of(object) {
            points[point] = positions[collision.places[point].1 as usize];
        }
    }
    points
}

/// Replaces the positions of all points with a stencil by their weighted sums of nodes.
pub(crate) fn interpolate_points(
    collision: &CollisionModel,
    nodes: &[DVec3],
    mut points: Vec<DVec3>,
) -> Vec<DVec3> {
    let all = points.par_iter_mut().enumerate().with_min_len(CHUNK_SIZE);
    all.for_each(|(point, position)| {
        if let [(first, weight), others @ ..] = collision.stencil(point as u32) {
            let start = if *weight == 1.0 {
                nodes[*first as usize]
            } else {
                nodes[*first as usize] * *weight
            };
            let add =
                |sum: DVec3, (node, weight): &(u32, f64)| sum + nodes[*node as usize] * *weight;
            *position = others.iter().fold(start, add);
        }
    });
    points
}

/// The point with the largest displacement (m), if that is too large for collision detection: the
/// volume of its motion would overlap all others.
pub(super) fn find_lost_point(from: &[DVec3], to: &[DVec3]) -> Option<(u32, f64)> {
    let low = from
        .iter()
        .fold(DVec3::INFINITY, |low, point| low.min(*point));
    let high = from
        .iter()
        .fold(DVec3::NEG_INFINITY, |high, point| high.max(*point));
    let limit = MAX_DISPLACEMENT_FACTOR * (high - low).length().max(1e-3);
    let displacements = from.iter().zip(to).map(|(from, to)| from.distance(*to));
    let lost = displacements
        .enumerate()
        .filter(|(_, displacement)| *displacement > limit || displacement.is_nan());
    let lost = lost.max_by(|one, other| one.1.total_cmp(&other.1));
    lost.map(|(point, displacement)| (point as u32, displacement))
}
