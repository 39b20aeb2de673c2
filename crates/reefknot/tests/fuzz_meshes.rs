//! Mutated mesh files: none panics or hangs, and each error has a place and advice.

#[path = "../examples/fuzz_meshes/cases.rs"]
mod cases;
#[path = "../examples/fuzz/choices.rs"]
mod choices;
#[path = "../examples/fuzz/guard.rs"]
mod guard;
#[path = "../examples/fuzz_meshes/mutate.rs"]
mod mutate;
#[path = "../examples/fuzz_meshes/seeds.rs"]
mod seeds;
#[path = "../examples/fuzz_meshes/write.rs"]
mod write;

#[test]
fn fifteen_hundred_mutated_meshes_neither_panic_nor_hang_and_each_error_has_a_place() {
    let tally = cases::run(0, 1500, 1).unwrap();
    assert!(tally.is_clean(), "{}\n{:#?}", tally.json(), tally.findings);
    assert_eq!(tally.cases, tally.accepted + tally.rejected + tally.panics);
    assert!(!tally.sample.is_empty());
    for format in seeds::FORMATS {
        let [accepted, rejected] = tally.formats[format];
        // Otherwise the mutations break too many or too few files.
        assert!(accepted > 15 && rejected > 15, "{format}");
    }
}
