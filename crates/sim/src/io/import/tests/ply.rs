//! PLY.

use super::*;

const HEADER: &str = "ply\nformat ascii 1.0\ncomment none\nelement vertex 4\nproperty float x\n\
    property float y\nproperty float z\nelement face 1\n\
    property list uchar int vertex_indices\nend_header\n";
const POINTS: &str = "0 0 0\n1 0 0\n1 1 0\n0 1 0\n";

fn whole() -> String {
    format!("{HEADER}{POINTS}4 0 1 2 3\n")
}

fn square() -> Imported {
    read("a.ply", &whole())
}

#[test]
fn a_square_becomes_two_triangles() {
    assert_eq!(square().triangles, [[0, 1, 2], [0, 2, 3]]);
    assert_eq!(square().points[2], DVec3::new(1.0, 1.0, 0.0));
}

#[test]
fn alternative_names_types_and_line_ends_are_equivalent() {
    for same in [
        whole().replace("vertex_indices", "vertex_index"),
        whole().replace("uchar int", "uint16 uint64"),
        whole().replace("float", "double"),
        whole().replace("float", "int8"),
        whole().replace('\n', "\r\n"),
        whole().replace('\n', "\r"),
        whole().replace("comment none", "obj_info 3 4"),
        whole().trim_end().to_owned(),
        format!("{}\n \n", whole()),
    ] {
        assert_eq!(read("a.ply", &same), square(), "{same}");
    }
}

#[test]
fn columns_may_have_any_order_with_others_between() {
    let text = "ply\nformat ascii 1.0\nelement vertex 2\nproperty float z\n\
        property list uchar float weights\nproperty float x\nproperty uchar red\n\
        property float y\nend_header\n3 2 nan 9 1 255 2\n6 0 4 255 5\n";
    let points = read("a.ply", text).points;
    assert_eq!(
        points,
        [DVec3::new(1.0, 2.0, 3.0), DVec3::new(4.0, 5.0, 6.0)]
    );
}

#[test]
fn a_line_feed_byte_after_a_lone_carriage_return_is_data() {
    // In binary the first x is 10, which is also a line feed.
    let header = "ply\nformat binary_little_endian 1.0\nelement vertex 1\nproperty uchar x\n\
        property uchar y\nproperty uchar z\nend_header\n";
    for header in [
        header.to_owned(),
        header.replace('\n', "\r\n"),
        header.replace('\n', "\r"),
    ] {
        let bytes = [header.as_bytes(), &[10, 13, 10]].concat();
        let imported = import("a.ply", &bytes).unwrap();
        assert_eq!(imported.points, [DVec3::new(10.0, 13.0, 10.0)]);
    }
}

#[test]
fn triangle_strips_keep_their_orientation() {
    let text = HEADER
        .replace("element face 1", "element tristrips 1")
        .replace("uchar int", "int int");
    let imported = read("a.ply", &format!("{text}{POINTS}9 0 1 3 2 -1 1 2 3 3\n"));
    assert_eq!(imported.triangles, [[0, 1, 3], [3, 1, 2], [1, 2, 3]]);
}

#[test]
fn edges_are_lines() {
    let text = HEADER.replace("element face 1", "element edge 2").replace(
        "list uchar int vertex_indices",
        "int vertex1\nproperty int vertex2",
    );
    let imported = read("a.ply", &format!("{text}{POINTS}0 1\n1 2\n"));
    assert_eq!(imported.lines, [[0, 1], [1, 2]]);
}

fn refused(from: &str, to: &str) -> String {
    assert!(whole().contains(from), "{from}");
    refusal("a.ply", whole().replacen(from, to, 1))
}

#[test]
fn errors_of_headers_have_their_line() {
    for (from, to, message) in [
        (
            "ascii 1.0",
            "ebcdic 1.0",
            "line 2: the format `ebcdic` is not known; \
             write it as `ascii`, `binary_little_endian` or `binary_big_endian`, version 1.0",
        ),
        (
            "format ascii 1.0\n",
            "",
            "line 9: the header has no format; \
             add the line `format ascii 1.0`, or that of the binary format",
        ),
        (
            "float y",
            "quad y",
            "line 6: the type `quad` is not known; \
             use char, uchar, short, ushort, int, uint, float or double",
        ),
        (
            "float y",
            "float x",
            "line 6: a second property `x`; remove it, or write the file again",
        ),
        (
            "float y",
            "float yy",
            "line 4: element `vertex` has no property `y`, but `x`, `yy`, `z`; \
             write `y` as a number",
        ),
        (
            "float y",
            "list uchar float y",
            "line 4: property `y` is not a number; write `y` as a number",
        ),
        (
            "uchar int",
            "uchar float",
            "line 8: property `vertex_indices` is not a list of whole numbers; \
             write `vertex_indices` as a list of whole numbers",
        ),
        (
            "uchar int",
            "float int",
            "line 9: the length of a list cannot have digits after the point; \
             give it a type such as `uchar`",
        ),
    ] {
        assert_eq!(refused(from, to), message);
    }
}

