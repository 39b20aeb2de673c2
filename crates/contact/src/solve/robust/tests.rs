use super::least_squares::LeastSquares;
use super::lu::Lu;
use super::newton::Newton;
use super::splitting::Splitting;
use super::*;
use crate::block_rows::BlockRows;
use crate::random::Random;
use crate::symmetric::outer;
use glam::DMat3;

/// W = HᵀH and q = Hᵀv for contacts of a body with `freedoms` degrees of freedom; hyperstatic if
/// these are fewer than the components of the impulses. A motion along the first one opens all
/// contacts, so that there is a solution (Acary, Cadoux, Lemaréchal, Malick 2011).
fn hyperstatic(seed: u64, contacts: usize, freedoms: usize, friction: f64) -> DelassusProblem {
    let mut random = Random::new(seed);
    // The velocity at each contact per unit of each degree of freedom.
    let rows: Vec<Vec<DVec3>> = (0..freedoms)
        .map(|freedom| {
            let mut row: Vec<DVec3> = (0..contacts).map(|_| random.vector()).collect();
            if freedom == 0 {
                row.iter_mut().for_each(|h| h.x = h.x.abs() + 0.1);
            }
            row
        })
        .collect();
    let pairs = (0..contacts).flat_map(|i| (0..contacts).map(move |j| (i, j)));
    let entries = pairs.map(|(i, j)| {
        let block = rows
            .iter()
            .fold(DMat3::ZERO, |sum, row| sum + outer(row[i], row[j]));
        (i as u32, j as u32, block)
    });
    let velocity: Vec<f64> = (0..freedoms).map(|_| random.signed() - 0.5).collect();
    let free = (0..contacts)
        .map(|c| {
            let parts = rows.iter().zip(&velocity).map(|(row, v)| row[c] * *v);
            parts.fold(DVec3::ZERO, |sum, part| sum + part)
        })
        .collect();
    let operator = BlockRows::new(contacts, entries);
    DelassusProblem::new(operator, free, vec![friction; contacts]).unwrap()
}

/// Independent problems as one problem; the velocities of each are scaled by another factor `unit`
/// than those of the one before.
fn block_diagonal(problems: &[DelassusProblem], unit: f64) -> DelassusProblem {
    let (mut entries, mut free, mut friction) = (Vec::new(), Vec::new(), Vec::new());
    let mut scale = 1.0;
    for problem in problems {
        let first = free.len() as u32;
        for row in 0..problem.contacts() {
            let (columns, blocks) = problem.operator.row(row);
            let blocks = columns.iter().zip(blocks);
            entries.extend(blocks.map(|(c, block)| (first + row as u32, first + c, *block)));
        }
        free.extend(problem.free.iter().map(|q| *q * scale));
        friction.extend(&problem.friction);
        scale *= unit;
    }
    DelassusProblem::new(BlockRows::new(free.len(), entries), free, friction).unwrap()
}

fn whole(problem: &DelassusProblem) -> Scaled {
    let contacts: Vec<u32> = (0..problem.contacts() as u32).collect();
    Scaled::new(problem, &contacts, &contacts, [0.0; 2])
}

fn worse_error(problem: &DelassusProblem, impulses: &[DVec3]) -> f64 {
    let natural = problem.natural_map_error(impulses);
    natural.max(problem.scaled_error(impulses))
}

const FRICTIONS: [f64; 5] = [0.0, 0.05, 0.3, 0.8, 1.2];

#[test]
fn hyperstatic_problems_converge_to_any_tolerance() {
    for seed in 0..100 {
        let contacts = 1 + seed as usize * 7 % 30;
        let freedoms = 1 + seed as usize % (2 * contacts);
        let problem = hyperstatic(seed, contacts, freedoms, FRICTIONS[seed as usize % 5]);
        for tolerance in [1e-4, 1e-6, 1e-8] {
            let mut impulses = Vec::new();
            let outcome = solve(&problem, tolerance, &mut impulses);
            let error = worse_error(&problem, &impulses);
            assert!(
                outcome.is_converged && error <= tolerance,
                "seed {seed}: {outcome:?}, {error:e}"
            );
        }
    }
}

#[test]
fn slightly_unsymmetric_problems_converge() {
    for seed in 0..30 {
        let contacts = 3 + seed as usize % 10;
        let problem = hyperstatic(seed, contacts, 2 * contacts, FRICTIONS[seed as usize % 5]);
        let mut random = Random::new(seed);
        let mut entries = Vec::new();
        for row in 0..contacts {
            let (columns, blocks) = problem.operator.row(row);
            for (column, block) in columns.iter().zip(blocks) {
                let tilt = DMat3::from_cols(random.vector(), random.vector(), random.vector());
                entries.push((row as u32, *column, *block + tilt * 1e-3));
            }
        }
        let operator = BlockRows::new(contacts, entries);
        let problem = DelassusProblem {
            operator,
            ..problem
        };
        let mut impulses = Vec::new();
        let outcome = solve(&problem, 1e-6, &mut impulses);
        assert!(outcome.is_converged, "seed {seed}: {outcome:?}");
        assert!(worse_error(&problem, &impulses) <= 1e-6);
    }
}

