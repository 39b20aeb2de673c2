//! Swept solids: rings, tubes and cylinders.
//!
//! A triangle of the section sweeps a prism from layer to layer, and a prism is divided into three
//! tetrahedra. The diagonal of a side of two prisms depends only on the order of the two vertices
//! in the section, so both prisms have the same one (Dompierre et al., How to subdivide pyramids,
//! prisms and hexahedra into tetrahedra, 1999). This holds within each layer, so a ring can have
//! any number of layers, and the diagonals alternate between layers, so that they do not prefer a
//! direction of twist.

use std::f64::consts::{PI, TAU};
use std::ops::Range;

use glam::{DVec2, DVec3};

use super::sheet::{disc_layout, disc_rings, disc_vertex_estimate};
use super::size::{SizeError, check_count, check_lengths, divisions};
use super::unstructured::SheetLayout;
use crate::mesh::boundary::boundary_triangles;
use crate::mesh::{Group, Mesh};

/// Minimum number of vertices of a circle.
const MIN_VERTICES_AROUND: f64 = 6.0;

/// A solid ring (torus) about z around the origin, with edges of about the length `edge`.
///
/// `radius` is the distance from the origin to the middle of the tube, `tube_radius` from there to
/// the surface.
///
/// Groups: "surface".
///
/// # Errors
/// If a length is not positive and finite, the tube closes the hole, or there are too many
/// vertices.
pub fn ring(radius: f64, tube_radius: f64, edge: f64) -> Result<Mesh, SizeError> {
    check_lengths(&[
        ("radius", radius),
        ("tube_radius", tube_radius),
        ("edge", edge),
    ])?;
    check_less(("tube_radius", tube_radius), ("radius", radius))?;
    check_count(ring_vertex_estimate(radius, tube_radius, edge))?;
    let section = disc_section(disc_rings(tube_radius, edge) as usize);
    let layers = ring_layers(radius, edge) as usize;
    let place = |place: DVec2, layer: usize| {
        // Clockwise, because the section's axes are the radius and z.
        let (sine, cosine) = (-TAU * layer as f64 / layers as f64).sin_cos();
        let place = tube_radius * place;
        let distance = radius + place.x;
        DVec3::new(distance * cosine, distance * sine, place.y)
    };
    let mesh = sweep(&section.layout, layers, true, place);
    let surface = section.in_layers(&section.outside, 0..layers);
    let groups = vec![Group::new("surface", surface)];
    Ok(Mesh { groups, ..mesh })
}

/// The number of vertices of a [`ring`].
#[must_use]
pub fn ring_vertex_estimate(radius: f64, tube_radius: f64, edge: f64) -> f64 {
    ring_layers(radius, edge) * disc_vertex_estimate(tube_radius, edge)
}

fn ring_layers(radius: f64, edge: f64) -> f64 {
    divisions(TAU * radius, edge, MIN_VERTICES_AROUND)
}

/// A tube along z, centred at the origin, with edges of about the length `edge`; a solid cylinder
/// if `inner_radius` is 0.
///
/// There is at least one cell through the wall: cells are flat if `edge` is much longer than it.
///
/// Groups: "bottom", "top" (least and largest z), "outside", and of a hollow tube "inside".
///
/// # Errors
/// If a length is not positive and finite, the inner radius is not less than the outer, or there
/// are too many vertices.
pub fn tube(
    outer_radius: f64,
    inner_radius: f64,
    length: f64,
    edge: f64,
) -> Result<Mesh, SizeError> {
    check_lengths(&[
        ("outer_radius", outer_radius),
        ("length", length),
        ("edge", edge),
    ])?;
    if inner_radius != 0.0 {
        check_lengths(&[("inner_radius", inner_radius)])?;
        check_less(
            ("inner_radius", inner_radius),
            ("outer_radius", outer_radius),
        )?;
    }
    check_count(tube_vertex_estimate(
        outer_radius,
        inner_radius,
        length,
        edge,
    ))?;
    let section = if inner_radius > 0.0 {
        annulus_section(&annulus_circles(
            inner_radius / outer_radius,
            edge / outer_radius,
        ))
    } else {
        disc_section(disc_rings(outer_radius, edge) as usize)
    };
    let layers = divisions(length, edge, 1.0) as usize;
    let place = |place: DVec2, layer: usize| {
        let height = length * (layer as f64 / layers as f64 - 0.5);
        (outer_radius * place).extend(height)
    };
    let mesh = sweep(&section.layout, layers, false, place);
    let count = section.layout.places.len() as u32;
    let mut groups = vec![
        Group::new("bottom", section.in_layers(&(0..count), 0..1)),
        Group::new("top", section.in_layers(&(0..count), layers..layers + 1)),
        Group::new(
            "outside",
            section.in_layers(&section.outside, 0..layers + 1),
        ),
    ];
    if !section.inside.is_empty() {
        let inside = section.in_layers(&section.inside, 0..layers + 1);
        groups.push(Group::new("inside", inside));
    }
    Ok(Mesh { groups, ..mesh })
}

