//! Symbolic factorization, computed once per pattern.
//!
//! Columns of the factor with (nearly) the same rows form a *supernode*. Supernodes form a tree:
//! the parent of a supernode contains the first row below its columns. The factorization is
//! multifrontal (Duff and Reid 1983; Liu 1992). Each supernode has a dense matrix, its *front*,
//! which collects entries of A and the updates of its children. The elimination of its columns
//! results in a dense update of its *border* (the rows below), which is passed to the parent.
//! Indices are those of nodes; a node has three scalar rows.
//!
//! Branches of the tree are independent. They are scheduled in *stages* of independent *tasks*:
//! subtrees with little work first, then the supernodes above them by height. The order of the
//! operations in a task is fixed, so results do not depend on the threads.

use std::ops::Range;

use crate::block_sparse::BlockPattern;
use crate::factor_error::FactorError;
use crate::order::nested_dissection;

/// Limits for merging a supernode with its parent: number of nodes, and fraction of stored zeros. A
/// merge must satisfy one of them. Dense kernels are faster for wide fronts. Tuned on cloth.
const MERGE_LIMITS: [(usize, f64); 4] = [(8, 0.5), (16, 0.3), (32, 0.15), (usize::MAX, 0.08)];

/// A task of the first stage has at most 1/24 of all operations.
const SUBTREE_TASKS: f64 = 24.0;

/// Subtrees with fewer operations than this are not divided: scheduling would cost more.
const MIN_TASK_OPERATIONS: f64 = 1e6;

/// Symbolic factorization of a pattern.
#[derive(Debug)]
pub struct Symbolic {
    /// Number of blocks of the pattern.
    pub(crate) blocks: usize,
    /// Node of each column: the given ordering, with the columns of each supernode made
    /// consecutive.
    pub(crate) order: Vec<u32>,
    pub(crate) supernodes: Vec<Supernode>,
    /// Columns of the border nodes of all supernodes, ascending in each supernode.
    pub(crate) borders: Vec<u32>,
    /// Rows of the border nodes in the front of the parent.
    pub(crate) places: Vec<u32>,
    pub(crate) children: Vec<u32>,
    pub(crate) entries: Vec<FrontEntry>,
    /// Ranges of supernodes, children before parents.
    pub(crate) tasks: Vec<Range<usize>>,
    /// Ranges of independent tasks.
    pub(crate) stages: Vec<Range<usize>>,
}

/// Consecutive columns with a common border. Its ranges refer to the lists of [`Symbolic`].
#[derive(Clone, Debug)]
pub(crate) struct Supernode {
    pub(crate) columns: Range<usize>,
    pub(crate) border: Range<usize>,
    pub(crate) children: Range<usize>,
    pub(crate) entries: Range<usize>,
}

impl Supernode {
    /// Number of columns.
    pub(crate) fn width(&self) -> usize {
        self.columns.len()
    }

    /// Number of rows, including the border.
    pub(crate) fn height(&self) -> usize {
        self.columns.len() + self.border.len()
    }
}

/// Position of a block of A in a front.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FrontEntry {
    /// Slot of the block in the pattern.
    pub(crate) slot: u32,
    pub(crate) row: u32,
    pub(crate) column: u32,
    /// Whether the ordering exchanges row and column.
    pub(crate) transposed: bool,
}

impl Symbolic {
    /// Symbolic factorization with a nested dissection ordering.
    ///
    /// # Errors
    /// If memory runs out.
    pub fn analyze(pattern: &BlockPattern) -> Result<Self, FactorError> {
        Self::with_order(pattern, &nested_dissection(pattern)?)
    }

    /// Symbolic factorization with a given ordering. Entry k is the k-th node to eliminate.
    ///
    /// # Errors
    /// If memory runs out.
    ///
    /// # Panics
    /// If `order` is not a permutation of the nodes.
    pub fn with_order(pattern: &BlockPattern, order: &[u32]) -> Result<Self, FactorError> {
        let tree = Tree::new(pattern, order);
        let schedule = Schedule::new(&tree);
        Ok(build(pattern, order, &tree, &schedule))
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.order.len()
    }

    /// Number of scalar entries in the lower triangle of the factor, including stored zeros.
    pub fn factor_entries(&self) -> usize {
        let entries = |s: &Supernode| {
            let (width, border) = (3 * s.width(), 3 * s.border.len());
            width * (width + 1) / 2 + width * border
        };
        self.supernodes.iter().map(entries).sum()
    }

