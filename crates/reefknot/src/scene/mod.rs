//! What the user wrote: a scene file, read with units, parameters and quick sizes, every mistake
//! reported at its place.
//!
//! The text becomes a tree of values ([`tree`]); `[quick]` and `--set` are merged into it and
//! parameters put in place ([`parameters`]); then each table is read by its definition
//! ([`tables`]). What names mean (does that material exist?) is decided when the model is built.

mod define;
pub mod expression;
mod kind;
pub mod parameters;
pub mod problem;
pub mod read;
pub mod shape;
mod share;
pub mod shipped;
pub mod tables;
pub mod tree;
pub mod values;
pub mod write;

use std::path::PathBuf;

use problem::{Place, Problem, Problems, Sources};
use read::{Fields, Reader};
use tables::{Method, SceneTables, refuse_solver};
use tree::{Node, Table, Value};

use crate::units::did_you_mean;

#[cfg(test)]
mod tests;

/// A scene that was read without mistakes.
#[derive(Clone, Debug)]
pub struct Scene {
    /// A short name, for the run folder.
    pub name: String,
    /// The typed tables.
    pub tables: SceneTables,
    /// The merged tree, before parameters were put in place.
    pub tree: Table,
    /// The texts it was read from, for later messages.
    pub sources: Sources,
    /// The folder that paths are from.
    pub folder: PathBuf,
}

/// What to read.
#[derive(Clone, Debug, Default)]
pub struct SceneRequest {
    /// A short name of the scene.
    pub name: String,
    /// What messages call the text, usually the path.
    pub file: String,
    /// The text of the scene file.
    pub text: String,
    /// Whether to take the quick size.
    pub quick: bool,
    /// `KEY=VALUE` arguments, in order.
    pub sets: Vec<String>,
    /// The folder that paths in the scene are from.
    pub folder: PathBuf,
}

impl Scene {
    /// Reads a scene.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn read(request: &SceneRequest) -> Result<Scene, Problems> {
        let mut sources = Sources::default();
        let mut problems = Vec::new();
        let source = sources.add(&request.file, &request.text);
        let mut tree = tree::parse(&request.text, source, &mut problems);
        if !problems.is_empty() {
            return Err(Problems::new(sources, problems));
        }
        merge_quick(&mut tree, request.quick, &mut problems);
        for set in &request.sets {
            merge_set(&mut tree, set, &mut sources, &mut problems);
        }
        let Some(resolved) = resolve(&tree, &mut problems) else {
            return Err(Problems::new(sources, problems));
        };
        let unresolved: Vec<Place> = problems.iter().map(|p| p.place.clone()).collect();
        let root = Node {
            value: Value::Table(resolved),
            place: Place {
                source,
                range: 0..0,
            },
        };
        let tables = read::read_table::<SceneTables>(&root, &mut Reader::new(&mut problems));
        problems.extend(tables.as_ref().and_then(|tables| {
            let Method {
                integrator, solver, ..
            } = &tables.method;
            let written = tree.at(&["method", "solver"]);
            refuse_solver(integrator.method(), integrator.word(), solver, written)
        }));
        // A value whose parameter is not there was reported as that.
        let mut index = 0;
        problems.retain(|problem| {
            index += 1;
            index <= unresolved.len() || !unresolved.contains(&problem.place)
        });
        match tables {
            Some(tables) if problems.is_empty() => Ok(Scene {
                name: request.name.clone(),
                tables,
                tree,
                sources,
                folder: request.folder.clone(),
            }),
            _ => Err(Problems::new(sources, problems)),
        }
    }

    /// Makes the scene this many frames long.
    pub fn set_frames(&mut self, frames: u64) {
        let duration = &mut self.tables.time.duration;
        duration.value.0 = frames as f64 / self.tables.time.frame_rate;
        let node = Node {
            value: Value::Float(duration.value.0),
            place: duration.place.clone(),
        };
        // `time` is a table, or the scene would not have been read.
        let place = node.place.clone();
        let _ = self.tree.set("time.duration", &place, node);
    }

    /// The scene with other texts at these places.
    #[must_use]
    pub fn with_texts(&self, texts: &[(Place, String)]) -> Scene {
        let mut scene = self.clone();
        tree::replace_texts(&mut scene.tree, texts);
        scene
    }

    /// The merged scene as TOML: run as it is, it gives the same simulation.
    #[must_use]
    pub fn to_toml(&self) -> String {
        write::to_toml(&self.tree)
    }

    /// What this scene has otherwise than an earlier one whose run it is to continue, as a part of
    /// a sentence; only the duration may be another.
    #[must_use]
    pub fn difference(&self, earlier: &Scene) -> Option<String> {
        let (ours, theirs) = (self.leaves(), earlier.leaves());
        if ours == theirs {
            return None;
        }
        let find = |leaves: &[(String, String)], path: &str| {
            let leaf = leaves.iter().find(|(other, _)| other == path);
            leaf.map_or("(nothing)".to_owned(), |(_, value)| value.clone())
        };
        let paths = theirs.iter().chain(&ours).map(|(path, _)| path);
        for path in paths {
            let (our, their) = (find(&ours, path), find(&theirs, path));
            if our != their {
                return Some(format!("`{path}` is {their} there and {our} here"));
            }
        }
        Some("its keys stand in another order".to_owned())
    }

    /// The path of every value and what stands there, without the duration.
    fn leaves(&self) -> Vec<(String, String)> {
        // The order of the parts of a scene means nothing, that of objects, pins and probes does.
        let mut tree = self.tree.clone();
        tree.entries.sort_by(|a, b| a.key.cmp(&b.key));
        let mut leaves = write::leaves(&tree);
        leaves.retain(|(path, _)| path != "time.duration");
        leaves
    }
}

