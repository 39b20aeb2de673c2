//! From the motions that a scene tells to functions of time.

use std::sync::Arc;

use glam::{DMat3, DVec3};

use super::Builder;
use super::mesh::to_scene_axes;
use super::place::vector;
use super::refuse::FARTHEST;
use crate::io::import;
use crate::motion::keyframes::{Key, Keyframes, Track};
use crate::motion::sequence::Sequence;
use crate::motion::{Deformation, Motion, Oscillation, Script, Twist};
use crate::scene::problem::Place;
use crate::scene::tables::{self, Duration};
use crate::scene::values::Placed;

/// More numbers than this in a sequence do not fit into memory.
const MAX_SEQUENCE_POINTS: usize = 200_000_000;

/// Brings the points of a file of a sequence to where they belong in the scene, or says why not.
pub(super) type Arrange<'a> = &'a dyn Fn(Vec<DVec3>) -> Result<Vec<DVec3>, String>;

impl Builder<'_> {
    /// How something moves; `center` is what turns go about if the scene does not say, `arrange` puts the points
    /// of mesh files in their place.
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
        self.refuse_wild(motion.reach(self.end()), "motion", place)?;
        Some(Script { motion, sequence })
    }

    /// When the scene ends, about (s).
    fn end(&self) -> f64 {
        let time = &self.tables.time;
        time.duration.value.0 + 1.0 / time.frame_rate
    }

    /// Refuses motions by lengths and angles that leave no digit for what moves.
    fn refuse_wild(&mut self, reach: f64, what: &str, place: &Place) -> Option<()> {
        if reach <= FARTHEST {
            return Some(());
        }
        let message = format!("the `{what}` comes to {} m or rad", super::count(reach));
        let advice = format!("at most {FARTHEST:e}: give smaller speeds, lengths and angles");
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
                let keyframes = Keyframes::new(&keys?, table.interpolation);
                if keyframes.is_none() {
                    let message = "there is no keyframe".to_owned();
                    self.problem(&list.place, message, "give one, or leave the key out");
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

    /// How a clamp turns.
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
                let message = "there is no keyframe".to_owned();
                self.problem(&list.place, message, "give one, or leave the key out");
                return None;
            }
            Some(list) => {
                self.ascending(list.value.iter().map(|key| &key.time))?;
                let times = list.value.iter().map(|key| key.time.value.0).collect();
                let angles = list.value.iter().map(|key| [key.angle.0]).collect();
                Some(Track::new(times, angles, table.interpolation))
            }
        };
        let twist = Twist {
            start: table.start.0,
            stop: self.stop(table.start, table.stop.as_ref())?,
            rate: table.rate.0,
            keyframes,
        };
        self.refuse_wild(twist.reach(self.end()), "twist", place)?;
        Some(twist)
    }

    /// When something stops; it must have started.
    pub(super) fn stop(&mut self, start: Duration, stop: Option<&Placed<Duration>>) -> Option<f64> {
        let Some(stop) = stop else {
            return Some(f64::INFINITY);
        };
        if stop.value.0 < start.0 {
            let message = format!(
                "it would end at {} s, before it begins at {} s",
                stop.value.0, start.0
            );
            self.problem(
                &stop.place,
                message,
                "give a later time, or an earlier `start`",
            );
            return None;
        }
        Some(stop.value.0)
    }

    fn ascending<'t>(&mut self, times: impl Iterator<Item = &'t Placed<Duration>>) -> Option<()> {
        let mut before: Option<f64> = None;
        let mut result = Some(());
        for time in times {
            if before.is_some_and(|before| time.value.0 <= before) {
                let message = "keyframes must come one after the other".to_owned();
                self.problem(
                    &time.place,
                    message,
                    "give a later time than that of the one before",
                );
                result = None;
            }
            before = Some(time.value.0);
        }
        result
    }

    fn sequence(&mut self, table: &tables::Sequence, arrange: Arrange<'_>) -> Option<Sequence> {
        let place = &table.file.place;
        let mut files = match self.files.numbered(&table.file.value) {
            Ok(files) => files,
            Err((message, advice)) => {
                self.problem(place, message, advice);
                return None;
            }
        };
        if let Some(first) = table.first {
            files.retain(|(number, _)| *number >= first);
            if files.first().is_none_or(|(number, _)| *number != first) {
                let message = format!("`{}` has no file of number {first}", table.file.value);
                self.problem(
                    place,
                    message,
                    "give the number of the first file that is there",
                );
                return None;
            }
        }
        if let Some(gap) = files.windows(2).find(|pair| pair[1].0 != pair[0].0 + 1) {
            let message = format!(
                "`{}` has no file of number {}",
                table.file.value,
                gap[0].0 + 1
            );
            self.problem(
                place,
                message,
                format!("{} is there, and {}", gap[0].1, gap[1].1),
            );
            return None;
        }
        let mut frames: Vec<Vec<DVec3>> = Vec::with_capacity(files.len());
        for (_, file) in &files {
            let points = self.sequence_points(table, file)?;
            let arranged = match arrange(points) {
                Ok(points) => points,
                Err(reason) => {
                    let message = format!("`{file}` does not fit: {reason}");
                    self.problem(
                        place,
                        message,
                        "all files need the vertices of the first mesh, in its order",
                    );
                    return None;
                }
            };
            if (frames.len() + 1).saturating_mul(arranged.len()) > MAX_SEQUENCE_POINTS {
                let message = format!(
                    "the files `{}` have too many points in all",
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
            interpolation: table.interpolation,
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
