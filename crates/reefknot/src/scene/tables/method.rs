//! How the motion is computed: the integrator, the contact solver, and what they have in common.

use std::borrow::Cow;

use reefknot_contact::solve::options::{OptionKind, OptionSpec, OptionValue, Options};
use reefknot_contact::solve::table::{SOLVERS, SolverEntry};

use super::Length;
use crate::integrate::IntegratorMethod;
use crate::scene::define::{kinds, table};
use crate::scene::kind::read_kind;
use crate::scene::problem::Problem;
use crate::scene::read::{
    Fields, Read, Reader, TableView, read_field, read_field_by, read_tag, read_word,
};
use crate::scene::shape::{
    ANY, KeyShape, POSITIVE, Shape as ValueShape, TableShape, Variants, between,
};
use crate::scene::tree::Node;

table! {
    /// How the motion is computed.
    pub struct Method {
        /// The time integrator: how a step advances.
        integrator: Integrator = "\"linear-euler\"",
        /// The contact solver: who solves the contact problem of a step.
        solver: SolverChoice = "\"admm\"",
        /// Newton's method ends when positions change by less than this; the solver of contacts when both its errors are less,
        /// and less than a thousandth of the way that falls in a step; in Newton's method, a hundredth of how far its iteration before moved anything is enough.
        tolerance: Length [POSITIVE] = "1 um",
        /// Whether a step that has not come so close fails, and is halved.
        converge: bool = "false",
        /// Whether every step begins at rest: no inertia is carried on, and long steps lead to equilibrium.
        quasi_static: bool = "false",
        /// How often a failed step may be halved.
        halvings: u64 [between(0.0, 20.0)] = "6",
    }
}

kinds! {
    /// Time integrators.
    pub enum Integrator by "kind" as dyn IntegratorMethod {
        SymplecticEuler(SymplecticEuler) = "symplectic-euler",
        LinearEuler(LinearEuler) = "linear-euler",
        Newton(Newton) = "newton",
    }
}

table! {
    /// Explicit: forces at the start of the step. Keeps energy and momentum, but steps must be short.
    pub struct SymplecticEuler {
    }
}

table! {
    /// Implicit Euler, linearised once at the start of the step.
    pub struct LinearEuler {
    }
}

table! {
    /// Implicit Euler by Newton's method with a line search.
    pub struct Newton {
        /// Iterations of Newton's method in a step, at most; two are a good choice with contact.
        iterations: u64 [between(1.0, 10000.0)] = "10",
    }
}

/// What a scene has as its contact solver: a row of [`SOLVERS`], or none.
#[derive(Clone, Debug)]
pub struct SolverChoice {
    /// The solver; none where nothing touches.
    pub entry: Option<&'static SolverEntry>,
    /// Its options, with defaults for those that the scene leaves out.
    pub options: Options,
}

/// The word and the meaning of no solver.
const NO_SOLVER: (&str, &str) = ("none", "Nothing touches.");

impl SolverChoice {
    /// The word that stands for it in files.
    #[must_use]
    pub fn word(&self) -> &'static str {
        self.entry.map_or(NO_SOLVER.0, |entry| entry.name)
    }

    /// Whether nothing touches.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.entry.is_none()
    }

    /// All words with a line of help each: the solvers, and none.
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

    fn table_shape() -> TableShape {
        let table = |(word, doc): (&'static str, &'static str)| {
            let specs = SolverEntry::named(word).map_or(&[][..], |entry| entry.options);
            let shape = TableShape {
                doc,
                keys: specs.iter().map(key_of).collect(),
                variants: None,
            };
            (word, shape)
        };
        let doc = "Contact solvers.";
        TableShape {
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

/// The key that says which solver it is.
const KIND: &str = "kind";

impl Read for SolverChoice {
    fn read(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        read_kind(node, reader)
    }
    fn shape() -> ValueShape {
        ValueShape::Kinds(Box::new(Self::table_shape()))
    }
}

/// An option of a solver as a key of its table.
fn key_of(spec: &OptionSpec) -> KeyShape {
    let (shape, bounds) = match spec.kind {
        OptionKind::Flag => (ValueShape::Boolean, ANY),
        OptionKind::Count(least, most) => (ValueShape::Whole, between(least as f64, most as f64)),
        OptionKind::Word(words) => (ValueShape::Choice(words.to_vec()), ANY),
    };
    let default = match spec.default {
        OptionValue::Flag(flag) => flag.to_string(),
        OptionValue::Count(count) => count.to_string(),
        OptionValue::Word(word) => format!("\"{word}\""),
    };
    KeyShape {
        name: spec.name,
        doc: spec.help,
        shape,
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

/// What is wrong with a solver that a scene gives to an integrator which has no use for one. That nothing touches may be said anyway.
pub(crate) fn refuse_solver(
    method: &dyn IntegratorMethod,
    integrator: &str,
    solver: &SolverChoice,
    written: Option<&Node>,
) -> Option<Problem> {
    let written = written.filter(|_| !method.takes_solver() && !solver.is_none())?;
    Some(Problem {
        message: format!("the integrator \"{integrator}\" has no contact solver"),
        place: written.place.clone(),
        advice: format!(
            "leave out `solver` (and --solver), or write \"{}\" to simulate without contact",
            NO_SOLVER.0
        ),
    })
}
