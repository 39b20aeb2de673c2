//! Entities, nodes and elements of Gmsh's format 4.1.
//!
//! Nodes and elements are stored in blocks, one for each geometric entity. Physical groups are sets
//! of entities.

use glam::DVec3;

use super::gmsh_elements::{GmshMesh, element_type};
use super::gmsh_reader::GmshReader;
use super::names::MAX_GROUPS;
use super::{ImportError, cursor::Cursor};

/// Reads the physical groups of each entity.
pub(super) fn entities(
    reader: &mut GmshReader<'_>,
    parts: &mut GmshMesh,
) -> Result<(), ImportError> {
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
            // A point has a position, other entities a bounding box.
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

fn physical_tags(reader: &mut GmshReader<'_>) -> Result<Vec<i64>, ImportError> {
    let count = reader.size("the number of physical groups")?;
    if count > MAX_GROUPS as u64 {
        return Err(reader.cursor.error(
            format!("an entity of {count} physical groups; the limit is {MAX_GROUPS}"),
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

/// The first row of `$Nodes` and `$Elements`: number of blocks, and total number of items.
fn counts(reader: &mut GmshReader<'_>) -> Result<[u64; 2], ImportError> {
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
    label: &str,
    count: usize,
    total: u64,
) -> Result<(), ImportError> {
    if count as u64 == total {
        return Ok(());
    }
    Err(cursor.error(
        format!("the blocks hold {count} {label}, but the section begins with {total}"),
        "correct the numbers, or write the file again",
    ))
}

/// Reads blocks of tags and positions, and returns the tags.
pub(super) fn nodes(
    reader: &mut GmshReader<'_>,
    points: &mut Vec<DVec3>,
) -> Result<Vec<u64>, ImportError> {
    let mut tags = Vec::new();
    let [blocks, total] = counts(reader)?;
    for _ in 0..blocks {
        reader.row("a block of nodes")?;
        let dimension = reader.int("the dimension of a block")?;
        reader.int("the entity of a block")?;
        // Parametric nodes also have coordinates on the entity, one for each of its dimensions.
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
pub(super) fn elements(
    reader: &mut GmshReader<'_>,
    parts: &mut GmshMesh,
) -> Result<(), ImportError> {
    let [blocks, total] = counts(reader)?;
    let mut found = 0;
    for _ in 0..blocks {
        reader.row("a block of elements")?;
        let dimension = reader.int("the dimension of a block")?;
        let entity = reader.int("the entity of a block")?;
        let code = reader.int("the type of elements")?;
        let (element_type, nodes) = element_type(&reader.cursor, code)?;
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
                if let Some(corner) = corners
                    .get_mut(index)
                    .filter(|_| index < element_type.corners())
                {
                    *corner = parts.node(tag, &reader.cursor)?;
                }
            }
            let corners = corners.get(..element_type.corners()).unwrap_or_default();
            parts.add(element_type, corners, &reader.cursor)?;
            for tag in &physical {
                parts.mark((dimension, *tag), corners);
            }
            reader.end_row()?;
            found += 1;
        }
    }
    check_total(&reader.cursor, "elements", found, total)
}
