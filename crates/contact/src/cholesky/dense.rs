//! The dense part of an elimination: `L₁₁ L₁₁ᵀ = F₁₁`, `L₂₁ = F₂₁ L₁₁⁻ᵀ`, update `−L₂₁ L₂₁ᵀ`.
//!
//! Large fronts are worked on tile by tile, and the tiles of a step by any thread: each tile is one product on one thread, so
//! the bits do not depend on how many there are. (The parallel kernels of faer wait for each other by spinning, which costs
//! much on a machine that has something else to do, and leave a thread idle while a neighbouring front is at work.)

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor as llt;
use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::prelude::{IntoConst, ReborrowMut};
use faer::{Accum, MatMut, MatRef, Par, Spec};
use rayon::prelude::*;

use super::front::Front;

/// Columns that are eliminated at once in a front that is shared among threads.
const COLUMNS: usize = 128;

/// Rows and columns of tiles.
const TILE: usize = 192;

/// Fronts with fewer rows are not shared.
const LARGE: usize = 256;

pub(super) enum Failure {
    Pivot(usize),
    Memory,
}

/// Eliminates the columns of a front; the update is overwritten.
pub(super) fn factorize(
    front: &mut Front,
    width: usize,
    border: usize,
    is_shared: bool,
) -> Result<(), Failure> {
    let is_shared = is_shared && width + border >= LARGE;
    let mut panel = MatMut::from_column_major_slice_mut(&mut front.panel, width + border, width);
    let step = if is_shared { COLUMNS } else { width };
    let mut first = 0;
    while first < width {
        let columns = step.min(width - first);
        let (left, right) = panel.rb_mut().split_at_col_mut(first);
        let left = left.into_const().split_at_row(first).1;
        let current = right.split_at_row_mut(first).1.split_at_col_mut(columns).0;
        eliminate_columns(left, current, is_shared).map_err(|failure| failure.shifted(first))?;
        first += columns;
    }
    if border > 0 {
        let below = panel.into_const().split_at_row(width).1;
        let update = &mut front.update[..border * border];
        let update = MatMut::from_column_major_slice_mut(update, border, border);
        subtract_square(below, update, is_shared);
    }
    Ok(())
}

impl Failure {
    /// The same for columns that are counted from another one.
    fn shifted(self, first: usize) -> Failure {
        match self {
            Failure::Pivot(column) => Failure::Pivot(first + column),
            Failure::Memory => Failure::Memory,
        }
    }
}

/// Eliminates columns after those to the left of them, which are done; all from the diagonal of the columns down.
fn eliminate_columns(
    left: MatRef<'_, f64>,
    columns: MatMut<'_, f64>,
    is_shared: bool,
) -> Result<(), Failure> {
    let size = columns.ncols();
    let (mut top, bottom) = columns.split_at_row_mut(size);
    let (beside, left_below) = left.split_at_row(size);
    let mut tiles = row_tiles(bottom, left_below, is_shared);
    if left.ncols() > 0 {
        let subtract = |to: MatMut<'_, f64>, from: MatRef<'_, f64>| {
            matmul(to, Accum::Add, from, beside.transpose(), -1.0, Par::Seq);
        };
        subtract(top.rb_mut(), beside);
        each(&mut tiles, |(tile, left)| subtract(tile.rb_mut(), *left));
    }
    let request = llt::cholesky_in_place_scratch::<f64>(size, Par::Seq, Spec::default());
    let mut memory = MemBuffer::try_new(request).map_err(|_| Failure::Memory)?;
    let stack = MemStack::new(&mut memory);
    let none = Default::default();
    llt::cholesky_in_place(top.rb_mut(), none, Par::Seq, stack, Spec::default())
        .map_err(|llt::LltError::NonPositivePivot { index }| Failure::Pivot(index))?;
    // Entries near the largest number overflow to pivots that are positive but useless.
    if let Some(bad) = (0..size).find(|&k| !top[(k, k)].is_finite()) {
        return Err(Failure::Pivot(bad));
    }
    let top = top.into_const();
    each(&mut tiles, |(tile, _)| {
        solve_lower_triangular_in_place(top, tile.rb_mut().transpose_mut(), Par::Seq);
    });
    Ok(())
}

/// Rows of columns under their diagonal block, with what lies to the left of them.
type RowTile<'a> = (MatMut<'a, f64>, MatRef<'a, f64>);

/// Cuts rows into tiles; into one if it is not shared.
fn row_tiles<'a>(
    rows: MatMut<'a, f64>,
    left: MatRef<'a, f64>,
    is_shared: bool,
) -> Vec<RowTile<'a>> {
    let size = if is_shared { TILE } else { rows.nrows() };
    let (mut rows, mut left) = (rows, left);
    let mut tiles = Vec::new();
    while rows.nrows() > 0 {
        let height = size.min(rows.nrows());
        let (tile, below) = rows.split_at_row_mut(height);
        let (beside, left_below) = left.split_at_row(height);
        tiles.push((tile, beside));
        (rows, left) = (below, left_below);
    }
    tiles
}

/// Makes the lower triangle of the update `−L Lᵀ`.
fn subtract_square(l: MatRef<'_, f64>, update: MatMut<'_, f64>, is_shared: bool) {
    let size = if is_shared { TILE } else { l.nrows() };
    let mut tiles = Vec::new();
    let (mut columns_left, mut rows_left) = (update, l);
    while rows_left.nrows() > 0 {
        let count = size.min(rows_left.nrows());
        let (columns, right) = columns_left.split_at_col_mut(count);
        let (above, _) = rows_left.split_at_row(count);
        let rows = row_tiles(columns, rows_left, is_shared);
        tiles.extend(
            rows.into_iter()
                .enumerate()
                .map(|(k, tile)| (k == 0, tile, above)),
        );
        columns_left = right.split_at_row_mut(count).1;
        rows_left = rows_left.split_at_row(count).1;
    }
    each(&mut tiles, |(is_diagonal, (tile, beside), above)| {
        let kind = match is_diagonal {
            true => BlockStructure::TriangularLower,
            false => BlockStructure::Rectangular,
        };
        triangular::matmul(
            tile.rb_mut(),
            kind,
            Accum::Replace,
            *beside,
            BlockStructure::Rectangular,
            above.transpose(),
            BlockStructure::Rectangular,
            -1.0,
            Par::Seq,
        );
    });
}

/// Works on every tile: on this thread if there is only one.
fn each<T: Send>(tiles: &mut [T], work: impl Fn(&mut T) + Sync + Send) {
    match tiles {
        [] => {}
        [tile] => work(tile),
        tiles => tiles.par_iter_mut().for_each(work),
    }
}
