//! Sparse scalar matrices of any shape in compressed row storage.
//!
//! They are for problems from files, whose unknowns are not grouped in nodes; some are rotations.
//! Each product is computed once per problem, so simplicity matters more than speed.

/// Sparse matrix. Columns ascend in every row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SparseRows {
    columns: usize,
    starts: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<f64>,
}

impl SparseRows {
    /// Matrix of a shape (rows, columns) from entries `(row, column, value)` in any order. Entries
    /// at the same place are added in the given order.
    ///
    /// # Panics
    /// If an entry is outside the shape.
    pub fn new(shape: [usize; 2], entries: impl IntoIterator<Item = (u32, u32, f64)>) -> Self {
        let [rows, columns] = shape;
        let mut entries: Vec<_> = entries.into_iter().collect();
        // A stable sort keeps the order of additions.
        entries.sort_by_key(|(row, column, _)| (*row, *column));
        let mut matrix = Self {
            columns,
            starts: Vec::with_capacity(rows + 1),
            ..Self::default()
        };
        let mut previous = None;
        for (row, column, value) in entries {
            assert!(
                (row as usize) < rows && (column as usize) < columns,
                "an entry in row {row} and column {column} of {rows} × {columns}"
            );
            match matrix.values.last_mut() {
                Some(sum) if previous == Some((row, column)) => *sum += value,
                _ => {
                    matrix.starts.resize(row as usize + 1, matrix.values.len());
                    matrix.indices.push(column);
                    matrix.values.push(value);
                }
            }
            previous = Some((row, column));
        }
        matrix.starts.resize(rows + 1, matrix.values.len());
        matrix
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Number of stored entries.
    pub fn stored(&self) -> usize {
        self.values.len()
    }

    /// Columns and values of a row.
    pub fn row(&self, row: usize) -> (&[u32], &[f64]) {
        let range = self.starts[row]..self.starts[row + 1];
        (&self.indices[range.clone()], &self.values[range])
    }

    /// All entries `(row, column, value)`, row by row.
    pub fn entries(&self) -> impl Iterator<Item = (u32, u32, f64)> {
        (0..self.rows()).flat_map(|row| {
            let (columns, values) = self.row(row);
            let pairs = columns.iter().zip(values);
            pairs.map(move |(column, value)| (row as u32, *column, *value))
        })
    }

    /// A x.
    ///
    /// # Panics
    /// If `x` is shorter than there are columns.
    pub fn times(&self, x: &[f64]) -> Vec<f64> {
        let product = |row: usize| {
            let (columns, values) = self.row(row);
            let pairs = columns.iter().zip(values);
            pairs
                .map(|(column, value)| value * x[*column as usize])
                .sum()
        };
        (0..self.rows()).map(product).collect()
    }

    /// Aᵀ x.
    ///
    /// # Panics
    /// If `x` is shorter than there are rows.
    pub fn transposed_times(&self, x: &[f64]) -> Vec<f64> {
        let mut product = vec![0.0; self.columns];
        for (row, column, value) in self.entries() {
            product[column as usize] += value * x[row as usize];
        }
        product
    }

    /// Row of the first entry that is not finite.
    pub fn first_not_finite(&self) -> Option<usize> {
        let mut entries = self.entries();
        let found = entries.find(|(_, _, value)| !value.is_finite())?;
        Some(found.0 as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn products_agree_with_sums_over_entries(
            entries in prop::collection::vec((0u32..5, 0u32..7, any::<i8>()), 0..60),
        ) {
            let entries: Vec<_> = entries
                .into_iter()
                .map(|(row, column, value)| (row, column, f64::from(value)))
                .collect();
            let matrix = SparseRows::new([5, 7], entries.iter().copied());
            let x: Vec<f64> = (0..7).map(|i| f64::from(i) - 2.0).collect();
            let [mut product, mut transposed] = [vec![0.0; 5], vec![0.0; 7]];
            for (row, column, value) in entries {
                product[row as usize] += value * x[column as usize];
                transposed[column as usize] += value * x[row as usize];
            }
            // Sums of small integers are exact.
            prop_assert_eq!(matrix.times(&x), product);
            prop_assert_eq!(matrix.transposed_times(&x), transposed);
            prop_assert_eq!(&SparseRows::new([5, 7], matrix.entries()), &matrix);
        }
    }

    #[test]
    fn empty_matrices_are_valid() {
        assert_eq!(SparseRows::default().rows(), 0);
        let matrix = SparseRows::new([2, 0], []);
        assert_eq!(matrix.times(&[]), [0.0, 0.0]);
        assert_eq!(matrix.first_not_finite(), None);
        let nan = SparseRows::new([2, 1], [(1, 0, f64::NAN)]);
        assert_eq!(nan.first_not_finite(), Some(1));
    }
}
