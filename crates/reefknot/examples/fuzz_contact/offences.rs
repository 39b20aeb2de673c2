//! What must not happen in an accepted step of an abused scene.

use glam::DVec3;
use reefknot::collide::certify::crossings;
use reefknot::integrate::Step;
use reefknot::model::Model;
use reefknot::model::touch::Touch;
use reefknot::state::State;

/// What is wrong with an accepted step.
pub(crate) fn offence(model: &Model, step: &Step) -> Option<(&'static str, String)> {
    if let Some(what) = not_finite(model, step) {
        return Some(("not finite", what));
    }
    if step.report.intersections.is_none() && model.touch.is_some() {
        return Some(("not tested", "the step was not tested".to_owned()));
    }
    if step.report.intersections.is_some_and(|count| count > 0) {
        let what = step.offence.clone().unwrap_or_default();
        return Some(("intersection", what));
    }
    None
}

/// The first number of a state or a report that is not finite.
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
        .or_else(|| vectors("kept force", &forces))
        .or_else(|| vectors("force of pins", &pins));
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
        ("least gap", report.min_gap_m),
        ("contact error", report.contact_error_m),
        ("momentum error", report.momentum_error_m),
        ("nonlinear error", report.nonlinear_error_m),
        ("stretch", Some(report.max_stretch)),
        ("kinetic energy", Some(energy.kinetic)),
        ("elastic energy", Some(energy.elastic)),
        ("energy of height", Some(energy.gravity)),
        ("work", Some(energy.work)),
        ("viscous loss", Some(energy.viscous)),
        ("loss in contacts", Some(energy.contact)),
        ("numerical loss", Some(energy.numerical)),
    ];
    let approaches = to.approaches.iter();
    let approaches = approaches.map(|(_, speed)| ("kept approach", Some(*speed)));
    let mut numbers = numbers.into_iter().chain(approaches);
    let bad = numbers.find(|(_, value)| value.is_some_and(|value| !value.is_finite()));
    bad.map(|(name, value)| format!("the {name} is {value:?}"))
}

/// Looks for surfaces inside each other without the candidates of the step, which the test of the step relies on: whether what is
/// held or told explains all of it, and a place, of what it does not explain if there is one.
pub(crate) fn crossing(model: &Model, touch: &Touch, state: &State) -> Option<(bool, String)> {
    let told: Vec<Vec<DVec3>> = (0..model.objects.len())
        .map(|object| model.points(object, state))
        .collect();
    let is_held = |node: &u32| {
        let mut pins = model.pins.iter();
        pins.any(|pin| pin.nodes.binary_search(&(*node as usize)).is_ok())
    };
    let points = 0..touch.places.len() as u32;
    let places: Vec<DVec3> = points
        .map(|point| match touch.stencil(point) {
            [] => {
                let (object, vertex) = touch.places[point as usize];
                told[object as usize][vertex as usize]
            }
            stencil => stencil
                .iter()
                .map(|(node, weight)| state.positions[*node as usize] * *weight)
                .sum(),
        })
        .collect();
    let is_free = |point: &u32| {
        let mut nodes = touch.stencil(*point).iter();
        nodes.any(|(node, _)| !is_held(node))
    };
    let features = &touch.features;
    let mut first: Option<(bool, String)> = None;
    for crossing in crossings(features, &places) {
        let edge = &features.edges[crossing.edge as usize];
        let triangle = &features.triangles[crossing.triangle as usize];
        if !edge.iter().chain(triangle).any(is_free) {
            continue;
        }
        let is_told = !edge.iter().all(is_free) && !triangle.iter().all(is_free);
        let names = [edge[0], triangle[0]].map(|point| &model.objects[touch.object_of(point)].name);
        let what = format!("{names:?} near {}", crossing.place);
        match first {
            Some((false, _)) => {}
            Some(_) if is_told => {}
            _ => first = Some((is_told, what)),
        }
    }
    first
}
