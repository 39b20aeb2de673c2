use super::*;
use proptest::prelude::*;

/// Numbers in [−1, 1] that depend on the seed.
fn numbers(seed: u64, count: usize) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let next = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    (0..count).map(next).collect()
}

/// The unknowns of the elements of a rod, as a caller counts them.
fn elements(vertices: usize, is_closed: bool) -> Vec<Vec<usize>> {
    let size = BandedLayout::rod(vertices, is_closed).size();
    match is_closed {
        true => (0..vertices)
            .map(|vertex| {
                (0..ELEMENT)
                    .map(|place| (4 * vertex + place) % size)
                    .collect()
            })
            .collect(),
        false => (0..vertices.saturating_sub(2).max(1))
            .map(|vertex| (4 * vertex..size.min(4 * vertex + ELEMENT)).collect())
            .collect(),
    }
}

/// Positive definite matrices as elements make them: a small diagonal and g gᵀ for random g.
fn random_batch(vertices: usize, is_closed: bool, count: usize, seed: u64) -> BandedBatch {
    let mut batch = BandedBatch::zeros(BandedLayout::rod(vertices, is_closed), count);
    let size = batch.layout().size();
    for matrix in 0..count {
        for (index, element) in elements(vertices, is_closed).into_iter().enumerate() {
            let g = numbers(seed + (matrix * 1000 + index) as u64, element.len());
            for i in 0..element.len() {
                for j in 0..=i {
                    batch.add(matrix, element[i], element[j], g[i] * g[j]);
                }
            }
        }
    }
    let diagonal: Vec<f64> = numbers(seed + 7, count * size)
        .iter()
        .map(|value| 0.3 + 0.2 * value)
        .collect();
    batch.add_diagonal(&diagonal);
    batch
}

fn dense(batch: &BandedBatch, matrix: usize) -> Vec<Vec<f64>> {
    let size = batch.layout().size();
    (0..size)
        .map(|row| {
            (0..size)
                .map(|column| batch.get(matrix, row, column))
                .collect()
        })
        .collect()
}

/// A⁻¹ b by a textbook Cholesky factorization.
fn dense_solve(mut a: Vec<Vec<f64>>, b: &[f64]) -> Vec<f64> {
    let n = b.len();
    for column in 0..n {
        for row in column..n {
            let sum: f64 = (0..column).map(|k| a[row][k] * a[column][k]).sum();
            let reduced = a[row][column] - sum;
            a[row][column] = match row == column {
                true => reduced.sqrt(),
                false => reduced / a[column][column],
            };
        }
    }
    let mut x = b.to_vec();
    for row in 0..n {
        let sum: f64 = (0..row).map(|k| a[row][k] * x[k]).sum();
        x[row] = (x[row] - sum) / a[row][row];
    }
    for row in (0..n).rev() {
        let sum: f64 = (row + 1..n).map(|k| a[k][row] * x[k]).sum();
        x[row] = (x[row] - sum) / a[row][row];
    }
    x
}

