//! Prescribed motion: keyframes, rotations, oscillations, mesh sequences, pins, clamps and loads,
//! with closed energy balance and reproducible bits.

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
