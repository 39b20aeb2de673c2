//! Material presets: the materials of `assets/materials.toml`, which a scene can use as `preset`.

use std::sync::LazyLock;

use super::problem::Place;
use super::read::{Read, Reader};
use super::tables::Material;
use super::tree::{self, Node, Value};
use super::values::Named;

/// The material presets as TOML: one table per preset.
pub const PRESETS: &str = include_str!("../../../../assets/materials.toml");

/// The material presets.
pub static PRESET_MATERIALS: LazyLock<Named<Material>> = LazyLock::new(|| {
    let mut problems = Vec::new();
    let table = tree::parse(PRESETS, 0, &mut problems);
    let node = Node {
        value: Value::Table(table),
        place: Place {
            source: 0,
            range: 0..0,
        },
    };
    // A test reads the embedded file, so that it has no mistakes.
    Named::read(&node, &mut Reader::new(&mut problems)).unwrap_or(Named(Vec::new()))
});
