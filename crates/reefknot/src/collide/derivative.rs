//! First and second derivative of the distance between two features, by the positions of the four points.
//!
//! One formula serves all regions. The closest points minimise ½|v|² over the fractions sⱼ along the sides that they lie inside of,
//! v = Σ wᵢxᵢ. With tⱼ = ∂v/∂sⱼ = Σ cⱼᵢxᵢ and A = (tⱼ·tₗ), the implicit function theorem gives
//!
//! ∂/∂xᵢ ½d² = wᵢ v,  ∂²/∂xᵢ∂xₖ ½d² = wᵢwₖ I − Σ (wᵢtⱼ + cⱼᵢv) (A⁻¹)ⱼₗ (wₖtₗ + cₗₖv)ᵀ,
//!
//! and from it that of d = |v| with n = v/d: ∂d/∂xᵢ = wᵢ n, ∂²d/∂xᵢ∂xₖ = (∂²(½d²) − wᵢwₖ nnᵀ)/d. The normal n comes from the
//! closest points, never from a cross product, so it stays right where edges become parallel.
//!
//! Where A is singular (edges side by side, needles) the points can slide without a change of distance; that direction is left
//! out of A⁻¹, as if they could not, and the derivative stays finite. At distance 0 half the square has its derivatives, the distance
//! itself has none. Across the border of two regions the first derivative is continuous, the second is not.

#[cfg(test)]
mod tests;

use glam::{DMat3, DVec3};

use super::distance::Closest;

/// Two unit tangents that differ by less than this count as one.
const PARALLEL: f64 = 1e-6;

/// A function of four points, to second order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Derivatives {
    /// By the position of each point.
    pub gradient: [DVec3; 4],
    /// By pairs of points: block `[i][k]` is ∂²/∂xᵢ∂xₖ.
    pub hessian: [[DMat3; 4]; 4],
}

/// How the vector between the closest points changes along a side that one of them lies inside of.
struct Tangent {
    /// t, of unit length.
    direction: DVec3,
    /// c of the two ends of the side, (point, coefficient), for a unit t.
    ends: [(usize, f64); 2],
}

/// The derivatives of the distance (m); nothing where it is 0 or not finite.
#[must_use]
pub fn of_distance(points: &[DVec3; 4], closest: &Closest) -> Option<Derivatives> {
    let (weights, distance) = (closest.weights, closest.distance);
    let normal = closest.vector / distance;
    if !(distance > 0.0 && normal.is_finite()) {
        return None;
    }
    let square = of_half_square(points, closest);
    let stretch = outer(normal, normal);
    let mut hessian = square.hessian;
    for (i, row) in hessian.iter_mut().enumerate() {
        for (k, block) in row.iter_mut().enumerate() {
            *block = (*block - stretch * (weights[i] * weights[k])) * distance.recip();
        }
    }
    Some(Derivatives {
        gradient: weights.map(|weight| normal * weight),
        hessian,
    })
}

/// The derivatives of half the square of the distance (m²).
#[must_use]
pub fn of_half_square(points: &[DVec3; 4], closest: &Closest) -> Derivatives {
    let (weights, vector) = (closest.weights, closest.vector);
    let mut hessian = [[DMat3::ZERO; 4]; 4];
    for (i, row) in hessian.iter_mut().enumerate() {
        for (k, block) in row.iter_mut().enumerate() {
            *block = DMat3::from_diagonal(DVec3::splat(weights[i] * weights[k]));
        }
    }
    for (share, slide) in sliding(points, closest) {
        for (i, row) in hessian.iter_mut().enumerate() {
            for (k, block) in row.iter_mut().enumerate() {
                *block -= outer(slide[i], slide[k]) * share;
            }
        }
    }
    Derivatives {
        gradient: weights.map(|weight| vector * weight),
        hessian,
    }
}

/// The terms of Σ (wᵢtⱼ + cⱼᵢv) (A⁻¹)ⱼₗ (wₖtₗ + cₗₖv)ᵀ, diagonalised: an eigenvalue of A⁻¹ with its vector for each point.
fn sliding(points: &[DVec3; 4], closest: &Closest) -> impl Iterator<Item = (f64, [DVec3; 4])> {
    let of = |tangent: &Tangent| {
        let mut slide = closest.weights.map(|weight| tangent.direction * weight);
        for (point, coefficient) in tangent.ends {
            slide[point] += closest.vector * coefficient;
        }
        slide
    };
    let terms = match tangents(points, closest) {
        [Some(only), None] | [None, Some(only)] => [Some((1.0, of(&only))), None],
        // Of unit tangents, A has 1 on its diagonal and the eigenvectors (1, 1) and (1, −1), with eigenvalues |t₁ ± t₂|²/2.
        [Some(one), Some(other)] => {
            let (first, second) = (of(&one), of(&other));
            [1.0, -1.0].map(|sign| {
                let square = (one.direction + sign * other.direction).length_squared();
                let slide = [0, 1, 2, 3].map(|i| first[i] + sign * second[i]);
                (square > PARALLEL * PARALLEL).then(|| (square.recip(), slide))
            })
        }
        [None, None] => [None; 2],
    };
    terms.into_iter().flatten()
}

/// A side for each fraction that the closest points are free in: two at most.
fn tangents(points: &[DVec3; 4], closest: &Closest) -> [Option<Tangent>; 2] {
    let mut tangents = [None, None];
    let mut count = 0;
    for sign in [1.0, -1.0] {
        let mut corners = (0..4).filter(|&i| closest.weights[i] * sign > 0.0);
        let Some(origin) = corners.next() else {
            continue;
        };
        for corner in corners.take(2) {
            let side = points[corner] - points[origin];
            let inverse = side.length().recip();
            if inverse.is_finite() && count < 2 {
                tangents[count] = Some(Tangent {
                    direction: side * inverse,
                    ends: [(origin, -inverse), (corner, inverse)],
                });
                count += 1;
            }
        }
    }
    tangents
}

/// a bᵀ.
fn outer(a: DVec3, b: DVec3) -> DMat3 {
    DMat3::from_cols(a * b.x, a * b.y, a * b.z)
}
