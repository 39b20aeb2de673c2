//! Substitutes the values of `[parameters]`.
//!
//! `"$name"` is the value of a parameter, of any type. `"$$name"` is the value of the parameter
//! whose name is the value of `name`. A text that starts with `=` is an expression over parameters
//! ([`super::expression`]). Parameters may refer to other parameters.

use std::collections::BTreeMap;

use super::expression::{Number, evaluate};
use super::problem::{Place, Problem};
use super::tree::{Entry, Node, Table, Value};
use crate::units::{did_you_mean, parse_quantity};

/// Replaces every reference in `table` by its value, and collects mistakes.
pub fn substitute(table: &mut Table, parameters: &Table, problems: &mut Vec<Problem>) {
    let by_name = parameters.entries.iter();
    let mut resolver = Resolver {
        parameters: by_name.map(|entry| (entry.key.as_str(), entry)).collect(),
        open: Vec::new(),
        budget: MAX_VALUES,
        stopped: false,
    };
    for entry in &mut table.entries {
        resolver.substitute_node(&mut entry.node, problems);
    }
}

/// The parameters, with references to other parameters resolved.
pub fn resolve_parameters(parameters: &Table, problems: &mut Vec<Problem>) -> Table {
    let mut resolved = parameters.clone();
    substitute(&mut resolved, parameters, problems);
    resolved
}

/// Largest number of substituted values: nested parameters can grow exponentially.
const MAX_VALUES: usize = 100_000;

/// Longest chain of parameters that refer to each other. Each link needs stack.
const MAX_CHAIN: usize = 32;

struct Resolver<'a> {
    parameters: BTreeMap<&'a str, &'a Entry>,
    /// Parameters that are being resolved, to detect cycles.
    open: Vec<String>,
    /// Remaining number of substituted values.
    budget: usize,
    /// Whether the budget is exhausted, which is reported once.
    stopped: bool,
}

impl Resolver<'_> {
    fn substitute_node(&mut self, node: &mut Node, problems: &mut Vec<Problem>) {
        // Only the first mistake inside a parameter is reported.
        if self.stopped || (!self.open.is_empty() && !problems.is_empty()) {
            return;
        }
        match &mut node.value {
            Value::Text(text) => {
                let result = if let Some(name) = reference(text) {
                    self.parameter(name, &node.place)
                } else if let Some(name) = text.strip_prefix('$').and_then(reference) {
                    self.indirect(name, &node.place)
                } else if let Some(expression) = text.strip_prefix('=') {
                    self.expression(expression, &node.place)
                } else {
                    return;
                };
                match result {
                    Ok(value) => *node = value,
                    Err(problem) => problems.push(problem),
                }
            }
            Value::List(items) => {
                for item in items {
                    self.substitute_node(item, problems);
                }
            }
            Value::Table(table) => {
                for entry in &mut table.entries {
                    self.substitute_node(&mut entry.node, problems);
                }
            }
            _ => {}
        }
    }

    /// The value of the parameter that another one names: with `body = "cube"`, `"$$body"` is the
    /// value of `cube`.
    fn indirect(&mut self, name: &str, place: &Place) -> Result<Node, Problem> {
        let node = self.parameter(name, place)?;
        match &node.value {
            Value::Text(choice) => self.parameter(choice, &node.place),
            _ => Err(Problem {
                message: format!("parameter `{name}` is not the name of a parameter"),
                place: node.place.clone(),
                advice: format!("`$${name}` needs a text with the name of a parameter"),
            }),
        }
    }

    /// The value of a parameter, with its own location, where the user would change it.
    fn parameter(&mut self, name: &str, place: &Place) -> Result<Node, Problem> {
        let Some(entry) = self.parameters.get(name) else {
            let hint = did_you_mean(name, self.parameters.keys().copied());
            return Err(Problem {
                message: format!("there is no parameter `{name}`{hint}"),
                place: place.clone(),
                advice: "parameters are defined under [parameters]".into(),
            });
        };
        let node = &entry.node;
        if self.open.iter().any(|open| open == name) {
            return Err(Problem {
                message: format!("parameter `{name}` depends on itself"),
                place: node.place.clone(),
                advice: format!("the cycle is {}", self.open.join(", ")),
            });
        }
        if self.open.len() >= MAX_CHAIN {
            return Err(Problem {
                message: "the chain of parameters that refer to each other is too long".into(),
                place: node.place.clone(),
                advice: format!("use at most {MAX_CHAIN} parameters in a chain"),
            });
        }
        let size = node.value.size();
        if self.budget < size {
            self.stopped = true;
            return Err(Problem {
                message: "the parameters refer to each other too many times".into(),
                place: node.place.clone(),
                advice: format!("they would expand to more than {MAX_VALUES} values"),
            });
        }
        self.budget -= size;
        self.open.push(name.to_owned());
        let mut value = node.clone();
        let mut inner = Vec::new();
        self.substitute_node(&mut value, &mut inner);
        self.open.pop();
        match inner.into_iter().next() {
            None => Ok(value),
            Some(problem) => Err(problem),
        }
    }

    fn expression(&mut self, text: &str, place: &Place) -> Result<Node, Problem> {
        let mut failed = None;
        let result = evaluate(text, &mut |name: &str| {
            let node = self.parameter(name, place).map_err(|problem| {
                let message = problem.message.clone();
                failed = Some(problem);
                message
            })?;
            number(&node.value).ok_or_else(|| format!("parameter `{name}` is not a number"))
        });
        if let Some(problem) = failed {
            return Err(problem);
        }
        let Number { value, dimension } = result.map_err(|message| Problem {
            message: format!("`={text}` cannot be computed"),
            place: place.clone(),
            advice: message,
        })?;
        let value = match dimension {
            Some(dimension) if dimension.exponents != [0; 4] => Value::Measured(value, dimension),
            _ => Value::Float(value),
        };
        Ok(Node {
            value,
            place: place.clone(),
        })
    }
}

/// The name in `$name`.
fn reference(text: &str) -> Option<&str> {
    let name = text.strip_prefix('$')?;
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (!name.is_empty() && name.chars().all(is_word)).then_some(name)
}

fn number(value: &Value) -> Option<Number> {
    let bare = |value| Number {
        value,
        dimension: None,
    };
    match value {
        Value::Integer(value) => Some(bare(*value as f64)),
        Value::Float(value) => Some(bare(*value)),
        Value::Measured(value, dimension) => Some(Number {
            value: *value,
            dimension: Some(*dimension),
        }),
        Value::Text(text) => parse_quantity(text).ok().map(|quantity| Number {
            value: quantity.si,
            dimension: Some(quantity.dimension),
        }),
        _ => None,
    }
}
