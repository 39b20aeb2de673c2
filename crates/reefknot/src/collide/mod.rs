//! Who may touch, where and when: geometry only.
//!
//! Positions of all points go in, pairs of features, contacts and times come out; nothing here knows objects or forces.
//!
//! 1. [`features`]: what can touch, and who may meet whom.
//! 2. [`volume`], [`tree`] (`block`, `leaf`, `order`), [`pairs`]: boxes or 18-DOPs about the motion of every point, whole or moving, a tree of
//!    them, and all pairs whose volumes overlap; [`hash`]: the same for rods, without a tree; [`candidates`]: the pairs of a step,
//!    kept complete while velocities change.
//! 3. [`distance`], [`derivative`]: how far a pair is apart; [`proximity`] (`minimum`, `pair`): the contacts of a state, each
//!    once; [`convex`], [`collider`]: the same against shapes with a formula.
//! 4. [`ccd`], [`impacts`]: when pairs first touch, never too late; [`margins`]: which pairs need no second look.
//! 5. [`certify`]: an independent test of an accepted motion, which shares nothing with 3 and 4.

mod block;
pub mod candidates;
pub mod ccd;
pub mod certify;
pub mod collider;
pub mod convex;
pub mod derivative;
pub mod distance;
pub mod features;
pub mod hash;
pub mod impacts;
mod leaf;
pub mod margins;
pub mod minimum;
mod order;
pub mod pair;
pub mod pairs;
pub mod proximity;
mod radix;
#[cfg(test)]
mod sample;
mod sorted;
pub mod tree;
pub mod volume;
