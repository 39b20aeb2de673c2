//! How easily a node moves, as the weights of ADMM need it.
//!
//! The diagonal of A says how hard it is to move a node against its neighbours. In a stiff body that is far too hard: the body moves as
//! a whole instead, by its mass and inertia.

use glam::{DMat3, DVec3};

use crate::symmetric::outer;

/// How much a unit impulse at each node of a body moves it (1/kg) if the body moves rigidly, averaged over the directions:
/// a third of the trace of 1/M − \[a\] J⁻¹ \[a\], where \[a\] is the cross product with a, the way from the centre of mass.
///
/// # Panics
/// If there is not a mass for every position.
pub fn rigid(masses: &[f64], positions: &[DVec3]) -> Vec<f64> {
    assert_eq!(masses.len(), positions.len());
    let nodes = || masses.iter().zip(positions);
    let mass: f64 = masses.iter().sum();
    let moment = nodes().fold(DVec3::ZERO, |sum, (m, x)| sum + *x * *m);
    let centre = moment / mass;
    let inertia = nodes().fold(DMat3::ZERO, |sum, (m, x)| {
        let arm = *x - centre;
        let square = DMat3::from_diagonal(DVec3::splat(arm.length_squared()));
        sum + (square - outer(arm, arm)) * *m
    });
    // Nodes on a line do not turn about it: the arm has nothing there, whatever is added to J.
    let trace = inertia.x_axis.x + inertia.y_axis.y + inertia.z_axis.z;
    let inverse = match trace > 0.0 {
        true => (inertia + DMat3::from_diagonal(DVec3::splat(1e-9 * trace))).inverse(),
        false => DMat3::ZERO,
    };
    let of_node = |x: &DVec3| {
        let arm = *x - centre;
        let turn = |axis: DVec3| {
            let lever = arm.cross(axis);
            lever.dot(inverse * lever)
        };
        mass.recip() + (turn(DVec3::X) + turn(DVec3::Y) + turn(DVec3::Z)) / 3.0
    };
    positions.iter().map(of_node).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_balls_on_a_stick_turn_about_their_middle() {
        let mobilities = rigid(&[2.0, 2.0], &[DVec3::X, DVec3::NEG_X]);
        // Along the stick 1/M = 1/4; across it 1/4 + 1/J with J = 4: each two directions of three.
        let wanted = (0.25 + 0.5 + 0.5) / 3.0;
        assert!((mobilities[0] - wanted).abs() < 1e-8, "{mobilities:?}");
        assert_eq!(mobilities[0], mobilities[1]);
    }

    #[test]
    fn one_node_moves_by_its_own_mass() {
        assert_eq!(rigid(&[4.0], &[DVec3::splat(3.0)]), [0.25]);
    }

    #[test]
    fn a_rigid_impulse_moves_the_node_as_much() {
        let masses = [1.0, 2.0, 0.5, 3.0, 1.5];
        let positions = [
            DVec3::ZERO,
            DVec3::new(1.0, 0.2, 0.0),
            DVec3::new(0.1, 1.3, 0.4),
            DVec3::new(-0.7, 0.3, 1.1),
            DVec3::new(0.4, -0.9, 0.6),
        ];
        // The rigid motion with momentum p at node 3 in three directions: solved from the six balances, by
        // minimising the kinetic energy over rigid motions, which is v = V + Ω × a.
        let mass: f64 = masses.iter().sum();
        let pairs = || masses.iter().zip(&positions);
        let centre = pairs().map(|(m, x)| *x * *m).sum::<DVec3>() / mass;
        let momentum_of = |spin: DVec3| -> DVec3 {
            pairs()
                .map(|(m, x)| (*x - centre).cross(spin.cross(*x - centre)) * *m)
                .sum()
        };
        let inertia = DMat3::from_cols(
            momentum_of(DVec3::X),
            momentum_of(DVec3::Y),
            momentum_of(DVec3::Z),
        );
        let arm = positions[3] - centre;
        let moved = |p: DVec3| (p / mass + (inertia.inverse() * arm.cross(p)).cross(arm)).dot(p);
        let wanted = (moved(DVec3::X) + moved(DVec3::Y) + moved(DVec3::Z)) / 3.0;
        let found = rigid(&masses, &positions)[3];
        assert!((found - wanted).abs() < 1e-8 * wanted, "{found} {wanted}");
    }
}
