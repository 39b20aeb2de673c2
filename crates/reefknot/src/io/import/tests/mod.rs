//! Small files of every kind, and what is wrong with them.

mod curves;
mod gmsh;
mod obj;
mod ply;
mod round_trip;

use super::*;

fn read(name: &str, text: &str) -> Imported {
    let imported = import(name, text.as_bytes()).unwrap();
    // The fast path gives the same points.
    let points = import_points(name, text.as_bytes()).unwrap();
    assert_eq!(points, imported.points);
    imported
}

fn refusal(name: &str, bytes: impl AsRef<[u8]>) -> String {
    import(name, bytes.as_ref()).unwrap_err().to_string()
}

fn group<'a>(imported: &'a Imported, name: &str) -> &'a [u32] {
    let found = imported.groups.iter().find(|group| group.name == name);
    &found.unwrap().vertices
}

#[test]
fn a_name_that_says_something_else_than_the_file_is_refused() {
    let ply = "ply\nformat ascii 1.0\nelement vertex 1\nend_header\n";
    assert_eq!(
        refusal("a.obj", ply),
        "line 1: the name ends in .obj, but the file holds PLY; let its name end in .ply"
    );
    assert_eq!(
        refusal("mesh.PLY", "v 1 2 3\n"),
        "line 1: the name ends in .PLY, but the file does not start like PLY; \
         write the mesh again, or let the name end in what the file is"
    );
    assert_eq!(
        refusal("a.msh", "solid cube\nfacet"),
        "line 1: the name ends in .msh, but the file holds STL; \
         convert it to Wavefront OBJ (.obj), PLY (.ply) or Gmsh (.msh)"
    );
    let utf16 = b"\xff\xfev\x00 \x001\x00";
    assert!(refusal("a.obj", utf16).contains("the file holds text in UTF-16"));
}

#[test]
fn an_unknown_extension_lists_those_that_are_known() {
    assert_eq!(
        refusal("folder.obj/dragon.stl", "solid"),
        "the file: the extension `stl` is not known; \
         give it as Wavefront OBJ (.obj), PLY (.ply) or Gmsh (.msh)"
    );
    assert_eq!(
        refusal("dragon", "$MeshFormat\n"),
        "the file: the name has no extension to tell the format by; \
         it holds Gmsh, so let its name end in .msh"
    );
}

#[test]
fn an_empty_file_says_so() {
    for name in ["a.obj", "a.ply", "a.msh"] {
        assert_eq!(
            refusal(name, " \r\n"),
            "line 1: it is empty; write the mesh again, or choose another file"
        );
    }
}

#[test]
fn what_a_message_quotes_is_short_and_printable() {
    let text = format!("v 0 0 0\n\u{1b}[31m{}\n", "x".repeat(100_000));
    let message = refusal("a.obj", text);
    assert!(message.starts_with("line 2: `\u{fffd}[31mxxx"), "{message}");
    assert!(message.len() < 200 && !message.contains('\u{1b}'));
}
