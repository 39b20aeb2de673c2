//! Forces and moments that a scene tells, as forces on nodes and torques on edges of rods.

use glam::{DMat3, DVec3};

use super::{Kind, Load, Model};
use crate::mesh::mass::eigen;
use crate::state::{Span, State};

impl Model {
    /// The forces and torques of loads during a step, flat (N, N m).
    #[must_use]
    pub fn load_forces(&self, from: &State, span: &Span) -> Vec<f64> {
        if self.loads.is_empty() {
            return Vec::new();
        }
        let mut flat = vec![0.0; self.unknowns.count];
        let is_on = |load: &&Load| {
            self.has_come(load.start, span.begin) && !self.has_come(load.stop, span.begin)
        };
        for load in self.loads.iter().filter(is_on) {
            if self.objects[load.object].nodes().is_empty() {
                continue;
            }
            let size = match load.ramp > 0.0 {
                true => ((span.end - load.start) / load.ramp).min(1.0),
                false => 1.0,
            };
            self.add_forces(load, size, from, &mut flat);
            self.add_pressure(load, size, from, &mut flat);
            self.add_torques(load, size, from, &mut flat);
        }
        flat
    }

    /// The forces of a load that is grown to some size.
    fn add_forces(&self, load: &Load, size: f64, from: &State, flat: &mut [f64]) {
        let vertices = load.vertices.iter().map(|vertex| *vertex as usize);
        let places: Vec<DVec3> = vertices
            .clone()
            .map(|vertex| self.point(load.object, vertex, from).0)
            .collect();
        let shares = share_load(load.force * size, load.moment * size, &places);
        for (vertex, share) in vertices.zip(shares) {
            self.add_force(load.object, vertex, share, flat);
        }
    }

    /// A force on a point of an object.
    fn add_force(&self, object: usize, vertex: usize, force: DVec3, flat: &mut [f64]) {
        for (node, weight) in self.stencil(object, vertex).unwrap_or_default() {
            let offset = self.unknowns.node_offset[node];
            let sum = DVec3::from_slice(&flat[offset..]) + force * weight;
            sum.write_to_slice(&mut flat[offset..]);
        }
    }

    /// Pressure on the triangles between the vertices of a load: across the surface, whichever way it has turned.
    fn add_pressure(&self, load: &Load, size: f64, from: &State, flat: &mut [f64]) {
        if load.pressure == 0.0 {
            return;
        }
        let point = |vertex: u32| self.point(load.object, vertex as usize, from).0;
        for triangle in &load.triangles {
            let [a, b, c] = triangle.map(point);
            let force = (b - a).cross(c - a) * (-load.pressure * size / 6.0);
            for vertex in triangle {
                self.add_force(load.object, *vertex as usize, force, flat);
            }
        }
    }

    /// What of a moment goes about edges of rods both ends of which have it: forces on vertices could not turn them.
    fn add_torques(&self, load: &Load, size: f64, from: &State, flat: &mut [f64]) {
        let Kind::Rods(rods) = &self.objects[load.object].kind else {
            return;
        };
        if load.moment == DVec3::ZERO {
            return;
        }
        let has = |vertex: u32| load.vertices.binary_search(&vertex).is_ok();
        let edges = rods.edges.iter().enumerate();
        let loaded: Vec<(usize, [u32; 2])> = edges
            .filter(|(_, [a, b])| has(*a) && has(*b))
            .map(|(edge, ends)| (edge, *ends))
            .collect();
        let first_edge = self.first_edge(load.object);
        for (edge, ends) in &loaded {
            let [a, b] = ends.map(|vertex| self.point(load.object, vertex as usize, from).0);
            let along = (b - a).normalize_or_zero();
            let torque = along.dot(load.moment) * size / loaded.len() as f64;
            flat[self.unknowns.edge_offset[first_edge + edge]] += torque;
        }
    }
}

/// Forces with a given sum and a given moment about the middle of the places: equal parts, and the field ω × r
/// whose moment is the given one.
pub(crate) fn share_load(force: DVec3, moment: DVec3, places: &[DVec3]) -> Vec<DVec3> {
    let count = places.len().max(1) as f64;
    let middle = places.iter().sum::<DVec3>() / count;
    let mut inertia = DMat3::ZERO;
    for place in places {
        let r = *place - middle;
        inertia += DMat3::from_diagonal(DVec3::splat(r.length_squared()))
            - DMat3::from_cols(r * r.x, r * r.y, r * r.z);
    }
    // About a line that all places lie on, no forces on them can turn: what remains of it is rounding.
    let (axes, inertias) = eigen(inertia);
    let mut spin = DVec3::ZERO;
    for (axis, about) in [axes.x_axis, axes.y_axis, axes.z_axis]
        .into_iter()
        .zip(inertias.to_array())
    {
        if about > 1e-12 * inertias.z {
            spin += axis * (axis.dot(moment) / about);
        }
    }
    let share = |place: &DVec3| force / count + spin.cross(*place - middle);
    places.iter().map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn shares_of_a_load_have_its_force_and_moment(
            places in proptest::collection::vec(proptest::array::uniform3(-1.0f64..1.0), 3..9),
            force in proptest::array::uniform3(-5.0f64..5.0),
            moment in proptest::array::uniform3(-5.0f64..5.0),
        ) {
            let places: Vec<DVec3> = places.into_iter().map(DVec3::from).collect();
            let middle = places.iter().sum::<DVec3>() / places.len() as f64;
            let spread = places.iter().map(|p| (*p - middle).cross(places[0] - middle).length());
            prop_assume!(spread.fold(0.0, f64::max) > 0.1);
            let (force, moment) = (DVec3::from(force), DVec3::from(moment));
            let shares = share_load(force, moment, &places);
            let sum: DVec3 = shares.iter().sum();
            let torque: DVec3 = places.iter().zip(&shares).map(|(p, f)| (*p - middle).cross(*f)).sum();
            prop_assert!((sum - force).length() < 1e-10);
            prop_assert!((torque - moment).length() < 1e-9);
        }
    }

    #[test]
    fn a_moment_about_the_line_that_all_places_lie_on_makes_no_huge_forces() {
        // The inertia about the line is not zero but rounding, and its inverse was 1e15.
        let along = DVec3::new(0.3, 0.4, 0.5);
        let places: Vec<DVec3> = (0..5).map(|i| DVec3::ONE + along * f64::from(i)).collect();
        let moment = along.any_orthogonal_vector();
        let shares = share_load(DVec3::ZERO, moment + along, &places);
        let middle = places[2];
        let pairs = places.iter().zip(&shares);
        let torque: DVec3 = pairs.map(|(p, f)| (*p - middle).cross(*f)).sum();
        assert!((torque - moment).length() < 1e-12, "{torque}");
        assert!(
            shares.iter().all(|share| share.length() < 1.0),
            "{shares:?}"
        );
    }
}
