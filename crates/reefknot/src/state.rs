//! Everything that the next step depends on, and nothing else.

use glam::DVec3;
use xxhash_rust::xxh3::Xxh3;

/// Where everything is and how it moves.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// How many steps led here.
    pub step: u64,
    /// Positions of the nodes (m).
    pub positions: Vec<DVec3>,
    /// Velocities of the nodes (m/s).
    pub velocities: Vec<DVec3>,
}

impl State {
    /// A fingerprint of every bit.
    #[must_use]
    pub fn hash(&self) -> String {
        let mut hasher = Xxh3::new();
        hasher.update(&self.step.to_le_bytes());
        for vector in self.positions.iter().chain(&self.velocities) {
            for component in vector.to_array() {
                hasher.update(&component.to_bits().to_le_bytes());
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_sees_every_bit() {
        let state = State {
            step: 3,
            positions: vec![DVec3::new(1.0, 2.0, 3.0)],
            velocities: vec![DVec3::ZERO],
        };
        let mut nudged = state.clone();
        nudged.velocities[0].y = -0.0;
        assert_ne!(state.hash(), nudged.hash());
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
