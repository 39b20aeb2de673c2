//! Rods, solids and props that cannot be: refused before anything starts, with the object and the element.

use std::path::Path;

use reefknot::model::Model;
use reefknot::scene::{Scene, SceneRequest};

const HEAD: &str =
    "time = { duration = 1 }\n[material.stuff]\ndensity = 1000\nyoung = 1e6\npoisson = 0.3\n";

const ROD: &str =
    "[object.it]\nkind = \"rod\"\nlength = 1\nvertices = 5\nradius = 0.01\nmaterial = \"stuff\"\n";

const SOLID: &str = "[object.it]\nkind = \"solid-box\"\nsize = [0.1, 0.1, 0.1]\ncells = [1, 1, 1]\nmaterial = \"stuff\"\n";

const PROP: &str = "[object.it]\nkind = \"rigid\"\nshape = { kind = \"box\", size = [0.1, 0.1, 0.2] }\nmaterial = \"stuff\"\n";

fn report(folder: &Path, text: &str) -> String {
    let request = SceneRequest {
        file: "scene.toml".into(),
        text: text.to_owned(),
        folder: folder.to_path_buf(),
        ..SceneRequest::default()
    };
    match Scene::read(&request).and_then(|scene| Model::build(&scene)) {
        Ok(_) => panic!("this was accepted:\n{text}"),
        Err(problems) => problems.to_string(),
    }
}

/// Expects these words, and a place.
fn refused_in(folder: &Path, text: &str, words: &[&str]) {
    let report = report(folder, &format!("{HEAD}{text}"));
    for word in words.iter().chain(&["--> scene.toml:"]) {
        assert!(report.contains(word), "expected `{word}` in\n{report}");
    }
    assert!(!report.contains("NaN"), "{report}");
}

/// The scene with something replaced or, if there is nothing to replace, added.
fn refused(text: &str, from: &str, to: &str, words: &[&str]) {
    let whole = format!("{HEAD}{text}");
    assert!(whole.contains(from));
    let changed = match from {
        "" => whole + to,
        _ => whole.replacen(from, to, 1),
    };
    let report = report(Path::new(""), &changed);
    for word in words.iter().chain(&["--> scene.toml:"]) {
        assert!(report.contains(word), "expected `{word}` in\n{report}");
    }
}

#[test]
fn rods_that_cannot_be_computed_with() {
    let absurd = ["`object.it`", "at vertex 1"];
    refused(ROD, "", "start_twist = 1e300\n", &absurd);
    refused(ROD, "", "start_twist = \"-1e9 turn\"\n", &absurd);
    refused(ROD, "", "natural_curvature = [1e300, 0]\n", &absurd);
    refused(ROD, "", "natural_curvature = [0, -1e5]\n", &absurd);
    refused(ROD, "", "natural_twist = 1e308\n", &absurd);
    refused(
        ROD,
        "radius = 0.01",
        "radius = -0.01",
        &["`object.it.radius` must be above 0"],
    );
    refused(
        ROD,
        "radius = 0.01",
        "radius = [0.01, 0]",
        &["`object.it.radius"],
    );
    refused(
        ROD,
        "radius = 0.01",
        "radius = 1e-200",
        &["material `stuff`", "`radius`"],
    );
    refused(
        ROD,
        "length = 1",
        "length = -1",
        &["`object.it.length` must be above 0"],
    );
    refused(
        ROD,
        "length = 1",
        "length = 1e-320",
        &["`object.it` is too small"],
    );
    refused(
        ROD,
        "vertices = 5",
        "vertices = 1",
        &["`object.it.vertices`"],
    );
    refused(
        ROD,
        "young = 1e6",
        "young = 1e200",
        &["material `stuff`", "look at `young`"],
    );
    refused(
        ROD,
        "young = 1e6",
        "young = -1",
        &["`material.stuff.young` must be above 0"],
    );
    refused(
        ROD,
        "poisson = 0.3",
        "damping = -1",
        &["`material.stuff.damping` must be at least 0"],
    );
}

#[test]
fn solids_that_cannot_be_computed_with() {
    refused(
        SOLID,
        "young = 1e6",
        "young = 1e300",
        &["material `stuff`", "1e300 Pa"],
    );
    refused(
        SOLID,
        "density = 1000",
        "density = 1e-300",
        &["material `stuff`", "1e-300 kg/m^3"],
    );
    refused(
        SOLID,
        "density = 1000",
        "density = -1",
        &["`material.stuff.density` must be above 0"],
    );
    refused(
        SOLID,
        "poisson = 0.3",
        "poisson = 0.5",
        &["material `stuff` cannot change its volume"],
    );
    refused(
        SOLID,
        "poisson = 0.3",
        "poisson = -0.2",
        &["material `stuff` grows wider"],
    );
    refused(
        SOLID,
        "[0.1, 0.1, 0.1]",
        "[0.1, 0.1, 0]",
        &["`object.it.size.2` must be above 0"],
    );
    refused(
        SOLID,
        "[0.1, 0.1, 0.1]",
        "[1e-110, 1e-110, 1e-110]",
        &["`object.it` is too small"],
    );
    refused(SOLID, "[1, 1, 1]", "[1, 0, 1]", &["`object.it.cells.1`"]);
}

