//! Random rods, and a scalar reference computation of their strains.

use super::*;
use crate::random::Random;
use glam::DQuat;
use std::f64::consts::{PI, TAU};

mod derivatives;
mod frames;
mod robust;
mod theory;

/// Rods with all their data.
#[derive(Clone)]
pub(super) struct Case {
    shape: RodShape,
    lengths: Vec<f64>,
    curvatures: Vec<[f64; 2]>,
    rest_twists: Vec<f64>,
    stiffness: [f64; 4],
    start: Vec<DVec3>,
    directors: Vec<DVec3>,
    twists: Vec<f64>,
    is_rigid: Option<Vec<bool>>,
    positions: Vec<DVec3>,
    theta: Vec<f64>,
}

pub(super) const SHAPES: [RodShape; 8] = {
    const fn shape(vertices: usize, is_closed: bool, count: usize) -> RodShape {
        RodShape {
            vertices,
            is_closed,
            count,
        }
    }
    [
        shape(2, false, 1),
        shape(3, false, 2),
        shape(4, false, 5),
        shape(9, false, 3),
        shape(3, true, 1),
        shape(4, true, 6),
        shape(5, true, 4),
        shape(10, true, 3),
    ]
};

impl Case {
    /// Curved rods, displaced since the start by up to `motion` edge lengths and rotated by up to
    /// `turn`.
    pub(super) fn random(shape: RodShape, seed: u64, motion: f64, turn: f64) -> Self {
        let mut random = Random::new(seed);
        let (vertices, edges, count) = (shape.vertices, shape.edges(), shape.count);
        let mut start = Vec::new();
        for rod in 0..count {
            for vertex in 0..vertices {
                let angle =
                    TAU * vertex as f64 / vertices as f64 * if shape.is_closed { 1.0 } else { 0.6 };
                let radius = 0.01 * vertices as f64 / TAU;
                let point = radius * DVec3::new(angle.cos(), angle.sin(), 0.2 * rod as f64);
                start.push(point + 0.002 * random.vector());
            }
        }
        let mut case = Self {
            shape,
            lengths: (0..count * edges)
                .map(|_| 0.01 + 0.002 * random.signed())
                .collect(),
            curvatures: (0..count * vertices)
                .map(|_| [80.0 * random.signed(), 80.0 * random.signed()])
                .collect(),
            rest_twists: (0..count * vertices)
                .map(|_| 50.0 * random.signed())
                .collect(),
            stiffness: [0.3, 2e-6, 7e-6, 3e-6],
            positions: start
                .iter()
                .map(|point| *point + 0.01 * motion * random.vector())
                .collect(),
            start,
            directors: Vec::new(),
            twists: (0..count * edges).map(|_| 9.0 * random.signed()).collect(),
            is_rigid: None,
            theta: (0..count * edges).map(|_| turn * random.signed()).collect(),
        };
        case.directors = (0..count * edges)
            .map(|edge| {
                let [a, b] = case.ends(edge).map(|vertex| case.start[vertex]);
                (b - a).cross(random.vector()).normalize()
            })
            .collect();
        case
    }

    pub(super) fn with_rigid_edges(mut self, seed: u64) -> Self {
        let mut random = Random::new(seed);
        self.is_rigid = Some(self.theta.iter().map(|_| random.signed() > 0.0).collect());
        self
    }

    /// The vertices of an edge, both counted over all rods.
    pub(super) fn ends(&self, edge: usize) -> [usize; 2] {
        let (rod, place) = (edge / self.shape.edges(), edge % self.shape.edges());
        let first = rod * self.shape.vertices;
        [first + place, first + (place + 1) % self.shape.vertices]
    }

    pub(super) fn rods(&self) -> RodBatch {
        let rest = RodRest {
            lengths: &self.lengths,
            curvatures: &self.curvatures,
            twists: &self.rest_twists,
        };
        let [axial, first, second, twist] = self.stiffness;
        RodBatch::new(self.shape, &rest, axial, [first, second], twist).unwrap()
    }

