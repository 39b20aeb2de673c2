use super::*;

/// The area of a triangle on the sphere, with its sign.
fn spherical_area(a: DVec3, b: DVec3, c: DVec3) -> f64 {
    2.0 * a
        .dot(b.cross(c))
        .atan2(1.0 + a.dot(b) + b.dot(c) + c.dot(a))
}

/// The writhe of a closed polygon: Gauss's integral, exact for each pair of edges.
fn writhe(points: &[DVec3]) -> f64 {
    let n = points.len();
    let mut sum = 0.0;
    for i in 0..n {
        for j in i + 2..n {
            let (a, b) = (points[i], points[(i + 1) % n]);
            let (c, d) = (points[j], points[(j + 1) % n]);
            if (j + 1) % n == i {
                continue;
            }
            // Directions from one edge to the other at the corners of the square of their
            // parameters.
            let corners = [c - a, c - b, d - b, d - a].map(DVec3::normalize);
            sum += spherical_area(corners[0], corners[1], corners[2])
                + spherical_area(corners[0], corners[2], corners[3]);
        }
    }
    sum / TAU
}

/// A planar ring with a given number of turns of twist.
fn ring(vertices: usize, turns: f64) -> Case {
    let shape = RodShape {
        vertices,
        is_closed: true,
        count: 1,
    };
    let mut case = Case::random(shape, 1, 0.0, 0.0);
    for (vertex, point) in case.start.iter_mut().enumerate() {
        let angle = TAU * vertex as f64 / vertices as f64;
        *point = DVec3::new(angle.cos(), angle.sin(), 0.0);
    }
    case.positions.clone_from(&case.start);
    let per_vertex = TAU * turns / vertices as f64;
    for edge in 0..vertices {
        let [a, b] = case.ends(edge).map(|vertex| case.start[vertex]);
        let tangent = (b - a).normalize();
        case.directors[edge] = DQuat::from_axis_angle(tangent, per_vertex * edge as f64) * DVec3::Z;
    }
    case.twists.fill(per_vertex);
    case
}

#[test]
fn a_deformed_ring_keeps_its_linking_number() {
    for turns in [0.0, 3.0, -7.0] {
        let mut case = ring(24, turns);
        let mut random = Random::new(17);
        let mut largest_writhe = 0.0f64;
        for step in 0..200 {
            let time = 0.02 * f64::from(step);
            for (vertex, point) in case.positions.iter_mut().enumerate() {
                let angle = TAU * vertex as f64 / 24.0;
                // Towards a figure of eight with strands above each other.
                let goal = DVec3::new(angle.cos(), (2.0 * angle).sin(), 0.4 * angle.sin());
                let ring = DVec3::new(angle.cos(), angle.sin(), 0.0);
                let part = (0.5 * time).min(1.0);
                *point = ring.lerp(goal, part) + 0.02 * random.vector();
            }
            for theta in &mut case.theta {
                *theta = 3.0 * random.signed();
            }
            case.advance();
            let total = case.twists.iter().sum::<f64>() / TAU;
            let writhe = writhe(&case.positions);
            largest_writhe = largest_writhe.max(writhe.abs());
            assert!(
                (total + writhe - turns).abs() < 1e-10,
                "step {step}: {total} + {writhe}"
            );
        }
        // The ring is not planar any more.
        assert!(largest_writhe > 0.3, "{largest_writhe}");
    }
}

#[test]
fn twist_includes_full_turns() {
    let shape = RodShape {
        vertices: 11,
        is_closed: false,
        count: 5,
    };
    let mut case = Case::random(shape, 1, 0.0, 0.0);
    for (vertex, point) in case.start.iter_mut().enumerate() {
        *point = DVec3::new(0.1 * (vertex % 11) as f64, 0.0, 0.0);
    }
    case.positions.clone_from(&case.start);
    case.directors.fill(DVec3::Y);
    case.twists.fill(0.0);
    case.lengths.fill(0.1);
    case.curvatures.fill([0.0; 2]);
    case.rest_twists.fill(0.0);
    case.stiffness = [1.0, 1.0, 1.0, 0.5];
    for _ in 0..300 {
        for (edge, theta) in case.theta.iter_mut().enumerate() {
            *theta = 2.0 * (edge % 10) as f64 / 9.0;
        }
        case.advance();
    }
    let twist = 600.0 / 9.0;
    for (edge, found) in case.twists.iter().enumerate() {
        let known = if edge % 10 == 0 { 0.0 } else { twist };
        assert!((found - known).abs() < 1e-11, "edge {edge}: {found}");
    }
    // GJ/(2 l̄) m² at nine vertices of five rods.
    let known = 45.0 * 0.5 / (2.0 * 0.1) * twist * twist;
    assert!((case.value() / known - 1.0).abs() < 1e-12);
}

