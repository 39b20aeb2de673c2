//! The equations of a step, ∇𝒜(v) = 0, and their linearisation A (v − v_k) = −∇𝒜(v_k).

pub(crate) mod linearize;

use glam::DVec3;
use rayon::prelude::*;
use reefknot_contact::system::System;

use crate::energy::assemble::ElementBuffer;
use crate::energy::wind::WindLoad;
use crate::energy::{CHUNK, Curvature};
use crate::model::tie::ActiveTie;
use crate::model::{Body, Elements, Model};

/// Terms of the equations of a step.
pub(crate) struct Equations {
    /// hC at the start of the step, if the model has viscosity or wind.
    pub(crate) viscous: Option<System>,
    /// Terms of each body.
    pub(crate) bodies: Vec<BodyTerms>,
    /// Ties that are active in the step.
    pub(crate) ties: Vec<ActiveTie>,
    /// M (1 + h α), the diagonal part of A (kg, kg m²).
    pub(crate) inertia: Vec<f64>,
    /// f = M v₀ + h F without elastic forces (N s).
    pub(crate) impulse: Vec<f64>,
    /// Gradient of the elastic energy at its last evaluation, without ties (N).
    pub(crate) gradient: Vec<f64>,
    /// Gradient of the energy of ties at its last evaluation (N).
    pub(crate) tie_gradient: Vec<f64>,
    /// Elastic energy at the start of the step (J).
    pub(crate) elastic_start: f64,
    /// Second derivative of the elastic energy in the linearisation. Rods use their positive
    /// semidefinite one always.
    pub(crate) curvature: Curvature,
}

/// The linearised equations A (v − v_k) = −∇𝒜(v_k).
pub(crate) struct Linearised {
    /// A (kg).
    pub(crate) system: System,
    /// v_k (m/s).
    pub(crate) point: Vec<f64>,
    /// ∇𝒜(v_k) (N s).
    pub(crate) residual: Vec<f64>,
    /// v_k of the ties (m/s). It differs from `point` after affine bodies were relinearised.
    tie_point: Vec<f64>,
}

/// A pool of flat vectors. Allocating and clearing new memory costs more than the work on it.
#[derive(Default)]
pub(crate) struct VectorPool(Vec<Vec<f64>>);

impl VectorPool {
    /// Maximum number of vectors in the pool.
    const CAPACITY: usize = 4;

    /// A vector of the given length with arbitrary content.
    pub(crate) fn take(&mut self, length: usize) -> Vec<f64> {
        let mut vector = self.0.pop().unwrap_or_default();
        vector.resize(length, 0.0);
        vector
    }

    /// Returns vectors to the pool.
    pub(crate) fn recycle(&mut self, vectors: impl IntoIterator<Item = Vec<f64>>) {
        self.0.extend(vectors);
        self.0.truncate(VectorPool::CAPACITY);
    }
}

/// Terms of one body.
pub(crate) struct BodyTerms {
    /// A buffer per energy. Rods have none: they are assembled directly into their matrix.
    pub(crate) buffers: Vec<ElementBuffer>,
    pub(crate) wind: WindLoad,
    /// Elastic energy at its last evaluation (J).
    pub(crate) elastic: f64,
}

impl Equations {
    pub(crate) fn new(model: &Model) -> Equations {
        let is_viscous =
            model.wind.is_some() || model.bodies.iter().any(|body| body.elements.is_viscous());
        let zeros = || vec![0.0; model.unknowns.count];
        Equations {
            viscous: is_viscous.then(|| model.system()),
            bodies: model.bodies.iter().map(BodyTerms::new).collect(),
            ties: Vec::new(),
            inertia: zeros(),
            impulse: zeros(),
            gradient: zeros(),
            tie_gradient: Vec::new(),
            elastic_start: 0.0,
            curvature: Curvature::Projected,
        }
    }

