//! What a scene file may hold, as data: the one source of the reader's messages, the JSON Schema
//! and the reference page.

use std::borrow::Cow;

use serde_json::{Value as Json, json};

/// Limits on a number, in SI.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Smallest value.
    pub least: f64,
    /// Largest value.
    pub most: f64,
    /// Whether the smallest value itself is out of bounds.
    pub above: bool,
}

/// Any finite number.
pub const ANY: Bounds = Bounds {
    least: f64::NEG_INFINITY,
    most: f64::INFINITY,
    above: false,
};

/// Numbers above zero.
pub const POSITIVE: Bounds = Bounds {
    least: 0.0,
    above: true,
    ..ANY
};

/// Zero and numbers above.
pub const NOT_NEGATIVE: Bounds = Bounds { least: 0.0, ..ANY };

/// Numbers from `least` to `most`, both included.
#[must_use]
pub const fn between(least: f64, most: f64) -> Bounds {
    Bounds {
        least,
        most,
        above: false,
    }
}

impl Bounds {
    /// Whether a value is allowed.
    #[must_use]
    pub fn allow(&self, value: f64) -> bool {
        let low_enough = value <= self.most;
        let high_enough = if self.above {
            value > self.least
        } else {
            value >= self.least
        };
        low_enough && high_enough
    }

    /// What would be allowed, in words; empty if everything is.
    #[must_use]
    pub fn words(&self) -> String {
        let least = match (self.least.is_finite(), self.above) {
            (false, _) => None,
            (true, true) => Some(format!("above {}", self.least)),
            (true, false) => Some(format!("at least {}", self.least)),
        };
        let most = self
            .most
            .is_finite()
            .then(|| format!("at most {}", self.most));
        match (least, most) {
            (Some(least), Some(most)) => format!("{least}, {most}"),
            (one, other) => one.or(other).unwrap_or_default(),
        }
    }
}

/// What a value may be.
#[derive(Clone, Debug)]
pub enum Shape {
    /// true or false
    Boolean,
    /// A whole number
    Whole,
    /// A number without unit
    Number,
    /// A number in the SI unit, or a text with another one
    Quantity(&'static str),
    /// Any text
    Text,
    /// One of these words, each with what it means
    Choice(Vec<(&'static str, &'static str)>),
    /// Several of the same kind
    List(Box<Shape>, Option<usize>),
    /// One of these
    Either(Vec<Shape>),
    /// Keys and values
    Table(Box<TableShape>),
    /// Tables by name, `[object.NAME]`
    Named(Box<TableShape>),
    /// A table with a tag, or the word of its tag alone
    Kinds(Box<TableShape>),
    /// A table with exactly one of these keys
    OneKey(Vec<KeyShape>),
    /// Whatever the author likes
    Free,
}

/// The keys of a table.
#[derive(Clone, Debug, Default)]
pub struct TableShape {
    /// What the table is.
    pub doc: &'static str,
    /// Keys that it always has.
    pub keys: Vec<KeyShape>,
    /// Keys that depend on the value of one of them.
    pub variants: Option<Variants>,
}

/// Tables that differ by the value of a key, such as `kind`.
#[derive(Clone, Debug)]
pub struct Variants {
    /// The key that decides.
    pub tag: &'static str,
    /// What it decides.
    pub doc: &'static str,
    /// Value, meaning and keys of each variant.
    pub list: Vec<(&'static str, TableShape)>,
}

/// A key of a table.
#[derive(Clone, Debug)]
pub struct KeyShape {
    /// Its name.
    pub name: &'static str,
    /// What it means.
    pub doc: &'static str,
    /// What its value may be.
    pub shape: Shape,
    /// The value if the key is left out, as TOML.
    pub default: Option<Cow<'static, str>>,
    /// Whether it must be there.
    pub required: bool,
    /// Limits on the number or numbers.
    pub bounds: Bounds,
}

impl Shape {
    /// The type in a few words, for the reference page.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Shape::Boolean => "true or false".into(),
            Shape::Whole => "whole number".into(),
            Shape::Number => "number".into(),
            Shape::Quantity(unit) => (*unit).into(),
            Shape::Text => "text".into(),
            Shape::Choice(words) => quoted(words.iter().map(|word| word.0)),
            Shape::Kinds(table) => format!("{}, or table", quoted(table.tags())),
            Shape::List(item, Some(count)) => format!("list of {count}: {}", item.words()),
            Shape::List(item, None) => format!("list: {}", item.words()),
            Shape::Either(shapes) => {
                let shapes: Vec<String> = shapes.iter().map(Shape::words).collect();
                shapes.join(", or ")
            }
            Shape::Table(_) => "table".into(),
            Shape::Named(_) => "tables by name".into(),
            Shape::OneKey(_) => "table with one key".into(),
            Shape::Free => "any value".into(),
        }
    }

