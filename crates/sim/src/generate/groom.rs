//! Hair: many curly rods with roots on a surface.
//!
//! Roots are drawn one after the other, because each keeps a distance from the earlier ones. The
//! rods are then generated in parallel. Each has its own stream of random numbers, so that more
//! rods do not change the first ones.
//!
//! A rod starts along an axis: the smooth normal of the surface, inclined towards the combing
//! direction and tilted at random, but with an elevation above its triangle of at least the angle
//! of [`MIN_SINE`]. After a straight first edge it becomes a helix about the axis, whose radius
//! grows from 0 slowly enough to keep the rod above the plane of the triangle. Hence hair on a
//! convex surface is outside of it.
//!
//! Vertices are computed one after the other on this curve, each at the same distance from the one
//! before. So all edges are equal, and the polyline has the given length.

use std::f64::consts::TAU;

use glam::{DVec2, DVec3};
use rayon::prelude::*;

use super::rod::{MAX_ROD_VERTICES, check_count, check_positive};
use super::root::Sampler;
pub use super::root::{HostSurface, Root};
use super::scatter::{SpacedPoints, stream};
use crate::mesh::{Curve, Group, Mesh};
use crate::random::Random;

/// Sine of the minimum angle between the axis of a rod and its triangle, 9°.
pub const MIN_SINE: f64 = 0.15;

/// Number of rods.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Roots {
    /// Number per area (1/m²).
    Density(f64),
    /// Number.
    Count(usize),
}

/// Parameters of a groom.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Style {
    /// Number of rods.
    pub roots: Roots,
    /// Their length (m).
    pub length: f64,
    /// Maximum relative deviation of lengths; below 1.
    pub length_variation: f64,
    /// Number of vertices of each rod.
    pub vertices: usize,
    /// Radius of the curls (m); 0 is straight hair.
    pub curl_radius: f64,
    /// Length of the axis per turn (m); negative for left-handed curls.
    pub curl_pitch: f64,
    /// Combing direction.
    pub direction: Option<DVec3>,
    /// 0 is along the normal of the surface, 1 along the direction, as far as that points outwards.
    pub lean: f64,
    /// Random tilt, root mean square (rad).
    pub stray: f64,
    /// Minimum distance between roots (m); 0 for none.
    pub spacing: f64,
    /// Seed of the random numbers.
    pub seed: u64,
}

/// Rods and their roots.
#[derive(Clone, Debug, PartialEq)]
pub struct GroomedRods {
    /// The rods, each a curve. Groups: "roots" (first vertices), "tips" (last vertices).
    pub mesh: Mesh,
    /// The root of each rod, which is exactly the position of its first vertex.
    pub roots: Vec<Root>,
}

/// Hair on a surface.
pub fn groom(surface: &HostSurface, style: &Style) -> Result<GroomedRods, String> {
    check(style)?;
    let sampler = Sampler::new(*surface)?;
    let count = match style.roots {
        Roots::Count(count) => count,
        Roots::Density(density) => {
            check_positive("density of roots", density)?;
            // The cast saturates; a count that is too large is refused below.
            (density * sampler.area()).round() as usize
        }
    };
    if count == 0 {
        return Err("there are no roots on the surface".to_owned());
    }
    if count.saturating_mul(style.vertices) > MAX_ROD_VERTICES {
        return Err(format!(
            "{count} rods of {} vertices are too many; \
             take at most {MAX_ROD_VERTICES} vertices in all",
            style.vertices
        ));
    }
    let roots = roots(&sampler, count, style)?;
    let mut points = vec![DVec3::ZERO; count * style.vertices];
    let rods = points.par_chunks_exact_mut(style.vertices);
    rods.zip(&roots)
        .enumerate()
        .for_each(|(index, (rod, root))| {
            let mut random = stream(style.seed, 2 * index as u64 + 1);
            let axis = axis(sampler.normals(root), style, &mut random);
            fill(rod, root.position(surface), &axis, style, &mut random);
        });
    Ok(GroomedRods {
        mesh: mesh(points, style.vertices as u32),
        roots,
    })
}

