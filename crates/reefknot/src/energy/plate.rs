//! Bending of plates and shells with a flexural rigidity D and a Poisson ratio ν, on any mesh of triangles.
//!
//! The hinges of [`super::hinge`] depend on the mesh, and so do shape operators of triangles whose edges have the
//! average of two normals: a square plate on alternating diagonals deflects 38% too little with them. Edges
//! with a normal of their own (Grinspun, Gingold, Reisman, Zorin, Computing discrete shape operators on general
//! meshes, 2006, which is the element of Morley) need one more unknown per edge. Here the curvature is that of a
//! vertex, from the angles of its edges alone.
//!
//! Let θₑ be the angle of edge e, zero when flat, mₑ the unit vector across it in the sheet and lₑ its length. Around
//! a vertex, Σₑ lₑ/2 mₑmₑᵀ θₑ is the integral of the curvature (Cohen-Steiner and Morvan, Restricted Delaunay
//! Triangulations and Normal Cycle, 2003). So moments σ at the vertex do the work σ·bᵀθ, where b has the rows lₑ/2
//! (m₁², m₂², 2m₁m₂), and the energy is max over σ of σ·bᵀθ − ½ σ·Fσ, as in the mixed method of Herrmann with lumped
//! masses. That has F = A C⁻¹ with the area A of the vertex and the matrix C of D and ν, and such a plate still
//! deflects 15% too little. Instead, let X be the angles of the edges under unit curvatures of a quadratic surface, and
//! take
//! F = sym(bᵀX C⁻¹),
//! which is A C⁻¹ in the mean over the mesh. Then angles θ = Xκ give the moments σ = Cκ (as far as bᵀXC⁻¹ is
//! symmetric), so every vertex knows quadratic surfaces, and constant moments are in equilibrium with no load, as bᵀθ
//! telescopes. F keeps half of A C⁻¹ at least, in directions that the edges of a vertex hardly feel.
//!
//! On a free boundary, moments across it are zero: σ leaves these out. On a clamped one, the normal of the sheet is
//! given, and θₑ is the angle between it and that of the one triangle there. With rows W = F^−½ b the energy of a
//! vertex is ½|W(θ − θ̄)|². It depends on angles alone, so the sheet may turn and bend as far as it likes. An angle
//! counts around the shorter way, so an edge that folds by half a turn from its rest has a kink in its energy there,
//! and nothing that grows without bound.

mod build;
mod fan;
mod star;
#[cfg(test)]
mod tests;
mod weights;

pub use star::Stars;

use super::total_value;
use crate::mesh::surface::{MeshError, interior_hinges};
use build::{LooseStar, clamped_ends, stars_of};
use fan::fans;
use glam::DVec3;

/// What is wrong with a plate.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum PlateError {
    /// The triangles are not a surface.
    #[error(transparent)]
    Mesh(#[from] MeshError),
    /// A triangle has no area at rest.
    #[error("triangle {triangle} has no area at rest")]
    DegenerateTriangle {
        /// Index of the triangle.
        triangle: usize,
    },
    /// A material that nothing is made of.
    #[error("a plate cannot have the rigidity {rigidity} N m and the Poisson ratio {poisson}")]
    Material {
        /// D (N m).
        rigidity: f64,
        /// ν.
        poisson: f64,
    },
    /// A clamp that is not on the boundary, or whose normal lies along its edge.
    #[error("edge {}-{} cannot be clamped", edge[0], edge[1])]
    Clamp {
        /// The edge.
        edge: [u32; 2],
    },
}

/// An edge of the boundary where the normal of the sheet is given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clamp {
    /// The nodes of the edge, in any order.
    pub edge: [u32; 2],
    /// The normal that the sheet has there, to either side.
    pub normal: DVec3,
}

/// What [`Plate::visit`] does with the elements of each size.
pub trait StarVisitor {
    /// Elements of `K` nodes.
    fn visit<const K: usize>(&mut self, stars: &Stars<K>);
}

/// The elements of a plate, one for each vertex: itself and its neighbours.
///
/// They are grouped by their numbers of nodes, from 3 to 10.
#[derive(Clone, Debug, Default)]
pub struct Plate {
    /// Elements of 3 nodes: clamped corners.
    pub of_3: Stars<3>,
    /// Elements of 4 nodes.
    pub of_4: Stars<4>,
    /// Elements of 5 nodes.
    pub of_5: Stars<5>,
    /// Elements of 6 nodes.
    pub of_6: Stars<6>,
    /// Elements of 7 nodes: most vertices.
    pub of_7: Stars<7>,
    /// Elements of 8 nodes.
    pub of_8: Stars<8>,
    /// Elements of 9 nodes.
    pub of_9: Stars<9>,
    /// Elements of 10 nodes.
    pub of_10: Stars<10>,
}

