//! Defects of meshes, with their location and a remedy.
//!
//! [`diagnose`] finds defects that make a use of a mesh impossible, and those that are probably
//! mistakes. The cost is that of sorting: a million triangles take about a second. Of every kind,
//! the first few defects are listed, with the total number. [`weld`] and [`orient_tetrahedra`]
//! repair a mesh.

mod elements;
mod repair;
#[cfg(test)]
mod tests;
mod topology;

use std::fmt;

use glam::DVec3;

use super::{Curve, Mesh};
use crate::units::short_number;
pub use repair::{orient_tetrahedra, remove_isolated_vertices, weld};

/// Number of listed defects of a kind.
const MAX_EXAMPLES: usize = 3;
/// Vertices coincide within this distance, as a fraction of the diagonal of the mesh.
const COINCIDENT_TOLERANCE: f64 = 1e-9;

/// Intended use of a mesh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeshUse {
    /// Cloth: its triangles stretch and bend.
    Shell,
    /// A soft body: its tetrahedra deform.
    Solid,
    /// Hair or ropes: its curves bend and twist.
    Rods,
    /// A rigid surface: its triangles collide with other objects.
    Collider,
}

/// Severity of a defect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DefectSeverity {
    /// The mesh cannot be used.
    Refuse,
    /// The mesh can be used, but has probably a mistake, or a bad quality.
    Warning,
}

/// Kind of a defect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DefectKind {
    /// There are no triangles for a shell or a collider.
    NoTriangles,
    /// There are no tetrahedra for a solid.
    NoTetrahedra,
    /// There are no curves for rods.
    NoCurves,
    /// A coordinate is infinite or not a number.
    NotFinite,
    /// An element uses a missing vertex.
    OutOfRange,
    /// An element has a repeated vertex.
    RepeatedVertex,
    /// A triangle's corners lie on a line.
    FlatTriangle,
    /// A tetrahedron's corners lie in a plane.
    FlatTetrahedron,
    /// A tetrahedron does not have the orientation of the majority.
    InvertedTetrahedron,
    /// Two elements have the same corners.
    DuplicateElement,
    /// A vertex without elements.
    IsolatedVertex,
    /// Three or more triangles share an edge.
    NonManifoldEdge,
    /// Three or more tetrahedra share a face.
    NonManifoldFace,
    /// A curve has too few vertices.
    ShortCurve,
    /// Two curves have vertices in common.
    OverlappingCurves,
    /// Consecutive vertices of a curve coincide.
    ZeroLengthEdge,
    /// Two vertices have the same position.
    CoincidingVertices,
    /// Two triangles have the same direction along their common edge.
    InconsistentOrientation,
    /// Two parts of a surface share a vertex, but no edge there.
    NonManifoldVertex,
    /// An edge belongs to one triangle only.
    OpenBoundary,
    /// A triangle is nearly a line.
    ThinTriangle,
    /// A tetrahedron is nearly flat.
    ThinTetrahedron,
}

impl DefectKind {
    /// Severity for this use of the mesh.
    #[must_use]
    pub fn severity(self, use_as: MeshUse) -> DefectSeverity {
        use DefectKind as Kind;
        match self {
            Kind::CoincidingVertices
            | Kind::InconsistentOrientation
            | Kind::NonManifoldVertex
            | Kind::OpenBoundary
            | Kind::ThinTriangle
            | Kind::ThinTetrahedron => DefectSeverity::Warning,
            // Degenerate parts of a collider have no effect on contacts.
            Kind::RepeatedVertex
            | Kind::FlatTriangle
            | Kind::DuplicateElement
            | Kind::IsolatedVertex
            | Kind::NonManifoldEdge
                if use_as == MeshUse::Collider =>
            {
                DefectSeverity::Warning
            }
            _ => DefectSeverity::Refuse,
        }
    }

