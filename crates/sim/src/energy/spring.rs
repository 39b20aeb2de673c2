//! Springs between two nodes, such as the edges of the cloth in Harmon, Robust, Efficient, and
//! Accurate Contact Algorithms (2010).
//!
//! A spring of stiffness k and rest length l has the energy k/2 (L − l)², where L = |x₁ − x₀|. With
//! the unit vector n along it, the second derivative by x₁ is k (nnᵀ + (1 − l/L)(I − nnᵀ)). The
//! transverse part is negative under compression; the projected one clamps it at zero. A spring of
//! length zero has no direction: its force is zero, and its second derivative is k along the first
//! axis.

use super::hinge::outer;
use super::{Blocks, Energy};
use glam::{DMat3, DVec3};

/// A spring below this fraction of its rest length has no direction.
const MIN_LENGTH_RATIO: f64 = 1e-9;

/// Invalid parameters of springs.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum SpringError {
    /// The numbers of springs, stiffnesses and rest lengths differ.
    #[error("{springs} springs have {stiffness} stiffnesses and {rest_length} rest lengths")]
    Count {
        /// Number of springs.
        springs: usize,
        /// Number of stiffnesses.
        stiffness: usize,
        /// Number of rest lengths.
        rest_length: usize,
    },
    /// A stiffness or a rest length is negative or not finite.
    #[error(
        "spring {spring} has the stiffness {stiffness} N/m and the rest length {rest_length} m"
    )]
    Parameters {
        /// Index of the spring.
        spring: usize,
        /// Its stiffness (N/m).
        stiffness: f64,
        /// Its rest length (m).
        rest_length: f64,
    },
}

/// Springs, each between two nodes.
#[derive(Clone, Debug)]
pub struct Springs {
    stencils: Vec<[u32; 2]>,
    stiffness: Vec<f64>,
    rest_length: Vec<f64>,
}

impl Springs {
    /// Springs with stiffnesses k (N/m) and rest lengths l (m), not negative.
    ///
    /// # Errors
    /// If the lists differ in length, or a number is negative or not finite.
    pub fn new(
        stencils: Vec<[u32; 2]>,
        stiffness: Vec<f64>,
        rest_length: Vec<f64>,
    ) -> Result<Self, SpringError> {
        if stiffness.len() != stencils.len() || rest_length.len() != stencils.len() {
            return Err(SpringError::Count {
                springs: stencils.len(),
                stiffness: stiffness.len(),
                rest_length: rest_length.len(),
            });
        }
        let valid = |number: f64| number >= 0.0 && number.is_finite();
        for (spring, (&stiffness, &rest_length)) in stiffness.iter().zip(&rest_length).enumerate() {
            if !valid(stiffness) || !valid(rest_length) {
                return Err(SpringError::Parameters {
                    spring,
                    stiffness,
                    rest_length,
                });
            }
        }
        Ok(Self {
            stencils,
            stiffness,
            rest_length,
        })
    }

    /// Rest lengths (m), one per spring.
    pub fn rest_lengths(&self) -> &[f64] {
        &self.rest_length
    }

    /// Direction of a spring, if it is defined, and its length.
    fn direction(&self, element: usize, x: &[DVec3; 2]) -> (Option<DVec3>, f64) {
        let length = x[0].distance(x[1]);
        let direction = (length > MIN_LENGTH_RATIO * self.rest_length[element])
            .then(|| (x[1] - x[0]) / length)
            .filter(|direction| direction.is_finite());
        (direction, length)
    }

    fn force(&self, element: usize, direction: Option<DVec3>, length: f64) -> [DVec3; 2] {
        let tension = self.stiffness[element] * (length - self.rest_length[element]);
        let pull = direction.unwrap_or(DVec3::ZERO) * tension;
        [-pull, pull]
    }

    /// Second derivative with the transverse part clamped below at `least` times the stiffness.
    fn second_derivative(&self, element: usize, x: &[DVec3; 2], least: f64) -> Blocks<2> {
        let (direction, length) = self.direction(element, x);
        let (along, across) = match direction {
            Some(direction) => (direction, 1.0 - self.rest_length[element] / length),
            None => (DVec3::X, 0.0),
        };
        let along = outer(along, along);
        let block =
            (along + (DMat3::IDENTITY - along) * across.max(least)) * self.stiffness[element];
        [[block, -block], [-block, block]]
    }
}

