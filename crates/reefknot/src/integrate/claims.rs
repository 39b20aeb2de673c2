//! What an integrator claims of its steps. `check` and the exit code hold it to that; what it does
//! not claim is shown where it can be computed.

use serde::{Deserialize, Serialize};

/// What an integrator claims of every step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// The equations of motion that the momentum error is about.
    pub equations: EquationsClaim,
    /// The motion between two states that nothing meets along.
    pub path: PathClaim,
    /// Whether forces obey Signorini's and Coulomb's law.
    pub contact: bool,
    /// Whether surfaces keep apart.
    pub gap: bool,
    /// What energy may do.
    pub energy: EnergyClaim,
}

/// Equations of motion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EquationsClaim {
    /// Linearised.
    Linear,
    /// As they are.
    Nonlinear,
    /// None are solved.
    None,
}

/// The motion between two states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PathClaim {
    /// Straight, from the one to the other.
    Straight,
    /// In pieces, between times of its own.
    Pieces,
}

/// What energy may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EnergyClaim {
    /// It grows by the work done on the system only.
    Dissipative,
    /// It stays near where it is.
    Bounded,
    /// Anything.
    None,
}

impl Claims {
    /// Of implicit Euler with contact, for the equations that it solves.
    #[must_use]
    pub fn implicit(equations: EquationsClaim) -> Claims {
        Claims {
            equations,
            path: PathClaim::Straight,
            contact: true,
            gap: true,
            energy: EnergyClaim::None,
        }
    }

    /// Of the same method where nothing touches.
    #[must_use]
    pub fn without_contact(self) -> Claims {
        Claims {
            contact: false,
            gap: false,
            ..self
        }
    }
}
