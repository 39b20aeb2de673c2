//! The state of a simulation, and the division of time into frames and steps.
//!
//! A step depends on the model and this state only: a run that resumes from a checkpoint has the
//! same bits.

mod fields;

use glam::DVec3;
use reefknot_contact::problem::ContactMemory;

pub(crate) use fields::{Array, FIELDS, Length};

/// The state after a number of steps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// Number of steps since the start.
    pub step: u64,
    /// Positions of the nodes (m).
    pub positions: Vec<DVec3>,
    /// Velocities of the nodes (m/s).
    pub velocities: Vec<DVec3>,
    /// First axis of the section at each rod edge: a unit vector perpendicular to the edge.
    pub directors: Vec<DVec3>,
    /// Twist of the section from the previous edge to each rod edge (rad), full turns included; 0
    /// at the first edge of open rods.
    pub twists: Vec<f64>,
    /// Angular velocity of the section of each rod edge about the edge (rad/s).
    pub spins: Vec<f64>,
    /// Warm start of contacts with a nonzero force, by ascending id, as forces (N).
    pub contacts: Vec<ContactMemory>,
    /// Data of the integrator.
    pub carried: IntegratorData,
}

/// Data of an integrator that pass from step to step: a row of numbers per id, all rows of the same
/// length. Their meaning depends on the integrator.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IntegratorData {
    /// Ids, ascending.
    pub ids: Vec<u64>,
    /// Rows, concatenated.
    pub values: Vec<f64>,
}

/// Components of vectors, concatenated.
pub(crate) fn flat(vectors: &[DVec3]) -> Vec<f64> {
    let components = vectors.iter().flat_map(|vector| vector.to_array());
    components.collect()
}

/// Division of time into frames and steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clock {
    /// Frames per second.
    pub frame_rate: f64,
    /// Steps per frame.
    pub steps_per_frame: u64,
    /// Number of frames without frame 0.
    pub frames: u64,
}

impl Clock {
    /// The time step (s).
    #[must_use]
    pub fn h(&self) -> f64 {
        1.0 / self.frame_rate / self.steps_per_frame as f64
    }

    /// The time after a number of steps (s), without accumulated rounding.
    #[must_use]
    pub fn time(&self, step: u64) -> f64 {
        let (frame, part) = (step / self.steps_per_frame, step % self.steps_per_frame);
        (frame as f64 + part as f64 / self.steps_per_frame as f64) / self.frame_rate
    }

    /// The time span of the step that follows a number of steps.
    #[must_use]
    pub fn span(&self, step: u64) -> Span {
        Span {
            begin: self.time(step),
            end: self.time(step + 1),
            h: self.h(),
            depth: 0,
        }
    }

    /// The frame at the end of this step, if there is one.
    #[must_use]
    pub fn frame_at(&self, step: u64) -> Option<u64> {
        step.is_multiple_of(self.steps_per_frame)
            .then(|| step / self.steps_per_frame)
    }

    /// The number of steps of the whole run.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.frames * self.steps_per_frame
    }
}

/// The time span of a step or of a part of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// Start time (s).
    pub begin: f64,
    /// End time (s).
    pub end: f64,
    /// Time step (s).
    pub h: f64,
    /// Number of halvings from a whole step.
    pub depth: u32,
}

impl Span {
    /// The parts before and after a time.
    pub(crate) fn cut_at(&self, time: f64) -> [Span; 2] {
        let middle = 0.5 * (self.begin + self.end);
        let part = |begin: f64, end: f64| Span {
            begin,
            end,
            h: if time == middle {
                0.5 * self.h
            } else {
                end - begin
            },
            depth: self.depth,
        };
        [part(self.begin, time), part(time, self.end)]
    }

    /// The first and the second half.
    #[must_use]
    pub fn halves(&self) -> [Span; 2] {
        let middle = 0.5 * (self.begin + self.end);
        let half = |begin: f64, end: f64| Span {
            begin,
            end,
            h: 0.5 * self.h,
            depth: self.depth + 1,
        };
        [half(self.begin, middle), half(middle, self.end)]
    }
}

#[cfg(test)]
mod tests {
    use reefknot_contact::problem::ContactState;

    use super::*;

    /// A field, and a function that changes one of its bits.
    type Change = (&'static str, fn(&mut State));

    #[test]
    fn the_hash_depends_on_every_field() {
        let state = State {
            step: 3,
            positions: vec![DVec3::new(1.0, 2.0, 3.0)],
            velocities: vec![DVec3::ZERO],
            directors: vec![DVec3::X],
            twists: vec![0.0],
            spins: vec![1.0],
            contacts: vec![ContactMemory {
                id: 7,
                reaction: DVec3::Y,
                ..ContactMemory::default()
            }],
            carried: IntegratorData {
                ids: vec![1],
                values: vec![0.0],
            },
        };
        let changes: [Change; 9] = [
            ("velocities", |state| state.velocities[0].y = -0.0),
            ("directors", |state| state.directors[0].y = -0.0),
            ("twists", |state| state.twists[0] = -0.0),
            ("spins", |state| state.spins[0] = 2.0),
            ("contact/id", |state| state.contacts[0].id = 8),
            ("contact/force", |state| {
                state.contacts[0].reaction.x = -0.0;
            }),
            ("contact/average", |state| {
                state.contacts[0].average.x = -0.0;
            }),
            ("contact/state", |state| {
                state.contacts[0].state = ContactState::Slip;
            }),
            ("carried/values", |state| state.carried.values[0] = -0.0),
        ];
        for (name, change) in changes {
            let mut other = state.clone();
            change(&mut other);
            assert_ne!(state.hash(), other.hash(), "{name}");
            assert_eq!(state.first_difference(&other), Some(name));
        }
        let mut later = state.clone();
        later.step = 4;
        assert_ne!(state.hash(), later.hash());
        assert_eq!(state.first_difference(&later), Some("step"));
        assert_eq!(state.first_difference(&state), None);
    }

    #[test]
    fn a_state_rebuilt_from_its_fields_has_the_same_bits() {
        let contact = |id| ContactMemory {
            id,
            reaction: DVec3::new(-0.0, 1.0, f64::MIN_POSITIVE),
            average: DVec3::Z,
            state: ContactState::Stick,
        };
        let state = State {
            positions: vec![DVec3::ONE; 2],
            velocities: vec![DVec3::NEG_X; 2],
            directors: vec![DVec3::X],
            twists: vec![-0.0],
            spins: vec![3.0],
            contacts: vec![contact(3), contact(u64::MAX)],
            carried: IntegratorData {
                ids: vec![4, 9],
                values: vec![1.0, 2.0, 3.0, 4.0],
            },
            step: 0,
        };
        let mut read = State::default();
        for field in &FIELDS {
            (field.set)(&mut read, (field.get)(&state)).unwrap();
        }
        assert_eq!(state.first_difference(&read), None);
        let wrong = Array::Bytes(vec![7]);
        let set = |name: &str| FIELDS.iter().find(|it| it.name == name).unwrap().set;
        assert!(set("contact/state")(&mut read, wrong.clone()).is_err());
        assert!(set("positions")(&mut read, wrong).is_err());
    }

    #[test]
    fn time_is_exact_at_frames() {
        let clock = Clock {
            frame_rate: 24.0,
            steps_per_frame: 5,
            frames: 48,
        };
        assert_eq!(clock.time(clock.steps()), 2.0);
        assert_eq!(clock.frame_at(10), Some(2));
        assert_eq!(clock.frame_at(11), None);
        assert!((clock.h() - 1.0 / 120.0).abs() < 1e-18);
    }
}
