//! Contact properties: of the scene, of each object, and of pairs of objects.

/// Contact properties of a pair of objects.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairProperties {
    /// Coefficient of friction.
    pub friction: f64,
    /// Distance between the surfaces in contact (m).
    pub thickness: f64,
    /// Coefficient of restitution.
    pub restitution: f64,
    /// Largest tensile force of a contact (N).
    pub cohesion: f64,
    /// Compliance along the normal (m/N).
    pub compliance: f64,
}

/// Contact properties of one object. `None` stands for the default of the scene.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SurfaceProperties {
    /// Coefficient of friction.
    pub friction: Option<f64>,
    /// Thickness for contact (m). A pair has the mean of its two.
    pub thickness: f64,
    /// Coefficient of restitution.
    pub restitution: Option<f64>,
    /// Largest tensile force of a contact (N).
    pub cohesion: Option<f64>,
    /// Compliance along the normal (m/N).
    pub compliance: Option<f64>,
}

/// Contact properties set for one pair of objects. `None` stands for the values of the two objects.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairOverride {
    /// Indices of the two objects, the smaller first.
    pub objects: [usize; 2],
    /// Whether they collide; `None` means yes.
    pub collides: Option<bool>,
    /// Coefficient of friction.
    pub friction: Option<f64>,
    /// Distance between the surfaces in contact (m).
    pub thickness: Option<f64>,
    /// Coefficient of restitution.
    pub restitution: Option<f64>,
    /// Largest tensile force of a contact (N).
    pub cohesion: Option<f64>,
    /// Compliance along the normal (m/N).
    pub compliance: Option<f64>,
}

impl PairOverride {
    /// Fills values that are `None` from another override.
    pub fn fill(&mut self, other: &PairOverride) {
        self.collides = self.collides.or(other.collides);
        self.friction = self.friction.or(other.friction);
        self.thickness = self.thickness.or(other.thickness);
        self.restitution = self.restitution.or(other.restitution);
        self.cohesion = self.cohesion.or(other.cohesion);
        self.compliance = self.compliance.or(other.compliance);
    }
}

/// The quantity that contacts constrain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConstraintLevel {
    /// The gap at the end of the step is at least zero.
    Position,
    /// The closing speed of a contact that is reached within the step is zero.
    Velocity,
}

/// Contact properties of a scene.
#[derive(Clone, Debug)]
pub struct ContactModel {
    /// Defaults where neither the objects nor the pair have a value. The thickness is not used.
    pub default: PairProperties,
    /// Overrides of pairs, by ascending objects.
    pub pairs: Vec<PairOverride>,
    /// The quantity that contacts constrain.
    pub level: ConstraintLevel,
    /// Largest speed at which surfaces that are too close are separated (m/s).
    pub recovery: f64,
}

impl ContactModel {
    /// The override of two objects, if there is one.
    #[must_use]
    pub fn pair(&self, one: usize, other: usize) -> Option<&PairOverride> {
        let objects = [one.min(other), one.max(other)];
        let place = self
            .pairs
            .binary_search_by_key(&objects, |pair| pair.objects);
        place.ok().map(|place| &self.pairs[place])
    }

    /// Whether two objects collide with each other.
    #[must_use]
    pub fn objects_collide(&self, one: usize, other: usize) -> bool {
        self.pair(one, other).and_then(|pair| pair.collides) != Some(false)
    }

    /// Thickness set for two objects by an override (m).
    #[must_use]
    pub fn thickness_between(&self, one: usize, other: usize) -> Option<f64> {
        self.pair(one, other).and_then(|pair| pair.thickness)
    }

    /// Contact properties of two objects, each given by index and properties.
    #[must_use]
    pub fn between(
        &self,
        one: (usize, &SurfaceProperties),
        other: (usize, &SurfaceProperties),
    ) -> PairProperties {
        let pair = self.pair(one.0, other.0);
        let (a, b) = (one.1, other.1);
        let default = &self.default;
        let both = |a: Option<f64>, b: Option<f64>, default: f64, join: fn(f64, f64) -> f64| {
            join(a.unwrap_or(default), b.unwrap_or(default))
        };
        // Springs in series: a side without a value adds no compliance.
        let compliance = match (a.compliance, b.compliance) {
            (None, None) => default.compliance,
            (a, b) => a.unwrap_or(0.0) + b.unwrap_or(0.0),
        };
        let geometric_mean = |a: f64, b: f64| (a * b).sqrt();
        PairProperties {
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
    fn pair_overrides_precede_object_values_and_these_precede_defaults() {
        let cloth = SurfaceProperties {
            friction: Some(0.8),
            thickness: 2e-3,
            compliance: Some(1e-6),
            ..SurfaceProperties::default()
        };
        let ice = SurfaceProperties {
            friction: Some(0.02),
            restitution: Some(0.4),
            compliance: Some(2e-6),
            ..SurfaceProperties::default()
        };
        let nothing = SurfaceProperties::default();
        let contact = ContactModel {
            default: PairProperties {
                friction: 0.5,
                thickness: 0.0,
                restitution: 0.1,
                cohesion: 3.0,
                compliance: 7e-6,
            },
            level: ConstraintLevel::Position,
            recovery: 0.1,
            pairs: vec![PairOverride {
                objects: [0, 2],
                collides: None,
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
