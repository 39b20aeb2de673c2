//! A rectangle of irregular triangles, without the preferred directions of a regular grid.
//!
//! Every interior vertex of the grid is moved at random within its cell, so that the density is
//! uniform but edges are not aligned. Then a Delaunay triangulation and a move of each interior
//! vertex to the centroid of its triangles are repeated a few times. The limit is a centroidal
//! patch triangulation, whose triangles are nearly equilateral (Chen, Mesh smoothing schemes based
//! on optimal Delaunay triangulations, 2004). The vertices of the boundary stay on the grid.
//!
//! Positions are in units of cells, where a grid of any size is a grid of squares. Only the
//! triangulation uses the true aspect ratio of a cell, limited by [`MAX_CELL_ASPECT`]: more
//! elongated cells have elongated triangles, but a triangulation that never degenerates.

use delaunator::Point;
use glam::DVec2;

use crate::random::Random;

/// Maximum initial displacement of an interior vertex from its grid point (cells).
///
/// Measured on 300 × 300 vertices: with 0.40 the preference of grid directions is larger by a half;
/// with 0.50 some pairs of vertices are so close that angles below 20° remain.
const JITTER: f64 = 0.45;

/// Rounds of triangulation and smoothing. The smallest angle has converged after six: for 90 000
/// vertices it is 4°, 14°, 20°, 23°, 24°, 25°, 25° after 0, 1, … 6 rounds.
const SMOOTHING_ROUNDS: usize = 6;

/// Maximum ratio of the sides of a cell for triangles with about equal sides.
///
/// Beyond, the spacing of the vertices on the boundary does not fit such triangles in the interior.
/// Of 22 000 sheets with 3 to 49 vertices along each side, none has an angle below 20° up to a
/// ratio of 1.3, and none below 18° up to a ratio of 2.
const MAX_CELL_ASPECT: f64 = 2.0;

/// Positions of the vertices of a sheet, in cells, and its triangles, counter-clockwise.
pub(super) struct SheetLayout {
    pub(super) places: Vec<DVec2>,
    pub(super) triangles: Vec<[u32; 3]>,
}

/// Irregular triangles over `counts` vertices, whose cells are `aspect` times as wide as high.
///
/// The number of vertices is that of the grid; those of the boundary have the same indices and
/// positions. None if there is no vertex in the interior.
pub(super) fn irregular(counts: [usize; 2], aspect: f64) -> Option<SheetLayout> {
    let [columns, rows] = counts;
    if columns < 3 || rows < 3 {
        return None;
    }
    let stretch = aspect.clamp(1.0 / MAX_CELL_ASPECT, MAX_CELL_ASPECT).sqrt();
    let stretch = DVec2::new(stretch, 1.0 / stretch);
    let mut places = jittered(counts);
    for _ in 0..SMOOTHING_ROUNDS {
        let triangles = delaunay(&places, stretch);
        move_to_centroids(&mut places, counts, &triangles);
    }
    let triangles = delaunay(&places, stretch);
    let layout = SheetLayout { places, triangles };
    layout.is_whole(counts).then_some(layout)
}

/// The vertices of a grid, with random displacements of the interior ones.
fn jittered([columns, rows]: [usize; 2]) -> Vec<DVec2> {
    let mut random = Random::new(0x5eed);
    let mut places = Vec::with_capacity(columns * rows);
    for j in 0..rows {
        for i in 0..columns {
            let mut place = DVec2::new(i as f64, j as f64);
            if is_interior([i, j], [columns, rows]) {
                place.x += random.between(-JITTER, JITTER);
                place.y += random.between(-JITTER, JITTER);
            }
            places.push(place);
        }
    }
    places
}

fn is_interior([i, j]: [usize; 2], [columns, rows]: [usize; 2]) -> bool {
    i > 0 && j > 0 && i + 1 < columns && j + 1 < rows
}

/// The Delaunay triangulation of the stretched points, counter-clockwise.
fn delaunay(places: &[DVec2], stretch: DVec2) -> Vec<[u32; 3]> {
    let stretched = |place: &DVec2| Point {
        x: place.x * stretch.x,
        y: place.y * stretch.y,
    };
    let points: Vec<Point> = places.iter().map(stretched).collect();
    let corners = delaunator::triangulate(&points).triangles;
    // The library assumes that y points downwards, so its orientation is reversed.
    let reversed =
        |corners: &[usize; 3]| [corners[0], corners[2], corners[1]].map(|corner| corner as u32);
    corners.as_chunks::<3>().0.iter().map(reversed).collect()
}

