//! A spatial hash for segments that come near each other: Kaufman et al., Adaptive Nonlinearity for Collisions in Complex Rod
//! Assemblies (2014), section 7.
//!
//! Space is cut into cubes as large as segments are on average, and each segment is noted in all cubes its box touches, by
//! a hash of the cube. Sorted by hash, those that share a cube lie side by side and are compared. Two boxes that overlap may share
//! several cubes; the pair counts only in that of the lower corner of their overlap.
//!
//! The few that are much longer than the others are compared with all; where there are many such, the tree does the
//! work, because no size of cubes fits.

use super::features::{Features, NONE};
use super::sorted::sorted;
use super::tree::{Tree, bound};
use super::volume::{Volume, Volumes};
use rayon::prelude::*;

/// Items that one task takes.
const CHUNK: usize = 4096;
/// The last cube along a side of the grid; what is further away is in the outermost ones.
const LAST_CUBE: f32 = 1_048_576.0;
/// A segment in more cubes than this is long.
const MANY_CUBES: u64 = 64;
/// With more than one long segment in this many, the tree does the work.
const FEW_LONG: usize = 4096;
/// Buckets of the hash, at most.
const MOST_BUCKETS: usize = 1 << 24;

/// The number of a cube along each axis.
type Cube = [u32; 3];

/// A segment or lone point in the grid.
#[derive(Clone, Copy, Debug)]
struct Item<const K: usize> {
    volume: Volume<K>,
    /// The cube of its lower corner.
    lower: Cube,
    /// The cube of its upper corner.
    upper: Cube,
    edge: u32,
}

impl<const K: usize> Item<K> {
    /// How many cubes it touches.
    fn cubes(&self) -> u64 {
        let along = (0..3).map(|k| u64::from(self.upper[k] - self.lower[k]) + 1);
        along.product()
    }

    /// Its pair with another item, if they overlap and may meet.
    #[inline]
    fn pair(&self, other: &Self, features: &Features) -> Option<[u32; 2]> {
        let (e, f) = (self.edge, other.edge);
        let meet = self.volume.overlaps(&other.volume) && features.edge_meets_edge(e, f);
        meet.then_some([e.min(f), e.max(f)])
    }
}

/// All pairs of segments (and lone points) whose volumes overlap and that may meet, the smaller first, sorted: what the tree
/// finds where there are no triangles.
///
/// On grooms of 50,000 to 500,000 segments (curls in wisps, long straight hair, short fur) refitting and searching the tree
/// with boxes was 2.3 to 4.2 times as fast as this on two threads: a segment is in several cubes, and most pairs that share
/// a cube do not touch. So there is nothing to choose, and this serves to compare with and to check the tree by other means.
#[must_use]
pub fn rod_pairs<const K: usize>(features: &Features, volumes: &Volumes<K>) -> Vec<[u32; 2]> {
    let items = items(features, volumes);
    let (items, long): (Vec<_>, Vec<_>) = items
        .into_iter()
        .partition(|item| item.cubes() <= MANY_CUBES);
    if long.len() > 1 + items.len() / FEW_LONG {
        let is_rod = |edge: &u32| features.edge_triangles.of(*edge).is_empty();
        let mut pairs = Tree::new(features, volumes).candidates(features).edge_edge;
        pairs.retain(|pair| pair.iter().all(is_rod));
        return pairs;
    }
    let buckets = (2 * items.len()).next_power_of_two().min(MOST_BUCKETS);
    let entries = entries(&items, buckets);
    let tasks = whole_buckets(&entries);
    let tasks = tasks.into_par_iter();
    let tasks = tasks.map(|entries| pairs_in_buckets(entries, &items, features, buckets));
    let mut found: Vec<Vec<[u32; 2]>> = tasks.collect();
    let tasks = long.par_iter().enumerate().map(|(at, item)| {
        let others = items.iter().chain(&long[at + 1..]);
        let pairs = others.filter_map(|other| item.pair(other, features));
        pairs.collect::<Vec<_>>()
    });
    found.par_extend(tasks);
    sorted(found, features.edges.len())
}

/// Places all segments and lone points in a grid of cubes as large as they are on average.
fn items<const K: usize>(features: &Features, volumes: &Volumes<K>) -> Vec<Item<K>> {
    let rods = features.primitives.par_iter().with_min_len(CHUNK);
    let rods = rods.filter(|primitive| primitive.triangle == NONE);
    let mut items: Vec<Item<K>> = rods
        .map(|primitive| Item {
            volume: bound(primitive, volumes),
            lower: [0; 3],
            upper: [0; 3],
            edge: primitive.edges[0],
        })
        .collect();
    let mut corner = [f32::INFINITY; 3];
    let mut sides = 0.0;
    for Item { volume, .. } in &items {
        let side = |k: usize| volume.upper[0][k] - volume.lower[0][k];
        sides += f64::from(side(0).max(side(1)).max(side(2)));
        for k in 0..3 {
            corner[k] = corner[k].min(volume.lower[0][k]);
        }
    }
    let size = (sides / items.len() as f64) as f32;
    // Rising with the place, whatever overflows, so that volumes that overlap share a cube.
    let cube = |at: f32, corner: f32| ((at - corner) / size).min(LAST_CUBE) as u32;
    items.par_iter_mut().with_min_len(CHUNK).for_each(|item| {
        for k in 0..3 {
            item.lower[k] = cube(item.volume.lower[0][k], corner[k]);
            item.upper[k] = cube(item.volume.upper[0][k], corner[k]);
        }
    });
    items
}

