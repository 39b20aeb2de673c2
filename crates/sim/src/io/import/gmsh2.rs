//! Nodes and elements of Gmsh's format 2.2.

use glam::DVec3;

use super::ImportError;
use super::gmsh_elements::{ElementType, GmshMesh, element_type};
use super::gmsh_reader::GmshReader;

/// The count of a section, as text also in binary files.
fn count(reader: &mut GmshReader<'_>, label: &str) -> Result<u64, ImportError> {
    reader.text_row(label)?;
    let count = reader.cursor.integer(label)?;
    let count = reader.not_negative(count, label)?;
    reader.cursor.end_line()?;
    if reader.is_binary() {
        reader.cursor.next_line();
    }
    Ok(count)
}

/// Reads rows of tag and position, and returns the tags.
pub(super) fn nodes(
    reader: &mut GmshReader<'_>,
    points: &mut Vec<DVec3>,
) -> Result<Vec<u64>, ImportError> {
    let mut tags = Vec::new();
    for _ in 0..count(reader, "the number of nodes")? {
        reader.row("a node")?;
        let tag = reader.int("the tag of a node")?;
        tags.push(reader.not_negative(tag, "the tag of a node")?);
        let x = reader.real("x")?;
        let y = reader.real("y")?;
        let z = reader.real("z")?;
        points.push(DVec3::new(x, y, z));
        reader.end_row()?;
    }
    Ok(tags)
}

/// Reads the elements.
pub(super) fn elements(
    reader: &mut GmshReader<'_>,
    parts: &mut GmshMesh,
) -> Result<(), ImportError> {
    let count = count(reader, "the number of elements")?;
    if reader.is_binary() {
        return binary_elements(reader, parts, count);
    }
    for _ in 0..count {
        reader.row("an element")?;
        reader.int("the number of an element")?;
        let code = reader.int("the type of an element")?;
        let (element_type, nodes) = element_type(&reader.cursor, code)?;
        let tags = reader.int("the number of tags")?;
        element(reader, parts, element_type, nodes, tags)?;
        reader.end_row()?;
    }
    Ok(())
}

/// Binary elements come in blocks of one type.
fn binary_elements(
    reader: &mut GmshReader<'_>,
    parts: &mut GmshMesh,
    count: u64,
) -> Result<(), ImportError> {
    let mut left = count;
    while left > 0 {
        let code = reader.int("the type of elements")?;
        let (element_type, nodes) = element_type(&reader.cursor, code)?;
        let block = reader.int("the number of elements of this type")?;
        let block = reader.not_negative(block, "the number of elements of this type")?;
        let tags = reader.int("the number of tags")?;
        if block > left {
            return Err(reader.cursor.error(
                format!("a block of {block} elements, but only {left} are left"),
                "correct the number of elements, or write the file again",
            ));
        }
        for _ in 0..block {
            reader.int("the number of an element")?;
            element(reader, parts, element_type, nodes, tags)?;
        }
        left -= block;
    }
    Ok(())
}

/// Reads the tags and nodes of an element. The first tag is that of its physical group.
fn element(
    reader: &mut GmshReader<'_>,
    parts: &mut GmshMesh,
    element_type: ElementType,
    nodes: usize,
    tags: i64,
) -> Result<(), ImportError> {
    let mut physical = None;
    for index in 0..reader.not_negative(tags, "the number of tags")? {
        let tag = reader.int("a tag")?;
        if index == 0 {
            // Gmsh writes the tag of a reversed surface as a negative number.
            physical = tag.checked_abs();
        }
    }
    let mut corners = [0; 4];
    for index in 0..nodes {
        let tag = reader.int("the number of a node")?;
        let tag = reader.not_negative(tag, "the number of a node")?;
        if let Some(corner) = corners
            .get_mut(index)
            .filter(|_| index < element_type.corners())
        {
            *corner = parts.node(tag, &reader.cursor)?;
        }
    }
    let corners = corners.get(..element_type.corners()).unwrap_or_default();
    parts.add(element_type, corners, &reader.cursor)?;
    if let Some(tag) = physical {
        parts.mark((element_type.dimension(), tag), corners);
    }
    Ok(())
}
