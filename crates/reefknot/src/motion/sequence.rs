//! The points of numbered mesh files, as a function of time.

use glam::DVec3;

use crate::scene::tables::SequenceInterpolation;

/// Points at evenly spaced times, all of them in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Sequence {
    /// The points of each file, in their place in the scene (m).
    pub frames: Vec<Vec<DVec3>>,
    /// When the first file is reached (s).
    pub offset: f64,
    /// Files by time (1/s).
    pub frame_rate: f64,
    /// What is between two files.
    pub interpolation: SequenceInterpolation,
}

/// Which files a moment lies between: four of them with their weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Blend([(usize, f64); 4]);

impl Sequence {
    /// The files that give the points at a time, the first before all and the last after all.
    #[must_use]
    pub fn blend(&self, time: f64) -> Blend {
        let last = self.frames.len().saturating_sub(1);
        let place = ((time - self.offset) * self.frame_rate).clamp(0.0, last as f64);
        // Times of frames are computed from the frame rate, and come out a rounding beside the file.
        let nearest = place.round();
        let place = if (place - nearest).abs() < 1e-9 {
            nearest
        } else {
            place
        };
        let (file, s) = (place.floor() as usize, place.fract());
        let weights = match self.interpolation {
            SequenceInterpolation::Hold => [0.0, 1.0, 0.0, 0.0],
            SequenceInterpolation::Linear => [0.0, 1.0 - s, s, 0.0],
            // Catmull and Rom, A class of local interpolating splines (1974).
            SequenceInterpolation::Smooth => [
                s * (s * (1.0 - 0.5 * s) - 0.5),
                1.0 + s * s * (1.5 * s - 2.5),
                s * (0.5 + s * (2.0 - 1.5 * s)),
                0.5 * s * s * (s - 1.0),
            ],
        };
        let files = [
            file.saturating_sub(1),
            file,
            (file + 1).min(last),
            (file + 2).min(last),
        ];
        Blend([0, 1, 2, 3].map(|i| (files[i], weights[i])))
    }

    /// Where a vertex is.
    #[must_use]
    pub fn point(&self, vertex: usize, blend: &Blend) -> DVec3 {
        // A file that has no part in it adds nothing, not even the sign of a zero.
        let parts = blend.0.iter().filter(|(_, weight)| *weight != 0.0);
        let mut parts = parts.map(|(file, weight)| self.frames[*file][vertex] * *weight);
        let first = parts.next().unwrap_or(DVec3::ZERO);
        parts.fold(first, |sum, part| sum + part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parabola(interpolation: SequenceInterpolation) -> Sequence {
        let frame = |i: i32| vec![DVec3::new(f64::from(i), f64::from(i * i), 0.1)];
        Sequence {
            frames: (0..5).map(frame).collect(),
            offset: 1.0,
            frame_rate: 10.0,
            interpolation,
        }
    }

    fn at(sequence: &Sequence, time: f64) -> DVec3 {
        sequence.point(0, &sequence.blend(time))
    }

    #[test]
    fn files_are_met_exactly_and_the_ends_hold() {
        for interpolation in [
            SequenceInterpolation::Linear,
            SequenceInterpolation::Smooth,
            SequenceInterpolation::Hold,
        ] {
            let sequence = parabola(interpolation);
            assert_eq!(at(&sequence, 0.0), sequence.frames[0][0]);
            assert_eq!(at(&sequence, 1.3), sequence.frames[3][0]);
            assert_eq!(at(&sequence, 9.0), sequence.frames[4][0]);
        }
    }

    #[test]
    fn between_files_points_go_straight_along_a_curve_or_wait() {
        let middle = |interpolation| at(&parabola(interpolation), 1.25).y;
        // Between 4 and 9; the cubic through four points of a parabola is the parabola.
        assert!((middle(SequenceInterpolation::Linear) - 6.5).abs() < 1e-12);
        assert!((middle(SequenceInterpolation::Smooth) - 6.25).abs() < 1e-12);
        assert_eq!(middle(SequenceInterpolation::Hold), 4.0);
    }
}
