//! Round trips of captured problems, and invalid files.

use std::sync::Arc;

use glam::{DMat3, DVec3};

use super::*;
use crate::banded::{BandedBatch, BandedLayout};
use crate::block_sparse::tests::random;
use crate::file::header::seal;
use crate::random::Random;
use crate::system::Matrix;

/// Rods with diagonally dominant matrices.
fn rods(layout: BandedLayout, count: usize) -> Matrix {
    let size = layout.size();
    let mut batch = BandedBatch::zeros(layout, count);
    batch.add_diagonal(&vec![2.5; count * size]);
    for rod in 0..count {
        for unknown in 1..size {
            batch.add(rod, unknown, unknown - 1, -0.7 + 0.01 * rod as f64);
        }
    }
    Matrix::Rods(batch)
}

/// Two equal sheets, five open rods and a ring, with ties; one node is held, another is held along
/// y. Nodes 0 to 9 belong to the sheets, then four to each rod, then five to the ring.
pub(crate) fn system() -> System {
    let sheet = random(5, &[(0, 3), (1, 4), (2, 3)], 7);
    let mut matrices = vec![Matrix::Blocks(sheet.clone()), Matrix::Blocks(sheet)];
    matrices.push(rods(BandedLayout::rod(4, false), 5));
    matrices.push(rods(BandedLayout::rod(5, true), 1));
    let sheets = (0..10).map(|j| 3 * j);
    let open = (0..20).map(|j| 30 + j / 4 * 15 + j % 4 * 4);
    let ring = (0..5).map(|j| 105 + 4 * j);
    let mut whole = System::new(matrices, sheets.chain(open).chain(ring).collect());
    whole.set_couplings(vec![
        Coupling {
            nodes: vec![(1, 1.0), (6, -1.0)],
            block: DMat3::from_diagonal(DVec3::new(3.0, 1.0, 0.5)),
        },
        Coupling {
            nodes: vec![(2, 0.5), (0, 0.5), (14, -1.0)],
            block: DMat3::IDENTITY * 8.0,
        },
    ]);
    let mut is_held = vec![false; whole.dofs()];
    is_held[0..3].fill(true);
    is_held[4] = true;
    let mut system = whole.clone();
    system.hold(&whole, &is_held, |_| true);
    system
}

/// Contacts of every kind on [`system`]: on free, held and tied nodes, with cohesion and
/// compliance.
fn contacts() -> Contacts {
    let mut contacts = Contacts::new();
    let mut push = |id, normal: DVec3, gap: f64, more: [f64; 2], stencil: &[(u32, f64)]| {
        let normal = normal.normalize();
        let contact = Contact {
            id,
            normal,
            kinematic: normal * gap + DVec3::new(0.1, -0.2, 0.05),
            friction: 0.3 + 0.1 * gap,
            cohesion: more[0],
            compliance: more[1],
        };
        contacts.push(contact, stencil.iter().copied());
    };
    push(u64::MAX, DVec3::Z, -0.4, [0.0, 0.0], &[(3, 1.0)]);
    push(
        3,
        DVec3::new(1.0, 2.0, -0.5),
        -0.5,
        [2.0, 0.0],
        &[(0, 0.4), (1, 0.6), (7, -1.0)],
    );
    push(
        8,
        DVec3::NEG_X,
        -0.3,
        [0.0, 1e-4],
        &[(12, 0.5), (13, 0.5), (31, -1.0)],
    );
    push(
        5,
        DVec3::new(0.1, -1.0, 0.3),
        -0.6,
        [1.0, 2e-4],
        &[(20, 1.0), (4, -1.0)],
    );
    contacts
}

/// Problem with [`contacts`] on [`system`].
pub(crate) fn captured() -> CapturedProblem {
    let system = system();
    let (dofs, nodes) = (system.dofs(), system.node_offset.len());
    let problem = NodalProblem {
        system,
        force: (0..dofs)
            .map(|dof| (dof as f64 * 0.37).sin() * 0.2)
            .collect(),
        step: 0.01,
        masses: (0..nodes).map(|node| 0.5 + 0.1 * node as f64).collect(),
        mobilities: vec![1.5; nodes],
        lever_arms: vec![(33, 0.002), (37, 0.002)],
        contacts: contacts(),
    };
    let contacts = vec![
        ContactMemory {
            id: 3,
            reaction: DVec3::new(0.1, 0.2, -0.1),
            average: DVec3::new(0.1, 0.15, -0.1),
            state: ContactState::Slip,
        },
        ContactMemory {
            id: 77,
            reaction: DVec3::Z,
            average: DVec3::ZERO,
            state: ContactState::Stick,
        },
    ];
    let velocities = (0..dofs).map(|dof| (dof as f64).cos()).collect();
    CapturedProblem {
        problem,
        tolerance: 1e-5,
        warm: WarmStart {
            velocities,
            contacts,
        },
    }
}

