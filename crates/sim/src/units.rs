//! Units of quantities in scene files.
//!
//! Numbers without a unit are in SI. A text such as "2 mm" or "150 g/m^2" is converted to SI, and
//! its dimension is compared with that of the key.

use std::fmt;

/// Exponents of metre, kilogram, second and radian.
///
/// The radian is not a dimension in SI. It is one here, so that "30 deg" is refused where a number
/// without unit is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Dimension {
    /// Exponents in the order metre, kilogram, second, radian.
    pub exponents: [i8; 4],
}

impl Dimension {
    /// The dimension of a number without unit.
    pub const NONE: Dimension = Dimension { exponents: [0; 4] };

    const fn new(metre: i8, kilogram: i8, second: i8) -> Dimension {
        Dimension {
            exponents: [metre, kilogram, second, 0],
        }
    }

    /// The dimension of a product of `self` and `other` to the power of `sign`.
    #[must_use]
    pub fn times(self, other: Dimension, sign: i8) -> Dimension {
        let mut exponents = self.exponents;
        for (own, theirs) in exponents.iter_mut().zip(other.exponents) {
            *own = own.saturating_add(theirs.saturating_mul(sign));
        }
        Dimension { exponents }
    }

    /// The dimension of `self` to an integer power.
    #[must_use]
    pub fn power(self, power: i8) -> Dimension {
        Dimension::NONE.times(self, power)
    }
}

impl fmt::Display for Dimension {
    /// The SI unit, with the common derived units by name.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = NAMED_DIMENSIONS
            .iter()
            .find_map(|(dimension, name)| (dimension == self).then_some(name))
        {
            return formatter.write_str(name);
        }
        let names = ["m", "kg", "s", "rad"];
        let part = |positive: bool| {
            self.exponents
                .iter()
                .zip(names)
                .filter(|(exponent, _)| (**exponent > 0) == positive && **exponent != 0)
                .map(|(exponent, name)| match exponent.unsigned_abs() {
                    1 => name.to_owned(),
                    power => format!("{name}^{power}"),
                })
                .collect::<Vec<_>>()
        };
        let (above, below) = (part(true), part(false));
        match (above.is_empty(), below.is_empty()) {
            (true, true) => formatter.write_str("1"),
            (false, true) => formatter.write_str(&above.join("*")),
            (true, false) => write!(formatter, "1/{}", below.join("/")),
            (false, false) => write!(formatter, "{}/{}", above.join("*"), below.join("/")),
        }
    }
}

const NAMED_DIMENSIONS: [(Dimension, &str); 8] = [
    (Dimension::NONE, "1"),
    (Dimension::new(1, 1, -2), "N"),
    (Dimension::new(-1, 1, -2), "Pa"),
    (Dimension::new(0, 1, -2), "N/m"),
    (Dimension::new(2, 1, -2), "J"),
    (Dimension::new(2, 1, -3), "W"),
    (Dimension::new(0, 0, -1), "1/s"),
    (Dimension::new(1, 0, 0), "m"),
];

/// A number with its dimension, in SI.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantity {
    /// Value in SI units.
    pub si: f64,
    /// Dimension of the value.
    pub dimension: Dimension,
}

struct Unit {
    name: &'static str,
    si: f64,
    dimension: Dimension,
    /// Whether the unit takes SI prefixes.
    prefixed: bool,
}

const fn unit(name: &'static str, si: f64, dimension: Dimension, prefixed: bool) -> Unit {
    Unit {
        name,
        si,
        dimension,
        prefixed,
    }
}

const RADIAN: Dimension = Dimension {
    exponents: [0, 0, 0, 1],
};

/// All units.
const UNITS: [Unit; 22] = [
    unit("m", 1.0, Dimension::new(1, 0, 0), true),
    unit("g", 1e-3, Dimension::new(0, 1, 0), true),
    unit("t", 1e3, Dimension::new(0, 1, 0), false),
    unit("s", 1.0, Dimension::new(0, 0, 1), true),
    unit("min", 60.0, Dimension::new(0, 0, 1), false),
    unit("h", 3600.0, Dimension::new(0, 0, 1), false),
    unit("N", 1.0, Dimension::new(1, 1, -2), true),
    unit("Pa", 1.0, Dimension::new(-1, 1, -2), true),
    unit("bar", 1e5, Dimension::new(-1, 1, -2), true),
    unit("J", 1.0, Dimension::new(2, 1, -2), true),
    unit("W", 1.0, Dimension::new(2, 1, -3), true),
    unit("Hz", 1.0, Dimension::new(0, 0, -1), true),
    unit("rad", 1.0, RADIAN, true),
    unit("deg", std::f64::consts::PI / 180.0, RADIAN, false),
    unit("turn", 2.0 * std::f64::consts::PI, RADIAN, false),
    unit("in", 0.0254, Dimension::new(1, 0, 0), false),
    unit("ft", 0.3048, Dimension::new(1, 0, 0), false),
    unit("lb", 0.453_592_37, Dimension::new(0, 1, 0), false),
    // Textile counts: grams per 9 km and per km of yarn.
    unit("denier", 1e-3 / 9000.0, Dimension::new(-1, 1, 0), false),
    unit("tex", 1e-6, Dimension::new(-1, 1, 0), true),
    unit("%", 0.01, Dimension::NONE, false),
    unit("1", 1.0, Dimension::NONE, false),
];

