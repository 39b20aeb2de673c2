//! The energy ½|W(θ − θ̄)|² of vertices with the same number of neighbours.

use super::build::{ClampedEnd, LooseStar};
use crate::energy::hinge::{HingeGeometry, MIN_AREA_RATIO, outer, wrap_angle};
use crate::energy::{Blocks, Energy, at_nodes};
use glam::{DMat3, DVec3};

/// Elements of a plate with `K` nodes each: a vertex and its neighbours in order.
#[derive(Clone, Debug)]
pub struct Stars<const K: usize> {
    stencils: Vec<[u32; K]>,
    stars: Vec<Star<K>>,
}

/// Parameters of one element. The edge to a neighbour has an angle if its weight is not zero.
#[derive(Clone, Debug)]
struct Star<const K: usize> {
    /// √D times the columns of W, one per neighbour (N½ m½).
    weight: [DVec3; K],
    /// θ̄.
    rest_angle: [f64; K],
    /// Whether a triangle joins the last neighbour with the first.
    closed: bool,
    /// Clamps of the first and the last edge.
    ends: [Option<ClampedEnd>; 2],
    /// Twice the area below which a triangle is collapsed (m²).
    collapsed: f64,
}

/// Derivative of W(θ − θ̄) by the positions: (∂/∂xᵢ)ᵀ.
type Slopes<const K: usize> = [DMat3; K];

impl<const K: usize> Default for Stars<K> {
    fn default() -> Self {
        Self {
            stencils: Vec::new(),
            stars: Vec::new(),
        }
    }
}

impl<const K: usize> Stars<K> {
    /// Adds an element of exactly `K` nodes; `scale` is √D.
    pub(super) fn push(&mut self, loose: &LooseStar, rest: &[DVec3], scale: f64) {
        let stencil: [u32; K] = std::array::from_fn(|place| loose.nodes[place]);
        let x = at_nodes(&stencil, rest);
        let mut star = Star {
            weight: std::array::from_fn(|place| loose.weights[place] * scale),
            rest_angle: [0.0; K],
            closed: loose.closed,
            ends: loose.ends,
            collapsed: 0.0,
        };
        star.rest_angle = std::array::from_fn(|place| {
            let hinge = star.hinge(place, &x).and_then(|(_, shape)| shape);
            hinge.map_or(0.0, |shape| shape.angle())
        });
        let joined = (1..K).filter_map(|place| star.after(place).map(|after| (place, after)));
        let smallest = joined
            .map(|(place, after)| (x[place] - x[0]).cross(x[after] - x[0]).length())
            .fold(f64::INFINITY, f64::min);
        star.collapsed = MIN_AREA_RATIO * smallest;
        self.stencils.push(stencil);
        self.stars.push(star);
    }

    /// Sets the normals of clamped edges.
    pub(super) fn aim(&mut self, positions: &[DVec3], normals: &[DVec3]) {
        for (star, stencil) in self.stars.iter_mut().zip(&self.stencils) {
            for (end, place) in star.ends.iter_mut().zip([1, K - 1]) {
                let Some(end) = end else { continue };
                let edge = positions[stencil[place] as usize] - positions[stencil[0] as usize];
                if let Some(normal) = normals.get(end.clamp) {
                    end.aim(*normal, edge);
                }
            }
        }
    }
}

impl<const K: usize> Star<K> {
    /// The neighbour before the one at a place.
    fn before(&self, place: usize) -> Option<usize> {
        match place {
            1 => self.closed.then_some(K - 1),
            _ => Some(place - 1),
        }
    }

    /// The neighbour after the one at a place.
    fn after(&self, place: usize) -> Option<usize> {
        if place == K - 1 {
            self.closed.then_some(1)
        } else {
            Some(place + 1)
        }
    }

