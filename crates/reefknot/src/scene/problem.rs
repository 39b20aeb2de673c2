//! What is wrong with a scene, and where: every mistake with file, line, column and the text.

use std::fmt;
use std::ops::Range;

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
    /// Collects mistakes found in these texts.
    #[must_use]
    pub fn new(sources: Sources, list: Vec<Problem>) -> Problems {
        Problems { sources, list }
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
        let before = source.text.get(..place.range.start)?;
        let line_start = before.rfind('\n').map_or(0, |index| index + 1);
        let line = before.matches('\n').count() + 1;
        let column = before[line_start..].chars().count() + 1;
        Some((&source.name, line, column))
    }

    /// The report for a terminal, in colour or plain.
    #[must_use]
    pub fn render(&self, colour: bool) -> String {
        let renderer = if colour {
            Renderer::styled()
        } else {
            Renderer::plain()
        };
        let reports: Vec<String> = self
            .list
            .iter()
            .map(|problem| self.render_one(&renderer, problem))
            .collect();
        reports.join("\n\n")
    }

    fn render_one(&self, renderer: &Renderer, problem: &Problem) -> String {
        let title = Level::ERROR.primary_title(problem.message.as_str());
        let Some(source) = self.sources.get(problem.place.source) else {
            return renderer.render(&[title.element(Level::HELP.message(problem.advice.as_str()))]);
        };
        let range = within(&source.text, &problem.place.range);
        let annotation = AnnotationKind::Primary
            .span(range)
            .label(problem.advice.as_str());
        let snippet = Snippet::source(source.text.as_str())
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

/// The range cut to the text and to whole characters of its first line, so that a report marks
/// one line however long the table is that it complains about.
fn within(text: &str, range: &Range<usize>) -> Range<usize> {
    let floor = |mut index: usize| {
        index = index.min(text.len());
        while !text.is_char_boundary(index) {
            index -= 1;
        }
        index
    };
    let start = floor(range.start);
    let mut end = floor(range.end.max(start));
    if let Some(newline) = text[start..end].find('\n')
        && newline > 0
    {
        end = start + newline;
    }
    start..end
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
