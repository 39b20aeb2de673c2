//! Entities, nodes and elements of Gmsh's format 4.1.
//!
//! Nodes and elements come in blocks, each of one geometric entity. Physical groups are sets of
//! entities.

use glam::DVec3;

use super::gmsh_elements::{Parts, shape};
use super::gmsh_reader::Reader;
use super::names::MOST_GROUPS;
use super::{ImportError, cursor::Cursor};

/// Reads which entities belong to which physical groups.
pub(super) fn entities(reader: &mut Reader<'_>, parts: &mut Parts) -> Result<(), ImportError> {
    let mut counts = [0; 4];
    reader.row("the numbers of entities")?;
    for count in &mut counts {
        *count = reader.size("the number of entities")?;
    }
    reader.end_row()?;
    for (dimension, count) in (0..).zip(counts) {
        for _ in 0..count {
            reader.row("an entity")?;
            let tag = reader.int("the tag of an entity")?;
            // A point has a position, everything else a box around it.
            for _ in 0..if dimension == 0 { 3 } else { 6 } {
                reader.skip_real("a coordinate")?;
            }
            let physical = physical_tags(reader)?;
            if !physical.is_empty() {
                parts.entities.insert((dimension, tag), physical);
            }
            if dimension > 0 {
                for _ in 0..reader.size("the number of bounding entities")? {
                    reader.int("a bounding entity")?;
                }
            }
            reader.end_row()?;
        }
    }
    Ok(())
}

fn physical_tags(reader: &mut Reader<'_>) -> Result<Vec<i64>, ImportError> {
    let count = reader.size("the number of physical groups")?;
    if count > MOST_GROUPS as u64 {
        return Err(reader.cursor.error(
            format!("an entity of {count} physical groups; it may have {MOST_GROUPS}"),
            "give it fewer groups",
        ));
    }
    let mut tags = Vec::new();
    for _ in 0..count {
        let tag = reader.int("the tag of a physical group")?;
        tags.extend(tag.checked_abs());
    }
    tags.sort_unstable();
    tags.dedup();
    Ok(tags)
}

/// The first row of `$Nodes` and of `$Elements`: the numbers of blocks and of what is in them.
fn counts(reader: &mut Reader<'_>) -> Result<[u64; 2], ImportError> {
    reader.row("the number of blocks")?;
    let blocks = reader.size("the number of blocks")?;
    let total = reader.size("the number of all blocks together")?;
    reader.size("the smallest tag")?;
    reader.size("the largest tag")?;
    reader.end_row()?;
    Ok([blocks, total])
}

fn check_total(
    cursor: &Cursor<'_>,
    what: &str,
    count: usize,
    total: u64,
) -> Result<(), ImportError> {
    match count as u64 == total {
        true => Ok(()),
        false => Err(cursor.error(
            format!("the blocks hold {count} {what}, but the section begins with {total}"),
            "correct the numbers, or write the file again",
        )),
    }
}

/// Reads blocks of tags and then positions, and gives the tags.
pub(super) fn nodes(
    reader: &mut Reader<'_>,
    points: &mut Vec<DVec3>,
) -> Result<Vec<u64>, ImportError> {
    let mut tags = Vec::new();
    let [blocks, total] = counts(reader)?;
    for _ in 0..blocks {
        reader.row("a block of nodes")?;
        let dimension = reader.int("the dimension of a block")?;
        reader.int("the entity of a block")?;
        // Parametric nodes also have their coordinates on the entity, as many as it has dimensions.
        let parameters = match reader.int("0, or 1 for parametric nodes")? {
            0 => 0,
            _ => dimension.clamp(0, 3),
        };
        let count = reader.size("the number of nodes in a block")?;
        reader.end_row()?;
        for _ in 0..count {
            reader.row("the tag of a node")?;
            tags.push(reader.size("the tag of a node")?);
            reader.end_row()?;
        }
        for _ in 0..count {
            reader.row("the position of a node")?;
            let x = reader.real("x")?;
            let y = reader.real("y")?;
            let z = reader.real("z")?;
            for _ in 0..parameters {
                reader.skip_real("a parameter")?;
            }
            points.push(DVec3::new(x, y, z));
            reader.end_row()?;
        }
    }
    check_total(&reader.cursor, "nodes", points.len(), total)?;
    Ok(tags)
}

/// Reads blocks of elements.
pub(super) fn elements(reader: &mut Reader<'_>, parts: &mut Parts) -> Result<(), ImportError> {
    let [blocks, total] = counts(reader)?;
    let mut found = 0;
    for _ in 0..blocks {
        reader.row("a block of elements")?;
        let dimension = reader.int("the dimension of a block")?;
        let entity = reader.int("the entity of a block")?;
        let code = reader.int("the type of elements")?;
        let (shape, nodes) = shape(&reader.cursor, code)?;
        let count = reader.size("the number of elements in a block")?;
        reader.end_row()?;
        let physical = parts.entities.get(&(dimension, entity));
        let physical = physical.cloned().unwrap_or_default();
        for _ in 0..count {
            reader.row("an element")?;
            reader.size("the tag of an element")?;
            let mut corners = [0; 4];
            for index in 0..nodes {
                let tag = reader.size("the tag of a node")?;
                if let Some(corner) = corners.get_mut(index).filter(|_| index < shape.corners()) {
                    *corner = parts.node(tag, &reader.cursor)?;
                }
            }
            let corners = corners.get(..shape.corners()).unwrap_or_default();
            parts.add(shape, corners, &reader.cursor)?;
            for tag in &physical {
                parts.mark((dimension, *tag), corners);
            }
            reader.end_row()?;
            found += 1;
        }
    }
    check_total(&reader.cursor, "elements", found, total)
}
