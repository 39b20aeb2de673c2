//! Which pairs of a list collide during a motion, and when: every pair, many at once.

use glam::DVec3;
use rayon::prelude::*;
use reefknot_contact::lanes::dispatch;

use super::ccd::{self, Filter, Impact};
use super::features::Features;
use super::margins::{BLOCK, Clear, Margins, Travelled, is_clear, until};
use super::pairs::Candidates;

/// Pairs that a thread takes at a time: whole blocks.
const CHUNK: usize = 128 * BLOCK;

/// A pair that comes too close.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairImpact {
    /// The two features, as in the list of candidates.
    pub pair: [u32; 2],
    /// When, and which direction separates them until then.
    pub impact: Impact,
}

/// The pairs of both kinds that come too close, each in the order of its list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Impacts {
    /// Points with triangles.
    pub point_triangle: Vec<PairImpact>,
    /// Edges with edges.
    pub edge_edge: Vec<PairImpact>,
}

impl Impacts {
    /// Until when nothing comes too close; 1 if nothing does.
    #[must_use]
    pub fn earliest(&self) -> f64 {
        let all = self.point_triangle.iter().chain(&self.edge_edge);
        all.fold(1.0, |earliest, found| earliest.min(found.impact.time))
    }
}

/// Looks at every pair of `candidates` while the points move from `from` to `to`. `separation` is the distance that the
/// features on the points before a place and from there on must keep (m).
#[must_use]
pub fn impacts(
    features: &Features,
    candidates: &Candidates,
    from: &[DVec3],
    to: &[DVec3],
    separation: impl Fn([u32; 4], usize) -> f64 + Sync,
) -> Impacts {
    let nowhere = Travelled::default();
    let known = (&nowhere, &mut Margins::default());
    impacts_since(features, candidates, [from, to], separation, known)
}

