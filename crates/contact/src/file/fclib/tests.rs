//! The three storage formats, round trips, and invalid files.

use hdf5_pure::FileBuilder;
use proptest::prelude::*;

use super::*;
use crate::random::Random;

type Change = fn(&mut Local);

/// Arrays of a file with a local problem of two contacts.
#[derive(Clone)]
struct Local {
    spacedim: Vec<i32>,
    sizes: [i32; 3],
    p: Vec<i32>,
    i: Vec<i32>,
    x: Vec<f64>,
    q: Vec<f64>,
    mu: Vec<f64>,
}

/// W is the identity with an entry of 0.5 in row 4 and column 0, in compressed rows.
fn by_rows() -> Local {
    Local {
        spacedim: vec![3],
        sizes: [6, 6, -2],
        p: vec![0, 1, 2, 3, 4, 6, 7],
        i: vec![0, 1, 2, 3, 0, 4, 5],
        x: vec![1.0, 1.0, 1.0, 1.0, 0.5, 1.0, 1.0],
        q: vec![-1.0, 0.1, 0.0, 1.0, 0.0, 0.0],
        mu: vec![0.5, 0.0],
    }
}

impl Local {
    fn bytes(&self) -> Vec<u8> {
        let mut file = FileBuilder::new();
        let mut group = file.create_group("fclib_local");
        group
            .create_dataset("spacedim")
            .with_i32_data(&self.spacedim);
        let mut matrix = group.create_group("W");
        for (name, size) in ["m", "n", "nz"].into_iter().zip(self.sizes) {
            matrix.create_dataset(name).with_i32_data(&[size]);
        }
        matrix.create_dataset("p").with_i32_data(&self.p);
        matrix.create_dataset("i").with_i32_data(&self.i);
        matrix.create_dataset("x").with_f64_data(&self.x);
        group.add_group(matrix.finish());
        let mut vectors = group.create_group("vectors");
        vectors.create_dataset("q").with_f64_data(&self.q);
        vectors.create_dataset("mu").with_f64_data(&self.mu);
        group.add_group(vectors.finish());
        file.add_group(group.finish());
        file.finish().unwrap()
    }
}

fn read_local(file: &Local) -> DelassusProblem {
    match FclibProblem::from_bytes(&file.bytes()).unwrap() {
        FclibProblem::Local(problem) => problem,
        FclibProblem::Global(_) => panic!("a local problem"),
    }
}

#[test]
fn all_three_storage_formats_have_the_same_matrix() {
    let problem = read_local(&by_rows());
    assert_eq!(problem.friction, [0.5, 0.0]);
    assert_eq!(problem.free, [DVec3::new(-1.0, 0.1, 0.0), DVec3::X]);
    let (columns, blocks) = problem.operator.row(1);
    assert_eq!((columns, blocks[1]), (&[0, 1][..], DMat3::IDENTITY));
    assert_eq!(blocks[0].col(0)[1], 0.5);
    let by_columns = Local {
        sizes: [6, 6, -1],
        p: vec![0, 2, 3, 4, 5, 6, 7],
        i: vec![0, 4, 1, 2, 3, 4, 5],
        x: vec![1.0, 0.5, 1.0, 1.0, 1.0, 1.0, 1.0],
        ..by_rows()
    };
    assert_eq!(read_local(&by_columns), problem);
    // Unsorted, with an entry in two parts, and with unused space at the end.
    let triplets = Local {
        sizes: [6, 6, 8],
        p: vec![0, 5, 4, 3, 2, 1, 0, 0, -7],
        i: vec![4, 5, 4, 3, 2, 1, 0, 4, -7],
        x: vec![0.25, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.25, f64::NAN],
        ..by_rows()
    };
    assert_eq!(read_local(&triplets), problem);
}

#[test]
fn invalid_values_are_reported_with_their_path() {
    let cases: [(&str, Change); 17] = [
        ("/fclib_local/spacedim is 2, but only", |it| {
            it.spacedim = vec![2]
        }),
        ("/fclib_local/spacedim has 2 entries", |it| {
            it.spacedim = vec![3, 3]
        }),
        ("/fclib_local/vectors/mu is negative at contact 1", |it| {
            it.mu[1] = -0.1
        }),
        ("/fclib_local/vectors/mu is not finite at entry 0", |it| {
            it.mu[0] = f64::NAN
        }),
        ("/fclib_local/vectors/q is not finite at entry 5", |it| {
            it.q[5] = f64::INFINITY
        }),
        ("/fclib_local/vectors/q has 5 entries", |it| {
            it.q.truncate(5)
        }),
        ("/fclib_local/W/x is not finite at entry 4", |it| {
            it.x[4] = f64::NAN
        }),
        ("/fclib_local/W has 6 values in x for 7", |it| {
            it.x.truncate(6)
        }),
        ("/fclib_local/W has 7 entries by p, but 6 in i", |it| {
            it.i.truncate(6)
        }),
        ("/fclib_local/W is [9, 6] in size", |it| it.sizes[0] = 9),
        ("/fclib_local/W is [6, -6] in size", |it| it.sizes[1] = -6),
        ("/fclib_local/W is [2147483647, 2147483647]", |it| {
            it.sizes = [i32::MAX, i32::MAX, 0]
        }),
        ("/fclib_local/W has nz = -3", |it| it.sizes[2] = -3),
        ("/fclib_local/W has nz = 8, but 7 entries in p", |it| {
            it.sizes[2] = 8
        }),
        ("/fclib_local/W has a p that", |it| it.p[2] = 5),
        ("/fclib_local/W has 8 entries in p, not 7", |it| {
            it.p.push(7)
        }),
        ("/fclib_local/W has entry 6 outside", |it| it.i[6] = 6),
    ];
    for (reason, change) in cases {
        let mut file = by_rows();
        change(&mut file);
        let message = FclibProblem::from_bytes(&file.bytes())
            .unwrap_err()
            .to_string();
        assert!(message.contains(reason), "{message}");
    }
}

