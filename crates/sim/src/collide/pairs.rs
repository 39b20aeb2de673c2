//! The broad phase: all pairs of features that may collide and whose volumes overlap.
//!
//! The search descends two subtrees at once, starting with the root and itself: from two blocks to
//! the pairs of children that overlap, down to pairs of leaves. There it compares all features of
//! one leaf with those of the other, eight by eight. A feature is owned by one primitive in one
//! leaf, so each pair of features is found once.
//!
//! The number of features of a leaf that overlap another leaf, and the number of hits of each, are
//! unpredictable for the processor. So hits are gathered as bits, without neighbours, and one loop
//! without other branches lists all bits of two leaves.

use super::block::{Mask, WIDTH, bits, lanes};
use super::features::{Features, NONE};
use super::leaf::{FeatureGroup, PRIMITIVES_PER_LEAF};
use super::sorted::sort_pairs;
use super::tree::Tree;
use super::volume::Volume;
use rayon::prelude::*;
use reefknot_contact::lanes::{Kernel, dispatch};

/// Pairs of nodes to start from, at least: enough to balance many threads.
const MIN_START_PAIRS: usize = 256;
/// Tasks of a search, at most.
const MAX_TASKS: usize = 128;
/// Leaves whose neighbours one task searches.
const LEAVES_PER_TASK: usize = 64;
/// Capacity for the features of a kind in a leaf, a power of two: at most three per primitive.
const MAX_FEATURES: usize = (3 * PRIMITIVES_PER_LEAF).next_power_of_two();

/// Candidate pairs of features, each once; sorted if they come from a search of a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Candidates {
    /// A point and a triangle.
    pub point_triangle: Vec<[u32; 2]>,
    /// Two edges, the smaller first.
    pub edge_edge: Vec<[u32; 2]>,
}

/// Two nodes of equal height, or a node with itself: leaves have height 0, the blocks above them
/// height 1.
#[derive(Clone, Copy, Debug)]
struct NodePair {
    height: usize,
    one: usize,
    other: usize,
}

impl<const K: usize, const T: usize> Tree<K, T> {
    /// All pairs of features that may collide and whose volumes overlap. `features` are those of
    /// the last build or refit.
    #[must_use]
    pub fn candidates(&self, features: &Features) -> Candidates {
        let root = NodePair {
            height: self.levels.len(),
            one: 0,
            other: 0,
        };
        let mut starts = vec![root; root.height.min(1)];
        while starts.len() < MIN_START_PAIRS && starts.first().is_some_and(|pair| pair.height > 1) {
            let mut below = Vec::new();
            for pair in starts {
                self.children(features, pair, &mut below);
            }
            starts = below;
        }
        self.search(features, &starts)
    }

    /// All pairs with a feature of these leaves (each once, ascending).
    pub(super) fn candidates_of(&self, features: &Features, leaves: &[u32]) -> Candidates {
        let mut is_selected =
            vec![false; self.levels.first().map_or(0, |level| WIDTH * level.len())];
        for leaf in leaves {
            is_selected[*leaf as usize] = true;
        }
        let around = leaves.par_iter().with_min_len(LEAVES_PER_TASK);
        let around = around.map(|leaf| self.overlapping_leaves(*leaf as usize, &is_selected));
        let pairs: Vec<Vec<NodePair>> = around.collect();
        self.search(features, &pairs.concat())
    }

    /// The pairs of a leaf with overlapping leaves. Pairs of two selected leaves are listed for
    /// one of them only.
    fn overlapping_leaves(&self, leaf: usize, is_selected: &[bool]) -> Vec<NodePair> {
        let volume = self.levels[0][leaf / WIDTH].get(leaf % WIDTH);
        let mut pairs = Vec::new();
        let mut open = vec![(self.levels.len() - 1, 0)];
        while let Some((level, block)) = open.pop() {
            for lane in lanes(bits(&self.levels[level][block].overlapping(&volume))) {
                let child = WIDTH * block + lane;
                if level > 0 {
                    open.push((level - 1, child));
                } else if child >= leaf || !is_selected[child] {
                    pairs.push(NodePair {
                        height: 0,
                        one: leaf,
                        other: child,
                    });
                }
            }
        }
        pairs
    }

