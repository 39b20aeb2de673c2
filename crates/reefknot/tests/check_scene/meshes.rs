//! Invalid meshes.

use reefknot_sim::check::Severity;
use reefknot_sim::model::Model;

use super::common::*;

fn cloth_file(obj: &str) -> (tempfile::TempDir, String) {
    let text = "[object.cloth]\nkind = \"cloth-mesh\"\nfile = \"a.obj\"\nmaterial = \"stuff\"\n";
    (folder_with(&[("a.obj", obj)]), text.to_owned())
}

#[test]
fn a_degenerate_triangle_is_refused_with_its_number_and_place() {
    let (folder, text) = cloth_file("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 2 0 0\nf 1 2 3\nf 1 2 4\n");
    let refusal = refusal_in(folder.path(), &text);
    assert_words(
        &refusal,
        &[
            "`object.cloth`",
            "triangle 1",
            "at (1, 0, 0)",
            "has no area",
            "move them apart",
            "scene.toml",
        ],
    );
}

fn gmsh(tetrahedra: &[&str]) -> String {
    let elements: String = tetrahedra
        .iter()
        .enumerate()
        .map(|(i, corners)| format!("{} 4 0 {corners}\n", i + 1))
        .collect();
    format!(
        "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n5\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n\
            5 0 0 -1\n$EndNodes\n$Elements\n{}\n{elements}$EndElements\n",
        tetrahedra.len()
    )
}

fn solid_file(msh: &str) -> (tempfile::TempDir, String) {
    let text = "[object.solid]\nkind = \"solid-mesh\"\nfile = \"a.msh\"\nmaterial = \"stuff\"\n\
        scale = 0.5\n";
    (folder_with(&[("a.msh", msh)]), text.to_owned())
}

#[test]
fn an_inverted_tetrahedron_is_refused_and_an_inverted_mesh_is_reoriented() {
    let (folder, text) = solid_file(&gmsh(&["1 2 3 4", "1 2 3 5"]));
    // Above and below one triangle with the same order of vertices: one of the two is inverted.
    assert_words(
        &refusal_in(folder.path(), &text),
        &[
            "`object.solid`",
            "tetrahedron",
            "is inverted",
            "swap two of its corners",
        ],
    );
    let (folder, text) = solid_file(&gmsh(&["2 1 3 4", "1 2 3 5"]));
    let model = Model::build(&read_in(folder.path(), &text)).unwrap();
    // Each is a sixth of a cube of 0.5 m.
    assert!((model.objects[0].mass - 1000.0 * 0.125 / 3.0).abs() < 1e-9);
    assert_eq!(findings_in(folder.path(), &text), []);
}

#[test]
fn a_flat_tetrahedron_is_refused() {
    let msh = gmsh(&["1 2 3 4", "1 3 4 5"]);
    let (folder, text) = solid_file(&msh);
    assert_words(
        &refusal_in(folder.path(), &text),
        &[
            "`object.solid`",
            "tetrahedron 1",
            "has no volume",
            "move them apart",
        ],
    );
}

#[test]
fn duplicate_vertices_are_a_warning_and_weld_merges_them() {
    let obj = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nf 1 2 3\nf 4 6 5\n";
    let (folder, text) = cloth_file(obj);
    let found = findings_in(folder.path(), &text);
    assert_found(
        &found,
        Severity::Warning,
        &[
            "`cloth`",
            "vertices 1 and 3",
            "at (1, 0, 0)",
            "coincide",
            "`weld`",
        ],
    );
    let welded = format!("{text}weld = \"1 mm\"\n");
    assert_eq!(findings_in(folder.path(), &welded), []);
    let model = Model::build(&read_in(folder.path(), &welded)).unwrap();
    assert_eq!(model.objects[0].mesh.points.len(), 4);
}

#[test]
fn cloth_with_three_triangles_at_an_edge_is_refused() {
    let obj = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 -1 0\nv 0 0 1\nf 1 2 3\nf 2 1 4\nf 1 2 5\n";
    let (folder, text) = cloth_file(obj);
    assert_words(
        &refusal_in(folder.path(), &text),
        &[
            "`object.cloth`",
            "edge 0-1",
            "more than two triangles",
            "separate the sheets",
        ],
    );
}

