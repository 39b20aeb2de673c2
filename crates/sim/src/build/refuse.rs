//! Refusals of sizes, positions and velocities outside of the range of numbers.

use glam::DVec3;

use super::Builder;
use crate::mesh::Mesh;
use crate::mesh::diagnose::MeshUse;
use crate::scene::problem::Place;

/// Largest coordinate (m) and initial velocity (m/s): its powers do not overflow.
pub(super) const MAX_COORDINATE: f64 = 1e15;

/// Smallest size of an object (m): its powers do not underflow.
const MIN_SIZE: f64 = 1e-30;

/// Smallest length relative to a coordinate that survives rounding.
const RELATIVE_PRECISION: f64 = 1e-11;

impl Builder<'_> {
    /// Refuses sizes whose areas and volumes overflow or underflow.
    pub(super) fn refuse_size(&mut self, mesh: &Mesh, who: &str, place: &Place) -> Option<()> {
        // Not the length of the diagonal, whose square may overflow.
        let first = mesh.points.first().copied().unwrap_or_default();
        let extent = |point: &DVec3| (*point - first).abs().max_element();
        let size = mesh.points.iter().map(extent).fold(0.0, f64::max);
        let what = match size {
            size if size > MAX_COORDINATE => "large",
            // A size of 0 is a defect of the mesh, which is reported elsewhere.
            size if size > 0.0 && size < MIN_SIZE => "small",
            _ => return Some(()),
        };
        let message = format!("`{who}` is too {what}: its size is {size:e} m");
        let advice = format!("give it a size between {MIN_SIZE:e} m and {MAX_COORDINATE:e} m");
        self.problem(place, message, advice);
        None
    }

    /// Refuses positions so far away that rounding loses lengths of `smallest`.
    pub(super) fn refuse_far(
        &mut self,
        mesh: &Mesh,
        smallest: f64,
        who: &str,
        place: &Place,
    ) -> Option<()> {
        let reaches = mesh.points.iter().map(|point| point.abs().max_element());
        let reach = reaches.fold(0.0, f64::max);
        if reach <= MAX_COORDINATE && smallest > RELATIVE_PRECISION * reach {
            return Some(());
        }
        let message = format!("`{who}` is too far away from the origin for its size");
        let advice = "rounding would merge its vertices; move it closer";
        self.problem(place, message, advice);
        None
    }

    /// Refuses velocities whose squares overflow.
    pub(super) fn refuse_fast(
        &mut self,
        velocities: &[DVec3],
        who: &str,
        place: &Place,
    ) -> Option<()> {
        let speeds = velocities.iter().map(|v| v.abs().max_element());
        let fastest = speeds.fold(0.0, f64::max);
        if fastest <= MAX_COORDINATE {
            return Some(());
        }
        let message = format!("`{who}` has an initial velocity of {fastest:e} m/s");
        let advice = format!(
            "the limit is {MAX_COORDINATE:e} m/s; give a smaller `velocity` and `angular_velocity`"
        );
        self.problem(place, message, advice);
        None
    }
}

/// The length that must survive rounding (m): the shortest edge of deformable objects, the size of
/// others, whose triangles may be degenerate.
pub(super) fn smallest_length(mesh: &Mesh, use_as: MeshUse) -> f64 {
    if use_as == MeshUse::Collider {
        return mesh.diagonal();
    }
    let length = |[a, b]: [u32; 2]| mesh.points[a as usize].distance(mesh.points[b as usize]);
    let sides = mesh
        .triangles
        .iter()
        .flat_map(|[a, b, c]| [[*a, *b], [*b, *c], [*c, *a]]);
    let edges = sides.chain(mesh.curves.iter().flat_map(|curve| curve.edges()));
    edges.map(length).fold(f64::INFINITY, f64::min)
}
