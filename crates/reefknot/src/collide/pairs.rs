//! All pairs of features that may meet and whose volumes overlap.
//!
//! Two subtrees are descended at once, starting with the whole tree and itself: of two blocks that overlap, those pairs of children
//! that do, down to pairs of leaves. There all features of one leaf are compared with those of the other, eight by eight. The owner of a
//! feature is one primitive in one leaf, so each pair of features is met once.
//!
//! How many features of a leaf reach another leaf, and how many each of them hits, cannot be guessed. So hits are gathered as
//! bits, without neighbours, and one loop without other branches lists all bits of two leaves.

use super::block::{Mask, WIDTH, bits, lanes};
use super::features::{Features, NONE};
use super::leaf::{Group, LEAF};
use super::sorted::sorted;
use super::tree::Tree;
use super::volume::Volume;
use rayon::prelude::*;
use reefknot_contact::lanes::{Kernel, dispatch};

/// Pairs of nodes to start from: enough to share out evenly among many threads.
const STARTS: usize = 256;
/// Tasks that they are dealt out to.
const TASKS: usize = 128;
/// Leaves whose surroundings one task searches.
const LEAVES: usize = 64;
/// Room for the features of a kind in a leaf: a power of two, and there are at most three for each primitive.
const MOST: usize = (3 * LEAF).next_power_of_two();

/// Pairs of features that could touch, each once; from a search of a tree, sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Candidates {
    /// A point and a triangle.
    pub point_triangle: Vec<[u32; 2]>,
    /// Two edges, the smaller first.
    pub edge_edge: Vec<[u32; 2]>,
}

/// Two nodes of equal height, or one with itself: leaves have height 0, the blocks above them height 1.
#[derive(Clone, Copy, Debug)]
struct Two {
    height: usize,
    one: usize,
    other: usize,
}

impl<const K: usize, const T: usize> Tree<K, T> {
    /// All pairs of features whose volumes overlap and that may meet. `features` are those of the last build or refit.
    #[must_use]
    pub fn candidates(&self, features: &Features) -> Candidates {
        let root = Two {
            height: self.levels.len(),
            one: 0,
            other: 0,
        };
        let mut starts = vec![root; root.height.min(1)];
        while starts.len() < STARTS && starts.first().is_some_and(|two| two.height > 1) {
            let mut below = Vec::new();
            for two in starts {
                self.children(features, two, &mut below);
            }
            starts = below;
        }
        self.search(features, &starts)
    }

    /// All pairs that features of some leaves (each once, ascending) are in.
    pub(super) fn candidates_of(&self, features: &Features, leaves: &[u32]) -> Candidates {
        let mut is_asked = vec![false; self.levels.first().map_or(0, |level| WIDTH * level.len())];
        for leaf in leaves {
            is_asked[*leaf as usize] = true;
        }
        let around = leaves.par_iter().with_min_len(LEAVES);
        let around = around.map(|leaf| self.around(*leaf as usize, &is_asked));
        let pairs: Vec<Vec<Two>> = around.collect();
        self.search(features, &pairs.concat())
    }

    /// The pairs of a leaf with others that overlap it; those with leaves that are asked too only once.
    fn around(&self, leaf: usize, is_asked: &[bool]) -> Vec<Two> {
        let volume = self.levels[0][leaf / WIDTH].get(leaf % WIDTH);
        let mut pairs = Vec::new();
        let mut open = vec![(self.levels.len() - 1, 0)];
        while let Some((level, block)) = open.pop() {
            for lane in lanes(bits(&self.levels[level][block].overlapping(&volume))) {
                let child = WIDTH * block + lane;
                if level > 0 {
                    open.push((level - 1, child));
                } else if child >= leaf || !is_asked[child] {
                    pairs.push(Two {
                        height: 0,
                        one: leaf,
                        other: child,
                    });
                }
            }
        }
        pairs
    }

