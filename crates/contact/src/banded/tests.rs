use super::layout::UNKNOWNS_PER_ELEMENT;
use super::*;
use crate::random::Random;
use proptest::prelude::*;

/// Random numbers in [−1, 1).
fn numbers(seed: u64, count: usize) -> Vec<f64> {
    let mut random = Random::new(seed);
    (0..count).map(|_| random.signed()).collect()
}

/// Unknowns of the elements of a rod, in public order.
fn elements(vertices: usize, is_closed: bool) -> Vec<Vec<usize>> {
    let size = BandedLayout::rod(vertices, is_closed).size();
    if is_closed {
        (0..vertices)
            .map(|vertex| {
                (0..UNKNOWNS_PER_ELEMENT)
                    .map(|place| (4 * vertex + place) % size)
                    .collect()
            })
            .collect()
    } else {
        (0..vertices.saturating_sub(2).max(1))
            .map(|vertex| (4 * vertex..size.min(4 * vertex + UNKNOWNS_PER_ELEMENT)).collect())
            .collect()
    }
}

/// Positive definite matrices: a small diagonal, plus g gᵀ with random g for every element.
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
            a[row][column] = if row == column {
                reduced.sqrt()
            } else {
                reduced / a[column][column]
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
    fn solutions_agree_with_a_dense_factorization(
        shape in 0..SHAPES.len(),
        count in 1..10usize,
        seed in 0..1_000_000u64,
    ) {
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
    fn inverse_diagonals_agree_with_solves_of_unit_vectors(
        shape in 0..SHAPES.len(),
        count in 1..6usize,
        seed in 0..1_000_000u64,
    ) {
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
                let (found, known) = (diagonals[at], unit[at]);
                prop_assert!((found - known).abs() < 1e-9 * known, "{found} {known}");
            }
        }
    }

    #[test]
    fn held_unknowns_are_isolated(
        shape in 0..SHAPES.len(),
        count in 1..6usize,
        seed in 0..1_000_000u64,
    ) {
        let (vertices, is_closed) = SHAPES[shape];
        let mut batch = random_batch(vertices, is_closed, count, seed);
        let before = batch.clone();
        let size = batch.layout().size();
        let numbers = numbers(seed + 5, count * size);
        let held: Vec<bool> = numbers.iter().map(|value| *value > 0.6).collect();
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
fn bandwidths_of_rods_are_10_and_18() {
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
    // Bytes per rod of 30 vertices: an entry has eight bytes for each of four rods.
    assert_eq!(BandedLayout::rod(30, false).entries() * 8, 119 * 11 * 8);
    assert_eq!(BandedLayout::rod(30, true).entries() * 8, 120 * 19 * 8);
}

#[test]
fn the_first_failing_rod_and_unknown_are_reported() {
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
        // Zero is not positive definite. The padding is, and must not be reported.
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
fn padding_is_kept_and_empty_batches_are_valid() {
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

/// Solution and product, computed with a number of threads.
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
fn results_do_not_depend_on_the_number_of_threads() {
    for is_closed in [false, true] {
        let batch = random_batch(20, is_closed, 131, 4);
        let right = numbers(11, 131 * batch.layout().size());
        let one = with_threads(1, &batch, &right);
        assert_eq!(one, with_threads(2, &batch, &right));
        assert_eq!(one, with_threads(3, &batch, &right));
    }
}

#[test]
fn vector_and_scalar_instructions_have_the_same_bits() {
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
fn matrices_survive_a_round_trip_through_their_bands() {
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
