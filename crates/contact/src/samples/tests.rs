//! Motions of worlds with known solutions.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::system::SystemFactor;

const STEP: f64 = 0.01;

/// Solution with errors below 1e-9 m, which is an acceleration of 1e-5 m/s² at this step.
fn solve(problem: &NodalProblem, warm: &WarmStart) -> Solution {
    reference::solve(problem, warm, 1e-9)
}

/// Worlds of all kinds, each with the number of groups of connected bodies after the impact.
fn worlds() -> Vec<(&'static str, World, usize)> {
    vec![
        ("cube", cube(1e6, 2, 0.4, 0.2), 1),
        ("thrown", thrown(1e6, 2, 0.3), 1),
        ("stack", stack(1e6, 2), 1),
        ("wedge", wedge(1e6, 2, 0.3), 1),
        ("tied", tied(1e6, 2), 1),
        ("affine", affine(1e6, 2), 1),
        ("wall", wall(1e6, 2), 1),
        ("brick", brick(1e7, 10, 0.4, 0.2), 1),
        ("chain", chain(1e6, 2), 2),
        ("crossing", crossing(1e7, 2), 1),
        ("cloth", cloth(1e6, 7), 1),
        ("layers", layers(1e6, 4), 1),
    ]
}

/// Velocity of the centre of mass of a world without affine bodies.
fn mean(problem: &NodalProblem, velocities: &[f64]) -> DVec3 {
    let offsets = problem.system.node_offset.iter();
    let nodes = offsets.map(|offset| DVec3::from_slice(&velocities[*offset..]));
    let momentum: DVec3 = nodes.zip(&problem.masses).map(|(v, m)| v * *m).sum();
    momentum / problem.masses.iter().sum::<f64>()
}

/// Problems and solutions of some steps.
fn motion(world: World, count: usize) -> Vec<(NodalProblem, Solution)> {
    let mut motion = Vec::new();
    capture(world, STEP, count, |problem, warm| {
        let solution = solve(problem, warm);
        motion.push((problem.clone(), solution.clone()));
        solution
    });
    motion
}

/// Acceleration of a sliding body on an incline (m/s²).
fn sliding(slope: f64, friction: f64) -> f64 {
    GRAVITY * (slope.sin() - friction * slope.cos())
}

#[test]
fn a_cube_with_little_friction_slides_with_the_analytic_acceleration() {
    let (slope, friction) = (0.4, 0.2);
    let motion = motion(cube(1e6, 2, slope, friction), 40);
    let speed = |step: usize| {
        let (problem, solution) = &motion[step];
        mean(problem, &solution.velocities).dot(incline(slope).x_axis)
    };
    let gained = (speed(39) - speed(29)) / (10.0 * STEP);
    let wanted = sliding(slope, friction);
    // The elastic waves of the impact are not completely damped.
    assert!((gained - wanted).abs() < 2e-3 * wanted, "{gained} {wanted}");
}

#[test]
fn a_cube_with_much_friction_sticks_to_the_incline_which_carries_its_weight() {
    let slope = 0.4f64;
    let motion = motion(cube(1e6, 2, slope, 0.6), 40);
    let (problem, solution) = &motion[39];
    let velocity = mean(problem, &solution.velocities);
    assert!(velocity.length() < 1e-5, "{velocity}");
    // The mass is 1 kg.
    let weight = 1.0 * GRAVITY * STEP;
    let normal = incline(slope).z_axis;
    let pressure: f64 = solution.impulses.iter().map(|r| r.dot(normal)).sum();
    assert!((pressure - weight * slope.cos()).abs() < 1e-3 * weight);
    let sum: DVec3 = solution.impulses.iter().sum();
    assert!((sum - DVec3::Z * weight).length() < 1e-3 * weight, "{sum}");
}

