//! The memory of contacts follows their ids.

use super::*;
use crate::samples;

fn memory(id: u64, size: f64, state: ContactState) -> ContactMemory {
    ContactMemory {
        id,
        reaction: DVec3::new(size, 0.0, 1.0),
        average: DVec3::new(0.0, size, 2.0),
        state,
    }
}

/// Contacts 2, 5 and 9.
fn warm() -> WarmStart {
    WarmStart {
        velocities: vec![0.5; 3],
        contacts: vec![
            memory(2, 0.2, ContactState::Slip),
            memory(5, 0.5, ContactState::Stick),
            memory(9, 0.9, ContactState::Open),
        ],
    }
}

/// The memory after contacts got new ids.
fn renamed(renamed: &[(u64, u64)]) -> Vec<ContactMemory> {
    let warm = warm().rename_contacts(renamed);
    assert_eq!(warm.velocities, [0.5; 3]);
    warm.contacts
}

#[test]
fn a_renamed_contact_keeps_its_reaction_average_and_state() {
    let [two, five, nine] = warm().contacts[..] else {
        panic!("three contacts");
    };
    let as_id = |id: u64, known: ContactMemory| ContactMemory { id, ..known };
    // To the end and to the front: the order is by id, and the old id is removed.
    assert_eq!(renamed(&[(5, 12)]), [two, nine, as_id(12, five)]);
    assert_eq!(renamed(&[(9, 1)]), [as_id(1, nine), two, five]);
    // Two ids are swapped, one contact gets the id of another, two ids are shifted.
    let swapped = [as_id(2, five), as_id(5, two), nine];
    assert_eq!(renamed(&[(2, 5), (5, 2)]), swapped);
    assert_eq!(renamed(&[(2, 5)]), [as_id(5, two), nine]);
    let chained = [as_id(5, two), as_id(7, five), nine];
    assert_eq!(renamed(&[(5, 7), (2, 5)]), chained);
    // Unknown contacts add no memory.
    assert_eq!(renamed(&[(3, 4)]), [two, five, nine]);
    assert_eq!(renamed(&[(3, 9)]), [two, five]);
    assert_eq!(renamed(&[]), [two, five, nine]);
}

#[test]
fn memory_is_found_by_the_new_id_only() {
    let warm = warm().rename_contacts(&[(2, 70), (9, 3)]);
    assert_eq!(warm.contact(70).unwrap().state, ContactState::Slip);
    assert_eq!(warm.contact(3).unwrap().reaction.x, 0.9);
    assert_eq!(warm.contact(5).unwrap().average.y, 0.5);
    assert!(warm.contact(2).is_none() && warm.contact(9).is_none());
}

/// A problem with the contacts 9, 2 and 5, and a solution with different values at each.
fn solved() -> (NodalProblem, Solution) {
    let mut problem = samples::random(3, 2, 3);
    for (contact, id) in problem.contacts.iter_mut().zip([9, 2, 5]) {
        contact.id = id;
    }
    let solution = Solution {
        velocities: vec![0.5; problem.system.dofs()],
        impulses: vec![DVec3::X * 0.9, DVec3::X * 0.2, DVec3::X * 0.5],
        averages: vec![DVec3::Y * 0.9, DVec3::Y * 0.2, DVec3::Y * 0.5],
        states: vec![ContactState::Open, ContactState::Slip, ContactState::Stick],
    };
    (problem, solution)
}

#[test]
fn a_warm_start_has_the_contacts_of_a_solution_by_ascending_id() {
    let (problem, solution) = solved();
    let warm = WarmStart::from_solution(&problem, solution.clone());
    let ids: Vec<u64> = warm.contacts.iter().map(|known| known.id).collect();
    assert_eq!(ids, [2, 5, 9]);
    for (known, size) in warm.contacts.iter().zip([0.2, 0.5, 0.9]) {
        assert_eq!(known.reaction, DVec3::X * size);
        assert_eq!(known.average, DVec3::Y * size);
    }
    let states = warm.contacts.iter().map(|known| known.state as u8);
    assert_eq!(states.collect::<Vec<_>>(), [2, 1, 0]);
    // The reverse is in the order of the problem.
    assert_eq!(warm.to_solution(&problem), solution);
    assert_eq!(warm.impulses_of(&problem), solution.impulses);
}

#[test]
fn a_solution_without_averages_and_states_has_zero_and_open_in_the_warm_start() {
    let (problem, solution) = solved();
    let plain = Solution::new(solution.velocities, solution.impulses);
    let warm = WarmStart::from_solution(&problem, plain);
    let is_plain =
        |known: &ContactMemory| known.average == DVec3::ZERO && known.state == ContactState::Open;
    assert!(warm.contacts.len() == 3 && warm.contacts.iter().all(is_plain));
    // Unknown contacts start with zero impulse.
    let unknown = WarmStart::default().to_solution(&problem);
    assert_eq!(unknown.impulses, [DVec3::ZERO; 3]);
    assert_eq!(unknown.states, [ContactState::Open; 3]);
}

#[test]
fn scaling_multiplies_reaction_and_average() {
    let known = memory(4, 3.0, ContactState::Slip).scaled(0.01);
    let wanted = ContactMemory {
        id: 4,
        reaction: DVec3::new(0.03, 0.0, 0.01),
        average: DVec3::new(0.0, 0.03, 0.02),
        state: ContactState::Slip,
    };
    assert_eq!(known, wanted);
}

#[test]
fn states_are_found_by_their_numbers_in_files() {
    for (number, state) in [ContactState::Open, ContactState::Stick, ContactState::Slip]
        .into_iter()
        .enumerate()
    {
        assert_eq!(ContactState::from_number(number as u8), Some(state));
    }
    assert_eq!(ContactState::from_number(3), None);
}
