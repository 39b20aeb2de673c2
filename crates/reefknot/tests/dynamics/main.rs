//! Rods, cloth, solids, lattices, props and hair move as mechanics demands, with every integrator: energy and momentum are
//! accounted for, bits are the same on any number of threads and after a restart, holds feel the weight they hold.

#[cfg(test)]
mod balance;
#[cfg(test)]
mod common;
#[cfg(test)]
mod halving;
#[cfg(test)]
mod reactions;
#[cfg(test)]
mod refusals;
#[cfg(test)]
mod rest;
#[cfg(test)]
mod same_bits;

#[cfg(test)]
#[path = "../shared/read.rs"]
mod read;
