//! Sequences of mesh files as points in time.

use glam::DVec3;

/// Interpolation between the files of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameInterpolation {
    /// Linear.
    Linear,
    /// Cubic, through four files.
    Smooth,
    /// Constant until the next file.
    Hold,
}

/// Points at evenly spaced times, all of them in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Sequence {
    /// Points of each file, in coordinates of the scene (m).
    pub frames: Vec<Vec<DVec3>>,
    /// Time of the first file (s).
    pub offset: f64,
    /// Files per time (1/s).
    pub frame_rate: f64,
    /// Interpolation between files.
    pub interpolation: FrameInterpolation,
}

/// Interpolation weights at a time: four files with their weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Blend([(usize, f64); 4]);

impl Sequence {
    /// Interpolation weights at a time. Points are constant before the first and after the last
    /// file.
    #[must_use]
    pub fn blend(&self, time: f64) -> Blend {
        let last = self.frames.len().saturating_sub(1);
        let place = ((time - self.offset) * self.frame_rate).clamp(0.0, last as f64);
        // Times of frames have rounding errors; at a file, its points are exact.
        let nearest = place.round();
        let place = if (place - nearest).abs() < 1e-9 {
            nearest
        } else {
            place
        };
        let (file, s) = (place.floor() as usize, place.fract());
        let weights = match self.interpolation {
            FrameInterpolation::Hold => [0.0, 1.0, 0.0, 0.0],
            FrameInterpolation::Linear => [0.0, 1.0 - s, s, 0.0],
            // Catmull and Rom, A class of local interpolating splines (1974).
            FrameInterpolation::Smooth => [
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

    /// Position of a vertex (m).
    #[must_use]
    pub fn point(&self, vertex: usize, blend: &Blend) -> DVec3 {
        // Files of weight zero are skipped: adding 0 would change the sign of −0.
        let parts = blend.0.iter().filter(|(_, weight)| *weight != 0.0);
        let mut parts = parts.map(|(file, weight)| self.frames[*file][vertex] * *weight);
        let first = parts.next().unwrap_or(DVec3::ZERO);
        parts.fold(first, |sum, part| sum + part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parabola(interpolation: FrameInterpolation) -> Sequence {
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
    fn points_are_exact_at_files_and_constant_beyond_the_ends() {
        for interpolation in [
            FrameInterpolation::Linear,
            FrameInterpolation::Smooth,
            FrameInterpolation::Hold,
        ] {
            let sequence = parabola(interpolation);
            assert_eq!(at(&sequence, 0.0), sequence.frames[0][0]);
            assert_eq!(at(&sequence, 1.3), sequence.frames[3][0]);
            assert_eq!(at(&sequence, 9.0), sequence.frames[4][0]);
        }
    }

    #[test]
    fn points_between_files_follow_the_chosen_interpolation() {
        let middle = |interpolation| at(&parabola(interpolation), 1.25).y;
        // Between 4 and 9; the cubic through four points of a parabola is the parabola.
        assert!((middle(FrameInterpolation::Linear) - 6.5).abs() < 1e-12);
        assert!((middle(FrameInterpolation::Smooth) - 6.25).abs() < 1e-12);
        assert_eq!(middle(FrameInterpolation::Hold), 4.0);
    }
}
