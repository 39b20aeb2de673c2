//! Options of solvers, with names, help and bounds: the source of scene keys, their schema and
//! their reference page.

/// Type of an option, with its bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OptionKind {
    /// true or false.
    Flag,
    /// A whole number between two bounds.
    Count(u64, u64),
    /// One of several words, each with a line of help.
    Word(&'static [(&'static str, &'static str)]),
}

/// Specification of an option of a solver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OptionSpec {
    /// Key in scene files.
    pub name: &'static str,
    /// A line of help.
    pub help: &'static str,
    /// Type and bounds.
    pub kind: OptionKind,
    /// Value if the key is absent.
    pub default: OptionValue,
}

/// The value of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionValue {
    /// true or false.
    Flag(bool),
    /// A whole number.
    Count(u64),
    /// A word of [`OptionKind::Word`].
    Word(&'static str),
}

/// The values of all options of a solver.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options(Vec<(&'static str, OptionValue)>);

impl Options {
    /// The defaults of all options.
    pub fn defaults(specs: &[OptionSpec]) -> Self {
        Self(specs.iter().map(|spec| (spec.name, spec.default)).collect())
    }

    /// Sets an option; no effect if the solver does not have it.
    pub fn set(&mut self, name: &str, value: OptionValue) {
        for (_, old) in self.0.iter_mut().filter(|(other, _)| *other == name) {
            *old = value;
        }
    }

    fn get(&self, name: &str) -> Option<OptionValue> {
        let found = self.0.iter().find(|(other, _)| *other == name);
        found.map(|(_, value)| *value)
    }

    /// Whether a flag is set.
    pub fn flag(&self, name: &str) -> bool {
        self.get(name) == Some(OptionValue::Flag(true))
    }

    /// A whole number; 0 if the solver does not have the option.
    pub fn count(&self, name: &str) -> usize {
        match self.get(name) {
            Some(OptionValue::Count(count)) => count as usize,
            _ => 0,
        }
    }

    /// Whether the value of an option is a word.
    pub fn is(&self, name: &str, word: &str) -> bool {
        matches!(self.get(name), Some(OptionValue::Word(found)) if found == word)
    }
}

#[cfg(test)]
mod tests;
