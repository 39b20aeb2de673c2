//! Reduction of a vertex separator by local moves (Fiduccia and Mattheyses 1982).
//!
//! A node of the separator moves to one side, and its neighbours on the other side enter the
//! separator. Moves are greedy and may increase the separator temporarily; the best state of a pass
//! is kept.

use std::collections::BinaryHeap;

use super::graph::Graph;

/// Position of a node relative to a separator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// Not in the part that is being divided.
    Outside,
    Left,
    Right,
    Separator,
}

/// Moves without an improvement before a pass ends.
const MAX_FAILED_MOVES: usize = 60;

/// Limit on the number of passes.
const MAX_PASSES: usize = 8;

/// State of a refinement.
struct Refinement<'a> {
    graph: &'a Graph,
    side: &'a mut [Side],
    /// Nodes on the left, on the right and in the separator.
    count: [usize; 3],
    /// Largest permitted number of nodes on a side.
    limit: usize,
    /// Nodes moved in this pass, with their previous sides.
    undo: Vec<(u32, Side)>,
}

/// Possible move of a node: gain, node, and whether it moves to the left.
type Move = (i64, u32, bool);

fn index(side: Side) -> usize {
    match side {
        Side::Left => 0,
        Side::Right => 1,
        Side::Separator | Side::Outside => 2,
    }
}

fn other(side: Side) -> Side {
    if side == Side::Left {
        Side::Right
    } else {
        Side::Left
    }
}

impl Refinement<'_> {
    /// Moves a node to a side.
    fn put(&mut self, node: u32, to: Side) {
        let from = std::mem::replace(&mut self.side[node as usize], to);
        self.count[index(from)] -= 1;
        self.count[index(to)] += 1;
        self.undo.push((node, from));
    }

    /// Reduction of the separator if a node moves to a side.
    fn gain(&self, node: u32, to: Side) -> i64 {
        let far = other(to);
        let pulled = self.graph.neighbours(node).iter();
        1 - pulled.filter(|&&i| self.side[i as usize] == far).count() as i64
    }

    /// Objective to minimize: the size of the separator, then the imbalance.
    fn score(&self) -> (usize, usize) {
        (self.count[2], self.count[0].abs_diff(self.count[1]))
    }

    /// Moves nodes until no move is left or improvements fail, and keeps the best state. Returns
    /// whether the separator has improved.
    fn pass(&mut self, nodes: &[u32], locked: &mut [bool]) -> bool {
        self.undo.clear();
        let mut heap = BinaryHeap::new();
        for &node in nodes {
            locked[node as usize] = false;
            if self.side[node as usize] == Side::Separator {
                self.push_moves(node, &mut heap);
            }
        }
        let start = self.score();
        let (mut best, mut keep, mut failed) = (start, 0, 0);
        while let Some((gain, node, left)) = heap.pop() {
            let to = if left { Side::Left } else { Side::Right };
            if locked[node as usize] || self.side[node as usize] != Side::Separator {
                continue;
            }
            let current = self.gain(node, to);
            if current != gain {
                // Its neighbours have moved. A lower gain is pushed again; a higher one already is.
                if current < gain {
                    heap.push((current, node, left));
                }
                continue;
            }
            if self.count[index(to)] + 1 > self.limit {
                continue;
            }
            locked[node as usize] = true;
            self.make_move(node, to, locked, &mut heap);
            if self.score() < best {
                (best, keep, failed) = (self.score(), self.undo.len(), 0);
            } else {
                failed += 1;
                if failed > MAX_FAILED_MOVES {
                    break;
                }
            }
        }
        self.revert_to(keep);
        best < start
    }

    /// Pushes the moves of a node to both sides.
    fn push_moves(&self, node: u32, heap: &mut BinaryHeap<Move>) {
        for to in [Side::Left, Side::Right] {
            heap.push((self.gain(node, to), node, to == Side::Left));
        }
    }

    /// Moves a node of the separator to a side, and its neighbours on the other side to the
    /// separator.
    fn make_move(&mut self, node: u32, to: Side, locked: &[bool], heap: &mut BinaryHeap<Move>) {
        self.put(node, to);
        let graph = self.graph;
        for &pulled in graph.neighbours(node) {
            if self.side[pulled as usize] == other(to) {
                self.put(pulled, Side::Separator);
                self.push_moves(pulled, heap);
                // Its neighbours in the separator have a higher gain now.
                for &near in graph.neighbours(pulled) {
                    if self.side[near as usize] == Side::Separator && !locked[near as usize] {
                        heap.push((self.gain(near, to), near, to == Side::Left));
                    }
                }
            }
        }
    }

    /// Reverts all moves of the pass after the first `keep`.
    fn revert_to(&mut self, keep: usize) {
        while self.undo.len() > keep {
            if let Some((node, from)) = self.undo.pop() {
                let to = std::mem::replace(&mut self.side[node as usize], from);
                self.count[index(to)] -= 1;
                self.count[index(from)] += 1;
            }
        }
    }
}

/// Reduces the separator of a part in place. Returns its size.
pub(super) fn refine(
    graph: &Graph,
    nodes: &[u32],
    side: &mut [Side],
    locked: &mut [bool],
) -> usize {
    let mut count = [0; 3];
    for &node in nodes {
        count[index(side[node as usize])] += 1;
    }
    let limit = nodes.len() * 11 / 20;
    let undo = Vec::new();
    let mut refinement = Refinement {
        graph,
        side,
        count,
        limit,
        undo,
    };
    for _ in 0..MAX_PASSES {
        if !refinement.pass(nodes, locked) {
            break;
        }
    }
    refinement.count[2]
}
