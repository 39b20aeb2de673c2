//! Single rods: straight, helical, circular, or along a spline.
//!
//! The vertices are on a smooth curve, equally spaced in arc length.

use std::f64::consts::TAU;

use glam::DVec3;

use super::path::Path;
use crate::mesh::{Curve, Group, Mesh};

/// Maximum number of vertices of a mesh of rods.
pub(super) const MAX_ROD_VERTICES: usize = 100_000_000;

/// A straight rod from the origin along x, `length` in metres.
///
/// Groups: "first", "last", "ends".
pub fn straight(length: f64, vertices: usize) -> Result<Mesh, String> {
    check_count(vertices, 2)?;
    check_positive("length", length)?;
    let edges = (vertices - 1) as f64;
    let point = |index: usize| DVec3::new(length * (index as f64 / edges), 0.0, 0.0);
    Ok(single((0..vertices).map(point).collect(), false))
}

/// A helix around the z axis that starts at (`radius`, 0, 0), counter-clockwise seen from above.
///
/// `pitch` is the height of a turn (m): a positive one is right-handed, a negative one descends and
/// is left-handed. `length` is the arc length (m). Groups: "first", "last", "ends".
pub fn helix(radius: f64, pitch: f64, length: f64, vertices: usize) -> Result<Mesh, String> {
    check_count(vertices, 2)?;
    check_positive("length", length)?;
    if !(radius >= 0.0 && radius.is_finite() && pitch.is_finite()) {
        return Err(
            "the radius and the pitch of a helix must be finite, the radius not negative"
                .to_owned(),
        );
    }
    let climb = pitch / TAU;
    let speed = radius.hypot(climb);
    let angle = length / speed;
    if !angle.is_finite() {
        return Err("a helix needs a radius or a pitch".to_owned());
    }
    let edges = (vertices - 1) as f64;
    let point = |index: usize| {
        let turned = angle * (index as f64 / edges);
        let (sine, cosine) = turned.sin_cos();
        DVec3::new(radius * cosine, radius * sine, climb * turned)
    };
    Ok(single((0..vertices).map(point).collect(), false))
}

/// A circle in the plane z = 0 around the origin, counter-clockwise from (`radius`, 0, 0). It is
/// closed and has no groups.
pub fn ring(radius: f64, vertices: usize) -> Result<Mesh, String> {
    check_count(vertices, 3)?;
    check_positive("radius", radius)?;
    let point = |index: usize| {
        let (sine, cosine) = (TAU * (index as f64 / vertices as f64)).sin_cos();
        DVec3::new(radius * cosine, radius * sine, 0.0)
    };
    Ok(single((0..vertices).map(point).collect(), true))
}

/// A centripetal Catmull-Rom spline through the given points (m). It starts exactly at the first
/// point and, if open, ends at the last.
///
/// Groups if open: "first", "last", "ends".
pub fn spline(points: &[DVec3], closed: bool, vertices: usize) -> Result<Mesh, String> {
    check_count(vertices, if closed { 3 } else { 2 })?;
    let path = Path::through(points, closed)?;
    Ok(single(path.evenly(vertices), closed))
}

/// A mesh of one curve, with groups for its ends.
fn single(points: Vec<DVec3>, closed: bool) -> Mesh {
    let count = points.len() as u32;
    let curve = Curve {
        first: 0,
        count,
        closed,
    };
    let groups = if closed {
        Vec::new()
    } else {
        vec![
            Group::new("first", vec![0]),
            Group::new("last", vec![count - 1]),
            Group::new("ends", vec![0, count - 1]),
        ]
    };
    Mesh {
        points,
        curves: vec![curve],
        groups,
        ..Mesh::default()
    }
}

/// Refuses too few or too many vertices.
pub(super) fn check_count(vertices: usize, least: usize) -> Result<(), String> {
    match vertices {
        count if count < least => Err(format!(
            "{count} vertices are too few; take at least {least}"
        )),
        count if count > MAX_ROD_VERTICES => Err(format!(
            "{count} vertices are too many; take at most {MAX_ROD_VERTICES}"
        )),
        _ => Ok(()),
    }
}

