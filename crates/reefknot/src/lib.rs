//! A simulator of thin and soft things in frictional contact.

pub mod scene;
pub mod units;
pub mod energy;
pub mod generate;
pub mod io;
