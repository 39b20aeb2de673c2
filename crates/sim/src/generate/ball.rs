//! Balls and half balls of tetrahedra.
//!
//! Each face of an icosahedron, or of half an octahedron, forms a tetrahedron with the centre. It
//! is subdivided as a regular lattice of frequency n: every cell is a tetrahedron or an octahedron,
//! and an octahedron is divided into four tetrahedra around its shortest diagonal. Then the k-th
//! layer of the lattice is projected to the sphere of radius k/n. So all cells have about the same
//! size. A vertex is identified by its layer and its weights on the corners, so no welding is
//! needed.

use glam::DVec3;

use super::size::{SizeError, check_count, check_lengths, divisions};
use crate::mesh::boundary::boundary_triangles;
use crate::mesh::{Group, Mesh};

/// Mean length of the edges on the surface of a ball of radius n with n layers, for large n (m).
const BALL_EDGE_FACTOR: f64 = 1.21;

/// The same for a half ball, including the edges of its flat side.
const HALF_BALL_EDGE_FACTOR: f64 = 1.67;

/// A ball around the origin, with edges of about the length `edge` on its surface.
///
/// Groups: "surface", "centre".
///
/// # Errors
/// If a length is not positive and finite, or there are too many vertices.
pub fn ball(radius: f64, edge: f64) -> Result<Mesh, SizeError> {
    let (mesh, surface) = icosahedron().ball(radius, edge, BALL_EDGE_FACTOR)?;
    let groups = vec![
        Group::new("surface", surface),
        Group::new("centre", vec![0]),
    ];
    Ok(Mesh { groups, ..mesh })
}

/// The number of vertices of a [`ball`].
#[must_use]
pub fn vertex_estimate(radius: f64, edge: f64) -> f64 {
    icosahedron().vertices(layers(radius, edge, BALL_EDGE_FACTOR))
}

/// The half z ≤ 0 of a ball around the origin, with edges of about the length `edge` on its
/// surface.
///
/// Groups: "flat" (the disc in z = 0), "dome" (on the sphere, with the rim), "pole" (the lowest
/// vertex).
///
/// # Errors
/// If a length is not positive and finite, or there are too many vertices.
pub fn half_ball(radius: f64, edge: f64) -> Result<Mesh, SizeError> {
    let (mesh, dome) = half_octahedron().ball(radius, edge, HALF_BALL_EDGE_FACTOR)?;
    let flat = mesh
        .points
        .iter()
        .zip(0..)
        .filter(|(point, _)| point.z == 0.0);
    // The five corners come first in every layer; the last of them is the lowest.
    let pole = dome.iter().copied().skip(4).take(1).collect();
    let groups = vec![
        Group::new("flat", flat.map(|(_, vertex)| vertex).collect()),
        Group::new("dome", dome),
        Group::new("pole", pole),
    ];
    Ok(Mesh { groups, ..mesh })
}

/// The number of vertices of a [`half_ball`].
#[must_use]
pub fn half_vertex_estimate(radius: f64, edge: f64) -> f64 {
    half_octahedron().vertices(layers(radius, edge, HALF_BALL_EDGE_FACTOR))
}

/// The number of layers around the centre.
fn layers(radius: f64, edge: f64, edge_factor: f64) -> f64 {
    divisions(radius * edge_factor, edge, 1.0)
}

/// Triangles around the origin: unit vectors, edges and faces.
struct Star {
    /// Unit vectors.
    corners: Vec<DVec3>,
    /// Pairs of corners, smaller first.
    edges: Vec<[usize; 2]>,
    /// Corners, counter-clockwise seen from outside.
    faces: Vec<[usize; 3]>,
}

fn icosahedron() -> Star {
    let golden = 0.5 * (1.0 + 5f64.sqrt());
    let mut corners = Vec::with_capacity(12);
    for (one, long) in [
        (1.0, golden),
        (-1.0, golden),
        (1.0, -golden),
        (-1.0, -golden),
    ] {
        corners.push(DVec3::new(0.0, one, long).normalize());
        corners.push(DVec3::new(long, 0.0, one).normalize());
        corners.push(DVec3::new(one, long, 0.0).normalize());
    }
    Star::new(corners)
}