#[test]
fn a_box_slides_like_a_rigid_body_for_any_number_of_contacts() {
    let (slope, friction) = (0.4, 0.2);
    for across in [2, 5] {
        let motion = motion(brick(1e8, across, slope, friction), 12);
        let speed = |step: usize| {
            // The first node is the centre.
            let centre = DVec3::from_slice(&motion[step].1.velocities);
            centre.dot(incline(slope).x_axis)
        };
        let gained = (speed(11) - speed(7)) / (4.0 * STEP);
        let wanted = sliding(slope, friction);
        assert!((gained - wanted).abs() < 1e-3 * wanted, "{gained} {wanted}");
    }
}

#[test]
fn the_ground_carries_the_weight_of_a_stack() {
    // Three boxes of 0.2 × 0.1 × 0.06 m.
    let weight = 3.0 * 1.2 * GRAVITY * STEP;
    let motion = motion(affine(1e6, 3), 30);
    let (problem, solution) = &motion[29];
    // Contacts with the ground have only one body.
    let is_ground = |c: &usize| problem.contacts.stencil(*c).len() <= 4;
    let on_ground = (0..problem.contacts.len()).filter(is_ground);
    let sum: DVec3 = on_ground.map(|c| solution.impulses[c]).sum();
    assert!((sum - DVec3::Z * weight).length() < 1e-3 * weight, "{sum}");
}

#[test]
fn bodies_without_contacts_are_in_free_fall() {
    for (name, mut world, _) in worlds() {
        if name == "tied" {
            continue;
        }
        world.reach = f64::NEG_INFINITY;
        world.velocities.fill(0.0);
        let problem = world.problem(STEP);
        assert!(problem.contacts.is_empty());
        let velocities = solve(&problem, &WarmStart::default()).velocities;
        // Gravity acts on the first of the four nodes of an affine body.
        let offsets = problem.system.node_offset.iter();
        let falls = offsets.filter(|offset| world.weight[**offset + 2] != 0.0);
        for offset in falls {
            let velocity = DVec3::from_slice(&velocities[*offset..]);
            let error = (velocity + DVec3::Z * (GRAVITY * STEP)).length();
            assert!(error < 1e-9, "{name}: {velocity}");
        }
    }
}

#[test]
fn all_worlds_have_valid_problems_with_active_contacts() {
    for (name, world, groups) in worlds() {
        let mut most = 0;
        let captured = capture(world, STEP, 10, |problem, warm| {
            problem.check().unwrap();
            let mut factor = SystemFactor::for_system(&problem.system).unwrap();
            factor.factorize(&problem.system).unwrap();
            let solution = solve(problem, warm);
            let active = solution.impulses.iter().filter(|r| **r != DVec3::ZERO);
            most = most.max(active.count());
            solution
        });
        assert!(most > 1, "{name}: {most} active contacts");
        assert_eq!(captured[9].problem.groups().1, groups, "{name}");
        // The warm start has the contacts of the previous step.
        let ids =
            |c: &CapturedStep| -> Vec<u64> { c.problem.contacts.iter().map(|c| c.id).collect() };
        let known = captured[9].warm.contacts.iter();
        let warm: Vec<u64> = known.map(|known| known.id).collect();
        assert_eq!(warm, ids(&captured[8]), "{name}");
    }
}

#[test]
fn rigid_motions_cause_no_elastic_forces() {
    let (shift, turn) = (DVec3::new(0.3, -0.2, 0.5), DVec3::new(0.7, 0.4, -0.9));
    for (name, world, _) in worlds() {
        // Axes of affine bodies are directions: they rotate, but do not translate.
        let is_affine = ["affine", "wall", "brick"].contains(&name);
        let shift = if is_affine { DVec3::ZERO } else { shift };
        let mut moved = vec![0.0; world.rest.len()];
        for offset in &world.stiffness.node_offset {
            let motion = shift + turn.cross(DVec3::from_slice(&world.rest[*offset..]));
            motion.write_to_slice(&mut moved[*offset..]);
        }
        let mut force = vec![0.0; moved.len()];
        world.stiffness.multiply(&moved, &mut force);
        let size = |body: &SystemBody| match &body.matrix {
            Matrix::Blocks(matrix) => matrix.values.iter().fold(0.0, |most: f64, block| {
                most.max(block.to_cols_array().into_iter().fold(0.0, f64::max))
            }),
            Matrix::Rods(batch) => batch.get(0, 4, 4),
        };
        let size = world.stiffness.bodies.iter().map(size).fold(0.0, f64::max);
        let largest = force.iter().fold(0.0, |most: f64, f| most.max(f.abs()));
        assert!(largest < 1e-13 * size, "{name}: {largest} of {size}");
    }
}

