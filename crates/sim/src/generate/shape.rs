//! Shapes of colliders and rigid props: boxes, spheres, cylinders, cones, stairs, nails.
//!
//! Every shape has a closed surface of triangles with outward normals. Shapes with a formula for
//! the signed distance use it only for drawing, other shapes also for contacts. Round shapes are
//! surfaces of revolution about the z axis (`revolve`), others consist of rectangular patches of a
//! grid (`blocks`). Distances are negative inside.

mod blocks;
mod revolve;
#[cfg(test)]
mod tests;

use std::f64::consts::PI;

use glam::{DMat3, DVec2, DVec3};

use crate::mesh::Mesh;
use crate::mesh::mass::MassProperties;
use blocks::Patches;
use revolve::{Profile, Section};

/// Maximum number of vertices of a surface, which limits its memory.
pub const MAX_SURFACE_VERTICES: f64 = 5e6;

/// Maximum ratio of the lengths of a shape. Beyond, rounding errors would deform its triangles.
const MAX_SIZE_RATIO: f64 = 1e9;

/// A shape given by lengths (m), centred at the origin unless stated otherwise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// A box with its sides along the axes.
    Box {
        /// Lengths of the sides.
        size: [f64; 3],
    },
    /// A ball.
    Sphere {
        /// Its radius.
        radius: f64,
    },
    /// A cylinder along z with flat ends.
    Cylinder {
        /// Its radius.
        radius: f64,
        /// From end to end.
        length: f64,
    },
    /// A cylinder along z with round ends.
    Capsule {
        /// Its radius.
        radius: f64,
        /// Between the centres of its round ends; may be 0.
        length: f64,
    },
    /// The half space below z = 0, drawn as a square.
    Plane {
        /// Side of the square.
        size: f64,
    },
    /// A cone that stands on z = 0 with its apex up.
    Cone {
        /// Radius at z = 0.
        radius: f64,
        /// Height of the apex.
        height: f64,
    },
    /// A funnel along z, open at both ends, wide at the top or at the bottom.
    Funnel {
        /// Radius inside, at z = height / 2.
        top_radius: f64,
        /// Radius inside, at z = −height / 2.
        bottom_radius: f64,
        /// From end to end.
        height: f64,
        /// Thickness of the wall, along its normal.
        thickness: f64,
    },
    /// Solid stairs that begin at the origin and rise along x, centred in y.
    Stairs {
        /// Number of steps.
        steps: usize,
        /// Length of a step along x.
        tread: f64,
        /// Height of a step.
        rise: f64,
        /// Width along y.
        width: f64,
    },
    /// A nail along z with its point at the origin and its head on top.
    Nail {
        /// Radius of the shank.
        radius: f64,
        /// From the point to the underside of the head.
        length: f64,
        /// Radius of the head.
        head_radius: f64,
        /// Thickness of the head.
        head_thickness: f64,
    },
}

impl Shape {
    /// Checks the lengths; the error is a message with the cause.
    pub fn check(&self) -> Result<(), String> {
        let lengths = self.lengths();
        for (name, length) in &lengths {
            if !(length.is_finite() && *length > 0.0) {
                return Err(format!("{name} is {length}; it must be more than 0"));
            }
        }
        let smallest = lengths
            .iter()
            .map(|(_, length)| *length)
            .fold(f64::INFINITY, f64::min);
        for (name, length) in &lengths {
            if *length > MAX_SIZE_RATIO * smallest {
                return Err(format!(
                    "{name} is {length}, more than {MAX_SIZE_RATIO:e} times the smallest length, \
                     {smallest}"
                ));
            }
        }
        match *self {
            Shape::Stairs { steps: 0, .. } => Err("steps is 0; it must be at least 1".to_owned()),
            Shape::Nail {
                radius,
                head_radius,
                ..
            } if head_radius <= radius => Err(format!(
                "head_radius is {head_radius}; it must be more than radius, {radius}"
            )),
            _ => Ok(()),
        }
    }

    /// The lengths that must be positive.
    pub(crate) fn lengths(&self) -> Vec<(&'static str, f64)> {
        match *self {
            Shape::Box { size } => size.map(|side| ("size", side)).to_vec(),
            Shape::Sphere { radius } => vec![("radius", radius)],
            Shape::Cylinder { radius, length } => vec![("radius", radius), ("length", length)],
            Shape::Capsule {
                radius,
                length: 0.0,
            } => vec![("radius", radius)],
            Shape::Capsule { radius, length } => vec![("radius", radius), ("length", length)],
            Shape::Plane { size } => vec![("size", size)],
            Shape::Cone { radius, height } => vec![("radius", radius), ("height", height)],
            Shape::Funnel {
                top_radius,
                bottom_radius,
                height,
                thickness,
            } => vec![
                ("top_radius", top_radius),
                ("bottom_radius", bottom_radius),
                ("height", height),
                ("thickness", thickness),
            ],
            Shape::Stairs {
                tread, rise, width, ..
            } => vec![("tread", tread), ("rise", rise), ("width", width)],
            Shape::Nail {
                radius,
                length,
                head_radius,
                head_thickness,
            } => vec![
                ("radius", radius),
                ("length", length),
                ("head_radius", head_radius),
                ("head_thickness", head_thickness),
            ],
        }
    }

