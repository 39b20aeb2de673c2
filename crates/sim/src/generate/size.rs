//! Checks of the parameters of generators, before memory is allocated.
//!
//! Every generator with an edge length has a function for its number of vertices. The result is a
//! floating-point number, because it may be infinite.

/// Maximum number of vertices: the elements of larger meshes would not fit into memory.
pub const MAX_VERTICES: f64 = 2e7;

/// Error in the parameters of a generator.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum SizeError {
    /// A length that must be positive is not.
    #[error("{name} is {value} m; it must be positive and finite")]
    NotPositive {
        /// The length's name.
        name: &'static str,
        /// Its value (m).
        value: f64,
    },
    /// A length must be less than another.
    #[error("{small} must be less than {large}")]
    NotLess {
        /// Name of the length that is too large.
        small: &'static str,
        /// Name of its upper bound.
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
        Some(&(name, value)) => Err(SizeError::NotPositive { name, value }),
        None => Ok(()),
    }
}

/// Refuses more than [`MAX_VERTICES`], and NaN.
pub(super) fn check_count(vertices: f64) -> Result<(), SizeError> {
    if vertices <= MAX_VERTICES {
        Ok(())
    } else {
        Err(SizeError::TooMany { vertices })
    }
}

/// Number of pieces of about the length `edge` in `length`, at least `least`; a whole number, or
/// infinite.
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
    fn infinite_counts_are_refused() {
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
