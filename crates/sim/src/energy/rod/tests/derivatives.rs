use super::super::super::check::eigenvalues;
use super::*;
use proptest::prelude::*;

/// Central difference of `function` by one unknown.
fn slope<T>(case: &Case, unknown: usize, step: f64, function: impl Fn(&Case) -> T) -> [T; 2] {
    [step, -step].map(|step| {
        let mut moved = case.clone();
        *moved.unknown_mut(unknown) += step;
        function(&moved)
    })
}

fn is_angle(case: &Case, unknown: usize) -> bool {
    unknown % case.shape.unknowns() % 4 == 3
}

/// Step of finite differences for an unknown: edges are about 0.01 long.
fn step(case: &Case, unknown: usize) -> f64 {
    if is_angle(case, unknown) { 1e-4 } else { 1e-7 }
}

/// Scale of an unknown that makes forces and torques comparable.
fn size(case: &Case, unknown: usize) -> f64 {
    if is_angle(case, unknown) { 1.0 } else { 0.01 }
}

fn check_gradient(case: &Case) {
    let gradient = case.gradient();
    let scaled = |unknown: usize, value: f64| value * size(case, unknown);
    let largest = (0..gradient.len())
        .map(|unknown| scaled(unknown, gradient[unknown]).abs())
        .fold(0.0, f64::max);
    for unknown in 0..gradient.len() {
        let step = step(case, unknown);
        let [ahead, behind] = slope(case, unknown, step, Case::value);
        let found = (ahead - behind) / (2.0 * step);
        let error = scaled(unknown, found - gradient[unknown]).abs();
        assert!(
            error < 1e-6 * largest,
            "{:?} unknown {unknown}: {} but the value changes by {found}",
            case.shape,
            gradient[unknown]
        );
    }
}

/// Columns of the exact second derivative.
fn exact(case: &Case) -> Vec<Vec<f64>> {
    let column = |unknown: usize| {
        let mut direction = vec![0.0; case.unknowns()];
        direction[unknown] = 1.0;
        let mut product = vec![f64::NAN; case.unknowns()];
        case.rods()
            .hessian_product(&case.pose(), &direction, &mut product);
        product
    };
    (0..case.unknowns()).map(column).collect()
}

/// Columns of the matrix for solves.
fn matrix(case: &Case, scales: [f64; 3]) -> Vec<Vec<f64>> {
    let rods = case.rods();
    let mut matrix = BandedBatch::zeros(rods.layout(), case.shape.count);
    let mut gradient = vec![f64::NAN; case.unknowns()];
    let value = rods.linearize(&case.pose(), scales, &mut matrix, &mut gradient);
    assert_eq!(gradient, case.gradient());
    assert_eq!(value, case.value());
    let column = |unknown: usize| {
        let mut direction = vec![0.0; case.unknowns()];
        direction[unknown] = 1.0;
        let mut product = vec![f64::NAN; case.unknowns()];
        matrix.multiply(&direction, &mut product);
        product
    };
    (0..case.unknowns()).map(column).collect()
}

/// Asserts that two matrices agree, with entries scaled by their unknowns.
fn assert_close(case: &Case, found: &[Vec<f64>], known: &[Vec<f64>], tolerance: f64) {
    let scaled = |a: usize, b: usize, value: f64| value * size(case, a) * size(case, b);
    let count = case.unknowns();
    let pairs = || (0..count).flat_map(|a| (0..count).map(move |b| (a, b)));
    let largest = pairs()
        .map(|(a, b)| scaled(a, b, known[a][b]).abs())
        .fold(0.0, f64::max);
    for (a, b) in pairs() {
        let error = scaled(a, b, found[a][b] - known[a][b]).abs();
        assert!(
            error <= tolerance * largest,
            "{:?} entry {a} {b}: {} but {}",
            case.shape,
            found[a][b],
            known[a][b]
        );
    }
}

fn check_hessian(case: &Case) {
    let hessian = exact(case);
    let differences: Vec<Vec<f64>> = (0..case.unknowns())
        .map(|unknown| {
            let step = step(case, unknown);
            let [ahead, behind] = slope(case, unknown, step, Case::gradient);
            let pairs = ahead.iter().zip(&behind);
            pairs.map(|(a, b)| (a - b) / (2.0 * step)).collect()
        })
        .collect();
    assert_close(case, &hessian, &differences, 2e-6);
    let transposed: Vec<Vec<f64>> = (0..case.unknowns())
        .map(|row| hessian.iter().map(|column| column[row]).collect())
        .collect();
    assert_close(case, &transposed, &hessian, 1e-11);
}

/// Σ k ∇s ∇sᵀ from reference strains and central differences.
fn plain_gauss_newton(case: &Case, scales: [f64; 3]) -> Vec<Vec<f64>> {
    let stiffness: Vec<f64> = case
        .strains()
        .iter()
        .flat_map(|(_, k)| [k[0] * scales[1], k[1] * scales[1], k[2] * scales[2]])
        .collect();
    let slopes: Vec<Vec<f64>> = (0..case.unknowns())
        .map(|unknown| {
            let step = step(case, unknown);
            let [ahead, behind] = slope(case, unknown, step, Case::strains);
            let pairs = ahead.into_iter().zip(behind);
            pairs
                .flat_map(|((a, _), (b, _))| {
                    (0..3).map(move |kind| (a[kind] - b[kind]) / (2.0 * step))
                })
                .collect()
        })
        .collect();
    let entry = |a: usize, b: usize| -> f64 {
        (0..stiffness.len())
            .map(|s| stiffness[s] * slopes[a][s] * slopes[b][s])
            .sum()
    };
    (0..case.unknowns())
        .map(|a| (0..case.unknowns()).map(|b| entry(a, b)).collect())
        .collect()
}