/// Approximate number of vertices of a [`tube`].
#[must_use]
pub fn tube_vertex_estimate(outer_radius: f64, inner_radius: f64, length: f64, edge: f64) -> f64 {
    let section = if inner_radius > 0.0 {
        let rings = divisions(outer_radius - inner_radius, edge, 1.0) + 1.0;
        let around = |radius: f64| divisions(TAU * radius, edge, MIN_VERTICES_AROUND);
        // Circumferences grow linearly from ring to ring.
        rings * 0.5 * (around(inner_radius) + around(outer_radius))
    } else {
        disc_vertex_estimate(outer_radius, edge)
    };
    section * (divisions(length, edge, 1.0) + 1.0)
}

fn check_less(small: (&'static str, f64), large: (&'static str, f64)) -> Result<(), SizeError> {
    if small.1 < large.1 {
        return Ok(());
    }
    Err(SizeError::NotLess {
        small: small.0,
        large: large.0,
    })
}

/// Section of a swept solid: triangles within the circle of radius 1, and the vertices on its
/// boundaries.
struct Section {
    layout: SheetLayout,
    inside: Range<u32>,
    outside: Range<u32>,
}

impl Section {
    /// Vertices of the section, in the given layers of the solid.
    fn in_layers(&self, vertices: &Range<u32>, layers: Range<usize>) -> Vec<u32> {
        let count = self.layout.places.len() as u32;
        let in_layer = |layer: usize| {
            vertices
                .clone()
                .map(move |vertex| layer as u32 * count + vertex)
        };
        layers.flat_map(in_layer).collect()
    }
}

fn disc_section(rings: usize) -> Section {
    let layout = disc_layout(rings);
    let count = layout.places.len() as u32;
    Section {
        outside: count - 6 * rings as u32..count,
        inside: 0..0,
        layout,
    }
}

/// A circle of evenly spaced vertices.
struct Circle {
    radius: f64,
    count: usize,
    first: usize,
    /// Whether the first vertex is half a step ahead: alternating circles have better triangles.
    ahead: bool,
}

impl Circle {
    /// The angle of a vertex in turns, as a fraction.
    fn turns(&self, step: usize) -> (u64, u64) {
        (
            (2 * step + usize::from(self.ahead)) as u64,
            2 * self.count as u64,
        )
    }

    fn vertex(&self, step: usize) -> u32 {
        (self.first + step % self.count) as u32
    }
}

/// The circles of a wall between the radii `inner` and 1, with edges of about the length `edge`.
fn annulus_circles(inner: f64, edge: f64) -> Vec<Circle> {
    let cells = divisions(1.0 - inner, edge, 1.0) as usize;
    let around = |radius: f64| divisions(TAU * radius, edge, MIN_VERTICES_AROUND);
    // Long edges could cut through the wall; circles of equal counts avoid that.
    let depth = 1.0 - (PI / around(1.0)).cos();
    let alike = depth > 0.5 * (1.0 - inner) / cells as f64;
    let mut first = 0;
    let circle = |ring: usize| {
        let fraction = ring as f64 / cells as f64;
        let radius = inner * (1.0 - fraction) + fraction;
        let count = around(if alike { 1.0 } else { radius }) as usize;
        first += count;
        Circle {
            radius,
            count,
            first: first - count,
            ahead: !alike && ring % 2 == 1,
        }
    };
    (0..=cells).map(circle).collect()
}

fn annulus_section(circles: &[Circle]) -> Section {
    let mut layout = SheetLayout {
        places: Vec::new(),
        triangles: Vec::new(),
    };
    for circle in circles {
        for step in 0..circle.count {
            let (numerator, denominator) = circle.turns(step);
            let (sine, cosine) = (TAU * numerator as f64 / denominator as f64).sin_cos();
            layout.places.push(circle.radius * DVec2::new(cosine, sine));
        }
    }
    for pair in circles.windows(2) {
        zip_circles(&pair[0], &pair[1], &mut layout.triangles);
    }
    let range = |circle: Option<&Circle>| {
        circle.map_or(0..0, |circle| {
            circle.first as u32..(circle.first + circle.count) as u32
        })
    };
    Section {
        layout,
        inside: range(circles.first()),
        outside: range(circles.last()),
    }
}

