//! What happens where two things touch: values of the scene, of each thing, and of pairs.

use crate::scene::tables::ContactLevel;

/// What the laws of contact need, for two things that touch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pairing {
    /// Coefficient of friction.
    pub friction: f64,
    /// Distance that contact keeps between them (m).
    pub thickness: f64,
    /// Speed of rebound over speed of impact.
    pub restitution: f64,
    /// Force that a contact takes before it opens (N).
    pub cohesion: f64,
    /// How far a contact gives way, by force (m/N).
    pub compliance: f64,
}

/// How one thing touches others; nothing where it does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Surface {
    /// Coefficient of friction.
    pub friction: Option<f64>,
    /// How thick it is for contact (m).
    pub thickness: f64,
    /// Speed of rebound over speed of impact.
    pub restitution: Option<f64>,
    /// Force that a contact takes before it opens (N).
    pub cohesion: Option<f64>,
    /// How far a contact gives way, by force (m/N).
    pub compliance: Option<f64>,
}

/// Values for two things in particular.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairOverride {
    /// The indices of the two objects, the smaller first.
    pub objects: [usize; 2],
    /// Whether they touch at all; they do if nothing is said.
    pub touch: Option<bool>,
    /// Coefficient of friction.
    pub friction: Option<f64>,
    /// Distance between them (m).
    pub thickness: Option<f64>,
    /// Speed of rebound over speed of impact.
    pub restitution: Option<f64>,
    /// Force that a contact takes before it opens (N).
    pub cohesion: Option<f64>,
    /// How far a contact gives way, by force (m/N).
    pub compliance: Option<f64>,
}

impl PairOverride {
    /// Takes over what another one says and this one does not.
    pub fn fill(&mut self, other: &PairOverride) {
        self.touch = self.touch.or(other.touch);
        self.friction = self.friction.or(other.friction);
        self.thickness = self.thickness.or(other.thickness);
        self.restitution = self.restitution.or(other.restitution);
        self.cohesion = self.cohesion.or(other.cohesion);
        self.compliance = self.compliance.or(other.compliance);
    }
}

/// The values of the whole scene.
#[derive(Clone, Debug)]
pub struct ContactModel {
    /// Where neither things nor pairs say anything; its thickness has no meaning.
    pub default: Pairing,
    /// Pairs in particular, by ascending objects.
    pub pairs: Vec<PairOverride>,
    /// What contacts are about.
    pub level: ContactLevel,
    /// How fast things move apart that are too close (m/s).
    pub recovery: f64,
}

impl ContactModel {
    /// What is said of two objects in particular.
    #[must_use]
    pub fn pair(&self, one: usize, other: usize) -> Option<&PairOverride> {
        let objects = [one.min(other), one.max(other)];
        let place = self
            .pairs
            .binary_search_by_key(&objects, |pair| pair.objects);
        place.ok().map(|place| &self.pairs[place])
    }

    /// Whether two objects touch each other.
    #[must_use]
    pub fn do_touch(&self, one: usize, other: usize) -> bool {
        self.pair(one, other).and_then(|pair| pair.touch) != Some(false)
    }

    /// The thickness that a pair of objects is told to have, if it is (m).
    #[must_use]
    pub fn thickness_between(&self, one: usize, other: usize) -> Option<f64> {
        self.pair(one, other).and_then(|pair| pair.thickness)
    }

    /// What holds between two objects, given by index and surface.
    #[must_use]
    pub fn between(&self, one: (usize, &Surface), other: (usize, &Surface)) -> Pairing {
        let pair = self.pair(one.0, other.0);
        let (a, b) = (one.1, other.1);
        let default = &self.default;
        let both = |a: Option<f64>, b: Option<f64>, default: f64, join: fn(f64, f64) -> f64| {
            join(a.unwrap_or(default), b.unwrap_or(default))
        };
        // One of two springs in series that says nothing adds nothing.
        let compliance = match (a.compliance, b.compliance) {
            (None, None) => default.compliance,
            (a, b) => a.unwrap_or(0.0) + b.unwrap_or(0.0),
        };
        let geometric_mean = |a: f64, b: f64| (a * b).sqrt();
        Pairing {
            friction: pair
                .and_then(|pair| pair.friction)
                .unwrap_or_else(|| both(a.friction, b.friction, default.friction, geometric_mean)),
            thickness: pair
                .and_then(|pair| pair.thickness)
                .unwrap_or(0.5 * (a.thickness + b.thickness)),
            restitution: pair.and_then(|pair| pair.restitution).unwrap_or_else(|| {
                both(a.restitution, b.restitution, default.restitution, f64::max)
            }),
            cohesion: pair
                .and_then(|pair| pair.cohesion)
                .unwrap_or_else(|| both(a.cohesion, b.cohesion, default.cohesion, f64::min)),
            compliance: pair.and_then(|pair| pair.compliance).unwrap_or(compliance),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_goes_before_its_things_and_these_before_the_scene() {
        let cloth = Surface {
            friction: Some(0.8),
            thickness: 2e-3,
            compliance: Some(1e-6),
            ..Surface::default()
        };
        let ice = Surface {
            friction: Some(0.02),
            restitution: Some(0.4),
            compliance: Some(2e-6),
            ..Surface::default()
        };
        let nothing = Surface::default();
        let contact = ContactModel {
            default: Pairing {
                friction: 0.5,
                thickness: 0.0,
                restitution: 0.1,
                cohesion: 3.0,
                compliance: 7e-6,
            },
            level: ContactLevel::Position,
            recovery: 0.1,
            pairs: vec![PairOverride {
                objects: [0, 2],
                touch: None,
                friction: Some(0.9),
                thickness: None,
                restitution: None,
                cohesion: Some(0.0),
                compliance: None,
            }],
        };
        let pairing = contact.between((1, &ice), (0, &cloth));
        assert!((pairing.friction - 0.016f64.sqrt()).abs() < 1e-15);
        assert_eq!((pairing.restitution, pairing.cohesion), (0.4, 3.0));
        assert_eq!((pairing.thickness, pairing.compliance), (1e-3, 3e-6));
        let pairing = contact.between((2, &nothing), (0, &cloth));
        assert_eq!((pairing.friction, pairing.cohesion), (0.9, 0.0));
        let pairing = contact.between((3, &nothing), (4, &nothing));
        assert_eq!((pairing.friction, pairing.compliance), (0.5, 7e-6));
    }
}
