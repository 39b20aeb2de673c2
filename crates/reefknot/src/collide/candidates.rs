//! The candidates of a step, kept complete while the solver changes velocities: Verschoor and Jalba, Efficient and Accurate
//! Collision Response for Elastically Deformable Models (2019), sections 5.1 and 5.2.
//!
//! The tree is searched once, at the start of a step, with volumes that reach three times as far as the points are expected to move.
//! As long as every point stays in its volume, all pairs that could touch are in the lists. The few points that leave
//! theirs get larger ones, and only the leaves that hold them are searched again.
//!
//! Volumes only grow within a step. So after any number of searches the lists are exactly what a search of everything with
//! the volumes of that moment would find: no pair is lost, and none is there that such a search would not give.

use super::features::Features;
use super::pairs::Candidates;
use super::tree::Tree;
use super::volume::{Motion, Volume, Volumes};
use glam::DVec3;
use rayon::prelude::*;

/// How many times the expected motion a volume reaches (Verschoor and Jalba 5.1).
const AHEAD: f64 = 3.0;
/// Points that one task takes.
const CHUNK: usize = 4096;
/// If more than one of this many points leaves its volume, everything is searched again.
const MANY: usize = 8;

/// Pairs of features that could touch while all points stay in their volumes.
#[derive(Clone, Debug)]
pub struct CandidateLists<const K: usize> {
    volumes: Volumes<K>,
    candidates: Candidates,
}

/// Where points would be after three of the expected motions: volumes from the start to there allow for what a solver changes.
#[must_use]
pub fn ahead(from: &[DVec3], expected: &[DVec3]) -> Vec<DVec3> {
    let ends = from.par_iter().zip(expected).with_min_len(CHUNK);
    ends.map(|(&from, &to)| beyond(from, to)).collect()
}

fn beyond(from: DVec3, to: DVec3) -> DVec3 {
    from + AHEAD * (to - from)
}

impl<const K: usize> CandidateLists<K> {
    /// Fits the tree to the start of a step and searches it. The motion ends where points are expected to be at the end of the
    /// step; the volumes reach further.
    #[must_use]
    pub fn new(tree: &mut Tree<K>, features: &Features, expected: &Motion) -> Self {
        let to = ahead(expected.from, expected.to);
        let volumes = Volumes::new(&Motion {
            to: &to,
            ..*expected
        });
        tree.refit(features, &volumes);
        let candidates = tree.candidates(features);
        Self {
            volumes,
            candidates,
        }
    }

    /// The pairs.
    #[must_use]
    pub fn candidates(&self) -> &Candidates {
        &self.candidates
    }

    /// The volumes that the pairs hold for.
    #[must_use]
    pub fn volumes(&self) -> &Volumes<K> {
        &self.volumes
    }

    /// The points that leave their volumes along a motion from the same start, ascending; those that end at no finite place too.
    #[must_use]
    pub fn leaving(&self, motion: &Motion) -> Vec<u32> {
        let points = (0..motion.to.len() as u32).into_par_iter();
        let points = points.with_min_len(CHUNK);
        points
            .filter(|&point| {
                let along = self.volumes.along(point, motion, motion.to[point as usize]);
                !self.volumes.of(point).holds(&along)
            })
            .collect()
    }

    /// Makes the volumes of some points (each once) hold a motion from the same start and reach beyond it, and adds the
    /// pairs that they meet now. Returns how many pairs are new.
    ///
    /// `tree` must be that of `new`, and not have been refitted since.
    pub fn search_again(
        &mut self,
        tree: &mut Tree<K>,
        features: &Features,
        motion: &Motion,
        points: &[u32],
    ) -> usize {
        let before = self.candidates.len();
        let mut is_moved = vec![false; motion.from.len()];
        for &point in points {
            let at = point as usize;
            is_moved[at] = true;
            let further = beyond(motion.from[at], motion.to[at]);
            for to in [motion.to[at], further] {
                let volume: Volume<K> = self.volumes.along(point, motion, to);
                self.volumes.extend(point, &volume);
            }
        }
        if points.len() * MANY > is_moved.len() {
            tree.refit(features, &self.volumes);
            self.candidates = tree.candidates(features);
        } else {
            let leaves = tree.refit_some(&self.volumes, &is_moved);
            self.candidates.add(&tree.candidates_of(features, &leaves));
        }
        self.candidates.len() - before
    }
}

impl Candidates {
    /// How many pairs there are.
    fn len(&self) -> usize {
        self.point_triangle.len() + self.edge_edge.len()
    }

    /// Adds the pairs that are not there yet.
    fn add(&mut self, other: &Candidates) {
        add(&mut self.point_triangle, &other.point_triangle);
        add(&mut self.edge_edge, &other.edge_edge);
    }
}

/// Adds to a sorted list what another has and it has not.
fn add(list: &mut Vec<[u32; 2]>, other: &[[u32; 2]]) {
    let new = other
        .iter()
        .filter(|pair| list.binary_search(pair).is_err());
    let new: Vec<[u32; 2]> = new.copied().collect();
    if !new.is_empty() {
        list.extend(new);
        // Two sorted runs: this sort finds and merges them.
        list.sort();
    }
}

#[cfg(test)]
mod tests;