/// Refuses invalid parameters.
fn check(style: &Style) -> Result<(), String> {
    check_count(style.vertices, 2)?;
    check_positive("length of hair", style.length)?;
    let within = |name: &str, value: f64, most: f64| {
        if (0.0..=most).contains(&value) {
            Ok(())
        } else {
            Err(format!("the {name} must be from 0 to {most}, not {value}"))
        }
    };
    within("lean", style.lean, 1.0)?;
    within(
        "variation of the length",
        style.length_variation,
        1.0 - 1e-6,
    )?;
    within("random tilt", style.stray, f64::MAX)?;
    within("radius of the curls", style.curl_radius, f64::MAX)?;
    if let Some(direction) = style.direction
        && direction.try_normalize().is_none()
    {
        return Err(format!(
            "the direction {direction} must be finite and not zero"
        ));
    }
    if style.curl_radius > 0.0 {
        check_positive("absolute pitch of the curls", style.curl_pitch.abs())?;
        let turn = style.curl_pitch.hypot(TAU * style.curl_radius);
        let least = 4.0 * style.length * (1.0 + style.length_variation) / turn;
        if least > (style.vertices - 1) as f64 {
            return Err(format!(
                "curls of {turn:.3e} m per turn need four edges each; take at least {} vertices",
                least.ceil() + 1.0
            ));
        }
    }
    Ok(())
}

fn roots(sampler: &Sampler, count: usize, style: &Style) -> Result<Vec<Root>, String> {
    let mut spaced = SpacedPoints::new(style.spacing, sampler.bounds())?;
    let mut roots = Vec::with_capacity(count);
    for index in 0..count {
        let mut random = stream(style.seed, 2 * index as u64);
        match spaced.draw_spaced(&mut random, |random| sampler.draw(random)) {
            Some(root) => roots.push(root),
            None => {
                let spacing = style.spacing;
                return Err(format!(
                    "only {index} of {count} roots fit with a spacing of {spacing} m"
                ));
            }
        }
    }
    Ok(roots)
}

/// Axis of a rod: a unit vector, and the sine of its elevation above the triangle.
struct Axis {
    along: DVec3,
    sine: f64,
}

fn axis([face, smooth]: [DVec3; 2], style: &Style, random: &mut Random) -> Axis {
    let mut along = smooth;
    if let Some(direction) = style.direction.and_then(DVec3::try_normalize) {
        let target = lifted(direction, smooth);
        let towards = target.reject_from_normalized(along).normalize_or_zero();
        along = rotated(along, towards, style.lean * along.angle_between(target));
    }
    // The square of a tilt with normally distributed components has an exponential distribution
    // (Box and Muller 1958).
    let tilt = style.stray * (-(1.0 - random.between(0.0, 1.0)).ln()).sqrt();
    let (sine, cosine) = random.between(0.0, TAU).sin_cos();
    let (first, second) = along.any_orthonormal_pair();
    along = lifted(rotated(along, cosine * first + sine * second, tilt), face);
    Axis {
        along,
        sine: along.dot(face).max(MIN_SINE),
    }
}

/// A unit vector, rotated by an angle towards another one that is perpendicular to it.
fn rotated(vector: DVec3, towards: DVec3, angle: f64) -> DVec3 {
    let (sine, cosine) = angle.sin_cos();
    if towards == DVec3::ZERO {
        vector
    } else {
        (cosine * vector + sine * towards).normalize_or_zero()
    }
}

/// A direction with the minimum angle above the plane with that normal; the normal itself for the
/// opposite direction.
fn lifted(direction: DVec3, normal: DVec3) -> DVec3 {
    let sine = direction.dot(normal);
    if sine >= MIN_SINE {
        return direction;
    }
    let flat = (direction - sine * normal).normalize_or_zero();
    if flat == DVec3::ZERO || sine < -1.0 + 1e-9 {
        normal
    } else {
        MIN_SINE * normal + (1.0 - MIN_SINE * MIN_SINE).sqrt() * flat
    }
}

