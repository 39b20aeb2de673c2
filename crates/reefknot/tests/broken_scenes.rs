//! Regression tests for scenes that overflowed the stack, took minutes, or got a useless message.
//! The example `fuzz_scenes` found each of them.

#![allow(clippy::unwrap_used, reason = "a failed `unwrap` fails the test")]

use reefknot_sim::model::Model;
use reefknot_sim::scene::problem::Problems;
use reefknot_sim::scene::{Scene, SceneRequest};

const SCENE: &str = r#"time = { duration = 1 }
[material.a]
preset = "denim"
[object.a]
kind = "cloth-grid"
size = [1, 1]
vertices = [3, 3]
material = "a"
"#;

fn read(text: &str, sets: &[&str]) -> Result<Scene, Problems> {
    Scene::read(&SceneRequest {
        file: "a.toml".into(),
        text: text.into(),
        sets: sets.iter().map(|set| (*set).to_owned()).collect(),
        ..SceneRequest::default()
    })
}

/// The report on a scene, from a thread with the smallest stack of any platform.
fn report(text: &str, sets: &[&str]) -> String {
    let small = std::thread::Builder::new().stack_size(1 << 20);
    std::thread::scope(|scope| {
        let reader = small.spawn_scoped(scope, || match read(text, sets) {
            Ok(scene) => Model::build(&scene).unwrap_err().to_string(),
            Err(problems) => problems.to_string(),
        });
        reader.unwrap().join().unwrap()
    })
}

fn expect(report: &str, words: &[&str]) {
    for words in words {
        assert!(report.contains(words), "expected `{words}` in\n{report}");
    }
}

/// The report on [`SCENE`] with `from` replaced by `to`.
fn report_changed(from: &str, to: &str) -> String {
    assert!(SCENE.contains(from));
    report(&SCENE.replacen(from, to, 1), &[])
}

#[test]
fn a_long_chain_of_parameters_does_not_overflow_the_stack() {
    for link in ["\"$p{}\"", "\"= $p{} + 1\""] {
        let mut text = String::from("[parameters]\np0 = 1\n");
        for i in 1..5000 {
            let value = link.replace("{}", &(i - 1).to_string());
            text += &format!("p{i} = {value}\n");
        }
        expect(
            &report(&text, &[]),
            &["a.toml:", "refer to each other is too long"],
        );
    }
}

#[test]
fn parameters_that_expand_exponentially_are_refused_briefly() {
    let mut text = String::from("[parameters]\np0 = [1, 2, 3, 4, 5, 6, 7, 8]\n");
    for i in 1..2000 {
        let uses = format!("\"$p{}\", ", i - 1).repeat(40);
        text += &format!("p{i} = [{uses}]\n");
    }
    let report = report(&text, &[]);
    expect(&report, &["a.toml:", "too many times"]);
    assert!(report.len() < 40_000);
}

#[test]
fn deep_nesting_does_not_overflow_the_stack() {
    let keys = vec!["a"; 79].join(".");
    let tables = format!("x = {}1{}", format!("{{{keys}=").repeat(79), "}".repeat(79));
    let path = vec!["a"; 10_000].join(".");
    let brackets = format!("x = {}", "[".repeat(10_000));
    for text in [
        tables,
        brackets,
        format!("{path} = 1"),
        format!("[{path}]"),
        format!("[{keys}]\n{keys} = 1"),
    ] {
        expect(&report(&text, &[]), &["a.toml:", "too deeply"]);
    }
    let set = format!("{path}=1");
    expect(&report(SCENE, &[&set]), &["--set:1:1", "too deeply"]);
    let set = format!("time={}", "[".repeat(10_000));
    expect(&report(SCENE, &[&set]), &["--set:1:6", "too deeply"]);
    let quick = format!("{SCENE}[quick]\n\"{path}\" = 1");
    let request = SceneRequest {
        text: quick,
        quick: true,
        ..SceneRequest::default()
    };
    let problems = Scene::read(&request).unwrap_err().to_string();
    expect(&problems, &["10:1", "too deeply"]);
}

#[test]
fn an_unknown_long_name_is_refused_quickly() {
    let name = "p".repeat(100_000);
    let text = format!("[parameters]\n{name}q = 1\nx = \"${name}\"\n");
    let report = report(&text, &[]);
    expect(&report, &["a.toml:3:5", "there is no parameter `ppp"]);
    assert!(report.len() < 2000, "{}", report.len());
}

#[test]
fn a_report_shortens_long_lines_and_long_lists_of_mistakes() {
    let long = format!("title = {}\n", "1".repeat(100_000));
    let report_on_long = report(&long, &[]);
    expect(&report_on_long, &["a.toml:1:9"]);
    assert!(report_on_long.len() < 2000);
    let lines: String = (0..5000).map(|i| format!("unknown{i} = 1\n")).collect();
    let report_on_many = report(&lines, &[]);
    expect(&report_on_many, &["a.toml:1:1", "more mistakes"]);
    assert!(report_on_many.len() < 40_000);
}

