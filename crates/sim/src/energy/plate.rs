//! Bending of plates and shells with flexural rigidity D and Poisson ratio ν, on any triangle mesh.
//!
//! The stiffness of the hinges of [`super::hinge`] depends on the mesh. So does that of shape
//! operators of triangles with averaged normals at the edges: with them, a square plate on
//! alternating diagonals deflects 38% too little. Independent normals at the edges (the Morley
//! element; Grinspun, Gingold, Reisman and Zorin, Computing discrete shape operators on general
//! meshes, 2006) need one more unknown per edge. Here the curvature is defined at vertices, from
//! the angles of their edges alone.
//!
//! Let θₑ be the angle of edge e, zero when flat, mₑ the unit vector in the sheet orthogonal to the
//! edge, and lₑ its length. Around a vertex, Σₑ lₑ/2 mₑmₑᵀ θₑ is the integral of the curvature
//! (Cohen-Steiner and Morvan, Restricted Delaunay Triangulations and Normal Cycle, 2003). So
//! moments σ at the vertex do the work σ·bᵀθ, where b has the rows lₑ/2 (m₁², m₂², 2m₁m₂), and the
//! energy is max over σ of σ·bᵀθ − ½ σ·Fσ, as in the mixed method of Herrmann with lumped masses.
//! That method has F = A C⁻¹ with the area A of the vertex and the matrix C of D and ν, and its
//! plates deflect 15% too little. Instead, let X be the angles of the edges under unit curvatures
//! of a quadratic surface, and F = sym(bᵀX C⁻¹), which is A C⁻¹ in the mean over the mesh. Then
//! angles θ = Xκ have the moments σ = Cκ (if bᵀXC⁻¹ is symmetric): every vertex reproduces
//! quadratic surfaces, and constant moments are in equilibrium without load, since bᵀθ telescopes.
//! F is bounded below by half of A C⁻¹, for curvatures that hardly change the angles of a vertex.
//!
//! On a free boundary the normal moments are zero: σ has no such component. On a clamped boundary
//! the normal of the sheet is given, and θₑ is the angle between it and the normal of the single
//! triangle. With W = F^−½ bᵀ the energy of a vertex is ½|W(θ − θ̄)|². It depends on angles
//! alone, so rotations and bending may be large. θ − θ̄ is wrapped to [−π, π]: the energy is
//! bounded and has a kink where an edge is folded by π from its rest angle.

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

/// Invalid parameters of a plate.
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
    /// Rigidity or Poisson ratio is out of range.
    #[error("a plate cannot have the rigidity {rigidity} N m and the Poisson ratio {poisson}")]
    Material {
        /// D (N m).
        rigidity: f64,
        /// ν.
        poisson: f64,
    },
    /// A clamp that is not on the boundary, or whose normal is parallel to its edge.
    #[error("edge {}-{} cannot be clamped", edge[0], edge[1])]
    Clamp {
        /// The edge.
        edge: [u32; 2],
    },
}

/// A boundary edge with a prescribed normal of the sheet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClampedEdge {
    /// Nodes of the edge, in any order.
    pub edge: [u32; 2],
    /// Normal of the sheet, of either orientation.
    pub normal: DVec3,
}

/// Visitor of the elements of a plate, for [`Plate::visit`].
pub trait StarVisitor {
    /// Visits all elements of `K` nodes.
    fn visit<const K: usize>(&mut self, stars: &Stars<K>);
}

/// Elements of a plate: one per vertex, with its neighbours.
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
    /// Plate with rest positions (m), rigidity D = E t³/(12(1 − ν²)) (N m) and Poisson ratio ν in
    /// (−1, 1).
    ///
    /// The normals of `clamps` belong to the rest shape: the bending energy is zero until the sheet
    /// or the normals ([`Plate::aim_clamps`]) rotate.
    ///
    /// # Errors
    /// If the triangles are not a surface or have no area, the material is out of range, or a clamp
    /// is not on the boundary.
    pub fn new(
        triangles: &[[u32; 3]],
        rest: &[DVec3],
        rigidity: f64,
        poisson: f64,
        clamps: &[ClampedEdge],
    ) -> Result<Self, PlateError> {
        if !(rigidity >= 0.0 && rigidity.is_finite() && poisson > -1.0 && poisson < 1.0) {
            return Err(PlateError::Material { rigidity, poisson });
        }
        interior_hinges(triangles)?;
        if let Some(triangle) = triangles
            .iter()
            .position(|nodes| is_degenerate(nodes, rest))
        {
            return Err(PlateError::DegenerateTriangle { triangle });
        }
        let mut plate = Self::default();
        let mut used = vec![0; clamps.len()];
        for fan in fans(triangles) {
            let ends = clamped_ends(&fan, rest, clamps)?;
            ends.iter().flatten().for_each(|end| used[end.clamp] += 1);
            // Two triangles back to back cannot be flattened.
            if fan.closed && fan.ring.len() < 3 {
                continue;
            }
            for star in stars_of(&fan, rest, &ends, poisson) {
                plate.push(&star, rest, rigidity.sqrt());
            }
        }
        // Each clamp is used by both ends of its edge.
        match used.iter().position(|count| *count != 2) {
            Some(clamp) => Err(PlateError::Clamp {
                edge: clamps[clamp].edge,
            }),
            None => Ok(plate),
        }
    }

    /// Passes all groups of elements to a visitor, by ascending numbers of nodes.
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

    /// Energy of the plate (J).
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

    /// Sets new normals of the clamps, in the order of [`Plate::new`], at the current positions.
    ///
    /// A clamp without a new normal, or whose normal is parallel to its edge, is not changed.
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

/// Whether a triangle has no area at rest.
fn is_degenerate(nodes: &[u32; 3], rest: &[DVec3]) -> bool {
    let [a, b, c] = nodes.map(|node| rest[node as usize]);
    let longest = (b - a).length_squared().max((c - a).length_squared());
    let double_area = (b - a).cross(c - a).length();
    double_area <= 1e-12 * longest || !double_area.is_finite()
}
