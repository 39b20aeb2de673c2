//! Collision detection: candidate pairs, contacts and times of impact. Geometry only.
//!
//! Input are the positions of all points; output are pairs of features, contacts and times. Objects
//! and forces are not known here.
//!
//! 1. [`features`]: the features that can collide, and which pairs of parts may.
//! 2. Broad phase. [`volume`]: boxes or 18-DOPs of the motion of every point. [`tree`] (`block`,
//!    `leaf`, `order`, `radix`): a bounding volume hierarchy. [`pairs`] (`sorted`): all pairs with
//!    overlapping volumes. [`candidates`]: the pairs of a step, kept complete while velocities
//!    change.
//! 3. Distances. [`distance`]: closest points of a pair. [`proximity`] ([`minimum`], [`pair`]): the
//!    contacts of a state, each once. [`convex`], [`collider`]: the same against exact shapes.
//! 4. Continuous collision detection. [`ccd`], [`impacts`]: times of impact, never too late.
//!    [`margins`]: pairs that need no new test.
//! 5. [`certify`]: an independent test of an accepted motion, which shares no code with 3 and 4.

mod block;
pub mod candidates;
pub mod ccd;
pub mod certify;
pub mod collider;
pub mod convex;
pub mod distance;
pub mod features;
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