#[test]
fn control_characters_do_not_reach_the_terminal() {
    for text in [
        "a\u{9b}31m = 1",
        "\"\\u001b[31m\" = 1",
        "\u{85}",
        "x = \"\0",
    ] {
        let report = report(text, &[]);
        expect(&report, &["a.toml:1:"]);
        assert!(
            !report.contains(|c: char| c.is_control() && c != '\n'),
            "{report:?}"
        );
    }
}

#[test]
fn line_and_column_are_right_for_empty_texts_and_any_line_ends() {
    expect(&report("", &[]), &["a.toml:1:1", "`time` is missing"]);
    expect(&report("\n\n", &[]), &["a.toml:1:1"]);
    expect(&report("\ttime\t=\t3\r\n", &[]), &["a.toml:1:9"]);
    expect(
        &report("title = \"日本\"\r\ntitle = 2\r\n", &[]),
        &["a.toml:2:1"],
    );
    expect(&report("title = \"é\nx", &[]), &["a.toml:1:11"]);
    expect(&report("\u{feff}sise = 1", &[]), &["a.toml:1:", "sise"]);
}

#[test]
fn a_duplicate_key_is_reported() {
    let report = report_changed("size = [1, 1]", "size = [1, 1]\nsize = [2, 2]");
    expect(&report, &["a.toml:7:1", "`size` is defined twice"]);
}

#[test]
fn each_syntax_error_is_reported_once() {
    let problems = read("size = ,[1, 1]\nx\n", &[]).unwrap_err();
    assert_eq!(problems.list().len(), 2, "{problems}");
}

#[test]
fn a_wrong_parameter_is_reported_once_however_often_it_is_used() {
    let text = SCENE
        .replace("[3, 3]", "[\"$n\", \"$n\"]")
        .replace("[material.a]", "[parameters]\nn = \"= 1/0\"\n[material.a]");
    let problems = read(&text, &[]).unwrap_err();
    assert_eq!(problems.list().len(), 1, "{problems}");
    let problems = read(&SCENE.replace("[3, 3]", "[\"$n\", 3]"), &[]).unwrap_err();
    assert_eq!(problems.list().len(), 1, "{problems}");
}

#[test]
fn the_quick_table_cannot_be_set() {
    // The stored scene has no table `quick`, so it would differ from the one that was read.
    expect(&report(SCENE, &["quick=2"]), &["--set:1:1", "`quick`"]);
    expect(&report(SCENE, &["quick.x=2"]), &["--set:1:1", "`quick`"]);
}

#[test]
fn an_unknown_path_is_marked_instead_of_its_value() {
    expect(
        &report(SCENE, &["time.duraton=3"]),
        &["--set:1:1", "`duration`?"],
    );
    expect(&report(SCENE, &[".=3"]), &["--set:1:1", "not a path"]);
}

#[test]
fn an_element_of_a_parameter_can_be_set() {
    let text = SCENE
        .replace("[1, 1]", "\"$size\"")
        .replace("[material.a]", "[parameters]\nsize = [1, 1]\n[material.a]");
    assert!(read(&text, &["parameters.size.1=2"]).is_ok());
    expect(
        &report(&text, &["parameters . sise=2"]),
        &["no parameter `sise`"],
    );
}

#[test]
fn excessive_times_are_refused_briefly() {
    let long = report_changed("duration = 1", "duration = 1e300");
    expect(&long, &["a.toml:1:21", "2e301 frames"]);
    let endless = report_changed("duration = 1", "duration = 1e308");
    expect(&endless, &["a.toml:1:21", "infinitely many frames"]);
    let fine = report_changed("duration = 1", "duration = 1, h = 1e-320");
    expect(&fine, &["a.toml:1:28", "steps"]);
    assert!(long.len() < 500 && fine.len() < 500);
}

#[test]
fn overflowing_sizes_masses_and_stiffnesses_are_refused_at_their_place() {
    for size in ["[1e-300, 1e300]", "[1e-200, 1e-200]", "[1e200, 1e200]"] {
        expect(
            &report_changed("[1, 1]", size),
            &["a.toml:6:8", "`object.a`"],
        );
    }
    expect(
        &report_changed("\"denim\"", "\"denim\"\narea_density = 1e-320"),
        &["a.toml:2:1", "material `a`"],
    );
    expect(
        &report_changed("\"denim\"", "\"denim\"\nyoung = 1e300\nthickness = 1e300"),
        &["a.toml:2:1", "material `a`"],
    );
    expect(
        &report_changed("\"denim\"", "\"denim\"\nmembrane = [1e-320, 1]"),
        &["a.toml:2:1", "material `a`"],
    );
}

#[test]
fn an_object_too_far_away_to_resolve_its_vertices_is_refused() {
    for position in ["[1e20, 0, 0]", "[1e308, 1e308, 0]"] {
        let report = report_changed("[3, 3]", &format!("[3, 3]\nposition = {position}"));
        expect(&report, &["a.toml:4:1", "too far away"]);
    }
}

