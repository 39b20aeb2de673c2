//! `reefknot check`: probable mistakes of a scene before the run, and tests of a stored run.

mod pins;
mod run;
mod scene;
mod start;

pub use run::check_run;
pub use scene::check_scene;
pub use start::intersections;

/// Result of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Severity.
    pub severity: Severity,
    /// Description and advice, in a sentence.
    pub sentence: String,
}

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The test passed.
    Good,
    /// Probably a mistake.
    Warning,
    /// An error.
    Wrong,
}

fn finding(severity: Severity, sentence: impl Into<String>) -> Finding {
    Finding {
        severity,
        sentence: sentence.into(),
    }
}