/// A helix around the z axis whose radius grows smoothly from 0 at `start` to `radius`.
struct Curl {
    start: f64,
    radius: f64,
    /// Length of the axis along which the radius grows (m).
    ramp: f64,
    /// Radians per length of the axis (1/m).
    winding: f64,
    phase: f64,
}

impl Curl {
    /// The point at a height, and its derivative with respect to the height.
    fn at(&self, height: f64) -> (DVec3, DVec3) {
        let share = ((height - self.start) / self.ramp).clamp(0.0, 1.0);
        let radius = self.radius * share * share * (3.0 - 2.0 * share);
        let growth = self.radius * 6.0 * share * (1.0 - share) / self.ramp;
        let outwards = DVec2::from_angle(self.phase + self.winding * (height - self.start));
        let point = radius * outwards;
        let velocity = growth * outwards + radius * self.winding * outwards.perp();
        (point.extend(height), velocity.extend(1.0))
    }

    /// The next point of the curve at the distance `edge` from one of its points, by Newton's
    /// method with bisection, from the height `guess`.
    fn next(&self, from: DVec3, edge: f64, guess: f64) -> DVec3 {
        // Heights differ by no more than the distance, so the solution is within these bounds.
        let (mut low, mut high) = (from.z, from.z + edge);
        // The second term is for rounding errors.
        let tolerance = edge * (1e-12 * edge + 1e-14 * high);
        let mut height = guess.clamp(low, high);
        let (mut point, mut velocity) = self.at(height);
        for _ in 0..60 {
            let excess = point.distance_squared(from) - edge * edge;
            if excess.abs() <= tolerance {
                break;
            }
            if excess > 0.0 {
                high = height;
            } else {
                low = height;
            }
            let newton = height - 0.5 * excess / velocity.dot(point - from);
            height = if newton > low && newton < high {
                newton
            } else {
                0.5 * (low + high)
            };
            (point, velocity) = self.at(height);
        }
        point
    }
}

/// Computes the vertices of a rod.
fn fill(rod: &mut [DVec3], root: DVec3, axis: &Axis, style: &Style, random: &mut Random) {
    let variation = style.length_variation;
    let length = style.length * (1.0 + random.between(-variation, variation));
    let edge = length / (rod.len() - 1) as f64;
    let phase = random.between(0.0, TAU);
    if style.curl_radius == 0.0 {
        for (index, vertex) in rod.iter_mut().enumerate() {
            *vertex = root + index as f64 * edge * axis.along;
        }
        return;
    }
    // At height a, the axis is a · sine above the triangle, and the curl at most radius · cosine
    // lower. The radius is never more than 9/8 of a linear ramp, which limits its growth.
    let cosine = (1.0 - axis.sine * axis.sine).max(0.0).sqrt();
    let gentle = 1.125 * style.curl_radius * cosine / axis.sine;
    let curl = Curl {
        start: edge,
        radius: style.curl_radius,
        ramp: gentle.max(style.curl_pitch.abs()),
        winding: TAU / style.curl_pitch,
        phase,
    };
    let (first, second) = axis.along.any_orthonormal_pair();
    let (mut point, mut climb) = (DVec3::ZERO, edge);
    for (index, vertex) in rod.iter_mut().enumerate() {
        if index > 0 {
            // On a helix of constant radius all edges climb by the same height.
            let next = curl.next(point, edge, point.z + climb);
            (point, climb) = (next, next.z - point.z);
        }
        *vertex = root + point.x * first + point.y * second + point.z * axis.along;
    }
}

fn mesh(points: Vec<DVec3>, vertices: u32) -> Mesh {
    let count = points.len() as u32 / vertices;
    let curve = |index| Curve {
        first: index * vertices,
        count: vertices,
        closed: false,
    };
    let groups = vec![
        Group::new("roots", (0..count).map(|index| index * vertices).collect()),
        Group::new(
            "tips",
            (1..=count).map(|index| index * vertices - 1).collect(),
        ),
    ];
    Mesh {
        points,
        curves: (0..count).map(curve).collect(),
        groups,
        ..Mesh::default()
    }
}

#[cfg(test)]
mod tests;
