//! Tests of the contacts in stored frames: forces are in their friction cones and agree with the
//! states of their contacts, and surfaces do not penetrate.
//!
//! The cohesion of a contact decreases with its gap. Frames do not store it, so the full cohesion
//! is allowed.

use std::path::Path;

use glam::DVec3;
use reefknot_contact::problem::ContactState;

use super::{Finding, Severity, finding, severity};
use crate::integrate;
use crate::io::IoError;
use crate::io::tensors::TensorFile;
use crate::model::Model;
use crate::model::contact::PairProperties;
use crate::units::short_number;

/// Rounding of a force, relative to itself and the cohesion.
const FORCE_ROUNDING: f64 = 1e-14;
/// A slipping contact has at least this fraction of its largest friction; twice the tolerance of
/// the certificate.
const SLIP_FRACTION: f64 = 1.0 - 2e-6;
/// Tolerance of gaps, relative to the thickness.
const GAP_TOLERANCE: f64 = 1e-9;

/// Results of the frames tested so far.
pub(super) struct ContactCheck<'a> {
    model: &'a Model,
    /// Half of the contact thickness of each object (m).
    halves: Vec<f64>,
    contacts: usize,
    least_gap: f64,
    outside_cone: Violations,
    other_state: Violations,
    penetrating: Violations,
}

/// Number of contacts that violate a condition, and a description of the first.
#[derive(Default)]
struct Violations {
    count: usize,
    first: String,
}

impl Violations {
    fn add(&mut self, sentence: impl FnOnce() -> String) {
        if self.count == 0 {
            self.first = sentence();
        }
        self.count += 1;
    }

    /// Reports the violations among `all` contacts, with the severity of a claim of the method.
    fn report(self, what: &str, all: usize, is_claimed: bool, findings: &mut Vec<Finding>) {
        if self.count > 0 {
            let (count, first) = (self.count, self.first);
            let sentence = format!("{count} of {all} contacts in frames {what}; first {first}");
            findings.push(finding(severity(is_claimed), sentence));
        }
    }
}

/// A contact of a frame.
struct StoredContact {
    normal: DVec3,
    force: DVec3,
    gap: f64,
    objects: [usize; 2],
    state: ContactState,
}

/// The force of a contact along and across its normal, and its limits.
struct Parts {
    normal: f64,
    tangential: f64,
    friction: f64,
    cohesion: f64,
    /// Rounding of the force (N).
    slack: f64,
}

impl Parts {
    /// ‖r_T‖ ≤ μ (r_N + ξ). NaN is outside.
    fn are_in_cone(&self) -> bool {
        let height = self.normal + self.cohesion + self.slack;
        height >= 0.0 && self.tangential <= self.friction * height + self.slack
    }

    /// An open contact has no force but the pull of its cohesion; a slipping contact has the
    /// largest friction.
    fn agree_with(&self, state: ContactState) -> bool {
        match state {
            ContactState::Open => self.normal.max(self.tangential) <= self.slack,
            ContactState::Stick => true,
            ContactState::Slip => {
                self.tangential >= SLIP_FRACTION * self.friction * self.normal - self.slack
            }
        }
    }
}