#[test]
fn files_preserve_all_bits() {
    let captured = captured();
    let bytes = captured.to_bytes();
    let read = CapturedProblem::from_bytes(&bytes).unwrap();
    // The bytes contain every number, so equal bytes are equal problems.
    assert_eq!(read.to_bytes(), bytes);
    let (one, other) = (&captured.problem, &read.problem);
    assert_eq!(one.system.entries(), other.system.entries());
    assert_eq!(one.system.held(), other.system.held());
    assert_eq!(one.system.couplings(), other.system.couplings());
    assert_eq!(one.system.is_merged(), other.system.is_merged());
    assert_eq!(one.system.node_offset, other.system.node_offset);
    assert_eq!(one.contacts, other.contacts);
    assert_eq!(
        (&one.force, &one.lever_arms),
        (&other.force, &other.lever_arms)
    );
    assert_eq!(
        (&one.masses, &one.mobilities),
        (&other.masses, &other.mobilities)
    );
    assert_eq!(
        (captured.warm, captured.tolerance),
        (read.warm, read.tolerance)
    );
    match [0, 1].map(|body| &other.system.bodies[body].matrix) {
        [Matrix::Blocks(one), Matrix::Blocks(other)] => {
            assert!(
                Arc::ptr_eq(one.pattern(), other.pattern()),
                "shared before, shared again"
            );
        }
        _ => panic!("sheets are blocks"),
    }
}

#[test]
fn an_empty_problem_can_be_stored() {
    let mut empty = CapturedProblem::default();
    (empty.problem.step, empty.tolerance) = (0.01, 1e-5);
    let read = CapturedProblem::from_bytes(&empty.to_bytes()).unwrap();
    assert_eq!(read.problem.system.dofs(), 0);
    assert_eq!(read.to_bytes(), empty.to_bytes());
}

type Change = fn(&mut CapturedProblem);

/// Error message for a changed problem.
fn error_message(change: impl FnOnce(&mut CapturedProblem)) -> String {
    let mut captured = captured();
    change(&mut captured);
    let read = CapturedProblem::from_bytes(&captured.to_bytes());
    read.unwrap_err().to_string()
}

#[test]
fn invalid_values_are_reported_with_their_array() {
    let cases: [(&str, Change); 15] = [
        ("tolerance must be positive", |it| it.tolerance = 0.0),
        ("tolerance is not finite", |it| it.tolerance = f64::NAN),
        ("time step must be positive", |it| it.problem.step = -1.0),
        ("force is not finite at entry 3", |it| {
            it.problem.force[3] = f64::INFINITY
        }),
        ("force has 1 entries", |it| it.problem.force = vec![0.0]),
        ("mass of node 2 must be positive", |it| {
            it.problem.masses[2] = 0.0
        }),
        ("lever arm 0 must be", |it| it.problem.lever_arms[0].0 = 125),
        ("node/offset puts node 4", |it| {
            it.problem.system.node_offset[4] = 13
        }),
        ("node/offset puts node 9", |it| {
            it.problem.system.node_offset[9] = usize::MAX
        }),
        ("node/offset puts node 13", |it| {
            it.problem.system.node_offset[13] = 44
        }),
        ("node/offset lets nodes overlap", |it| {
            it.problem.system.node_offset[4] = 9
        }),
        ("warm/id must ascend", |it| it.warm.contacts[1].id = 3),
        ("warm/velocities has 2 entries", |it| {
            it.warm.velocities.truncate(2)
        }),
        ("warm/impulses is not finite", |it| {
            it.warm.contacts[0].reaction.x = f64::NAN
        }),
        ("two contacts have the id 5", |it| {
            let contact = it.problem.contacts[3];
            it.problem.contacts.push(contact, [(0, 1.0)]);
        }),
    ];
    for (reason, change) in cases {
        let message = error_message(change);
        assert!(message.contains(reason), "{message}");
    }
}

