//! Mistakes in a scene, each with file, line, column, the line of text and advice.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::string::FromUtf8Error;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

/// Location in one of the texts of a scene.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Index into [`Sources`].
    pub source: usize,
    /// Range of bytes.
    pub range: Range<usize>,
}

/// A text: a scene file, or a `--set` argument.
#[derive(Clone, Debug)]
pub struct Source {
    /// Name in messages.
    pub name: String,
    /// The whole text.
    pub text: String,
}

/// All texts of a scene.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    list: Vec<Source>,
}

impl Sources {
    /// Adds a text and returns its index.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> usize {
        self.list.push(Source {
            name: name.into(),
            text: text.into(),
        });
        self.list.len() - 1
    }

    /// The text with this index.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&Source> {
        self.list.get(index)
    }
}

/// A mistake.
#[derive(Clone, Debug)]
pub struct Problem {
    /// Description of the mistake.
    pub message: String,
    /// Location.
    pub place: Place,
    /// How to correct it.
    pub advice: String,
}

/// All mistakes of a scene: never empty.
#[derive(Clone, Debug)]
pub struct Problems {
    sources: Sources,
    list: Vec<Problem>,
}

impl Problems {
    /// Largest number of mistakes in a report; the others are counted.
    pub const SHOWN: usize = 20;

    /// Mistakes of these texts, without duplicates.
    #[must_use]
    pub fn new(sources: Sources, mut list: Vec<Problem>) -> Problems {
        // A wrong parameter is reported once, not at every use.
        let mut known = BTreeSet::new();
        list.retain(|problem| {
            let Place { source, range } = &problem.place;
            known.insert((*source, range.start, range.end, problem.message.clone()))
        });
        Problems { sources, list }
    }

    /// The mistake of a file that is not UTF-8 text.
    #[must_use]
    pub fn not_text(file: &str, error: &FromUtf8Error) -> Problems {
        let start = error.utf8_error().valid_up_to();
        let mut sources = Sources::default();
        let source = sources.add(file, String::from_utf8_lossy(error.as_bytes()));
        let place = Place {
            source,
            range: start..start + '\u{fffd}'.len_utf8(),
        };
        let problem = Problem {
            message: "the file is not UTF-8 text".into(),
            place,
            advice: "this byte is not a character; save the file as UTF-8".into(),
        };
        Problems::new(sources, vec![problem])
    }

    /// The mistakes, in the order in which they were found.
    #[must_use]
    pub fn list(&self) -> &[Problem] {
        &self.list
    }

    /// File name, line and column of a location (both from 1, columns in characters).
    #[must_use]
    pub fn position(&self, place: &Place) -> Option<(&str, usize, usize)> {
        let source = self.sources.get(place.source)?;
        let line = Line::around(&source.text, &place.range);
        let column = line.text[..line.range.start].chars().count() + 1;
        Some((&source.name, line.number, column))
    }

    /// The report for a terminal, in colour or plain.
    #[must_use]
    pub fn render(&self, colour: bool) -> String {
        let renderer = if colour {
            Renderer::styled()
        } else {
            Renderer::plain()
        };
        let mut reports: Vec<String> = self
            .list
            .iter()
            .take(Self::SHOWN)
            .map(|problem| self.render_one(&renderer, problem))
            .collect();
        let others = self.list.len().saturating_sub(Self::SHOWN);
        if others > 0 {
            reports.push(format!("error: and {others} more mistakes"));
        }
        reports.join("\n\n")
    }

    fn render_one(&self, renderer: &Renderer, problem: &Problem) -> String {
        let (message, advice) = (printable(&problem.message), printable(&problem.advice));
        let title = Level::ERROR.primary_title(message.as_str());
        let Some(source) = self.sources.get(problem.place.source) else {
            return renderer.render(&[title.element(Level::HELP.message(advice.as_str()))]);
        };
        let line = Line::around(&source.text, &problem.place.range);
        let annotation = AnnotationKind::Primary
            .span(line.range.clone())
            .label(advice.as_str());
        let snippet = Snippet::source(line.text.as_str())
            .line_start(line.number)
            .path(source.name.as_str())
            .annotation(annotation);
        renderer.render(&[title.element(snippet)])
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.render(false))
    }
}

