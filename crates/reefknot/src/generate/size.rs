//! Whether the numbers that a mesh is made from make sense, before anything is allocated.
//!
//! Every generator that takes a length of edges has a function beside it that tells its number of vertices,
//! as a floating-point number because nothing keeps it from being infinite.

/// Generators refuse to make more vertices than this: their elements would not fit into memory.
pub const MAX_VERTICES: f64 = 2e7;

/// Why there is no mesh of these numbers.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum SizeError {
    /// A length that must be positive is not.
    #[error("{what} is {value} m; it must be positive and finite")]
    NotPositive {
        /// The length's name.
        what: &'static str,
        /// Its value (m).
        value: f64,
    },
    /// A length must be less than another.
    #[error("{small} must be less than {large}")]
    NotLess {
        /// The name of the length that is too large.
        small: &'static str,
        /// The name of the length that bounds it.
        large: &'static str,
    },
    /// The mesh would not fit into memory.
    #[error("there would be {vertices:.3e} vertices; at most {MAX_VERTICES:.0e} are possible")]
    TooMany {
        /// Their number.
        vertices: f64,
    },
}

/// Refuses lengths that are not positive and finite.
pub(super) fn check_lengths(lengths: &[(&'static str, f64)]) -> Result<(), SizeError> {
    let positive = |value: f64| value > 0.0 && value.is_finite();
    match lengths.iter().find(|(_, value)| !positive(*value)) {
        Some(&(what, value)) => Err(SizeError::NotPositive { what, value }),
        None => Ok(()),
    }
}

/// Refuses numbers of vertices that no memory holds.
pub(super) fn check_count(vertices: f64) -> Result<(), SizeError> {
    match vertices <= MAX_VERTICES {
        true => Ok(()),
        false => Err(SizeError::TooMany { vertices }),
    }
}

/// How many pieces of about the length `edge` make `length`, but at least so many; a whole number, or infinite.
pub(super) fn divisions(length: f64, edge: f64, least: f64) -> f64 {
    (length / edge).round().max(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_positive_finite_lengths_pass() {
        assert_eq!(
            check_lengths(&[("length", 1e-300), ("width", 1e300)]),
            Ok(())
        );
        for value in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let error = check_lengths(&[("length", 1.0), ("width", value)]).unwrap_err();
            assert!(error.to_string().starts_with("width is "), "{error}");
        }
    }

    #[test]
    fn counts_without_end_are_refused() {
        assert_eq!(check_count(MAX_VERTICES), Ok(()));
        for vertices in [MAX_VERTICES + 1.0, f64::INFINITY, f64::NAN] {
            assert!(check_count(vertices).is_err());
        }
        let message = check_count(1.5e30).unwrap_err().to_string();
        assert_eq!(
            message,
            "there would be 1.500e30 vertices; at most 2e7 are possible"
        );
    }

    #[test]
    fn divisions_are_rounded_and_bounded_from_below() {
        assert_eq!(divisions(1.0, 0.3, 1.0), 3.0);
        assert_eq!(divisions(1.0, 0.28, 1.0), 4.0);
        assert_eq!(divisions(1.0, 10.0, 2.0), 2.0);
        assert_eq!(divisions(1e300, 1e-300, 1.0), f64::INFINITY);
    }
}
