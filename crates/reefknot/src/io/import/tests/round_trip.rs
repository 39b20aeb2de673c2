//! What is written is read back, in every format and encoding.

#[path = "../../../../examples/fuzz_meshes/write.rs"]
mod write;

use proptest::prelude::*;
use write::{ENCODINGS, Encoding, Shape};

use super::*;

/// Any number that a mesh may have, very small and very large ones too.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![-10.0..10.0f64, prop::num::f64::NORMAL, Just(0.0)]
}

/// A mesh of any points, whose elements name no vertex twice.
fn shape() -> impl Strategy<Value = Shape> {
    let points = prop::collection::vec([number(), number(), number()], 8..40);
    let numbers = prop::collection::vec(any::<prop::sample::Index>(), 0..120);
    (points, numbers).prop_map(|(points, numbers)| {
        let count = points.len() as u32;
        // Corners a little apart, around the ring of all vertices.
        let corner = |start: &prop::sample::Index, step: u32| {
            (start.index(points.len()) as u32 + 2 * step) % count
        };
        let (triangles, lines) = numbers.split_at(numbers.len() / 2);
        let triangles = triangles
            .iter()
            .map(|at| [0, 1, 2].map(|step| corner(at, step)));
        let lines = lines.iter().map(|at| [corner(at, 0), corner(at, 1)]);
        let (triangles, lines) = (triangles.collect(), lines.collect());
        Shape {
            points: points.clone(),
            triangles,
            lines,
            tetrahedra: Vec::new(),
        }
    })
}

fn points(shape: &Shape) -> Vec<DVec3> {
    shape
        .points
        .iter()
        .map(|point| DVec3::from(*point))
        .collect()
}

/// A tag for each vertex: in order, mixed up, or far apart.
fn tag(kind: u8, vertex: u32) -> u32 {
    match kind {
        0 => vertex + 1,
        1 => 100 - vertex,
        _ => vertex * 7_654_321 + 5,
    }
}

#[test]
fn a_tetrahedron_is_the_same_in_every_gmsh_format() {
    let shape = Shape {
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
        &write::gmsh2(&shape, Encoding::Text, |vertex| vertex),
    )
    .unwrap();
    assert_eq!(expected.tetrahedra, shape.tetrahedra);
    assert_eq!(group(&expected, "surface"), [0, 1, 2]);
    assert_eq!(group(&expected, "body"), [0, 1, 2, 3]);
    assert_eq!(expected.lines, [[3, 4]]);
    for encoding in ENCODINGS {
        for kind in 0..3 {
            let tag = |vertex| tag(kind, vertex);
            let (two, four) = (
                write::gmsh2(&shape, encoding, tag),
                write::gmsh4(&shape, encoding, tag),
            );
            assert_eq!(import("a.msh", &two).unwrap(), expected, "{encoding:?}");
            assert_eq!(import("a.msh", &four).unwrap(), expected, "{encoding:?}");
        }
    }
}

#[test]
fn no_beginning_of_a_file_is_taken_for_the_whole() {
    let shape = Shape {
        points: vec![[0.5, 0.25, 0.125]; 5],
        triangles: vec![[0, 1, 2], [1, 2, 3]],
        lines: vec![[3, 4]],
        tetrahedra: vec![[0, 1, 2, 3]],
    };
    for encoding in ENCODINGS {
        for (name, bytes) in [
            ("a.ply", write::ply(&shape, encoding)),
            ("a.msh", write::gmsh2(&shape, encoding, |vertex| vertex)),
            ("a.msh", write::gmsh4(&shape, encoding, |vertex| vertex)),
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
                        assert_ne!(error.place, Place::Nowhere);
                        assert!(!error.advice.is_empty());
                    }
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read(shape in shape(), kind in 0..3u8) {
        let obj = import("a.obj", &write::obj(&shape)).unwrap();
        prop_assert_eq!(&obj.points, &points(&shape));
        prop_assert_eq!(&obj.triangles, &shape.triangles);
        prop_assert_eq!(&obj.lines, &shape.lines);
        for encoding in ENCODINGS {
            let bytes = write::ply(&shape, encoding);
            let ply = import("a.ply", &bytes).unwrap();
            prop_assert_eq!(&ply, &Imported { groups: Vec::new(), ..obj.clone() });
            prop_assert_eq!(import_points("a.ply", &bytes).unwrap(), points(&shape));
            for bytes in [
                write::gmsh2(&shape, encoding, |vertex| tag(kind, vertex)),
                write::gmsh4(&shape, encoding, |vertex| tag(kind, vertex)),
            ] {
                let gmsh = import("a.msh", &bytes).unwrap();
                prop_assert_eq!(&gmsh.points, &points(&shape));
                prop_assert_eq!(&gmsh.triangles, &shape.triangles);
                for name in ["surface", "wire"] {
                    let find = |imported: &Imported| imported.groups.iter().find(|group| group.name == name).cloned();
                    prop_assert_eq!(find(&gmsh), find(&obj));
                }
                prop_assert_eq!(import_points("a.msh", &bytes).unwrap(), points(&shape));
            }
        }
    }
}
