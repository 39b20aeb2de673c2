//! How the sections of rods are turned at the start.
//!
//! The director of an edge is the first axis of its section. It is carried from edge to edge by the shortest turn from one
//! tangent to the next, so without twist. Around a closed rod that leaves an angle between the last edge and the first,
//! which is spread evenly: otherwise all of it would be a kink at one vertex.

use glam::{DQuat, DVec3};

use crate::mesh::Mesh;

/// The directors of all edges of all curves.
pub(super) fn directors(mesh: &Mesh) -> Vec<DVec3> {
    let mut directors = Vec::new();
    for curve in &mesh.curves {
        let side = |[a, b]: [u32; 2]| mesh.points[b as usize] - mesh.points[a as usize];
        let tangents = curve.edges().map(|edge| side(edge).normalize_or_zero());
        let tangents: Vec<DVec3> = tangents.collect();
        directors.extend(along(&tangents, curve.closed));
    }
    directors
}

/// The directors of a curve with these tangents.
fn along(tangents: &[DVec3], closed: bool) -> Vec<DVec3> {
    let mut directors: Vec<DVec3> = Vec::with_capacity(tangents.len());
    for (edge, tangent) in tangents.iter().enumerate() {
        directors.push(match directors.last() {
            None => tangent.any_orthonormal_vector(),
            Some(last) => carried(*last, tangents[edge - 1], *tangent),
        });
    }
    if let (true, [first, .., last]) = (closed, tangents) {
        let arrived = carried(directors[directors.len() - 1], *last, *first);
        let angle = angle_between(arrived, directors[0], *first) / tangents.len() as f64;
        for (edge, (director, tangent)) in directors.iter_mut().zip(tangents).enumerate() {
            *director = DQuat::from_axis_angle(*tangent, angle * edge as f64) * *director;
        }
    }
    directors
}

/// A director that goes with a tangent as it turns by the shortest way.
pub(super) fn carried(director: DVec3, from: DVec3, to: DVec3) -> DVec3 {
    let turned = DQuat::from_rotation_arc(from, to) * director;
    // Across the tangent, whatever the rounding.
    (turned - to * to.dot(turned)).normalize_or(to.any_orthonormal_vector())
}

/// The angle from one vector to another about an axis that is across both (rad).
pub(super) fn angle_between(from: DVec3, to: DVec3, axis: DVec3) -> f64 {
    from.cross(to).dot(axis).atan2(from.dot(to))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_frame_is_carried_without_twist_and_around_a_loop_with_the_same_at_every_vertex(
            points in proptest::collection::vec(proptest::array::uniform3(-1.0f64..1.0), 3..12),
            closed: bool,
        ) {
            let points: Vec<DVec3> = points.into_iter().map(DVec3::from).collect();
            let count = points.len();
            let side = |i: usize| (points[(i + 1) % count] - points[i]).normalize_or_zero();
            let tangents: Vec<DVec3> = (0..count).map(side).collect();
            // A side that turns right back has no shortest way to go.
            let turns_back = |i: usize| tangents[i].dot(tangents[(i + 1) % count]) < -0.99;
            prop_assume!(tangents.iter().all(|t| t.is_normalized()) && !(0..count).any(turns_back));
            let directors = along(&tangents, closed);
            let twist = |i: usize| {
                let next = (i + 1) % count;
                let arrived = carried(directors[i], tangents[i], tangents[next]);
                angle_between(arrived, directors[next], tangents[next])
            };
            for i in 0..count {
                prop_assert!(directors[i].is_normalized() && directors[i].dot(tangents[i]).abs() < 1e-9);
                match closed {
                    true => prop_assert!((twist(i) - twist(0)).abs() < 1e-9),
                    false => prop_assert!(i + 1 == count || twist(i).abs() < 1e-9),
                }
            }
        }
    }

    #[test]
    fn a_ring_in_a_plane_needs_no_twist() {
        let tangents: Vec<DVec3> = (0..7)
            .map(|i| DQuat::from_rotation_z(f64::from(i) * std::f64::consts::TAU / 7.0) * DVec3::X)
            .collect();
        let directors = along(&tangents, true);
        let height = directors[0].z;
        assert!(directors.iter().all(|d| (d.z - height).abs() < 1e-15));
    }
}
