//! Candidate pairs and their closest points.

use std::collections::BTreeMap;

use glam::DVec3;

use super::World;

/// Point of a body: nodes and weights.
pub(super) type Point = Vec<(u32, f64)>;

/// Collider with a constant velocity.
#[derive(Clone, Copy, Debug)]
pub(super) struct Collider {
    pub(super) origin: DVec3,
    pub(super) velocity: DVec3,
    pub(super) shape: ColliderShape,
}

/// Shape of a collider.
#[derive(Clone, Copy, Debug)]
pub(super) enum ColliderShape {
    /// Half-space below a plane through the origin.
    Plane { normal: DVec3 },
    /// Cylinder about an axis through the origin, or a ball if the axis is zero.
    Round { axis: DVec3, radius: f64 },
}

/// Two features that can come into contact. The first belongs to the first body of the contact.
#[derive(Clone, Debug)]
pub(super) enum CandidatePair {
    /// A point and the index of a collider.
    Collider { point: Point, collider: usize },
    /// A point and the index of a surface.
    Surface { point: Point, surface: usize },
    /// Two edges between nodes.
    Edges([[u32; 2]; 2]),
}

/// Properties of the contact of a pair.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ContactProperties {
    /// Thickness: the distance at which the gap is zero (m).
    pub(super) distance: f64,
    /// μ.
    pub(super) friction: f64,
    /// ξ (N).
    pub(super) cohesion: f64,
    /// κ (m/N).
    pub(super) compliance: f64,
}

/// Candidate pair with the properties of its contact.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) pair: CandidatePair,
    pub(super) properties: ContactProperties,
}

/// Closest points of a pair.
pub(super) struct ClosestPoints {
    pub(super) distance: f64,
    pub(super) normal: DVec3,
    /// Velocity of the collider.
    pub(super) velocity: DVec3,
    pub(super) stencil: Point,
}

impl Collider {
    /// Collider without velocity.
    pub(super) fn fixed(origin: DVec3, shape: ColliderShape) -> Self {
        Self {
            origin,
            velocity: DVec3::ZERO,
            shape,
        }
    }

    /// Signed distance of a point, and the direction away from the collider.
    fn nearest(&self, x: DVec3) -> (f64, DVec3) {
        let arm = x - self.origin;
        match self.shape {
            ColliderShape::Plane { normal } => (arm.dot(normal), normal),
            ColliderShape::Round { axis, radius } => {
                let across = arm - axis * arm.dot(axis);
                (across.length() - radius, across.normalize_or(DVec3::Z))
            }
        }
    }
}

impl World {
    /// Closest points of a pair; `None` if they are outside the triangles or edges.
    pub(super) fn closest_points(&self, pair: &CandidatePair) -> Option<ClosestPoints> {
        match pair {
            CandidatePair::Collider { point, collider } => {
                let collider = &self.colliders[*collider];
                let (distance, normal) = collider.nearest(self.position(point));
                Some(ClosestPoints {
                    distance,
                    normal,
                    velocity: collider.velocity,
                    stencil: point.clone(),
                })
            }
            CandidatePair::Surface { point, surface } => {
                let mut triangles = self.surfaces[*surface].iter();
                triangles.find_map(|triangle| self.closest_on_triangle(point, triangle))
            }
            CandidatePair::Edges(edges) => self.closest_on_edges(edges),
        }
    }

    /// Position of a point of a body.
    fn position(&self, point: &Point) -> DVec3 {
        let nodes = point.iter();
        nodes.map(|(node, weight)| self.node(*node) * *weight).sum()
    }

    fn closest_on_triangle(&self, point: &Point, triangle: &[Point; 3]) -> Option<ClosestPoints> {
        let x = self.position(point);
        let [a, b, c] = [0, 1, 2].map(|corner| self.position(&triangle[corner]));
        let area = (b - a).cross(c - a);
        let normal = area.normalize_or_zero();
        let share = |from: DVec3, to: DVec3| from.cross(to).dot(area) / area.length_squared();
        let (second, third) = (share(x - a, c - a), share(b - a, x - a));
        let weights = [1.0 - second - third, second, third];
        // NaN is not inside.
        let is_inside = weights.iter().all(|weight| *weight >= 0.0);
        let below = triangle.iter().zip(weights);
        let parts = below.map(|(corner, weight)| (corner, -weight));
        is_inside.then(|| ClosestPoints {
            distance: (x - a).dot(normal),
            normal,
            velocity: DVec3::ZERO,
            stencil: combine(parts.chain([(point, 1.0)])),
        })
    }

    /// Closest points of two lines, if they are on the edges. An edge contains its first end only;
    /// its last is the first of the next edge.
    fn closest_on_edges(&self, edges: &[[u32; 2]; 2]) -> Option<ClosestPoints> {
        let [one, other] = edges.map(|edge| edge.map(|node| self.node(node)));
        let (p, q, apart) = (one[1] - one[0], other[1] - other[0], other[0] - one[0]);
        let square = p.cross(q).length_squared();
        let s = apart.cross(q).dot(p.cross(q)) / square;
        let t = apart.cross(p).dot(p.cross(q)) / square;
        let between = one[0] + p * s - (other[0] + q * t);
        let is_on = |place: f64| (0.0..1.0).contains(&place);
        let [[a, b], [c, d]] = *edges;
        (is_on(s) && is_on(t)).then(|| ClosestPoints {
            distance: between.length(),
            normal: between.normalize_or(DVec3::Z),
            velocity: DVec3::ZERO,
            stencil: vec![(a, 1.0 - s), (b, s), (c, t - 1.0), (d, -t)],
        })
    }
}

/// Weighted sum of points, with distinct nodes.
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
