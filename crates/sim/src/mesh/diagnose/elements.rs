//! Defects of single elements: invalid vertices and degenerate shapes.

use glam::DVec3;

use super::{COINCIDENT_TOLERANCE, DefectKind, Findings, MeshUse, diagonal};
use crate::mesh::{Curve, Mesh};

/// Relative area or volume, by the power of the longest side, of a degenerate element; that of
/// `energy::membrane`.
const FLATNESS_TOLERANCE: f64 = 1e-12;
/// Quality below which a triangle is thin: its height is about 1/50 of its length.
const MIN_TRIANGLE_QUALITY: f64 = 0.05;
/// Quality below which a tetrahedron is thin (mean ratio).
const MIN_TETRAHEDRON_QUALITY: f64 = 0.1;

/// Elements with existing, finite and distinct vertices, with their numbers. Records those with
/// missing vertices.
pub(super) fn usable<const CORNERS: usize>(
    mesh: &Mesh,
    elements: &[[u32; CORNERS]],
    name: &str,
    findings: &mut Findings,
) -> Vec<(usize, [u32; CORNERS])> {
    let mut usable = Vec::with_capacity(elements.len());
    for (index, corners) in elements.iter().enumerate() {
        if corners
            .iter()
            .any(|vertex| *vertex as usize >= mesh.points.len())
        {
            findings.note(DefectKind::OutOfRange, || {
                (format!("{name} {index}"), centroid(mesh, corners))
            });
            continue;
        }
        let is_finite = corners
            .iter()
            .all(|vertex| mesh.points[*vertex as usize].is_finite());
        if is_finite && !has_repeated(corners) {
            usable.push((index, *corners));
        }
    }
    usable
}

/// Curves with existing and finite vertices, with their numbers. Records those with missing
/// vertices.
pub(super) fn usable_curves(mesh: &Mesh, findings: &mut Findings) -> Vec<(usize, Curve)> {
    let mut usable = Vec::with_capacity(mesh.curves.len());
    for (index, curve) in mesh.curves.iter().enumerate() {
        let first = curve.first as usize;
        match mesh
            .points
            .get(first..first.saturating_add(curve.count as usize))
        {
            None => {
                let at = mesh.points.get(first).copied().unwrap_or_default();
                findings.note(DefectKind::OutOfRange, || (format!("curve {index}"), at));
            }
            Some(points) if points.iter().all(|point| point.is_finite()) => {
                usable.push((index, *curve));
            }
            Some(_) => {}
        }
    }
    usable
}

/// Mean of the existing, finite corners.
pub(super) fn centroid(mesh: &Mesh, corners: &[u32]) -> DVec3 {
    let points = corners
        .iter()
        .filter_map(|vertex| mesh.points.get(*vertex as usize))
        .filter(|point| point.is_finite());
    let (sum, count) = points.fold((DVec3::ZERO, 0), |(sum, count), point| {
        (sum + *point, count + 1)
    });
    sum / f64::from(count.max(1))
}

fn has_repeated(corners: &[u32]) -> bool {
    (1..corners.len()).any(|corner| corners[..corner].contains(&corners[corner]))
}

/// Finds elements with a repeated vertex.
pub(super) fn repeated<const CORNERS: usize>(
    mesh: &Mesh,
    elements: &[[u32; CORNERS]],
    name: &str,
    findings: &mut Findings,
) {
    for (index, corners) in elements.iter().enumerate() {
        if has_repeated(corners) {
            findings.note(DefectKind::RepeatedVertex, || {
                (format!("{name} {index}"), centroid(mesh, corners))
            });
        }
    }
}

/// Finds elements with the same corners as an earlier one.
pub(super) fn duplicates<const CORNERS: usize>(
    mesh: &Mesh,
    elements: &[(usize, [u32; CORNERS])],
    names: &str,
    findings: &mut Findings,
) {
    let mut sorted: Vec<([u32; CORNERS], usize)> = elements
        .iter()
        .map(|(index, corners)| {
            let mut corners = *corners;
            corners.sort_unstable();
            (corners, *index)
        })
        .collect();
    sorted.sort_unstable();
    let mut pairs: Vec<[usize; 2]> = Vec::new();
    for same in sorted.chunk_by(|one, other| one.0 == other.0) {
        pairs.extend(same[1..].iter().map(|other| [same[0].1, other.1]));
    }
    pairs.sort_unstable();
    let by_number = |number: usize| {
        let place = elements.partition_point(|(index, _)| *index < number);
        elements
            .get(place)
            .map_or(DVec3::ZERO, |(_, corners)| centroid(mesh, corners))
    };
    for [first, second] in pairs {
        findings.note(DefectKind::DuplicateElement, || {
            (format!("{names} {first} and {second}"), by_number(first))
        });
    }
}

