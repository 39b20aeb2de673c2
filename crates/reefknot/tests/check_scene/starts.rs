//! Objects that overlap or contain each other at the start, and those that may.

use std::path::Path;

use reefknot_sim::check::Severity;

use super::common::*;

/// Findings about the start.
fn starts_in(folder: &Path, text: &str) -> Vec<String> {
    let found = findings_in(folder, text).into_iter();
    let wrong = found.filter(|(severity, _)| *severity == Severity::Wrong);
    wrong.map(|(_, sentence)| sentence).collect()
}

fn starts(text: &str) -> Vec<String> {
    starts_in(Path::new(""), text)
}

/// A rigid prop.
fn prop(name: &str, shape: &str, position: [f64; 3]) -> String {
    format!(
        "[object.{name}]\nkind = \"rigid\"\nmass = 0.01\nshape = {{ {shape} }}\nposition = \
         {position:?}\n"
    )
}

const SMALL_BALL: &str = "kind = \"sphere\", radius = 0.01, edge = 0.006";
const SMALL_BOX: &str = "kind = \"box\", size = [0.01, 0.01, 0.01]";
const LARGE_BOX: &str = "kind = \"box\", size = [0.3, 0.3, 0.1]";
const SOFT_BOX: &str = "[object.soft]\nkind = \"solid-box\"\nsize = [0.4, 0.4, 0.4]\n\
                        cells = [2, 2, 2]\nmaterial = \"stuff\"\n";
const SHORT_ROD: &str = "[object.rod]\nkind = \"rod\"\nlength = 0.1\nvertices = 4\nradius = 0.001\n\
                         material = \"stuff\"\nposition = [0, 0, 0.03]\n";

/// A cube from −side to side with outward or inward normals, after `first` other vertices; without
/// its top if it is open.
fn cube(side: f64, first: usize, is_inward: bool, is_open: bool) -> String {
    let mut text = String::new();
    for corner in 0..8 {
        let at = |axis: usize| if corner >> axis & 1 == 1 { side } else { -side };
        text += &format!("v {} {} {}\n", at(0), at(1), at(2));
    }
    let faces = [
        [1, 3, 4, 2],
        [1, 2, 6, 5],
        [3, 7, 8, 4],
        [1, 5, 7, 3],
        [2, 4, 8, 6],
        [5, 6, 8, 7],
    ];
    for face in &faces[..if is_open { 5 } else { 6 }] {
        let [a, b, c, d] = face.map(|corner| corner + first);
        for [a, b, c] in [[a, b, c], [a, c, d]] {
            let [b, c] = if is_inward { [c, b] } else { [b, c] };
            text += &format!("f {a} {b} {c}\n");
        }
    }
    text
}

/// Findings of a scene with a mesh collider around a sheet.
fn in_collider(obj: &str) -> Vec<String> {
    let folder = folder_with(&[("a.obj", obj)]);
    let text = format!("{SHEET}[collider.case]\nkind = \"mesh\"\nfile = \"a.obj\"\n");
    starts_in(folder.path(), &text)
}

#[test]
fn a_ball_through_a_sheet_is_refused_with_its_depth() {
    let found = starts(&(SHEET.to_owned() + &prop("b", SMALL_BALL, [0.003, 0.004, 0.003])));
    assert_eq!(found.len(), 1, "{found:?}");
    // A radius of 10 mm, 3 mm above the sheet.
    assert_words(
        &found[0],
        &[
            "`b` (ball of radius 0.01 m about (0.0030, 0.0040, 0.0030) m)",
            "overlaps `sheet` (vertex ",
            "by 0.007 m at the start: move them apart",
        ],
    );
    // No accepted motion begins with contact.
    let touching = starts(&(SHEET.to_owned() + &prop("b", SMALL_BALL, [0.003, 0.004, 0.01])));
    assert_words(&touching[0], &["touches `sheet`", "move them apart"]);
    // Nearer than the thickness of 1 mm, but apart.
    let near = SHEET.to_owned() + &prop("b", SMALL_BALL, [0.003, 0.004, 0.0101]);
    assert_eq!(starts(&near), [] as [String; 0]);
}

