//! Elements of cloth, solids and props: energies, and the sparsity pattern of their matrices.

use std::sync::Arc;

use glam::{DMat3, DVec3};
use reefknot_contact::block_sparse::BlockPattern;
use reefknot_contact::symbolic::Symbolic;

use crate::energy::affine::Orthogonality;
use crate::energy::hinge::Hinges;
use crate::energy::membrane::{Membrane, MembraneLaw};
use crate::energy::plate::{ClampedEdge, Plate};
use crate::energy::solid::{Solid, SolidLaw};
use crate::energy::spring::Springs;
use crate::energy::term::{Elastic, Term, plate_terms};
use crate::material::{ShellMaterial, SolidMaterial};
use crate::mesh::Mesh;
use crate::mesh::mass::eigen;
use crate::mesh::surface::{areas, interior_hinges};
use crate::model::BlockElements;
use crate::scene::tables::{BendingModel, MembraneModel, SolidModel};

/// Elements of cloth with this rest mesh. `clamped` are border edges whose normals are held.
///
/// # Errors
/// The defect of the mesh, as a part of a sentence.
pub(super) fn shell(
    mesh: &Mesh,
    material: &ShellMaterial,
    warp: DVec3,
    clamped: &[ClampedEdge],
) -> Result<BlockElements, String> {
    let stretch = membrane(mesh, material, warp)?;
    let mut terms = vec![(stretch, material.membrane_damping)];
    let bending: Vec<Elastic> = match material.bending_model {
        BendingModel::Hinge => {
            let stencils = interior_hinges(&mesh.triangles).map_err(|error| error.to_string())?;
            let rigidity = vec![material.bending; stencils.len()];
            let hinges = Hinges::new(stencils, &mesh.points, &rigidity);
            vec![Elastic::Hinges(hinges.map_err(|error| error.to_string())?)]
        }
        BendingModel::Plate => {
            let (rigidity, poisson) = (material.bending, material.poisson);
            let plate = Plate::new(&mesh.triangles, &mesh.points, rigidity, poisson, clamped);
            plate_terms(plate.map_err(|error| error.to_string())?)
        }
    };
    terms.extend(
        bending
            .into_iter()
            .map(|elastic| (elastic, material.bending_damping)),
    );
    let mut elements = assembled(mesh.points.len(), terms, material.mass_damping)?;
    elements.sail.clone_from(&mesh.triangles);
    Ok(elements)
}

/// Energy of stretch and shear.
fn membrane(mesh: &Mesh, material: &ShellMaterial, warp: DVec3) -> Result<Elastic, String> {
    let law = match material.membrane_model {
        MembraneModel::Stvk => MembraneLaw::StVenantKirchhoff,
        MembraneModel::NeoHookean => MembraneLaw::NeoHookean,
        MembraneModel::Corotated => MembraneLaw::Corotated,
        MembraneModel::Springs => return springs(mesh, material),
    };
    let triangles = mesh.triangles.clone();
    let rest = mesh.rest_triangles(warp);
    let kinds = vec![0; triangles.len()];
    let membrane = Membrane::new(triangles, &rest, kinds, vec![material.membrane], law);
    membrane
        .map(Elastic::Membrane)
        .map_err(|error| error.to_string())
}

/// Springs along the edges with the mean stiffness of the sheet: an edge of length l between
/// triangles of areas A has the stiffness E t Σ A / l² (Van Gelder 1998).
fn springs(mesh: &Mesh, material: &ShellMaterial) -> Result<Elastic, String> {
    let areas = areas(&mesh.points, &mesh.triangles);
    let mut beside: Vec<([u32; 2], f64)> = Vec::new();
    for ([a, b, c], area) in mesh.triangles.iter().zip(&areas) {
        for (one, other) in [(*a, *b), (*b, *c), (*c, *a)] {
            beside.push(([one.min(other), one.max(other)], *area));
        }
    }
    beside.sort_by_key(|(edge, _)| *edge);
    let (mut stencils, mut stiffness, mut lengths) = (Vec::new(), Vec::new(), Vec::new());
    for same in beside.chunk_by(|one, other| one.0 == other.0) {
        let [a, b] = same[0].0.map(|vertex| mesh.points[vertex as usize]);
        let area: f64 = same.iter().map(|(_, area)| area).sum();
        stencils.push(same[0].0);
        lengths.push(a.distance(b));
        stiffness.push(material.stretch * area / a.distance_squared(b));
    }
    let springs = Springs::new(stencils, stiffness, lengths);
    springs
        .map(Elastic::Springs)
        .map_err(|error| error.to_string())
}