    fn schema(&self, bounds: Bounds) -> Json {
        match self {
            Shape::Boolean => json!({ "type": ["boolean", "string"] }),
            Shape::Whole => numeric(json!({ "type": "integer" }), bounds),
            Shape::Number => numeric(json!({ "type": "number" }), bounds),
            Shape::Quantity(unit) => {
                let mut schema = numeric(json!({ "type": "number" }), bounds);
                schema["anyOf"][0]["description"] = json!(unit);
                schema
            }
            Shape::Text => json!({ "type": "string" }),
            Shape::Choice(words) => words_schema(words.iter().map(|word| word.0).collect()),
            Shape::Kinds(table) => {
                let mut schema = words_schema(table.tags().collect());
                if let Some(alternatives) = schema["anyOf"].as_array_mut() {
                    alternatives.push(table.schema());
                }
                schema
            }
            Shape::List(item, count) => {
                let mut schema = json!({ "type": "array", "items": item.schema(bounds) });
                if let Some(count) = count {
                    schema["minItems"] = json!(count);
                    schema["maxItems"] = json!(count);
                }
                // A whole list may also come from a parameter.
                json!({ "anyOf": [schema, { "type": "string", "pattern": "^\\$" }] })
            }
            Shape::Either(shapes) => {
                let shapes: Vec<Json> = shapes.iter().map(|shape| shape.schema(bounds)).collect();
                json!({ "anyOf": shapes })
            }
            Shape::Table(table) => table.schema(),
            Shape::Named(table) => json!({
                "type": "object",
                "additionalProperties": table.schema(),
                "propertyNames": { "pattern": "^[A-Za-z0-9_-]+$" },
            }),
            Shape::OneKey(keys) => {
                let mut schema = object(keys.iter());
                schema["minProperties"] = json!(1);
                schema["maxProperties"] = json!(1);
                schema
            }
            Shape::Free => json!({}),
        }
    }
}

/// One of a few words, or a parameter.
fn words_schema(words: Vec<&str>) -> Json {
    json!({ "anyOf": [{ "enum": words }, { "type": "string", "pattern": "^\\$" }] })
}

/// Words as they are written in a file, for the reference page.
fn quoted<'w>(words: impl Iterator<Item = &'w str>) -> String {
    let words: Vec<String> = words.map(|word| format!("`\"{word}\"`")).collect();
    words.join(", ")
}

/// A number, or a text: a quantity with its unit, a parameter or an expression.
fn numeric(mut schema: Json, bounds: Bounds) -> Json {
    if bounds.least.is_finite() {
        let key = if bounds.above {
            "exclusiveMinimum"
        } else {
            "minimum"
        };
        schema[key] = json!(bounds.least);
    }
    if bounds.most.is_finite() {
        schema["maximum"] = json!(bounds.most);
    }
    json!({ "anyOf": [schema, { "type": "string" }] })
}

fn object<'a>(keys: impl Iterator<Item = &'a KeyShape>) -> Json {
    let mut properties = serde_json::Map::new();
    let mut required = Vec::new();
    for key in keys {
        let mut schema = key.shape.schema(key.bounds);
        schema["description"] = json!(one_line(key.doc));
        if let Some(default) = &key.default {
            schema["x-default"] = json!(default);
        }
        properties.insert(key.name.into(), schema);
        if key.required {
            required.push(key.name);
        }
    }
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

impl TableShape {
    /// The words of its kinds.
    pub(super) fn tags(&self) -> impl Iterator<Item = &'static str> {
        let kinds = self.variants.iter().flat_map(|variants| &variants.list);
        kinds.map(|(word, _)| *word)
    }

    /// The words of the kinds that have a key.
    pub(super) fn kinds_with(&self, key: &str) -> Vec<&'static str> {
        let kinds = self.variants.iter().flat_map(|variants| &variants.list);
        let having = kinds.filter(|(_, table)| table.keys.iter().any(|own| own.name == key));
        having.map(|(word, _)| *word).collect()
    }

    /// The JSON Schema of such a table.
    #[must_use]
    pub fn schema(&self) -> Json {
        let Some(variants) = &self.variants else {
            let mut schema = object(self.keys.iter());
            schema["description"] = json!(one_line(self.doc));
            return schema;
        };
        let alternatives: Vec<Json> = variants
            .list
            .iter()
            .map(|(value, table)| {
                let mut schema = object(table.keys.iter().chain(&self.keys));
                schema["properties"][variants.tag] = json!({ "const": value });
                if let Some(required) = schema["required"].as_array_mut() {
                    required.insert(0, json!(variants.tag));
                }
                schema["description"] = json!(one_line(table.doc));
                schema
            })
            .collect();
        json!({ "description": one_line(self.doc), "oneOf": alternatives })
    }

    /// This table's part of the reference page, followed by the tables inside.
    fn reference(&self, path: &str, page: &mut Page) {
        if let Some(first) = page.described(self, path) {
            page.text += &format!("{} Its keys are those of `{first}`.\n", one_line(self.doc));
            return;
        }
        if !path.is_empty() {
            page.text += &format!("{}\n", one_line(self.doc));
        }
        key_table(&self.keys, &mut page.text);
        if let Some(variants) = &self.variants {
            let (tag, doc) = (variants.tag, one_line(variants.doc));
            if let Some(first) = page.described(variants, path) {
                page.text += &format!("\n`{tag}`: {doc} The kinds are those of `{first}`.\n");
                return self.inner_reference(path, page);
            }
            page.text += &format!("\n`{tag}`: {doc}\n");
            for (value, table) in &variants.list {
                let doc = one_line(table.doc);
                page.text += &format!("\n### `{tag} = \"{value}\"`\n{doc}\n");
                key_table(&table.keys, &mut page.text);
            }
        }
        self.inner_reference(path, page);
    }

    /// The part of the reference page of a table with a tag that may also be the word alone.
    fn kinds_reference(&self, path: &str, page: &mut Page) {
        let Some(Variants { tag, list, .. }) = &self.variants else {
            return;
        };
        let doc = one_line(self.doc);
        page.text += &format!(
            "\n## `{path}`\n{doc} A word, which has the defaults of its options, or a table with the word as `{tag}` and options.\n\n"
        );
        for (word, table) in list {
            page.text += &format!("- `\"{word}\"`: {}\n", one_line(table.doc));
        }
        for (word, table) in list.iter().filter(|(_, table)| !table.keys.is_empty()) {
            page.text += &format!("\n### `{path}`: options of `\"{word}\"`\n");
            key_table(&table.keys, &mut page.text);
        }
        self.inner_reference(path, page);
    }

    /// The tables inside, and the words that keys may have.
    fn inner_reference(&self, path: &str, page: &mut Page) {
        let variant_keys = self.variants.iter().flat_map(|variants| {
            variants
                .list
                .iter()
                .flat_map(|(_, table)| table.keys.iter())
        });
        for key in self.keys.iter().chain(variant_keys) {
            let inner = if path.is_empty() {
                key.name.to_owned()
            } else {
                format!("{path}.{}", key.name)
            };
            key.shape.reference(&inner, page);
        }
    }
}

