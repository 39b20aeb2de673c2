//! Leaves of the tree: a few primitives with the features that they own, in groups of eight.
//!
//! The search compares two overlapping leaves feature by feature. Volumes, indices and corners of
//! their features are stored side by side, in the order of the leaves. Consecutive leaves form a
//! chunk with its own memory, so that chunks are built and fitted in parallel while they are in the
//! cache.

use super::block::{Block, Mask, WIDTH};
use super::features::{NONE, Primitive};
use super::volume::{Volume, Volumes};
use std::ops::Range;

/// Primitives per leaf: their triangles fill a group. 6 was slower in measurements, 10 not faster.
pub(super) const PRIMITIVES_PER_LEAF: usize = 8;
/// Leaves per chunk, a multiple of the width of a block.
pub(super) const LEAVES_PER_CHUNK: usize = 256;

/// Up to eight features of one kind, with `N` corners each.
#[derive(Clone, Copy, Debug)]
pub(super) struct FeatureGroup<const K: usize, const T: usize, const N: usize> {
    /// Their volumes.
    pub(super) volumes: Block<K, T>,
    /// Their indices.
    pub(super) numbers: [u32; WIDTH],
    /// The first corner of each feature, then the second, and so on.
    pub(super) corners: [[u32; WIDTH]; N],
}

impl<const K: usize, const T: usize, const N: usize> FeatureGroup<K, T, N> {
    const EMPTY: Self = Self {
        volumes: Block::EMPTY,
        numbers: [NONE; WIDTH],
        corners: [[NONE; WIDTH]; N],
    };

    /// Removes features with this corner from a mask.
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

/// Ranges of the groups of a leaf in its chunk.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Leaf {
    points: [u32; 2],
    edges: [u32; 2],
    triangles: [u32; 2],
    /// The part of all its primitives, or `NONE` if there are several.
    pub(super) part: u32,
    /// Whether it contains a lone point, an edge with both ends at one point.
    pub(super) has_lone_point: bool,
}

impl Leaf {
    /// A leaf whose groups follow those of the previous leaf.
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
            points: range(before.points, count(|primitive| primitive.owned_points)),
            edges: range(before.edges, count(|primitive| primitive.owned_edges)),
            triangles: range(before.triangles, triangles.count()),
            part: common_part(primitives.iter().map(|primitive| primitive.part)),
            has_lone_point: primitives.iter().any(has_lone_point),
        }
    }
}

/// Consecutive leaves with their features.
#[derive(Clone, Debug)]
pub(super) struct Chunk<const K: usize, const T: usize> {
    /// The primitives in the order of the leaves.
    pub(super) primitives: Vec<Primitive>,
    /// The leaves.
    pub(super) leaves: Vec<Leaf>,
    points: Vec<FeatureGroup<K, T, 1>>,
    edges: Vec<FeatureGroup<K, T, 2>>,
    triangles: Vec<FeatureGroup<K, T, 3>>,
}

impl<const K: usize, const T: usize> Chunk<K, T> {
    /// Leaves over primitives, without volumes yet.
    pub(super) fn new(primitives: Vec<Primitive>) -> Self {
        let mut leaves = Vec::with_capacity(primitives.len().div_ceil(PRIMITIVES_PER_LEAF));
        let mut last = Leaf::default();
        for primitives in primitives.chunks(PRIMITIVES_PER_LEAF) {
            last = Leaf::after(&last, primitives);
            leaves.push(last);
        }
        let count = |range: [u32; 2]| range[1] as usize;
        Self {
            primitives,
            leaves,
            points: vec![FeatureGroup::EMPTY; count(last.points)],
            edges: vec![FeatureGroup::EMPTY; count(last.edges)],
            triangles: vec![FeatureGroup::EMPTY; count(last.triangles)],
        }
    }

    /// Computes the volumes of all its leaves, and of the blocks above them.
    pub(super) fn fit(&mut self, volumes: &Volumes<K, T>, blocks: &mut [Block<K, T>]) {
        for leaf in 0..self.leaves.len() {
            let volume = self.fit_leaf(leaf, volumes);
            blocks[leaf / WIDTH].set(leaf % WIDTH, &volume);
        }
    }

    /// Computes the volumes of the features of a leaf. Returns the volume of the leaf.
    pub(super) fn fit_leaf(&mut self, leaf: usize, volumes: &Volumes<K, T>) -> Volume<K, T> {
        let at = &self.leaves[leaf];
        let mut points = GroupWriter::new(&mut self.points[range(at.points)]);
        let mut edges = GroupWriter::new(&mut self.edges[range(at.edges)]);
        let mut triangles = GroupWriter::new(&mut self.triangles[range(at.triangles)]);
        let mut all = Volume::EMPTY;
        let end = self.primitives.len().min(PRIMITIVES_PER_LEAF * (leaf + 1));
        for primitive in &self.primitives[PRIMITIVES_PER_LEAF * leaf..end] {
            let at = primitive.points;
            let of = at.map(|point| *volumes.of(point));
            let whole = of[0].merge(&of[1]).merge(&of[2]);
            for k in 0..3 {
                let next = (k + 1) % 3;
                points.add(primitive.owned_points[k], [at[k]], &of[k]);
                let ends = [at[k], at[next]];
                edges.add(primitive.owned_edges[k], ends, &of[k].merge(&of[next]));
            }
            triangles.add(primitive.triangle, at, &whole);
            all = all.merge(&whole);
        }
        all
    }

    /// Sum of the side lengths of the boxes of all edges. Every primitive has edges.
    pub(super) fn sides(&self) -> f64 {
        self.edges.iter().map(|group| group.volumes.sides()).sum()
    }

    /// The points of a leaf.
    #[inline(always)]
    pub(super) fn points(&self, leaf: &Leaf) -> &[FeatureGroup<K, T, 1>] {
        &self.points[range(leaf.points)]
    }

    /// The edges of a leaf.
    #[inline(always)]
    pub(super) fn edges(&self, leaf: &Leaf) -> &[FeatureGroup<K, T, 2>] {
        &self.edges[range(leaf.edges)]
    }

    /// The triangles of a leaf.
    #[inline(always)]
    pub(super) fn triangles(&self, leaf: &Leaf) -> &[FeatureGroup<K, T, 3>] {
        &self.triangles[range(leaf.triangles)]
    }
}

#[inline(always)]
fn range([from, to]: [u32; 2]) -> Range<usize> {
    from as usize..to as usize
}

fn has_lone_point(primitive: &Primitive) -> bool {
    let (points, edges) = (primitive.points, primitive.owned_edges);
    (0..3).any(|k| edges[k] != NONE && points[k] == points[(k + 1) % 3])
}

/// Writes features of one kind into groups, one after the other.
struct GroupWriter<'a, const K: usize, const T: usize, const N: usize> {
    groups: &'a mut [FeatureGroup<K, T, N>],
    count: usize,
}

impl<'a, const K: usize, const T: usize, const N: usize> GroupWriter<'a, K, T, N> {
    fn new(groups: &'a mut [FeatureGroup<K, T, N>]) -> Self {
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

/// The part of all, or `NONE` if there are several.
pub(super) fn common_part(mut parts: impl Iterator<Item = u32>) -> u32 {
    let first = parts.next().unwrap_or(NONE);
    if parts.all(|part| part == first) {
        first
    } else {
        NONE
    }
}
