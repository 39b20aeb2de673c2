//! What can touch: the points of all objects in one array, the edges and triangles between them, and who may meet whom.
//!
//! Whatever touches whatever, it comes down to pairs of two kinds: a point and a triangle, or two edges. Segments of rods
//! are edges, and a point that is neither in a triangle nor in a segment is an edge with both ends in that point. The tree holds
//! *primitives*: triangles, segments and lone points. Each point and each edge is owned by one primitive (the
//! representative triangles of Curtis et al. 2008), so that a pair of features is met once, however many triangles share it.

/// A copy of an object, or all its rods: what is asked whether it meets itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Whether any of its points is free to move; two parts that are not never meet.
    pub is_free: bool,
    /// Whether it can touch itself; rigid props cannot.
    pub meets_itself: bool,
}

/// What a leaf of the tree holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Primitive {
    /// Its corners; a segment repeats its second, a lone point its only one.
    pub points: [u32; 3],
    /// Its triangle; `NONE` for segments and lone points.
    pub triangle: u32,
    /// Its edges that it owns, `NONE` in the other places.
    pub edges: [u32; 3],
    /// Its points that it owns, `NONE` in the other places.
    pub owned: [u32; 3],
    /// Its part.
    pub part: u32,
}

/// No feature.
pub const NONE: u32 = u32::MAX;

/// Lists of features by feature, one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lists {
    ends: Vec<u32>,
    items: Vec<u32>,
}

impl Lists {
    /// Groups pairs (list, item) by list, in ascending order and each once.
    #[must_use]
    pub fn new(count: usize, mut pairs: Vec<[u32; 2]>) -> Lists {
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
        Lists {
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

/// Everything that can touch. Positions are given with each question.
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
    /// Ends of the edges, smaller first, sorted: those of triangles, segments of rods, and lone points twice.
    pub edges: Vec<[u32; 2]>,
    /// Triangles on each edge.
    pub edge_triangles: Lists,
    /// Edges at each point; none for lone points.
    pub point_edges: Lists,
    /// What the tree holds: triangles, then segments, then lone points.
    pub primitives: Vec<Primitive>,
    /// Points that count as one with a point, such as the corners about the root of a hair; empty lists for most.
    joined: Lists,
    has_joined: bool,
    /// Which family each part is of; all of one if there are none.
    families: Vec<u32>,
    /// Pairs of families that do not meet, the smaller first, sorted.
    apart: Vec<[u32; 2]>,
}

impl Features {
    /// Puts triangles and segments of rods on points together. `joined` are pairs of points that count as neighbours,
    /// as if they were one.
    ///
    /// All corners must be smaller than the number of points in `part_of`, and all parts smaller than the number of
    /// `parts`.
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
            edge_triangles: Lists::new(edges.len(), edge_triangles),
            point_edges: Lists::new(points, point_edges),
            joined: Lists::new(
                points,
                joined.iter().flat_map(|&[a, b]| [[a, b], [b, a]]).collect(),
            ),
            families: Vec::new(),
            apart: Vec::new(),
            has_joined: !joined.is_empty(),
            primitives: Vec::new(),
            part_of,
            triangles,
            triangle_edges,
            edges,
        };
        features.primitives = features.own(&segments);
        features
    }