    pub(super) fn pose(&self) -> RodPose<'_> {
        RodPose {
            start: RodStart {
                positions: &self.start,
                directors: &self.directors,
                twists: &self.twists,
                is_rigid: self.is_rigid.as_deref(),
            },
            positions: &self.positions,
            theta: &self.theta,
        }
    }

    pub(super) fn unknowns(&self) -> usize {
        self.shape.count * self.shape.unknowns()
    }

    /// The unknown at an index of flat vectors.
    pub(super) fn unknown_mut(&mut self, unknown: usize) -> &mut f64 {
        let (rod, place) = (
            unknown / self.shape.unknowns(),
            unknown % self.shape.unknowns(),
        );
        match place % 4 {
            3 => &mut self.theta[rod * self.shape.edges() + place / 4],
            axis => &mut self.positions[rod * self.shape.vertices + place / 4][axis],
        }
    }

    pub(super) fn value(&self) -> f64 {
        self.rods().value(&self.pose())
    }

    pub(super) fn gradient(&self) -> Vec<f64> {
        let mut gradient = vec![f64::NAN; self.unknowns()];
        self.rods().gradient(&self.pose(), &mut gradient);
        gradient
    }

    /// Starts the next step.
    pub(super) fn advance(&mut self) {
        (self.directors, self.twists) = self.rods().advance_frames(&self.pose());
        self.start.clone_from(&self.positions);
        self.theta.fill(0.0);
    }

    /// Tangent, first and second director of an edge: at the start, of its current reference frame,
    /// and of its current material frame.
    fn frames(&self, edge: usize) -> [[DVec3; 3]; 3] {
        let [a, b] = self.ends(edge);
        let old = (self.start[b] - self.start[a]).normalize();
        let tangent = (self.positions[b] - self.positions[a]).normalize();
        let director = self.directors[edge];
        let reference = DQuat::from_rotation_arc(old, tangent) * director;
        let material = DQuat::from_axis_angle(tangent, self.theta[edge]) * reference;
        [(old, director), (tangent, reference), (tangent, material)]
            .map(|(tangent, first)| [first, tangent.cross(first), tangent])
    }

    /// Reference strains at vertices, κ₁, κ₂ and m minus their rest values, with stiffnesses.
    pub(super) fn strains(&self) -> Vec<([f64; 3], [f64; 3])> {
        let (vertices, edges) = (self.shape.vertices, self.shape.edges());
        let mut strains = Vec::new();
        for rod in 0..self.shape.count {
            for vertex in usize::from(!self.shape.is_closed)..edges {
                let pair = [(vertex + edges - 1) % edges, vertex].map(|edge| rod * edges + edge);
                strains.push(self.strain(pair, rod * vertices + vertex));
            }
        }
        strains
    }

    fn strain(&self, edges: [usize; 2], vertex: usize) -> ([f64; 3], [f64; 3]) {
        let is_rigid = |edge: usize| self.is_rigid.as_ref().is_some_and(|rigid| rigid[edge]);
        let length = match edges.map(is_rigid) {
            [false, false] => 0.5 * (self.lengths[edges[0]] + self.lengths[edges[1]]),
            [true, false] => 0.5 * self.lengths[edges[1]],
            [false, true] => 0.5 * self.lengths[edges[0]],
            [true, true] => return ([0.0; 3], [0.0; 3]),
        };
        let [before, after] = edges.map(|edge| self.frames(edge));
        let angle = |frame: usize| {
            let ([a, _, t], [c, d, u]) = (before[frame], after[frame]);
            let carried = DQuat::from_rotation_arc(t, u) * a;
            (-carried.dot(d)).atan2(carried.dot(c))
        };
        let mut change = angle(1) - angle(0);
        change -= TAU * (change / TAU).round();
        let turn = self.theta[edges[1]] - self.theta[edges[0]];
        let ([a, b, t], [c, d, u]) = (before[2], after[2]);
        let binormal = 2.0 * t.cross(u) / (1.0 + t.dot(u));
        let [first, second] = self.curvatures[vertex];
        let strains = [
            0.5 * binormal.dot(b + d) - first * length,
            -0.5 * binormal.dot(a + c) - second * length,
            self.twists[edges[1]] + turn + change - self.rest_twists[vertex] * length,
        ];
        let [_, b1, b2, twist] = self.stiffness;
        (strains, [b1, b2, twist].map(|stiffness| stiffness / length))
    }

    /// Reference energy.
    pub(super) fn plain_value(&self) -> f64 {
        let stretch = (0..self.lengths.len()).map(|edge| {
            let [a, b] = self.ends(edge).map(|vertex| self.positions[vertex]);
            let strain = a.distance(b) / self.lengths[edge] - 1.0;
            0.5 * self.stiffness[0] * strain * strain * self.lengths[edge]
        });
        let strains = self.strains();
        let bent = strains.iter().flat_map(|(strain, stiffness)| {
            (0..3).map(|kind| 0.5 * stiffness[kind] * strain[kind] * strain[kind])
        });
        stretch.sum::<f64>() + bent.sum::<f64>()
    }
}

#[test]
fn the_energy_agrees_with_the_reference_computation() {
    for (index, shape) in SHAPES.into_iter().enumerate() {
        for (motion, turn) in [(0.0, 0.0), (0.1, 0.5), (0.4, 3.0), (0.4, 40.0)] {
            let case = Case::random(shape, index as u64 + 1, motion, turn);
            for case in [case.clone(), case.with_rigid_edges(index as u64 + 9)] {
                let (value, known) = (case.value(), case.plain_value());
                assert!(
                    (value / known - 1.0).abs() < 1e-12,
                    "{shape:?}: {value} {known}"
                );
            }
        }
    }
}
