//! Sequences of mesh files as points in time.

use glam::DVec3;

use super::bend::Rates;

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

/// Bounds for the motion of the points of a sequence in an interval.
#[derive(Default)]
pub(super) struct SequenceRates {
    pub(super) rates: Rates,
    /// A time between each two jumps of the positions: at most one may be within a chord.
    pub(super) cuts: Vec<f64>,
}

impl Sequence {
    /// Bounds for the velocities of all points in an interval.
    pub(super) fn rates(&self, interval: [f64; 2]) -> SequenceRates {
        let last = self.frames.len().saturating_sub(1);
        let place = |time: f64| (time - self.offset) * self.frame_rate;
        let ends = interval.map(place);
        let is_inside = |file: &usize| *file as f64 > ends[0] && (*file as f64) < ends[1];
        let time = |file: usize| self.offset + file as f64 / self.frame_rate;
        let [from, to] = ends.map(|end| end.clamp(0.0, last as f64));
        let files = from.floor() as usize..(to.ceil() as usize).min(last);
        let corners = (files.start..=files.end).filter(is_inside);
        let mut found = SequenceRates::default();
        let rates = &mut found.rates;
        match self.interpolation {
            FrameInterpolation::Hold => {
                // The points jump to each file but the first.
                let jumps: Vec<f64> = corners.filter(|file| *file > 0).map(time).collect();
                let middle = |pair: &[f64]| 0.5 * (pair[0] + pair[1]);
                found.cuts = jumps.windows(2).map(middle).collect();
                return found;
            }
            FrameInterpolation::Linear => {
                for file in files {
                    let rate = self.largest([file, file + 1], |[a, b]| b - a) * self.frame_rate;
                    rates.rate = rates.rate.max(rate);
                }
            }
            FrameInterpolation::Smooth => {
                for file in files {
                    self.add_smooth(file, rates);
                }
            }
        }
        let jumps = corners.map(|file| (time(file), self.jump(file) * self.frame_rate));
        rates.jumps = jumps.collect();
        found
    }

    /// Largest jump of a velocity at a file, per file.
    fn jump(&self, file: usize) -> f64 {
        let last = self.frames.len().saturating_sub(1);
        let [before, after] = [file.saturating_sub(1), (file + 1).min(last)];
        match self.interpolation {
            FrameInterpolation::Hold => 0.0,
            FrameInterpolation::Linear => {
                self.largest([before, file, after], |[a, b, c]| (c - b) - (b - a))
            }
            // The spline has continuous slopes, but not beyond its ends.
            FrameInterpolation::Smooth if file == 0 || file == last => {
                self.largest([before, after], |[a, b]| 0.5 * (b - a))
            }
            FrameInterpolation::Smooth => 0.0,
        }
    }

    /// Adds the bounds of the spline after a file.
    fn add_smooth(&self, file: usize, rates: &mut Rates) {
        let last = self.frames.len().saturating_sub(1);
        let files = [file.saturating_sub(1), file, file + 1, (file + 2).min(last)];
        let slopes = [
            self.largest(files, |[a, _, c, _]| 0.5 * (c - a)),
            self.largest(files, |[_, b, _, d]| 0.5 * (d - b)),
        ];
        let bends = [
            self.largest(files, |[a, b, c, d]| 2.0 * a - 5.0 * b + 4.0 * c - d),
            self.largest(files, |[a, b, c, d]| 4.0 * b - a - 5.0 * c + 2.0 * d),
        ];
        // The slope is a parabola: it leaves its chord by an eighth of its second derivative.
        let snap = self.largest(files, |[a, b, c, d]| 3.0 * (b - c) + d - a);
        let rate = self.frame_rate;
        rates.rate = rates
            .rate
            .max((slopes[0].max(slopes[1]) + 3.0 * snap / 8.0) * rate);
        rates.acceleration = (rates.acceleration).max(bends[0].max(bends[1]) * rate * rate);
    }

    /// The largest length over all vertices of a combination of files (m).
    fn largest<const N: usize>(
        &self,
        files: [usize; N],
        combination: impl Fn([DVec3; N]) -> DVec3,
    ) -> f64 {
        let vertices = 0..files
            .map(|file| self.frames[file].len())
            .into_iter()
            .min()
            .unwrap_or(0);
        let lengths = vertices.map(|vertex| {
            combination(files.map(|file| self.frames[file][vertex])).length_squared()
        });
        lengths.fold(0.0, f64::max).sqrt()
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
