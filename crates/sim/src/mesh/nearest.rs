//! The nearest point of a surface or of curves.
//!
//! [`NearestTree`] is a tree of boxes, split at the median of the longest side. Elements with
//! missing or infinite vertices are skipped. Among elements of equal distance, the one with the
//! lowest index is returned.

use glam::DVec3;

/// Maximum number of elements in a leaf of the tree.
const LEAF_SIZE: usize = 4;

/// Directions with a smaller sine are parallel, up to rounding.
const PARALLEL_SINE: f64 = 1e-14;

/// The nearest point of a mesh: Σ `weights[i]` times corner i of the element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NearestPoint<const CORNERS: usize> {
    /// Index of the triangle or edge.
    pub element: usize,
    /// Weights of its corners: not negative, with sum 1.
    pub weights: [f64; CORNERS],
    /// Distance from the query (m).
    pub distance: f64,
}

/// Weights of the nearest point of a segment to `query`.
#[must_use]
#[inline]
pub fn closest_on_segment([a, b]: [DVec3; 2], query: DVec3) -> [f64; 2] {
    let along = b - a;
    let fraction = (query - a).dot(along) / along.length_squared();
    // NaN for a segment without length.
    let fraction = if fraction.is_finite() {
        fraction.clamp(0.0, 1.0)
    } else {
        0.0
    };
    [1.0 - fraction, fraction]
}

/// Weights of the nearest point of a triangle to `query`.
///
/// This is the projection on the plane if it is inside, else the nearest point of the sides. Both
/// are computed without squares of areas, so the distance is accurate up to rounding also for
/// needles, and sizes from 2⁻⁴⁰⁰ to 2⁴⁰⁰ do not overflow.
#[must_use]
pub fn closest_in_triangle(corners: [DVec3; 3], query: DVec3) -> [f64; 3] {
    let [a, b, c] = corners;
    // Start at a corner of the longest side, where the two directions are best conditioned.
    let squares = [
        (b - a).length_squared(),
        (c - b).length_squared(),
        (a - c).length_squared(),
    ];
    let first = (0..3).fold(0, |longest, side| {
        if squares[side] > squares[longest] {
            side
        } else {
            longest
        }
    });
    let [second, third] = [(first + 1) % 3, (first + 2) % 3];
    let origin = corners[first];
    let sides = [corners[second] - origin, corners[third] - origin];
    if let Some([v, w]) = nearest_combination(sides, query - origin)
        && v > 0.0
        && w > 0.0
        && v + w < 1.0
    {
        let mut weights = [0.0; 3];
        weights[first] = 1.0 - v - w;
        weights[second] = v;
        weights[third] = w;
        return weights;
    }
    closest_on_sides(corners, query)
}

/// Weights of the nearest point of the three sides to `query`.
fn closest_on_sides(corners: [DVec3; 3], query: DVec3) -> [f64; 3] {
    let [a, b, c] = corners;
    let [ab, bc, ca] = [[a, b], [b, c], [c, a]].map(|segment| {
        let [first, second] = closest_on_segment(segment, query);
        let apart = (query - segment[0]) - second * (segment[1] - segment[0]);
        ([first, second], apart.length_squared())
    });
    let mut best = ([ab.0[0], ab.0[1], 0.0], ab.1);
    for other in [
        ([0.0, bc.0[0], bc.0[1]], bc.1),
        ([ca.0[1], 0.0, ca.0[0]], ca.1),
    ] {
        if other.1 < best.1 {
            best = other;
        }
    }
    best.0
}

/// Coefficients of the linear combination of two directions that is nearest to `target`; none if
/// they are parallel.
///
/// Gram-Schmidt with reorthogonalization: errors of the weights move the point by no more than
/// rounding, also for nearly parallel directions. The first should be the longer one.
#[inline]
pub(crate) fn nearest_combination([along, other]: [DVec3; 2], target: DVec3) -> Option<[f64; 2]> {
    let inverse = along.length_squared().recip();
    let across = |vector: DVec3| {
        let once = vector - along * (along.dot(vector) * inverse);
        once - along * (along.dot(once) * inverse)
    };
    let (other_across, target_across) = (across(other), across(target));
    let across_square = other_across.length_squared();
    let second = other_across.dot(target_across) / across_square;
    let first = along.dot(target - other * second) * inverse;
    let is_independent = across_square > PARALLEL_SINE * PARALLEL_SINE * other.length_squared();
    (is_independent && first.is_finite() && second.is_finite()).then_some([first, second])
}

fn blend<const CORNERS: usize>(corners: [DVec3; CORNERS], weights: [f64; CORNERS]) -> DVec3 {
    let terms = corners.iter().zip(weights);
    terms.map(|(corner, weight)| *corner * weight).sum()
}

/// Positions of the corners, if all exist and are finite.
fn corners_of<const CORNERS: usize>(
    points: &[DVec3],
    element: &[u32; CORNERS],
) -> Option<[DVec3; CORNERS]> {
    let mut corners = [DVec3::ZERO; CORNERS];
    for (corner, &vertex) in corners.iter_mut().zip(element) {
        *corner = *points
            .get(vertex as usize)
            .filter(|point| point.is_finite())?;
    }
    Some(corners)
}

