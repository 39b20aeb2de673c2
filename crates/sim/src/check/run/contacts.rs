//! Tests of the contacts in stored frames: forces are in their friction cones, and surfaces do not
//! penetrate.
//!
//! The cohesion of a contact decreases with its gap. Frames do not store it, so the full cohesion
//! is allowed.

use std::path::Path;

use glam::DVec3;

use super::{Finding, Severity, finding, severity};
use crate::integrate;
use crate::io::IoError;
use crate::io::tensors::TensorFile;
use crate::model::Model;
use crate::model::contact::PairProperties;
use crate::units::short_number;

/// Tolerance of the friction cone, relative to its radius.
const CONE_TOLERANCE: f64 = 1e-6;
/// Tolerance of forces, relative to the largest contact force of the frame.
const FORCE_TOLERANCE: f64 = 1e-9;
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
            penetrating: Violations::default(),
        }
    }

    /// Tests the contacts of a frame.
    ///
    /// # Errors
    /// If arrays are missing or have different lengths.
    pub(super) fn add(&mut self, frame: &TensorFile, path: &Path) -> Result<(), IoError> {
        let contacts = stored(frame, path, self.model.objects.len())?;
        let lengths = contacts.iter().map(|contact| contact.force.length());
        let largest = lengths.fold(0.0, f64::max);
        for contact in &contacts {
            self.check_force(contact, largest, path);
            self.check_gap(contact, path);
            self.least_gap = self.least_gap.min(contact.gap);
        }
        self.contacts += contacts.len();
        Ok(())
    }

    /// Tests ‖r_T‖ ≤ μ (r_N + ξ).
    fn check_force(&mut self, contact: &StoredContact, largest: f64, path: &Path) {
        let PairProperties {
            friction, cohesion, ..
        } = self.properties(contact);
        let normal = contact.force.dot(contact.normal);
        let tangential = (contact.force - contact.normal * normal).length();
        let (height, slack) = (normal + cohesion, FORCE_TOLERANCE * largest);
        let radius = friction * height.max(0.0) * (1.0 + CONE_TOLERANCE) + slack;
        // NaN is outside.
        if height >= -slack && tangential <= radius {
            return;
        }
        let names = self.names(contact);
        self.outside_cone.add(|| {
            format!(
                "in {}: {names}, tangential force {} N, normal force {} N, friction {friction}",
                path.display(),
                short_number(tangential),
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
        let is_good = self.outside_cone.count + self.penetrating.count == 0;
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
    let counts = [normals.len(), forces.len(), pairs.len()];
    if counts != [gaps.len(); 3] || !is_known {
        let reason = "its contact arrays have different lengths or unknown objects";
        return Err(IoError::damaged(path, reason));
    }
    let contacts = (0..gaps.len()).map(|at| StoredContact {
        normal: normals[at],
        force: forces[at],
        gap: gaps[at],
        objects: pairs[at],
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

    /// Findings of a frame with one contact of the sheet on the floor.
    fn found(force: [f64; 3], gap: f64) -> Vec<Finding> {
        let (model, path) = (model(), Path::new("frame"));
        let mut file = TensorFile::new();
        file.put_f64("contact/normal", &[1, 3], vec![0.0, 0.0, 1.0]);
        file.put_f64("contact/force", &[1, 3], force.to_vec());
        file.put_f64("contact/gap", &[1], vec![gap]);
        file.put_i32("contact/objects", &[1, 2], vec![0, 1]);
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
        assert!(!is_good([3.0 * (1.0 + 1e-5), 0.0, 4.0]));
        assert!(is_good([0.0, 0.0, -2.0]));
        assert!(!is_good([0.0, 0.0, -2.0 - 1e-5]));
        assert!(!is_good([0.0, 0.0, f64::NAN]));
        let wrong = &found([0.0, -5.0, 4.0], 0.0)[0].sentence;
        assert!(wrong.contains("1 of 1 contacts"), "{wrong}");
        assert!(
            wrong.contains("in frame: `sheet` on `floor`, tangential force 5 N"),
            "{wrong}"
        );
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
        check.add(&file, path).unwrap();
        file.put_f64("contact/gap", &[1], vec![0.0]);
        assert!(check.add(&file, path).is_err());
        file.put_f64("contact/normal", &[1, 3], vec![0.0; 3]);
        file.put_f64("contact/force", &[1, 3], vec![0.0; 3]);
        file.put_i32("contact/objects", &[1, 2], vec![-1, 2]);
        assert!(check.add(&file, path).is_err());
        // A run without contacts has no findings on contacts.
        let mut findings = Vec::new();
        check.finish(&mut findings);
        assert_eq!(findings, []);
    }
}