/// Energy ½ xᵀ K x of a displacement field.
fn energy(world: &World, field: impl Fn(DVec3) -> DVec3) -> f64 {
    let mut moved = vec![0.0; world.rest.len()];
    for offset in &world.stiffness.node_offset {
        field(DVec3::from_slice(&world.rest[*offset..])).write_to_slice(&mut moved[*offset..]);
    }
    let mut force = vec![0.0; moved.len()];
    world.stiffness.multiply(&moved, &mut force);
    0.5 * moved.iter().zip(&force).map(|(x, f)| x * f).sum::<f64>()
}

#[test]
fn stretched_bodies_have_the_analytic_energy() {
    let (young, strain) = (1e6, 1e-3);
    let wanted = |volume: f64| 0.5 * young * strain * strain * volume;
    let solid = energy(&cube(young, 2, 0.0, 0.0), |x| {
        DVec3::new(x.x, -0.3 * x.y, -0.3 * x.z) * strain
    });
    assert!((solid / wanted(1e-3) - 1.0).abs() < 1e-12);
    let rod = energy(&chain(young, 1), |x| DVec3::X * (x.x * strain));
    let area = std::f64::consts::PI * 2e-3 * 2e-3;
    assert!((rod / wanted(area * 0.24) - 1.0).abs() < 1e-12);
}

#[test]
fn a_bent_rod_has_the_analytic_energy() {
    let (young, curvature) = (1e6, 0.1);
    let bent = energy(&chain(young, 1), |x| {
        DVec3::Z * (0.5 * curvature * x.x * x.x)
    });
    let bending = young * std::f64::consts::PI * 2e-3f64.powi(4) / 4.0;
    // 23 of its 25 vertices have a bending energy, each of 1 cm of the rod.
    let wanted = 0.5 * bending * curvature * curvature * 0.23;
    assert!((bent / wanted - 1.0).abs() < 1e-9, "{bent} {wanted}");
}

#[test]
fn stacked_cubes_are_in_contact_inside_triangles() {
    let problem = stack(1e6, 2).problem(STEP);
    let stencils = (0..problem.contacts.len()).map(|c| problem.contacts.stencil(c));
    let between: Vec<_> = stencils.filter(|stencil| stencil.len() > 1).collect();
    // Because of the offset, 4 × 4 of the 5 × 5 lower nodes are above the other cube.
    assert_eq!(between.len(), 16);
    for stencil in between {
        let weights: Vec<f64> = stencil.iter().map(|(_, weight)| *weight).collect();
        assert_eq!(weights.len(), 4);
        assert!(weights.iter().sum::<f64>().abs() < 1e-12);
        assert!(
            weights.iter().all(|weight| weight.abs() > 1e-3),
            "{weights:?}"
        );
    }
}

#[test]
fn held_nodes_have_their_velocities_and_a_sticking_cube_that_of_the_belt() {
    let world = tied(1e6, 2);
    let held = world.held.clone();
    assert!(held.iter().any(|(_, velocity)| *velocity != 0.0));
    for (_, solution) in motion(world, 3) {
        for (dof, velocity) in &held {
            assert!((solution.velocities[*dof] - velocity).abs() < 1e-12);
        }
    }
    let mut belt = cube(1e6, 2, 0.0, 0.8);
    belt.colliders[0].velocity = DVec3::X * 0.1;
    belt.velocities.fill(0.0);
    let motion = motion(belt, 20);
    let (problem, solution) = &motion[19];
    let velocity = mean(problem, &solution.velocities);
    assert!((velocity - DVec3::X * 0.1).length() < 1e-3, "{velocity}");
}