    /// Predicate of a sentence on the element.
    #[must_use]
    pub fn statement(self) -> &'static str {
        use DefectKind as Kind;
        match self {
            Kind::NoTriangles => "has no triangles",
            Kind::NoTetrahedra => "has no tetrahedra",
            Kind::NoCurves => "has no curves",
            Kind::NotFinite => "has a coordinate that is not a finite number",
            Kind::OutOfRange => "uses a missing vertex",
            Kind::RepeatedVertex => "has a repeated vertex",
            Kind::FlatTriangle => "has no area",
            Kind::FlatTetrahedron => "has no volume",
            Kind::InvertedTetrahedron => "is inverted, unlike most",
            Kind::DuplicateElement => "have the same corners",
            Kind::IsolatedVertex => "belongs to no element",
            Kind::NonManifoldEdge => "is shared by more than two triangles",
            Kind::NonManifoldFace => "is shared by more than two tetrahedra",
            Kind::ShortCurve => "has too few vertices",
            Kind::OverlappingCurves => "share vertices",
            Kind::ZeroLengthEdge => "has no length",
            Kind::CoincidingVertices => "coincide",
            Kind::InconsistentOrientation => "have opposite orientations",
            Kind::NonManifoldVertex => "joins parts of the surface that share no edge there",
            Kind::OpenBoundary => "belongs to one triangle only",
            Kind::ThinTriangle | Kind::ThinTetrahedron => "is very thin",
        }
    }

    /// Remedy.
    #[must_use]
    pub fn advice(self) -> &'static str {
        use DefectKind as Kind;
        match self {
            Kind::NoTriangles => "use a mesh of triangles",
            Kind::NoTetrahedra => "use a mesh of tetrahedra, or embed its surface in a lattice",
            Kind::NoCurves => "use a mesh with curves",
            Kind::NotFinite => "correct the coordinate",
            Kind::OutOfRange => "correct the number, or remove the element; vertices count from 0",
            Kind::RepeatedVertex => "remove it",
            Kind::FlatTriangle => "its corners lie on a line; remove it, or move them apart",
            Kind::FlatTetrahedron => "its corners lie in a plane; remove it, or move them apart",
            Kind::InvertedTetrahedron => "swap two of its corners, or untangle the mesh there",
            Kind::DuplicateElement => "remove one of them",
            Kind::IsolatedVertex => "remove it, as it would have no mass; `weld` removes it too",
            Kind::NonManifoldEdge => "separate the sheets there",
            Kind::NonManifoldFace => "remove the overlapping tetrahedra",
            Kind::ShortCurve => "a curve needs 2 vertices, a closed one 3",
            Kind::OverlappingCurves => "give each curve vertices of its own",
            Kind::ZeroLengthEdge => "remove one of its vertices",
            Kind::CoincidingVertices => {
                "merge them with `weld`, if the mesh is to be connected there"
            }
            Kind::InconsistentOrientation => "reverse the corners of one of them",
            Kind::NonManifoldVertex => {
                "give each part a vertex of its own, or join them by an edge"
            }
            Kind::OpenBoundary => "close the surface, so that it has an inside",
            Kind::ThinTriangle => "use better shaped triangles; thin ones make solvers slow",
            Kind::ThinTetrahedron => "use better shaped tetrahedra; thin ones make solvers slow",
        }
    }
}

/// A defect of a mesh.
#[derive(Clone, Debug, PartialEq)]
pub struct Defect {
    /// Kind.
    pub kind: DefectKind,
    /// The elements, such as "triangle 17" or "vertices 3 and 9".
    pub element: String,
    /// Position (m).
    pub at: DVec3,
    /// Remedy.
    pub advice: &'static str,
    /// Severity for this use.
    pub severity: DefectSeverity,
    /// Number of defects of this kind in the mesh; only the first few are listed.
    pub count: usize,
}

impl Defect {
    /// Sentence on the defect and its location, without the remedy.
    #[must_use]
    pub fn description(&self) -> String {
        use DefectKind as Kind;
        let [x, y, z] = self.at.to_array().map(short_number);
        let place = match self.kind {
            Kind::NoTriangles | Kind::NoTetrahedra | Kind::NoCurves => String::new(),
            _ => format!(" at ({x}, {y}, {z})"),
        };
        let others = match self.count {
            0 | 1 => String::new(),
            count => format!(" (one of {count})"),
        };
        format!("{}{place} {}{others}", self.element, self.kind.statement())
    }
}

impl fmt::Display for Defect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.description(), self.advice)
    }
}

