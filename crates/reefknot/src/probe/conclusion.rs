//! Sentences that a scene ends with: what a person wants to know of a run, in words.

use serde_json::Value as Json;

use crate::build::Builder;
use crate::scene::tables;
use crate::scene::values::Placed;
use crate::units::short_number;

/// A sentence with the values of probes, said if one of them is in a range.
#[derive(Clone, Debug, PartialEq)]
pub struct Conclusion {
    text: String,
    condition: Option<Condition>,
}

#[derive(Clone, Debug, PartialEq)]
struct Condition {
    probe: String,
    above: f64,
    below: f64,
}

/// Makes a conclusion from its table, if all probes that it names are there.
pub(crate) fn build(
    table: &tables::Conclusion,
    probes: &[&str],
    builder: &mut Builder<'_>,
) -> Option<Conclusion> {
    let mut complete = true;
    for name in names(&table.text.value) {
        let name = Placed {
            value: name.to_owned(),
            place: table.text.place.clone(),
        };
        complete &= builder.find("probe", &name, probes).is_some();
    }
    if let Some(probe) = &table.probe {
        complete &= builder.find("probe", probe, probes).is_some();
    } else if table.above.is_some() || table.below.is_some() {
        let message = "a conclusion has a limit, but no `probe`".to_owned();
        builder.problem(&table.text.place, message, "name the probe that decides");
        complete = false;
    }
    let condition = table.probe.as_ref().map(|probe| Condition {
        probe: probe.value.clone(),
        above: table.above.unwrap_or(f64::NEG_INFINITY),
        below: table.below.unwrap_or(f64::INFINITY),
    });
    complete.then(|| Conclusion {
        text: table.text.value.clone(),
        condition,
    })
}

/// The names in braces in a text.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let after = text.split('{').skip(1);
    after.filter_map(|rest| rest.split_once('}').map(|(name, _)| name))
}

impl Conclusion {
    /// What it says, if it does, of the values of a run.
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
        for name in names(&self.text) {
            let value = probes.get(name).map_or("unknown".to_owned(), in_words);
            text = text.replace(&format!("{{{name}}}"), &value);
        }
        Some(text)
    }
}

/// A value with three digits; a vector by its components.
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
    fn a_conclusion_is_said_where_its_probe_is_in_range() {
        let conclusion = |above: f64, below: f64| Conclusion {
            text: "It slipped by {slip} m and pulls with {force} N.".to_owned(),
            condition: Some(Condition {
                probe: "slip".to_owned(),
                above,
                below,
            }),
        };
        let probes = json!({ "slip": 0.012345, "force": [1.0, 2.0, -30.06] });
        let said = conclusion(0.01, 1.0).of(&probes);
        let wanted = "It slipped by 0.0123 m and pulls with (1, 2, -30.1) N.";
        assert_eq!(said.as_deref(), Some(wanted));
        assert_eq!(conclusion(0.02, 1.0).of(&probes), None);
        // What is not known is not concluded from.
        assert_eq!(conclusion(-1.0, 1.0).of(&json!({ "slip": null })), None);
    }
}