/// Finds triangles without area and, for shells, thin ones.
pub(super) fn triangles(
    mesh: &Mesh,
    triangles: &[(usize, [u32; 3])],
    use_as: MeshUse,
    findings: &mut Findings,
) {
    for (index, corners) in triangles {
        let [a, b, c] = corners.map(|vertex| mesh.points[vertex as usize]);
        let squares = [
            a.distance_squared(b),
            b.distance_squared(c),
            c.distance_squared(a),
        ];
        let longest = squares[0].max(squares[1]).max(squares[2]);
        let area = 0.5 * (b - a).cross(c - a).length();
        // 1 for an equilateral triangle.
        let quality = 4.0 * 3_f64.sqrt() * area / squares.iter().sum::<f64>();
        let kind = if area <= FLATNESS_TOLERANCE * longest || !area.is_finite() {
            DefectKind::FlatTriangle
        } else if use_as == MeshUse::Shell && quality < MIN_TRIANGLE_QUALITY {
            DefectKind::ThinTriangle
        } else {
            continue;
        };
        findings.note(kind, || {
            (format!("triangle {index}"), centroid(mesh, corners))
        });
    }
}

/// Six times the volume of a tetrahedron, negative if it is inverted.
pub(super) fn six_times_volume(mesh: &Mesh, corners: &[u32; 4]) -> f64 {
    let [a, b, c, d] = corners.map(|vertex| mesh.points[vertex as usize]);
    (b - a).cross(c - a).dot(d - a)
}

/// Finds tetrahedra without volume, thin ones, and those of the orientation of the minority.
pub(super) fn tetrahedra(mesh: &Mesh, tetrahedra: &[(usize, [u32; 4])], findings: &mut Findings) {
    let mut sided = Vec::with_capacity(tetrahedra.len());
    for (index, corners) in tetrahedra {
        let points = corners.map(|vertex| mesh.points[vertex as usize]);
        let (mut sum, mut longest) = (0.0, 0.0_f64);
        for [i, j] in [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]] {
            let square = points[i].distance_squared(points[j]);
            sum += square;
            longest = longest.max(square);
        }
        let volume = six_times_volume(mesh, corners) / 6.0;
        let example = || (format!("tetrahedron {index}"), centroid(mesh, corners));
        if volume.abs() <= FLATNESS_TOLERANCE * longest * longest.sqrt() || !volume.is_finite() {
            findings.note(DefectKind::FlatTetrahedron, example);
            continue;
        }
        // The mean ratio of Liu and Joe (1994): 1 for a regular tetrahedron.
        let quality = 12.0 * (3.0 * volume.abs()).cbrt().powi(2) / sum;
        if quality < MIN_TETRAHEDRON_QUALITY {
            findings.note(DefectKind::ThinTetrahedron, example);
        }
        sided.push((*index, *corners, volume < 0.0));
    }
    let negative = sided
        .iter()
        .filter(|(_, _, is_negative)| *is_negative)
        .count();
    let positive = sided.len() - negative;
    if negative == 0 || positive == 0 {
        return;
    }
    let minority = negative <= positive;
    for (index, corners, is_negative) in &sided {
        if *is_negative == minority {
            findings.note(DefectKind::InvertedTetrahedron, || {
                (format!("tetrahedron {index}"), centroid(mesh, corners))
            });
        }
    }
}

/// Finds curves that are too short, and those that share vertices.
pub(super) fn curves(mesh: &Mesh, curves: &[(usize, Curve)], findings: &mut Findings) {
    let at = |curve: &Curve| {
        mesh.points
            .get(curve.first as usize)
            .copied()
            .unwrap_or_default()
    };
    for (index, curve) in curves {
        if curve.count < if curve.closed { 3 } else { 2 } {
            findings.note(DefectKind::ShortCurve, || {
                (format!("curve {index}"), at(curve))
            });
        }
    }
    let mut sorted: Vec<&(usize, Curve)> = curves.iter().collect();
    sorted.sort_by_key(|(index, curve)| (curve.first, *index));
    sorted.retain(|(_, curve)| curve.count > 0);
    // The curve with the largest end among those before.
    let mut furthest: Option<&(usize, Curve)> = None;
    let end = |curve: &Curve| curve.first + curve.count;
    for entry in sorted {
        let (index, curve) = entry;
        match furthest {
            Some((other, before)) if end(before) > curve.first => {
                let [low, high] = [*index.min(other), *index.max(other)];
                findings.note(DefectKind::OverlappingCurves, || {
                    (format!("curves {low} and {high}"), at(curve))
                });
            }
            _ => {}
        }
        if furthest.is_none_or(|(_, before)| end(before) < end(curve)) {
            furthest = Some(entry);
        }
    }
}

/// Finds edges of curves without length.
pub(super) fn curve_edges(mesh: &Mesh, curves: &[(usize, Curve)], findings: &mut Findings) {
    let least = COINCIDENT_TOLERANCE * diagonal(&mesh.points);
    for (index, curve) in curves {
        for edge in curve.edges() {
            let [a, b] = edge.map(|vertex| mesh.points[vertex as usize]);
            // A closed curve of one vertex is reported as too short.
            if edge[0] != edge[1] && a.distance(b) <= least {
                findings.note(DefectKind::ZeroLengthEdge, || {
                    (format!("edge {}-{} of curve {index}", edge[0], edge[1]), a)
                });
            }
        }
    }
}
