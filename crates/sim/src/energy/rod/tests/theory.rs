use super::*;
use reefknot_contact::banded::BandedFactor;

/// An open rod along a curve given by its arc length, with directors from the curve and no rest
/// curvature.
fn along(
    vertices: usize,
    length: f64,
    curve: impl Fn(f64) -> DVec3,
    director: impl Fn(f64) -> DVec3,
) -> Case {
    let shape = RodShape {
        vertices,
        is_closed: false,
        count: 1,
    };
    let mut case = Case::random(shape, 1, 0.0, 0.0);
    let at = |place: f64| length * place / (vertices - 1) as f64;
    case.start = (0..vertices)
        .map(|vertex| curve(at(vertex as f64)))
        .collect();
    case.positions.clone_from(&case.start);
    for edge in 0..vertices - 1 {
        let [a, b] = case.ends(edge).map(|vertex| case.start[vertex]);
        case.lengths[edge] = a.distance(b);
        let wanted = director(at(edge as f64 + 0.5));
        case.directors[edge] = wanted.reject_from(b - a).normalize();
    }
    case.curvatures.fill([0.0; 2]);
    case.rest_twists.fill(0.0);
    case.twists.fill(0.0);
    // Twists follow from the given directors.
    case.advance();
    case
}

/// A circular arc of radius 1 and length 2, with the first director in its plane or normal to it.
fn arc(vertices: usize, is_first_axis: bool) -> Case {
    let inward = |s: f64| -DVec3::new(s.cos(), s.sin(), 0.0);
    let curve = move |s: f64| -inward(s);
    let mut case = if is_first_axis {
        along(vertices, 2.0, curve, inward)
    } else {
        along(vertices, 2.0, curve, |_| DVec3::Z)
    };
    case.stiffness = [0.0, 3.0, 5.0, 7.0];
    case
}

#[test]
fn an_arc_bends_with_the_stiffness_of_its_plane() {
    for (is_first_axis, stiffness) in [(true, 3.0), (false, 5.0)] {
        let error = |vertices: usize| {
            // The half cells at the ends have no element.
            let cells = (vertices - 2) as f64 / (vertices - 1) as f64;
            let known = 0.5 * stiffness * 2.0 * cells;
            (arc(vertices, is_first_axis).value() / known - 1.0).abs()
        };
        let (coarse, fine) = (error(41), error(81));
        // The discrete curvature is 2 tan(φ/2) over a chord: κ² is too large by φ²/4.
        assert!(fine < 3e-4, "{fine}");
        assert!((coarse / fine - 4.0).abs() < 0.05, "{coarse} {fine}");
    }
}

#[test]
fn an_arc_that_is_naturally_curved_has_no_energy() {
    // Curvature towards m₁ is positive; the discrete curvature is 2 tan(φ/2) over a chord.
    let mut case = arc(41, true);
    let chord = case.lengths[0];
    let turn = 2.0 / 40.0f64;
    case.curvatures
        .fill([2.0 * (0.5 * turn).tan() / chord, 0.0]);
    assert!(case.value() < 1e-25, "{}", case.value());
}

#[test]
fn a_helix_has_the_curvature_and_torsion_of_theory() {
    // Radius a and pitch 2πb: curvature a/c², torsion b/c² with c² = a² + b².
    let (a, b) = (0.6f64, 0.8f64);
    let curve = move |s: f64| DVec3::new(a * s.cos(), a * s.sin(), b * s);
    let normal = |s: f64| -DVec3::new(s.cos(), s.sin(), 0.0);
    let error = |vertices: usize, stiffness: [f64; 4], strain: f64| {
        let mut case = along(vertices, 5.0, curve, normal);
        case.stiffness = stiffness;
        let cells = (vertices - 2) as f64 / (vertices - 1) as f64;
        (case.value() / (0.5 * 5.0 * strain * strain * cells) - 1.0).abs()
    };
    // The Frenet frame rotates about the tangent at the rate of the torsion.
    for (stiffness, strain) in [([0.0, 1.0, 0.0, 0.0], a), ([0.0, 0.0, 0.0, 1.0], b)] {
        let (coarse, fine) = (error(101, stiffness, strain), error(201, stiffness, strain));
        assert!(fine < 1e-3, "{fine}");
        assert!((coarse / fine - 4.0).abs() < 0.1, "{coarse} {fine}");
    }
    // The rod curves towards the normal only.
    let mut case = along(101, 5.0, curve, normal);
    case.stiffness = [0.0, 0.0, 1.0, 0.0];
    assert!(case.value() < 1e-8, "{}", case.value());
}

