//! Positions of the copies of an object: in rows, or at random with a minimum distance.
//!
//! Random positions are found by dart throwing: candidates are drawn until one keeps the minimum
//! distance from all earlier positions. A grid with sorted cells finds the near ones. Every
//! position has its own stream of random numbers, from the seed and its index, and depends only on
//! earlier positions, so that more copies do not change the first ones.

use std::collections::BTreeMap;
use std::f64::consts::TAU;

use glam::{DQuat, DVec3};

use super::rod::MAX_ROD_VERTICES;
use crate::random::Random;

/// Maximum number of candidates for a position.
const MAX_ATTEMPTS: usize = 1000;

/// Pose of a copy: a rotation about its origin, then a translation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CopyPose {
    /// Translation (m).
    pub offset: DVec3,
    /// Rotation.
    pub turn: DQuat,
}

/// Offsets (m) of a grid of copies, the first at 0; x counts fastest, z slowest.
pub fn array(count: [usize; 3], spacing: DVec3) -> Result<Vec<DVec3>, String> {
    let [columns, rows, layers] = count;
    let total = columns.saturating_mul(rows).saturating_mul(layers);
    if total > MAX_ROD_VERTICES {
        return Err(format!("{columns} × {rows} × {layers} copies are too many"));
    }
    if !spacing.is_finite() {
        return Err(format!("the spacing {spacing} is not finite"));
    }
    let place = |index: usize| {
        let [column, row] = [index % columns, index / columns % rows];
        let layer = index / columns / rows;
        DVec3::new(column as f64, row as f64, layer as f64) * spacing
    };
    Ok((0..total).map(place).collect())
}

/// Random positions in the box from `min` to `max`, each at least `apart` from all others (m), with
/// random rotations if `turned`.
pub fn scatter(
    count: usize,
    min: DVec3,
    max: DVec3,
    apart: f64,
    turned: bool,
    seed: u64,
) -> Result<Vec<CopyPose>, String> {
    if count > MAX_ROD_VERTICES {
        return Err(format!("{count} places are too many"));
    }
    if !(min.is_finite() && (max - min).is_finite() && min.cmple(max).all()) {
        return Err(format!("there is no box from {min} to {max}"));
    }
    let mut spaced = SpacedPoints::new(apart, [min, max])?;
    let mut placements = Vec::with_capacity(count);
    for index in 0..count {
        let mut random = stream(seed, index as u64);
        let draw = |random: &mut Random| {
            let place = DVec3::new(
                random.between(min.x, max.x),
                random.between(min.y, max.y),
                random.between(min.z, max.z),
            );
            (place, place)
        };
        let offset = spaced.draw_spaced(&mut random, draw).ok_or_else(|| {
            format!("only {index} of {count} places fit with a distance of {apart} m")
        })?;
        let turn = if turned {
            random_rotation(&mut random)
        } else {
            DQuat::IDENTITY
        };
        placements.push(CopyPose { offset, turn });
    }
    Ok(placements)
}

/// A uniformly distributed rotation (Shoemake, Uniform random rotations, Graphics Gems III, 1992).
fn random_rotation(random: &mut Random) -> DQuat {
    let share = random.between(0.0, 1.0);
    let (first_sine, first_cosine) = random.between(0.0, TAU).sin_cos();
    let (second_sine, second_cosine) = random.between(0.0, TAU).sin_cos();
    let [first, second] = [(1.0 - share).sqrt(), share.sqrt()];
    DQuat::from_xyzw(
        first * first_sine,
        first * first_cosine,
        second * second_sine,
        second * second_cosine,
    )
}

/// Stream of random numbers for the item `index` of a seed.
///
/// Seeds are scrambled twice, because the streams of seeds that differ by the increment of the
/// generator overlap.
pub(super) fn stream(seed: u64, index: u64) -> Random {
    let scrambled = Random::new(seed).bits() ^ index;
    Random::new(Random::new(scrambled).bits())
}

/// Points with a minimum distance, in a grid.
#[derive(Clone, Debug)]
pub(super) struct SpacedPoints {
    apart: f64,
    corner: DVec3,
    /// Side of a cell: at least twice the distance, so that points near a position are in at most
    /// two cells along each axis.
    side: f64,
    cells: BTreeMap<[i64; 3], Vec<DVec3>>,
}

impl SpacedPoints {
    /// No points yet, for a minimum distance and a bounding box.
    pub(super) fn new(apart: f64, [min, max]: [DVec3; 2]) -> Result<SpacedPoints, String> {
        if !(apart >= 0.0 && apart.is_finite()) {
            return Err(format!(
                "the distance must be finite and not negative, not {apart}"
            ));
        }
        // At most a million cells along an axis, so that their indices do not overflow.
        let extent = (max - min).max_element();
        Ok(SpacedPoints {
            apart,
            corner: min,
            side: (2.0 * apart).max(1e-6 * extent).max(f64::MIN_POSITIVE),
            cells: BTreeMap::new(),
        })
    }

    /// Draws candidates, each a position with a value, until one keeps the minimum distance. Adds
    /// its position and returns its value; none after [`MAX_ATTEMPTS`].
    pub(super) fn draw_spaced<T>(
        &mut self,
        random: &mut Random,
        mut draw: impl FnMut(&mut Random) -> (DVec3, T),
    ) -> Option<T> {
        for _ in 0..MAX_ATTEMPTS {
            let (place, value) = draw(random);
            if self.try_insert(place) {
                return Some(value);
            }
        }
        None
    }

