//! Captured problems: the complete input of a solver in a step, in a safetensors file.
//!
//! The file contains all numbers of a [`NodalProblem`] exactly (bodies, couplings, held degrees of
//! freedom, contacts), and the tolerance and the warm start of the step. Lists of lists are stored
//! concatenated, with the end of each list. A pattern that several bodies share is stored once, and
//! shared again after reading. `docs/problems.md` documents the arrays.

mod bodies;

use super::FileError;
use super::tensors::{TensorReader, TensorWriter};
use crate::problem::{Contact, ContactMemory, ContactState, Contacts, NodalProblem, WarmStart};
use crate::system::{Coupling, System};

const FORMAT: &str = "reefknot-problem";
const VERSION: u32 = 1;

/// Contact problem of a step, with the other inputs of the solver.
#[derive(Clone, Debug, Default)]
pub struct CapturedProblem {
    /// The problem.
    pub problem: NodalProblem,
    /// Tolerance of the contact and momentum errors (m).
    pub tolerance: f64,
    /// Warm start.
    pub warm: WarmStart,
}

impl CapturedProblem {
    /// Bytes of a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut file = TensorWriter::new(FORMAT, VERSION);
        let problem = &self.problem;
        file.numbers("step", &[1], &[problem.step]);
        file.numbers("tolerance", &[1], &[self.tolerance]);
        let lists = [
            ("force", &problem.force),
            ("masses", &problem.masses),
            ("mobilities", &problem.mobilities),
        ];
        for (name, values) in lists {
            file.numbers(name, &[values.len()], values);
        }
        let lengths: Vec<f64> = problem
            .lever_arms
            .iter()
            .map(|(_, length)| *length)
            .collect();
        file.integers(
            "arm/dof",
            problem.lever_arms.iter().map(|(dof, _)| *dof as u64),
        );
        file.numbers("arm/length", &[lengths.len()], &lengths);
        write_system(&mut file, &problem.system);
        write_contacts(&mut file, &problem.contacts);
        let velocities = &self.warm.velocities;
        file.numbers("warm/velocities", &[velocities.len()], velocities);
        let contacts = self.warm.contacts.iter();
        file.integers("warm/id", contacts.clone().map(|known| known.id));
        file.vectors(
            "warm/impulses",
            contacts.clone().map(|known| known.reaction),
        );
        file.vectors("warm/averages", contacts.clone().map(|known| known.average));
        file.integers("warm/states", contacts.map(|known| known.state as u64));
        file.finish()
    }

    /// Reads and validates a file.
    ///
    /// # Errors
    /// If the bytes have another format, an array is missing or of the wrong type or shape, or the
    /// problem is not valid.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FileError> {
        let file = TensorReader::new(bytes)?;
        let (format, version) = (file.text("format"), file.text("version"));
        if format != Some(FORMAT) {
            let reason = format!("holds no captured problem: its metadata has no format {FORMAT}");
            return Err(FileError::new("the file", reason));
        }
        if version != Some(&VERSION.to_string()) {
            let found = version.unwrap_or("none");
            let reason =
                format!("has the version {found}, but this program reads version {VERSION}");
            return Err(FileError::new("the file", reason));
        }
        let problem = NodalProblem {
            system: read_system(&file)?,
            force: file.numbers("force", &[])?,
            step: file.number("step")?,
            masses: file.numbers("masses", &[])?,
            mobilities: file.numbers("mobilities", &[])?,
            lever_arms: zip_checked(
                file.integers("arm/dof")?,
                file.numbers("arm/length", &[])?,
                "arm/dof",
            )?,
            contacts: read_contacts(&file)?,
        };
        let invalid = |error| FileError::new("the problem", format!("is not valid: {error}"));
        problem.check().map_err(invalid)?;
        let tolerance = file.number("tolerance")?;
        if tolerance <= 0.0 {
            return Err(FileError::new("tolerance", "must be positive"));
        }
        let warm = read_warm(&file, problem.system.dofs())?;
        Ok(Self {
            problem,
            tolerance,
            warm,
        })
    }
}

