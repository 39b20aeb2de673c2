//! A second look: at a scene before it runs, and at a run after it was made.

mod pins;
mod run;
mod scene;
mod start;

pub use run::check_run;
pub use scene::check_scene;
pub use start::intersections;

/// Something that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// What it is, and what to do, in a sentence.
    pub sentence: String,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// As it should be.
    Good,
    /// Probably not meant.
    Warning,
    /// Wrong.
    Wrong,
}

fn finding(severity: Severity, sentence: impl Into<String>) -> Finding {
    Finding {
        severity,
        sentence: sentence.into(),
    }
}
