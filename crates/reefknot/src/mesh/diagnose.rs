//! Everything that can be wrong with a mesh, with names and places.
//!
//! Meshes come from files, and files from everywhere. [`diagnose`] looks for what makes a use of a mesh impossible, and for
//! what is probably not meant. It needs sorting, no more: a million triangles take about a second. Of every kind it gives
//! the first few, and how many there are. [`weld`] and [`orient_tetrahedra`] mend what can be mended without asking.

mod elements;
mod repair;
#[cfg(test)]
mod tests;
mod topology;

use std::fmt;

use glam::DVec3;

use super::{Curve, Mesh};
use crate::units::short_number;
pub use repair::{drop_loose_vertices, orient_tetrahedra, weld};

/// How many of a kind are named.
const EXAMPLES: usize = 3;
/// Vertices nearer to each other than this coincide, as a fraction of the diagonal of the mesh's box.
const COINCIDENT: f64 = 1e-9;

/// What a mesh is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Cloth: its triangles stretch and bend.
    Shell,
    /// A soft body: its tetrahedra deform.
    Solid,
    /// Hair or ropes: its curves bend and twist.
    Rods,
    /// A rigid thing: its triangles are what others touch.
    Collider,
}

/// How bad a defect is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The mesh cannot be used so.
    Refuse,
    /// The mesh can be used, but this is probably not meant, or makes results worse.
    Warning,
}

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DefectKind {
    /// There is nothing to make a shell or a collider of.
    NoTriangles,
    /// There is nothing to make a solid of.
    NoTetrahedra,
    /// There is nothing to make rods of.
    NoCurves,
    /// A coordinate is infinite or not a number.
    NotFinite,
    /// An element names a vertex that is not there.
    OutOfRange,
    /// An element names a vertex twice.
    RepeatedVertex,
    /// A triangle's corners lie on a line.
    FlatTriangle,
    /// A tetrahedron's corners lie in a plane.
    FlatTetrahedron,
    /// A tetrahedron has the other orientation than most.
    InvertedTetrahedron,
    /// Two elements have the same corners.
    DuplicateElement,
    /// A vertex belongs to no element.
    LooseVertex,
    /// Three or more triangles share an edge.
    NonManifoldEdge,
    /// Three or more tetrahedra share a face.
    CrowdedFace,
    /// A curve has too few vertices.
    ShortCurve,
    /// Two curves have vertices in common.
    OverlappingCurves,
    /// Neighbours along a curve coincide.
    ZeroLengthEdge,
    /// Two vertices are at the same place.
    CoincidingVertices,
    /// Two triangles run along their common edge in the same direction.
    OpposedNeighbours,
    /// Two parts of a surface have a vertex in common, but no edge there.
    NonManifoldVertex,
    /// An edge belongs to one triangle only.
    OpenBoundary,
    /// A triangle is nearly a line.
    ThinTriangle,
    /// A tetrahedron is nearly flat.
    ThinTetrahedron,
}

impl DefectKind {
    /// Whether it makes this use of the mesh impossible.
    #[must_use]
    pub fn severity(self, use_as: Use) -> Severity {
        use DefectKind as Kind;
        match self {
            Kind::CoincidingVertices
            | Kind::OpposedNeighbours
            | Kind::NonManifoldVertex
            | Kind::OpenBoundary
            | Kind::ThinTriangle
            | Kind::ThinTetrahedron => Severity::Warning,
            // What others touch may have parts that nothing can touch.
            Kind::RepeatedVertex
            | Kind::FlatTriangle
            | Kind::DuplicateElement
            | Kind::LooseVertex
            | Kind::NonManifoldEdge
                if use_as == Use::Collider =>
            {
                Severity::Warning
            }
            _ => Severity::Refuse,
        }
    }

