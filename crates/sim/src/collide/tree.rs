//! A bounding volume hierarchy over all primitives.
//!
//! Nodes have eight children, whose volumes are side by side in a `Block`. Leaves contain a few
//! primitives (`leaf`). All leaves have the same depth, and all nodes but the last of a level are
//! full, so the index of a node determines its children: lane j of block i of a level bounds block
//! 8i + j of the level below, or leaf 8i + j. So building is sorting (`order`), refitting is a pass
//! over each level from the lowest up, and descending two subtrees at once (`pairs`) is simple,
//! because both are always at the same level.
//!
//! Refitting keeps the order of the build. It is exact for any motion, but nodes overlap more as
//! their primitives separate. The tree measures this by the side lengths of its nodes relative to
//! those of its features, and is rebuilt when they have grown too much. The order affects the
//! speed of a search, never its result.

use super::block::{Block, WIDTH, bits, lanes};
use super::features::{Features, Primitive};
use super::leaf::{Chunk, LEAVES_PER_CHUNK, Leaf, PRIMITIVES_PER_LEAF, common_part};
use super::order::hilbert_order;
use super::volume::{Volume, Volumes, WHOLE};
use rayon::prelude::*;

/// Blocks that one task fits.
const BLOCKS_PER_TASK: usize = LEAVES_PER_CHUNK / WIDTH;
/// The tree is rebuilt when its wear exceeds this.
const MAX_WEAR: f64 = 1.5;

/// The effect of `Tree::refit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refit {
    /// The order of the primitives was kept.
    Kept,
    /// The tree was rebuilt, because of its wear or for another number of primitives.
    Rebuilt,
}

/// A bounding volume hierarchy over the primitives of `Features`, fitted to `Volumes`.
#[derive(Clone, Debug)]
pub struct Tree<const K: usize, const T: usize = WHOLE> {
    /// The leaves; all chunks but the last are full.
    chunks: Vec<Chunk<K, T>>,
    /// The volumes of leaves, of their parents, and so on up to one block; none without primitives.
    pub(super) levels: Vec<Vec<Block<K, T>>>,
    /// The part of all primitives below each block of each level, or `NONE` if there are several.
    pub(super) parts: Vec<Vec<u32>>,
    /// The side lengths of nodes relative to those of features, when it was built.
    initial_sides: f64,
}

impl<const K: usize, const T: usize> Tree<K, T> {
    /// Builds a tree over all primitives. `volumes` must contain all their points.
    #[must_use]
    pub fn new(features: &Features, volumes: &Volumes<K, T>) -> Self {
        Self::from_primitives(&features.primitives, volumes)
    }

    /// Builds a tree over some primitives.
    pub(super) fn from_primitives(all: &[Primitive], volumes: &Volumes<K, T>) -> Self {
        let order = hilbert_order(all.len(), |at| primitive_volume(&all[at], volumes));
        let leaves = all.len().div_ceil(PRIMITIVES_PER_LEAF);
        let mut lowest = vec![Block::EMPTY; leaves.div_ceil(WIDTH)];
        let tasks = order
            .par_chunks(LEAVES_PER_CHUNK * PRIMITIVES_PER_LEAF)
            .zip(lowest.par_chunks_mut(BLOCKS_PER_TASK));
        let chunks = tasks.map(|(order, blocks)| {
            let mut chunk = Chunk::new(order.iter().map(|at| all[*at as usize]).collect());
            chunk.fit(volumes, blocks);
            chunk
        });
        let mut tree = Self {
            chunks: chunks.collect(),
            levels: Vec::new(),
            parts: Vec::new(),
            initial_sides: 0.0,
        };
        let leaves = tree.chunks.iter().flat_map(|chunk| &chunk.leaves);
        let mut below: Vec<u32> = leaves.map(|leaf| leaf.part).collect();
        while tree.levels.is_empty() && !below.is_empty() || below.len() > 1 {
            let nodes = below.chunks(WIDTH);
            below = nodes
                .map(|parts| common_part(parts.iter().copied()))
                .collect();
            tree.levels.push(match tree.levels.len() {
                0 => std::mem::take(&mut lowest),
                _ => vec![Block::EMPTY; below.len()],
            });
            tree.parts.push(below.clone());
        }
        tree.fit_nodes();
        tree.initial_sides = tree.sides();
        tree
    }

    /// Fits the tree to other positions; rebuilds it if it has become too slow.
    pub fn refit(&mut self, features: &Features, volumes: &Volumes<K, T>) -> Refit {
        let chunks = self.chunks.iter();
        let count: usize = chunks.map(|chunk| chunk.primitives.len()).sum();
        if count == features.primitives.len() {
            self.fit_leaves(volumes);
            self.fit_nodes();
            if self.wear() <= MAX_WEAR {
                return Refit::Kept;
            }
        }
        *self = Self::new(features, volumes);
        Refit::Rebuilt
    }

