//! Objects that are too large, too far away or too thick, and inconsistent sizes.

use std::path::Path;

use reefknot_sim::check::Severity;
use reefknot_sim::model::Model;

use super::common::*;

#[test]
fn valid_objects_have_no_findings() {
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
fn objects_too_far_away_for_double_precision_are_refused() {
    assert_refused(
        &format!("{SHEET}position = [1e12, 0, 0]\n"),
        &["`object.sheet` is too far away", "rounding would merge"],
    );
    assert_refused(
        "[collider.wall]\nkind = \"box\"\nsize = [1, 1, 1]\nposition = [1e308, 0, 0]\n\
            copies = { array = { count = [3, 1, 1], spacing = [1e308, 0, 0] } }\n",
        &["`collider.wall` is too far away"],
    );
}

#[test]
fn a_contact_thickness_above_the_edge_length_is_a_warning() {
    let found = findings(&format!("{SHEET}contact = {{ thickness = 0.11 }}\n"));
    assert_found(
        &found,
        Severity::Warning,
        &[
            "`sheet`",
            "contact thickness of 0.11 m",
            "shortest edge",
            "has a length of 0.1 m",
            "fewer vertices",
        ],
    );
    let thick = SHEET.replace("0.4, 0.4", "0.002, 0.002");
    assert_found(
        &findings(&thick),
        Severity::Warning,
        &["`sheet`", "thickness of 0.001 m", "length of 0.0005 m"],
    );
    // Edges of rods may be a few times shorter than the thickness.
    let rod = |vertices: &str| ROD.replace("vertices = 6", &format!("vertices = {vertices}"));
    assert_eq!(findings(&rod("101")), []);
    assert_found(
        &findings(&rod("1001")),
        Severity::Warning,
        &["`rod`", "contact thickness of 0.02 m"],
    );
}

#[test]
fn implausible_sizes_and_densities_are_warnings() {
    let bunny = "[object.bunny]\nkind = \"solid-mesh\"\nfile = \"bunny_coarse.msh\"\n\
        material = \"stuff\"\nscale = 700\n";
    assert_found(
        &findings(bunny),
        Severity::Warning,
        &["`bunny`", "a size of", "which is unusual: check the unit"],
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
            "check the unit",
        ],
    );
    assert_eq!(silk("80 g/m^2"), []);
    let solid = "[object.block]\nkind = \"solid-box\"\nsize = [1, 1, 1]\ncells = [1, 1, 1]\n\
        material = \"heavy\"\n";
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
fn grooms_need_a_surface_and_a_count_and_cannot_move_by_themselves() {
    let fur = |on: &str, more: &str| {
        format!(
            "{SHEET}{ROD}[object.fur]\nkind = \"groom\"\non = \"{on}\"\nlength = 0.05\n\
                vertices = 8\nradius = 1e-4\nmaterial = \"stuff\"\n{more}\n"
        )
    };
    for on in ["rod", "fur"] {
        assert_refused(
            &fur(on, "count = 5"),
            &[
                &format!("`{on}` has no surface"),
                "no surface",
                "name cloth, a solid",
            ],
        );
    }
    assert_refused(
        &fur("shet", "count = 5"),
        &["no object or collider `shet`", "did you mean `sheet`"],
    );
    assert_refused(
        &fur("sheet", ""),
        &["`object.fur`", "no number of hairs", "`density` or `count`"],
    );
    assert_refused(
        &fur("sheet", "count = 5\ndensity = 5"),
        &["both `density` and `count`"],
    );
    assert_refused(
        &fur("sheet", "count = 500\nspacing = 0.1"),
        &["of 500 roots fit", "smaller `spacing`"],
    );
    // Keys without effect are refused.
    for key in [
        "motion = { velocity = [1, 0, 0] }",
        "position = [1, 0, 0]",
        "scale = 2",
    ] {
        let name = key.split(' ').next().unwrap();
        assert_refused(
            &fur("sheet", &format!("count = 5\n{key}")),
            &["`object.fur`", &format!("`{name}`"), "`sheet`"],
        );
    }
}

#[test]
fn the_advice_on_a_groom_fits_the_problem() {
    let fur = |more: &str| {
        format!(
            "{SHEET}[object.fur]\nkind = \"groom\"\non = \"sheet\"\nlength = 0.05\nvertices = 8\n\
                radius = 1e-4\nmaterial = \"stuff\"\n{more}\n"
        )
    };
    let refusal = refusal_in(Path::new(""), &fur("density = 0.1"));
    assert_words(&refusal, &["no roots", "larger `density`"]);
    assert!(!refusal.contains("fewer roots"), "{refusal}");
    let refusal = refusal_in(
        Path::new(""),
        &fur("count = 5\ncurl_radius = 0.001\ncurl_pitch = 0.001"),
    );
    assert_words(&refusal, &["curls", "vertices"]);
    assert!(!refusal.contains("fewer roots"), "{refusal}");
}

#[test]
fn an_object_and_a_collider_of_the_same_name_are_refused() {
    assert_refused(
        &format!("{SHEET}[collider.sheet]\nkind = \"plane\"\n"),
        &[
            "`sheet` is the name of an object and a collider",
            "rename one",
        ],
    );
}

#[test]
fn scattered_copies_that_do_not_fit_are_refused() {
    assert_refused(
        &format!(
            "{SHEET}copies = {{ scatter = {{ count = 100, min = [0, 0, 0], max = [1, 1, 0] }} }}\n"
        ),
        &[
            "cannot be scattered",
            "of 100 places fit",
            "larger box, fewer copies or a smaller `apart`",
        ],
    );
    assert_refused(
        &format!(
            "{SHEET}copies = {{ scatter = {{ count = 2, min = [0, 0, 0], max = [1, -1, 0] }} }}\n"
        ),
        &["no box from", "`min`"],
    );
}

#[test]
fn too_many_vertices_are_refused_before_they_are_allocated() {
    for (kind, key) in [
        (
            "cloth-grid\"\nsize = [1, 1]\nvertices = [8192, 8192]",
            "vertices",
        ),
        (
            "cloth-strip\"\nlength = 1\nwidth = 1\nsegments = 90000",
            "segments",
        ),
        ("cloth-disc\"\nradius = 1\nedge = 1e-6", "edge"),
        (
            "solid-box\"\nsize = [1, 1, 1]\ncells = [9999, 9999, 9999]",
            "cells",
        ),
        (
            "solid-beam\"\nlength = 1\nsection = [1, 1]\ncells = 9999",
            "cells",
        ),
        ("solid-ball\"\nradius = 1\nedge = 1e-6", "edge"),
        ("solid-half-ball\"\nradius = 1\nedge = 1e-6", "edge"),
        (
            "solid-ring\"\nradius = 1\ntube_radius = 0.5\nedge = 1e-6",
            "edge",
        ),
        (
            "solid-tube\"\nradius = 1\ninner_radius = 0.5\nlength = 1\nedge = 1e-6",
            "edge",
        ),
        (
            "rod\"\nradius = 0.1\nlength = 1\nvertices = 900000\n\
                copies = { array = { count = [99, 1, 1], spacing = [1, 0, 0] } }",
            "copies",
        ),
        (
            "rigid\"\nshape = { kind = \"sphere\", radius = 1, edge = 1e-6 }",
            "edge",
        ),
    ] {
        let refusal = refusal_in(
            Path::new(""),
            &format!("[object.it]\nmaterial = \"stuff\"\nkind = \"{kind}\n"),
        );
        assert_words(
            &refusal,
            &[
                "`object.it` makes the scene too large",
                "vertices in total",
                key,
            ],
        );
    }
    assert_refused(
        "[collider.it]\nkind = \"stairs\"\nsteps = 9999\ntread = 1\nrise = 1\nwidth = 1\n\
            edge = 0.01\n",
        &["`collider.it` makes the scene too large"],
    );
    assert_refused(
        &format!(
            "{SHEET}[object.fur]\nkind = \"groom\"\non = \"sheet\"\ncount = 1000000\n\
                length = 0.05\nvertices = 1000\nradius = 1e-4\nmaterial = \"stuff\"\n"
        ),
        &["`object.fur` makes the scene too large"],
    );
}

/// The lattice has 400 × 3 × 3 cells, not 400³.
#[test]
fn the_cells_of_a_thin_embedded_surface_are_counted_along_each_axis() {
    let text = "[object.it]\nkind = \"embedded\"\n\
        surface = { kind = \"box\", size = [1, 0.005, 0.005] }\ncells = 400\n\
        material = \"stuff\"\n";
    let model =
        Model::build(&read_in(Path::new(""), text)).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(model.objects[0].mesh.points.len(), 8);
    assert_refused(
        &text.replace("0.005, 0.005", "1, 1").replace("400", "512"),
        &["`object.it` makes the scene too large"],
    );
}

#[test]
fn inconsistent_sizes_are_refused() {
    let object = |lines: &str| format!("[object.it]\nmaterial = \"stuff\"\nkind = \"{lines}\n");
    for (lines, words) in [
        (
            "solid-ring\"\nradius = 0.1\ntube_radius = 0.1\nedge = 0.01",
            ["`object.it` cannot be meshed", "must be less than"],
        ),
        (
            "solid-tube\"\nradius = 0.1\ninner_radius = 0.2\nlength = 1\nedge = 0.01",
            ["`object.it` cannot be meshed", "must be less than"],
        ),
        (
            "reef-knot\"\nlength = 0.1\nvertices = 100\nradius = 0.01",
            ["too short for a reef knot", "take at least"],
        ),
        (
            "reef-knot\"\nlength = 1\nvertices = 32\nradius = 0.001",
            ["too long for a knot", "take at least"],
        ),
        (
            "rod-spline\"\npoints = [[0, 0, 0]]\nvertices = 10\nradius = 0.01",
            ["`object.it` cannot be meshed", "points"],
        ),
        (
            "rigid\"\nshape = { kind = \"plane\" }",
            [
                "the surface of `object.it` encloses no volume",
                "closed surface",
            ],
        ),
        (
            "rigid\"\nshape = { kind = \"nail\", radius = 0.1, length = 1, head_radius = 0.05, \
                head_thickness = 0.1 }",
            ["head_radius is 0.05", "more than radius"],
        ),
    ] {
        assert_refused(&object(lines), &words);
    }
    for (lines, word) in [
        (
            "funnel\"\ntop_radius = 1\nbottom_radius = 1e-12\nheight = 1\nwall = 0.1",
            "top_radius",
        ),
        ("box\"\nsize = [1, 1, 1e-12]", "size"),
        ("cone\"\nradius = 1e9\nheight = 1e-9", "radius"),
    ] {
        assert_refused(
            &format!("[collider.it]\nkind = \"{lines}\n"),
            &[
                "`collider.it` cannot be meshed",
                "times the smallest length",
                word,
            ],
        );
    }
}