/// Adds the triangles between two circles, by advancing around both along the shorter diagonal.
fn zip_circles(inner: &Circle, outer: &Circle, triangles: &mut Vec<[u32; 3]>) {
    let apart = |i: usize, o: usize| {
        let ((a, b), (c, d)) = (inner.turns(i), outer.turns(o));
        (a * d).abs_diff(c * b)
    };
    let (mut i, mut o) = (0, 0);
    while i < inner.count || o < outer.count {
        let outer_next =
            i == inner.count || (o < outer.count && apart(i, o + 1) <= apart(i + 1, o));
        if outer_next {
            triangles.push([inner.vertex(i), outer.vertex(o), outer.vertex(o + 1)]);
            o += 1;
        } else {
            triangles.push([inner.vertex(i), outer.vertex(o), inner.vertex(i + 1)]);
            i += 1;
        }
    }
}

/// The tetrahedra of a section that is swept through `layers`, back to the first if `closed`.
///
/// `place` is the position of a point of the section in a layer; x, y and the direction of the
/// sweep must be right-handed. Vertex v of the section has the index layer · count + v.
fn sweep(
    section: &SheetLayout,
    layers: usize,
    closed: bool,
    place: impl Fn(DVec2, usize) -> DVec3,
) -> Mesh {
    let count = section.places.len();
    let stations = if closed { layers } else { layers + 1 };
    let mut points = Vec::with_capacity(count * stations);
    for station in 0..stations {
        points.extend(section.places.iter().map(|point| place(*point, station)));
    }
    let mut tetrahedra = Vec::with_capacity(3 * layers * section.triangles.len());
    for layer in 0..layers {
        let low = (layer * count) as u32;
        let high = ((layer + 1) % stations * count) as u32;
        for &triangle in &section.triangles {
            tetrahedra.extend(cut_prism(triangle, low, high, layer % 2 == 1));
        }
    }
    Mesh {
        triangles: boundary_triangles(&tetrahedra, |vertex| points[vertex as usize]),
        points,
        tetrahedra,
        ..Mesh::default()
    }
}

