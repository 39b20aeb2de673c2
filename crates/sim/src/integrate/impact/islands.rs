//! The parts of a model that share an impact.

use reefknot_contact::problem::NodalProblem;
use reefknot_contact::system::DisjointSets;

use crate::model::Body;
use crate::step_input::StepInput;

/// Parts of the model that share an impact: bodies joined by ties and by contacts that touch. Each
/// has its own energy.
pub(super) struct Islands {
    /// Island of each unknown, if it has an impact.
    pub(super) of_dofs: Vec<Option<u32>>,
    /// Island of each contact, if it has an impact and the contact touches.
    pub(super) of_contacts: Vec<Option<u32>>,
    count: usize,
}

impl Islands {
    pub(super) fn of(
        input: &StepInput<'_>,
        bounces: &[bool],
        touches: &[bool],
        problem: &NodalProblem,
    ) -> Islands {
        let (components, count) = problem.system.components();
        let contacts = problem.contacts.len();
        let mut sets = DisjointSets::new(count + contacts);
        for contact in (0..contacts).filter(|contact| touches[*contact]) {
            for (node, _) in problem.contacts.stencil(contact) {
                sets.join(components[*node as usize], (count + contact) as u32);
            }
        }
        let mut has_impact = vec![false; count + contacts];
        for contact in (0..contacts).filter(|contact| bounces[*contact] && touches[*contact]) {
            has_impact[sets.find((count + contact) as u32) as usize] = true;
        }
        let mut island = |member: usize| {
            let root = sets.find(member as u32);
            has_impact[root as usize].then_some(root)
        };
        let of_contacts = (0..contacts).map(|contact| {
            let own = island(count + contact);
            own.filter(|_| touches[contact])
        });
        let of_contacts = of_contacts.collect();
        let unknowns = &input.model.unknowns;
        let mut of_dofs = vec![None; unknowns.count];
        for (node, offset) in unknowns.node_offset.iter().enumerate() {
            of_dofs[*offset..offset + 3].fill(island(components[node] as usize));
        }
        // The twist of an edge follows the first node of the edge.
        for offset in &unknowns.edge_offset {
            of_dofs[*offset] = of_dofs[offset - 1];
        }
        Islands {
            of_dofs,
            of_contacts,
            count: count + contacts,
        }
    }

    /// Whether there is no impact.
    pub(super) fn is_empty(&self) -> bool {
        self.of_contacts.iter().all(Option::is_none)
    }

    /// The contacts that take part in an impact.
    pub(super) fn contacts(&self) -> Vec<usize> {
        let contacts = self.of_contacts.iter().enumerate();
        let taking_part = contacts.filter(|(_, island)| island.is_some());
        taking_part.map(|(contact, _)| contact).collect()
    }

    /// The islands of a body, each once.
    pub(super) fn of_body(&self, body: &Body) -> Vec<u32> {
        let of_dofs = self.of_dofs[body.dofs.clone()].iter();
        let mut islands: Vec<u32> = of_dofs.copied().flatten().collect();
        islands.sort_unstable();
        islands.dedup();
        islands
    }

    /// Sums of values at unknowns, by island.
    pub(super) fn sums(&self, value: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut sums = vec![0.0; self.count];
        for (dof, island) in self.of_dofs.iter().enumerate() {
            if let Some(island) = island {
                sums[*island as usize] += value(dof);
            }
        }
        sums
    }
}