/// Refuses a number that is not positive and finite.
pub(super) fn check_positive(name: &str, value: f64) -> Result<(), String> {
    if value > 0.0 && value.is_finite() {
        Ok(())
    } else {
        Err(format!(
            "the {name} must be positive and finite, not {value}"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge_lengths(mesh: &Mesh) -> Vec<f64> {
        let length = |[a, b]: [u32; 2]| mesh.points[a as usize].distance(mesh.points[b as usize]);
        mesh.curve_edges().into_iter().map(length).collect()
    }

    /// Ratio of the longest to the shortest edge, minus 1.
    fn unevenness(mesh: &Mesh) -> f64 {
        let lengths = edge_lengths(mesh);
        let largest = lengths.iter().copied().fold(0.0, f64::max);
        largest / lengths.iter().copied().fold(f64::INFINITY, f64::min) - 1.0
    }

    #[test]
    fn a_straight_rod_runs_along_x() {
        let mesh = straight(2.0, 5).unwrap();
        assert_eq!(mesh.points[4], DVec3::new(2.0, 0.0, 0.0));
        assert_eq!(edge_lengths(&mesh), [0.5; 4]);
        let vertices: Vec<_> = mesh
            .groups
            .iter()
            .map(|group| &group.vertices[..])
            .collect();
        assert_eq!(vertices, [&[0][..], &[4], &[0, 4]]);
    }

    #[test]
    fn a_helix_has_the_given_length_and_handedness() {
        for pitch in [0.3, -0.3, 0.0] {
            let mesh = helix(0.1, pitch, 2.0, 4001).unwrap();
            assert_eq!(mesh.points[0], DVec3::new(0.1, 0.0, 0.0));
            // A chord of angle t is shorter than its arc by at most t²/24, and t = 0.005 for 20 rad
            // in 4000 edges.
            let length = edge_lengths(&mesh).iter().sum::<f64>();
            assert!((length / 2.0 - 1.0).abs() < 1.1e-6, "{length}");
            assert!(unevenness(&mesh) < 1e-9);
            let [a, b, c, d] = [0, 1, 2, 3].map(|vertex| mesh.points[vertex]);
            // Torsion has the sign of the pitch.
            let torsion = (b - a).cross(c - b).dot(d - c);
            assert!(torsion * pitch > 0.0 || pitch == 0.0 && torsion == 0.0);
            // The height is pitch times turns, each of length √((2πr)² + p²).
            let turns = 2.0 / (TAU * 0.1).hypot(pitch);
            assert!((mesh.points[4000].z - pitch * turns).abs() < 1e-12);
        }
    }

    #[test]
    fn a_ring_is_closed_with_equal_edges() {
        let mesh = ring(0.5, 100).unwrap();
        assert!(mesh.curves[0].closed && mesh.groups.is_empty());
        assert_eq!(mesh.curve_edges().len(), 100);
        assert!(unevenness(&mesh) < 1e-12);
        // The perimeter of a regular polygon.
        let perimeter = 100.0 * (std::f64::consts::PI / 100.0).sin();
        assert!((edge_lengths(&mesh).iter().sum::<f64>() - perimeter).abs() < 1e-12);
    }

    #[test]
    fn a_spline_has_the_given_ends() {
        let points = [DVec3::ZERO, DVec3::X, DVec3::ONE, DVec3::Y];
        let open = spline(&points, false, 500).unwrap();
        assert_eq!([open.points[0], open.points[499]], [points[0], points[3]]);
        assert_eq!((open.groups.len(), open.curve_edges().len()), (3, 499));
        let closed = spline(&points, true, 500).unwrap();
        assert_eq!(closed.points[0], points[0]);
        assert_eq!((closed.groups.len(), closed.curve_edges().len()), (0, 500));
        // Chords of equal arcs differ by at most (κ s)²/24, with s = 0.01 and κ below 10.
        assert!(unevenness(&open) < 5e-4 && unevenness(&closed) < 5e-4);
    }

    #[test]
    fn invalid_rods_are_refused() {
        let [p, q] = [DVec3::ZERO, DVec3::X];
        assert!(straight(0.0, 5).is_err() && straight(1.0, 1).is_err());
        assert!(straight(f64::NAN, 5).is_err() && straight(1.0, usize::MAX).is_err());
        assert!(helix(0.0, 0.0, 1.0, 5).is_err() && helix(-1.0, 1.0, 1.0, 5).is_err());
        assert!(ring(1.0, 2).is_err() && ring(f64::INFINITY, 5).is_err());
        assert!(spline(&[p], false, 5).is_err() && spline(&[p, q], true, 5).is_err());
        let error = spline(&[p, q, q], false, 5).unwrap_err();
        assert_eq!(
            error,
            "points 1 and 2 of the curve are equal or too far apart"
        );
        assert!(spline(&[p, DVec3::splat(1e300)], false, 5).is_err());
        // A curve that returns to its start has a point of zero velocity, but a length.
        assert!(spline(&[p, q, p], false, 7).is_ok());
    }
}
