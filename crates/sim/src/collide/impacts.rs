//! Impacts of candidate pairs during a motion, by continuous collision detection.

use glam::DVec3;
use rayon::prelude::*;
use reefknot_contact::lanes::dispatch;

use super::ccd::{self, Filter, Impact};
use super::features::Features;
use super::margins::{
    Margins, PAIRS_PER_BLOCK, PairMargins, PathLengths, is_still_clear, safe_length,
};
use super::pairs::Candidates;

/// Pairs that one task tests: whole blocks.
const CHUNK_SIZE: usize = 128 * PAIRS_PER_BLOCK;

/// The impact of a pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairImpact {
    /// The two features, as in the list of candidates.
    pub pair: [u32; 2],
    /// Time of impact, and the direction that separates the features until then.
    pub impact: Impact,
}

/// The impacts of both kinds of pairs, each in the order of its candidates.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Impacts {
    /// Points with triangles.
    pub point_triangle: Vec<PairImpact>,
    /// Edges with edges.
    pub edge_edge: Vec<PairImpact>,
}

impl Impacts {
    /// The earliest time of impact; 1 without impacts.
    #[must_use]
    pub fn earliest(&self) -> f64 {
        let all = self.point_triangle.iter().chain(&self.edge_edge);
        all.fold(1.0, |earliest, found| earliest.min(found.impact.time))
    }
}

/// Impacts of all `candidates` while the points move from `from` to `to`. `separation` is the
/// distance (m) that the features on the points before and from an index on must keep.
#[must_use]
pub fn impacts(
    features: &Features,
    candidates: &Candidates,
    from: &[DVec3],
    to: &[DVec3],
    separation: impl Fn([u32; 4], usize) -> f64 + Sync,
) -> Impacts {
    let path_lengths = PathLengths::default();
    let margins = &mut Margins::default();
    let motion = [from, to];
    impacts_since(
        features,
        candidates,
        motion,
        separation,
        &path_lengths,
        margins,
    )
}

/// As [`impacts`], but skips pairs that are still clear by their `margins` of earlier calls with
/// the same start, candidates and separations.
#[must_use]
pub fn impacts_since(
    features: &Features,
    candidates: &Candidates,
    motion: [&[DVec3]; 2],
    separation: impl Fn([u32; 4], usize) -> f64 + Sync,
    path_lengths: &PathLengths,
    margins: &mut Margins,
) -> Impacts {
    let (points, edges) = (&candidates.point_triangle, &candidates.edge_edge);
    let length = |lengths: &[f64], feature: u32| {
        let known = lengths.get(feature as usize).copied();
        known.unwrap_or(0.0)
    };
    let point_triangle = all_impacts::<false>(
        points,
        &mut margins.point_triangle,
        motion,
        path_lengths.max_of_pair,
        |[point, triangle]| {
            length(&path_lengths.points, point) + length(&path_lengths.triangles, triangle)
        },
        |[point, triangle]| {
            let [a, b, c] = features.triangles[triangle as usize];
            let points = [point, a, b, c];
            (points, separation(points, 1))
        },
    );
    let edge_edge = all_impacts::<true>(
        edges,
        &mut margins.edge_edge,
        motion,
        path_lengths.max_of_pair,
        |[one, other]| length(&path_lengths.edges, one) + length(&path_lengths.edges, other),
        |[one, other]| {
            let ([a, b], [c, d]) = (features.edges[one as usize], features.edges[other as usize]);
            let points = [a, b, c, d];
            (points, separation(points, 2))
        },
    );
    Impacts {
        point_triangle,
        edge_edge,
    }
}

/// Impacts of pairs of one kind. `length` is the path length of a pair, `max_length` an upper bound
/// for all pairs; `points` returns the four points of a pair and its separation.
fn all_impacts<const EDGES: bool>(
    pairs: &[[u32; 2]],
    margins: &mut PairMargins,
    motion: [&[DVec3]; 2],
    max_length: f64,
    length: impl Fn([u32; 2]) -> f64 + Sync,
    points: impl Fn([u32; 2]) -> ([u32; 4], f64) + Sync,
) -> Vec<PairImpact> {
    margins.resize(pairs.len());
    let blocks = margins.blocks.par_chunks_mut(CHUNK_SIZE / PAIRS_PER_BLOCK);
    let margins = margins.pairs.par_chunks_mut(CHUNK_SIZE).zip(blocks);
    let chunks = pairs.par_chunks(CHUNK_SIZE).zip(margins);
    let chunks = chunks.map(|(pairs, (margins, blocks))| {
        let is_open = |block: &usize| !is_still_clear(max_length, blocks[*block]);
        let open_blocks: Vec<usize> = (0..blocks.len()).filter(is_open).collect();
        let of_block =
            |block: &usize| block * PAIRS_PER_BLOCK..pairs.len().min((block + 1) * PAIRS_PER_BLOCK);
        let open = open_blocks.iter().flat_map(of_block);
        let open = open.filter(|at| !is_still_clear(length(pairs[*at]), margins[*at]));
        let open: Vec<usize> = open.collect();
        let quads: Vec<([u32; 4], f64)> = open.iter().map(|at| points(pairs[*at])).collect();
        let (slacks, impacts) = test_pairs::<EDGES>(motion, &quads);
        for (at, slack) in open.iter().zip(slacks) {
            margins[*at] = safe_length(length(pairs[*at]), slack);
        }
        for block in open_blocks {
            let slack = |at: usize| f64::from(margins[at]) - length(pairs[at]);
            let least = of_block(&block).map(slack).fold(f64::INFINITY, f64::min);
            blocks[block] = safe_length(max_length, least);
        }
        let found = impacts.into_iter().map(|(index, impact)| PairImpact {
            pair: pairs[open[index]],
            impact,
        });
        found.collect::<Vec<_>>()
    });
    chunks.collect::<Vec<_>>().concat()
}