/// Moves each interior vertex to the centroid of the triangles around it.
fn move_to_centroids(places: &mut [DVec2], counts: [usize; 2], triangles: &[[u32; 3]]) {
    let mut moments = vec![(DVec2::ZERO, 0.0); places.len()];
    for corners in triangles {
        let [a, b, c] = corners.map(|corner| places[corner as usize]);
        let area = (b - a).perp_dot(c - a);
        for corner in corners {
            let (moment, weight) = &mut moments[*corner as usize];
            *moment += area * (a + b + c) / 3.0;
            *weight += area;
        }
    }
    let columns = counts[0];
    for (vertex, (moment, weight)) in moments.into_iter().enumerate() {
        if is_interior([vertex % columns, vertex / columns], counts) && weight > 0.0 {
            places[vertex] = moment / weight;
        }
    }
}

impl SheetLayout {
    /// Whether the triangles cover the rectangle once with all vertices: their number is that of
    /// Euler's formula, and none is inverted.
    fn is_whole(&self, [columns, rows]: [usize; 2]) -> bool {
        let boundary = 2 * (columns + rows - 2);
        let is_positive = |corners: &[u32; 3]| {
            let [a, b, c] = corners.map(|corner| self.places[corner as usize]);
            (b - a).perp_dot(c - a) > 0.0
        };
        self.triangles.len() == 2 * columns * rows - 2 - boundary
            && self.triangles.iter().all(is_positive)
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::*;
    use proptest::prelude::*;

    /// The smallest angle of all triangles (degrees), of cells `aspect` times as wide as high.
    fn smallest_angle(layout: &SheetLayout, aspect: f64) -> f64 {
        let mut smallest = PI;
        for corners in &layout.triangles {
            let points =
                corners.map(|corner| layout.places[corner as usize] * DVec2::new(aspect, 1.0));
            for corner in 0..3 {
                let [a, b, c] = [0, 1, 2].map(|step| points[(corner + step) % 3]);
                smallest = smallest.min((b - a).angle_to(c - a));
            }
        }
        smallest.to_degrees()
    }

    /// |mean of exp(i k θ)| over the directions θ of the edges: 0 if none is preferred, 1 if all
    /// are equal up to rotations by 360°/k.
    fn preference(layout: &SheetLayout, k: f64) -> f64 {
        let (mut sum, mut count) = (DVec2::ZERO, 0.0);
        for corners in &layout.triangles {
            let [a, b, c] = corners.map(|corner| layout.places[corner as usize]);
            for edge in [b - a, c - b, a - c] {
                sum += DVec2::from_angle(k * edge.to_angle());
                count += 1.0;
            }
        }
        sum.length() / count
    }

    #[test]
    fn angles_are_above_twenty_degrees_and_no_direction_is_preferred() {
        let layout = irregular([120, 120], 1.0).unwrap();
        assert!(smallest_angle(&layout, 1.0) > 24.0);
        // A grid of right diagonals has 1/3 with k = 2, one of alternating diagonals 1/3 with k =
        // 4, equilateral triangles in rows 1 with k = 6. The boundary edges along the axes
        // contribute to k = 4.
        assert!(preference(&layout, 2.0) < 0.01);
        assert!(preference(&layout, 4.0) < 0.07);
        assert!(preference(&layout, 6.0) < 0.03);
    }

    #[test]
    fn cells_up_to_twice_as_wide_as_high_still_have_good_angles() {
        for (aspect, bound) in [(0.5, 18.0), (0.8, 20.0), (1.2, 20.0), (2.0, 18.0)] {
            let angle = smallest_angle(&irregular([100, 60], aspect).unwrap(), aspect);
            assert!(angle > bound, "{angle}° for {aspect}");
        }
    }

    #[test]
    fn equal_counts_have_equal_layouts() {
        let [first, second] = [0, 1].map(|_| irregular([30, 20], 1.3).unwrap());
        assert_eq!(first.places, second.places);
        assert_eq!(first.triangles, second.triangles);
    }

    proptest! {
        #[test]
        fn every_interior_can_be_triangulated(
            counts in [3usize..40, 3usize..40],
            exponent in -300.0..300.0f64,
        ) {
            let layout = irregular(counts, 10f64.powf(exponent)).unwrap();
            prop_assert!(smallest_angle(&layout, 1.0) > 8.0, "in cells");
            for (vertex, place) in layout.places.iter().enumerate() {
                let grid = [vertex % counts[0], vertex / counts[0]];
                if !is_interior(grid, counts) {
                    prop_assert_eq!(place.to_array(), grid.map(|index| index as f64));
                }
            }
        }

        #[test]
        fn small_sheets_have_good_angles(
            counts in [3usize..30, 3usize..30],
            aspect in 0.8..1.25f64,
        ) {
            let angle = smallest_angle(&irregular(counts, aspect).unwrap(), aspect);
            prop_assert!(angle > 19.0, "{angle}°");
        }
    }
}