    /// What is said of the element.
    #[must_use]
    pub fn statement(self) -> &'static str {
        use DefectKind as Kind;
        match self {
            Kind::NoTriangles => "has no triangles",
            Kind::NoTetrahedra => "has no tetrahedra",
            Kind::NoCurves => "has no curves",
            Kind::NotFinite => "has a coordinate that is not a finite number",
            Kind::OutOfRange => "names a vertex that is not there",
            Kind::RepeatedVertex => "names a vertex twice",
            Kind::FlatTriangle => "has no area",
            Kind::FlatTetrahedron => "has no volume",
            Kind::InvertedTetrahedron => "is inside out, unlike most",
            Kind::DuplicateElement => "have the same corners",
            Kind::LooseVertex => "belongs to no element",
            Kind::NonManifoldEdge => "is shared by more than two triangles",
            Kind::CrowdedFace => "is shared by more than two tetrahedra",
            Kind::ShortCurve => "has too few vertices",
            Kind::OverlappingCurves => "have vertices in common",
            Kind::ZeroLengthEdge => "has no length",
            Kind::CoincidingVertices => "are at the same place",
            Kind::OpposedNeighbours => "look to opposite sides",
            Kind::NonManifoldVertex => "joins parts of the surface that share no edge there",
            Kind::OpenBoundary => "belongs to one triangle only",
            Kind::ThinTriangle | Kind::ThinTetrahedron => "is very thin",
        }
    }

    /// What to do about it.
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
            Kind::LooseVertex => "remove it, for it would have no mass; `weld` does that too",
            Kind::NonManifoldEdge => "take the sheets apart there",
            Kind::CrowdedFace => "remove those that overlap",
            Kind::ShortCurve => "a curve needs 2 vertices, a closed one 3",
            Kind::OverlappingCurves => "give each curve vertices of its own",
            Kind::ZeroLengthEdge => "remove one of its vertices",
            Kind::CoincidingVertices => {
                "`weld` makes them one, if the mesh is meant to hold together there"
            }
            Kind::OpposedNeighbours => "reverse the corners of one",
            Kind::NonManifoldVertex => {
                "give each part a vertex of its own, or join them by an edge"
            }
            Kind::OpenBoundary => "close the surface, so that it has an inside",
            Kind::ThinTriangle => "use better shaped triangles; thin ones make solvers slow",
            Kind::ThinTetrahedron => "use better shaped tetrahedra; thin ones make solvers slow",
        }
    }
}

/// One thing that is wrong with a mesh.
#[derive(Clone, Debug, PartialEq)]
pub struct Defect {
    /// What it is.
    pub what: DefectKind,
    /// Where in the lists, such as "triangle 17" or "vertices 3 and 9".
    pub element: String,
    /// Where in space (m).
    pub at: DVec3,
    /// What to do.
    pub advice: &'static str,
    /// How bad it is for this use.
    pub severity: Severity,
    /// How many of this kind the mesh has; only the first few are listed.
    pub count: usize,
}

impl Defect {
    /// What is wrong and where, without what to do.
    #[must_use]
    pub fn says(&self) -> String {
        use DefectKind as Kind;
        let [x, y, z] = self.at.to_array().map(short_number);
        let place = match self.what {
            Kind::NoTriangles | Kind::NoTetrahedra | Kind::NoCurves => String::new(),
            _ => format!(" at ({x}, {y}, {z})"),
        };
        let others = match self.count {
            0 | 1 => String::new(),
            count => format!(" (one of {count})"),
        };
        format!("{}{place} {}{others}", self.element, self.what.statement())
    }
}

impl fmt::Display for Defect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.says(), self.advice)
    }
}

