//! Derivatives of plates, and degenerate configurations. Plates under load are in
//! `small_deflection`.

mod small_deflection;

use super::*;
use crate::energy::check::check_derivatives;
use crate::energy::{Blocks, Energy, at_nodes};
use crate::generate::sheet::{Cells, grid};
use crate::mesh::Mesh;
use glam::{DMat3, DQuat};
use proptest::prelude::*;

const RIGIDITY: f64 = 1e-4;

/// Applies an action to every element at the current positions.
struct Each<'a, A: Act>(&'a [DVec3], A);

trait Act {
    fn act<const K: usize>(&mut self, stars: &Stars<K>, element: usize, x: &[DVec3; K]);
}

impl<A: Act> StarVisitor for Each<'_, A> {
    fn visit<const K: usize>(&mut self, stars: &Stars<K>) {
        for (element, stencil) in stars.stencils().iter().enumerate() {
            self.1.act(stars, element, &at_nodes(stencil, self.0));
        }
    }
}

struct Check;

impl Act for Check {
    fn act<const K: usize>(&mut self, stars: &Stars<K>, element: usize, x: &[DVec3; K]) {
        check_derivatives(stars, element, x);
    }
}

struct Finite;

impl Act for Finite {
    fn act<const K: usize>(&mut self, stars: &Stars<K>, element: usize, x: &[DVec3; K]) {
        let (value, gradient, projected) = stars.linearize(element, x);
        assert!(value.is_finite() && gradient.iter().all(|g| g.is_finite()));
        for block in [projected, stars.hessian(element, x)]
            .as_flattened()
            .as_flattened()
        {
            assert!(block.is_finite());
        }
    }
}

/// The largest force on a node of an element.
struct Largest(f64);

impl Act for Largest {
    fn act<const K: usize>(&mut self, stars: &Stars<K>, element: usize, x: &[DVec3; K]) {
        let gradient = stars.gradient(element, x);
        self.0 = gradient.iter().map(|g| g.length()).fold(self.0, f64::max);
    }
}

fn each<A: Act>(plate: &Plate, points: &[DVec3], act: A) -> A {
    let mut each = Each(points, act);
    plate.visit(&mut each);
    each.1
}

fn plate(mesh: &Mesh, poisson: f64) -> Plate {
    Plate::new(&mesh.triangles, &mesh.points, RIGIDITY, poisson, &[]).unwrap()
}