const PREFIXES: [(&str, f64); 10] = [
    ("n", 1e-9),
    ("u", 1e-6),
    ("µ", 1e-6),
    ("μ", 1e-6),
    ("m", 1e-3),
    ("c", 1e-2),
    ("d", 1e-1),
    ("k", 1e3),
    ("M", 1e6),
    ("G", 1e9),
];

/// The unit called `name`, with or without a prefix.
#[must_use]
pub fn unit_named(name: &str) -> Option<Quantity> {
    let find = |name: &str, needs_prefix: bool| {
        UNITS
            .iter()
            .find(|unit| unit.name == name && (unit.prefixed || !needs_prefix))
    };
    if let Some(unit) = find(name, false) {
        return Some(Quantity {
            si: unit.si,
            dimension: unit.dimension,
        });
    }
    PREFIXES.iter().find_map(|(prefix, factor)| {
        let unit = find(name.strip_prefix(prefix)?, true)?;
        // Division by the inverse: 2 mm is then exactly 0.002 m.
        let si = if *factor < 1.0 {
            unit.si / (1.0 / factor).round()
        } else {
            unit.si * factor
        };
        Some(Quantity {
            si,
            dimension: unit.dimension,
        })
    })
}

/// Parses a quantity: "2 mm", "0.2 kg/m^2", "1e5 Pa", or "3" without unit.
///
/// # Errors
/// A message that describes the mistake.
pub fn parse_quantity(text: &str) -> Result<Quantity, String> {
    let text = text.trim();
    let number_end = number_length(text);
    let value: f64 = text[..number_end]
        .replace('_', "")
        .parse()
        .map_err(|_| format!("`{text}` does not start with a number"))?;
    let unit = parse_unit(text[number_end..].trim())?;
    let si = scale_exactly(value, unit.si);
    if !si.is_finite() {
        return Err(format!("`{text}` is too large for a number"));
    }
    Ok(Quantity {
        si,
        dimension: unit.dimension,
    })
}

/// `value * factor`, computed as a division if 1/`factor` is an integer: "10 um" is then exactly
/// 1e-5.
fn scale_exactly(value: f64, factor: f64) -> f64 {
    let inverse = (1.0 / factor).round();
    if factor < 1.0 && ((inverse * factor) - 1.0).abs() < 1e-15 {
        value / inverse
    } else {
        value * factor
    }
}

/// Number of bytes of the number at the start of `text`.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut end = 0;
    while end < bytes.len() {
        let part_of_number = match bytes[end] {
            b'0'..=b'9' | b'.' | b'_' => true,
            b'+' | b'-' => end == 0 || matches!(bytes[end - 1], b'e' | b'E'),
            // An exponent only when digits follow.
            b'e' | b'E' => {
                end > 0
                    && matches!(
                        (bytes.get(end + 1), bytes.get(end + 2)),
                        (Some(b'0'..=b'9'), _) | (Some(b'+' | b'-'), Some(b'0'..=b'9'))
                    )
            }
            _ => false,
        };
        if !part_of_number {
            break;
        }
        end += 1;
    }
    end
}

/// Parses a unit such as "kg/m^2", "N*m" or "N·m"; an empty text is no unit.
///
/// # Errors
/// A message with the part that is not a unit.
pub fn parse_unit(text: &str) -> Result<Quantity, String> {
    let mut result = Quantity {
        si: 1.0,
        dimension: Dimension::NONE,
    };
    if text.is_empty() {
        return Ok(result);
    }
    let mut sign = 1;
    let mut rest = text;
    loop {
        let end = rest.find(['*', '·', '/', ' ']).unwrap_or(rest.len());
        let (factor, power) = unit_power(&rest[..end])?;
        let power = power.saturating_mul(sign);
        result.si *= factor.si.powi(i32::from(power));
        result.dimension = result.dimension.times(factor.dimension, power);
        rest = rest[end..].trim_start();
        let Some(separator) = rest.chars().next() else {
            return Ok(result);
        };
        if "*·/".contains(separator) {
            sign = if separator == '/' { -1 } else { 1 };
            rest = rest[separator.len_utf8()..].trim_start();
        } else {
            sign = 1;
        }
    }
}