/// What is wrong with a mesh for a use: first what refuses it, then warnings, by kind, each in the order of the mesh.
///
/// Tetrahedra that are all inside out are not reported, for that is a way of numbering: see [`orient_tetrahedra`].
#[must_use]
pub fn diagnose(mesh: &Mesh, use_as: Use) -> Vec<Defect> {
    let mut findings = Findings::default();
    for (vertex, point) in mesh.points.iter().enumerate() {
        if !point.is_finite() {
            findings.note(DefectKind::NotFinite, || {
                (format!("vertex {vertex}"), *point)
            });
        }
    }
    // Also in lists that this use does not read, because others may.
    let triangles = elements::usable(mesh, &mesh.triangles, "triangle", &mut findings);
    let tetrahedra = elements::usable(mesh, &mesh.tetrahedra, "tetrahedron", &mut findings);
    let curves = elements::usable_curves(mesh, &mut findings);
    let is_readable = findings.0.is_empty();
    match use_as {
        Use::Shell | Use::Collider => {
            findings.note_if(mesh.triangles.is_empty(), DefectKind::NoTriangles);
            elements::repeated(mesh, &mesh.triangles, "triangle", &mut findings);
            elements::triangles(mesh, &triangles, use_as, &mut findings);
            elements::duplicates(mesh, &triangles, "triangles", &mut findings);
        }
        Use::Solid => {
            findings.note_if(mesh.tetrahedra.is_empty(), DefectKind::NoTetrahedra);
            elements::repeated(mesh, &mesh.tetrahedra, "tetrahedron", &mut findings);
            elements::tetrahedra(mesh, &tetrahedra, &mut findings);
            elements::duplicates(mesh, &tetrahedra, "tetrahedra", &mut findings);
        }
        Use::Rods => {
            findings.note_if(mesh.curves.is_empty(), DefectKind::NoCurves);
            elements::curves(mesh, &curves, &mut findings);
            elements::curve_edges(mesh, &curves, &mut findings);
        }
    }
    coinciding(mesh, &mut findings);
    // Elements that cannot be read leave holes and loose vertices, which are not mistakes of their own.
    if is_readable {
        match use_as {
            Use::Shell | Use::Collider => {
                topology::surface(mesh, &triangles, use_as, &mut findings);
                loose(
                    mesh,
                    mesh.triangles.iter().flatten().copied(),
                    &mut findings,
                );
            }
            Use::Solid => {
                topology::solid(mesh, &tetrahedra, &mut findings);
                loose(
                    mesh,
                    mesh.tetrahedra.iter().flatten().copied(),
                    &mut findings,
                );
            }
            Use::Rods => {
                let run = |(_, curve): &(usize, Curve)| curve.first..curve.first + curve.count;
                loose(mesh, curves.iter().flat_map(run), &mut findings);
            }
        }
    }
    findings.defects(use_as)
}

/// Notes vertices that are not named by an element.
fn loose(mesh: &Mesh, named: impl Iterator<Item = u32>, findings: &mut Findings) {
    let mut is_loose = vec![true; mesh.points.len()];
    for vertex in named {
        if let Some(is_loose) = is_loose.get_mut(vertex as usize) {
            *is_loose = false;
        }
    }
    for (vertex, point) in mesh.points.iter().enumerate() {
        if is_loose[vertex] {
            findings.note(DefectKind::LooseVertex, || {
                (format!("vertex {vertex}"), *point)
            });
        }
    }
}

fn coinciding(mesh: &Mesh, findings: &mut Findings) {
    let tolerance = COINCIDENT * diagonal(&mesh.points);
    let first = repair::first_at_place(&mesh.points, tolerance, |_| true);
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

/// Diagonal of the box of the points that are finite (m).
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

/// What has been found: by kind, how many, and the first of them.
#[derive(Default)]
struct Findings(std::collections::BTreeMap<DefectKind, (usize, Vec<(String, DVec3)>)>);

impl Findings {
    fn note(&mut self, what: DefectKind, example: impl FnOnce() -> (String, DVec3)) {
        let (count, examples) = self.0.entry(what).or_default();
        *count += 1;
        if examples.len() < EXAMPLES {
            examples.push(example());
        }
    }

    /// Notes what is missing.
    fn note_if(&mut self, is_missing: bool, what: DefectKind) {
        if is_missing {
            self.note(what, || ("the mesh".to_owned(), DVec3::ZERO));
        }
    }

    fn defects(self, use_as: Use) -> Vec<Defect> {
        let mut defects = Vec::new();
        for (what, (count, examples)) in self.0 {
            for (element, at) in examples {
                defects.push(Defect {
                    what,
                    element,
                    at,
                    advice: what.advice(),
                    severity: what.severity(use_as),
                    count,
                });
            }
        }
        defects.sort_by_key(|defect| defect.severity);
        defects
    }
}