const SHAPES: [(usize, bool); 13] = [
    (2, false),
    (3, false),
    (4, false),
    (5, false),
    (12, false),
    (30, false),
    (3, true),
    (4, true),
    (5, true),
    (6, true),
    (7, true),
    (13, true),
    (30, true),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn solves_like_a_dense_factorization(shape in 0..SHAPES.len(), count in 1..10usize, seed in 0..1_000_000u64) {
        let (vertices, is_closed) = SHAPES[shape];
        let batch = random_batch(vertices, is_closed, count, seed);
        let size = batch.layout().size();
        let right = numbers(seed + 3, count * size);
        let mut factor = BandedFactor::new(batch.layout().clone(), count);
        factor.factorize(&batch).unwrap();
        let mut solved = right.clone();
        factor.solve_in_place(&mut solved);
        for matrix in 0..count {
            let range = matrix * size..(matrix + 1) * size;
            let known = dense_solve(dense(&batch, matrix), &right[range.clone()]);
            // The diagonal bounds the condition by about 1000, so errors stay below 1e-12.
            for (found, known) in solved[range].iter().zip(&known) {
                prop_assert!((found - known).abs() < 1e-11, "{found} {known}");
            }
        }
        let mut back = vec![f64::NAN; right.len()];
        batch.multiply(&solved, &mut back);
        for (found, known) in back.iter().zip(&right) {
            prop_assert!((found - known).abs() < 1e-11, "{found} {known}");
        }
    }

    #[test]
    fn the_diagonal_of_the_inverse_is_what_unit_vectors_give(shape in 0..SHAPES.len(), count in 1..6usize, seed in 0..1_000_000u64) {
        let (vertices, is_closed) = SHAPES[shape];
        let batch = random_batch(vertices, is_closed, count, seed);
        let mut factor = BandedFactor::new(batch.layout().clone(), count);
        factor.factorize(&batch).unwrap();
        let diagonals = factor.inverse_diagonals();
        let size = batch.layout().size();
        for unknown in 0..size {
            let mut unit = vec![0.0; count * size];
            unit.iter_mut().skip(unknown).step_by(size).for_each(|entry| *entry = 1.0);
            factor.solve_in_place(&mut unit);
            for at in (unknown..count * size).step_by(size) {
                prop_assert!((diagonals[at] - unit[at]).abs() < 1e-9 * unit[at], "{} {}", diagonals[at], unit[at]);
            }
        }
    }

    #[test]
    fn held_unknowns_are_isolated(shape in 0..SHAPES.len(), count in 1..6usize, seed in 0..1_000_000u64) {
        let (vertices, is_closed) = SHAPES[shape];
        let mut batch = random_batch(vertices, is_closed, count, seed);
        let before = batch.clone();
        let size = batch.layout().size();
        let held: Vec<bool> = numbers(seed + 5, count * size).iter().map(|value| *value > 0.6).collect();
        batch.isolate(&held, 2.5);
        for matrix in 0..count {
            let held = &held[matrix * size..(matrix + 1) * size];
            for row in 0..size {
                for column in 0..size {
                    let known = match (held[row] || held[column], row == column) {
                        (true, true) => 2.5,
                        (true, false) => 0.0,
                        (false, _) => before.get(matrix, row, column),
                    };
                    prop_assert_eq!(batch.get(matrix, row, column), known);
                }
            }
        }
    }
}

#[test]
fn bands_are_as_narrow_as_said() {
    for (vertices, is_closed) in SHAPES {
        let layout = BandedLayout::rod(vertices, is_closed);
        let most = if is_closed { 18 } else { 10 };
        assert_eq!(layout.size(), 4 * vertices - usize::from(!is_closed));
        assert_eq!(
            layout.bandwidth(),
            most.min(layout.size() - 1),
            "{vertices} {is_closed}"
        );
        if let Some(order) = layout.order() {
            let mut sorted = order.to_vec();
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(0..layout.size() as u32));
        }
        for element in elements(vertices, is_closed) {
            for (i, j) in element
                .iter()
                .flat_map(|i| element.iter().map(move |j| (*i, *j)))
            {
                assert!(layout.row(i).abs_diff(layout.row(j)) <= layout.bandwidth());
            }
        }
    }
    // An entry is four lanes of eight bytes; four rods of 30 vertices share them.
    assert_eq!(BandedLayout::rod(30, false).entries() * 8, 119 * 11 * 8);
    assert_eq!(BandedLayout::rod(30, true).entries() * 8, 120 * 19 * 8);
}

#[test]
fn a_matrix_without_a_factor_is_named() {
    for (vertices, is_closed) in SHAPES {
        for (rod, unknown) in [(0, 0), (4, 3), (2, 5)] {
            for bad in [-5000.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                let mut batch = random_batch(vertices, is_closed, 6, 1);
                batch.add(rod, unknown, unknown, bad);
                let mut factor = BandedFactor::new(batch.layout().clone(), 6);
                assert_eq!(
                    factor.factorize(&batch),
                    Err(NotPositiveDefinite { rod, unknown })
                );
            }
        }
        // Zero is not positive; the padding must not be blamed.
        let zero = BandedBatch::zeros(BandedLayout::rod(vertices, is_closed), 3);
        let mut factor = BandedFactor::new(zero.layout().clone(), 3);
        let first = if is_closed { 4 * vertices - 1 } else { 0 };
        assert_eq!(
            factor.factorize(&zero),
            Err(NotPositiveDefinite {
                rod: 0,
                unknown: first
            })
        );
    }
}