#[test]
fn props_that_cannot_be_computed_with() {
    refused(
        PROP,
        "",
        "inertia = [1, 1, 3]\n",
        &["`object.it`", "any two must be more than the third"],
    );
    refused(
        PROP,
        "",
        "inertia = [1, 0, 1]\n",
        &["`object.it.inertia.1` must be above 0"],
    );
    refused(
        PROP,
        "",
        "inertia = [1e-320, 1e-320, 1e-320]\n",
        &["`object.it`", "moments of inertia"],
    );
    refused(
        PROP,
        "",
        "inertia = [1e-18, 1e-18, 1e-18]\n",
        &["`object.it`", "too small for its size"],
    );
    refused(
        PROP,
        "",
        "rigidity = 1e308\n",
        &["`object.it`", "`rigidity` of 1e308 Pa"],
    );
    refused(
        PROP,
        "",
        "rigidity = -1\n",
        &["`object.it.rigidity` must be above 0"],
    );
    refused(PROP, "", "mass = 1e-320\n", &["`object.it` would weigh"]);
    refused(
        PROP,
        "",
        "mass = -1\n",
        &["`object.it.mass` must be above 0"],
    );
    refused(
        PROP,
        "[0.1, 0.1, 0.2]",
        "[0.1, 0.1, 0]",
        &["`object.it.shape.size.2` must be above 0"],
    );
    let pin = "[pin.a]\nobject = \"it\"\nat = { vertices = [0, 1] }\n";
    refused(PROP, "", pin, &["a prop such as `it` is held as a whole"]);
}

/// A mesh of two tetrahedra, of which the fifth node and the second element are given.
fn gmsh(node: &str, element: &str) -> String {
    format!(
        "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n5\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n5 {node}\n$EndNodes\n$Elements\n2\n1 4 2 1 1 1 2 3 4\n2 4 2 1 1 {element}\n$EndElements\n"
    )
}

#[test]
fn meshes_with_a_bad_element_are_refused_with_its_number() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let (rod, solid) = (
        "kind = \"rod-mesh\"\nradius = 0.01",
        "kind = \"solid-mesh\"",
    );
    let prop = "kind = \"rigid\"\nmass = 1\nshape = { kind = \"mesh\"";
    let square = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nf 1 2 3\nf 2 4 3\n";
    let cases = [
        (
            rod,
            "zero.obj",
            "v 0 0 0\nv 1 0 0\nv 1 0 0\nv 2 0 0\nl 1 2 3 4\n".to_owned(),
            ["`object.it`", "edge 1-2 of curve 0"],
        ),
        (
            rod,
            "nan.obj",
            "v 0 0 0\nv nan 0 0\nv 2 0 0\nl 1 2 3\n".to_owned(),
            ["`nan.obj`", "line 2"],
        ),
        (
            rod,
            "inf.obj",
            "v 0 0 0\nv 1 0 0\nv 2 -inf 0\nl 1 2 3\n".to_owned(),
            ["`inf.obj`", "line 3"],
        ),
        (
            solid,
            "flat.msh",
            gmsh("0.5 0.5 0", "1 2 3 5"),
            ["`object.it`", "tetrahedron 1"],
        ),
        (
            solid,
            "inside_out.msh",
            gmsh("1 1 1", "2 4 3 5"),
            ["`object.it`", "tetrahedron 1"],
        ),
        (
            solid,
            "twice.msh",
            gmsh("1 1 1", "2 3 4 4"),
            ["`twice.msh`", "line 15"],
        ),
        (
            solid,
            "nan.msh",
            gmsh("nan 1 1", "2 3 4 5"),
            ["`nan.msh`", "line 10"],
        ),
        (
            prop,
            "open.obj",
            square.to_owned(),
            ["`object.it`", "encloses nothing"],
        ),
        (
            prop,
            "not.obj",
            square.replace("1 1 0", "1 inf 0"),
            ["`not.obj`", "line 4"],
        ),
    ];
    for (kind, name, text, words) in cases {
        write(name, &text);
        let file = match kind == prop {
            true => format!("{kind}, file = \"{name}\" }}\n"),
            false => format!("{kind}\nfile = \"{name}\"\nmaterial = \"stuff\"\n"),
        };
        refused_in(folder.path(), &format!("[object.it]\n{file}"), &words);
    }
}

#[test]
fn explicit_steps_that_would_explode_are_refused_by_name() {
    // Half of 2 kg at the free end of a spring of 400 N/m: ω = 20 1/s, stable below 2/ω = 0.1 s.
    let spring = |h: f64| {
        let text = format!(
            "time = {{ duration = 1, frame_rate = {}, substeps = 1 }}\nmethod = {{ integrator = \"symplectic-euler\" }}\n\
             [material.stuff]\nlinear_density = 2\naxial = 400\nrod_bending = 0\nrod_twist = 0\n\
             [object.soft]\nkind = \"rod\"\nlength = 1\nvertices = 2\nradius = 0.01\nmaterial = \"stuff\"\n\
             [pin.wall]\nobject = \"soft\"\nat = {{ end = \"first\" }}\n",
            1.0 / h
        );
        let request = SceneRequest {
            text,
            ..SceneRequest::default()
        };
        let scene = Scene::read(&request).unwrap_or_else(|problems| panic!("{problems}"));
        let model = Model::build(&scene).unwrap_or_else(|problems| panic!("{problems}"));
        reefknot::integrate::refuse_unstable(&model)
    };
    assert_eq!(spring(0.098), Ok(()));
    let error = spring(0.102).unwrap_err().to_string();
    assert!(
        error.contains("`soft` needs less than 1.00e-1 s"),
        "{error}"
    );
}

#[test]
fn a_stretch_beyond_all_numbers_is_refused_at_its_place() {
    let pin = "[pin.all]\nobject = \"it\"\nat = { vertices = [0] }\nmotion = { deformation = { gradient = [[0, 1e308, 0], [0, 0, 0], [0, 0, 0]] } }\n";
    refused_in(
        Path::new(""),
        &format!("{ROD}{pin}"),
        &["`motion`", "m or rad"],
    );
}
