//! Scenes with extreme contact: no accepted step intersects or contains a value that is not finite,
//! and no step panics or hangs.

#[path = "../examples/fuzz_contact/cases.rs"]
mod cases;
#[path = "../examples/fuzz/choices.rs"]
mod choices;
#[path = "../examples/fuzz_contact/generate.rs"]
mod generate;
#[path = "../examples/fuzz_contact/objects.rs"]
mod objects;
#[path = "../examples/fuzz_contact/violations.rs"]
mod violations;

/// Quick scenes with contacts; some have no collision-free step, some need the fail-safe. Former
/// failures: in 144 the projection of the gate returned velocities of 1e14 m/s, and a step took
/// 20 s; in 268 a gap halved in every step until it was lost in rounding; in 59 an exhausted impact
/// zone was not tested again (its steps with large errors are refused now); in 872 a pair had no
/// thickness, and a corner ended on the plane.
const SEEDS: [u64; 20] = [
    3, 6, 10, 11, 21, 25, 26, 29, 30, 31, 42, 53, 55, 59, 60, 62, 74, 144, 268, 872,
];

#[test]
fn twenty_extreme_scenes_neither_intersect_nor_panic_nor_hang() {
    let tally = cases::run(cases::Scenes::Seeds(SEEDS.to_vec()), None).unwrap();
    let json = tally.json();
    assert!(tally.findings.is_empty(), "{json}\n{:#?}", tally.findings);
    assert_eq!(tally.scenes, SEEDS.len() as u64);
    assert_eq!(tally.not_built, 0, "{:?}", tally.not_built_example);
    let failed: u64 = tally.errors.values().sum();
    assert!(
        tally.finished >= 10 && failed >= 2,
        "too few finished or failed scenes: {json}"
    );
    assert!(
        tally.steps_with_contacts > 100 && tally.failsafe_steps > 2,
        "too few contacts: {json}"
    );
}
