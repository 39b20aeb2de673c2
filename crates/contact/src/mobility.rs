//! Mobilities of nodes, for the weights of ADMM.
//!
//! The diagonal block of A is the resistance of a node against its neighbours. In a stiff body it
//! overestimates the resistance: the body moves as a whole, by its mass and inertia.

use glam::{DMat3, DVec3};

use crate::symmetric::outer;

/// Velocity of each node of a rigid body per unit impulse at the node (1/kg), averaged over the
/// directions: a third of the trace of 1/M − \[a\] J⁻¹ \[a\], where \[a\] is the cross product with
/// the lever arm a from the centre of mass.
///
/// # Panics
/// If the numbers of masses and positions differ.
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
    // For nodes on a line J is singular. The regularisation has no effect there, since a × e has no
    // component along the line.
    let trace = inertia.x_axis.x + inertia.y_axis.y + inertia.z_axis.z;
    let inverse = if trace > 0.0 {
        (inertia + DMat3::from_diagonal(DVec3::splat(1e-9 * trace))).inverse()
    } else {
        DMat3::ZERO
    };
    let mobility = |x: &DVec3| {
        let arm = *x - centre;
        let rotation = |axis: DVec3| {
            let lever = arm.cross(axis);
            lever.dot(inverse * lever)
        };
        mass.recip() + (rotation(DVec3::X) + rotation(DVec3::Y) + rotation(DVec3::Z)) / 3.0
    };
    positions.iter().map(mobility).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_masses_on_a_rigid_rod_rotate_about_their_centre() {
        let mobilities = rigid(&[2.0, 2.0], &[DVec3::X, DVec3::NEG_X]);
        // Along the rod 1/M = 1/4; in the two directions across it 1/4 + 1/J with J = 4.
        let wanted = (0.25 + 0.5 + 0.5) / 3.0;
        assert!((mobilities[0] - wanted).abs() < 1e-8, "{mobilities:?}");
        assert_eq!(mobilities[0], mobilities[1]);
    }

    #[test]
    fn the_mobility_of_a_single_node_is_its_inverse_mass() {
        assert_eq!(rigid(&[4.0], &[DVec3::splat(3.0)]), [0.25]);
    }

    #[test]
    fn the_mobility_agrees_with_the_rigid_response_to_an_impulse() {
        let masses = [1.0, 2.0, 0.5, 3.0, 1.5];
        let positions = [
            DVec3::ZERO,
            DVec3::new(1.0, 0.2, 0.0),
            DVec3::new(0.1, 1.3, 0.4),
            DVec3::new(-0.7, 0.3, 1.1),
            DVec3::new(0.4, -0.9, 0.6),
        ];
        // The rigid motion v = V + Ω × a after an impulse p at node 3, from the balances of linear
        // and angular momentum.
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
