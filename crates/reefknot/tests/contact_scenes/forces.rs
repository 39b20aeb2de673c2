//! Forces of accepted steps obey the law of friction to rounding, whatever the solver left.

use reefknot_contact::problem::ContactState;
use reefknot_contact::solve::table::SOLVERS;
use reefknot_sim::integrate::Scratch;
use reefknot_sim::model::Model;
use reefknot_sim::scene::{Scene, SceneRequest};
use reefknot_sim::step::{Step, step};

const MU: f64 = 0.8;

/// Three sheets that fall on each other and on a ball at different speeds.
fn sheets(solver: &str) -> Model {
    let mut text = format!(
        "seed = 721903116\n\
         time = {{ duration = \"15 ms\", frame_rate = 200, substeps = 1 }}\n\
         method = {{ integrator = \"linear-euler\", solver = \"{solver}\" }}\n\
         contact.friction = {MU}\n\
         material.m = {{ young = 7561410.1, poisson = 0.45, thickness = 3.36e-4, density = 146 }}\n\
         collider.ground = {{ kind = \"plane\", position = [0, 0, -0.01] }}\n\
         collider.b = {{ kind = \"sphere\", radius = 0.06437 }}\n"
    );
    let sheets = [
        (0.120, 0.676, -1.10),
        (0.122, 1.862, -3.66),
        (0.124, 2.622, -0.99),
    ];
    for (index, (height, angle, speed)) in sheets.into_iter().enumerate() {
        text += &format!(
            "[object.c{index}]\nkind = \"cloth-grid\"\nsize = [0.3, 0.3]\nmaterial = \"m\"\n\
             vertices = [{}, 11]\nposition = [0.01, {}, {height}]\nvelocity = [0, 0, {speed}]\n\
             rotation = {{ axis = [0, 0, 1], angle = {angle} }}\n",
            7 + index,
            0.003 * index as f64,
        );
    }
    let request = SceneRequest {
        text,
        ..SceneRequest::default()
    };
    Model::build(&Scene::read(&request).unwrap()).unwrap()
}

/// Asserts that forces are in their cones and agree with the states. Returns the loaded contacts.
fn assert_lawful(step: &Step, what: &str) -> usize {
    for contact in &step.contacts {
        let slack = 1e-14 * contact.force.length();
        let normal = contact.force.dot(contact.normal);
        let tangential = (contact.force - contact.normal * normal).length();
        assert!(
            normal >= -slack && tangential <= MU * (normal + slack) + slack,
            "{what}: {contact:?}"
        );
        let is_open = contact.state == ContactState::Open;
        assert_eq!(
            is_open,
            contact.force.length() == 0.0,
            "{what}: {contact:?}"
        );
    }
    let states = step.contacts.iter().map(|contact| contact.state);
    states.filter(|state| *state != ContactState::Open).count()
}

#[test]
fn stored_forces_are_in_their_friction_cones_where_newton_steps_found_them() {
    for entry in &SOLVERS {
        let model = sheets(entry.name);
        let (mut state, mut scratch) = (model.start.clone(), Scratch::new(&model));
        let mut loaded = 0;
        for number in 1..=3 {
            let found = step(&model, &state, &mut scratch).unwrap();
            loaded += assert_lawful(&found, &format!("{} step {number}", entry.name));
            state = found.to;
        }
        assert!(loaded > 50, "{}: {loaded}", entry.name);
    }
}