#[test]
fn invalid_matrices_and_ties_are_reported() {
    fn tie(it: &mut CapturedProblem, nodes: Vec<(u32, f64)>) {
        let block = DMat3::IDENTITY;
        it.problem
            .system
            .set_couplings(vec![Coupling { nodes, block }]);
    }
    let cases: [(&str, Change); 4] = [
        ("in coupling 0", |it| tie(it, vec![(1, 1.0), (1, -1.0)])),
        ("in coupling 0", |it| tie(it, vec![(1, 1.0), (35, -1.0)])),
        ("coupling/weight is not finite", |it| {
            tie(it, vec![(1, f64::NAN)])
        }),
        ("block/value is not finite", |it| {
            let Matrix::Blocks(matrix) = &mut it.problem.system.bodies[0].matrix else {
                panic!("a sheet");
            };
            matrix.values[2].x_axis.y = f64::NAN;
        }),
    ];
    for (reason, change) in cases {
        let message = error_message(change);
        assert!(message.contains(reason), "{message}");
    }
}

/// The file with the first of some bytes in its header replaced.
fn edited(from: &str, to: &str) -> String {
    assert_eq!(from.len(), to.len());
    let mut bytes = captured().to_bytes();
    let place = bytes
        .windows(from.len())
        .position(|it| it == from.as_bytes());
    let place = place.unwrap();
    bytes[place..place + to.len()].copy_from_slice(to.as_bytes());
    seal(&mut bytes);
    CapturedProblem::from_bytes(&bytes).unwrap_err().to_string()
}

#[test]
fn files_of_other_formats_and_versions_are_refused() {
    assert!(edited("reefknot-problem", "reefknot-prablem").contains("format"));
    assert!(edited("\"version\":\"1\"", "\"version\":\"2\"").contains("version 2"));
    assert!(edited("\"force\"", "\"farce\"").contains("force is not in the file"));
    assert!(edited("F64", "I64").contains("step holds I64, not F64"));
    assert!(edited("[1]", "[2]").contains("not a safetensors file"));
    assert!(CapturedProblem::from_bytes(b"12345678{").is_err());
}

#[test]
fn huge_integers_are_refused() {
    // Each 8-byte number of the file in turn is replaced by a huge integer.
    let bytes = captured().to_bytes();
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let mut refused = 0;
    for place in (8 + length..bytes.len()).step_by(8) {
        for value in [u64::MAX, 1 << 40] {
            let mut changed = bytes.clone();
            changed[place..place + 8].copy_from_slice(&value.to_le_bytes());
            seal(&mut changed);
            refused += usize::from(CapturedProblem::from_bytes(&changed).is_err());
        }
    }
    // As an `f64`, u64::MAX is NaN and refused; 2⁴⁰ is a denormal number and accepted.
    assert!(refused > (bytes.len() - length) / 8, "{refused}");
}

#[test]
fn damaged_files_never_cause_a_panic() {
    let bytes = captured().to_bytes();
    let mut random = Random::new(7);
    let mut next = |end: usize| random.below(end);
    for round in 0..400 {
        let mut changed = bytes.clone();
        for _ in 0..=next(3) {
            // Half of the changes are in the header, where more of them are valid JSON.
            let limit = if next(2) == 0 { 1500 } else { bytes.len() };
            changed[next(limit)] = next(256) as u8;
        }
        if round % 4 == 0 {
            changed.truncate(next(bytes.len()));
        }
        // The checksum would hide the other tests of the reader.
        seal(&mut changed);
        if let Ok(read) = CapturedProblem::from_bytes(&changed) {
            // Accepted problems can be evaluated.
            let dofs = read.problem.system.dofs();
            read.problem.residual(&vec![1.0; dofs], &[DVec3::ONE; 4]);
            read.problem.groups();
        }
    }
}

/// Array of a file: name, type, shape, and bits of the entries.
type Array<'a> = (&'a str, &'a str, Vec<usize>, Vec<u64>);

