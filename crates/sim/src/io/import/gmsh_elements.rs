//! Element types, node tags and physical groups, for both versions of Gmsh's format.

use std::collections::BTreeMap;

use super::cursor::Cursor;
use super::names::GroupBuilder;
use super::{ImportError, Imported, polygon};

/// Type of an element. Only the corners of higher-order elements are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ElementType {
    Point,
    Line,
    Triangle,
    Quadrilateral,
    Tetrahedron,
}

impl ElementType {
    /// Number of corners, which are the first nodes.
    pub(super) fn corners(self) -> usize {
        match self {
            ElementType::Point => 1,
            ElementType::Line => 2,
            ElementType::Triangle => 3,
            ElementType::Quadrilateral | ElementType::Tetrahedron => 4,
        }
    }

    pub(super) fn dimension(self) -> i64 {
        match self {
            ElementType::Point => 0,
            ElementType::Line => 1,
            ElementType::Triangle | ElementType::Quadrilateral => 2,
            ElementType::Tetrahedron => 3,
        }
    }
}

/// Element type and number of nodes of a Gmsh element code (Gmsh reference manual, "MSH file
/// format").
pub(super) fn element_type(
    cursor: &Cursor<'_>,
    code: i64,
) -> Result<(ElementType, usize), ImportError> {
    let refused = match code {
        15 => return Ok((ElementType::Point, 1)),
        1 => return Ok((ElementType::Line, 2)),
        8 => return Ok((ElementType::Line, 3)),
        26 => return Ok((ElementType::Line, 4)),
        27 => return Ok((ElementType::Line, 5)),
        28 => return Ok((ElementType::Line, 6)),
        2 => return Ok((ElementType::Triangle, 3)),
        9 => return Ok((ElementType::Triangle, 6)),
        20 => return Ok((ElementType::Triangle, 9)),
        21 => return Ok((ElementType::Triangle, 10)),
        22 => return Ok((ElementType::Triangle, 12)),
        23 | 24 => return Ok((ElementType::Triangle, 15)),
        25 => return Ok((ElementType::Triangle, 21)),
        3 => return Ok((ElementType::Quadrilateral, 4)),
        10 => return Ok((ElementType::Quadrilateral, 9)),
        16 => return Ok((ElementType::Quadrilateral, 8)),
        4 => return Ok((ElementType::Tetrahedron, 4)),
        11 => return Ok((ElementType::Tetrahedron, 10)),
        29 => return Ok((ElementType::Tetrahedron, 20)),
        30 => return Ok((ElementType::Tetrahedron, 35)),
        31 => return Ok((ElementType::Tetrahedron, 56)),
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

/// Index of each node by its tag. Tags are arbitrary, but mostly 1, 2, 3 and so on.
#[derive(Debug)]
pub(super) enum NodeTags {
    /// Indices by tag, from the first tag on; `u32::MAX` for unused tags.
    Table { first: u64, places: Vec<u32> },
    /// Sorted tags with their indices.
    Sorted(Vec<(u64, u32)>),
}

impl NodeTags {
    /// Tags in the order of the nodes; the error is a tag that occurs twice.
    pub(super) fn new(tags: &[u64]) -> Result<NodeTags, u64> {
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
            return Ok(NodeTags::Table { first, places });
        }
        let mut sorted: Vec<(u64, u32)> = places().collect();
        sorted.sort_unstable();
        match sorted.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            Some(pair) => Err(pair[0].0),
            None => Ok(NodeTags::Sorted(sorted)),
        }
    }

    /// Index of the node with this tag.
    pub(super) fn find(&self, tag: u64) -> Option<u32> {
        match self {
            NodeTags::Table { first, places } => {
                let index = usize::try_from(tag.checked_sub(*first)?).ok()?;
                places
                    .get(index)
                    .copied()
                    .filter(|place| *place != u32::MAX)
            }
            NodeTags::Sorted(sorted) => {
                let index = sorted.binary_search_by_key(&tag, |entry| entry.0).ok()?;
                sorted.get(index).map(|entry| entry.1)
            }
        }
    }
}

/// A physical group: the dimension of its elements and its tag.
pub(super) type Physical = (i64, i64);

/// Contents of a Gmsh file, while it is read.
#[derive(Debug)]
pub(super) struct GmshMesh {
    pub(super) imported: Imported,
    /// The tags of the nodes, once they are read.
    pub(super) tags: Option<NodeTags>,
    pub(super) names: BTreeMap<Physical, String>,
    /// Physical tags of the geometric entities, by dimension and tag, in version 4.
    pub(super) entities: BTreeMap<(i64, i64), Vec<i64>>,
    members: BTreeMap<Physical, Vec<u32>>,
}

impl GmshMesh {
    pub(super) fn new() -> GmshMesh {
        GmshMesh {
            imported: Imported::default(),
            tags: None,
            names: BTreeMap::new(),
            entities: BTreeMap::new(),
            members: BTreeMap::new(),
        }
    }

    /// Index of the node with this tag, or an error.
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

    /// Adds an element with `element_type.corners()` corners.
    pub(super) fn add(
        &mut self,
        element_type: ElementType,
        corners: &[u32],
        cursor: &Cursor<'_>,
    ) -> Result<(), ImportError> {
        for (index, corner) in corners.iter().enumerate() {
            if corners.iter().skip(index + 1).any(|other| other == corner) {
                return Err(cursor.error(
                    format!("corner {} of the element occurs twice", index + 1),
                    "remove the element, or mesh again",
                ));
            }
        }
        let imported = &mut self.imported;
        match (element_type, corners) {
            (ElementType::Line, _) => imported.lines.push(corners.to_vec()),
            (ElementType::Triangle, &[a, b, c]) => imported.triangles.push([a, b, c]),
            (ElementType::Tetrahedron, &[a, b, c, d]) => imported.tetrahedra.push([a, b, c, d]),
            (ElementType::Quadrilateral, _) => {
                // Four corners are always below the limit.
                let _ = polygon::triangulate(&imported.points, corners, &mut imported.triangles);
            }
            _ => {}
        }
        Ok(())
    }

    /// Adds vertices to a physical group.
    pub(super) fn mark(&mut self, group: Physical, vertices: &[u32]) {
        if self.names.contains_key(&group) {
            let members = self.members.entry(group).or_default();
            members.extend_from_slice(vertices);
        }
    }

    /// The imported mesh, without boundary elements.
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
        let is_boundary = |line: &Vec<u32>| line.iter().all(|node| is_used[*node as usize]);
        imported.lines.retain(|line| !is_boundary(line));
        let mut names = GroupBuilder::default();
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
