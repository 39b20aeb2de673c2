//! Forward and backward substitution over the supernodes.
//!
//! The time is that of reading the factor twice from memory, so the kernels are simple loops over
//! three columns at a time. Tasks of a stage run in parallel. The rows of a border are shared by
//! several supernodes; therefore a supernode passes its update of these rows to its parent, as in
//! the factorization.

use std::ops::Range;

use super::front::Front;
use crate::lanes::{Kernel, dispatch};
use crate::parallel::{map_tasks, split_by_lengths};
use crate::symbolic::{Supernode, Symbolic};

/// Precision of a stored factor. Sums are always in double precision.
pub(super) trait FactorScalar: Copy + Into<f64> + Sync {
    /// Columns of a supernode.
    fn panel(front: &Front) -> &[Self];
}

impl FactorScalar for f64 {
    fn panel(front: &Front) -> &[Self] {
        &front.panel
    }
}

impl FactorScalar for f32 {
    fn panel(front: &Front) -> &[Self] {
        &front.single
    }
}

/// Replaces `rhs` by A⁻¹ `rhs`.
pub(super) fn solve_in_place<E: FactorScalar>(
    symbolic: &Symbolic,
    fronts: &[Front],
    rhs: &mut [f64],
) {
    let mut x = vec![0.0; rhs.len()];
    for (x, &node) in x.chunks_exact_mut(3).zip(&symbolic.order) {
        x.copy_from_slice(&rhs[3 * node as usize..][..3]);
    }
    let mut updates = vec![0.0; 3 * symbolic.borders.len()];
    for stage in &symbolic.stages {
        forward_stage::<E>(symbolic, fronts, stage.clone(), &mut x, &mut updates);
    }
    for stage in symbolic.stages.iter().rev() {
        backward_stage::<E>(symbolic, fronts, stage.clone(), &mut x);
    }
    for (x, &node) in x.chunks_exact(3).zip(&symbolic.order) {
        rhs[3 * node as usize..][..3].copy_from_slice(x);
    }
}

/// Scalar columns of a task.
fn columns(symbolic: &Symbolic, task: &Range<usize>) -> Range<usize> {
    let supernodes = &symbolic.supernodes;
    3 * supernodes[task.start].columns.start..3 * supernodes[task.end - 1].columns.end
}

/// Scalar border rows of a task.
fn borders(symbolic: &Symbolic, task: &Range<usize>) -> Range<usize> {
    let supernodes = &symbolic.supernodes;
    3 * supernodes[task.start].border.start..3 * supernodes[task.end - 1].border.end
}

/// `L y = x` for the supernodes of a stage.
fn forward_stage<E: FactorScalar>(
    symbolic: &Symbolic,
    fronts: &[Front],
    stage: Range<usize>,
    x: &mut [f64],
    updates: &mut [f64],
) {
    let tasks = &symbolic.tasks[stage];
    let Some(first) = tasks.first() else {
        return;
    };
    let x = &mut x[columns(symbolic, first).start..];
    let (done, updates) = updates.split_at_mut(borders(symbolic, first).start);
    let done = &*done;
    let xs = split_by_lengths(x, tasks.iter().map(|t| columns(symbolic, t).len()));
    let updates = split_by_lengths(updates, tasks.iter().map(|t| borders(symbolic, t).len()));
    let work: Vec<_> = tasks.iter().zip(xs).zip(updates).collect();
    map_tasks(work, |((task, x), updates)| {
        let x_start = columns(symbolic, task).start;
        let border_start = borders(symbolic, task).start;
        for s in task.clone() {
            let supernode = &symbolic.supernodes[s];
            let (before, own) = updates.split_at_mut(3 * supernode.border.start - border_start);
            let own = &mut own[..3 * supernode.border.len()];
            let x = &mut x[3 * supernode.columns.start - x_start..][..3 * supernode.width()];
            for &child in &symbolic.children[supernode.children.clone()] {
                let border = symbolic.supernodes[child as usize].border.clone();
                let rows = 3 * border.start..3 * border.end;
                let update = if (child as usize) < task.start {
                    &done[rows]
                } else {
                    &before[rows.start - border_start..rows.end - border_start]
                };
                add_child_update(update, &symbolic.places[border], x, own);
            }
            dispatch(Forward {
                panel: E::panel(&fronts[s]),
                x,
                update: own,
            });
        }
    });
}

/// Adds the update of a child to the columns and the border of its parent.
fn add_child_update(update: &[f64], places: &[u32], x: &mut [f64], own: &mut [f64]) {
    for (update, &place) in update.chunks_exact(3).zip(places) {
        let place = 3 * place as usize;
        let target = if place < x.len() {
            &mut x[place..][..3]
        } else {
            &mut own[place - x.len()..][..3]
        };
        for (t, u) in target.iter_mut().zip(update) {
            *t += u;
        }
    }
}

/// Rows k to k + 2 of three columns.
#[inline(always)]
fn corner<E: FactorScalar>(columns: [&[E]; 3], k: usize) -> [[f64; 3]; 3] {
    columns.map(|column| [column[k].into(), column[k + 1].into(), column[k + 2].into()])
}

/// Solves with the triangle of a panel, and subtracts the product with its border from the update.
struct Forward<'a, E> {
    panel: &'a [E],
    x: &'a mut [f64],
    update: &'a mut [f64],
}

