//! Scene files: TOML with units, parameters and a quick size. All mistakes are reported, each with
//! its location.
//!
//! 1. The text is parsed to a tree of values with locations ([`tree`]).
//! 2. `[quick]` and `--set` are merged into the tree.
//! 3. Parameters are substituted ([`parameters`]).
//! 4. Each table is read by its definition ([`tables`]).
//!
//! References between tables, such as the material of an object, are resolved when the model is
//! built.

mod define;
pub mod expression;
mod kind;
pub mod load;
pub mod parameters;
pub mod presets;
pub mod problem;
pub mod read;
pub mod schema;
mod share;
pub mod shipped;
pub mod tables;
pub mod tree;
pub mod values;
pub mod write;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use problem::{Place, Problem, Problems, Sources};
use read::{Fields, Reader};
use tables::SceneTables;
use tree::{Node, Table, Value};

use crate::units::did_you_mean;

#[cfg(test)]
mod tests;

/// A scene without mistakes.
#[derive(Clone, Debug)]
pub struct Scene {
    /// Short name, for the run folder.
    pub name: String,
    /// The typed tables.
    pub tables: SceneTables,
    /// The merged tree, before parameters are substituted.
    pub tree: Table,
    /// The texts of the scene, for later messages.
    pub sources: Sources,
    /// Folder of relative paths.
    pub folder: PathBuf,
    /// Mesh files in memory, by the name that the scene uses ([`Scene::add_mesh`]).
    pub meshes: BTreeMap<String, Arc<[u8]>>,
}

/// A scene file with options.
#[derive(Clone, Debug, Default)]
pub struct SceneRequest {
    /// Short name of the scene.
    pub name: String,
    /// Name of the text in messages, usually the path.
    pub file: String,
    /// Text of the scene file.
    pub text: String,
    /// Whether to use the quick size.
    pub quick: bool,
    /// `KEY=VALUE` arguments of `--set`, in order.
    pub sets: Vec<String>,
    /// Folder of relative paths in the scene.
    pub folder: PathBuf,
}

impl Scene {
    /// Reads a scene.
    ///
    /// # Errors
    /// All mistakes of the scene.
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
        // A value with an unknown parameter is already reported.
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
                meshes: BTreeMap::new(),
            }),
            _ => Err(Problems::new(sources, problems)),
        }
    }

    /// Sets the duration to a number of frames.
    pub fn set_frames(&mut self, frames: u64) {
        let duration = &mut self.tables.time.duration;
        duration.value.0 = frames as f64 / self.tables.time.frame_rate;
        let node = Node {
            value: Value::Float(duration.value.0),
            place: duration.place.clone(),
        };
        // `time` is a table in every scene.
        let place = node.place.clone();
        let _ = self.tree.set("time.duration", &place, node);
    }

    /// The scene with other texts at these locations.
    #[must_use]
    pub fn with_texts(&self, texts: &[(Place, String)]) -> Scene {
        let mut scene = self.clone();
        tree::replace_texts(&mut scene.tree, texts);
        scene
    }

    /// The merged scene as TOML, which has the same result.
    #[must_use]
    pub fn to_toml(&self) -> String {
        write::to_toml(&self.tree)
    }

    /// First difference from the scene of an earlier run, as a part of a sentence. The duration may
    /// differ.
    #[must_use]
    pub fn difference(&self, earlier: &Scene) -> Option<String> {
        let (ours, theirs) = (self.leaves(), earlier.leaves());
        if ours == theirs {
            return None;
        }
        let find = |leaves: &[(String, String)], path: &str| {
            let leaf = leaves.iter().find(|(other, _)| other == path);
            leaf.map_or("absent".to_owned(), |(_, value)| value.clone())
        };
        let paths = theirs.iter().chain(&ours).map(|(path, _)| path);
        for path in paths {
            let (our, their) = (find(&ours, path), find(&theirs, path));
            if our != their {
                return Some(format!("`{path}` is {their} there and {our} here"));
            }
        }
        Some("its keys have another order".to_owned())
    }

    /// Path and text of every value except the duration.
    fn leaves(&self) -> Vec<(String, String)> {
        // The order of top-level tables is irrelevant, that of objects, pins and probes is not.
        let mut tree = self.tree.clone();
        tree.entries.sort_by(|a, b| a.key.cmp(&b.key));
        let mut leaves = write::leaves(&tree);
        leaves.retain(|(path, _)| path != "time.duration");
        leaves
    }
}

