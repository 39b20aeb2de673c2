//! Helpers that build small scenes.

use std::path::Path;

use glam::DVec3;
use reefknot_sim::integrate::Scratch;
use reefknot_sim::model::{Model, Object};
use reefknot_sim::state::State;
use reefknot_sim::step::step;

pub(crate) use crate::read::read_in;

/// Head with a material for all kinds: 1000 kg/m³, and 1 kg/m² as a shell.
pub(crate) const HEAD: &str = "
time = { duration = \"1 s\", frame_rate = 100, substeps = 1 }
[material.stuff]
density = 1000
young = 1e6
poisson = 0.3
thickness = \"1 mm\"
";

pub(crate) fn build_in(folder: &Path, text: &str) -> Model {
    let scene = read_in(folder, &format!("{HEAD}{text}"));
    Model::build(&scene).unwrap_or_else(|problems| panic!("{problems}"))
}

pub(crate) fn build(text: &str) -> Model {
    build_in(Path::new(""), text)
}

/// A model with one object of the given keys.
pub(crate) fn object(lines: &str) -> Model {
    build(&format!("[object.it]\nmaterial = \"stuff\"\n{lines}\n"))
}

pub(crate) fn group<'a>(object: &'a Object, name: &str) -> &'a [u32] {
    let found = object.mesh.groups.iter().find(|group| group.name == name);
    &found.unwrap_or_else(|| panic!("no group {name}")).vertices
}

/// The start state at a later step: prescribed objects move, nodes do not.
pub(crate) fn later(model: &Model, step: u64) -> State {
    State {
        step,
        ..model.start.clone()
    }
}

/// The state after a number of computed steps.
pub(crate) fn stepped(model: &Model, steps: usize) -> State {
    let mut scratch = Scratch::new(model);
    let mut state = model.start.clone();
    for _ in 0..steps {
        state = step(model, &state, &mut scratch).unwrap().to;
    }
    state
}

pub(crate) fn close(a: DVec3, b: DVec3, tolerance: f64) -> bool {
    a.distance(b) <= tolerance
}

pub(crate) fn folder_with(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

pub(crate) const GRID: &str = "[object.it]\nkind = \"cloth-grid\"\nsize = [0.2, 0.2]\n\
    vertices = [3, 3]\nmaterial = \"stuff\"\n";
