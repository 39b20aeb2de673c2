//! Meshes of objects and shapes before placement: generated, or from files.

use glam::DVec3;

use super::Builder;
use super::generated::{generated, generated_size, shape_of, shape_place, size_place};
use crate::generate::lattice;
use crate::generate::shape::Shape;
use crate::io::import::{self, ImportError};
use crate::mesh::Mesh;
use crate::mesh::diagnose::{self, MeshUse};
use crate::scene::problem::Place;
use crate::scene::tables::{EmbeddedSurface, Length, MeshFile, ObjectKind, ShapeKind, Up};
use crate::scene::values::Placed;

/// A mesh before placement.
pub(super) struct Prototype {
    pub(super) mesh: Mesh,
    /// Location of its size in the scene.
    pub(super) place: Place,
    /// Its exact shape, if it has one.
    pub(super) shape: Option<Shape>,
    /// Order of the vertices in the file, for a mesh from a file.
    pub(super) order: Option<FileOrder>,
}

/// Map from the vertices of a mesh to those of its file.
#[derive(Clone, Debug)]
pub(super) struct FileOrder {
    /// Vertex of the file for each vertex of the mesh.
    origins: Vec<u32>,
    /// Number of vertices of the file.
    count: usize,
}

impl FileOrder {
    /// Number of vertices of the file.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The points of a file, in the order of the mesh.
    pub(super) fn arrange(&self, points: &[DVec3]) -> Result<Vec<DVec3>, String> {
        if points.len() != self.count {
            return Err(format!(
                "it has {} vertices, but the mesh has {}",
                points.len(),
                self.count
            ));
        }
        let place = |origin: &u32| points[*origin as usize];
        Ok(self.origins.iter().map(place).collect())
    }

    /// Keeps these vertices of the mesh.
    fn keep(&mut self, kept: &[u32]) {
        self.origins = kept
            .iter()
            .map(|vertex| self.origins[*vertex as usize])
            .collect();
    }
}

/// A point of a file in the axes and unit of the scene.
pub(super) fn to_scene_axes(point: DVec3, up: Up, unit: f64) -> DVec3 {
    unit * match up {
        Up::Z => point,
        Up::Y => DVec3::new(point.x, -point.z, point.y),
    }
}

