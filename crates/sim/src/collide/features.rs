//! The features that can collide: points of all objects in one array, with the edges and triangles
//! between them, and the pairs of parts that may collide.
//!
//! All collisions are pairs of two kinds: a point and a triangle, or two edges. Segments of rods
//! are edges. A lone point, in neither a triangle nor a segment, is an edge with both ends at that
//! point. The leaves of the tree contain *primitives*: triangles, segments and lone points. Each
//! point and edge is owned by one primitive (the representative triangles of Curtis et al. 2008),
//! so that a pair of features is found once, however many triangles share it.

/// A copy of an object, or all its rods: the unit for which self-collision is switched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Whether any of its points is free. Two parts that are not free do not collide.
    pub is_free: bool,
    /// Whether it can collide with itself; rigid props cannot.
    pub self_collides: bool,
}

/// The content of a tree leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Primitive {
    /// Its corners; a segment repeats its second point, a lone point its only one.
    pub points: [u32; 3],
    /// Its triangle; `NONE` for segments and lone points.
    pub triangle: u32,
    /// The edges that it owns, `NONE` in the other entries.
    pub owned_edges: [u32; 3],
    /// The points that it owns, `NONE` in the other entries.
    pub owned_points: [u32; 3],
    /// Its part.
    pub part: u32,
}

/// Index of no feature.
pub const NONE: u32 = u32::MAX;

/// A list of features for each feature, stored one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FeatureLists {
    ends: Vec<u32>,
    items: Vec<u32>,
}

impl FeatureLists {
    /// Groups pairs (list, item) by list, ascending and each once.
    #[must_use]
    pub fn new(count: usize, mut pairs: Vec<[u32; 2]>) -> FeatureLists {
        pairs.sort_unstable();
        pairs.dedup();
        let mut ends = vec![0; count];
        for [list, _] in &pairs {
            ends[*list as usize] += 1;
        }
        let mut sum = 0;
        for end in &mut ends {
            sum += *end;
            *end = sum;
        }
        FeatureLists {
            ends,
            items: pairs.into_iter().map(|[_, item]| item).collect(),
        }
    }

    /// The items of a list, ascending.
    #[must_use]
    pub fn of(&self, list: u32) -> &[u32] {
        let list = list as usize;
        let from = if list == 0 { 0 } else { self.ends[list - 1] };
        &self.items[from as usize..self.ends[list] as usize]
    }
}

/// All features that can collide. Positions are arguments of each query.
#[derive(Clone, Debug, Default)]
pub struct Features {
    /// The part of each point.
    pub part_of: Vec<u32>,
    /// The parts.
    pub parts: Vec<Part>,
    /// Corners of the triangles.
    pub triangles: Vec<[u32; 3]>,
    /// Edges of each triangle; edge k joins corners k and k + 1.
    pub triangle_edges: Vec<[u32; 3]>,
    /// Ends of the edges, smaller first, sorted: sides of triangles, segments of rods, and lone
    /// points twice.
    pub edges: Vec<[u32; 2]>,
    /// Triangles on each edge.
    pub edge_triangles: FeatureLists,
    /// Edges at each point; none for lone points.
    pub point_edges: FeatureLists,
    /// The content of the tree: triangles, then segments, then lone points.
    pub primitives: Vec<Primitive>,
    /// Points that count as one with a point, such as the root of a hair and the corners of its
    /// triangle; most lists are empty.
    joined: FeatureLists,
    has_joined: bool,
    /// The collision group of each part; if empty, all parts are in group 0.
    groups: Vec<u32>,
    /// Pairs of groups that do not collide, the smaller first, sorted.
    disabled: Vec<[u32; 2]>,
}

