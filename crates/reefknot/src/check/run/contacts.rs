//! A second look at the contacts that frames have stored: no force may leave its friction cone, and no two things may be closer than
//! touching.
//!
//! Frames do not store how much of its cohesion a contact had, which falls off with the gap. So all of it is allowed.

use std::path::Path;

use glam::DVec3;

use super::{Finding, Severity, finding, severity};
use crate::io::IoError;
use crate::io::tensors::TensorFile;
use crate::model::Model;
use crate::model::contact::Pairing;
use crate::units::short_number;

/// Forces may leave their cone by this part, and by this part of the largest force of the frame.
const CONE_PART: f64 = 1e-6;
const FORCE_PART: f64 = 1e-9;

/// Gaps may be below what is possible by this part of the thickness.
const GAP_PART: f64 = 1e-9;

/// What was found in the frames so far.
pub(super) struct ContactCheck<'a> {
    model: &'a Model,
    /// Half the thickness that contacts keep about each object (m).
    halves: Vec<f64>,
    contacts: usize,
    least_gap: f64,
    outside: Offenders,
    too_close: Offenders,
}

/// How many contacts are wrong, and the first of them in a sentence.
#[derive(Default)]
struct Offenders {
    count: usize,
    first: String,
}

impl Offenders {
    fn add(&mut self, sentence: impl FnOnce() -> String) {
        if self.count == 0 {
            self.first = sentence();
        }
        self.count += 1;
    }

    /// What is wrong with so many of all contacts, and whether the method claims that it is not.
    fn tell(self, what: &str, all: usize, is_claimed: bool, findings: &mut Vec<Finding>) {
        if self.count > 0 {
            let (count, first) = (self.count, self.first);
            let sentence = format!("{count} of {all} contacts in frames {what}; first {first}");
            findings.push(finding(severity(is_claimed), sentence));
        }
    }
}

/// A contact as a frame has it.
struct Stored {
    normal: DVec3,
    force: DVec3,
    gap: f64,
    objects: [usize; 2],
}

impl<'a> ContactCheck<'a> {
    pub(super) fn new(model: &'a Model) -> ContactCheck<'a> {
        let halves = model.objects.iter();
        let mut halves: Vec<f64> = halves.map(|it| 0.5 * it.surface.thickness).collect();
        if let Some(touch) = &model.touch {
            // What is simulated has a least thickness.
            for (place, skin) in touch.places.iter().zip(&touch.skin) {
                let half = &mut halves[place.0 as usize];
                *half = half.max(*skin);
            }
        }
        ContactCheck {
            model,
            halves,
            contacts: 0,
            least_gap: f64::INFINITY,
            outside: Offenders::default(),
            too_close: Offenders::default(),
        }
    }

    /// Takes in a frame.
    ///
    /// # Errors
    /// If its arrays are missing or do not fit together.
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

    /// ‖r_T‖ ≤ μ (r_N + ξ).
    fn check_force(&mut self, contact: &Stored, largest: f64, path: &Path) {
        let Pairing {
            friction, cohesion, ..
        } = self.pairing(contact);
        let normal = contact.force.dot(contact.normal);
        let tangential = (contact.force - contact.normal * normal).length();
        let (held, slack) = (normal + cohesion, FORCE_PART * largest);
        let most = friction * held.max(0.0) * (1.0 + CONE_PART) + slack;
        // What is no number is outside, too.
        if held >= -slack && tangential <= most {
            return;
        }
        let names = self.names(contact);
        self.outside.add(|| {
            format!(
                "in {}: {names}, {} N along the surface and {} N across it with a friction of {friction}",
                path.display(),
                short_number(tangential),
                short_number(normal)
            )
        });
    }

    /// Not closer than without any thickness between them.
    fn check_gap(&mut self, contact: &Stored, path: &Path) {
        let thickness = self.thickness(contact.objects);
        if contact.gap >= -thickness * (1.0 + GAP_PART) {
            return;
        }
        let names = self.names(contact);
        self.too_close.add(|| {
            format!(
                "in {}: {names}, with a gap of {} m and a thickness of {} m",
                path.display(),
                short_number(contact.gap),
                short_number(thickness)
            )
        });
    }

    pub(super) fn finish(self, findings: &mut Vec<Finding>) {
        let is_good = self.outside.count + self.too_close.count == 0;
        if is_good && self.contacts > 0 {
            let sentence = format!(
                "{} contacts in frames, each with its force in the friction cone; the least gap is {} m",
                self.contacts,
                short_number(self.least_gap)
            );
            findings.push(finding(Severity::Good, sentence));
        }
        let claims = self.model.claims();
        let outside = "have a force outside their friction cone";
        (self.outside).tell(outside, self.contacts, claims.contact, findings);
        let too_close = "are closer than touching";
        (self.too_close).tell(too_close, self.contacts, claims.gap, findings);
    }

    fn pairing(&self, contact: &Stored) -> Pairing {
        let of = |object: usize| (object, &self.model.objects[object].surface);
        let [one, other] = contact.objects.map(of);
        self.model.contact.between(one, other)
    }

    /// The thickness between two objects, at most (m).
    fn thickness(&self, [one, other]: [usize; 2]) -> f64 {
        let own = |object: usize| 0.5 * self.model.objects[object].surface.thickness;
        let told = self.model.contact.thickness_between(one, other);
        let extra = told.map_or(0.0, |told| told - own(one) - own(other));
        self.halves[one] + self.halves[other] + extra
    }

    fn names(&self, contact: &Stored) -> String {
        let [one, other] = contact.objects.map(|it| &self.model.objects[it].name);
        format!("`{one}` on `{other}`")
    }
}

/// The contacts of a frame of some objects.
fn stored(frame: &TensorFile, path: &Path, objects: usize) -> Result<Vec<Stored>, IoError> {
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
        let reason = "its arrays of contacts do not fit together";
        return Err(IoError::damaged(path, reason));
    }
    let contacts = (0..gaps.len()).map(|at| Stored {
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

    /// A sheet of 1 mm over a floor, with a friction of 0.5 and a cohesion of 2 N.
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

    /// What is found in a frame with one contact of the sheet on the floor.
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
    fn a_force_may_use_its_cohesion_and_no_more() {
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
            wrong.contains("in frame: `sheet` on `floor`, 5 N"),
            "{wrong}"
        );
    }

    #[test]
    fn a_gap_may_use_up_the_thickness_and_no_more() {
        // The floor has no thickness, so that half a millimetre is left of the sheet's.
        let good = &found([0.0; 3], -0.5e-3)[0];
        assert_eq!(good.severity, Severity::Good);
        assert!(
            good.sentence.contains("the least gap is -0.0005 m"),
            "{}",
            good.sentence
        );
        let wrong = &found([0.0; 3], -0.6e-3)[0];
        assert_eq!(wrong.severity, Severity::Wrong);
        assert!(
            wrong.sentence.contains("closer than touching"),
            "{}",
            wrong.sentence
        );
        assert_eq!(found([0.0; 3], f64::NAN)[0].severity, Severity::Wrong);
    }

    #[test]
    fn arrays_that_do_not_fit_are_damage() {
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
        // A run without contacts has nothing to be praised for.
        let mut findings = Vec::new();
        check.finish(&mut findings);
        assert_eq!(findings, []);
    }
}