#[test]
fn independent_groups_together_are_within_the_tolerance() {
    let groups: Vec<DelassusProblem> = (0..12)
        .map(|seed| hyperstatic(seed, 1 + seed as usize, 5, 0.3))
        .collect();
    let problem = block_diagonal(&groups, 0.1);
    assert_eq!(connected_groups(&problem).len(), 12);
    for tolerance in [1e-4, 1e-6, 1e-8] {
        let mut impulses = Vec::new();
        assert!(solve(&problem, tolerance, &mut impulses).is_converged);
        assert!(worse_error(&problem, &impulses) <= tolerance);
    }
}

#[test]
fn results_are_bit_identical_on_one_and_two_threads() {
    let groups: Vec<DelassusProblem> = (0..6)
        .map(|seed| hyperstatic(seed, 4 + 5 * seed as usize, 9, 0.8))
        .collect();
    let problem = block_diagonal(&groups, 1.0);
    let solve_on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let mut impulses = Vec::new();
        let solved = || solve(&problem, 1e-8, &mut impulses);
        let outcome = pool.unwrap().install(solved);
        (outcome, impulses)
    };
    assert_eq!(solve_on(1), solve_on(2));
}

/// The solution does not depend on units. The natural map error does, so that a method may stop at
/// an earlier check.
#[test]
fn the_number_of_iterations_hardly_depends_on_units() {
    for seed in 0..20 {
        let problem = hyperstatic(seed, 12, 10, 0.3);
        let scaled = |mass: f64, speed: f64| {
            let mut problem = problem.clone();
            let blocks = (0..12).flat_map(|row| {
                let (columns, blocks) = problem.operator.row(row);
                let blocks = columns.iter().zip(blocks);
                blocks.map(move |(column, block)| (row as u32, *column, *block * mass.recip()))
            });
            problem.operator = BlockRows::new(12, blocks.collect::<Vec<_>>());
            problem.free.iter_mut().for_each(|q| *q *= speed);
            problem
        };
        let plain = solve(&problem, 1e-8, &mut Vec::new());
        // The relative natural map error does not depend on the unit of time alone.
        assert_eq!(plain, solve(&scaled(1.0, 1024.0), 1e-8, &mut Vec::new()));
        let other = solve(&scaled(1e3, 1.0), 1e-8, &mut Vec::new());
        assert!(plain.is_converged && other.is_converged);
        let steps = plain.iterations.abs_diff(other.iterations);
        assert!(steps <= 3, "seed {seed}: {plain:?} and {other:?}");
    }
}

#[test]
fn unsolvable_problems_end_without_convergence() {
    // A body squeezed between two approaching walls, and a contact whose operator is zero.
    let squeeze = [
        (0, 0, DMat3::IDENTITY),
        (0, 1, -DMat3::IDENTITY),
        (1, 0, -DMat3::IDENTITY),
        (1, 1, DMat3::IDENTITY),
    ];
    let approach = DVec3::new(-1.0, 0.2, 0.0);
    for friction in FRICTIONS {
        for (contacts, entries) in [(2, &squeeze[..]), (1, &[])] {
            let operator = BlockRows::new(contacts, entries.iter().copied());
            let (free, friction) = (vec![approach; contacts], vec![friction; contacts]);
            let problem = DelassusProblem::new(operator, free, friction).unwrap();
            for tolerance in [1e-4, 1e-6, 1e-8] {
                let mut impulses = Vec::new();
                assert!(!solve(&problem, tolerance, &mut impulses).is_converged);
                assert!(impulses.iter().all(|r| r.is_finite()));
            }
        }
    }
}

#[test]
fn empty_and_open_problems_take_no_iterations() {
    let empty = DelassusProblem::default();
    let outcome = solve(&empty, 1e-6, &mut vec![DVec3::ONE]);
    assert!(outcome.is_converged && outcome.iterations == 0);
    let mut problem = hyperstatic(1, 5, 9, 0.3);
    problem.free.fill(DVec3::new(0.0, 1.0, 2.0));
    let mut impulses = vec![DVec3::NAN; 5];
    let outcome = solve(&problem, 1e-6, &mut impulses);
    assert!(outcome.is_converged && outcome.iterations == 0);
    assert_eq!(impulses, [DVec3::ZERO; 5]);
}

