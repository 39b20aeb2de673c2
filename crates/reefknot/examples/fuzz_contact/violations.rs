//! Requirements on accepted steps, whatever the scene.

use glam::DVec3;
use reefknot_sim::collide::certify::crossings;
use reefknot_sim::model::Model;
use reefknot_sim::model::collision::CollisionModel;
use reefknot_sim::state::State;
use reefknot_sim::step::Step;

/// First violated requirement of an accepted step: its kind, and a description.
pub(crate) fn violation(model: &Model, step: &Step) -> Option<(&'static str, String)> {
    if let Some(description) = not_finite(model, step) {
        return Some(("not finite", description));
    }
    if step.report.intersections.is_none() && model.collision.is_some() {
        return Some(("not tested", "the step was not tested".to_owned()));
    }
    if step.report.intersections.is_some_and(|count| count > 0) {
        let description = step.violation.clone().unwrap_or_default();
        return Some(("intersection", description));
    }
    None
}

/// First value of a state or a report that is not finite.
fn not_finite(model: &Model, step: &Step) -> Option<String> {
    let (to, report, energy) = (&step.to, &step.report, &step.report.energy_j);
    let vectors = |name: &'static str, list: &[DVec3]| {
        let place = list.iter().position(|vector| !vector.is_finite());
        place.map(|place| format!("{name} {place} is {:?}", list[place].to_array()))
    };
    let forces: Vec<DVec3> = to.contacts.iter().map(|known| known.reaction).collect();
    let pins: Vec<DVec3> = step.pin_forces.iter().map(|(_, force)| *force).collect();
    let lists = vectors("position", &to.positions)
        .or_else(|| vectors("velocity", &to.velocities))
        .or_else(|| vectors("stored contact force", &forces))
        .or_else(|| vectors("pin force", &pins));
    if lists.is_some() {
        return lists;
    }
    for contact in &step.contacts {
        let vectors = contact.point + contact.normal + contact.force;
        if !vectors.is_finite() || !contact.gap.is_finite() {
            let names = contact.objects.map(|object| &model.objects[object].name);
            return Some(format!("a contact of {names:?}: {contact:?}"));
        }
    }
    let numbers = [
        ("smallest gap", report.min_gap_m),
        ("contact error", report.contact_error_m),
        ("momentum error", report.momentum_error_m),
        ("nonlinear error", report.nonlinear_error_m),
        ("stretch", Some(report.max_stretch)),
        ("kinetic energy", Some(energy.kinetic)),
        ("elastic energy", Some(energy.elastic)),
        ("potential energy", Some(energy.gravity)),
        ("work", Some(energy.work)),
        ("viscous loss", Some(energy.viscous)),
        ("loss in contacts", Some(energy.contact)),
        ("numerical loss", Some(energy.numerical)),
    ];
    let mut numbers = numbers.into_iter();
    let bad = numbers.find(|(_, value)| value.is_some_and(|value| !value.is_finite()));
    bad.map(|(name, value)| format!("the {name} is {value:?}"))
}

/// Intersection of surfaces, found without the candidates of the step. Returns whether held or
/// prescribed points explain all intersections, and a place, of an unexplained one if there is any.
pub(crate) fn crossing(
    model: &Model,
    collision: &CollisionModel,
    state: &State,
) -> Option<(bool, String)> {
    let prescribed: Vec<Vec<DVec3>> = (0..model.objects.len())
        .map(|object| model.points(object, state))
        .collect();
    let is_held = |node: &u32| {
        let mut pins = model.pins.iter();
        pins.any(|pin| pin.nodes.binary_search(&(*node as usize)).is_ok())
    };
    let points = 0..collision.places.len() as u32;
    let places: Vec<DVec3> = points
        .map(|point| match collision.stencil(point) {
            [] => {
                let (object, vertex) = collision.places[point as usize];
                prescribed[object as usize][vertex as usize]
            }
            stencil => stencil
                .iter()
                .map(|(node, weight)| state.positions[*node as usize] * *weight)
                .sum(),
        })
        .collect();
    let is_free = |point: &u32| {
        let mut nodes = collision.stencil(*point).iter();
        nodes.any(|(node, _)| !is_held(node))
    };
    let features = &collision.features;
    let mut first: Option<(bool, String)> = None;
    for crossing in crossings(features, &places) {
        let edge = &features.edges[crossing.edge as usize];
        let triangle = &features.triangles[crossing.triangle as usize];
        if !edge.iter().chain(triangle).any(is_free) {
            continue;
        }
        let is_prescribed = !edge.iter().all(is_free) && !triangle.iter().all(is_free);
        let names =
            [edge[0], triangle[0]].map(|point| &model.objects[collision.object_of(point)].name);
        let description = format!("{names:?} near {}", crossing.position);
        match first {
            Some((false, _)) => {}
            Some(_) if is_prescribed => {}
            _ => first = Some((is_prescribed, description)),
        }
    }
    first
}