/// Rolls a sheet in the plane to a cylinder along y.
fn roll(radius: f64, point: DVec3) -> DVec3 {
    let angle = point.x / radius;
    DVec3::new(
        (radius - point.z) * angle.sin(),
        point.y,
        radius - (radius - point.z) * angle.cos(),
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn derivatives_agree_with_differences(
        nudges in prop::collection::vec(prop::array::uniform3(-0.2..0.2f64), 30),
        radius in 0.5..4.0f64,
        poisson in -0.4..0.5f64,
        rest in -1.0..1.0f64,
    ) {
        for cells in [Cells::Right, Cells::Alternating, Cells::Unstructured] {
            let flat = grid([4.0, 5.0], [5, 6], cells);
            let mut curved = flat.clone();
            // The rest shape is a cylinder, or almost flat.
            curved.points.iter_mut().for_each(|point| *point = roll(3.0 / rest, *point));
            let plate = plate(&curved, poisson);
            let moved = |(point, nudge): (&DVec3, &[f64; 3])| {
                roll(radius, *point) + DVec3::from_array(*nudge)
            };
            let points: Vec<DVec3> = flat.points.iter().zip(&nudges).map(moved).collect();
            each(&plate, &points, Check);
        }
    }
}

#[test]
fn rest_has_no_force() {
    for cells in [Cells::Right, Cells::Alternating, Cells::Unstructured] {
        let mut mesh = grid([4.0, 5.0], [5, 6], cells);
        for radius in [1e9, 1.5] {
            mesh.points
                .iter_mut()
                .for_each(|point| *point = roll(radius, *point));
            let plate = plate(&mesh, 0.3);
            assert!(each(&plate, &mesh.points, Largest(0.0)).0 < 1e-12 * RIGIDITY);
            assert!(plate.total_value(&mesh.points) < 1e-24 * RIGIDITY);
            each(&plate, &mesh.points, Check);
            let turn = DQuat::from_rotation_x(1.0) * DQuat::from_rotation_z(2.0);
            let turned: Vec<DVec3> = mesh.points.iter().map(|p| turn * *p + DVec3::ONE).collect();
            assert!(each(&plate, &turned, Largest(0.0)).0 < 1e-12 * RIGIDITY);
        }
    }
}

/// A disc of triangles around one vertex.
fn wheel(spokes: u32) -> Mesh {
    let rim = |k: u32| {
        let angle = std::f64::consts::TAU * f64::from(k) / f64::from(spokes);
        DVec3::new(angle.cos(), angle.sin(), 0.0)
    };
    Mesh {
        points: std::iter::once(DVec3::ZERO)
            .chain((0..spokes).map(rim))
            .collect(),
        triangles: (0..spokes)
            .map(|k| [0, k + 1, (k + 1) % spokes + 1])
            .collect(),
        ..Mesh::default()
    }
}

#[test]
fn a_vertex_of_many_neighbours_has_several_elements() {
    for spokes in [3, 4, 9, 10, 11, 24] {
        let mesh = wheel(spokes);
        let plate = plate(&mesh, 0.3);
        let bowl = |point: &DVec3| {
            *point + DVec3::Z * (0.1 * point.length_squared() + 0.07 * point.x * point.y)
        };
        let points: Vec<DVec3> = mesh.points.iter().map(bowl).collect();
        each(&plate, &points, Check);
        let curvature = 1e-4;
        let bowl = |point: &DVec3| *point + DVec3::Z * (0.5 * curvature * point.length_squared());
        let bent: Vec<DVec3> = mesh.points.iter().map(bowl).collect();
        let value = each(&plate, &bent, OfNode(0, 0.0)).1;
        // Every spoke bends by κ tan(π/n), and half its length has the moment D (1 + ν) κ.
        let spoke = (std::f64::consts::PI / f64::from(spokes)).tan();
        let expected = 0.25 * f64::from(spokes) * spoke * RIGIDITY * 1.3 * curvature.powi(2);
        // Each part of a vertex with many edges has few directions, which makes it softer.
        let softest = if spokes < 10 { 1.0 - 1e-6 } else { 0.6 };
        let ratio = value / expected;
        assert!((softest..1.05).contains(&ratio), "{spokes}: {ratio}");
    }
}

/// The energy of the elements around a node.
struct OfNode(u32, f64);

impl Act for OfNode {
    fn act<const K: usize>(&mut self, stars: &Stars<K>, element: usize, x: &[DVec3; K]) {
        if stars.stencils()[element][0] == self.0 {
            self.1 += stars.value(element, x);
        }
    }
}

#[test]
fn collapsed_and_folded_triangles_have_finite_derivatives() {
    let mesh = grid([4.0, 4.0], [5, 5], Cells::Alternating);
    let clamps: Vec<ClampedEdge> = (0..4)
        .map(|k| ClampedEdge {
            edge: [k, k + 1],
            normal: DVec3::Z,
        })
        .collect();
    let plate = Plate::new(&mesh.triangles, &mesh.points, RIGIDITY, 0.3, &clamps).unwrap();
    let everywhere = |map: &dyn Fn(DVec3) -> DVec3| {
        let points: Vec<DVec3> = mesh.points.iter().map(|point| map(*point)).collect();
        each(&plate, &points, Finite);
    };
    everywhere(&|_| DVec3::ONE);
    everywhere(&|point| DVec3::X * point.x);
    everywhere(&|point| point * 1e-200);
    everywhere(&|point| DVec3::new(point.x, 1e-14 * point.y, 0.0));
    everywhere(&|point| DVec3::new(point.x.abs(), point.y, 0.0));
    everywhere(&|point| DVec3::new(-point.x, point.y, 0.0));
    everywhere(&|point| DVec3::new(point.x.abs(), point.y.abs(), 1e-9 * point.x));
    everywhere(&|point| DVec3::new(point.x, point.y.max(0.0), 0.0));
}

/// Compares derivatives with differences. Clamps are not invariant under rotation, which excludes
/// the usual check.
struct Differences;

impl Act for Differences {
    fn act<const K: usize>(&mut self, stars: &Stars<K>, element: usize, x: &[DVec3; K]) {
        let gradient = stars.gradient(element, x);
        let hessian: Blocks<K> = stars.hessian(element, x);
        let step = 1e-5;
        for (node, axis) in (0..K).flat_map(|node| (0..3).map(move |axis| (node, axis))) {
            let [ahead, behind] = [step, -step].map(|step| {
                let mut moved = *x;
                moved[node][axis] += step;
                (
                    stars.value(element, &moved),
                    stars.gradient(element, &moved),
                )
            });
            let slope = (ahead.0 - behind.0) / (2.0 * step);
            assert!((slope - gradient[node][axis]).abs() < 1e-7 * RIGIDITY);
            for other in 0..K {
                let slope = (ahead.1[other] - behind.1[other]) / (2.0 * step);
                let error = (slope - hessian[other][node].col(axis)).length();
                assert!(error < 1e-6 * RIGIDITY, "{error}");
            }
        }
        let net = gradient.iter().sum::<DVec3>().length();
        assert!(net < 1e-12 * RIGIDITY, "a clamp moves with its edge: {net}");
    }
}

#[test]
fn clamps_have_the_right_derivatives() {
    let mesh = grid([2.0, 2.0], [3, 3], Cells::Right);
    let clamps = [[0, 1], [2, 1], [5, 2]].map(|edge| ClampedEdge {
        edge,
        normal: DVec3::Z,
    });
    let mut plate = Plate::new(&mesh.triangles, &mesh.points, RIGIDITY, 0.3, &clamps).unwrap();
    assert_eq!(plate.total_value(&mesh.points), 0.0);
    let moved = |p: &DVec3| {
        *p + DVec3::new(
            0.1 * p.y,
            0.05 * p.x * p.y,
            0.2 * p.x + 0.3 * p.y * p.y - 0.1 * p.x * p.y,
        )
    };
    let points: Vec<DVec3> = mesh.points.iter().map(moved).collect();
    each(&plate, &points, Differences);
    plate.aim_clamps(&points, &[DVec3::new(0.2, 0.5, 1.0); 3]);
    each(&plate, &points, Differences);
}

#[test]
fn clamps_rotated_with_the_plate_store_no_energy() {
    let mesh = grid([2.0, 2.0], [4, 3], Cells::Alternating);
    let clamps = [[0, 1], [1, 2], [2, 3]].map(|edge| ClampedEdge {
        edge,
        normal: DVec3::NEG_Z,
    });
    let mut plate = Plate::new(&mesh.triangles, &mesh.points, RIGIDITY, 0.3, &clamps).unwrap();
    let turn = DQuat::from_rotation_x(2.0) * DQuat::from_rotation_z(0.4);
    let turned: Vec<DVec3> = mesh.points.iter().map(|p| turn * *p + DVec3::ONE).collect();
    assert!(plate.total_value(&turned) > 0.1 * RIGIDITY);
    plate.aim_clamps(&turned, &[turn * DVec3::NEG_Z; 3]);
    assert!(plate.total_value(&turned) < 1e-24 * RIGIDITY);
    // A normal parallel to the edge is ignored.
    plate.aim_clamps(&turned, &[turn * DVec3::X; 3]);
    assert!(plate.total_value(&turned) < 1e-24 * RIGIDITY);
}

#[test]
fn invalid_plates_are_refused() {
    let mesh = grid([1.0, 1.0], [3, 3], Cells::Right);
    let new = |rigidity: f64, poisson: f64, edge: [u32; 2], normal: DVec3| {
        let clamp = ClampedEdge { edge, normal };
        Plate::new(&mesh.triangles, &mesh.points, rigidity, poisson, &[clamp]).map(|_| ())
    };
    assert_eq!(new(1.0, 0.3, [1, 0], DVec3::Z), Ok(()));
    let material = |rigidity: f64, poisson: f64| Err(PlateError::Material { rigidity, poisson });
    assert_eq!(new(1.0, 1.0, [0, 1], DVec3::Z), material(1.0, 1.0));
    assert_eq!(new(-1.0, 0.3, [0, 1], DVec3::Z), material(-1.0, 0.3));
    // An inner edge, a pair of nodes without an edge, and normals in the plane of the sheet.
    for (edge, normal) in [
        ([1, 4], DVec3::Z),
        ([0, 8], DVec3::Z),
        ([0, 1], DVec3::X),
        ([0, 1], DVec3::Y),
        ([0, 1], DVec3::ZERO),
    ] {
        assert_eq!(new(1.0, 0.3, edge, normal), Err(PlateError::Clamp { edge }));
    }
    let flat = [DVec3::ZERO, DVec3::X, DVec3::X * 2.0];
    let error = Plate::new(&[[0, 1, 2]], &flat, 1.0, 0.3, &[]).unwrap_err();
    assert_eq!(error, PlateError::DegenerateTriangle { triangle: 0 });
    assert!(Plate::new(&[[0, 1, 1]], &flat, 1.0, 0.3, &[]).is_err());
}

#[test]
fn a_rolled_sheet_has_the_energy_of_a_cylinder() {
    let poisson = 0.3;
    for (cells, tolerance) in [
        (Cells::Right, 2e-3),
        (Cells::Alternating, 2e-3),
        (Cells::Unstructured, 0.02),
    ] {
        let mesh = grid([0.4, 0.2], [81, 41], cells);
        let plate = plate(&mesh, poisson);
        let radius = 0.4 / std::f64::consts::TAU / 1.1;
        let points: Vec<DVec3> = mesh
            .points
            .iter()
            .map(|point| roll(radius, *point))
            .collect();
        // The moment along x is zero at the ends, the moment along y is zero at the sides: the
        // latter have D (1 − ν²) κ² instead of Dκ².
        let sides = 1.0 / 40.0;
        let expected = 0.5 * RIGIDITY / (radius * radius)
            * 0.4
            * (1.0 - 1.0 / 80.0)
            * 0.2
            * (1.0 - sides + sides * (1.0 - poisson * poisson));
        let ratio = plate.total_value(&points) / expected;
        assert!((ratio - 1.0).abs() < tolerance, "{cells:?} {ratio}");
    }
}

#[test]
fn elements_have_one_block_per_pair_of_nodes() {
    let mesh = grid([1.0, 1.0], [4, 4], Cells::Right);
    let plate = plate(&mesh, 0.0);
    assert_eq!(plate.of_7.stencils().len(), 4);
    let x = at_nodes(&plate.of_7.stencils()[0], &mesh.points);
    let blocks = plate.of_7.projected_hessian(0, &x);
    assert!(
        blocks
            .as_flattened()
            .iter()
            .all(|block| *block != DMat3::ZERO)
    );
}