impl<E: FactorScalar> Kernel for Forward<'_, E> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { panel, x, update } = self;
        let (width, height) = (x.len(), x.len() + update.len());
        for (k, columns) in panel.chunks_exact(3 * height).enumerate() {
            let (a, rest) = columns.split_at(height);
            let (b, c) = rest.split_at(height);
            let k = 3 * k;
            let [[a0, a1, a2], [_, b1, b2], [_, _, c2]] = corner([a, b, c], k);
            let x0 = x[k] / a0;
            let x1 = (x[k + 1] - a1 * x0) / b1;
            let x2 = (x[k + 2] - a2 * x0 - b2 * x1) / c2;
            x[k..k + 3].copy_from_slice(&[x0, x1, x2]);
            let columns_at = |rows: Range<usize>| [&a[rows.clone()], &b[rows.clone()], &c[rows]];
            subtract(&mut x[k + 3..], columns_at(k + 3..width), [x0, x1, x2]);
            subtract(update, columns_at(width..height), [x0, x1, x2]);
        }
    }
}

/// y ← y − a x₀ − b x₁ − c x₂.
#[inline(always)]
fn subtract<E: FactorScalar>(y: &mut [f64], [a, b, c]: [&[E]; 3], [x0, x1, x2]: [f64; 3]) {
    for (y, ((a, b), c)) in y.iter_mut().zip(a.iter().zip(b).zip(c)) {
        *y -= (*a).into() * x0 + (*b).into() * x1 + (*c).into() * x2;
    }
}

/// `Lᵀ x = y` for the supernodes of a stage. Their parents must be solved.
fn backward_stage<E: FactorScalar>(
    symbolic: &Symbolic,
    fronts: &[Front],
    stage: Range<usize>,
    x: &mut [f64],
) {
    let tasks = &symbolic.tasks[stage];
    let (Some(first), Some(last)) = (tasks.first(), tasks.last()) else {
        return;
    };
    let (before, done) = x.split_at_mut(columns(symbolic, last).end);
    let done_start = before.len();
    let done = &*done;
    let own = &mut before[columns(symbolic, first).start..];
    let xs = split_by_lengths(own, tasks.iter().map(|t| columns(symbolic, t).len()));
    let work: Vec<_> = tasks.iter().zip(xs).collect();
    map_tasks(work, |(task, x)| {
        let start = columns(symbolic, task).start;
        let mut local = Vec::new();
        for s in task.clone().rev() {
            let supernode: &Supernode = &symbolic.supernodes[s];
            let own = 3 * supernode.columns.start - start..3 * supernode.columns.end - start;
            local.clear();
            local.extend_from_slice(&x[own.clone()]);
            for &row in &symbolic.borders[supernode.border.clone()] {
                let row = 3 * row as usize;
                local.extend_from_slice(match row.checked_sub(done_start) {
                    Some(row) => &done[row..row + 3],
                    None => &x[row - start..][..3],
                });
            }
            dispatch(Backward {
                panel: E::panel(&fronts[s]),
                x: &mut local,
                height: 3 * supernode.height(),
            });
            x[own.clone()].copy_from_slice(&local[..own.len()]);
        }
    });
}

/// Solves with the transposed triangle of a panel. `x` has the rows of its front.
struct Backward<'a, E> {
    panel: &'a [E],
    x: &'a mut [f64],
    height: usize,
}

impl<E: FactorScalar> Kernel for Backward<'_, E> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { panel, x, height } = self;
        for (k, columns) in panel.chunks_exact(3 * height).enumerate().rev() {
            let (a, rest) = columns.split_at(height);
            let (b, c) = rest.split_at(height);
            let k = 3 * k;
            let below = k + 3..height;
            let [s0, s1, s2] = dots(
                [&a[below.clone()], &b[below.clone()], &c[below.clone()]],
                &x[below],
            );
            let [[a0, a1, a2], [_, b1, b2], [_, _, c2]] = corner([a, b, c], k);
            let x2 = (x[k + 2] - s2) / c2;
            let x1 = (x[k + 1] - s1 - b2 * x2) / b1;
            let x0 = (x[k] - s0 - a1 * x1 - a2 * x2) / a0;
            x[k..k + 3].copy_from_slice(&[x0, x1, x2]);
        }
    }
}

/// Three dot products with one vector. Each has four partial sums, because the additions of a
/// single sum depend on each other.
#[inline(always)]
fn dots<E: FactorScalar>(columns: [&[E]; 3], x: &[f64]) -> [f64; 3] {
    const LANES: usize = 4;
    let mut sums = [[0.0; LANES]; 3];
    let (x_chunks, x_rest) = x.as_chunks::<LANES>();
    let [a, b, c] = columns.map(|column| column.as_chunks::<LANES>());
    for (x, ((a, b), c)) in x_chunks.iter().zip(a.0.iter().zip(b.0).zip(c.0)) {
        for lane in 0..LANES {
            sums[0][lane] += a[lane].into() * x[lane];
            sums[1][lane] += b[lane].into() * x[lane];
            sums[2][lane] += c[lane].into() * x[lane];
        }
    }
    let rests = [a.1, b.1, c.1];
    std::array::from_fn(|k| {
        let rest: f64 = rests[k]
            .iter()
            .zip(x_rest)
            .map(|(a, b)| (*a).into() * b)
            .sum();
        (sums[k][0] + sums[k][2]) + (sums[k][1] + sums[k][3]) + rest
    })
}