impl<'a> ContactCheck<'a> {
    pub(super) fn new(model: &'a Model) -> ContactCheck<'a> {
        let halves = model.objects.iter();
        let mut halves: Vec<f64> = halves.map(|it| 0.5 * it.surface.thickness).collect();
        if let Some(collision) = &model.collision {
            // Simulated objects have a minimum thickness.
            for (place, skin) in collision.places.iter().zip(&collision.skin) {
                let half = &mut halves[place.0 as usize];
                *half = half.max(*skin);
            }
        }
        ContactCheck {
            model,
            halves,
            contacts: 0,
            least_gap: f64::INFINITY,
            outside_cone: Violations::default(),
            other_state: Violations::default(),
            penetrating: Violations::default(),
        }
    }

    /// Tests the contacts of a frame.
    ///
    /// # Errors
    /// If arrays are missing or have different lengths.
    pub(super) fn add(&mut self, frame: &TensorFile, path: &Path) -> Result<(), IoError> {
        let contacts = stored(frame, path, self.model.objects.len())?;
        for contact in &contacts {
            self.check_force(contact, path);
            self.check_gap(contact, path);
            self.least_gap = self.least_gap.min(contact.gap);
        }
        self.contacts += contacts.len();
        Ok(())
    }

    /// Tests that a force is in its cone and agrees with the state of the contact.
    fn check_force(&mut self, contact: &StoredContact, path: &Path) {
        let PairProperties {
            friction, cohesion, ..
        } = self.properties(contact);
        let normal = contact.force.dot(contact.normal);
        let parts = Parts {
            normal,
            tangential: (contact.force - contact.normal * normal).length(),
            friction,
            cohesion,
            slack: FORCE_ROUNDING * (contact.force.length() + cohesion),
        };
        let violations = if !parts.are_in_cone() {
            &mut self.outside_cone
        } else if !parts.agree_with(contact.state) {
            &mut self.other_state
        } else {
            return;
        };
        let [one, other] = contact.objects.map(|it| &self.model.objects[it].name);
        violations.add(|| {
            format!(
                "in {}: `{one}` on `{other}`, {}, tangential force {} N, normal force {} N, \
                 friction {friction}",
                path.display(),
                state_name(contact.state),
                short_number(parts.tangential),
                short_number(normal)
            )
        });
    }

    /// Tests that the distance of the surfaces is not negative: gap ≥ −thickness.
    fn check_gap(&mut self, contact: &StoredContact, path: &Path) {
        let thickness = self.thickness(contact.objects);
        if contact.gap >= -thickness * (1.0 + GAP_TOLERANCE) {
            return;
        }
        let names = self.names(contact);
        self.penetrating.add(|| {
            format!(
                "in {}: {names}, gap {} m, thickness {} m",
                path.display(),
                short_number(contact.gap),
                short_number(thickness)
            )
        });
    }

    pub(super) fn finish(self, findings: &mut Vec<Finding>) {
        let forces = self.outside_cone.count + self.other_state.count;
        let is_good = forces + self.penetrating.count == 0;
        if is_good && self.contacts > 0 {
            let sentence = format!(
                "{} contacts in frames have forces in their friction cones; the smallest gap is \
                 {} m",
                self.contacts,
                short_number(self.least_gap)
            );
            findings.push(finding(Severity::Good, sentence));
        }
        let claims = integrate::claims(self.model);
        let outside = "have a force outside their friction cone";
        (self.outside_cone).report(outside, self.contacts, claims.contact, findings);
        let other = "have a force that does not agree with their state";
        (self.other_state).report(other, self.contacts, claims.contact, findings);
        let penetrating = "penetrate";
        (self.penetrating).report(penetrating, self.contacts, claims.gap, findings);
    }

    fn properties(&self, contact: &StoredContact) -> PairProperties {
        let of = |object: usize| (object, &self.model.objects[object].surface);
        let [one, other] = contact.objects.map(of);
        self.model.contact.between(one, other)
    }

    /// Largest contact thickness between two objects (m).
    fn thickness(&self, [one, other]: [usize; 2]) -> f64 {
        let own = |object: usize| 0.5 * self.model.objects[object].surface.thickness;
        let given = self.model.contact.thickness_between(one, other);
        let extra = given.map_or(0.0, |given| given - own(one) - own(other));
        self.halves[one] + self.halves[other] + extra
    }

    fn names(&self, contact: &StoredContact) -> String {
        let [one, other] = contact.objects.map(|it| &self.model.objects[it].name);
        format!("`{one}` on `{other}`")
    }
}

/// The state of a contact in a message.
fn state_name(state: ContactState) -> &'static str {
    match state {
        ContactState::Open => "open",
        ContactState::Stick => "sticking",
        ContactState::Slip => "slipping",
    }
}

