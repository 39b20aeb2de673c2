//! Pseudorandom numbers that depend only on the seed.

use std::f64::consts::TAU;

use glam::DVec3;

/// SplitMix64 (Steele, Lea and Flood, Fast splittable pseudorandom number generators, 2014).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Generator with a seed.
    #[must_use]
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// 64 uniformly distributed bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform number in [low, high).
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * ((self.bits() >> 11) as f64 / (1u64 << 53) as f64)
    }

    /// Uniform number in [0, 1).
    pub fn unit(&mut self) -> f64 {
        self.between(0.0, 1.0)
    }

    /// Uniform number in [−1, 1).
    pub fn signed(&mut self) -> f64 {
        self.between(-1.0, 1.0)
    }

    /// Vector with uniform components in [−1, 1).
    pub fn vector(&mut self) -> DVec3 {
        DVec3::new(self.signed(), self.signed(), self.signed())
    }

    /// Integer below `count`; 0 if `count` is 0.
    pub fn below(&mut self, count: usize) -> usize {
        (self.bits() % count.max(1) as u64) as usize
    }

    /// Unit vector, uniform over the sphere. Height and longitude are independent (Archimedes).
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
    fn bits_agree_with_the_reference_implementation() {
        // First outputs for the seed 1234567.
        let mut random = Random::new(1_234_567);
        assert_eq!(random.bits(), 6_457_827_717_110_365_317);
        assert_eq!(random.bits(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn unit_vectors_are_uniform() {
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
