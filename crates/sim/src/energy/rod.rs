//! Stretch, bending and twist of rods: Discrete Elastic Rods, four rods at once.
//!
//! Bergou, Wardetzky, Robinson, Audoly and Grinspun, Discrete Elastic Rods (2008), with the
//! time-parallel frames of Bergou, Audoly, Vouga, Wardetzky and Grinspun, Discrete Viscous Threads
//! (2010), as in Kaufman, Tamstorf, Smith, Aubry and Grinspun (2014). Rods are short and numerous,
//! so a single rod is not processed in parallel: a batch of rods with equal numbers of vertices is
//! processed four rods at a time ([`reefknot_contact::lanes`]) and assembled into a
//! [`BandedBatch`].
//!
//! State of a rod at the start of a step ([`RodStart`]): positions, the first material director m₁
//! of each edge (a unit vector orthogonal to it), and the twist of each vertex between edges, full
//! turns included. Unknowns are the positions x and the angle θ of the material frame of each edge
//! against its frame transported from the start; θ = 0 at the start. [`RodBatch::advance_frames`]
//! computes the next start, once per accepted step.
//!
//! - `stretch`: EA/2 (l/l̄ − 1)² l̄ for each edge.
//! - `bend`: 1/(2l̄) [B₁ (κ₁ − κ̄₁)² + B₂ (κ₂ − κ̄₂)²] for each vertex between edges.
//! - `twist`: GJ/(2l̄) (m − m̄)² for each vertex between edges. Here l̄ is half the sum of the rest
//!   lengths of both edges. An edge held by a clamp is rigid: its half is left out, and between two
//!   rigid edges there is no element.
//!
//! Matrices for solves are Gauss-Newton matrices, without second derivatives of κ and m;
//! [`RodBatch::hessian_product`] is exact. The order of unknowns of a rod is x₀, θ₀, x₁, θ₁, …; see
//! [`BandedLayout::rod`].

use glam::DVec3;
use rayon::prelude::*;
use reefknot_contact::banded::{BandedBatch, BandedLayout};
use reefknot_contact::lanes::{LANES, Lanes, dispatch};

mod assemble;
mod bend;
mod dual;
mod frame;
mod group;
mod kernel;
mod stretch;
#[cfg(test)]
mod tests;
mod twist;
mod visit;

/// Minimum number of groups of four rods per parallel task.
const GROUPS_PER_TASK: usize = 4;

/// Number and topology of the rods of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RodShape {
    /// Vertices of each rod.
    pub vertices: usize,
    /// Whether the last vertex is joined to the first.
    pub is_closed: bool,
    /// Number of rods.
    pub count: usize,
}

impl RodShape {
    /// Edges of each rod.
    #[must_use]
    pub fn edges(&self) -> usize {
        self.vertices - usize::from(!self.is_closed && self.vertices > 0)
    }

    /// Unknowns of each rod.
    #[must_use]
    pub fn unknowns(&self) -> usize {
        3 * self.vertices + self.edges()
    }
}

/// Natural shape of rods. Arrays are concatenated over rods.
#[derive(Clone, Copy, Debug)]
pub struct RodRest<'a> {
    /// Length of each edge (m).
    pub lengths: &'a [f64],
    /// Curvature at each vertex towards the first and the second material director (1/m); unused at
    /// free ends.
    pub curvatures: &'a [[f64; 2]],
    /// Twist per length at each vertex (1/m); unused at free ends.
    pub twists: &'a [f64],
}

/// Rods at the start of a step. Arrays are concatenated over rods.
#[derive(Clone, Copy, Debug)]
pub struct RodStart<'a> {
    /// Positions of the vertices (m).
    pub positions: &'a [DVec3],
    /// First material director of each edge: a unit vector orthogonal to it.
    pub directors: &'a [DVec3],
    /// For each edge, the twist at its first vertex against the edge before it (rad), full turns
    /// included. Unused at free ends.
    pub twists: &'a [f64],
    /// Whether each edge is rigid; `None` if no edge is.
    pub is_rigid: Option<&'a [bool]>,
}

