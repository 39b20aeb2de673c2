//! What a factorization does, worked out once per pattern.
//!
//! Columns of the factor with (nearly) the same rows form a *supernode*, and supernodes a tree:
//! the parent of a supernode holds the first row below its columns. The factorization is
//! multifrontal (Duff and Reid 1983; Liu 1992): a supernode is a small dense matrix, its *front*,
//! that takes entries of A and what its children left, eliminates its columns, and leaves a dense
//! update on its *border* (the rows below) for its parent. All of it counts in nodes; a node is
//! three scalar rows.
//!
//! Branches of the tree do not depend on each other. They are laid out in *stages* of independent
//! *tasks*: first whole subtrees of little work each, then the supernodes above them by height. A
//! task always does the same operations in the same order, so the bits do not depend on which
//! thread does it.

use std::ops::Range;

use crate::block_sparse::BlockPattern;
use crate::cholesky::FactorError;
use crate::order::nested_dissection;

/// Supernodes are merged with their parent if the merged one has at most so many nodes and at most
/// such a share of stored zeros: dense kernels like wide fronts. Measured on cloth.
const MERGE: [(usize, f64); 4] = [(8, 0.5), (16, 0.3), (32, 0.15), (usize::MAX, 0.08)];

/// A subtree is a task of the first stage if its share of the operations is at most one in this.
const SUBTREES: f64 = 24.0;
/// Nor is a subtree cut that has fewer operations than this: threads cost more.
const SMALL: f64 = 1e6;

/// Symbolic work, done once per pattern and shared.
#[derive(Debug)]
pub struct Symbolic {
    pub(crate) blocks: usize,
    /// The node of each column.
    pub(crate) order: Vec<u32>,
    pub(crate) supernodes: Vec<Supernode>,
    /// For each border node of each supernode: its column, ascending.
    pub(crate) borders: Vec<u32>,
    /// And its place in the front of the parent.
    pub(crate) places: Vec<u32>,
    pub(crate) children: Vec<u32>,
    pub(crate) entries: Vec<Entry>,
    /// Consecutive supernodes, children before parents.
    pub(crate) tasks: Vec<Range<usize>>,
    /// Consecutive tasks that do not depend on each other.
    pub(crate) stages: Vec<Range<usize>>,
}

/// Consecutive columns with a common border.
#[derive(Clone, Debug)]
pub(crate) struct Supernode {
    pub(crate) columns: Range<usize>,
    pub(crate) border: Range<usize>,
    pub(crate) children: Range<usize>,
    pub(crate) entries: Range<usize>,
}

impl Supernode {
    pub(crate) fn width(&self) -> usize {
        self.columns.len()
    }
    pub(crate) fn height(&self) -> usize {
        self.columns.len() + self.border.len()
    }
}

/// Where a block of A goes in a front.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) slot: u32,
    pub(crate) row: u32,
    pub(crate) column: u32,
    /// The order turned row and column around.
    pub(crate) transposed: bool,
}

impl Symbolic {
    /// Orders the nodes by nested dissection and lays out the factor.
    ///
    /// # Errors
    /// If memory runs out.
    pub fn analyze(pattern: &BlockPattern) -> Result<Self, FactorError> {
        Self::with_order(pattern, &nested_dissection(pattern)?)
    }

    /// Lays out the factor for a given order: entry k is the node to eliminate as the k-th.
    ///
    /// # Errors
    /// If memory runs out.
    ///
    /// # Panics
    /// If `order` is not a permutation of the nodes.
    pub fn with_order(pattern: &BlockPattern, order: &[u32]) -> Result<Self, FactorError> {
        let tree = Tree::new(pattern, order);
        let layout = Layout::new(&tree);
        Ok(build(pattern, order, &tree, &layout))
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.order.len()
    }

    /// The order of elimination in use: the given one, with the columns of supernodes together.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// Number of stored entries of the factor (scalars of its lower triangle).
    pub fn factor_entries(&self) -> usize {
        let entries = |s: &Supernode| {
            let (width, border) = (3 * s.width(), 3 * s.border.len());
            width * (width + 1) / 2 + width * border
        };
        self.supernodes.iter().map(entries).sum()
    }

    /// Number of floating-point operations of a factorization, additions and multiplications.
    pub fn operations(&self) -> f64 {
        let operations = |s: &Supernode| operations(s.width(), s.border.len());
        self.supernodes.iter().map(operations).sum()
    }

    /// Number of supernodes.
    pub fn supernodes(&self) -> usize {
        self.supernodes.len()
    }
}

/// Operations of a front: factorize, solve, update.
fn operations(width: usize, border: usize) -> f64 {
    let (w, b) = (3.0 * width as f64, 3.0 * border as f64);
    w * w * w / 3.0 + w * w * b + w * b * b
}

