//! Materials, and contact properties of surfaces and pairs.

use reefknot_sim::model::ObjectType;

use super::common::*;

#[test]
fn keys_of_the_scene_override_the_preset() {
    let model = build(
        "[material.cloth]\npreset = \"cotton\"\nmembrane = [\"8 kN/m\", \"2 kN/m\"]\npoisson = 0\n\
            [material.plain]\npreset = \"cotton\"\n[object.a]\nkind = \"cloth-grid\"\n\
            size = [1, 1]\nvertices = [2, 2]\nmaterial = \"cloth\"\n[object.b]\n\
            kind = \"cloth-grid\"\nsize = [1, 1]\nvertices = [2, 2]\nmaterial = \"plain\"\n",
    );
    let shell = |index: usize| match &model.objects[index].kind {
        ObjectType::Shell(material) => material.clone(),
        kind => panic!("{kind:?}"),
    };
    let (own, plain) = (shell(0), shell(1));
    assert!((own.membrane.x_axis.x - 8e3).abs() < 1e-9);
    assert!((own.membrane.y_axis.y - 2e3).abs() < 1e-9);
    // The weft of cotton is softer than its warp, as 2.5 to 4.
    assert!((plain.membrane.y_axis.y / plain.membrane.x_axis.x - 0.625).abs() < 1e-12);
    assert_eq!((own.area_density, own.bending), (0.13, 6e-6));
    assert_eq!(own.thickness, Some(3e-4));
}

#[test]
fn the_contact_thickness_has_a_default_per_kind_and_a_key() {
    let thickness = |lines: &str| object(lines).objects[0].surface.thickness;
    let grid = "kind = \"cloth-grid\"\nsize = [1, 1]\nvertices = [2, 2]";
    assert_eq!(thickness(grid), 1e-3);
    assert_eq!(
        thickness(&format!("{grid}\ncontact = {{ thickness = 0.004 }}")),
        0.004
    );
    let rod = "kind = \"rod\"\nlength = 1\nvertices = 3\nradius = [0.002, 0.005]";
    assert_eq!(thickness(rod), 0.01);
    assert_eq!(thickness(&format!("{rod}\nproximity_radius = 0.02")), 0.04);
    // A thousandth of the diagonal of 1 m by 2 m by 2 m.
    let solid = "kind = \"solid-box\"\nsize = [1, 2, 2]\ncells = [1, 1, 1]";
    assert!((thickness(solid) - 3e-3).abs() < 1e-15);
    let model = build("[collider.it]\nkind = \"plane\"\n");
    assert_eq!(model.objects[0].surface.thickness, 0.0);
    let model = object(&format!("{rod}\nproximity_radius = 0.02"));
    let ObjectType::Rods(rods) = &model.objects[0].kind else {
        panic!()
    };
    // The proximity radius does not change the elastic radius.
    assert_eq!((rods.radius, rods.proximity_radius), ([0.002, 0.005], 0.02));
}

#[test]
fn contact_properties_of_pairs_combine_those_of_the_surfaces() {
    let model = build(&format!(
        "{GRID}contact = {{ friction = 0.9, restitution = 0.1, cohesion = 2, compliance = 1e-6 }}\n\
            [collider.floor]\nkind = \"plane\"\n\
            contact = {{ friction = 0.4, restitution = 0.3, cohesion = 1, thickness = 0.003 }}\n\
            [collider.wall]\nkind = \"box\"\nsize = [1, 1, 1]\n[contact]\nfriction = 0.25\n\
            compliance = 5e-6\npairs = [{{ between = [\"wall\", \"it\"], friction = 0.05, \
            thickness = 0.01 }}, {{ between = [\"it\", \"it\"], friction = 0.7 }}]\n"
    ));
    let between = |a: usize, b: usize| {
        let surface = |index: usize| &model.objects[index].surface;
        model.contact.between((a, surface(a)), (b, surface(b)))
    };
    let pair = between(0, 1);
    assert!((pair.friction - 0.6).abs() < 1e-15);
    assert_eq!(
        (pair.restitution, pair.cohesion, pair.compliance),
        (0.3, 1.0, 1e-6)
    );
    // Half of 1 mm of cloth and half of 3 mm of floor.
    assert_eq!(pair.thickness, 0.002);
    assert_eq!(between(1, 0), pair);
    assert_eq!(
        (between(0, 2).friction, between(0, 2).thickness),
        (0.05, 0.01)
    );
    assert_eq!(between(0, 0).friction, 0.7);
    // sqrt(0.4 · 0.25): the wall has the default of the scene.
    assert!((between(1, 2).friction - 0.1_f64.sqrt()).abs() < 1e-15);
    assert_eq!(between(1, 2).compliance, 5e-6);
}
