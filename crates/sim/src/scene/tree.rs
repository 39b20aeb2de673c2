//! A scene file as a tree of values with their locations.
//!
//! `[quick]` and `--set` are merged into this tree before tables are read, so that a mistake is
//! reported in the text that contains it: the file or the command line.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::problem::{Place, Problem};
use crate::units::Dimension;

/// A value with its location.
#[derive(Clone, Debug)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// Its location.
    pub place: Place,
}

impl Node {
    /// A table with a single key, at the location of its value.
    pub(super) fn tagged(tag: &str, word: Node) -> Node {
        let place = word.place.clone();
        let entry = Entry {
            key: tag.to_owned(),
            key_place: place.clone(),
            node: word,
        };
        let entries = vec![entry];
        Node {
            value: Value::Table(Table { entries }),
            place,
        }
    }

    /// Sets the location of this value and of all values inside.
    pub(super) fn place_everywhere(&mut self, place: &Place) {
        self.place = place.clone();
        match &mut self.value {
            Value::List(items) => items
                .iter_mut()
                .for_each(|item| item.place_everywhere(place)),
            Value::Table(table) => {
                for entry in &mut table.entries {
                    entry.key_place = place.clone();
                    entry.node.place_everywhere(place);
                }
            }
            _ => {}
        }
    }
}

/// A value of a scene file.
#[derive(Clone, Debug)]
pub enum Value {
    /// true or false
    Boolean(bool),
    /// A whole number
    Integer(i64),
    /// Any other number
    Float(f64),
    /// The result of an expression over parameters with units, in SI
    Measured(f64, Dimension),
    /// Text: a name, or a quantity with its unit
    Text(String),
    /// Values in brackets
    List(Vec<Node>),
    /// Keys and values
    Table(Table),
}

impl Value {
    /// Name of the type in messages.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Boolean(_) => "true or false",
            Value::Integer(_) => "a whole number",
            Value::Float(_) => "a number",
            Value::Measured(..) => "a quantity",
            Value::Text(_) => "text",
            Value::List(_) => "a list",
            Value::Table(_) => "a table",
        }
    }

    /// Number of values inside, itself included.
    #[must_use]
    pub fn size(&self) -> usize {
        let sum_of = |sizes: &mut dyn Iterator<Item = usize>| sizes.sum::<usize>();
        1 + match self {
            Value::List(items) => sum_of(&mut items.iter().map(|item| item.value.size())),
            Value::Table(table) => {
                sum_of(&mut table.entries.iter().map(|entry| entry.node.value.size()))
            }
            _ => 0,
        }
    }
}

/// Deepest nesting of values. Scenes need six levels; each level needs stack when it is copied.
const MAX_DEPTH: usize = 16;

/// Advice on nesting.
const TOO_DEEP: &str = "tables or lists are nested too deeply; no key of a scene needs that";

/// Keys and values in the order written.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// The entries; keys are unique.
    pub entries: Vec<Entry>,
}

/// A key with its value.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Location of the key.
    pub key_place: Place,
    /// The value.
    pub node: Node,
}

impl Table {
    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entries
            .iter()
            .find(|entry| entry.key == key)
            .map(|entry| &entry.node)
    }

    /// The value at a path of keys through tables.
    #[must_use]
    pub fn at(&self, keys: &[&str]) -> Option<&Node> {
        let (first, rest) = keys.split_first()?;
        let node = self.get(first)?;
        match (rest, &node.value) {
            ([], _) => Some(node),
            (_, Value::Table(inner)) => inner.at(rest),
            _ => None,
        }
    }

    /// Removes a key and returns its value.
    pub fn remove(&mut self, key: &str) -> Option<Node> {
        let index = self.entries.iter().position(|entry| entry.key == key)?;
        Some(self.entries.remove(index).node)
    }

    /// Sets the value at a path such as `object.cloth.vertices`, and creates missing tables.
    /// `path_place` is the location of the path.
    ///
    /// # Errors
    /// If a value on the path is neither a table nor a list with this index.
    pub fn set(&mut self, path: &str, path_place: &Place, node: Node) -> Result<(), Problem> {
        let keys: Vec<&str> = path.split('.').map(str::trim).collect();
        if keys.iter().any(|key| key.is_empty()) {
            return Err(Problem {
                message: format!("`{path}` is not a path to a key"),
                place: path_place.clone(),
                advice: "write names separated by dots, such as \"time.duration\"".into(),
            });
        }
        if keys.len() > MAX_DEPTH {
            return Err(too_deep(path_place.clone()));
        }
        let last = keys.len() - 1;
        let mut table = self;
        for (depth, key) in keys.iter().enumerate() {
            let index = table.entry_index(key, path_place);
            let slot = &mut table.entries[index].node;
            if depth == last {
                *slot = node;
                return Ok(());
            }
            match &mut slot.value {
                Value::Table(inner) => table = inner,
                Value::List(items) => {
                    return set_in_list(items, &keys[depth + 1..], node, path, path_place);
                }
                other => {
                    return Err(Problem {
                        message: format!("`{path}` cannot be set: `{key}` is {}", other.kind()),
                        place: path_place.clone(),
                        advice: "only tables and lists have values inside".into(),
                    });
                }
            }
        }
        Ok(())
    }

    /// Index of a key, which is added with an empty table if it is missing.
    fn entry_index(&mut self, key: &str, place: &Place) -> usize {
        if let Some(index) = self.entries.iter().position(|entry| entry.key == key) {
            return index;
        }
        self.entries.push(Entry {
            key: key.to_owned(),
            key_place: place.clone(),
            node: Node {
                value: Value::Table(Table::default()),
                place: place.clone(),
            },
        });
        self.entries.len() - 1
    }
}

