//! PLY: a header that names tables and their columns, then the rows, as text or binary.
//!
//! Points are the columns x, y and z of `vertex`. Faces, edges and strips of triangles are read; other
//! tables and columns are passed over, as the header says how long they are.

use glam::DVec3;

use super::cursor::Cursor;
use super::ply_header::{self, Element, Encoding, Header, Kind, Number, shown};
use super::{ImportError, Imported, Want, elements};

struct Reader<'a> {
    cursor: Cursor<'a>,
    encoding: Encoding,
    imported: Imported,
    /// The list of the row.
    list: Vec<i64>,
    vertices: Vec<u32>,
}

/// Reads a file.
pub(super) fn read(bytes: &[u8], want: Want) -> Result<Imported, ImportError> {
    let mut cursor = Cursor::new(bytes);
    let Header { encoding, elements } = ply_header::read(&mut cursor)?;
    let vertex = elements.iter().find(|element| element.name == b"vertex");
    if vertex.is_none_or(|vertex| vertex.count == 0) {
        return Err(cursor.error(
            "the header names no vertices",
            "write the points as `element vertex`, or choose another file",
        ));
    }
    let mut reader = Reader {
        cursor,
        encoding,
        imported: Imported::default(),
        list: Vec::new(),
        vertices: Vec::new(),
    };
    for element in elements.iter().filter(|element| element.count > 0) {
        reader.element(element, want)?;
        if want == Want::Points && !reader.imported.points.is_empty() {
            return Ok(reader.imported);
        }
    }
    reader.end()?;
    Ok(reader.imported)
}