#[test]
fn errors_of_elements_have_their_line() {
    for (from, to, message) in [
        (
            "vertex 4",
            "vertex -4",
            "line 4: -4 rows of `vertex`; give the number of rows that follow",
        ),
        (
            "vertex 4",
            "vertex 0",
            "line 11: the header names no vertices; \
             write the points as `element vertex`, or choose another file",
        ),
        (
            "element face 1",
            "element vertex 1",
            "line 8: a second element `vertex`; put the rows of both into one element",
        ),
        (
            "property list uchar int vertex_indices\n",
            "",
            "line 8: element `face` has no properties; add them, or remove the element",
        ),
        (
            "element vertex 4\n",
            "",
            "line 4: a property before the first element; \
             move it below the element that it belongs to",
        ),
        (
            "comment none",
            "remark none",
            "line 3: `remark` is not a statement of a header; \
             remove the line, or write the file again",
        ),
    ] {
        assert_eq!(refused(from, to), message);
    }
    assert_eq!(
        refusal("a.ply", "ply\nformat ascii 1.0\n"),
        "line 3: the file ends before `end_header`; \
         the file may be cut off; copy or write it again"
    );
}

#[test]
fn errors_of_rows_have_their_line() {
    for (from, to, message) in [
        (
            "1 1 0\n",
            "1 1\n",
            "line 13: the line ends where z should be; add z, or write the file again",
        ),
        (
            "1 1 0\n",
            "1 1 0 7\n",
            "line 13: `7` is one value too many on this line; remove it, or write the file again",
        ),
        (
            "1 1 0\n",
            "1 inf 0\n",
            "line 13: y is `inf`, which is not finite; \
             correct the number; the program that wrote it may have failed",
        ),
        (
            "4 0 1 2 3",
            "4 0 1 2 4",
            "line 15: vertex 4 does not exist; the file has 0 to 3; \
             correct the number, or write the file again",
        ),
        (
            "4 0 1 2 3",
            "-4 0 1 2 3",
            "line 15: a list of -4 items; correct the length, or write the file again",
        ),
        (
            "4 0 1 2 3",
            "2 0 1",
            "line 15: a face of 2 vertices; give it three or more, or remove it",
        ),
        (
            "4 0 1 2 3",
            "9000000000000000000 0 1 2 3",
            "line 15: the line ends where the number of a vertex should be; \
             add the number of a vertex, or write the file again",
        ),
        (
            "face 1",
            "face 4000000000",
            "line 16: the file ends before the 4000000000 rows of `face` are complete; \
             the file may be cut off, or the count in the header wrong; copy or write it again",
        ),
        (
            "face 1",
            "face 0",
            "line 15: the file continues after the last row of its header; \
             correct the counts in the header, or write the file again",
        ),
    ] {
        assert_eq!(refused(from, to), message);
    }
}

#[test]
fn faces_before_the_vertices_are_refused() {
    let text = "ply\nformat ascii 1.0\nelement face 1\nproperty list int int vertex_index\n\
        element vertex 1\nproperty int x\nproperty int y\nproperty int z\nend_header\n\
        3 0 1 2\n0 0 0\n";
    assert_eq!(
        refusal("a.ply", text),
        "line 10: the elements come before the vertices; put `element vertex` first"
    );
    // The points alone can be read.
    assert_eq!(import_points("a.ply", text.as_bytes()).unwrap().len(), 1);
}

#[test]
fn errors_of_binary_files_have_their_byte() {
    let header = "ply\nformat binary_big_endian 1.0\nelement vertex 2\nproperty float x\n\
        property float y\nproperty float z\nend_header\n";
    let at = header.len();
    let numbers = |list: &[f32]| {
        let data = list.iter().flat_map(|number| number.to_be_bytes());
        header.bytes().chain(data).collect::<Vec<u8>>()
    };
    let bytes = numbers(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(import("a.ply", &bytes).unwrap().points[1].z, 6.0);
    assert_eq!(
        refusal("a.ply", &bytes[..bytes.len() - 1]),
        format!(
            "byte {}: the file ends in the middle of z; \
             the file may be cut off; copy or write it again",
            at + 20
        )
    );
    assert_eq!(
        refusal("a.ply", &bytes[..at + 12]),
        format!(
            "byte {}: the file ends before the 2 rows of `vertex` are complete; \
             the file may be cut off, or the count in the header wrong; copy or write it again",
            at + 12
        )
    );
    assert_eq!(
        refusal("a.ply", numbers(&[1.0, f32::NAN, 3.0])),
        format!(
            "byte {}: y is NaN, which is not finite; \
             write the file again; the program that wrote it may have failed",
            at + 8
        )
    );
    assert_eq!(
        refusal("a.ply", [bytes.as_slice(), b"x"].concat()),
        format!(
            "byte {}: the file continues after the last row of its header; \
             correct the counts in the header, or write the file again",
            at + 24
        )
    );
}
