//! Random points on a surface of triangles, as roots of rods.
//!
//! A triangle is drawn with a probability proportional to its area, then a point in it, with
//! uniform density (Turk, Generating random points in triangles, Graphics Gems, 1990).

use glam::DVec3;

use crate::random::Random;

/// A surface of triangles.
#[derive(Clone, Copy, Debug)]
pub struct HostSurface<'a> {
    /// Positions (m).
    pub points: &'a [DVec3],
    /// Corners of the triangles, counter-clockwise seen from outside.
    pub triangles: &'a [[u32; 3]],
}

/// A point of a surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Root {
    /// Index of the triangle.
    pub triangle: u32,
    /// Barycentric weights of the triangle's corners, with sum 1.
    pub weights: [f64; 3],
}

impl Root {
    /// Position (m).
    ///
    /// # Panics
    /// If the surface has no such triangle.
    #[must_use]
    pub fn position(&self, surface: &HostSurface) -> DVec3 {
        let corners = surface.triangles[self.triangle as usize];
        let [a, b, c] = corners.map(|corner| surface.points[corner as usize]);
        let [first, second, third] = self.weights;
        first * a + second * b + third * c
    }
}

/// Draws random points of a surface.
#[derive(Clone, Debug)]
pub(super) struct Sampler<'a> {
    surface: HostSurface<'a>,
    /// Cumulative areas of the triangles (m²).
    areas: Vec<f64>,
    /// Unit normals of the triangles, and area-weighted sums of them at the points.
    faces: Vec<DVec3>,
    normals: Vec<DVec3>,
    /// The last triangle with an area.
    last: usize,
}

