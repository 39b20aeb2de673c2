use super::*;
use crate::generate::shape::Shape;
use crate::generate::sheet::{self, Cells};
use crate::mesh::mass::volume_properties;
use crate::random::Random;
use glam::DQuat;
use proptest::prelude::*;

const FUNNEL: Shape = Shape::Funnel {
    top_radius: 1.0,
    bottom_radius: 0.3,
    height: 0.8,
    thickness: 0.1,
};

/// Closed and open surfaces, with a rotation relative to the grid.
fn surfaces(turn: DQuat) -> Vec<Mesh> {
    let ball = Shape::Sphere { radius: 0.6 };
    let stick = Shape::Capsule {
        radius: 0.1,
        length: 1.5,
    };
    let cube = Shape::Box {
        size: [1.0, 0.3, 0.5],
    };
    let mut meshes: Vec<_> = [ball, stick, cube, FUNNEL]
        .map(|shape| shape.surface(Some(0.15)).unwrap())
        .to_vec();
    meshes.push(sheet::grid([1.0, 2.0], [5, 9], Cells::Alternating));
    for point in meshes.iter_mut().flat_map(|mesh| &mut mesh.points) {
        *point = turn * *point + DVec3::new(3.0, -1.0, 0.5);
    }
    meshes
}

fn lattice_volume(lattice: &Mesh) -> f64 {
    let volume = |corners: &[u32; 4]| {
        let [a, b, c, d] = corners.map(|vertex| lattice.points[vertex as usize]);
        let volume = (b - a).cross(c - a).dot(d - a) / 6.0;
        assert!(volume > 0.0);
        volume
    };
    lattice.tetrahedra.iter().map(volume).sum()
}

/// Number of components of tetrahedra that are connected by faces.
fn parts(lattice: &Mesh) -> usize {
    let mut faces = Vec::new();
    for (index, corners) in lattice.tetrahedra.iter().enumerate() {
        for left_out in 0..4 {
            let mut face: Vec<u32> = (0..4)
                .filter(|c| *c != left_out)
                .map(|c| corners[c])
                .collect();
            face.sort_unstable();
            faces.push((face, index));
        }
    }
    faces.sort_unstable();
    let mut root: Vec<usize> = (0..lattice.tetrahedra.len()).collect();
    fn find(root: &mut [usize], mut node: usize) -> usize {
        while root[node] != node {
            root[node] = root[root[node]];
            node = root[node];
        }
        node
    }
    for shared in faces.chunk_by(|one, other| one.0 == other.0) {
        assert!(shared.len() <= 2, "faces of neighbours match");
        if let [one, other] = shared {
            let (one, other) = (find(&mut root, one.1), find(&mut root, other.1));
            root[one] = other;
        }
    }
    (0..root.len()).filter(|node| root[*node] == *node).count()
}

fn assert_carries(embedding: &Embedding, surface: &Mesh) {
    let scale = surface
        .points
        .iter()
        .fold(0.0, |most, point| point.abs().max_element().max(most));
    assert_eq!(embedding.weights.len(), surface.points.len());
    for (stencil, point) in embedding.weights.iter().zip(&surface.points) {
        assert!((stencil.weights.iter().sum::<f64>() - 1.0).abs() < 1e-14);
        assert!(stencil.weights.iter().all(|weight| *weight >= -1e-12));
        assert!(stencil.position(&embedding.lattice.points).distance(*point) < 1e-14 * scale);
        // The four are the corners of one tetrahedron.
        let mut wanted = stencil.vertices;
        wanted.sort_unstable();
        let found = embedding.lattice.tetrahedra.iter().any(|corners| {
            let mut corners = *corners;
            corners.sort_unstable();
            corners == wanted
        });
        assert!(found);
    }
}

#[test]
fn the_lattice_is_connected_and_contains_the_surface() {
    let turn = DQuat::from_axis_angle(DVec3::new(1.0, 2.0, 3.0).normalize(), 0.7);
    for turn in [DQuat::IDENTITY, turn] {
        for surface in surfaces(turn) {
            for cells in [1, 2, 7, 16] {
                let embedding = embed(&surface, cells).unwrap();
                assert_carries(&embedding, &surface);
                let lattice = &embedding.lattice;
                assert_eq!(parts(lattice), 1);
                // Every vertex is used.
                let mut used: Vec<u32> = lattice.tetrahedra.iter().flatten().copied().collect();
                used.sort_unstable();
                used.dedup();
                assert_eq!(used.len(), lattice.points.len());
                // More than the inside of the surface, and at most the grid.
                let volume = lattice_volume(lattice);
                let inside = volume_properties(&surface.points, &surface.triangles).volume;
                let grid = Grid::around(&surface, cells).unwrap();
                let whole = grid.side.powi(3) * grid.cube_count() as f64;
                assert!(!embedding.is_filled || volume > inside);
                assert!(volume < whole * (1.0 + 1e-12));
                let boundary = volume_properties(&lattice.points, &lattice.triangles).volume;
                assert!((boundary / volume - 1.0).abs() < 1e-12);
            }
        }
    }
}

