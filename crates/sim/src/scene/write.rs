//! Writes a tree of values as TOML.

use super::tree::{Entry, Table, Value};

/// Path and TOML text of every value that is not a table, in order.
pub(crate) fn leaves(table: &Table) -> Vec<(String, String)> {
    let mut leaves = Vec::new();
    for entry in &table.entries {
        let key = key_text(&entry.key);
        match &entry.node.value {
            Value::Table(inner) if !inner.entries.is_empty() => {
                let inner = self::leaves(inner).into_iter();
                leaves.extend(inner.map(|(path, value)| (format!("{key}.{path}"), value)));
            }
            value => leaves.push((key, inline(value))),
        }
    }
    leaves
}

/// The tree as TOML, which parses to the same tree.
#[must_use]
pub fn to_toml(table: &Table) -> String {
    let mut text = String::new();
    let is_plain = |entry: &&Entry| !matches!(entry.node.value, Value::Table(_));
    for entry in table.entries.iter().filter(is_plain) {
        text += &format!("{} = {}\n", key_text(&entry.key), inline(&entry.node.value));
    }
    for entry in table.entries.iter().filter(|entry| !is_plain(entry)) {
        let Value::Table(section) = &entry.node.value else {
            continue;
        };
        write_section(&mut text, &key_text(&entry.key), section, 1);
    }
    text
}

/// Writes a `[section]`. Tables of tables (`[object.cloth]`) have their own headers; deeper tables
/// are inline.
fn write_section(text: &mut String, header: &str, section: &Table, depth: usize) {
    let nested = |entry: &Entry| depth < 2 && matches!(entry.node.value, Value::Table(_));
    let all_nested = !section.entries.is_empty() && section.entries.iter().all(nested);
    if all_nested {
        for entry in &section.entries {
            if let Value::Table(inner) = &entry.node.value {
                write_section(
                    text,
                    &format!("{header}.{}", key_text(&entry.key)),
                    inner,
                    depth + 1,
                );
            }
        }
        return;
    }
    *text += &format!("\n[{header}]\n");
    for entry in &section.entries {
        *text += &format!("{} = {}\n", key_text(&entry.key), inline(&entry.node.value));
    }
}

fn key_text(key: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !key.is_empty() && key.chars().all(plain) {
        key.to_owned()
    } else {
        quoted(key)
    }
}

/// A value as TOML in one line.
pub(super) fn inline(value: &Value) -> String {
    match value {
        Value::Boolean(value) => value.to_string(),
        Value::Integer(value) => value.to_string(),
        Value::Float(value) => format!("{value:?}"),
        Value::Measured(value, dimension) => quoted(&format!("{value:?} {dimension}")),
        Value::Text(text) => quoted(text),
        Value::List(items) => {
            let items: Vec<String> = items.iter().map(|item| inline(&item.value)).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Table(table) => {
            let entries: Vec<String> = table
                .entries
                .iter()
                .map(|entry| format!("{} = {}", key_text(&entry.key), inline(&entry.node.value)))
                .collect();
            format!("{{ {} }}", entries.join(", "))
        }
    }
}

fn quoted(text: &str) -> String {
    let mut result = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => result += "\\\"",
            '\\' => result += "\\\\",
            '\n' => result += "\\n",
            '\t' => result += "\\t",
            '\r' => result += "\\r",
            control if control.is_control() => {
                result += &format!("\\u{:04X}", u32::from(control));
            }
            other => result.push(other),
        }
    }
    result.push('"');
    result
}
