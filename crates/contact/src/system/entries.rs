//! A as a list of scalar entries, for solvers and file formats without bodies and couplings.

use glam::DMat3;

use super::{Coupling, Matrix, System, SystemBody, free_part_of};

/// Row, column and value.
type Entry = (u32, u32, f64);

impl System {
    /// Nonzero entries of both triangles of A. Entries at the same place are to be added.
    pub fn entries(&self) -> Vec<Entry> {
        let mut entries = Vec::new();
        for body in &self.bodies {
            match &body.matrix {
                Matrix::Blocks(_) => block_entries(body, &mut entries),
                Matrix::Rods(_) => rod_entries(body, &mut entries),
            }
        }
        for coupling in &self.couplings {
            for (offsets, block) in self.coupling_blocks(coupling) {
                push_block(offsets, &block, &mut entries);
            }
        }
        entries.retain(|(_, _, value)| *value != 0.0);
        entries
    }

    /// Blocks of a coupling that are not part of the body matrices, each with its first row and
    /// column.
    pub(super) fn coupling_blocks<'a>(
        &'a self,
        coupling: &'a Coupling,
    ) -> impl Iterator<Item = ([usize; 2], DMat3)> + 'a {
        let free = |offset: usize| DMat3::from_diagonal(free_part_of(&self.is_held, offset));
        let nodes = || coupling.nodes.iter().enumerate();
        let pairs = nodes().flat_map(move |row| nodes().map(move |column| (row, column)));
        pairs
            .filter(|((i, _), (j, _))| i != j || !self.is_merged)
            .map(move |((_, row), (_, column))| {
                let offsets = [row.0, column.0].map(|node| self.node_offset[node as usize]);
                let block = coupling.block * (row.1 * column.1);
                (offsets, free(offsets[0]) * block * free(offsets[1]))
            })
    }
}

fn push_block(offsets: [usize; 2], block: &DMat3, entries: &mut Vec<Entry>) {
    for column in 0..3 {
        for row in 0..3 {
            let place = ((offsets[0] + row) as u32, (offsets[1] + column) as u32);
            entries.push((place.0, place.1, block.col(column)[row]));
        }
    }
}

fn block_entries(body: &SystemBody, entries: &mut Vec<Entry>) {
    let Matrix::Blocks(matrix) = &body.matrix else {
        return;
    };
    let pattern = matrix.pattern();
    for column in 0..pattern.nodes() {
        for slot in pattern.column(column) {
            let row = pattern.rows()[slot] as usize;
            let [below, right] = [row, column].map(|node| body.offset + 3 * node);
            push_block([below, right], &matrix.values[slot], entries);
            if row != column {
                push_block([right, below], &matrix.values[slot].transpose(), entries);
            }
        }
    }
}

fn rod_entries(body: &SystemBody, entries: &mut Vec<Entry>) {
    let Matrix::Rods(batch) = &body.matrix else {
        return;
    };
    let layout = batch.layout();
    let mut unknowns = vec![0; layout.size()];
    for unknown in 0..layout.size() {
        unknowns[layout.row(unknown)] = unknown;
    }
    for rod in 0..batch.count() {
        let first = body.offset + rod * layout.size();
        for row in 0..layout.size() {
            for column in row.saturating_sub(layout.bandwidth())..=row {
                let [one, other] = [unknowns[row], unknowns[column]];
                let value = batch.get(rod, one, other);
                let [one, other] = [(first + one) as u32, (first + other) as u32];
                entries.push((one, other, value));
                if one != other {
                    entries.push((other, one, value));
                }
            }
        }
    }
}