impl Builder<'_> {
    /// The mesh of an object, except of grooms, which need their host.
    pub(super) fn object_mesh(&mut self, kind: &ObjectKind, name: &str) -> Option<Prototype> {
        match kind {
            ObjectKind::ClothMesh(cloth) => self.mesh_file(&cloth.mesh, MeshUse::Shell, name),
            ObjectKind::RodMesh(rods) => self.mesh_file(&rods.mesh, MeshUse::Rods, name),
            ObjectKind::SolidMesh(file) => self.mesh_file(file, MeshUse::Solid, name),
            ObjectKind::Embedded(embedded) => self.shape_mesh_of(&embedded.surface, name),
            ObjectKind::Rigid(rigid) => self.shape_mesh_of(&rigid.shape, name),
            kind => {
                let (estimate, place) = generated_size(kind)?;
                self.refuse_vertices(estimate, name, place)?;
                let place = size_place(kind).unwrap_or(place);
                match generated(kind) {
                    Ok(mesh) => Some(Prototype {
                        mesh,
                        place: place.clone(),
                        shape: None,
                        order: None,
                    }),
                    Err(reason) => {
                        let message = format!("`{name}` cannot be meshed: {reason}");
                        self.problem(place, message, "give other sizes or numbers");
                        None
                    }
                }
            }
        }
    }

    fn shape_mesh_of(&mut self, surface: &EmbeddedSurface, name: &str) -> Option<Prototype> {
        self.shape_mesh(&surface.kind, surface.edge.as_ref(), name)
    }

    /// The surface of a shape.
    pub(super) fn shape_mesh(
        &mut self,
        kind: &ShapeKind,
        edge: Option<&Placed<Length>>,
        name: &str,
    ) -> Option<Prototype> {
        if let ShapeKind::Mesh(file) = kind {
            return self.mesh_file(file, MeshUse::Collider, name);
        }
        let (shape, place) = (shape_of(kind)?, shape_place(kind).clone());
        let length = edge.map(|edge| edge.value.0);
        self.refuse_vertices(
            shape.vertex_estimate(length),
            name,
            edge.map_or(&place, |edge| &edge.place),
        )?;
        match shape.surface(length) {
            Ok(mesh) => Some(Prototype {
                mesh,
                place,
                shape: Some(shape),
                order: None,
            }),
            Err(reason) => {
                let message = format!("`{name}` cannot be meshed: {reason}");
                self.problem(&place, message, "give other sizes");
                None
            }
        }
    }

    /// Refuses more vertices than the limit.
    pub(super) fn refuse_vertices(&mut self, count: f64, name: &str, place: &Place) -> Option<()> {
        if self.vertices as f64 + count <= self.max_vertices as f64 {
            return Some(());
        }
        let message = format!(
            "`{name}` makes the scene too large: it would have {} vertices",
            super::count(count)
        );
        let advice = format!("the limit is {} vertices in total", self.max_vertices);
        self.problem(place, message, advice);
        None
    }

    /// The mesh of a file, with the elements for its use.
    fn mesh_file(&mut self, file: &MeshFile, use_as: MeshUse, name: &str) -> Option<Prototype> {
        let (written, place) = (&file.file.value, &file.file.place);
        let bytes = match self.files.read(written) {
            Ok(bytes) => bytes,
            Err((message, advice)) => {
                self.problem(place, message, advice);
                return None;
            }
        };
        let imported = import::import(written, &bytes).and_then(|imported| {
            let count = imported.points.len();
            Ok((imported.into_mesh()?, count))
        });
        let ((mut mesh, origins), count) = match imported {
            Ok(imported) => imported,
            Err(error) => {
                self.import_problem(written, place, error);
                return None;
            }
        };
        let mut order = FileOrder { origins, count };
        self.files.rename(place, written);
        let elements = match use_as {
            MeshUse::Shell | MeshUse::Collider => {
                (mesh.triangles.len() + mesh.tetrahedra.len(), "triangles")
            }
            MeshUse::Solid => (mesh.tetrahedra.len(), "tetrahedra"),
            MeshUse::Rods => (mesh.curves.len(), "lines"),
        };
        if elements.0 == 0 {
            let message = format!("`{written}` has no {}", elements.1);
            let advice = format!(
                "`{name}` needs {}; the file has {} vertices, {} triangles, {} tetrahedra and {} \
                 lines",
                elements.1,
                mesh.points.len(),
                mesh.triangles.len(),
                mesh.tetrahedra.len(),
                mesh.curves.len()
            );
            self.problem(place, message, advice);
            return None;
        }
        for point in &mut mesh.points {
            *point = to_scene_axes(*point, file.up, file.unit.0);
        }
        keep_used_elements(&mut mesh, &mut order, use_as);
        if let Some(distance) = file.weld {
            order.keep(&diagnose::weld(&mut mesh, distance.0));
        }
        Some(Prototype {
            mesh,
            place: place.clone(),
            shape: None,
            order: Some(order),
        })
    }

    /// Reports an error of a mesh file.
    pub(super) fn import_problem(&mut self, file: &str, place: &Place, error: ImportError) {
        let message = match error.place {
            import::FilePlace::WholeFile => format!("`{file}` cannot be read: {}", error.message),
            at => format!("`{file}` cannot be read: {at}: {}", error.message),
        };
        self.problem(place, message, error.advice);
    }

    /// Refuses meshes that cannot be simulated.
    pub(super) fn refuse_defects(
        &mut self,
        mesh: &Mesh,
        use_as: MeshUse,
        name: &str,
        place: &Place,
    ) -> Option<()> {
        let mut result = Some(());
        for defect in diagnose::diagnose(mesh, use_as) {
            if defect.severity == diagnose::DefectSeverity::Refuse {
                self.problem(
                    place,
                    format!("`{name}`: {}", defect.description()),
                    defect.advice,
                );
                result = None;
            }
        }
        result
    }

    /// Embeds a surface in a lattice.
    pub(super) fn embed(
        &mut self,
        mesh: &Mesh,
        cells: &Placed<u64>,
        name: &str,
    ) -> Option<lattice::Embedding> {
        let size = mesh.extent();
        let along = |length: f64| (length / size.max_element() * cells.value as f64).ceil() + 1.0;
        let corners = size.to_array().map(along).iter().product();
        self.refuse_vertices(corners, name, &cells.place)?;
        match lattice::embed(mesh, cells.value as usize) {
            Ok(embedding) => {
                self.vertices += embedding.lattice.points.len();
                Some(embedding)
            }
            Err(reason) => {
                let message = format!("`{name}` cannot be embedded: {reason}");
                self.problem(&cells.place, message, "change the number of `cells`");
                None
            }
        }
    }
}

