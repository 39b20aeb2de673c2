//! What both versions of Gmsh's format have in common: kinds of elements, tags of nodes, physical groups.

use std::collections::BTreeMap;

use super::cursor::Cursor;
use super::names::Names;
use super::{ImportError, Imported, polygon};

/// What an element is for a mesh. Of elements of higher order only the corners are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Point,
    Line,
    Triangle,
    Quadrilateral,
    Tetrahedron,
}

impl Shape {
    /// The number of corners, which come first among the nodes.
    pub(super) fn corners(self) -> usize {
        match self {
            Shape::Point => 1,
            Shape::Line => 2,
            Shape::Triangle => 3,
            Shape::Quadrilateral | Shape::Tetrahedron => 4,
        }
    }

    pub(super) fn dimension(self) -> i64 {
        match self {
            Shape::Point => 0,
            Shape::Line => 1,
            Shape::Triangle | Shape::Quadrilateral => 2,
            Shape::Tetrahedron => 3,
        }
    }
}

/// The shape and the number of nodes of an element type (Gmsh reference manual, "MSH file format").
pub(super) fn shape(cursor: &Cursor<'_>, code: i64) -> Result<(Shape, usize), ImportError> {
    let refused = match code {
        15 => return Ok((Shape::Point, 1)),
        1 => return Ok((Shape::Line, 2)),
        8 => return Ok((Shape::Line, 3)),
        26 => return Ok((Shape::Line, 4)),
        27 => return Ok((Shape::Line, 5)),
        28 => return Ok((Shape::Line, 6)),
        2 => return Ok((Shape::Triangle, 3)),
        9 => return Ok((Shape::Triangle, 6)),
        20 => return Ok((Shape::Triangle, 9)),
        21 => return Ok((Shape::Triangle, 10)),
        22 => return Ok((Shape::Triangle, 12)),
        23 | 24 => return Ok((Shape::Triangle, 15)),
        25 => return Ok((Shape::Triangle, 21)),
        3 => return Ok((Shape::Quadrilateral, 4)),
        10 => return Ok((Shape::Quadrilateral, 9)),
        16 => return Ok((Shape::Quadrilateral, 8)),
        4 => return Ok((Shape::Tetrahedron, 4)),
        11 => return Ok((Shape::Tetrahedron, 10)),
        29 => return Ok((Shape::Tetrahedron, 20)),
        30 => return Ok((Shape::Tetrahedron, 35)),
        31 => return Ok((Shape::Tetrahedron, 56)),
        5 | 12 | 17 | 92 | 93 => "a hexahedron",
        6 | 13 | 18 => "a prism",
        7 | 14 | 19 => "a pyramid",
        _ => {
            return Err(cursor.error(
                format!("element type {code} is not known"),
                "mesh with triangles or tetrahedra, or correct the number",
            ));
        }
    };
    Err(cursor.error(
        format!("element type {code} is {refused}, which cannot be used"),
        "mesh the volume with tetrahedra, in Gmsh without recombining or extruding layers",
    ))
}

/// Finds the place of a node by its tag. Tags are any numbers, but mostly 1, 2, 3 and so on.
#[derive(Debug)]
pub(super) enum Tags {
    /// Places by tag, from the first tag on; `u32::MAX` where there is none.
    Table { first: u64, places: Vec<u32> },
    /// Tags with their places, sorted.
    Sorted(Vec<(u64, u32)>),
}

impl Tags {
    /// Tags in the order of the nodes; the error is a tag that is there twice.
    pub(super) fn new(tags: &[u64]) -> Result<Tags, u64> {
        let first = tags.iter().copied().min().unwrap_or(0);
        let last = tags.iter().copied().max().unwrap_or(0);
        let places = || (0u32..).zip(tags).map(|(place, tag)| (*tag, place));
        if last - first < 4 * tags.len() as u64 + 16 {
            let mut table = vec![u32::MAX; (last - first) as usize + 1];
            for (tag, place) in places() {
                let entry = &mut table[(tag - first) as usize];
                if *entry != u32::MAX {
                    return Err(tag);
                }
                *entry = place;
            }
            let places = table;
            return Ok(Tags::Table { first, places });
        }
        let mut sorted: Vec<(u64, u32)> = places().collect();
        sorted.sort_unstable();
        match sorted.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            Some(pair) => Err(pair[0].0),
            None => Ok(Tags::Sorted(sorted)),
        }
    }

    /// The place of the node with this tag.
    pub(super) fn find(&self, tag: u64) -> Option<u32> {
        match self {
            Tags::Table { first, places } => {
                let index = usize::try_from(tag.checked_sub(*first)?).ok()?;
                places
                    .get(index)
                    .copied()
                    .filter(|place| *place != u32::MAX)
            }
            Tags::Sorted(sorted) => {
                let index = sorted.binary_search_by_key(&tag, |entry| entry.0).ok()?;
                sorted.get(index).map(|entry| entry.1)
            }
        }
    }
}