/// Defects of a mesh for a use: first those that refuse it, then warnings, by kind, each in the
/// order of the mesh.
///
/// Tetrahedra that are all inverted are not reported, as that is a convention of numbering: see
/// [`orient_tetrahedra`].
#[must_use]
pub fn diagnose(mesh: &Mesh, use_as: MeshUse) -> Vec<Defect> {
    let mut findings = Findings::default();
    for (vertex, point) in mesh.points.iter().enumerate() {
        if !point.is_finite() {
            findings.note(DefectKind::NotFinite, || {
                (format!("vertex {vertex}"), *point)
            });
        }
    }
    // Also for elements that this use does not need, because other code may read them.
    let triangles = elements::usable(mesh, &mesh.triangles, "triangle", &mut findings);
    let tetrahedra = elements::usable(mesh, &mesh.tetrahedra, "tetrahedron", &mut findings);
    let curves = elements::usable_curves(mesh, &mut findings);
    let is_readable = findings.0.is_empty();
    match use_as {
        MeshUse::Shell | MeshUse::Collider => {
            findings.note_if(mesh.triangles.is_empty(), DefectKind::NoTriangles);
            elements::repeated(mesh, &mesh.triangles, "triangle", &mut findings);
            elements::triangles(mesh, &triangles, use_as, &mut findings);
            elements::duplicates(mesh, &triangles, "triangles", &mut findings);
        }
        MeshUse::Solid => {
            findings.note_if(mesh.tetrahedra.is_empty(), DefectKind::NoTetrahedra);
            elements::repeated(mesh, &mesh.tetrahedra, "tetrahedron", &mut findings);
            elements::tetrahedra(mesh, &tetrahedra, &mut findings);
            elements::duplicates(mesh, &tetrahedra, "tetrahedra", &mut findings);
        }
        MeshUse::Rods => {
            findings.note_if(mesh.curves.is_empty(), DefectKind::NoCurves);
            elements::curves(mesh, &curves, &mut findings);
            elements::curve_edges(mesh, &curves, &mut findings);
        }
    }
    find_coinciding_vertices(mesh, &mut findings);
    // Invalid elements leave holes and isolated vertices, which are not reported as well.
    if !is_readable {
        return findings.defects(use_as);
    }
    match use_as {
        MeshUse::Shell | MeshUse::Collider => {
            topology::surface(mesh, &triangles, use_as, &mut findings);
            let used = mesh.triangles.as_flattened().iter().copied();
            find_isolated_vertices(mesh, used, &mut findings);
        }
        MeshUse::Solid => {
            topology::solid(mesh, &tetrahedra, &mut findings);
            let used = mesh.tetrahedra.as_flattened().iter().copied();
            find_isolated_vertices(mesh, used, &mut findings);
        }
        MeshUse::Rods => {
            let range = |(_, curve): &(usize, Curve)| curve.first..curve.first + curve.count;
            find_isolated_vertices(mesh, curves.iter().flat_map(range), &mut findings);
        }
    }
    findings.defects(use_as)
}

/// Records vertices that are not used.
fn find_isolated_vertices(mesh: &Mesh, used: impl Iterator<Item = u32>, findings: &mut Findings) {
    let mut is_isolated = vec![true; mesh.points.len()];
    for vertex in used {
        if let Some(is_isolated) = is_isolated.get_mut(vertex as usize) {
            *is_isolated = false;
        }
    }
    for (vertex, point) in mesh.points.iter().enumerate() {
        if is_isolated[vertex] {
            findings.note(DefectKind::IsolatedVertex, || {
                (format!("vertex {vertex}"), *point)
            });
        }
    }
}

fn find_coinciding_vertices(mesh: &Mesh, findings: &mut Findings) {
    let tolerance = COINCIDENT_TOLERANCE * diagonal(&mesh.points);
    let first = repair::first_coincident(&mesh.points, tolerance, |_| true);
    for (vertex, &first) in first.iter().enumerate() {
        if first as usize != vertex {
            findings.note(DefectKind::CoincidingVertices, || {
                (
                    format!("vertices {first} and {vertex}"),
                    mesh.points[vertex],
                )
            });
        }
    }
}

/// Diagonal of the bounding box of the finite points (m).
fn diagonal(points: &[DVec3]) -> f64 {
    let (mut low, mut high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
    for point in points.iter().filter(|point| point.is_finite()) {
        low = low.min(*point);
        high = high.max(*point);
    }
    let extent = high - low;
    if extent.min_element() >= 0.0 {
        extent.length()
    } else {
        0.0
    }
}

/// Defects by kind: their number, and element and position of the first ones.
#[derive(Default)]
struct Findings(std::collections::BTreeMap<DefectKind, (usize, Vec<(String, DVec3)>)>);

impl Findings {
    fn note(&mut self, kind: DefectKind, example: impl FnOnce() -> (String, DVec3)) {
        let (count, examples) = self.0.entry(kind).or_default();
        *count += 1;
        if examples.len() < MAX_EXAMPLES {
            examples.push(example());
        }
    }

    /// Records a kind of elements that is missing.
    fn note_if(&mut self, is_missing: bool, kind: DefectKind) {
        if is_missing {
            self.note(kind, || ("the mesh".to_owned(), DVec3::ZERO));
        }
    }

    fn defects(self, use_as: MeshUse) -> Vec<Defect> {
        let mut defects = Vec::new();
        for (kind, (count, examples)) in self.0 {
            for (element, at) in examples {
                defects.push(Defect {
                    kind,
                    element,
                    at,
                    advice: kind.advice(),
                    severity: kind.severity(use_as),
                    count,
                });
            }
        }
        defects.sort_by_key(|defect| defect.severity);
        defects
    }
}
