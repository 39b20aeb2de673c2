//! Meshes made from a few numbers.
//!
//! A generator gives points in metres around its origin, elements of one orientation, and the groups
//! of vertices that pins can name. The same numbers give the same bits.

pub mod sheet;
pub mod size;

mod unstructured;
