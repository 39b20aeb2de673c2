//! Import of meshes: Wavefront OBJ, PLY and Gmsh.
//!
//! Files may be truncated, edited by hand, or of another format than their name says. So a reader
//! does not trust counts: it allocates only for data that it has read. It checks every number and
//! index where it occurs, and reports errors with the line, or the byte of a binary file
//! ([`ImportError`]). The extension selects the reader, and the first bytes must agree.
//!
//! A reader makes one pass over the bytes with a cursor. The result is an [`Imported`]: points and
//! elements with the numbers of the file. [`Imported::into_mesh`] converts it to a
//! [`Mesh`](crate::mesh::Mesh), in which curves are ranges of vertices.

mod cursor;
mod curves;
mod elements;
mod gmsh;
mod gmsh2;
mod gmsh4;
mod gmsh_elements;
mod gmsh_reader;
mod names;
mod obj;
mod ply;
mod ply_header;
mod polygon;
#[cfg(test)]
mod tests;

use std::fmt;

use glam::DVec3;

use crate::mesh::Group;

/// Contents of a file. Vertices count from 0, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Imported {
    /// Positions, in units and axes of the file.
    pub points: Vec<DVec3>,
    /// Corners of the triangles. Polygons are triangulated. In a Gmsh file with tetrahedra,
    /// triangles only mark parts of the surface, and are not listed here.
    pub triangles: Vec<[u32; 3]>,
    /// Corners of the tetrahedra, in the orientation of the file.
    pub tetrahedra: Vec<[u32; 4]>,
    /// Lines through two or more vertices; a line is closed if its first vertex is also its last.
    pub lines: Vec<Vec<u32>>,
    /// Named groups of vertices.
    pub groups: Vec<Group>,
}

/// Location of an error in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilePlace {
    /// A line, counted from 1.
    Line(usize),
    /// A byte, counted from 0.
    Byte(usize),
    /// A vertex, counted from 0.
    Vertex(usize),
    /// The complete file, such as its name.
    WholeFile,
}

impl fmt::Display for FilePlace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FilePlace::Line(line) => write!(formatter, "line {line}"),
            FilePlace::Byte(byte) => write!(formatter, "byte {byte}"),
            FilePlace::Vertex(vertex) => write!(formatter, "vertex {vertex}, counted from 0"),
            FilePlace::WholeFile => write!(formatter, "the file"),
        }
    }
}

/// Error of reading a mesh file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}; {advice}")]
pub struct ImportError {
    /// Location.
    pub place: FilePlace,
    /// Cause.
    pub message: String,
    /// Remedy.
    pub advice: String,
}

impl ImportError {
    fn new(place: FilePlace, message: impl Into<String>, advice: impl Into<String>) -> ImportError {
        ImportError {
            place,
            message: message.into(),
            advice: advice.into(),
        }
    }
}

/// Part of a file that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    All,
    Points,
}

/// File format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Obj,
    Ply,
    Gmsh,
}

impl Format {
    const ALL: [Format; 3] = [Format::Obj, Format::Ply, Format::Gmsh];

    fn extension(self) -> &'static str {
        match self {
            Format::Obj => "obj",
            Format::Ply => "ply",
            Format::Gmsh => "msh",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Format::Obj => "Wavefront OBJ",
            Format::Ply => "PLY",
            Format::Gmsh => "Gmsh",
        }
    }

    fn read(self, bytes: &[u8], scope: Scope) -> Result<Imported, ImportError> {
        match self {
            Format::Obj => obj::read(bytes, scope),
            Format::Ply => ply::read(bytes, scope),
            Format::Gmsh => gmsh::read(bytes, scope),
        }
    }
}

/// Reads a mesh, in the format of the extension of `name`.
///
/// # Errors
/// If the bytes are not a mesh of that format.
pub fn import(name: &str, bytes: &[u8]) -> Result<Imported, ImportError> {
    let format = format_of(name, bytes)?;
    format.read(bytes, Scope::All)
}

/// Reads only the points, in the same order as [`import`], without the elements.
///
/// # Errors
/// As for [`import`], except errors in elements.
pub fn import_points(name: &str, bytes: &[u8]) -> Result<Vec<DVec3>, ImportError> {
    let format = format_of(name, bytes)?;
    Ok(format.read(bytes, Scope::Points)?.points)
}