/// The lower half of an octahedron.
fn half_octahedron() -> Star {
    Star::new(vec![
        DVec3::X,
        DVec3::Y,
        DVec3::NEG_X,
        DVec3::NEG_Y,
        DVec3::NEG_Z,
    ])
}

impl Star {
    /// Corners at an angle of at most about 90° form edges, three such edges a face.
    fn new(corners: Vec<DVec3>) -> Star {
        let near = |a: usize, b: usize| corners[a].dot(corners[b]) > -0.1;
        let (mut edges, mut faces) = (Vec::new(), Vec::new());
        for a in 0..corners.len() {
            for b in a + 1..corners.len() {
                if !near(a, b) {
                    continue;
                }
                edges.push([a, b]);
                for c in b + 1..corners.len() {
                    if near(a, c) && near(b, c) {
                        let outward = corners[a].cross(corners[b]).dot(corners[c]) > 0.0;
                        faces.push(if outward { [a, b, c] } else { [a, c, b] });
                    }
                }
            }
        }
        Star {
            corners,
            edges,
            faces,
        }
    }

    /// Number of vertices of the layers and the centre.
    fn vertices(&self, layers: f64) -> f64 {
        let [corners, edges, faces] =
            [self.corners.len(), self.edges.len(), self.faces.len()].map(|count| count as f64);
        // Layer k has one vertex at each corner, k − 1 on each edge, (k − 1)(k − 2)/2 on each face.
        let on_edges = layers * (layers - 1.0) / 2.0;
        1.0 + corners * layers + edges * on_edges + faces * on_edges * (layers - 2.0) / 3.0
    }

    /// A ball of tetrahedra without groups, and the vertices of its outermost layer.
    fn ball(
        &self,
        radius: f64,
        edge: f64,
        edge_factor: f64,
    ) -> Result<(Mesh, Vec<u32>), SizeError> {
        check_lengths(&[("radius", radius), ("edge", edge)])?;
        let layers = layers(radius, edge, edge_factor);
        check_count(self.vertices(layers))?;
        let lattice = Lattice::new(self, layers as usize);
        let points: Vec<DVec3> = lattice
            .places()
            .into_iter()
            .map(|place| radius * place)
            .collect();
        let tetrahedra = lattice.tetrahedra(&points);
        let surface = lattice.first[lattice.layers] as u32..points.len() as u32;
        let mesh = Mesh {
            triangles: boundary_triangles(&tetrahedra, |vertex| points[vertex as usize]),
            points,
            tetrahedra,
            ..Mesh::default()
        };
        Ok((mesh, surface.collect()))
    }
}

/// Vertices of a ball, numbered layer by layer: first those of corners, then of edges, then of
/// faces.
struct Lattice<'a> {
    star: &'a Star,
    layers: usize,
    /// The first vertex of each layer; layer 0 is the centre.
    first: Vec<usize>,
    /// For each face the edges from its corners 0 to 1, 1 to 2 and 2 to 0.
    edges_of_faces: Vec<[usize; 3]>,
}

