//! Surfaces of revolution about the z axis.
//!
//! A profile is directed upwards on the outside. It becomes rings, each with a number of vertices
//! proportional to its length, so that triangles keep their shape towards the axis. Two rings are
//! joined by advancing around both, always along the edge that is next.

use std::f64::consts::{PI, TAU};

use glam::DVec3;

use crate::mesh::Mesh;

/// Number of vertices around a circle, if no edge length is given.
const DEFAULT_VERTICES_AROUND: f64 = 48.0;
/// Maximum number of rings along a section, if no edge length is given: long sections then have
/// long triangles.
const MAX_DEFAULT_RINGS: f64 = 24.0;
/// Minimum number of vertices of a ring at the end of a section, and inside one.
const MIN_VERTICES_AROUND: [f64; 2] = [8.0, 4.0];

/// A part of a profile, by radius and height.
#[derive(Clone, Copy, Debug)]
pub(super) enum Section {
    Line {
        from: [f64; 2],
        to: [f64; 2],
    },
    /// Angles are measured from the direction −z.
    Arc {
        height: f64,
        radius: f64,
        angles: [f64; 2],
    },
}

impl Section {
    pub(super) fn line(from: [f64; 2], to: [f64; 2]) -> Section {
        Section::Line { from, to }
    }

    pub(super) fn arc(height: f64, radius: f64, angles: [f64; 2]) -> Section {
        Section::Arc {
            height,
            radius,
            angles,
        }
    }

    fn length(&self) -> f64 {
        match *self {
            Section::Line { from, to } => (to[0] - from[0]).hypot(to[1] - from[1]),
            Section::Arc { radius, angles, .. } => radius * (angles[1] - angles[0]),
        }
    }

    fn largest_radius(&self) -> f64 {
        match *self {
            Section::Line { from, to } => from[0].max(to[0]),
            Section::Arc { radius, .. } => radius,
        }
    }

    /// Number of rings, without the last.
    fn steps(&self, edge: Option<f64>) -> f64 {
        let steps = match edge {
            Some(edge) => (self.length() / edge).ceil(),
            None => (self.length() * DEFAULT_VERTICES_AROUND / (TAU * self.largest_radius()))
                .round()
                .min(MAX_DEFAULT_RINGS),
        };
        steps.max(1.0)
    }

    fn ring(&self, fraction: f64, edge: Option<f64>) -> Ring {
        match *self {
            Section::Line { from, to } => {
                let mix = |low: f64, high: f64| low + fraction * (high - low);
                let counts = [from[0], to[0]].map(|radius| around(radius, edge));
                Ring {
                    radius: mix(from[0], to[0]),
                    height: mix(from[1], to[1]),
                    count: mix(counts[0], counts[1]),
                }
            }
            Section::Arc {
                height,
                radius,
                angles,
            } => {
                let angle = angles[0] + fraction * (angles[1] - angles[0]);
                // The sine of π is not quite 0 in floating point.
                let sine = if angle >= PI { 0.0 } else { angle.sin() };
                Ring {
                    radius: radius * sine,
                    height: height - radius * angle.cos(),
                    count: around(radius, edge) * sine,
                }
            }
        }
    }
}

/// Number of vertices of a circle at the end of a section; 0 for a pole.
fn around(radius: f64, edge: Option<f64>) -> f64 {
    match edge {
        _ if radius <= 0.0 => 0.0,
        Some(edge) => (TAU * radius / edge).ceil().max(MIN_VERTICES_AROUND[0]),
        None => DEFAULT_VERTICES_AROUND,
    }
}

/// A circle of vertices, or a pole if the radius is 0.
struct Ring {
    radius: f64,
    height: f64,
    count: f64,
}

/// A curve that is rotated about the z axis.
#[derive(Clone, Debug)]
pub(super) struct Profile {
    sections: Vec<Section>,
    /// Whether its end is its start. Otherwise it starts and ends on the axis.
    is_closed: bool,
}

