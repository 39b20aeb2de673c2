//! Ties: springs between points of objects, for attachments, stitches and hair roots.

use glam::{DMat3, DVec3};

use super::{Model, Tie};
use crate::state::{Span, State};

/// A tie in a step. The distance of its ends is |Σ wⱼ xⱼ + known|.
#[derive(Clone, Debug, PartialEq)]
pub struct ActiveTie {
    /// Nodes of both ends without duplicates, with weights. Weights of the second end are negative.
    pub nodes: Vec<(u32, f64)>,
    /// Weighted sum of scripted points of the ends, at the end of the step (m).
    pub known: DVec3,
    /// Natural length (m).
    pub length: f64,
    /// Spring constant (N/m).
    pub stiffness: f64,
}

impl ActiveTie {
    /// Vector from the second end to the first (m).
    fn separation(&self, positions: &[DVec3]) -> DVec3 {
        let nodes = self.nodes.iter();
        let weighted = nodes.map(|(node, weight)| positions[*node as usize] * *weight);
        weighted.sum::<DVec3>() + self.known
    }

    /// Energy (J).
    #[must_use]
    pub fn value(&self, positions: &[DVec3]) -> f64 {
        let elongation = self.separation(positions).length() - self.length;
        0.5 * self.stiffness * elongation * elongation
    }

    /// Derivative of the energy by the separation (N).
    #[must_use]
    pub fn gradient(&self, positions: &[DVec3]) -> DVec3 {
        let separation = self.separation(positions);
        let elongation = separation.length() - self.length;
        separation.normalize_or_zero() * (self.stiffness * elongation)
    }

    /// Positive semidefinite part of the second derivative (N/m). A compressed tie has no
    /// transverse stiffness.
    #[must_use]
    pub fn block(&self, positions: &[DVec3]) -> DMat3 {
        let separation = self.separation(positions);
        let distance = separation.length();
        let along = separation.normalize_or_zero();
        if along == DVec3::ZERO {
            return DMat3::from_diagonal(DVec3::splat(self.stiffness));
        }
        let outer = DMat3::from_cols(along * along.x, along * along.y, along * along.z);
        let across = (1.0 - self.length / distance).max(0.0);
        (outer + (DMat3::IDENTITY - outer) * across) * self.stiffness
    }
}

impl Model {
    /// Ties of a step, with scripted points at its end.
    #[must_use]
    pub fn active_ties(&self, from: &State, span: &Span) -> Vec<ActiveTie> {
        let is_active = |tie: &&Tie| !self.has_begun(tie.release, span.begin);
        let ties = self.ties.iter().filter(is_active);
        ties.map(|tie| self.tie_at(tie, from, span.end)).collect()
    }

    /// Energy of the ties in a state at a time (J).
    #[must_use]
    pub fn tie_energy(&self, state: &State, time: f64) -> f64 {
        // A tie with its release at `time` was active in the step before.
        let is_active = |tie: &&Tie| self.has_begun(time, tie.release);
        let ties = self.ties.iter().filter(is_active);
        ties.map(|tie| self.tie_at(tie, state, time).value(&state.positions))
            .sum()
    }

    /// A tie with its scripted points and natural length at a time.
    fn tie_at(&self, tie: &Tie, state: &State, time: f64) -> ActiveTie {
        let mut nodes: Vec<(u32, f64)> = Vec::new();
        let mut known = DVec3::ZERO;
        let from = [(tie.from.0, tie.from.1, 1.0)];
        let to = tie.to.1.iter();
        let to = to.map(|(vertex, weight)| (tie.to.0, *vertex, -weight));
        let offset = time - self.clock.time(state.step);
        for (object, vertex, weight) in from.into_iter().chain(to) {
            match self.stencil(object, vertex as usize) {
                Some(stencil) => {
                    let stencil = stencil.into_iter().filter(|(_, part)| *part != 0.0);
                    nodes.extend(stencil.map(|(node, part)| (node as u32, part * weight)));
                }
                None => known += self.point_beside(object, vertex as usize, state, offset) * weight,
            }
        }
        nodes.sort_by_key(|(node, _)| *node);
        nodes.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
        let closing = if tie.close > 0.0 {
            (time / tie.close).min(1.0)
        } else {
            1.0
        };
        ActiveTie {
            nodes,
            known,
            length: tie.length[0] + (tie.length[1] - tie.length[0]) * closing,
            stiffness: tie.stiffness,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_derivatives_of_a_tie_are_those_of_a_spring() {
        let tie = |length: f64| ActiveTie {
            nodes: vec![(0, 1.0), (1, -0.3), (2, -0.7)],
            known: DVec3::new(0.1, 0.0, 0.2),
            length,
            stiffness: 50.0,
        };
        let positions = [
            DVec3::ZERO,
            DVec3::new(0.4, 0.1, 0.0),
            DVec3::new(0.3, -0.5, 0.2),
        ];
        for length in [0.1, 2.0] {
            let tie = tie(length);
            for axis in 0..3 {
                let at = |step: f64| {
                    let mut moved = positions;
                    moved[0][axis] += step;
                    moved
                };
                let step = 1e-6;
                let slope = (tie.value(&at(step)) - tie.value(&at(-step))) / (2.0 * step);
                assert!((slope - tie.gradient(&positions)[axis]).abs() < 1e-7);
                // The second derivative of a stretched tie is positive semidefinite as it is.
                if length < 1.0 {
                    let change = tie.gradient(&at(step)) - tie.gradient(&at(-step));
                    let column = tie.block(&positions).col(axis);
                    assert!((change / (2.0 * step)).abs_diff_eq(column, 1e-6));
                }
            }
        }
        // A compressed tie is stiff along its direction only.
        let along = tie(2.0).separation(&positions).normalize();
        let pushed = tie(2.0).block(&positions);
        assert!((pushed * along - 50.0 * along).length() < 1e-12);
        assert!((pushed * along.any_orthonormal_vector()).length() < 1e-12);
        // Coincident ends: stiff in all directions.
        let closed = ActiveTie {
            nodes: vec![(0, 1.0)],
            known: DVec3::ZERO,
            ..tie(0.0)
        };
        assert_eq!(closed.gradient(&positions), DVec3::ZERO);
        assert_eq!(
            closed.block(&positions),
            DMat3::from_diagonal(DVec3::splat(50.0))
        );
    }
}
