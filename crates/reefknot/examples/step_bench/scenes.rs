//! Measured scenes, as text.

/// Names of all scenes.
pub(crate) const NAMES: [&str; 3] = ["groom", "cloth", "solid"];

/// Sizes of the scenes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SceneSize {
    /// Rods of the groom.
    pub(crate) rods: usize,
    /// Vertices of each rod.
    pub(crate) rod_vertices: usize,
    /// Vertices along each side of the cloth.
    pub(crate) cloth: usize,
    /// Cells along each side of the solid, of five tetrahedra each.
    pub(crate) cells: usize,
}

/// Sizes of the benchmark.
pub(crate) const FULL: SceneSize = SceneSize {
    rods: 16_000,
    rod_vertices: 30,
    cloth: 100,
    cells: 18,
};

/// The scene of a name.
///
/// # Errors
/// If the name is unknown.
pub(crate) fn text(name: &str, size: SceneSize) -> Result<String, String> {
    let head = r#"time = { duration = "1 s", frame_rate = 25, h = "10 ms" }
method = { integrator = "linear-euler" }
"#;
    let body = match name {
        "groom" => groom(size.rods, size.rod_vertices),
        "cloth" => cloth(size.cloth),
        "solid" => solid(size.cells),
        other => {
            return Err(format!("unknown scene `{other}`; use one of {NAMES:?}"));
        }
    };
    Ok(format!("{head}{body}"))
}

/// Curly hair on a rotating head.
fn groom(rods: usize, vertices: usize) -> String {
    format!(
        r#"[material.hair]
preset = "hair"
[object.hair]
kind = "groom"
on = "head"
count = {rods}
vertices = {vertices}
length = "15 cm"
curl_radius = "4 mm"
curl_pitch = "3 cm"
direction = [0, 0, -1]
radius = "40 um"
material = "hair"
[collider.head]
kind = "sphere"
radius = "10 cm"
motion = {{ angular_velocity = [0, 0, "1 turn/s"] }}
"#
    )
}

/// Cotton pinned at its corners.
fn cloth(vertices: usize) -> String {
    format!(
        r#"[material.cotton]
preset = "cotton"
[object.cloth]
kind = "cloth-grid"
size = ["1 m", "1 m"]
vertices = [{vertices}, {vertices}]
material = "cotton"
[pin.corners]
object = "cloth"
at = {{ group = "corners" }}
"#
    )
}

/// A rubber cube pinned at one side.
fn solid(cells: usize) -> String {
    format!(
        r#"[material.rubber]
preset = "rubber"
[object.cube]
kind = "solid-box"
size = ["20 cm", "20 cm", "20 cm"]
cells = [{cells}, {cells}, {cells}]
tetrahedra = "five"
material = "rubber"
[pin.wall]
object = "cube"
at = {{ group = "left" }}
"#
    )
}
