//! Wavefront OBJ: a statement per line, vertices counted from 1 or back from the last.
//!
//! Points, faces, lines and names are read. Statements on appearance are ignored. Free-form curves
//! and surfaces are refused, as they would be missing in the mesh.

use glam::DVec3;

use super::cursor::{self, Cursor, quoted};
use super::names::{GroupBuilder, MAX_GROUPS};
use super::{ImportError, Imported, Scope, elements};

/// Statements without effect on the mesh.
const IGNORED: [&[u8]; 18] = [
    b"vt",
    b"vn",
    b"vp",
    b"s",
    b"p",
    b"mtllib",
    b"usemtl",
    b"maplib",
    b"usemap",
    b"mg",
    b"bevel",
    b"c_interp",
    b"d_interp",
    b"lod",
    b"shadow_obj",
    b"trace_obj",
    b"ctech",
    b"stech",
];

/// Statements of free-form geometry.
const FREE_FORM: [&[u8]; 19] = [
    b"cstype", b"deg", b"bmat", b"step", b"curv", b"curv2", b"surf", b"parm", b"trim", b"hole",
    b"scrv", b"sp", b"end", b"con", b"bzp", b"bsp", b"cdc", b"cdp", b"res",
];

struct Reader<'a> {
    cursor: Cursor<'a>,
    imported: Imported,
    names: GroupBuilder,
    /// The group of the last `o`.
    object: Option<usize>,
    /// The groups of the last `g`.
    groups: Vec<usize>,
    /// The vertices of the statement.
    vertices: Vec<u32>,
}

/// Reads a file.
pub(super) fn read(bytes: &[u8], scope: Scope) -> Result<Imported, ImportError> {
    let mut reader = Reader {
        cursor: Cursor::with_continuation(bytes),
        imported: Imported::default(),
        names: GroupBuilder::default(),
        object: None,
        groups: Vec::new(),
        vertices: Vec::new(),
    };
    loop {
        match (reader.cursor.token(), scope) {
            (None, _) => {}
            (Some(b"v"), _) => reader.point()?,
            (Some(keyword), Scope::All) => reader.statement(keyword)?,
            (Some(keyword), Scope::Points) => reader.skip_statement(keyword),
        }
        if !reader.cursor.next_line() {
            break;
        }
    }
    if reader.imported.points.is_empty() {
        return Err(reader.cursor.error(
            "the file ends without a vertex",
            "give its points as lines `v x y z`, or choose another file",
        ));
    }
    reader.imported.groups = reader.names.into_groups();
    Ok(reader.imported)
}

impl Reader<'_> {
    /// `v x y z`, with an optional weight or colour.
    fn point(&mut self) -> Result<(), ImportError> {
        let x = self.cursor.real("x")?;
        let y = self.cursor.real("y")?;
        let z = self.cursor.real("z")?;
        self.imported.points.push(DVec3::new(x, y, z));
        // Continuation lines are part of the statement.
        while self.cursor.token().is_some() {}
        Ok(())
    }

    fn statement(&mut self, keyword: &[u8]) -> Result<(), ImportError> {
        match keyword {
            b"f" | b"fo" => {
                self.read_vertices()?;
                elements::add_face(&mut self.imported, &self.vertices, 1, &self.cursor)?;
                self.add_to_groups();
            }
            b"l" => {
                self.read_vertices()?;
                elements::add_line(&mut self.imported, &self.vertices, 1, &self.cursor)?;
                self.add_to_groups();
            }
            b"o" => {
                let name = cursor::name(self.cursor.rest_of_line());
                self.object = is_name(&name).then(|| self.names.number(&name));
            }
            b"g" => self.read_groups()?,
            _ if keyword.starts_with(b"#") || IGNORED.contains(&keyword) => {
                self.skip_statement(keyword);
            }
            _ => return Err(self.refuse(keyword)),
        }
        Ok(())
    }

    fn skip_statement(&mut self, keyword: &[u8]) {
        // A `\` at the end of a comment is no continuation; it may be part of a path.
        if !keyword.starts_with(b"#") {
            while self.cursor.token().is_some() {}
        }
    }

    fn refuse(&self, keyword: &[u8]) -> ImportError {
        let quoted = quoted(keyword);
        if FREE_FORM.contains(&keyword) {
            return self.cursor.error(
                format!("{quoted} belongs to a free-form curve or surface"),
                "convert the curves and surfaces to polygons in the program that made them",
            );
        }
        match keyword {
            b"call" | b"csh" => self.cursor.error(
                format!("{quoted} would read another file or start a program"),
                "put everything into one file",
            ),
            _ => self.cursor.error(
                format!("{quoted} is not a statement of OBJ"),
                "remove the line, or write the file again",
            ),
        }
    }

    /// The vertices of a face or a line: `5`, `5/1`, `5//2`, `5/1/2`, `-1`.
    fn read_vertices(&mut self) -> Result<(), ImportError> {
        self.vertices.clear();
        while let Some(token) = self.cursor.token() {
            // A comment after the vertices.
            if token.starts_with(b"#") {
                self.cursor.rest_of_line();
                break;
            }
            let end = token.iter().position(|byte| *byte == b'/');
            let number = token.get(..end.unwrap_or(token.len())).unwrap_or(token);
            let vertex = self.vertex(number)?;
            self.vertices.push(vertex);
        }
        Ok(())
    }

    fn vertex(&self, token: &[u8]) -> Result<u32, ImportError> {
        let count = self.imported.points.len();
        let Some(number) = cursor::parse_integer(token) else {
            return Err(self.cursor.error(
                format!("{} is not a whole number", quoted(token)),
                "name vertices by number, as in `f 1 2 3`",
            ));
        };
        let index = match number {
            1.. => u64::try_from(number - 1).ok(),
            0 => None,
            _ => (count as u64).checked_sub(number.unsigned_abs()),
        };
        let index = index.filter(|index| *index < count as u64);
        match index.and_then(|index| u32::try_from(index).ok()) {
            Some(index) => Ok(index),
            None if number == 0 => Err(self.cursor.error(
                "vertex 0 does not exist; OBJ counts vertices from 1",
                "add 1 to every number, or write the file again",
            )),
            None => Err(self.cursor.error(
                format!(
                    "vertex {number} does not exist; the file has {count} {} before it",
                    if count == 1 { "vertex" } else { "vertices" }
                ),
                "correct the number, or put the missing `v` lines before this one",
            )),
        }
    }

    fn read_groups(&mut self) -> Result<(), ImportError> {
        self.groups.clear();
        while let Some(token) = self.cursor.token() {
            let name = cursor::name(token);
            if is_name(&name) {
                self.groups.push(self.names.number(&name));
            }
            if self.groups.len() > MAX_GROUPS {
                return Err(self.cursor.error(
                    format!("more than {MAX_GROUPS} groups at once"),
                    "give the elements fewer groups",
                ));
            }
        }
        self.groups.sort_unstable();
        self.groups.dedup();
        Ok(())
    }

    fn add_to_groups(&mut self) {
        let object = self.object.filter(|object| !self.groups.contains(object));
        for &number in self.groups.iter().chain(&object) {
            self.names.add(number, &self.vertices);
        }
    }
}

/// Whether a name was chosen by a user: exporters write `default`.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name != "default"
}