    /// Finds all pairs of features below pairs of nodes in parallel, sorted.
    fn search(&self, features: &Features, starts: &[NodePair]) -> Candidates {
        let tasks = starts.par_chunks(starts.len().div_ceil(MAX_TASKS).max(1));
        let found = tasks.map_init(
            || PairSearch::new(self, features),
            |search, starts| {
                search.open.extend(starts);
                dispatch(Descent(search));
                search.take()
            },
        );
        let (point_triangle, edge_edge): (Vec<_>, Vec<_>) = found.unzip();
        Candidates {
            point_triangle: sort_pairs(point_triangle, features.part_of.len()),
            edge_edge: sort_pairs(edge_edge, features.edges.len()),
        }
    }

    /// Adds all pairs of children of two blocks that overlap and may collide.
    #[inline(always)]
    fn children(&self, features: &Features, pair: NodePair, children: &mut Vec<NodePair>) {
        let NodePair { height, one, other } = pair;
        let parts = &self.parts[height - 1];
        if !may_collide(features, parts[one], parts[other]) {
            return;
        }
        let blocks = &self.levels[height - 1];
        let mut masks = [[0; WIDTH]; WIDTH];
        for (lane, mask) in masks.iter_mut().enumerate() {
            *mask = blocks[other].overlapping(&blocks[one].get(lane));
        }
        for (lane, mask) in masks.iter().enumerate() {
            let mut hits = bits(mask);
            if one == other {
                hits &= !0 << lane;
            }
            for hit in lanes(hits) {
                children.push(NodePair {
                    height: height - 1,
                    one: WIDTH * one + lane,
                    other: WIDTH * other + hit,
                });
            }
        }
    }
}

/// Whether features of two parts may collide; true for nodes of several parts (`NONE`).
#[inline(always)]
fn may_collide(features: &Features, one: u32, other: u32) -> bool {
    one == NONE || other == NONE || features.may_collide(one, other)
}

/// A descent and its results.
struct PairSearch<'a, const K: usize, const T: usize> {
    tree: &'a Tree<K, T>,
    features: &'a Features,
    /// Whether all parts collide with each other and with themselves.
    all_parts_collide: bool,
    has_joined: bool,
    /// Pairs of nodes still to visit.
    open: Vec<NodePair>,
    hits: Hits,
    point_triangle: Vec<[u32; 2]>,
    edge_edge: Vec<[u32; 2]>,
}

/// Visits all open pairs, as a kernel for the instruction set of the machine.
struct Descent<'a, 'b, const K: usize, const T: usize>(&'a mut PairSearch<'b, K, T>);

impl<const K: usize, const T: usize> Kernel for Descent<'_, '_, K, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Descent(search) = self;
        while let Some(pair) = search.open.pop() {
            if pair.height == 0 {
                search.compare_leaves(pair);
            } else {
                let (tree, features) = (search.tree, search.features);
                tree.children(features, pair, &mut search.open);
            }
        }
    }
}

impl<'a, const K: usize, const T: usize> PairSearch<'a, K, T> {
    fn new(tree: &'a Tree<K, T>, features: &'a Features) -> Self {
        Self {
            tree,
            features,
            all_parts_collide: features.all_parts_collide(),
            has_joined: features.has_joined(),
            open: Vec::new(),
            hits: Hits::NONE,
            point_triangle: Vec::new(),
            edge_edge: Vec::new(),
        }
    }