    /// The surface, with edges of about the length `edge` (m); by default with the fewest triangles
    /// for flat faces, and 48 vertices around circles.
    ///
    /// Vertices are on the shape, so a round surface is slightly inside it. The error is a message
    /// on invalid lengths or more than [`MAX_SURFACE_VERTICES`].
    pub fn surface(&self, edge: Option<f64>) -> Result<Mesh, String> {
        self.check()?;
        if let Some(edge) = edge
            && !(edge.is_finite() && edge > 0.0)
        {
            return Err(format!("the edge length is {edge}; it must be more than 0"));
        }
        let estimate = self.vertex_estimate(edge);
        if estimate > MAX_SURFACE_VERTICES {
            return Err(format!(
                "its surface would have {estimate:.1e} vertices, more than \
                 {MAX_SURFACE_VERTICES:e}; use a longer edge"
            ));
        }
        Ok(match self.build(edge) {
            Build::Round(profile) => profile.surface(edge),
            Build::Square(patches) => patches.surface(),
        })
    }

    /// Number of vertices of the surface: exact for patches of a grid, approximate for surfaces of
    /// revolution.
    #[must_use]
    pub fn vertex_estimate(&self, edge: Option<f64>) -> f64 {
        match *self {
            // A formula, because the list of patches of many steps would be long.
            Shape::Stairs {
                steps,
                tread,
                rise,
                width,
            } => {
                let [a, b, c] = [tread, width, rise].map(|length| blocks::cells(length, edge));
                let steps = steps as f64;
                2.0 + 2.0 * b * steps * (a + c) + a * c * steps * (steps + 1.0)
            }
            _ => match self.build(edge) {
                Build::Round(profile) => profile.vertex_estimate(edge),
                Build::Square(patches) => patches.vertex_estimate(),
            },
        }
    }

    fn build(&self, edge: Option<f64>) -> Build {
        let round = |knots: &[[f64; 2]]| Build::Round(Profile::lines(knots));
        match *self {
            Shape::Box { size } => Build::Square(Patches::cuboid(size, edge)),
            Shape::Plane { size } => Build::Square(Patches::square(size, edge)),
            Shape::Stairs {
                steps,
                tread,
                rise,
                width,
            } => Build::Square(Patches::stairs(steps, [tread, width, rise], edge)),
            Shape::Sphere { radius } => Build::Round(Profile::open(capsule(radius, 0.0))),
            Shape::Capsule { radius, length } => {
                Build::Round(Profile::open(capsule(radius, length)))
            }
            Shape::Cylinder { radius, length } => {
                let half = 0.5 * length;
                round(&[[0.0, -half], [radius, -half], [radius, half], [0.0, half]])
            }
            Shape::Cone { radius, height } => round(&[[0.0, 0.0], [radius, 0.0], [0.0, height]]),
            Shape::Funnel {
                top_radius,
                bottom_radius,
                height,
                thickness,
            } => {
                // Width along the radius of a wall with this thickness along its normal.
                let wall = thickness * ((top_radius - bottom_radius) / height).hypot(1.0);
                let half = 0.5 * height;
                Build::Round(Profile::closed(&[
                    [bottom_radius + wall, -half],
                    [top_radius + wall, half],
                    [top_radius, half],
                    [bottom_radius, -half],
                ]))
            }
            Shape::Nail {
                radius,
                length,
                head_radius,
                head_thickness,
            } => {
                let top = length + head_thickness;
                round(&[
                    [0.0, 0.0],
                    [radius, nail_point(radius, length)],
                    [radius, length],
                    [head_radius, length],
                    [head_radius, top],
                    [0.0, top],
                ])
            }
        }
    }

    /// Whether [`Self::distance`] has a formula.
    #[must_use]
    pub fn is_analytic(&self) -> bool {
        !matches!(
            self,
            Shape::Funnel { .. } | Shape::Stairs { .. } | Shape::Nail { .. }
        )
    }

    /// Whether it is a surface of revolution about the z axis; a plane counts as one.
    pub(crate) fn is_round(&self) -> bool {
        !matches!(self, Shape::Box { .. } | Shape::Stairs { .. })
    }

    /// Largest distance of its surface from the origin (m); infinite for planes, and for shapes
    /// without a formula.
    pub(crate) fn outer_radius(&self) -> f64 {
        match *self {
            Shape::Box { size } => 0.5 * DVec3::from(size).length(),
            Shape::Sphere { radius } => radius,
            Shape::Cylinder { radius, length } => radius.hypot(0.5 * length),
            Shape::Capsule { radius, length } => radius + 0.5 * length,
            Shape::Cone { radius, height } => radius.max(height),
            _ => f64::INFINITY,
        }
    }

