//! The numerical method: time integrator, contact solver and tolerances.

use std::borrow::Cow;

use reefknot_contact::solve::options::{OptionKind, OptionSpec, OptionValue, Options};
use reefknot_contact::solve::table::{SOLVERS, SolverEntry};

use super::Length;
use crate::scene::define::{choice, kinds, table};
use crate::scene::kind::read_kind;
use crate::scene::read::{
    Fields, Read, Reader, TableView, read_field, read_field_by, read_tag, read_word,
};
use crate::scene::schema::{ANY, KeySchema, POSITIVE, Schema, TableSchema, Variants, between};
use crate::scene::tree::Node;

table! {
    /// Time integrator, contact solver and tolerances.
    pub struct Method {
        /// Time integrator.
        integrator: Integrator = "\"newton\"",
        /// Contact solver.
        solver: SolverChoice = "\"admm\"",
        /// Tolerance of a step. Newton's method stops when positions change by less. The contact
        /// solver stops when contact error and momentum error are less than this, and less than
        /// g h²/1000, so that objects at rest do not creep. In Newton's method it may stop at 1/100
        /// of the last change of positions.
        tolerance: Length [POSITIVE] = "1 um",
        /// Whether a step that misses the tolerance fails, and is repeated in two halves.
        converge: bool = "false",
        /// What happens to a step that gains energy beyond the work done on the scene.
        energy: EnergyRule = "\"dissipative\"",
        /// Whether velocities are set to zero at the start of every step. Long steps then converge
        /// to static equilibrium.
        quasi_static: bool = "false",
        /// How many times a failed step is halved before the run fails.
        halvings: u64 [between(0.0, 20.0)] = "10",
    }
}

choice! {
    /// Rules for a step that gains energy beyond the work done on the scene.
    pub enum EnergyRule {
        /// The step is solved further, then halved, then refused. Not for `symplectic-euler`.
        Dissipative = "dissipative",
        /// The gain is recorded in `run.jsonl`.
        Report = "report",
    }
}

kinds! {
    /// Time integrators.
    pub enum Integrator by "kind" or word {
        SymplecticEuler(SymplecticEuler) = "symplectic-euler",
        LinearEuler(LinearEuler) = "linear-euler",
        Newton(Newton) = "newton",
    }
}

table! {
    /// Symplectic Euler: explicit, with forces at the start of the step. Conserves energy and
    /// momentum well, but is stable for short steps only.
    pub struct SymplecticEuler {
    }
}

table! {
    /// Linearly implicit Euler: linearised once, at the start of the step.
    pub struct LinearEuler {
    }
}

table! {
    /// Implicit Euler, solved by Newton's method with a line search.
    pub struct Newton {
        /// Largest number of Newton iterations in a step. They end when the nonlinear error is
        /// below the tolerance.
        iterations: u64 [between(1.0, 10000.0)] = "20",
    }
}

/// The contact solver of a scene: a row of [`SOLVERS`], or none.
#[derive(Clone, Debug)]
pub struct SolverChoice {
    /// The solver; `None` switches contact off.
    pub entry: Option<&'static SolverEntry>,
    /// Its options, with defaults for those that the scene omits.
    pub options: Options,
}

/// Name and help of the choice without contact.
const NO_SOLVER: (&str, &str) = ("none", "No contact: objects pass through each other.");

impl SolverChoice {
    /// Name of the solver in files.
    #[must_use]
    pub fn word(&self) -> &'static str {
        self.entry.map_or(NO_SOLVER.0, |entry| entry.name)
    }

    /// Whether contact is switched off.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.entry.is_none()
    }

    /// Names and help of all solvers, and of "none".
    pub fn words() -> impl Iterator<Item = (&'static str, &'static str)> {
        let solvers = SOLVERS.iter().map(|entry| (entry.name, entry.help));
        solvers.chain([NO_SOLVER])
    }
}

impl Fields for SolverChoice {
    fn read_fields(view: &TableView<'_>, reader: &mut Reader<'_>) -> Option<Self> {
        let words: Vec<&str> = Self::words().map(|(word, _)| word).collect();
        let entry = SolverEntry::named(read_tag(view, KIND, &words, reader)?);
        let specs = entry.map_or(&[][..], |entry| entry.options);
        let mut options = Options::defaults(specs);
        let mut complete = true;
        for spec in specs {
            match read_option(view, spec, reader) {
                Some(value) => options.set(spec.name, value),
                None => complete = false,
            }
        }
        complete.then_some(SolverChoice { entry, options })
    }

    fn table_schema() -> TableSchema {
        let table = |(word, doc): (&'static str, &'static str)| {
            let specs = SolverEntry::named(word).map_or(&[][..], |entry| entry.options);
            let schema = TableSchema {
                doc,
                keys: specs.iter().map(key_of).collect(),
                variants: None,
            };
            (word, schema)
        };
        let doc = "Contact solvers.";
        TableSchema {
            doc,
            keys: Vec::new(),
            variants: Some(Variants {
                tag: KIND,
                doc,
                list: Self::words().map(table).collect(),
            }),
        }
    }
}

/// The key with the name of the solver.
const KIND: &str = "kind";

impl Read for SolverChoice {
    fn read(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        read_kind(node, reader)
    }
    fn schema() -> Schema {
        Schema::Kinds(Box::new(Self::table_schema()))
    }
}

/// An option of a solver as a key of its table.
fn key_of(spec: &OptionSpec) -> KeySchema {
    let (schema, bounds) = match spec.kind {
        OptionKind::Flag => (Schema::Boolean, ANY),
        OptionKind::Count(least, most) => (Schema::Whole, between(least as f64, most as f64)),
        OptionKind::Word(words) => (Schema::Choice(words.to_vec()), ANY),
    };
    let default = match spec.default {
        OptionValue::Flag(flag) => flag.to_string(),
        OptionValue::Count(count) => count.to_string(),
        OptionValue::Word(word) => format!("\"{word}\""),
    };
    KeySchema {
        name: spec.name,
        doc: spec.help,
        schema,
        default: Some(Cow::Owned(default)),
        required: false,
        bounds,
    }
}

fn read_option(
    view: &TableView<'_>,
    spec: &OptionSpec,
    reader: &mut Reader<'_>,
) -> Option<OptionValue> {
    let key = key_of(spec);
    match spec.kind {
        OptionKind::Flag => read_field(view, &key, reader).map(OptionValue::Flag),
        OptionKind::Count(..) => read_field(view, &key, reader).map(OptionValue::Count),
        OptionKind::Word(words) => {
            let words: Vec<&'static str> = words.iter().map(|(word, _)| *word).collect();
            let read = |node: &Node, reader: &mut Reader<'_>| read_word(node, &words, reader);
            read_field_by(view, &key, reader, || None, read).map(OptionValue::Word)
        }
    }
}