/// Three tetrahedra between a triangle of the section in two layers, which start at the vertices
/// `low` and `high`.
///
/// The diagonals are from the smaller vertex below to the larger one above, or the other ones if
/// `turned`.
fn cut_prism(triangle: [u32; 3], low: u32, high: u32, turned: bool) -> [[u32; 4]; 3] {
    let mut sorted = triangle;
    sorted.sort_unstable();
    let [a, b, c] = sorted;
    // Sorting may have reversed the triangle, and `turned` reverses it too.
    let even = (0..3).any(|turn| [0, 1, 2].map(|corner| triangle[(corner + turn) % 3]) == sorted);
    let (from, to) = if turned { (high, low) } else { (low, high) };
    let tetrahedra = [
        [a + from, b + from, c + from, c + to],
        [a + from, b + to, b + from, c + to],
        [a + from, a + to, b + to, c + to],
    ];
    if even != turned {
        tetrahedra
    } else {
        tetrahedra.map(|[a, b, c, d]| [a, b, d, c])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::check::{boundary_vertices, check_solid, group};
    use proptest::prelude::*;

    /// Relative error of the volume.
    fn excess(mesh: &Mesh, quality: f64, dihedral: f64, characteristic: i64, exact: f64) -> f64 {
        let measured = check_solid(mesh, characteristic);
        assert!(
            measured.quality > quality && measured.dihedral > dihedral,
            "{measured:?}"
        );
        measured.volume / exact - 1.0
    }

    #[test]
    fn the_volume_of_a_ring_converges_with_fair_tetrahedra() {
        // With a narrower hole the cells outside are longer than inside.
        for (radius, quality, dihedral) in [(3.0, 0.6, 28.0), (1.5, 0.42, 16.5)] {
            let [coarse, fine] = [1.0, 0.25].map(|edge| {
                let mesh = ring(radius, 1.0, edge).unwrap();
                excess(&mesh, quality, dihedral, 0, 2.0 * PI * PI * radius)
            });
            assert!(coarse < 0.0 && coarse > -0.25);
            // The error is of second order in the edge length.
            assert!((fine * 16.0 / coarse - 1.0).abs() < 0.15, "{coarse} {fine}");
        }
    }

    #[test]
    fn a_ring_closes_for_any_number_of_layers() {
        for layers in 6..12 {
            let mesh = ring(1.0, 0.4, TAU / f64::from(layers)).unwrap();
            assert_eq!(mesh.points.len(), 7 * layers as usize);
            check_solid(&mesh, 0);
            assert_eq!(group(&mesh, "surface"), boundary_vertices(&mesh));
        }
    }

    #[test]
    fn a_cylinder_has_the_volume_of_a_prism_and_good_tetrahedra() {
        let [coarse, fine] = [1.0, 0.125].map(|edge| {
            let mesh = tube(1.0, 0.0, 2.0, edge).unwrap();
            assert_eq!(
                mesh.points.len() as f64,
                tube_vertex_estimate(1.0, 0.0, 2.0, edge)
            );
            excess(&mesh, 0.63, 34.5, 2, TAU)
        });
        // A regular hexagon, and one of 48 sides.
        let polygon = |sides: f64| 0.5 * sides * (TAU / sides).sin() / PI - 1.0;
        assert!((coarse - polygon(6.0)).abs() < 1e-12);
        assert!((fine - polygon(48.0)).abs() < 1e-12);
    }

    #[test]
    fn the_volume_of_a_tube_converges_with_good_tetrahedra() {
        for inner in [0.3, 0.5, 0.8] {
            let [coarse, fine] = [0.25, 0.1].map(|edge| {
                let mesh = tube(1.0, inner, 1.0, edge).unwrap();
                let estimate = tube_vertex_estimate(1.0, inner, 1.0, edge);
                assert!((mesh.points.len() as f64 / estimate - 1.0).abs() < 0.05);
                excess(&mesh, 0.6, 33.0, 0, PI * (1.0 - inner * inner))
            });
            assert!(coarse.abs() < 4e-3 && fine.abs() < 2e-4, "{coarse} {fine}");
        }
    }

    #[test]
    fn the_sides_of_a_tube_are_its_groups() {
        let mesh = tube(2.0, 1.0, 3.0, 0.5).unwrap();
        let radius = |vertex: &u32| mesh.points[*vertex as usize].truncate().length();
        let height = |vertex: &u32| mesh.points[*vertex as usize].z;
        let names = ["bottom", "top", "inside", "outside"];
        let [bottom, top, inside, outside] = names.map(|name| group(&mesh, name));
        assert!(bottom.iter().all(|vertex| height(vertex) == -1.5));
        assert!(top.iter().all(|vertex| height(vertex) == 1.5));
        assert!(
            inside
                .iter()
                .all(|vertex| (radius(vertex) - 1.0).abs() < 1e-15 * 2.0)
        );
        assert!(
            outside
                .iter()
                .all(|vertex| (radius(vertex) - 2.0).abs() < 1e-15 * 4.0)
        );
        let mut all = [bottom, top, inside, outside].concat();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all, boundary_vertices(&mesh));
        let solid = tube(2.0, 0.0, 3.0, 0.5).unwrap();
        assert!(solid.groups.iter().all(|group| group.name != "inside"));
    }

    #[test]
    fn invalid_lengths_are_refused() {
        let closed = ring(1.0, 1.0, 0.1).unwrap_err();
        assert_eq!(closed.to_string(), "tube_radius must be less than radius");
        assert!(ring(1.0, 0.5, 0.0).is_err());
        assert!(ring(1.0, 0.5, 1e-5).is_err());
        assert!(tube(1.0, 1.5, 1.0, 0.1).is_err());
        assert!(tube(1.0, f64::NAN, 1.0, 0.1).is_err());
        assert!(tube(1.0, -0.5, 1.0, 0.1).is_err());
        assert!(tube(1.0, 0.5, 1e300, 1e-300).is_err());
        assert_eq!(ring_vertex_estimate(1e300, 1.0, 1e-300), f64::INFINITY);
        assert_eq!(tube_vertex_estimate(1.0, 0.5, 1e300, 1e-300), f64::INFINITY);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn any_tube_and_ring_is_a_solid(
            inner in 0.0..0.98f64,
            length in 0.1..3.0f64,
            edge in 0.2..3.0f64,
        ) {
            let tube = tube(1.0, inner, length, edge).unwrap();
            check_solid(&tube, if inner > 0.0 { 0 } else { 2 });
            check_solid(&ring(1.0, inner.max(0.01), edge).unwrap(), 0);
        }
    }
}
