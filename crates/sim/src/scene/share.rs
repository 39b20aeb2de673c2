//! Moves schemas that occur more than once, such as motions and placements, to `$defs` of the JSON
//! Schema.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};

/// Length of the JSON text up to which a schema is repeated instead of shared.
const MAX_REPEATED_LENGTH: usize = 300;

/// A schema that may be shared: name of its definition and number of uses.
struct Shared {
    name: String,
    count: usize,
}

/// Moves the tables of a schema that occur more than once to `$defs`.
pub(super) fn share(schema: &mut Json) {
    let mut known = BTreeMap::new();
    count(schema, "table", &mut known);
    known.retain(|_, shared| shared.count > 1);
    let mut definitions = Map::new();
    for inner in children(schema) {
        replace(inner, &known, &mut definitions);
    }
    schema["$defs"] = Json::Object(definitions);
}

/// Text by which equal tables are found: everything but description and default.
fn identity(schema: &Json) -> Option<String> {
    let mut table = schema.as_object()?.clone();
    table.get("properties")?;
    table.remove("description");
    table.remove("x-default");
    let text = Json::Object(table).to_string();
    (text.len() > MAX_REPEATED_LENGTH).then_some(text)
}

/// All values inside a schema.
fn children(schema: &mut Json) -> Vec<&mut Json> {
    match schema {
        Json::Object(object) => object.values_mut().collect(),
        Json::Array(items) => items.iter_mut().collect(),
        _ => Vec::new(),
    }
}

fn count(schema: &Json, key: &str, known: &mut BTreeMap<String, Shared>) {
    if let Some(identity) = identity(schema) {
        let others = known.values().filter(|shared| shared.name.starts_with(key));
        let name = match others.count() {
            0 => key.to_owned(),
            others => format!("{key}-{}", others + 1),
        };
        let shared = known.entry(identity).or_insert(Shared { name, count: 0 });
        shared.count += 1;
    }
    match schema {
        Json::Object(object) => {
            for (inner, value) in object {
                // Keywords of JSON Schema are not names of tables.
                let is_word = [
                    "items",
                    "anyOf",
                    "oneOf",
                    "properties",
                    "additionalProperties",
                ];
                let key = if is_word.contains(&inner.as_str()) {
                    key
                } else {
                    inner
                };
                count(value, key, known);
            }
        }
        Json::Array(items) => items.iter().for_each(|item| count(item, key, known)),
        _ => {}
    }
}

fn replace(
    schema: &mut Json,
    known: &BTreeMap<String, Shared>,
    definitions: &mut Map<String, Json>,
) {
    let shared = identity(schema).and_then(|identity| known.get(&identity));
    for inner in children(schema) {
        replace(inner, known, definitions);
    }
    let Some(shared) = shared else {
        return;
    };
    let mut table = schema.clone();
    let mut reference = json!({ "$ref": format!("#/$defs/{}", shared.name) });
    if let Some(object) = table.as_object_mut() {
        for key in ["description", "x-default"] {
            if let Some(value) = object.remove(key) {
                reference[key] = value;
            }
        }
    }
    definitions.entry(shared.name.clone()).or_insert(table);
    *schema = reference;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_tables_share_a_definition_and_keep_their_descriptions() {
        let long = "x".repeat(MAX_REPEATED_LENGTH);
        let table = |text: &str| {
            let properties = json!({ long.as_str(): {} });
            json!({ "type": "object", "properties": properties, "description": text })
        };
        let list = json!({ "items": table("other") });
        let mut schema = json!({ "properties": { "a": table("one"), "b": list, "c": {} } });
        share(&mut schema);
        assert_eq!(
            schema["properties"]["a"],
            json!({ "$ref": "#/$defs/a", "description": "one" })
        );
        let inside = &schema["properties"]["b"]["items"];
        assert_eq!(
            *inside,
            json!({ "$ref": "#/$defs/a", "description": "other" })
        );
        assert_eq!(schema["$defs"]["a"]["type"], "object");
        assert_eq!(schema["$defs"].as_object().unwrap().len(), 1);
    }
}