    /// Returns the pairs found, and keeps the memory.
    fn take(&mut self) -> (Vec<[u32; 2]>, Vec<[u32; 2]>) {
        let found = (self.point_triangle.clone(), self.edge_edge.clone());
        self.point_triangle.clear();
        self.edge_edge.clear();
        found
    }

    /// Finds all pairs of features of two leaves, or of one leaf with itself.
    #[inline(always)]
    fn compare_leaves(&mut self, NodePair { one, other, .. }: NodePair) {
        let tree = self.tree;
        let [(chunk, a), (other_chunk, b)] = [tree.leaf(one), tree.leaf(other)];
        if !may_collide(self.features, a.part, b.part) {
            return;
        }
        // Whether parts and joined points need no further test.
        let is_decided =
            !self.has_joined && (self.all_parts_collide || (a.part != NONE && b.part != NONE));
        let [volume, other_volume] =
            [one, other].map(|leaf| tree.levels[0][leaf / WIDTH].get(leaf % WIDTH));
        let (points, triangles) = (chunk.points(a), other_chunk.triangles(b));
        self.hits.compare(points, triangles, &other_volume, false);
        self.add_points(points, triangles, is_decided);
        if one != other {
            let (points, triangles) = (other_chunk.points(b), chunk.triangles(a));
            self.hits.compare(points, triangles, &volume, false);
            self.add_points(points, triangles, is_decided);
        }
        let (edges, other_edges) = (chunk.edges(a), other_chunk.edges(b));
        self.hits
            .compare(edges, other_edges, &other_volume, one == other);
        let is_decided = is_decided && !a.has_lone_point && !b.has_lone_point;
        self.add_edges(edges, other_edges, is_decided);
    }

    /// Adds the hits between points and triangles that may collide.
    #[inline(always)]
    fn add_points(
        &mut self,
        points: &[FeatureGroup<K, T, 1>],
        triangles: &[FeatureGroup<K, T, 3>],
        is_decided: bool,
    ) {
        let pair = |&[p, t]: &[u8; 2]| [number(points, p), number(triangles, t)];
        let found = &mut self.point_triangle;
        let from = found.len();
        found.extend(self.hits.all().iter().map(pair));
        if !is_decided {
            keep(found, from, |[p, t]| {
                self.features.may_collide_point_triangle(p, t)
            });
        }
    }

    /// Adds the hits between edges that may collide.
    #[inline(always)]
    fn add_edges(
        &mut self,
        edges: &[FeatureGroup<K, T, 2>],
        others: &[FeatureGroup<K, T, 2>],
        is_decided: bool,
    ) {
        let pair = |&[e, f]: &[u8; 2]| {
            let (e, f) = (number(edges, e), number(others, f));
            [e.min(f), e.max(f)]
        };
        let found = &mut self.edge_edge;
        let from = found.len();
        found.extend(self.hits.all().iter().map(pair));
        if !is_decided {
            keep(found, from, |[e, f]| self.features.may_collide_edges(e, f));
        }
    }
}

/// Removes pairs after the first `from` that may not collide.
fn keep(found: &mut Vec<[u32; 2]>, from: usize, may_collide: impl Fn([u32; 2]) -> bool) {
    let mut end = from;
    for at in from..found.len() {
        found[end] = found[at];
        end += usize::from(may_collide(found[at]));
    }
    found.truncate(end);
}

/// The index of the feature at a position in groups.
#[inline(always)]
fn number<const K: usize, const T: usize, const N: usize>(
    groups: &[FeatureGroup<K, T, N>],
    at: u8,
) -> u32 {
    groups[usize::from(at) / WIDTH].numbers[usize::from(at) % WIDTH]
}

/// A feature in a group.
#[derive(Clone, Copy)]
struct GroupFeature<'a, const K: usize, const T: usize, const N: usize> {
    group: &'a FeatureGroup<K, T, N>,
    lane: usize,
}

