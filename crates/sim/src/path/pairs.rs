//! The pairs of features that prescribed points may touch on their path.

use super::{Cut, Motions};
use crate::collide::tree::Tree;
use crate::collide::volume::{MOVING, PointMotion, Volumes};
use crate::detect::points_of;

/// Pairs are searched for if no sagitta exceeds this multiple of the thickness of its point. Larger
/// ones would make pairs of most features.
const MAX_SEARCHED: f64 = 8.0;

impl Motions<'_> {
    /// Whether all sagittas are small enough for a search for pairs.
    pub(super) fn has_small_sagittas(&self) -> bool {
        let halves = self.sagittas.iter().zip(&self.collision.half_thickness);
        halves
            .into_iter()
            .all(|(sagitta, half)| *sagitta <= MAX_SEARCHED * half)
    }

    /// The object whose chords leave their path most, relative to what the thickness of a pair of
    /// features that comes near allows.
    pub(super) fn worst_of_pairs(&self) -> Option<Cut> {
        let (input, collision) = (self.input, self.collision);
        let features = &collision.features;
        let set = input
            .model
            .contact
            .pairs
            .iter()
            .filter_map(|pair| pair.thickness);
        let widest = set.fold(0.0, f64::max);
        let halves = self.sagittas.iter().zip(&collision.half_thickness);
        let reach: Vec<f64> = halves
            .map(|(sagitta, half)| sagitta + half + widest)
            .collect();
        let motion = PointMotion {
            from: &self.from,
            to: &self.to,
            reach: &reach,
        };
        let volumes = Volumes::<3, MOVING>::new(&motion);
        let found = Tree::new(features, &volumes).candidates(features);
        let points = 0..collision.places.len() as u32;
        let is_movable: Vec<bool> = points
            .map(|point| {
                collision
                    .stencil(point)
                    .iter()
                    .any(|(node, _)| input.is_free(*node))
            })
            .collect();
        let found = found.with_marked_points(features, &is_movable);
        let mut worst: Option<Cut> = None;
        for (pairs, is_edges) in [(&found.point_triangle, false), (&found.edge_edge, true)] {
            for pair in pairs {
                let cut = self.cut_of_pair(*pair, is_edges);
                if let Some(cut) = cut.filter(|cut| worst.is_none_or(|it| cut.excess > it.excess)) {
                    worst = Some(cut);
                }
            }
        }
        worst
    }

    /// The object of a pair with the larger sagitta, with that of both relative to the largest one
    /// allowed.
    fn cut_of_pair(&self, pair: [u32; 2], is_edges: bool) -> Option<Cut> {
        let (points, second) = points_of(&self.collision.features, pair, is_edges);
        let (one, other) = points.split_at(second);
        let sagittas = [one, other].map(|side| self.sagitta(side));
        if sagittas == [0.0; 2] {
            return None;
        }
        let objects = [one[0], other[0]].map(|point| self.collision.object_of(point));
        if self.is_rooted(objects[0], objects[1]) {
            return None;
        }
        let thickness = self.thickness(one[0], other[0]);
        let worse = if sagittas[0] >= sagittas[1] {
            objects[0]
        } else {
            objects[1]
        };
        Some(Cut {
            excess: (sagittas[0] + sagittas[1]) / Motions::allowed(thickness),
            ..self.objects[worse]?
        })
    }
}
