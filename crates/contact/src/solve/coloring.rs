//! Which contacts can be solved side by side.
//!
//! Contacts of a stage share no node, so that threads cannot meet and the result does not depend on them (Daviet 2020, 6.2.8).
//! The coloring is greedy, in the order of the contacts: always the same.

use std::ops::Range;

/// Stages that run in parallel. What fits into none of them is done in sequence.
pub const STAGES: usize = 8;

/// An order of contacts by stages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coloring {
    /// Contacts in the order in which they are solved.
    pub order: Vec<u32>,
    /// The parts of `order` whose contacts share nothing; at most [`STAGES`].
    pub stages: Vec<Range<usize>>,
    /// The part of `order` that is done one by one.
    pub rest: Range<usize>,
}

impl Coloring {
    /// Colors contacts whose places (nodes, bodies) are given by a function; there are `places` of them.
    pub fn new<'a, I>(contacts: usize, places: usize, of_contact: impl Fn(usize) -> I) -> Self
    where
        I: Iterator<Item = u32> + Clone + 'a,
    {
        let mut taken = vec![0u8; places];
        let colors: Vec<u8> = (0..contacts)
            .map(|contact| {
                let places = of_contact(contact);
                let used = places
                    .clone()
                    .fold(0, |used, place| used | taken[place as usize]);
                let color = used.trailing_ones() as usize;
                if color < STAGES {
                    places.for_each(|place| taken[place as usize] |= 1 << color);
                }
                color as u8
            })
            .collect();
        Self::of_colors(&colors)
    }

    /// Colors contacts so that those of a stage are no neighbours; a function gives the neighbours of each, in both directions.
    pub fn of_graph<'a, I>(contacts: usize, neighbours: impl Fn(usize) -> I) -> Self
    where
        I: Iterator<Item = u32> + 'a,
    {
        let mut colors: Vec<u8> = Vec::with_capacity(contacts);
        for contact in 0..contacts {
            let before = neighbours(contact).filter(|other| (*other as usize) < contact);
            let colored = before.filter_map(|other| 1u8.checked_shl(colors[other as usize].into()));
            let used = colored.fold(0, |used: u8, color| used | color);
            colors.push(used.trailing_ones() as u8);
        }
        Self::of_colors(&colors)
    }

    /// The order by colors; [`STAGES`] stands for none.
    fn of_colors(colors: &[u8]) -> Self {
        // Counting keeps the order of the contacts within a color, which is the order of memory.
        let mut starts = [0; STAGES + 2];
        for color in colors {
            starts[*color as usize + 1] += 1;
        }
        for color in 0..=STAGES {
            starts[color + 1] += starts[color];
        }
        let ranges = starts;
        let mut order = vec![0; colors.len()];
        for (contact, color) in colors.iter().enumerate() {
            let next = &mut starts[*color as usize];
            order[*next] = contact as u32;
            *next += 1;
        }
        let stages = (0..STAGES).map(|color| ranges[color]..ranges[color + 1]);
        Self {
            order,
            stages: stages.filter(|stage| !stage.is_empty()).collect(),
            rest: ranges[STAGES]..ranges[STAGES + 1],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn contacts_of_a_stage_share_no_place(
            contacts in prop::collection::vec(prop::collection::vec(0u32..40, 1..5), 0..200),
        ) {
            let coloring = Coloring::new(contacts.len(), 40, |c| contacts[c].iter().copied());
            let mut sorted = coloring.order.clone();
            sorted.sort_unstable();
            prop_assert_eq!(sorted, (0..contacts.len() as u32).collect::<Vec<_>>());
            prop_assert!(coloring.stages.len() <= STAGES);
            for stage in &coloring.stages {
                let mut seen = [false; 40];
                for contact in &coloring.order[stage.clone()] {
                    let mut places = contacts[*contact as usize].clone();
                    places.sort_unstable();
                    places.dedup();
                    for place in places {
                        prop_assert!(!std::mem::replace(&mut seen[place as usize], true));
                    }
                }
            }
        }
    }

    #[test]
    fn neighbours_are_in_different_stages() {
        // A ring of seven needs three colors.
        let ring = |contact: usize| [(contact + 1) % 7, (contact + 6) % 7].map(|c| c as u32);
        let coloring = Coloring::of_graph(7, |contact| ring(contact).into_iter());
        assert_eq!(coloring.stages.len(), 3);
        assert!(coloring.rest.is_empty());
        for stage in &coloring.stages {
            let contacts = &coloring.order[stage.clone()];
            let meets =
                |contact: &u32| ring(*contact as usize).iter().any(|n| contacts.contains(n));
            assert!(!contacts.iter().any(meets));
        }
        // Twelve that are all neighbours: eight stages, and four in sequence.
        let all = Coloring::of_graph(12, |_| 0..12);
        assert_eq!((all.stages.len(), all.rest), (8, 8..12));
    }

    #[test]
    fn a_hub_leaves_most_contacts_for_the_end() {
        let coloring = Coloring::new(20, 21, |contact| [0, contact as u32 + 1].into_iter());
        // All share place 0, so that a stage has one contact each.
        assert_eq!(coloring.stages.len(), 8);
        assert_eq!(coloring.rest, 8..20);
        assert_eq!(coloring.order, (0..20).collect::<Vec<_>>());
    }
}