impl Shape {
    fn reference(&self, path: &str, page: &mut Page) {
        match self {
            Shape::Table(table) => {
                page.text += &format!("\n## `{path}`\n");
                table.reference(path, page);
            }
            Shape::Named(table) => {
                page.text += &format!("\n## `{path}.NAME`\n");
                table.reference(&format!("{path}.NAME"), page);
            }
            Shape::List(item, _) => {
                if let Shape::Table(table) = &**item {
                    page.text += &format!("\n## Each of `{path}`\n");
                    table.reference(path, page);
                }
            }
            Shape::Kinds(table) => table.kinds_reference(path, page),
            Shape::OneKey(keys) => {
                page.text += &format!("\n## `{path}`\n");
                if let Some(first) = page.described(self, path) {
                    page.text += &format!("Exactly one of the keys of `{first}`.\n");
                    return;
                }
                page.text += "Exactly one of:\n";
                key_table(keys, &mut page.text);
                for key in keys {
                    key.shape.reference(&format!("{path}.{}", key.name), page);
                }
            }
            Shape::Choice(words) if words.iter().any(|word| !word.1.is_empty()) => {
                // Several kinds may have a key of this name.
                if page.described(&(path, words), path).is_some() {
                    return;
                }
                page.text += &format!("\n`{path}`:\n");
                for (word, meaning) in words {
                    page.text += &format!("- `\"{word}\"`: {}\n", one_line(meaning));
                }
            }
            _ => {}
        }
    }
}

/// The reference page while it is written.
#[derive(Debug, Default)]
struct Page {
    text: String,
    /// What was described, and where first.
    described: Vec<(String, String)>,
}

impl Page {
    /// Where the same was described before; if nowhere, it is described here.
    fn described(&mut self, thing: &impl std::fmt::Debug, path: &str) -> Option<String> {
        let thing = format!("{thing:?}");
        let earlier = self.described.iter().find(|(known, _)| *known == thing);
        if let Some((_, first)) = earlier {
            return Some(first.clone());
        }
        self.described.push((thing, path.to_owned()));
        None
    }
}

/// Every key of a table and of all tables inside, for the reference page.
#[must_use]
pub fn reference(table: &TableShape) -> String {
    let mut page = Page::default();
    table.reference("", &mut page);
    page.text
}

/// A doc comment as one line.
fn one_line(doc: &str) -> String {
    doc.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn key_table(keys: &[KeyShape], text: &mut String) {
    if keys.is_empty() {
        return;
    }
    *text += "\n| key | value | default | meaning |\n| --- | --- | --- | --- |\n";
    for key in keys {
        let default = match (&key.default, key.required) {
            (Some(default), _) => format!("`{default}`"),
            (None, true) => "required".into(),
            (None, false) => "none".into(),
        };
        let mut kind = key.shape.words();
        let bounds = key.bounds.words();
        if !bounds.is_empty() {
            kind += &format!(" ({bounds})");
        }
        let doc = one_line(key.doc).replace('|', "\\|");
        *text += &format!("| `{}` | {kind} | {default} | {doc} |\n", key.name);
    }
}
