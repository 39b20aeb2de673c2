//! Seed scenes: the shipped ones, and some with the keys that those do not use.

use std::collections::BTreeSet;

use reefknot_contact::solve::options::OptionValue;
use reefknot_contact::solve::table::{SOLVERS, SolverEntry};
use reefknot_sim::scene::shipped;

/// A scene to mutate.
pub(crate) struct Seed {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// Every key of the basic tables, with plausible values.
const EVERY_KEY: &str = include_str!("seeds/every_key.toml");

/// Every kind of object and collider, with the keys that the shipped scenes do not use.
const OBJECTS: &str = include_str!("seeds/objects.toml");

/// Methods, material laws, holds, motions and measurements other than the defaults.
const DYNAMICS: &str = include_str!("seeds/dynamics.toml");

/// Meshes of [`FILES`].
const MESHES: &str = include_str!("seeds/meshes.toml");

/// Every unit, as the value of a parameter.
const UNITS: &str = include_str!("seeds/units.toml");

/// Expressions of every kind.
const EXPRESSIONS: &str = include_str!("seeds/expressions.toml");

/// A minimal scene, in which most mutations have an effect.
const SMALL: &str = include_str!("seeds/small.toml");

/// Mesh files of [`MESHES`]: two curves, and a sequence of a tetrahedron.
pub(crate) const FILES: [(&str, &str); 5] = [
    (
        "curves.obj",
        "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 0 1\nv 1 0 1\nl 1 2 3\nl 5 4\n",
    ),
    ("body.ply", TETRAHEDRON),
    ("body.0003.ply", TETRAHEDRON),
    ("body.0004.ply", TETRAHEDRON),
    ("body.0005.ply", TETRAHEDRON),
];

const TETRAHEDRON: &str = "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\n\
    property float y\nproperty float z\nelement face 4\n\
    property list uchar int vertex_indices\nend_header\n\
    0 0 0\n1 0 0\n0 1 0\n0 0 1\n3 0 2 1\n3 0 1 3\n3 1 2 3\n3 0 3 2\n";

/// For each table of a scene, a scene with its head, this table and the tables that it names: in
/// the full scene, a mistake in one table hides those in others.
fn single_tables(scene: &str) -> Vec<Seed> {
    let (head, rest) = scene.split_at(scene.find("[object.").unwrap_or(scene.len()));
    let tables: Vec<(&str, &str)> = rest
        .split("\n[")
        .map(|table| {
            let table = table.trim_start_matches('[');
            let header = table.split(']').next().unwrap_or_default();
            (header, table)
        })
        .collect();
    let named_tables = |table: &str| -> BTreeSet<usize> {
        let names = |header: &str| {
            let name = header.split('.').next_back().unwrap_or(header);
            table.contains(&format!("\"{name}\""))
        };
        let numbered = tables.iter().enumerate();
        numbered
            .filter(|(_, (header, _))| names(header))
            .map(|(number, _)| number)
            .collect()
    };
    let closure = |number: usize| {
        let mut chosen = BTreeSet::from([number]);
        loop {
            let mut more = chosen.clone();
            for number in &chosen {
                more.extend(named_tables(tables[*number].1));
            }
            if more == chosen {
                return chosen;
            }
            chosen = more;
        }
    };
    let scene = |number: usize| {
        let chosen = closure(number);
        let texts = chosen
            .iter()
            .map(|number| format!("[{}\n", tables[*number].1));
        Seed {
            name: tables[number].0.to_owned(),
            text: format!("{head}{}", texts.collect::<String>()),
        }
    };
    (0..tables.len()).map(scene).collect()
}

/// A small scene with a solver and all its options.
fn with_solver(entry: &SolverEntry) -> Seed {
    let options = entry.options.iter().map(|option| match option.default {
        OptionValue::Flag(flag) => format!(", {} = {flag}", option.name),
        OptionValue::Count(count) => format!(", {} = {count}", option.name),
        OptionValue::Word(word) => format!(", {} = \"{word}\"", option.name),
    });
    let options: String = options.collect();
    Seed {
        name: format!("solver {}", entry.name),
        text: format!(
            "method.solver = {{ kind = \"{}\"{options} }}\n{SMALL}",
            entry.name
        ),
    }
}

/// All seed scenes.
pub(crate) fn seeds() -> Vec<Seed> {
    let own = [
        ("every key", EVERY_KEY),
        ("objects", OBJECTS),
        ("dynamics", DYNAMICS),
        ("meshes", MESHES),
        ("units", UNITS),
        ("expressions", EXPRESSIONS),
        ("small", SMALL),
    ];
    let shipped = shipped::all();
    // Validation scenes are left out: their static solves take too long, and they use no other
    // keys.
    let is_quick = |scene: &&shipped::Shipped| !scene.name.starts_with("validation/");
    let shipped = shipped.iter().filter(is_quick);
    let shipped = shipped.map(|scene| (scene.name, scene.text));
    let whole = own.into_iter().chain(shipped);
    let mut seeds: Vec<Seed> = whole
        .map(|(name, text)| Seed {
            name: name.to_owned(),
            text: text.to_owned(),
        })
        .collect();
    seeds.extend(SOLVERS.iter().map(with_solver));
    seeds.extend(single_tables(OBJECTS));
    seeds.extend(single_tables(DYNAMICS));
    seeds.extend(single_tables(MESHES));
    seeds
}