/// JSON Schema of scene files.
#[must_use]
pub fn json_schema() -> serde_json::Value {
    let mut schema = SceneTables::table_schema().json_schema();
    schema["$schema"] = serde_json::json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = serde_json::json!("A reefknot scene");
    for free in ["parameters", "quick"] {
        schema["properties"][free]["type"] = serde_json::json!("object");
    }
    share::share(&mut schema);
    schema
}

/// Reference page of scene files, in Markdown.
#[must_use]
pub fn reference() -> String {
    let mut text = String::from(REFERENCE_HEAD);
    text += &schema::reference(&SceneTables::table_schema());
    text += "\n## Material presets\n```toml\n";
    text += presets::PRESETS;
    text += "```\n";
    text
}

const REFERENCE_HEAD: &str = r##"# Scene files
All keys of a scene file with type, unit and default. `reefknot schema --markdown` writes this
page from the definitions that read the file.

A scene is a TOML file:

```toml
title = "A cloth falls on a ball"

[time]
duration = "1 s"

[object.cloth]
kind = "cloth-grid"
size = ["1 m", "1 m"]
vertices = [60, 60]
position = [0, 0, 0.6]
material = "cotton"

[material.cotton]
preset = "cotton"

[collider.ball]
kind = "sphere"
radius = "25 cm"
```

- Numbers are in the SI unit of the column *value*. A text such as `"2 mm"`, `"5 MPa"`,
  `"150 g/m^2"` or `"30 deg"` is converted; a unit of another dimension is an error.
- Vectors are lists [x, y, z]. z is up.
- `"$name"` is the value of a parameter, `"= 2 * $name"` an expression, `"$$name"` the value of
  the parameter whose name is the value of `name`.
- A key without a default is *required* or *optional*; the description has the default of an
  optional key.
- The file is read first, then `[quick]` with `--quick`, then each `--set KEY=VALUE`. A path such
  as `object.cloth.size.0` selects an entry of a list.
"##;

/// Applies `[quick]` if `quick` is set, and reports its invalid keys in any case.
fn merge_quick(tree: &mut Table, quick: bool, problems: &mut Vec<Problem>) {
    let Some(node) = tree.remove("quick") else {
        return;
    };
    let Value::Table(table) = node.value else {
        problems.push(Problem {
            message: "`quick` must be a table".into(),
            place: node.place,
            advice: "write [quick], and below it lines such as \"path.to.key\" = value".into(),
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

/// Sets a value of a scene. Words on the path are expanded to tables ([`kind::unfold_words`]).
fn set_value(tree: &mut Table, path: &str, place: &Place, node: Node) -> Result<(), Problem> {
    kind::unfold_words(tree, &SceneTables::table_schema(), path, place)?;
    tree.set(path, place, node)
}

/// Refuses paths without effect: parameters that the scene does not define, and `quick`, which is
/// already merged.
fn settable(tree: &Table, path: &str, place: &Place) -> Result<(), Problem> {
    let mut keys = path.split('.').map(str::trim);
    let first = keys.next();
    if first == Some("quick") {
        return Err(Problem {
            message: "`quick` cannot be set".into(),
            place: place.clone(),
            advice: "set the keys inside `quick` instead".into(),
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
        advice: if names.is_empty() {
            "it defines no parameters".into()
        } else {
            format!("it has {}", names.join(", "))
        },
    })
}

/// The tree with parameters substituted; `None` if the parameters have mistakes.
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
                advice: "write [parameters], and below it lines such as name = value".into(),
            });
            return None;
        }
    };
    let mut resolved = tree.clone();
    // Parameters are resolved first, so that each of their mistakes is reported once.
    let before = problems.len();
    let parameters = parameters::resolve_parameters(&parameters, problems);
    if problems.len() > before {
        return None;
    }
    resolved.remove("parameters");
    parameters::substitute(&mut resolved, &parameters, problems);
    Some(resolved)
}
