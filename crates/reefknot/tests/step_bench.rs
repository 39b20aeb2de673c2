//! The benchmark of a step runs and reports all figures; their size is not tested.

#[path = "../examples/step_bench/bounds.rs"]
mod bounds;
#[path = "../examples/step_bench/measure.rs"]
mod measure;
#[path = "../examples/step_bench/scenes.rs"]
mod scenes;

use bounds::BoundSize;
use measure::Size;
use scenes::SceneSize;

const KEYS: [&str; 20] = [
    "/nodes",
    "/dofs",
    "/elements",
    "/step_s/best",
    "/step_s/median",
    "/phases_s/assemble/best",
    "/phases_s/linear/median",
    "/phases_s/certify/best",
    "/phases_s/rest/best",
    "/bare_s/factorize",
    "/bare_s/solve",
    "/bare_s/product",
    "/bounds/triad_bytes_per_s/1",
    "/bounds/triad_bytes_per_s/2",
    "/bounds/dense_flops_per_s/2",
    "/ratios/assemble_over_writing_the_matrix",
    "/ratios/factorize_over_dense_product",
    "/ratios/product_over_reading_the_matrix",
    "/ratios/solve_over_reading_the_factor_twice",
    "/ratios/step_over_bare",
];

fn tiny(threads: usize) -> Size {
    Size {
        scene: SceneSize {
            rods: 40,
            rod_vertices: 17,
            cloth: 24,
            cells: 5,
        },
        threads,
        repetitions: 2,
        bound: BoundSize {
            numbers: 1000,
            rows: 8,
        },
    }
}

#[test]
fn every_scene_has_all_figures_and_the_same_bits_on_two_threads() {
    for (name, nodes) in [("groom", 680), ("cloth", 576), ("solid", 216)] {
        let one = measure::measure(name, &tiny(1)).unwrap();
        for key in KEYS {
            let number = one.pointer(key).and_then(serde_json::Value::as_f64);
            assert!(
                number.is_some_and(|number| number > 0.0),
                "{name} {key}: {one}"
            );
        }
        assert_eq!(one["nodes"], nodes);
        let two = measure::measure(name, &tiny(2)).unwrap();
        assert_eq!(one["state_hash"], two["state_hash"], "{name}");
    }
}

#[test]
fn an_unknown_scene_is_refused() {
    assert!(scenes::text("hat", scenes::FULL).is_err());
    assert_eq!(scenes::NAMES.len(), 3);
    const { assert!(bounds::FULL.numbers * 24 > 100_000_000) };
}
