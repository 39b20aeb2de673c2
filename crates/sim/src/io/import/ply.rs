//! PLY: a header with the names of tables and columns, then the rows, as text or binary.
//!
//! Points are the columns x, y and z of `vertex`. Faces, edges and triangle strips are read; other
//! tables and columns are skipped.

use glam::DVec3;

use super::cursor::Cursor;
use super::ply_header::{self, Element, Encoding, NumberType, PlyHeader, PropertyType, shown};
use super::{ImportError, Imported, Scope, elements};

struct Reader<'a> {
    cursor: Cursor<'a>,
    encoding: Encoding,
    imported: Imported,
    /// List of the current row.
    list: Vec<i64>,
    vertices: Vec<u32>,
}

/// Reads a file.
pub(super) fn read(bytes: &[u8], scope: Scope) -> Result<Imported, ImportError> {
    let mut cursor = Cursor::new(bytes);
    let PlyHeader { encoding, elements } = ply_header::read(&mut cursor)?;
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
        reader.element(element, scope)?;
        if scope == Scope::Points && !reader.imported.points.is_empty() {
            return Ok(reader.imported);
        }
    }
    reader.end()?;
    Ok(reader.imported)
}

impl Reader<'_> {
    fn element(&mut self, element: &Element, scope: Scope) -> Result<(), ImportError> {
        if element.properties.is_empty() {
            return Err(ImportError::new(
                element.place,
                format!("element `{}` has no properties", shown(&element.name)),
                "add them, or remove the element",
            ));
        }
        match (element.name.as_slice(), scope) {
            (b"vertex", _) => self.points(element),
            (b"face", Scope::All) => self.faces(element),
            (b"tristrips", Scope::All) => self.strips(element),
            (b"edge", Scope::All) => self.edges(element),
            _ => self.skip_element(element),
        }
    }

    fn skip_element(&mut self, element: &Element) -> Result<(), ImportError> {
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
                    (Some((axis, name)), PropertyType::Scalar(number)) => {
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

    /// Triangle strips: each vertex forms a triangle with the two before it; -1 starts a new strip.
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
                // Every second triangle is reversed. Degenerate triangles only join strips.
                if length >= 2 && before != last && last != vertex && before != vertex {
                    let triangle = if length.is_multiple_of(2) {
                        [before, last, vertex]
                    } else {
                        [last, before, vertex]
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
                    (Some(end), PropertyType::Scalar(number)) => {
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

    /// Reads the list in a column of a row, and skips the other columns.
    fn read_list(&mut self, element: &Element, column: usize) -> Result<(), ImportError> {
        self.list.clear();
        for (index, property) in element.properties.iter().enumerate() {
            match property.kind {
                PropertyType::List { count, item } if index == column => {
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
                "the elements come before the vertices",
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

    /// Moves to the start of a row.
    fn row(&mut self, element: &Element) -> Result<(), ImportError> {
        let is_there = match self.encoding {
            Encoding::Text => self.cursor.find_token(),
            Encoding::Binary(_) => !self.cursor.rest().is_empty(),
        };
        if is_there {
            return Ok(());
        }
        Err(self.cursor.error(
            format!(
                "the file ends before the {} rows of `{}` are complete",
                element.count,
                shown(&element.name)
            ),
            "the file may be cut off, or the count in the header wrong; copy or write it again",
        ))
    }

    fn end_row(&mut self) -> Result<(), ImportError> {
        match self.encoding {
            Encoding::Text => self.cursor.end_line(),
            Encoding::Binary(_) => Ok(()),
        }
    }

    /// Refuses data after the last row: the counts of the header are wrong then.
    fn end(&mut self) -> Result<(), ImportError> {
        if !self.cursor.find_token() {
            return Ok(());
        }
        Err(self.cursor.error(
            "the file continues after the last row of its header",
            "correct the counts in the header, or write the file again",
        ))
    }

    fn skip(&mut self, kind: PropertyType) -> Result<(), ImportError> {
        match kind {
            PropertyType::Scalar(number) => self.skip_number(number),
            PropertyType::List { count, item } => {
                for _ in 0..self.length(count)? {
                    self.skip_number(item)?;
                }
                Ok(())
            }
        }
    }

    fn skip_number(&mut self, number: NumberType) -> Result<(), ImportError> {
        match self.encoding {
            Encoding::Text => self.cursor.expect_token("a number").map(|_| ()),
            Encoding::Binary(_) => self.binary(number, "a row").map(|_| ()),
        }
    }

    fn length(&mut self, number: NumberType) -> Result<u64, ImportError> {
        let length = self.whole(number, "the length of a list")?;
        u64::try_from(length).map_err(|_| {
            self.cursor.error(
                format!("a list of {length} items"),
                "correct the length, or write the file again",
            )
        })
    }

    fn real(&mut self, number: NumberType, label: &str) -> Result<f64, ImportError> {
        if self.encoding == Encoding::Text {
            return self.cursor.real(label);
        }
        let value = match self.binary(number, label)? {
            Value::Whole(value) => value as f64,
            Value::Real(value) => value,
        };
        self.cursor.finite(value, label)
    }

    fn whole(&mut self, number: NumberType, label: &str) -> Result<i64, ImportError> {
        if self.encoding == Encoding::Text {
            return self.cursor.integer(label);
        }
        match self.binary(number, label)? {
            Value::Whole(value) => Ok(value),
            Value::Real(value) => Err(self.cursor.error(
                format!("{label} is {value}, which is not a whole number"),
                "write it with the type `int`",
            )),
        }
    }

    fn binary(&mut self, number: NumberType, label: &str) -> Result<Value, ImportError> {
        let Encoding::Binary(order) = self.encoding else {
            return Err(self.cursor.missing(label));
        };
        let cursor = &mut self.cursor;
        Ok(match number {
            NumberType::I8 => Value::Whole(i8::from_le_bytes(cursor.binary(order, label)?).into()),
            NumberType::U8 => Value::Whole(u8::from_le_bytes(cursor.binary(order, label)?).into()),
            NumberType::I16 => {
                Value::Whole(i16::from_le_bytes(cursor.binary(order, label)?).into())
            }
            NumberType::U16 => {
                Value::Whole(u16::from_le_bytes(cursor.binary(order, label)?).into())
            }
            NumberType::I32 => {
                Value::Whole(i32::from_le_bytes(cursor.binary(order, label)?).into())
            }
            NumberType::U32 => {
                Value::Whole(u32::from_le_bytes(cursor.binary(order, label)?).into())
            }
            NumberType::I64 => Value::Whole(i64::from_le_bytes(cursor.binary(order, label)?)),
            NumberType::U64 => {
                let value = u64::from_le_bytes(cursor.binary(order, label)?);
                // Larger values are invalid as an index or count in any case.
                Value::Whole(i64::try_from(value).unwrap_or(i64::MAX))
            }
            NumberType::F32 => Value::Real(f32::from_le_bytes(cursor.binary(order, label)?).into()),
            NumberType::F64 => Value::Real(f64::from_le_bytes(cursor.binary(order, label)?)),
        })
    }
}

/// A binary number.
enum Value {
    Whole(i64),
    Real(f64),
}

/// The column with one of the names, which must have a number in every row.
fn scalar(element: &Element, names: &[&str]) -> Result<usize, ImportError> {
    find(element, names, "a number", |kind| {
        matches!(kind, PropertyType::Scalar(_))
    })
}

/// The column with the vertices of faces.
fn indices(element: &Element) -> Result<usize, ImportError> {
    let names = ["vertex_indices", "vertex_index"];
    find(
        element,
        &names,
        "a list of whole numbers",
        |kind| matches!(kind, PropertyType::List { item, .. } if !item.is_real()),
    )
}

fn find(
    element: &Element,
    names: &[&str],
    label: &str,
    is_right: impl Fn(PropertyType) -> bool,
) -> Result<usize, ImportError> {
    let mut found = names
        .iter()
        .filter_map(|name| element.find(name.as_bytes()));
    let name = names.first().copied().unwrap_or_default();
    let message = match found.next() {
        Some(index) if is_right(element.properties[index].kind) => return Ok(index),
        Some(_) => format!("property `{name}` is not {label}"),
        None => format!(
            "element `{}` has no property `{name}`, but {}",
            shown(&element.name),
            element.names()
        ),
    };
    let advice = format!("write `{name}` as {label}");
    Err(ImportError::new(element.place, message, advice))
}
