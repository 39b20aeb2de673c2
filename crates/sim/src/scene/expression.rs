//! Expressions over parameters: `"= $L / 4"`, `"= $turns * 2 * pi * rad"`.
//!
//! Expressions keep dimensions. A parameter without a unit is in SI and of any dimension; the
//! dimension of its products is not checked.

use crate::units::{Dimension, did_you_mean, unit_named};

/// A value in an expression. Without a dimension it is compatible with any.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number {
    /// Value in SI.
    pub value: f64,
    /// Dimension, if known.
    pub dimension: Option<Dimension>,
}

/// Function that returns a parameter by its name, or an error message.
pub type Lookup<'a> = dyn FnMut(&str) -> Result<Number, String> + 'a;

/// Deepest nesting of an expression. Each level needs stack.
const MAX_DEPTH: usize = 64;

/// Evaluates an expression, without its leading `=`.
///
/// # Errors
/// A message that describes the mistake.
pub fn evaluate(text: &str, lookup: &mut Lookup<'_>) -> Result<Number, String> {
    let mut parser = Parser {
        rest: text,
        depth: 0,
        lookup,
    };
    let result = parser.sum()?;
    parser.skip_spaces();
    if !parser.rest.is_empty() {
        return Err(format!("unexpected `{}`", parser.rest));
    }
    if !result.value.is_finite() {
        return Err("the result is not a finite number".into());
    }
    Ok(result)
}

struct Parser<'a, 'b> {
    rest: &'a str,
    depth: usize,
    lookup: &'b mut Lookup<'b>,
}

impl<'a> Parser<'a, '_> {
    fn skip_spaces(&mut self) {
        self.rest = self.rest.trim_start();
    }

    /// Consumes `symbol` if it is next. Returns whether it was.
    fn consume(&mut self, symbol: char) -> bool {
        self.skip_spaces();
        match self.rest.strip_prefix(symbol) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Consumes the characters that satisfy `accept`.
    fn take_while(&mut self, accept: impl Fn(char) -> bool) -> &'a str {
        let end = self
            .rest
            .find(|character| !accept(character))
            .unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    fn sum(&mut self) -> Result<Number, String> {
        let mut left = self.product()?;
        loop {
            if self.consume('+') {
                left = add(left, self.product()?, 1.0)?;
            } else if self.consume('-') {
                left = add(left, self.product()?, -1.0)?;
            } else {
                return Ok(left);
            }
        }
    }

    fn product(&mut self) -> Result<Number, String> {
        let mut left = self.power()?;
        loop {
            if self.consume('*') {
                left = multiply(left, self.power()?, 1);
            } else if self.consume('/') {
                left = multiply(left, self.power()?, -1);
            } else {
                return Ok(left);
            }
        }
    }

    fn power(&mut self) -> Result<Number, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(format!("the expression nests deeper than {MAX_DEPTH}"));
        }
        let result = if self.consume('-') {
            let Number { value, dimension } = self.power()?;
            Number {
                value: -value,
                dimension,
            }
        } else {
            let base = self.primary()?;
            if self.consume('^') {
                let exponent = self.power()?;
                raise(base, exponent)?
            } else {
                base
            }
        };
        self.depth -= 1;
        Ok(result)
    }

    fn primary(&mut self) -> Result<Number, String> {
        self.skip_spaces();
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if self.consume('(') {
            let inner = self.sum()?;
            return self.closing(inner);
        }
        if self.consume('$') {
            let name = self.take_while(is_word);
            return (self.lookup)(name);
        }
        let first = self
            .rest
            .chars()
            .next()
            .ok_or("the expression ends too early")?;
        if first.is_ascii_digit() || first == '.' {
            return self.literal();
        }
        let name = self.take_while(is_word);
        if name.is_empty() {
            return Err(format!("unexpected `{first}`"));
        }
        if self.consume('(') {
            return self.call(name);
        }
        constant(name)
    }

    fn closing(&mut self, value: Number) -> Result<Number, String> {
        if self.consume(')') {
            Ok(value)
        } else {
            Err("a closing parenthesis is missing".into())
        }
    }

    fn literal(&mut self) -> Result<Number, String> {
        let bytes = self.rest.as_bytes();
        let mut end = 0;
        while end < bytes.len() {
            let sign = matches!(bytes[end], b'+' | b'-')
                && end > 0
                && matches!(bytes[end - 1], b'e' | b'E');
            if !(bytes[end].is_ascii_digit() || matches!(bytes[end], b'.' | b'e' | b'E') || sign) {
                break;
            }
            end += 1;
        }
        let (number, rest) = self.rest.split_at(end);
        self.rest = rest;
        let value = number
            .parse()
            .map_err(|_| format!("`{number}` is not a number"))?;
        Ok(plain(value))
    }

    fn call(&mut self, name: &str) -> Result<Number, String> {
        let first = self.sum()?;
        if matches!(name, "min" | "max") {
            if !self.consume(',') {
                return Err(format!("`{name}` takes two values"));
            }
            let second = self.sum()?;
            // `add` checks that the dimensions agree.
            let dimension = add(first, second, 1.0)?.dimension;
            let value = if name == "min" {
                first.value.min(second.value)
            } else {
                first.value.max(second.value)
            };
            return self.closing(Number { value, dimension });
        }
        let result = apply(name, first)?;
        self.closing(result)
    }
}