impl Profile {
    /// A profile from axis to axis.
    pub(super) fn open(sections: Vec<Section>) -> Profile {
        Profile {
            sections,
            is_closed: false,
        }
    }

    /// Straight lines from axis to axis.
    pub(super) fn lines(knots: &[[f64; 2]]) -> Profile {
        Profile::open(
            knots
                .windows(2)
                .map(|pair| Section::line(pair[0], pair[1]))
                .collect(),
        )
    }

    /// Straight lines around a cross-section away from the axis.
    pub(super) fn closed(knots: &[[f64; 2]]) -> Profile {
        let next = knots.iter().cycle().skip(1);
        Profile {
            sections: knots
                .iter()
                .zip(next)
                .map(|(from, to)| Section::line(*from, *to))
                .collect(),
            is_closed: true,
        }
    }

    pub(super) fn vertex_estimate(&self, edge: Option<f64>) -> f64 {
        let vertices = |section: &Section| {
            let count = |fraction: f64| section.ring(fraction, edge).count;
            // Simpson's rule, exact for a line.
            section.steps(edge) * (count(0.0) + 4.0 * count(0.5) + count(1.0)) / 6.0
        };
        2.0 + self.sections.iter().map(vertices).sum::<f64>()
    }

    pub(super) fn surface(&self, edge: Option<f64>) -> Mesh {
        let mut mesh = Mesh::default();
        let mut rings = Vec::new();
        for section in &self.sections {
            let steps = section.steps(edge) as usize;
            for step in 0..steps {
                let ring = section.ring(step as f64 / steps as f64, edge);
                rings.push(add_ring(&mut mesh, &ring));
            }
        }
        if self.is_closed {
            rings.extend(rings.first().copied());
        } else if let Some(last) = self.sections.last() {
            let ring = last.ring(1.0, edge);
            rings.push(add_ring(&mut mesh, &ring));
        }
        for pair in rings.windows(2) {
            join(&mut mesh.triangles, pair[0], pair[1]);
        }
        mesh
    }
}

/// Adds the vertices of a ring; returns the first and their number.
fn add_ring(mesh: &mut Mesh, ring: &Ring) -> [u32; 2] {
    let first = mesh.points.len() as u32;
    if ring.radius <= 0.0 {
        mesh.points.push(DVec3::new(0.0, 0.0, ring.height));
        return [first, 1];
    }
    let count = ring.count.round().max(MIN_VERTICES_AROUND[1]) as u32;
    for index in 0..count {
        let (sine, cosine) = (TAU * f64::from(index) / f64::from(count)).sin_cos();
        mesh.points.push(DVec3::new(
            ring.radius * cosine,
            ring.radius * sine,
            ring.height,
        ));
    }
    [first, count]
}

/// Adds the triangles between two rings; the second is further along the profile.
fn join(triangles: &mut Vec<[u32; 3]>, lower: [u32; 2], upper: [u32; 2]) {
    let [lower_count, upper_count] = [lower[1], upper[1]].map(u64::from);
    let vertex = |ring: [u32; 2], index: u64| ring[0] + (index % u64::from(ring[1])) as u32;
    // A pole has a vertex, but no edge around it.
    let edges = |count: u64| if count == 1 { 0 } else { count };
    let (mut i, mut j) = (0, 0);
    while i < edges(lower_count) || j < edges(upper_count) {
        // The next edge is the one whose middle has the smaller angle.
        let is_lower_next = j >= edges(upper_count)
            || (i < edges(lower_count) && (2 * i + 1) * upper_count <= (2 * j + 1) * lower_count);
        if is_lower_next {
            triangles.push([vertex(lower, i), vertex(lower, i + 1), vertex(upper, j)]);
            i += 1;
        } else {
            triangles.push([vertex(lower, i), vertex(upper, j + 1), vertex(upper, j)]);
            j += 1;
        }
    }
}