fn read_warm(file: &TensorReader<'_>, dofs: usize) -> Result<WarmStart, FileError> {
    let velocities = file.numbers("warm/velocities", &[])?;
    if !velocities.is_empty() && velocities.len() != dofs {
        let reason = format!(
            "has {} entries, but there are {dofs} unknowns",
            velocities.len()
        );
        return Err(FileError::new("warm/velocities", reason));
    }
    let ids = file.identifiers("warm/id")?;
    if !ids.is_sorted_by(|one, other| one < other) {
        return Err(FileError::new("warm/id", "must ascend"));
    }
    let reactions = file.vectors("warm/impulses")?;
    check_length("warm/id", ids.len(), reactions.len())?;
    let known = ids.into_iter().zip(reactions);
    let known = known.map(|(id, reaction)| ContactMemory {
        id,
        reaction,
        ..ContactMemory::default()
    });
    let mut contacts: Vec<ContactMemory> = known.collect();
    // Averages and states are optional: earlier files have only impulses.
    if file.has("warm/averages") {
        let averages = file.vectors("warm/averages")?;
        check_length("warm/averages", averages.len(), contacts.len())?;
        for (known, average) in contacts.iter_mut().zip(averages) {
            known.average = average;
        }
    }
    if file.has("warm/states") {
        let states = file.identifiers("warm/states")?;
        check_length("warm/states", states.len(), contacts.len())?;
        for (known, number) in contacts.iter_mut().zip(states) {
            let state = u8::try_from(number)
                .ok()
                .and_then(ContactState::from_number);
            known.state = state.ok_or_else(|| {
                FileError::new("warm/states", format!("has {number}, which is no state"))
            })?;
        }
    }
    Ok(WarmStart {
        velocities,
        contacts,
    })
}

fn write_system(file: &mut TensorWriter, system: &System) {
    file.integers(
        "node/offset",
        system.node_offset.iter().map(|it| *it as u64),
    );
    bodies::write(file, system);
    let cut = system
        .held()
        .iter()
        .enumerate()
        .filter(|(_, is_held)| **is_held);
    file.integers("cut", cut.map(|(dof, _)| dof as u64));
    file.integers("merged", [u64::from(system.is_merged())]);
    let couplings = system.couplings();
    write_stencils(
        file,
        "coupling",
        couplings.iter().map(|it| it.nodes.as_slice()),
    );
    file.blocks("coupling/block", couplings.iter().map(|it| it.block));
}

fn read_system(file: &TensorReader<'_>) -> Result<System, FileError> {
    let offsets = file.integers("node/offset")?;
    let system = System::new(bodies::read(file)?, offsets);
    bodies::check_nodes(&system)?;
    let dofs = system.dofs();
    let is_merged = match file.integers("merged")?[..] {
        [0] => false,
        [1] => true,
        _ => return Err(FileError::new("merged", "must be 0 or 1")),
    };
    let cut = file.integers("cut")?;
    // Only `System::hold` merges couplings and sets held flags, so both are present or neither.
    let mut is_held = vec![
        false;
        if is_merged || !cut.is_empty() {
            dofs
        } else {
            0
        }
    ];
    for dof in cut {
        match is_held.get_mut(dof) {
            Some(is_held) => *is_held = true,
            None => {
                return Err(FileError::new(
                    "cut",
                    format!("has {dof}, but there are {dofs} unknowns"),
                ));
            }
        }
    }
    let nodes = system.node_offset.len();
    let mut couplings = Vec::new();
    let stencils = read_stencils(file, "coupling")?;
    for (nodes_of, block) in zip_checked(stencils, file.blocks("coupling/block")?, "coupling/end")?
    {
        let mut known: Vec<u32> = nodes_of.iter().map(|(node, _)| *node).collect();
        known.sort_unstable();
        let is_outside = known.last().is_some_and(|last| *last as usize >= nodes);
        if is_outside || known.windows(2).any(|pair| pair[0] == pair[1]) {
            let place = couplings.len();
            let reason =
                format!("has a repeated node or a node beyond {nodes} in coupling {place}");
            return Err(FileError::new("coupling/node", reason));
        }
        couplings.push(Coupling {
            nodes: nodes_of,
            block,
        });
    }
    Ok(system.restore(couplings, is_merged, is_held))
}

