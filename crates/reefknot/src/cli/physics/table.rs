//! The cells of a row, and the table for a terminal.

use reefknot_sim::physics::{Row, Status};

/// Titles of the columns.
pub(super) const TITLES: [&str; 12] = [
    "result",
    "scene",
    "values",
    "probe",
    "found",
    "expected",
    "tolerance",
    "unconverged steps",
    "contact error m",
    "momentum error m",
    "nonlinear error m",
    "s",
];

/// The cells of a row, without its theory.
pub(super) fn cells(row: &Row) -> [String; 12] {
    let facts = &row.facts;
    let error = |error: Option<f64>| error.map_or_else(dash, |error| format!("{error:.1e}"));
    let (expected, tolerance) = expectation(row);
    let values = row.set.iter().map(|set| {
        let short = set.strip_prefix("parameters.").unwrap_or(set);
        shorter(short)
    });
    [
        word(row.status).to_owned(),
        row.scene.to_owned(),
        values.collect::<Vec<_>>().join(" "),
        row.probe.to_owned(),
        row.found.map_or_else(dash, number),
        expected,
        tolerance,
        format!("{} of {}", facts.unconverged_steps, facts.steps),
        error(facts.contact_error_m),
        error(facts.momentum_error_m),
        error(facts.nonlinear_error_m),
        format!("{:.1}", facts.wall_s),
    ]
}

pub(super) fn word(status: Status) -> &'static str {
    match status {
        Status::Held => "held",
        Status::Failed => "FAILED",
        Status::Refused => "refused",
    }
}

/// Expected value and tolerance.
fn expectation(row: &Row) -> (String, String) {
    let expected = number(row.expected);
    match (row.bound, row.tolerance) {
        ("relative", Some(tolerance)) => (expected, format!("{}%", number(100.0 * tolerance))),
        (_, Some(tolerance)) => (expected, number(tolerance)),
        (bound, None) => (format!("{bound} {expected}"), dash()),
    }
}

fn dash() -> String {
    "-".to_owned()
}

/// A `KEY=VALUE` with five digits, if its value is a number.
fn shorter(set: &str) -> String {
    let parts = set.split_once('=');
    let parsed = parts.and_then(|(key, value)| Some((key, value.parse::<f64>().ok()?)));
    parsed.map_or_else(
        || set.replace('"', ""),
        |(key, value)| format!("{key}={}", number(value)),
    )
}

/// A number with five digits.
pub(super) fn number(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    if !(1e-4..1e6).contains(&size) {
        let text = format!("{value:.4e}");
        return match text.split_once('e') {
            Some((digits, power)) => format!("{}e{power}", trimmed(digits)),
            None => text,
        };
    }
    let decimals = (4 - size.log10().floor() as i32).max(0) as usize;
    trimmed(&format!("{value:.decimals$}")).to_owned()
}

/// Digits without zeros at the end of a fraction.
fn trimmed(digits: &str) -> &str {
    if digits.contains('.') {
        digits.trim_end_matches('0').trim_end_matches('.')
    } else {
        digits
    }
}

/// Lines of the table; a row that failed or was refused has its reason below.
pub(super) fn lines(rows: &[Row]) -> Vec<String> {
    let table: Vec<[String; 12]> = rows.iter().map(cells).collect();
    let width = |column: usize| {
        let cells = table.iter().map(|cells| cells[column].chars().count());
        cells.chain([TITLES[column].len()]).max().unwrap_or(0)
    };
    let widths: [usize; 12] = std::array::from_fn(width);
    let line = |cells: &[String; 12]| {
        let padded = cells
            .iter()
            .zip(widths)
            .map(|(cell, width)| format!("{cell:<width$}"));
        let line = padded.collect::<Vec<_>>().join("  ");
        line.trim_end().to_owned()
    };
    let mut lines = vec![line(&TITLES.map(str::to_owned))];
    for (row, cells) in rows.iter().zip(&table) {
        lines.push(line(cells));
        lines.extend(row.reason.iter().map(|reason| format!("    {reason}")));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_five_digits() {
        let values = [0.0, 0.12347, 1.0, 37828.4, 1.105384e-5, 1e-10, -2.50004];
        let texts = ["0", "0.12347", "1", "37828", "1.1054e-5", "1e-10", "-2.5"];
        assert_eq!(values.map(number), texts);
        assert_eq!(shorter("mu=0.5744629999"), "mu=0.57446");
        assert_eq!(shorter("body=\"rod\""), "body=rod");
    }
}