fn too_deep(place: Place) -> Problem {
    Problem {
        message: format!("values are nested deeper than {MAX_DEPTH} levels"),
        place,
        advice: TOO_DEEP.into(),
    }
}

/// Sets a value inside a list. The first key is an index.
fn set_in_list(
    items: &mut [Node],
    keys: &[&str],
    node: Node,
    path: &str,
    place: &Place,
) -> Result<(), Problem> {
    let count = items.len();
    let wrong = |advice: String| Problem {
        message: format!("`{path}` cannot be set"),
        place: place.clone(),
        advice,
    };
    let index = keys
        .first()
        .and_then(|key| key.parse::<usize>().ok())
        .filter(|index| *index < count)
        .ok_or_else(|| wrong(format!("the list has {count} values, with indices from 0")))?;
    let slot = &mut items[index];
    if keys.len() == 1 {
        *slot = node;
        return Ok(());
    }
    match &mut slot.value {
        Value::Table(table) => table.set(&keys[1..].join("."), place, node),
        Value::List(items) => set_in_list(items, &keys[1..], node, path, place),
        other => Err(wrong(format!("value {index} is {}", other.kind()))),
    }
}

/// Parses the text of a scene, and collects syntax errors in `problems`.
pub fn parse(text: &str, source: usize, problems: &mut Vec<Problem>) -> Table {
    let (table, errors) = DeTable::parse_recoverable(text);
    let is_broken = !errors.is_empty();
    let mut found: Vec<Problem> = errors.iter().map(|e| syntax(text, source, e)).collect();
    // Later mistakes in the same line are mostly consequences of the first.
    found.sort_by_key(|problem| problem.place.range.start);
    let line_of = |problem: &Problem| {
        let before = text.get(..problem.place.range.start);
        before.map(|before| before.rfind('\n'))
    };
    found.dedup_by(|later, earlier| line_of(later) == line_of(earlier));
    problems.append(&mut found);
    let before = problems.len();
    let mut converter = Converter {
        source,
        problems,
        depth: 0,
    };
    let tree = converter.table(table.get_ref());
    drop_iteratively(DeValue::Table(table.into_inner()));
    // After a syntax error, errors in values may be its consequences.
    if is_broken {
        problems.truncate(before);
    }
    tree
}

/// Mistake of a syntax error.
fn syntax(text: &str, source: usize, error: &toml::de::Error) -> Problem {
    let range = error.span().unwrap_or(0..0);
    let said = error.message().replace('\n', ", ");
    let (message, advice) = match said.as_str() {
        "duplicate key" => (
            format!(
                "`{}` is defined twice",
                text.get(range.clone()).unwrap_or("")
            ),
            "keep one of the two".to_owned(),
        ),
        said if said.contains("recurs") => ("this is not TOML".into(), TOO_DEEP.to_owned()),
        _ => ("this is not TOML".into(), said),
    };
    Problem {
        message,
        place: Place { source, range },
        advice,
    }
}

