//! Leaves: a few primitives, and the features they own, eight by eight.
//!
//! Two leaves that overlap are compared feature by feature. All that takes lies side by side here in the order of the leaves:
//! volumes, numbers and corners. Consecutive leaves form a chunk that owns its memory, so that chunks are made and
//! fitted in parallel, each while it is in a near cache.

use super::block::{Block, Mask, WIDTH};
use super::features::{NONE, Primitive};
use super::volume::{Volume, Volumes};
use std::ops::Range;

/// Primitives in a leaf, so many that their triangles fill a group. With 6 it was slower, with 10 no faster.
pub(super) const LEAF: usize = 8;
/// Leaves in a chunk, a multiple of the width of a block.
pub(super) const CHUNK: usize = 256;

/// Up to eight features of one kind, with `N` corners each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group<const K: usize, const T: usize, const N: usize> {
    /// Their volumes.
    pub(super) volumes: Block<K, T>,
    /// Their numbers.
    pub(super) numbers: [u32; WIDTH],
    /// The first corner of each, then the second, and so on.
    pub(super) corners: [[u32; WIDTH]; N],
}

impl<const K: usize, const T: usize, const N: usize> Group<K, T, N> {
    const EMPTY: Self = Self {
        volumes: Block::EMPTY,
        numbers: [NONE; WIDTH],
        corners: [[NONE; WIDTH]; N],
    };

    /// Takes those features out of a mask that have a point for a corner.
    #[inline(always)]
    pub(super) fn without_corner(&self, point: u32, mut mask: Mask) -> Mask {
        for corners in &self.corners {
            for lane in 0..WIDTH {
                mask[lane] &= if corners[lane] == point { 0 } else { u32::MAX };
            }
        }
        mask
    }
}

/// Where the groups of a leaf are in its chunk.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Leaf {
    points: [u32; 2],
    edges: [u32; 2],
    triangles: [u32; 2],
    /// The part of all its primitives, or `NONE`.
    pub(super) part: u32,
    /// Whether an edge has both ends in one point, as that of a lone point.
    pub(super) has_lone: bool,
}

impl Leaf {
    /// A leaf whose groups follow those of the one before.
    fn after(before: &Leaf, primitives: &[Primitive]) -> Leaf {
        let range = |before: [u32; 2], features: usize| {
            [before[1], before[1] + features.div_ceil(WIDTH) as u32]
        };
        let count = |of: fn(&Primitive) -> [u32; 3]| {
            let features = primitives.iter().map(of);
            features
                .map(|own| own.iter().filter(|feature| **feature != NONE).count())
                .sum()
        };
        let triangles = primitives
            .iter()
            .filter(|primitive| primitive.triangle != NONE);
        Leaf {
            points: range(before.points, count(|primitive| primitive.owned)),
            edges: range(before.edges, count(|primitive| primitive.edges)),
            triangles: range(before.triangles, triangles.count()),
            part: common(primitives.iter().map(|primitive| primitive.part)),
            has_lone: primitives.iter().any(has_lone),
        }
    }
}

/// Consecutive leaves and all they hold.
#[derive(Clone, Debug)]
pub(super) struct Chunk<const K: usize, const T: usize> {
    /// The primitives in the order of the leaves.
    pub(super) primitives: Vec<Primitive>,
    /// The leaves.
    pub(super) leaves: Vec<Leaf>,
    points: Vec<Group<K, T, 1>>,
    edges: Vec<Group<K, T, 2>>,
    triangles: Vec<Group<K, T, 3>>,
}

impl<const K: usize, const T: usize> Chunk<K, T> {
    /// Leaves over primitives, not fitted to any positions yet.
    pub(super) fn new(primitives: Vec<Primitive>) -> Self {
        let mut leaves = Vec::with_capacity(primitives.len().div_ceil(LEAF));
        let mut last = Leaf::default();
        for primitives in primitives.chunks(LEAF) {
            last = Leaf::after(&last, primitives);
            leaves.push(last);
        }
        let count = |range: [u32; 2]| range[1] as usize;
        Self {
            primitives,
            leaves,
            points: vec![Group::EMPTY; count(last.points)],
            edges: vec![Group::EMPTY; count(last.edges)],
            triangles: vec![Group::EMPTY; count(last.triangles)],
        }
    }

