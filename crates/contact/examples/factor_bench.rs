//! Measures orderings and factorizations of a square cloth with `n × n` vertices (default 100), and
//! compares them with those of faer unless `own` is given. Prints a line of JSON per measurement.
//! Times are the shortest of several runs, in milliseconds.
//!
//! `cargo run --release -p reefknot-contact --example factor_bench -- [N] [own]`

use std::sync::Arc;
use std::time::Instant;

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::LltRegularization;
use faer::perm::PermRef;
use faer::sparse::linalg::SupernodalThreshold;
use faer::sparse::linalg::cholesky::{
    CholeskySymbolicParams, SymbolicCholesky, SymmetricOrdering, factorize_symbolic_cholesky,
};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMatRef};
use faer::{Conj, MatMut, Par, Side, Spec};
use glam::{DMat3, DVec3};
use reefknot_contact::block_sparse::{BlockPattern, BlockSparse};
use reefknot_contact::cholesky::Factor;
use reefknot_contact::order;
use reefknot_contact::symbolic::Symbolic;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

const RUNS: usize = 15;

/// Edges of a triangulated grid, and the opposite vertices of each inner edge (hinges).
fn cloth_pairs(n: u32) -> Vec<(u32, u32)> {
    let mut pairs = Vec::new();
    let mut add = |x: u32, y: u32, other_x: i64, other_y: i64| {
        let inside = |v: i64| (0..i64::from(n)).contains(&v);
        if inside(other_x) && inside(other_y) {
            pairs.push((y * n + x, other_y as u32 * n + other_x as u32));
        }
    };
    for (x, y) in (0..n).flat_map(|y| (0..n).map(move |x| (x, y))) {
        let (i, j) = (i64::from(x), i64::from(y));
        // Edges along x, y and the diagonal; then hinges of edges along y, x and the diagonal.
        for (dx, dy) in [(1, 0), (0, 1), (1, 1), (2, 1), (1, 2), (1, -1)] {
            add(x, y, i + dx, j + dy);
        }
    }
    pairs
}

/// Matrix of springs between all pairs and a mass at each node.
fn matrix(pattern: &Arc<BlockPattern>) -> BlockSparse {
    let mut matrix = BlockSparse::zeros(pattern.clone());
    for column in 0..pattern.nodes() {
        let slots = pattern.column(column);
        matrix.values[slots.start] += DMat3::IDENTITY;
        for slot in slots.start + 1..slots.end {
            let row = pattern.rows()[slot] as usize;
            let angle = slot as f64;
            let along = DVec3::new(angle.sin(), angle.cos(), 0.3);
            let spring = DMat3::from_cols(along * along.x, along * along.y, along * along.z) * 50.0;
            matrix.values[slot] -= spring;
            matrix.values[slots.start] += spring;
            matrix.values[pattern.column(row).start] += spring;
        }
    }
    matrix
}

/// Shortest time of several runs (ms).
fn best<T>(mut work: impl FnMut() -> Result<T>) -> Result<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..RUNS {
        let start = Instant::now();
        let result = work()?;
        best = best.min(start.elapsed().as_secs_f64() * 1e3);
        drop(result);
    }
    Ok(best)
}

fn right_hand_side(dofs: usize) -> Vec<f64> {
    (0..dofs).map(|i| (i as f64 * 0.37).sin()).collect()
}

fn residual(matrix: &BlockSparse, x: &[f64]) -> f64 {
    let mut product = vec![0.0; x.len()];
    matrix.multiply(x, &mut product);
    let rhs = right_hand_side(x.len());
    let difference = product.iter().zip(&rhs).map(|(a, b)| (a - b).abs());
    difference.fold(0.0, f64::max)
}

