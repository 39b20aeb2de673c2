//! Small files of every format, valid and with errors.

mod curves;
mod gmsh;
mod obj;
mod ply;
mod round_trip;

use super::*;

fn read(name: &str, text: &str) -> Imported {
    let imported = import(name, text.as_bytes()).unwrap();
    // Reading only the points has the same result.
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
fn an_extension_of_another_format_is_refused() {
    let ply = "ply\nformat ascii 1.0\nelement vertex 1\nend_header\n";
    assert_eq!(
        refusal("a.obj", ply),
        "line 1: the name ends in .obj, but the file is PLY; change the ending of its name to .ply"
    );
    assert_eq!(
        refusal("mesh.PLY", "v 1 2 3\n"),
        "line 1: the name ends in .PLY, but the file does not start like PLY; \
         write the mesh again, or change the ending of the name"
    );
    assert_eq!(
        refusal("a.msh", "solid cube\nfacet"),
        "line 1: the name ends in .msh, but the file is STL; \
         convert it to Wavefront OBJ (.obj), PLY (.ply) or Gmsh (.msh)"
    );
    let utf16 = b"\xff\xfev\x00 \x001\x00";
    assert!(refusal("a.obj", utf16).contains("the file is text in UTF-16"));
}

#[test]
fn the_error_of_an_unknown_extension_lists_the_known_ones() {
    assert_eq!(
        refusal("folder.obj/dragon.stl", "solid"),
        "the file: the extension `stl` is not known; \
         convert it to Wavefront OBJ (.obj), PLY (.ply) or Gmsh (.msh)"
    );
    assert_eq!(
        refusal("dragon", "$MeshFormat\n"),
        "the file: the name has no extension that identifies the format; \
         it is Gmsh, so change the ending of its name to .msh"
    );
}

#[test]
fn an_empty_file_is_refused() {
    for name in ["a.obj", "a.ply", "a.msh"] {
        assert_eq!(
            refusal(name, " \r\n"),
            "line 1: it is empty; write the mesh again, or choose another file"
        );
    }
}

#[test]
fn quotes_in_messages_are_short_and_printable() {
    let text = format!("v 0 0 0\n\u{1b}[31m{}\n", "x".repeat(100_000));
    let message = refusal("a.obj", text);
    assert!(message.starts_with("line 2: `\u{fffd}[31mxxx"), "{message}");
    assert!(message.len() < 200 && !message.contains('\u{1b}'));
}
