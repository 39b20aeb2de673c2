//! Volume, centre and inertia of the inside of a closed surface.
//!
//! Every triangle forms a tetrahedron with a reference point, whose volume is negative if the
//! normal points towards the reference point. Over a tetrahedron with one corner at the origin and
//! the others at a, b, c, of volume V, the integrals are exactly ∫ x = V/4 (a + b + c) and
//! ∫ x xᵀ = V/20 (aaᵀ + bbᵀ + ccᵀ + ssᵀ), with s = a + b + c (Blow and Binstock, How to find the
//! inertia tensor of a 3D solid body represented by a triangle mesh, 2004; the same polynomials as
//! in Mirtich, Fast and accurate computation of polyhedral mass properties, 1996). Parts outside
//! the surface cancel.

use glam::{DMat3, DVec3};

/// Volume, centre and inertia of a body of density 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MassProperties {
    /// Volume (m³); negative if the normals point inwards.
    pub volume: f64,
    /// Centre of mass (m).
    pub centre: DVec3,
    /// Inertia about the centre for a density of 1 kg/m³ (kg m²).
    pub inertia: DMat3,
}

/// Volume, centre and inertia of the inside of a closed surface. Triangles with missing vertices
/// are skipped.
///
/// The result is not meaningful for a surface with a hole.
#[must_use]
pub fn volume_properties(points: &[DVec3], triangles: &[[u32; 3]]) -> MassProperties {
    let corners = |triangle: &[u32; 3]| -> Option<[DVec3; 3]> {
        let [a, b, c] = triangle.map(|vertex| points.get(vertex as usize).copied());
        Some([a?, b?, c?])
    };
    let (mut low, mut high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
    for corner in triangles.iter().filter_map(corners).flatten() {
        low = low.min(corner);
        high = high.max(corner);
    }
    // A reference point inside the bounding box avoids cancellation far from the origin.
    let middle = if low.is_finite() && high.is_finite() {
        0.5 * low + 0.5 * high
    } else {
        DVec3::ZERO
    };
    let (mut volume, mut first, mut second) = (0.0, DVec3::ZERO, DMat3::ZERO);
    for corners in triangles.iter().filter_map(corners) {
        let [a, b, c] = corners.map(|corner| corner - middle);
        let part = a.cross(b).dot(c) / 6.0;
        let sum = a + b + c;
        volume += part;
        first += 0.25 * part * sum;
        second += (square(a) + square(b) + square(c) + square(sum)) * (part / 20.0);
    }
    let offset = first / volume;
    let offset = if offset.is_finite() {
        offset
    } else {
        DVec3::ZERO
    };
    let second = second - square(offset) * volume;
    MassProperties {
        volume,
        centre: middle + offset,
        inertia: DMat3::from_diagonal(DVec3::splat(trace(&second))) - second,
    }
}

fn square(vector: DVec3) -> DMat3 {
    DMat3::from_cols(vector * vector.x, vector * vector.y, vector * vector.z)
}

fn trace(matrix: &DMat3) -> f64 {
    matrix.x_axis.x + matrix.y_axis.y + matrix.z_axis.z
}

/// Eigenvectors, as the columns of a rotation, and eigenvalues, ascending, of a symmetric matrix.
///
/// Jacobi's method: rotations in the planes of two axes, each of which annihilates one off-diagonal
/// element (Golub and Van Loan, Matrix Computations, section 8.5). It is accurate for small
/// eigenvalues, and the vectors of equal ones are orthogonal. The largest component of each of the
/// first two vectors is positive.
#[must_use]
pub fn eigen(symmetric: DMat3) -> (DMat3, DVec3) {
    let mut matrix = symmetric.to_cols_array_2d();
    let mut vectors = DMat3::IDENTITY.to_cols_array_2d();
    // Convergence is quadratic: about 4 sweeps. The limit is for numbers that are not finite.
    for _ in 0..20 {
        let off_diagonal = matrix[0][1].abs() + matrix[0][2].abs() + matrix[1][2].abs();
        let diagonal = matrix[0][0].abs() + matrix[1][1].abs() + matrix[2][2].abs();
        if off_diagonal <= f64::EPSILON * 1e-2 * diagonal {
            break;
        }
        for [p, q] in [[0, 1], [0, 2], [1, 2]] {
            rotate(&mut matrix, &mut vectors, p, q);
        }
    }
    let mut order = [0, 1, 2];
    order.sort_by(|&i, &j| matrix[i][i].total_cmp(&matrix[j][j]));
    let axis = |index: usize| {
        let axis = DVec3::from(vectors[index]);
        axis * axis[axis.abs().max_position()].signum()
    };
    let (first, second) = (axis(order[0]), axis(order[1]));
    let axes = DMat3::from_cols(first, second, first.cross(second));
    (axes, DVec3::from(order.map(|index| matrix[index][index])))
}

/// Annihilates the element (p, q) by a rotation. `vectors[i]` is eigenvector i.
fn rotate(matrix: &mut [[f64; 3]; 3], vectors: &mut [[f64; 3]; 3], p: usize, q: usize) {
    let element = matrix[p][q];
    if element == 0.0 {
        return;
    }
    let ratio = (matrix[q][q] - matrix[p][p]) / (2.0 * element);
    // The smaller of the two angles.
    let tangent = ratio.signum() / (ratio.abs() + ratio.hypot(1.0));
    let cosine = 1.0 / tangent.hypot(1.0);
    let sine = tangent * cosine;
    let other = 3 - p - q;
    matrix[p][p] -= tangent * element;
    matrix[q][q] += tangent * element;
    matrix[p][q] = 0.0;
    matrix[q][p] = 0.0;
    let (with_p, with_q) = (matrix[p][other], matrix[q][other]);
    matrix[p][other] = cosine * with_p - sine * with_q;
    matrix[q][other] = sine * with_p + cosine * with_q;
    matrix[other][p] = matrix[p][other];
    matrix[other][q] = matrix[q][other];
    for component in 0..3 {
        let (of_p, of_q) = (vectors[p][component], vectors[q][component]);
        vectors[p][component] = cosine * of_p - sine * of_q;
        vectors[q][component] = sine * of_p + cosine * of_q;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::shape::Shape;
    use glam::DQuat;
    use proptest::prelude::*;

    fn vector() -> impl Strategy<Value = DVec3> {
        [-3.0..3.0_f64, -3.0..3.0, -3.0..3.0].prop_map(DVec3::from)
    }

    fn largest(matrix: DMat3) -> f64 {
        let entries = matrix.to_cols_array();
        entries
            .iter()
            .fold(0.0, |most, entry| entry.abs().max(most))
    }

    proptest! {
        #[test]
        fn a_box_in_any_pose_has_the_analytic_inertia(
            size in [0.1..3.0_f64, 0.1..3.0, 0.1..3.0],
            axis in vector(),
            angle in 0.0..6.0_f64,
            shift in vector(),
        ) {
            let mesh = Shape::Box { size }.surface(Some(0.7)).unwrap();
            let turn = DQuat::from_axis_angle(axis.try_normalize().unwrap_or(DVec3::X), angle);
            let points: Vec<_> = mesh.points.iter().map(|&point| turn * point + shift).collect();
            let properties = volume_properties(&points, &mesh.triangles);
            let volume: f64 = size.iter().product();
            prop_assert!((properties.volume / volume - 1.0).abs() < 1e-12);
            prop_assert!(properties.centre.distance(shift) < 1e-12);
            // A box of sides a, b, c has V (b² + c²)/12 about its first axis.
            let squares = DVec3::from(size) * DVec3::from(size);
            let moments = (DVec3::splat(squares.element_sum()) - squares) * volume / 12.0;
            let turned = DMat3::from_quat(turn);
            let inertia = turned * DMat3::from_diagonal(moments) * turned.transpose();
            prop_assert!(largest(inertia - properties.inertia) < 1e-12 * moments.max_element());

            let (axes, found) = eigen(properties.inertia);
            let mut sorted = moments.to_array();
            sorted.sort_by(f64::total_cmp);
            prop_assert!((found - DVec3::from(sorted)).abs().max_element() < 1e-11 * sorted[2]);
            prop_assert!((axes.determinant() - 1.0).abs() < 1e-12);
            let again = axes * DMat3::from_diagonal(found) * axes.transpose();
            prop_assert!(largest(again - properties.inertia) < 1e-12 * sorted[2]);
        }

        #[test]
        fn eigenvectors_are_a_rotation_that_diagonalizes_the_matrix(
            entries in [-1.0..1.0_f64, -1.0..1.0, -1.0..1.0, -1e-9..1e-9, -1e-9..1e-9, -1.0..1.0]
        ) {
            let [xx, yy, zz, xy, xz, yz] = entries;
            let matrix = DMat3::from_cols_array(&[xx, xy, xz, xy, yy, yz, xz, yz, zz]);
            let (axes, values) = eigen(matrix);
            prop_assert!(largest(axes.transpose() * axes - DMat3::IDENTITY) < 1e-14);
            prop_assert!(largest(matrix * axes - axes * DMat3::from_diagonal(values)) < 1e-14);
            prop_assert!(values.x <= values.y && values.y <= values.z);
        }
    }

    #[test]
    fn a_sphere_converges_with_the_square_of_the_edge() {
        let mut errors = Vec::new();
        for edge in [0.2, 0.1, 0.05] {
            let mesh = Shape::Sphere { radius: 1.0 }.surface(Some(edge)).unwrap();
            let properties = volume_properties(&mesh.points, &mesh.triangles);
            let volume = 4.0 / 3.0 * std::f64::consts::PI;
            let inertia = DMat3::from_diagonal(DVec3::splat(0.4 * volume));
            errors.push([
                (properties.volume - volume).abs(),
                largest(properties.inertia - inertia),
            ]);
        }
        for pair in errors.windows(2) {
            for (coarse, fine) in pair[0].iter().zip(pair[1]) {
                assert!((3.0..5.0).contains(&(coarse / fine)), "{errors:?}");
            }
        }
        assert!(errors[2][0] < 6e-3, "{errors:?}");
    }

    #[test]
    fn empty_meshes_and_infinite_matrices_have_finite_results() {
        let properties = volume_properties(&[], &[[0, 1, 2]]);
        assert_eq!((properties.volume, properties.centre), (0.0, DVec3::ZERO));
        let (axes, _) = eigen(DMat3::from_diagonal(DVec3::NAN));
        assert!(axes.is_finite());
    }
}
