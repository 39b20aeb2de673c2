use super::super::features::Part;
use super::super::margins::PAIRS_PER_BLOCK;
use super::super::sample::{SampleScene, brute_force_candidates};
use super::*;
use crate::random::Random;
use glam::DVec3;
use proptest::prelude::*;

/// Simulates changes by a solver: each moves some points.
fn check<const K: usize>(seed: u64, primitives: usize) -> Result<(), TestCaseError> {
    let scene = SampleScene::random(seed, primitives, 1.0, DVec3::ZERO);
    let features = &scene.features;
    let clearance: Vec<f64> = (0..scene.to.len())
        .map(|point| (point % 3) as f64)
        .collect();
    let mut tree = Tree::new(features, &scene.volumes::<K, MOVING>());
    let mut lists = CandidateLists::new(&mut tree, features, &scene.motion(), &clearance);
    prop_assert_eq!(lists.points_outside(&scene.motion()), Vec::<u32>::new());
    let mut random = Random::new(seed);
    let mut to = scene.to.clone();
    for _ in 0..4 {
        for _ in 0..random.below(6) {
            to[random.below(scene.to.len())] += random.between(0.0, 8.0) * random.unit_vector();
        }
        let motion = PointMotion {
            to: &to,
            ..scene.motion()
        };
        let leaving = lists.points_outside(&motion);
        let before = lists.candidates().len();
        let new = lists.search_again(&mut tree, features, &motion, &leaving);
        prop_assert_eq!(lists.points_outside(&motion), Vec::<u32>::new());
        prop_assert_eq!(lists.candidates().len(), before + new);
        let all = sorted(lists.candidates());
        prop_assert_eq!(&all, &brute_force_candidates(features, lists.volumes()));
        // The accepted motion itself lies in the volumes, so none of its pairs is missing.
        let exact = Volumes::<K, MOVING>::about(lists.volumes().origin(), &motion);
        let needed = brute_force_candidates(features, &exact);
        let has = |list: &[[u32; 2]], needed: &[[u32; 2]]| {
            let mut needed = needed.iter();
            needed.all(|pair| list.binary_search(pair).is_ok())
        };
        prop_assert!(has(&all.edge_edge, &needed.edge_edge));
        prop_assert!(has(&all.point_triangle, &needed.point_triangle));
    }
    Ok(())
}

fn sorted(candidates: &Candidates) -> Candidates {
    let mut candidates = candidates.clone();
    candidates.point_triangle.sort_unstable();
    candidates.edge_edge.sort_unstable();
    candidates
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn lists_stay_complete_when_points_move(seed: u64, primitives in 1usize..30) {
        check::<3>(seed, primitives)?;
        check::<9>(seed, primitives)?;
    }
}

/// Two points, of which the first moves along x.
fn along_x(to: &[DVec3; 2]) -> PointMotion<'_> {
    PointMotion {
        from: &[DVec3::ZERO, DVec3::Y],
        to,
        reach: &[0.25; 2],
    }
}

fn outside(lists: &CandidateLists<3>, x: f64) -> Vec<u32> {
    lists.points_outside(&along_x(&[DVec3::X * x, DVec3::Y]))
}

#[test]
fn a_point_that_leaves_its_volume_gets_twice_the_clearance() {
    let part = Part {
        is_free: true,
        self_collides: true,
    };
    let features = Features::new(vec![0; 2], vec![part], vec![], &[], &[]);
    let [expected, further] = [100.0, 102.0].map(|x| [DVec3::X * x, DVec3::Y]);
    let [expected, further] = [along_x(&expected), along_x(&further)];
    let mut tree = Tree::new(&features, &Volumes::new(&expected));
    let mut lists = CandidateLists::new(&mut tree, &features, &expected, &[1.0; 2]);
    let none = Vec::<u32>::new();
    assert_eq!(outside(&lists, 100.9), none);
    assert_eq!(outside(&lists, 99.1), none);
    // Halfway is on the path, but at another time.
    assert_eq!(outside(&lists, 50.0), [0]);
    assert_eq!(outside(&lists, 101.1), [0]);
    lists.search_again(&mut tree, &features, &further, &[0]);
    assert_eq!(outside(&lists, 103.9), none);
    assert_eq!(outside(&lists, 99.1), none);
    assert_eq!(outside(&lists, 104.1), [0]);
    lists.search_again(&mut tree, &features, &further, &[0]);
    assert_eq!(outside(&lists, 105.9), none);
    assert_eq!(outside(&lists, 106.1), [0]);
    assert_eq!(outside(&lists, f64::NAN), [0]);
}

#[test]
fn pairs_keep_their_margins_when_others_are_added() {
    let mut list: Vec<[u32; 2]> = (0..PAIRS_PER_BLOCK as u32)
        .map(|first| [first, 99])
        .collect();
    let first = list.len();
    let mut margins = PairMargins {
        pairs: vec![0.1; PAIRS_PER_BLOCK],
        blocks: vec![0.1],
    };
    merge_new_pairs(&mut list, &mut margins, first, &[[2, 99], [3, 4], [7, 8]]);
    assert_eq!(list[first..], [[3, 4], [7, 8]]);
    assert_eq!(margins.pairs[first..], [0.0, 0.0]);
    margins.pairs[first..].copy_from_slice(&[0.2, 0.3]);
    margins.blocks[1] = 0.2;
    merge_new_pairs(&mut list, &mut margins, first, &[[0, 1], [3, 4], [5, 6]]);
    assert_eq!(list[first..], [[0, 1], [3, 4], [5, 6], [7, 8]]);
    assert_eq!(margins.pairs[first..], [0.0, 0.2, 0.0, 0.3]);
    assert_eq!(margins.pairs[..first], [0.1; PAIRS_PER_BLOCK]);
    // Blocks with changed pairs are unknown; the first is unchanged.
    assert_eq!(margins.blocks, [0.1, 0.0]);
    // All margins are unknown.
    let mut unknown = PairMargins::default();
    merge_new_pairs(&mut list, &mut unknown, first, &[[3, 3]]);
    assert_eq!(
        (list[first + 1], unknown.pairs),
        ([3, 3], vec![0.0; first + 5])
    );
}
