//! Dense factorization of a front: `L₁₁ L₁₁ᵀ = F₁₁`, `L₂₁ = F₂₁ L₁₁⁻ᵀ`, update `−L₂₁ L₂₁ᵀ`.
//!
//! Large fronts are divided into tiles that threads process in parallel. Each tile is one product
//! on one thread, so the result does not depend on the number of threads. The parallel kernels of
//! faer are not used: their threads synchronize by spinning, which is slow on a loaded machine, and
//! they leave threads idle while a neighbouring front is factorized.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor as llt;
use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::prelude::{IntoConst, ReborrowMut};
use faer::{Accum, MatMut, MatRef, Par, Spec};
use rayon::prelude::*;

/// Columns per elimination step in a front that is shared among threads.
const PANEL_COLUMNS: usize = 128;

/// Rows and columns of a tile.
const TILE_SIZE: usize = 192;

/// Fronts with fewer rows are not shared among threads.
const MIN_SHARED_ROWS: usize = 256;

/// Failure of the factorization of a front.
pub(super) enum FrontError {
    /// The pivot of this column is not positive and finite.
    Pivot(usize),
    /// Memory runs out.
    Memory,
}

/// Factorizes the `width` columns of a front with `border` rows below them, and overwrites
/// `update`. Both are column-major.
pub(super) fn factorize(
    panel: &mut [f64],
    update: &mut [f64],
    width: usize,
    border: usize,
    is_shared: bool,
) -> Result<(), FrontError> {
    let is_shared = is_shared && width + border >= MIN_SHARED_ROWS;
    let mut panel = MatMut::from_column_major_slice_mut(panel, width + border, width);
    let step = if is_shared { PANEL_COLUMNS } else { width };
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
        let update = &mut update[..border * border];
        let update = MatMut::from_column_major_slice_mut(update, border, border);
        subtract_square(below, update, is_shared);
    }
    Ok(())
}

impl FrontError {
    /// The error with column indices shifted by `first`.
    fn shifted(self, first: usize) -> FrontError {
        match self {
            FrontError::Pivot(column) => FrontError::Pivot(first + column),
            FrontError::Memory => FrontError::Memory,
        }
    }
}

/// Factorizes columns after the columns to the left of them. Both start at the row of the first
/// diagonal entry.
fn eliminate_columns(
    left: MatRef<'_, f64>,
    columns: MatMut<'_, f64>,
    is_shared: bool,
) -> Result<(), FrontError> {
    let size = columns.ncols();
    let (mut top, bottom) = columns.split_at_row_mut(size);
    let (beside, left_below) = left.split_at_row(size);
    let mut tiles = row_tiles(bottom, left_below, is_shared);
    if left.ncols() > 0 {
        let subtract = |to: MatMut<'_, f64>, from: MatRef<'_, f64>| {
            matmul(to, Accum::Add, from, beside.transpose(), -1.0, Par::Seq);
        };
        subtract(top.rb_mut(), beside);
        for_each_tile(&mut tiles, |(tile, left)| subtract(tile.rb_mut(), *left));
    }
    let request = llt::cholesky_in_place_scratch::<f64>(size, Par::Seq, Spec::default());
    let mut memory = MemBuffer::try_new(request).map_err(|_| FrontError::Memory)?;
    let stack = MemStack::new(&mut memory);
    let none = Default::default();
    llt::cholesky_in_place(top.rb_mut(), none, Par::Seq, stack, Spec::default())
        .map_err(|llt::LltError::NonPositivePivot { index }| FrontError::Pivot(index))?;
    // Entries near the largest `f64` can overflow to infinite pivots.
    if let Some(bad) = (0..size).find(|&k| !top[(k, k)].is_finite()) {
        return Err(FrontError::Pivot(bad));
    }
    let top = top.into_const();
    for_each_tile(&mut tiles, |(tile, _)| {
        solve_lower_triangular_in_place(top, tile.rb_mut().transpose_mut(), Par::Seq);
    });
    Ok(())
}

/// A tile below the diagonal block, and the columns to the left of it.
type RowTile<'a> = (MatMut<'a, f64>, MatRef<'a, f64>);

/// Divides rows into tiles; a single tile if the front is not shared.
fn row_tiles<'a>(
    rows: MatMut<'a, f64>,
    left: MatRef<'a, f64>,
    is_shared: bool,
) -> Vec<RowTile<'a>> {
    let size = if is_shared { TILE_SIZE } else { rows.nrows() };
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

/// Sets the lower triangle of the update to `−L Lᵀ`.
fn subtract_square(l: MatRef<'_, f64>, update: MatMut<'_, f64>, is_shared: bool) {
    let size = if is_shared { TILE_SIZE } else { l.nrows() };
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
    for_each_tile(&mut tiles, |(is_diagonal, (tile, beside), above)| {
        let kind = if *is_diagonal {
            BlockStructure::TriangularLower
        } else {
            BlockStructure::Rectangular
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

/// Calls a function for every tile, in parallel if there are several.
fn for_each_tile<T: Send>(tiles: &mut [T], work: impl Fn(&mut T) + Sync + Send) {
    match tiles {
        [] => {}
        [tile] => work(tile),
        tiles => tiles.par_iter_mut().for_each(work),
    }
}
