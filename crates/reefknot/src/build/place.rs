//! Where things are put: scale, turn, shift, and copies.

use glam::{DQuat, DVec3};

use super::Builder;
use super::mesh::FileOrder;
use crate::generate::scatter;
use crate::mesh::{Curve, Group, Mesh};
use crate::motion::Pose;
use crate::scene::tables::{self, Copies, Placement};
use crate::scene::values::Placed;

/// Where the copies of an object are put.
#[derive(Clone, Debug)]
pub(super) struct Places {
    /// Factor on lengths.
    pub(super) scale: DVec3,
    /// Turn and shift of each copy.
    pub(super) poses: Vec<Pose>,
}

/// How the points of a file become those of an object or collider.
#[derive(Debug)]
pub(super) struct Layout {
    /// If its mesh comes from a file, which vertex of the file each vertex is.
    pub(super) order: Option<FileOrder>,
    /// Number of vertices of a copy.
    pub(super) count: usize,
    /// Where the copies are put.
    pub(super) places: Places,
}

impl Layout {
    /// The points of a file with the vertices of the mesh, for all copies.
    pub(super) fn all(&self, points: Vec<DVec3>) -> Result<Vec<DVec3>, String> {
        let points = match &self.order {
            Some(order) => order.arrange(&points)?,
            None => points,
        };
        let (wanted, found) = (self.count, points.len());
        if wanted != found {
            return Err(format!("it has {found} vertices, and the mesh {wanted}"));
        }
        let copies = 0..self.places.poses.len();
        let place = |copy: usize| points.iter().map(move |point| self.place(*point, copy));
        Ok(copies.flat_map(place).collect())
    }

    /// The points of some vertices, from a file with those of the mesh or with just these; nothing if it has others.
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
    /// All copies of a mesh that is scaled already.
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
    /// An axis of length one, and the angle.
    pub(super) fn turn(&mut self, rotation: &tables::Rotation) -> Option<(DVec3, f64)> {
        let axis = self.direction(&rotation.axis, "a rotation needs an axis of some length")?;
        Some((axis, rotation.angle.0))
    }

    /// A direction of length one.
    pub(crate) fn direction(&mut self, given: &Placed<[f64; 3]>, message: &str) -> Option<DVec3> {
        let vector = DVec3::from_array(given.value);
        // Scaled first: the length of a very long or short vector is no number.
        let direction = (vector / vector.abs().max_element()).try_normalize();
        if direction.is_none() {
            self.problem(&given.place, message.to_owned(), "such as [0, 0, 1]");
        }
        direction
    }

    /// Where the copies of a scaled mesh are put.
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

    fn copies(
        &mut self,
        copies: &Placed<Copies>,
        base: Pose,
        mesh: &Mesh,
        name: &str,
    ) -> Option<Vec<Pose>> {
        match &copies.value {
            Copies::Array(array) => {
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
                        let message = format!("the copies cannot be made: {reason}");
                        self.problem(&copies.place, message, "give a smaller `count`");
                        None
                    }
                }
            }
            Copies::Scatter(scattered) => {
                let lengths = mesh.points.iter().map(|point| point.length());
                let reach = lengths.fold(0.0, f64::max);
                let seed = self.seed_of(name, scattered.seed);
                let [min, max] = [scattered.min, scattered.max]
                    .map(|corner| vector(corner.map(|length| length.0)));
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
                        let pose = |placement: scatter::Placement| Pose {
                            turn: placement.turn * base.turn,
                            shift: base.shift + placement.offset,
                        };
                        Some(placements.into_iter().map(pose).collect())
                    }
                    Err(reason) => {
                        let message = format!("the copies cannot be scattered: {reason}");
                        let advice = match min.cmple(max).all() {
                            true => "give a larger box, fewer copies or a smaller `apart`",
                            false => "give a `max` that is nowhere below `min`",
                        };
                        self.problem(&copies.place, message, advice);
                        None
                    }
                }
            }
        }
    }
}

impl Copies {
    /// How many there are.
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
        fn the_first_part_of_all_copies_is_the_first_copy(
            points in proptest::collection::vec(proptest::array::uniform3(-1.0f64..1.0), 1..9),
            corners in proptest::collection::vec(proptest::array::uniform4(0u32..1000), 0..9),
            poses in proptest::collection::vec(pose(), 1..6),
        ) {
            let count = points.len() as u32;
            let inside = |corners: &[u32; 4]| corners.map(|corner| corner % count);
            let mesh = Mesh {
                points: points.into_iter().map(DVec3::from).collect(),
                triangles: corners.iter().map(|c| { let [a, b, c, _] = inside(c); [a, b, c] }).collect(),
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
                for (one, other) in all.triangles[copy * alone.triangles.len()..].iter().zip(&alone.triangles) {
                    prop_assert_eq!(*one, other.map(|corner| first + corner));
                }
            }
        }
    }
}
