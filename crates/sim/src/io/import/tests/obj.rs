//! Wavefront OBJ.

use super::*;

const SQUARE: &str = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\n";

fn with(statements: &str) -> Imported {
    read("a.obj", &format!("{SQUARE}{statements}"))
}

fn refused(statements: &str) -> String {
    refusal("a.obj", format!("{SQUARE}{statements}"))
}

#[test]
fn all_notations_of_vertices_have_the_same_faces() {
    let plain = with("f 1 2 3\nf 1 3 4\n");
    assert_eq!(plain.points.len(), 4);
    assert_eq!(plain.triangles, [[0, 1, 2], [0, 2, 3]]);
    for same in [
        "f 1/1 2/2 3/3\nf 1/1 3/3 4/4",
        "f 1//1 2//1 3//1\nf 1//1 3//1 4//1",
        "f 1/1/1 2/2/1 3/3/1\nf 1/1/1 3/3/1 4/4/1",
        "f -4 -3 -2\nf -4 -2 -1",
        "f 1 2 3 4",
        "\t f  1   2 3 4 # a comment",
        "vt 0 0\nvn 0 0 1\ns off\nusemtl skin\nmtllib a.mtl\np 1\nf 1 2 3 4\n",
        "f 1 2 \\\n3\\\n 4\n",
        "vn 0 0 \\\n 1\n# C:\\\nf 1 2 3 4",
    ] {
        assert_eq!(with(same), plain, "{same}");
    }
}

#[test]
fn line_ends_byte_order_marks_weights_and_colours_have_no_effect() {
    let plain = with("f 1 2 3 4\n");
    let text = format!("{SQUARE}f 1 2 3 4\n");
    for same in [
        text.replace('\n', "\r\n"),
        text.replace('\n', "\r"),
        text.replace('\n', "\n\n \t\n"),
        format!("\u{feff}{text}"),
        text.replace(" 0\n", " 0 1.0\n"),
        text.replace(" 0\n", " 0 0.5 0.5 0.5\n"),
        text.trim_end().to_owned(),
    ] {
        assert_eq!(read("a.OBJ", &same), plain, "{same}");
    }
    let latin = [b"# caf\xe9 \0\n", text.as_bytes()].concat();
    assert_eq!(import("a.obj", &latin).unwrap(), plain);
}

#[test]
fn relative_numbers_count_back_from_the_last_vertex() {
    let text = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf -3 -2 -1\nv 5 5 5\nf -3 -2 -1\n";
    assert_eq!(read("a.obj", text).triangles, [[0, 1, 2], [1, 2, 3]]);
}

#[test]
fn a_face_that_is_not_convex_is_triangulated_inside() {
    // An L of area 3; a fan from its first corner would extend outside.
    let text = "v 2 1 0\nv 1 1 0\nv 1 2 0\nv 0 2 0\nv 0 0 0\nv 2 0 0\nf 1 2 3 4 5 6\n";
    let imported = read("a.obj", text);
    assert_eq!(imported.triangles.len(), 4);
    let areas = crate::mesh::surface::areas(&imported.points, &imported.triangles);
    assert!((areas.iter().sum::<f64>() - 3.0).abs() < 1e-14);
}

#[test]
fn objects_and_groups_become_groups_of_vertices() {
    let imported = with(
        "o left flap\nf 1 2 3\ng default\nf 2 3 4\ng hem edge\nl 3 4\no\nf 1 2 4\ng\nf 1 3 4\n",
    );
    assert_eq!(group(&imported, "left flap"), [0, 1, 2, 3]);
    assert_eq!(group(&imported, "hem"), [0, 1, 2, 3]);
    assert_eq!(group(&imported, "hem"), group(&imported, "edge"));
    assert_eq!(imported.groups.len(), 3);
}

#[test]
fn lines_keep_their_vertices() {
    let imported = with("l 1 2 3\nl 4/1 3/2\nl 1 2 3 1\n");
    assert_eq!(
        imported.lines,
        [vec![0, 1, 2], vec![3, 2], vec![0, 1, 2, 0]]
    );
}

