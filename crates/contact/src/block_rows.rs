//! Square matrices of 3×3 blocks in compressed row storage, not symmetric in general.
//!
//! Delassus operators from files are slightly unsymmetric, so both triangles are stored. A row
//! holds the influence of all contacts on one contact, in consecutive memory.

use glam::{DMat3, DVec3};
use rayon::prelude::*;

/// Smallest number of rows per parallel task; fewer rows cost less than the scheduling.
const MIN_ROWS_PER_TASK: usize = 256;

/// Square matrix of 3×3 blocks. Every row has its diagonal block; columns ascend.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BlockRows {
    starts: Vec<usize>,
    columns: Vec<u32>,
    blocks: Vec<DMat3>,
    diagonals: Vec<usize>,
}

impl BlockRows {
    /// Matrix from entries `(row, column, block)` in any order. Blocks at the same place are added
    /// in the given order.
    ///
    /// # Panics
    /// If a row or column of an entry is not below `rows`.
    pub fn new(rows: usize, entries: impl IntoIterator<Item = (u32, u32, DMat3)>) -> Self {
        let mut entries: Vec<_> = entries.into_iter().collect();
        entries.extend((0..rows as u32).map(|row| (row, row, DMat3::ZERO)));
        // A stable sort keeps the order of additions.
        entries.sort_by_key(|(row, column, _)| (*row, *column));
        let mut matrix = Self {
            starts: Vec::with_capacity(rows + 1),
            ..Self::default()
        };
        let mut previous = None;
        for (row, column, block) in entries {
            assert!(
                (row.max(column) as usize) < rows,
                "an entry in row {row} and column {column} of {rows}"
            );
            match matrix.blocks.last_mut() {
                Some(sum) if previous == Some((row, column)) => *sum += block,
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

    /// Number of rows, which is also that of columns.
    pub fn rows(&self) -> usize {
        self.diagonals.len()
    }

    /// Number of stored blocks.
    pub fn stored(&self) -> usize {
        self.blocks.len()
    }

    /// Columns and blocks of a row.
    pub fn row(&self, row: usize) -> (&[u32], &[DMat3]) {
        let range = self.starts[row]..self.starts[row + 1];
        (&self.columns[range.clone()], &self.blocks[range])
    }

    /// Diagonal block of a row.
    pub fn diagonal(&self, row: usize) -> &DMat3 {
        &self.blocks[self.diagonals[row]]
    }

    /// Mutable diagonal block of a row.
    pub fn diagonal_mut(&mut self, row: usize) -> &mut DMat3 {
        &mut self.blocks[self.diagonals[row]]
    }

    /// Product of a row with a vector.
    pub fn row_times(&self, row: usize, x: &[DVec3]) -> DVec3 {
        let (columns, blocks) = self.row(row);
        let products = columns.iter().zip(blocks);
        products.fold(DVec3::ZERO, |sum, (column, block)| {
            sum + *block * x[*column as usize]
        })
    }

    /// `y = W x`, in parallel over rows.
    ///
    /// # Panics
    /// If the length of a vector is not the number of rows.
    pub fn multiply(&self, x: &[DVec3], y: &mut [DVec3]) {
        assert!(x.len() == self.rows() && y.len() == self.rows());
        let rows = y.par_iter_mut().with_min_len(MIN_ROWS_PER_TASK).enumerate();
        rows.for_each(|(row, y)| *y = self.row_times(row, x));
    }

    /// First row with a block that is not finite.
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
        fn products_agree_with_sums_over_entries(
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
            // Sums of small integers are exact.
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
    fn empty_matrices_and_rows_are_valid() {
        assert_eq!(BlockRows::new(0, []).rows(), 0);
        let matrix = BlockRows::new(3, [(2, 0, DMat3::IDENTITY)]);
        assert_eq!(matrix.stored(), 4);
        assert_eq!(matrix.row_times(2, &[DVec3::X; 3]), DVec3::X);
        assert_eq!(matrix.row_times(1, &[DVec3::X; 3]), DVec3::ZERO);
    }
}