/// Supernodes before their final numbering. Columns are places in the given order.
struct Tree {
    inverse: Vec<u32>,
    /// By last column; those that were merged into others have no columns.
    columns: Vec<Vec<u32>>,
    border: Vec<Vec<u32>>,
    children: Vec<Vec<u32>>,
    roots: Vec<u32>,
}

impl Tree {
    /// One column after the other: its rows are those of A and the borders of its children; the
    /// smallest is its parent. Children are merged at once, so that their borders can be dropped.
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

    /// Merges children into a supernode as far as [`MERGE`] allows, the cheapest first.
    fn merge(&mut self, parent: usize, mut children: Vec<u32>, zeros: &mut [usize]) {
        let degree = self.border[parent].len();
        // The narrowest gap between the borders makes the fewest zeros.
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
            if new_zeros > 0 && !MERGE.iter().any(fits) {
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

fn invert(order: &[u32], nodes: usize) -> Vec<u32> {
    assert_eq!(order.len(), nodes, "an order of other nodes");
    let mut inverse = vec![u32::MAX; nodes];
    for (k, &node) in order.iter().enumerate() {
        let place = std::mem::replace(&mut inverse[node as usize], k as u32);
        assert_eq!(place, u32::MAX, "node {node} is twice in the order");
    }
    inverse
}

/// The rows below the diagonal of each column of the permuted matrix.
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

/// The final numbering of supernodes, and their tasks and stages.
struct Layout {
    /// Supernodes of the tree, in their final order.
    sequence: Vec<u32>,
    tasks: Vec<Range<usize>>,
    stages: Vec<Range<usize>>,
}

impl Layout {
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
        let grain = (total / SUBTREES).max(SMALL);
        // Height above the subtrees; subtrees have none.
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
        let mut layout = Self {
            sequence: Vec::with_capacity(order.len()),
            tasks: Vec::new(),
            stages: Vec::new(),
        };
        layout.stage(group(tree, subtrees, &work, grain));
        for level in &levels[1..] {
            layout.stage(level.iter().map(|&s| vec![s]).collect());
        }
        layout
    }

    fn stage(&mut self, tasks: Vec<Vec<u32>>) {
        let first = self.tasks.len();
        for task in tasks {
            let start = self.sequence.len();
            self.sequence.extend(task);
            self.tasks.push(start..self.sequence.len());
        }
        self.stages.push(first..self.tasks.len());
    }
}

/// Puts neighbouring subtrees into one task as long as it stays small: a body of thousands of
/// loose pieces would else have as many tasks.
fn group(
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

/// Children before parents, each subtree together.
fn postorder(tree: &Tree, roots: &[u32]) -> Vec<u32> {
    // Parents before children, backwards; a stack and no recursion, as trees may be deep.
    let mut stack = roots.to_vec();
    let mut order = Vec::new();
    while let Some(s) = stack.pop() {
        order.push(s);
        stack.extend(&tree.children[s as usize]);
    }
    order.reverse();
    order
}

/// Numbers everything in the final order.
fn build(pattern: &BlockPattern, order: &[u32], tree: &Tree, layout: &Layout) -> Symbolic {
    let nodes = order.len();
    let mut column_of = vec![0u32; nodes];
    let mut supernode_of = vec![0u32; nodes];
    let mut rank = vec![0u32; nodes];
    let mut symbolic = Symbolic {
        blocks: pattern.blocks(),
        order: Vec::with_capacity(nodes),
        supernodes: Vec::with_capacity(layout.sequence.len()),
        borders: Vec::new(),
        places: Vec::new(),
        children: Vec::new(),
        entries: Vec::new(),
        tasks: layout.tasks.clone(),
        stages: layout.stages.clone(),
    };
    for (k, &s) in layout.sequence.iter().enumerate() {
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
    for (k, &s) in layout.sequence.iter().enumerate() {
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
    /// The place of a row in the front of a supernode.
    fn place(&self, supernode: usize, row: u32) -> u32 {
        let s = &self.supernodes[supernode];
        if (row as usize) < s.columns.end {
            return row - s.columns.start as u32;
        }
        let border = &self.borders[s.border.clone()];
        (s.width() + border.partition_point(|&r| r < row)) as u32
    }

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

    fn find_entries(&mut self, pattern: &BlockPattern, column_of: &[u32], supernode_of: &[u32]) {
        let mut entries = Vec::with_capacity(pattern.blocks());
        for node in 0..pattern.nodes() {
            for slot in pattern.column(node) {
                let (i, j) = (column_of[pattern.rows()[slot] as usize], column_of[node]);
                let (row, column) = (i.max(j), i.min(j));
                let supernode = supernode_of[column as usize] as usize;
                let entry = Entry {
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