/// Configuration of rods in a step.
#[derive(Clone, Copy, Debug)]
pub struct RodPose<'a> {
    /// Rods at the start of the step.
    pub start: RodStart<'a>,
    /// Positions of the vertices (m).
    pub positions: &'a [DVec3],
    /// Angle θ of the material frame of each edge against its transported frame (rad).
    pub theta: &'a [f64],
}

/// Invalid parameters of rods.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum RodError {
    /// An open rod has at least 2 vertices, a closed one 3.
    #[error("a rod of {vertices} vertices has too few vertices")]
    TooFewVertices {
        /// Number of vertices.
        vertices: usize,
    },
    /// An array does not have one value for each edge or vertex.
    #[error("{found} values for {expected} edges or vertices")]
    WrongLength {
        /// Number of edges or vertices.
        expected: usize,
        /// Number of values.
        found: usize,
    },
    /// The rest length of an edge is not positive.
    #[error("edge {edge} of rod {rod} has the rest length {length} m")]
    RestLength {
        /// The rod.
        rod: usize,
        /// The edge of the rod.
        edge: usize,
        /// Its length (m).
        length: f64,
    },
    /// A rest curvature or twist is not finite, or a stiffness is negative or not finite.
    #[error("a stiffness or the rest shape of a rod has the invalid value {value}")]
    Value {
        /// The value.
        value: f64,
    },
}

/// Rods of one material with equal numbers of vertices.
#[derive(Clone, Debug)]
pub struct RodBatch {
    shape: RodShape,
    /// For each group and vertex: rest length of the edge after it, rest curvatures and rest twist
    /// per length.
    rest: Vec<[Lanes; 4]>,
    /// EA (N), B₁, B₂ and GJ (N m²).
    stiffness: [f64; 4],
}

impl RodBatch {
    /// A batch with axial stiffness EA (N), bending stiffnesses B₁ and B₂ towards the first and the
    /// second axis of the section (N m²), and twist stiffness GJ (N m²), as in `RodMaterial`.
    ///
    /// # Errors
    /// If an array has the wrong length, a rest length is not positive, or a value is not finite.
    pub fn new(
        shape: RodShape,
        rest: &RodRest<'_>,
        axial: f64,
        bending: [f64; 2],
        twist: f64,
    ) -> Result<Self, RodError> {
        let RodShape {
            vertices,
            is_closed,
            count,
        } = shape;
        if vertices < 2 + usize::from(is_closed) {
            return Err(RodError::TooFewVertices { vertices });
        }
        let edges = shape.edges();
        let stiffness = [axial, bending[0], bending[1], twist];
        check_values(shape, rest, &stiffness)?;
        let mut lanes = vec![[Lanes([1.0; LANES]); 4]; count.div_ceil(LANES) * vertices];
        for (place, values) in lanes.iter_mut().enumerate() {
            let (group, vertex) = (place / vertices, place % vertices);
            for (lane, rod) in group::rods_of(group, count).into_iter().enumerate() {
                let here = rod * vertices + vertex;
                if vertex < edges {
                    values[0].0[lane] = rest.lengths[rod * edges + vertex];
                }
                let [first, second] = rest.curvatures[here];
                for (kind, value) in [first, second, rest.twists[here]].into_iter().enumerate() {
                    values[1 + kind].0[lane] = value;
                }
            }
        }
        Ok(Self {
            shape,
            rest: lanes,
            stiffness,
        })
    }

    /// Scales rest curvatures, rest twists or both at vertices with a rigid edge: l̄ is smaller
    /// there, and the natural angles remain the same. To be called once, after construction.
    pub fn keep_angles(&mut self, is_rigid: &[bool], [bending, twist]: [bool; 2]) {
        let RodShape {
            vertices, count, ..
        } = self.shape;
        let edges = self.shape.edges();
        for rod in 0..count {
            let (group, lane) = (rod / LANES, rod % LANES);
            let length = |edge: usize| self.rest[group * vertices + edge][0].0[lane];
            let mut factors = vec![1.0; vertices];
            for vertex in usize::from(!self.shape.is_closed)..edges {
                let beside = [(vertex + edges - 1) % edges, vertex];
                let free = beside.iter().filter(|edge| !is_rigid[rod * edges + **edge]);
                let free: f64 = free.map(|edge| length(*edge)).sum();
                if free > 0.0 {
                    factors[vertex] = beside.map(length).iter().sum::<f64>() / free;
                }
            }
            for (vertex, factor) in factors.into_iter().enumerate() {
                let rest = &mut self.rest[group * vertices + vertex];
                for (kind, keeps) in [(1, bending), (2, bending), (3, twist)] {
                    if keeps {
                        rest[kind].0[lane] *= factor;
                    }
                }
            }
        }
    }