/// Tests pairs, given by their points and separations. Returns the slack of each pair: the certain
/// distance minus the separation where that is known, and 0 or less elsewhere. And the impacts, by
/// the index of the pair.
fn test_pairs<const EDGES: bool>(
    [from, to]: [&[DVec3]; 2],
    pairs: &[([u32; 4], f64)],
) -> (Vec<f64>, Vec<(usize, Impact)>) {
    let search = if EDGES {
        ccd::edge_edge
    } else {
        ccd::point_triangle
    };
    let (quads, separations): (Vec<_>, Vec<_>) = pairs.iter().copied().unzip();
    let mut slacks = vec![0.0; pairs.len()];
    dispatch(Filter::<EDGES> {
        from,
        to,
        quads: &quads,
        separations: &separations,
        slacks: &mut slacks,
    });
    let mut found = Vec::new();
    for (index, slack) in slacks.iter_mut().enumerate() {
        if *slack > 0.0 {
            continue;
        }
        let [start, end] = [from, to].map(|x| quads[index].map(|point| x[point as usize]));
        let separation = separations[index];
        *slack = ccd::plane_slack::<EDGES>(&start, &end, separation);
        if *slack > 0.0 {
            continue;
        }
        if let Some(impact) = search(&start, &end, separation) {
            found.push((index, impact));
        }
    }
    (slacks, found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collide::certify::certify;
    use crate::collide::sample::SampleScene;
    use crate::collide::tree::Tree;
    use crate::collide::volume::{MOVING, WHOLE};
    use proptest::array::uniform3;
    use proptest::prelude::*;

    /// All pairs that may collide.
    fn all_candidates(features: &Features) -> Candidates {
        let points = 0..features.part_of.len() as u32;
        let triangles = features.triangles.len() as u32;
        let edges = features.edges.len() as u32;
        let point_triangle = points.flat_map(|p| (0..triangles).map(move |t| [p, t]));
        let edge_edge = (0..edges).flat_map(|e| (e + 1..edges).map(move |f| [e, f]));
        Candidates {
            point_triangle: point_triangle
                .filter(|&[p, t]| features.may_collide_point_triangle(p, t))
                .collect(),
            edge_edge: edge_edge
                .filter(|&[e, f]| features.may_collide_edges(e, f))
                .collect(),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        #[test]
        fn the_tree_loses_no_impact(
            seed in any::<u64>(),
            size in 2..14usize,
            power in prop_oneof![Just(0), -40..40i32],
            offset in 0..3i32,
            common in prop_oneof![Just([0; 3]), uniform3(-1000..1000i32)],
        ) {
            let scale = 2.0f64.powi(power);
            let offset = f64::from(offset) * scale * DVec3::new(1e6, -3e5, 7.0);
            let mut scene = SampleScene::random(seed, size, scale, offset);
            scene.reach.fill(0.0);
            let common = scale * DVec3::from_array(common.map(f64::from));
            scene.to.iter_mut().for_each(|to| *to += common);
            let SampleScene { features, from, to, .. } = &scene;
            let all = all_candidates(features);
            let known = impacts(features, &all, from, to, |_, _| 0.0);
            for found in [
                Tree::new(features, &scene.volumes::<3, WHOLE>()).candidates(features),
                Tree::new(features, &scene.volumes::<9, WHOLE>()).candidates(features),
                Tree::new(features, &scene.volumes::<3, MOVING>()).candidates(features),
                Tree::new(features, &scene.volumes::<9, MOVING>()).candidates(features),
            ] {
                prop_assert_eq!(&impacts(features, &found, from, to, |_, _| 0.0), &known);
            }
            // They include all collisions of the independent test.
            let (points, edges) = (&all.point_triangle, &all.edge_edge);
            let report = certify(features, points, edges, from, to, |_, _| 0.0);
            let found = known.point_triangle.len() + known.edge_edge.len();
            prop_assert!(report.intersections <= found, "{} {found}", report.intersections);
        }

        #[test]
        fn impacts_of_a_list_equal_those_of_single_pairs(
            seed in any::<u64>(),
            guard in prop_oneof![Just(0.0), 0.0..0.5f64],
        ) {
            let scene = SampleScene::random(seed, 14, 1.0, DVec3::ZERO);
            let SampleScene { features, from, to, .. } = &scene;
            let all = all_candidates(features);
            let guards = (0..from.len()).map(|point| guard * (point % 3) as f64);
            let guards: Vec<f64> = guards.collect();
            let most = |points: &[u32]| {
                let own = points.iter().map(|&point| guards[point as usize]);
                own.fold(0.0, f64::max)
            };
            let separation =
                |points: [u32; 4], second| most(&points[..second]) + most(&points[second..]);
            let found = impacts(features, &all, from, to, separation);
            let at = |points: [u32; 4]| [from, to].map(|x| points.map(|point| x[point as usize]));
            let mut alone = Impacts::default();
            for &pair in &all.point_triangle {
                let [a, b, c] = features.triangles[pair[1] as usize];
                let ends = at([pair[0], a, b, c]);
                let separation = most(&pair[..1]) + most(&[a, b, c]);
                let impact = ccd::point_triangle(&ends[0], &ends[1], separation);
                alone.point_triangle.extend(impact.map(|impact| PairImpact { pair, impact }));
            }
            for &pair in &all.edge_edge {
                let [[a, b], [c, d]] = pair.map(|edge| features.edges[edge as usize]);
                let ends = at([a, b, c, d]);
                let impact = ccd::edge_edge(&ends[0], &ends[1], most(&[a, b]) + most(&[c, d]));
                alone.edge_edge.extend(impact.map(|impact| PairImpact { pair, impact }));
            }
            prop_assert_eq!(found, alone);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn skipped_pairs_do_not_collide(
            seed in any::<u64>(),
            guard in prop_oneof![Just(0.0), 0.0..0.3f64],
            scale in 1e-4..0.5f64,
        ) {
            let scene = SampleScene::random(seed, 14, 1.0, DVec3::ZERO);
            let SampleScene { features, from, .. } = &scene;
            let all = all_candidates(features);
            let mut to = scene.to.clone();
            let (mut lengths, mut margins) = (PathLengths::default(), Margins::default());
            for round in 0..6u64 {
                lengths.advance(features, &to);
                let motion = [&from[..], &to];
                let separation = |_, _| guard;
                let since =
                    impacts_since(features, &all, motion, separation, &lengths, &mut margins);
                prop_assert_eq!(&since, &impacts(features, &all, from, &to, separation));
                // Decreasing changes, as in a solver.
                let other = SampleScene::random(seed ^ (round + 1), 14, 1.0, DVec3::ZERO);
                let part = scale * 0.4f64.powi(round as i32);
                let displacements = other.to.iter().zip(&other.from).map(|(to, from)| *to - *from);
                to.iter_mut().zip(displacements.cycle()).for_each(|(to, by)| *to += by * part);
            }
        }
    }

    #[test]
    fn most_pairs_are_skipped_in_the_second_test() {
        let scene = SampleScene::random(7, 120, 1.0, DVec3::ZERO);
        let SampleScene {
            features, from, to, ..
        } = &scene;
        let all = all_candidates(features);
        let (mut lengths, mut margins) = (PathLengths::default(), Margins::default());
        lengths.advance(features, to);
        let motion = [&from[..], to];
        let _ = impacts_since(features, &all, motion, |_, _| 0.0, &lengths, &mut margins);
        let to: Vec<DVec3> = to.iter().map(|to| *to + DVec3::splat(1e-3)).collect();
        lengths.advance(features, &to);
        let clear = all.edge_edge.iter().zip(&margins.edge_edge.pairs);
        let clear = clear.filter(|([one, other], safe)| {
            let own = [one, other].map(|edge| lengths.edges[*edge as usize]);
            is_still_clear(own[0] + own[1], **safe)
        });
        assert!(2 * clear.count() > all.edge_edge.len());
    }

    #[test]
    fn any_number_of_threads_finds_the_same_impacts() {
        let scene = SampleScene::random(7, 120, 1.0, DVec3::ZERO);
        let all = all_candidates(&scene.features);
        assert!(all.edge_edge.len() > 2 * CHUNK_SIZE, "several chunks");
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            pool.unwrap()
                .install(|| impacts(&scene.features, &all, &scene.from, &scene.to, |_, _| 0.0))
        };
        let one = on(1);
        assert_eq!(one, on(2));
        assert_eq!(one, on(3));
        let both = one.point_triangle.iter().chain(&one.edge_edge);
        let least = both.map(|found| found.impact.time).fold(1.0, f64::min);
        assert!(!one.edge_edge.is_empty());
        assert_eq!(one.earliest(), least);
        assert_eq!(Impacts::default().earliest(), 1.0);
    }
}
