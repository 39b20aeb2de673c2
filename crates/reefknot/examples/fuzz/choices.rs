//! Random choices of mutations, for all fuzzers.

use reefknot_sim::random::Random;

/// A random number generator with the choices of mutations.
pub(crate) struct Choices(pub(crate) Random);

impl Choices {
    /// The generator of a case; independent of other cases.
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

    /// A size from 1 to `max`, log-uniform.
    pub(crate) fn size(&mut self, max: usize) -> usize {
        let part = self.below(1000) as f64 / 1000.0;
        (max as f64).powf(part).ceil() as usize
    }
}
