//! Types of values: numbers, texts, lists, and tables by name.

use super::problem::Place;
use super::read::{Fields, Read, Reader, read_table};
use super::schema::Schema;
use super::tree::{Node, Value};
use crate::units::parse_unit;

impl Read for bool {
    fn read(node: &Node, reader: &mut Reader<'_>) -> Option<bool> {
        match node.value {
            Value::Boolean(value) => Some(value),
            _ => {
                reader.expected(node, "true or false");
                None
            }
        }
    }
    fn schema() -> Schema {
        Schema::Boolean
    }
}

impl Read for f64 {
    fn read(node: &Node, reader: &mut Reader<'_>) -> Option<f64> {
        reader.quantity(node, "1")
    }
    fn schema() -> Schema {
        Schema::Number
    }
}

impl Read for u64 {
    fn read(node: &Node, reader: &mut Reader<'_>) -> Option<u64> {
        let whole = match node.value {
            Value::Integer(value) => Some(value),
            // An expression such as `= $n - 1` is a float.
            Value::Float(value) if value.fract() == 0.0 && value.abs() < 9e15 => Some(value as i64),
            _ => None,
        };
        match whole.map(u64::try_from) {
            Some(Ok(value)) => reader.within_bounds(node, value as f64).map(|_| value),
            Some(Err(_)) => {
                let message = format!("`{}` must not be negative", reader.path());
                reader.problem(&node.place, message, "expected a whole number from 0");
                None
            }
            None => {
                reader.expected(node, "a whole number");
                None
            }
        }
    }
    fn schema() -> Schema {
        Schema::Whole
    }
}

impl Read for String {
    fn read(node: &Node, reader: &mut Reader<'_>) -> Option<String> {
        match &node.value {
            Value::Text(text) => Some(text.clone()),
            _ => {
                reader.expected(node, "a text in quotes");
                None
            }
        }
    }
    fn schema() -> Schema {
        Schema::Text
    }
}

impl<T: Read> Read for Option<T> {
    fn read(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        T::read(node, reader).map(Some)
    }
    fn schema() -> Schema {
        T::schema()
    }
    fn absent() -> Option<Self> {
        Some(None)
    }
}

impl<T: Read> Read for Vec<T> {
    fn read(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let Value::List(items) = &node.value else {
            reader.expected(node, "a list in brackets");
            return None;
        };
        let read: Vec<Option<T>> = read_items(items, reader);
        read.into_iter().collect()
    }
    fn schema() -> Schema {
        Schema::List(Box::new(T::schema()), None)
    }
}

impl<T: Read, const N: usize> Read for [T; N] {
    fn read(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let Value::List(items) = &node.value else {
            reader.expected(node, &format!("a list of {N} values"));
            return None;
        };
        if items.len() != N {
            let message = format!("`{}` must have {N} values", reader.path());
            reader.problem(
                &node.place,
                message,
                format!("it has {} values", items.len()),
            );
            return None;
        }
        let read: Option<Vec<T>> = read_items(items, reader).into_iter().collect();
        read?.try_into().ok()
    }
    fn schema() -> Schema {
        Schema::List(Box::new(T::schema()), Some(N))
    }
}

fn read_items<T: Read>(items: &[Node], reader: &mut Reader<'_>) -> Vec<Option<T>> {
    let bounds = reader.bounds;
    let read_one = |(index, item): (usize, &Node)| {
        reader.inside(&index.to_string(), |reader| {
            reader.bounds = bounds;
            T::read(item, reader)
        })
    };
    items.iter().enumerate().map(read_one).collect()
}

/// A value with its location, for checks that need the whole scene.
#[derive(Clone, Debug)]
pub struct Placed<T> {
    /// The value.
    pub value: T,
    /// Its location.
    pub place: Place,
}

impl<T: Read> Read for Placed<T> {
    fn read(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        Some(Placed {
            value: T::read(node, reader)?,
            place: node.place.clone(),
        })
    }
    fn schema() -> Schema {
        T::schema()
    }
}

/// Tables by name, in the order of the file.
#[derive(Clone, Debug)]
pub struct Named<T>(pub Vec<NamedItem<T>>);

/// One of the tables of [`Named`].
#[derive(Clone, Debug)]
pub struct NamedItem<T> {
    /// Its name.
    pub name: String,
    /// Location of the table.
    pub place: Place,
    /// The table.
    pub value: T,
}

impl<T> Named<T> {
    /// Index of the table with this name.
    #[must_use]
    pub fn index(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|item| item.name == name)
    }

    /// The table with this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&T> {
        self.index(name).map(|index| &self.0[index].value)
    }

    /// All names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|item| item.name.as_str())
    }
}

impl<T: Fields> Read for Named<T> {
    fn read(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let Value::Table(table) = &node.value else {
            reader.expected(node, "tables by name");
            return None;
        };
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let mut items = Vec::new();
        let mut complete = true;
        for entry in &table.entries {
            if entry.key.is_empty() || !entry.key.chars().all(is_word) {
                let message = format!("`{}` is not a valid name", entry.key);
                let advice = "names consist of letters, digits, `_` and `-`";
                reader.problem(&entry.key_place, message, advice);
                complete = false;
                continue;
            }
            match reader.inside(&entry.key, |reader| read_table(&entry.node, reader)) {
                Some(value) => items.push(NamedItem {
                    name: entry.key.clone(),
                    place: entry.node.place.clone(),
                    value,
                }),
                None => complete = false,
            }
        }
        complete.then_some(Named(items))
    }
    fn schema() -> Schema {
        Schema::Named(Box::new(T::table_schema()))
    }
    fn absent() -> Option<Self> {
        Some(Named(Vec::new()))
    }
}

/// `N` values, or one value for all: `[warp, weft]` of a fabric, the axes of a section.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OneOr<T, const N: usize>(pub [T; N]);

impl<T: Read + Copy, const N: usize> Read for OneOr<T, N> {
    fn read(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        if matches!(node.value, Value::List(_)) {
            return Read::read(node, reader).map(OneOr);
        }
        T::read(node, reader).map(|value| OneOr([value; N]))
    }
    fn schema() -> Schema {
        Schema::Either(vec![
            T::schema(),
            Schema::List(Box::new(T::schema()), Some(N)),
        ])
    }
}

/// A unit of length such as "cm"; the value is its length (m).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LengthUnit(pub f64);

impl Read for LengthUnit {
    fn read(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let unit = match &node.value {
            Value::Text(text) => parse_unit(text).ok(),
            _ => None,
        };
        let metre = parse_unit("m").ok()?.dimension;
        let length = unit.filter(|unit| unit.dimension == metre && unit.si > 0.0);
        if length.is_none() {
            let message = format!("`{}` must be a unit of length", reader.path());
            let advice = "write its name in quotes, such as \"m\", \"cm\", \"mm\" or \"in\"";
            reader.problem(&node.place, message, advice);
        }
        length.map(|unit| LengthUnit(unit.si))
    }
    fn schema() -> Schema {
        Schema::Text
    }
}