#[test]
fn overflowing_motions_are_refused_at_their_place() {
    for motion in [
        "{ velocity = [1e300, 0, 0] }",
        "{ angular_velocity = [0, 0, 1e308] }",
        "{ center = [1e308, 0, 0], angular_velocity = [0, 0, 1] }",
        "{ oscillation = { frequency = 1e308 } }",
        "{ oscillation = { frequency = 1, amplitude = [0, 1e308, 0] } }",
        "{ oscillation = { frequency = 1, rotation = { angle = 1e308 } } }",
        "{ keyframes = [{ time = 0, position = [-1e308, 0, 0] }, \
            { time = 1, position = [1e308, 0, 0] }] }",
        "{ keyframes = [{ time = 0, rotation = { angle = -1e308 } }, \
            { time = 1, rotation = { angle = 1e308 } }] }",
    ] {
        let report = report_changed("[3, 3]", &format!("[3, 3]\nmotion = {motion}"));
        expect(
            &report,
            &["a.toml:8:10", "the `motion` reaches", "the limit is 1e15"],
        );
    }
    let rod = "\n[object.rod]\nkind = \"rod\"\nlength = 1\nvertices = 3\nradius = 0.01\n\
        material = \"a\"\n\
        [clamp.end]\nobject = \"rod\"\nend = \"first\"\ntwist = { rate = 1e300 }\n";
    let text = SCENE.replace("\"denim\"", "\"denim\"\ndensity = 1000\nyoung = 1e6");
    expect(
        &report(&format!("{text}{rod}"), &[]),
        &["the `twist` reaches"],
    );
    let fast = report_changed("[3, 3]", "[3, 3]\nvelocity = [1e300, 0, 0]");
    expect(&fast, &["a.toml:4:1", "an initial velocity of 1e300 m/s"]);
}

#[test]
fn colliders_of_overflowing_size_or_position_are_refused() {
    let sphere = |radius: &str| {
        let collider = format!("\n[collider.b]\nkind = \"sphere\"\nradius = {radius}\n");
        report(&format!("{SCENE}{collider}"), &[])
    };
    expect(
        &sphere("1e200"),
        &["a.toml:12:10", "`collider.b` is too large"],
    );
    expect(&sphere("1e-200"), &["`collider.b`"]);
    let far = "1\nposition = [1e308, 0, 0]\n\
        copies = { array = { count = [3, 1, 1], spacing = [1e308, 0, 0] } }";
    expect(
        &sphere(far),
        &["a.toml:10:1", "`collider.b` is too far away"],
    );
}

#[test]
fn an_axis_may_have_any_length_but_zero() {
    for axis in ["[1e308, 1e308, 0]", "[0, 0, 1e-320]"] {
        let rotation = format!("[3, 3]\nrotation = {{ axis = {axis}, angle = 1 }}");
        let scene = read(&SCENE.replace("[3, 3]", &rotation), &[]).unwrap();
        assert!(Model::build(&scene).is_ok(), "{axis}");
    }
    let report = report_changed("[3, 3]", "[3, 3]\nrotation = { axis = [0, 0, 0] }");
    expect(&report, &["a.toml:8:21", "must not be zero"]);
}

#[test]
fn a_subnormal_gust_length_is_refused() {
    let wind = "\n[wind]\nvelocity = [1, 0, 0]\nturbulence = 1\ngust_length = 1e-320\n";
    let report = report(&format!("{SCENE}{wind}"), &[]);
    expect(&report, &["a.toml:10:1", "gust_length"]);
}

#[test]
fn dimensionless_values_are_called_plain_numbers() {
    let report = report_changed("\"denim\"", "\"denim\"\npoisson = \"3 s\"");
    expect(
        &report,
        &["`material.a.poisson` must be a number without unit"],
    );
    let report = report_changed("duration = 1", "duration = \"5 %\"");
    expect(&report, &["must be in s, not without unit"]);
}

#[test]
fn a_file_that_is_not_utf_8_is_refused_at_its_first_invalid_byte() {
    let error = String::from_utf8(b"title = 1\nab\xff\n".to_vec()).unwrap_err();
    expect(
        &Problems::not_text("a.toml", &error).to_string(),
        &["a.toml:2:3", "UTF-8"],
    );
}

#[test]
fn very_many_syntax_errors_are_reported_quickly() {
    let start = std::time::Instant::now();
    for token in [
        "]", "=", "a ", "\"", "[", "{", "'a'=", ",", "a=1,", "\r", "[a]",
    ] {
        expect(&report(&token.repeat(100_000), &[]), &["a.toml:1:"]);
        let lines = format!("{token}\n").repeat(20_000);
        expect(&report(&lines, &[]), &["a.toml:"]);
    }
    let seconds = start.elapsed().as_secs_f64();
    // Regression: it took minutes instead of a second. The limit allows for a busy machine.
    assert!(seconds < 60.0, "{seconds:.1} s");
}
