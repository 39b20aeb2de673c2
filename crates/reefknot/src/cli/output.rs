//! Standard output and standard error.
//!
//! Scenes and paths come from anywhere, so control characters in them, which could rewrite a
//! terminal, are printed as escapes. A command whose output cannot be written, for example to a
//! full disk, fails; one whose reader has left (`reefknot scenes | head -1`) does not.

use std::borrow::Cow;
use std::io::{self, ErrorKind, Write};
use std::sync::OnceLock;

use crate::cli::Failure;

static FIRST_ERROR: OnceLock<String> = OnceLock::new();

/// Prints a line to standard output. The first error is kept for [`failure`].
pub(crate) fn say(line: &str) {
    let mut output = io::stdout().lock();
    match writeln!(output, "{}", printable(line)).and_then(|()| output.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            let _ = FIRST_ERROR.set(error.to_string());
        }
        _ => {}
    }
}

/// Prints a line to standard error. There is no place left to report an error of that.
pub(crate) fn warn(line: &str) {
    let _ = writeln!(io::stderr(), "{}", printable(line));
}

/// The failure of the command, if any of its output could not be written.
pub(crate) fn failure() -> Option<Failure> {
    FIRST_ERROR
        .get()
        .map(|error| Failure::failed(format!("cannot write to standard output: {error}")))
}

/// The text with escapes for control characters, except line breaks and tabs.
fn printable(text: &str) -> Cow<'_, str> {
    let is_escaped = |c: char| c.is_control() && c != '\n' && c != '\t';
    if !text.contains(is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut result = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_escaped(character) {
            result.extend(character.escape_default());
        } else {
            result.push(character);
        }
    }
    Cow::Owned(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_are_printed_as_text() {
        let title = "\u{1b}]0;owned\u{7}\u{1b}[2J hi\u{9b}1m\r";
        let shown = r"\u{1b}]0;owned\u{7}\u{1b}[2J hi\u{9b}1m\r";
        assert_eq!(printable(title), shown);
        assert_eq!(printable("two\n\tlines \u{b5}m"), "two\n\tlines \u{b5}m");
    }
}
