//! Placement of objects: scale, rotation, translation and copies.

use glam::{DQuat, DVec3};

use super::Builder;
use super::mesh::FileOrder;
use crate::generate::scatter;
use crate::mesh::{Curve, Group, Mesh};
use crate::motion::Pose;
use crate::scene::problem::Place;
use crate::scene::tables::{self, Copies, CopyArray, CopyScatter, Placement};
use crate::scene::values::Placed;

/// Placement of the copies of an object.
#[derive(Clone, Debug)]
pub(super) struct Places {
    /// Scale factors.
    pub(super) scale: DVec3,
    /// Pose of each copy.
    pub(super) poses: Vec<Pose>,
}

/// Map from the points of a sequence file to those of an object or collider.
#[derive(Debug)]
pub(super) struct Layout {
    /// Order of the vertices in the mesh file, for a mesh from a file.
    pub(super) order: Option<FileOrder>,
    /// Number of vertices of a copy.
    pub(super) count: usize,
    /// Placement of the copies.
    pub(super) places: Places,
}

impl Layout {
    /// Points of all copies, from a file with the vertices of the mesh.
    pub(super) fn all(&self, points: Vec<DVec3>) -> Result<Vec<DVec3>, String> {
        let points = match &self.order {
            Some(order) => order.arrange(&points)?,
            None => points,
        };
        let (expected, found) = (self.count, points.len());
        if expected != found {
            return Err(format!(
                "it has {found} vertices, but the mesh has {expected}"
            ));
        }
        let copies = 0..self.places.poses.len();
        let place = |copy: usize| points.iter().map(move |point| self.place(*point, copy));
        Ok(copies.flat_map(place).collect())
    }

    /// Points of some vertices, from a file with all vertices of the mesh or with these only;
    /// `None` if it has another number of vertices.
    pub(super) fn some(&self, points: Vec<DVec3>, vertices: &[u32]) -> Option<Vec<DVec3>> {
        let of_file = self.order.as_ref().map_or(self.count, FileOrder::count);
        let copy = |vertex: &u32| *vertex as usize / self.count.max(1);
        match points.len() {
            count if count == of_file => {
                let all = self.all(points).ok()?;
                let some = vertices.iter().map(|vertex| all.get(*vertex as usize));
                some.map(|point| point.copied()).collect()
            }
            count if count == vertices.len() => {
                let some = points.iter().zip(vertices);
                Some(some.map(|(p, v)| self.place(*p, copy(v))).collect())
            }
            _ => None,
        }
    }

    fn place(&self, point: DVec3, copy: usize) -> DVec3 {
        let pose = self.places.poses.get(copy).unwrap_or(&Pose::IDENTITY);
        pose.apply(point * self.places.scale)
    }
}

impl Places {
    /// All copies of a scaled mesh.
    pub(super) fn copies_of(&self, mesh: &Mesh) -> Mesh {
        let count = mesh.points.len() as u32;
        let firsts = || (0..self.poses.len() as u32).map(|copy| copy * count);
        let moved = |pose: &Pose| {
            mesh.points
                .iter()
                .map(|point| pose.apply(*point))
                .collect::<Vec<_>>()
        };
        let group = |group: &Group| {
            let of_copy = |first: u32| group.vertices.iter().map(move |vertex| first + vertex);
            Group::new(group.name.clone(), firsts().flat_map(of_copy).collect())
        };
        let curve = |curve: &Curve, first: u32| Curve {
            first: first + curve.first,
            ..*curve
        };
        let curves = firsts().flat_map(|first| mesh.curves.iter().map(move |c| curve(c, first)));
        Mesh {
            points: self.poses.iter().flat_map(moved).collect(),
            triangles: firsts()
                .flat_map(|first| mesh.triangles.iter().map(move |t| t.map(|v| first + v)))
                .collect(),
            tetrahedra: firsts()
                .flat_map(|first| mesh.tetrahedra.iter().map(move |t| t.map(|v| first + v)))
                .collect(),
            curves: curves.collect(),
            groups: mesh.groups.iter().map(group).collect(),
        }
    }
}