/// Parses the value of a `--set` argument: TOML, or text without quotes.
pub fn parse_value(text: &str, source: usize, offset: usize) -> Result<Node, Problem> {
    let whole = Place {
        source,
        range: offset..offset + text.len(),
    };
    let bare = text.trim();
    let (value, errors) = DeValue::parse_recoverable(bare);
    let result = match errors.first() {
        None => {
            let mut problems = Vec::new();
            let mut converter = Converter {
                source,
                problems: &mut problems,
                depth: 0,
            };
            let mut node = converter.node(value.get_ref(), whole.clone());
            node.place_everywhere(&whole);
            match problems.pop() {
                None => Ok(node),
                Some(problem) => Err(Problem {
                    place: whole,
                    ..problem
                }),
            }
        }
        // Shells remove the quotes of `--set body="cloth"`.
        Some(_) if !bare.is_empty() && !bare.starts_with(['[', '{', '"', '\'']) => Ok(Node {
            value: Value::Text(bare.to_owned()),
            place: whole,
        }),
        Some(error) => Err(Problem {
            message: "this is not a TOML value".into(),
            place: whole,
            ..syntax(bare, source, error)
        }),
    };
    drop_iteratively(value.into_inner());
    result
}

/// Drops a parsed value without recursion: thousands of nested levels would overflow the stack.
fn drop_iteratively(value: DeValue<'_>) {
    let mut waiting = vec![value];
    while let Some(value) = waiting.pop() {
        match value {
            DeValue::Table(table) => {
                waiting.extend(table.into_iter().map(|(_, value)| value.into_inner()));
            }
            DeValue::Array(items) => waiting.extend(items.into_iter().map(Spanned::into_inner)),
            _ => {}
        }
    }
}

/// Converts the values of the TOML parser, and reports those that a scene cannot have.
struct Converter<'a> {
    source: usize,
    problems: &'a mut Vec<Problem>,
    depth: usize,
}

impl Converter<'_> {
    fn table(&mut self, table: &DeTable<'_>) -> Table {
        let source = self.source;
        let place = |range| Place { source, range };
        let mut entries: Vec<Entry> = table
            .iter()
            .map(|(key, value)| Entry {
                key: key.get_ref().to_string(),
                key_place: place(key.span()),
                node: self.node(value.get_ref(), place(value.span())),
            })
            .collect();
        // The parser sorts by name; messages and the resolved scene keep the order of the file.
        entries.sort_by_key(|entry| entry.key_place.range.start);
        Table { entries }
    }

    fn node(&mut self, value: &DeValue<'_>, place: Place) -> Node {
        let value = match value {
            DeValue::Array(_) | DeValue::Table(_) if self.depth >= MAX_DEPTH => {
                self.problems.push(too_deep(place.clone()));
                Value::Integer(0)
            }
            DeValue::Array(items) => {
                self.depth += 1;
                let source = self.source;
                let list = items.iter().map(|item| {
                    let range = item.span();
                    self.node(item.get_ref(), Place { source, range })
                });
                let list = list.collect();
                self.depth -= 1;
                Value::List(list)
            }
            DeValue::Table(table) => {
                self.depth += 1;
                let table = self.table(table);
                self.depth -= 1;
                Value::Table(table)
            }
            plain => self.plain(plain, &place),
        };
        Node { value, place }
    }

    /// A value that is not a table or list.
    fn plain(&mut self, value: &DeValue<'_>, place: &Place) -> Value {
        let (message, advice) = match value {
            DeValue::String(text) => return Value::Text(text.to_string()),
            DeValue::Boolean(value) => return Value::Boolean(*value),
            DeValue::Integer(integer) => {
                match i64::from_str_radix(integer.as_str(), integer.radix()) {
                    Ok(value) => return Value::Integer(value),
                    Err(_) => (
                        format!("`{}` is too large for an integer", integer.as_str()),
                        "whole numbers have at most 18 digits",
                    ),
                }
            }
            DeValue::Float(float) => match float.as_str().parse::<f64>() {
                Ok(value) if value.is_finite() => return Value::Float(value),
                _ => (
                    format!("`{}` is not a finite number", float.as_str()),
                    "write a finite number",
                ),
            },
            _ => (
                "dates are not used in scenes".into(),
                "write a duration as \"2 s\"",
            ),
        };
        self.problems.push(Problem {
            message,
            place: place.clone(),
            advice: advice.into(),
        });
        Value::Integer(0)
    }
}

/// Replaces the texts at these locations.
pub(super) fn replace_texts(table: &mut Table, texts: &[(Place, String)]) {
    for entry in &mut table.entries {
        replace_text(&mut entry.node, texts);
    }
}

fn replace_text(node: &mut Node, texts: &[(Place, String)]) {
    match &mut node.value {
        Value::Text(text) => {
            let known = texts.iter().find(|(place, _)| *place == node.place);
            if let Some((_, other)) = known {
                *text = other.clone();
            }
        }
        Value::List(items) => items.iter_mut().for_each(|item| replace_text(item, texts)),
        Value::Table(table) => replace_texts(table, texts),
        _ => {}
    }
}