type Closest<const CORNERS: usize> = fn([DVec3; CORNERS], DVec3) -> [f64; CORNERS];

/// The nearest point among those tested, with its squared distance.
struct Best<const CORNERS: usize> {
    element: usize,
    weights: [f64; CORNERS],
    squared: f64,
}

impl<const CORNERS: usize> Best<CORNERS> {
    fn point(self) -> NearestPoint<CORNERS> {
        NearestPoint {
            element: self.element,
            weights: self.weights,
            distance: self.squared.sqrt(),
        }
    }
}

fn consider<const CORNERS: usize>(
    best: &mut Option<Best<CORNERS>>,
    element: usize,
    corners: [DVec3; CORNERS],
    query: DVec3,
    closest: Closest<CORNERS>,
) {
    let weights = closest(corners, query);
    let squared = blend(corners, weights).distance_squared(query);
    let is_better = match best {
        Some(best) => squared < best.squared || (squared == best.squared && element < best.element),
        None => true,
    };
    if is_better {
        *best = Some(Best {
            element,
            weights,
            squared,
        });
    }
}

/// A box of the tree.
#[derive(Clone, Copy, Debug)]
struct Node {
    low: DVec3,
    high: DVec3,
    /// The elements of a leaf, as a range of `NearestTree::leaves`.
    first: usize,
    /// Number of elements of a leaf. 0 for an inner node, whose children are the next node and
    /// `first`.
    count: usize,
}

impl Node {
    fn distance_squared(&self, query: DVec3) -> f64 {
        query.distance_squared(query.clamp(self.low, self.high))
    }
}

/// A tree of boxes over triangles or edges.
#[derive(Clone, Debug)]
pub struct NearestTree<const CORNERS: usize> {
    nodes: Vec<Node>,
    /// Elements with their corners, leaf by leaf.
    leaves: Vec<(usize, [DVec3; CORNERS])>,
    closest: Closest<CORNERS>,
}

impl NearestTree<3> {
    /// A tree over triangles.
    #[must_use]
    pub fn of_triangles(points: &[DVec3], triangles: &[[u32; 3]]) -> NearestTree<3> {
        NearestTree::new(points, triangles, closest_in_triangle)
    }
}

impl NearestTree<2> {
    /// A tree over edges.
    #[must_use]
    pub fn of_edges(points: &[DVec3], edges: &[[u32; 2]]) -> NearestTree<2> {
        NearestTree::new(points, edges, closest_on_segment)
    }
}

impl<const CORNERS: usize> NearestTree<CORNERS> {
    fn new(points: &[DVec3], elements: &[[u32; CORNERS]], closest: Closest<CORNERS>) -> Self {
        let valid = elements.iter().enumerate();
        let leaves: Vec<_> = valid
            .filter_map(|(index, element)| Some((index, corners_of(points, element)?)))
            .collect();
        let mut tree = NearestTree {
            nodes: Vec::new(),
            leaves,
            closest,
        };
        if !tree.leaves.is_empty() {
            tree.split(0, tree.leaves.len());
        }
        tree
    }