    /// Number of floating-point operations of a factorization.
    pub fn operations(&self) -> f64 {
        let operations = |s: &Supernode| operations(s.width(), s.border.len());
        self.supernodes.iter().map(operations).sum()
    }

    /// Number of supernodes.
    pub fn supernodes(&self) -> usize {
        self.supernodes.len()
    }
}

/// Floating-point operations of a front: factorization, triangular solve, update.
fn operations(width: usize, border: usize) -> f64 {
    let (w, b) = (3.0 * width as f64, 3.0 * border as f64);
    w * w * w / 3.0 + w * w * b + w * b * b
}

/// Tree of supernodes before their final numbering. Columns are indices of the given ordering.
struct Tree {
    /// Column of each node.
    inverse: Vec<u32>,
    /// Columns of the supernode with each last column; empty if it was merged into another.
    columns: Vec<Vec<u32>>,
    border: Vec<Vec<u32>>,
    children: Vec<Vec<u32>>,
    roots: Vec<u32>,
}

impl Tree {
    /// Builds the tree column by column. The rows of a column are those of A and the borders of its
    /// children; the smallest row is its parent. Children are merged immediately, so that their
    /// borders can be freed.
    fn new(pattern: &BlockPattern, order: &[u32]) -> Self {
        let nodes = pattern.nodes();
        let inverse = invert(order, nodes);
        let below = lower_rows(pattern, &inverse);
        let mut tree = Self {
            inverse,
            columns: vec![Vec::new(); nodes],
            border: vec![Vec::new(); nodes],
            children: vec![Vec::new(); nodes],
            roots: Vec::new(),
        };
        let mut zeros = vec![0usize; nodes];
        let mut seen = vec![u32::MAX; nodes];
        for column in 0..nodes {
            let mark = column as u32;
            seen[column] = mark;
            let mut border = Vec::new();
            let children = std::mem::take(&mut tree.children[column]);
            let inherited = children.iter().flat_map(|&c| &tree.border[c as usize]);
            for &row in inherited.chain(&below[column]) {
                if seen[row as usize] != mark {
                    seen[row as usize] = mark;
                    border.push(row);
                }
            }
            match border.iter().min() {
                Some(&parent) => tree.children[parent as usize].push(mark),
                None => tree.roots.push(mark),
            }
            tree.border[column] = border;
            tree.columns[column] = vec![mark];
            tree.merge(column, children, &mut zeros);
        }
        tree
    }

    /// Merges children into a supernode within [`MERGE_LIMITS`], those with fewest zeros first.
    fn merge(&mut self, parent: usize, mut children: Vec<u32>, zeros: &mut [usize]) {
        let degree = self.border[parent].len();
        // The child with the largest border adds the fewest zeros.
        children.sort_by_key(|&c| (std::cmp::Reverse(self.border[c as usize].len()), c));
        let mut kept = Vec::new();
        for &child in &children {
            let c = child as usize;
            let width = self.columns[parent].len();
            let (child_width, child_degree) = (self.columns[c].len(), self.border[c].len());
            let merged = width + child_width;
            let new_zeros = child_width * (width + degree - child_degree);
            let all_zeros = zeros[parent] + zeros[c] + new_zeros;
            let entries = merged * (merged + 1) / 2 + merged * degree;
            let fits = |&(limit, share): &(usize, f64)| {
                merged <= limit && all_zeros as f64 <= share * entries as f64
            };
            if new_zeros > 0 && !MERGE_LIMITS.iter().any(fits) {
                kept.push(child);
                continue;
            }
            zeros[parent] = all_zeros;
            let mut columns = std::mem::take(&mut self.columns[c]);
            columns.append(&mut self.columns[parent]);
            self.columns[parent] = columns;
            self.border[c] = Vec::new();
            kept.append(&mut self.children[c]);
        }
        kept.sort_unstable();
        self.children[parent] = kept;
    }
}

/// Inverse of a permutation.
fn invert(order: &[u32], nodes: usize) -> Vec<u32> {
    assert_eq!(order.len(), nodes, "the order has another number of nodes");
    let mut inverse = vec![u32::MAX; nodes];
    for (k, &node) in order.iter().enumerate() {
        let place = std::mem::replace(&mut inverse[node as usize], k as u32);
        assert_eq!(place, u32::MAX, "node {node} is twice in the order");
    }
    inverse
}