    /// Adds a point if it keeps the minimum distance; returns whether it did.
    fn try_insert(&mut self, place: DVec3) -> bool {
        if self.apart == 0.0 {
            return true;
        }
        let low = self.cell(place - self.apart);
        let high = self.cell(place + self.apart);
        for x in low[0]..=high[0] {
            for y in low[1]..=high[1] {
                let mut near = self.cells.range([x, y, low[2]]..=[x, y, high[2]]);
                let is_near = |other: &DVec3| other.distance(place) < self.apart;
                if near.any(|(_, places)| places.iter().any(is_near)) {
                    return false;
                }
            }
        }
        self.cells.entry(self.cell(place)).or_default().push(place);
        true
    }

    fn cell(&self, place: DVec3) -> [i64; 3] {
        ((place - self.corner) / self.side)
            .floor()
            .to_array()
            .map(|number| number as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MIN: DVec3 = DVec3::new(-1.0, 0.0, 2.0);
    const MAX: DVec3 = DVec3::new(1.0, 1.0, 3.0);

    #[test]
    fn an_array_starts_at_zero_and_counts_x_first() {
        let offsets = array([2, 1, 2], DVec3::new(1.0, 5.0, -2.0)).unwrap();
        let expected = [
            [0.0, 0.0, 0.0],
            [1.0, 0.0, 0.0],
            [0.0, 0.0, -2.0],
            [1.0, 0.0, -2.0],
        ];
        assert_eq!(offsets, expected.map(DVec3::from));
        assert_eq!(array([3, 0, 5], DVec3::ONE).unwrap(), []);
        assert!(array([usize::MAX, 2, 2], DVec3::ONE).is_err());
        assert!(array([1, 1, 1], DVec3::NAN).is_err());
    }

    #[test]
    fn positions_are_in_the_box_and_keep_their_distance() {
        let places = scatter(2000, MIN, MAX, 0.06, true, 5).unwrap();
        assert_eq!(places.len(), 2000);
        for (index, a) in places.iter().enumerate() {
            assert!(a.offset.cmpge(MIN).all() && a.offset.cmple(MAX).all());
            assert!((a.turn.length() - 1.0).abs() < 1e-12);
            for b in &places[..index] {
                assert!(a.offset.distance(b.offset) >= 0.06);
            }
        }
    }

    #[test]
    fn rotations_are_uniform() {
        let places = scatter(3000, MIN, MAX, 0.0, true, 2).unwrap();
        let mean = |axis: DVec3| {
            let turned = places.iter().map(|place| place.turn * axis);
            turned.sum::<DVec3>() / places.len() as f64
        };
        // Each coordinate of a random direction has the variance 1/3; four deviations of the mean.
        for axis in DVec3::AXES {
            assert!(mean(axis).abs().max_element() < 4.0 / (3.0 * 3000.0_f64).sqrt());
        }
        assert!(
            scatter(9, MIN, MAX, 0.0, false, 2)
                .unwrap()
                .iter()
                .all(|place| place.turn == DQuat::IDENTITY)
        );
    }

    #[test]
    fn more_copies_keep_the_first_and_other_seeds_differ() {
        let few = scatter(100, MIN, MAX, 0.1, true, 7).unwrap();
        let more = scatter(200, MIN, MAX, 0.1, true, 7).unwrap();
        assert_eq!(few, more[..100]);
        let other = scatter(100, MIN, MAX, 0.1, true, 8).unwrap();
        assert!(few.iter().zip(&other).all(|(a, b)| a != b));
    }

    #[test]
    fn the_error_of_a_full_box_has_the_number_of_copies() {
        // A unit cube has room for at most eight points of distance 1, its corners.
        let error = scatter(50, DVec3::ZERO, DVec3::ONE, 1.0, false, 1).unwrap_err();
        assert!(
            error.starts_with("only ") && error.contains(" of 50 places fit"),
            "{error}"
        );
        let count: usize = error.split(' ').nth(1).unwrap().parse().unwrap();
        assert!((1..=8).contains(&count), "{error}");
        assert!(
            scatter(2, DVec3::ZERO, DVec3::ZERO, 0.1, false, 1).is_err(),
            "a box of one point"
        );
        assert!(scatter(2, DVec3::ONE, DVec3::ZERO, 0.1, false, 1).is_err());
        assert!(
            scatter(2, MIN, MAX, f64::NAN, false, 1).is_err()
                && scatter(2, MIN, MAX, -1.0, false, 1).is_err()
        );
        assert!(scatter(usize::MAX, MIN, MAX, 0.1, false, 1).is_err());
    }

    proptest! {
        #[test]
        fn scattering_terminates_for_any_box_and_distance(
            a in prop::array::uniform3(prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL),
            b in prop::array::uniform3(prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL),
            apart in prop::num::f64::POSITIVE, seed: u64,
        ) {
            let (a, b) = (DVec3::from(a), DVec3::from(b));
            if let Ok(places) = scatter(20, a.min(b), a.max(b), apart, true, seed) {
                prop_assert_eq!(places.len(), 20);
            }
        }
    }
}
