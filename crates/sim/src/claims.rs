//! Guarantees of an integrator for its steps. `check` and the exit code test them. Other entries of
//! the certificate are reported only.

use serde::{Deserialize, Serialize};

/// Guarantees of an integrator for every step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// The equations of motion that the momentum error refers to.
    pub equations: EquationsClaim,
    /// The path between two states that is free of intersections.
    pub path: PathClaim,
    /// Whether contact forces satisfy the laws of Signorini and Coulomb.
    pub contact: bool,
    /// Whether surfaces keep the guard distance.
    pub gap: bool,
    /// Behaviour of the total energy.
    pub energy: EnergyClaim,
}

/// Equations of motion that a step solves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EquationsClaim {
    /// The linearised equations.
    Linear,
    /// The nonlinear equations.
    Nonlinear,
    /// None: the method is explicit.
    None,
}

/// The path of points between two states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PathClaim {
    /// A straight line.
    Straight,
    /// A polyline through the positions at substeps of the integrator.
    Pieces,
}

/// Behaviour of the total energy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EnergyClaim {
    /// It grows by external work only.
    Dissipative,
    /// Its error is bounded.
    Bounded,
    /// No guarantee.
    None,
}

impl Claims {
    /// Claims of implicit Euler with contact.
    #[must_use]
    pub const fn implicit(equations: EquationsClaim) -> Claims {
        Claims {
            equations,
            path: PathClaim::Straight,
            contact: true,
            gap: true,
            energy: EnergyClaim::Dissipative,
        }
    }

    /// The same claims for a model without collision.
    #[must_use]
    pub fn without_contact(self) -> Claims {
        Claims {
            contact: false,
            gap: false,
            ..self
        }
    }
}