    /// Energy of the elements at their last evaluation, plus that of ties at `positions` (J).
    pub(crate) fn elastic_energy(&self, positions: &[DVec3]) -> f64 {
        let bodies: f64 = self.bodies.iter().map(|own| own.elastic).sum();
        bodies + self.tie_energy(positions)
    }

    /// Energy of ties at `positions` (J).
    pub(crate) fn tie_energy(&self, positions: &[DVec3]) -> f64 {
        self.ties.iter().map(|tie| tie.value(positions)).sum()
    }

    /// Viscous impulse hC v (N s).
    pub(crate) fn drag(&self, v: &[f64]) -> Vec<f64> {
        let mut drag = vec![0.0; v.len()];
        if let Some(viscous) = &self.viscous {
            viscous.multiply(v, &mut drag);
        }
        drag
    }

    /// Computes ∇𝒜 = M (1 + hα) v + hC v − f + h ∇E without ties. `v` are the velocities at which
    /// ∇E was last evaluated.
    fn fill_residual(&self, v: &[f64], h: f64, residual: &mut [f64]) {
        match &self.viscous {
            Some(viscous) => viscous.multiply(v, residual),
            None => residual.fill(0.0),
        }
        let residuals = residual.par_iter_mut().zip(v);
        let residuals = residuals.with_min_len(CHUNK).enumerate();
        residuals.for_each(|(dof, (residual, v))| {
            *residual += self.inertia[dof] * v - self.impulse[dof] + h * self.gradient[dof];
        });
    }

    /// Adds the impulses of ties.
    fn add_ties(&self, h: f64, residual: &mut [f64]) {
        for (residual, gradient) in residual.iter_mut().zip(&self.tie_gradient) {
            *residual += h * gradient;
        }
    }
}

impl Linearised {
    pub(crate) fn new(model: &Model) -> Linearised {
        let zeros = || vec![0.0; model.unknowns.count];
        Linearised {
            system: model.system(),
            point: zeros(),
            residual: zeros(),
            tie_point: Vec::new(),
        }
    }

    /// Sets the equations of an explicit method, M v = −ρ.
    pub(crate) fn set_explicit(&mut self, model: &Model, inertia: &[f64], residual: &[f64]) {
        for (body, part) in model.bodies.iter().zip(&mut self.system.bodies) {
            part.matrix.clear();
            part.matrix.add_diagonal(&inertia[body.dofs.clone()]);
        }
        self.system.set_couplings(Vec::new());
        self.point.fill(0.0);
        self.residual.copy_from_slice(residual);
    }

    /// Residual A (v − v_k) + ∇𝒜(v_k) (N s). On held unknowns it is the impulse that holds them.
    pub(crate) fn residual_at(&self, v: &[f64], pool: &mut VectorPool) -> Vec<f64> {
        let (mut residual, mut change) = (pool.take(v.len()), pool.take(v.len()));
        let pairs = v.par_iter().zip(&self.point).with_min_len(CHUNK);
        let changes = change.par_iter_mut().zip(pairs);
        changes.for_each(|(change, (v, p))| *change = v - p);
        self.system.multiply(&change, &mut residual);
        pool.recycle([change]);
        let residuals = residual.par_iter_mut().zip(&self.residual);
        residuals
            .with_min_len(CHUNK)
            .for_each(|(rho, known)| *rho += known);
        residual
    }
}

impl BodyTerms {
    fn new(body: &Body) -> BodyTerms {
        let nodes = body.nodes.len();
        let (buffers, wind) = match &body.elements {
            Elements::Blocks(blocks) => (
                blocks.terms.iter().map(|term| term.buffer()).collect(),
                WindLoad::on_triangles(&blocks.sail, nodes),
            ),
            Elements::Rods(rods) => (
                Vec::new(),
                WindLoad::on_edges(&rods.edges, rods.diameter, nodes),
            ),
        };
        BodyTerms {
            buffers,
            wind,
            elastic: 0.0,
        }
    }
}