#[test]
fn the_inside_is_filled_and_the_outside_is_not() {
    let ball = Shape::Sphere { radius: 1.0 }.surface(Some(0.1)).unwrap();
    let exact = 4.0 / 3.0 * std::f64::consts::PI;
    let filled = embed(&ball, 20).unwrap();
    assert!(filled.is_filled);
    let volume = lattice_volume(&filled.lattice);
    // Cubes at the surface extend by at most their diagonal, 0.1 √3.
    assert!(
        volume > exact && volume < exact * 1.173_f64.powi(3),
        "{volume}"
    );

    // The orientation of the triangles has no effect.
    let mut inverted = ball.clone();
    inverted
        .triangles
        .iter_mut()
        .for_each(|corners| corners.swap(0, 1));
    assert_eq!(embed(&inverted, 20).unwrap(), filled);

    // With a hole, the lattice only follows the surface.
    let mut open = ball.clone();
    open.triangles.pop();
    let layer = embed(&open, 20).unwrap();
    assert!(!layer.is_filled);
    assert!(lattice_volume(&layer.lattice) < volume - 1.0);

    // A second surface inside with opposite orientation bounds a cavity.
    let mut hollow = ball.clone();
    let count = ball.points.len() as u32;
    hollow
        .points
        .extend(ball.points.iter().map(|point| 0.6 * *point));
    let inner = ball
        .triangles
        .iter()
        .map(|[a, b, c]| [a + count, c + count, b + count]);
    hollow.triangles.extend(inner);
    let embedding = embed(&hollow, 20).unwrap();
    assert!(embedding.is_filled);
    let cavity = volume - lattice_volume(&embedding.lattice);
    assert!(
        cavity > exact * 0.4_f64.powi(3) && cavity < exact * 0.6_f64.powi(3),
        "{cavity}"
    );
}

#[test]
fn the_hole_of_a_funnel_stays_open() {
    let surface = FUNNEL.surface(Some(0.05)).unwrap();
    let lattice = embed(&surface, 40).unwrap().lattice;
    let side = 2.3 / 40.0;
    let blocked = lattice
        .points
        .iter()
        .filter(|point| point.x.hypot(point.y) < 0.3 - 2.0 * side);
    assert_eq!(blocked.count(), 0);
}

#[test]
fn invalid_surfaces_are_refused() {
    let ball = Shape::Sphere { radius: 1.0 }.surface(None).unwrap();
    let message = |mesh: &Mesh, cells| embed(mesh, cells).unwrap_err();
    assert_eq!(message(&ball, 0), "a lattice needs at least 1 cell");
    assert!(message(&ball, 1000).ends_with("use fewer cells"));
    assert!(message(&ball, usize::MAX).ends_with("use fewer cells"));
    assert!(embed(&Mesh::default(), 4).is_err());
    let mut broken = ball.clone();
    broken.triangles[3][1] = 9999;
    assert_eq!(
        message(&broken, 4),
        "triangle 3 uses vertex 9999, but there are 732"
    );
    broken = ball.clone();
    broken.points[7].y = f64::NAN;
    assert_eq!(message(&broken, 4), "vertex 7 of the surface is not finite");
    broken = ball.clone();
    broken.points.fill(DVec3::ONE);
    assert!(embed(&broken, 4).is_err());
    broken = ball;
    broken.points[0] = DVec3::splat(f64::MAX);
    broken.points[1] = DVec3::splat(f64::MIN);
    assert!(embed(&broken, 4).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn an_affine_map_of_the_lattice_is_an_affine_map_of_the_surface(
        columns in prop::array::uniform3(prop::array::uniform3(-2.0..2.0_f64)),
        cells in 1_usize..12, seed in 0..u64::MAX
    ) {
        // Random triangles, which may intersect and coincide.
        let mut random = Random::new(seed);
        let mut soup = Mesh {
            points: (0..20).map(|_| random.unit_vector() * random.between(0.0, 2.0)).collect(),
            ..Mesh::default()
        };
        soup.triangles = (0..15).map(|_| [0; 3].map(|_| random.below(20) as u32)).collect();
        let mut embedding = embed(&soup, cells).unwrap();
        assert_carries(&embedding, &soup);
        let matrix = DMat3::from_cols_array_2d(&columns);
        let map = |point: DVec3| matrix * point + DVec3::new(1.0, -2.0, 3.0);
        for point in &mut embedding.lattice.points {
            *point = map(*point);
        }
        for (stencil, point) in embedding.weights.iter().zip(&soup.points) {
            prop_assert!(stencil.position(&embedding.lattice.points).distance(map(*point)) < 1e-13);
        }
    }

    #[test]
    fn a_triangle_overlaps_a_cube_if_one_of_its_points_is_inside(
        corners in prop::array::uniform3(prop::array::uniform3(-1.5..1.5_f64)),
    ) {
        let [a, b, c] = corners.map(DVec3::from);
        let mut least = f64::INFINITY;
        for i in 0..=60 {
            for j in 0..=60 - i {
                let point = a + (b - a) * f64::from(i) / 60.0 + (c - a) * f64::from(j) / 60.0;
                least = least.min(point.abs().max_element());
            }
        }
        let found = overlaps([a, b, c]);
        // Between samples the largest coordinate changes by less than 0.05.
        let is_right = if found { least < 0.55 } else { least > 0.5 };
        prop_assert!(is_right);
    }
}
