//! Candidate pairs of a step, kept complete while the solver changes velocities: Verschoor and
//! Jalba, Efficient and Accurate Collision Response for Elastically Deformable Models (2019),
//! sections 5.1 and 5.2.
//!
//! The tree is searched once, at the start of a step. The volumes follow the predicted motion, with
//! a clearance for the changes of the solver: none at the start, where every motion begins, and all
//! of it at the end. While every point stays in its volume, the lists contain all pairs that can
//! collide. Points that leave their volumes get larger ones, and only their leaves are searched
//! again.
//!
//! Volumes only grow within a step. So after any number of searches, the lists contain exactly the
//! pairs of a full search with the current volumes. New pairs follow those of the first search,
//! both ascending: most pairs keep their index, and so their margins.

use super::features::Features;
use super::margins::{Margins, PairMargins};
use super::pairs::Candidates;
use super::tree::Tree;
use super::volume::{MOVING, PointMotion, Volumes};
use rayon::prelude::*;

/// Growth of the clearance of a point that leaves its volume.
const CLEARANCE_GROWTH: f64 = 2.0;
/// Points or pairs that one task takes.
const CHUNK_SIZE: usize = 4096;
/// Search the whole tree again if more than 1/8 of the points left their volumes.
const FULL_SEARCH_DIVISOR: usize = 8;

/// Candidate pairs that are complete while all points stay in their volumes.
#[derive(Clone, Debug)]
pub struct CandidateLists<const K: usize> {
    volumes: Volumes<K, MOVING>,
    /// Clearance of each point about its predicted end (m).
    clearance: Vec<f64>,
    candidates: Candidates,
    /// Number of pairs of each kind from the last full search.
    first: [usize; 2],
    /// Margins of the pairs from earlier tests.
    pub margins: Margins,
}

impl<const K: usize> CandidateLists<K> {
    /// Fits the tree to a step and searches it. `clearance` is the largest distance (m) of the end
    /// of each point from its predicted one.
    #[must_use]
    pub fn new(
        tree: &mut Tree<K, MOVING>,
        features: &Features,
        predicted: &PointMotion,
        clearance: &[f64],
    ) -> Self {
        let volumes = Volumes::with_clearance(predicted, clearance);
        tree.refit(features, &volumes);
        let candidates = tree.candidates(features);
        Self {
            volumes,
            clearance: clearance.to_vec(),
            first: candidates.lengths(),
            candidates,
            margins: Margins::default(),
        }
    }

    /// The candidate pairs.
    #[must_use]
    pub fn candidates(&self) -> &Candidates {
        &self.candidates
    }

    /// The volumes for which the pairs are complete.
    #[must_use]
    pub fn volumes(&self) -> &Volumes<K, MOVING> {
        &self.volumes
    }

    /// The points that leave their volumes along a motion from the same start, ascending. They
    /// include points with a non-finite end.
    #[must_use]
    pub fn points_outside(&self, motion: &PointMotion) -> Vec<u32> {
        let points = (0..motion.to.len() as u32).into_par_iter();
        let points = points.with_min_len(CHUNK_SIZE);
        points
            .filter(|&point| {
                let along = self.volumes.along(point, motion, 0.0);
                !self.volumes.of(point).contains(&along)
            })
            .collect()
    }

