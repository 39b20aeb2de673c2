//! Lines as curves, and the order of the vertices.

use super::*;
use crate::mesh::Curve;

fn points(count: usize) -> String {
    (0..count).map(|index| format!("v {index} 0 0\n")).collect()
}

fn mesh(count: usize, statements: &str) -> (crate::mesh::Mesh, Vec<u32>) {
    let imported = read("a.obj", &(points(count) + statements));
    let (mesh, origins) = imported.into_mesh().unwrap();
    // Points of the mesh have the positions of the file.
    for (point, origin) in mesh.points.iter().zip(&origins) {
        assert_eq!(point.x, f64::from(*origin));
    }
    (mesh, origins)
}

fn refused(statements: &str) -> String {
    let imported = read("a.obj", &(points(6) + statements));
    imported.into_mesh().unwrap_err().to_string()
}

fn curve(first: u32, count: u32, closed: bool) -> Curve {
    Curve {
        first,
        count,
        closed,
    }
}

#[test]
fn lines_in_order_keep_their_numbers() {
    let (mesh, origins) = mesh(6, "l 4 5 6\nl 1 2 3 1\n");
    assert_eq!(mesh.curves, [curve(3, 3, false), curve(0, 3, true)]);
    assert_eq!(origins, [0, 1, 2, 3, 4, 5]);
}

#[test]
fn segments_in_any_order_are_chained_along_the_first() {
    for text in [
        "l 1 2\nl 2 3\nl 3 4\n",
        "l 2 3\nl 1 2\nl 3 4\n",
        "l 3 4\nl 2 1\nl 3 2\n",
    ] {
        let (mesh, origins) = mesh(4, text);
        assert_eq!(mesh.curves, [curve(0, 4, false)], "{text}");
        assert_eq!(origins, [0, 1, 2, 3]);
    }
    // The first segment runs backwards, and so does the curve.
    let (backwards, origins) = mesh(4, "l 3 2\nl 3 4\nl 1 2\n");
    assert_eq!(backwards.curves, [curve(0, 4, false)]);
    assert_eq!(origins, [3, 2, 1, 0]);
}

#[test]
fn a_ring_of_segments_is_closed() {
    let (mesh, origins) = mesh(5, "l 2 4\nl 4 1\nl 1 2\nl 3 5\n");
    assert_eq!(mesh.curves, [curve(0, 3, true), curve(3, 2, false)]);
    assert_eq!(origins, [1, 3, 0, 2, 4]);
}

#[test]
fn triangles_come_first_and_shared_vertices_are_duplicated() {
    let (mesh, origins) = mesh(7, "g rod\nl 3 1 2\ng cloth\nf 4 5 3\n");
    assert_eq!(origins, [2, 3, 4, 2, 0, 1]);
    assert_eq!(mesh.triangles, [[1, 2, 0]]);
    assert_eq!(mesh.curves, [curve(3, 3, false)]);
    // Vertices 6 and 7 have no element. The shared one is in both groups, twice.
    assert_eq!(mesh.groups[0].vertices, [0, 3, 4, 5]);
    assert_eq!(mesh.groups[1].vertices, [0, 1, 2, 3]);
}

#[test]
fn lines_after_triangles_keep_their_numbers() {
    let (mesh, origins) = mesh(6, "l 4 5 6\nf 1 2 3\n");
    assert_eq!(origins, [0, 1, 2, 3, 4, 5]);
    assert_eq!(mesh.curves, [curve(3, 3, false)]);
}

#[test]
fn points_without_elements_are_all_kept() {
    assert_eq!(mesh(3, "").0.points.len(), 3);
}

#[test]
fn the_error_of_a_branch_names_the_vertex() {
    let advice = "rods do not branch; end the lines at vertices of their own";
    for (text, message) in [
        (
            "l 1 2\nl 2 3\nl 2 4\n",
            "vertex 1, counted from 0: three lines meet",
        ),
        (
            "l 1 2 3\nl 3 4 5\n",
            "vertex 2, counted from 0: it is on two lines, or twice on one",
        ),
        (
            "l 1 2 3 4 2\n",
            "vertex 1, counted from 0: it is on two lines, or twice on one",
        ),
        (
            "l 1 2 3\nl 3 4\n",
            "vertex 2, counted from 0: it is on two lines, or twice on one",
        ),
        (
            "l 1 2\nl 2 1\n",
            "vertex 1, counted from 0: the same segment occurs twice",
        ),
    ] {
        assert_eq!(refused(text), format!("{message}; {advice}"));
    }
}

#[test]
fn tetrahedra_keep_the_orientation_of_the_file() {
    // The diagnosis decides later, from all tetrahedra, whether inverted ones are a defect.
    let imported = Imported {
        points: vec![DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z],
        tetrahedra: vec![[0, 1, 2, 3], [1, 0, 2, 3]],
        ..Imported::default()
    };
    let tetrahedra = imported.tetrahedra.clone();
    assert_eq!(imported.into_mesh().unwrap().0.tetrahedra, tetrahedra);
}

#[test]
fn elements_of_missing_points_are_refused() {
    let imported = Imported {
        points: vec![DVec3::ZERO],
        lines: vec![vec![0, 9]],
        ..Imported::default()
    };
    assert_eq!(
        imported.into_mesh().unwrap_err().to_string(),
        "vertex 9, counted from 0: it is used, but there are 1 points; \
         add the point, or remove the elements that use it"
    );
}
