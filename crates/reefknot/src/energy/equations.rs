//! The equations of a step, ∇𝒜(v) = 0: what is evaluated once in a step, and their linearisation A
//! (v − v_k) = −∇𝒜(v_k).

use glam::DVec3;
use rayon::prelude::*;
use reefknot_contact::system::System;

use crate::energy::CHUNK;
use crate::energy::assemble::ElementBuffer;
use crate::energy::wind::WindLoad;
use crate::model::tie::ActiveTie;
use crate::model::{Body, Elements, Model};

/// The terms of the equations, with the memory that they are evaluated in.
pub(crate) struct Equations {
    /// hC at the start of the step, if anything is viscous.
    pub(crate) viscous: Option<System>,
    pub(crate) bodies: Vec<BodyTerms>,
    /// Springs between points of objects.
    pub(crate) ties: Vec<ActiveTie>,
    /// M (1 + h α), the part of A that is diagonal (kg).
    pub(crate) inertia: Vec<f64>,
    /// f = M v₀ + h F, without elastic forces (N s).
    pub(crate) impulse: Vec<f64>,
    /// Gradient of the elastic energy where it was last evaluated (N).
    pub(crate) gradient: Vec<f64>,
    /// Gradient of the energy of ties there.
    pub(crate) tie_gradient: Vec<f64>,
    /// Elastic energy at the start of the step (J).
    pub(crate) elastic_start: f64,
}

/// A (v − v_k) = −∇𝒜(v_k).
pub(crate) struct Linearised {
    /// A (kg).
    pub(crate) system: System,
    /// v_k (m/s).
    pub(crate) point: Vec<f64>,
    /// ∇𝒜(v_k) (N s).
    pub(crate) residual: Vec<f64>,
    /// v_k of ties.
    pub(super) tie_point: Vec<f64>,
}

/// Flat vectors that nobody needs any more: new memory costs more than what is done with it.
#[derive(Default)]
pub(crate) struct SpareVectors(Vec<Vec<f64>>);

impl SpareVectors {
    /// A vector of any content.
    pub(crate) fn take(&mut self, length: usize) -> Vec<f64> {
        let mut vector = self.0.pop().unwrap_or_default();
        vector.resize(length, 0.0);
        vector
    }

    /// Keeps vectors for later; a few are enough.
    pub(crate) fn keep(&mut self, vectors: impl IntoIterator<Item = Vec<f64>>) {
        self.0.extend(vectors);
        self.0.truncate(4);
    }
}

/// The terms of one body.
pub(crate) struct BodyTerms {
    /// A buffer per energy; none for rods, which go straight into their matrix.
    pub(crate) buffers: Vec<ElementBuffer>,
    pub(crate) wind: WindLoad,
    /// Elastic energy where it was last evaluated (J).
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
        }
    }

    /// Energy of the elements where they were last evaluated, and of ties at these positions (J).
    pub(crate) fn elastic_energy(&self, positions: &[DVec3]) -> f64 {
        let bodies: f64 = self.bodies.iter().map(|own| own.elastic).sum();
        bodies + self.tie_energy(positions)
    }

    /// Energy of ties at some positions (J).
    pub(crate) fn tie_energy(&self, positions: &[DVec3]) -> f64 {
        self.ties.iter().map(|tie| tie.value(positions)).sum()
    }

    /// hC v, if anything is viscous (N s).
    pub(crate) fn drag(&self, v: &[f64]) -> Vec<f64> {
        let mut drag = vec![0.0; v.len()];
        if let Some(viscous) = &self.viscous {
            viscous.multiply(v, &mut drag);
        }
        drag
    }

    /// ∇𝒜 = M (1 + hα) v + hC v − f + h ∇E at the velocities where ∇E was last evaluated; without
    /// ties.
    pub(super) fn fill_residual(&self, v: &[f64], h: f64, residual: &mut [f64]) {
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

    /// Adds what ties do.
    pub(super) fn add_ties(&self, h: f64, residual: &mut [f64]) {
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

    /// Becomes M v = −ρ: the equations of explicit methods, which know masses only.
    pub(crate) fn become_masses(&mut self, model: &Model, inertia: &[f64], residual: &[f64]) {
        for (body, part) in model.bodies.iter().zip(&mut self.system.bodies) {
            part.matrix.clear();
            part.matrix.add_diagonal(&inertia[body.dofs.clone()]);
        }
        self.system.couple(Vec::new());
        self.point.fill(0.0);
        self.residual.copy_from_slice(residual);
    }

    /// ρ = A (v − v_k) + ∇𝒜(v_k): on free unknowns an error, on held ones the impulse that holds
    /// them.
    pub(crate) fn residual_at(&self, v: &[f64], spare: &mut SpareVectors) -> Vec<f64> {
        let (mut residual, mut change) = (spare.take(v.len()), spare.take(v.len()));
        let pairs = v.par_iter().zip(&self.point).with_min_len(CHUNK);
        let changes = change.par_iter_mut().zip(pairs);
        changes.for_each(|(change, (v, p))| *change = v - p);
        self.system.multiply(&change, &mut residual);
        spare.keep([change]);
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
