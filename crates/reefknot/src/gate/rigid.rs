//! The rigid motion of a zone in a step, with all of its turn: what turns with a head by a few degrees goes along arcs, and a hair beside its root has less
//! than a micrometre to leave that.

use glam::{DMat3, DVec3};

use crate::energy::principal::Principal;

/// What places leave open, such as the turn about a line through all of them, is as small as can be: by this part of what they say.
const OPEN: f64 = 1e-9;

/// A motion that keeps all distances.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rigid {
    from: DVec3,
    to: DVec3,
    turn: DMat3,
}

impl Rigid {
    /// The same displacement everywhere.
    pub(super) fn translation(displacement: DVec3) -> Rigid {
        Rigid {
            from: DVec3::ZERO,
            to: displacement,
            turn: DMat3::IDENTITY,
        }
    }

    /// The one that brings places nearest to where they end, in the mean of squares; nothing moves if there are none.
    pub(super) fn nearest(ways: &[[DVec3; 2]]) -> Rigid {
        let count = ways.len().max(1) as f64;
        let [from, to] = [0, 1].map(|end| ways.iter().map(|way| way[end]).sum::<DVec3>() / count);
        let (mut moments, mut size) = (DMat3::ZERO, 0.0);
        for [place, end] in ways {
            let (arm, turned) = (*place - from, *end - to);
            moments += DMat3::from_cols(turned * arm.x, turned * arm.y, turned * arm.z);
            size += arm.length_squared();
        }
        let moments = moments + DMat3::IDENTITY * (OPEN * size);
        Rigid {
            from,
            to,
            turn: Principal::of(&moments).rotation(),
        }
    }

    /// How far a place moves (m).
    pub(super) fn displacement(&self, place: DVec3) -> DVec3 {
        self.turn * (place - self.from) + self.to - place
    }

    /// By how much a vector changes.
    pub(super) fn change(&self, vector: DVec3) -> DVec3 {
        self.turn * vector - vector
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
        fn places_that_move_rigidly_tell_their_motion(
            places in proptest::collection::vec(vector(0.01), 4..9),
            axis in vector(1.0).prop_filter("a direction", |axis| axis.length() > 0.1),
            angle in -1.5..1.5,
            moved in vector(1.0),
            other in vector(0.01),
        ) {
            let turn = DQuat::from_axis_angle(axis.normalize(), angle);
            let ways: Vec<[DVec3; 2]> = places.iter().map(|place| [*place, turn * *place + moved]).collect();
            let middle = places.iter().sum::<DVec3>() / places.len() as f64;
            let spread = places.iter().fold(DMat3::ZERO, |sum, place| {
                let arm = *place - middle;
                sum + DMat3::from_cols(arm * arm.x, arm * arm.y, arm * arm.z)
            });
            prop_assume!(Principal::of(&spread).stretches.y > 1e-7);
            let found = Rigid::nearest(&ways);
            let expected = turn * other + moved - other;
            // OPEN over the part of the second moment, 1e-7 of 1e-3 at most, that tells the turn.
            prop_assert!((found.displacement(other) - expected).length() < 1e-6, "{}", (found.displacement(other) - expected).length());
            prop_assert!((found.change(other) - (turn * other - other)).length() < 1e-6);
        }

        #[test]
        fn a_line_of_places_does_not_turn_about_itself(along in vector(1.0).prop_filter("a direction", |it| it.length() > 0.1), angle in -1.0..1.0) {
            let axis = along.normalize().any_orthonormal_vector();
            let turn = DQuat::from_axis_angle(axis, angle);
            let ways = [[DVec3::ZERO, DVec3::ZERO], [along, turn * along]];
            let found = Rigid::nearest(&ways);
            prop_assert!((found.change(axis)).length() < 1e-6, "{}", found.change(axis).length());
        }
    }

    /// A hair lies 1 um beside another, both held to their first places on a head that turns by three degrees.
    #[test]
    fn hair_that_lies_beside_another_keeps_clear_only_if_it_turns_with_it() {
        let turn = DQuat::from_rotation_z(3.0f64.to_radians());
        let held = [[-6e-3, 1e-6], [0.0, 1e-6], [0.0, 0.0], [6e-3, 0.0]];
        let ways = held
            .map(|[x, y]| DVec3::new(x, y, 0.0))
            .map(|place| [place, turn * place]);
        let free = DVec3::new(6e-3, 1e-6, 0.0);
        let least = |moved: DVec3| {
            let at = |[from, to]: [DVec3; 2], time: f64| from.lerp(to, time);
            let distance = |time: f64| {
                let end = at([free, free + moved], time);
                edge_edge([at(ways[1], time), end, at(ways[2], time), at(ways[3], time)]).distance
            };
            (0..=100)
                .map(|time| distance(f64::from(time) / 100.0))
                .fold(1.0, f64::min)
        };
        let mean = ways.iter().map(|[from, to]| *to - *from).sum::<DVec3>() / 4.0;
        assert!(least(mean) < 1e-8, "{}", least(mean));
        // Along chords of the arcs, 1 - cos 1.5 degrees is lost.
        let kept = least(Rigid::nearest(&ways).displacement(free));
        assert!((kept - 0.99966e-6).abs() < 1e-10, "{kept}");
    }

    #[test]
    fn nothing_and_one_place_do_not_turn() {
        assert_eq!(Rigid::nearest(&[]).displacement(DVec3::X), DVec3::ZERO);
        let one = Rigid::nearest(&[[DVec3::Y, DVec3::Z]]);
        assert_eq!(one.displacement(DVec3::X), DVec3::Z - DVec3::Y);
        assert_eq!(
            Rigid::translation(DVec3::Z).displacement(DVec3::X),
            DVec3::Z
        );
    }
}