impl Builder<'_> {
    /// Unit axis and angle of a rotation.
    pub(super) fn turn(&mut self, rotation: &tables::Rotation) -> Option<(DVec3, f64)> {
        let axis = self.direction(&rotation.axis, "the axis of a rotation must not be zero")?;
        Some((axis, rotation.angle.0))
    }

    /// Unit vector of a direction. A zero vector is reported with this message.
    pub(crate) fn direction(&mut self, given: &Placed<[f64; 3]>, message: &str) -> Option<DVec3> {
        let vector = DVec3::from_array(given.value);
        // Scaled first: the length of a very long or short vector overflows or underflows.
        let direction = (vector / vector.abs().max_element()).try_normalize();
        if direction.is_none() {
            let advice = "give a vector such as [0, 0, 1]";
            self.problem(&given.place, message.to_owned(), advice);
        }
        direction
    }

    /// Placement of the copies of a scaled mesh.
    pub(super) fn places(
        &mut self,
        placement: &Placement,
        mesh: &Mesh,
        name: &str,
    ) -> Option<Places> {
        let (axis, angle) = self.turn(&placement.rotation)?;
        let base = Pose {
            turn: DQuat::from_axis_angle(axis, angle),
            shift: vector(placement.position.map(|component| component.0)),
        };
        let poses = match &placement.copies {
            None => vec![base],
            Some(copies) => {
                let count = copies.value.count() * mesh.points.len() as f64;
                self.refuse_vertices(count, name, &copies.place)?;
                self.copies(copies, base, mesh, name)?
            }
        };
        Some(Places {
            scale: vector(placement.scale.0),
            poses,
        })
    }

    /// Poses of all copies.
    fn copies(
        &mut self,
        copies: &Placed<Copies>,
        base: Pose,
        mesh: &Mesh,
        name: &str,
    ) -> Option<Vec<Pose>> {
        match &copies.value {
            Copies::Array(array) => self.array(array, base, &copies.place),
            Copies::Scatter(scattered) => {
                self.scattered(scattered, base, mesh, name, &copies.place)
            }
        }
    }

    fn array(&mut self, array: &CopyArray, base: Pose, place: &Place) -> Option<Vec<Pose>> {
        let count = array.count.map(|count| count as usize);
        let spacing = vector(array.spacing.map(|length| length.0));
        match scatter::array(count, spacing) {
            Ok(offsets) => {
                let pose = |offset| Pose {
                    shift: base.shift + offset,
                    ..base
                };
                Some(offsets.into_iter().map(pose).collect())
            }
            Err(reason) => {
                let message = format!("the copies cannot be placed: {reason}");
                self.problem(place, message, "give a smaller `count`");
                None
            }
        }
    }

    fn scattered(
        &mut self,
        scattered: &CopyScatter,
        base: Pose,
        mesh: &Mesh,
        name: &str,
        place: &Place,
    ) -> Option<Vec<Pose>> {
        let lengths = mesh.points.iter().map(|point| point.length());
        let reach = lengths.fold(0.0, f64::max);
        let seed = self.seed_of(name, scattered.seed);
        let [min, max] =
            [scattered.min, scattered.max].map(|corner| vector(corner.map(|length| length.0)));
        let placements = scatter::scatter(
            scattered.count as usize,
            min,
            max,
            scattered.apart.map_or(2.0 * reach, |length| length.0),
            scattered.turned,
            seed,
        );
        match placements {
            Ok(placements) => {
                let pose = |placement: scatter::CopyPose| Pose {
                    turn: placement.turn * base.turn,
                    shift: base.shift + placement.offset,
                };
                Some(placements.into_iter().map(pose).collect())
            }
            Err(reason) => {
                let message = format!("the copies cannot be scattered: {reason}");
                let advice = if min.cmple(max).all() {
                    "give a larger box, fewer copies or a smaller `apart`"
                } else {
                    "give a `max` that is not below `min`"
                };
                self.problem(place, message, advice);
                None
            }
        }
    }
}

impl Copies {
    /// Number of copies.
    fn count(&self) -> f64 {
        match self {
            Copies::Array(array) => array.count.iter().map(|count| *count as f64).product(),
            Copies::Scatter(scatter) => scatter.count as f64,
        }
    }
}

/// Three components as a vector.
pub(super) fn vector(components: [f64; 3]) -> DVec3 {
    DVec3::from_array(components)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pose() -> impl Strategy<Value = Pose> {
        let vector = || proptest::array::uniform3(-3.0f64..3.0).prop_map(DVec3::from);
        (vector(), vector()).prop_map(|(axis, shift)| Pose {
            turn: DQuat::from_scaled_axis(axis),
            shift,
        })
    }

    proptest! {
        #[test]
        fn copies_are_the_mesh_at_each_pose(
            points in proptest::collection::vec(proptest::array::uniform3(-1.0f64..1.0), 1..9),
            corners in proptest::collection::vec(proptest::array::uniform4(0u32..1000), 0..9),
            poses in proptest::collection::vec(pose(), 1..6),
        ) {
            let count = points.len() as u32;
            let inside = |corners: &[u32; 4]| corners.map(|corner| corner % count);
            let first_three = |corners: &[u32; 4]| {
                let [a, b, c, _] = inside(corners);
                [a, b, c]
            };
            let mesh = Mesh {
                points: points.into_iter().map(DVec3::from).collect(),
                triangles: corners.iter().map(first_three).collect(),
                tetrahedra: corners.iter().map(inside).collect(),
                curves: vec![Curve { first: 0, count, closed: count > 2 }],
                groups: vec![Group::new("some", corners.iter().map(|c| c[0] % count).collect())],
            };
            let scale = DVec3::ONE;
            let all = Places { scale, poses: poses.clone() }.copies_of(&mesh);
            prop_assert_eq!(all.points.len(), poses.len() * count as usize);
            for (copy, pose) in poses.iter().enumerate() {
                let alone = Places { scale, poses: vec![*pose] }.copies_of(&mesh);
                if copy == 0 {
                    prop_assert_eq!(&all.first_part(poses.len()), &alone);
                }
                let first = copy as u32 * count;
                prop_assert_eq!(&all.points[first as usize..][..count as usize], &alone.points[..]);
                let triangles = all.triangles[copy * alone.triangles.len()..].iter();
                for (one, other) in triangles.zip(&alone.triangles) {
                    prop_assert_eq!(*one, other.map(|corner| first + corner));
                }
            }
        }
    }
}
