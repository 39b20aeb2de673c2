//! Bounds against sampled motions: no sample leaves its chord by more, and simple motions show that
//! the bounds are not much larger than needed.

use std::sync::Arc;

use glam::{DMat3, DVec3};
use proptest::prelude::*;

use super::*;
use crate::motion::keyframes::{Key, Keyframes, TrackInterpolation};
use crate::motion::sequence::{FrameInterpolation, Sequence};
use crate::motion::{Deformation, Oscillation, Script};

/// Samples of a path in an interval.
const SAMPLES: usize = 400;

fn vector(size: f64) -> impl Strategy<Value = DVec3> {
    proptest::array::uniform3(-size..size).prop_map(DVec3::from)
}

fn direction() -> impl Strategy<Value = DVec3> {
    let long = vector(1.0).prop_filter("a direction", |it| it.length() > 0.1);
    long.prop_map(DVec3::normalize)
}

fn keyframes() -> impl Strategy<Value = Keyframes> {
    let key = (0.05..0.6, vector(1.0), direction(), -4.0..4.0);
    let keys = proptest::collection::vec(key, 1..5);
    (keys, any::<bool>(), any::<bool>()).prop_map(|(keys, is_smooth, is_one_axis)| {
        let mut time = 0.0;
        let keys: Vec<Key> = keys
            .iter()
            .map(|(wait, shift, axis, angle)| {
                time += wait;
                Key {
                    time,
                    shift: *shift,
                    axis: if is_one_axis { DVec3::Y } else { *axis },
                    angle: *angle,
                }
            })
            .collect();
        let interpolation = match is_smooth {
            true => TrackInterpolation::Smooth,
            false => TrackInterpolation::Linear,
        };
        Keyframes::new(&keys, interpolation).unwrap()
    })
}

fn oscillation() -> impl Strategy<Value = Oscillation> {
    let numbers = (-1.0..1.0, 0.5..4.0, -3.0..3.0);
    (vector(0.3), direction(), numbers).prop_map(|(amplitude, axis, (angle, frequency, phase))| {
        Oscillation {
            amplitude,
            axis,
            angle,
            frequency,
            phase,
        }
    })
}

fn deformation() -> impl Strategy<Value = Deformation> {
    (proptest::array::uniform9(-0.5..0.5), 0.0..0.8).prop_map(|(entries, ramp)| Deformation {
        gradient: DMat3::from_cols_array(&entries),
        ramp,
    })
}

fn sequence() -> impl Strategy<Value = Sequence> {
    let frames = proptest::collection::vec(proptest::collection::vec(vector(1.0), 3), 1..6);
    (frames, -0.3..0.6, 2.0..9.0, any::<bool>()).prop_map(
        |(frames, offset, frame_rate, is_smooth)| Sequence {
            frames,
            offset,
            frame_rate,
            interpolation: match is_smooth {
                true => FrameInterpolation::Smooth,
                false => FrameInterpolation::Linear,
            },
        },
    )
}

fn script() -> impl Strategy<Value = Script> {
    let option = proptest::option::of::<proptest::strategy::BoxedStrategy<DVec3>>;
    let parts = (
        proptest::option::of(oscillation()),
        proptest::option::of(keyframes()),
        proptest::option::of(deformation()),
        proptest::option::of(sequence()),
    );
    let steady = (
        option(vector(3.0).boxed()),
        option(vector(5.0).boxed()),
        vector(1.0),
    );
    (parts, steady, 0.0..0.4, 0.0..1.5).prop_map(|(parts, steady, start, length)| {
        let (oscillation, keyframes, deformation, sequence) = parts;
        Script {
            motion: Motion {
                start,
                stop: start + length,
                velocity: steady.0.unwrap_or_default(),
                angular_velocity: steady.1.unwrap_or_default(),
                center: steady.2,
                oscillation,
                keyframes,
                deformation,
            },
            sequence: sequence.map(Arc::new),
        }
    })
}

/// The largest sampled deviation of a point from its chord (m).
fn sampled(script: &Script, point: (usize, DVec3), [begin, end]: [f64; 2]) -> f64 {
    let at = |time: f64| script.point(point.0, point.1, time);
    let (from, to) = (at(begin), at(end));
    let deviation = |part: usize| {
        let fraction = part as f64 / SAMPLES as f64;
        let place = at(begin + fraction * (end - begin));
        let bend = script.bend([begin, end], 0.0, None);
        let along = if bend.is_straight() {
            // Along a line, only the timing differs.
            let line = to - from;
            (place - from).dot(line) / line.length_squared().max(f64::MIN_POSITIVE)
        } else {
            fraction
        };
        place.distance(from.lerp(to, along))
    };
    (0..=SAMPLES).map(deviation).fold(0.0, f64::max)
}

