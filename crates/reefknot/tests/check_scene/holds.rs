//! Pins, clamps, loads, ties and motions.

use std::path::Path;

use reefknot_sim::check::Severity;
use reefknot_sim::model::Model;

use super::common::*;

fn pins(one: &str, two: &str) -> Vec<(Severity, String)> {
    findings(&format!(
        "{SHEET}[pin.one]\nobject = \"sheet\"\n{one}\n[pin.two]\nobject = \"sheet\"\n{two}\n"
    ))
}

#[test]
fn pins_that_disagree_on_a_vertex_are_errors() {
    let rest = "at = { group = \"corners\" }";
    let left = "at = { group = \"left\" }";
    let words = [
        "`pin.one` and `pin.two`",
        "vertex 0 of `sheet`",
        "at (-0.2, -0.2, 0)",
        "move it differently",
        "release one of them first, or select other vertices",
    ];
    let moving = format!("{left}\nmotion = {{ velocity = [0, 0, 1] }}");
    assert_found(&pins(rest, &moving), Severity::Wrong, &words);
    // They disagree for a short time only, while both hold.
    let brief = format!("{left}\nmotion = {{ velocity = [0, 0, 1], start = 0.5 }}\nrelease = 0.6");
    assert_found(&pins(rest, &brief), Severity::Wrong, &words);
}

/// 64 equidistant samples per second are all zeros of this sine.
#[test]
fn pins_that_disagree_at_a_high_frequency_are_errors() {
    let shaking = "at = { group = \"left\" }\n\
        motion = { oscillation = { amplitude = [0, 0, 0.1], frequency = 64 } }";
    assert_found(
        &pins("at = { group = \"corners\" }", shaking),
        Severity::Wrong,
        &["vertex 0 of `sheet`", "move it differently"],
    );
}

/// Vertex 0 is the centre of the rotation; vertex 4 is not.
#[test]
fn pins_that_agree_on_one_vertex_and_disagree_on_another_are_errors() {
    let turning = "at = { group = \"corners\" }\n\
        motion = { angular_velocity = [0, 0, 1], center = [-0.2, -0.2, 0] }";
    assert_found(
        &pins("at = { group = \"bottom\" }", turning),
        Severity::Wrong,
        &[
            "vertex 4 of `sheet`",
            "at (0.2, -0.2, 0)",
            "move it differently",
        ],
    );
}

#[test]
fn pins_that_agree_have_no_findings() {
    let corners = "at = { group = \"corners\" }";
    let left = "at = { group = \"left\" }";
    assert_eq!(pins(corners, left), []);
    let moving = |at: &str| format!("{at}\nmotion = {{ velocity = [0, 0, 1] }}");
    assert_eq!(pins(&moving(corners), &moving(left)), []);
    // One after the other.
    let first = format!("{corners}\nrelease = 0.5");
    let second = format!("{}\nstart = 0.5", moving(left));
    assert_eq!(pins(&first, &second), []);
    // Other vertices.
    assert_eq!(pins("at = { vertices = [12] }", &moving(left)), []);
    // The same rotation about the same point.
    let turn = "motion = { angular_velocity = [0, 0, 1], center = [0, 0, 0] }";
    assert_eq!(
        pins(&format!("{corners}\n{turn}"), &format!("{left}\n{turn}")),
        []
    );
    // Rotations about different centres disagree.
    let turn = "motion = { angular_velocity = [0, 0, 1] }";
    assert_found(
        &pins(&format!("{corners}\n{turn}"), &format!("{left}\n{turn}")),
        Severity::Wrong,
        &["vertex 0 of `sheet`"],
    );
}

#[test]
fn pins_without_effect_or_of_all_vertices_are_warnings() {
    assert_found(
        &findings(&format!(
            "{SHEET}[pin.it]\nobject = \"sheet\"\nat = {{ group = \"left\" }}\nstart = 2\n"
        )),
        Severity::Warning,
        &["`pin.it` never holds: it starts at 2 s", "ends at 1 s"],
    );
    assert_found(
        &findings(&format!(
            "{SHEET}[pin.it]\nobject = \"sheet\"\n\
                at = {{ side = {{ point = [0, 0, 0], normal = [0, 0, 1] }} }}\n"
        )),
        Severity::Warning,
        &["`pin.it` holds all vertices of `sheet`"],
    );
}

#[test]
fn clamps_that_disagree_on_the_twist_of_an_end_are_errors() {
    let clamps = |twist: &str| {
        findings(&format!(
            "{ROD}[clamp.a]\nobject = \"rod\"\nend = \"last\"\n[clamp.b]\nobject = \"rod\"\n\
                end = \"last\"\n{twist}\n"
        ))
    };
    assert_found(
        &clamps("twist = { rate = 1 }"),
        Severity::Wrong,
        &["`clamp.a` and `clamp.b`", "edge 4", "`rod`", "twist"],
    );
    assert_eq!(clamps(""), []);
}

