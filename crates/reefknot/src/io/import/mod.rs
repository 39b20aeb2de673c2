//! Meshes out of the files of other programs: Wavefront OBJ, PLY and Gmsh.
//!
//! Such files come from everywhere, and some are cut off, edited by hand or not what their name says. So
//! a reader trusts no count: it takes memory only for what it has read. It checks every number and
//! every index where it stands, and what it refuses it names by line, or by byte where the file is
//! binary ([`ImportError`]). The name decides which reader is asked, and the first bytes must agree.
//!
//! A reader goes over the bytes once with a cursor. It gives an [`Imported`]: the points as the
//! file numbers them, and the elements. [`Imported::into_mesh`] makes a [`Mesh`](crate::mesh::Mesh)
//! of it, in which curves are runs of vertices.

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

/// What a file holds. Vertices count from 0, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Imported {
    /// Positions, as the file gives them.
    pub points: Vec<DVec3>,
    /// Corners of the triangles. Polygons are cut into triangles. In a Gmsh file with tetrahedra, triangles
    /// only mark parts of the surface, and are not listed here.
    pub triangles: Vec<[u32; 3]>,
    /// Corners of the tetrahedra, in whichever orientation the file has them.
    pub tetrahedra: Vec<[u32; 4]>,
    /// Lines through two or more vertices; a line is closed if its first vertex is also its last.
    pub lines: Vec<Vec<u32>>,
    /// The vertices of whatever has a name.
    pub groups: Vec<Group>,
}

/// Where in a file something is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A line, counted from 1.
    Line(usize),
    /// A byte, counted from 0.
    Byte(usize),
    /// A vertex, counted from 0.
    Vertex(usize),
    /// The file as a whole, such as its name.
    Nowhere,
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Line(line) => write!(formatter, "line {line}"),
            Place::Byte(byte) => write!(formatter, "byte {byte}"),
            Place::Vertex(vertex) => write!(formatter, "vertex {vertex}, counted from 0"),
            Place::Nowhere => write!(formatter, "the file"),
        }
    }
}

/// Why a file cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}; {advice}")]
pub struct ImportError {
    /// Where it is wrong.
    pub place: Place,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub advice: String,
}

impl ImportError {
    fn new(place: Place, message: impl Into<String>, advice: impl Into<String>) -> ImportError {
        ImportError {
            place,
            message: message.into(),
            advice: advice.into(),
        }
    }
}

/// How much of a file is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Want {
    Everything,
    Points,
}

/// Which reader understands a file.
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

    fn read(self, bytes: &[u8], want: Want) -> Result<Imported, ImportError> {
        match self {
            Format::Obj => obj::read(bytes, want),
            Format::Ply => ply::read(bytes, want),
            Format::Gmsh => gmsh::read(bytes, want),
        }
    }
}

/// Reads a mesh. The extension of `name` says which format the bytes are in.
///
/// # Errors
/// If the bytes are not a mesh of that format; the error says where and what to do.
pub fn import(name: &str, bytes: &[u8]) -> Result<Imported, ImportError> {
    let format = format_of(name, bytes)?;
    format.read(bytes, Want::Everything)
}

/// Reads only the points, in the order in which [`import`] gives them; the elements are not looked at.
///
/// # Errors
/// As for [`import`], but for what is wrong with elements.
pub fn import_points(name: &str, bytes: &[u8]) -> Result<Vec<DVec3>, ImportError> {
    let format = format_of(name, bytes)?;
    Ok(format.read(bytes, Want::Points)?.points)
}

/// The format that the name says, if the bytes do not say otherwise.
fn format_of(name: &str, bytes: &[u8]) -> Result<Format, ImportError> {
    let base = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let extension = base.rsplit_once('.').map_or("", |(_, extension)| extension);
    let is_named = |format: &Format| extension.eq_ignore_ascii_case(format.extension());
    let Some(named) = Format::ALL.into_iter().find(is_named) else {
        return Err(unknown_extension(extension, bytes));
    };
    if bytes.iter().all(u8::is_ascii_whitespace) {
        let advice = "write the mesh again, or choose another file";
        return Err(ImportError::new(Place::Line(1), "it is empty", advice));
    }
    let found = match sniff(bytes) {
        None if named == Format::Obj => return Ok(named),
        Some(Content::Known(found)) if found == named => return Ok(named),
        found => found,
    };
    let is = format!("the name ends in .{extension}, but ");
    Err(match found {
        Some(Content::Known(found)) => ImportError::new(
            Place::Line(1),
            format!("{is}the file holds {}", found.name()),
            format!("let its name end in .{}", found.extension()),
        ),
        Some(Content::Other(what)) => ImportError::new(
            Place::Line(1),
            format!("{is}the file holds {what}"),
            format!("convert it to {}", known()),
        ),
        None => ImportError::new(
            Place::Line(1),
            format!("{is}the file does not start like {}", named.name()),
            "write the mesh again, or let the name end in what the file is",
        ),
    })
}

fn unknown_extension(extension: &str, bytes: &[u8]) -> ImportError {
    let message = match extension {
        "" => "the name has no extension to tell the format by".to_owned(),
        _ => format!(
            "the extension {} is not known",
            cursor::quoted(extension.as_bytes())
        ),
    };
    let advice = match sniff(bytes) {
        Some(Content::Known(found)) => format!(
            "it holds {}, so let its name end in .{}",
            found.name(),
            found.extension()
        ),
        _ => format!("give it as {}", known()),
    };
    ImportError::new(Place::Nowhere, message, advice)
}

fn known() -> String {
    let [first, second, third] =
        Format::ALL.map(|format| format!("{} (.{})", format.name(), format.extension()));
    format!("{first}, {second} or {third}")
}

/// What the first bytes of a file say that it is.
enum Content {
    Known(Format),
    Other(&'static str),
}

/// Looks at the first bytes. OBJ has no mark to know it by.
fn sniff(bytes: &[u8]) -> Option<Content> {
    let text = cursor::after_mark(bytes).trim_ascii_start();
    if text.starts_with(b"$MeshFormat") || text.starts_with(b"$NOD") || text.starts_with(b"$Nodes")
    {
        return Some(Content::Known(Format::Gmsh));
    }
    let is_word = |word: &[u8]| {
        let after = text.strip_prefix(word).map(|rest| rest.first());
        after.is_some_and(|next| next.is_none_or(u8::is_ascii_whitespace))
    };
    if is_word(b"ply") {
        return Some(Content::Known(Format::Ply));
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
        (b"\x1f\x8b", "something compressed by gzip"),
        (b"MeshVersionFormatted", "a Medit mesh"),
        (b"\x89HDF", "HDF5"),
    ];
    let mark = marks.iter().find(|(mark, _)| text.starts_with(mark));
    match mark {
        Some((_, what)) => Some(Content::Other(what)),
        None if is_word(b"OFF") => Some(Content::Other("OFF")),
        None if is_word(b"solid") => Some(Content::Other("STL")),
        None => None,
    }
}