    /// Adds the node of a range of elements and its descendants. The depth is logarithmic.
    fn split(&mut self, first: usize, count: usize) {
        let range = &mut self.leaves[first..first + count];
        let (mut low, mut high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        for corner in range.iter().flat_map(|(_, corners)| corners) {
            low = low.min(*corner);
            high = high.max(*corner);
        }
        let node = self.nodes.len();
        let is_leaf = count <= LEAF_SIZE;
        self.nodes.push(Node {
            low,
            high,
            first,
            count: if is_leaf { count } else { 0 },
        });
        if is_leaf {
            return;
        }
        let axis = (high - low).max_position();
        let middle = |corners: &[DVec3; CORNERS]| corners.iter().map(|c| c[axis]).sum::<f64>();
        let half = count / 2;
        range.select_nth_unstable_by(half, |(one, one_corners), (other, other_corners)| {
            let places = middle(one_corners).total_cmp(&middle(other_corners));
            places.then(one.cmp(other))
        });
        self.split(first, half);
        self.nodes[node].first = self.nodes.len();
        self.split(first + half, count - half);
    }

    /// The nearest point; none if there are no elements, or `query` is not finite.
    #[must_use]
    pub fn find(&self, query: DVec3) -> Option<NearestPoint<CORNERS>> {
        if !query.is_finite() || self.nodes.is_empty() {
            return None;
        }
        let mut best: Option<Best<CORNERS>> = None;
        let mut stack = vec![(0, 0.0)];
        while let Some((index, box_distance)) = stack.pop() {
            // The margin is for rounding, so that the lowest index is found among equal distances.
            if best
                .as_ref()
                .is_some_and(|best| box_distance > best.squared * (1.0 + 1e-12))
            {
                continue;
            }
            let node = &self.nodes[index];
            if node.count > 0 {
                for (element, corners) in &self.leaves[node.first..node.first + node.count] {
                    consider(&mut best, *element, *corners, query, self.closest);
                }
                continue;
            }
            let [near, far] = [index + 1, node.first]
                .map(|child| (child, self.nodes[child].distance_squared(query)));
            let (near, far) = if near.1 <= far.1 {
                (near, far)
            } else {
                (far, near)
            };
            stack.push(far);
            stack.push(near);
        }
        best.map(Best::point)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::sheet::{Cells, grid};
    use crate::random::Random;
    use proptest::prelude::*;

    /// The nearest point by a search of all elements.
    fn search_all<const CORNERS: usize>(
        points: &[DVec3],
        elements: &[[u32; CORNERS]],
        query: DVec3,
        closest: Closest<CORNERS>,
    ) -> Option<NearestPoint<CORNERS>> {
        if !query.is_finite() {
            return None;
        }
        let mut best = None;
        for (index, element) in elements.iter().enumerate() {
            if let Some(corners) = corners_of(points, element) {
                consider(&mut best, index, corners, query, closest);
            }
        }
        best.map(Best::point)
    }

    fn vector() -> impl Strategy<Value = DVec3> {
        [-2.0..2.0_f64, -2.0..2.0, -2.0..2.0].prop_map(DVec3::from)
    }

    /// Random triangles and edges over random points.
    fn soup(seed: u64) -> (Vec<DVec3>, Vec<[u32; 3]>, Vec<[u32; 2]>) {
        let mut random = Random::new(seed);
        let points = (0..40)
            .map(|_| random.unit_vector() * random.between(0.0, 2.0))
            .collect();
        let triangles = (0..60)
            .map(|_| [0; 3].map(|_| random.below(40) as u32))
            .collect();
        let edges = (0..60)
            .map(|_| [0; 2].map(|_| random.below(40) as u32))
            .collect();
        (points, triangles, edges)
    }

    proptest! {
        #[test]
        fn the_nearest_point_of_a_triangle_is_a_minimum(
            corners in [vector(), vector(), vector()], query in vector(), thin in 0..4_i32
        ) {
            // Also degenerate triangles.
            let [a, b, c] = corners;
            let c = if thin > 0 { a + 0.3 * (b - a) + 10_f64.powi(-5 * thin) * c } else { c };
            let weights = closest_in_triangle([a, b, c], query);
            prop_assert!(weights.iter().all(|weight| *weight >= 0.0));
            prop_assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-14);
            let nearest = blend([a, b, c], weights);
            for i in 0..=12 {
                for j in 0..=12 - i {
                    let (v, w) = (f64::from(i) / 12.0, f64::from(j) / 12.0);
                    let other = blend([a, b, c], [1.0 - v - w, v, w]);
                    // The condition for the nearest point of a convex set.
                    prop_assert!((query - nearest).dot(other - nearest) < 1e-9);
                    prop_assert!(nearest.distance(query) <= other.distance(query) + 1e-12);
                }
            }
        }

        #[test]
        fn the_tree_agrees_with_a_search_of_all_elements(seed in 0..u64::MAX, query in vector()) {
            let (points, triangles, edges) = soup(seed);
            let all = search_all(&points, &triangles, query, closest_in_triangle);
            prop_assert_eq!(NearestTree::of_triangles(&points, &triangles).find(query), all);
            let all = search_all(&points, &edges, query, closest_on_segment);
            prop_assert_eq!(NearestTree::of_edges(&points, &edges).find(query), all);
        }
    }

    #[test]
    fn among_equal_distances_the_lowest_index_is_returned() {
        let mesh = grid([2.0, 2.0], [9, 9], Cells::Alternating);
        let tree = NearestTree::of_triangles(&mesh.points, &mesh.triangles);
        for (vertex, point) in mesh.points.iter().enumerate() {
            let found = tree.find(*point + DVec3::Z).unwrap();
            let first = mesh
                .triangles
                .iter()
                .position(|corners| corners.contains(&(vertex as u32)));
            assert_eq!(Some(found.element), first);
            assert!((found.distance - 1.0).abs() < 1e-15);
        }
    }

    #[test]
    fn invalid_elements_and_queries_have_no_nearest_point() {
        let points = [DVec3::ZERO, DVec3::X, DVec3::splat(f64::NAN)];
        let find =
            |triangles: &[[u32; 3]]| NearestTree::of_triangles(&points, triangles).find(DVec3::X);
        assert_eq!(find(&[]), None);
        assert_eq!(find(&[[0, 1, 2]]), None);
        assert_eq!(find(&[[0, 1, 7]]), None);
        let tree = NearestTree::of_edges(&points, &[[0, 1]]);
        assert_eq!(tree.find(DVec3::NAN), None);
        let far = tree.find(DVec3::splat(1e300)).unwrap();
        assert_eq!(far.weights, [0.0, 1.0]);
    }
}
