//! Schema of scene files: the source of the reader's messages, the JSON Schema and the reference
//! page.

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

    /// The limits in words; empty without limits.
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

/// Type of a value.
#[derive(Clone, Debug)]
pub enum Schema {
    /// true or false
    Boolean,
    /// A whole number
    Whole,
    /// A number without unit
    Number,
    /// A number in this SI unit, or a text with a compatible unit
    Quantity(&'static str),
    /// Any text
    Text,
    /// One of these words, each with its meaning
    Choice(Vec<(&'static str, &'static str)>),
    /// A list of values of one type, with its length if that is fixed
    List(Box<Schema>, Option<usize>),
    /// One of these types
    Either(Vec<Schema>),
    /// Keys and values
    Table(Box<TableSchema>),
    /// Tables by name, `[object.NAME]`
    Named(Box<TableSchema>),
    /// A table with a tag, or the tag alone
    Kinds(Box<TableSchema>),
    /// A table with exactly one of these keys
    OneKey(Vec<KeySchema>),
    /// Any value
    Free,
}

/// The keys of a table.
#[derive(Clone, Debug, Default)]
pub struct TableSchema {
    /// Description of the table.
    pub doc: &'static str,
    /// Keys of all variants.
    pub keys: Vec<KeySchema>,
    /// Keys that depend on the tag.
    pub variants: Option<Variants>,
}

/// Tables that differ by the value of a tag, such as `kind`.
#[derive(Clone, Debug)]
pub struct Variants {
    /// The tag.
    pub tag: &'static str,
    /// Description of the tag.
    pub doc: &'static str,
    /// Tag, description and keys of each variant.
    pub list: Vec<(&'static str, TableSchema)>,
}

/// A key of a table.
#[derive(Clone, Debug)]
pub struct KeySchema {
    /// Name.
    pub name: &'static str,
    /// Description.
    pub doc: &'static str,
    /// Type of the value.
    pub schema: Schema,
    /// Default value as TOML.
    pub default: Option<Cow<'static, str>>,
    /// Whether the key is required.
    pub required: bool,
    /// Limits of numbers.
    pub bounds: Bounds,
}

impl Schema {
    /// The type in a few words, for the reference page.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Schema::Boolean => "true or false".into(),
            Schema::Whole => "whole number".into(),
            Schema::Number => "number".into(),
            Schema::Quantity(unit) => (*unit).into(),
            Schema::Text => "text".into(),
            Schema::Choice(words) => quoted(words.iter().map(|word| word.0)),
            Schema::Kinds(table) => format!("{}, or table", quoted(table.tags())),
            Schema::List(item, Some(count)) => format!("list of {count}: {}", item.words()),
            Schema::List(item, None) => format!("list: {}", item.words()),
            Schema::Either(schemas) => {
                let schemas: Vec<String> = schemas.iter().map(Schema::words).collect();
                schemas.join(", or ")
            }
            Schema::Table(_) => "table".into(),
            Schema::Named(_) => "tables by name".into(),
            Schema::OneKey(_) => "table with one key".into(),
            Schema::Free => "any value".into(),
        }
    }

    fn json_schema(&self, bounds: Bounds) -> Json {
        match self {
            Schema::Boolean => json!({ "type": ["boolean", "string"] }),
            Schema::Whole => numeric(json!({ "type": "integer" }), bounds),
            Schema::Number => numeric(json!({ "type": "number" }), bounds),
            Schema::Quantity(unit) => {
                let mut schema = numeric(json!({ "type": "number" }), bounds);
                schema["anyOf"][0]["description"] = json!(unit);
                schema
            }
            Schema::Text => json!({ "type": "string" }),
            Schema::Choice(words) => words_schema(words.iter().map(|word| word.0).collect()),
            Schema::Kinds(table) => {
                let mut schema = words_schema(table.tags().collect());
                if let Some(alternatives) = schema["anyOf"].as_array_mut() {
                    alternatives.push(table.json_schema());
                }
                schema
            }
            Schema::List(item, count) => {
                let mut schema = json!({ "type": "array", "items": item.json_schema(bounds) });
                if let Some(count) = count {
                    schema["minItems"] = json!(count);
                    schema["maxItems"] = json!(count);
                }
                // A parameter may be a whole list.
                json!({ "anyOf": [schema, { "type": "string", "pattern": "^\\$" }] })
            }
            Schema::Either(schemas) => {
                let schemas: Vec<Json> = schemas
                    .iter()
                    .map(|schema| schema.json_schema(bounds))
                    .collect();
                json!({ "anyOf": schemas })
            }
            Schema::Table(table) => table.json_schema(),
            Schema::Named(table) => json!({
                "type": "object",
                "additionalProperties": table.json_schema(),
                "propertyNames": { "pattern": "^[A-Za-z0-9_-]+$" },
            }),
            Schema::OneKey(keys) => {
                let mut schema = object(keys.iter());
                schema["minProperties"] = json!(1);
                schema["maxProperties"] = json!(1);
                schema
            }
            Schema::Free => json!({}),
        }
    }
}

/// JSON Schema of one of these words, or a parameter.
fn words_schema(words: Vec<&str>) -> Json {
    json!({ "anyOf": [{ "enum": words }, { "type": "string", "pattern": "^\\$" }] })
}

/// Words in quotes, for the reference page.
fn quoted<'w>(words: impl Iterator<Item = &'w str>) -> String {
    let words: Vec<String> = words.map(|word| format!("`\"{word}\"`")).collect();
    words.join(", ")
}