#[test]
fn wrong_types_and_missing_objects_are_reported() {
    let message = |file: FileBuilder| {
        let bytes = file.finish().unwrap();
        FclibProblem::from_bytes(&bytes).unwrap_err().to_string()
    };
    let mut file = FileBuilder::new();
    file.create_dataset("x").with_i32_data(&[1]);
    assert!(message(file).contains("neither a group /fclib_local nor /fclib_global"));
    let mut file = FileBuilder::new();
    let mut group = file.create_group("fclib_local");
    group.create_dataset("spacedim").with_f64_data(&[3.0]);
    file.add_group(group.finish());
    assert!(message(file).contains("/fclib_local/spacedim holds f64, but must hold i32"));
    let mut file = FileBuilder::new();
    let mut group = file.create_group("fclib_global");
    group.create_dataset("spacedim").with_i32_data(&[3]);
    file.add_group(group.finish());
    assert!(message(file).contains("/fclib_global/vectors/mu cannot be read"));
    let mut file = FileBuilder::new();
    let mut group = file.create_group("fclib_local");
    let compressed = group.create_dataset("spacedim").with_i32_data(&[3]);
    compressed.with_chunks(&[1]).with_shuffle();
    file.add_group(group.finish());
    assert!(message(file).contains("/fclib_local/spacedim is compressed"));
    let mut file = FileBuilder::new();
    let mut group = file.create_group("fclib_global");
    let constraints = group.create_group("G").finish();
    group.add_group(constraints);
    file.add_group(group.finish());
    assert!(message(file).contains("bilateral constraints (G), which are not supported"));
    assert!(FclibProblem::from_bytes(b"no HDF5").is_err());
    assert!(FclibProblem::from_bytes(b"\x89HDF\r\n\x1a\n").is_err());
}

#[test]
fn an_array_larger_than_the_file_is_refused() {
    let mut file = FileBuilder::new();
    let mut group = file.create_group("fclib_local");
    group.create_dataset("spacedim").with_i32_data(&[3]);
    let mut vectors = group.create_group("vectors");
    let mu = vectors.create_dataset("mu").with_f64_data(&[]);
    mu.with_shape(&[0])
        .with_maxshape(&[hdf5_pure::MaxExtent::Unlimited]);
    mu.with_chunks(&[1 << 16]);
    group.add_group(vectors.finish());
    file.add_group(group.finish());
    let mut bytes = file.finish().unwrap();
    // The length of mu is stored before its largest length, which has all bits set.
    let place = bytes
        .windows(16)
        .rposition(|it| it[..8] == [0; 8] && it[8..] == [0xFF; 8]);
    let place = place.unwrap();
    bytes[place..place + 8].copy_from_slice(&(1_u64 << 45).to_le_bytes());
    assert!(FclibProblem::from_bytes(&bytes).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn files_preserve_all_bits(
        entries in prop::collection::vec((0u32..5, 0u32..5, any::<[i16; 9]>()), 0..20),
        rows in prop::collection::vec((0u32..8, 0u32..15, -1e9..1e9), 0..40),
        friction in prop::collection::vec(0.0..2.0, 5),
    ) {
        let block = |e: &[i16; 9]| DMat3::from_cols_array(&e.map(|x| f64::from(x) / 7.0));
        let blocks = entries.iter().map(|(row, column, e)| (*row, *column, block(e)));
        let free: Vec<DVec3> = (0..5).map(|i| DVec3::new(f64::from(i), 0.1, -1e-300)).collect();
        let local = DelassusProblem::new(BlockRows::new(5, blocks), free.clone(), friction.clone());
        let mass = (0..8).map(|row| (row, row, 1.0 / f64::from(row + 1)));
        let global = GlobalProblem::new(
            SparseRows::new([8; 2], mass),
            SparseRows::new([8, 15], rows),
            (0..8).map(|i| f64::from(i).sin()).collect(),
            free,
            friction,
        );
        let problems = [
            FclibProblem::Local(local.unwrap()),
            FclibProblem::Global(global.unwrap()),
        ];
        for problem in problems {
            let bytes = problem.to_bytes("a random problem").unwrap();
            prop_assert_eq!(FclibProblem::from_bytes(&bytes).unwrap(), problem);
        }
    }
}

#[test]
fn a_problem_without_contacts_can_be_stored() {
    for problem in [
        FclibProblem::Local(DelassusProblem::default()),
        FclibProblem::Global(GlobalProblem::default()),
    ] {
        let bytes = problem.to_bytes("").unwrap();
        let read = FclibProblem::from_bytes(&bytes).unwrap();
        assert_eq!(read.contacts(), 0);
    }
}

#[test]
fn damaged_files_never_cause_a_panic() {
    let bytes = by_rows().bytes();
    let mut random = Random::new(7);
    let mut next = |end: usize| random.below(end);
    for round in 0..400 {
        let mut changed = bytes.clone();
        for _ in 0..=next(4) {
            changed[next(bytes.len())] = [0, 1, 0x7F, 0xFF, next(256) as u8][next(5)];
        }
        if round % 5 == 0 {
            changed.truncate(next(bytes.len()));
        }
        // The result is a problem or an error.
        if let Ok(problem) = FclibProblem::from_bytes(&changed) {
            assert!(problem.contacts() <= bytes.len());
        }
    }
}