fn plain(value: f64) -> Number {
    Number {
        value,
        dimension: Some(Dimension::NONE),
    }
}

fn constant(name: &str) -> Result<Number, String> {
    if name == "pi" {
        return Ok(plain(std::f64::consts::PI));
    }
    match unit_named(name) {
        Some(unit) => Ok(Number {
            value: unit.si,
            dimension: Some(unit.dimension),
        }),
        None => Err(format!(
            "`{name}` is not a function, constant or unit; a parameter is written `${name}`"
        )),
    }
}

const FUNCTIONS: [&str; 15] = [
    "sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "exp", "ln", "abs", "round", "floor",
    "ceil", "min", "max",
];

fn apply(name: &str, argument: Number) -> Result<Number, String> {
    let Number { value, dimension } = argument;
    let same = |value| Ok(Number { value, dimension });
    let angle_or_plain = |value: f64| {
        if dimension.is_none_or(|dimension| dimension.exponents[..3] == [0; 3]) {
            Ok(plain(value))
        } else {
            Err(format!("`{name}` takes a number without unit, or an angle"))
        }
    };
    match name {
        "sqrt" => raise(argument, plain(0.5)),
        "sin" => angle_or_plain(value.sin()),
        "cos" => angle_or_plain(value.cos()),
        "tan" => angle_or_plain(value.tan()),
        "asin" => angle_or_plain(value.asin()),
        "acos" => angle_or_plain(value.acos()),
        "atan" => angle_or_plain(value.atan()),
        "exp" => angle_or_plain(value.exp()),
        "ln" => angle_or_plain(value.ln()),
        "abs" => same(value.abs()),
        "round" => same(value.round()),
        "floor" => same(value.floor()),
        "ceil" => same(value.ceil()),
        _ => Err(format!(
            "unknown function `{name}`{}",
            did_you_mean(name, FUNCTIONS)
        )),
    }
}

/// `a + sign b`. A number without unit, such as 0.1 in `$L + 0.1`, is in SI.
fn add(a: Number, b: Number, sign: f64) -> Result<Number, String> {
    let dimension = match (a.dimension, b.dimension) {
        (None, other) | (other, None) => other.filter(|dimension| *dimension != Dimension::NONE),
        (Some(one), Some(two)) if one == two => Some(one),
        (Some(one), Some(Dimension::NONE)) => Some(one),
        (Some(Dimension::NONE), Some(two)) => Some(two),
        (Some(one), Some(two)) => return Err(format!("{one} and {two} cannot be added")),
    };
    Ok(Number {
        value: a.value + sign * b.value,
        dimension,
    })
}