#[test]
fn errors_are_converted_to_other_units() {
    let (lengths, masses, times) = (1e3, 0.25, 30.0);
    for world in [tied(1e6, 2), crossing(1e7, 2), affine(1e6, 2)] {
        let captured = capture(world, STEP, 3, solve);
        let CapturedStep { problem, warm } = &captured[2];
        let (other, other_warm) = rescale(problem, warm, lengths, masses, times);
        other.check().unwrap();
        // The solution of the previous step has errors much larger than rounding.
        let errors = |problem: &NodalProblem, warm: &WarmStart| {
            let impulses = warm.impulses_of(problem);
            problem.errors(&reference::factor(problem), &warm.velocities, &impulses)
        };
        let (one, two) = (errors(problem, warm), errors(&other, &other_warm));
        assert!(one.contact > 1e-7 && one.momentum > 1e-7, "{one:?}");
        assert!((two.contact / (lengths * one.contact) - 1.0).abs() < 1e-9);
        assert!((two.momentum / (lengths * one.momentum) - 1.0).abs() < 1e-9);
        // The inverse conversion restores the problem up to rounding.
        let inverses = [lengths, masses, times].map(f64::recip);
        let (back, _) = rescale(&other, &other_warm, inverses[0], inverses[1], inverses[2]);
        let pairs = back.force.iter().zip(&problem.force);
        assert!(
            pairs
                .into_iter()
                .all(|(a, b)| (a - b).abs() <= 1e-14 * b.abs())
        );
        assert_eq!(back.system.held(), problem.system.held());
    }
}

proptest! {
    #[test]
    fn errors_scale_like_lengths(
        seed: u64,
        exponents in prop::array::uniform3(-4.0..4.0),
        numbers in prop::collection::vec(-1.0..1.0, 120),
    ) {
        let problem = random(seed, 4, 10);
        let [lengths, masses, times] = exponents.map(|exponent: f64| 10f64.powf(exponent));
        let velocities = numbers[..problem.system.dofs()].to_vec();
        let impulses = numbers.chunks_exact(3).map(DVec3::from_slice);
        let impulses: Vec<DVec3> = impulses.take(10).collect();
        let one = problem.errors(&reference::factor(&problem), &velocities, &impulses);
        let warm = WarmStart::from_solution(&problem, Solution::new(velocities, impulses));
        let (problem, warm) = rescale(&problem, &warm, lengths, masses, times);
        let impulses: Vec<DVec3> = warm.contacts.iter().map(|known| known.reaction).collect();
        let two = problem.errors(&reference::factor(&problem), &warm.velocities, &impulses);
        prop_assert!((two.contact - lengths * one.contact).abs() <= 1e-9 * two.contact);
        prop_assert!((two.momentum - lengths * one.momentum).abs() <= 1e-9 * two.momentum);
    }
}

#[test]
fn equal_bodies_share_their_pattern() {
    let world = stack(1e6, 3);
    let pattern = |body: &SystemBody| match &body.matrix {
        Matrix::Blocks(matrix) => Arc::as_ptr(matrix.pattern()),
        Matrix::Rods(_) => panic!("a cube is not a rod"),
    };
    let [one, two, three] = [0, 1, 2].map(|body| pattern(&world.stiffness.bodies[body]));
    assert!(one == two && two == three);
}

#[test]
fn a_cube_falls_slides_and_stops() {
    let motion = motion(cube(1e6, 2, 0.3, 0.5), 30);
    let slip = |(problem, solution): &(NodalProblem, Solution)| {
        let velocities = problem.relative_velocities(&solution.velocities);
        let pressed = velocities.iter().zip(&solution.impulses);
        let pressed = pressed.filter(|(_, r)| **r != DVec3::ZERO);
        let slips = pressed.map(|(u, _)| u.reject_from_normalized(incline(0.3).z_axis).length());
        slips.fold(None, |most: Option<f64>, slip| {
            Some(most.unwrap_or(0.0).max(slip))
        })
    };
    assert_eq!(slip(&motion[0]), None);
    // The initial speed of 0.3 m/s is reduced by friction: μ = 0.5 times the impact of 0.2 m/s.
    assert!(slip(&motion[5]).unwrap() > 0.1);
    // The deceleration is 1.8 m/s², so the cube stops within 17 steps.
    assert!(slip(&motion[29]).unwrap() < 1e-3);
}