    /// Fits all its leaves and the blocks above them.
    pub(super) fn fit(&mut self, volumes: &Volumes<K, T>, blocks: &mut [Block<K, T>]) {
        for leaf in 0..self.leaves.len() {
            let volume = self.fit_leaf(leaf, volumes);
            blocks[leaf / WIDTH].set(leaf % WIDTH, &volume);
        }
    }

    /// Fits the features of a leaf, and returns the volume of all.
    pub(super) fn fit_leaf(&mut self, leaf: usize, volumes: &Volumes<K, T>) -> Volume<K, T> {
        let at = &self.leaves[leaf];
        let mut points = Filler::new(&mut self.points[range(at.points)]);
        let mut edges = Filler::new(&mut self.edges[range(at.edges)]);
        let mut triangles = Filler::new(&mut self.triangles[range(at.triangles)]);
        let mut all = Volume::EMPTY;
        let end = self.primitives.len().min(LEAF * (leaf + 1));
        for primitive in &self.primitives[LEAF * leaf..end] {
            let at = primitive.points;
            let of = at.map(|point| *volumes.of(point));
            let whole = of[0].merge(&of[1]).merge(&of[2]);
            for k in 0..3 {
                let next = (k + 1) % 3;
                points.add(primitive.owned[k], [at[k]], &of[k]);
                let ends = [at[k], at[next]];
                edges.add(primitive.edges[k], ends, &of[k].merge(&of[next]));
            }
            triangles.add(primitive.triangle, at, &whole);
            all = all.merge(&whole);
        }
        all
    }

    /// The lengths of all sides of the boxes of all edges, which every primitive has.
    pub(super) fn sides(&self) -> f64 {
        self.edges.iter().map(|group| group.volumes.sides()).sum()
    }

    /// The points of a leaf.
    #[inline(always)]
    pub(super) fn points(&self, leaf: &Leaf) -> &[Group<K, T, 1>] {
        &self.points[range(leaf.points)]
    }

    /// The edges of a leaf.
    #[inline(always)]
    pub(super) fn edges(&self, leaf: &Leaf) -> &[Group<K, T, 2>] {
        &self.edges[range(leaf.edges)]
    }

    /// The triangles of a leaf.
    #[inline(always)]
    pub(super) fn triangles(&self, leaf: &Leaf) -> &[Group<K, T, 3>] {
        &self.triangles[range(leaf.triangles)]
    }
}

#[inline(always)]
fn range([from, to]: [u32; 2]) -> Range<usize> {
    from as usize..to as usize
}

fn has_lone(primitive: &Primitive) -> bool {
    let (points, edges) = (primitive.points, primitive.edges);
    (0..3).any(|k| edges[k] != NONE && points[k] == points[(k + 1) % 3])
}

/// Puts features of one kind into groups, one after the other.
struct Filler<'a, const K: usize, const T: usize, const N: usize> {
    groups: &'a mut [Group<K, T, N>],
    count: usize,
}

impl<'a, const K: usize, const T: usize, const N: usize> Filler<'a, K, T, N> {
    fn new(groups: &'a mut [Group<K, T, N>]) -> Self {
        Self { groups, count: 0 }
    }

    #[inline]
    fn add(&mut self, number: u32, corners: [u32; N], volume: &Volume<K, T>) {
        if number == NONE {
            return;
        }
        let (group, lane) = (self.count / WIDTH, self.count % WIDTH);
        let group = &mut self.groups[group];
        group.volumes.set(lane, volume);
        group.numbers[lane] = number;
        for k in 0..N {
            group.corners[k][lane] = corners[k];
        }
        self.count += 1;
    }
}

/// The part that all are, or `NONE`.
pub(super) fn common(mut parts: impl Iterator<Item = u32>) -> u32 {
    let first = parts.next().unwrap_or(NONE);
    if parts.all(|part| part == first) {
        first
    } else {
        NONE
    }
}
