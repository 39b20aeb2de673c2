//! Weights of the edge angles in the curvature of a vertex: the matrices b, X, F and W of
//! [`super`].

use super::fan::{Fan, FlatFan};
use crate::energy::hinge::outer;
use glam::{DMat3, DVec2, DVec3};

/// Lower bound of F relative to A C⁻¹. Without it, a vertex would be far too stiff against
/// curvatures that hardly change its angles.
const MIN_RELATIVE_AREA: f64 = 0.5;

/// Two free edges form a smooth boundary if the cosine between their normals is above this.
const SMOOTH_COSINE: f64 = 0.7;

/// Boundary condition at an end of an open fan.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// The normal moment is zero.
    Free,
    /// The normal of the sheet is given.
    Clamped,
}

/// An edge from the vertex to a neighbour.
#[derive(Clone, Copy)]
pub(super) struct Spoke {
    /// Row of b: maps (σ₁₁, σ₂₂, σ₁₂) to half the length of the edge times its normal moment.
    moment: DVec3,
    /// Row of X: angle of the edge under unit (κ₁₁, κ₂₂, 2κ₁₂).
    response: DVec3,
}

/// Spokes of a fan; `None` for those without an angle.
pub(super) fn spokes(fan: &Fan, flat: &FlatFan, ends: [End; 2]) -> Vec<Option<Spoke>> {
    let last = fan.ring.len() - 1;
    let spoke = |place: usize| {
        let sides = [fan.after(place), fan.before(place)].map(|s| s.map(|s| flat.points[s]));
        let free_first = place == 0 && ends[0] == End::Free;
        let free_last = place == last && ends[1] == End::Free;
        if !fan.closed && (free_first || free_last) {
            return None;
        }
        spoke_between(flat.points[place], sides)
    };
    (0..=last).map(spoke).collect()
}

/// The spoke to `tip` with the neighbours to its left and right; without a neighbour, the side is
/// clamped.
fn spoke_between(tip: DVec2, sides: [Option<DVec2>; 2]) -> Option<Spoke> {
    let length = tip.length();
    let axis = tip / length;
    let across = axis.perp();
    let mut response = DVec3::ZERO;
    for (side, outward) in sides.into_iter().zip([across, -across]) {
        response += match side {
            Some(opposite) => {
                let height = outward.dot(opposite);
                if height <= 1e-9 * length {
                    return None;
                }
                let foot = axis.dot(opposite) / length;
                (heights(opposite) - heights(tip) * foot) / height
            }
            None => slopes(0.5 * tip, outward),
        };
    }
    let moment = 0.5 * length * normal_normal(across);
    Some(Spoke { moment, response })
}

/// Heights at a point of the quadratic surfaces with unit (κ₁₁, κ₂₂, 2κ₁₂).
fn heights(point: DVec2) -> DVec3 {
    DVec3::new(point.x * point.x, point.y * point.y, point.x * point.y) * 0.5
}

/// Slopes at a point, in a direction, of the quadratic surfaces with unit (κ₁₁, κ₂₂, 2κ₁₂).
fn slopes(point: DVec2, direction: DVec2) -> DVec3 {
    let mixed = 0.5 * (point.x * direction.y + point.y * direction.x);
    DVec3::new(point.x * direction.x, point.y * direction.y, mixed)
}

/// Row that maps (σ₁₁, σ₂₂, σ₁₂) to m·σm.
fn normal_normal(m: DVec2) -> DVec3 {
    DVec3::new(m.x * m.x, m.y * m.y, 2.0 * m.x * m.y)
}

/// Outward normals of the free edges of a fan, in its plane; one if the boundary is smooth.
pub(super) fn free_directions(fan: &Fan, flat: &FlatFan, ends: [End; 2]) -> Vec<DVec2> {
    if fan.closed {
        return Vec::new();
    }
    let last = fan.ring.len() - 1;
    let outward = [-flat.points[0].perp(), flat.points[last].perp()].map(DVec2::normalize_or_zero);
    match ends {
        [End::Free, End::Free] if outward[0].dot(outward[1]) > SMOOTH_COSINE => {
            vec![(outward[0] + outward[1]).normalize_or_zero()]
        }
        _ => (0..2)
            .filter(|end| ends[*end] == End::Free)
            .map(|end| outward[end])
            .collect(),
    }
}

