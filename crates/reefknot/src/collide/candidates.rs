//! The candidates of a step, kept complete while the solver changes velocities: Verschoor and Jalba, Efficient and Accurate
//! Collision Response for Elastically Deformable Models (2019), sections 5.1 and 5.2.
//!
//! The tree is searched once, at the start of a step, with volumes that move with the points as they are expected to, and have some room
//! for what a solver changes: none at the start, where every motion begins, and all at the end. As long as every point stays in its volume, all
//! pairs that could touch are in the lists. The few points that leave theirs get larger ones, and only the leaves that hold them are searched again.
//!
//! Volumes only grow within a step. So after any number of searches the lists hold exactly what a search of everything with
//! the volumes of that moment would find: no pair is lost, and none is there that such a search would not give. What was found later comes
//! after what was found first, each part ascending: most pairs stay where they are, with all that is known of them.

use super::features::Features;
use super::margins::{Clear, Margins};
use super::pairs::Candidates;
use super::tree::Tree;
use super::volume::{MOVING, Motion, Volumes};
use rayon::prelude::*;

/// How many times as much room as before a point gets that leaves its volume.
const MORE_ROOM: f64 = 2.0;
/// Points that one task takes.
const CHUNK: usize = 4096;
/// If more than one of this many points leaves its volume, everything is searched again.
const MANY: usize = 8;

/// Pairs of features that could touch while all points stay in their volumes.
#[derive(Clone, Debug)]
pub struct CandidateLists<const K: usize> {
    volumes: Volumes<K, MOVING>,
    /// How far from where it was last expected each point may end (m).
    room: Vec<f64>,
    candidates: Candidates,
    /// How many points with triangles, and edges with edges, the last search of everything found.
    first: [usize; 2],
    /// What is known of the pairs since they were last followed.
    pub margins: Margins,
}

impl<const K: usize> CandidateLists<K> {
    /// Fits the tree to a step and searches it. The motion ends where points are expected to be at the end of the step; `room` is how
    /// far from there each may end (m).
    #[must_use]
    pub fn new(
        tree: &mut Tree<K, MOVING>,
        features: &Features,
        expected: &Motion,
        room: &[f64],
    ) -> Self {
        let volumes = Volumes::with_room(expected, room);
        tree.refit(features, &volumes);
        let candidates = tree.candidates(features);
        Self {
            volumes,
            room: room.to_vec(),
            first: candidates.lengths(),
            candidates,
            margins: Margins::default(),
        }
    }

    /// The pairs.
    #[must_use]
    pub fn candidates(&self) -> &Candidates {
        &self.candidates
    }

    /// The volumes that the pairs hold for.
    #[must_use]
    pub fn volumes(&self) -> &Volumes<K, MOVING> {
        &self.volumes
    }

    /// The points that leave their volumes along a motion from the same start, ascending; those that end at no finite place too.
    #[must_use]
    pub fn leaving(&self, motion: &Motion) -> Vec<u32> {
        let points = (0..motion.to.len() as u32).into_par_iter();
        let points = points.with_min_len(CHUNK);
        points
            .filter(|&point| {
                let along = self.volumes.along(point, motion, 0.0);
                !self.volumes.of(point).holds(&along)
            })
            .collect()
    }

    /// Makes the volumes of some points (each once) hold a motion from the same start with twice the room that they had, and
    /// adds the pairs that they meet now. Returns how many pairs are new.
    ///
    /// `tree` must be that of `new`, and not have been refitted since.
    pub fn search_again(
        &mut self,
        tree: &mut Tree<K, MOVING>,
        features: &Features,
        motion: &Motion,
        points: &[u32],
    ) -> usize {
        let before = self.candidates.len();
        let mut is_moved = vec![false; motion.from.len()];
        for &point in points {
            is_moved[point as usize] = true;
            let room = &mut self.room[point as usize];
            *room *= MORE_ROOM;
            let volume = self.volumes.along(point, motion, *room);
            self.volumes.extend(point, &volume);
        }
        if points.len() * MANY > is_moved.len() {
            tree.refit(features, &self.volumes);
            // The lists are long: the old ones make place for the new.
            (self.candidates, self.margins) = Default::default();
            self.candidates = tree.candidates(features);
            self.first = self.candidates.lengths();
        } else {
            let leaves = tree.refit_some(&self.volumes, &is_moved);
            let found = tree.candidates_of(features, &leaves);
            let (candidates, margins) = (&mut self.candidates, &mut self.margins);
            let points = (&mut candidates.point_triangle, &mut margins.point_triangle);
            add(points, self.first[0], &found.point_triangle);
            let edges = (&mut candidates.edge_edge, &mut margins.edge_edge);
            add(edges, self.first[1], &found.edge_edge);
        }
        self.candidates.len() - before
    }
}

impl Candidates {
    /// Those pairs that have one of the points that are marked.
    #[must_use]
    pub fn with(&self, features: &Features, marked: &[bool]) -> Candidates {
        let is_marked = |point: &u32| marked[*point as usize];
        let of_point = |[point, triangle]: [u32; 2]| {
            let corners = &features.triangles[triangle as usize];
            is_marked(&point) || corners.iter().any(is_marked)
        };
        let of_edges = |pair: [u32; 2]| {
            let ends = pair.map(|edge| features.edges[edge as usize]);
            ends.as_flattened().iter().any(is_marked)
        };
        Candidates {
            point_triangle: kept(&self.point_triangle, of_point),
            edge_edge: kept(&self.edge_edge, of_edges),
        }
    }

    /// How many pairs of each kind there are.
    fn lengths(&self) -> [usize; 2] {
        [self.point_triangle.len(), self.edge_edge.len()]
    }

    /// How many pairs there are.
    pub(crate) fn len(&self) -> usize {
        self.lengths().iter().sum()
    }
}

/// Those of some pairs that a condition holds for, in order.
fn kept(pairs: &[[u32; 2]], is_kept: impl Fn([u32; 2]) -> bool + Sync) -> Vec<[u32; 2]> {
    let chunks = pairs.par_chunks(CHUNK).map(|pairs| {
        let kept = pairs.iter().copied().filter(|pair| is_kept(*pair));
        kept.collect::<Vec<[u32; 2]>>()
    });
    chunks.collect::<Vec<_>>().concat()
}

/// Adds to a list, whose `first` pairs are ascending and so are those that came later, what another has and it has not: to the latter. What is known
/// of pairs stays with them; of new ones nothing is.
fn add((list, margins): (&mut Vec<[u32; 2]>, &mut Clear), first: usize, other: &[[u32; 2]]) {
    let (early, late) = list.split_at(first);
    let is_new =
        |pair: &&[u32; 2]| early.binary_search(pair).is_err() && late.binary_search(pair).is_err();
    let new: Vec<[u32; 2]> = other.iter().filter(is_new).copied().collect();
    let mut old = list.len();
    margins.fit(old);
    margins.fit(old + new.len());
    margins.forget_blocks(first);
    let margins = &mut margins.pairs;
    list.reserve_exact(new.len());
    list.extend(&new);
    // From the last: what is written was read before.
    let mut place = list.len();
    for pair in new.iter().rev() {
        while old > first && list[old - 1] > *pair {
            (old, place) = (old - 1, place - 1);
            (list[place], margins[place]) = (list[old], margins[old]);
        }
        place -= 1;
        (list[place], margins[place]) = (*pair, 0.0);
    }
}

#[cfg(test)]
mod tests;