    /// Volume, centre and inertia, for shapes with a formula.
    #[must_use]
    pub fn mass_properties(&self) -> Option<MassProperties> {
        // Volume, height of the centre, and moments about x, y and z per volume.
        let (volume, height, [x, y, z]) = match *self {
            Shape::Box { size: [a, b, c] } => {
                let moments = [b * b + c * c, c * c + a * a, a * a + b * b];
                (a * b * c, 0.0, moments.map(|square| square / 12.0))
            }
            Shape::Sphere { radius } => {
                let moment = 0.4 * radius * radius;
                (4.0 / 3.0 * PI * radius.powi(3), 0.0, [moment; 3])
            }
            Shape::Cylinder { radius, length } => {
                let across = (3.0 * radius * radius + length * length) / 12.0;
                let moments = [across, across, 0.5 * radius * radius];
                (PI * radius * radius * length, 0.0, moments)
            }
            Shape::Capsule { radius, length } => {
                let square = radius * radius;
                let (ball, bar) = (4.0 / 3.0 * PI * radius.powi(3), PI * square * length);
                let volume = ball + bar;
                let along = (0.4 * ball + 0.5 * bar) * square / volume;
                // The centres of half balls are 3/8 of the radius beyond the ends of the cylinder.
                let ends = 0.4 * square + 0.25 * length * length + 0.375 * length * radius;
                let bar_across = length * length / 12.0 + 0.25 * square;
                let across = (ball * ends + bar * bar_across) / volume;
                (volume, 0.0, [across, across, along])
            }
            Shape::Cone { radius, height } => {
                let across = 0.15 * radius * radius + 0.0375 * height * height;
                let moments = [across, across, 0.3 * radius * radius];
                (PI * radius * radius * height / 3.0, 0.25 * height, moments)
            }
            _ => return None,
        };
        Some(MassProperties {
            volume,
            centre: DVec3::new(0.0, 0.0, height),
            inertia: DMat3::from_diagonal(DVec3::new(x, y, z) * volume),
        })
    }

    /// Signed distance from the shape (m), negative inside; none for shapes without a formula.
    ///
    /// That of a plane is z, also beyond its square.
    #[must_use]
    pub fn distance(&self, point: DVec3) -> Option<f64> {
        // Radius and height of the point, for shapes of revolution about z.
        let across = || DVec2::new(point.truncate().length(), point.z);
        Some(match *self {
            Shape::Box { size } => {
                let beyond = point.abs() - 0.5 * DVec3::from(size);
                beyond.max(DVec3::ZERO).length() + beyond.max_element().min(0.0)
            }
            Shape::Sphere { radius } => point.length() - radius,
            Shape::Cylinder { radius, length } => {
                let beyond = across().abs() - DVec2::new(radius, 0.5 * length);
                beyond.max(DVec2::ZERO).length() + beyond.max_element().min(0.0)
            }
            Shape::Capsule { radius, length } => {
                let half = (0.5 * length).max(0.0);
                point.distance(DVec3::Z * point.z.clamp(-half, half)) - radius
            }
            Shape::Plane { .. } => point.z,
            Shape::Cone { radius, height } => cone_distance(across(), radius, height),
            Shape::Funnel { .. } | Shape::Stairs { .. } | Shape::Nail { .. } => return None,
        })
    }
}

/// Construction of a surface.
enum Build {
    Round(Profile),
    Square(Patches),
}

/// Height of the point of a nail.
fn nail_point(radius: f64, length: f64) -> f64 {
    (3.0 * radius).min(0.5 * length)
}

fn capsule(radius: f64, length: f64) -> Vec<Section> {
    let half = 0.5 * length;
    let quarter = std::f64::consts::FRAC_PI_2;
    let mut sections = vec![Section::arc(-half, radius, [0.0, quarter])];
    if length > 0.0 {
        sections.push(Section::line([radius, -half], [radius, half]));
    }
    sections.push(Section::arc(half, radius, [quarter, 2.0 * quarter]));
    sections
}

/// Distance from a cone on z = 0, by radius and height of the point.
fn cone_distance(point: DVec2, radius: f64, height: f64) -> f64 {
    let rim = DVec2::new(radius, 0.0);
    let slope = DVec2::new(-radius, height);
    let from_rim = point - rim;
    let along = (from_rim.dot(slope) / slope.length_squared()).clamp(0.0, 1.0);
    let to_side = (from_rim - along * slope).length();
    let to_base = point.distance(DVec2::new(point.x.min(radius), 0.0));
    let nearest = to_side.min(to_base);
    let is_inside = point.y > 0.0 && slope.perp_dot(from_rim) > 0.0;
    if is_inside { -nearest } else { nearest }
}
