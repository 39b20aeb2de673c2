//! Meshes made from a few numbers.
//!
//! A generator gives points in metres around its origin, elements of one orientation, and the groups
//! of vertices that pins can name. The same numbers give the same bits.

pub mod ball;
#[cfg(test)]
mod check;
pub mod groom;
pub mod knot;
pub mod lattice;
mod path;
pub mod rod;
mod root;
pub mod scatter;
pub mod shape;
pub mod sheet;
pub mod size;
pub mod solid;
pub mod sweep;
mod unstructured;
