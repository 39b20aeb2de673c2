//! Who touches in a step, and who would: the geometry of [`crate::collide`] on the points of a model.
//!
//! Contacts are found twice. At the start of a step all places are contacts where surfaces are nearer than a small range
//! ([`Detection::contacts`]). While the solver looks for velocities, and for every motion before it is accepted, all pairs are followed along the
//! motion ([`Detection::impacts`]; Daviet 2020, 6.2.3): a pair that would come too close is a contact with the normal and the weights of
//! that moment, and the side of the start.

mod shapes;

use glam::DVec3;
use rayon::prelude::*;

use crate::collide::candidates::CandidateLists;
use crate::collide::distance::{Closest, edge_edge, point_triangle};
use crate::collide::features::Features;
use crate::collide::impacts::{PairImpact, impacts_since};
use crate::collide::margins::{Margins, Travelled};
use crate::collide::minimum::{Near, Placed};
use crate::collide::pair::{Feature, Pair};
use crate::collide::pairs::Candidates;
use crate::collide::proximity::{self, Settings};
use crate::collide::tree::Tree;
use crate::collide::volume::{MOVING, Motion, Volumes};
use crate::collide::{ccd, proximity::Contact};
use crate::model::Model;
use crate::model::touch::Touch;
use crate::step_input::StepInput;
use shapes::ShapeMargins;
pub(crate) use shapes::Standing;

/// The part of the thickness that a motion must keep, whatever the solver says.
pub(crate) const GUARD: f64 = 0.1;

/// The part of the thickness below which a pair becomes a contact while the problem is solved.
pub(crate) const NEAR: f64 = 0.5;

/// A pair that starts closer than it must keep comes no closer than this part of its distance in a step.
const CLOSER: f64 = 0.5;

/// Below this part of what it must keep it hardly comes closer: gaps that halve in every step are lost in rounding after thirty.
const HARDLY: f64 = 0.01;
const HARDLY_CLOSER: f64 = 0.95;

/// A point that goes farther in a step than so many times the size of everything is lost.
const FARTHEST: f64 = 100.0;

/// How far from where it is expected a point may end before its surroundings are searched again, relative to how far it is expected to move.
const ASTRAY: f64 = 0.25;

/// From so many pairs for each point on, those that are near at the start are searched for by themselves: a point of hair that is thrown about has some sixty
/// in a step, most of which are far away at its start.
const MANY_PAIRS: usize = 20;

/// The tree, which is kept from step to step. Nothing in it changes an answer.
#[derive(Debug, Default)]
pub(crate) struct Detector {
    tree: Option<Tree<3, MOVING>>,
}

/// A place where two things touch, or would.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Touching {
    /// The same for the same features.
    pub(crate) id: u64,
    /// The two features.
    pub(crate) features: [Feature; 2],
    /// Points of both sides; places that are not needed repeat a point and weigh nothing.
    pub(crate) points: [u32; 4],
    /// Weights: of the first side they sum to 1, of the second to −1; a collider has none.
    pub(crate) weights: [f64; 4],
    /// Unit normal from the second to the first, at the end of the step.
    pub(crate) normal: DVec3,
    /// What is between the two along the normal at the start, beyond their thickness (m).
    pub(crate) gap: f64,
    /// The distance that the contact keeps (m), and what of it is the radius of balls.
    pub(crate) thickness: f64,
    pub(crate) core: f64,
    /// Until when the two are apart, for those found along a motion; 0 for those found at the start.
    pub(crate) time: f64,
}

/// What is known of a step before it is taken.
pub(crate) struct Detection<'a> {
    pub(crate) model: &'a Model,
    pub(crate) touch: &'a Touch,
    /// Where the points start.
    pub(crate) from: Vec<DVec3>,
    /// Where points end that are told to; the others as they start.
    pub(crate) told: Vec<DVec3>,
    /// Whether a point can move otherwise than it is told.
    pub(crate) is_movable: Vec<bool>,
    /// Colliders with a formula.
    pub(crate) standing: Vec<Standing<'a>>,
    tree: Tree<3, MOVING>,
    lists: CandidateLists<3>,
    reach: Vec<f64>,
    known: Known,
}

/// What is known since the motion was last followed.
#[derive(Default)]
struct Known {
    /// The part of the thickness that was asked for.
    part: f64,
    travelled: Travelled,
    of_pairs: Margins,
    of_shapes: Vec<ShapeMargins>,
}

