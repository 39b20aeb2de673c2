//! The result of the suite as a page: HTML without other files, or Markdown.

use reefknot_sim::physics::{Row, Status};

use super::table::{TITLES, cells};
use super::{Report, conclusion};

const STYLE: &str = "
:root { color-scheme: light dark; }
body { font: 14px/1.4 system-ui, sans-serif; margin: 2em; }
table { border-collapse: collapse; }
th, td { padding: 0.2em 0.7em; text-align: left; border-bottom: 1px solid #8884; }
th { position: sticky; top: 0; background: Canvas; }
td { font-variant-numeric: tabular-nums; }
.held td:first-child { color: #2a2; }
.failed { background: #d332; }
.failed td:first-child { color: #d33; font-weight: bold; }
.refused { opacity: 0.6; }
.scene td { border-top: 2px solid #8888; padding-top: 0.6em; }
";

/// A page without scripts, and without other files.
pub(super) fn html(report: &Report) -> String {
    let title = "reefknot: physics";
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
    );
    for line in head(report) {
        page += &format!("<p>{}</p>\n", escaped(&line));
    }
    page += "<table>\n<thead><tr>";
    for title in TITLES.iter().chain(&["theory"]) {
        page += &format!("<th>{}</th>", escaped(title));
    }
    page += "</tr></thead>\n<tbody>\n";
    let mut scene = "";
    for row in &report.rows {
        let status = match row.status {
            Status::Held => "held",
            Status::Failed => "failed",
            Status::Refused => "refused",
        };
        let first = if row.scene == scene { "" } else { " scene" };
        scene = row.scene;
        page += &format!("<tr class=\"{status}{first}\">");
        for cell in cells(row).iter().chain([&remark(row)]) {
            page += &format!("<td>{}</td>", escaped(cell));
        }
        page += "</tr>\n";
    }
    page + "</tbody>\n</table>\n</body>\n</html>\n"
}

/// A page in Markdown.
pub(super) fn markdown(report: &Report) -> String {
    let mut page = "# reefknot: physics\n".to_owned();
    for line in head(report) {
        page += &format!("{}\n\n", in_cell(&line));
    }
    let titles = TITLES.join(" | ");
    page += &format!(
        "| {titles} | theory |\n|{}\n",
        " --- |".repeat(TITLES.len() + 1)
    );
    for row in &report.rows {
        let cells = cells(row);
        let cells: Vec<String> = cells.iter().map(|cell| in_cell(cell)).collect();
        page += &format!("| {} | {} |\n", cells.join(" | "), in_cell(&remark(row)));
    }
    page
}

/// The theory, and why a value was not measured.
fn remark(row: &Row) -> String {
    match &row.reason {
        None => row.theory.to_owned(),
        Some(reason) => format!("{}. {reason}", row.theory),
    }
}

/// Lines above the table.
fn head(report: &Report) -> Vec<String> {
    let mut lines = vec![
        format!("{}.", conclusion(report)),
        format!(
            "Version {}, {}. Integrators: {}. Contact solvers: {}.",
            report.version, report.isa, report.integrator, report.solver
        ),
        "Errors are the largest of all steps. Steps count as unconverged above the tolerance of \
         their scene."
            .to_owned(),
    ];
    if !report.changes.is_empty() {
        lines.push(format!("Changed: {}.", report.changes.join(", ")));
    }
    lines
}

fn escaped(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => result += "&amp;",
            '<' => result += "&lt;",
            '>' => result += "&gt;",
            '"' => result += "&quot;",
            '\'' => result += "&#39;",
            control if control.is_control() => result.push(' '),
            other => result.push(other),
        }
    }
    result
}

/// A text in a cell of Markdown: HTML and the marks of Markdown are escaped.
fn in_cell(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    for character in escaped(text).chars() {
        if "|*_`[]\\".contains(character) {
            result.push('\\');
        }
        result.push(character);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_a_user_are_escaped() {
        let hostile = "<script>alert('a|b')</script>\u{1b}\n& [x](y)";
        let shown = "&lt;script&gt;alert(&#39;a|b&#39;)&lt;/script&gt;  &amp; [x](y)";
        assert_eq!(escaped(hostile), shown);
        assert!(in_cell(hostile).contains(r"a\|b") && in_cell(hostile).contains(r"\[x\]"));
    }
}
