//! Objects that are too large, too far, too thick, or of sizes that do not go together.

use std::path::Path;

use reefknot::check::Severity;
use reefknot::model::Model;

use super::common::*;

#[test]
fn what_is_right_is_left_alone() {
    assert_eq!(findings(SHEET), []);
    assert_eq!(findings(ROD), []);
    assert_eq!(
        findings("[collider.floor]\nkind = \"plane\"\nsize = 500\n"),
        []
    );
    for shape in [
        "kind = \"funnel\"\ntop_radius = 0.1\nbottom_radius = 0.05\nheight = 0.2\nwall = 0.01",
        "kind = \"stairs\"\nsteps = 3\ntread = 0.1\nrise = 0.1\nwidth = 0.5",
        "kind = \"nail\"\nradius = 0.01\nlength = 0.2\nhead_radius = 0.03\nhead_thickness = 0.01",
        "kind = \"sphere\"\nradius = 0.2\nscale = [1, 2, 1]",
        "kind = \"mesh\"\nfile = \"bunny.obj\"",
    ] {
        assert_eq!(
            findings(&format!("[collider.it]\n{shape}\n")),
            [],
            "{shape}"
        );
    }
}

#[test]
fn what_is_too_far_away_to_be_computed_with_is_refused() {
    assert_refused(
        &format!("{SHEET}position = [1e12, 0, 0]\n"),
        &["`object.sheet` is too far away", "16 digits"],
    );
    assert_refused(
        "[collider.wall]\nkind = \"box\"\nsize = [1, 1, 1]\nposition = [1e308, 0, 0]\ncopies = { array = { count = [3, 1, 1], spacing = [1e308, 0, 0] } }\n",
        &["`collider.wall` is too far away"],
    );
}

#[test]
fn more_thickness_than_edge_is_a_warning() {
    let found = findings(&format!("{SHEET}contact = {{ thickness = 0.11 }}\n"));
    assert_found(
        &found,
        Severity::Warning,
        &[
            "`sheet`",
            "0.11 m thick for contact",
            "shortest edge",
            "has 0.1 m",
            "fewer vertices",
        ],
    );
    let thick = SHEET.replace("0.4, 0.4", "0.002, 0.002");
    assert_found(
        &findings(&thick),
        Severity::Warning,
        &["`sheet`", "0.001 m thick", "has 0.0005 m"],
    );
    // A rod's edges may be a few times shorter than it is thick, not many times.
    let rod = |vertices: &str| ROD.replace("vertices = 6", &format!("vertices = {vertices}"));
    assert_eq!(findings(&rod("101")), []);
    assert_found(
        &findings(&rod("1001")),
        Severity::Warning,
        &["`rod`", "0.02 m thick"],
    );
}

#[test]
fn sizes_and_masses_out_of_this_world_are_doubted() {
    let bunny = "[object.bunny]\nkind = \"solid-mesh\"\nfile = \"bunny_coarse.msh\"\nmaterial = \"stuff\"\nscale = 700\n";
    assert_found(
        &findings(bunny),
        Severity::Warning,
        &["`bunny`", "a size of", "m: is the unit right?"],
    );
    let silk = |density: &str| {
        findings(&format!(
            "[material.silk]\npreset = \"silk\"\narea_density = \"{density}\"\n{}",
            SHEET.replace("stuff", "silk")
        ))
    };
    assert_found(
        &silk("1 kg/m^2"),
        Severity::Warning,
        &[
            "material `silk`",
            "`area_density`",
            "is 1 kg/m^2",
            "0.06",
            "is the unit right?",
        ],
    );
    assert_eq!(silk("80 g/m^2"), []);
    let solid = "[object.block]\nkind = \"solid-box\"\nsize = [1, 1, 1]\ncells = [1, 1, 1]\nmaterial = \"heavy\"\n";
    let heavy = |lines: &str| findings(&format!("[material.heavy]\n{lines}\n{solid}"));
    assert_found(
        &heavy("preset = \"rubber\"\ndensity = 930000"),
        Severity::Warning,
        &["material `heavy`", "`density`", "930"],
    );
    assert_found(
        &heavy("young = 1e6\ndensity = 1e6"),
        Severity::Warning,
        &["`block`", "a density of 1000000 kg/m^3"],
    );
    assert_eq!(heavy("preset = \"rubber\""), []);
}

#[test]
fn an_object_and_a_collider_of_one_name_are_refused() {
    assert_refused(
        &format!("{SHEET}[collider.sheet]\nkind = \"plane\"\n"),
        &["`sheet` is an object and a collider", "rename one"],
    );
}

/// 400 by 3 by 3 cubes, not 400³.
#[test]
fn a_thin_surface_in_many_cells_is_not_taken_for_a_cube_of_them() {
    let text = "[object.it]\nkind = \"embedded\"\nsurface = { kind = \"box\", size = [1, 0.005, 0.005] }\ncells = 400\nmaterial = \"stuff\"\n";
    let model =
        Model::build(&read_in(Path::new(""), text)).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(model.objects[0].mesh.points.len(), 8);
    assert_refused(
        &text.replace("0.005, 0.005", "1, 1").replace("400", "512"),
        &["`object.it` makes the scene too large"],
    );
}
