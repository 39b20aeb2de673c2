//! Gmsh, versions 2.2 and 4.1.

use super::*;

/// A tetrahedron with groups for its bottom, an edge and a corner; its nodes have the tags 10, 20,
/// 30 and 7.
const VERSION_2: &str = "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n\
$Comments\nanything $EndComments\n$EndComments\n\
$PhysicalNames\n4\n0 1 \"tip\"\n1 2 \"edge\"\n2 3 \"bottom face\"\n3 3 \"body\"\n\
$EndPhysicalNames\n\
$Nodes\n4\n10 0 0 0\n20 1 0 0\n30 0 1 0\n7 0 0 1\n$EndNodes\n\
$Elements\n4\n1 15 2 1 1 7\n2 1 2 2 1 10 20\n3 2 2 3 1 10 20 30\n4 4 3 3 1 0 10 20 30 7\n\
$EndElements\n";

const VERSION_4: &str = "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n\
$PhysicalNames\n4\n0 1 \"tip\"\n1 2 \"edge\"\n2 3 \"bottom face\"\n3 3 \"body\"\n\
$EndPhysicalNames\n\
$Entities\n1 1 1 1\n5 0 0 1 1 1\n1 0 0 0 1 0 0 1 -2 2 1 -2\n1 0 0 0 1 1 0 1 3 0\n\
9 0 0 0 1 1 1 1 3 1 1\n$EndEntities\n\
$Nodes\n2 4 7 30\n2 1 0 3\n10\n20\n30\n0 0 0\n1 0 0\n0 1 0\n0 5 0 1\n7\n0 0 1\n$EndNodes\n\
$Elements\n4 4 1 4\n0 5 15 1\n1 7\n1 1 1 1\n2 10 20\n2 1 2 1\n3 10 20 30\n3 9 4 1\n\
4 10 20 30 7\n$EndElements\n\
$NodeData\n1\n\"x\"\n$EndNodeData\n";

#[test]
fn both_versions_have_the_same_tetrahedron() {
    let two = read("a.msh", VERSION_2);
    assert_eq!(two.tetrahedra, [[0, 1, 2, 3]]);
    assert_eq!(two.points[3], DVec3::Z);
    // The triangle and the line are boundary elements, which only mark groups.
    assert!(two.triangles.is_empty() && two.lines.is_empty());
    assert_eq!(group(&two, "tip"), [3]);
    assert_eq!(group(&two, "edge"), [0, 1]);
    assert_eq!(group(&two, "bottom face"), [0, 1, 2]);
    assert_eq!(group(&two, "body"), [0, 1, 2, 3]);
    assert_eq!(read("a.msh", VERSION_4), two);
    assert_eq!(read("a.msh", &VERSION_4.replace('\n', "\r\n")), two);
}

#[test]
fn lines_that_are_no_boundary_are_kept() {
    let text = VERSION_2.replace("4 4 3 3 1 0 10 20 30 7", "4 1 2 2 1 30 7");
    let imported = read("a.msh", &text);
    assert_eq!(imported.triangles, [[0, 1, 2]]);
    assert_eq!(imported.lines, [[2, 3]]);
}

#[test]
fn sparse_tags_are_found() {
    let text = VERSION_2.replace("30", "2000000000");
    assert_eq!(read("a.msh", &text), read("a.msh", VERSION_2));
}

#[test]
fn only_the_corners_of_second_order_elements_are_used() {
    let rows = "$Elements\n3\n1 8 0 10 20 30\n2 9 0 10 20 30 7 7 7\n\
        3 16 0 10 20 7 30 10 10 10 10\n$EndElements\n";
    let text = format!(
        "{}{rows}",
        &VERSION_2[..VERSION_2.find("$Elements").unwrap()]
    );
    let imported = read("a.msh", &text);
    assert_eq!(imported.triangles[0], [0, 1, 2]);
    assert_eq!(imported.triangles.len(), 3);
    let text = text.replace(
        "3\n1 8 0 10 20 30\n",
        "1\n1 11 0 10 20 30 7 10 10 10 10 10 10\n",
    );
    let text = format!("{}$EndElements\n", &text[..text.find("2 9").unwrap()]);
    assert_eq!(read("a.msh", &text).tetrahedra, [[0, 1, 2, 3]]);
}

fn refused(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "{from}");
    refusal("a.msh", text.replacen(from, to, 1))
}