impl Reader<'_> {
    fn element(&mut self, element: &Element, want: Want) -> Result<(), ImportError> {
        if element.properties.is_empty() {
            return Err(ImportError::new(
                element.place,
                format!("element `{}` has no properties", shown(&element.name)),
                "add them, or remove the element",
            ));
        }
        match (element.name.as_slice(), want) {
            (b"vertex", _) => self.points(element),
            (b"face", Want::Everything) => self.faces(element),
            (b"tristrips", Want::Everything) => self.strips(element),
            (b"edge", Want::Everything) => self.edges(element),
            _ => self.pass_over(element),
        }
    }

    fn pass_over(&mut self, element: &Element) -> Result<(), ImportError> {
        for _ in 0..element.count {
            self.row(element)?;
            for property in &element.properties {
                self.skip(property.kind)?;
            }
            self.end_row()?;
        }
        Ok(())
    }

    fn points(&mut self, element: &Element) -> Result<(), ImportError> {
        let mut axes = vec![None; element.properties.len()];
        for (axis, name) in ["x", "y", "z"].into_iter().enumerate() {
            let index = scalar(element, &[name])?;
            axes[index] = Some((axis, name));
        }
        for _ in 0..element.count {
            self.row(element)?;
            let mut point = DVec3::ZERO;
            for (property, axis) in element.properties.iter().zip(&axes) {
                match (*axis, property.kind) {
                    (Some((axis, name)), Kind::Scalar(number)) => {
                        point[axis] = self.real(number, name)?;
                    }
                    (_, kind) => self.skip(kind)?,
                }
            }
            self.end_row()?;
            self.imported.points.push(point);
        }
        Ok(())
    }

    fn faces(&mut self, element: &Element) -> Result<(), ImportError> {
        let column = indices(element)?;
        for _ in 0..element.count {
            self.row(element)?;
            self.read_list(element, column)?;
            self.vertices.clear();
            for index in 0..self.list.len() {
                let vertex = self.vertex(self.list[index])?;
                self.vertices.push(vertex);
            }
            elements::add_face(&mut self.imported, &self.vertices, 0, &self.cursor)?;
        }
        Ok(())
    }

    /// Strips: each vertex makes a triangle with the two before it, and -1 starts anew.
    fn strips(&mut self, element: &Element) -> Result<(), ImportError> {
        let column = indices(element)?;
        for _ in 0..element.count {
            self.row(element)?;
            self.read_list(element, column)?;
            let (mut before, mut last, mut length) = (0, 0, 0usize);
            for index in 0..self.list.len() {
                if self.list[index] == -1 {
                    length = 0;
                    continue;
                }
                let vertex = self.vertex(self.list[index])?;
                // Every other triangle runs backwards. Strips are joined by triangles without area.
                if length >= 2 && before != last && last != vertex && before != vertex {
                    let triangle = match length.is_multiple_of(2) {
                        true => [before, last, vertex],
                        false => [last, before, vertex],
                    };
                    self.imported.triangles.push(triangle);
                }
                (before, last, length) = (last, vertex, length + 1);
            }
        }
        Ok(())
    }

    fn edges(&mut self, element: &Element) -> Result<(), ImportError> {
        let ends = [
            scalar(element, &["vertex1"])?,
            scalar(element, &["vertex2"])?,
        ];
        for _ in 0..element.count {
            self.row(element)?;
            let mut vertices = [0, 0];
            for (index, property) in element.properties.iter().enumerate() {
                match (ends.iter().position(|end| *end == index), property.kind) {
                    (Some(end), Kind::Scalar(number)) => {
                        let number = self.whole(number, "the number of a vertex")?;
                        vertices[end] = self.vertex(number)?;
                    }
                    (_, kind) => self.skip(kind)?,
                }
            }
            self.end_row()?;
            elements::add_line(&mut self.imported, &vertices, 0, &self.cursor)?;
        }
        Ok(())
    }

    /// Reads a row, of which a list is wanted.
    fn read_list(&mut self, element: &Element, column: usize) -> Result<(), ImportError> {
        self.list.clear();
        for (index, property) in element.properties.iter().enumerate() {
            match property.kind {
                Kind::List { count, item } if index == column => {
                    for _ in 0..self.length(count)? {
                        let number = self.whole(item, "the number of a vertex")?;
                        self.list.push(number);
                    }
                }
                kind => self.skip(kind)?,
            }
        }
        self.end_row()
    }

    fn vertex(&self, number: i64) -> Result<u32, ImportError> {
        let count = self.imported.points.len();
        let index = usize::try_from(number).ok().filter(|index| *index < count);
        match index.and_then(|index| u32::try_from(index).ok()) {
            Some(index) => Ok(index),
            None if count == 0 => Err(self.cursor.error(
                "the vertices come only after what names them",
                "put `element vertex` first",
            )),
            None => Err(self.cursor.error(
                format!(
                    "vertex {number} does not exist; the file has 0 to {}",
                    count - 1
                ),
                "correct the number, or write the file again",
            )),
        }
    }

    /// Goes to the start of a row.
    fn row(&mut self, element: &Element) -> Result<(), ImportError> {
        let is_there = match self.encoding {
            Encoding::Text => self.cursor.find_token(),
            Encoding::Binary(_) => !self.cursor.rest().is_empty(),
        };
        match is_there {
            true => Ok(()),
            false => Err(self.cursor.error(
                format!(
                    "the file ends before the {} rows of `{}` are there",
                    element.count,
                    shown(&element.name)
                ),
                "the file may be cut off, or the count in the header wrong; copy or write it again",
            )),
        }
    }

    fn end_row(&mut self) -> Result<(), ImportError> {
        match self.encoding {
            Encoding::Text => self.cursor.end_line(),
            Encoding::Binary(_) => Ok(()),
        }
    }

    /// Refuses what follows the last row: then the header is wrong about the rows.
    fn end(&mut self) -> Result<(), ImportError> {
        match self.cursor.find_token() {
            false => Ok(()),
            true => Err(self.cursor.error(
                "the file goes on after the last row that its header names",
                "correct the counts in the header, or write the file again",
            )),
        }
    }

    fn skip(&mut self, kind: Kind) -> Result<(), ImportError> {
        match kind {
            Kind::Scalar(number) => self.skip_number(number),
            Kind::List { count, item } => {
                for _ in 0..self.length(count)? {
                    self.skip_number(item)?;
                }
                Ok(())
            }
        }
    }

    fn skip_number(&mut self, number: Number) -> Result<(), ImportError> {
        match self.encoding {
            Encoding::Text => self.cursor.needed("a number").map(|_| ()),
            Encoding::Binary(_) => self.binary(number, "a row").map(|_| ()),
        }
    }

    fn length(&mut self, number: Number) -> Result<u64, ImportError> {
        let length = self.whole(number, "the length of a list")?;
        u64::try_from(length).map_err(|_| {
            self.cursor.error(
                format!("a list of {length} items"),
                "correct the length, or write the file again",
            )
        })
    }

    fn real(&mut self, number: Number, what: &str) -> Result<f64, ImportError> {
        if self.encoding == Encoding::Text {
            return self.cursor.real(what);
        }
        let value = match self.binary(number, what)? {
            Value::Whole(value) => value as f64,
            Value::Real(value) => value,
        };
        self.cursor.finite(value, what)
    }

    fn whole(&mut self, number: Number, what: &str) -> Result<i64, ImportError> {
        if self.encoding == Encoding::Text {
            return self.cursor.integer(what);
        }
        match self.binary(number, what)? {
            Value::Whole(value) => Ok(value),
            Value::Real(value) => Err(self.cursor.error(
                format!("{what} is {value}, which is not a whole number"),
                "write it with the type `int`",
            )),
        }
    }

    fn binary(&mut self, number: Number, what: &str) -> Result<Value, ImportError> {
        let Encoding::Binary(order) = self.encoding else {
            return Err(self.cursor.missing(what));
        };
        let cursor = &mut self.cursor;
        Ok(match number {
            Number::I8 => Value::Whole(i8::from_le_bytes(cursor.binary(order, what)?).into()),
            Number::U8 => Value::Whole(u8::from_le_bytes(cursor.binary(order, what)?).into()),
            Number::I16 => Value::Whole(i16::from_le_bytes(cursor.binary(order, what)?).into()),
            Number::U16 => Value::Whole(u16::from_le_bytes(cursor.binary(order, what)?).into()),
            Number::I32 => Value::Whole(i32::from_le_bytes(cursor.binary(order, what)?).into()),
            Number::U32 => Value::Whole(u32::from_le_bytes(cursor.binary(order, what)?).into()),
            Number::I64 => Value::Whole(i64::from_le_bytes(cursor.binary(order, what)?)),
            Number::U64 => {
                let value = u64::from_le_bytes(cursor.binary(order, what)?);
                // No file is long enough for the difference to matter.
                Value::Whole(i64::try_from(value).unwrap_or(i64::MAX))
            }
            Number::F32 => Value::Real(f32::from_le_bytes(cursor.binary(order, what)?).into()),
            Number::F64 => Value::Real(f64::from_le_bytes(cursor.binary(order, what)?)),
        })
    }
}