#[test]
fn random_problems_have_solutions() {
    for seed in 0..20 {
        let problem = random(seed, 4, 10);
        problem.check().unwrap();
        assert_eq!(problem.contacts.len(), 10);
        let solution = solve(&problem, &WarmStart::default());
        assert!(solution.impulses.iter().any(|r| *r != DVec3::ZERO));
    }
}

#[test]
fn contradictory_problems_have_no_solution() {
    for step in [1e-3, STEP] {
        let problem = contradictory().problem(step);
        problem.check().unwrap();
        reference::factor(&problem);
        let approach = |c: usize| {
            let contact = &problem.contacts[c];
            contact.kinematic.dot(contact.normal)
        };
        let stencil = |c: usize| problem.contacts.stencil(c)[0].0 as usize;
        let count = problem.contacts.len();
        let is_held = |c: &usize| problem.system.free_part(stencil(*c)) == DVec3::ZERO;
        let held: Vec<usize> = (0..count).filter(is_held).collect();
        assert_eq!(held.len(), 4);
        assert!(held.iter().all(|c| (approach(*c) + 0.1).abs() < 1e-12));
        // The sum of u_N of the two planes at the particle does not depend on its velocity.
        assert_eq!(stencil(count - 1), stencil(count - 2));
        assert!((approach(count - 1) + approach(count - 2) + 0.2).abs() < 1e-12);
    }
}

#[test]
fn a_wedge_has_every_contact_twice() {
    let problem = wedge(1e6, 4, 0.3).problem(STEP);
    let mut stencils: Vec<(u32, [i64; 3])> = (0..problem.contacts.len())
        .map(|c| {
            let normal = (problem.contacts[c].normal * 1e9).round();
            let node = problem.contacts.stencil(c)[0].0;
            (node, normal.to_array().map(|x| x as i64))
        })
        .collect();
    assert_eq!(stencils.len(), 100);
    stencils.sort_unstable();
    stencils.dedup();
    assert_eq!(stencils.len(), 50);
}

#[test]
fn a_heap_has_about_the_requested_number_of_contacts() {
    for wanted in [1_000, 10_000] {
        let problem = heap(wanted);
        problem.check().unwrap();
        reference::factor(&problem);
        let found = problem.contacts.len() as f64;
        assert!((found / wanted as f64 - 1.0).abs() < 0.15, "{found}");
        assert_eq!(problem.groups().1, 1);
    }
}

#[test]
fn empty_worlds_are_valid() {
    let worlds = [
        cube(1e6, 0, 0.0, 0.3),
        thrown(1e6, 0, 0.3),
        stack(1e6, 0),
        wedge(1e6, 0, 0.3),
        affine(1e6, 0),
        wall(1e6, 0),
        brick(1e6, 0, 0.0, 0.3),
        chain(1e6, 0),
        crossing(1e6, 0),
        cloth(1e6, 0),
        layers(1e6, 1),
    ];
    for world in worlds {
        world.problem(STEP).check().unwrap();
    }
    for problem in [random(1, 0, 5), random(1, 3, 0), heap(0)] {
        problem.check().unwrap();
    }
}

#[test]
fn materials_that_are_not_finite_fail_the_factorization() {
    for young in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for world in [cube(young, 2, 0.0, 0.3), chain(young, 1), affine(young, 1)] {
            let problem = world.problem(STEP);
            let mut factor = SystemFactor::for_system(&problem.system).unwrap();
            assert!(factor.factorize(&problem.system).is_err());
        }
    }
}
