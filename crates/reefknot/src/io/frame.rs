//! What a run stores of its model and of each frame, as arrays by name.

use glam::DVec3;

use super::tensors::TensorFile;
use crate::generate::lattice::Embedding;
use crate::integrate::Step;
use crate::model::{Kind, Model, Object};
use crate::state::{State, flat};

/// The parts that do not change, in memory: start points and elements.
#[must_use]
pub fn topology_file(model: &Model) -> TensorFile {
    let mut file = TensorFile::new();
    for object in &model.objects {
        let (name, mesh) = (&object.name, &object.mesh);
        file.put_f64(
            &format!("{name}/start_points"),
            &[mesh.points.len(), 3],
            flat(&mesh.points),
        );
        put_elements(&mut file, name, "triangles", &mesh.triangles);
        put_elements(&mut file, name, "tetrahedra", &mesh.tetrahedra);
        match &object.kind {
            Kind::Rods(rods) => {
                put_elements(&mut file, name, "edges", &rods.edges);
                let radius = rods.radius.to_vec();
                file.put_f64(&format!("{name}/radius"), &[2], radius);
            }
            Kind::Embedded(_, embedding) => put_lattice(&mut file, object, embedding),
            _ => {}
        }
    }
    file
}

/// A lattice and how the surface hangs on it. The weights are those of the first copy.
fn put_lattice(file: &mut TensorFile, object: &Object, embedding: &Embedding) {
    let name = &object.name;
    let lattice = &embedding.lattice;
    let points = flat(&lattice.points);
    let shape = [lattice.points.len(), 3];
    file.put_f64(&format!("{name}/lattice_start_points"), &shape, points);
    put_elements(file, name, "lattice_tetrahedra", &lattice.tetrahedra);
    let of_copy = (lattice.points.len() / object.copies) as u32;
    let copies = (0..object.copies as u32).map(|copy| copy * of_copy);
    let stencils = &embedding.weights;
    let vertices: Vec<[u32; 4]> = copies
        .flat_map(|first| stencils.iter().map(move |s| s.vertices.map(|v| first + v)))
        .collect();
    put_elements(file, name, "lattice_vertices", &vertices);
    let weights: Vec<f64> = stencils
        .iter()
        .flat_map(|stencil| stencil.weights)
        .collect();
    let weights = weights.repeat(object.copies);
    file.put_f64(
        &format!("{name}/lattice_weights"),
        &[vertices.len(), 4],
        weights,
    );
}

/// The vertices of elements, if there are any.
fn put_elements<const N: usize>(
    file: &mut TensorFile,
    object: &str,
    what: &str,
    elements: &[[u32; N]],
) {
    if elements.is_empty() {
        return;
    }
    let corners = elements.as_flattened().iter().map(|vertex| *vertex as i32);
    file.put_i32(
        &format!("{object}/{what}"),
        &[elements.len(), N],
        corners.collect(),
    );
}

/// A frame in memory: points, velocities, directors of rods, and the forces of pins.
#[must_use]
pub fn frame_file(model: &Model, state: &State, step: Option<&Step>) -> TensorFile {
    let mut file = TensorFile::new();
    file.set_metadata("step", &state.step.to_string());
    file.set_metadata("time", &model.clock.time(state.step).to_string());
    for (index, object) in model.objects.iter().enumerate() {
        let points = model.points(index, state);
        let shape = [points.len(), 3];
        file.put_f64(&format!("{}/points", object.name), &shape, flat(&points));
        let name = format!("{}/velocities", object.name);
        file.put_f32(
            &name,
            &shape,
            flat_f32(&model.velocities_at(index, state, &points)),
        );
        if let Some(directors) = model.directors_at(index, state, &points) {
            let name = format!("{}/directors", object.name);
            file.put_f32(&name, &[directors.len(), 3], flat_f32(&directors));
        }
    }
    // The forces on axes of props are no forces at points.
    let forces = step.iter().flat_map(|step| &step.pin_forces);
    let forces: Vec<&(usize, DVec3)> = forces.filter(|(node, _)| !model.is_axis(*node)).collect();
    let mut places = Vec::with_capacity(2 * forces.len());
    for (node, _) in &forces {
        let (object, vertex) = model.vertex_of_node(*node);
        places.push(object as i32);
        places.push(vertex as i32);
    }
    let vectors: Vec<DVec3> = forces.iter().map(|(_, force)| *force).collect();
    file.put_i32("pin/vertices", &[forces.len(), 2], places);
    file.put_f64("pin/force", &[forces.len(), 3], flat(&vectors));
    file
}

fn flat_f32(vectors: &[DVec3]) -> Vec<f32> {
    let mut components = Vec::with_capacity(3 * vectors.len());
    for vector in vectors {
        components.extend(vector.to_array().map(|component| component as f32));
    }
    components
}