impl Lattice<'_> {
    fn new(star: &Star, layers: usize) -> Lattice<'_> {
        let mut first = vec![0, 1];
        for layer in 1..layers {
            let inner = layer - 1;
            let count = star.corners.len()
                + star.edges.len() * inner
                + star.faces.len() * inner * inner.saturating_sub(1) / 2;
            first.push(first[layer] + count);
        }
        let edge = |a: usize, b: usize| {
            star.edges
                .partition_point(|edge| *edge < [a.min(b), a.max(b)])
        };
        let edges_of_face = |&[a, b, c]: &[usize; 3]| [edge(a, b), edge(b, c), edge(c, a)];
        Lattice {
            star,
            layers,
            first,
            edges_of_faces: star.faces.iter().map(edges_of_face).collect(),
        }
    }

    /// Vertex in the tetrahedron of a face, by the number of steps from the centre towards each
    /// corner.
    fn vertex(&self, face: usize, steps: [usize; 3]) -> u32 {
        let layer: usize = steps.iter().sum();
        let Star {
            corners,
            edges,
            faces,
        } = self.star;
        let on_edges = self.first[layer] + corners.len();
        let vertex = match steps {
            [0, 0, 0] => 0,
            [_, 0, 0] => self.first[layer] + faces[face][0],
            [0, _, 0] => self.first[layer] + faces[face][1],
            [0, 0, _] => self.first[layer] + faces[face][2],
            [a, b, c] if a == 0 || b == 0 || c == 0 => {
                let side = steps
                    .iter()
                    .position(|step| *step == 0)
                    .map_or(0, |zero| (zero + 1) % 3);
                let [from, to] = [side, (side + 1) % 3];
                let upper = if faces[face][from] < faces[face][to] {
                    to
                } else {
                    from
                };
                on_edges + self.edges_of_faces[face][side] * (layer - 1) + steps[upper] - 1
            }
            [a, b, _] => {
                let inner = (layer - 1) * (layer - 2) / 2;
                let row = a - 1;
                on_edges + edges.len() * (layer - 1) + face * inner + row * (layer - 2) + b
                    - 1
                    - row * row.saturating_sub(1) / 2
            }
        };
        vertex as u32
    }

    /// Positions of all vertices in a ball of radius 1.
    fn places(&self) -> Vec<DVec3> {
        let Star {
            corners,
            edges,
            faces,
        } = self.star;
        // Weights by the sine: equal steps along an edge become equal angles.
        let angle = corners[faces[0][0]].angle_between(corners[faces[0][1]]);
        let mut places = vec![DVec3::ZERO];
        for layer in 1..=self.layers {
            let weighted = |corner: usize, steps: usize| {
                (angle * steps as f64 / layer as f64).sin() * corners[corner]
            };
            let on_sphere = |sum: DVec3| sum.normalize() * (layer as f64 / self.layers as f64);
            places.extend(corners.iter().map(|corner| on_sphere(*corner)));
            for &[a, b] in edges {
                places.extend(
                    (1..layer).map(|step| on_sphere(weighted(a, layer - step) + weighted(b, step))),
                );
            }
            for &[a, b, c] in faces {
                for i in 1..layer {
                    for j in 1..layer - i {
                        places.push(on_sphere(
                            weighted(a, i) + weighted(b, j) + weighted(c, layer - i - j),
                        ));
                    }
                }
            }
        }
        places
    }

    fn tetrahedra(&self, points: &[DVec3]) -> Vec<[u32; 4]> {
        let n = self.layers;
        let mut tetrahedra = Vec::with_capacity(self.star.faces.len() * n * n * n);
        for face in 0..self.star.faces.len() {
            for i in 0..n {
                for j in 0..n - i {
                    for k in 0..n - i - j {
                        let at =
                            |a: usize, b: usize, c: usize| self.vertex(face, [i + a, j + b, k + c]);
                        tetrahedra.push([at(0, 0, 0), at(1, 0, 0), at(0, 1, 0), at(0, 0, 1)]);
                        let left = n - i - j - k;
                        if left >= 2 {
                            let near = [at(1, 0, 0), at(0, 1, 0), at(0, 0, 1)];
                            let far = [at(0, 1, 1), at(1, 0, 1), at(1, 1, 0)];
                            tetrahedra.extend(cut_octahedron(near, far, points));
                        }
                        if left >= 3 {
                            tetrahedra.push([at(1, 1, 1), at(1, 0, 1), at(0, 1, 1), at(1, 1, 0)]);
                        }
                    }
                }
            }
        }
        tetrahedra
    }
}

