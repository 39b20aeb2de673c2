use super::super::features::Part;
use super::super::margins::BLOCK;
use super::super::sample::{Scene, compare_all};
use super::*;
use crate::random::Random;
use glam::DVec3;
use proptest::prelude::*;

/// Steps through changes of the solver: each moves some points elsewhere.
fn check<const K: usize>(seed: u64, primitives: usize) -> Result<(), TestCaseError> {
    let scene = Scene::random(seed, primitives, 1.0, DVec3::ZERO);
    let features = &scene.features;
    let room: Vec<f64> = (0..scene.to.len())
        .map(|point| (point % 3) as f64)
        .collect();
    let mut tree = Tree::new(features, &scene.volumes::<K, MOVING>());
    let mut lists = CandidateLists::new(&mut tree, features, &scene.motion(), &room);
    prop_assert_eq!(lists.leaving(&scene.motion()), Vec::<u32>::new());
    let mut random = Random::new(seed);
    let mut to = scene.to.clone();
    for _ in 0..4 {
        for _ in 0..random.below(6) {
            to[random.below(scene.to.len())] += random.between(0.0, 8.0) * random.unit_vector();
        }
        let motion = Motion {
            to: &to,
            ..scene.motion()
        };
        let leaving = lists.leaving(&motion);
        let before = lists.candidates().len();
        let new = lists.search_again(&mut tree, features, &motion, &leaving);
        prop_assert_eq!(lists.leaving(&motion), Vec::<u32>::new());
        prop_assert_eq!(lists.candidates().len(), before + new);
        let held = sorted(lists.candidates());
        prop_assert_eq!(&held, &compare_all(features, lists.volumes()));
        // The accepted motion itself lies in the volumes, so none of its pairs is missing.
        let exact = Volumes::<K, MOVING>::about(lists.volumes().origin(), &motion);
        let needed = compare_all(features, &exact);
        let has = |list: &[[u32; 2]], needed: &[[u32; 2]]| {
            let mut needed = needed.iter();
            needed.all(|pair| list.binary_search(pair).is_ok())
        };
        prop_assert!(has(&held.edge_edge, &needed.edge_edge));
        prop_assert!(has(&held.point_triangle, &needed.point_triangle));
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
    fn lists_stay_complete_whatever_the_solver_does(seed: u64, primitives in 1usize..30) {
        check::<3>(seed, primitives)?;
        check::<9>(seed, primitives)?;
    }
}

/// Two points, the first of which moves along x.
fn along_x(to: &[DVec3; 2]) -> Motion<'_> {
    Motion {
        from: &[DVec3::ZERO, DVec3::Y],
        to,
        reach: &[0.25; 2],
    }
}

fn leaving(lists: &CandidateLists<3>, x: f64) -> Vec<u32> {
    lists.leaving(&along_x(&[DVec3::X * x, DVec3::Y]))
}

#[test]
fn a_point_that_leaves_gets_twice_the_room_about_where_it_goes() {
    let part = Part {
        is_free: true,
        meets_itself: true,
    };
    let features = Features::new(vec![0; 2], vec![part], vec![], &[], &[]);
    let [expected, further] = [100.0, 102.0].map(|x| [DVec3::X * x, DVec3::Y]);
    let [expected, further] = [along_x(&expected), along_x(&further)];
    let mut tree = Tree::new(&features, &Volumes::new(&expected));
    let mut lists = CandidateLists::new(&mut tree, &features, &expected, &[1.0; 2]);
    let nobody = Vec::<u32>::new();
    assert_eq!(leaving(&lists, 100.9), nobody);
    assert_eq!(leaving(&lists, 99.1), nobody);
    // Halfway is on the path, but not in time.
    assert_eq!(leaving(&lists, 50.0), [0]);
    assert_eq!(leaving(&lists, 101.1), [0]);
    lists.search_again(&mut tree, &features, &further, &[0]);
    assert_eq!(leaving(&lists, 103.9), nobody);
    assert_eq!(leaving(&lists, 99.1), nobody);
    assert_eq!(leaving(&lists, 104.1), [0]);
    lists.search_again(&mut tree, &features, &further, &[0]);
    assert_eq!(leaving(&lists, 105.9), nobody);
    assert_eq!(leaving(&lists, 106.1), [0]);
    assert_eq!(leaving(&lists, f64::NAN), [0]);
}

#[test]
fn what_is_known_of_pairs_stays_with_them_when_others_come() {
    let mut list: Vec<[u32; 2]> = (0..BLOCK as u32).map(|first| [first, 99]).collect();
    let first = list.len();
    let mut margins = Clear {
        pairs: vec![0.1; BLOCK],
        blocks: vec![0.1],
    };
    add((&mut list, &mut margins), first, &[[2, 99], [3, 4], [7, 8]]);
    assert_eq!(list[first..], [[3, 4], [7, 8]]);
    assert_eq!(margins.pairs[first..], [0.0, 0.0]);
    margins.pairs[first..].copy_from_slice(&[0.2, 0.3]);
    margins.blocks[1] = 0.2;
    add((&mut list, &mut margins), first, &[[0, 1], [3, 4], [5, 6]]);
    assert_eq!(list[first..], [[0, 1], [3, 4], [5, 6], [7, 8]]);
    assert_eq!(margins.pairs[first..], [0.0, 0.2, 0.0, 0.3]);
    assert_eq!(margins.pairs[..first], [0.1; BLOCK]);
    // Blocks that have other pairs now are not known; the first is as it was.
    assert_eq!(margins.blocks, [0.1, 0.0]);
    // Nothing is known yet.
    let mut unknown = Clear::default();
    add((&mut list, &mut unknown), first, &[[3, 3]]);
    assert_eq!(
        (list[first + 1], unknown.pairs),
        ([3, 3], vec![0.0; first + 5])
    );
}
