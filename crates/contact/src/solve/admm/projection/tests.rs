use super::super::Weights;
use super::*;
use crate::samples;

/// The places of all contacts that share a node with one of some, by comparing everything.
fn neighbours(projection: &Projection, restless: &[u32]) -> Vec<u32> {
    let nodes = |index: u32| {
        let stencil = projection.records[index as usize].stencil(&projection.stencils);
        stencil.iter().map(|weight| weight.place)
    };
    let touched: Vec<u32> = restless.iter().flat_map(|index| nodes(*index)).collect();
    let all = 0..projection.records.len() as u32;
    all.filter(|index| nodes(*index).any(|node| touched.contains(&node)))
        .collect()
}

#[test]
fn the_neighbours_of_few_and_of_many_are_woken_each_once_and_in_order() {
    let problem = samples::heap(2000);
    let nodes = WeightedNodes::new(&problem, Weights::Mobility);
    let none = vec![DVec3::ZERO; problem.contacts.len()];
    let mut projection = Projection::new(&problem, &nodes, &none);
    let count = projection.records.len();
    // Few enough to be sorted, and so many that all are looked at.
    for step in [count, 7] {
        let restless: Vec<u32> = (3..count as u32).step_by(step).collect();
        let expected = neighbours(&projection, &restless);
        assert_eq!(expected.len() * MANY_AWAKE > count, step == 7);
        projection.awake.restless = restless;
        let (records, stencils) = (&projection.records, &projection.stencils);
        assert!(projection.awake.wake(records, stencils));
        assert_eq!(projection.awake.list, expected);
    }
    // More than a quarter: all are visited, and no list is made.
    projection.awake.restless = (0..count as u32).step_by(3).collect();
    let (records, stencils) = (&projection.records, &projection.stencils);
    assert!(!projection.awake.wake(records, stencils));
}