/// Format of the extension, if the first bytes agree.
fn format_of(name: &str, bytes: &[u8]) -> Result<Format, ImportError> {
    let base = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let extension = base.rsplit_once('.').map_or("", |(_, extension)| extension);
    let is_named = |format: &Format| extension.eq_ignore_ascii_case(format.extension());
    let Some(named) = Format::ALL.into_iter().find(is_named) else {
        return Err(unknown_extension(extension, bytes));
    };
    if bytes.iter().all(u8::is_ascii_whitespace) {
        let advice = "write the mesh again, or choose another file";
        return Err(ImportError::new(FilePlace::Line(1), "it is empty", advice));
    }
    let found = match sniff(bytes) {
        None if named == Format::Obj => return Ok(named),
        Some(Detected::Known(found)) if found == named => return Ok(named),
        found => found,
    };
    let prefix = format!("the name ends in .{extension}, but ");
    Err(match found {
        Some(Detected::Known(found)) => ImportError::new(
            FilePlace::Line(1),
            format!("{prefix}the file is {}", found.name()),
            format!("change the ending of its name to .{}", found.extension()),
        ),
        Some(Detected::Other(name)) => ImportError::new(
            FilePlace::Line(1),
            format!("{prefix}the file is {name}"),
            format!("convert it to {}", known()),
        ),
        None => ImportError::new(
            FilePlace::Line(1),
            format!("{prefix}the file does not start like {}", named.name()),
            "write the mesh again, or change the ending of the name",
        ),
    })
}

fn unknown_extension(extension: &str, bytes: &[u8]) -> ImportError {
    let message = match extension {
        "" => "the name has no extension that identifies the format".to_owned(),
        _ => format!(
            "the extension {} is not known",
            cursor::quoted(extension.as_bytes())
        ),
    };
    let advice = match sniff(bytes) {
        Some(Detected::Known(found)) => format!(
            "it is {}, so change the ending of its name to .{}",
            found.name(),
            found.extension()
        ),
        _ => format!("convert it to {}", known()),
    };
    ImportError::new(FilePlace::WholeFile, message, advice)
}

fn known() -> String {
    let [first, second, third] =
        Format::ALL.map(|format| format!("{} (.{})", format.name(), format.extension()));
    format!("{first}, {second} or {third}")
}

/// Format that the first bytes of a file identify.
enum Detected {
    Known(Format),
    Other(&'static str),
}

/// Detects the format by the first bytes. OBJ has no signature.
fn sniff(bytes: &[u8]) -> Option<Detected> {
    let text = cursor::skip_byte_order_mark(bytes).trim_ascii_start();
    if text.starts_with(b"$MeshFormat") || text.starts_with(b"$NOD") || text.starts_with(b"$Nodes")
    {
        return Some(Detected::Known(Format::Gmsh));
    }
    let is_word = |word: &[u8]| {
        let after = text.strip_prefix(word).map(|rest| rest.first());
        after.is_some_and(|next| next.is_none_or(u8::is_ascii_whitespace))
    };
    if is_word(b"ply") {
        return Some(Detected::Known(Format::Ply));
    }
    let marks: [(&[u8], &str); 11] = [
        (b"\xff\xfe", "text in UTF-16"),
        (b"\xfe\xff", "text in UTF-16"),
        (b"# vtk DataFile", "VTK"),
        (b"<?xml", "XML"),
        (b"<VTKFile", "VTK"),
        (b"glTF", "glTF"),
        (b"Kaydara FBX", "FBX"),
        (b"PK\x03\x04", "a zip archive"),
        (b"\x1f\x8b", "a gzip archive"),
        (b"MeshVersionFormatted", "a Medit mesh"),
        (b"\x89HDF", "HDF5"),
    ];
    let mark = marks.iter().find(|(mark, _)| text.starts_with(mark));
    match mark {
        Some((_, name)) => Some(Detected::Other(name)),
        None if is_word(b"OFF") => Some(Detected::Other("OFF")),
        None if is_word(b"solid") => Some(Detected::Other("STL")),
        None => None,
    }
}
