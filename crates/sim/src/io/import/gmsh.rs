//! Gmsh: sections of nodes and elements, in versions 2.2 and 4.1, as text or binary.
//!
//! Gmsh also saves boundary elements: triangles around tetrahedra, and lines along the edges of a
//! model. They are not part of the mesh, but their physical groups become groups of vertices.

use super::cursor::{self, quoted};
use super::gmsh_elements::{GmshMesh, NodeTags};
use super::gmsh_reader::{GmshReader, Version};
use super::{FilePlace, ImportError, Imported, Scope, gmsh2, gmsh4};

/// Reads a file.
pub(super) fn read(bytes: &[u8], scope: Scope) -> Result<Imported, ImportError> {
    let mut reader = GmshReader::new(bytes)?;
    let mut parts = GmshMesh::new();
    let mut has_elements = false;
    while let Some(name) = reader.section()? {
        let place = reader.cursor.place();
        match name {
            b"Nodes" => {
                nodes(&mut reader, &mut parts, place)?;
                if scope == Scope::Points {
                    return Ok(parts.imported);
                }
            }
            b"Elements" if scope == Scope::All => {
                elements(&mut reader, &mut parts)?;
                has_elements = true;
            }
            b"PhysicalNames" => physical_names(&mut reader, &mut parts)?,
            b"Entities" if reader.version == Version::Four => {
                gmsh4::entities(&mut reader, &mut parts)?;
                reader.end_section("Entities")?;
            }
            _ => reader.skip_section(name)?,
        }
    }
    if parts.imported.points.is_empty() {
        return Err(reader.cursor.error(
            "the file ends without nodes",
            "write the mesh again with a section `$Nodes`",
        ));
    }
    if scope == Scope::All && !has_elements {
        return Err(reader.cursor.error(
            "the file ends without elements",
            "the file may be cut off, copy or write it again",
        ));
    }
    Ok(parts.finish())
}

fn nodes(
    reader: &mut GmshReader<'_>,
    parts: &mut GmshMesh,
    place: FilePlace,
) -> Result<(), ImportError> {
    if parts.tags.is_some() {
        return Err(reader.cursor.error(
            "a second section `$Nodes`",
            "put all nodes into one section, or write the file again",
        ));
    }
    let tags = match reader.version {
        Version::Two => gmsh2::nodes(reader, &mut parts.imported.points)?,
        Version::Four => gmsh4::nodes(reader, &mut parts.imported.points)?,
    };
    let tags = NodeTags::new(&tags).map_err(|tag| {
        ImportError::new(
            place,
            format!("node {tag} occurs twice in the section that begins here"),
            "remove one of them, or write the file again",
        )
    })?;
    parts.tags = Some(tags);
    reader.end_section("Nodes")
}

fn elements(reader: &mut GmshReader<'_>, parts: &mut GmshMesh) -> Result<(), ImportError> {
    if parts.tags.is_none() {
        return Err(reader.cursor.error(
            "the elements come before the nodes",
            "put `$Nodes` before `$Elements`",
        ));
    }
    match reader.version {
        Version::Two => gmsh2::elements(reader, parts)?,
        Version::Four => gmsh4::elements(reader, parts)?,
    }
    reader.end_section("Elements")
}

/// Rows of dimension, tag and quoted name; as text also in binary files.
fn physical_names(reader: &mut GmshReader<'_>, parts: &mut GmshMesh) -> Result<(), ImportError> {
    reader.text_row("the number of names")?;
    let count = reader.cursor.integer("the number of names")?;
    reader.cursor.end_line()?;
    for _ in 0..reader.not_negative(count, "the number of names")? {
        reader.text_row("a physical name")?;
        let dimension = reader.cursor.integer("the dimension of the group")?;
        let tag = reader.cursor.integer("the tag of the group")?;
        let line = reader.cursor.rest_of_line().trim_ascii();
        let inner = line
            .strip_prefix(b"\"")
            .and_then(|line| line.strip_suffix(b"\""));
        let Some(name) = inner.map(cursor::name).filter(|name| !name.is_empty()) else {
            return Err(reader.cursor.error(
                format!("the name of the group is {}", quoted(line)),
                "write it in quotes, as in `2 1 \"left\"`",
            ));
        };
        parts.names.insert((dimension, tag), name);
    }
    reader.end_section("PhysicalNames")
}
