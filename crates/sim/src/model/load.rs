//! Loads: prescribed forces, moments and pressures as nodal forces and torques on rod edges.

use glam::{DMat3, DVec3};

use super::{Load, Model, ObjectType};
use crate::mesh::mass::eigen;
use crate::state::{Span, State};

impl Model {
    /// Forces and torques of loads in a step, flat (N, N m). Empty without loads.
    #[must_use]
    pub fn load_forces(&self, from: &State, span: &Span) -> Vec<f64> {
        if self.loads.is_empty() {
            return Vec::new();
        }
        let mut flat = vec![0.0; self.unknowns.count];
        let is_on = |load: &&Load| {
            self.has_begun(load.start, span.begin) && !self.has_begun(load.stop, span.begin)
        };
        for load in self.loads.iter().filter(is_on) {
            if self.objects[load.object].nodes().is_empty() {
                continue;
            }
            let size = if load.ramp > 0.0 {
                ((span.end - load.start) / load.ramp).min(1.0)
            } else {
                1.0
            };
            self.add_forces(load, size, from, &mut flat);
            self.add_pressure(load, size, from, &mut flat);
            self.add_torques(load, size, from, &mut flat);
        }
        flat
    }

    /// Adds force and moment of a load, scaled by `size`.
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

    /// Adds a force on a point of an object.
    fn add_force(&self, object: usize, vertex: usize, force: DVec3, flat: &mut [f64]) {
        for (node, weight) in self.stencil(object, vertex).unwrap_or_default() {
            let offset = self.unknowns.node_offset[node];
            let sum = DVec3::from_slice(&flat[offset..]) + force * weight;
            sum.write_to_slice(&mut flat[offset..]);
        }
    }

    /// Adds the pressure on the triangles of a load, along their current normals.
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

    /// Adds the part of a moment about rod edges with both ends in the load: forces on vertices
    /// cannot rotate a section about its edge.
    fn add_torques(&self, load: &Load, size: f64, from: &State, flat: &mut [f64]) {
        let ObjectType::Rods(rods) = &self.objects[load.object].kind else {
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

/// Forces with a given sum and a given moment about the mean of the places: equal forces, plus the
/// field ω × r with that moment.
pub(crate) fn share_load(force: DVec3, moment: DVec3, places: &[DVec3]) -> Vec<DVec3> {
    let count = places.len().max(1) as f64;
    let middle = places.iter().sum::<DVec3>() / count;
    let mut inertia = DMat3::ZERO;
    for place in places {
        let r = *place - middle;
        inertia += DMat3::from_diagonal(DVec3::splat(r.length_squared()))
            - DMat3::from_cols(r * r.x, r * r.y, r * r.z);
    }
    // Forces on collinear places have no moment about their line: that moment of inertia is a
    // rounding error.
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
        fn distributed_forces_have_the_force_and_moment_of_the_load(
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
            let pairs = places.iter().zip(&shares);
            let torque: DVec3 = pairs.map(|(p, f)| (*p - middle).cross(*f)).sum();
            prop_assert!((sum - force).length() < 1e-10);
            prop_assert!((torque - moment).length() < 1e-9);
        }
    }

    #[test]
    fn a_moment_about_the_line_of_collinear_places_causes_no_large_forces() {
        // The moment of inertia about the line is a rounding error, with an inverse of 1e15.
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