impl Plate {
    /// `rest` holds the positions without bending (m); `rigidity` is D = E t³/(12(1 − ν²)) (N m), `poisson` ν in (−1, 1).
    ///
    /// The normals of `clamps` belong to the rest shape: bending starts when the sheet or they ([`Plate::aim_clamps`]) turn.
    ///
    /// # Errors
    /// If the triangles are not a surface or have no area, the material is none, or a clamp is not on the boundary.
    pub fn new(
        triangles: &[[u32; 3]],
        rest: &[DVec3],
        rigidity: f64,
        poisson: f64,
        clamps: &[Clamp],
    ) -> Result<Self, PlateError> {
        if !(rigidity >= 0.0 && rigidity.is_finite() && poisson > -1.0 && poisson < 1.0) {
            return Err(PlateError::Material { rigidity, poisson });
        }
        interior_hinges(triangles)?;
        if let Some(triangle) = triangles.iter().position(|nodes| is_flat(nodes, rest)) {
            return Err(PlateError::DegenerateTriangle { triangle });
        }
        let mut plate = Self::default();
        let mut used = vec![0; clamps.len()];
        for fan in fans(triangles) {
            let ends = clamped_ends(&fan, rest, clamps)?;
            ends.iter().flatten().for_each(|end| used[end.clamp] += 1);
            // Two triangles back to back have no rest shape that could be laid flat.
            if fan.closed && fan.ring.len() < 3 {
                continue;
            }
            for star in stars_of(&fan, rest, &ends, poisson) {
                plate.push(&star, rest, rigidity.sqrt());
            }
        }
        // Both ends of its edge have met each clamp.
        match used.iter().position(|count| *count != 2) {
            Some(clamp) => Err(PlateError::Clamp {
                edge: clamps[clamp].edge,
            }),
            None => Ok(plate),
        }
    }

    /// Hands all groups of elements to a visitor, small ones first.
    pub fn visit(&self, visitor: &mut impl StarVisitor) {
        visitor.visit(&self.of_3);
        visitor.visit(&self.of_4);
        visitor.visit(&self.of_5);
        visitor.visit(&self.of_6);
        visitor.visit(&self.of_7);
        visitor.visit(&self.of_8);
        visitor.visit(&self.of_9);
        visitor.visit(&self.of_10);
    }

    /// The energy of the whole plate (J).
    pub fn total_value(&self, positions: &[DVec3]) -> f64 {
        struct Sum<'a>(&'a [DVec3], f64);
        impl StarVisitor for Sum<'_> {
            fn visit<const K: usize>(&mut self, stars: &Stars<K>) {
                self.1 += total_value(stars, self.0);
            }
        }
        let mut sum = Sum(positions, 0.0);
        self.visit(&mut sum);
        sum.1
    }

    /// Turns the clamps to new `normals`, in the order of those given to [`Plate::new`], where their edges are now.
    ///
    /// A clamp without a normal, or whose normal lies along its edge, stays as it is.
    pub fn aim_clamps(&mut self, positions: &[DVec3], normals: &[DVec3]) {
        self.of_3.aim(positions, normals);
        self.of_4.aim(positions, normals);
        self.of_5.aim(positions, normals);
        self.of_6.aim(positions, normals);
        self.of_7.aim(positions, normals);
        self.of_8.aim(positions, normals);
        self.of_9.aim(positions, normals);
        self.of_10.aim(positions, normals);
    }

    fn push(&mut self, star: &LooseStar, rest: &[DVec3], scale: f64) {
        match star.nodes.len() {
            3 => self.of_3.push(star, rest, scale),
            4 => self.of_4.push(star, rest, scale),
            5 => self.of_5.push(star, rest, scale),
            6 => self.of_6.push(star, rest, scale),
            7 => self.of_7.push(star, rest, scale),
            8 => self.of_8.push(star, rest, scale),
            9 => self.of_9.push(star, rest, scale),
            _ => self.of_10.push(star, rest, scale),
        }
    }
}

fn is_flat(nodes: &[u32; 3], rest: &[DVec3]) -> bool {
    let [a, b, c] = nodes.map(|node| rest[node as usize]);
    let longest = (b - a).length_squared().max((c - a).length_squared());
    let double_area = (b - a).cross(c - a).length();
    double_area <= 1e-12 * longest || !double_area.is_finite()
}