/// In which buckets each item is: pairs of bucket and item, sorted.
fn entries<const K: usize>(items: &[Item<K>], buckets: usize) -> Vec<[u32; 2]> {
    let chunks = items.par_chunks(CHUNK).enumerate();
    let chunks = chunks.map(|(chunk, items)| {
        let mut entries: Vec<[u32; 2]> = Vec::with_capacity(8 * items.len());
        for (at, item) in items.iter().enumerate() {
            let first = entries.len();
            let number = (chunk * CHUNK + at) as u32;
            for x in item.lower[0]..=item.upper[0] {
                for y in item.lower[1]..=item.upper[1] {
                    for z in item.lower[2]..=item.upper[2] {
                        let entry = [bucket([x, y, z], buckets), number];
                        // Two of its cubes may be in one bucket.
                        if !entries[first..].contains(&entry) {
                            entries.push(entry);
                        }
                    }
                }
            }
        }
        entries
    });
    sorted(chunks.collect(), buckets)
}

/// Cuts sorted entries into pieces of about equal size, each with whole buckets.
fn whole_buckets(entries: &[[u32; 2]]) -> Vec<&[[u32; 2]]> {
    let mut pieces = Vec::new();
    let mut rest = entries;
    while let Some(last) = rest.get(CHUNK.min(rest.len()).wrapping_sub(1)) {
        let end = rest.partition_point(|entry| entry[0] <= last[0]);
        let (piece, others) = rest.split_at(end);
        pieces.push(piece);
        rest = others;
    }
    pieces
}

/// All pairs that count in these buckets.
fn pairs_in_buckets<const K: usize>(
    entries: &[[u32; 2]],
    items: &[Item<K>],
    features: &Features,
    buckets: usize,
) -> Vec<[u32; 2]> {
    let mut pairs = Vec::new();
    for same in entries.chunk_by(|a, b| a[0] == b[0]) {
        for (at, [own, one]) in same.iter().enumerate() {
            let one = &items[*one as usize];
            for [_, other] in &same[at + 1..] {
                let other = &items[*other as usize];
                let corner = std::array::from_fn(|k| one.lower[k].max(other.lower[k]));
                if one.volume.overlaps(&other.volume) && bucket(corner, buckets) == *own {
                    pairs.extend(one.pair(other, features));
                }
            }
        }
    }
    pairs
}

/// The bucket of a cube: Teschner et al., Optimized Spatial Hashing for Collision Detection of Deformable Objects (2003).
#[inline]
fn bucket([x, y, z]: Cube, buckets: usize) -> u32 {
    let hash = x.wrapping_mul(73_856_093) ^ y.wrapping_mul(19_349_663) ^ z.wrapping_mul(83_492_791);
    hash & (buckets as u32 - 1)
}

#[cfg(test)]
mod tests {
    use super::super::sample::{Scene, compare_all};
    use super::super::volume::WHOLE;
    use super::*;
    use glam::DVec3;
    use proptest::prelude::*;

    fn check<const K: usize>(scene: &Scene) -> Result<(), TestCaseError> {
        let volumes = scene.volumes::<K, WHOLE>();
        let features = &scene.features;
        let is_rod = |edge: &u32| features.edge_triangles.of(*edge).is_empty();
        let mut expected = compare_all(features, &volumes).edge_edge;
        expected.retain(|pair| pair.iter().all(is_rod));
        prop_assert_eq!(rod_pairs(features, &volumes), expected);
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        #[test]
        fn the_hash_finds_what_comparing_everything_finds(
            seed: u64,
            segments in 1usize..60,
            exponent in -40i32..40,
            long in 0u32..4,
        ) {
            let scale = 2f64.powi(exponent);
            let mut scene = Scene::rods(seed, segments, scale, DVec3::splat(1e6 * scale));
            // One end far away makes a long segment, more of them leave the work to the tree.
            for point in 0..scene.to.len().min(long as usize) {
                scene.to[point] += DVec3::splat(1e4 * scale);
            }
            check::<3>(&scene)?;
            check::<9>(&scene)?;
        }
    }

    #[test]
    fn only_rods_count() {
        let scene = Scene::random(3, 30, 1.0, DVec3::ZERO);
        let pairs = rod_pairs(&scene.features, &scene.volumes::<3, WHOLE>());
        let all = compare_all(&scene.features, &scene.volumes::<3, WHOLE>()).edge_edge;
        assert!(!pairs.is_empty() && pairs.len() < all.len());
    }

    #[test]
    fn nothing_meets_nothing() {
        let empty = Scene::rods(1, 0, 1.0, DVec3::ZERO);
        let pairs = rod_pairs(&empty.features, &empty.volumes::<3, WHOLE>());
        assert_eq!(
            pairs,
            compare_all(&empty.features, &empty.volumes::<3, WHOLE>()).edge_edge
        );
        let nowhere = Features::default();
        let volumes = Volumes::<3>::about(DVec3::ZERO, &nothing());
        assert_eq!(rod_pairs(&nowhere, &volumes), Vec::<[u32; 2]>::new());
    }

    fn nothing<'a>() -> super::super::volume::Motion<'a> {
        super::super::volume::Motion {
            from: &[],
            to: &[],
            reach: &[],
        }
    }
}