impl Features {
    /// The features of triangles and rod segments on these points. `joined` are pairs of points
    /// that count as one.
    ///
    /// All corners must be smaller than the number of points in `part_of`, and all parts smaller
    /// than the number of `parts`.
    #[must_use]
    pub fn new(
        part_of: Vec<u32>,
        parts: Vec<Part>,
        triangles: Vec<[u32; 3]>,
        segments: &[[u32; 2]],
        joined: &[[u32; 2]],
    ) -> Features {
        let points = part_of.len();
        let (edges, segments) = all_edges(points, &triangles, segments);
        let index = |a: u32, b: u32| {
            edges
                .binary_search(&[a.min(b), a.max(b)])
                .map_or(NONE, |at| at as u32)
        };
        let triangle_edges: Vec<[u32; 3]> = triangles
            .iter()
            .map(|&[a, b, c]| [index(a, b), index(b, c), index(c, a)])
            .collect();
        let sides = triangle_edges.iter().enumerate();
        let edge_triangles = sides
            .flat_map(|(triangle, edges)| edges.map(|edge| [edge, triangle as u32]))
            .collect();
        let ends = edges
            .iter()
            .enumerate()
            .filter(|(_, ends)| ends[0] != ends[1]);
        let point_edges = ends
            .flat_map(|(edge, ends)| ends.map(|point| [point, edge as u32]))
            .collect();
        let mut features = Features {
            parts,
            edge_triangles: FeatureLists::new(edges.len(), edge_triangles),
            point_edges: FeatureLists::new(points, point_edges),
            joined: FeatureLists::new(
                points,
                joined.iter().flat_map(|&[a, b]| [[a, b], [b, a]]).collect(),
            ),
            groups: Vec::new(),
            disabled: Vec::new(),
            has_joined: !joined.is_empty(),
            primitives: Vec::new(),
            part_of,
            triangles,
            triangle_edges,
            edges,
        };
        features.primitives = features.assign_owners(&segments);
        features
    }

    /// Assigns each point and edge to the first primitive that contains it.
    fn assign_owners(&self, segments: &[u32]) -> Vec<Primitive> {
        let mut is_point_owned = vec![false; self.part_of.len()];
        let mut is_edge_owned = vec![false; self.edges.len()];
        let take = |is_owned: &mut Vec<bool>, feature: u32| {
            let was_owned = std::mem::replace(&mut is_owned[feature as usize], true);
            if was_owned { NONE } else { feature }
        };
        let triangles = self.triangles.iter().zip(&self.triangle_edges).enumerate();
        let triangles =
            triangles.map(|(triangle, (corners, edges))| (*corners, *edges, triangle as u32));
        let segments = segments.iter().map(|&edge| {
            let [a, b] = self.edges[edge as usize];
            ([a, b, b], [edge, NONE, NONE], NONE)
        });
        triangles
            .chain(segments)
            .map(|(points, edges, triangle)| Primitive {
                points,
                triangle,
                owned_edges: edges.map(|edge| match edge {
                    NONE => NONE,
                    edge => take(&mut is_edge_owned, edge),
                }),
                owned_points: points.map(|point| take(&mut is_point_owned, point)),
                part: self.part_of[points[0] as usize],
            })
            .collect()
    }

    /// Assigns a group to every part, and disables collisions of some pairs of groups (or of a
    /// group with itself).
    #[must_use]
    pub fn with_collision_filter(
        mut self,
        groups: Vec<u32>,
        mut disabled: Vec<[u32; 2]>,
    ) -> Features {
        for [one, other] in &mut disabled {
            (*one, *other) = ((*one).min(*other), (*one).max(*other));
        }
        disabled.sort_unstable();
        disabled.dedup();
        self.groups = groups;
        self.disabled = disabled;
        self
    }

    /// Whether all parts collide with each other and with themselves.
    pub(super) fn all_parts_collide(&self) -> bool {
        let mut parts = self.parts.iter();
        self.disabled.is_empty() && parts.all(|part| part.is_free && part.self_collides)
    }

    fn is_disabled(&self, a: u32, b: u32) -> bool {
        let [one, other] = [a, b].map(|part| self.groups.get(part as usize).copied());
        let [one, other] = [one, other].map(|group| group.unwrap_or(0));
        self.disabled
            .binary_search(&[one.min(other), one.max(other)])
            .is_ok()
    }

