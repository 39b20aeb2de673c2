//! Consistency of the options in the table of solvers.

use super::*;
use crate::solve::table::{SOLVERS, SolverEntry, names};

fn has_twice<T: Ord + Clone>(all: &[T]) -> bool {
    let mut sorted = all.to_vec();
    sorted.sort();
    sorted.windows(2).any(|pair| pair[0] == pair[1])
}

/// Whether a name is of lower-case words of letters and digits with a separator between them.
fn is_words(name: &str, separator: char) -> bool {
    let is_word = |word: &str| {
        let is_inside = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        word.starts_with(|c: char| c.is_ascii_lowercase()) && word.chars().all(is_inside)
    };
    name.split(separator).all(is_word)
}

fn fits(kind: OptionKind, value: OptionValue) -> bool {
    match (kind, value) {
        (OptionKind::Flag, OptionValue::Flag(_)) => true,
        (OptionKind::Count(least, most), OptionValue::Count(count)) => {
            (least..=most).contains(&count)
        }
        (OptionKind::Word(words), OptionValue::Word(word)) => {
            words.iter().any(|(other, _)| *other == word)
        }
        _ => false,
    }
}

#[test]
fn every_default_is_valid_for_its_option() {
    for entry in &SOLVERS {
        for spec in entry.options {
            let which = format!("{} {}", entry.name, spec.name);
            assert!(fits(spec.kind, spec.default), "{which}");
            if let OptionKind::Word(words) = spec.kind {
                let named: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
                assert!(named.len() > 1 && !has_twice(&named), "{which}");
                assert!(words.iter().all(|(_, help)| help.ends_with('.')), "{which}");
            }
        }
    }
    // The check rejects invalid values.
    assert!(!fits(OptionKind::Count(1, 9), OptionValue::Count(10)));
    assert!(!fits(
        OptionKind::Word(&[("a", "")]),
        OptionValue::Word("b")
    ));
    assert!(!fits(OptionKind::Flag, OptionValue::Count(1)));
}

#[test]
fn names_are_unique_lower_case_words() {
    let solvers: Vec<&str> = SOLVERS.iter().map(|entry| entry.name).collect();
    assert!(!has_twice(&solvers));
    assert!(solvers.iter().all(|name| is_words(name, '-')));
    for entry in &SOLVERS {
        let options: Vec<&str> = entry.options.iter().map(|spec| spec.name).collect();
        assert!(!has_twice(&options), "{}", entry.name);
        assert!(
            options.iter().all(|name| is_words(name, '_')),
            "{options:?}"
        );
        let mut helps = entry.options.iter().map(|spec| spec.help);
        assert!(helps.all(|help| help.ends_with('.')) && entry.help.ends_with('.'));
    }
    for (name, is_fine) in [
        ("a_b2", true),
        ("A", false),
        ("a__b", false),
        ("a-b", false),
    ] {
        assert_eq!(is_words(name, '_'), is_fine, "{name}");
    }
}

#[test]
fn iteration_limits_in_a_step_are_at_most_those_of_a_single_problem() {
    for entry in &SOLVERS {
        let iterations = entry.iterations;
        assert!(0 < iterations.in_step && iterations.in_step <= iterations.standalone);
        let limits = entry.limits(1e-7);
        assert_eq!(
            (limits.tolerance, limits.iterations),
            (1e-7, iterations.standalone)
        );
    }
}

#[test]
fn names_of_solvers_are_joined_to_a_phrase() {
    let first = |count: usize| names(SOLVERS.iter().take(count));
    assert_eq!(first(0), "none");
    assert_eq!(first(1), "robust");
    assert_eq!(first(2), "robust and gauss-seidel");
    assert_eq!(first(3), "robust, gauss-seidel and admm");
    assert!(SolverEntry::named("admm").is_some() && SolverEntry::named("ADMM").is_none());
}

#[test]
fn options_are_set_by_name_and_read_by_kind() {
    let admm = SolverEntry::named("admm").unwrap();
    let mut options = Options::defaults(admm.options);
    assert!(options.flag("polish") && options.is("weights", "mobility"));
    assert_eq!(options.count("sweeps"), 20);
    options.set("polish", OptionValue::Flag(false));
    options.set("sweeps", OptionValue::Count(7));
    options.set("weights", OptionValue::Word("paper"));
    assert!(!options.flag("polish") && options.is("weights", "paper"));
    assert_eq!(options.count("sweeps"), 7);
    // Setting an unknown option has no effect.
    options.set("mass", OptionValue::Count(3));
    assert_eq!((options.count("mass"), options.flag("mass")), (0, false));
    assert!(!options.is("sweeps", "7") && !options.flag("sweeps"));
}
