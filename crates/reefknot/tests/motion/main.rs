//! What is told to move: keyframes, turns, oscillations and mesh sequences, pins that hold and carry, clamps that
//! twist, loads; and that none of it costs a bit or a joule.

#[cfg(test)]
mod clamps;
#[cfg(test)]
mod common;
#[cfg(test)]
mod loads;
#[cfg(test)]
mod pins;
#[cfg(test)]
mod same_bits;
#[cfg(test)]
mod scripts;
#[cfg(test)]
mod sequences;

#[cfg(test)]
#[path = "../shared/read.rs"]
mod read;