impl Energy<2> for Springs {
    fn stencils(&self) -> &[[u32; 2]] {
        &self.stencils
    }

    fn value(&self, element: usize, x: &[DVec3; 2]) -> f64 {
        let stretch = x[0].distance(x[1]) - self.rest_length[element];
        0.5 * self.stiffness[element] * stretch * stretch
    }

    fn gradient(&self, element: usize, x: &[DVec3; 2]) -> [DVec3; 2] {
        let (direction, length) = self.direction(element, x);
        self.force(element, direction, length)
    }

    fn hessian(&self, element: usize, x: &[DVec3; 2]) -> Blocks<2> {
        self.second_derivative(element, x, f64::NEG_INFINITY)
    }

    fn projected_hessian(&self, element: usize, x: &[DVec3; 2]) -> Blocks<2> {
        self.second_derivative(element, x, 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::check_derivatives;
    use super::*;
    use proptest::array::uniform3;
    use proptest::prelude::*;

    fn spring(stiffness: f64, rest_length: f64) -> Springs {
        Springs::new(vec![[0, 1]], vec![stiffness], vec![rest_length]).unwrap()
    }

    proptest! {
        #[test]
        fn derivatives_agree_with_differences(
            a in uniform3(-1.0..1.0f64),
            b in uniform3(-1.0..1.0f64),
            rest_length in 0.0..3.0f64,
        ) {
            let x = [DVec3::from_array(a), DVec3::from_array(b)];
            prop_assume!(x[0].distance(x[1]) > 0.05);
            check_derivatives(&spring(7.0, rest_length), 0, &x);
        }
    }

    #[test]
    fn a_spring_at_rest_is_stiff_along_its_direction_only() {
        let x = [DVec3::ZERO, DVec3::new(0.0, 0.5, 0.0)];
        let at_rest = spring(8.0, 0.5);
        assert_eq!(at_rest.value(0, &x), 0.0);
        assert_eq!(at_rest.gradient(0, &x), [DVec3::ZERO; 2]);
        let stiffness = at_rest.hessian(0, &x)[1][1];
        assert_eq!(stiffness, DMat3::from_diagonal(DVec3::new(0.0, 8.0, 0.0)));
        check_derivatives(&at_rest, 0, &x);
    }

    #[test]
    fn a_spring_at_twice_its_length_has_the_tension_k_l() {
        let x = [DVec3::X, DVec3::X * 5.0];
        let stretched = spring(3.0, 2.0);
        assert_eq!(stretched.value(0, &x), 6.0);
        assert_eq!(stretched.gradient(0, &x)[1], DVec3::X * 6.0);
    }

    #[test]
    fn a_spring_of_length_zero_has_finite_derivatives() {
        for (length, rest_length) in [(0.0, 1.0), (1e-300, 1.0), (0.0, 0.0), (1e-320, 0.0)] {
            let x = [DVec3::ZERO, DVec3::Y * length];
            let short = spring(2.0, rest_length);
            let (value, gradient, projected) = short.linearize(0, &x);
            assert!(value.is_finite() && gradient.iter().all(|g| g.is_finite()));
            assert_eq!(gradient[0], -gradient[1]);
            for block in [projected, short.hessian(0, &x)]
                .as_flattened()
                .as_flattened()
            {
                assert!(block.is_finite());
            }
        }
    }

    #[test]
    fn invalid_parameters_are_refused() {
        let error = Springs::new(vec![[0, 1]], vec![1.0], vec![]).unwrap_err();
        assert!(matches!(error, SpringError::Count { .. }));
        let error = Springs::new(vec![[0, 1]], vec![-1.0], vec![1.0]).unwrap_err();
        assert!(matches!(error, SpringError::Parameters { spring: 0, .. }));
        assert!(Springs::new(vec![[0, 1]], vec![1.0], vec![f64::NAN]).is_err());
    }
}