/// Parses one factor of a unit, such as "m^2" or "s".
fn unit_power(text: &str) -> Result<(Quantity, i8), String> {
    let (name, power) = match text.split_once('^') {
        Some((name, power)) => {
            let power: i8 = power
                .parse()
                .ok()
                .filter(|power| (-9..=9).contains(power))
                .ok_or_else(|| format!("`{text}`: the power must be an integer from -9 to 9"))?;
            (name, power)
        }
        None => match text.strip_suffix(['²', '³']) {
            Some(name) => (name, if text.ends_with('²') { 2 } else { 3 }),
            None => (text, 1),
        },
    };
    if name.is_empty() {
        return Err("a unit is missing".to_owned());
    }
    match unit_named(name) {
        Some(unit) => Ok((unit, power)),
        None => Err(format!(
            "unknown unit `{name}`{}",
            did_you_mean(name, UNITS.iter().map(|unit| unit.name))
        )),
    }
}

/// "; did you mean `x`?" if a candidate is close to the written word, otherwise an empty text.
pub fn did_you_mean<'a>(written: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    match closest(written, candidates) {
        Some(candidate) => format!("; did you mean `{candidate}`?"),
        None => String::new(),
    }
}

/// Longest word that is compared with candidates: the cost is the product of the lengths.
const MAX_WORD_LENGTH: usize = 64;

/// The candidate of which `written` is most probably a misspelling.
pub fn closest<'a>(
    written: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let length = written.chars().count();
    let limit = 1 + length / 4;
    if length > MAX_WORD_LENGTH {
        return None;
    }
    candidates
        .into_iter()
        .filter(|candidate| candidate.chars().count() <= length + limit)
        .map(|candidate| {
            let distance = if candidate.eq_ignore_ascii_case(written) {
                0
            } else {
                strsim::damerau_levenshtein(written, candidate)
            };
            (distance, candidate)
        })
        .filter(|(distance, candidate)| *distance <= limit && *distance < candidate.chars().count())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// A number with five digits, for messages.
#[must_use]
pub fn short_number(value: f64) -> String {
    let rounded: f64 = format!("{value:.4e}").parse().unwrap_or(value);
    if rounded == 0.0 || (1e-6..1e9).contains(&rounded.abs()) {
        // Without the sign of −0.
        format!("{}", rounded + 0.0)
    } else {
        format!("{rounded:e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn si(text: &str) -> (f64, String) {
        let quantity = parse_quantity(text).unwrap();
        (quantity.si, quantity.dimension.to_string())
    }

    #[test]
    fn documented_units_are_converted_to_si() {
        assert_eq!(si("2 mm"), (0.002, "m".into()));
        assert_eq!(si("5 MPa"), (5e6, "Pa".into()));
        assert_eq!(si("0.2 kg/m^2"), (0.2, "kg/m^2".into()));
        assert_eq!(si("150 g/m^2"), (0.15, "kg/m^2".into()));
        assert_eq!(si("10 um"), (1e-5, "m".into()));
        assert_eq!(si("10ms"), (0.01, "s".into()));
        assert_eq!(si("3"), (3.0, "1".into()));
        assert_eq!(si("-2.5e-3 N·m"), (-0.0025, "J".into()));
        assert_eq!(si("1.2 kg/m³"), (1.2, "kg/m^3".into()));
        let (denier, dimension) = si("40 denier");
        assert!((denier - 40e-3 / 9000.0).abs() < 1e-18);
        assert_eq!(dimension, "kg/m");
        let (degrees, dimension) = si("30 deg");
        assert!((degrees - std::f64::consts::FRAC_PI_6).abs() < 2e-16);
        assert_eq!(dimension, "rad");
    }

    #[test]
    fn an_exponent_is_not_mistaken_for_a_unit() {
        assert_eq!(si("1e3 m"), (1000.0, "m".into()));
        assert!(parse_quantity("1e m").is_err());
        assert!(parse_quantity("1eV").unwrap_err().contains("eV"));
    }

    #[test]
    fn mistakes_are_described() {
        let wrong = |text: &str| parse_quantity(text).unwrap_err();
        assert!(wrong("2 mmm").contains("unknown unit `mmm`"));
        assert!(wrong("2 pa").contains("did you mean `Pa`"));
        assert!(wrong("two m").contains("does not start with a number"));
        assert!(wrong("2 m^x").contains("power"));
        assert!(wrong("2 m/").contains("missing"));
        assert!(wrong("1e400 m").contains("too large"));
        assert!(wrong("").contains("number"));
    }

    #[test]
    fn only_misspellings_have_a_closest_word() {
        assert_eq!(closest("verticees", ["size", "vertices"]), Some("vertices"));
        assert_eq!(closest("Size", ["size", "vertices"]), Some("size"));
        assert_eq!(closest("banana", ["size", "vertices"]), None);
        assert_eq!(closest("x", ["h", "dt"]), None);
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_or_refused(text in "\\PC{0,24}") {
            let _ = parse_quantity(&text);
        }

        #[test]
        fn a_prefix_scales_the_value(value in -1e6..1e6_f64) {
            let metres = parse_quantity(&format!("{value} m")).unwrap().si;
            let millimetres = parse_quantity(&format!("{value} mm")).unwrap().si;
            prop_assert!((metres - 1000.0 * millimetres).abs() <= 1e-12 * metres.abs());
        }
    }
}
