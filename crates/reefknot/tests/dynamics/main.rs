//! Dynamics of rods, cloth, solids, lattices, props and hair with every integrator: energy and
//! momentum balance, pin forces, rest states, and the same bits on any number of threads and after
//! a restart.

#[cfg(test)]
mod balance;
#[cfg(test)]
mod common;
#[cfg(test)]
mod energy;
#[cfg(test)]
mod halving;
#[cfg(test)]
mod impacts;
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
