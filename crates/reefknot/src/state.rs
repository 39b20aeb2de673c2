//! Everything that the next step depends on, and nothing else.

use glam::DVec3;
use xxhash_rust::xxh3::Xxh3;

/// Where everything is and how it moves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// How many steps led here.
    pub step: u64,
    /// Positions of the nodes (m).
    pub positions: Vec<DVec3>,
    /// Velocities of the nodes (m/s).
    pub velocities: Vec<DVec3>,
    /// First axis of the section at each edge of rods: unit vectors across the edges.
    pub directors: Vec<DVec3>,
    /// How the section is twisted from the edge before to each edge (rad), turns counted; 0 at the start of open rods.
    pub twists: Vec<f64>,
    /// How fast the section of each edge turns about the edge (rad/s).
    pub spins: Vec<f64>,
    /// Contacts that carry a force, by ascending id, and the force (N): where the solver begins the next step.
    pub contacts: Vec<(u64, DVec3)>,
    /// Contacts that are to bounce, by ascending id, and how fast the two approached before they met (m/s).
    pub approaches: Vec<(u64, f64)>,
}

impl State {
    /// A fingerprint of every bit.
    #[must_use]
    pub fn hash(&self) -> String {
        let mut hasher = Xxh3::new();
        hasher.update(&self.step.to_le_bytes());
        let vectors = self.positions.iter().chain(&self.velocities);
        for vector in vectors.chain(&self.directors) {
            for component in vector.to_array() {
                hasher.update(&component.to_bits().to_le_bytes());
            }
        }
        for (id, force) in &self.contacts {
            hasher.update(&id.to_le_bytes());
            for component in force.to_array() {
                hasher.update(&component.to_bits().to_le_bytes());
            }
        }
        for (id, speed) in &self.approaches {
            hasher.update(&id.to_le_bytes());
            hasher.update(&speed.to_bits().to_le_bytes());
        }
        for number in self.twists.iter().chain(&self.spins) {
            hasher.update(&number.to_bits().to_le_bytes());
        }
        format!("{:032x}", hasher.digest128())
    }
}

/// The components of vectors, one after the other.
pub(crate) fn flat(vectors: &[DVec3]) -> Vec<f64> {
    let components = vectors.iter().flat_map(|vector| vector.to_array());
    components.collect()
}

/// How time is cut into frames and steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clock {
    /// Frames per second.
    pub frame_rate: f64,
    /// Steps per frame.
    pub steps_per_frame: u64,
    /// Number of frames after the first.
    pub frames: u64,
}

impl Clock {
    /// The time step (s).
    #[must_use]
    pub fn h(&self) -> f64 {
        1.0 / self.frame_rate / self.steps_per_frame as f64
    }

    /// The time after a number of steps (s): exact at frames, so that it does not drift.
    #[must_use]
    pub fn time(&self, step: u64) -> f64 {
        let (frame, part) = (step / self.steps_per_frame, step % self.steps_per_frame);
        (frame as f64 + part as f64 / self.steps_per_frame as f64) / self.frame_rate
    }

    /// The time of the step after a number of steps.
    #[must_use]
    pub fn span(&self, step: u64) -> Span {
        Span {
            begin: self.time(step),
            end: self.time(step + 1),
            h: self.h(),
            depth: 0,
        }
    }

    /// The frame that ends with this step, if one does.
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

/// The time of a step or of a part of one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// When it begins (s).
    pub begin: f64,
    /// When it ends (s).
    pub end: f64,
    /// How long it is (s).
    pub h: f64,
    /// How often a step was halved to make it.
    pub depth: u32,
}

impl Span {
    /// Its two halves.
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
    use super::*;

    #[test]
    fn the_hash_sees_every_bit() {
        let state = State {
            step: 3,
            positions: vec![DVec3::new(1.0, 2.0, 3.0)],
            velocities: vec![DVec3::ZERO],
            directors: vec![DVec3::X],
            twists: vec![0.0],
            spins: vec![1.0],
            contacts: vec![(7, DVec3::Y)],
            approaches: vec![(7, 0.0)],
        };
        let mut nudged = state.clone();
        nudged.velocities[0].y = -0.0;
        assert_ne!(state.hash(), nudged.hash());
        let mut twisted = state.clone();
        twisted.twists[0] = -0.0;
        assert_ne!(state.hash(), twisted.hash());
        let mut pushed = state.clone();
        pushed.contacts[0].1.x = -0.0;
        assert_ne!(state.hash(), pushed.hash());
        let mut bouncing = state.clone();
        bouncing.approaches[0].1 = -0.0;
        assert_ne!(state.hash(), bouncing.hash());
        let mut later = state.clone();
        later.step = 4;
        assert_ne!(state.hash(), later.hash());
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
