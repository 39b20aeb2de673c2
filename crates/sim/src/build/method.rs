//! Builds the numerical method of the model.

use crate::model::{ContactSolver, EnergyRule, Integrator, Method, NewtonOptions};
use crate::scene::tables;

/// The method of a scene.
pub(super) fn method(table: &tables::Method) -> Method {
    let integrator = match &table.integrator {
        tables::Integrator::SymplecticEuler(_) => Integrator::SymplecticEuler,
        tables::Integrator::LinearEuler(_) => Integrator::LinearEuler,
        tables::Integrator::Newton(newton) => Integrator::Newton(NewtonOptions {
            iterations: newton.iterations,
        }),
    };
    let solver = table.solver.entry.map(|entry| ContactSolver {
        entry,
        options: table.solver.options.clone(),
    });
    Method {
        integrator,
        solver,
        tolerance: table.tolerance.0,
        converge: table.converge,
        energy: match table.energy {
            tables::EnergyRule::Dissipative => EnergyRule::Dissipative,
            tables::EnergyRule::Report => EnergyRule::Report,
        },
        quasi_static: table.quasi_static,
        halvings: table.halvings as u32,
    }
}