/// Measures the factorization of this crate with a number of threads.
fn own(matrix: &BlockSparse, name: &str, order: &[u32], threads: usize) -> Result<()> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()?;
    pool.install(|| {
        let pattern = matrix.pattern();
        let symbolic_ms = best(|| Ok(Symbolic::with_order(pattern, order)?))?;
        let symbolic = Arc::new(Symbolic::with_order(pattern, order)?);
        let mut factor = Factor::new(symbolic.clone())?;
        let factor_ms = best(|| {
            factor.factorize(matrix)?;
            Ok(())
        })?;
        let mut x = Vec::new();
        let rhs = right_hand_side(factor.dofs());
        let solve_ms = best(|| {
            x.clone_from(&rhs);
            factor.solve_in_place(&mut x);
            Ok(())
        })?;
        println!(
            "{{\"method\": \"own\", \"order\": \"{name}\", \"threads\": {threads}, \
             \"symbolic_ms\": {symbolic_ms:.1}, \"factor_ms\": {factor_ms:.1}, \
             \"solve_ms\": {solve_ms:.2}, \"nnz_l\": {}, \"gflop\": {:.3}, \
             \"gflop_per_s\": {:.1}, \"supernodes\": {}, \"residual\": {:.1e}}}",
            symbolic.factor_entries(),
            symbolic.operations() * 1e-9,
            symbolic.operations() * 1e-6 / factor_ms,
            symbolic.supernodes(),
            residual(matrix, &x),
        );
        Ok(())
    })
}

/// Lower triangle as a scalar matrix in compressed column storage.
fn scalars(matrix: &BlockSparse) -> (Vec<usize>, Vec<usize>, Vec<f64>) {
    let pattern = matrix.pattern();
    let (mut starts, mut rows, mut values) = (vec![0], Vec::new(), Vec::new());
    for (node, b) in (0..pattern.nodes()).flat_map(|node| (0..3).map(move |b| (node, b))) {
        for slot in pattern.column(node) {
            for a in 0..3 {
                let row = 3 * pattern.rows()[slot] as usize + a;
                if row >= 3 * node + b {
                    rows.push(row);
                    values.push(matrix.values[slot].col(b)[a]);
                }
            }
        }
        starts.push(rows.len());
    }
    (starts, rows, values)
}

/// Symbolic factorization of faer. Without an order, it uses minimum degree on scalars.
fn faer_analyze(
    pattern: SymbolicSparseColMatRef<'_, usize>,
    order: Option<&[u32]>,
    supernodal: bool,
) -> Result<SymbolicCholesky<usize>> {
    let forward: Vec<usize> = order
        .unwrap_or_default()
        .iter()
        .flat_map(|&node| (0..3).map(move |k| 3 * node as usize + k))
        .collect();
    let mut inverse = vec![0; forward.len()];
    for (k, &i) in forward.iter().enumerate() {
        inverse[i] = k;
    }
    let dofs = pattern.ncols();
    let ordering = match order {
        Some(_) => SymmetricOrdering::Custom(PermRef::new_checked(&forward, &inverse, dofs)),
        None => SymmetricOrdering::Amd,
    };
    let threshold = if supernodal {
        SupernodalThreshold::FORCE_SUPERNODAL
    } else {
        SupernodalThreshold::FORCE_SIMPLICIAL
    };
    let params = CholeskySymbolicParams {
        supernodal_flop_ratio_threshold: threshold,
        ..Default::default()
    };
    factorize_symbolic_cholesky(pattern, Side::Lower, ordering, params)
        .map_err(|error| format!("{error:?}").into())
}