#[test]
fn a_solution_as_the_start_takes_no_iterations() {
    let problem = hyperstatic(3, 20, 12, 0.3);
    let mut impulses = Vec::new();
    assert!(solve(&problem, 1e-8, &mut impulses).is_converged);
    let before = impulses.clone();
    let again = solve(&problem, 1e-8, &mut impulses);
    assert!(again.is_converged && again.iterations == 0);
    let distances = impulses.iter().zip(&before).map(|(a, b)| a.distance(*b));
    assert!(distances.fold(0.0, f64::max) < 1e-12);
}

#[test]
fn an_impossible_tolerance_returns_the_best_impulses() {
    let problem = hyperstatic(5, 6, 4, 0.3);
    for tolerance in [0.0, -1.0, f64::NAN] {
        let mut impulses = Vec::new();
        solve(&problem, tolerance, &mut impulses);
        assert!(worse_error(&problem, &impulses) < 1e-10);
    }
}

#[test]
fn sweeps_solve_a_statically_determinate_problem() {
    let problem = hyperstatic(2, 3, 40, 0.3);
    let scaled = whole(&problem);
    let mut impulses = vec![DVec3::ZERO; 3];
    for _ in 0..200 {
        sweeps::sweep(&scaled, 0..3, &mut impulses);
    }
    let error = scaled.error(&impulses, &scaled.velocities(&impulses));
    assert!(error < 1e-10, "{error:e}");
}

#[test]
fn splitting_solves_a_hyperstatic_problem() {
    let problem = hyperstatic(2, 12, 8, 0.3);
    let scaled = whole(&problem);
    let mut lu = Lu::new(&scaled.operator).unwrap();
    let mut splitting = Splitting::new(vec![DVec3::ZERO; 12]);
    for _ in 0..600 {
        splitting.iterate(&scaled, &mut lu).unwrap();
    }
    let impulses = &splitting.impulses;
    let error = scaled.error(impulses, &scaled.velocities(impulses));
    assert!(error < 1e-6, "{error:e}");
    // The multiplier converges to ũ.
    let velocities = scaled.velocities(impulses);
    for (contact, u) in velocities.iter().enumerate() {
        let wanted = crate::law::associated(0.3, *u);
        assert!(wanted.distance(splitting.multipliers[contact]) < 1e-4);
    }
}

#[test]
fn newtons_method_converges_quadratically() {
    for friction in FRICTIONS {
        let problem = hyperstatic(4, 3, 20, friction);
        let scaled = whole(&problem);
        let mut lu = Lu::new(&scaled.operator).unwrap();
        let centre = vec![DVec3::X; 3];
        let mut newton = Newton::new(&scaled, &centre, &centre, 1e-2);
        let mut before = f64::INFINITY;
        for _ in 0..40 {
            newton.step(&mut lu).unwrap();
            let residual = newton.residual();
            if before < 1e-4 && residual > 1e-12 {
                assert!(residual < 1e6 * before * before, "{before:e} {residual:e}");
            }
            before = residual;
        }
        assert!(before < 1e-11, "μ = {friction}: {before:e}");
    }
}

#[test]
fn the_gradient_of_least_squares_agrees_with_central_differences() {
    for seed in 0..20 {
        let problem = hyperstatic(seed, 5, 6, 0.5);
        let scaled = whole(&problem);
        let mut random = Random::new(seed);
        let impulses: Vec<DVec3> = (0..5).map(|_| random.vector() + DVec3::X).collect();
        let mut squares = LeastSquares::new(&scaled).unwrap();
        let gradient = squares.gradient(&impulses);
        for contact in 0..5 {
            for axis in [DVec3::X, DVec3::Y, DVec3::Z] {
                let at = |step: f64| {
                    let mut moved = impulses.clone();
                    moved[contact] += axis * step;
                    squares.residual(&moved).powi(2) / 2.0
                };
                let difference = (at(1e-6) - at(-1e-6)) / 2e-6;
                let found = gradient[contact].dot(axis);
                // No seed is within a step of a kink.
                assert!((found - difference).abs() < 1e-5, "{found} {difference}");
            }
        }
    }
}

#[test]
fn least_squares_decreases_the_residual_and_reaches_a_near_solution() {
    for seed in 0..20 {
        let problem = hyperstatic(seed, 8, 7, 0.8);
        let scaled = whole(&problem);
        let mut impulses = Vec::new();
        solve(&problem, 1e-9, &mut impulses);
        let mut random = Random::new(seed);
        let near = impulses.iter().map(|r| *r + random.vector() * 1e-4);
        let mut start = scaled.to_dimensionless(near);
        let mut squares = LeastSquares::new(&scaled).unwrap();
        let before = squares.residual(&start);
        for _ in 0..30 {
            match squares.step(&mut start) {
                Some(ratio) => assert!(ratio < 1.0),
                None => break,
            }
        }
        let after = squares.residual(&start);
        assert!(after < 1e-3 * before, "seed {seed}: {before:e} {after:e}");
    }
}
