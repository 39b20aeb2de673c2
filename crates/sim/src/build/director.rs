//! Initial directors of rods.
//!
//! The director of an edge is the first axis of its section. Parallel transport carries it from
//! edge to edge, without twist. On a closed rod an angle remains between the last edge and the
//! first; it is distributed evenly over all vertices.

use glam::{DQuat, DVec3};

use crate::mesh::Mesh;

/// Directors of all edges of all curves.
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

/// Directors of a curve with these tangents.
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

/// Parallel transport of a director from one tangent to another.
pub(super) fn carried(director: DVec3, from: DVec3, to: DVec3) -> DVec3 {
    let turned = DQuat::from_rotation_arc(from, to) * director;
    // Exactly perpendicular to the tangent, despite rounding.
    (turned - to * to.dot(turned)).normalize_or(to.any_orthonormal_vector())
}

/// Angle from one vector to another about an axis perpendicular to both (rad).
pub(super) fn angle_between(from: DVec3, to: DVec3, axis: DVec3) -> f64 {
    from.cross(to).dot(axis).atan2(from.dot(to))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn twist_is_zero_on_open_curves_and_uniform_on_closed_ones(
            points in proptest::collection::vec(proptest::array::uniform3(-1.0f64..1.0), 3..12),
            closed: bool,
        ) {
            let points: Vec<DVec3> = points.into_iter().map(DVec3::from).collect();
            let count = points.len();
            let side = |i: usize| (points[(i + 1) % count] - points[i]).normalize_or_zero();
            let tangents: Vec<DVec3> = (0..count).map(side).collect();
            // Parallel transport is undefined between opposite tangents.
            let turns_back = |i: usize| tangents[i].dot(tangents[(i + 1) % count]) < -0.99;
            prop_assume!(tangents.iter().all(|t| t.is_normalized()) && !(0..count).any(turns_back));
            let directors = along(&tangents, closed);
            let twist = |i: usize| {
                let next = (i + 1) % count;
                let arrived = carried(directors[i], tangents[i], tangents[next]);
                angle_between(arrived, directors[next], tangents[next])
            };
            for i in 0..count {
                prop_assert!(directors[i].is_normalized());
                prop_assert!(directors[i].dot(tangents[i]).abs() < 1e-9);
                if closed {
                    prop_assert!((twist(i) - twist(0)).abs() < 1e-9);
                } else {
                    prop_assert!(i + 1 == count || twist(i).abs() < 1e-9);
                }
            }
        }
    }

    #[test]
    fn a_planar_ring_has_no_twist() {
        let tangents: Vec<DVec3> = (0..7)
            .map(|i| DQuat::from_rotation_z(f64::from(i) * std::f64::consts::TAU / 7.0) * DVec3::X)
            .collect();
        let directors = along(&tangents, true);
        let height = directors[0].z;
        assert!(directors.iter().all(|d| (d.z - height).abs() < 1e-15));
    }
}
