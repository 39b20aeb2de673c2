//! Random points on a surface of triangles, where rods can stand.
//!
//! A triangle is drawn in proportion to its area, then a point in it, evenly (Turk, Generating random points in
//! triangles, Graphics Gems, 1990).

use glam::DVec3;

use crate::random::Random;

/// A surface of triangles.
#[derive(Clone, Copy, Debug)]
pub struct Surface<'a> {
    /// Positions (m).
    pub points: &'a [DVec3],
    /// Corners of the triangles, counter-clockwise seen from outside.
    pub triangles: &'a [[u32; 3]],
}

/// A point of a surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Root {
    /// The triangle that it lies in.
    pub triangle: u32,
    /// Barycentric weights of the triangle's corners; they sum to one.
    pub weights: [f64; 3],
}

impl Root {
    /// Where it is (m).
    ///
    /// # Panics
    /// If the surface has no such triangle.
    #[must_use]
    pub fn place(&self, surface: &Surface) -> DVec3 {
        let corners = surface.triangles[self.triangle as usize];
        let [a, b, c] = corners.map(|corner| surface.points[corner as usize]);
        let [first, second, third] = self.weights;
        first * a + second * b + third * c
    }
}

/// What is needed to draw points of a surface.
#[derive(Clone, Debug)]
pub(super) struct Sampler<'a> {
    surface: Surface<'a>,
    /// The area up to and with each triangle (m²).
    areas: Vec<f64>,
    /// Unit normals of the triangles, and sums of them by area at the points.
    faces: Vec<DVec3>,
    normals: Vec<DVec3>,
    /// The last triangle with an area.
    last: usize,
}

impl<'a> Sampler<'a> {
    pub(super) fn new(surface: Surface<'a>) -> Result<Sampler<'a>, String> {
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
        match total > 0.0 && total.is_finite() {
            true => Ok(sampler),
            false => Err(format!(
                "the area of the surface must be positive and finite, not {total}"
            )),
        }
    }

    /// The area of the surface (m²).
    pub(super) fn area(&self) -> f64 {
        self.areas.last().copied().unwrap_or(0.0)
    }

    /// The corners of a box around the surface.
    pub(super) fn bounds(&self) -> [DVec3; 2] {
        let points = self.surface.points.iter().copied();
        [
            points.clone().reduce(DVec3::min).unwrap_or(DVec3::ZERO),
            points.reduce(DVec3::max).unwrap_or(DVec3::ZERO),
        ]
    }

    /// A point, evenly over the surface.
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
        (root.place(&self.surface), root)
    }

    /// The unit normals at a point: that of its triangle, and one that changes smoothly over the surface.
    pub(super) fn normals(&self, root: &Root) -> [DVec3; 2] {
        let face = self.faces[root.triangle as usize];
        let corners = self.surface.triangles[root.triangle as usize];
        let [first, second, third] = root.weights;
        let [a, b, c] = corners.map(|corner| self.normals[corner as usize].normalize_or_zero());
        let smooth = (first * a + second * b + third * c).normalize_or_zero();
        // Where the surface is folded sharply the smooth normal can point inwards or vanish.
        match smooth.dot(face) > 0.0 {
            true => [face, smooth],
            false => [face, face],
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
    fn points_are_drawn_by_area_and_evenly_within() {
        let surface = Surface {
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
            assert_eq!(place, root.place(&surface));
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
    fn what_is_no_surface_is_refused() {
        let error = |points: &[DVec3], triangles: &[[u32; 3]]| {
            Sampler::new(Surface { points, triangles }).unwrap_err()
        };
        assert!(error(&POINTS, &[[0, 1, 5]]).starts_with("triangle 0 of the surface has a corner"));
        assert!(error(&[DVec3::NAN], &[]).starts_with("point 0"));
        assert!(error(&POINTS, &[[0, 4, 1]]).contains("area"));
        assert!(error(&[], &[]).contains("area"));
        let far = [DVec3::ZERO, 1e200 * DVec3::X, 1e200 * DVec3::Y];
        assert!(error(&far, &[[0, 1, 2]]).contains("area"));
    }
}