#[test]
fn sheets_that_share_only_a_vertex_are_a_warning() {
    let obj = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv -1 0 0\nv -1 -1 0\nf 1 2 3\nf 1 4 5\n";
    let (folder, text) = cloth_file(obj);
    assert_found(
        &findings_in(folder.path(), &text),
        Severity::Warning,
        &["`cloth`", "vertex 0", "share no edge", "vertex of its own"],
    );
}

#[test]
fn an_open_collider_is_a_warning() {
    let obj = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\n";
    let folder = folder_with(&[("a.obj", obj)]);
    let found = findings_in(
        folder.path(),
        "[collider.rock]\nkind = \"mesh\"\nfile = \"a.obj\"\n",
    );
    assert_found(
        &found,
        Severity::Warning,
        &[
            "`rock`",
            "edge",
            "one triangle only",
            "one of 3",
            "close the surface",
        ],
    );
}

#[test]
fn vertices_without_a_triangle_are_removed() {
    let (folder, text) = cloth_file("v 7 7 7\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 2 3 4\n");
    let model = Model::build(&read_in(folder.path(), &text)).unwrap();
    assert_eq!(model.objects[0].mesh.points.len(), 3);
    assert_eq!(findings_in(folder.path(), &text), []);
}

#[test]
fn invalid_numbers_and_missing_files_are_named() {
    let (folder, text) = cloth_file("v 0 0 0\nv 1 nan 0\nv 0 1 0\nf 1 2 3\n");
    assert_words(
        &refusal_in(folder.path(), &text),
        &["`a.obj`", "line 2", "nan"],
    );
    let (folder, text) = cloth_file("v 0 0 0\nv 1 0 0\nf 1 2 9\n");
    assert_words(
        &refusal_in(folder.path(), &text),
        &["`a.obj`", "line 3", "9"],
    );
    assert_refused(
        "[object.cloth]\nkind = \"cloth-mesh\"\nfile = \"bunnny.obj\"\nmaterial = \"stuff\"\n",
        &[
            "cannot read `bunnny.obj`",
            "bunny.obj",
            "folder of the scene file",
        ],
    );
}

#[test]
fn a_rod_edge_without_length_is_refused() {
    let folder = folder_with(&[("a.obj", "v 0 0 0\nv 1 0 0\nv 1 0 0\nv 2 0 0\nl 1 2 3 4\n")]);
    let text = "[object.hair]\nkind = \"rod-mesh\"\nfile = \"a.obj\"\nradius = 0.01\n\
        material = \"stuff\"\n";
    assert_words(
        &refusal_in(folder.path(), text),
        &[
            "`object.hair`",
            "edge 1-2",
            "at (1, 0, 0)",
            "has no length",
            "remove one",
        ],
    );
    assert_refused(
        "[object.hair]\nkind = \"rod-spline\"\npoints = [[0, 0, 0], [0, 0, 0], [1, 0, 0]]\n\
            vertices = 5\nradius = 0.01\nmaterial = \"stuff\"\n",
        &["`object.hair`", "points 0 and 1"],
    );
}

/// Degenerate triangles of a rigid object are harmless. They must not be mistaken for the loss of
/// precision far from the origin.
#[test]
fn a_prop_with_a_degenerate_triangle_is_a_warning() {
    // A tetrahedron, and a triangle of an edge and a duplicate of its first vertex.
    let obj = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nv 0 0 0\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n\
        f 1 5 2\n";
    let folder = folder_with(&[("a.obj", obj)]);
    let text = "[object.rock]\nkind = \"rigid\"\nmaterial = \"stuff\"\n\
        shape = { kind = \"mesh\", file = \"a.obj\" }\n";
    assert_found(
        &findings_in(folder.path(), text),
        Severity::Warning,
        &["`rock`", "triangle 4", "has no area"],
    );
}
