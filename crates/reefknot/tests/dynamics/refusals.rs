//! Invalid rods, solids and props are refused before the first step, with object and element.

use std::path::Path;

use reefknot_sim::model::Model;
use reefknot_sim::scene::{Scene, SceneRequest};

const HEAD: &str =
    "time = { duration = 1 }\n[material.stuff]\ndensity = 1000\nyoung = 1e6\npoisson = 0.3\n";

const ROD: &str =
    "[object.it]\nkind = \"rod\"\nlength = 1\nvertices = 5\nradius = 0.01\nmaterial = \"stuff\"\n";

const SOLID: &str = "[object.it]\nkind = \"solid-box\"\nsize = [0.1, 0.1, 0.1]\ncells = [1, 1, 1]\n\
    material = \"stuff\"\n";

const PROP: &str = "[object.it]\nkind = \"rigid\"\n\
    shape = { kind = \"box\", size = [0.1, 0.1, 0.2] }\nmaterial = \"stuff\"\n";

fn report(folder: &Path, text: &str) -> String {
    let request = SceneRequest {
        file: "scene.toml".into(),
        text: text.to_owned(),
        folder: folder.to_path_buf(),
        ..SceneRequest::default()
    };
    match Scene::read(&request).and_then(|scene| Model::build(&scene)) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(problems) => problems.to_string(),
    }
}

/// Asserts that a scene is refused with these words and a place.
fn assert_refused_in(folder: &Path, text: &str, words: &[&str]) {
    let report = report(folder, &format!("{HEAD}{text}"));
    for word in words.iter().chain(&["--> scene.toml:"]) {
        assert!(report.contains(word), "expected `{word}` in\n{report}");
    }
    assert!(!report.contains("NaN"), "{report}");
}

/// Asserts that a scene with `from` replaced by `to` is refused with these words and a place; an
/// empty `from` appends `to`.
fn assert_refused(text: &str, from: &str, to: &str, words: &[&str]) {
    let whole = format!("{HEAD}{text}");
    assert!(whole.contains(from));
    let changed = if from.is_empty() {
        whole + to
    } else {
        whole.replacen(from, to, 1)
    };
    let report = report(Path::new(""), &changed);
    for word in words.iter().chain(&["--> scene.toml:"]) {
        assert!(report.contains(word), "expected `{word}` in\n{report}");
    }
}

#[test]
fn invalid_rods_are_refused() {
    let absurd = ["`object.it`", "at vertex 1"];
    assert_refused(ROD, "", "start_twist = 1e300\n", &absurd);
    assert_refused(ROD, "", "start_twist = \"-1e9 turn\"\n", &absurd);
    assert_refused(ROD, "", "natural_curvature = [1e300, 0]\n", &absurd);
    assert_refused(ROD, "", "natural_curvature = [0, -1e5]\n", &absurd);
    assert_refused(ROD, "", "natural_twist = 1e308\n", &absurd);
    assert_refused(
        ROD,
        "radius = 0.01",
        "radius = -0.01",
        &["`object.it.radius` must be above 0"],
    );
    assert_refused(
        ROD,
        "radius = 0.01",
        "radius = [0.01, 0]",
        &["`object.it.radius"],
    );
    assert_refused(
        ROD,
        "radius = 0.01",
        "radius = 1e-200",
        &["material `stuff`", "`radius`"],
    );
    assert_refused(
        ROD,
        "length = 1",
        "length = -1",
        &["`object.it.length` must be above 0"],
    );
    assert_refused(
        ROD,
        "length = 1",
        "length = 1e-320",
        &["`object.it` is too small"],
    );
    assert_refused(
        ROD,
        "vertices = 5",
        "vertices = 1",
        &["`object.it.vertices`"],
    );
    assert_refused(
        ROD,
        "young = 1e6",
        "young = 1e200",
        &["material `stuff`", "check `young`"],
    );
    assert_refused(
        ROD,
        "young = 1e6",
        "young = -1",
        &["`material.stuff.young` must be above 0"],
    );
    assert_refused(
        ROD,
        "poisson = 0.3",
        "damping = -1",
        &["`material.stuff.damping` must be at least 0"],
    );
}

