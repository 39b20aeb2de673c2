//! Prescribed motions of a scene as functions of time.

use std::sync::Arc;

use glam::{DMat3, DVec3};

use super::Builder;
use super::mesh::to_scene_axes;
use super::place::vector;
use super::refuse::MAX_COORDINATE;
use crate::io::import;
use crate::motion::keyframes::{Key, Keyframes, Track};
use crate::motion::sequence::Sequence;
use crate::motion::{Deformation, Motion, Oscillation, Script, Twist};
use crate::scene::problem::Place;
use crate::scene::tables::{self, Duration};
use crate::scene::values::Placed;

/// Largest number of points of all files of a sequence, for the memory.
const MAX_SEQUENCE_POINTS: usize = 200_000_000;

/// Function that maps the points of a sequence file to those of the object. The error is the
/// reason.
pub(super) type Arrange<'a> = &'a dyn Fn(Vec<DVec3>) -> Result<Vec<DVec3>, String>;

impl Builder<'_> {
    /// Script of a motion. `center` is the default centre of rotation, `arrange` maps the points of
    /// mesh files.
    pub(super) fn script(
        &mut self,
        table: Option<&Placed<tables::Motion>>,
        center: DVec3,
        arrange: Arrange<'_>,
    ) -> Option<Script> {
        let Some(Placed {
            value: table,
            place,
        }) = table
        else {
            return Some(Script::rest());
        };
        let motion = self.motion(table, center);
        let sequence = match &table.sequence {
            None => None,
            Some(sequence) => Some(Arc::new(self.sequence(sequence, arrange)?)),
        };
        let motion = motion?;
        self.refuse_large_motion(motion.reach(self.end()), "motion", place)?;
        Some(Script { motion, sequence })
    }

    /// Upper bound of the end of the run (s).
    fn end(&self) -> f64 {
        let time = &self.tables.time;
        time.duration.value.0 + 1.0 / time.frame_rate
    }

    /// Refuses lengths and angles so large that rounding loses the size of the object.
    fn refuse_large_motion(&mut self, reach: f64, what: &str, place: &Place) -> Option<()> {
        if reach <= MAX_COORDINATE {
            return Some(());
        }
        let message = format!("the `{what}` reaches {} m or rad", super::count(reach));
        let advice =
            format!("the limit is {MAX_COORDINATE:e}: give smaller speeds, lengths and angles");
        self.problem(place, message, advice);
        None
    }

    fn motion(&mut self, table: &tables::Motion, center: DVec3) -> Option<Motion> {
        let stop = self.stop(table.start, table.stop.as_ref());
        let oscillation = match &table.oscillation {
            None => None,
            Some(oscillation) => {
                let (axis, angle) = self.turn(&oscillation.rotation)?;
                Some(Oscillation {
                    amplitude: vector(oscillation.amplitude.map(|length| length.0)),
                    axis,
                    angle,
                    frequency: oscillation.frequency.0,
                    phase: oscillation.phase.0,
                })
            }
        };
        let keyframes = match &table.keyframes {
            None => None,
            Some(list) => {
                self.ascending(list.value.iter().map(|key| &key.time))?;
                let keys: Option<Vec<Key>> = list
                    .value
                    .iter()
                    .map(|key| {
                        let (axis, angle) = self.turn(&key.rotation)?;
                        Some(Key {
                            time: key.time.value.0,
                            shift: vector(key.position.map(|length| length.0)),
                            axis,
                            angle,
                        })
                    })
                    .collect();
                let keyframes = Keyframes::new(&keys?, table.interpolation.into());
                if keyframes.is_none() {
                    let message = "`keyframes` is empty".to_owned();
                    self.problem(&list.place, message, "give a keyframe, or omit the key");
                    return None;
                }
                keyframes
            }
        };
        Some(Motion {
            start: table.start.0,
            stop: stop?,
            velocity: vector(table.velocity.map(|speed| speed.0)),
            angular_velocity: vector(table.angular_velocity.map(|rate| rate.0)),
            center: table
                .center
                .map_or(center, |center| vector(center.map(|length| length.0))),
            oscillation,
            keyframes,
            deformation: table.deformation.as_ref().map(|table| Deformation {
                gradient: DMat3::from_cols_array_2d(&table.gradient).transpose(),
                ramp: table.ramp.0,
            }),
        })
    }

    /// Prescribed twist of a clamp.
    pub(super) fn twist(&mut self, table: Option<&Placed<tables::Twist>>) -> Option<Twist> {
        let Some(Placed {
            value: table,
            place,
        }) = table
        else {
            return Some(Twist {
                start: 0.0,
                stop: f64::INFINITY,
                rate: 0.0,
                keyframes: None,
            });
        };
        let keyframes = match &table.keyframes {
            None => None,
            Some(list) if list.value.is_empty() => {
                let message = "`keyframes` is empty".to_owned();
                self.problem(&list.place, message, "give a keyframe, or omit the key");
                return None;
            }
            Some(list) => {
                self.ascending(list.value.iter().map(|key| &key.time))?;
                let times = list.value.iter().map(|key| key.time.value.0).collect();
                let angles = list.value.iter().map(|key| [key.angle.0]).collect();
                Some(Track::new(times, angles, table.interpolation.into()))
            }
        };
        let twist = Twist {
            start: table.start.0,
            stop: self.stop(table.start, table.stop.as_ref())?,
            rate: table.rate.0,
            keyframes,
        };
        self.refuse_large_motion(twist.reach(self.end()), "twist", place)?;
        Some(twist)
    }

    /// End time (s), which must not be before the start.
    pub(super) fn stop(&mut self, start: Duration, stop: Option<&Placed<Duration>>) -> Option<f64> {
        let Some(stop) = stop else {
            return Some(f64::INFINITY);
        };
        if stop.value.0 < start.0 {
            let message = format!(
                "the end at {} s is before the start at {} s",
                stop.value.0, start.0
            );
            let advice = "give a later time, or an earlier `start`";
            self.problem(&stop.place, message, advice);
            return None;
        }
        Some(stop.value.0)
    }

    /// Refuses keyframes whose times are not ascending.
    fn ascending<'t>(&mut self, times: impl Iterator<Item = &'t Placed<Duration>>) -> Option<()> {
        let mut before: Option<f64> = None;
        let mut result = Some(());
        for time in times {
            if before.is_some_and(|before| time.value.0 <= before) {
                let message = "the times of keyframes must increase".to_owned();
                self.problem(
                    &time.place,
                    message,
                    "give a later time than that of the previous keyframe",
                );
                result = None;
            }
            before = Some(time.value.0);
        }
        result
    }

    fn sequence(&mut self, table: &tables::Sequence, arrange: Arrange<'_>) -> Option<Sequence> {
        let place = &table.file.place;
        let mut files = match self.files.matching(&table.file.value) {
            Ok(files) => files,
            Err((message, advice)) => {
                self.problem(place, message, advice);
                return None;
            }
        };
        if let Some(first) = table.first {
            files.retain(|(number, _)| *number >= first);
            if files.first().is_none_or(|(number, _)| *number != first) {
                let message = format!("`{}` has no file with number {first}", table.file.value);
                let advice = "give the number of the first existing file";
                self.problem(place, message, advice);
                return None;
            }
        }
        if let Some(gap) = files.windows(2).find(|pair| pair[1].0 != pair[0].0 + 1) {
            let message = format!(
                "`{}` has no file with number {}",
                table.file.value,
                gap[0].0 + 1
            );
            self.problem(
                place,
                message,
                format!("{} and {} exist", gap[0].1, gap[1].1),
            );
            return None;
        }
        let mut frames: Vec<Vec<DVec3>> = Vec::with_capacity(files.len());
        for (_, file) in &files {
            let points = self.sequence_points(table, file)?;
            let arranged = match arrange(points) {
                Ok(points) => points,
                Err(reason) => {
                    let message = format!("`{file}` does not match: {reason}");
                    let advice = "all files need the vertices of the mesh, in its order";
                    self.problem(place, message, advice);
                    return None;
                }
            };
            if (frames.len() + 1).saturating_mul(arranged.len()) > MAX_SEQUENCE_POINTS {
                let message = format!(
                    "the files `{}` have too many points in total",
                    table.file.value
                );
                self.problem(place, message, "use fewer files, or a coarser mesh");
                return None;
            }
            frames.push(arranged);
        }
        self.files.rename(place, &table.file.value);
        Some(Sequence {
            frames,
            offset: table.offset.0,
            frame_rate: table.frame_rate.unwrap_or(self.tables.time.frame_rate),
            interpolation: table.interpolation.into(),
        })
    }

    fn sequence_points(&mut self, table: &tables::Sequence, file: &str) -> Option<Vec<DVec3>> {
        let bytes = match self.files.read(file) {
            Ok(bytes) => bytes,
            Err((message, advice)) => {
                self.problem(&table.file.place, message, advice);
                return None;
            }
        };
        match import::import_points(file, &bytes) {
            Ok(points) => {
                let points = points.into_iter();
                Some(
                    points
                        .map(|point| to_scene_axes(point, table.up, table.unit.0))
                        .collect(),
                )
            }
            Err(error) => {
                self.import_problem(file, &table.file.place, error);
                None
            }
        }
    }
}
