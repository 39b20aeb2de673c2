//! Small random scenes for tests, and a brute-force search as a reference.

use super::features::{Features, Part};
use super::pairs::Candidates;
use super::volume::{PointMotion, Volume, Volumes};
use crate::random::Random;
use glam::DVec3;

/// Features and a motion of their points.
#[derive(Clone, Debug)]
pub(super) struct SampleScene {
    pub(super) features: Features,
    pub(super) from: Vec<DVec3>,
    pub(super) to: Vec<DVec3>,
    pub(super) reach: Vec<f64>,
}

/// Arguments of [`Features::new`].
#[derive(Clone, Debug, Default)]
pub(super) struct FeatureSpec {
    pub(super) part_of: Vec<u32>,
    pub(super) parts: Vec<Part>,
    pub(super) triangles: Vec<[u32; 3]>,
    pub(super) segments: Vec<[u32; 2]>,
    pub(super) joined: Vec<[u32; 2]>,
}

impl FeatureSpec {
    /// Up to four parts with `triangles` and `segments` each. Their corners are random points of
    /// the part; some points stay lone.
    pub(super) fn random(random: &mut Random, triangles: usize, segments: usize) -> FeatureSpec {
        let mut spec = FeatureSpec::default();
        for part in 0..1 + random.below(4) {
            spec.parts.push(Part {
                is_free: random.below(3) > 0,
                self_collides: random.below(3) > 0,
            });
            let first = spec.part_of.len();
            let points = 3 + (triangles + segments) / 2;
            spec.part_of.resize(first + points, part as u32);
            let mut corner = || (first + random.below(points)) as u32;
            for _ in 0..triangles {
                spec.triangles.push([corner(), corner(), corner()]);
            }
            for _ in 0..segments {
                spec.segments.push([corner(), corner()]);
            }
        }
        let points = spec.part_of.len();
        for _ in 0..random.below(2) * points / 4 {
            let [a, b] = [0, 1].map(|_| random.below(points) as u32);
            spec.joined.push([a, b]);
        }
        spec
    }

    pub(super) fn features(self) -> Features {
        let FeatureSpec {
            part_of,
            parts,
            triangles,
            segments,
            joined,
        } = self;
        Features::new(part_of, parts, triangles, &segments, &joined)
    }
}

impl SampleScene {
    /// Triangles, segments and lone points of a few parts on a coarse lattice, so that contact,
    /// coincidence and degenerate primitives are frequent. `scale` is the spacing of the lattice,
    /// `offset` its origin.
    pub(super) fn random(seed: u64, size: usize, scale: f64, offset: DVec3) -> SampleScene {
        let mut random = Random::new(seed);
        let [triangles, segments] = [0, 1].map(|_| size * random.below(4) / 4);
        let spec = FeatureSpec::random(&mut random, triangles, segments);
        SampleScene::with_positions(spec.features(), &mut random, scale, offset)
    }

    /// These features at random positions.
    pub(super) fn with_positions(
        features: Features,
        random: &mut Random,
        scale: f64,
        offset: DVec3,
    ) -> SampleScene {
        let points = features.part_of.len();
        let side = 2.0 + random.below(2 + points) as f64;
        let mut position = |side: f64| {
            DVec3::from_array([(); 3].map(|()| scale * random.between(0.0, side).floor()))
        };
        let from: Vec<DVec3> = (0..points).map(|_| offset + position(side)).collect();
        let to = from.iter().map(|&from| from + position(3.0)).collect();
        let reach = (0..points).map(|_| scale * random.below(3) as f64 / 4.0);
        SampleScene {
            reach: reach.collect(),
            features,
            from,
            to,
        }
    }

    /// The motion of all points.
    pub(super) fn motion(&self) -> PointMotion<'_> {
        PointMotion {
            from: &self.from,
            to: &self.to,
            reach: &self.reach,
        }
    }

    /// The volumes of the motion of all points.
    pub(super) fn volumes<const K: usize, const T: usize>(&self) -> Volumes<K, T> {
        Volumes::new(&self.motion())
    }

    /// The same features at other positions.
    pub(super) fn moved(&self, seed: u64, by: f64) -> SampleScene {
        let mut random = Random::new(seed);
        let mut scene = self.clone();
        for (from, to) in scene.from.iter_mut().zip(&mut scene.to) {
            *from += by * random.unit_vector();
            *to = *from + random.unit_vector();
        }
        scene
    }
}

/// All candidates, by comparison of every pair of features.
pub(super) fn brute_force_candidates<const K: usize, const T: usize>(
    features: &Features,
    volumes: &Volumes<K, T>,
) -> Candidates {
    let of = |points: &[u32]| {
        let volumes = points.iter().map(|point| volumes.of(*point));
        volumes.fold(Volume::EMPTY, |all, volume| all.merge(volume))
    };
    let triangles = features.triangles.iter().map(|corners| of(corners));
    let triangles: Vec<Volume<K, T>> = triangles.collect();
    let edges: Vec<Volume<K, T>> = features.edges.iter().map(|ends| of(ends)).collect();
    let mut candidates = Candidates::default();
    for point in 0..features.part_of.len() as u32 {
        for (triangle, volume) in (0..).zip(&triangles) {
            let overlap = volumes.of(point).overlaps(volume);
            if overlap && features.may_collide_point_triangle(point, triangle) {
                candidates.point_triangle.push([point, triangle]);
            }
        }
    }
    for (e, volume) in (0..).zip(&edges) {
        for (f, other) in (0..).zip(&edges).skip(e as usize + 1) {
            if volume.overlaps(other) && features.may_collide_edges(e, f) {
                candidates.edge_edge.push([e, f]);
            }
        }
    }
    candidates
}
