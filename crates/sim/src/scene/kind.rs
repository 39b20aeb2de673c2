//! Values that are a table with a tag, or the tag alone: `"newton"` is `{ kind = "newton" }`.

use super::problem::{Place, Problem};
use super::read::{Fields, Reader, either, listed, read_table, read_word};
use super::schema::{KeySchema, Schema, TableSchema};
use super::tree::{Entry, Node, Table, Value, parse_value};
use super::write::inline;

/// Reads a table with a tag, or the tag alone, which is that kind with all defaults.
pub(super) fn read_kind<T: Fields>(node: &Node, reader: &mut Reader<'_>) -> Option<T> {
    let schema = T::table_schema();
    let words: Vec<&str> = schema.tags().collect();
    match &node.value {
        Value::Table(_) => read_table(node, reader),
        Value::Text(_) => {
            read_word(node, &words, reader)?;
            let tag = schema.variants?.tag;
            read_table(&Node::tagged(tag, node.clone()), reader)
        }
        _ => {
            let advice = format!("expected one of {}, or a table", listed(&words));
            reader.expected_with_advice(node, "a word or a table", advice);
            None
        }
    }
}

/// The value of such a key as a table; the default if the key is omitted.
fn as_table(written: Option<&Node>, key: &KeySchema, tag: &str) -> Option<Node> {
    let node = match written {
        Some(node) => node.clone(),
        None => parse_value(key.default.as_ref()?, usize::MAX, 0).ok()?,
    };
    match node.value {
        Value::Text(_) => Some(Node::tagged(tag, node)),
        Value::Table(_) => Some(node),
        _ => None,
    }
}

/// The key whose table a misplaced key belongs to, and the advice: `iterations = 4` belongs to the
/// table of the integrator.
pub(super) fn belongs_inside<'s>(
    table: &Table,
    schema: &'s TableSchema,
    stray: &Entry,
) -> Option<(&'s str, String)> {
    let (key, inner) = schema.keys.iter().find_map(|key| match &key.schema {
        Schema::Kinds(inner) if !inner.kinds_with(&stray.key).is_empty() => Some((key, inner)),
        _ => None,
    })?;
    let kinds = inner.kinds_with(&stray.key);
    let tag = inner.variants.as_ref()?.tag;
    let mut options = as_table(table.get(key.name), key, tag)?;
    let Value::Table(inside) = &mut options.value else {
        return None;
    };
    let kind = match inside.get(tag).map(|node| &node.value) {
        Some(Value::Text(word)) => word.clone(),
        _ => String::new(),
    };
    if inner.tags().any(|word| word == kind) && !kinds.contains(&kind.as_str()) {
        let (name, kinds) = (&stray.key, either(&kinds));
        let advice = format!("omit it: \"{kind}\" has no `{name}`, only {kinds} has");
        return Some((key.name, advice));
    }
    // An unknown kind is reported at its own location.
    let known = kinds.iter().find(|word| **word == kind).or(kinds.first())?;
    let word = Node {
        value: Value::Text((*known).to_owned()),
        place: stray.key_place.clone(),
    };
    let place = &stray.key_place;
    inside.set(tag, place, word).ok()?;
    inside.set(&stray.key, place, stray.node.clone()).ok()?;
    let advice = format!("write {} = {}", key.name, inline(&options.value));
    Some((key.name, advice))
}

/// Expands words on a path to tables, so that a key inside can be set: for
/// `method.integrator.iterations`, `"newton"` becomes `{ kind = "newton" }`, and so does a
/// parameter. An omitted key gets the default word.
///
/// # Errors
/// If a value on the path is not a table.
pub(super) fn unfold_words(
    tree: &mut Table,
    schema: &TableSchema,
    path: &str,
    path_place: &Place,
) -> Result<(), Problem> {
    let keys: Vec<&str> = path.split('.').map(str::trim).collect();
    let mut schema = schema;
    for depth in 0..keys.len() - 1 {
        let above = &keys[..=depth];
        let Some(key) = schema.keys.iter().find(|key| key.name == keys[depth]) else {
            return Ok(());
        };
        let inner = match &key.schema {
            Schema::Table(inner) => {
                schema = inner;
                continue;
            }
            Schema::Kinds(inner) => inner,
            _ => return Ok(()),
        };
        let written = tree.at(above);
        let tag = inner.variants.as_ref().map(|variants| variants.tag);
        let Some(mut table) = tag.and_then(|tag| as_table(written, key, tag)) else {
            return Ok(());
        };
        if written.is_none() {
            table.place_everywhere(path_place);
        }
        return tree.set(&above.join("."), path_place, table);
    }
    Ok(())
}