#[test]
fn a_closed_ring_has_the_bending_energy_of_a_circle() {
    let shape = RodShape {
        vertices: 60,
        is_closed: true,
        count: 1,
    };
    let mut case = Case::random(shape, 1, 0.0, 0.0);
    for (vertex, point) in case.start.iter_mut().enumerate() {
        let angle = TAU * vertex as f64 / 60.0;
        *point = 0.5 * DVec3::new(angle.cos(), angle.sin(), 0.0);
    }
    case.positions.clone_from(&case.start);
    case.directors.fill(DVec3::Z);
    case.twists.fill(0.0);
    case.lengths.fill((TAU / 120.0).sin());
    case.curvatures.fill([0.0; 2]);
    case.rest_twists.fill(0.0);
    case.stiffness = [1.0, 3.0, 5.0, 7.0];
    // B/2 κ² 2πr with κ = 2.
    let known = 0.5 * 5.0 * 4.0 * PI;
    assert!(
        (case.value() / known - 1.0).abs() < 5e-3,
        "{}",
        case.value()
    );
}

/// Deflection of the end of a clamped beam of length 1 and bending stiffness B = 2 under a small
/// force, relative to the theoretical F L³/(3B).
fn cantilever(free_edges: usize) -> f64 {
    let edge = 1.0 / free_edges as f64;
    let vertices = free_edges + 2;
    let shape = RodShape {
        vertices,
        is_closed: false,
        count: 1,
    };
    let mut case = Case::random(shape, 1, 0.0, 0.0);
    case.start = (0..vertices)
        .map(|vertex| DVec3::X * (vertex as f64 - 1.0) * edge)
        .collect();
    case.positions.clone_from(&case.start);
    case.directors.fill(DVec3::Z);
    case.twists.fill(0.0);
    case.lengths.fill(edge);
    case.curvatures.fill([0.0; 2]);
    case.rest_twists.fill(0.0);
    case.stiffness = [1e3, 2.0, 9.0, 1.0];
    // The first edge is clamped.
    let mut is_rigid = vec![false; vertices - 1];
    is_rigid[0] = true;
    case.is_rigid = Some(is_rigid);
    let mut held = vec![false; case.unknowns()];
    held[..7].fill(true);
    let force = 1e-3;
    let rods = case.rods();
    for _ in 0..5 {
        let mut matrix = BandedBatch::zeros(rods.layout(), 1);
        let mut step = vec![0.0; case.unknowns()];
        rods.linearize(&case.pose(), [1.0; 3], &mut matrix, &mut step);
        step[4 * (vertices - 1) + 2] += force;
        for (value, _) in step.iter_mut().zip(&held).filter(|(_, held)| **held) {
            *value = 0.0;
        }
        matrix.isolate(&held, 1.0);
        let mut factor = BandedFactor::new(rods.layout(), 1);
        factor.factorize(&matrix).unwrap();
        factor.solve_in_place(&mut step);
        for (unknown, value) in step.iter().enumerate() {
            *case.unknown_mut(unknown) -= value;
        }
    }
    -case.positions[vertices - 1].z / (force / (3.0 * 2.0))
}

#[test]
fn a_cantilever_deflects_as_in_theory() {
    let [coarse, fine] = [10, 20].map(|edges| (cantilever(edges) - 1.0).abs());
    assert!(fine < 2e-3, "{fine}");
    assert!((coarse / fine - 4.0).abs() < 0.2, "{coarse} {fine}");
}
