//! Thins a vertex separator by local moves.
//!
//! A node of the separator may move to a side if its neighbours on the other side enter the
//! separator in its place. Moves are made greedily, also when they lose for a while, and the best
//! state on the way is kept.

use std::collections::BinaryHeap;

use super::Graph;

/// Where a node is with respect to a separator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// Not in the part that is being cut.
    Outside,
    Left,
    Right,
    Separator,
}

/// How many moves without a better state end a pass.
const PATIENCE: usize = 60;
const PASSES: usize = 8;

struct Moves<'a> {
    graph: &'a Graph,
    side: &'a mut [Side],
    /// Nodes on the left, on the right and in the separator.
    count: [usize; 3],
    /// No side may become larger than this.
    limit: usize,
    /// What to do to go back to the start of the pass.
    undo: Vec<(u32, Side)>,
}

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

impl Moves<'_> {
    fn put(&mut self, node: u32, to: Side) {
        let from = std::mem::replace(&mut self.side[node as usize], to);
        self.count[index(from)] -= 1;
        self.count[index(to)] += 1;
        self.undo.push((node, from));
    }

    /// By how much the separator shrinks if the node moves to a side.
    fn gain(&self, node: u32, to: Side) -> i64 {
        let far = other(to);
        let pulled = self.graph.of(node).iter();
        1 - pulled.filter(|&&i| self.side[i as usize] == far).count() as i64
    }

    /// Smaller is better: the separator, then the imbalance.
    fn score(&self) -> (usize, usize) {
        (self.count[2], self.count[0].abs_diff(self.count[1]))
    }

    fn pass(&mut self, nodes: &[u32], locked: &mut [bool]) -> bool {
        self.undo.clear();
        let mut heap = BinaryHeap::new();
        let offer = |moves: &Self, heap: &mut BinaryHeap<_>, node: u32| {
            for to in [Side::Left, Side::Right] {
                heap.push((moves.gain(node, to), node, to == Side::Left));
            }
        };
        for &node in nodes {
            locked[node as usize] = false;
            if self.side[node as usize] == Side::Separator {
                offer(self, &mut heap, node);
            }
        }
        let start = self.score();
        let (mut best, mut keep, mut since) = (start, 0, 0);
        while let Some((gain, node, left)) = heap.pop() {
            let to = if left { Side::Left } else { Side::Right };
            if locked[node as usize] || self.side[node as usize] != Side::Separator {
                continue;
            }
            let current = self.gain(node, to);
            if current != gain {
                // Its neighbours moved since it was offered. Lower gains wait; higher were pushed.
                if current < gain {
                    heap.push((current, node, left));
                }
                continue;
            }
            if self.count[index(to)] + 1 > self.limit {
                continue;
            }
            locked[node as usize] = true;
            self.put(node, to);
            for k in self.graph.starts[node as usize]..self.graph.starts[node as usize + 1] {
                let pulled = self.graph.neighbours[k];
                if self.side[pulled as usize] == other(to) {
                    self.put(pulled, Side::Separator);
                    offer(self, &mut heap, pulled);
                    // Those beside it lost a neighbour on that side: they may move more cheaply.
                    for &near in self.graph.of(pulled) {
                        if self.side[near as usize] == Side::Separator && !locked[near as usize] {
                            heap.push((self.gain(near, to), near, left));
                        }
                    }
                }
            }
            if self.score() < best {
                (best, keep, since) = (self.score(), self.undo.len(), 0);
            } else {
                since += 1;
                if since > PATIENCE {
                    break;
                }
            }
        }
        while self.undo.len() > keep {
            if let Some((node, from)) = self.undo.pop() {
                let to = std::mem::replace(&mut self.side[node as usize], from);
                self.count[index(to)] -= 1;
                self.count[index(from)] += 1;
            }
        }
        best < start
    }
}

/// Thins the separator of a part, in place. Returns its size.
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
    let mut moves = Moves {
        graph,
        side,
        count,
        limit,
        undo,
    };
    for _ in 0..PASSES {
        if !moves.pass(nodes, locked) {
            break;
        }
    }
    moves.count[2]
}
