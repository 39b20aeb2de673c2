use super::super::features::Part;
use super::super::pairs::Candidates;
use super::super::sample::{FeatureSpec, SampleScene, brute_force_candidates};
use super::super::volume::{MOVING, PointMotion};
use super::*;
use crate::random::Random;
use glam::DVec3;
use proptest::prelude::*;

fn check<const K: usize, const T: usize>(scene: &SampleScene) -> Result<Candidates, TestCaseError> {
    let volumes = scene.volumes::<K, T>();
    let found = Tree::new(&scene.features, &volumes).candidates(&scene.features);
    prop_assert_eq!(&found, &brute_force_candidates(&scene.features, &volumes));
    Ok(found)
}

fn search(scene: &SampleScene) -> Candidates {
    Tree::new(&scene.features, &scene.volumes::<3, WHOLE>()).candidates(&scene.features)
}

/// Refits a tree to small and large displacements.
fn check_refitted<const T: usize>(seed: u64, size: usize, far: f64) -> Result<(), TestCaseError> {
    let scene = SampleScene::random(seed, size, 1.0, DVec3::ZERO);
    let mut tree = Tree::new(&scene.features, &scene.volumes::<3, T>());
    for (step, by) in [0.1, 1.0, far].into_iter().enumerate() {
        let moved = scene.moved(seed ^ step as u64, by);
        tree.refit(&moved.features, &moved.volumes());
        let new = Tree::new(&moved.features, &moved.volumes::<3, T>());
        prop_assert_eq!(
            tree.candidates(&moved.features),
            new.candidates(&moved.features)
        );
    }
    Ok(())
}

/// A square sheet of one part with `side` points along a side, 1 apart, and their positions.
fn sheet(side: u32) -> (FeatureSpec, Vec<DVec3>) {
    let mut spec = FeatureSpec {
        part_of: vec![0; (side * side) as usize],
        parts: vec![Part {
            is_free: true,
            self_collides: true,
        }],
        ..FeatureSpec::default()
    };
    for row in 0..side - 1 {
        for column in 0..side - 1 {
            let a = row * side + column;
            spec.triangles.push([a, a + 1, a + side]);
            spec.triangles.push([a + 1, a + side + 1, a + side]);
        }
    }
    let position = |point: u32| DVec3::new(f64::from(point % side), f64::from(point / side), 0.0);
    let positions = (0..side * side).map(position).collect();
    (spec, positions)
}

