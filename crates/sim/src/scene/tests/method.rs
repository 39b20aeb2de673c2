//! Reading of integrators and solvers with their options.

use reefknot_contact::solve::options::{OptionKind, OptionValue, Options};
use reefknot_contact::solve::table::{SOLVERS, SolverEntry};

use super::*;
use crate::scene::tables::{Integrator, Method, SolverChoice};

/// The method of an empty scene.
fn read_method(method: &str, sets: &[&str]) -> Result<Method, Problems> {
    let text = format!("time = {{ duration = 1 }}\n{method}\n");
    read(&text, sets).map(|scene| scene.tables.method)
}

/// The method of an empty scene without mistakes.
fn method(method: &str, sets: &[&str]) -> Method {
    read_method(method, sets).unwrap_or_else(|problems| panic!("{problems}"))
}

/// The report of a method with a single mistake.
fn report(method: &str, sets: &[&str]) -> String {
    let problems = read_method(method, sets).unwrap_err();
    assert_eq!(problems.list().len(), 1, "{problems}");
    problems.to_string()
}

fn assert_says(report: &str, words: &[&str]) {
    for words in words {
        assert!(report.contains(words), "expected `{words}` in\n{report}");
    }
}

/// The iterations of Newton's method.
fn iterations(method: &Method) -> u64 {
    match &method.integrator {
        Integrator::Newton(newton) => newton.iterations,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_word_is_its_table_with_all_defaults() {
    let given = "method = { integrator = \"newton\", solver = \"admm\" }";
    let tables = "method = { integrator = { kind = \"newton\" }, solver = { kind = \"admm\" } }";
    let (word, table) = (method(given, &[]), method(tables, &[]));
    assert_eq!(format!("{word:?}"), format!("{table:?}"));
    assert_eq!(iterations(&word), 20);
    let own = "method.integrator = { kind = \"newton\", iterations = 4 }";
    assert_eq!(iterations(&method(own, &[])), 4);
    let default = method("", &[]);
    assert_eq!(default.integrator.word(), "newton");
    assert_eq!(default.solver.word(), "admm");
    // Common options work with every integrator.
    for integrator in ["symplectic-euler", "linear-euler", "newton"] {
        let common = "solver = \"none\", tolerance = \"1 mm\", halvings = 2, \
                      quasi_static = true, converge = true";
        let given = format!("method = {{ integrator = \"{integrator}\", {common} }}");
        let method = method(&given, &[]);
        assert_eq!(method.integrator.word(), integrator);
        assert!(method.solver.is_none() && method.solver.word() == "none");
    }
}

#[test]
fn unknown_options_are_refused_with_their_location() {
    let unknown = "method.integrator = { kind = \"newton\", iteratoins = 4 }";
    let said = report(unknown, &[]);
    let expected = [
        "test.toml:2:40",
        "unknown key `iteratoins` in `method.integrator`, whose kind is \"newton\"",
        "did you mean `iterations`?",
    ];
    assert_says(&said, &expected);
    let other = "method.integrator = { kind = \"linear-euler\", iterations = 4 }";
    let expected = [
        "test.toml:2:46",
        "unknown key `iterations`",
        "\"linear-euler\"",
        "only \"newton\" has `iterations`",
    ];
    assert_says(&report(other, &[]), &expected);
    let bounds = report(
        "method.integrator = { kind = \"newton\", iterations = 0 }",
        &[],
    );
    assert_says(
        &bounds,
        &["`method.integrator.iterations` must be at least 1"],
    );
    let word = report("method.integrator = \"newtn\"", &[]);
    assert_says(
        &word,
        &[
            "`method.integrator` cannot be \"newtn\"",
            "did you mean \"newton\"?",
        ],
    );
    let number = report("method.integrator = 3", &[]);
    assert_says(
        &number,
        &[
            "must be a word or a table",
            "\"linear-euler\", \"newton\", or a table",
        ],
    );
    let nameless = report("method.integrator = { iterations = 3 }", &[]);
    assert_says(&nameless, &["`method.integrator.kind` is missing"]);
}

#[test]
fn misplaced_options_are_reported_with_their_table() {
    let old = "method = { integrator = \"newton\", iterations = 8 }";
    let expected = [
        "test.toml:2:35",
        "`iterations` is not a key of `method`: it belongs to the integrator",
        "write integrator = { kind = \"newton\", iterations = 8 }",
    ];
    assert_says(&report(old, &[]), &expected);
    // The advice has the values of parameters.
    let parameters = "parameters = { way = \"newton\", n = 3 }\n\
                      method = { integrator = { kind = \"$way\" }, iterations = \"$n\" }";
    let expected = ["write integrator = { kind = \"newton\", iterations = 3 }"];
    assert_says(&report(parameters, &[]), &expected);
    assert_says(
        &report("method.sweeps = 7", &[]),
        &["write solver = { kind = \"admm\", sweeps = 7 }"],
    );
    let without = "method = { integrator = \"linear-euler\", iterations = 8 }";
    let expected = ["omit it: \"linear-euler\" has no `iterations`, only \"newton\" has"];
    assert_says(&report(without, &[]), &expected);
    // The default integrator has the option.
    let expected = ["write integrator = { kind = \"newton\", iterations = 8 }"];
    assert_says(&report("method = { iterations = 8 }", &[]), &expected);
    assert_says(
        &report("method.iteration = 8", &[]),
        &["unknown key `iteration`"],
    );
}

#[test]
fn setting_an_option_expands_the_word_to_a_table() {
    let set = ["method.integrator.iterations=4"];
    let newton = "method.integrator = \"newton\"";
    assert_eq!(iterations(&method(newton, &set)), 4);
    let parameter = "parameters.way = \"newton\"\nmethod.integrator = \"$way\"";
    assert_eq!(iterations(&method(parameter, &set)), 4);
    let table = "method.integrator = { kind = \"newton\", iterations = 9 }";
    assert_eq!(iterations(&method(table, &set)), 4);
    let kind = ["method.integrator.kind=newton", set[0]];
    assert_eq!(iterations(&method("", &kind)), 4);
    let sweeps = method("", &["method.solver.sweeps=7"]);
    assert_eq!(
        (sweeps.solver.word(), sweeps.solver.options.count("sweeps")),
        ("admm", 7)
    );
    // Without a word the default applies.
    assert_eq!(iterations(&method("", &set)), 4);
    let said = report("method.integrator = \"linear-euler\"", &set);
    assert_says(
        &said,
        &["--set:1:1", "unknown key `iterations`", "\"linear-euler\""],
    );
    // The whole value may be replaced.
    assert_eq!(
        iterations(&method(table, &["method.integrator=\"newton\""])),
        20
    );
    let solver = "method.solver = { kind = \"admm\", sweeps = 3 }";
    assert!(method(solver, &["method.solver=\"none\""]).solver.is_none());
    // Other texts cannot be expanded.
    let said = read(SCENE, &["title.kind=1"]).unwrap_err().to_string();
    assert_says(&said, &["`title` is text"]);
}

#[test]
fn quick_sizes_set_options_and_the_merged_scene_reads_back() {
    let text = "time.duration = 1\nmethod.integrator = \"newton\"\n\
                [quick]\n\"method.integrator.iterations\" = 2";
    let request = SceneRequest {
        text: text.into(),
        quick: true,
        sets: vec!["method.solver.accelerate=false".into()],
        ..SceneRequest::default()
    };
    let scene = Scene::read(&request).unwrap();
    assert_eq!(iterations(&scene.tables.method), 2);
    let again = read(&scene.to_toml(), &[]).unwrap().tables.method;
    assert_eq!(format!("{again:?}"), format!("{:?}", scene.tables.method));
    assert!(!again.solver.options.flag("accelerate"));
    let large = SceneRequest {
        quick: false,
        ..request
    };
    assert_eq!(iterations(&Scene::read(&large).unwrap().tables.method), 20);
}

/// A value of an option other than its default: as TOML, and as an option.
fn other_value(kind: OptionKind, default: OptionValue) -> (String, OptionValue) {
    match (kind, default) {
        (OptionKind::Count(least, most), OptionValue::Count(count)) => {
            let count = if count == most { least } else { most };
            (count.to_string(), OptionValue::Count(count))
        }
        (OptionKind::Word(words), OptionValue::Word(default)) => {
            let word = words
                .iter()
                .map(|(word, _)| *word)
                .find(|word| *word != default);
            let word = word.unwrap();
            (format!("\"{word}\""), OptionValue::Word(word))
        }
        (OptionKind::Flag, OptionValue::Flag(flag)) => {
            ((!flag).to_string(), OptionValue::Flag(!flag))
        }
        other => panic!("the default has another kind: {other:?}"),
    }
}

#[test]
fn every_solver_is_read_as_a_word_and_with_all_its_options() {
    for entry in &SOLVERS {
        let defaults = Options::defaults(entry.options);
        let word = method(&format!("method.solver = \"{}\"", entry.name), &[]).solver;
        let mut table = format!("kind = \"{}\"", entry.name);
        let mut expected = defaults.clone();
        for spec in entry.options {
            let (text, value) = other_value(spec.kind, spec.default);
            table += &format!(", {} = {text}", spec.name);
            expected.set(spec.name, value);
        }
        let table = method(&format!("method.solver = {{ {table} }}"), &[]).solver;
        assert_eq!((word.word(), table.word()), (entry.name, entry.name));
        assert_eq!((word.options, table.options), (defaults, expected));
    }
}

#[test]
fn mistakes_in_solver_options_are_reported() {
    let mistake = |options: &str| {
        report(
            &format!("method.solver = {{ kind = \"admm\", {options} }}"),
            &[],
        )
    };
    assert_says(
        &mistake("sweps = 3"),
        &[
            "test.toml:2:34",
            "unknown key `sweps`",
            "did you mean `sweeps`?",
        ],
    );
    assert_says(
        &mistake("sweeps = 0"),
        &["`method.solver.sweeps` must be at least 1, at most 1000"],
    );
    assert_says(&mistake("sweeps = 1.5"), &["must be a whole number"]);
    assert_says(
        &mistake("accelerate = 1"),
        &["`method.solver.accelerate` must be true or false"],
    );
    assert_says(
        &mistake("weights = \"papr\""),
        &[
            "`method.solver.weights` cannot be",
            "did you mean \"paper\"?",
        ],
    );
    let none = report("method.solver = { kind = \"none\", sweeps = 3 }", &[]);
    assert_says(&none, &["unknown key `sweeps`", "whose kind is \"none\""]);
    let word = report("method.solver = \"admn\"", &[]);
    assert_says(&word, &["test.toml:2:17", "did you mean \"admm\"?"]);
}

#[test]
fn the_schema_has_words_and_tables_of_all_solvers_and_integrators() {
    let schema = json_schema();
    let keys = &schema["properties"]["method"]["properties"];
    let solver = keys["solver"]["anyOf"].as_array().unwrap();
    let words: Vec<&str> = SolverChoice::words().map(|(word, _)| word).collect();
    assert_eq!(solver[0]["enum"], serde_json::json!(words));
    let tables = solver.last().unwrap()["oneOf"].as_array().unwrap();
    assert_eq!(tables.len(), SOLVERS.len() + 1);
    for (table, word) in tables.iter().zip(&words) {
        assert_eq!(table["properties"]["kind"]["const"], *word);
        let options = SolverEntry::named(word).map_or(&[][..], |entry| entry.options);
        for option in options {
            let key = &table["properties"][option.name];
            assert_eq!(key["description"], option.help, "{word} {}", option.name);
        }
        assert_eq!(table["additionalProperties"], false);
        assert_eq!(table["required"], serde_json::json!(["kind"]));
    }
    let integrator = keys["integrator"]["anyOf"].as_array().unwrap();
    assert!(
        integrator[0]["enum"]
            .as_array()
            .unwrap()
            .contains(&"newton".into())
    );
    let newton = &integrator.last().unwrap()["oneOf"][2]["properties"];
    assert_eq!(newton["kind"]["const"], "newton");
    assert_eq!(newton["iterations"]["x-default"], "20");
}