impl Known {
    /// Goes on to other ends. What was clear of more than is asked for now still is, but not of less.
    fn begin(&mut self, detection: &Detection<'_>, to: &[DVec3], part: f64) {
        self.travelled.go_on(&detection.touch.features, to);
        if part > self.part {
            self.of_pairs = Margins::default();
            self.of_shapes.clear();
        }
        self.part = part;
        self.of_shapes
            .resize_with(detection.standing.len(), ShapeMargins::default);
    }
}

/// Where the points of everything that can touch are at the start of a run.
pub(crate) fn points_at_start(model: &Model, touch: &Touch) -> Vec<DVec3> {
    let scripted = |object| {
        let points = model.scripted_points_of(object, 0.0)?;
        Some((object, points))
    };
    let scripted: Vec<_> = touch.objects_with_points().filter_map(scripted).collect();
    let scripted = scripted
        .iter()
        .map(|(object, points)| (*object, &points[..]));
    carried(
        touch,
        &model.start.positions,
        scripted_points(touch, scripted),
    )
}

/// The points of scripted objects, which are given; the others at the origin.
fn scripted_points<'a>(
    touch: &Touch,
    scripted: impl Iterator<Item = (usize, &'a [DVec3])>,
) -> Vec<DVec3> {
    let mut points = vec![DVec3::ZERO; touch.places.len()];
    for (object, given) in scripted {
        for point in touch.points_of(object) {
            points[point] = given[touch.places[point].1 as usize];
        }
    }
    points
}

/// Points that nodes carry; the others as they are given.
fn carried(touch: &Touch, nodes: &[DVec3], mut points: Vec<DVec3>) -> Vec<DVec3> {
    let all = points.par_iter_mut().enumerate().with_min_len(1024);
    all.for_each(|(point, place)| {
        if let [(first, weight), others @ ..] = touch.stencil(point as u32) {
            let start = match *weight == 1.0 {
                true => nodes[*first as usize],
                false => nodes[*first as usize] * *weight,
            };
            let sum =
                |sum: DVec3, (node, weight): &(u32, f64)| sum + nodes[*node as usize] * *weight;
            *place = others.iter().fold(start, sum);
        }
    });
    points
}

