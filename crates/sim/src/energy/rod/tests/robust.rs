use super::super::kernel::{FramesKernel, LinearizeKernel};
use super::*;
use reefknot_contact::lanes::Kernel;

/// Asserts that energy and derivatives are finite.
fn assert_finite(case: &Case, what: &str) {
    let rods = case.rods();
    let pose = case.pose();
    let mut matrix = BandedBatch::zeros(rods.layout(), case.shape.count);
    let mut gradient = vec![f64::NAN; case.unknowns()];
    let value = rods.linearize(&pose, [1.0; 3], &mut matrix, &mut gradient);
    assert!(value.is_finite(), "{what}: value {value}");
    assert!(gradient.iter().all(|g| g.is_finite()), "{what}: gradient");
    let direction = vec![1.0; case.unknowns()];
    let mut product = vec![f64::NAN; case.unknowns()];
    matrix.multiply(&direction, &mut product);
    assert!(product.iter().all(|p| p.is_finite()), "{what}: matrix");
    rods.hessian_product(&pose, &direction, &mut product);
    assert!(product.iter().all(|p| p.is_finite()), "{what}: Hessian");
    let forms = rods.quadratic_forms(&pose, &direction);
    assert!(forms.iter().all(|form| form.is_finite()), "{what}: forms");
    let (directors, twists) = rods.advance_frames(&pose);
    assert!(
        directors.iter().all(|d| d.is_normalized()),
        "{what}: directors"
    );
    assert!(
        twists.iter().all(|twist| twist.is_finite()),
        "{what}: twists"
    );
    assert!(rods.max_stretch(&case.positions).is_finite());
}

#[test]
fn degenerate_rods_stay_finite() {
    for shape in SHAPES {
        let case = Case::random(shape, 5, 0.2, 1.0);
        let n = shape.vertices;
        let with = |change: &dyn Fn(&mut Case)| {
            let mut changed = case.clone();
            changed.positions.clone_from(&changed.start);
            change(&mut changed);
            changed
        };
        let zigzag = |case: &mut Case| {
            for (vertex, point) in case.positions.iter_mut().enumerate() {
                *point = DVec3::X * 0.01 * (vertex % n % 2) as f64;
            }
        };
        let reversed = |case: &mut Case| {
            for (point, start) in case.positions.iter_mut().zip(&case.start) {
                *point = -*start;
            }
        };
        let cases: [(&str, Case); 9] = [
            ("at rest", with(&|_| ())),
            (
                "all in a point",
                with(&|case| case.positions.fill(DVec3::ONE)),
            ),
            (
                "one edge collapsed",
                with(&|case| case.positions[1] = case.positions[0]),
            ),
            (
                "one edge tiny",
                with(&|case| case.positions[1] = case.positions[0] + DVec3::X * 1e-200),
            ),
            ("folded back", with(&zigzag)),
            ("turned around in one step", with(&reversed)),
            (
                "started in a point",
                with(&|case| case.start.fill(DVec3::ONE)),
            ),
            (
                "no directors",
                with(&|case| case.directors.fill(DVec3::ZERO)),
            ),
            ("turned far", with(&|case| case.theta.fill(1e12))),
        ];
        for (what, case) in cases {
            assert_finite(&case, &format!("{shape:?} {what}"));
            assert_finite(
                &case.clone().with_rigid_edges(2),
                &format!("{shape:?} {what}, rigid"),
            );
        }
    }
}

#[test]
fn bits_do_not_depend_on_threads_or_instruction_sets() {
    for is_closed in [false, true] {
        let shape = RodShape {
            vertices: 12,
            is_closed,
            count: 103,
        };
        let case = Case::random(shape, 9, 0.2, 3.0).with_rigid_edges(4);
        let rods = case.rods();
        let direction: Vec<f64> = (0..case.unknowns()).map(|unknown| unknown as f64).collect();
        let compute = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| {
                let mut matrix = BandedBatch::zeros(rods.layout(), shape.count);
                let mut gradient = vec![0.0; case.unknowns()];
                let value =
                    rods.linearize(&case.pose(), [1.0, 0.9, 0.8], &mut matrix, &mut gradient);
                let forms = rods.quadratic_forms(&case.pose(), &direction);
                (
                    value,
                    forms,
                    matrix,
                    gradient,
                    rods.advance_frames(&case.pose()),
                )
            })
        };
        let one = compute(1);
        assert!(one == compute(2) && one == compute(3));

        let (_, _, mut matrix, gradient, (directors, twists)) = one;
        let of_group = LANES * shape.unknowns();
        let layout = rods.layout();
        let found = matrix.clone();
        matrix.clear();
        let pose = case.pose();
        let plain = matrix.groups_mut().enumerate().map(|(group, matrix)| {
            let mut plain = vec![0.0; of_group];
            LinearizeKernel {
                batch: &rods,
                pose: &pose,
                group,
                scales: [1.0, 0.9, 0.8],
                layout: &layout,
                matrix,
                gradient: &mut plain,
            }
            .run();
            plain
        });
        let plain: Vec<Vec<f64>> = plain.collect();
        assert_eq!(plain.concat()[..gradient.len()], gradient);
        assert!(matrix == found);
        let of_group = LANES * shape.edges();
        let mut plain = (vec![DVec3::ZERO; of_group], vec![0.0; of_group]);
        FramesKernel {
            batch: &rods,
            pose: &pose,
            group: 1,
            directors: &mut plain.0,
            twists: &mut plain.1,
        }
        .run();
        assert_eq!(plain.0, directors[of_group..2 * of_group]);
        assert_eq!(plain.1, twists[of_group..2 * of_group]);
    }
}

