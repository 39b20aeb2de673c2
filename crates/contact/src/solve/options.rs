//! Options of solvers: a list with names, help and bounds that scene files, their schema and their
//! reference page are made from.

/// What an option may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OptionKind {
    /// true or false.
    Flag,
    /// A whole number between two bounds.
    Count(u64, u64),
    /// One of a few words, each with a line of help.
    Word(&'static [(&'static str, &'static str)]),
}

/// An option of a solver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OptionSpec {
    /// What users write.
    pub name: &'static str,
    /// A line of help.
    pub help: &'static str,
    /// What it may be.
    pub kind: OptionKind,
    /// What it is if users write nothing.
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
    /// Every option as its specification says.
    pub fn defaults(specs: &[OptionSpec]) -> Self {
        Self(specs.iter().map(|spec| (spec.name, spec.default)).collect())
    }

    /// Changes an option; nothing happens if there is none of this name.
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

    /// A whole number; 0 if there is none of this name.
    pub fn count(&self, name: &str) -> usize {
        match self.get(name) {
            Some(OptionValue::Count(count)) => count as usize,
            _ => 0,
        }
    }

    /// Whether an option is a word.
    pub fn is(&self, name: &str, word: &str) -> bool {
        matches!(self.get(name), Some(OptionValue::Word(found)) if found == word)
    }
}

#[cfg(test)]
mod tests;