impl<'a, const K: usize, const T: usize, const N: usize> GroupFeature<'a, K, T, N> {
    /// The feature at a position in groups.
    #[inline(always)]
    fn new(groups: &'a [FeatureGroup<K, T, N>], at: u8) -> Self {
        Self {
            group: &groups[usize::from(at) / WIDTH],
            lane: usize::from(at) % WIDTH,
        }
    }

    #[inline(always)]
    fn corners(self) -> [u32; N] {
        let mut corners = [0; N];
        for k in 0..N {
            corners[k] = self.group.corners[k][self.lane];
        }
        corners
    }
}

/// Overlapping pairs of features of two leaves without a common corner, by their positions in the
/// leaves.
struct Hits {
    masks: [Mask; 4 * MAX_FEATURES],
    rows: [(u8, u32); MAX_FEATURES],
    pairs: [[u8; 2]; MAX_FEATURES * MAX_FEATURES],
    count: usize,
}

impl Hits {
    const NONE: Hits = Hits {
        masks: [[0; WIDTH]; 4 * MAX_FEATURES],
        rows: [(0, 0); MAX_FEATURES],
        pairs: [[0; 2]; MAX_FEATURES * MAX_FEATURES],
        count: 0,
    };

    #[inline(always)]
    fn all(&self) -> &[[u8; 2]] {
        &self.pairs[..self.count]
    }

    /// Finds all overlapping pairs of `some` and `others`; `around` bounds all of the others. If
    /// both are the same, each pair once.
    #[inline(always)]
    fn compare<const K: usize, const T: usize, const M: usize, const N: usize>(
        &mut self,
        some: &[FeatureGroup<K, T, M>],
        others: &[FeatureGroup<K, T, N>],
        around: &Volume<K, T>,
        is_same: bool,
    ) {
        self.count = 0;
        if others.is_empty() {
            return;
        }
        for (group, mask) in some.iter().zip(&mut self.masks) {
            *mask = group.volumes.overlapping(around);
        }
        let near = self.gather(0, some.len());
        let mut count = 0;
        for feature in lanes(near) {
            let one = GroupFeature::new(some, feature as u8);
            let (volume, corners) = (one.group.volumes.get(one.lane), one.corners());
            for (other, mask) in others.iter().zip(&mut self.masks[count..]) {
                let mut hits = other.volumes.overlapping(&volume);
                for corner in corners {
                    hits = other.without_corner(corner, hits);
                }
                *mask = hits;
            }
            count += others.len();
        }
        // The hits of each feature; features without hits are omitted.
        let mut rows = 0;
        for (at, feature) in lanes(near).enumerate() {
            let mut hits = self.gather(at * others.len(), others.len());
            if is_same {
                hits &= !1 << feature;
            }
            self.rows[rows % MAX_FEATURES] = (feature as u8, hits);
            rows += usize::from(hits != 0);
        }
        self.list(rows);
    }

    /// The bits of consecutive masks.
    #[inline(always)]
    fn gather(&self, first: usize, count: usize) -> u32 {
        let mut all = 0;
        for (at, mask) in self.masks[first..first + count].iter().enumerate() {
            all |= bits(mask) << (WIDTH * at);
        }
        all
    }

    /// Lists the hits of rows, none of which is empty. The number of hits per row is unpredictable,
    /// so one loop runs over all.
    #[inline(always)]
    fn list(&mut self, count: usize) {
        let mut row = 0;
        let mut hits = self.rows[0].1;
        while row < count {
            let hit = hits.trailing_zeros() as u8;
            self.pairs[self.count % (MAX_FEATURES * MAX_FEATURES)] =
                [self.rows[row % MAX_FEATURES].0, hit];
            self.count += 1;
            let next = self.rows[(row + 1) % MAX_FEATURES].1;
            hits &= hits.wrapping_sub(1);
            let is_last = u32::from(hits == 0);
            row += is_last as usize;
            hits |= next & 0u32.wrapping_sub(is_last);
        }
    }
}