#[test]
fn a_ball_through_a_rod_a_box_or_a_ball_is_refused() {
    for (other, depth) in [
        (SHORT_ROD.to_owned(), "0.007 m"),
        (prop("box", SMALL_BOX, [0.0, 0.0, 0.041]), "0.007 m"),
        (prop("other", SMALL_BALL, [0.0, 0.0, 0.02]), "0.007 m"),
    ] {
        let found = starts(&(other + &prop("b", SMALL_BALL, [0.0, 0.0, 0.033])));
        assert_eq!(found.len(), 1, "{found:?}");
        assert_words(&found[0], &["`b`", "overlaps", depth]);
    }
    let copies = "copies = { array = { count = [3, 1, 1], spacing = [0.015, 1, 1] } }\n";
    let found = starts(&(prop("b", SMALL_BALL, [0.0; 3]) + copies));
    assert_eq!(found.len(), 2, "{found:?}");
    assert_words(
        &found[0],
        &["`b` (copy 0)", "overlaps `b` (copy 1) by 0.005 m"],
    );
}

#[test]
fn an_object_inside_another_is_refused_in_both_orders() {
    let (small, large) = (
        prop("small", SMALL_BOX, [0.0; 3]),
        prop("large", LARGE_BOX, [0.0; 3]),
    );
    for text in [format!("{small}{large}"), format!("{large}{small}")] {
        let found = starts(&text);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_words(
            &found[0],
            &[
                "`small` (vertex 0) starts inside `large`, 0.045 m below its surface",
                "move it out",
                "`touch = false`",
            ],
        );
    }
    let ball = prop("ball", SMALL_BALL, [0.0; 3]);
    let collider = "[collider.pearl]\nkind = \"sphere\"\nradius = 0.01\n";
    let narrow = SHEET.replace("0.4, 0.4", "0.2, 0.2");
    for (inner, name) in [
        (SHORT_ROD, "rod"),
        (&small, "small"),
        (&ball, "ball"),
        (collider, "pearl"),
        (&narrow, "sheet"),
    ] {
        let found = starts(&format!("{SOFT_BOX}{inner}"));
        assert_eq!(found.len(), 1, "{name}: {found:?}");
        assert_words(&found[0], &[&format!("`{name}`"), "starts inside `soft`"]);
    }
    // A box inside a ball.
    let found = starts(&(small + &prop("ball", "kind = \"sphere\", radius = 0.1", [0.0; 3])));
    assert_words(&found[0], &["`ball`", "overlaps `small`"]);
}

#[test]
fn a_closed_collider_is_solid_unless_its_normals_are_inward() {
    let found = in_collider(&cube(1.0, 0, false, false));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_words(
        &found[0],
        &["`sheet` (vertex 0) starts inside `case`", "inward normals"],
    );
    let none: [String; 0] = [];
    assert_eq!(in_collider(&cube(1.0, 0, true, false)), none);
    // A cup is open. A box with walls has an inner surface.
    assert_eq!(in_collider(&cube(1.0, 0, false, true)), none);
    let walls = cube(1.0, 0, false, false) + &cube(0.9, 8, true, false);
    assert_eq!(in_collider(&walls), none);
}

#[test]
fn objects_that_do_not_touch_or_are_attached_may_be_inside() {
    let none: [String; 0] = [];
    let apart = "[contact]\npairs = [{ between = [\"rod\", \"soft\"], touch = false }]\n";
    assert_eq!(starts(&format!("{apart}{SOFT_BOX}{SHORT_ROD}")), none);
    let bone = "[attachment.bone]\nobject = \"rod\"\nat = { vertices = [0, 1, 2, 3] }\n\
                to = \"soft\"\nreach = 1\n";
    assert_eq!(starts(&format!("{SOFT_BOX}{SHORT_ROD}{bone}")), none);
    // The inside of closed cloth is empty.
    let folder = folder_with(&[("a.obj", &cube(0.2, 0, false, false))]);
    let balloon =
        "[object.balloon]\nkind = \"cloth-mesh\"\nfile = \"a.obj\"\nmaterial = \"stuff\"\n";
    let inside = format!("{balloon}{SHORT_ROD}");
    assert_eq!(starts_in(folder.path(), &inside), none);
}
