use super::super::sample::{Scene, compare_all};
use super::*;
use crate::random::Random;
use proptest::prelude::*;

/// Steps through changes of the solver: each moves some points elsewhere.
fn check<const K: usize>(seed: u64, primitives: usize) -> Result<(), TestCaseError> {
    let scene = Scene::random(seed, primitives, 1.0, DVec3::ZERO);
    let features = &scene.features;
    let mut tree = Tree::new(features, &scene.volumes::<K>());
    let mut lists = CandidateLists::new(&mut tree, features, &scene.motion());
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
        prop_assert_eq!(lists.candidates(), &compare_all(features, lists.volumes()));
        // The accepted motion itself lies in the volumes, so none of its pairs is missing.
        let exact = Volumes::<K>::about(lists.volumes().origin(), &motion);
        let needed = compare_all(features, &exact);
        let held = &lists.candidates().edge_edge;
        prop_assert!(
            needed
                .edge_edge
                .iter()
                .all(|pair| held.binary_search(pair).is_ok())
        );
        let held = &lists.candidates().point_triangle;
        prop_assert!(
            needed
                .point_triangle
                .iter()
                .all(|pair| held.binary_search(pair).is_ok())
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn lists_stay_complete_whatever_the_solver_does(seed: u64, primitives in 1usize..30) {
        check::<3>(seed, primitives)?;
        check::<9>(seed, primitives)?;
    }
}
