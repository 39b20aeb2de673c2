//! Errors of orderings and factorizations.

/// Failure of a factorization.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FactorError {
    /// A pivot is not positive.
    #[error("the matrix is not positive definite at node {node}")]
    NotPositiveDefinite {
        /// Node of the pivot.
        node: usize,
    },
    /// A pivot of a rod is not positive or not finite.
    #[error("the matrix of rod {rod} is not positive definite and finite at its unknown {unknown}")]
    NotPositiveDefiniteRod {
        /// Index of the rod in its batch.
        rod: usize,
        /// Unknown of the rod: three for each vertex, followed by the twist of the next edge.
        unknown: usize,
    },
    /// An entry of the matrix is not a finite number.
    #[error("the matrix is not finite between nodes {row} and {column}")]
    NotFinite {
        /// Node of the row.
        row: usize,
        /// Node of the column.
        column: usize,
    },
    /// Not enough memory for the factor.
    #[error("out of memory")]
    OutOfMemory,
}
