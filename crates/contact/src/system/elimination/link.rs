//! Dense matrices of one leaf, with the symbols of [`super`].

use super::plan::Leaf;
use crate::dense_lu::DenseLu;
use crate::system::System;

/// Coupling of a condensed leaf to its host.
#[derive(Debug, Default)]
pub(super) struct Link {
    /// V, row-major.
    to_host: Vec<f64>,
    /// U, column-major; empty if zero.
    to_itself: Vec<f64>,
}

impl Link {
    /// Vᵀ Pᵀ y.
    pub(super) fn pull(&self, leaf: &Leaf, y: &[f64], pull: &mut [f64]) {
        let rows = self.to_host.chunks_exact(pull.len().max(1));
        for (row, y) in rows.zip(values(&leaf.tied, y)) {
            add(pull, *y, row);
        }
    }

    /// U Pᵀ y + V x, where `solution` contains y and x.
    pub(super) fn push(&self, leaf: &Leaf, solution: &[f64], push: &mut [f64]) {
        let columns = self.to_itself.chunks_exact(push.len().max(1));
        for (column, y) in columns.zip(values(&leaf.tied, solution)) {
            add(push, *y, column);
        }
        let rows = self.to_host.chunks_exact((3 * leaf.anchors.len()).max(1));
        for (push, row) in push.iter_mut().zip(rows) {
            let products = row.iter().zip(values(&leaf.anchors, solution));
            *push += products.map(|(v, x)| v * x).sum::<f64>();
        }
    }
}

/// U and V of a leaf, and the row-major matrix Vᵀ G R: the blocks of its lower triangle, with zeros
/// above.
pub(super) fn condense(system: &System, leaf: &Leaf, inverse: &[f64]) -> Option<(Link, Vec<f64>)> {
    let (size, width) = (3 * leaf.tied.len(), 3 * leaf.anchors.len());
    let (own, to_host) = blocks(system, leaf);
    // G R, row-major.
    let mut inverse_times_r = vec![0.0; size * width];
    for (row, product) in inverse_times_r.chunks_exact_mut(width.max(1)).enumerate() {
        for (k, r) in to_host.chunks_exact(width).enumerate() {
            add(product, inverse[row * size + k], r);
        }
    }
    let link = if own.iter().all(|entry| *entry == 0.0) {
        Link {
            to_host,
            to_itself: Vec::new(),
        }
    } else {
        link(size, &own, &to_host, inverse)?
    };
    let mut schur_term = vec![0.0; width * width];
    for (row, sum) in schur_term.chunks_exact_mut(width.max(1)).enumerate() {
        let lower = 3 * (row / 3 + 1);
        let rows = link.to_host.chunks_exact(width);
        for (v, product) in rows.zip(inverse_times_r.chunks_exact(width)) {
            add(&mut sum[..lower], v[row], &product[..lower]);
        }
    }
    Some((link, schur_term))
}

/// E, and the row-major matrix R.
fn blocks(system: &System, leaf: &Leaf) -> (Vec<f64>, Vec<f64>) {
    let (size, width) = (3 * leaf.tied.len(), 3 * leaf.anchors.len());
    let (mut own, mut to_host) = (vec![0.0; size * size], vec![0.0; size * width]);
    for coupling in &leaf.couplings {
        for ([row, column], block) in system.coupling_blocks(&system.couplings[*coupling]) {
            let Ok(row) = leaf.tied.binary_search(&row) else {
                continue;
            };
            let among = |offsets: &[usize]| offsets.binary_search(&column).ok();
            let (to, width, column) = match (among(&leaf.tied), among(&leaf.anchors)) {
                (Some(column), _) => (&mut own, size, column),
                (None, Some(column)) => (&mut to_host, width, column),
                (None, None) => continue,
            };
            for (r, c) in (0..3).flat_map(|r| (0..3).map(move |c| (r, c))) {
                to[(3 * row + r) * width + 3 * column + c] += block.col(c)[r];
            }
        }
    }
    (own, to_host)
}

/// Solves (I + E G) [V U] = [R E].
fn link(size: usize, own: &[f64], to_host: &[f64], inverse: &[f64]) -> Option<Link> {
    let mut matrix = vec![0.0; size * size];
    for (place, matrix) in matrix.chunks_exact_mut(size).enumerate() {
        let column = &inverse[place * size..][..size];
        for (own, g) in own.chunks_exact(size).zip(column) {
            add(matrix, *g, own);
        }
        matrix[place] += 1.0;
    }
    let mut right = transposed(size, to_host);
    right.extend_from_slice(own);
    DenseLu::new(size, matrix)?.solve_in_place(&mut right)?;
    let is_finite = right.iter().all(|entry| entry.is_finite());
    let to_itself = right.split_off(to_host.len());
    let to_host = transposed(right.len() / size, &right);
    is_finite.then_some(Link { to_host, to_itself })
}

/// Transpose of a row-major matrix.
fn transposed(rows: usize, matrix: &[f64]) -> Vec<f64> {
    let columns = matrix.len() / rows.max(1);
    let places = (0..matrix.len()).map(|place| place % rows * columns + place / rows);
    places.map(|place| matrix[place]).collect()
}

/// Components of a vector at the nodes with these offsets.
fn values<'a>(offsets: &'a [usize], vector: &'a [f64]) -> impl Iterator<Item = &'a f64> {
    offsets
        .iter()
        .flat_map(|offset| &vector[*offset..*offset + 3])
}

/// `to += scale x`.
pub(super) fn add(to: &mut [f64], scale: f64, x: &[f64]) {
    for (to, x) in to.iter_mut().zip(x) {
        *to += scale * x;
    }
}