#[test]
fn the_error_of_a_missing_vertex_names_it() {
    assert_eq!(
        refused("f 1 2 90\n"),
        "line 5: vertex 90 does not exist; the file has 4 vertices before it; \
         correct the number, or put the missing `v` lines before this one"
    );
    assert_eq!(
        refused("\nl -5 1\n"),
        "line 6: vertex -5 does not exist; the file has 4 vertices before it; \
         correct the number, or put the missing `v` lines before this one"
    );
    assert_eq!(
        refused("f 0 1 2\n"),
        "line 5: vertex 0 does not exist; OBJ counts vertices from 1; \
         add 1 to every number, or write the file again"
    );
    for huge in ["4294967297", "9223372036854775807", "-9223372036854775807"] {
        assert!(refused(&format!("f 1 2 {huge}")).contains("does not exist"));
    }
    for no_number in ["99999999999999999999", "1.5", "x", "/1", "-"] {
        assert_eq!(
            refused(&format!("f 1 2 {no_number}"))
                .split_once(": ")
                .unwrap()
                .0,
            "line 5"
        );
        assert!(refused(&format!("f 1 2 {no_number}")).contains("is not a whole number"));
    }
}

#[test]
fn degenerate_faces_and_lines_are_refused() {
    assert_eq!(
        refused("f 1 2\n"),
        "line 5: a face of 2 vertices; give it three or more, or remove it"
    );
    assert_eq!(
        refused("f 1 2 2\n"),
        "line 5: the face has vertex 2 twice in a row; name it once, or remove the face"
    );
    assert!(refused("f 1 2 3 1\n").contains("the face has vertex 1 twice in a row"));
    assert_eq!(
        refused("l 1\n"),
        "line 5: a line of fewer than two vertices; give it two or more, or remove it"
    );
    assert_eq!(
        refused("l 1 3 3\n"),
        "line 5: the line has vertex 3 twice in a row; name it once, or remove the line"
    );
    assert_eq!(
        refused("l 1 2 1\n"),
        "line 5: the line leads to its second vertex and back to vertex 1; \
         give a closed line three vertices or more"
    );
}

#[test]
fn invalid_points_are_refused() {
    assert_eq!(
        refused("v 1 2"),
        "line 5: the file ends where z should be; the file may be cut off; copy or write it again"
    );
    assert_eq!(
        refused("v 1 2\n"),
        "line 5: the line ends where z should be; add z, or write the file again"
    );
    assert_eq!(
        refused("v 1 nan 2\n"),
        "line 5: y is `nan`, which is not finite; \
         correct the number; the program that wrote it may have failed"
    );
    assert!(refused("v 1e999 0 2\n").contains("x is `1e999`, which is not finite"));
    assert_eq!(
        refused("v 0,5 0,1 2,0\n"),
        "line 5: x is `0,5`, which has a comma; \
         write numbers with a point, and blanks between them"
    );
    assert_eq!(
        refused("v 1 2\0 3\n"),
        "line 5: y is `2\u{fffd}`, which is not a number; correct it, or write the file again"
    );
    assert_eq!(
        refusal("a.obj", "# nothing\nvn 0 0 1"),
        "line 2: the file ends without a vertex; \
         give its points as lines `v x y z`, or choose another file"
    );
}

#[test]
fn statements_that_would_change_the_mesh_are_refused() {
    assert_eq!(
        refused("vp 0.1 0.2\ncstype bspline\n"),
        "line 6: `cstype` belongs to a free-form curve or surface; \
         convert the curves and surfaces to polygons in the program that made them"
    );
    assert_eq!(
        refused("call other.obj\n"),
        "line 5: `call` would read another file or start a program; put everything into one file"
    );
    assert_eq!(
        refused("hello\n"),
        "line 5: `hello` is not a statement of OBJ; remove the line, or write the file again"
    );
    let names: Vec<String> = (0..40).map(|index| format!("g{index}")).collect();
    assert_eq!(
        refused(&format!("g {}\n", names.join(" "))),
        "line 5: more than 16 groups at once; give the elements fewer groups"
    );
}

#[test]
fn a_huge_face_that_is_not_convex_is_refused_fast() {
    let mut text = String::new();
    let mut face = String::from("f");
    for index in 0..100_000u32 {
        let (sine, cosine) = (f64::from(index) * 1e-4).sin_cos();
        let radius = f64::from(1 + index % 2);
        text += &format!("v {} {} 0\n", radius * cosine, radius * sine);
        face += &format!(" {}", index + 1);
    }
    assert_eq!(
        refusal("a.obj", text + &face),
        "line 100001: a face of 100000 vertices that is not convex; the limit is 1000; \
         triangulate it in the program that made it"
    );
}
