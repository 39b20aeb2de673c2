//! Calls the mesh generators with the tables of a scene.

use glam::DVec3;

use super::place::vector;
use crate::generate::shape::Shape;
use crate::generate::sheet::Cells;
use crate::generate::size::SizeError;
use crate::generate::solid::Cut;
use crate::generate::{ball, knot, rod, sheet, solid, sweep};
use crate::mesh::Mesh;
use crate::scene::problem::Place;
use crate::scene::tables::{self, ObjectKind, ShapeKind, Tetrahedra, Triangles};

/// Estimated number of vertices of a generated mesh, with the location of the key that sets it.
pub(super) fn generated_size(kind: &ObjectKind) -> Option<(f64, &Place)> {
    let product = |counts: &[u64]| counts.iter().map(|count| *count as f64).product::<f64>();
    Some(match kind {
        ObjectKind::ClothGrid(grid) => (product(&grid.vertices.value), &grid.vertices.place),
        ObjectKind::ClothStrip(strip) => {
            let (length, segments) = (strip.length.value.0, strip.segments.value as usize);
            (
                sheet::strip_vertex_estimate(length, strip.width.0, segments),
                &strip.segments.place,
            )
        }
        ObjectKind::ClothDisc(disc) => (
            sheet::disc_vertex_estimate(disc.radius.value.0, disc.edge.value.0),
            &disc.edge.place,
        ),
        ObjectKind::Rod(rod) => (rod.vertices.value as f64, &rod.vertices.place),
        ObjectKind::RodHelix(rod) => (rod.vertices.value as f64, &rod.vertices.place),
        ObjectKind::RodRing(rod) => (rod.vertices.value as f64, &rod.vertices.place),
        ObjectKind::RodSpline(rod) => (rod.vertices.value as f64, &rod.vertices.place),
        ObjectKind::ReefKnot(knot) => (2.0 * knot.vertices.value as f64, &knot.length.place),
        ObjectKind::SolidBox(solid) => (
            product(&solid.cells.value.map(|count| count + 1)),
            &solid.cells.place,
        ),
        ObjectKind::SolidBeam(beam) => {
            let section = beam.section.map(|length| length.0);
            let cells = beam.cells.value as usize;
            (
                solid::beam_vertex_estimate(beam.length.value.0, section, cells),
                &beam.cells.place,
            )
        }
        ObjectKind::SolidBall(ball) => (
            ball::vertex_estimate(ball.radius.value.0, ball.edge.value.0),
            &ball.edge.place,
        ),
        ObjectKind::SolidHalfBall(ball) => (
            ball::half_vertex_estimate(ball.radius.value.0, ball.edge.value.0),
            &ball.edge.place,
        ),
        ObjectKind::SolidRing(ring) => {
            let estimate = sweep::ring_vertex_estimate(
                ring.radius.value.0,
                ring.tube_radius.0,
                ring.edge.value.0,
            );
            (estimate, &ring.edge.place)
        }
        ObjectKind::SolidTube(tube) => {
            let (outer, inner) = (tube.radius.value.0, tube.inner_radius.0);
            let estimate =
                sweep::tube_vertex_estimate(outer, inner, tube.length.0, tube.edge.value.0);
            (estimate, &tube.edge.place)
        }
        ObjectKind::ClothMesh(_)
        | ObjectKind::RodMesh(_)
        | ObjectKind::SolidMesh(_)
        | ObjectKind::Embedded(_)
        | ObjectKind::Rigid(_)
        | ObjectKind::Groom(_) => return None,
    })
}

/// Location of the size of a generated mesh.
pub(super) fn size_place(kind: &ObjectKind) -> Option<&Place> {
    Some(match kind {
        ObjectKind::ClothGrid(grid) => &grid.size.place,
        ObjectKind::ClothStrip(strip) => &strip.length.place,
        ObjectKind::ClothDisc(disc) => &disc.radius.place,
        ObjectKind::Rod(rod) => &rod.length.place,
        ObjectKind::RodHelix(helix) => &helix.helix_radius.place,
        ObjectKind::RodRing(ring) => &ring.ring_radius.place,
        ObjectKind::RodSpline(spline) => &spline.points.place,
        ObjectKind::ReefKnot(knot) => &knot.length.place,
        ObjectKind::SolidBox(solid) => &solid.size.place,
        ObjectKind::SolidBeam(beam) => &beam.length.place,
        ObjectKind::SolidBall(ball) => &ball.radius.place,
        ObjectKind::SolidHalfBall(ball) => &ball.radius.place,
        ObjectKind::SolidRing(ring) => &ring.radius.place,
        ObjectKind::SolidTube(tube) => &tube.radius.place,
        _ => return None,
    })
}

/// A generated mesh.
pub(super) fn generated(kind: &ObjectKind) -> Result<Mesh, String> {
    match kind {
        ObjectKind::ClothGrid(grid) => Ok(grid_mesh(grid)),
        ObjectKind::ClothStrip(strip) => in_words(strip_mesh(strip)),
        ObjectKind::ClothDisc(disc) => {
            in_words(sheet::disc(disc.radius.value.0, disc.edge.value.0))
        }
        ObjectKind::Rod(rod) => rod::straight(rod.length.value.0, rod.vertices.value as usize),
        ObjectKind::RodHelix(helix) => rod::helix(
            helix.helix_radius.value.0,
            helix.pitch.0,
            helix.length.0,
            helix.vertices.value as usize,
        ),
        ObjectKind::RodRing(ring) => {
            rod::ring(ring.ring_radius.value.0, ring.vertices.value as usize)
        }
        ObjectKind::RodSpline(spline) => spline_mesh(spline),
        ObjectKind::ReefKnot(knot) => knot_mesh(knot),
        ObjectKind::SolidBox(solid) => in_words(box_mesh(solid)),
        ObjectKind::SolidBeam(beam) => in_words(beam_mesh(beam)),
        ObjectKind::SolidBall(ball) => in_words(ball::ball(ball.radius.value.0, ball.edge.value.0)),
        ObjectKind::SolidHalfBall(ball) => {
            in_words(ball::half_ball(ball.radius.value.0, ball.edge.value.0))
        }
        ObjectKind::SolidRing(ring) => in_words(sweep::ring(
            ring.radius.value.0,
            ring.tube_radius.0,
            ring.edge.value.0,
        )),
        ObjectKind::SolidTube(tube) => {
            let (outer, inner) = (tube.radius.value.0, tube.inner_radius.0);
            in_words(sweep::tube(outer, inner, tube.length.0, tube.edge.value.0))
        }
        _ => Err("it has no generator".into()),
    }
}