/// File in which `arrays` replace the array `from` and all arrays after it.
fn ended(from: &str, arrays: &[Array<'_>]) -> Vec<u8> {
    let bytes = captured().to_bytes();
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let (header, data) = bytes[8..].split_at(length);
    let header = std::str::from_utf8(header).unwrap();
    let (head, tail) = header.split_at(header.find(&format!(",\"{from}\"")).unwrap());
    let (_, offsets) = tail.split_once("\"data_offsets\":[").unwrap();
    let begin: usize = offsets.split_once(',').unwrap().0.parse().unwrap();
    let (mut header, mut data) = (head.to_owned(), data[..begin].to_vec());
    for (name, kind, shape, entries) in arrays {
        let begin = data.len();
        data.extend(entries.iter().flat_map(|entry| entry.to_le_bytes()));
        let end = data.len();
        header += &format!(
            ",\"{name}\":{{\"dtype\":\"{kind}\",\"shape\":{shape:?},\
             \"data_offsets\":[{begin},{end}]}}"
        );
    }
    header.push('}');
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.as_bytes());
    file.extend(data);
    seal(&mut file);
    file
}

/// Warm start of a file with other averages and states.
fn warm_with(arrays: &[Array<'_>]) -> Result<Vec<ContactMemory>, String> {
    let read = CapturedProblem::from_bytes(&ended("warm/averages", arrays));
    let read = read.map_err(|error| error.to_string())?;
    let before = captured().warm;
    assert_eq!(read.warm.velocities, before.velocities);
    for (known, before) in read.warm.contacts.iter().zip(&before.contacts) {
        assert_eq!((known.id, known.reaction), (before.id, before.reaction));
    }
    Ok(read.warm.contacts)
}

fn averages(numbers: &[f64]) -> Array<'static> {
    let bits = numbers.iter().map(|number| number.to_bits()).collect();
    ("warm/averages", "F64", vec![numbers.len() / 3, 3], bits)
}

fn states(numbers: &[u64]) -> Array<'static> {
    ("warm/states", "U64", vec![numbers.len()], numbers.to_vec())
}

#[test]
fn averages_and_states_are_optional() {
    let numbers = [0.25, -1.0, 3.0, 0.5, 0.0, 7.0];
    let read = warm_with(&[averages(&numbers), states(&[1, 2])]).unwrap();
    assert_eq!(read[0].average, DVec3::new(0.25, -1.0, 3.0));
    assert_eq!(read[1].average, DVec3::new(0.5, 0.0, 7.0));
    assert_eq!(read[0].state, ContactState::Stick);
    assert_eq!(read[1].state, ContactState::Slip);
    let written = CapturedProblem::from_bytes(&captured().to_bytes()).unwrap();
    assert_eq!(written.warm.contacts, captured().warm.contacts);
    // Older files have neither array.
    let older = warm_with(&[]).unwrap();
    assert_eq!(older.len(), 2);
    for known in older {
        assert_eq!(
            (known.average, known.state),
            (DVec3::ZERO, ContactState::Open)
        );
    }
    let half = warm_with(&[states(&[2, 0])]).unwrap();
    assert_eq!(
        (half[0].average, half[0].state),
        (DVec3::ZERO, ContactState::Slip)
    );
}

#[test]
fn invalid_averages_and_states_are_reported() {
    let six = averages(&[0.0; 6]);
    let cases = [
        (
            vec![six.clone(), states(&[0, 3])],
            "warm/states has 3, which is no state",
        ),
        // 257 must not be truncated to 1.
        (
            vec![six.clone(), states(&[257, 0])],
            "warm/states has 257, which is no state",
        ),
        (
            vec![six.clone(), states(&[0])],
            "warm/states has 1 entries, but 2 are needed",
        ),
        (
            vec![six.clone(), states(&[0; 3])],
            "warm/states has 3 entries, but 2 are needed",
        ),
        (
            vec![averages(&[0.0; 3])],
            "warm/averages has 1 entries, but 2 are needed",
        ),
        (
            vec![averages(&[f64::NAN; 6])],
            "warm/averages is not finite",
        ),
        (
            vec![("warm/averages", "F64", vec![6], six.3)],
            "warm/averages has the shape [6]",
        ),
        (
            vec![("warm/states", "F64", vec![2], vec![0; 2])],
            "warm/states holds F64, not U64",
        ),
    ];
    for (arrays, reason) in cases {
        let message = warm_with(&arrays).unwrap_err();
        assert!(message.contains(reason), "{message}");
    }
}