impl<'a> Detection<'a> {
    /// Looks around at the start of a step. `expected` is where nodes are expected to end.
    pub(crate) fn new(
        input: &StepInput<'a>,
        touch: &'a Touch,
        expected: &[DVec3],
        detector: &mut Detector,
    ) -> Detection<'a> {
        let (model, nodes) = (input.model, &input.from.positions);
        let scripted = input.prescribed.scripted.iter();
        let [start, end] = [
            scripted_points(touch, scripted.clone().map(|it| (it.object, &it.begin[..]))),
            scripted_points(touch, scripted.map(|it| (it.object, &it.end[..]))),
        ];
        let [start, told] = [start, end].map(|points| carried(touch, nodes, points));
        let mut to = carried(touch, expected, told.clone());
        if farthest(&start, &to).is_some() {
            to.clone_from(&start);
        }
        // Bodies at rest begin to fall, and contacts push: without room for that, everything would be searched again.
        let fall = model.gravity.length() * input.h() * input.h();
        let ways = start.iter().zip(&to).map(|(from, to)| from.distance(*to));
        let room = ways.zip(&touch.skin);
        let room: Vec<f64> = room
            .map(|(way, skin)| 2.0 * skin + fall + ASTRAY * way)
            .collect();
        let widest = model.contact.pairs.iter().filter_map(|pair| pair.thickness);
        let extra = widest.fold(0.0, f64::max);
        let halves = touch.half_thickness.iter().zip(&touch.skin);
        let reach: Vec<f64> = halves.map(|(half, skin)| half + skin + extra).collect();
        let motion = Motion {
            from: &start,
            to: &to,
            reach: &reach,
        };
        let features = &touch.features;
        let kept = detector.tree.take();
        let mut tree = kept.unwrap_or_else(|| Tree::new(features, &Volumes::new(&motion)));
        let lists = CandidateLists::new(&mut tree, features, &motion, &room);
        let is_free = |node: u32| input.is_free(node);
        let points = 0..touch.places.len() as u32;
        let is_movable = points
            .map(|point| touch.stencil(point).iter().any(|(node, _)| is_free(*node)))
            .collect();
        let standing = touch.colliders.iter().zip(&input.prescribed.poses);
        let standing = standing
            .map(|(collider, poses)| Standing::new(collider, *poses, &start))
            .collect();
        Detection {
            model,
            touch,
            told,
            is_movable,
            standing,
            tree,
            lists,
            reach,
            from: start,
            known: Known::default(),
        }
    }

    /// Gives the tree back for the next step.
    pub(crate) fn finish(self, detector: &mut Detector) {
        detector.tree = Some(self.tree);
    }

    /// A point that goes too far in a motion to look for all that it could meet, and how far (m).
    pub(crate) fn lost(&self, to: &[DVec3]) -> Option<(u32, f64)> {
        farthest(&self.from, to)
    }

    /// How many points leave where they were expected along a motion to these places.
    pub(crate) fn leaving(&self, to: &[DVec3]) -> usize {
        let motion = Motion {
            from: &self.from,
            to,
            reach: &self.reach,
        };
        self.lists.leaving(&motion).len()
    }

    /// All points at the end of the step, if nodes end at these places.
    pub(crate) fn to(&self, nodes: &[DVec3]) -> Vec<DVec3> {
        carried(self.touch, nodes, self.told.clone())
    }

    /// Pairs that could meet along a motion to these places and can move otherwise than they are told: found anew, whatever was found before.
    pub(crate) fn candidates(&self, to: &[DVec3]) -> Candidates {
        let features = &self.touch.features;
        let volumes = Volumes::<3, MOVING>::new(&Motion {
            from: &self.from,
            to,
            reach: &self.reach,
        });
        let found = Tree::new(features, &volumes).candidates(features);
        found.with(features, &self.is_movable)
    }

    /// Whether any of some points can move otherwise than it is told.
    pub(crate) fn moves(&self, points: &[u32]) -> bool {
        points.iter().any(|point| self.is_movable[*point as usize])
    }

    /// The contacts at the start, by ascending id.
    pub(crate) fn contacts(&mut self) -> Vec<Touching> {
        let pairs = self.lists.candidates().len();
        let few = (pairs > MANY_PAIRS * self.from.len()).then(|| self.near_at_start());
        let candidates = few.as_ref().unwrap_or(self.lists.candidates());
        let found = self.with_settings(|settings| {
            proximity::contacts(
                &self.touch.features,
                &self.from,
                &candidates.point_triangle,
                &candidates.edge_edge,
                settings,
            )
        });
        let mut touching: Vec<Touching> = found
            .contacts
            .iter()
            .filter(|contact| self.moves(&contact.points))
            .map(|contact| self.touching(contact))
            .collect();
        for (number, standing) in self.standing.iter().enumerate() {
            touching.extend(standing.contacts(self, number as u32));
        }
        touching
    }

    /// Pairs that could touch at the start. The tree is left as it was.
    fn near_at_start(&mut self) -> Candidates {
        let features = &self.touch.features;
        let volumes = Volumes::new(&Motion {
            from: &self.from,
            to: &self.from,
            reach: &self.reach,
        });
        self.tree.refit(features, &volumes);
        let found = self.tree.candidates(features);
        self.tree.refit(features, self.lists.volumes());
        found
    }

    fn touching(&self, contact: &Contact) -> Touching {
        let sides = contact.points.iter().zip(contact.weights);
        let cores = sides.map(|(point, weight)| self.touch.core[*point as usize] * weight.abs());
        Touching {
            core: cores.sum(),
            id: contact.id,
            features: Pair::of(contact.id).features(),
            points: contact.points,
            weights: contact.weights,
            normal: contact.normal,
            gap: contact.gap,
            thickness: contact.distance - contact.gap,
            time: 0.0,
        }
    }

    /// Everything that comes closer than a part of its thickness while the points go from the start to `to`, by ascending id. A pair that starts
    /// closer must keep a part of that. If points are marked, only pairs with one of them.
    pub(crate) fn impacts(
        &mut self,
        to: &[DVec3],
        part: f64,
        marked: Option<&[bool]>,
    ) -> Vec<Touching> {
        let motion = Motion {
            from: &self.from,
            to,
            reach: &self.reach,
        };
        let features = &self.touch.features;
        let leaving = self.lists.leaving(&motion);
        if !leaving.is_empty() {
            self.lists
                .search_again(&mut self.tree, features, &motion, &leaving);
        }
        let mut known = match marked {
            None => Known {
                of_pairs: std::mem::take(&mut self.lists.margins),
                ..std::mem::take(&mut self.known)
            },
            Some(_) => Known::default(),
        };
        known.begin(self, to, part);
        let some = marked.map(|marked| self.lists.candidates().with(features, marked));
        let found = impacts_since(
            features,
            some.as_ref().unwrap_or(self.lists.candidates()),
            [&self.from, to],
            |points, _| self.separation(&points, part),
            (&known.travelled, &mut known.of_pairs),
        );
        let impact = |found: &[PairImpact], is_edges: bool| -> Vec<Touching> {
            let found = found.par_iter().with_min_len(64);
            let touching = found.filter_map(|found| self.impact(found, is_edges, to, part));
            touching.collect()
        };
        let mut touching = impact(&found.point_triangle, false);
        touching.extend(impact(&found.edge_edge, true));
        for (number, standing) in self.standing.iter().enumerate() {
            let known = (&known.travelled, &mut known.of_shapes[number]);
            touching.extend(standing.impacts(self, number as u32, to, (part, marked), known));
        }
        if marked.is_none() {
            self.lists.margins = std::mem::take(&mut known.of_pairs);
            self.known = known;
        }
        touching.sort_by(|one, other| one.id.cmp(&other.id).then(one.time.total_cmp(&other.time)));
        touching.dedup_by_key(|touching| touching.id);
        touching
    }

    /// The distance that two features must keep.
    #[inline]
    fn separation(&self, points: &[u32; 4], part: f64) -> f64 {
        // All points of an object are as thick.
        let [one, other] = [points[0], points[3]].map(|point| point as usize);
        let touch = self.touch;
        let core = touch.core[one] + touch.core[other];
        let skin = touch.skin[one] + touch.skin[other];
        core + part * (skin + self.extra(points)).max(0.0)
    }

    /// The distance that a pair must keep at the end of a step; of one that starts closer, a part of that.
    pub(crate) fn least_distance(&self, pair: [u32; 2], is_edges: bool, part: f64) -> f64 {
        let (points, _) = points_of(&self.touch.features, pair, is_edges);
        let core = self.separation(&points, 0.0);
        let wanted = self.separation(&points, part);
        let start = points.map(|point| self.from[point as usize]);
        let closest = if is_edges { edge_edge } else { point_triangle };
        let start = closest(start).distance;
        wanted.min(core + CLOSER * CLOSER * (start - core))
    }

    /// Distance less thickness of a contact, with the points at other places (m).
    pub(crate) fn gap_at(&self, touching: &Touching, to: &[DVec3]) -> f64 {
        let features = &self.touch.features;
        let distance = match touching.features[1] {
            Feature::Collider(number) => {
                let corners = touching.features[0].corners(features);
                self.standing[number as usize].distance_at_end(corners.map(|id| to[id as usize]))
            }
            _ => {
                let pair = Pair::new(touching.features[0], touching.features[1]);
                let placed = Placed {
                    features,
                    positions: to,
                };
                Some(placed.near(pair).closest.distance)
            }
        };
        distance.unwrap_or(f64::NAN) - touching.thickness
    }

    /// The thickness that the parts of a pair are told to have beyond that of their points (m).
    fn extra(&self, points: &[u32; 4]) -> f64 {
        if self.model.contact.pairs.is_empty() {
            return 0.0;
        }
        let part = |point: u32| self.touch.features.part_of[point as usize];
        self.touch
            .extra(self.model, part(points[0]), part(points[3]))
    }

    /// A pair that comes too close along a motion, as a contact.
    fn impact(
        &self,
        found: &PairImpact,
        is_edges: bool,
        to: &[DVec3],
        part: f64,
    ) -> Option<Touching> {
        let features = &self.touch.features;
        let (points, second) = points_of(features, found.pair, is_edges);
        if !self.moves(&points) {
            return None;
        }
        let at = |places: &[DVec3]| points.map(|point| places[point as usize]);
        let (from, end) = (at(&self.from), at(to));
        let closest = if is_edges { edge_edge } else { point_triangle };
        let mut impact = found.impact;
        let near = closest(from);
        let wanted = self.separation(&points, part);
        let core = self.separation(&points, 0.0);
        if near.distance <= wanted && near.distance > core {
            let search = if is_edges {
                ccd::edge_edge
            } else {
                ccd::point_triangle
            };
            impact = search(&from, &end, kept(near.distance, core, wanted))?;
        }
        let time = impact.time;
        let then: Vec<DVec3> = from
            .iter()
            .zip(&end)
            .map(|(a, b)| a.lerp(*b, time))
            .collect();
        let there = closest([then[0], then[1], then[2], then[3]]);
        let direction = match impact.normal == DVec3::ZERO {
            true => near.vector.normalize_or(DVec3::Z),
            false => impact.normal,
        };
        let settled = Settled::new(features, found.pair, is_edges, &there);
        let (pair, points, weights, sign) = settled.ordered(points, second, there.weights);
        let normal = direction * sign;
        let between: DVec3 = points
            .iter()
            .zip(weights)
            .map(|(point, weight)| self.from[*point as usize] * weight)
            .sum();
        let near = Near {
            points,
            closest: Closest { weights, ..there },
            rounding: 0.0,
        };
        let thickness =
            self.with_settings(|settings| proximity::thickness(features, pair, &near, settings));
        Some(Touching {
            id: pair.id(),
            features: pair.features(),
            points,
            weights,
            normal,
            gap: normal.dot(between) - thickness,
            thickness,
            core,
            time,
        })
    }

    /// Calls something with what counts as a contact.
    fn with_settings<T>(&self, call: impl Fn(&Settings) -> T) -> T {
        let extra = |one: u32, other: u32| self.touch.extra(self.model, one, other);
        call(&Settings {
            range: 0.0,
            ranges: &self.touch.skin,
            half_thickness: &self.touch.half_thickness,
            extra: match self.model.contact.pairs.is_empty() {
                true => None,
                false => Some(&extra),
            },
            rest: Some(&self.touch.rest),
            slope: 1.0,
        })
    }
}