fn multiply(a: Number, b: Number, sign: i8) -> Number {
    let value = if sign > 0 {
        a.value * b.value
    } else {
        a.value / b.value
    };
    let dimension = match (a.dimension, b.dimension) {
        (Some(one), Some(two)) => Some(one.times(two, sign)),
        _ => None,
    };
    Number { value, dimension }
}

fn raise(base: Number, exponent: Number) -> Result<Number, String> {
    let value = base.value.powf(exponent.value);
    let power = exponent.value;
    let dimension = match base.dimension {
        None => None,
        Some(Dimension::NONE) => Some(Dimension::NONE),
        Some(dimension) if power.fract() == 0.0 && power.abs() <= 9.0 => {
            Some(dimension.power(power as i8))
        }
        Some(dimension) if power == 0.5 && dimension.exponents.iter().all(|e| e % 2 == 0) => {
            Some(Dimension {
                exponents: dimension.exponents.map(|exponent| exponent / 2),
            })
        }
        Some(dimension) => {
            return Err(format!("{dimension} cannot be raised to the power {power}"));
        }
    };
    Ok(Number { value, dimension })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::parse_quantity;
    use proptest::prelude::*;

    fn value(text: &str) -> Result<(f64, String), String> {
        let mut lookup = |name: &str| match name {
            "L" => {
                let length = parse_quantity("20 cm").unwrap();
                Ok(Number {
                    value: length.si,
                    dimension: Some(length.dimension),
                })
            }
            "E" => Ok(Number {
                value: 1e7,
                dimension: None,
            }),
            other => Err(format!("no parameter `{other}`")),
        };
        evaluate(text, &mut lookup).map(|number| {
            let unit = number.dimension.map_or("any".into(), |d| d.to_string());
            (number.value, unit)
        })
    }

    #[test]
    fn operators_have_the_usual_precedence() {
        assert_eq!(value("1 + 2 * 3 - 4 / 2").unwrap().0, 5.0);
        assert_eq!(value("-2^2").unwrap().0, -4.0);
        assert_eq!(value("2^3^2").unwrap().0, 512.0);
        assert_eq!(value("(1 + 2) * 3").unwrap().0, 9.0);
        assert_eq!(value("max(1, 2) + min(3, 4)").unwrap().0, 5.0);
        assert_eq!(value("1.5e-3 * 2").unwrap().0, 0.003);
    }

    #[test]
    fn dimensions_are_kept_and_checked() {
        assert_eq!(value("$L / 4").unwrap(), (0.05, "m".into()));
        assert_eq!(value("$L + 2*mm").unwrap(), (0.202, "m".into()));
        assert_eq!(value("$L + 0.1").unwrap().1, "m");
        assert_eq!(value("sqrt($L * $L)").unwrap().1, "m");
        assert_eq!(value("sin(90 * deg)").unwrap(), (1.0, "1".into()));
        assert!(value("$L + 2*s").unwrap_err().contains("cannot be added"));
        assert!(value("sin($L)").unwrap_err().contains("angle"));
    }

    #[test]
    fn a_parameter_without_unit_has_any_dimension() {
        assert_eq!(value("$E * $L").unwrap(), (2e6, "any".into()));
        assert_eq!(value("$E + 1").unwrap().1, "any");
    }

    #[test]
    fn mistakes_are_described() {
        assert!(value("1 +").unwrap_err().contains("ends too early"));
        assert!(value("(1").unwrap_err().contains("parenthesis"));
        assert!(value("1 1").unwrap_err().contains("unexpected `1`"));
        assert!(value("L").unwrap_err().contains("`$L`"));
        assert!(value("sqr(4)").unwrap_err().contains("did you mean `sqrt`"));
        assert!(value("1 / 0").unwrap_err().contains("finite"));
        assert!(value(&"(".repeat(10_000)).unwrap_err().contains("nests"));
        assert!(value(&"-".repeat(10_000)).unwrap_err().contains("nests"));
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_or_refused(text in "[-+*/^() $LEa-z0-9.,µ]{0,40}") {
            let _ = value(&text);
        }
    }
}
