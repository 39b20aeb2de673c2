//! Contacts and impacts of a step: the geometry of [`crate::collide`] on the points of a model.
//!
//! Contacts are found in two ways. At the start of a step, every local minimum of the distance
//! between surfaces within a small range is a contact ([`Detection::contacts`]). While the solver
//! computes velocities, and before a motion is accepted, continuous collision detection tests all
//! candidate pairs along the motion ([`Detection::impacts`]; Daviet 2020, section 6.2.3). A pair
//! that comes too close becomes a contact with the normal and the weights of the time of impact,
//! on the side of the start.

mod impacts;
mod points;
mod shapes;

use glam::DVec3;

use crate::collide::candidates::CandidateLists;
use crate::collide::minimum::PlacedFeatures;
use crate::collide::pair::{Feature, FeaturePair};
use crate::collide::pairs::Candidates;
use crate::collide::proximity::{self, ProximityPair, ProximityQuery};
use crate::collide::tree::Tree;
use crate::collide::volume::{MOVING, PointMotion, Volumes};
use crate::model::Model;
use crate::model::collision::CollisionModel;
use crate::step_input::StepInput;
use impacts::MotionCache;
pub(crate) use impacts::points_of;
use points::find_lost_point;
pub(crate) use points::{interpolate_points, points_at_start, scripted_points};
pub(crate) use shapes::{MovingCollider, geometric_poses};

/// Fraction of the thickness that every accepted motion keeps.
pub(crate) const GUARD_FRACTION: f64 = 0.1;

/// Fraction of the thickness below which a pair becomes a contact while the problem is solved.
pub(crate) const CONTACT_FRACTION: f64 = 0.5;

/// Clearance of a point about its predicted end, relative to its predicted displacement.
const CLEARANCE_FRACTION: f64 = 0.25;

/// With more candidate pairs per point than this, contacts at the start have a search of their own.
/// A point of hair in fast motion has about sixty candidates in a step, most of them far away at
/// its start.
const MAX_SHARED_PAIRS_PER_POINT: usize = 20;

/// The tree, which is kept from step to step. It does not change any result.
#[derive(Debug, Default)]
pub(crate) struct Detector {
    tree: Option<Tree<3, MOVING>>,
}

/// A contact between two features, at the start of a step or along a motion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ContactPoint {
    /// The same for the same features in all steps.
    pub(crate) id: u64,
    /// The two features.
    pub(crate) features: [Feature; 2],
    /// Points of both sides; unused entries repeat a point, with weight 0.
    pub(crate) points: [u32; 4],
    /// Weights: they sum to 1 on the first side and to −1 on the second; a collider has none.
    pub(crate) weights: [f64; 4],
    /// Unit normal from the second to the first, at the end of the step.
    pub(crate) normal: DVec3,
    /// Distance along the normal at the start, minus the thickness (m).
    pub(crate) gap: f64,
    /// The distance that the contact keeps (m).
    pub(crate) thickness: f64,
    /// The part of the thickness that is the radius of balls (m).
    pub(crate) core: f64,
    /// Fraction of the motion until the impact; 0 for contacts found at the start.
    pub(crate) time: f64,
}

/// Collision detection of one step.
pub(crate) struct Detection<'a> {
    pub(crate) model: &'a Model,
    pub(crate) collision: &'a CollisionModel,
    /// Positions of the points at the start.
    pub(crate) from: Vec<DVec3>,
    /// Positions of prescribed points at the end; the other points as at the start.
    pub(crate) prescribed: Vec<DVec3>,
    /// Whether a point depends on a free node.
    pub(crate) is_movable: Vec<bool>,
    /// Exact colliders with their poses.
    pub(crate) moving_colliders: Vec<MovingCollider<'a>>,
    tree: Tree<3, MOVING>,
    lists: CandidateLists<3>,
    reach: Vec<f64>,
    cache: MotionCache,
}

