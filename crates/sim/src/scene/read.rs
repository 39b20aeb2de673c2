//! Reads a tree of values into typed tables, and collects every mistake with its location.
//!
//! The macros `table!`, `choice!`, `kinds!` and `one_of!` define a table once. Its Rust type,
//! reader, messages, JSON Schema and reference page come from that definition.

use super::kind::belongs_inside;
use super::problem::{Place, Problem};
use super::schema::{ANY, Bounds, KeySchema, Schema, TableSchema};
use super::tables::{ObjectKind, ShapeKind};
use super::tree::{Entry, Node, Table, Value, parse_value};
use crate::units::{Dimension, closest, parse_quantity, parse_unit};

/// State of reading a scene: collected mistakes and the path of the current key.
pub struct Reader<'a> {
    problems: &'a mut Vec<Problem>,
    path: Vec<String>,
    pub(super) bounds: Bounds,
}

impl<'a> Reader<'a> {
    /// A reader that adds mistakes to `problems`.
    pub fn new(problems: &'a mut Vec<Problem>) -> Reader<'a> {
        Reader {
            problems,
            path: Vec::new(),
            bounds: ANY,
        }
    }

    /// Adds a mistake.
    pub fn problem(
        &mut self,
        place: &Place,
        message: impl Into<String>,
        advice: impl Into<String>,
    ) {
        self.problems.push(Problem {
            message: message.into(),
            place: place.clone(),
            advice: advice.into(),
        });
    }

    /// Adds the mistake that a value has the wrong type.
    pub fn expected(&mut self, node: &Node, what: &str) {
        self.expected_with_advice(node, what, format!("expected {what}"));
    }

    /// Adds the mistake that a value has the wrong type, with other advice.
    pub(super) fn expected_with_advice(&mut self, node: &Node, what: &str, advice: String) {
        let found = match &node.value {
            Value::Text(text) => format!("the text \"{text}\""),
            Value::Float(value) => format!("the number {}", number_text(*value)),
            value => value.kind().to_owned(),
        };
        let message = format!("`{}` must be {what}, not {found}", self.path());
        self.problem(&node.place, message, advice);
    }

    /// The key being read, such as `object.cloth.size`.
    #[must_use]
    pub fn path(&self) -> String {
        self.path.join(".")
    }

    /// Calls `read` with `key` appended to the path.
    pub fn inside<T>(&mut self, key: &str, read: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(key.to_owned());
        let result = read(self);
        self.path.pop();
        result
    }

    /// Checks a number against the limits of the key being read.
    pub(super) fn within_bounds(&mut self, node: &Node, value: f64) -> Option<f64> {
        if self.bounds.allow(value) {
            return Some(value);
        }
        let words = self.bounds.words();
        let message = format!("`{}` must be {words}", self.path());
        self.problem(
            &node.place,
            message,
            format!("{} is out of range", number_text(value)),
        );
        None
    }

    /// Reads a quantity of the dimension of `unit`.
    pub fn quantity(&mut self, node: &Node, unit: &str) -> Option<f64> {
        let expected = parse_unit(unit).ok()?.dimension;
        let (value, dimension) = match &node.value {
            Value::Integer(value) => (*value as f64, expected),
            Value::Float(value) => (*value, expected),
            Value::Measured(value, dimension) => (*value, *dimension),
            Value::Text(text) => match parse_quantity(text) {
                // A quoted number without a unit is in SI, as without quotes.
                Ok(quantity) if quantity.dimension == Dimension::NONE && !text.contains('%') => {
                    (quantity.si, expected)
                }
                Ok(quantity) => (quantity.si, quantity.dimension),
                Err(reason) => {
                    let message = format!("`{}` is not a quantity: {reason}", self.path());
                    self.problem(&node.place, message, example_of(unit));
                    return None;
                }
            },
            _ => {
                let expected = match unit {
                    "1" => "a number".to_owned(),
                    unit => format!("a number or a text with a unit ({unit})"),
                };
                self.expected(node, &expected);
                return None;
            }
        };
        if dimension != expected {
            let path = self.path();
            let message = match (unit, dimension) {
                ("1", _) => format!("`{path}` must be a number without unit, not in {dimension}"),
                (_, Dimension::NONE) => {
                    format!("`{path}` must be in {unit}, not without unit")
                }
                _ => format!("`{path}` must be in {unit}, not in {dimension}"),
            };
            self.problem(&node.place, message, example_of(unit));
            return None;
        }
        self.within_bounds(node, value)
    }
}

/// A number as text, in scientific notation if it is very large or small.
fn number_text(value: f64) -> String {
    if value == 0.0 || (1e-4..1e15).contains(&value.abs()) {
        format!("{value}")
    } else {
        format!("{value:e}")
    }
}

fn example_of(unit: &str) -> String {
    match unit {
        "1" => "write a number without unit".into(),
        unit => format!("write a number in {unit}, or a text such as \"0.5 {unit}\""),
    }
}

/// A type that can be read from a value of a scene file.
pub trait Read: Sized {
    /// Reads a value; `None` after a mistake, which the reader has collected.
    fn read(node: &Node, reader: &mut Reader<'_>) -> Option<Self>;
    /// Schema of the values.
    fn schema() -> Schema;
    /// Value of an omitted key; `None` if the key is required.
    fn absent() -> Option<Self> {
        None
    }
}

/// A set of keys: a whole table, or a part that several kinds share.
pub trait Fields: Sized {
    /// Reads the keys.
    fn read_fields(view: &TableView<'_>, reader: &mut Reader<'_>) -> Option<Self>;
    /// All keys, for messages, JSON Schema and reference page.
    fn table_schema() -> TableSchema;
}

/// A table with its location.
#[derive(Clone, Copy)]
pub struct TableView<'a> {
    /// The table.
    pub table: &'a Table,
    /// Location of the table.
    pub place: &'a Place,
}

/// Reads one key of a table.
pub fn read_field<T: Read>(
    view: &TableView<'_>,
    key: &KeySchema,
    reader: &mut Reader<'_>,
) -> Option<T> {
    read_field_by(view, key, reader, T::absent, T::read)
}

/// Reads one key of a table with the function `read`; `absent` is the value of an omitted key
/// without a default, `None` if the key is required.
pub fn read_field_by<T>(
    view: &TableView<'_>,
    key: &KeySchema,
    reader: &mut Reader<'_>,
    absent: impl FnOnce() -> Option<T>,
    read: impl FnOnce(&Node, &mut Reader<'_>) -> Option<T>,
) -> Option<T> {
    reader.inside(key.name, |reader| {
        reader.bounds = key.bounds;
        let value = match (view.table.get(key.name), &key.default) {
            (Some(node), _) => read(node, reader),
            (None, Some(default)) => {
                let mut node = parse_value(default, usize::MAX, 0).ok()?;
                // A conflict with the default is a mistake of this table.
                node.place = view.place.clone();
                read(&node, reader)
            }
            (None, None) => {
                let value = absent();
                if value.is_none() {
                    let message = format!("`{}` is missing", reader.path());
                    let advice = format!("add `{} = ...` ({})", key.name, key.schema.words());
                    reader.problem(view.place, message, advice);
                }
                value
            }
        };
        reader.bounds = ANY;
        value
    })
}

/// Reads a whole table, and reports unknown keys.
pub fn read_table<T: Fields>(node: &Node, reader: &mut Reader<'_>) -> Option<T> {
    let Value::Table(table) = &node.value else {
        let mut keys: Vec<&str> = T::table_schema().keys.iter().map(|key| key.name).collect();
        keys.truncate(8);
        let advice = format!(
            "expected a table in braces, with keys such as {}",
            keys.join(", ")
        );
        reader.expected_with_advice(node, "a table", advice);
        return None;
    };
    let view = TableView {
        table,
        place: &node.place,
    };
    report_unknown_keys(&view, &T::table_schema(), reader);
    T::read_fields(&view, reader)
}

fn report_unknown_keys(view: &TableView<'_>, schema: &TableSchema, reader: &mut Reader<'_>) {
    let mut known: Vec<&str> = schema.keys.iter().map(|key| key.name).collect();
    let mut kind = String::new();
    if let Some(variants) = &schema.variants {
        known.push(variants.tag);
        let chosen = match view.table.get(variants.tag).map(|node| &node.value) {
            Some(Value::Text(text)) => variants.list.iter().find(|(name, _)| name == text),
            _ => None,
        };
        match chosen {
            Some((name, table)) => {
                known.extend(table.keys.iter().map(|key| key.name));
                kind = format!(", whose {} is \"{name}\"", variants.tag);
            }
            // Without a kind the keys are unknown; the missing kind is reported elsewhere.
            None => return,
        }
    }
    for entry in &view.table.entries {
        if known.contains(&entry.key.as_str()) {
            continue;
        }
        if let Some((owner, advice)) = belongs_inside(view.table, schema, entry) {
            let (key, path) = (&entry.key, reader.path());
            let message = format!("`{key}` is not a key of `{path}`: it belongs to the {owner}");
            reader.problem(&entry.key_place, message, advice);
            continue;
        }
        let place = if reader.path.is_empty() {
            "at the top level of the scene".to_owned()
        } else {
            format!("in `{}`{kind}", reader.path())
        };
        let others = match schema.kinds_with(&entry.key) {
            kinds if (1..=3).contains(&kinds.len()) => {
                format!("; only {} has `{}`", either(&kinds), entry.key)
            }
            _ => String::new(),
        };
        let advice = match closest(&entry.key, known.iter().copied()) {
            Some(key) => format!("did you mean `{key}`?"),
            None => format!("known keys: {}{others}", known.join(", ")),
        };
        let message = format!("unknown key `{}` {place}", entry.key);
        reader.problem(&entry.key_place, message, advice);
    }
}

/// Reads one of `words`.
pub fn read_word<'w>(node: &Node, words: &[&'w str], reader: &mut Reader<'_>) -> Option<&'w str> {
    let Value::Text(text) = &node.value else {
        let advice = format!("expected one of {}", listed(words));
        reader.expected_with_advice(node, "a text", advice);
        return None;
    };
    let found = words.iter().copied().find(|word| word == text);
    if found.is_none() {
        let message = format!("`{}` cannot be \"{text}\"", reader.path());
        let similar: Vec<&str> = words
            .iter()
            .copied()
            .filter(|word| has_part(word, text))
            .collect();
        let advice = match (
            other_table(&reader.path, text),
            closest(text, words.iter().copied()),
        ) {
            (Some(advice), _) => advice,
            (None, Some(word)) => format!("did you mean \"{word}\"?"),
            (None, None) if !similar.is_empty() => format!("did you mean {}?", either(&similar)),
            (None, None) => format!("expected one of {}", listed(words)),
        };
        reader.problem(&node.place, message, advice);
    }
    found
}

/// Whether a kind such as "solid-box" has a word such as "box" in it.
fn has_part(kind: &str, word: &str) -> bool {
    kind.split('-').any(|part| part == word)
}

/// Advice for a kind that belongs to another table than that of this path.
fn other_table(path: &[String], word: &str) -> Option<String> {
    let [table, name, _] = path else {
        return None;
    };
    let has_kind = |schema: TableSchema| {
        let kinds = schema.variants.into_iter().flat_map(|kinds| kinds.list);
        kinds.into_iter().any(|(kind, _)| kind == word)
    };
    match table.as_str() {
        "collider" if has_kind(ObjectKind::table_schema()) => Some(format!(
            "that is the kind of an object: write [object.{name}]"
        )),
        "object" if has_kind(ShapeKind::table_schema()) => Some(format!(
            "that is a shape: write [collider.{name}] for an obstacle, or kind = \"rigid\" and \
             shape = {{ kind = \"{word}\", ... }} for a rigid prop; other kinds of objects are \
             \"cloth-grid\", \"rod\", \"solid-box\" and so on"
        )),
        _ => None,
    }
}

/// Reads the tag of a table, such as `kind`.
pub fn read_tag<'w>(
    view: &TableView<'_>,
    tag: &str,
    words: &[&'w str],
    reader: &mut Reader<'_>,
) -> Option<&'w str> {
    reader.inside(tag, |reader| match view.table.get(tag) {
        Some(node) => read_word(node, words, reader),
        None => {
            let message = format!("`{}` is missing", reader.path());
            let advice = format!("add `{tag} = ...`, one of {}", listed(words));
            reader.problem(view.place, message, advice);
            None
        }
    })
}

/// Reads a table with exactly one key, which is one of `words`.
pub fn read_single<'n>(
    node: &'n Node,
    words: &[&str],
    reader: &mut Reader<'_>,
) -> Option<&'n Entry> {
    let Value::Table(table) = &node.value else {
        reader.expected(node, &format!("a table with one of {}", listed(words)));
        return None;
    };
    let [entry] = table.entries.as_slice() else {
        let message = format!("`{}` must have exactly one key", reader.path());
        reader.problem(
            &node.place,
            message,
            format!("expected one of {}", listed(words)),
        );
        return None;
    };
    if words.contains(&entry.key.as_str()) {
        return Some(entry);
    }
    let message = format!("unknown key `{}` in `{}`", entry.key, reader.path());
    let advice = match closest(&entry.key, words.iter().copied()) {
        Some(word) => format!("did you mean `{word}`?"),
        None => format!("expected one of {}", listed(words)),
    };
    reader.problem(&entry.key_place, message, advice);
    None
}

pub(super) fn either(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    words.join(" or ")
}

pub(super) fn listed(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    words.join(", ")
}