    /// Number and topology of the rods.
    #[must_use]
    pub fn shape(&self) -> RodShape {
        self.shape
    }

    /// Layout of the matrices of [`RodBatch::linearize`].
    #[must_use]
    pub fn layout(&self) -> BandedLayout {
        BandedLayout::rod(self.shape.vertices, self.shape.is_closed)
    }

    /// Energy (J), with the same bits for any number of threads.
    #[must_use]
    pub fn value(&self, pose: &RodPose<'_>) -> f64 {
        let value = |group| {
            dispatch(kernel::ValueKernel {
                batch: self,
                pose,
                group,
            })
        };
        self.sum_of_groups((0..self.groups()).into_par_iter().map(value))
    }

    /// Overwrites `gradient` with the derivative by the unknowns (N, and N m for θ), and returns
    /// the energy (J).
    pub fn gradient(&self, pose: &RodPose<'_>, gradient: &mut [f64]) -> f64 {
        let of_group = LANES * self.shape.unknowns();
        let groups = gradient.par_chunks_mut(of_group).enumerate();
        self.sum_of_groups(groups.map(|(group, gradient)| {
            dispatch(kernel::GradientKernel {
                batch: self,
                pose,
                group,
                gradient,
            })
        }))
    }

    /// Overwrites `gradient` as [`RodBatch::gradient`] does, **adds** the positive semidefinite
    /// second derivatives of stretch, bending and twist, times `scales`, to a matrix of this
    /// batch's layout, and returns the energy (J).
    pub fn linearize(
        &self,
        pose: &RodPose<'_>,
        scales: [f64; 3],
        matrix: &mut BandedBatch,
        gradient: &mut [f64],
    ) -> f64 {
        self.linearize_groups(pose, scales, matrix, gradient, |_, _| ())
    }

    /// As [`RodBatch::linearize`], but **replaces** `matrix` by the sum of a diagonal matrix (one
    /// value per unknown) and the derivatives: one pass over memory instead of two.
    pub fn linearize_onto_diagonal(
        &self,
        pose: &RodPose<'_>,
        scales: [f64; 3],
        diagonal: &[f64],
        matrix: &mut BandedBatch,
        gradient: &mut [f64],
    ) -> f64 {
        let layout = matrix.layout().clone();
        let of_group = LANES * self.shape.unknowns();
        self.linearize_groups(pose, scales, matrix, gradient, |group, entries| {
            let last = diagonal.len().min((group + 1) * of_group);
            layout.set_diagonal(entries, &diagonal[group * of_group..last]);
        })
    }

    /// Linearises each group, after `prepare` has set its entries of the matrix.
    fn linearize_groups(
        &self,
        pose: &RodPose<'_>,
        scales: [f64; 3],
        matrix: &mut BandedBatch,
        gradient: &mut [f64],
        prepare: impl Fn(usize, &mut [Lanes]) + Sync,
    ) -> f64 {
        let layout = matrix.layout().clone();
        let of_group = LANES * self.shape.unknowns();
        let groups = gradient.par_chunks_mut(of_group).zip(matrix.groups_mut());
        let linearize = |(group, (gradient, matrix)): (usize, (&mut [f64], &mut [Lanes]))| {
            prepare(group, matrix);
            dispatch(kernel::LinearizeKernel {
                batch: self,
                pose,
                group,
                scales,
                layout: &layout,
                matrix,
                gradient,
            })
        };
        self.sum_of_groups(groups.enumerate().map(linearize))
    }

    /// vᵀ K v for the matrices K of stretch, bending and twist that [`RodBatch::linearize`] adds
    /// with the scale 1.
    #[must_use]
    pub fn quadratic_forms(&self, pose: &RodPose<'_>, direction: &[f64]) -> [f64; 3] {
        let forms = |group| {
            dispatch(kernel::FormsKernel {
                batch: self,
                pose,
                group,
                direction,
            })
        };
        let groups = (0..self.groups())
            .into_par_iter()
            .with_min_len(GROUPS_PER_TASK);
        let forms: Vec<[f64; 3]> = groups.map(forms).collect();
        let mut sums = [0.0; 3];
        for form in forms {
            for (sum, value) in sums.iter_mut().zip(form) {
                *sum += value;
            }
        }
        sums
    }