#[test]
fn invalid_solids_are_refused() {
    assert_refused(
        SOLID,
        "young = 1e6",
        "young = 1e300",
        &["material `stuff`", "1e300 Pa"],
    );
    assert_refused(
        SOLID,
        "density = 1000",
        "density = 1e-300",
        &["material `stuff`", "1e-300 kg/m^3"],
    );
    assert_refused(
        SOLID,
        "density = 1000",
        "density = -1",
        &["`material.stuff.density` must be above 0"],
    );
    assert_refused(
        SOLID,
        "poisson = 0.3",
        "poisson = 0.5",
        &["material `stuff` is incompressible"],
    );
    assert_refused(
        SOLID,
        "poisson = 0.3",
        "poisson = -0.2",
        &["material `stuff` has a negative Poisson"],
    );
    assert_refused(
        SOLID,
        "[0.1, 0.1, 0.1]",
        "[0.1, 0.1, 0]",
        &["`object.it.size.2` must be above 0"],
    );
    assert_refused(
        SOLID,
        "[0.1, 0.1, 0.1]",
        "[1e-110, 1e-110, 1e-110]",
        &["`object.it` is too small"],
    );
    assert_refused(SOLID, "[1, 1, 1]", "[1, 0, 1]", &["`object.it.cells.1`"]);
}

#[test]
fn invalid_props_are_refused() {
    assert_refused(
        PROP,
        "",
        "inertia = [1, 1, 3]\n",
        &["`object.it`", "the sum of any two must be larger"],
    );
    assert_refused(
        PROP,
        "",
        "inertia = [1, 0, 1]\n",
        &["`object.it.inertia.1` must be above 0"],
    );
    assert_refused(
        PROP,
        "",
        "inertia = [1e-320, 1e-320, 1e-320]\n",
        &["`object.it`", "moments of inertia"],
    );
    assert_refused(
        PROP,
        "",
        "inertia = [1e-18, 1e-18, 1e-18]\n",
        &["`object.it`", "too small for a size"],
    );
    assert_refused(
        PROP,
        "",
        "rigidity = 1e308\n",
        &["`object.it`", "`rigidity` of 1e308 Pa"],
    );
    assert_refused(
        PROP,
        "",
        "rigidity = -1\n",
        &["`object.it.rigidity` must be above 0"],
    );
    assert_refused(
        PROP,
        "",
        "mass = 1e-320\n",
        &["`object.it` would have a mass of"],
    );
    assert_refused(
        PROP,
        "",
        "mass = -1\n",
        &["`object.it.mass` must be above 0"],
    );
    assert_refused(
        PROP,
        "[0.1, 0.1, 0.2]",
        "[0.1, 0.1, 0]",
        &["`object.it.shape.size.2` must be above 0"],
    );
    let pin = "[pin.a]\nobject = \"it\"\nat = { vertices = [0, 1] }\n";
    assert_refused(PROP, "", pin, &["`it` is rigid, and a pin holds all of it"]);
}

/// A mesh of two tetrahedra with a given fifth node and second element.
fn gmsh(node: &str, element: &str) -> String {
    format!(
        "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n5\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n\
            5 {node}\n$EndNodes\n$Elements\n2\n1 4 2 1 1 1 2 3 4\n2 4 2 1 1 {element}\n\
            $EndElements\n"
    )
}

const ROD_MESH: &str = "kind = \"rod-mesh\"\nradius = 0.01";
const SOLID_MESH: &str = "kind = \"solid-mesh\"";
const PROP_MESH: &str = "kind = \"rigid\"\nmass = 1\nshape = { kind = \"mesh\"";

