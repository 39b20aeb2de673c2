//! Meshes of points and elements, and derived quantities: edges, hinges, areas, masses.
//!
//! Every list is sorted by vertex or element index, so that equal meshes have equal lists.

pub mod boundary;
pub mod diagnose;
pub(crate) mod encode;
pub mod mass;
pub mod nearest;
pub mod surface;

use glam::{DVec2, DVec3};

/// Points with their elements. Vertices count from 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mesh {
    /// Positions (m).
    pub points: Vec<DVec3>,
    /// Corners of the triangles, counter-clockwise seen from outside or from the side of the
    /// normal.
    pub triangles: Vec<[u32; 3]>,
    /// Corners of the tetrahedra, (b − a) × (c − a) · (d − a) > 0.
    pub tetrahedra: Vec<[u32; 4]>,
    /// Curves, each a range of vertices.
    pub curves: Vec<Curve>,
    /// Named groups of vertices.
    pub groups: Vec<Group>,
}

/// A curve through `count` consecutive vertices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Curve {
    /// Its first vertex.
    pub first: u32,
    /// Its number of vertices.
    pub count: u32,
    /// Whether an edge leads from the last vertex back to the first.
    pub closed: bool,
}

/// A named group of vertices, ascending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The name.
    pub name: String,
    /// The vertices.
    pub vertices: Vec<u32>,
}

impl Group {
    /// A group. The vertices are sorted, and duplicates removed.
    pub fn new(name: impl Into<String>, mut vertices: Vec<u32>) -> Group {
        vertices.sort_unstable();
        vertices.dedup();
        Group {
            name: name.into(),
            vertices,
        }
    }
}

impl Curve {
    /// Its edges, in order.
    pub fn edges(&self) -> impl Iterator<Item = [u32; 2]> + use<> {
        let Curve {
            first,
            count,
            closed,
        } = *self;
        let edges = if closed {
            count
        } else {
            count.saturating_sub(1)
        };
        (0..edges).map(move |edge| [first + edge, first + (edge + 1) % count])
    }
}

impl Mesh {
    /// The edges of all curves.
    #[must_use]
    pub fn curve_edges(&self) -> Vec<[u32; 2]> {
        self.curves.iter().flat_map(Curve::edges).collect()
    }

    /// The first of `parts` equal parts that follow each other.
    #[must_use]
    pub fn first_part(&self, parts: usize) -> Mesh {
        let parts = parts.max(1);
        let points = self.points[..self.points.len() / parts].to_vec();
        let count = points.len() as u32;
        let group = |group: &Group| {
            let vertices = group.vertices.iter().copied();
            Group::new(
                group.name.clone(),
                vertices.filter(|vertex| *vertex < count).collect(),
            )
        };
        Mesh {
            triangles: self.triangles[..self.triangles.len() / parts].to_vec(),
            tetrahedra: self.tetrahedra[..self.tetrahedra.len() / parts].to_vec(),
            curves: self.curves[..self.curves.len() / parts].to_vec(),
            groups: self.groups.iter().map(group).collect(),
            points,
        }
    }

    /// Diagonal of the bounding box (m).
    #[must_use]
    pub fn diagonal(&self) -> f64 {
        self.extent().length()
    }

    /// Sides of the bounding box (m).
    #[must_use]
    pub fn extent(&self) -> DVec3 {
        let Some(first) = self.points.first() else {
            return DVec3::ZERO;
        };
        let low = self
            .points
            .iter()
            .fold(*first, |low, point| low.min(*point));
        let high = self
            .points
            .iter()
            .fold(*first, |high, point| high.max(*point));
        high - low
    }

    /// Adds groups of the ends of all open curves: "first", "last" and "ends".
    pub fn name_curve_ends(&mut self) {
        let open = || self.curves.iter().filter(|curve| !curve.closed);
        let first: Vec<u32> = open().map(|curve| curve.first).collect();
        let last: Vec<u32> = open().map(|curve| curve.first + curve.count - 1).collect();
        if first.is_empty() {
            return;
        }
        let ends = first.iter().chain(&last).copied().collect();
        self.groups
            .retain(|group| !["first", "last", "ends"].contains(&group.name.as_str()));
        self.groups.push(Group::new("first", first));
        self.groups.push(Group::new("last", last));
        self.groups.push(Group::new("ends", ends));
    }

    /// The triangles laid flat, each in its own plane with x along the warp (m).
    #[must_use]
    pub fn rest_triangles(&self, warp: DVec3) -> Vec<[DVec2; 3]> {
        let flatten = |corners: &[u32; 3]| {
            let [a, b, c] = corners.map(|vertex| self.points[vertex as usize]);
            let normal = (b - a).cross(c - a).normalize_or_zero();
            let along = warp - normal * warp.dot(normal);
            // A warp along the normal has no direction in the triangle; use the first side.
            let along = if along.length() > 1e-6 * warp.length() {
                along.normalize()
            } else {
                (b - a).normalize_or_zero()
            };
            let across = normal.cross(along);
            [a, b, c].map(|point| DVec2::new((point - a).dot(along), (point - a).dot(across)))
        };
        self.triangles.iter().map(flatten).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_curve_has_an_edge_from_last_to_first() {
        let mut curve = Curve {
            first: 4,
            count: 3,
            closed: false,
        };
        assert_eq!(curve.edges().collect::<Vec<_>>(), [[4, 5], [5, 6]]);
        curve.closed = true;
        assert_eq!(curve.edges().collect::<Vec<_>>(), [[4, 5], [5, 6], [6, 4]]);
    }

    #[test]
    fn rest_triangles_keep_lengths_and_have_x_along_the_warp() {
        let mesh = Mesh {
            points: vec![
                DVec3::new(1.0, 1.0, 2.0),
                DVec3::new(2.0, 1.0, 3.0),
                DVec3::new(1.0, 3.0, 2.0),
            ],
            triangles: vec![[0, 1, 2], [2, 0, 1]],
            ..Mesh::default()
        };
        for (corners, flat) in mesh.triangles.iter().zip(mesh.rest_triangles(DVec3::Y)) {
            let solid = corners.map(|vertex| mesh.points[vertex as usize]);
            for [i, j] in [[0, 1], [1, 2], [2, 0]] {
                let (rest, real) = (flat[i].distance(flat[j]), solid[i].distance(solid[j]));
                assert!((rest - real).abs() < 1e-14);
            }
            // The side from vertex 0 to vertex 2 is along y, the warp.
            let at = |vertex| flat[corners.iter().position(|corner| *corner == vertex).unwrap()];
            assert!((at(2) - at(0) - DVec2::new(2.0, 0.0)).length() < 1e-14);
        }
    }
}
