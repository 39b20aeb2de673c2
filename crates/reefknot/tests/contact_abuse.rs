//! No scene, however it abuses contact, makes an accepted step intersect, hold a number that is not finite, panic or hang.

#[path = "../examples/fuzz_contact/abuse.rs"]
mod abuse;
#[path = "../examples/fuzz_contact/cases.rs"]
mod cases;
#[path = "../examples/fuzz/choices.rs"]
mod choices;
#[path = "../examples/fuzz_contact/offences.rs"]
mod offences;
#[path = "../examples/fuzz_contact/things.rs"]
mod things;

/// Scenes that are quick and in which things touch; between them they run out of room and need the fail-safe.
/// In 144 the projection of the gate answered with velocities of 1e14 m/s, and a step took 20 s; in 268 a gap halved at every step until it
/// was lost in rounding; in 59 a zone that could not be changed any more was not looked at again; in 872 a pair was told to have no thickness, and a corner ended on the plane itself.
const SEEDS: [u64; 20] = [
    3, 6, 10, 11, 21, 25, 26, 29, 30, 31, 42, 53, 55, 59, 60, 62, 74, 144, 268, 872,
];

#[test]
fn twenty_abused_scenes_neither_intersect_nor_panic_nor_hang() {
    let tally = cases::run(cases::Scenes::Seeds(SEEDS.to_vec()), None).unwrap();
    let json = tally.json();
    assert!(tally.findings.is_empty(), "{json}\n{:#?}", tally.findings);
    assert_eq!(tally.scenes, SEEDS.len() as u64);
    assert_eq!(tally.not_built, 0, "{:?}", tally.not_built_example);
    let failed: u64 = tally.errors.values().sum();
    assert!(tally.finished >= 10 && failed >= 2, "not of both: {json}");
    assert!(
        tally.steps_with_contacts > 100 && tally.failsafe_steps > 30,
        "too little is abused: {json}"
    );
}
