//! Pins, clamps, loads, ties and motions.

use std::path::Path;

use reefknot::check::Severity;
use reefknot::model::Model;

use super::common::*;

#[test]
fn pins_that_do_nothing_or_too_much_are_doubted() {
    assert_found(
        &findings(&format!(
            "{SHEET}[pin.it]\nobject = \"sheet\"\nat = {{ group = \"left\" }}\nstart = 2\n"
        )),
        Severity::Warning,
        &["`pin.it` takes hold at 2 s", "ends at 1 s"],
    );
    assert_found(
        &findings(&format!(
            "{SHEET}[pin.it]\nobject = \"sheet\"\nat = {{ side = {{ point = [0, 0, 0], normal = [0, 0, 1] }} }}\n"
        )),
        Severity::Warning,
        &["`pin.it` holds every vertex of `sheet`"],
    );
}

#[test]
fn what_cannot_be_held_is_refused() {
    let pin = |lines: &str| {
        format!("{SHEET}{ROD}[collider.floor]\nkind = \"plane\"\n[pin.it]\n{lines}\n")
    };
    assert_refused(
        &pin("object = \"floor\"\nat = { vertices = [0] }"),
        &["`floor` is a collider", "give the collider a `motion`"],
    );
    assert_refused(
        &pin("object = \"sheet\"\nat = { sphere = { center = [9, 9, 9], radius = 1 } }"),
        &[
            "`pin.it` holds no vertex of `sheet`",
            "(-0.2, -0.2, 0)",
            "(0.2, 0.2, 0)",
        ],
    );
    assert_refused(
        &pin("object = \"sheet\"\nat = { vertices = [] }"),
        &["`pin.it` holds no vertex of `sheet`", "at least one"],
    );
    assert_refused(
        &pin("object = \"sheet\"\nat = { vertices = [25] }"),
        &["`sheet` has no vertex 25", "0 to 24"],
    );
    assert_refused(
        &pin("object = \"sheet\"\nat = { group = \"lef\" }"),
        &[
            "no group `lef`",
            "did you mean",
            "`sheet` has left, right, bottom, top, corners",
        ],
    );
    assert_refused(
        &pin("object = \"sheet\"\nat = { end = \"first\" }"),
        &["`sheet` has no rod with an end"],
    );
    assert_refused(
        &pin("object = \"shet\"\nat = { vertices = [0] }"),
        &["no object `shet`", "sheet"],
    );
    assert_refused(
        &pin("object = \"sheet\"\nat = { vertices = [0] }\nstart = 0.5\nrelease = 0.2"),
        &["0.2 s, before it begins at 0.5 s", "later time"],
    );
    assert_refused(
        &pin("object = \"sheet\"\nat = { side = { point = [0, 0, 0], normal = [0, 0, 0] } }"),
        &["needs a normal", "[0, 0, 1]"],
    );
    assert_refused(
        &format!("{SHEET}[clamp.it]\nobject = \"sheet\"\nend = \"first\"\n"),
        &["`sheet` has no rod with an end", "use a pin"],
    );
}

#[test]
fn motions_that_go_back_in_time_are_refused() {
    let motion = |lines: &str| format!("[collider.it]\nkind = \"plane\"\nmotion = {{ {lines} }}\n");
    let keys = "keyframes = [{ time = 0 }, { time = 0.5 }, { time = 0.5 }]";
    assert_refused(
        &motion(keys),
        &["one after the other", "later time", "{ time = 0.5 }]"],
    );
    assert_refused(
        &motion("keyframes = []"),
        &["there is no keyframe", "leave the key out"],
    );
    assert_refused(
        &motion("velocity = [1, 0, 0], start = 2, stop = 1"),
        &["1 s, before it begins at 2 s", "earlier `start`"],
    );
    assert_refused(
        &motion("keyframes = [{ time = 1, rotation = { axis = [0, 0, 0], angle = 1 } }]"),
        &["axis of some length"],
    );
}

#[test]
fn ties_that_tie_nothing_are_refused() {
    let two = format!(
        "{SHEET}{}position = [0, 0, 0.5]\n",
        SHEET.replace("object.sheet", "object.other")
    );
    let attach = "[attachment.it]\nobject = \"sheet\"\nat = { group = \"left\" }\n";
    assert_refused(
        &format!("{two}{attach}to = \"other\"\n"),
        &[
            "`attachment.it` ties nothing",
            "within 0.01 m of `other`",
            "0.5 m away",
            "larger `reach`",
        ],
    );
    assert_refused(
        &format!("{two}{attach}to = \"sheet\"\n"),
        &["to itself", "use a stitch"],
    );
    assert_refused(
        &format!(
            "{two}[stitch.seam]\nfrom = {{ object = \"sheet\", at = {{ group = \"left\" }} }}\nto = {{ object = \"other\", at = {{ group = \"corners\" }} }}\n"
        ),
        &[
            "`stitch.seam` joins 5 vertices to 4",
            "as many on either side",
        ],
    );
    let model = Model::build(&read_in(
        Path::new(""),
        &format!("{two}{attach}to = \"other\"\nreach = 1\n"),
    ));
    let ties = model.unwrap().ties;
    assert_eq!(ties.len(), 5);
    for tie in ties {
        let weight: f64 = tie.to.1.iter().map(|(_, weight)| weight).sum();
        assert!((weight - 1.0).abs() < 1e-12 && (tie.length[0] - 0.5).abs() < 1e-12);
    }
}

#[test]
fn a_moment_on_a_line_is_refused() {
    assert_refused(
        &format!(
            "{SHEET}[load.it]\nobject = \"sheet\"\nat = {{ group = \"left\" }}\nmoment = [0, 0, 1]\n"
        ),
        &["`load.it`", "vertices in a line", "choose more vertices"],
    );
}