#[test]
fn invalid_pins_and_clamps_are_refused() {
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
            "`pin.it` selects no vertex of `sheet`",
            "(-0.2, -0.2, 0)",
            "(0.2, 0.2, 0)",
        ],
    );
    assert_refused(
        &pin("object = \"sheet\"\nat = { vertices = [] }"),
        &["`pin.it` selects no vertex of `sheet`", "at least one"],
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
        &["`sheet` has no open rods"],
    );
    assert_refused(
        &pin("object = \"shet\"\nat = { vertices = [0] }"),
        &["no object `shet`", "sheet"],
    );
    assert_refused(
        &pin("object = \"sheet\"\nat = { vertices = [0] }\nstart = 0.5\nrelease = 0.2"),
        &["0.2 s is before the start at 0.5 s", "later time"],
    );
    assert_refused(
        &pin("object = \"sheet\"\nat = { side = { point = [0, 0, 0], normal = [0, 0, 0] } }"),
        &["must not be zero", "[0, 0, 1]"],
    );
    assert_refused(
        &format!("{SHEET}[clamp.it]\nobject = \"sheet\"\nend = \"first\"\n"),
        &["`sheet` has no open rods", "use a pin"],
    );
}

#[test]
fn motions_with_invalid_times_or_axes_are_refused() {
    let motion = |lines: &str| format!("[collider.it]\nkind = \"plane\"\nmotion = {{ {lines} }}\n");
    let keys = "keyframes = [{ time = 0 }, { time = 0.5 }, { time = 0.5 }]";
    assert_refused(
        &motion(keys),
        &["must increase", "later time", "{ time = 0.5 }]"],
    );
    assert_refused(
        &motion("keyframes = []"),
        &["`keyframes` is empty", "omit the key"],
    );
    assert_refused(
        &motion("velocity = [1, 0, 0], start = 2, stop = 1"),
        &["1 s is before the start at 2 s", "earlier `start`"],
    );
    assert_refused(
        &motion("keyframes = [{ time = 1, rotation = { axis = [0, 0, 0], angle = 1 } }]"),
        &["axis of a rotation must not be zero"],
    );
}

#[test]
fn attachments_and_stitches_without_matching_vertices_are_refused() {
    let two = format!(
        "{SHEET}{}position = [0, 0, 0.5]\n",
        SHEET.replace("object.sheet", "object.other")
    );
    let attach = "[attachment.it]\nobject = \"sheet\"\nat = { group = \"left\" }\n";
    assert_refused(
        &format!("{two}{attach}to = \"other\"\n"),
        &[
            "`attachment.it` has no effect",
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
            "{two}[stitch.seam]\nfrom = {{ object = \"sheet\", at = {{ group = \"left\" }} }}\n\
                to = {{ object = \"other\", at = {{ group = \"corners\" }} }}\n"
        ),
        &[
            "`stitch.seam` joins 5 vertices to 4",
            "the same number of vertices on both sides",
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
fn a_moment_on_collinear_vertices_is_refused() {
    assert_refused(
        &format!(
            "{SHEET}[load.it]\nobject = \"sheet\"\nat = {{ group = \"left\" }}\n\
                moment = [0, 0, 1]\n"
        ),
        &["`load.it`", "collinear vertices", "not on one line"],
    );
}

#[test]
fn loads_and_velocities_of_prescribed_objects_are_warnings() {
    let prescribed = format!("{SHEET}motion = {{ velocity = [1, 0, 0] }}\n");
    assert_found(
        &findings(&format!(
            "{prescribed}[load.it]\nobject = \"sheet\"\nat = {{ vertices = [0] }}\n\
             force = [0, 0, 1]\n"
        )),
        Severity::Warning,
        &["`load.it`", "`sheet`", "has a `motion`"],
    );
    assert_found(
        &findings(&format!("{prescribed}velocity = [0, 1, 0]\n")),
        Severity::Warning,
        &["`sheet`", "`velocity`", "has a `motion`"],
    );
    assert_eq!(findings(&prescribed), []);
}

#[test]
fn thousands_of_pins_that_agree_and_a_pin_on_hair_have_no_findings() {
    // Pins are compared per shared vertex: comparing all pairs took most of a minute.
    let mut text = SHEET.to_owned();
    for index in 0..3000 {
        text += &format!(
            "[pin.p{index}]\nobject = \"sheet\"\nat = {{ vertices = [{}] }}\n",
            index % 20
        );
    }
    assert_eq!(findings(&text), []);
    let hair = format!(
        "{SHEET}[object.fur]\nkind = \"groom\"\non = \"sheet\"\ncount = 5\n\
         length = 0.05\nvertices = 8\nradius = 1e-4\nmaterial = \"stuff\"\n\
         [pin.tip]\nobject = \"fur\"\nat = {{ group = \"tips\" }}\n"
    );
    assert_eq!(findings(&hair), []);
}
