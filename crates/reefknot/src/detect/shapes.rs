//! Colliders with a formula in a step: contacts at its start, and impacts along a motion, which is straight in the frame of the collider.

use glam::DVec3;
use rayon::prelude::*;

use super::{Detection, Touching, kept};
use crate::collide::collider::{self, Settings};
use crate::collide::convex::{closest, first_contact, signed};
use crate::collide::margins::{Travelled, Until, is_clear, until};
use crate::collide::pair::{Feature, Pair};
use crate::model::touch::ExactCollider;
use crate::motion::Pose;

/// Features that one task looks at.
const CHUNK: usize = 512;

/// What comes nearer than this part of what it must keep counts too: the search has an end.
const TOLERANCE: f64 = 1e-2;

/// What is known of the features near a collider since they were last followed.
#[derive(Default)]
pub(super) struct ShapeMargins {
    points: Vec<Until>,
    triangles: Vec<Until>,
    segments: Vec<Until>,
}

/// A feature that is looked at, and how far its end has gone (m).
struct Seen {
    feature: Feature,
    gone: f64,
}

/// A collider with a formula, where it is at both ends of a step.
pub(crate) struct Standing<'a> {
    pub(crate) collider: &'a ExactCollider,
    /// Its pose at the start and at the end.
    pub(crate) poses: [Pose; 2],
    /// The points at the start, in its frame.
    start: Vec<DVec3>,
}