impl<'a> Detection<'a> {
    /// Finds the candidate pairs of a step. `predicted` are the predicted positions of the nodes at
    /// its end.
    pub(crate) fn new(
        input: &StepInput<'a>,
        collision: &'a CollisionModel,
        predicted: &[DVec3],
        detector: &mut Detector,
    ) -> Detection<'a> {
        let nodes = &input.from.positions;
        let [start, prescribed] = scripted_ends(input, collision)
            .map(|points| interpolate_points(collision, nodes, points));
        let mut to = interpolate_points(collision, predicted, prescribed.clone());
        if find_lost_point(&start, &to).is_some() {
            to.clone_from(&start);
        }
        let clearances = clearances(input, collision, &start, &to);
        let reach = reaches(input.model, collision);
        let motion = PointMotion {
            from: &start,
            to: &to,
            reach: &reach,
        };
        let features = &collision.features;
        let kept = detector.tree.take();
        let mut tree = kept.unwrap_or_else(|| Tree::new(features, &Volumes::new(&motion)));
        let lists = CandidateLists::new(&mut tree, features, &motion, &clearances);
        let points = 0..collision.places.len() as u32;
        let is_movable = points
            .map(|point| {
                let mut stencil = collision.stencil(point).iter();
                stencil.any(|(node, _)| input.is_free(*node))
            })
            .collect();
        let colliders = collision.colliders.iter().zip(&input.prescribed.poses);
        let moving_colliders = colliders
            .map(|(collider, poses)| MovingCollider::new(collider, *poses, &start))
            .collect();
        Detection {
            model: input.model,
            collision,
            prescribed,
            is_movable,
            moving_colliders,
            tree,
            lists,
            reach,
            from: start,
            cache: MotionCache::default(),
        }
    }

    /// Returns the tree to the detector for the next step.
    pub(crate) fn finish(self, detector: &mut Detector) {
        detector.tree = Some(self.tree);
    }

    /// A point whose displacement (m) in a motion is too large for collision detection, if any.
    pub(crate) fn lost_point(&self, to: &[DVec3]) -> Option<(u32, f64)> {
        find_lost_point(&self.from, to)
    }

    /// Number of points that leave their volumes along a motion to these positions.
    pub(crate) fn count_outside(&self, to: &[DVec3]) -> usize {
        self.lists.points_outside(&self.motion(to)).len()
    }

    /// Positions of all points for these positions of the nodes at the end of the step.
    pub(crate) fn end_points(&self, nodes: &[DVec3]) -> Vec<DVec3> {
        interpolate_points(self.collision, nodes, self.prescribed.clone())
    }

    /// All candidate pairs with a movable point along a motion, by a new search that does not use
    /// earlier results.
    pub(crate) fn candidates(&self, from: &[DVec3], to: &[DVec3]) -> Candidates {
        let features = &self.collision.features;
        let motion = PointMotion {
            from,
            to,
            reach: &self.reach,
        };
        let volumes = Volumes::<3, MOVING>::new(&motion);
        let found = Tree::new(features, &volumes).candidates(features);
        found.with_marked_points(features, &self.is_movable)
    }

    /// Whether any of these points is movable.
    pub(crate) fn has_movable(&self, points: &[u32]) -> bool {
        points.iter().any(|point| self.is_movable[*point as usize])
    }

    /// The contacts at the start, by ascending id.
    pub(crate) fn contacts(&mut self) -> Vec<ContactPoint> {
        let pairs = self.lists.candidates().len();
        let own = (pairs > MAX_SHARED_PAIRS_PER_POINT * self.from.len())
            .then(|| self.candidates_at_start());
        let candidates = own.as_ref().unwrap_or(self.lists.candidates());
        let found = self.with_query(|query| {
            proximity::contacts(
                &self.collision.features,
                &self.from,
                &candidates.point_triangle,
                &candidates.edge_edge,
                query,
            )
        });
        let mut contact_points: Vec<ContactPoint> = found
            .contacts
            .iter()
            .filter(|contact| self.has_movable(&contact.points))
            .map(|contact| self.contact_point(contact))
            .collect();
        for (number, moving) in self.moving_colliders.iter().enumerate() {
            contact_points.extend(moving.contacts(self, number as u32));
        }
        contact_points
    }

    /// Candidate pairs at the positions of the start. The tree is restored afterwards.
    fn candidates_at_start(&mut self) -> Candidates {
        let features = &self.collision.features;
        let volumes = Volumes::new(&self.motion(&self.from));
        self.tree.refit(features, &volumes);
        let found = self.tree.candidates(features);
        self.tree.refit(features, self.lists.volumes());
        found
    }

    fn contact_point(&self, contact: &ProximityPair) -> ContactPoint {
        let sides = contact.points.iter().zip(contact.weights);
        let cores =
            sides.map(|(point, weight)| self.collision.core[*point as usize] * weight.abs());
        ContactPoint {
            core: cores.sum(),
            id: contact.id,
            features: FeaturePair::from_id(contact.id).features(),
            points: contact.points,
            weights: contact.weights,
            normal: contact.normal,
            gap: contact.gap,
            thickness: contact.distance - contact.gap,
            time: 0.0,
        }
    }

    /// Gap of a contact with the points at other positions (m).
    pub(crate) fn gap_at(&self, contact_point: &ContactPoint, to: &[DVec3]) -> f64 {
        let features = &self.collision.features;
        let [first, second] = contact_point.features;
        let distance = match second {
            Feature::Collider(number) => {
                let corners = first.corners(features).map(|point| to[point as usize]);
                self.moving_colliders[number as usize].distance_at_end(corners)
            }
            _ => {
                let placed = PlacedFeatures {
                    features,
                    positions: to,
                };
                Some(
                    placed
                        .distance(FeaturePair::new(first, second))
                        .closest
                        .distance,
                )
            }
        };
        distance.unwrap_or(f64::NAN) - contact_point.thickness
    }

    /// Calls a function with the query for contacts of this model.
    fn with_query<T>(&self, call: impl Fn(&ProximityQuery) -> T) -> T {
        let extra = |one: u32, other: u32| self.collision.extra_thickness(self.model, one, other);
        let has_pairs = !self.model.contact.pairs.is_empty();
        call(&ProximityQuery {
            range: 0.0,
            ranges: &self.collision.skin,
            half_thickness: &self.collision.half_thickness,
            extra: if has_pairs { Some(&extra) } else { None },
            rest: Some(&self.collision.rest),
            slope: 1.0,
        })
    }

    /// The motion from the start to these positions.
    fn motion<'b>(&'b self, to: &'b [DVec3]) -> PointMotion<'b> {
        PointMotion {
            from: &self.from,
            to,
            reach: &self.reach,
        }
    }
}