    /// Fits only the leaves with a point marked in `is_moved`, and the nodes above. Returns these
    /// leaves, ascending.
    pub(super) fn refit_moved(&mut self, volumes: &Volumes<K, T>, is_moved: &[bool]) -> Vec<u32> {
        let moves = |leaf: &[Primitive]| {
            let mut points = leaf.iter().flat_map(|primitive| primitive.points);
            points.any(|point| is_moved[point as usize])
        };
        let chunks = self.chunks.par_iter().enumerate();
        let leaves = chunks.flat_map_iter(|(number, chunk)| {
            let first = (number * LEAVES_PER_CHUNK) as u32;
            let leaves = chunk.primitives.chunks(PRIMITIVES_PER_LEAF).zip(first..);
            leaves.filter(|(leaf, _)| moves(leaf))
        });
        let leaves: Vec<u32> = leaves.map(|(_, leaf)| leaf).collect();
        for &leaf in &leaves {
            let leaf = leaf as usize;
            let volume =
                self.chunks[leaf / LEAVES_PER_CHUNK].fit_leaf(leaf % LEAVES_PER_CHUNK, volumes);
            self.levels[0][leaf / WIDTH].set(leaf % WIDTH, &volume);
        }
        let mut below = leaves.clone();
        for level in 1..self.levels.len() {
            below.iter_mut().for_each(|node| *node /= WIDTH as u32);
            below.dedup();
            for &child in &below {
                let child = child as usize;
                let volume = self.levels[level - 1][child].merged();
                self.levels[level][child / WIDTH].set(child % WIDTH, &volume);
            }
        }
        leaves
    }

    /// Growth of the side lengths of nodes since the tree was built, relative to those of its
    /// features: 1 for a new tree.
    #[must_use]
    pub fn wear(&self) -> f64 {
        if self.initial_sides > 0.0 {
            self.sides() / self.initial_sides
        } else {
            1.0
        }
    }

    /// The side lengths of all nodes, relative to those of the features.
    fn sides(&self) -> f64 {
        let blocks = self.levels.iter().flatten();
        let of_nodes: f64 = blocks.map(Block::sides).sum();
        // Chunks are summed in order: the same bits for any number of threads.
        let of_chunks: Vec<f64> = self.chunks.par_iter().map(Chunk::sides).collect();
        let of_features: f64 = of_chunks.iter().sum();
        if of_features > 0.0 {
            of_nodes / of_features
        } else {
            0.0
        }
    }

    /// A leaf and its chunk.
    #[inline(always)]
    pub(super) fn leaf(&self, leaf: usize) -> (&Chunk<K, T>, &Leaf) {
        let chunk = &self.chunks[leaf / LEAVES_PER_CHUNK];
        (chunk, &chunk.leaves[leaf % LEAVES_PER_CHUNK])
    }

    /// Adds all triangles whose volumes overlap this one, by leaves in descending order.
    pub(super) fn add_overlapping_triangles(&self, volume: &Volume<K, T>, found: &mut Vec<u32>) {
        let top = self.levels.len().checked_sub(1);
        let mut open = Vec::from_iter(top.map(|top| (top, 0)));
        while let Some((level, block)) = open.pop() {
            for lane in lanes(bits(&self.levels[level][block].overlapping(volume))) {
                let child = WIDTH * block + lane;
                if level > 0 {
                    open.push((level - 1, child));
                    continue;
                }
                let (chunk, leaf) = self.leaf(child);
                for group in chunk.triangles(leaf) {
                    let hits = lanes(bits(&group.volumes.overlapping(volume)));
                    found.extend(hits.map(|hit| group.numbers[hit]));
                }
            }
        }
    }

    /// Fits all leaves and the blocks above them.
    fn fit_leaves(&mut self, volumes: &Volumes<K, T>) {
        if let Some(lowest) = self.levels.first_mut() {
            let chunks = self.chunks.par_iter_mut();
            let tasks = chunks.zip(lowest.par_chunks_mut(BLOCKS_PER_TASK));
            tasks.for_each(|(chunk, blocks)| chunk.fit(volumes, blocks));
        }
    }

    /// Fits all other blocks, from the lowest up.
    fn fit_nodes(&mut self) {
        for level in 1..self.levels.len() {
            let (below, above) = self.levels.split_at_mut(level);
            let nodes = above[0].par_iter_mut();
            let nodes = nodes.zip(below[level - 1].par_chunks(WIDTH));
            nodes
                .with_min_len(BLOCKS_PER_TASK)
                .for_each(|(block, children)| {
                    for (lane, child) in children.iter().enumerate() {
                        block.set(lane, &child.merged());
                    }
                });
        }
    }
}

/// The volume of a primitive.
#[inline]
pub(super) fn primitive_volume<const K: usize, const T: usize>(
    primitive: &Primitive,
    volumes: &Volumes<K, T>,
) -> Volume<K, T> {
    let [a, b, c] = primitive.points.map(|point| volumes.of(point));
    a.merge(b).merge(c)
}

#[cfg(test)]
mod tests;
