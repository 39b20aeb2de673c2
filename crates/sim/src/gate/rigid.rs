//! The common rigid motion of an impact zone in a step, with its finite rotation. Points on a
//! head that turns by a few degrees move along arcs, and a hair beside its root has a clearance of
//! less than a micrometre from that motion.

use glam::{DMat3, DVec3};

use crate::energy::principal::Principal;

/// Relative weight of no rotation. It determines the rotation where the points do not, such as
/// about a line through all of them.
const REGULARIZATION: f64 = 1e-9;

/// A rigid motion: `to` + `rotation` (x − `from`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RigidMotion {
    from: DVec3,
    to: DVec3,
    rotation: DMat3,
}

impl RigidMotion {
    /// The same displacement everywhere.
    pub(super) fn translation(displacement: DVec3) -> RigidMotion {
        RigidMotion {
            from: DVec3::ZERO,
            to: displacement,
            rotation: DMat3::IDENTITY,
        }
    }

    /// The least-squares rigid motion for pairs of start and end positions; the identity without
    /// any.
    pub(super) fn nearest(paths: &[[DVec3; 2]]) -> RigidMotion {
        let count = paths.len().max(1) as f64;
        let [from, to] =
            [0, 1].map(|end| paths.iter().map(|path| path[end]).sum::<DVec3>() / count);
        let (mut moments, mut size) = (DMat3::ZERO, 0.0);
        for [start, end] in paths {
            let (arm, turned) = (*start - from, *end - to);
            moments += DMat3::from_cols(turned * arm.x, turned * arm.y, turned * arm.z);
            size += arm.length_squared();
        }
        let moments = moments + DMat3::IDENTITY * (REGULARIZATION * size);
        RigidMotion {
            from,
            to,
            rotation: Principal::of(&moments).rotation(),
        }
    }

    /// Displacement of a point (m).
    pub(super) fn displacement(&self, point: DVec3) -> DVec3 {
        self.rotation * (point - self.from) + self.to - point
    }

    /// Change of a vector by the rotation.
    pub(super) fn change(&self, vector: DVec3) -> DVec3 {
        self.rotation * vector - vector
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collide::distance::edge_edge;
    use glam::DQuat;
    use proptest::prelude::*;

    fn vector(size: f64) -> impl Strategy<Value = DVec3> {
        let entry = -size..size;
        (entry.clone(), entry.clone(), entry).prop_map(|(x, y, z)| DVec3::new(x, y, z))
    }

    proptest! {
        #[test]
        fn a_rigid_motion_is_recovered_from_its_points(
            points in proptest::collection::vec(vector(0.01), 4..9),
            axis in vector(1.0).prop_filter("a direction", |axis| axis.length() > 0.1),
            angle in -1.5..1.5,
            moved in vector(1.0),
            other in vector(0.01),
        ) {
            let turn = DQuat::from_axis_angle(axis.normalize(), angle);
            let paths = points.iter().map(|point| [*point, turn * *point + moved]);
            let paths: Vec<[DVec3; 2]> = paths.collect();
            let middle = points.iter().sum::<DVec3>() / points.len() as f64;
            let spread = points.iter().fold(DMat3::ZERO, |sum, point| {
                let arm = *point - middle;
                sum + DMat3::from_cols(arm * arm.x, arm * arm.y, arm * arm.z)
            });
            prop_assume!(Principal::of(&spread).stretches.y > 1e-7);
            let found = RigidMotion::nearest(&paths);
            let expected = turn * other + moved - other;
            // REGULARIZATION over the second moment that determines the rotation, at least 1e-7
            // of 1e-3.
            let error = (found.displacement(other) - expected).length();
            prop_assert!(error < 1e-6, "{error}");
            prop_assert!((found.change(other) - (turn * other - other)).length() < 1e-6);
        }

        #[test]
        fn collinear_points_do_not_rotate_about_their_line(
            along in vector(1.0).prop_filter("a direction", |it| it.length() > 0.1),
            angle in -1.0..1.0,
        ) {
            let axis = along.normalize().any_orthonormal_vector();
            let turn = DQuat::from_axis_angle(axis, angle);
            let paths = [[DVec3::ZERO, DVec3::ZERO], [along, turn * along]];
            let found = RigidMotion::nearest(&paths);
            prop_assert!((found.change(axis)).length() < 1e-6, "{}", found.change(axis).length());
        }
    }

    /// A hair lies 1 µm beside another. The first points of both are held by a head that turns by
    /// three degrees.
    #[test]
    fn hair_beside_another_stays_clear_only_if_it_rotates_with_the_head() {
        let turn = DQuat::from_rotation_z(3.0f64.to_radians());
        let held = [[-6e-3, 1e-6], [0.0, 1e-6], [0.0, 0.0], [6e-3, 0.0]];
        let paths = held
            .map(|[x, y]| DVec3::new(x, y, 0.0))
            .map(|point| [point, turn * point]);
        let free = DVec3::new(6e-3, 1e-6, 0.0);
        let least = |moved: DVec3| {
            let at = |[from, to]: [DVec3; 2], time: f64| from.lerp(to, time);
            let distance = |time: f64| {
                let end = at([free, free + moved], time);
                let [first, second, third] = [1, 2, 3].map(|point| at(paths[point], time));
                edge_edge([first, end, second, third]).distance
            };
            (0..=100)
                .map(|time| distance(f64::from(time) / 100.0))
                .fold(1.0, f64::min)
        };
        let mean = paths.iter().map(|[from, to]| *to - *from).sum::<DVec3>() / 4.0;
        assert!(least(mean) < 1e-8, "{}", least(mean));
        // Chords are shorter than arcs: 1 - cos 1.5 degrees of the distance is lost.
        let kept = least(RigidMotion::nearest(&paths).displacement(free));
        assert!((kept - 0.99966e-6).abs() < 1e-10, "{kept}");
    }

    #[test]
    fn no_point_and_one_point_cause_no_rotation() {
        assert_eq!(
            RigidMotion::nearest(&[]).displacement(DVec3::X),
            DVec3::ZERO
        );
        let one = RigidMotion::nearest(&[[DVec3::Y, DVec3::Z]]);
        assert_eq!(one.displacement(DVec3::X), DVec3::Z - DVec3::Y);
        assert_eq!(
            RigidMotion::translation(DVec3::Z).displacement(DVec3::X),
            DVec3::Z
        );
    }
}