    /// Extends the volumes of some points (each once) to a motion from the same start with twice
    /// their clearance, and adds the new candidate pairs. Returns the number of new pairs.
    ///
    /// `tree` must be that of `new`, not refitted since.
    pub fn search_again(
        &mut self,
        tree: &mut Tree<K, MOVING>,
        features: &Features,
        motion: &PointMotion,
        points: &[u32],
    ) -> usize {
        let before = self.candidates.len();
        let mut is_moved = vec![false; motion.from.len()];
        for &point in points {
            is_moved[point as usize] = true;
            let clearance = &mut self.clearance[point as usize];
            *clearance *= CLEARANCE_GROWTH;
            let volume = self.volumes.along(point, motion, *clearance);
            self.volumes.extend(point, &volume);
        }
        if points.len() * FULL_SEARCH_DIVISOR > is_moved.len() {
            tree.refit(features, &self.volumes);
            // The lists are long: free the old ones before the search.
            (self.candidates, self.margins) = Default::default();
            self.candidates = tree.candidates(features);
            self.first = self.candidates.lengths();
        } else {
            let leaves = tree.refit_moved(&self.volumes, &is_moved);
            let found = tree.candidates_of(features, &leaves);
            let (candidates, margins) = (&mut self.candidates, &mut self.margins);
            let (points, edges) = (&mut candidates.point_triangle, &mut candidates.edge_edge);
            let [first_points, first_edges] = self.first;
            let (new_points, new_edges) = (&found.point_triangle, &found.edge_edge);
            merge_new_pairs(
                points,
                &mut margins.point_triangle,
                first_points,
                new_points,
            );
            merge_new_pairs(edges, &mut margins.edge_edge, first_edges, new_edges);
        }
        self.candidates.len() - before
    }
}

impl Candidates {
    /// The pairs with at least one marked point.
    #[must_use]
    pub fn with_marked_points(&self, features: &Features, marked: &[bool]) -> Candidates {
        let is_marked = |point: &u32| marked[*point as usize];
        let has_marked_point = |[point, triangle]: [u32; 2]| {
            let corners = &features.triangles[triangle as usize];
            is_marked(&point) || corners.iter().any(is_marked)
        };
        let has_marked_end = |pair: [u32; 2]| {
            let ends = pair.map(|edge| features.edges[edge as usize]);
            ends.as_flattened().iter().any(is_marked)
        };
        Candidates {
            point_triangle: filter_pairs(&self.point_triangle, has_marked_point),
            edge_edge: filter_pairs(&self.edge_edge, has_marked_end),
        }
    }

    /// Number of pairs of each kind.
    fn lengths(&self) -> [usize; 2] {
        [self.point_triangle.len(), self.edge_edge.len()]
    }

    /// Number of pairs.
    pub(crate) fn len(&self) -> usize {
        self.lengths().iter().sum()
    }
}

/// The pairs that satisfy a condition, in order.
fn filter_pairs(pairs: &[[u32; 2]], is_kept: impl Fn([u32; 2]) -> bool + Sync) -> Vec<[u32; 2]> {
    let chunks = pairs.par_chunks(CHUNK_SIZE).map(|pairs| {
        let kept = pairs.iter().copied().filter(|pair| is_kept(*pair));
        kept.collect::<Vec<[u32; 2]>>()
    });
    chunks.collect::<Vec<_>>().concat()
}

/// Adds the pairs of `other` that are not yet in `list`. The first `first` pairs of the list are
/// ascending, and so are the later ones, to which new pairs are added. Pairs keep their margins;
/// new pairs have margin 0.
fn merge_new_pairs(
    list: &mut Vec<[u32; 2]>,
    margins: &mut PairMargins,
    first: usize,
    other: &[[u32; 2]],
) {
    let (early, late) = list.split_at(first);
    let is_new =
        |pair: &&[u32; 2]| early.binary_search(pair).is_err() && late.binary_search(pair).is_err();
    let new: Vec<[u32; 2]> = other.iter().filter(is_new).copied().collect();
    let mut old = list.len();
    margins.resize(old);
    margins.resize(old + new.len());
    margins.invalidate_blocks(first);
    let margins = &mut margins.pairs;
    list.reserve_exact(new.len());
    list.extend(&new);
    // From the last to the first: entries are read before they are overwritten.
    let mut target = list.len();
    for pair in new.iter().rev() {
        while old > first && list[old - 1] > *pair {
            (old, target) = (old - 1, target - 1);
            (list[target], margins[target]) = (list[old], margins[old]);
        }
        target -= 1;
        (list[target], margins[target]) = (*pair, 0.0);
    }
}

#[cfg(test)]
mod tests;
