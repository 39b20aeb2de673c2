//! What is wrong with a scene, and where: every mistake with file, line, column and the text.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::string::FromUtf8Error;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

/// A stretch of one of the texts that a scene was read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Index into [`Sources`].
    pub source: usize,
    /// Bytes of the text.
    pub range: Range<usize>,
}

/// One text: a scene file, or a `--set` argument.
#[derive(Clone, Debug)]
pub struct Source {
    /// What to call it in a message.
    pub name: String,
    /// Its whole text.
    pub text: String,
}

/// All the texts that a scene was read from.
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

/// One mistake.
#[derive(Clone, Debug)]
pub struct Problem {
    /// What is wrong, in a sentence.
    pub message: String,
    /// Where.
    pub place: Place,
    /// What would be right.
    pub advice: String,
}

/// Everything that is wrong with a scene: never empty.
#[derive(Clone, Debug)]
pub struct Problems {
    sources: Sources,
    list: Vec<Problem>,
}

impl Problems {
    /// A report shows this many mistakes and counts the others.
    pub const SHOWN: usize = 20;

    /// Collects mistakes found in these texts.
    #[must_use]
    pub fn new(sources: Sources, mut list: Vec<Problem>) -> Problems {
        // A parameter that is wrong is wrong wherever it is used.
        let mut known = BTreeSet::new();
        list.retain(|problem| {
            let Place { source, range } = &problem.place;
            known.insert((*source, range.start, range.end, problem.message.clone()))
        });
        Problems { sources, list }
    }

    /// What is wrong with a file that is not text.
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
            advice: "this is no character; save the file as UTF-8".into(),
        };
        Problems::new(sources, vec![problem])
    }

    /// The mistakes, in the order found.
    #[must_use]
    pub fn list(&self) -> &[Problem] {
        &self.list
    }

    /// File name, line and column (both from 1, columns in characters) of a place.
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

/// Messages are cut to about this many characters, wherever the words in them come from.
const LONGEST_MESSAGE: usize = 400;

/// A text as a terminal should get it: without control characters, and not endless.
fn printable(text: &str) -> String {
    let shorter = shortened(text, LONGEST_MESSAGE);
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

/// The text, or its beginning and end if it is longer than `most` characters.
fn shortened(text: &str, most: usize) -> String {
    // Bytes first: a long text is not counted through.
    if text.len() <= most || text.chars().nth(most).is_none() {
        return text.to_owned();
    }
    let head: String = text.chars().take(most / 2).collect();
    let tail: Vec<char> = text.chars().rev().take(most / 4).collect();
    let tail: String = tail.into_iter().rev().collect();
    format!("{head} ... {tail}")
}

/// The last place up to `index` where a character of the text starts or the text ends.
fn floor(text: &str, index: usize) -> usize {
    let mut index = index.min(text.len());
    while !text.is_char_boundary(index) {
        index -= 1;
    }
    index
}

/// One line of a text, and what of it is marked: a report shows one line, however long the table
/// is that it complains about, and not more of that line than helps.
struct Line {
    text: String,
    /// From 1.
    number: usize,
    /// What is marked, in bytes of the line.
    range: Range<usize>,
}

impl Line {
    /// How much is marked at most, and how much follows, in bytes.
    const LONGEST: usize = 120;

    fn around(text: &str, range: &Range<usize>) -> Line {
        let start = floor(text, range.start);
        let first = text[..start].rfind('\n').map_or(0, |index| index + 1);
        let last = text[start..].find('\n').map_or(text.len(), |n| start + n);
        // The end of a line of Windows belongs to the line end, unless it is what is marked.
        let last = match text[start..last].strip_suffix('\r') {
            Some(rest) => start + rest.len(),
            None => last,
        };
        let end = floor(text, range.end.min(start + Self::LONGEST));
        let end = end.clamp(start, last);
        let shown = floor(text, (end + Self::LONGEST).min(last));
        // The renderer shows the controls of ASCII as symbols, but passes on those of Latin-1.
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
