//! Nodes and elements of Gmsh's format 2.2.

use glam::DVec3;

use super::ImportError;
use super::gmsh_elements::{Parts, Shape, shape};
use super::gmsh_reader::Reader;

/// The count of a section, which is text in binary files too.
fn count(reader: &mut Reader<'_>, what: &str) -> Result<u64, ImportError> {
    reader.text_row(what)?;
    let count = reader.cursor.integer(what)?;
    let count = reader.not_negative(count, what)?;
    reader.cursor.end_line()?;
    if reader.is_binary() {
        reader.cursor.next_line();
    }
    Ok(count)
}

/// Reads rows of tag and position, and gives the tags.
pub(super) fn nodes(
    reader: &mut Reader<'_>,
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
pub(super) fn elements(reader: &mut Reader<'_>, parts: &mut Parts) -> Result<(), ImportError> {
    let count = count(reader, "the number of elements")?;
    if reader.is_binary() {
        return binary_elements(reader, parts, count);
    }
    for _ in 0..count {
        reader.row("an element")?;
        reader.int("the number of an element")?;
        let code = reader.int("the type of an element")?;
        let shape = shape(&reader.cursor, code)?;
        let tags = reader.int("the number of tags")?;
        element(reader, parts, shape, tags)?;
        reader.end_row()?;
    }
    Ok(())
}

/// Binary elements come in blocks of one type.
fn binary_elements(
    reader: &mut Reader<'_>,
    parts: &mut Parts,
    count: u64,
) -> Result<(), ImportError> {
    let mut left = count;
    while left > 0 {
        let code = reader.int("the type of elements")?;
        let shape = shape(&reader.cursor, code)?;
        let block = reader.int("the number of elements of this type")?;
        let block = reader.not_negative(block, "the number of elements of this type")?;
        let tags = reader.int("the number of tags")?;
        if block > left {
            return Err(reader.cursor.error(
                format!("{block} elements of a type where {left} are left"),
                "correct the number of elements, or write the file again",
            ));
        }
        for _ in 0..block {
            reader.int("the number of an element")?;
            element(reader, parts, shape, tags)?;
        }
        left -= block;
    }
    Ok(())
}

/// Reads the tags and nodes of an element. The first tag is that of its physical group.
fn element(
    reader: &mut Reader<'_>,
    parts: &mut Parts,
    (shape, nodes): (Shape, usize),
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
        if let Some(corner) = corners.get_mut(index).filter(|_| index < shape.corners()) {
            *corner = parts.node(tag, &reader.cursor)?;
        }
    }
    let corners = corners.get(..shape.corners()).unwrap_or_default();
    parts.add(shape, corners, &reader.cursor)?;
    if let Some(tag) = physical {
        parts.mark((shape.dimension(), tag), corners);
    }
    Ok(())
}