/// The contacts of a frame. `objects` is the number of objects of the model.
fn stored(frame: &TensorFile, path: &Path, objects: usize) -> Result<Vec<StoredContact>, IoError> {
    let vectors = |name: &str| -> Result<Vec<DVec3>, IoError> {
        let values = frame.f64(name)?.1;
        Ok(values.chunks_exact(3).map(DVec3::from_slice).collect())
    };
    let (normals, forces) = (vectors("contact/normal")?, vectors("contact/force")?);
    let gaps = frame.f64("contact/gap")?.1;
    let pairs = frame.i32("contact/objects")?.1.chunks_exact(2);
    let pairs: Vec<[usize; 2]> = pairs.map(|it| [it[0] as usize, it[1] as usize]).collect();
    let is_known = pairs.iter().flatten().all(|object| *object < objects);
    let numbers = frame.u8("contact/state")?.1.iter();
    let states: Vec<ContactState> = numbers
        .map_while(|number| ContactState::from_number(*number))
        .collect();
    let counts = [normals.len(), forces.len(), pairs.len(), states.len()];
    if counts != [gaps.len(); 4] || !is_known {
        let reason = "its contact arrays have different lengths, or unknown objects or states";
        return Err(IoError::damaged(path, reason));
    }
    let contacts = (0..gaps.len()).map(|at| StoredContact {
        normal: normals[at],
        force: forces[at],
        gap: gaps[at],
        objects: pairs[at],
        state: states[at],
    });
    Ok(contacts.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::{Scene, SceneRequest};

    /// A sheet with a thickness of 1 mm above a floor, friction 0.5, cohesion 2 N.
    fn model() -> Model {
        let text = r#"
            time.duration = "1 s"
            material.stuff = { young = "1 MPa", thickness = "1 mm", density = 1000 }
            contact = { friction = 0.5, cohesion = 2 }
            [object.sheet]
            kind = "cloth-grid"
            size = [1, 1]
            vertices = [3, 3]
            material = "stuff"
            position = [0, 0, 1]
            [collider.floor]
            kind = "plane"
        "#;
        let request = SceneRequest {
            text: text.to_owned(),
            ..SceneRequest::default()
        };
        Model::build(&Scene::read(&request).unwrap()).unwrap()
    }

    /// Findings of a frame with one sticking contact of the sheet on the floor.
    fn found(force: [f64; 3], gap: f64) -> Vec<Finding> {
        found_in_state(force, gap, 1)
    }

    fn found_in_state(force: [f64; 3], gap: f64, state: u8) -> Vec<Finding> {
        let (model, path) = (model(), Path::new("frame"));
        let mut file = TensorFile::new();
        file.put_f64("contact/normal", &[1, 3], vec![0.0, 0.0, 1.0]);
        file.put_f64("contact/force", &[1, 3], force.to_vec());
        file.put_f64("contact/gap", &[1], vec![gap]);
        file.put_i32("contact/objects", &[1, 2], vec![0, 1]);
        file.put_u8("contact/state", &[1], vec![state]);
        let mut check = ContactCheck::new(&model);
        check.add(&file, path).unwrap();
        let mut findings = Vec::new();
        check.finish(&mut findings);
        findings
    }

    #[test]
    fn a_force_is_limited_by_friction_and_cohesion() {
        let is_good = |force: [f64; 3]| found(force, 0.0)[0].severity == Severity::Good;
        // 0.5 · (4 N + 2 N) = 3 N, on the surface of the cone.
        assert!(is_good([3.0, 0.0, 4.0]));
        assert!(!is_good([3.0 * (1.0 + 1e-13), 0.0, 4.0]));
        assert!(is_good([0.0, 0.0, -2.0]));
        assert!(!is_good([0.0, 0.0, -2.0 - 1e-12]));
        assert!(!is_good([0.0, 0.0, f64::NAN]));
        let wrong = &found([0.0, -5.0, 4.0], 0.0)[0].sentence;
        assert!(wrong.contains("1 of 1 contacts"), "{wrong}");
        assert!(
            wrong.contains("in frame: `sheet` on `floor`, sticking, tangential force 5 N"),
            "{wrong}"
        );
    }

    #[test]
    fn a_small_force_outside_its_cone_is_found_beside_a_large_one() {
        let (model, path) = (model(), Path::new("frame"));
        let mut file = TensorFile::new();
        file.put_f64("contact/normal", &[2, 3], [0.0, 0.0, 1.0].repeat(2));
        // 1.1e-9 N more friction than 0.5 · 2 N, beside a force of 1 MN.
        let forces = vec![0.0, 0.0, 1e6, 1.0 + 1.1e-9, 0.0, 0.0];
        file.put_f64("contact/force", &[2, 3], forces);
        file.put_f64("contact/gap", &[2], vec![0.0; 2]);
        file.put_i32("contact/objects", &[2, 2], vec![0, 1, 0, 1]);
        file.put_u8("contact/state", &[2], vec![1; 2]);
        let mut check = ContactCheck::new(&model);
        check.add(&file, path).unwrap();
        let mut findings = Vec::new();
        check.finish(&mut findings);
        let sentence = &findings[0].sentence;
        assert!(
            sentence.starts_with("1 of 2 contacts in frames have a force outside"),
            "{sentence}"
        );
    }

    #[test]
    fn an_open_contact_has_no_force_but_cohesion() {
        let severity = |force, state| found_in_state(force, 0.0, state)[0].severity;
        assert_eq!(severity([0.0; 3], 0), Severity::Good);
        // The pull of cohesion, in part and whole.
        assert_eq!(severity([0.0, 0.0, -1.0], 0), Severity::Good);
        assert_eq!(severity([0.0, 0.0, -2.0], 0), Severity::Good);
        assert_eq!(severity([0.0, 0.0, 1e-9], 0), Severity::Wrong);
        assert_eq!(severity([1e-9, 0.0, 0.0], 0), Severity::Wrong);
        let wrong = &found_in_state([0.0, 0.0, 4.0], 0.0, 0)[0].sentence;
        assert!(
            wrong.contains(
                "does not agree with their state; first in frame: `sheet` on `floor`, open"
            ),
            "{wrong}"
        );
        // 0.5 · 4 N without cohesion, which a larger gap decreases.
        assert_eq!(severity([2.0, 0.0, 4.0], 2), Severity::Good);
        assert_eq!(severity([1.9, 0.0, 4.0], 2), Severity::Wrong);
    }

    #[test]
    fn a_gap_is_at_least_minus_the_thickness() {
        // The floor has no thickness, so the contact has half of the 1 mm of the sheet.
        let good = &found([0.0; 3], -0.5e-3)[0];
        assert_eq!(good.severity, Severity::Good);
        assert!(
            good.sentence.contains("the smallest gap is -0.0005 m"),
            "{}",
            good.sentence
        );
        let wrong = &found([0.0; 3], -0.6e-3)[0];
        assert_eq!(wrong.severity, Severity::Wrong);
        assert!(
            wrong.sentence.contains("contacts in frames penetrate"),
            "{}",
            wrong.sentence
        );
        assert_eq!(found([0.0; 3], f64::NAN)[0].severity, Severity::Wrong);
    }

    #[test]
    fn inconsistent_arrays_are_damage() {
        let (model, path) = (model(), Path::new("frame"));
        let mut file = TensorFile::new();
        let mut check = ContactCheck::new(&model);
        assert!(check.add(&file, path).is_err());
        file.put_f64("contact/normal", &[0, 3], Vec::new());
        file.put_f64("contact/force", &[0, 3], Vec::new());
        file.put_f64("contact/gap", &[0], Vec::new());
        file.put_i32("contact/objects", &[0, 2], Vec::new());
        file.put_u8("contact/state", &[0], Vec::new());
        check.add(&file, path).unwrap();
        file.put_f64("contact/gap", &[1], vec![0.0]);
        assert!(check.add(&file, path).is_err());
        file.put_f64("contact/normal", &[1, 3], vec![0.0; 3]);
        file.put_f64("contact/force", &[1, 3], vec![0.0; 3]);
        file.put_u8("contact/state", &[1], vec![0]);
        file.put_i32("contact/objects", &[1, 2], vec![-1, 2]);
        assert!(check.add(&file, path).is_err());
        file.put_i32("contact/objects", &[1, 2], vec![0, 1]);
        file.put_u8("contact/state", &[1], vec![3]);
        assert!(check.add(&file, path).is_err());
        // A run without contacts has no findings on contacts.
        let mut findings = Vec::new();
        check.finish(&mut findings);
        assert_eq!(findings, []);
    }
}