/// Columns of W = F^−½ bᵀ for unit rigidity, each with the place of its spoke.
pub(super) fn weights(
    spokes: &[(usize, Spoke)],
    free_directions: &[DVec2],
    area: f64,
    poisson: f64,
) -> Vec<(usize, DVec3)> {
    // Moments σ = Zs with |s|² = σ·C⁻¹σ.
    let (even, odd) = (
        (0.5 * (1.0 + poisson)).sqrt(),
        (0.5 * (1.0 - poisson)).sqrt(),
    );
    let z = DMat3::from_cols(
        DVec3::new(even, even, 0.0),
        DVec3::new(odd, -odd, 0.0),
        DVec3::new(0.0, 0.0, odd),
    );
    let (transposed, inverse) = (z.transpose(), z.inverse());
    let mut allowed = DMat3::IDENTITY;
    for direction in free_directions {
        let forbidden = allowed * (transposed * normal_normal(*direction));
        let forbidden = forbidden.normalize_or_zero();
        allowed -= outer(forbidden, forbidden);
    }
    let mut tensor = DMat3::ZERO;
    for (_, spoke) in spokes {
        tensor += outer(transposed * spoke.moment, inverse * spoke.response);
    }
    let symmetric = allowed * ((tensor + tensor.transpose()) * 0.5) * allowed;
    let (values, axes) = eigensystem(symmetric);
    let scale = values.map(|value| 1.0 / value.max(MIN_RELATIVE_AREA * area).sqrt());
    let to_rows = DMat3::from_diagonal(DVec3::from_array(scale)) * axes.transpose() * allowed;
    spokes
        .iter()
        .map(|(place, spoke)| (*place, to_rows * (transposed * spoke.moment)))
        .collect()
}

/// Eigenvalues and eigenvectors (columns) of a symmetric matrix, by Jacobi rotations.
fn eigensystem(mut a: DMat3) -> ([f64; 3], DMat3) {
    let mut axes = DMat3::IDENTITY;
    for _ in 0..12 {
        for (p, q) in [(0, 1), (0, 2), (1, 2)] {
            let mixed = a.col(q)[p];
            if mixed == 0.0 {
                continue;
            }
            let tau = (a.col(q)[q] - a.col(p)[p]) / (2.0 * mixed);
            let tangent = tau.signum() / (tau.abs() + tau.hypot(1.0));
            let cosine = 1.0 / tangent.hypot(1.0);
            let sine = tangent * cosine;
            let mut turn = DMat3::IDENTITY;
            turn.col_mut(p)[p] = cosine;
            turn.col_mut(q)[q] = cosine;
            turn.col_mut(q)[p] = sine;
            turn.col_mut(p)[q] = -sine;
            a = turn.transpose() * a * turn;
            axes *= turn;
        }
    }
    ([0, 1, 2].map(|i| a.col(i)[i]), axes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_eigensystem_reproduces_its_matrix(e in proptest::array::uniform6(-1.0..1.0f64)) {
            let [a, b, c, d, f, g] = e;
            let matrix = DMat3::from_cols_array(&[a, b, c, b, d, f, c, f, g]);
            let (values, axes) = eigensystem(matrix);
            let again = axes * DMat3::from_diagonal(DVec3::from_array(values)) * axes.transpose();
            prop_assert!(again.abs_diff_eq(matrix, 1e-13));
            prop_assert!((axes * axes.transpose()).abs_diff_eq(DMat3::IDENTITY, 1e-13));
        }
    }

    #[test]
    fn regular_fans_have_the_exact_energy_of_constant_curvature() {
        // Six equilateral triangles have F = A C⁻¹: the energy of κ is A/2 κ·Cκ.
        let points: Vec<DVec2> = (0..6)
            .map(|k| DVec2::from_angle(std::f64::consts::TAU * f64::from(k) / 6.0))
            .collect();
        let fan = Fan {
            centre: 0,
            ring: (1..7).collect(),
            closed: true,
        };
        let area = 0.75f64.sqrt();
        let flat = FlatFan { points, area };
        let poisson = 0.3;
        let spokes: Vec<(usize, Spoke)> = spokes(&fan, &flat, [End::Free; 2])
            .into_iter()
            .flatten()
            .enumerate()
            .collect();
        let weights = weights(&spokes, &[], area, poisson);
        for curvature in [DVec3::X, DVec3::Y, DVec3::Z, DVec3::new(1.0, -2.0, 0.7)] {
            let row: DVec3 = spokes
                .iter()
                .zip(&weights)
                .map(|(spoke, weight)| weight.1 * spoke.1.response.dot(curvature))
                .sum();
            let DVec3 { x, y, z } = curvature;
            let expected = x * x + y * y + 2.0 * poisson * x * y + 0.5 * (1.0 - poisson) * z * z;
            assert!((row.length_squared() - area * expected).abs() < 1e-13);
        }
    }
}
