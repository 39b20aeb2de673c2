//! The linear system and the frictional contact problem: what to solve, and solvers for it.
//!
//! The system `A v = f` is kept by bodies ([`system`]); a body is a symmetric matrix of 3×3 blocks
//! ([`block_sparse`]), factorized by a multifrontal Cholesky ([`cholesky`]) whose symbolic work
//! ([`symbolic`]) and fill-reducing order ([`order`]) happen once per pattern, or a batch of rods ([`banded`]),
//! four at a time ([`lanes`]).
//!
//! Problems come from the simulator, node by node ([`problem`]), or from files ([`file`](mod@file)), with general matrices
//! ([`global`]) or in the impulses alone ([`delassus`]).

pub mod banded;
pub mod block_rows;
pub mod block_sparse;
pub mod cholesky;
pub mod delassus;
pub mod dense_lu;
pub mod file;
pub mod global;
pub mod lanes;
pub mod law;
pub mod mobility;
pub mod numbers;
pub mod order;
pub mod problem;
pub mod samples;
pub mod solve;
pub mod sparse_rows;
pub mod symbolic;
pub mod symmetric;
pub mod system;