impl<'a> Sampler<'a> {
    pub(super) fn new(surface: HostSurface<'a>) -> Result<Sampler<'a>, String> {
        let count = surface.points.len();
        if let Some(index) = surface.points.iter().position(|point| !point.is_finite()) {
            return Err(format!("point {index} of the surface is not finite"));
        }
        let is_outside =
            |corners: &[u32; 3]| corners.iter().any(|&corner| corner as usize >= count);
        if let Some(index) = surface.triangles.iter().position(is_outside) {
            return Err(format!(
                "triangle {index} of the surface has a corner that is not among its {count} points"
            ));
        }
        let mut sampler = Sampler {
            surface,
            areas: Vec::with_capacity(surface.triangles.len()),
            faces: Vec::with_capacity(surface.triangles.len()),
            normals: vec![DVec3::ZERO; count],
            last: 0,
        };
        let mut total = 0.0;
        for (index, corners) in surface.triangles.iter().enumerate() {
            let [a, b, c] = corners.map(|corner| surface.points[corner as usize]);
            let normal = 0.5 * (b - a).cross(c - a);
            if normal.length() > 0.0 {
                sampler.last = index;
            }
            total += normal.length();
            sampler.areas.push(total);
            sampler.faces.push(normal.normalize_or_zero());
            for &corner in corners {
                sampler.normals[corner as usize] += normal;
            }
        }
        if total > 0.0 && total.is_finite() {
            Ok(sampler)
        } else {
            Err(format!(
                "the area of the surface must be positive and finite, not {total}"
            ))
        }
    }

    /// The area of the surface (m²).
    pub(super) fn area(&self) -> f64 {
        self.areas.last().copied().unwrap_or(0.0)
    }

    /// Corners of the bounding box.
    pub(super) fn bounds(&self) -> [DVec3; 2] {
        let points = self.surface.points.iter().copied();
        [
            points.clone().reduce(DVec3::min).unwrap_or(DVec3::ZERO),
            points.reduce(DVec3::max).unwrap_or(DVec3::ZERO),
        ]
    }

    /// A random point with uniform density, and its root.
    pub(super) fn draw(&self, random: &mut Random) -> (DVec3, Root) {
        let target = random.between(0.0, self.area());
        let triangle = self
            .areas
            .partition_point(|&area| area <= target)
            .min(self.last);
        let across = random.between(0.0, 1.0).sqrt();
        let along = random.between(0.0, 1.0);
        let root = Root {
            triangle: triangle as u32,
            weights: [1.0 - across, across * (1.0 - along), across * along],
        };
        (root.position(&self.surface), root)
    }

    /// Unit normals at a point: that of its triangle, and one that is interpolated over the
    /// surface.
    pub(super) fn normals(&self, root: &Root) -> [DVec3; 2] {
        let face = self.faces[root.triangle as usize];
        let corners = self.surface.triangles[root.triangle as usize];
        let [first, second, third] = root.weights;
        let [a, b, c] = corners.map(|corner| self.normals[corner as usize].normalize_or_zero());
        let smooth = (first * a + second * b + third * c).normalize_or_zero();
        // At a sharp fold the smooth normal can point inwards or vanish.
        if smooth.dot(face) > 0.0 {
            [face, smooth]
        } else {
            [face, face]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two triangles of areas 1 and 3 in the plane z = 0, and one without area between them.
    const POINTS: [DVec3; 5] = [
        DVec3::ZERO,
        DVec3::new(2.0, 0.0, 0.0),
        DVec3::new(0.0, 1.0, 0.0),
        DVec3::new(0.0, -3.0, 0.0),
        DVec3::new(1.0, 0.0, 0.0),
    ];
    const TRIANGLES: [[u32; 3]; 3] = [[0, 1, 2], [0, 4, 1], [0, 3, 1]];

    #[test]
    fn points_have_a_uniform_density() {
        let surface = HostSurface {
            points: &POINTS,
            triangles: &TRIANGLES,
        };
        let sampler = Sampler::new(surface).unwrap();
        assert_eq!(sampler.area(), 4.0);
        assert_eq!(
            sampler.bounds(),
            [DVec3::new(0.0, -3.0, 0.0), DVec3::new(2.0, 1.0, 0.0)]
        );
        let mut random = Random::new(3);
        let count = 10_000;
        let (mut counts, mut mean) = ([0.0; 3], DVec3::ZERO);
        for _ in 0..count {
            let (place, root) = sampler.draw(&mut random);
            assert_eq!(place, root.position(&surface));
            assert!(root.weights.iter().all(|&weight| weight >= 0.0));
            assert!((root.weights.iter().sum::<f64>() - 1.0).abs() < 1e-15);
            counts[root.triangle as usize] += 1.0;
            mean += place / f64::from(count);
        }
        // Four standard deviations of a count with the probability 1/4: 4 √(3/16 n).
        assert_eq!(counts[1], 0.0);
        assert!(
            (counts[0] - 2500.0_f64).abs() < 4.0 * 1875.0_f64.sqrt(),
            "{counts:?}"
        );
        // The centroid is (1/4) (2/3, 1/3) + (3/4) (2/3, -1); coordinates deviate by less than 1.
        let centroid = DVec3::new(2.0 / 3.0, 1.0 / 12.0 - 0.75, 0.0);
        assert!((mean - centroid).length() < 4.0 / 100.0, "{mean}");
    }

    #[test]
    fn invalid_surfaces_are_refused() {
        let error = |points: &[DVec3], triangles: &[[u32; 3]]| {
            Sampler::new(HostSurface { points, triangles }).unwrap_err()
        };
        assert!(error(&POINTS, &[[0, 1, 5]]).starts_with("triangle 0 of the surface has a corner"));
        assert!(error(&[DVec3::NAN], &[]).starts_with("point 0"));
        assert!(error(&POINTS, &[[0, 4, 1]]).contains("area"));
        assert!(error(&[], &[]).contains("area"));
        let far = [DVec3::ZERO, 1e200 * DVec3::X, 1e200 * DVec3::Y];
        assert!(error(&far, &[[0, 1, 2]]).contains("area"));
    }
}