fn at(features: Features, positions: Vec<DVec3>) -> SampleScene {
    SampleScene {
        features,
        to: positions.clone(),
        reach: vec![0.1; positions.len()],
        from: positions,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn the_tree_finds_the_candidates_of_a_brute_force_search(
        seed: u64,
        size in 1usize..50,
        exponent in -40i32..40,
        far in 0u32..3,
    ) {
        let scale = 2f64.powi(exponent);
        let offset = f64::from(far) * scale * DVec3::new(1e9, -3e5, 7.0);
        let scene = SampleScene::random(seed, size, scale, offset);
        let with_boxes = check::<3, WHOLE>(&scene)?;
        let is_found = |pair: &[u32; 2]| with_boxes.edge_edge.binary_search(pair).is_ok();
        let others = [
            check::<9, WHOLE>(&scene)?,
            check::<3, MOVING>(&scene)?,
            check::<9, MOVING>(&scene)?,
        ];
        for fewer in others {
            prop_assert!(fewer.edge_edge.iter().all(is_found));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_refitted_tree_finds_the_candidates_of_a_new_one(
        seed: u64, size in 1usize..100, far in 0.0..100f64
    ) {
        check_refitted::<WHOLE>(seed, size, far)?;
        check_refitted::<MOVING>(seed, size, far)?;
    }

    #[test]
    fn order_of_primitives_and_translation_change_no_candidates(
        seed: u64,
        size in 1usize..50,
        shift in proptest::array::uniform3(-1_000_000i32..1_000_000),
    ) {
        let mut random = Random::new(seed);
        let spec = FeatureSpec::random(&mut random, size, 0);
        let mut turned = spec.clone();
        turned.triangles.reverse();
        let count = spec.triangles.len() as u32;
        let scene = SampleScene::with_positions(spec.features(), &mut random, 1.0, DVec3::ZERO);
        let found = search(&scene);

        let mut shifted = scene.clone();
        let shift = DVec3::from_array(shift.map(f64::from));
        shifted.from.iter_mut().chain(&mut shifted.to).for_each(|point| *point += shift);
        prop_assert_eq!(&search(&shifted), &found);

        let mut other = search(&SampleScene { features: turned.features(), ..scene });
        other.point_triangle.iter_mut().for_each(|pair| pair[1] = count - 1 - pair[1]);
        other.point_triangle.sort_unstable();
        prop_assert_eq!(other, found);
    }

    #[test]
    fn a_non_finite_point_overlaps_everything(
        seed: u64, size in 1usize..50, lost in 0usize..1000
    ) {
        let mut scene = SampleScene::random(seed, size, 1.0, DVec3::ZERO);
        let lost = lost % scene.from.len();
        scene.to[lost].y = f64::NAN;
        let found = check::<3, MOVING>(&scene)?;
        let features = &scene.features;
        let lost = lost as u32;
        for triangle in 0..features.triangles.len() as u32 {
            let is_found = found.point_triangle.binary_search(&[lost, triangle]).is_ok();
            prop_assert_eq!(is_found, features.may_collide_point_triangle(lost, triangle));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    #[test]
    fn any_number_of_threads_finds_the_same_candidates(seed: u64) {
        let scene = SampleScene::random(seed, 400, 1.0, DVec3::ZERO);
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            pool.build().unwrap().install(|| {
                let tree = Tree::new(&scene.features, &scene.volumes::<3, WHOLE>());
                (tree.initial_sides.to_bits(), tree.candidates(&scene.features))
            })
        };
        let one = on(1);
        prop_assert_eq!(&on(2), &one);
        prop_assert_eq!(&on(3), &one);
    }
}

#[test]
fn without_primitives_there_are_no_candidates() {
    let features = Features::default();
    let volumes = Volumes::<3>::new(&PointMotion {
        from: &[],
        to: &[],
        reach: &[],
    });
    let mut tree = Tree::new(&features, &volumes);
    assert_eq!(tree.candidates(&features), Candidates::default());
    assert_eq!(tree.refit(&features, &volumes), Refit::Kept);
    assert_eq!(tree.wear(), 1.0);
}

#[test]
fn coincident_points_have_all_pairs_but_neighbours() {
    let (spec, positions) = sheet(16);
    let mut scene = at(spec.features(), positions);
    scene.from.fill(DVec3::ONE);
    scene.to.fill(DVec3::ONE);
    scene.reach.fill(0.0);
    let found = search(&scene);
    // All pairs but neighbours.
    let (points, triangles) = (16 * 16, 2 * 15 * 15);
    assert_eq!(
        found.point_triangle.len(),
        points * triangles - 3 * triangles
    );
    // A rigid part with 80,000 triangles at one position has no candidates, and is not descended.
    let (mut spec, positions) = sheet(201);
    spec.parts[0].self_collides = false;
    let mut scene = at(spec.features(), positions);
    scene.from.fill(DVec3::ZERO);
    scene.to.fill(DVec3::ZERO);
    assert_eq!(search(&scene), Candidates::default());
}

#[test]
fn a_tree_is_rebuilt_when_its_primitives_have_separated() {
    let (spec, positions) = sheet(40);
    let mut scene = at(spec.features(), positions);
    let mut tree = Tree::new(&scene.features, &scene.volumes::<3, WHOLE>());
    assert_eq!(tree.wear(), 1.0);
    // A bend keeps neighbours together.
    let bent = |point: &DVec3| DVec3::new(point.x, point.y, 3.0 * (point.x / 9.0).sin());
    scene.from = scene.from.iter().map(bent).collect();
    scene.to.clone_from(&scene.from);
    assert_eq!(tree.refit(&scene.features, &scene.volumes()), Refit::Kept);
    assert!(tree.wear() < 1.2, "{}", tree.wear());
    // A random permutation of lone points does not.
    let points = 2000;
    let mut random = Random::new(7);
    let spec = FeatureSpec {
        part_of: vec![0; points],
        parts: vec![Part {
            is_free: true,
            self_collides: true,
        }],
        ..FeatureSpec::default()
    };
    let mut positions =
        || -> Vec<DVec3> { (0..points).map(|_| 20.0 * random.unit_vector()).collect() };
    let mut scene = at(spec.features(), positions());
    let mut tree = Tree::new(&scene.features, &scene.volumes::<3, WHOLE>());
    scene.from = positions();
    scene.to.clone_from(&scene.from);
    assert_eq!(
        tree.refit(&scene.features, &scene.volumes()),
        Refit::Rebuilt
    );
    assert_eq!(tree.wear(), 1.0);
}

#[test]
fn a_tree_is_rebuilt_for_other_features() {
    let [small, large] = [10, 20].map(|side| {
        let (spec, positions) = sheet(side);
        at(spec.features(), positions)
    });
    let mut tree = Tree::new(&small.features, &small.volumes::<3, WHOLE>());
    assert_eq!(
        tree.refit(&large.features, &large.volumes()),
        Refit::Rebuilt
    );
    assert_eq!(tree.candidates(&large.features), search(&large));
}