fn grid_mesh(grid: &tables::ClothGrid) -> Mesh {
    let size = grid.size.value.map(|length| length.0);
    let vertices = grid.vertices.value.map(|count| count as usize);
    sheet::grid(size, vertices, cells(grid.triangles))
}

fn strip_mesh(strip: &tables::ClothStrip) -> Result<Mesh, SizeError> {
    let (length, segments) = (strip.length.value.0, strip.segments.value as usize);
    sheet::strip(length, strip.width.0, segments, cells(strip.triangles))
}

fn spline_mesh(spline: &tables::RodSpline) -> Result<Mesh, String> {
    let points = spline.points.value.iter();
    let points: Vec<DVec3> = points
        .map(|point| vector(point.map(|length| length.0)))
        .collect();
    rod::spline(&points, spline.closed, spline.vertices.value as usize)
}

fn knot_mesh(knot: &tables::ReefKnot) -> Result<Mesh, String> {
    let radius = knot.section.radius.value.0.map(|length| length.0);
    let proximity = knot.section.proximity_radius.map_or(0.0, |length| length.0);
    let radius = radius[0].max(radius[1]).max(proximity);
    knot::reef_knot(radius, knot.length.value.0, knot.vertices.value as usize)
}

fn box_mesh(solid: &tables::SolidBox) -> Result<Mesh, SizeError> {
    let size = solid.size.value.map(|length| length.0);
    let counts = solid.cells.value.map(|count| count as usize);
    solid::cuboid(size, counts, cut(solid.tetrahedra))
}

fn beam_mesh(beam: &tables::SolidBeam) -> Result<Mesh, SizeError> {
    let (length, section) = (beam.length.value.0, beam.section.map(|length| length.0));
    let cells = beam.cells.value as usize;
    solid::beam(length, section, cells, cut(beam.tetrahedra))
}

fn in_words(mesh: Result<Mesh, SizeError>) -> Result<Mesh, String> {
    mesh.map_err(|error| error.to_string())
}

fn cells(triangles: Triangles) -> Cells {
    match triangles {
        Triangles::Right => Cells::Right,
        Triangles::Alternating => Cells::Alternating,
        Triangles::Unstructured => Cells::Unstructured,
    }
}

fn cut(tetrahedra: Tetrahedra) -> Cut {
    match tetrahedra {
        Tetrahedra::Six => Cut::Six,
        Tetrahedra::Five => Cut::Five,
    }
}

/// The shape of a table; `None` for mesh files.
pub(super) fn shape_of(kind: &ShapeKind) -> Option<Shape> {
    Some(match kind {
        ShapeKind::Box(shape) => Shape::Box {
            size: shape.size.value.map(|length| length.0),
        },
        ShapeKind::Sphere(shape) => Shape::Sphere {
            radius: shape.radius.value.0,
        },
        ShapeKind::Cylinder(shape) => Shape::Cylinder {
            radius: shape.radius.value.0,
            length: shape.length.0,
        },
        ShapeKind::Capsule(shape) => Shape::Capsule {
            radius: shape.radius.value.0,
            length: shape.length.0,
        },
        ShapeKind::Plane(shape) => Shape::Plane {
            size: shape.size.value.0,
        },
        ShapeKind::Cone(shape) => Shape::Cone {
            radius: shape.radius.value.0,
            height: shape.height.0,
        },
        ShapeKind::Funnel(shape) => Shape::Funnel {
            top_radius: shape.top_radius.value.0,
            bottom_radius: shape.bottom_radius.0,
            height: shape.height.0,
            thickness: shape.wall.0,
        },
        ShapeKind::Stairs(shape) => Shape::Stairs {
            steps: shape.steps.value as usize,
            tread: shape.tread.0,
            rise: shape.rise.0,
            width: shape.width.0,
        },
        ShapeKind::Nail(shape) => Shape::Nail {
            radius: shape.radius.value.0,
            length: shape.length.0,
            head_radius: shape.head_radius.0,
            head_thickness: shape.head_thickness.0,
        },
        ShapeKind::Mesh(_) => return None,
    })
}

/// Location of the size of a shape, or of its mesh file.
pub(super) fn shape_place(kind: &ShapeKind) -> &Place {
    match kind {
        ShapeKind::Box(shape) => &shape.size.place,
        ShapeKind::Sphere(shape) => &shape.radius.place,
        ShapeKind::Cylinder(shape) => &shape.radius.place,
        ShapeKind::Capsule(shape) => &shape.radius.place,
        ShapeKind::Plane(shape) => &shape.size.place,
        ShapeKind::Cone(shape) => &shape.radius.place,
        ShapeKind::Funnel(shape) => &shape.top_radius.place,
        ShapeKind::Stairs(shape) => &shape.steps.place,
        ShapeKind::Nail(shape) => &shape.radius.place,
        ShapeKind::Mesh(shape) => &shape.file.place,
    }
}