impl<'a> Standing<'a> {
    pub(super) fn new(
        collider: &'a ExactCollider,
        poses: [Pose; 2],
        from: &[DVec3],
    ) -> Standing<'a> {
        let back = poses[0].inverse();
        let points = from.par_iter().with_min_len(CHUNK);
        Standing {
            collider,
            poses,
            start: points.map(|point| back.apply(*point)).collect(),
        }
    }

    /// How far the material of the collider at a place moves in the step (m).
    pub(crate) fn displacement(&self, place: DVec3) -> DVec3 {
        if self.poses[0] == self.poses[1] {
            return DVec3::ZERO;
        }
        self.poses[1].apply(self.poses[0].inverse().apply(place)) - place
    }

    /// The parts of which something may come within `times` its thickness on the way from the start to `end`: by a ball about all of it, since the
    /// distance changes by no more than the way.
    fn near(&self, detection: &Detection<'_>, end: &[DVec3], times: f64) -> Vec<bool> {
        let (model, touch) = (detection.model, detection.touch);
        let features = &touch.features;
        let nothing = (DVec3::INFINITY, DVec3::NEG_INFINITY, 0.0_f64);
        let mut bounds = vec![nothing; features.parts.len()];
        for (point, part) in features.part_of.iter().enumerate() {
            let (low, high, thickest) = &mut bounds[*part as usize];
            let (from, to) = (self.start[point], end[point]);
            *low = low.min(from).min(to);
            *high = high.max(from).max(to);
            *thickest = thickest.max(self.collider.thickness[point]);
        }
        let is_near = |(part, (low, high, thickest)): (usize, &(DVec3, DVec3, f64))| {
            let middle = 0.5 * (*low + *high);
            let radius = 0.5 * (*high - *low).length() + times * thickest;
            let distance = self.collider.shape.distance(middle);
            // Also what is no number is looked at.
            let is_far = distance.is_some_and(|distance| distance > radius);
            !is_far && touch.meets(model, part as u32, self.collider)
        };
        bounds.iter().enumerate().map(is_near).collect()
    }

    /// How far a feature is at the end of the step (m).
    pub(super) fn distance_at_end(&self, corners: [DVec3; 3]) -> Option<f64> {
        let back = self.poses[1].inverse();
        let reach = closest(
            &self.collider.shape,
            &corners.map(|corner| back.apply(corner)),
        )?;
        Some(reach.signed.distance)
    }

    /// The contacts at the start: all within a thickness.
    pub(super) fn contacts(&self, detection: &Detection<'_>, number: u32) -> Vec<Touching> {
        let touch = detection.touch;
        let features = &touch.features;
        let near = self.near(detection, &self.start, 2.0);
        if !near.contains(&true) {
            return Vec::new();
        }
        let skins = self.collider.thickness.iter().zip(&touch.core);
        let skins: Vec<f64> = skins.map(|(thickness, core)| thickness - core).collect();
        let settings = Settings {
            range: 0.0,
            ranges: &skins,
            half_thickness: &self.collider.thickness,
            skin: 0.0,
            parts: Some(&near),
        };
        let found = collider::contacts(
            features,
            &self.start,
            &self.collider.shape,
            number,
            &settings,
        );
        let found = found
            .iter()
            .filter(|contact| detection.moves(&contact.points[..3]));
        found
            .map(|contact| Touching {
                id: contact.id,
                features: Pair::of(contact.id).features(),
                points: contact.points,
                weights: [
                    contact.weights[0],
                    contact.weights[1],
                    contact.weights[2],
                    0.0,
                ],
                normal: self.poses[1].turn * contact.normal,
                gap: contact.gap,
                thickness: contact.distance - contact.gap,
                core: detection.touch.core[contact.points[0] as usize],
                time: 0.0,
            })
            .collect()
    }

    /// Everything that comes too close along a motion to `to`: points, and triangles and segments of which no corner does.
    pub(super) fn impacts(
        &self,
        detection: &Detection<'_>,
        number: u32,
        to: &[DVec3],
        (part, marked): (f64, Option<&[bool]>),
        (travelled, margins): (&Travelled, &mut ShapeMargins),
    ) -> Vec<Touching> {
        let features = &detection.touch.features;
        let back = self.poses[1].inverse();
        let ends = to
            .par_iter()
            .with_min_len(CHUNK)
            .map(|point| back.apply(*point));
        let end: Vec<DVec3> = ends.collect();
        let motion = Along {
            standing: self,
            detection,
            near: self.near(detection, &end, 1.0),
            end,
            number,
            part,
            marked,
        };
        if !motion.near.contains(&true) {
            return Vec::new();
        }
        let (segments, triangles) = (&detection.touch.segments, features.triangles.len());
        let look = |margins: &mut Vec<Until>, count: usize, of: &(dyn Fn(usize) -> Seen + Sync)| {
            margins.resize(count, 0.0);
            let margins = margins.par_iter_mut().enumerate().with_min_len(CHUNK);
            let found = margins.filter_map(|(at, until)| motion.impact(of(at), until));
            found.collect::<Vec<Touching>>()
        };
        let seen = |feature: fn(u32) -> Feature, at: u32, ways: &[f64]| Seen {
            feature: feature(at),
            gone: ways.get(at as usize).copied().unwrap_or(0.0),
        };
        let mut found = look(&mut margins.points, self.start.len(), &|at| {
            seen(Feature::Point, at as u32, &travelled.points)
        });
        // Points come in order.
        let hit: Vec<u32> = found.iter().map(|touching| touching.points[0]).collect();
        let has_hit = |corners: &[u32]| corners.iter().any(|it| hit.binary_search(it).is_ok());
        let triangles = look(&mut margins.triangles, triangles, &|at| {
            seen(Feature::Triangle, at as u32, &travelled.triangles)
        });
        let triangles = triangles.into_iter();
        found.extend(triangles.filter(|touching| !has_hit(&touching.points[..3])));
        let segments = look(&mut margins.segments, segments.len(), &|at| {
            seen(Feature::Edge, segments[at], &travelled.edges)
        });
        let segments = segments.into_iter();
        found.extend(segments.filter(|touching| !has_hit(&touching.points[..2])));
        found
    }
}

/// A motion in the frame of a collider.
struct Along<'a> {
    standing: &'a Standing<'a>,
    detection: &'a Detection<'a>,
    /// The parts that come near.
    near: Vec<bool>,
    end: Vec<DVec3>,
    number: u32,
    part: f64,
    /// The points that are looked at, if not all.
    marked: Option<&'a [bool]>,
}