impl std::error::Error for Problems {}

/// Messages are shortened to about this many characters: they may quote long texts of the scene.
const MAX_MESSAGE_LENGTH: usize = 400;

/// A text for a terminal: shortened and without control characters.
fn printable(text: &str) -> String {
    let shorter = shortened(text, MAX_MESSAGE_LENGTH);
    let mut result = String::with_capacity(shorter.len());
    for character in shorter.chars() {
        match character {
            '\n' => result.push(' '),
            control if control.is_control() => result.extend(control.escape_default()),
            other => result.push(other),
        }
    }
    result
}

/// The text, or its start and end if it is longer than `most` characters.
fn shortened(text: &str, most: usize) -> String {
    // Bytes first: characters of a long text are not all counted.
    if text.len() <= most || text.chars().nth(most).is_none() {
        return text.to_owned();
    }
    let head: String = text.chars().take(most / 2).collect();
    let tail: Vec<char> = text.chars().rev().take(most / 4).collect();
    let tail: String = tail.into_iter().rev().collect();
    format!("{head} ... {tail}")
}

/// Largest character boundary of the text up to `index`.
fn floor(text: &str, index: usize) -> usize {
    let mut index = index.min(text.len());
    while !text.is_char_boundary(index) {
        index -= 1;
    }
    index
}

/// The line of a text that a report shows, with the marked range. Long tables and long lines are
/// cut.
struct Line {
    text: String,
    /// Line number, from 1.
    number: usize,
    /// The marked bytes of the line.
    range: Range<usize>,
}

impl Line {
    /// Largest number of marked bytes, and of bytes after them.
    const MAX_LENGTH: usize = 120;

    fn around(text: &str, range: &Range<usize>) -> Line {
        let start = floor(text, range.start);
        let first = text[..start].rfind('\n').map_or(0, |index| index + 1);
        let last = text[start..].find('\n').map_or(text.len(), |n| start + n);
        // The carriage return of a Windows line end is not shown, unless it is marked.
        let last = match text[start..last].strip_suffix('\r') {
            Some(rest) => start + rest.len(),
            None => last,
        };
        let end = floor(text, range.end.min(start + Self::MAX_LENGTH));
        let end = end.clamp(start, last);
        let shown = floor(text, (end + Self::MAX_LENGTH).min(last));
        // The renderer escapes ASCII control characters, but not those of Latin-1.
        let is_control = |c: char| ('\u{80}'..='\u{9f}').contains(&c);
        let clean = |range: Range<usize>| text[range].replace(is_control, "\u{fffd}");
        let (before, marked) = (clean(first..start), clean(start..end));
        Line {
            range: before.len()..before.len() + marked.len(),
            text: before + &marked + &clean(end..shown.max(end)),
            number: text[..start].matches('\n').count() + 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_has_file_line_column_text_and_advice() {
        let mut sources = Sources::default();
        sources.add("flag.toml", "title = \"ä\"\nsise = 3\n");
        let problems = Problems::new(
            sources,
            vec![Problem {
                message: "unknown key `sise`".into(),
                place: Place {
                    source: 0,
                    range: 13..17,
                },
                advice: "did you mean `size`?".into(),
            }],
        );
        let report = problems.to_string();
        assert!(report.contains("flag.toml:2:1"), "{report}");
        assert!(report.contains("sise = 3"), "{report}");
        assert!(report.contains("did you mean `size`?"), "{report}");
        assert_eq!(
            problems.position(&problems.list()[0].place),
            Some(("flag.toml", 2, 1))
        );
    }
}
