//! Who may touch whom, and where they are nearest.

use std::collections::BTreeMap;

use glam::DVec3;

use super::World;

/// A point of a body: nodes and weights.
pub(super) type Point = Vec<(u32, f64)>;

/// Something that moves at a velocity of its own, whatever touches it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Collider {
    pub(super) origin: DVec3,
    pub(super) velocity: DVec3,
    pub(super) shape: Shape,
}

/// What a collider looks like.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape {
    /// All that is below a plane through the origin.
    Plane { normal: DVec3 },
    /// A cylinder about an axis through the origin, or a ball if the axis is zero.
    Round { axis: DVec3, radius: f64 },
}

/// Two things that may touch; the first is the first body of the contact.
#[derive(Clone, Debug)]
pub(super) enum Pair {
    /// A point and a collider, by index.
    Collider { point: Point, collider: usize },
    /// A point and a surface, by index.
    Surface { point: Point, surface: usize },
    /// Two edges between nodes.
    Edges([[u32; 2]; 2]),
}

/// How two things touch.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Skin {
    /// How far apart they stay (m).
    pub(super) distance: f64,
    /// μ.
    pub(super) friction: f64,
    /// ξ (N).
    pub(super) cohesion: f64,
    /// κ (m/N).
    pub(super) compliance: f64,
}

/// A pair, and how it touches.
#[derive(Clone, Debug)]
pub(super) struct Touch {
    pub(super) pair: Pair,
    pub(super) skin: Skin,
}

/// Where a pair is nearest.
pub(super) struct Meeting {
    pub(super) distance: f64,
    pub(super) normal: DVec3,
    /// Of the collider.
    pub(super) velocity: DVec3,
    pub(super) stencil: Point,
}

impl Collider {
    /// At rest.
    pub(super) fn fixed(origin: DVec3, shape: Shape) -> Self {
        Self {
            origin,
            velocity: DVec3::ZERO,
            shape,
        }
    }

    /// How far a point is from it, and the direction away from it.
    fn nearest(&self, x: DVec3) -> (f64, DVec3) {
        let arm = x - self.origin;
        match self.shape {
            Shape::Plane { normal } => (arm.dot(normal), normal),
            Shape::Round { axis, radius } => {
                let across = arm - axis * arm.dot(axis);
                (across.length() - radius, across.normalize_or(DVec3::Z))
            }
        }
    }
}

impl World {
    /// Where a pair is nearest; nothing if that is beyond an edge or an end.
    pub(super) fn meet(&self, pair: &Pair) -> Option<Meeting> {
        match pair {
            Pair::Collider { point, collider } => {
                let collider = &self.colliders[*collider];
                let (distance, normal) = collider.nearest(self.place(point));
                Some(Meeting {
                    distance,
                    normal,
                    velocity: collider.velocity,
                    stencil: point.clone(),
                })
            }
            Pair::Surface { point, surface } => {
                let mut triangles = self.surfaces[*surface].iter();
                triangles.find_map(|triangle| self.meet_triangle(point, triangle))
            }
            Pair::Edges(edges) => self.meet_edges(edges),
        }
    }

    /// Where a point of a body is.
    fn place(&self, point: &Point) -> DVec3 {
        let nodes = point.iter();
        nodes.map(|(node, weight)| self.node(*node) * *weight).sum()
    }

    fn meet_triangle(&self, point: &Point, triangle: &[Point; 3]) -> Option<Meeting> {
        let x = self.place(point);
        let [a, b, c] = [0, 1, 2].map(|corner| self.place(&triangle[corner]));
        let area = (b - a).cross(c - a);
        let normal = area.normalize_or_zero();
        let share = |from: DVec3, to: DVec3| from.cross(to).dot(area) / area.length_squared();
        let (second, third) = (share(x - a, c - a), share(b - a, x - a));
        let weights = [1.0 - second - third, second, third];
        // What is no number is not inside either.
        let is_inside = weights.iter().all(|weight| *weight >= 0.0);
        let below = triangle.iter().zip(weights);
        let parts = below.map(|(corner, weight)| (corner, -weight));
        is_inside.then(|| Meeting {
            distance: (x - a).dot(normal),
            normal,
            velocity: DVec3::ZERO,
            stencil: combine(parts.chain([(point, 1.0)])),
        })
    }

    /// The nearest points of two lines, if they are on the edges. An edge has its first end and not its last, which is
    /// the next one's first.
    fn meet_edges(&self, edges: &[[u32; 2]; 2]) -> Option<Meeting> {
        let [one, other] = edges.map(|edge| edge.map(|node| self.node(node)));
        let (p, q, apart) = (one[1] - one[0], other[1] - other[0], other[0] - one[0]);
        let square = p.cross(q).length_squared();
        let s = apart.cross(q).dot(p.cross(q)) / square;
        let t = apart.cross(p).dot(p.cross(q)) / square;
        let between = one[0] + p * s - (other[0] + q * t);
        let is_on = |place: f64| (0.0..1.0).contains(&place);
        let [[a, b], [c, d]] = *edges;
        (is_on(s) && is_on(t)).then(|| Meeting {
            distance: between.length(),
            normal: between.normalize_or(DVec3::Z),
            velocity: DVec3::ZERO,
            stencil: vec![(a, 1.0 - s), (b, s), (c, t - 1.0), (d, -t)],
        })
    }
}

/// The weighted sum of points, each node once.
fn combine<'a>(parts: impl Iterator<Item = (&'a Point, f64)>) -> Point {
    let mut sum: BTreeMap<u32, f64> = BTreeMap::new();
    for (point, share) in parts {
        for (node, weight) in point {
            *sum.entry(*node).or_default() += share * weight;
        }
    }
    sum.into_iter()
        .filter(|(_, weight)| *weight != 0.0)
        .collect()
}
