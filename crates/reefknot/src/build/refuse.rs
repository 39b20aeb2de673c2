//! Refusals of what cannot be computed with: too large, too small, too far, too fast.

use glam::DVec3;

use super::Builder;
use crate::mesh::Mesh;
use crate::mesh::diagnose::Use;
use crate::scene::problem::Place;

/// Nothing is farther from the origin (m), or faster at the start (m/s), than this: a tenth of a light year, whose
/// powers are still numbers.
pub(super) const FARTHEST: f64 = 1e15;

/// Nothing is smaller than this (m); its powers are numbers too.
const SMALLEST: f64 = 1e-30;

/// Places have so many digits that lengths below this part of them vanish.
const DIGITS: f64 = 1e-11;

impl Builder<'_> {
    /// Refuses what is so large or so small that areas and volumes are no numbers.
    pub(super) fn refuse_size(&mut self, mesh: &Mesh, who: &str, place: &Place) -> Option<()> {
        // Not the length of the diagonal, whose square may be no number when the size still is.
        let first = mesh.points.first().copied().unwrap_or_default();
        let extent = |point: &DVec3| (*point - first).abs().max_element();
        let size = mesh.points.iter().map(extent).fold(0.0, f64::max);
        let what = match size {
            size if size > FARTHEST => "large",
            // Points that all fall together are a defect of the mesh.
            size if size > 0.0 && size < SMALLEST => "small",
            _ => return Some(()),
        };
        let message = format!("`{who}` is too {what} to compute with: its size is {size:e} m");
        let advice = format!("give it a size between {SMALLEST:e} m and {FARTHEST:e} m");
        self.problem(place, message, advice);
        None
    }

    /// Refuses what is so far away that lengths of `smallest` vanish there.
    pub(super) fn refuse_far(
        &mut self,
        mesh: &Mesh,
        smallest: f64,
        who: &str,
        place: &Place,
    ) -> Option<()> {
        let reaches = mesh.points.iter().map(|point| point.abs().max_element());
        let reach = reaches.fold(0.0, f64::max);
        if reach <= FARTHEST && smallest > DIGITS * reach {
            return Some(());
        }
        let message = format!("`{who}` is too far away");
        let advice = "its vertices fall together there, as numbers have 16 digits";
        self.problem(place, message, advice);
        None
    }

    /// Refuses velocities whose squares are no numbers.
    pub(super) fn refuse_fast(
        &mut self,
        velocities: &[DVec3],
        who: &str,
        place: &Place,
    ) -> Option<()> {
        let speeds = velocities.iter().map(|v| v.abs().max_element());
        let fastest = speeds.fold(0.0, f64::max);
        if fastest <= FARTHEST {
            return Some(());
        }
        let message = format!("`{who}` would start at {fastest:e} m/s");
        let advice =
            format!("at most {FARTHEST:e} m/s; give a smaller `velocity` and `angular_velocity`");
        self.problem(place, message, advice);
        None
    }
}

/// What must not vanish in rounding (m): the shortest edge of what deforms, the size of what does not, whose triangles may
/// have no area.
pub(super) fn smallest_length(mesh: &Mesh, use_as: Use) -> f64 {
    if use_as == Use::Collider {
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