    /// Exact second derivative of the energy times a direction, by forward-mode differentiation of
    /// the gradient.
    pub fn hessian_product(&self, pose: &RodPose<'_>, direction: &[f64], product: &mut [f64]) {
        let of_group = LANES * self.shape.unknowns();
        let groups = product.par_chunks_mut(of_group).enumerate();
        groups.for_each(|(group, product)| {
            kernel::hessian_product(self, pose, group, direction, product);
        });
    }

    /// Directors and twists at the end of a step. Directors are orthonormalized, and twists are the
    /// angles of these directors plus the full turns of the predicted twists: neither drifts.
    #[must_use]
    pub fn advance_frames(&self, pose: &RodPose<'_>) -> (Vec<DVec3>, Vec<f64>) {
        let edges = self.shape.count * self.shape.edges();
        let mut directors = vec![DVec3::ZERO; edges];
        let mut twists = vec![0.0; edges];
        let of_group = LANES * self.shape.edges();
        let frames = directors.par_chunks_mut(of_group);
        let frames = frames.zip(twists.par_chunks_mut(of_group)).enumerate();
        frames
            .with_min_len(GROUPS_PER_TASK)
            .for_each(|(group, (directors, twists))| {
                dispatch(kernel::FramesKernel {
                    batch: self,
                    pose,
                    group,
                    directors,
                    twists,
                });
            });
        (directors, twists)
    }

    /// Largest ratio of the length of an edge to its rest length.
    #[must_use]
    pub fn max_stretch(&self, positions: &[DVec3]) -> f64 {
        let (vertices, edges) = (self.shape.vertices, self.shape.edges());
        let of_rod = |(rod, points): (usize, &[DVec3])| {
            let stretch = |edge: usize| {
                let next = points[(edge + 1) % vertices];
                let rest = &self.rest[rod / LANES * vertices + edge][0];
                points[edge].distance(next) / rest.0[rod % LANES]
            };
            (0..edges).map(stretch).fold(0.0, f64::max)
        };
        let rods = positions.par_chunks_exact(vertices).enumerate();
        let largest: Vec<f64> = rods
            .with_min_len(GROUPS_PER_TASK * LANES)
            .map(of_rod)
            .collect();
        largest.into_iter().fold(0.0, f64::max)
    }

    fn groups(&self) -> usize {
        self.shape.count.div_ceil(LANES)
    }

    /// Sum of the values of all groups, in order.
    fn sum_of_groups(&self, values: impl IndexedParallelIterator<Item = f64>) -> f64 {
        let values: Vec<f64> = values.with_min_len(GROUPS_PER_TASK).collect();
        values.iter().sum()
    }
}

/// Checks lengths and values of arrays.
fn check_values(shape: RodShape, rest: &RodRest<'_>, stiffness: &[f64; 4]) -> Result<(), RodError> {
    let (edges, count) = (shape.edges(), shape.count);
    for (expected, found) in [
        (count * edges, rest.lengths.len()),
        (count * shape.vertices, rest.curvatures.len()),
        (count * shape.vertices, rest.twists.len()),
    ] {
        if expected != found {
            return Err(RodError::WrongLength { expected, found });
        }
    }
    let is_length = |length: &f64| *length > 0.0 && length.is_finite();
    if let Some(place) = rest.lengths.iter().position(|length| !is_length(length)) {
        return Err(RodError::RestLength {
            rod: place / edges,
            edge: place % edges,
            length: rest.lengths[place],
        });
    }
    let curvatures = rest.curvatures.as_flattened().iter();
    let not_finite = curvatures
        .chain(rest.twists)
        .find(|value| !value.is_finite());
    let negative = stiffness
        .iter()
        .find(|value| **value < 0.0 || !value.is_finite());
    match not_finite.or(negative) {
        Some(value) => Err(RodError::Value { value: *value }),
        None => Ok(()),
    }
}
