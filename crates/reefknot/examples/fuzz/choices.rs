//! The random choices of mutations; shared by all fuzzers.

use reefknot::random::Random;

/// Random numbers, and the choices that mutations make of them.
pub(crate) struct Choices(pub(crate) Random);

impl Choices {
    /// The same numbers for the same case of the same seed, whatever came before.
    pub(crate) fn of_case(seed: u64, case: u64) -> Choices {
        let bits = Random::new(seed).bits();
        Choices(Random::new(bits ^ case.wrapping_mul(0xd134_2543_de82_ef95)))
    }

    pub(crate) fn below(&mut self, count: usize) -> usize {
        self.0.below(count)
    }

    pub(crate) fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    pub(crate) fn pick<'a, T: ?Sized>(&mut self, list: &[&'a T]) -> &'a T {
        list[self.below(list.len())]
    }

    /// A size between 1 and `most`, where each power of ten is as likely.
    pub(crate) fn size(&mut self, most: usize) -> usize {
        let part = self.below(1000) as f64 / 1000.0;
        (most as f64).powf(part).ceil() as usize
    }
}
