//! Forward and backward substitution over the supernodes.
//!
//! Bound by reading the factor twice from memory, so the kernels are plain loops over three columns
//! at a time. Tasks of a stage run in parallel; a supernode does not subtract from the rows of its
//! border, which others share, but leaves the sum for its parent, as in the factorization.

use std::ops::Range;

use super::front::Front;
use super::{parts, run};
use crate::lanes::{Kernel, dispatch};
use crate::symbolic::{Supernode, Symbolic};

/// What a factor is stored in; sums are of double precision whatever that is.
pub(super) trait Entry: Copy + Into<f64> + Sync {
    /// The columns of a supernode.
    fn panel(front: &Front) -> &[Self];
}

impl Entry for f64 {
    fn panel(front: &Front) -> &[Self] {
        &front.panel
    }
}

impl Entry for f32 {
    fn panel(front: &Front) -> &[Self] {
        &front.light
    }
}

pub(super) fn solve_in_place<E: Entry>(symbolic: &Symbolic, fronts: &[Front], rhs: &mut [f64]) {
    let mut x = vec![0.0; rhs.len()];
    for (x, &node) in x.chunks_exact_mut(3).zip(&symbolic.order) {
        x.copy_from_slice(&rhs[3 * node as usize..][..3]);
    }
    let mut left = vec![0.0; 3 * symbolic.borders.len()];
    for stage in &symbolic.stages {
        forward_stage::<E>(symbolic, fronts, stage.clone(), &mut x, &mut left);
    }
    for stage in symbolic.stages.iter().rev() {
        backward_stage::<E>(symbolic, fronts, stage.clone(), &mut x);
    }
    for (x, &node) in x.chunks_exact(3).zip(&symbolic.order) {
        rhs[3 * node as usize..][..3].copy_from_slice(x);
    }
}

/// The scalar columns of a task.
fn columns(symbolic: &Symbolic, task: &Range<usize>) -> Range<usize> {
    let supernodes = &symbolic.supernodes;
    3 * supernodes[task.start].columns.start..3 * supernodes[task.end - 1].columns.end
}

/// The scalars that a task leaves.
fn borders(symbolic: &Symbolic, task: &Range<usize>) -> Range<usize> {
    let supernodes = &symbolic.supernodes;
    3 * supernodes[task.start].border.start..3 * supernodes[task.end - 1].border.end
}

/// `L y = x` for the supernodes of a stage.
fn forward_stage<E: Entry>(
    symbolic: &Symbolic,
    fronts: &[Front],
    stage: Range<usize>,
    x: &mut [f64],
    left: &mut [f64],
) {
    let tasks = &symbolic.tasks[stage];
    let Some(first) = tasks.first() else {
        return;
    };
    let x = &mut x[columns(symbolic, first).start..];
    let (done, left) = left.split_at_mut(borders(symbolic, first).start);
    let done = &*done;
    let xs = parts(x, tasks.iter().map(|t| columns(symbolic, t).len()));
    let lefts = parts(left, tasks.iter().map(|t| borders(symbolic, t).len()));
    let work: Vec<_> = tasks.iter().zip(xs).zip(lefts).collect();
    run(work, |((task, x), left)| {
        let (x_start, left_start) = (columns(symbolic, task).start, borders(symbolic, task).start);
        for s in task.clone() {
            let supernode = &symbolic.supernodes[s];
            let (before, own) = left.split_at_mut(3 * supernode.border.start - left_start);
            let own = &mut own[..3 * supernode.border.len()];
            let x = &mut x[3 * supernode.columns.start - x_start..][..3 * supernode.width()];
            for &child in &symbolic.children[supernode.children.clone()] {
                let border = symbolic.supernodes[child as usize].border.clone();
                let given = 3 * border.start..3 * border.end;
                let given = if (child as usize) < task.start {
                    &done[given]
                } else {
                    &before[given.start - left_start..given.end - left_start]
                };
                collect(given, &symbolic.places[border], x, own);
            }
            dispatch(Forward {
                panel: E::panel(&fronts[s]),
                x,
                left: own,
            });
        }
    });
}

/// Adds what a child left.
fn collect(given: &[f64], places: &[u32], x: &mut [f64], own: &mut [f64]) {
    for (given, &place) in given.chunks_exact(3).zip(places) {
        let place = 3 * place as usize;
        let target = if place < x.len() {
            &mut x[place..][..3]
        } else {
            &mut own[place - x.len()..][..3]
        };
        for (t, g) in target.iter_mut().zip(given) {
            *t += g;
        }
    }
}

/// Rows k to k + 2 of three columns.
#[inline(always)]
fn corner<E: Entry>(columns: [&[E]; 3], k: usize) -> [[f64; 3]; 3] {
    columns.map(|column| [column[k].into(), column[k + 1].into(), column[k + 2].into()])
}

/// Solves with the triangle of a panel and subtracts its product from what is left to the parent.
struct Forward<'a, E> {
    panel: &'a [E],
    x: &'a mut [f64],
    left: &'a mut [f64],
}

impl<E: Entry> Kernel for Forward<'_, E> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { panel, x, left } = self;
        let (width, height) = (x.len(), x.len() + left.len());
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
            subtract(left, columns_at(width..height), [x0, x1, x2]);
        }
    }
}

/// y ← y − a x₀ − b x₁ − c x₂.
#[inline(always)]
fn subtract<E: Entry>(y: &mut [f64], [a, b, c]: [&[E]; 3], [x0, x1, x2]: [f64; 3]) {
    for (y, ((a, b), c)) in y.iter_mut().zip(a.iter().zip(b).zip(c)) {
        *y -= (*a).into() * x0 + (*b).into() * x1 + (*c).into() * x2;
    }
}

/// `Lᵀ x = y` for the supernodes of a stage, whose parents must be done.
fn backward_stage<E: Entry>(
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
    let xs = parts(own, tasks.iter().map(|t| columns(symbolic, t).len()));
    let work: Vec<_> = tasks.iter().zip(xs).collect();
    run(work, |(task, x)| {
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

/// Solves with the transposed triangle of a panel; `x` holds the rows of its front.
struct Backward<'a, E> {
    panel: &'a [E],
    x: &'a mut [f64],
    height: usize,
}

impl<E: Entry> Kernel for Backward<'_, E> {
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

/// Three dot products with one vector, in four lanes each: a single sum would wait for itself.
#[inline(always)]
fn dots<E: Entry>(columns: [&[E]; 3], x: &[f64]) -> [f64; 3] {
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
