//! Puts the values of `[parameters]` where the scene refers to them.
//!
//! `"$name"` stands for the parameter's value, whatever its type, and `"$$name"` for that of the parameter whose name it is; a text that starts with `=` is
//! arithmetic over parameters ([`super::expression`]). Parameters may use one another.

use std::collections::BTreeMap;

use super::expression::{Number, evaluate};
use super::problem::{Place, Problem};
use super::tree::{Entry, Node, Table, Value};
use crate::units::{did_you_mean, parse_quantity};

/// Replaces every reference in `table` by its value; mistakes are collected.
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

/// The parameters with references among themselves resolved.
pub fn resolve_parameters(parameters: &Table, problems: &mut Vec<Problem>) -> Table {
    let mut resolved = parameters.clone();
    substitute(&mut resolved, parameters, problems);
    resolved
}

/// More values than this are parameters that multiply through one another without end.
const MAX_VALUES: usize = 100_000;

/// Parameters that refer to one another in a longer chain are refused: each link needs stack.
const MAX_CHAIN: usize = 32;

struct Resolver<'a> {
    parameters: BTreeMap<&'a str, &'a Entry>,
    /// Parameters whose values are being looked up, to find circles.
    open: Vec<String>,
    /// How many more values may be put in place of references.
    budget: usize,
    /// Nothing more is put in place after the budget was used up: one report is enough.
    stopped: bool,
}

impl Resolver<'_> {
    fn substitute_node(&mut self, node: &mut Node, problems: &mut Vec<Problem>) {
        // Inside a parameter the first mistake is the one that is reported.
        if self.stopped || (!self.open.is_empty() && !problems.is_empty()) {
            return;
        }
        match &mut node.value {
            Value::Text(text) => {
                let result = if let Some(name) = reference(text) {
                    self.parameter(name, &node.place)
                } else if let Some(name) = text.strip_prefix('$').and_then(reference) {
                    self.chosen(name, &node.place)
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

    /// The value of the parameter whose name another one is: `body = "cube"` lets `"$$body"` stand for the parameter `cube`.
    fn chosen(&mut self, name: &str, place: &Place) -> Result<Node, Problem> {
        let node = self.parameter(name, place)?;
        match &node.value {
            Value::Text(choice) => self.parameter(choice, &node.place),
            _ => Err(Problem {
                message: format!("parameter `{name}` is not the name of a parameter"),
                place: node.place.clone(),
                advice: format!("`$${name}` needs a text that names one"),
            }),
        }
    }

    /// The value of a parameter, at the parameter's own place: that is what a user would change.
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
                advice: format!("through {}", self.open.join(", ")),
            });
        }
        if self.open.len() >= MAX_CHAIN {
            return Err(Problem {
                message: "the parameters refer to one another in too long a chain".into(),
                place: node.place.clone(),
                advice: format!("at most {MAX_CHAIN} parameters, each of which uses the next"),
            });
        }
        let size = node.value.size();
        if self.budget < size {
            self.stopped = true;
            return Err(Problem {
                message: "the parameters refer to one another too many times".into(),
                place: node.place.clone(),
                advice: format!("together they would make more than {MAX_VALUES} values"),
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
            number(&node.value).ok_or_else(|| format!("parameter `{name}` is no number"))
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