/// Kind of object, name and text of an invalid mesh file, and words of its report.
fn invalid_meshes() -> [(&'static str, &'static str, String, [&'static str; 2]); 9] {
    let square = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nf 1 2 3\nf 2 4 3\n";
    [
        (
            ROD_MESH,
            "zero.obj",
            "v 0 0 0\nv 1 0 0\nv 1 0 0\nv 2 0 0\nl 1 2 3 4\n".to_owned(),
            ["`object.it`", "edge 1-2 of curve 0"],
        ),
        (
            ROD_MESH,
            "nan.obj",
            "v 0 0 0\nv nan 0 0\nv 2 0 0\nl 1 2 3\n".to_owned(),
            ["`nan.obj`", "line 2"],
        ),
        (
            ROD_MESH,
            "inf.obj",
            "v 0 0 0\nv 1 0 0\nv 2 -inf 0\nl 1 2 3\n".to_owned(),
            ["`inf.obj`", "line 3"],
        ),
        (
            SOLID_MESH,
            "flat.msh",
            gmsh("0.5 0.5 0", "1 2 3 5"),
            ["`object.it`", "tetrahedron 1"],
        ),
        (
            SOLID_MESH,
            "inside_out.msh",
            gmsh("1 1 1", "2 4 3 5"),
            ["`object.it`", "tetrahedron 1"],
        ),
        (
            SOLID_MESH,
            "twice.msh",
            gmsh("1 1 1", "2 3 4 4"),
            ["`twice.msh`", "line 15"],
        ),
        (
            SOLID_MESH,
            "nan.msh",
            gmsh("nan 1 1", "2 3 4 5"),
            ["`nan.msh`", "line 10"],
        ),
        (
            PROP_MESH,
            "open.obj",
            square.to_owned(),
            ["`object.it`", "encloses no volume"],
        ),
        (
            PROP_MESH,
            "not.obj",
            square.replace("1 1 0", "1 inf 0"),
            ["`not.obj`", "line 4"],
        ),
    ]
}

#[test]
fn meshes_with_an_invalid_element_are_refused_with_its_number() {
    let folder = tempfile::tempdir().unwrap();
    for (kind, name, text, words) in invalid_meshes() {
        std::fs::write(folder.path().join(name), text).unwrap();
        let file = if kind == PROP_MESH {
            format!("{kind}, file = \"{name}\" }}\n")
        } else {
            format!("{kind}\nfile = \"{name}\"\nmaterial = \"stuff\"\n")
        };
        assert_refused_in(folder.path(), &format!("[object.it]\n{file}"), &words);
    }
}

#[test]
fn unstable_explicit_time_steps_are_refused_with_the_object() {
    // Half of 2 kg at the free end of a spring of 400 N/m: ω = 20 1/s, stable below 2/ω = 0.1 s.
    let spring = |h: f64| {
        let text = format!(
            "time = {{ duration = 1, frame_rate = {}, substeps = 1 }}\n\
             method = {{ integrator = \"symplectic-euler\" }}\n\
             [material.stuff]\nlinear_density = 2\naxial = 400\nrod_bending = 0\nrod_twist = 0\n\
             [object.soft]\nkind = \"rod\"\nlength = 1\nvertices = 2\nradius = 0.01\n\
             material = \"stuff\"\n\
             [pin.wall]\nobject = \"soft\"\nat = {{ end = \"first\" }}\n",
            1.0 / h
        );
        let request = SceneRequest {
            text,
            ..SceneRequest::default()
        };
        let scene = Scene::read(&request).unwrap_or_else(|problems| panic!("{problems}"));
        let model = Model::build(&scene).unwrap_or_else(|problems| panic!("{problems}"));
        reefknot_sim::integrate::refuse_unstable(&model)
    };
    assert_eq!(spring(0.098), Ok(()));
    let error = spring(0.102).unwrap_err().to_string();
    assert!(
        error.contains("`soft` needs less than 1.00e-1 s"),
        "{error}"
    );
}

#[test]
fn an_overflowing_deformation_is_refused_at_its_place() {
    let pin = "[pin.all]\nobject = \"it\"\nat = { vertices = [0] }\n\
        motion = { deformation = { gradient = [[0, 1e308, 0], [0, 0, 0], [0, 0, 0]] } }\n";
    assert_refused_in(
        Path::new(""),
        &format!("{ROD}{pin}"),
        &["`motion`", "m or rad"],
    );
}
