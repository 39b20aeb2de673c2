//! The linear system and the frictional contact problem: what to solve, and solvers for it.
