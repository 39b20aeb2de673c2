//! Pins, clamps, loads, ties and motions.

use reefknot::check::Severity;

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
fn a_moment_on_a_line_is_refused() {
    assert_refused(
        &format!(
            "{SHEET}[load.it]\nobject = \"sheet\"\nat = {{ group = \"left\" }}\nmoment = [0, 0, 1]\n"
        ),
        &["`load.it`", "vertices in a line", "choose more vertices"],
    );
}
