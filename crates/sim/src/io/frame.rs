//! Arrays that a run stores: the topology of its model, and each frame.

use glam::DVec3;

use super::tensors::TensorFile;
use crate::certify::{ContactRecord, Step};
use crate::generate::lattice::Embedding;
use crate::model::{Model, Object, ObjectType};
use crate::state::{State, flat};

/// Contents of `topology.safetensors`: start points, elements and lattices.
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
        if let Some(rest) = rest_points(object) {
            let shape = [mesh.points.len(), 3];
            file.put_f64(&format!("{name}/rest_points"), &shape, rest);
        }
        put_elements(&mut file, name, "triangles", &mesh.triangles);
        put_elements(&mut file, name, "tetrahedra", &mesh.tetrahedra);
        match &object.kind {
            ObjectType::Rods(rods) => {
                put_elements(&mut file, name, "edges", &rods.edges);
                let radius = rods.radius.to_vec();
                file.put_f64(&format!("{name}/radius"), &[2], radius);
            }
            ObjectType::Embedded(_, embedding) => put_lattice(&mut file, object, embedding),
            _ => {}
        }
    }
    file
}

/// Points of the rest state, if they are not those of the start.
fn rest_points(object: &Object) -> Option<Vec<f64>> {
    match (&object.kind, &object.rest) {
        (ObjectType::Rods(rods), _) if rods.start_stretch != 1.0 => {
            let points = flat(&object.mesh.points).into_iter();
            Some(points.map(|x| x / rods.start_stretch).collect())
        }
        (_, Some(rest)) => Some(flat(rest).repeat(object.copies)),
        _ => None,
    }
}

/// Stores the lattice of an embedded surface, and the weights of the surface points. All copies
/// have the weights of the first.
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

/// Stores the vertices of elements, if there are any.
fn put_elements<const N: usize>(
    file: &mut TensorFile,
    object: &str,
    array: &str,
    elements: &[[u32; N]],
) {
    if elements.is_empty() {
        return;
    }
    let corners = elements.as_flattened().iter().map(|vertex| *vertex as i32);
    file.put_i32(
        &format!("{object}/{array}"),
        &[elements.len(), N],
        corners.collect(),
    );
}

/// Contents of a frame: points, velocities, directors of rods, pin forces, and contacts.
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
    let (pins, contacts) = match step {
        Some(step) => (&step.pin_forces[..], &step.contacts[..]),
        None => (&[][..], &[][..]),
    };
    put_pins(&mut file, model, pins);
    put_contacts(&mut file, contacts);
    put_sums(&mut file, model.objects.len(), contacts);
    file
}

/// Stores the forces on held nodes, except axes of props, which are not points.
fn put_pins(file: &mut TensorFile, model: &Model, forces: &[(usize, DVec3)]) {
    let at_points = forces.iter().filter(|(node, _)| !model.is_axis(*node));
    let (mut places, mut vectors) = (Vec::new(), Vec::new());
    for (node, force) in at_points {
        let (object, vertex) = model.vertex_of_node(*node);
        places.extend([object as i32, vertex as i32]);
        vectors.push(*force);
    }
    file.put_i32("pin/vertices", &[vectors.len(), 2], places);
    file.put_f64("pin/force", &[vectors.len(), 3], flat(&vectors));
}

/// Stores every contact of the step, with or without a force.
fn put_contacts(file: &mut TensorFile, contacts: &[ContactRecord]) {
    let count = contacts.len();
    let vectors = |of: fn(&ContactRecord) -> DVec3| -> Vec<f64> {
        contacts.iter().flat_map(|it| of(it).to_array()).collect()
    };
    file.put_f64("contact/point", &[count, 3], vectors(|it| it.point));
    file.put_f64("contact/normal", &[count, 3], vectors(|it| it.normal));
    file.put_f64("contact/force", &[count, 3], vectors(|it| it.force));
    let gaps = contacts.iter().map(|it| it.gap).collect();
    file.put_f64("contact/gap", &[count], gaps);
    let objects = contacts.iter().flat_map(|it| it.objects);
    let objects = objects.map(|object| object as i32).collect();
    file.put_i32("contact/objects", &[count, 2], objects);
    let vertices = contacts.iter().flat_map(|it| it.vertices);
    let vertices = vertices.map(|vertex| vertex.map_or(-1, |vertex| vertex as i32));
    file.put_i32("contact/vertices", &[count, 2], vertices.collect());
    let states = contacts.iter().map(|it| it.state as u8).collect();
    file.put_u8("contact/state", &[count], states);
}

/// Stores the sums of contact forces on each object, and of their torques about the origin.
fn put_sums(file: &mut TensorFile, objects: usize, contacts: &[ContactRecord]) {
    let mut forces = vec![DVec3::ZERO; objects];
    let mut torques = forces.clone();
    for contact in contacts {
        let [first, second] = contact.objects;
        // Self-contact has no net force and torque.
        if first == second {
            continue;
        }
        for (object, force) in [(first, contact.force), (second, -contact.force)] {
            forces[object] += force;
            torques[object] += contact.point.cross(force);
        }
    }
    file.put_f64("object/force", &[objects, 3], flat(&forces));
    file.put_f64("object/torque", &[objects, 3], flat(&torques));
}