/// A binary number.
enum Value {
    Whole(i64),
    Real(f64),
}

/// The column of one of the names, which holds a number in every row.
fn scalar(element: &Element, names: &[&str]) -> Result<usize, ImportError> {
    find(element, names, "a number", |kind| {
        matches!(kind, Kind::Scalar(_))
    })
}

/// The column that lists the vertices of faces.
fn indices(element: &Element) -> Result<usize, ImportError> {
    let names = ["vertex_indices", "vertex_index"];
    find(
        element,
        &names,
        "a list of whole numbers",
        |kind| matches!(kind, Kind::List { item, .. } if !item.is_real()),
    )
}

fn find(
    element: &Element,
    names: &[&str],
    what: &str,
    is_right: impl Fn(Kind) -> bool,
) -> Result<usize, ImportError> {
    let mut found = names
        .iter()
        .filter_map(|name| element.find(name.as_bytes()));
    let name = names.first().copied().unwrap_or_default();
    let message = match found.next() {
        Some(index) if is_right(element.properties[index].kind) => return Ok(index),
        Some(_) => format!("property `{name}` is not {what}"),
        None => format!(
            "element `{}` has no property `{name}`, but {}",
            shown(&element.name),
            element.names()
        ),
    };
    let advice = format!("write `{name}` as {what}");
    Err(ImportError::new(element.place, message, advice))
}
