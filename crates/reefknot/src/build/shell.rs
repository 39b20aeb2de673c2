//! The elements of a piece of cloth.

use std::sync::Arc;

use glam::DVec3;
use reefknot_contact::block_sparse::BlockPattern;
use reefknot_contact::symbolic::Symbolic;

use crate::energy::Energy;
use crate::energy::assemble::GatherMap;
use crate::energy::hinge::Hinges;
use crate::energy::membrane::Membrane;
use crate::material::ShellMaterial;
use crate::mesh::Mesh;
use crate::mesh::surface::interior_hinges;
use crate::model::Shell;

/// The elements of cloth that is at rest in this mesh.
///
/// # Errors
/// A part of a sentence on what is wrong with the mesh.
pub(super) fn shell(mesh: &Mesh, material: ShellMaterial, warp: DVec3) -> Result<Shell, String> {
    let count = mesh.points.len();
    let triangles = &mesh.triangles;
    let hinge_stencils = interior_hinges(triangles).map_err(|error| error.to_string())?;
    let rigidity = vec![material.bending; hinge_stencils.len()];
    let hinges =
        Hinges::new(hinge_stencils, &mesh.points, &rigidity).map_err(|error| error.to_string())?;
    let membrane = Membrane::new(
        triangles.clone(),
        &mesh.rest_triangles(warp),
        vec![0; triangles.len()],
        vec![material.membrane],
    )
    .map_err(|error| error.to_string())?;
    // Every pair of nodes of a triangle is also a pair of a hinge, except in a lone triangle.
    let pairs = pairs_of(triangles).chain(pairs_of(hinges.stencils()));
    let pattern = Arc::new(BlockPattern::new(count, pairs));
    let symbolic = Arc::new(Symbolic::analyze(&pattern).map_err(|error| error.to_string())?);
    let slot = |row: usize, column: usize| pattern.slot(row, column).unwrap_or(usize::MAX);
    let membrane_map = GatherMap::new(membrane.stencils(), count, pattern.blocks(), slot);
    let hinge_map = GatherMap::new(hinges.stencils(), count, pattern.blocks(), slot);
    Ok(Shell {
        material,
        triangles: triangles.clone(),
        membrane,
        hinges,
        pattern: pattern.clone(),
        symbolic,
        membrane_map,
        hinge_map,
    })
}

/// All pairs of nodes of all elements.
fn pairs_of<const K: usize>(stencils: &[[u32; K]]) -> impl Iterator<Item = (u32, u32)> {
    stencils
        .iter()
        .flat_map(|stencil| (0..K).flat_map(move |i| (0..i).map(move |j| (stencil[i], stencil[j]))))
}