/// The same, but for pairs that are still clear since the last time, with the same start, candidates and separations.
#[must_use]
pub fn impacts_since(
    features: &Features,
    candidates: &Candidates,
    motion: [&[DVec3]; 2],
    separation: impl Fn([u32; 4], usize) -> f64 + Sync,
    (travelled, margins): (&Travelled, &mut Margins),
) -> Impacts {
    let (points, edges) = (&candidates.point_triangle, &candidates.edge_edge);
    let gone = |ways: &[f64], feature: u32| ways.get(feature as usize).copied().unwrap_or(0.0);
    let point_triangle = all_impacts::<false>(
        (points, &mut margins.point_triangle),
        motion,
        (travelled.any_pair, |[point, triangle]| {
            gone(&travelled.points, point) + gone(&travelled.triangles, triangle)
        }),
        |[point, triangle]| {
            let [a, b, c] = features.triangles[triangle as usize];
            let points = [point, a, b, c];
            (points, separation(points, 1))
        },
    );
    let edge_edge = all_impacts::<true>(
        (edges, &mut margins.edge_edge),
        motion,
        (travelled.any_pair, |[one, other]| {
            gone(&travelled.edges, one) + gone(&travelled.edges, other)
        }),
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

/// The impacts of pairs of one kind; `gone` says how far the two features of a pair have gone, and `any_gone` how far at most those of any; `points`
/// gives the four points of a pair and its separation.
fn all_impacts<const EDGES: bool>(
    (pairs, margins): (&[[u32; 2]], &mut Clear),
    motion: [&[DVec3]; 2],
    (any_gone, gone): (f64, impl Fn([u32; 2]) -> f64 + Sync),
    points: impl Fn([u32; 2]) -> ([u32; 4], f64) + Sync,
) -> Vec<PairImpact> {
    margins.fit(pairs.len());
    let blocks = margins.blocks.par_chunks_mut(CHUNK / BLOCK);
    let margins = margins.pairs.par_chunks_mut(CHUNK).zip(blocks);
    let chunks = pairs.par_chunks(CHUNK).zip(margins);
    let chunks = chunks.map(|(pairs, (margins, blocks))| {
        let is_open = |block: &usize| !is_clear(any_gone, blocks[*block]);
        let open_blocks: Vec<usize> = (0..blocks.len()).filter(is_open).collect();
        let of_block = |block: &usize| block * BLOCK..pairs.len().min((block + 1) * BLOCK);
        let open = open_blocks.iter().flat_map(of_block);
        let open = open.filter(|at| !is_clear(gone(pairs[*at]), margins[*at]));
        let open: Vec<usize> = open.collect();
        let quads: Vec<([u32; 4], f64)> = open.iter().map(|at| points(pairs[*at])).collect();
        let (slacks, impacts) = follow::<EDGES>(motion, &quads);
        for (at, slack) in open.iter().zip(slacks) {
            margins[*at] = until(gone(pairs[*at]), slack);
        }
        for block in open_blocks {
            let slack = |at: usize| f64::from(margins[at]) - gone(pairs[at]);
            let least = of_block(&block).map(slack).fold(f64::INFINITY, f64::min);
            blocks[block] = until(any_gone, least);
        }
        let found = impacts.into_iter().map(|(place, impact)| PairImpact {
            pair: pairs[open[place]],
            impact,
        });
        found.collect::<Vec<_>>()
    });
    chunks.collect::<Vec<_>>().concat()
}

/// Follows pairs, given by their points and separations: how much more than needed each certainly keeps, where that is known, and which come too close.
fn follow<const EDGES: bool>(
    [from, to]: [&[DVec3]; 2],
    pairs: &[([u32; 4], f64)],
) -> (Vec<f64>, Vec<(usize, Impact)>) {
    let search = match EDGES {
        true => ccd::edge_edge,
        false => ccd::point_triangle,
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
    for (place, slack) in slacks.iter_mut().enumerate() {
        if *slack > 0.0 {
            continue;
        }
        let [start, end] = [from, to].map(|x| quads[place].map(|point| x[point as usize]));
        let separation = separations[place];
        *slack = ccd::plane_slack::<EDGES>(&start, &end, separation);
        if *slack > 0.0 {
            continue;
        }
        if let Some(impact) = search(&start, &end, separation) {
            found.push((place, impact));
        }
    }
    (slacks, found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collide::certify::certify;
    use crate::collide::sample::Scene;
    use crate::collide::tree::Tree;
    use crate::collide::volume::{MOVING, WHOLE};
    use proptest::array::uniform3;
    use proptest::prelude::*;

    /// All pairs that may meet at all.
    fn everything(features: &Features) -> Candidates {
        let points = 0..features.part_of.len() as u32;
        let triangles = features.triangles.len() as u32;
        let edges = features.edges.len() as u32;
        let point_triangle = points.flat_map(|p| (0..triangles).map(move |t| [p, t]));
        let edge_edge = (0..edges).flat_map(|e| (e + 1..edges).map(move |f| [e, f]));
        Candidates {
            point_triangle: point_triangle
                .filter(|&[p, t]| features.point_meets_triangle(p, t))
                .collect(),
            edge_edge: edge_edge
                .filter(|&[e, f]| features.edge_meets_edge(e, f))
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
            let mut scene = Scene::random(seed, size, scale, offset);
            scene.reach.fill(0.0);
            let common = scale * DVec3::from_array(common.map(f64::from));
            scene.to.iter_mut().for_each(|to| *to += common);
            let Scene { features, from, to, .. } = &scene;
            let all = everything(features);
            let known = impacts(features, &all, from, to, |_, _| 0.0);
            for found in [
                Tree::new(features, &scene.volumes::<3, WHOLE>()).candidates(features),
                Tree::new(features, &scene.volumes::<9, WHOLE>()).candidates(features),
                Tree::new(features, &scene.volumes::<3, MOVING>()).candidates(features),
                Tree::new(features, &scene.volumes::<9, MOVING>()).candidates(features),
            ] {
                prop_assert_eq!(&impacts(features, &found, from, to, |_, _| 0.0), &known);
            }
            // Whatever the independent test finds is among them.
            let report = certify(features, &all.point_triangle, &all.edge_edge, from, to, |_, _| 0.0);
            let found = known.point_triangle.len() + known.edge_edge.len();
            prop_assert!(report.intersections <= found, "{} {found}", report.intersections);
        }

        #[test]
        fn many_pairs_at_once_are_what_each_is_alone(seed in any::<u64>(), guard in prop_oneof![Just(0.0), 0.0..0.5f64]) {
            let scene = Scene::random(seed, 14, 1.0, DVec3::ZERO);
            let Scene { features, from, to, .. } = &scene;
            let all = everything(features);
            let guards: Vec<f64> = (0..from.len()).map(|point| guard * (point % 3) as f64).collect();
            let most = |points: &[u32]| points.iter().map(|&point| guards[point as usize]).fold(0.0, f64::max);
            let found = impacts(features, &all, from, to, |points, second| most(&points[..second]) + most(&points[second..]));
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
        fn what_is_passed_over_as_clear_collides_with_nothing(seed in any::<u64>(), guard in prop_oneof![Just(0.0), 0.0..0.3f64], scale in 1e-4..0.5f64) {
            let scene = Scene::random(seed, 14, 1.0, DVec3::ZERO);
            let Scene { features, from, .. } = &scene;
            let all = everything(features);
            let mut to = scene.to.clone();
            let (mut travelled, mut margins) = (Travelled::default(), Margins::default());
            for round in 0..6u64 {
                travelled.go_on(features, &to);
                let since = impacts_since(features, &all, [from, &to], |_, _| guard, (&travelled, &mut margins));
                prop_assert_eq!(&since, &impacts(features, &all, from, &to, |_, _| guard));
                // Smaller and smaller changes, as those of a solver.
                let other = Scene::random(seed ^ (round + 1), 14, 1.0, DVec3::ZERO);
                let part = scale * 0.4f64.powi(round as i32);
                let ways = other.to.iter().zip(&other.from).map(|(to, from)| *to - *from);
                to.iter_mut().zip(ways.cycle()).for_each(|(to, way)| *to += way * part);
            }
        }
    }

    #[test]
    fn most_pairs_are_passed_over_the_second_time() {
        let scene = Scene::random(7, 120, 1.0, DVec3::ZERO);
        let Scene {
            features, from, to, ..
        } = &scene;
        let all = everything(features);
        let (mut travelled, mut margins) = (Travelled::default(), Margins::default());
        travelled.go_on(features, to);
        let known = (&travelled, &mut margins);
        let _ = impacts_since(features, &all, [from, to], |_, _| 0.0, known);
        let to: Vec<DVec3> = to.iter().map(|to| *to + DVec3::splat(1e-3)).collect();
        travelled.go_on(features, &to);
        let clear = all.edge_edge.iter().zip(&margins.edge_edge.pairs);
        let clear = clear.filter(|([one, other], until)| {
            let gone = [one, other].map(|edge| travelled.edges[*edge as usize]);
            is_clear(gone[0] + gone[1], **until)
        });
        assert!(2 * clear.count() > all.edge_edge.len());
    }

    #[test]
    fn threads_change_nothing_and_the_earliest_is_first_of_all() {
        let scene = Scene::random(7, 120, 1.0, DVec3::ZERO);
        let all = everything(&scene.features);
        assert!(all.edge_edge.len() > 2 * CHUNK, "several chunks");
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
