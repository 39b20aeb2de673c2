//! Conclusions: sentences about the result of a run.

use serde_json::Value as Json;

use crate::model::probe::{Conclusion, Condition};
use crate::units::short_number;

impl Conclusion {
    /// The sentence with the values of the probes; `None` if its condition is false.
    #[must_use]
    pub fn of(&self, probes: &Json) -> Option<String> {
        if let Some(Condition {
            probe,
            above,
            below,
        }) = &self.condition
        {
            let value = probes.get(probe)?.as_f64()?;
            if !(value > *above && value < *below) {
                return None;
            }
        }
        let mut text = self.text.clone();
        for name in self.named_probes() {
            let value = probes.get(name).map_or("unknown".to_owned(), in_words);
            text = text.replace(&format!("{{{name}}}"), &value);
        }
        Some(text)
    }
}

/// A number or a vector as text, with three digits.
fn in_words(value: &Json) -> String {
    match value {
        Json::Array(values) => {
            let values: Vec<String> = values.iter().map(in_words).collect();
            format!("({})", values.join(", "))
        }
        _ => value
            .as_f64()
            .map_or("unknown".to_owned(), |value| short_number(rounded(value))),
    }
}

/// A number rounded to three digits.
fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let size = 10.0_f64.powf(2.0 - value.abs().log10().floor());
    (value * size).round() / size
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_conclusion_is_printed_if_its_probe_is_in_range() {
        let conclusion = |above: f64, below: f64| Conclusion {
            text: "It slipped by {slip} m and pulls with {force} N.".to_owned(),
            condition: Some(Condition {
                probe: "slip".to_owned(),
                above,
                below,
            }),
        };
        let probes = json!({ "slip": 0.012345, "force": [1.0, 2.0, -30.06] });
        let sentence = conclusion(0.01, 1.0).of(&probes);
        let expected = "It slipped by 0.0123 m and pulls with (1, 2, -30.1) N.";
        assert_eq!(sentence.as_deref(), Some(expected));
        assert_eq!(conclusion(0.02, 1.0).of(&probes), None);
        // Unknown values are not in range.
        assert_eq!(conclusion(-1.0, 1.0).of(&json!({ "slip": null })), None);
    }
}