#[test]
fn rods_of_a_batch_are_independent() {
    let shape = RodShape {
        vertices: 7,
        is_closed: false,
        count: 6,
    };
    let all = Case::random(shape, 31, 0.2, 3.0);
    let gradient = all.gradient();
    for rod in 0..6 {
        let mut one = all.clone();
        one.shape.count = 1;
        let (of_edges, of_vertices) = (rod * 6..rod * 6 + 6, rod * 7..rod * 7 + 7);
        one.lengths = all.lengths[of_edges.clone()].to_vec();
        one.directors = all.directors[of_edges.clone()].to_vec();
        one.twists = all.twists[of_edges.clone()].to_vec();
        one.theta = all.theta[of_edges].to_vec();
        one.curvatures = all.curvatures[of_vertices.clone()].to_vec();
        one.rest_twists = all.rest_twists[of_vertices.clone()].to_vec();
        one.start = all.start[of_vertices.clone()].to_vec();
        one.positions = all.positions[of_vertices].to_vec();
        assert_eq!(one.gradient(), gradient[rod * 27..(rod + 1) * 27]);
    }
}

#[test]
fn linearize_adds_to_the_matrix_and_keeps_the_padding() {
    let case = Case::random(SHAPES[2], 8, 0.2, 1.0);
    let rods = case.rods();
    let mut matrix = BandedBatch::zeros(rods.layout(), case.shape.count);
    let mut gradient = vec![0.0; case.unknowns()];
    rods.linearize(&case.pose(), [1.0; 3], &mut matrix, &mut gradient);
    let once = matrix.clone();
    rods.linearize(&case.pose(), [1.0; 3], &mut matrix, &mut gradient);
    for unknown in 0..case.shape.unknowns() {
        let ratio = matrix.get(4, unknown, unknown) / once.get(4, unknown, unknown);
        assert!((ratio - 2.0).abs() < 1e-14);
    }
    let mass: Vec<f64> = (0..case.unknowns()).map(|unknown| unknown as f64).collect();
    let mut onto = once.clone();
    rods.linearize_onto_diagonal(&case.pose(), [1.0; 3], &mass, &mut onto, &mut gradient);
    let mut added = once;
    added.set_diagonal(&mass);
    rods.linearize(&case.pose(), [1.0; 3], &mut added, &mut gradient);
    assert!(added == onto);
    let zero = BandedBatch::zeros(rods.layout(), case.shape.count);
    let held = vec![true; case.unknowns()];
    matrix.isolate(&held, 0.0);
    assert!(matrix == zero);
}

#[test]
fn a_batch_without_rods_is_valid() {
    let shape = RodShape {
        vertices: 5,
        is_closed: false,
        count: 0,
    };
    let case = Case::random(shape, 1, 0.0, 0.0);
    assert_finite(&case, "no rods");
    assert_eq!(case.value(), 0.0);
}

#[test]
fn the_largest_stretch_is_found() {
    let mut case = Case::random(SHAPES[5], 8, 0.0, 0.0);
    let last = case.lengths.len() - 1;
    let [a, b] = case.ends(last).map(|vertex| case.positions[vertex]);
    case.lengths.fill(1.0);
    case.lengths[last] = a.distance(b) / 1.5;
    assert!((case.rods().max_stretch(&case.positions) - 1.5).abs() < 1e-14);
}

#[test]
fn invalid_rods_are_refused() {
    let shape = SHAPES[1];
    let new = |shape, lengths: &[f64], twist: f64, axial: f64| {
        let rest = RodRest {
            lengths,
            curvatures: &[[0.0; 2]; 6],
            twists: &[twist; 6],
        };
        RodBatch::new(shape, &rest, axial, [1.0; 2], 1.0).map(|_| ())
    };
    assert_eq!(new(shape, &[1.0; 4], 0.0, 1.0), Ok(()));
    let short = RodShape {
        vertices: 2,
        is_closed: true,
        count: 3,
    };
    assert_eq!(
        new(short, &[1.0; 6], 0.0, 1.0),
        Err(RodError::TooFewVertices { vertices: 2 })
    );
    assert_eq!(
        new(shape, &[1.0; 3], 0.0, 1.0),
        Err(RodError::WrongLength {
            expected: 4,
            found: 3
        })
    );
    assert_eq!(
        new(shape, &[1.0, 1.0, 1.0, -2.0], 0.0, 1.0),
        Err(RodError::RestLength {
            rod: 1,
            edge: 1,
            length: -2.0
        })
    );
    let infinite = f64::INFINITY;
    assert_eq!(
        new(shape, &[1.0; 4], infinite, 1.0),
        Err(RodError::Value { value: infinite })
    );
    assert_eq!(
        new(shape, &[1.0; 4], 0.0, -1.0),
        Err(RodError::Value { value: -1.0 })
    );
}