#[test]
fn errors_of_sections_have_their_line() {
    let versions = "save the mesh as MSH 4.1 or 2.2, in Gmsh by `-format msh41` or `msh22`";
    assert_eq!(
        refused(VERSION_2, "2.2 0", "4.0 0"),
        format!("line 2: version `4.0` of the format is not known; {versions}")
    );
    assert_eq!(
        refusal("a.msh", "$NOD\n1\n"),
        format!("line 1: a Gmsh file of version 1 or without `$MeshFormat`; {versions}")
    );
    assert_eq!(
        refused(VERSION_2, "2.2 0 8", "2.2 3 8"),
        "line 2: 3 is neither 0 for text nor 1 for binary; correct it, or write the file again"
    );
    assert_eq!(
        refused(VERSION_2, "2.2 0 8", "2.2 1 8"),
        "byte 24: the number before this byte should be 1 in four bytes; \
         copy the file as binary, or write it as text"
    );
    assert_eq!(
        refused(VERSION_2, "2.2 0 8", "2.2 1 16"),
        "line 2: numbers of 16 bytes; write the file with numbers of 8 bytes"
    );
    assert_eq!(
        refused(VERSION_2, "$Nodes", "$Knots"),
        "line 28: the file ends where `$EndKnots` should be; \
         the file may be cut off; copy or write it again"
    );
    assert_eq!(
        refused(VERSION_2, "$EndNodes\n", "$EndNodes\nhello\n"),
        "line 21: `hello` where a section such as `$Nodes` should begin; \
         correct the counts of the section before, or write the file again"
    );
    assert_eq!(
        refused(VERSION_2, "\"tip\"", "tip"),
        "line 9: the name of the group is `tip`; write it in quotes, as in `2 1 \"left\"`"
    );
    let nodes = &VERSION_2[VERSION_2.find("$Nodes").unwrap()..VERSION_2.find("$Elements").unwrap()];
    assert_eq!(
        refused(VERSION_2, nodes, &format!("{nodes}{nodes}")),
        "line 22: a second section `$Nodes`; \
         put all nodes into one section, or write the file again"
    );
    assert_eq!(
        refused(VERSION_2, nodes, ""),
        "line 15: the elements come before the nodes; put `$Nodes` before `$Elements`"
    );
    assert_eq!(
        refusal("a.msh", &VERSION_2[..VERSION_2.find("$Nodes").unwrap()]),
        "line 14: the file ends without nodes; write the mesh again with a section `$Nodes`"
    );
    assert_eq!(
        refusal("a.msh", &VERSION_2[..VERSION_2.find("$Elements").unwrap()]),
        "line 21: the file ends without elements; the file may be cut off, copy or write it again"
    );
}

#[test]
fn errors_of_rows_have_their_line() {
    for (from, to, message) in [
        (
            "20 1 0 0\n",
            "20 1 0\n",
            "line 17: the line ends where z should be; add z, or write the file again",
        ),
        (
            "20 1 0 0\n",
            "20 1 0 0 0\n",
            "line 17: `0` is one value too many on this line; remove it, or write the file again",
        ),
        (
            "20 1 0 0\n",
            "-20 1 0 0\n",
            "line 17: the tag of a node is -20, which is negative; \
             correct it, or write the file again",
        ),
        (
            "20 1 0 0\n",
            "10 1 0 0\n",
            "line 15: node 10 occurs twice in the section that begins here; \
             remove one of them, or write the file again",
        ),
        (
            "$Nodes\n4",
            "$Nodes\n3",
            "line 19: `7` where `$EndNodes` should be; \
             correct the counts of the section, or write the file again",
        ),
        (
            "$Nodes\n4",
            "$Nodes\n4000000000000",
            "line 20: the tag of a node is `$EndNodes`, which is not a whole number; \
             correct it, or write the file again",
        ),
        (
            "10 20 30\n",
            "10 20 31\n",
            "line 25: node 31 does not exist; the file has 4 nodes; \
             correct the number, or write the file again",
        ),
        (
            "10 20 30\n",
            "10 20 10\n",
            "line 25: corner 1 of the element occurs twice; remove the element, or mesh again",
        ),
        (
            "3 2 2 3 1 10 20 30\n",
            "3 5 2 3 1 10 20 30\n",
            "line 25: element type 5 is a hexahedron, which cannot be used; \
             mesh the volume with tetrahedra, in Gmsh without recombining or extruding layers",
        ),
        (
            "3 2 2 3 1 10 20 30\n",
            "3 99 2 3 1 10 20 30\n",
            "line 25: element type 99 is not known; \
             mesh with triangles or tetrahedra, or correct the number",
        ),
        (
            "3 2 2 3 1 10 20 30\n",
            "3 2 4000000000 3 1 10 20 30\n",
            "line 25: the line ends where a tag should be; add a tag, or write the file again",
        ),
    ] {
        assert_eq!(refused(VERSION_2, from, to), message);
    }
    assert!(refused(VERSION_2, "3 2 2 3", "3 6 2 3").contains("a prism"));
    assert!(refused(VERSION_2, "3 2 2 3", "3 7 2 3").contains("a pyramid"));
}

#[test]
fn errors_of_blocks_of_version_4_have_their_line() {
    for (from, to, message) in [
        (
            "2 4 7 30\n",
            "2 5 7 30\n",
            "line 29: the blocks hold 4 nodes, but the section begins with 5; \
             correct the numbers, or write the file again",
        ),
        (
            "4 4 1 4\n",
            "4 3 1 4\n",
            "line 40: the blocks hold 4 elements, but the section begins with 3; \
             correct the numbers, or write the file again",
        ),
        (
            "5 0 0 1 1 1\n",
            "5 0 0 1 99 1\n",
            "line 13: an entity of 99 physical groups; the limit is 16; give it fewer groups",
        ),
        (
            "2 1 0 3\n10\n",
            "2 1 0 3\n1x\n",
            "line 21: the tag of a node is `1x`, which is not a whole number; \
             correct it, or write the file again",
        ),
    ] {
        assert_eq!(refused(VERSION_4, from, to), message);
    }
}