#[test]
fn the_energy_is_continuous_from_one_step_to_the_next() {
    for (index, shape) in SHAPES.into_iter().enumerate() {
        let mut case = Case::random(shape, 40 + index as u64, 0.3, 5.0);
        // The first step makes twists and directors consistent.
        case.advance();
        case.positions = Case::random(shape, 80 + index as u64, 0.3, 5.0).positions;
        case.theta = Case::random(shape, 90 + index as u64, 0.3, 5.0).theta;
        let before = case.value();
        case.advance();
        let after = case.value();
        assert!(
            (after / before - 1.0).abs() < 1e-11,
            "{shape:?} {before} {after}"
        );
        for edge in 0..case.directors.len() {
            let [a, b] = case.ends(edge).map(|vertex| case.start[vertex]);
            assert!(case.directors[edge].is_normalized());
            assert!((b - a).normalize().dot(case.directors[edge]).abs() < 1e-14);
        }
        let directors = case.directors.clone();
        let twists = case.twists.clone();
        for _ in 0..1000 {
            case.advance();
        }
        for (now, then) in case.directors.iter().zip(&directors) {
            assert!(now.distance(*then) < 1e-13);
        }
        for (now, then) in case.twists.iter().zip(&twists) {
            assert!((now - then).abs() < 1e-12);
        }
    }
}

#[test]
fn the_energy_is_invariant_under_rigid_motion() {
    let turn = DQuat::from_rotation_z(1.1) * DQuat::from_rotation_x(-2.3);
    let shift = DVec3::new(0.3, -0.1, 0.2);
    for (index, shape) in SHAPES.into_iter().enumerate() {
        let case = Case::random(shape, 60 + index as u64, 0.3, 4.0);
        let mut moved = case.clone();
        for point in moved.start.iter_mut().chain(&mut moved.positions) {
            *point = turn * *point + shift;
        }
        for director in &mut moved.directors {
            *director = turn * *director;
        }
        let (one, other) = (case.value(), moved.value());
        assert!((one / other - 1.0).abs() < 1e-12, "{shape:?} {one} {other}");
    }
}

#[test]
fn forces_and_torques_are_in_equilibrium() {
    for (index, shape) in SHAPES.into_iter().enumerate() {
        // At the start of the step, a rotation of the rod rotates each section by its component
        // along the edge.
        let case = Case::random(shape, 70 + index as u64, 0.0, 4.0);
        let gradient = case.gradient();
        let unknowns = shape.unknowns();
        for rod in 0..shape.count {
            let gradient = &gradient[rod * unknowns..(rod + 1) * unknowns];
            let (mut force, mut torque) = (DVec3::ZERO, DVec3::ZERO);
            for vertex in 0..shape.vertices {
                let g = DVec3::from_slice(&gradient[4 * vertex..]);
                force += g;
                torque += case.positions[rod * shape.vertices + vertex].cross(g);
            }
            for edge in 0..shape.edges() {
                let [a, b] = case
                    .ends(rod * shape.edges() + edge)
                    .map(|vertex| case.positions[vertex]);
                torque += (b - a).normalize() * gradient[4 * edge + 3];
            }
            let largest = gradient.iter().copied().map(f64::abs).fold(0.0, f64::max);
            assert!(force.length() < 1e-13 * largest, "{shape:?} {force}");
            assert!(
                torque.length() < 1e-14 * largest,
                "{shape:?} {torque} {largest}"
            );
        }
    }
}

#[test]
fn a_rotated_straight_rod_has_no_twist() {
    let shape = RodShape {
        vertices: 6,
        is_closed: false,
        count: 1,
    };
    let mut case = Case::random(shape, 1, 0.0, 0.0);
    case.start = (0..6)
        .map(|vertex| DVec3::X * 0.1 * f64::from(vertex))
        .collect();
    case.directors.fill(DVec3::Z);
    case.twists.fill(0.0);
    for step in 0..100 {
        let turn = DQuat::from_euler(
            glam::EulerRot::XYZ,
            0.3 * f64::from(step),
            0.2 * f64::from(step),
            0.7,
        );
        case.positions = (0..6)
            .map(|vertex| turn * DVec3::X * 0.1 * f64::from(vertex))
            .collect();
        case.advance();
        assert!(case.twists.iter().all(|twist| twist.abs() < 1e-12));
    }
}
