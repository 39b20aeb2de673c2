//! Files of every format and encoding are read back as written.

#[path = "../../../../../reefknot/examples/fuzz_meshes/write.rs"]
mod write;

use proptest::prelude::*;
use write::{ENCODINGS, Encoding, RawMesh};

use super::*;

/// Any number of a mesh, including very small and very large ones.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![-10.0..10.0f64, prop::num::f64::NORMAL, Just(0.0)]
}

/// A mesh of any points, whose elements have no repeated vertex.
fn mesh() -> impl Strategy<Value = RawMesh> {
    let points = prop::collection::vec([number(), number(), number()], 8..40);
    let numbers = prop::collection::vec(any::<prop::sample::Index>(), 0..120);
    (points, numbers).prop_map(|(points, numbers)| {
        let count = points.len() as u32;
        // Every second vertex from a start, modulo their number.
        let corner = |start: &prop::sample::Index, step: u32| {
            (start.index(points.len()) as u32 + 2 * step) % count
        };
        let (triangles, lines) = numbers.split_at(numbers.len() / 2);
        let triangles = triangles
            .iter()
            .map(|at| [0, 1, 2].map(|step| corner(at, step)));
        let lines = lines.iter().map(|at| [corner(at, 0), corner(at, 1)]);
        let (triangles, lines) = (triangles.collect(), lines.collect());
        RawMesh {
            points: points.clone(),
            triangles,
            lines,
            tetrahedra: Vec::new(),
        }
    })
}

fn points(mesh: &RawMesh) -> Vec<DVec3> {
    mesh.points
        .iter()
        .map(|point| DVec3::from(*point))
        .collect()
}

/// A tag for each vertex: ascending, descending, or sparse.
fn tag(kind: u8, vertex: u32) -> u32 {
    match kind {
        0 => vertex + 1,
        1 => 100 - vertex,
        _ => vertex * 7_654_321 + 5,
    }
}

#[test]
fn a_tetrahedron_is_the_same_in_every_gmsh_format() {
    let mesh = RawMesh {
        points: vec![
            [0.0; 3],
            [1.0, 0.0, 0.0],
            [0.0, 1.0, 0.0],
            [0.0, 0.0, 1.0],
            [9.0; 3],
        ],
        triangles: vec![[0, 1, 2]],
        tetrahedra: vec![[0, 1, 2, 3]],
        lines: vec![[3, 4]],
    };
    let expected = import(
        "a.msh",
        &write::gmsh2(&mesh, Encoding::Text, |vertex| vertex),
    )
    .unwrap();
    assert_eq!(expected.tetrahedra, mesh.tetrahedra);
    assert_eq!(group(&expected, "surface"), [0, 1, 2]);
    assert_eq!(group(&expected, "body"), [0, 1, 2, 3]);
    assert_eq!(expected.lines, [[3, 4]]);
    for encoding in ENCODINGS {
        for kind in 0..3 {
            let tag = |vertex| tag(kind, vertex);
            let (two, four) = (
                write::gmsh2(&mesh, encoding, tag),
                write::gmsh4(&mesh, encoding, tag),
            );
            assert_eq!(import("a.msh", &two).unwrap(), expected, "{encoding:?}");
            assert_eq!(import("a.msh", &four).unwrap(), expected, "{encoding:?}");
        }
    }
}

#[test]
fn truncated_files_are_refused() {
    let mesh = RawMesh {
        points: vec![[0.5, 0.25, 0.125]; 5],
        triangles: vec![[0, 1, 2], [1, 2, 3]],
        lines: vec![[3, 4]],
        tetrahedra: vec![[0, 1, 2, 3]],
    };
    for encoding in ENCODINGS {
        for (name, bytes) in [
            ("a.ply", write::ply(&mesh, encoding)),
            ("a.msh", write::gmsh2(&mesh, encoding, |vertex| vertex)),
            ("a.msh", write::gmsh4(&mesh, encoding, |vertex| vertex)),
        ] {
            let whole = import(name, &bytes).unwrap();
            for length in 0..bytes.len() {
                match import(name, &bytes[..length]) {
                    // Only blanks may be missing.
                    Ok(part) if part == whole => {}
                    Ok(_) => panic!(
                        "{name} {encoding:?} read from {length} of {} bytes",
                        bytes.len()
                    ),
                    Err(error) => {
                        assert_ne!(error.place, FilePlace::WholeFile);
                        assert!(!error.advice.is_empty());
                    }
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn meshes_are_read_as_written(mesh in mesh(), kind in 0..3u8) {
        let obj = import("a.obj", &write::obj(&mesh)).unwrap();
        prop_assert_eq!(&obj.points, &points(&mesh));
        prop_assert_eq!(&obj.triangles, &mesh.triangles);
        prop_assert_eq!(&obj.lines, &mesh.lines);
        for encoding in ENCODINGS {
            let bytes = write::ply(&mesh, encoding);
            let ply = import("a.ply", &bytes).unwrap();
            prop_assert_eq!(&ply, &Imported { groups: Vec::new(), ..obj.clone() });
            prop_assert_eq!(import_points("a.ply", &bytes).unwrap(), points(&mesh));
            for bytes in [
                write::gmsh2(&mesh, encoding, |vertex| tag(kind, vertex)),
                write::gmsh4(&mesh, encoding, |vertex| tag(kind, vertex)),
            ] {
                let gmsh = import("a.msh", &bytes).unwrap();
                prop_assert_eq!(&gmsh.points, &points(&mesh));
                prop_assert_eq!(&gmsh.triangles, &mesh.triangles);
                for name in ["surface", "wire"] {
                    let find = |imported: &Imported| {
                        let mut groups = imported.groups.iter();
                        groups.find(|group| group.name == name).cloned()
                    };
                    prop_assert_eq!(find(&gmsh), find(&obj));
                }
                prop_assert_eq!(import_points("a.msh", &bytes).unwrap(), points(&mesh));
            }
        }
    }
}