/// Positions of the points of scripted objects at the start and at the end of the step; all other
/// points are at the origin.
fn scripted_ends(input: &StepInput<'_>, collision: &CollisionModel) -> [Vec<DVec3>; 2] {
    let scripted = &input.prescribed.scripted;
    let begin = scripted.iter().map(|it| (it.object, &it.begin[..]));
    let end = scripted.iter().map(|it| (it.object, &it.end[..]));
    [
        scripted_points(collision, begin),
        scripted_points(collision, end),
    ]
}

/// Clearance of each point about its predicted end (m). It includes the fall from rest and the
/// thickness: without these, most points of bodies at rest would leave their volumes.
fn clearances(
    input: &StepInput<'_>,
    collision: &CollisionModel,
    from: &[DVec3],
    to: &[DVec3],
) -> Vec<f64> {
    let fall = input.model.gravity.length() * input.h() * input.h();
    let displacements = from.iter().zip(to).map(|(from, to)| from.distance(*to));
    let points = displacements.zip(&collision.skin);
    points
        .map(|(displacement, skin)| 2.0 * skin + fall + CLEARANCE_FRACTION * displacement)
        .collect()
}

/// The reach of each point (m): the largest distance at which it can have a contact.
fn reaches(model: &Model, collision: &CollisionModel) -> Vec<f64> {
    let of_pairs = model.contact.pairs.iter().filter_map(|pair| pair.thickness);
    let extra = of_pairs.fold(0.0, f64::max);
    let halves = collision.half_thickness.iter().zip(&collision.skin);
    halves.map(|(half, skin)| half + skin + extra).collect()
}