/// Measures the sparse factorization of faer, in the order of [`faer_analyze`].
fn faer_sparse(
    matrix: &BlockSparse,
    name: &str,
    order: Option<&[u32]>,
    supernodal: bool,
) -> Result<()> {
    let (starts, rows, values) = scalars(matrix);
    let dofs = starts.len() - 1;
    let pattern = SymbolicSparseColMatRef::new_checked(dofs, dofs, &starts, None, &rows);
    let a = SparseColMatRef::new(pattern, &values[..]);
    let symbolic_ms = best(|| faer_analyze(pattern, order, supernodal))?;
    let symbolic = faer_analyze(pattern, order, supernodal)?;
    let mut l = vec![0.0; symbolic.len_val()];
    let request = symbolic.factorize_numeric_llt_scratch::<f64>(Par::Seq, Spec::default());
    let request = request.or(symbolic.solve_in_place_scratch::<f64>(1, Par::Seq));
    let mut memory = MemBuffer::new(request);
    let none = LltRegularization::default;
    let mut factor_ms = f64::INFINITY;
    let mut solve_ms = f64::INFINITY;
    let mut x = Vec::new();
    // The simplicial factorization takes seconds.
    let runs = if supernodal { RUNS } else { 2 };
    for _ in 0..runs {
        let start = Instant::now();
        let stack = MemStack::new(&mut memory);
        let factor = symbolic
            .factorize_numeric_llt(
                &mut l,
                a,
                Side::Lower,
                none(),
                Par::Seq,
                stack,
                Spec::default(),
            )
            .map_err(|e| format!("{e:?}"))?;
        factor_ms = factor_ms.min(start.elapsed().as_secs_f64() * 1e3);
        x = right_hand_side(dofs);
        let start = Instant::now();
        let rhs = MatMut::from_column_major_slice_mut(&mut x, dofs, 1);
        factor.solve_in_place_with_conj(Conj::No, rhs, Par::Seq, MemStack::new(&mut memory));
        solve_ms = solve_ms.min(start.elapsed().as_secs_f64() * 1e3);
    }
    println!(
        "{{\"method\": \"faer {}\", \"order\": \"{name}\", \"threads\": 1, \
         \"symbolic_ms\": {symbolic_ms:.1}, \"factor_ms\": {factor_ms:.1}, \
         \"solve_ms\": {solve_ms:.2}, \"nnz_l\": {}, \"residual\": {:.1e}}}",
        if supernodal {
            "supernodal"
        } else {
            "simplicial"
        },
        symbolic.len_val(),
        residual(matrix, &x),
    );
    Ok(())
}

fn main() -> Result<()> {
    let n: u32 = std::env::args().nth(1).map_or(Ok(100), |n| n.parse())?;
    let nodes = (n * n) as usize;
    let pattern = Arc::new(BlockPattern::new(nodes, cloth_pairs(n)));
    let matrix = matrix(&pattern);
    let minimum_degree = order::minimum_degree(&pattern)?;
    let dissection = order::nested_dissection(&pattern)?;
    let amd_ms = best(|| Ok(order::minimum_degree(&pattern)?))?;
    let dissection_ms = best(|| Ok(order::nested_dissection(&pattern)?))?;
    let x = right_hand_side(3 * nodes);
    let mut y = vec![0.0; 3 * nodes];
    let multiply_ms = best(|| {
        matrix.multiply(&x, &mut y);
        Ok(())
    })?;
    println!(
        "{{\"n\": {n}, \"dofs\": {}, \"blocks\": {}, \"multiply_ms\": {multiply_ms:.2}, \
         \"minimum_degree_ms\": {amd_ms:.1}, \"nested_dissection_ms\": {dissection_ms:.1}}}",
        3 * nodes,
        pattern.blocks(),
    );
    for threads in [1, 2] {
        own(&matrix, "minimum degree", &minimum_degree, threads)?;
        own(&matrix, "nested dissection", &dissection, threads)?;
    }
    if std::env::args().nth(2).is_some_and(|only| only == "own") {
        return Ok(());
    }
    let orders = [
        ("minimum degree of scalars", None),
        ("minimum degree", Some(&minimum_degree[..])),
        ("nested dissection", Some(&dissection[..])),
    ];
    for (name, order) in orders {
        faer_sparse(&matrix, name, order, false)?;
        faer_sparse(&matrix, name, order, true)?;
    }
    Ok(())
}
