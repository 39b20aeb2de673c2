//! Generators of meshes: sheets, solids, rods, hair, and shapes of colliders and props.
//!
//! A generator returns points in metres around its origin, elements of consistent orientation, and
//! named groups of vertices for pins. Equal parameters have results with equal bits.

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