impl Along<'_> {
    /// When and where a feature comes too close; if it does not, until when that is known.
    fn impact(&self, Seen { feature, gone }: Seen, margin: &mut Until) -> Option<Touching> {
        if is_clear(gone, *margin) {
            return None;
        }
        *margin = 0.0;
        let (detection, standing) = (self.detection, self.standing);
        let ids = feature.corners(&detection.touch.features);
        let count = match feature {
            Feature::Point(_) => 1,
            Feature::Edge(_) => 2,
            _ => 3,
        };
        let part = detection.touch.features.part_of[ids[0] as usize];
        let is_marked = |marked: &[bool]| ids.iter().any(|id| marked[*id as usize]);
        if !self.near[part as usize] || !detection.moves(&ids) || !self.marked.is_none_or(is_marked)
        {
            return None;
        }
        let wanted = ids
            .map(|id| self.wanted(id))
            .into_iter()
            .fold(0.0, f64::max);
        let from = ids.map(|id| standing.start[id as usize]);
        let to = ids.map(|id| self.end[id as usize]);
        // The distance is a convex function: no corner at either end is below the plane that touches it in the middle of all.
        let middle = from.iter().chain(&to).sum::<DVec3>() / 6.0;
        let at = signed(&standing.collider.shape, middle)?;
        let corners = from[..count].iter().chain(&to[..count]);
        let descents = corners.map(|corner| at.gradient.dot(*corner - middle));
        let least = at.distance + descents.fold(f64::INFINITY, f64::min);
        let slack = least - wanted * (1.0 + 2.0 * TOLERANCE);
        if slack > 0.0 {
            // The middle and the plane stay; ends that go on by less than the slack do not come below.
            *margin = until(gone, slack);
            return None;
        }
        self.search(feature, ids, &from[..count], wanted)
    }

    /// The distance that a point must keep.
    fn wanted(&self, id: u32) -> f64 {
        let core = self.detection.touch.core[id as usize];
        core + self.part * (self.standing.collider.thickness[id as usize] - core)
    }

    fn search(
        &self,
        feature: Feature,
        ids: [u32; 3],
        from: &[DVec3],
        mut wanted: f64,
    ) -> Option<Touching> {
        let shape = &self.standing.collider.shape;
        let detection = self.detection;
        let ends = ids.map(|id| self.end[id as usize]);
        let to = &ends[..from.len()];
        let cores = ids.map(|id| detection.touch.core[id as usize]);
        let core = cores.into_iter().fold(0.0, f64::max);
        let start = closest(shape, from)?;
        if start.bound <= wanted * (1.0 + TOLERANCE) && start.bound > core {
            wanted = kept(start.bound, core, wanted);
        }
        let time = first_contact(shape, from, to, wanted, TOLERANCE * (wanted - core))?;
        let mut then = [DVec3::ZERO; 3];
        for (then, (from, to)) in then.iter_mut().zip(from.iter().zip(to)) {
            *then = from.lerp(*to, time);
        }
        let there = closest(shape, &then[..from.len()])?;
        let weighed = |places: &[DVec3]| -> DVec3 {
            let terms = places.iter().zip(there.weights);
            terms.map(|(place, weight)| *place * weight).sum()
        };
        let back = weighed(from) - weighed(&then[..from.len()]);
        let thicknesses = ids.map(|id| self.standing.collider.thickness[id as usize]);
        let thickness: f64 = (0..3).map(|at| thicknesses[at] * there.weights[at]).sum();
        let [a, b, c] = there.weights;
        // Two triangles with a common side that is closest are one contact.
        let on = match (feature, [a, b, c].map(|weight| weight == 0.0)) {
            (Feature::Triangle(triangle), [false, false, true]) => {
                Feature::Edge(detection.touch.features.triangle_edges[triangle as usize][0])
            }
            (Feature::Triangle(triangle), [true, false, false]) => {
                Feature::Edge(detection.touch.features.triangle_edges[triangle as usize][1])
            }
            (Feature::Triangle(triangle), [false, true, false]) => {
                Feature::Edge(detection.touch.features.triangle_edges[triangle as usize][2])
            }
            _ => feature,
        };
        let pair = Pair::new(on, Feature::Collider(self.number));
        Some(Touching {
            id: pair.id(),
            features: pair.features(),
            points: [ids[0], ids[1], ids[2], ids[2]],
            weights: [a, b, c, 0.0],
            normal: self.standing.poses[1].turn * there.signed.gradient,
            gap: there.signed.distance + there.signed.gradient.dot(back) - thickness,
            thickness,
            core,
            time,
        })
    }
}