    /// Hinge of the edge to the neighbour at a place, if it has an angle in this element: the
    /// places of its nodes, and its geometry unless it has collapsed. The point beyond a clamped
    /// edge moves with the centre.
    fn hinge(&self, place: usize, x: &[DVec3; K]) -> Option<([usize; 4], Option<HingeGeometry>)> {
        if self.weight[place] == DVec3::ZERO {
            return None;
        }
        let side = |neighbour: Option<usize>, end: usize| match (neighbour, &self.ends[end]) {
            (Some(neighbour), _) => Some((neighbour, x[neighbour])),
            (None, Some(clamped)) => Some((0, x[0] + clamped.beyond)),
            (None, None) => None,
        };
        let (left, left_point) = side(self.after(place), 1)?;
        let (right, right_point) = side(self.before(place), 0)?;
        let shape = HingeGeometry::new(&[x[0], x[place], left_point, right_point], self.collapsed);
        Some(([0, place, left, right], shape))
    }

    /// Calls `act` with place, nodes, geometry and θ − θ̄ of every edge with an angle.
    fn each_bend(
        &self,
        x: &[DVec3; K],
        mut act: impl FnMut(usize, [usize; 4], &HingeGeometry, f64),
    ) {
        for place in 1..K {
            if let Some((nodes, Some(shape))) = self.hinge(place, x) {
                let bend = wrap_angle(shape.angle() - self.rest_angle[place]);
                act(place, nodes, &shape, bend);
            }
        }
    }

    /// W(θ − θ̄).
    fn rows(&self, x: &[DVec3; K]) -> DVec3 {
        let mut rows = DVec3::ZERO;
        self.each_bend(x, |place, _, _, bend| rows += self.weight[place] * bend);
        rows
    }

    /// W(θ − θ̄) and its derivative.
    fn rows_and_slopes(&self, x: &[DVec3; K]) -> (DVec3, Slopes<K>) {
        let mut rows = DVec3::ZERO;
        let mut slopes = [DMat3::ZERO; K];
        self.each_bend(x, |place, nodes, shape, bend| {
            let weight = self.weight[place];
            rows += weight * bend;
            for (node, slope) in nodes.into_iter().zip(shape.angle_gradient()) {
                slopes[node] += outer(slope, weight);
            }
        });
        (rows, slopes)
    }
}

fn gauss_newton<const K: usize>(slopes: &Slopes<K>) -> Blocks<K> {
    let mut blocks = [[DMat3::ZERO; K]; K];
    for j in 0..K {
        let transposed = slopes[j].transpose();
        for i in j..K {
            blocks[i][j] = slopes[i] * transposed;
            blocks[j][i] = blocks[i][j].transpose();
        }
    }
    blocks
}

impl<const K: usize> Energy<K> for Stars<K> {
    fn stencils(&self) -> &[[u32; K]] {
        &self.stencils
    }

    fn value(&self, element: usize, x: &[DVec3; K]) -> f64 {
        0.5 * self.stars[element].rows(x).length_squared()
    }

    fn gradient(&self, element: usize, x: &[DVec3; K]) -> [DVec3; K] {
        let (rows, slopes) = self.stars[element].rows_and_slopes(x);
        slopes.map(|slope| slope * rows)
    }

    fn hessian(&self, element: usize, x: &[DVec3; K]) -> Blocks<K> {
        let star = &self.stars[element];
        let (rows, slopes) = star.rows_and_slopes(x);
        let mut blocks = gauss_newton(&slopes);
        star.each_bend(x, |place, nodes, shape, _| {
            let moment = star.weight[place].dot(rows);
            let curvature = shape.angle_hessian();
            for (i, row) in nodes.into_iter().enumerate() {
                for (j, column) in nodes.into_iter().enumerate() {
                    blocks[row][column] += curvature[i][j] * moment;
                }
            }
        });
        blocks
    }

    /// Gauss-Newton: without the indefinite terms of the second derivatives of the angles.
    fn projected_hessian(&self, element: usize, x: &[DVec3; K]) -> Blocks<K> {
        gauss_newton(&self.stars[element].rows_and_slopes(x).1)
    }

    fn linearize(&self, element: usize, x: &[DVec3; K]) -> (f64, [DVec3; K], Blocks<K>) {
        let (rows, slopes) = self.stars[element].rows_and_slopes(x);
        (
            0.5 * rows.length_squared(),
            slopes.map(|slope| slope * rows),
            gauss_newton(&slopes),
        )
    }
}