/// The four tetrahedra around the shortest diagonal of an octahedron, whose vertex `near[i]` is
/// opposite to `far[i]`.
fn cut_octahedron(near: [u32; 3], far: [u32; 3], points: &[DVec3]) -> [[u32; 4]; 4] {
    let length = |i: usize| points[near[i] as usize].distance_squared(points[far[i] as usize]);
    let shorter = |i: usize, j: usize| if length(j) < length(i) { j } else { i };
    let a = shorter(shorter(0, 1), 2);
    let [b, c] = [(a + 1) % 3, (a + 2) % 3];
    let around = [near[b], near[c], far[b], far[c]];
    [0, 1, 2, 3].map(|side| [near[a], far[a], around[side], around[(side + 1) % 4]])
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::*;
    use crate::generate::check::{boundary_vertices, check_solid, group};

    /// Relative deficit of the volume of a ball or half ball of radius 1.
    fn missing(mesh: &Mesh, quality: f64, dihedral: f64, share: f64) -> f64 {
        let measured = check_solid(mesh, 2);
        assert!(
            measured.quality > quality && measured.dihedral > dihedral,
            "{measured:?}"
        );
        1.0 - measured.volume / (4.0 / 3.0 * PI * share)
    }

    #[test]
    fn the_volume_of_a_ball_converges_with_good_tetrahedra() {
        let [coarse, middle, fine] =
            [0.5, 0.2, 0.1].map(|edge| missing(&ball(1.0, edge).unwrap(), 0.72, 38.0, 1.0));
        assert!(coarse > 0.0 && coarse < 0.13);
        // The deficit is of second order in the size of faces; there are 2, 6 and 12 layers.
        assert!(
            (coarse / middle / 9.0 - 1.0).abs() < 0.1,
            "{coarse} {middle}"
        );
        assert!((middle / fine / 4.0 - 1.0).abs() < 0.02, "{middle} {fine}");
    }

    #[test]
    fn the_volume_of_a_half_ball_converges_with_fair_tetrahedra() {
        let [coarse, middle, fine] =
            [0.5, 0.2, 0.1].map(|edge| missing(&half_ball(1.0, edge).unwrap(), 0.53, 28.5, 0.5));
        // There are 3, 8 and 17 layers.
        assert!(coarse > 0.0 && coarse < 0.15);
        assert!(
            (coarse / middle / (64.0 / 9.0) - 1.0).abs() < 0.1,
            "{coarse} {middle}"
        );
        assert!(
            (middle / fine / (289.0 / 64.0) - 1.0).abs() < 0.03,
            "{middle} {fine}"
        );
    }

    #[test]
    fn edges_on_the_surface_have_about_the_given_length() {
        for edge in [0.05, 0.11, 0.3] {
            for mesh in [ball(0.7, edge).unwrap(), half_ball(0.7, edge).unwrap()] {
                let found = check_solid(&mesh, 2).edge;
                assert!((found / edge - 1.0).abs() < 0.25, "{found} for {edge}");
            }
        }
    }

    #[test]
    fn the_surface_of_a_ball_is_its_boundary_and_on_the_sphere() {
        let mesh = ball(2.0, 0.6).unwrap();
        let surface = group(&mesh, "surface");
        assert_eq!(surface, boundary_vertices(&mesh));
        for vertex in surface {
            assert!((mesh.points[*vertex as usize].length() - 2.0).abs() < 1e-15 * 4.0);
        }
        assert_eq!(group(&mesh, "centre"), [0]);
        assert_eq!(mesh.points[0], DVec3::ZERO);
    }

    #[test]
    fn a_half_ball_is_flat_above_and_round_below() {
        let mesh = half_ball(2.0, 0.6).unwrap();
        let [flat, dome, pole] = ["flat", "dome", "pole"].map(|name| group(&mesh, name));
        assert!(mesh.points.iter().all(|point| point.z <= 0.0));
        assert!(
            flat.iter()
                .all(|vertex| mesh.points[*vertex as usize].z == 0.0)
        );
        for vertex in dome {
            assert!((mesh.points[*vertex as usize].length() - 2.0).abs() < 1e-15 * 4.0);
        }
        let mut both = [flat, dome].concat();
        both.sort_unstable();
        // Flat side and dome share the rim: four corners, and n − 1 vertices on each of four edges.
        both.dedup();
        assert_eq!(both, boundary_vertices(&mesh));
        assert_eq!(pole.len(), 1);
        assert_eq!(mesh.points[pole[0] as usize], DVec3::new(0.0, 0.0, -2.0));
    }

    #[test]
    fn the_estimated_number_of_vertices_is_exact() {
        for layers in 1..=9 {
            let edge = 1.0 / f64::from(layers);
            assert_eq!(
                ball(1.0, edge).unwrap().points.len() as f64,
                vertex_estimate(1.0, edge)
            );
            assert_eq!(
                half_ball(1.0, edge).unwrap().points.len() as f64,
                half_vertex_estimate(1.0, edge)
            );
        }
        assert_eq!(vertex_estimate(1e200, 1e-200), f64::INFINITY);
        assert!(ball(1.0, 1e-6).is_err());
        assert!(ball(0.0, 0.1).is_err());
        assert!(half_ball(1.0, -0.1).is_err());
        assert_eq!(ball(1.0, 1e300).unwrap().points.len(), 13);
    }
}