/// The bound for a point (m).
fn bound(script: &Script, point: (usize, DVec3), interval: [f64; 2]) -> f64 {
    let frames = script
        .sequence
        .iter()
        .flat_map(|it| it.frames.iter().flatten());
    let places = frames.copied().chain([point.1]);
    let distances = places.map(|place| place.distance(script.motion.center));
    let bend = script.bend(interval, distances.fold(0.0, f64::max), None);
    bend.deviation(bend.arm(interval.map(|time| script.point(point.0, point.1, time))))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_point_leaves_its_chord_by_more_than_the_bound(
        script in script(),
        place in vector(1.0),
        vertex in 0usize..3,
        (begin, length) in (0.0..1.5, 0.001..0.8),
    ) {
        let interval = [begin, begin + length];
        let point = (vertex, place);
        let (found, bound) = (sampled(&script, point, interval), bound(&script, point, interval));
        prop_assert!(found <= bound * (1.0 + 1e-9) + 1e-12, "{found} {bound}");
    }

    #[test]
    fn a_line_without_reversal_leaves_its_chord_in_time_only(
        swing in oscillation(),
        velocity in -1.0..1.0,
        (begin, length) in (0.0..1.5, 0.001..0.3),
    ) {
        let script = Script {
            motion: Motion {
                velocity: swing.amplitude * velocity,
                oscillation: Some(Oscillation { angle: 0.0, ..swing }),
                ..Motion::rest()
            },
            sequence: None,
        };
        let interval = [begin, begin + length];
        if !script.bend(interval, 0.0, None).is_straight() {
            return Ok(());
        }
        let at = |time: f64| script.motion.shift(time);
        let (from, to) = (at(begin), at(begin + length));
        let mut before = 0.0;
        for part in 0..=SAMPLES {
            let place = at(begin + part as f64 / SAMPLES as f64 * length);
            let along = (place - from).dot(to - from) / (to - from).length_squared();
            prop_assert!(along >= before - 1e-9 && along <= 1.0 + 1e-9, "{along}");
            prop_assert!((place - from.lerp(to, along)).length() < 1e-12);
            before = along;
        }
    }

    #[test]
    fn translations_along_a_normal_are_bounded_by_their_component(
        oscillation in proptest::option::of(oscillation()),
        keyframes in proptest::option::of(keyframes()),
        normal in direction(),
        (begin, length) in (0.0..1.5, 0.001..0.8),
    ) {
        let oscillation = oscillation.map(|it| Oscillation { angle: 0.0, ..it });
        let script = Script {
            motion: Motion { oscillation, keyframes, ..Motion::rest() },
            sequence: None,
        };
        let interval = [begin, begin + length];
        if script.bend(interval, 0.0, Some(normal)).is_straight() {
            return Ok(());
        }
        let heights = |time: f64| script.motion.shift(time).dot(normal);
        let [from, to] = interval.map(heights);
        let bend = script.bend(interval, 0.0, Some(normal));
        for part in 0..=SAMPLES {
            let fraction = part as f64 / SAMPLES as f64;
            let height = heights(begin + fraction * length);
            let deviation = (height - (from + fraction * (to - from))).abs();
            prop_assert!(deviation <= bend.deviation(0.0) * (1.0 + 1e-9) + 1e-12);
        }
    }
}

fn turning(rate: f64) -> Script {
    Script {
        motion: Motion {
            angular_velocity: DVec3::Z * rate,
            center: DVec3::X,
            ..Motion::rest()
        },
        sequence: None,
    }
}

#[test]
fn the_sagitta_of_an_arc_is_not_much_less_than_its_bound() {
    let script = turning(10.0);
    // An arm of 2 m, 0.1 rad: 2 m (1 − cos 0.05) = 2.499 mm; the axis is vertical.
    let point = (0, DVec3::new(3.0, 0.0, 7.0));
    let found = sampled(&script, point, [0.3, 0.31]);
    let bound = bound(&script, point, [0.3, 0.31]);
    assert!((found - 2.4995e-3).abs() < 1e-6, "{found}");
    assert!((bound - 2.5e-3).abs() < 1e-9, "{bound}");
}

#[test]
fn a_full_turn_has_a_chord_of_no_length_and_a_bound_of_a_diameter() {
    let script = turning(std::f64::consts::TAU);
    let point = (0, DVec3::ZERO);
    assert!((script.point(0, point.1, 1.0) - point.1).length() < 1e-15);
    assert_eq!(bound(&script, point, [0.0, 1.0]), 2.0);
}

#[test]
fn a_start_within_the_interval_is_a_corner_and_the_best_cut() {
    let mut script = turning(0.0);
    script.motion.velocity = DVec3::new(0.0, 0.0, 4.0);
    script.motion.start = 0.25;
    let bend = script.bend([0.0, 1.0], 0.0, None);
    // 4 m/s from 0.25 s: a chord to 3 m, left by 0.75 m at the corner.
    assert_eq!(bend.deviation(1.0), 0.75);
    assert_eq!(bend.cut(1.0), 0.25);
    assert!(script.bend([0.25, 1.0], 0.0, None).is_straight());
    assert!(script.bend([0.0, 0.25], 0.0, None).is_straight());
}

#[test]
fn two_jumps_of_a_held_sequence_need_two_chords() {
    let frames = [0.0, 1.0, 0.0].map(|x| vec![DVec3::X * x]).to_vec();
    let script = Script {
        motion: Motion::rest(),
        sequence: Some(Arc::new(Sequence {
            frames,
            offset: 0.0,
            frame_rate: 10.0,
            interpolation: FrameInterpolation::Hold,
        })),
    };
    let bend = script.bend([0.05, 0.25], 0.0, None);
    assert_eq!(bend.deviation(0.0), f64::INFINITY);
    assert!((bend.cut(0.0) - 0.15).abs() < 1e-15);
    assert!(script.bend([0.05, 0.15], 0.0, None).is_straight());
}