/// The point that goes farthest, if that is too far: then everything could meet everything.
fn farthest(from: &[DVec3], to: &[DVec3]) -> Option<(u32, f64)> {
    let low = from
        .iter()
        .fold(DVec3::INFINITY, |low, point| low.min(*point));
    let high = from
        .iter()
        .fold(DVec3::NEG_INFINITY, |high, point| high.max(*point));
    let most = FARTHEST * (high - low).length().max(1e-3);
    let ways = from.iter().zip(to).map(|(from, to)| from.distance(*to));
    let far = ways
        .enumerate()
        .filter(|(_, way)| *way > most || way.is_nan());
    let far = far.max_by(|one, other| one.1.total_cmp(&other.1));
    far.map(|(point, way)| (point as u32, way))
}

/// What a pair that starts at a distance below what is wanted keeps in a step (m).
fn kept(start: f64, core: f64, wanted: f64) -> f64 {
    let is_little = start - core < HARDLY * (wanted - core);
    let part = if is_little { HARDLY_CLOSER } else { CLOSER };
    core + part * (start - core)
}

/// The four points of a pair, and where those of the second feature begin.
pub(crate) fn points_of(
    features: &Features,
    [one, other]: [u32; 2],
    is_edges: bool,
) -> ([u32; 4], usize) {
    match is_edges {
        true => {
            let [[a, b], [c, d]] = [one, other].map(|edge| features.edges[edge as usize]);
            ([a, b, c, d], 2)
        }
        false => {
            let [a, b, c] = features.triangles[other as usize];
            ([one, a, b, c], 1)
        }
    }
}

