//! Who may touch, where and when: geometry only.

mod block;
pub mod candidates;
pub mod features;
pub mod hash;
mod leaf;
mod order;
pub mod pairs;
mod radix;
#[cfg(test)]
mod sample;
mod sorted;
pub mod tree;
pub mod volume;