    /// Gives each point and edge to the first primitive that has it.
    fn own(&self, segments: &[u32]) -> Vec<Primitive> {
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
                edges: edges.map(|edge| {
                    if edge == NONE {
                        NONE
                    } else {
                        take(&mut is_edge_owned, edge)
                    }
                }),
                owned: points.map(|point| take(&mut is_point_owned, point)),
                part: self.part_of[points[0] as usize],
            })
            .collect()
    }

    /// Gives every part a family, and lets some pairs of families (or one with itself) pass through each other.
    #[must_use]
    pub fn keeping_apart(mut self, families: Vec<u32>, mut apart: Vec<[u32; 2]>) -> Features {
        for [one, other] in &mut apart {
            (*one, *other) = ((*one).min(*other), (*one).max(*other));
        }
        apart.sort_unstable();
        apart.dedup();
        self.families = families;
        self.apart = apart;
        self
    }

    /// Whether all parts meet each other and themselves.
    pub(super) fn all_meet(&self) -> bool {
        let mut parts = self.parts.iter();
        self.apart.is_empty() && parts.all(|part| part.is_free && part.meets_itself)
    }

    fn are_kept_apart(&self, a: u32, b: u32) -> bool {
        let [one, other] = [a, b].map(|part| self.families.get(part as usize).copied());
        let [one, other] = [one, other].map(|family| family.unwrap_or(0));
        self.apart
            .binary_search(&[one.min(other), one.max(other)])
            .is_ok()
    }

    /// Whether any points that are not one count as one.
    #[inline]
    pub(super) fn has_joined(&self) -> bool {
        self.has_joined
    }

    /// Whether two points are one, or count as one.
    #[inline]
    #[must_use]
    pub fn are_joined(&self, a: u32, b: u32) -> bool {
        a == b || (self.has_joined && self.joined.of(a).binary_search(&b).is_ok())
    }

    /// Whether things of two parts can meet at all.
    #[inline]
    #[must_use]
    pub fn may_meet(&self, a: u32, b: u32) -> bool {
        let (one, other) = (self.parts[a as usize], self.parts[b as usize]);
        if !self.apart.is_empty() && self.are_kept_apart(a, b) {
            return false;
        }
        if a == b {
            one.meets_itself
        } else {
            one.is_free || other.is_free
        }
    }

    /// Whether a point and a triangle can meet: their parts may, and they are not neighbours.
    #[inline]
    #[must_use]
    pub fn point_meets_triangle(&self, point: u32, triangle: u32) -> bool {
        let corners = self.triangles[triangle as usize];
        self.may_meet(
            self.part_of[point as usize],
            self.part_of[corners[0] as usize],
        ) && !corners.iter().any(|&corner| self.are_joined(point, corner))
    }

    /// Whether two edges can meet: their parts may, and they are not neighbours. A lone point and a side of a triangle
    /// need not: the point meets the triangle.
    #[inline]
    #[must_use]
    pub fn edge_meets_edge(&self, a: u32, b: u32) -> bool {
        let (one, other) = (self.edges[a as usize], self.edges[b as usize]);
        let is_side = |edge: u32| !self.edge_triangles.of(edge).is_empty();
        if (one[0] == one[1] && is_side(b)) || (other[0] == other[1] && is_side(a)) {
            return false;
        }
        self.may_meet(
            self.part_of[one[0] as usize],
            self.part_of[other[0] as usize],
        ) && !one
            .iter()
            .any(|&p| other.iter().any(|&q| self.are_joined(p, q)))
    }
}

/// All edges, each once, sorted; and which of them are segments of rods or lone points.
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
    // A segment that is also a side of a triangle is found with the triangle.
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
        meets_itself: true,
    };

    /// Two triangles with a common side, a rod of two segments that starts at a corner of one, and a lone point.
    fn mixed() -> Features {
        let triangles = vec![[0, 1, 2], [2, 1, 3]];
        Features::new(vec![0; 7], vec![FREE], triangles, &[[3, 4], [5, 4]], &[])
    }

    #[test]
    fn edges_are_each_there_once_and_sorted() {
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
        assert_eq!(owned(|primitive| primitive.owned), [0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(owned(|primitive| primitive.edges), [0, 1, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn a_segment_along_a_side_is_found_with_the_triangle() {
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
    fn neighbours_and_what_cannot_move_do_not_meet() {
        let features = mixed();
        assert!(!features.point_meets_triangle(2, 1), "a corner");
        assert!(features.point_meets_triangle(0, 1));
        assert!(!features.edge_meets_edge(0, 3), "both end in point 1");
        assert!(features.edge_meets_edge(1, 3));
        assert!(
            !features.edge_meets_edge(7, 0),
            "the lone point meets the triangle instead"
        );
        assert!(features.edge_meets_edge(7, 6), "and the segment as an edge");
        assert!(features.point_meets_triangle(6, 0));
        let wall = Part {
            is_free: false,
            meets_itself: false,
        };
        let triangles = vec![[0, 1, 2], [3, 4, 5]];
        let features = Features::new(
            vec![0, 0, 0, 1, 1, 1],
            vec![wall, wall],
            triangles,
            &[],
            &[],
        );
        assert!(!features.point_meets_triangle(0, 1) && !features.point_meets_triangle(0, 0));
        assert!(features.may_meet(0, 0) == wall.meets_itself);
    }

    #[test]
    fn joined_points_are_neighbours() {
        // A hair that is rooted in the first triangle.
        let triangles = vec![[0, 1, 2], [2, 1, 3]];
        let joined = [[4, 0], [4, 1], [4, 2]];
        let features = Features::new(vec![0; 6], vec![FREE], triangles, &[[4, 5]], &joined);
        assert!(
            features.are_joined(4, 0) && features.are_joined(0, 4) && !features.are_joined(5, 0)
        );
        assert!(!features.point_meets_triangle(4, 0) && !features.point_meets_triangle(4, 1));
        assert!(features.point_meets_triangle(5, 0));
        let segment = features
            .edges
            .iter()
            .position(|ends| *ends == [4, 5])
            .unwrap() as u32;
        assert!(
            !features.edge_meets_edge(segment, 0),
            "an edge at a joined corner"
        );
    }

    #[test]
    fn no_features_are_no_trouble() {
        let features = Features::new(Vec::new(), Vec::new(), Vec::new(), &[], &[]);
        assert!(features.primitives.is_empty() && features.edges.is_empty());
    }
}