fn check_matrix(case: &Case) {
    let scales = [0.0, 0.7, 1.3];
    assert_close(
        case,
        &matrix(case, scales),
        &plain_gauss_newton(case, scales),
        1e-6,
    );
    let all = matrix(case, [1.0, 1.0, 1.0]);
    let scaled: Vec<Vec<f64>> = all
        .iter()
        .enumerate()
        .map(|(a, column)| {
            let entry = |(b, value): (usize, &f64)| value * size(case, a) * size(case, b);
            column.iter().enumerate().map(entry).collect()
        })
        .collect();
    let spectrum = eigenvalues(scaled);
    let largest = spectrum.iter().copied().fold(0.0, f64::max);
    assert!(spectrum.iter().all(|value| *value >= -1e-12 * largest));
    // The quadratic forms belong to the three parts of the matrix.
    let mut random = Random::new(5);
    let direction: Vec<f64> = (0..case.unknowns())
        .map(|unknown| random.signed() * size(case, unknown))
        .collect();
    let forms = case.rods().quadratic_forms(&case.pose(), &direction);
    for kind in 0..3 {
        let mut scales = [0.0; 3];
        scales[kind] = 1.0;
        let part = matrix(case, scales);
        let terms = |sign: fn(f64) -> f64| -> f64 {
            let of = |a: usize| {
                let row = part[a].iter().zip(&direction);
                row.map(|(m, v)| sign(direction[a] * m * v)).sum::<f64>()
            };
            (0..case.unknowns()).map(of).sum()
        };
        // The tolerance is relative to the terms, which cancel.
        let (form, size) = (terms(|term| term), terms(f64::abs));
        assert!(
            (forms[kind] - form).abs() <= 1e-13 * size,
            "{kind}: {} {form} {size}",
            forms[kind]
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn derivatives_agree_with_differences(
        shape in 0..SHAPES.len(),
        seed in 0..1_000_000u64,
        motion in prop::sample::select(vec![0.0, 0.01, 0.3]),
        turn in prop::sample::select(vec![0.0, 0.5, 30.0]),
        has_rigid_edges: bool,
    ) {
        let mut case = Case::random(SHAPES[shape], seed, motion, turn);
        if has_rigid_edges {
            case = case.with_rigid_edges(seed + 1);
        }
        check_gradient(&case);
        check_hessian(&case);
        check_matrix(&case);
    }
}

#[test]
fn a_rod_at_rest_has_no_force_and_the_exact_matrix() {
    for (index, shape) in SHAPES.into_iter().enumerate() {
        let mut case = Case::random(shape, 100 + index as u64, 0.2, 0.7);
        for edge in 0..case.lengths.len() {
            let [a, b] = case.ends(edge).map(|vertex| case.positions[vertex]);
            case.lengths[edge] = a.distance(b);
        }
        case.curvatures.fill([0.0; 2]);
        case.rest_twists.fill(0.0);
        let (vertices, edges) = (shape.vertices, shape.edges());
        let firsts = usize::from(!shape.is_closed);
        for (place, (strain, stiffness)) in case.strains().into_iter().enumerate() {
            let per_rod = edges - firsts;
            let vertex = place / per_rod * vertices + place % per_rod + firsts;
            let length = case.stiffness[1] / stiffness[0];
            case.curvatures[vertex] = [strain[0] / length, strain[1] / length];
            case.rest_twists[vertex] = strain[2] / length;
        }
        assert!(case.value() < 1e-25, "{shape:?} {}", case.value());
        let force = case
            .gradient()
            .into_iter()
            .map(f64::abs)
            .fold(0.0, f64::max);
        assert!(force < 1e-11, "{shape:?} {force}");
        assert_close(&case, &matrix(&case, [1.0; 3]), &exact(&case), 1e-10);
    }
}

#[test]
fn stretched_and_compressed_edges_have_their_stiffness() {
    let shape = RodShape {
        vertices: 5,
        is_closed: false,
        count: 2,
    };
    let mut case = Case::random(shape, 3, 0.1, 0.3);
    case.stiffness = [0.3, 0.0, 0.0, 0.0];
    // All edges are in tension: nothing is projected.
    case.lengths.fill(1e-3);
    assert_close(&case, &matrix(&case, [1.0; 3]), &exact(&case), 1e-12);
    // All edges are compressed: only EA/l̄ t tᵀ remains, which is zero for a rotation of the edge.
    case.lengths.fill(0.1);
    let mut direction = vec![0.0; case.unknowns()];
    let across = (case.positions[1] - case.positions[0]).any_orthogonal_vector();
    let along = (case.positions[1] - case.positions[0]).normalize();
    direction[..3].copy_from_slice(&across.to_array());
    assert!(case.rods().quadratic_forms(&case.pose(), &direction)[0] < 1e-20);
    direction[..3].copy_from_slice(&along.to_array());
    let form = case.rods().quadratic_forms(&case.pose(), &direction)[0];
    assert!((form / (0.3 / 0.1) - 1.0).abs() < 1e-12, "{form}");
}