    /// Whether any two points are joined.
    #[inline]
    pub(super) fn has_joined(&self) -> bool {
        self.has_joined
    }

    /// Whether two points are the same, or joined.
    #[inline]
    #[must_use]
    pub fn are_joined(&self, a: u32, b: u32) -> bool {
        a == b || (self.has_joined && self.joined.of(a).binary_search(&b).is_ok())
    }

    /// Whether features of two parts may collide.
    #[inline]
    #[must_use]
    pub fn may_collide(&self, a: u32, b: u32) -> bool {
        let (one, other) = (self.parts[a as usize], self.parts[b as usize]);
        if !self.disabled.is_empty() && self.is_disabled(a, b) {
            return false;
        }
        if a == b {
            one.self_collides
        } else {
            one.is_free || other.is_free
        }
    }

    /// Whether a point and a triangle may collide: their parts may, and they have no joined points.
    #[inline]
    #[must_use]
    pub fn may_collide_point_triangle(&self, point: u32, triangle: u32) -> bool {
        let corners = self.triangles[triangle as usize];
        self.may_collide(
            self.part_of[point as usize],
            self.part_of[corners[0] as usize],
        ) && !corners.iter().any(|&corner| self.are_joined(point, corner))
    }

    /// Whether two edges may collide: their parts may, and they have no joined points. A lone point
    /// and a side of a triangle may not: the point and the triangle are a pair instead.
    #[inline]
    #[must_use]
    pub fn may_collide_edges(&self, a: u32, b: u32) -> bool {
        let (one, other) = (self.edges[a as usize], self.edges[b as usize]);
        let is_side = |edge: u32| !self.edge_triangles.of(edge).is_empty();
        if (one[0] == one[1] && is_side(b)) || (other[0] == other[1] && is_side(a)) {
            return false;
        }
        self.may_collide(
            self.part_of[one[0] as usize],
            self.part_of[other[0] as usize],
        ) && !one
            .iter()
            .any(|&p| other.iter().any(|&q| self.are_joined(p, q)))
    }
}