fn flat_f32(vectors: &[DVec3]) -> Vec<f32> {
    let mut components = Vec::with_capacity(3 * vectors.len());
    for vector in vectors {
        components.extend(vector.to_array().map(|component| component as f32));
    }
    components
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certify::ContactState;
    use crate::integrate::Scratch;
    use crate::scene::{Scene, SceneRequest};
    use crate::step::step;

    /// Two sheets, one on the other, on a floor.
    fn model() -> Model {
        let text = r#"
            time = { duration = "1 s", frame_rate = 100, substeps = 1 }
            material.stuff = { young = "1 MPa", thickness = "1 mm", density = 1000 }
            [object.lower]
            kind = "cloth-grid"
            size = [0.2, 0.1]
            vertices = [3, 3]
            material = "stuff"
            position = [1, 0, "0.6 mm"]
            [object.upper]
            kind = "cloth-grid"
            size = [0.2, 0.1]
            vertices = [4, 4]
            material = "stuff"
            position = [1, 0.02, "1.7 mm"]
            [collider.floor]
            kind = "plane"
        "#;
        let request = SceneRequest {
            text: text.to_owned(),
            ..SceneRequest::default()
        };
        Model::build(&Scene::read(&request).unwrap()).unwrap()
    }

    fn vectors(file: &TensorFile, name: &str) -> Vec<DVec3> {
        let values = file.f64(name).unwrap().1.chunks_exact(3);
        values.map(DVec3::from_slice).collect()
    }

    #[test]
    fn rest_points_are_stored_if_the_start_is_stretched() {
        let text = r#"
            time = { duration = "1 s" }
            material.rubber = { young = "1 MPa", density = 1000 }
            [object.band]
            kind = "rod"
            length = "0.3 m"
            vertices = 4
            radius = "1 mm"
            material = "rubber"
            start_stretch = 1.5
        "#;
        let request = SceneRequest {
            text: text.to_owned(),
            ..SceneRequest::default()
        };
        let stretched = Model::build(&Scene::read(&request).unwrap()).unwrap();
        let file = topology_file(&stretched);
        let rest = vectors(&file, "band/rest_points");
        assert!((rest[0].distance(rest[3]) - 0.2).abs() < 1e-12);
        let at_rest = topology_file(&model());
        assert!(!at_rest.names().any(|name| name.ends_with("rest_points")));
    }

    #[test]
    fn the_start_has_no_contacts_and_no_forces() {
        let model = model();
        let file = frame_file(&model, &model.start, None);
        assert_eq!(file.f64("contact/point").unwrap().0, [0, 3]);
        assert_eq!(file.f64("contact/gap").unwrap().0, [0]);
        assert_eq!(file.i32("contact/objects").unwrap().0, [0, 2]);
        assert_eq!(file.u8("contact/state").unwrap().0, [0]);
        assert_eq!(vectors(&file, "object/force"), [DVec3::ZERO; 3]);
        assert_eq!(vectors(&file, "object/torque"), [DVec3::ZERO; 3]);
    }

    #[test]
    fn a_frame_has_all_contacts_and_their_sums_by_object() {
        let model = model();
        let mut scratch = Scratch::new(&model);
        let mut before = model.start.clone();
        let mut taken = step(&model, &before, &mut scratch).unwrap();
        for _ in 0..20 {
            before = taken.to;
            taken = step(&model, &before, &mut scratch).unwrap();
        }
        let step = taken;
        let file = frame_file(&model, &step.to, Some(&step));
        let (points, forces) = (
            vectors(&file, "contact/point"),
            vectors(&file, "contact/force"),
        );
        let gaps = file.f64("contact/gap").unwrap().1;
        let objects = file.i32("contact/objects").unwrap().1;
        let vertices = file.i32("contact/vertices").unwrap().1;
        let states = file.u8("contact/state").unwrap().1;
        assert_eq!(points.len(), step.contacts.len());
        assert!(
            points.len() > 18,
            "contacts of both sheets: {}",
            points.len()
        );
        for (at, contact) in step.contacts.iter().enumerate() {
            assert_eq!((points[at], forces[at]), (contact.point, contact.force));
            assert_eq!(gaps[at], contact.gap);
            assert_eq!(objects[2 * at] as usize, contact.objects[0]);
            assert_eq!(states[at] == 0, contact.state == ContactState::Open);
        }
        // The floor is an exact shape without vertices. Any point of a triangle with legs of 10 cm
        // and 5 cm is within two thirds of the longest edge from a corner.
        for (side, vertex) in vertices.iter().enumerate() {
            let object = objects[side] as usize;
            assert_eq!(*vertex < 0, object == 2);
            if *vertex >= 0 {
                let corner = model.points(object, &step.to)[*vertex as usize];
                assert!(corner.distance(points[side / 2]) < 0.075, "{corner}");
            }
        }
        // The change of momentum of each sheet of 20 g is due to gravity and contacts. An error of
        // 1 um in 10 ms is 0.2 mN.
        let sums = vectors(&file, "object/force");
        let momentum = |state: &State, object: usize| -> DVec3 {
            let nodes = model.objects[object].nodes();
            nodes
                .map(|node| model.masses[node] * state.velocities[node])
                .sum()
        };
        for object in [0, 1] {
            let gained = (momentum(&step.to, object) - momentum(&before, object)) / 0.01;
            let wanted = gained + DVec3::Z * (0.02 * 9.81);
            let error = sums[object].distance(wanted);
            assert!(error < 2e-3 * 0.1962, "{} {wanted}", sums[object]);
        }
        let all: DVec3 = sums.iter().sum();
        assert!(all.length() < 1e-12, "contact forces are in equilibrium");
        let torques = vectors(&file, "object/torque");
        let all: DVec3 = torques.iter().sum();
        assert!(all.length() < 1e-12, "{all}");
        // The sheets lie at x = 1 m, which is the lever of their weight.
        let lever = torques[2].y / -sums[2].z;
        assert!(sums[2].z < -0.1 && (lever - 1.0).abs() < 0.02, "{lever}");
    }
}