/// What the closest points of a pair lie on.
struct Settled {
    first: Feature,
    second: Feature,
}

impl Settled {
    fn new(features: &Features, pair: [u32; 2], is_edges: bool, closest: &Closest) -> Settled {
        let weights = closest.weights;
        let on_edge = |edge: u32, weights: [f64; 2]| {
            let [a, b] = features.edges[edge as usize];
            match weights {
                _ if a == b => Feature::Point(a),
                [_, 0.0] => Feature::Point(a),
                [0.0, _] => Feature::Point(b),
                _ => Feature::Edge(edge),
            }
        };
        if is_edges {
            return Settled {
                first: on_edge(pair[0], [weights[0], weights[1]]),
                second: on_edge(pair[1], [weights[2], weights[3]]),
            };
        }
        let corners = features.triangles[pair[1] as usize];
        let sides = features.triangle_edges[pair[1] as usize];
        let is_zero = [weights[1], weights[2], weights[3]].map(|weight| weight == 0.0);
        let second = match is_zero {
            [false, true, true] => Feature::Point(corners[0]),
            [true, false, true] => Feature::Point(corners[1]),
            [true, true, false] => Feature::Point(corners[2]),
            [false, false, true] => Feature::Edge(sides[0]),
            [true, false, false] => Feature::Edge(sides[1]),
            [false, true, false] => Feature::Edge(sides[2]),
            _ => Feature::Triangle(pair[1]),
        };
        Settled {
            first: Feature::Point(pair[0]),
            second,
        }
    }

    /// The pair with its lower feature first, its points and weights in that order, and −1 if the two changed places.
    fn ordered(
        &self,
        points: [u32; 4],
        second: usize,
        weights: [f64; 4],
    ) -> (Pair, [u32; 4], [f64; 4], f64) {
        let pair = Pair::new(self.first, self.second);
        if pair.features()[0] == self.first {
            return (pair, points, weights, 1.0);
        }
        let mut turned = ([0; 4], [0.0; 4]);
        for place in 0..4 {
            let from = (place + second) % 4;
            turned.0[place] = points[from];
            turned.1[place] = -weights[from];
        }
        (pair, turned.0, turned.1, -1.0)
    }
}