/// All edges, each once and sorted, and the indices of segments and lone points among them.
fn all_edges(
    points: usize,
    triangles: &[[u32; 3]],
    segments: &[[u32; 2]],
) -> (Vec<[u32; 2]>, Vec<u32>) {
    let mut is_lone = vec![true; points];
    let corners = triangles.iter().flatten().chain(segments.iter().flatten());
    corners.for_each(|&point| is_lone[point as usize] = false);
    let mut sides: Vec<[u32; 2]> = triangles
        .iter()
        .flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]])
        .collect();
    for [a, b] in &mut sides {
        (*a, *b) = ((*a).min(*b), (*a).max(*b));
    }
    sides.sort_unstable();
    sides.dedup();
    let lone = (0..points as u32)
        .filter(|&point| is_lone[point as usize])
        .map(|point| [point; 2]);
    let segments = segments.iter().map(|&[a, b]| [a.min(b), a.max(b)]);
    // A segment that is also a side of a triangle belongs to the triangle.
    let mut others: Vec<[u32; 2]> = segments
        .filter(|ends| sides.binary_search(ends).is_err())
        .collect();
    others.sort_unstable();
    others.dedup();
    let lone: Vec<[u32; 2]> = lone.collect();
    let mut edges = [&sides[..], &others, &lone].concat();
    edges.sort_unstable();
    let index = |ends: &[u32; 2]| edges.binary_search(ends).map_or(NONE, |at| at as u32);
    let segments = others.iter().chain(&lone).map(index).collect();
    (edges, segments)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FREE: Part = Part {
        is_free: true,
        self_collides: true,
    };

    /// Two triangles with a common side, a rod of two segments that starts at a corner, and a lone
    /// point.
    fn mixed() -> Features {
        let triangles = vec![[0, 1, 2], [2, 1, 3]];
        Features::new(vec![0; 7], vec![FREE], triangles, &[[3, 4], [5, 4]], &[])
    }

    #[test]
    fn edges_are_unique_and_sorted() {
        let features = mixed();
        let known = [
            [0, 1],
            [0, 2],
            [1, 2],
            [1, 3],
            [2, 3],
            [3, 4],
            [4, 5],
            [6, 6],
        ];
        assert_eq!(features.edges, known);
        assert_eq!(features.triangle_edges, [[0, 2, 1], [2, 3, 4]]);
        assert_eq!(features.edge_triangles.of(2), [0, 1]);
        assert_eq!(features.edge_triangles.of(5), [0; 0]);
        assert_eq!(features.point_edges.of(3), [3, 4, 5]);
        assert_eq!(features.point_edges.of(6), [0; 0]);
    }

    #[test]
    fn every_point_and_every_edge_has_one_owner() {
        let features = mixed();
        assert_eq!(features.primitives.len(), 5);
        let owned = |list: fn(&Primitive) -> [u32; 3]| {
            let mut all: Vec<u32> = features.primitives.iter().flat_map(list).collect();
            all.retain(|&feature| feature != NONE);
            all.sort_unstable();
            all
        };
        assert_eq!(
            owned(|primitive| primitive.owned_points),
            [0, 1, 2, 3, 4, 5, 6]
        );
        assert_eq!(
            owned(|primitive| primitive.owned_edges),
            [0, 1, 2, 3, 4, 5, 6, 7]
        );
    }

    #[test]
    fn a_segment_along_a_side_belongs_to_the_triangle() {
        let features = Features::new(
            vec![0; 3],
            vec![FREE],
            vec![[0, 1, 2]],
            &[[1, 0], [0, 1]],
            &[],
        );
        assert_eq!((features.edges.len(), features.primitives.len()), (3, 1));
    }

    #[test]
    fn neighbours_and_prescribed_parts_do_not_collide() {
        let features = mixed();
        assert!(!features.may_collide_point_triangle(2, 1), "a corner");
        assert!(features.may_collide_point_triangle(0, 1));
        assert!(!features.may_collide_edges(0, 3), "both end at point 1");
        assert!(features.may_collide_edges(1, 3));
        assert!(
            !features.may_collide_edges(7, 0),
            "the lone point and the triangle are a pair instead"
        );
        assert!(features.may_collide_edges(7, 6), "lone point and segment");
        assert!(features.may_collide_point_triangle(6, 0));
        let wall = Part {
            is_free: false,
            self_collides: false,
        };
        let triangles = vec![[0, 1, 2], [3, 4, 5]];
        let features = Features::new(
            vec![0, 0, 0, 1, 1, 1],
            vec![wall, wall],
            triangles,
            &[],
            &[],
        );
        assert!(
            !features.may_collide_point_triangle(0, 1)
                && !features.may_collide_point_triangle(0, 0)
        );
        assert!(features.may_collide(0, 0) == wall.self_collides);
    }

    #[test]
    fn joined_points_are_neighbours() {
        // A hair with its root in the first triangle.
        let triangles = vec![[0, 1, 2], [2, 1, 3]];
        let joined = [[4, 0], [4, 1], [4, 2]];
        let features = Features::new(vec![0; 6], vec![FREE], triangles, &[[4, 5]], &joined);
        assert!(
            features.are_joined(4, 0) && features.are_joined(0, 4) && !features.are_joined(5, 0)
        );
        assert!(
            !features.may_collide_point_triangle(4, 0)
                && !features.may_collide_point_triangle(4, 1)
        );
        assert!(features.may_collide_point_triangle(5, 0));
        let segment = features
            .edges
            .iter()
            .position(|ends| *ends == [4, 5])
            .unwrap() as u32;
        assert!(
            !features.may_collide_edges(segment, 0),
            "an edge at a joined corner"
        );
    }

    #[test]
    fn empty_features_are_valid() {
        let features = Features::new(Vec::new(), Vec::new(), Vec::new(), &[], &[]);
        assert!(features.primitives.is_empty() && features.edges.is_empty());
    }
}
