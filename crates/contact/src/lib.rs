//! Linear systems and frictional contact problems, and solvers for both.
//!
//! The system `A v = f` is stored body by body ([`system`]). The matrix of a body is either a
//! symmetric matrix of 3×3 blocks ([`block_sparse`]) or a batch of banded matrices of rods
//! ([`banded`]). Block matrices are factorized by a multifrontal Cholesky factorization
//! ([`cholesky`]). Its symbolic analysis ([`symbolic`]) and fill-reducing ordering ([`order`]) are
//! computed once per pattern. Rods are factorized four at a time in vector lanes ([`lanes`]).
//!
//! Contact problems come from the simulator, with node stencils ([`problem`]), or from files
//! ([`file`](mod@file)), with general matrices ([`global`]) or with the Delassus operator
//! ([`delassus`]).

pub mod banded;
pub mod block_rows;
pub mod block_sparse;
pub mod cholesky;
pub mod conjugate_gradients;
pub mod delassus;
pub mod dense_lu;
pub mod factor_error;
pub mod file;
pub mod global;
pub mod lanes;
pub mod law;
pub mod mobility;
pub mod order;
pub mod parallel;
pub mod problem;
pub mod random;
#[cfg(any(test, feature = "samples"))]
pub mod samples;
pub mod solve;
pub mod sparse_rows;
pub mod symbolic;
pub mod symmetric;
pub mod system;
pub mod task;
