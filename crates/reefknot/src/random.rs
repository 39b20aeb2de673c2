//! Random numbers that are the same for the same seed, on every machine.

use std::f64::consts::TAU;

use glam::DVec3;

/// The generator of Steele, Lea and Flood, Fast splittable pseudorandom number generators (2014).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The numbers of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// Any 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from `low` up to but not including `high`.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * ((self.bits() >> 11) as f64 / (1u64 << 53) as f64)
    }

    /// A whole number below `count`; 0 if that is 0.
    pub fn below(&mut self, count: usize) -> usize {
        (self.bits() % count.max(1) as u64) as usize
    }

    /// A direction, evenly over the sphere: height and longitude are independent (Archimedes).
    pub fn unit_vector(&mut self) -> DVec3 {
        let height = self.between(-1.0, 1.0);
        let (sine, cosine) = self.between(0.0, TAU).sin_cos();
        let radius = (1.0 - height * height).sqrt();
        DVec3::new(radius * cosine, radius * sine, height)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_paper() {
        // First outputs of the reference implementation for the seed 1234567.
        let mut random = Random::new(1_234_567);
        assert_eq!(random.bits(), 6_457_827_717_110_365_317);
        assert_eq!(random.bits(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn directions_are_even() {
        let mut random = Random::new(5);
        let count = 10_000;
        let (mut sum, mut squares) = (DVec3::ZERO, DVec3::ZERO);
        for _ in 0..count {
            let direction = random.unit_vector();
            assert!((direction.length() - 1.0).abs() < 1e-12);
            sum += direction / f64::from(count);
            squares += direction * direction / f64::from(count);
        }
        // Three standard deviations: 1/√(3n) of the mean, 2/√(45 n) of the squares.
        assert!(sum.abs().max_element() < 3.0 / (3.0 * f64::from(count)).sqrt());
        assert!((squares - 1.0 / 3.0).abs().max_element() < 6.0 / (45.0 * f64::from(count)).sqrt());
    }
}
