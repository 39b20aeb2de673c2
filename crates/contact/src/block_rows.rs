//! Square matrices of 3×3 blocks, compressed by rows; not symmetric in general.
//!
//! Delassus operators from files are slightly unsymmetric, so both triangles are stored. A row is what one contact
//! sees of all others, and is read from memory in one stream.

use glam::{DMat3, DVec3};
use rayon::prelude::*;

/// Rows that a thread takes at a time: their products cost more than handing them over.
const CHUNK: usize = 256;

/// A square matrix of 3×3 blocks. Every row has its diagonal block, and columns ascend.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BlockRows {
    starts: Vec<usize>,
    columns: Vec<u32>,
    blocks: Vec<DMat3>,
    diagonals: Vec<usize>,
}

impl BlockRows {
    /// From entries `(row, column, block)` in any order; what is given twice is added in the order given.
    ///
    /// # Panics
    /// If an entry lies outside of `rows` rows and columns.
    pub fn new(rows: usize, entries: impl IntoIterator<Item = (u32, u32, DMat3)>) -> Self {
        let mut entries: Vec<_> = entries.into_iter().collect();
        entries.extend((0..rows as u32).map(|row| (row, row, DMat3::ZERO)));
        // Stable: sums of entries given twice do not depend on how they are sorted.
        entries.sort_by_key(|(row, column, _)| (*row, *column));
        let mut matrix = Self {
            starts: Vec::with_capacity(rows + 1),
            ..Self::default()
        };
        let mut previous = None;
        for (row, column, block) in entries {
            assert!((row.max(column) as usize) < rows, "an entry beyond {rows}");
            match (previous == Some((row, column)), matrix.blocks.last_mut()) {
                (true, Some(sum)) => *sum += block,
                _ => {
                    matrix.starts.resize(row as usize + 1, matrix.columns.len());
                    if row == column {
                        matrix.diagonals.push(matrix.columns.len());
                    }
                    matrix.columns.push(column);
                    matrix.blocks.push(block);
                }
            }
            previous = Some((row, column));
        }
        matrix.starts.resize(rows + 1, matrix.columns.len());
        matrix
    }

    /// Number of rows, and of columns.
    pub fn rows(&self) -> usize {
        self.diagonals.len()
    }

    /// Number of stored blocks.
    pub fn stored(&self) -> usize {
        self.blocks.len()
    }

    /// The columns and blocks of a row.
    pub fn row(&self, row: usize) -> (&[u32], &[DMat3]) {
        let range = self.starts[row]..self.starts[row + 1];
        (&self.columns[range.clone()], &self.blocks[range])
    }

    /// The block on the diagonal.
    pub fn diagonal(&self, row: usize) -> &DMat3 {
        &self.blocks[self.diagonals[row]]
    }

    /// The block on the diagonal, to change it.
    pub fn diagonal_mut(&mut self, row: usize) -> &mut DMat3 {
        &mut self.blocks[self.diagonals[row]]
    }

    /// A row times a vector.
    pub fn row_times(&self, row: usize, x: &[DVec3]) -> DVec3 {
        let (columns, blocks) = self.row(row);
        let products = columns.iter().zip(blocks);
        products.fold(DVec3::ZERO, |sum, (column, block)| {
            sum + *block * x[*column as usize]
        })
    }

    /// `y = W x`, in parallel; each row is summed in its order.
    ///
    /// # Panics
    /// If a vector has another length than there are rows.
    pub fn multiply(&self, x: &[DVec3], y: &mut [DVec3]) {
        assert!(x.len() == self.rows() && y.len() == self.rows());
        let rows = y.par_iter_mut().with_min_len(CHUNK).enumerate();
        rows.for_each(|(row, y)| *y = self.row_times(row, x));
    }

    /// The first row whose blocks are not all finite.
    pub fn first_not_finite(&self) -> Option<usize> {
        (0..self.rows()).find(|row| !self.row(*row).1.iter().all(DMat3::is_finite))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn products_are_those_of_the_entries(
            entries in prop::collection::vec((0u32..9, 0u32..9, any::<[i8; 9]>()), 0..60),
        ) {
            let block = |e: &[i8; 9]| DMat3::from_cols_array(&e.map(f64::from));
            let given = entries.iter().map(|(row, column, e)| (*row, *column, block(e)));
            let matrix = BlockRows::new(9, given.clone());
            let x: Vec<DVec3> = (0..9).map(|i| DVec3::new(f64::from(i), 1.0, -2.0)).collect();
            let mut wanted = [DVec3::ZERO; 9];
            for (row, column, block) in given {
                wanted[row as usize] += block * x[column as usize];
            }
            let mut y = vec![DVec3::NAN; 9];
            matrix.multiply(&x, &mut y);
            // Small whole numbers: sums are exact.
            prop_assert_eq!(&y[..], &wanted[..]);
            for row in 0..9 {
                let (columns, _) = matrix.row(row);
                prop_assert!(columns.windows(2).all(|pair| pair[0] < pair[1]));
                let place = columns.iter().position(|column| *column as usize == row);
                prop_assert_eq!(matrix.row(row).1[place.unwrap()], *matrix.diagonal(row));
            }
        }
    }

    #[test]
    fn no_rows_and_empty_rows_are_fine() {
        assert_eq!(BlockRows::new(0, []).rows(), 0);
        let matrix = BlockRows::new(3, [(2, 0, DMat3::IDENTITY)]);
        assert_eq!(matrix.stored(), 4);
        assert_eq!(matrix.row_times(2, &[DVec3::X; 3]), DVec3::X);
        assert_eq!(matrix.row_times(1, &[DVec3::X; 3]), DVec3::ZERO);
    }
}
