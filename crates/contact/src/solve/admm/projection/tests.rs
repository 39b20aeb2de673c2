use super::super::WeightRule;
use super::*;
use crate::samples;

/// The contacts that share a node with an active one, by comparing all pairs.
fn neighbours(projection: &Projection, active: &[u32]) -> Vec<u32> {
    let nodes = |index: u32| {
        let stencil = projection.records[index as usize].stencil(&projection.stencils);
        stencil.iter().map(|node| node.index)
    };
    let active_nodes: Vec<u32> = active.iter().flat_map(|index| nodes(*index)).collect();
    let all = 0..projection.records.len() as u32;
    all.filter(|index| nodes(*index).any(|node| active_nodes.contains(&node)))
        .collect()
}

#[test]
fn the_wake_list_contains_each_neighbour_of_active_contacts_once_in_ascending_order() {
    let problem = samples::heap(2000);
    let nodes = WeightedNodes::new(&problem, WeightRule::Mobility);
    let none = vec![DVec3::ZERO; problem.contacts.len()];
    let mut projection = Projection::new(&problem, &nodes, &none);
    let count = projection.records.len();
    // One active contact, whose list is sorted, and a seventh of all, whose list is from a scan.
    for step in [count, 7] {
        let active: Vec<u32> = (3..count as u32).step_by(step).collect();
        let expected = neighbours(&projection, &active);
        assert_eq!(expected.len() * TUNING.scan_divisor > count, step == 7);
        projection.awake.active = active;
        let (records, stencils) = (&projection.records, &projection.stencils);
        assert!(projection.awake.list_neighbours(records, stencils));
        assert_eq!(projection.awake.list, expected);
    }
    // A third of all contacts: no list, all contacts are visited.
    projection.awake.active = (0..count as u32).step_by(3).collect();
    let (records, stencils) = (&projection.records, &projection.stencils);
    assert!(!projection.awake.list_neighbours(records, stencils));
}