    /// Finds all pairs of features below pairs of nodes in parallel, and sorts them.
    fn search(&self, features: &Features, starts: &[Two]) -> Candidates {
        let tasks = starts.par_chunks(starts.len().div_ceil(TASKS).max(1));
        let found = tasks.map_init(
            || Search::new(self, features),
            |search, starts| {
                search.open.extend(starts);
                dispatch(Descent(search));
                search.take()
            },
        );
        let (point_triangle, edge_edge): (Vec<_>, Vec<_>) = found.unzip();
        Candidates {
            point_triangle: sorted(point_triangle, features.part_of.len()),
            edge_edge: sorted(edge_edge, features.edges.len()),
        }
    }

    /// Adds all pairs of children of two blocks that overlap and may meet.
    #[inline(always)]
    fn children(&self, features: &Features, two: Two, children: &mut Vec<Two>) {
        let Two { height, one, other } = two;
        let parts = &self.parts[height - 1];
        if !may_meet(features, parts[one], parts[other]) {
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
                children.push(Two {
                    height: height - 1,
                    one: WIDTH * one + lane,
                    other: WIDTH * other + hit,
                });
            }
        }
    }
}

/// Whether things of two parts can meet, or are of several parts, some of which might.
#[inline(always)]
fn may_meet(features: &Features, one: u32, other: u32) -> bool {
    one == NONE || other == NONE || features.may_meet(one, other)
}

/// A descent, and what it found.
struct Search<'a, const K: usize, const T: usize> {
    tree: &'a Tree<K, T>,
    features: &'a Features,
    /// Whether all parts can meet each other and themselves.
    all_meet: bool,
    has_joined: bool,
    /// Pairs of nodes still to look at.
    open: Vec<Two>,
    hits: Hits,
    point_triangle: Vec<[u32; 2]>,
    edge_edge: Vec<[u32; 2]>,
}

/// Looks at all that is open, with the best instructions of the machine.
struct Descent<'a, 'b, const K: usize, const T: usize>(&'a mut Search<'b, K, T>);

impl<const K: usize, const T: usize> Kernel for Descent<'_, '_, K, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Descent(search) = self;
        while let Some(two) = search.open.pop() {
            if two.height == 0 {
                search.meet(two);
            } else {
                let (tree, features) = (search.tree, search.features);
                tree.children(features, two, &mut search.open);
            }
        }
    }
}

impl<'a, const K: usize, const T: usize> Search<'a, K, T> {
    fn new(tree: &'a Tree<K, T>, features: &'a Features) -> Self {
        Self {
            tree,
            features,
            all_meet: features.all_meet(),
            has_joined: features.has_joined(),
            open: Vec::new(),
            hits: Hits::NONE,
            point_triangle: Vec::new(),
            edge_edge: Vec::new(),
        }
    }

    /// Takes what was found, and keeps the memory.
    fn take(&mut self) -> (Vec<[u32; 2]>, Vec<[u32; 2]>) {
        let found = (self.point_triangle.clone(), self.edge_edge.clone());
        self.point_triangle.clear();
        self.edge_edge.clear();
        found
    }

    /// Finds all pairs of features of two leaves, or of one.
    #[inline(always)]
    fn meet(&mut self, Two { one, other, .. }: Two) {
        let tree = self.tree;
        let [(chunk, a), (other_chunk, b)] = [tree.leaf(one), tree.leaf(other)];
        if !may_meet(self.features, a.part, b.part) {
            return;
        }
        // Whether nothing is left to ask about parts and neighbours.
        let is_decided = !self.has_joined && (self.all_meet || (a.part != NONE && b.part != NONE));
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
        let is_decided = is_decided && !a.has_lone && !b.has_lone;
        self.add_edges(edges, other_edges, is_decided);
    }

    /// Adds those of the hits between points and triangles that may meet.
    #[inline(always)]
    fn add_points(
        &mut self,
        points: &[Group<K, T, 1>],
        triangles: &[Group<K, T, 3>],
        is_decided: bool,
    ) {
        let pair = |&[p, t]: &[u8; 2]| [number(points, p), number(triangles, t)];
        let found = &mut self.point_triangle;
        let from = found.len();
        found.extend(self.hits.all().iter().map(pair));
        if !is_decided {
            keep(found, from, |[p, t]| {
                self.features.point_meets_triangle(p, t)
            });
        }
    }

