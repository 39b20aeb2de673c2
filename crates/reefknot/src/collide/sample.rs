//! Small scenes with everything in them, and the slow search that the others are compared with.

use super::features::{Features, Part};
use super::pairs::Candidates;
use super::volume::{Motion, Volume, Volumes};
use crate::random::Random;
use glam::DVec3;

/// Features and a motion of their points.
#[derive(Clone, Debug)]
pub(super) struct Scene {
    pub(super) features: Features,
    pub(super) from: Vec<DVec3>,
    pub(super) to: Vec<DVec3>,
    pub(super) reach: Vec<f64>,
}

/// What features are made of.
#[derive(Clone, Debug, Default)]
pub(super) struct Made {
    pub(super) part_of: Vec<u32>,
    pub(super) parts: Vec<Part>,
    pub(super) triangles: Vec<[u32; 3]>,
    pub(super) segments: Vec<[u32; 2]>,
    pub(super) joined: Vec<[u32; 2]>,
}

impl Made {
    /// Up to four parts with `triangles` and `segments` each, whose corners are any points of the part, some of
    /// which stay lone.
    pub(super) fn random(random: &mut Random, triangles: usize, segments: usize) -> Made {
        let mut made = Made::default();
        for part in 0..1 + random.below(4) {
            made.parts.push(Part {
                is_free: random.below(3) > 0,
                meets_itself: random.below(3) > 0,
            });
            let first = made.part_of.len();
            let points = 3 + (triangles + segments) / 2;
            made.part_of.resize(first + points, part as u32);
            let mut corner = || (first + random.below(points)) as u32;
            for _ in 0..triangles {
                made.triangles.push([corner(), corner(), corner()]);
            }
            for _ in 0..segments {
                made.segments.push([corner(), corner()]);
            }
        }
        let points = made.part_of.len();
        for _ in 0..random.below(2) * points / 4 {
            let [a, b] = [0, 1].map(|_| random.below(points) as u32);
            made.joined.push([a, b]);
        }
        made
    }

    pub(super) fn features(self) -> Features {
        let Made {
            part_of,
            parts,
            triangles,
            segments,
            joined,
        } = self;
        Features::new(part_of, parts, triangles, &segments, &joined)
    }
}

impl Scene {
    /// Triangles, segments and lone points of a few parts on a coarse lattice, so that touching, coincidence and
    /// degenerate primitives are frequent. `scale` is the lattice's step and `offset` its origin.
    pub(super) fn random(seed: u64, size: usize, scale: f64, offset: DVec3) -> Scene {
        let mut random = Random::new(seed);
        let [triangles, segments] = [0, 1].map(|_| size * random.below(4) / 4);
        let made = Made::random(&mut random, triangles, segments);
        Scene::place(made.features(), &mut random, scale, offset)
    }

    /// The same without triangles.
    pub(super) fn rods(seed: u64, segments: usize, scale: f64, offset: DVec3) -> Scene {
        let mut random = Random::new(seed);
        let made = Made::random(&mut random, 0, segments);
        Scene::place(made.features(), &mut random, scale, offset)
    }

    pub(super) fn place(
        features: Features,
        random: &mut Random,
        scale: f64,
        offset: DVec3,
    ) -> Scene {
        let points = features.part_of.len();
        let side = 2.0 + random.below(2 + points) as f64;
        let mut place = |side: f64| {
            DVec3::from_array([(); 3].map(|()| scale * random.between(0.0, side).floor()))
        };
        let from: Vec<DVec3> = (0..points).map(|_| offset + place(side)).collect();
        let to = from.iter().map(|&from| from + place(3.0)).collect();
        let reach = (0..points).map(|_| scale * random.below(3) as f64 / 4.0);
        Scene {
            reach: reach.collect(),
            features,
            from,
            to,
        }
    }

    /// The motion of all points.
    pub(super) fn motion(&self) -> Motion<'_> {
        Motion {
            from: &self.from,
            to: &self.to,
            reach: &self.reach,
        }
    }

    /// The volumes of that motion.
    pub(super) fn volumes<const K: usize, const T: usize>(&self) -> Volumes<K, T> {
        Volumes::new(&self.motion())
    }

    /// The same features at other places.
    pub(super) fn moved(&self, seed: u64, by: f64) -> Scene {
        let mut random = Random::new(seed);
        let mut scene = self.clone();
        for (from, to) in scene.from.iter_mut().zip(&mut scene.to) {
            *from += by * random.unit_vector();
            *to = *from + random.unit_vector();
        }
        scene
    }
}

/// All candidates, by comparing every pair of features.
pub(super) fn compare_all<const K: usize, const T: usize>(
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
            if overlap && features.point_meets_triangle(point, triangle) {
                candidates.point_triangle.push([point, triangle]);
            }
        }
    }
    for (e, volume) in (0..).zip(&edges) {
        for (f, other) in (0..).zip(&edges).skip(e as usize + 1) {
            if volume.overlaps(other) && features.edge_meets_edge(e, f) {
                candidates.edge_edge.push([e, f]);
            }
        }
    }
    candidates
}