/// Elements of a solid with this rest mesh. The stiffness is multiplied by `part`, the filled
/// fraction of a lattice.
///
/// # Errors
/// The defect of the mesh, as a part of a sentence.
pub(super) fn solid(
    mesh: &Mesh,
    material: &SolidMaterial,
    part: f64,
) -> Result<BlockElements, String> {
    let law = match material.model {
        SolidModel::Corotated => SolidLaw::Corotated,
        SolidModel::FixedCorotated => SolidLaw::FixedCorotated,
        SolidModel::NeoHookean => SolidLaw::NeoHookean,
        SolidModel::StableNeoHookean => SolidLaw::StableNeoHookean,
    };
    let (tetrahedra, young) = (mesh.tetrahedra.clone(), material.young * part);
    let solid = Solid::new(tetrahedra, &mesh.points, law, young, material.poisson);
    let solid = solid.map_err(|error| error.to_string())?;
    let terms = vec![(Elastic::Solid(solid), material.damping)];
    assembled(mesh.points.len(), terms, material.mass_damping)
}

/// Lumped masses of a solid: each corner has a quarter of the mass of a tetrahedron (kg).
pub(super) fn solid_masses(mesh: &Mesh, density: f64) -> Vec<f64> {
    let mut masses = vec![0.0; mesh.points.len()];
    for corners in &mesh.tetrahedra {
        let [a, b, c, d] = corners.map(|corner| mesh.points[corner as usize]);
        let volume = (b - a).cross(c - a).dot(d - a).abs() / 6.0;
        for corner in corners {
            masses[*corner as usize] += 0.25 * density * volume;
        }
    }
    masses
}

/// A rigid prop relative to its centre of mass.
pub(super) struct Prop {
    /// Principal axes of inertia, the columns of a rotation.
    pub(super) axes: DMat3,
    /// Root mean square distances from the centre along the axes (m).
    pub(super) lengths: [f64; 3],
    /// The energy that keeps it rigid.
    pub(super) elements: Arc<BlockElements>,
}

/// A prop of a mass (kg), an inertia tensor about its centre of mass (kg m²) and a stiffness:
/// modulus times volume (J).
///
/// # Errors
/// The inconsistency, as a part of a sentence.
pub(super) fn prop(mass: f64, inertia: DMat3, stiffness: f64) -> Result<Prop, String> {
    let (axes, moments) = eigen(inertia);
    let half_trace = 0.5 * moments.element_sum();
    let squares = (DVec3::splat(half_trace) - moments) / mass;
    if squares.min_element() <= 1e-9 * squares.max_element() {
        return Err(format!(
            "the moments of inertia {:e}, {:e} and {:e} kg*m^2 are impossible: the sum of any two \
             must be larger than the third",
            moments.x, moments.y, moments.z
        ));
    }
    let lengths = squares.to_array().map(f64::sqrt);
    let rigid = Orthogonality::new(lengths, stiffness).map_err(|error| error.to_string())?;
    let mut elements = assembled(4, vec![(Elastic::Orthogonality(rigid), 0.0)], 0.0)?;
    elements.is_affine = true;
    Ok(Prop {
        axes,
        lengths,
        elements: Arc::new(elements),
    })
}

/// Elements with the sparsity pattern and the symbolic factorization of their matrix.
fn assembled(
    nodes: usize,
    terms: Vec<(Elastic, f64)>,
    mass_damping: f64,
) -> Result<BlockElements, String> {
    let pairs = terms.iter().flat_map(|(elastic, _)| elastic.pairs());
    let pattern = Arc::new(BlockPattern::new(nodes, pairs));
    let symbolic = Arc::new(Symbolic::analyze(&pattern).map_err(|error| error.to_string())?);
    let terms = terms.into_iter();
    Ok(BlockElements {
        terms: terms
            .map(|(elastic, damping)| Term::new(elastic, damping, &pattern))
            .collect(),
        sail: Vec::new(),
        mass_damping,
        is_affine: false,
        pattern,
        symbolic,
    })
}