/// Rows below the diagonal of each column of the permuted matrix.
fn lower_rows(pattern: &BlockPattern, inverse: &[u32]) -> Vec<Vec<u32>> {
    let mut below = vec![Vec::new(); inverse.len()];
    for column in 0..inverse.len() {
        let slots = pattern.column(column);
        for &row in &pattern.rows()[slots.start + 1..slots.end] {
            let (i, j) = (inverse[row as usize], inverse[column]);
            below[i.min(j) as usize].push(i.max(j));
        }
    }
    below
}

/// Final numbering of supernodes, and their tasks and stages.
struct Schedule {
    /// Supernodes of the tree in their final order.
    sequence: Vec<u32>,
    tasks: Vec<Range<usize>>,
    stages: Vec<Range<usize>>,
}

impl Schedule {
    fn new(tree: &Tree) -> Self {
        let order = postorder(tree, &tree.roots);
        let mut work = vec![0.0; tree.columns.len()];
        let mut total = 0.0;
        for &s in &order {
            let own = operations(
                tree.columns[s as usize].len(),
                tree.border[s as usize].len(),
            );
            let below = tree.children[s as usize].iter().map(|&c| work[c as usize]);
            work[s as usize] = own + below.sum::<f64>();
            total += own;
        }
        let grain = (total / SUBTREE_TASKS).max(MIN_TASK_OPERATIONS);
        // Height above the subtrees of the first stage; 0 inside these.
        let mut height = vec![0usize; tree.columns.len()];
        let mut levels: Vec<Vec<u32>> = vec![Vec::new()];
        for &s in &order {
            if work[s as usize] > grain {
                let below = tree.children[s as usize]
                    .iter()
                    .map(|&c| height[c as usize]);
                let level = 1 + below.max().unwrap_or(0);
                height[s as usize] = level;
                levels.resize_with(levels.len().max(level + 1), Vec::new);
                levels[level].push(s);
            }
        }
        let is_top = |parent: Option<u32>| parent.is_none_or(|p| height[p as usize] > 0);
        let mut parent = vec![None; tree.columns.len()];
        for &s in &order {
            for &c in &tree.children[s as usize] {
                parent[c as usize] = Some(s);
            }
        }
        let tops = order.iter().copied();
        let subtrees = tops.filter(|&s| height[s as usize] == 0 && is_top(parent[s as usize]));
        let mut schedule = Self {
            sequence: Vec::with_capacity(order.len()),
            tasks: Vec::new(),
            stages: Vec::new(),
        };
        schedule.push_stage(group_subtrees(tree, subtrees, &work, grain));
        for level in &levels[1..] {
            schedule.push_stage(level.iter().map(|&s| vec![s]).collect());
        }
        schedule
    }

    /// Appends a stage.
    fn push_stage(&mut self, tasks: Vec<Vec<u32>>) {
        let first = self.tasks.len();
        for task in tasks {
            let start = self.sequence.len();
            self.sequence.extend(task);
            self.tasks.push(start..self.sequence.len());
        }
        self.stages.push(first..self.tasks.len());
    }
}

/// Combines neighbouring subtrees into tasks of at most `grain` operations, because a body of many
/// disconnected pieces has many small subtrees.
fn group_subtrees(
    tree: &Tree,
    subtrees: impl Iterator<Item = u32>,
    work: &[f64],
    grain: f64,
) -> Vec<Vec<u32>> {
    let mut tasks: Vec<Vec<u32>> = Vec::new();
    let mut room = 0.0;
    for top in subtrees {
        let nodes = postorder(tree, &[top]);
        let cost = work[top as usize];
        match tasks.last_mut() {
            Some(task) if cost <= room => {
                room -= cost;
                task.extend(nodes);
            }
            _ => {
                room = grain - cost;
                tasks.push(nodes);
            }
        }
    }
    tasks
}

/// Supernodes in postorder: children before parents, each subtree consecutive.
fn postorder(tree: &Tree, roots: &[u32]) -> Vec<u32> {
    // A reversed preorder. No recursion, because trees may be deep.
    let mut stack = roots.to_vec();
    let mut order = Vec::new();
    while let Some(s) = stack.pop() {
        order.push(s);
        stack.extend(&tree.children[s as usize]);
    }
    order.reverse();
    order
}