/// Removes elements of a file that its use does not need, and adds the surface of solids.
fn keep_used_elements(mesh: &mut Mesh, order: &mut FileOrder, use_as: MeshUse) {
    if !mesh.tetrahedra.is_empty()
        && matches!(use_as, MeshUse::Solid | MeshUse::Collider | MeshUse::Shell)
    {
        diagnose::orient_tetrahedra(mesh);
        let (points, tetrahedra) = (&mesh.points, &mesh.tetrahedra);
        let point = |vertex: u32| points.get(vertex as usize).copied().unwrap_or_default();
        mesh.triangles = crate::mesh::boundary::boundary_triangles(tetrahedra, point);
    }
    match use_as {
        MeshUse::Solid => {
            mesh.curves.clear();
            order.keep(&diagnose::remove_isolated_vertices(mesh));
        }
        MeshUse::Shell | MeshUse::Collider => {
            mesh.curves.clear();
            mesh.tetrahedra.clear();
            order.keep(&diagnose::remove_isolated_vertices(mesh));
        }
        MeshUse::Rods => {
            mesh.triangles.clear();
            mesh.tetrahedra.clear();
            order.keep(&diagnose::remove_isolated_vertices(mesh));
            mesh.name_curve_ends();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn arranged_points_of_a_file_are_the_points_of_its_mesh(
            points in proptest::collection::vec(proptest::array::uniform3(-3i32..3), 6..12),
            line in Just((0usize..6).collect::<Vec<_>>()).prop_shuffle(),
            faces in proptest::collection::vec(proptest::array::uniform3(0usize..12), 1..6),
            weld: bool,
        ) {
            let count = points.len();
            let mut text = String::new();
            for [x, y, z] in &points {
                text += &format!("v {x} {y} {z}\n");
            }
            let number = |vertex: &usize| (vertex % count + 1).to_string();
            for line in line[..5].chunks(3) {
                text += &format!("l {}\n", line.iter().map(number).collect::<Vec<_>>().join(" "));
            }
            for face in &faces {
                text += &format!("f {}\n", face.iter().map(number).collect::<Vec<_>>().join(" "));
            }
            for use_as in [MeshUse::Shell, MeshUse::Rods] {
                let imported = import::import("a.obj", text.as_bytes());
                // Triangles with a repeated vertex are refused.
                prop_assume!(imported.is_ok());
                let (mut mesh, origins) = imported.unwrap().into_mesh().unwrap();
                let mut order = FileOrder { origins, count };
                keep_used_elements(&mut mesh, &mut order, use_as);
                if weld {
                    order.keep(&diagnose::weld(&mut mesh, 0.5));
                }
                let in_file = import::import_points("a.obj", text.as_bytes()).unwrap();
                prop_assert_eq!(order.arrange(&in_file).unwrap(), mesh.points);
                prop_assert!(order.arrange(&in_file[1..]).is_err());
            }
        }
    }
}