/// JSON Schema of a number, or a text: a quantity with unit, a parameter or an expression.
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

fn object<'a>(keys: impl Iterator<Item = &'a KeySchema>) -> Json {
    let mut properties = serde_json::Map::new();
    let mut required = Vec::new();
    for key in keys {
        let mut schema = key.schema.json_schema(key.bounds);
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

impl TableSchema {
    /// The tags of all variants.
    pub(super) fn tags(&self) -> impl Iterator<Item = &'static str> {
        let kinds = self.variants.iter().flat_map(|variants| &variants.list);
        kinds.map(|(word, _)| *word)
    }

    /// The tags of the variants that have a key.
    pub(super) fn kinds_with(&self, key: &str) -> Vec<&'static str> {
        let kinds = self.variants.iter().flat_map(|variants| &variants.list);
        let having = kinds.filter(|(_, table)| table.keys.iter().any(|own| own.name == key));
        having.map(|(word, _)| *word).collect()
    }

    /// JSON Schema of the table.
    #[must_use]
    pub fn json_schema(&self) -> Json {
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

    /// Writes this table and the tables inside to the reference page.
    fn reference(&self, path: &str, page: &mut Page) {
        if let Some(first) = page.find_or_add(self, path) {
            page.text += &format!("{} It has the keys of `{first}`.\n", one_line(self.doc));
            return;
        }
        if !path.is_empty() {
            page.text += &format!("{}\n", one_line(self.doc));
        }
        key_table(&self.keys, &mut page.text);
        if let Some(variants) = &self.variants {
            let (tag, doc) = (variants.tag, one_line(variants.doc));
            if let Some(first) = page.find_or_add(variants, path) {
                page.text += &format!("\n`{tag}`: {doc} The choices are those of `{first}`.\n");
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

    /// Writes a value that is a table with a tag, or the tag alone, to the reference page.
    fn kinds_reference(&self, path: &str, page: &mut Page) {
        let Some(Variants { tag, list, .. }) = &self.variants else {
            return;
        };
        let doc = one_line(self.doc);
        let with_options = list.iter().rfind(|(_, table)| !table.keys.is_empty());
        let example = with_options.map_or(*tag, |(word, _)| word);
        page.text += &format!(
            "\n## `{path}`\n{doc} The value is a word, which means default options, or a table \
             with the word as `{tag}` and options: `{{ {tag} = \"{example}\", ... }}`.\n\n"
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

    /// Writes the tables inside and the words of choices to the reference page.
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
            key.schema.reference(&inner, page);
        }
    }
}

impl Schema {
    fn reference(&self, path: &str, page: &mut Page) {
        match self {
            Schema::Table(table) => {
                page.text += &format!("\n## `{path}`\n");
                table.reference(path, page);
            }
            Schema::Named(table) => {
                page.text += &format!("\n## `{path}.NAME`\n");
                table.reference(&format!("{path}.NAME"), page);
            }
            Schema::List(item, _) => {
                if let Schema::Table(table) = &**item {
                    page.text += &format!("\n## Each of `{path}`\n");
                    table.reference(path, page);
                }
            }
            Schema::Kinds(table) => table.kinds_reference(path, page),
            Schema::OneKey(keys) => {
                page.text += &format!("\n## `{path}`\n");
                if let Some(first) = page.find_or_add(self, path) {
                    page.text += &format!("A table with exactly one of the keys of `{first}`.\n");
                    return;
                }
                page.text += "A table with exactly one of these keys:\n";
                key_table(keys, &mut page.text);
                for key in keys {
                    key.schema.reference(&format!("{path}.{}", key.name), page);
                }
            }
            Schema::Choice(words) if words.iter().any(|word| !word.1.is_empty()) => {
                // Several kinds may have the same key.
                if page.find_or_add(&(path, words), path).is_some() {
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
    /// Schemas that are on the page, with the path of their first use.
    described: Vec<(String, String)>,
}

impl Page {
    /// Path of the first use of a schema. If there is none, `path` becomes the first use, and the
    /// result is `None`.
    fn find_or_add(&mut self, schema: &impl std::fmt::Debug, path: &str) -> Option<String> {
        let schema = format!("{schema:?}");
        let earlier = self.described.iter().find(|(known, _)| *known == schema);
        if let Some((_, first)) = earlier {
            return Some(first.clone());
        }
        self.described.push((schema, path.to_owned()));
        None
    }
}

/// Reference page of a table and all tables inside, in Markdown.
#[must_use]
pub fn reference(table: &TableSchema) -> String {
    let mut page = Page::default();
    table.reference("", &mut page);
    page.text
}

/// A doc comment as one line.
fn one_line(doc: &str) -> String {
    doc.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn key_table(keys: &[KeySchema], text: &mut String) {
    if keys.is_empty() {
        return;
    }
    *text += "\n| key | value | default | meaning |\n| --- | --- | --- | --- |\n";
    for key in keys {
        let default = match (&key.default, key.required) {
            (Some(default), _) => format!("`{default}`"),
            (None, true) => "required".into(),
            (None, false) => "optional".into(),
        };
        let mut kind = key.schema.words();
        let bounds = key.bounds.words();
        if !bounds.is_empty() {
            kind += &format!(" ({bounds})");
        }
        let doc = one_line(key.doc).replace('|', "\\|");
        *text += &format!("| `{}` | {kind} | {default} | {doc} |\n", key.name);
    }
}
