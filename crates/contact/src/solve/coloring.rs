//! Coloring of contacts into stages that are solved in parallel.
//!
//! Contacts of a stage share no node, so that there are no races and the result does not depend on
//! the threads (Daviet 2020, 6.2.8). The coloring is greedy in the order of the contacts, and
//! therefore deterministic.

use std::ops::Range;

/// Number of parallel stages. Contacts that fit into none of them are solved in sequence.
pub const STAGES: usize = 8;

/// Contacts in the order of their stages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coloring {
    /// Contacts in the order of their solves.
    pub order: Vec<u32>,
    /// The ranges of `order` whose contacts are independent; at most [`STAGES`].
    pub stages: Vec<Range<usize>>,
    /// The range of `order` that is solved in sequence.
    pub rest: Range<usize>,
}

impl Coloring {
    /// Colors contacts so that those of a stage share no node. `stencil` returns the nodes of a
    /// contact, which are below `nodes`.
    pub fn new<'a, I>(contacts: usize, nodes: usize, stencil: impl Fn(usize) -> I) -> Self
    where
        I: Iterator<Item = u32> + Clone + 'a,
    {
        // The colors at each node, as bits.
        let mut taken = vec![0u8; nodes];
        let colors: Vec<u8> = (0..contacts)
            .map(|contact| {
                let nodes = stencil(contact);
                let used = nodes
                    .clone()
                    .fold(0, |used, node| used | taken[node as usize]);
                let color = used.trailing_ones() as usize;
                if color < STAGES {
                    nodes.for_each(|node| taken[node as usize] |= 1 << color);
                }
                color as u8
            })
            .collect();
        Self::from_colors(&colors)
    }

    /// Colors contacts so that those of a stage are not neighbours. `neighbours` must be symmetric.
    pub fn from_graph<'a, I>(contacts: usize, neighbours: impl Fn(usize) -> I) -> Self
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
        Self::from_colors(&colors)
    }

    /// The order by colors; [`STAGES`] is the color of contacts without a stage.
    fn from_colors(colors: &[u8]) -> Self {
        // A counting sort keeps the order of contacts, and of their memory, within a color.
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
        fn contacts_of_a_stage_share_no_node(
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
                    let mut nodes = contacts[*contact as usize].clone();
                    nodes.sort_unstable();
                    nodes.dedup();
                    for node in nodes {
                        prop_assert!(!std::mem::replace(&mut seen[node as usize], true));
                    }
                }
            }
        }
    }

    #[test]
    fn neighbours_are_in_different_stages() {
        // A ring of seven needs three colors.
        let ring = |contact: usize| [(contact + 1) % 7, (contact + 6) % 7].map(|c| c as u32);
        let coloring = Coloring::from_graph(7, |contact| ring(contact).into_iter());
        assert_eq!(coloring.stages.len(), 3);
        assert!(coloring.rest.is_empty());
        for stage in &coloring.stages {
            let contacts = &coloring.order[stage.clone()];
            let has_neighbour =
                |contact: &u32| ring(*contact as usize).iter().any(|n| contacts.contains(n));
            assert!(!contacts.iter().any(has_neighbour));
        }
        // Twelve contacts that are all neighbours: eight stages, and four contacts in sequence.
        let all = Coloring::from_graph(12, |_| 0..12);
        assert_eq!((all.stages.len(), all.rest), (8, 8..12));
    }

    #[test]
    fn contacts_of_a_common_node_beyond_the_stages_are_solved_in_sequence() {
        let coloring = Coloring::new(20, 21, |contact| [0, contact as u32 + 1].into_iter());
        // All contacts share node 0, so that each stage has one contact.
        assert_eq!(coloring.stages.len(), 8);
        assert_eq!(coloring.rest, 8..20);
        assert_eq!(coloring.order, (0..20).collect::<Vec<_>>());
    }
}
