//! Round trips to the bit, and files that are none.

use std::sync::Arc;

use glam::{DMat3, DVec3};

use super::*;
use crate::banded::{BandedBatch, BandedLayout};
use crate::block_sparse::tests::random;
use crate::numbers::Numbers;
use crate::system::Matrix;

/// Rods whose matrices are dominated by their diagonals.
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

/// Two equal sheets, five open rods and a ring, tied to each other, a node held and another held along y: nodes 0 to 9 are
/// those of the sheets, then come four of each rod, and five of the ring.
pub(crate) fn system() -> System {
    let sheet = random(5, &[(0, 3), (1, 4), (2, 3)], 7);
    let mut matrices = vec![Matrix::Blocks(sheet.clone()), Matrix::Blocks(sheet)];
    matrices.push(rods(BandedLayout::rod(4, false), 5));
    matrices.push(rods(BandedLayout::rod(5, true), 1));
    let sheets = (0..10).map(|j| 3 * j);
    let open = (0..20).map(|j| 30 + j / 4 * 15 + j % 4 * 4);
    let ring = (0..5).map(|j| 105 + 4 * j);
    let mut whole = System::new(matrices, sheets.chain(open).chain(ring).collect());
    whole.couple(vec![
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

/// Contacts of every kind on [`system`]: on free, held and tied nodes, with cohesion and compliance.
pub(crate) fn captured() -> CapturedProblem {
    let system = system();
    let (dofs, nodes) = (system.dofs(), system.node_offset.len());
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
    let problem = NodalProblem {
        system,
        force: (0..dofs)
            .map(|dof| (dof as f64 * 0.37).sin() * 0.2)
            .collect(),
        step: 0.01,
        masses: (0..nodes).map(|node| 0.5 + 0.1 * node as f64).collect(),
        mobilities: vec![1.5; nodes],
        arms: vec![(33, 0.002), (37, 0.002)],
        contacts,
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
fn a_problem_comes_back_to_the_bit() {
    let captured = captured();
    let bytes = captured.to_bytes();
    let read = CapturedProblem::from_bytes(&bytes).unwrap();
    // The bytes hold every number, so equal bytes are equal problems.
    assert_eq!(read.to_bytes(), bytes);
    let (one, other) = (&captured.problem, &read.problem);
    assert_eq!(one.system.entries(), other.system.entries());
    assert_eq!(one.system.cut(), other.system.cut());
    assert_eq!(one.system.couplings(), other.system.couplings());
    assert_eq!(one.system.is_merged(), other.system.is_merged());
    assert_eq!(one.system.node_offset, other.system.node_offset);
    assert_eq!(one.contacts, other.contacts);
    assert_eq!((&one.force, &one.arms), (&other.force, &other.arms));
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
fn a_problem_without_anything_comes_back_too() {
    let mut empty = CapturedProblem::default();
    (empty.problem.step, empty.tolerance) = (0.01, 1e-5);
    let read = CapturedProblem::from_bytes(&empty.to_bytes()).unwrap();
    assert_eq!(read.problem.system.dofs(), 0);
    assert_eq!(read.to_bytes(), empty.to_bytes());
}

type Change = fn(&mut CapturedProblem);

/// What is said of the problem after a change.
fn complaint(change: impl FnOnce(&mut CapturedProblem)) -> String {
    let mut captured = captured();
    change(&mut captured);
    let read = CapturedProblem::from_bytes(&captured.to_bytes());
    read.unwrap_err().to_string()
}

#[test]
fn every_number_that_makes_no_sense_is_named() {
    let cases: [(&str, Change); 15] = [
        ("tolerance must be positive", |it| it.tolerance = 0.0),
        ("tolerance is not finite", |it| it.tolerance = f64::NAN),
        ("time step must be positive", |it| it.problem.step = -1.0),
        ("force is not finite at entry 3", |it| {
            it.problem.force[3] = f64::INFINITY
        }),
        ("force has 1 entries", |it| it.problem.force = vec![0.0]),
        ("mass of 2 must be positive", |it| {
            it.problem.masses[2] = 0.0
        }),
        ("arm of 0 must be", |it| it.problem.arms[0].0 = 125),
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
        let said = complaint(change);
        assert!(said.contains(reason), "{said}");
    }
}

#[test]
fn matrices_and_ties_that_make_no_sense_are_named() {
    fn tie(it: &mut CapturedProblem, nodes: Vec<(u32, f64)>) {
        let block = DMat3::IDENTITY;
        it.problem.system.couple(vec![Coupling { nodes, block }]);
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
        let said = complaint(change);
        assert!(said.contains(reason), "{said}");
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
    CapturedProblem::from_bytes(&bytes).unwrap_err().to_string()
}

#[test]
fn other_files_are_refused_by_name_version_and_content() {
    assert!(edited("reefknot-problem", "reefknot-prablem").contains("format"));
    assert!(edited("\"version\":\"1\"", "\"version\":\"2\"").contains("version 2"));
    assert!(edited("\"force\"", "\"farce\"").contains("force is not in the file"));
    assert!(edited("F64", "I64").contains("step holds I64, not F64"));
    assert!(edited("[1]", "[2]").contains("no safetensors file"));
    assert!(CapturedProblem::from_bytes(b"12345678{").is_err());
}

#[test]
fn integers_that_no_memory_holds_are_refused() {
    // Every integer of the file in turn becomes huge, or one more.
    let bytes = captured().to_bytes();
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let mut refused = 0;
    for place in (8 + length..bytes.len()).step_by(8) {
        for value in [u64::MAX, 1 << 40] {
            let mut changed = bytes.clone();
            changed[place..place + 8].copy_from_slice(&value.to_le_bytes());
            refused += usize::from(CapturedProblem::from_bytes(&changed).is_err());
        }
    }
    // u64::MAX is no number wherever a number is; 2⁴⁰ is a small one there.
    assert!(refused > (bytes.len() - length) / 8, "{refused}");
}

#[test]
fn no_change_of_bytes_makes_it_panic() {
    let bytes = captured().to_bytes();
    let mut numbers = Numbers(7);
    let mut next = |end: usize| numbers.below(end);
    for round in 0..400 {
        let mut changed = bytes.clone();
        for _ in 0..=next(3) {
            // Half of the changes go to the header, where they do more.
            let limit = if next(2) == 0 { 1500 } else { bytes.len() };
            changed[next(limit)] = next(256) as u8;
        }
        if round % 4 == 0 {
            changed.truncate(next(bytes.len()));
        }
        if let Ok(read) = CapturedProblem::from_bytes(&changed) {
            // What is let in can be computed with.
            let dofs = read.problem.system.dofs();
            read.problem.residual(&vec![1.0; dofs], &[DVec3::ONE; 4]);
            read.problem.groups();
        }
    }
}

/// An array of a file: its name, type and shape, and the bits of its entries.
type Array<'a> = (&'a str, &'a str, Vec<usize>, Vec<u64>);

/// The file without the array of this name and all that follow it, and with others in their place.
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
            ",\"{name}\":{{\"dtype\":\"{kind}\",\"shape\":{shape:?},\"data_offsets\":[{begin},{end}]}}"
        );
    }
    header.push('}');
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.as_bytes());
    file.extend(data);
    file
}

/// A warm start with other averages and states.
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
fn averages_and_states_come_back_and_are_nothing_in_older_files() {
    let numbers = [0.25, -1.0, 3.0, 0.5, 0.0, 7.0];
    let read = warm_with(&[averages(&numbers), states(&[1, 2])]).unwrap();
    assert_eq!(read[0].average, DVec3::new(0.25, -1.0, 3.0));
    assert_eq!(read[1].average, DVec3::new(0.5, 0.0, 7.0));
    assert_eq!(read[0].state, ContactState::Stick);
    assert_eq!(read[1].state, ContactState::Slip);
    let written = CapturedProblem::from_bytes(&captured().to_bytes()).unwrap();
    assert_eq!(written.warm.contacts, captured().warm.contacts);
    // Files of before have neither array.
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
fn averages_and_states_that_make_no_sense_are_refused_by_name() {
    let six = averages(&[0.0; 6]);
    let cases = [
        (
            vec![six.clone(), states(&[0, 3])],
            "warm/states has 3, which is no state",
        ),
        // 257 is 1 in a byte.
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
        let said = warm_with(&arrays).unwrap_err();
        assert!(said.contains(reason), "{said}");
    }
}