    /// Adds those of the hits between edges that may meet.
    #[inline(always)]
    fn add_edges(&mut self, edges: &[Group<K, T, 2>], others: &[Group<K, T, 2>], is_decided: bool) {
        let pair = |&[e, f]: &[u8; 2]| {
            let (e, f) = (number(edges, e), number(others, f));
            [e.min(f), e.max(f)]
        };
        let found = &mut self.edge_edge;
        let from = found.len();
        found.extend(self.hits.all().iter().map(pair));
        if !is_decided {
            keep(found, from, |[e, f]| self.features.edge_meets_edge(e, f));
        }
    }
}

/// Keeps those of the pairs after the first `from` that meet.
fn keep(found: &mut Vec<[u32; 2]>, from: usize, meets: impl Fn([u32; 2]) -> bool) {
    let mut end = from;
    for at in from..found.len() {
        found[end] = found[at];
        end += usize::from(meets(found[at]));
    }
    found.truncate(end);
}

/// The number of a feature, by its place in groups.
#[inline(always)]
fn number<const K: usize, const T: usize, const N: usize>(
    groups: &[Group<K, T, N>],
    at: u8,
) -> u32 {
    groups[usize::from(at) / WIDTH].numbers[usize::from(at) % WIDTH]
}

/// A feature in a group.
#[derive(Clone, Copy)]
struct One<'a, const K: usize, const T: usize, const N: usize> {
    group: &'a Group<K, T, N>,
    lane: usize,
}

impl<'a, const K: usize, const T: usize, const N: usize> One<'a, K, T, N> {
    /// A feature of groups, by its place in all of them.
    #[inline(always)]
    fn new(groups: &'a [Group<K, T, N>], at: u8) -> Self {
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

/// Pairs of features of two leaves that overlap and have no corner in common, by their places in the leaves.
struct Hits {
    masks: [Mask; 4 * MOST],
    rows: [(u8, u32); MOST],
    pairs: [[u8; 2]; MOST * MOST],
    count: usize,
}

impl Hits {
    const NONE: Hits = Hits {
        masks: [[0; WIDTH]; 4 * MOST],
        rows: [(0, 0); MOST],
        pairs: [[0; 2]; MOST * MOST],
        count: 0,
    };

    #[inline(always)]
    fn all(&self) -> &[[u8; 2]] {
        &self.pairs[..self.count]
    }

    /// Finds all pairs of `some` and `others`, of which `around` bounds all; if both are the same, each pair once.
    #[inline(always)]
    fn compare<const K: usize, const T: usize, const M: usize, const N: usize>(
        &mut self,
        some: &[Group<K, T, M>],
        others: &[Group<K, T, N>],
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
            let one = One::new(some, feature as u8);
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
        // What each feature hits, without those that hit nothing.
        let mut rows = 0;
        for (at, feature) in lanes(near).enumerate() {
            let mut hits = self.gather(at * others.len(), others.len());
            if is_same {
                hits &= !1 << feature;
            }
            self.rows[rows % MOST] = (feature as u8, hits);
            rows += usize::from(hits != 0);
        }
        self.list(rows);
    }

    /// The bits of a few masks.
    #[inline(always)]
    fn gather(&self, first: usize, count: usize) -> u32 {
        let mut all = 0;
        for (at, mask) in self.masks[first..first + count].iter().enumerate() {
            all |= bits(mask) << (WIDTH * at);
        }
        all
    }

    /// Lists the hits of rows, none of which is empty. How many a row has cannot be guessed, so one loop runs through all.
    #[inline(always)]
    fn list(&mut self, count: usize) {
        let mut row = 0;
        let mut hits = self.rows[0].1;
        while row < count {
            let hit = hits.trailing_zeros() as u8;
            self.pairs[self.count % (MOST * MOST)] = [self.rows[row % MOST].0, hit];
            self.count += 1;
            let next = self.rows[(row + 1) % MOST].1;
            hits &= hits.wrapping_sub(1);
            let is_last = u32::from(hits == 0);
            row += is_last as usize;
            hits |= next & 0u32.wrapping_sub(is_last);
        }
    }
}