/// Symbolic factorization in the final numbering.
fn build(pattern: &BlockPattern, order: &[u32], tree: &Tree, schedule: &Schedule) -> Symbolic {
    let nodes = order.len();
    let mut column_of = vec![0u32; nodes];
    let mut supernode_of = vec![0u32; nodes];
    let mut rank = vec![0u32; nodes];
    let mut symbolic = Symbolic {
        blocks: pattern.blocks(),
        order: Vec::with_capacity(nodes),
        supernodes: Vec::with_capacity(schedule.sequence.len()),
        borders: Vec::new(),
        places: Vec::new(),
        children: Vec::new(),
        entries: Vec::new(),
        tasks: schedule.tasks.clone(),
        stages: schedule.stages.clone(),
    };
    for (k, &s) in schedule.sequence.iter().enumerate() {
        rank[s as usize] = k as u32;
        let first = symbolic.order.len();
        for &place in &tree.columns[s as usize] {
            column_of[place as usize] = symbolic.order.len() as u32;
            symbolic.order.push(order[place as usize]);
            supernode_of[symbolic.order.len() - 1] = k as u32;
        }
        let start = symbolic.children.len();
        let children = tree.children[s as usize].iter();
        symbolic
            .children
            .extend(children.map(|&c| rank[c as usize]));
        symbolic.supernodes.push(Supernode {
            columns: first..symbolic.order.len(),
            border: 0..0,
            children: start..symbolic.children.len(),
            entries: 0..0,
        });
    }
    for (k, &s) in schedule.sequence.iter().enumerate() {
        let start = symbolic.borders.len();
        let rows = tree.border[s as usize].iter();
        symbolic
            .borders
            .extend(rows.map(|&r| column_of[r as usize]));
        symbolic.borders[start..].sort_unstable();
        symbolic.supernodes[k].border = start..symbolic.borders.len();
    }
    symbolic.find_places(&supernode_of);
    let column_of_node: Vec<u32> = (0..nodes)
        .map(|node| column_of[tree.inverse[node] as usize])
        .collect();
    symbolic.find_entries(pattern, &column_of_node, &supernode_of);
    symbolic
}

impl Symbolic {
    /// Index of a row in the front of a supernode.
    fn place(&self, supernode: usize, row: u32) -> u32 {
        let s = &self.supernodes[supernode];
        if (row as usize) < s.columns.end {
            return row - s.columns.start as u32;
        }
        let border = &self.borders[s.border.clone()];
        (s.width() + border.partition_point(|&r| r < row)) as u32
    }

    /// Computes [`Symbolic::places`].
    fn find_places(&mut self, supernode_of: &[u32]) {
        let mut places = Vec::with_capacity(self.borders.len());
        for s in &self.supernodes {
            let border = &self.borders[s.border.clone()];
            let Some(&first) = border.first() else {
                continue;
            };
            let parent = supernode_of[first as usize] as usize;
            places.extend(border.iter().map(|&row| self.place(parent, row)));
        }
        self.places = places;
    }

    /// Computes [`Symbolic::entries`].
    fn find_entries(&mut self, pattern: &BlockPattern, column_of: &[u32], supernode_of: &[u32]) {
        let mut entries = Vec::with_capacity(pattern.blocks());
        for node in 0..pattern.nodes() {
            for slot in pattern.column(node) {
                let (i, j) = (column_of[pattern.rows()[slot] as usize], column_of[node]);
                let (row, column) = (i.max(j), i.min(j));
                let supernode = supernode_of[column as usize] as usize;
                let entry = FrontEntry {
                    slot: slot as u32,
                    row: self.place(supernode, row),
                    column: column - self.supernodes[supernode].columns.start as u32,
                    transposed: i < j,
                };
                entries.push((supernode, entry));
            }
        }
        entries.sort_unstable_by_key(|(supernode, e)| (*supernode, e.column, e.row));
        let mut next = 0;
        for (k, s) in self.supernodes.iter_mut().enumerate() {
            let start = next;
            next += entries[start..].partition_point(|e| e.0 <= k);
            s.entries = start..next;
        }
        self.entries = entries.into_iter().map(|(_, entry)| entry).collect();
    }
}