/// A physical group: the dimension of its elements and its tag.
pub(super) type Physical = (i64, i64);

/// The mesh that a Gmsh file makes.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) imported: Imported,
    /// The tags of the nodes, once they are read.
    pub(super) tags: Option<Tags>,
    pub(super) names: BTreeMap<Physical, String>,
    /// Physical tags of the geometric entities, by dimension and tag, in version 4.
    pub(super) entities: BTreeMap<(i64, i64), Vec<i64>>,
    members: BTreeMap<Physical, Vec<u32>>,
}

impl Parts {
    pub(super) fn new() -> Parts {
        Parts {
            imported: Imported::default(),
            tags: None,
            names: BTreeMap::new(),
            entities: BTreeMap::new(),
            members: BTreeMap::new(),
        }
    }

    /// The node of a tag.
    pub(super) fn node(&self, tag: u64, cursor: &Cursor<'_>) -> Result<u32, ImportError> {
        let place = self.tags.as_ref().and_then(|tags| tags.find(tag));
        place.ok_or_else(|| {
            cursor.error(
                format!(
                    "node {tag} does not exist; the file has {} nodes",
                    self.imported.points.len()
                ),
                "correct the number, or write the file again",
            )
        })
    }

    /// Adds an element by its corners, which are `shape.corners()`.
    pub(super) fn add(
        &mut self,
        shape: Shape,
        corners: &[u32],
        cursor: &Cursor<'_>,
    ) -> Result<(), ImportError> {
        for (index, corner) in corners.iter().enumerate() {
            if corners.iter().skip(index + 1).any(|other| other == corner) {
                return Err(cursor.error(
                    format!("corner {} of the element is there twice", index + 1),
                    "remove the element, or mesh again",
                ));
            }
        }
        let imported = &mut self.imported;
        match (shape, corners) {
            (Shape::Line, _) => imported.lines.push(corners.to_vec()),
            (Shape::Triangle, &[a, b, c]) => imported.triangles.push([a, b, c]),
            (Shape::Tetrahedron, &[a, b, c, d]) => imported.tetrahedra.push([a, b, c, d]),
            (Shape::Quadrilateral, _) => {
                // Four corners are always few enough.
                let _ = polygon::triangulate(&imported.points, corners, &mut imported.triangles);
            }
            _ => {}
        }
        Ok(())
    }

    /// Puts vertices into a physical group.
    pub(super) fn mark(&mut self, group: Physical, vertices: &[u32]) {
        if self.names.contains_key(&group) {
            let members = self.members.entry(group).or_default();
            members.extend_from_slice(vertices);
        }
    }

    /// The mesh. What lies on the boundary of something else only marks it.
    pub(super) fn finish(self) -> Imported {
        let mut imported = self.imported;
        if !imported.tetrahedra.is_empty() {
            imported.triangles.clear();
        }
        let mut is_used = vec![false; imported.points.len()];
        let corners = imported.triangles.as_flattened().iter();
        for &corner in corners.chain(imported.tetrahedra.as_flattened()) {
            is_used[corner as usize] = true;
        }
        let lies_on_others = |line: &Vec<u32>| line.iter().all(|node| is_used[*node as usize]);
        imported.lines.retain(|line| !lies_on_others(line));
        let mut names = Names::default();
        for (group, vertices) in &self.members {
            if let Some(name) = self.names.get(group) {
                let number = names.number(name);
                names.add(number, vertices);
            }
        }
        imported.groups = names.into_groups();
        imported
    }
}