/// The JSON Schema of scene files.
#[must_use]
pub fn json_schema() -> serde_json::Value {
    let mut schema = SceneTables::table_shape().schema();
    schema["$schema"] = serde_json::json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = serde_json::json!("A reefknot scene");
    for free in ["parameters", "quick"] {
        schema["properties"][free]["type"] = serde_json::json!("object");
    }
    share::share(&mut schema);
    schema
}

/// The reference page of scene files, in Markdown.
#[must_use]
pub fn reference() -> String {
    let mut text = String::from(REFERENCE_HEAD);
    text += &shape::reference(&SceneTables::table_shape());
    text += "\n## Material presets\n```toml\n";
    text += crate::material::PRESETS;
    text += "```\n";
    text
}

const REFERENCE_HEAD: &str = "# Scene files
Every key of a scene file, its unit and its default. This page is made by `reefknot schema
--markdown`, from the same definitions that read the file.

A scene is TOML. A number is in the SI unit given here; a text such as `\"2 mm\"`, `\"5 MPa\"`,
`\"150 g/m^2\"` or `\"30 deg\"` is converted, and refused if it measures something else. Lists of three
are x, y, z, with z up. `\"$name\"` stands for a parameter, `\"= 2 * $name\"` computes with parameters.
The file is read first, then `[quick]` with `--quick`, then each `--set KEY=VALUE`.
";

/// Applies `[quick]` if asked for; it is checked for keys that cannot be set either way.
fn merge_quick(tree: &mut Table, quick: bool, problems: &mut Vec<Problem>) {
    let Some(node) = tree.remove("quick") else {
        return;
    };
    let Value::Table(table) = node.value else {
        problems.push(Problem {
            message: "`quick` must be a table".into(),
            place: node.place,
            advice: "write [quick] and below it \"path.to.key\" = value".into(),
        });
        return;
    };
    for entry in table.entries {
        if let Err(problem) = settable(tree, &entry.key, &entry.key_place) {
            problems.push(problem);
        } else if quick
            && let Err(problem) = set_value(tree, &entry.key, &entry.key_place, entry.node)
        {
            problems.push(problem);
        }
    }
}

/// Applies one `--set KEY=VALUE`.
fn merge_set(tree: &mut Table, set: &str, sources: &mut Sources, problems: &mut Vec<Problem>) {
    let source = sources.add("--set", set);
    let place = Place {
        source,
        range: 0..set.len(),
    };
    let Some((path, value)) = set.split_once('=') else {
        problems.push(Problem {
            message: format!("`--set {set}` has no `=`"),
            place,
            advice: "write KEY=VALUE, such as time.duration=\"2 s\"".into(),
        });
        return;
    };
    let place = Place {
        source,
        range: 0..path.len(),
    };
    let result = settable(tree, path, &place)
        .and_then(|()| tree::parse_value(value, source, path.len() + 1))
        .and_then(|node| set_value(tree, path, &place, node));
    if let Err(problem) = result {
        problems.push(problem);
    }
}

/// Sets a value of a scene; words that stand for tables on the way become those tables.
fn set_value(tree: &mut Table, path: &str, place: &Place, node: Node) -> Result<(), Problem> {
    kind::unfold_words(tree, &SceneTables::table_shape(), path, place)?;
    tree.set(path, place, node)
}

/// Refuses to set what would have no effect: a parameter that the scene does not define, or the
/// quick size, which has been merged already.
fn settable(tree: &Table, path: &str, place: &Place) -> Result<(), Problem> {
    let mut keys = path.split('.').map(str::trim);
    let first = keys.next();
    if first == Some("quick") {
        return Err(Problem {
            message: "`quick` cannot be set".into(),
            place: place.clone(),
            advice: "set the keys that it would set".into(),
        });
    }
    let Some(name) = keys.next().filter(|_| first == Some("parameters")) else {
        return Ok(());
    };
    let names: Vec<&str> = match tree.get("parameters").map(|node| &node.value) {
        Some(Value::Table(table)) => table.entries.iter().map(|e| e.key.as_str()).collect(),
        _ => Vec::new(),
    };
    if names.contains(&name) {
        return Ok(());
    }
    Err(Problem {
        message: format!(
            "the scene has no parameter `{name}`{}",
            did_you_mean(name, names.iter().copied())
        ),
        place: place.clone(),
        advice: match names.is_empty() {
            true => "it defines no parameters".into(),
            false => format!("it has {}", names.join(", ")),
        },
    })
}

/// The tree with parameters in place, or nothing if the parameters themselves are wrong.
fn resolve(tree: &Table, problems: &mut Vec<Problem>) -> Option<Table> {
    let parameters = match tree.get("parameters") {
        None => Table::default(),
        Some(Node {
            value: Value::Table(table),
            ..
        }) => table.clone(),
        Some(other) => {
            problems.push(Problem {
                message: "`parameters` must be a table".into(),
                place: other.place.clone(),
                advice: "write [parameters] and below it name = value".into(),
            });
            return None;
        }
    };
    let mut resolved = tree.clone();
    // Resolved by themselves first, so that each mistake in them is noted once.
    let before = problems.len();
    let parameters = parameters::resolve_parameters(&parameters, problems);
    if problems.len() > before {
        return None;
    }
    resolved.remove("parameters");
    parameters::substitute(&mut resolved, &parameters, problems);
    Some(resolved)
}