#[test]
fn padding_survives_and_nothing_is_allowed() {
    let mut batch = random_batch(5, false, 5, 9);
    batch.clear();
    assert_eq!(batch, BandedBatch::zeros(BandedLayout::rod(5, false), 5));
    batch.add_diagonal(&vec![1.0; 5 * 19]);
    let mut other = random_batch(5, false, 5, 9);
    other.set_diagonal(&vec![1.0; 5 * 19]);
    assert_eq!(batch, other);
    let mut factor = BandedFactor::new(batch.layout().clone(), 5);
    assert_eq!(factor.factorize(&batch), Ok(()));
    for (vertices, is_closed, count) in [(5, false, 0), (0, false, 3), (0, true, 3), (1, true, 1)] {
        let mut batch = BandedBatch::zeros(BandedLayout::rod(vertices, is_closed), count);
        let length = count * batch.layout().size();
        batch.clear();
        batch.add_diagonal(&vec![1.0; length]);
        batch.isolate(&vec![false; length], 1.0);
        let mut factor = BandedFactor::new(batch.layout().clone(), count);
        assert_eq!(factor.factorize(&batch), Ok(()));
        let mut vector = vec![1.0; length];
        factor.solve_in_place(&mut vector);
        assert_eq!(vector, vec![1.0; length]);
        batch.multiply(&vector.clone(), &mut vector);
    }
}

/// What a number of threads computes.
fn with_threads(threads: usize, batch: &BandedBatch, right: &[f64]) -> (Vec<u64>, Vec<u64>) {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .unwrap();
    pool.install(|| {
        let mut factor = BandedFactor::new(batch.layout().clone(), batch.count());
        factor.factorize(batch).unwrap();
        let mut solved = right.to_vec();
        factor.solve_in_place(&mut solved);
        let mut product = vec![0.0; right.len()];
        batch.multiply(right, &mut product);
        let bits = |values: Vec<f64>| values.into_iter().map(f64::to_bits).collect();
        (bits(solved), bits(product))
    })
}

#[test]
fn the_bits_do_not_depend_on_the_threads() {
    for is_closed in [false, true] {
        let batch = random_batch(20, is_closed, 131, 4);
        let right = numbers(11, 131 * batch.layout().size());
        let one = with_threads(1, &batch, &right);
        assert_eq!(one, with_threads(2, &batch, &right));
        assert_eq!(one, with_threads(3, &batch, &right));
    }
}

#[test]
fn vector_instructions_give_the_bits_of_the_plain_ones() {
    use crate::lanes::Kernel;
    for (vertices, is_closed) in SHAPES {
        let batch = random_batch(vertices, is_closed, 4, 8);
        let bandwidth = batch.layout().bandwidth();
        let mut factor = BandedFactor::new(batch.layout().clone(), 4);
        factor.factorize(&batch).unwrap();
        let mut plain = factor.entries.clone();
        kernel::Factorize {
            matrix: &batch.entries,
            factor: &mut plain,
            bandwidth,
        }
        .run();
        assert_eq!(plain, factor.entries);
    }
}

#[test]
fn bands_give_the_matrices_back() {
    for layout in [BandedLayout::rod(4, false), BandedLayout::rod(5, true)] {
        let mut batch = BandedBatch::zeros(layout.clone(), 6);
        for matrix in 0..6 {
            for unknown in 0..layout.size() {
                batch.add(matrix, unknown, unknown, (matrix * 100 + unknown) as f64);
            }
            batch.add(matrix, 0, 1, -0.5);
        }
        let bands = batch.bands();
        assert_eq!(bands.len(), 6 * layout.size() * (layout.bandwidth() + 1));
        let back = BandedBatch::from_bands(layout.clone(), 6, &bands);
        assert_eq!(back.as_ref(), Some(&batch));
        assert_eq!(BandedBatch::from_bands(layout, 5, &bands), None);
    }
}