fn write_contacts(file: &mut TensorWriter, contacts: &Contacts) {
    file.integers("contact/id", contacts.iter().map(|it| it.id));
    file.vectors("contact/normal", contacts.iter().map(|it| it.normal));
    file.vectors("contact/kinematic", contacts.iter().map(|it| it.kinematic));
    let numbers = |number: fn(&Contact) -> f64| contacts.iter().map(number).collect::<Vec<f64>>();
    let lists = [
        ("contact/friction", numbers(|it| it.friction)),
        ("contact/cohesion", numbers(|it| it.cohesion)),
        ("contact/compliance", numbers(|it| it.compliance)),
    ];
    for (name, values) in lists {
        file.numbers(name, &[values.len()], &values);
    }
    write_stencils(
        file,
        "contact",
        (0..contacts.len()).map(|it| contacts.stencil(it)),
    );
}

fn read_contacts(file: &TensorReader<'_>) -> Result<Contacts, FileError> {
    let ids = file.identifiers("contact/id")?;
    let [normals, kinematics] = ["contact/normal", "contact/kinematic"].map(|it| file.vectors(it));
    let (normals, kinematics) = (normals?, kinematics?);
    let friction = file.numbers("contact/friction", &[])?;
    let cohesion = file.numbers("contact/cohesion", &[])?;
    let compliance = file.numbers("contact/compliance", &[])?;
    let stencils = read_stencils(file, "contact")?;
    let lengths = [
        ("contact/normal", normals.len()),
        ("contact/kinematic", kinematics.len()),
        ("contact/friction", friction.len()),
        ("contact/cohesion", cohesion.len()),
        ("contact/compliance", compliance.len()),
        ("contact/end", stencils.len()),
    ];
    for (name, length) in lengths {
        check_length(name, length, ids.len())?;
    }
    let mut contacts = Contacts::new();
    for (index, stencil) in stencils.into_iter().enumerate() {
        let contact = Contact {
            id: ids[index],
            normal: normals[index],
            kinematic: kinematics[index],
            friction: friction[index],
            cohesion: cohesion[index],
            compliance: compliance[index],
        };
        contacts.push(contact, stencil);
    }
    Ok(contacts)
}

/// Writes concatenated stencils under the names `{of}/end`, `{of}/node` and `{of}/weight`.
fn write_stencils<'a>(
    file: &mut TensorWriter,
    of: &str,
    stencils: impl Iterator<Item = &'a [(u32, f64)]>,
) {
    let (mut ends, mut all) = (Vec::new(), Vec::new());
    for stencil in stencils {
        all.extend_from_slice(stencil);
        ends.push(all.len() as u64);
    }
    let weights: Vec<f64> = all.iter().map(|(_, weight)| *weight).collect();
    file.integers(&format!("{of}/end"), ends);
    file.integers(
        &format!("{of}/node"),
        all.iter().map(|(node, _)| u64::from(*node)),
    );
    file.numbers(&format!("{of}/weight"), &[weights.len()], &weights);
}

/// Reads stencils as [`write_stencils`] writes them.
fn read_stencils(file: &TensorReader<'_>, of: &str) -> Result<Vec<Vec<(u32, f64)>>, FileError> {
    let [ends_name, nodes_name] = ["end", "node"].map(|it| format!("{of}/{it}"));
    let ends = file.integers(&ends_name)?;
    let nodes = file.integers(&nodes_name)?.into_iter().map(u32::try_from);
    let nodes: Vec<u32> = nodes
        .collect::<Result<_, _>>()
        .map_err(|_| FileError::new(&nodes_name, "has an entry that is too large"))?;
    let all = zip_checked(
        nodes,
        file.numbers(&format!("{of}/weight"), &[])?,
        &nodes_name,
    )?;
    let mut stencils = Vec::with_capacity(ends.len());
    let mut begin = 0;
    for end in &ends {
        let Some(stencil) = all.get(begin..*end) else {
            return Err(FileError::new(
                &ends_name,
                "must ascend within the list of nodes",
            ));
        };
        stencils.push(stencil.to_vec());
        begin = *end;
    }
    check_length(&nodes_name, all.len(), begin)?;
    Ok(stencils)
}

/// Pairs of two lists, which must have the same length.
fn zip_checked<A, B>(one: Vec<A>, other: Vec<B>, name: &str) -> Result<Vec<(A, B)>, FileError> {
    check_length(name, one.len(), other.len())?;
    Ok(one.into_iter().zip(other).collect())
}

fn check_length(name: &str, found: usize, wanted: usize) -> Result<(), FileError> {
    if found == wanted {
        Ok(())
    } else {
        Err(FileError::new(
            name,
            format!("has {found} entries, but {wanted} are needed"),
        ))
    }
}

#[cfg(test)]
pub(crate) mod tests;
