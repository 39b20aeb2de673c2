//! Where a run may write, and what it leaves alone.

use std::fs;

use reefknot::io::folder::{Origin, RunFolder};
use reefknot::model::Model;
use reefknot::scene::{Scene, SceneRequest};

use crate::common::{Place, TINY, files, same_run};

#[test]
fn resume_starts_in_an_empty_folder_and_is_done_in_a_finished_one() {
    let place = Place::new();
    let hash = place.hash(&TINY, &["--out", "whole"]);
    fs::create_dir(place.path("a")).unwrap();
    assert_eq!(place.hash(&TINY, &["--out", "a", "--resume"]), hash);
    let before = files(&place.path("a/frames"));
    let ran = place.expect(0, &TINY, &["--out", "a", "--resume", "--summary", "json"]);
    ran.says("was done already");
    assert_eq!(ran.summary()["state_hash"], hash.as_str());
    assert_eq!(files(&place.path("a/frames")), before);
    same_run(&place.path("a"), &place.path("whole"));
}

#[test]
fn a_run_can_be_made_longer_with_other_threads() {
    let place = Place::new();
    let hash = place.hash(&TINY, &["--out", "whole", "--frames", "30"]);
    place.expect(0, &TINY, &["--out", "a", "--threads", "1"]);
    let longer = ["--out", "a", "--resume", "--frames", "30", "--threads", "2"];
    assert_eq!(place.hash(&TINY, &longer), hash);
    same_run(&place.path("a"), &place.path("whole"));
    place.expect(0, &["check", "a"], &[]);
}

#[test]
fn a_run_of_an_earlier_or_later_layout_is_not_continued() {
    let place = Place::new();
    place.expect(0, &TINY, &["--out", "a", "--frames", "2"]);
    let path = place.path("a/manifest.json");
    let manifest = fs::read_to_string(&path).unwrap();
    for (version, age) in [(1, "an older"), (99, "a newer")] {
        let other = manifest.replace(
            "\"format_version\": 2",
            &format!("\"format_version\": {version}"),
        );
        assert_ne!(other, manifest);
        fs::write(&path, other).unwrap();
        let ran = place.expect(2, &TINY, &["--out", "a", "--resume", "--frames", "3"]);
        ran.says(&format!("was written by {age} reefknot"))
            .says("--overwrite");
    }
}

#[test]
fn claims_of_the_method_are_in_summary_and_manifest_and_checked() {
    let place = Place::new();
    let ran = place.expect(
        0,
        &TINY,
        &["--out", "a", "--frames", "2", "--summary", "json"],
    );
    let path = place.path("a/manifest.json");
    let text = fs::read_to_string(&path).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
    let claims = &ran.summary()["claims"];
    assert_eq!(&manifest["claims"], claims);
    assert_eq!(claims["equations"], "linear");
    assert_eq!(claims["path"], "straight");
    assert_eq!(claims["energy"], "none");
    place.expect(0, &["check", "a"], &[]);
    // Somebody who claims more than the method does is found out.
    let more = text.replace("\"energy\": \"none\"", "\"energy\": \"dissipative\"");
    assert_ne!(more, text);
    fs::write(&path, more).unwrap();
    let found = place.expect(1, &["check", "a"], &[]);
    found.says("`claims` are not those of the method");
    fs::write(&path, text).unwrap();
    // What is claimed must be reported.
    let log = place.path("a/run.jsonl");
    let lines = fs::read_to_string(&log).unwrap();
    let key = "\"momentum_error_m\":";
    let start = lines.find(key).unwrap() + key.len();
    let end = start + lines[start..].find(',').unwrap();
    let silent = format!("{}null{}", &lines[..start], &lines[end..]);
    fs::write(&log, silent).unwrap();
    let found = place.expect(1, &["check", "a"], &[]);
    found.says("step 1 has no `momentum_error_m`");
}

#[test]
fn a_run_is_neither_replaced_nor_continued_without_being_asked() {
    let place = Place::new();
    place.expect(0, &TINY, &["--out", "a"]);
    let before = files(&place.path("a"));
    let ran = place.expect(2, &TINY, &["--out", "a"]);
    ran.says("a holds a run already")
        .says("--resume")
        .says("--overwrite");
    assert_eq!(files(&place.path("a")), before);
}

#[test]
fn overwriting_removes_the_old_run_and_nothing_else() {
    let place = Place::new();
    place.expect(0, &TINY, &["--out", "a", "--frames", "5"]);
    let kept = [
        "notes.txt",
        "notes.tmp",
        "frames/00001.png",
        "frames/7.safetensors",
        "export/a.obj",
    ];
    fs::create_dir(place.path("a/export")).unwrap();
    for name in kept {
        fs::write(place.path("a").join(name), "mine").unwrap();
    }
    place.expect(0, &TINY, &["--out", "a", "--overwrite", "--frames", "2"]);
    for name in kept {
        let text = fs::read_to_string(place.path("a").join(name)).unwrap();
        assert_eq!(text, "mine", "{name}");
    }
    assert!(!place.path("a/frames/00003.safetensors").exists());
    assert!(!place.path("a/checkpoints/000000025.safetensors").exists());
    place.expect(0, &["check", "a"], &[]);
}

#[test]
fn folders_with_somebody_elses_files_are_left_alone() {
    let cases = [
        // A scene beside which the run would be put: it would be removed as that of an old run.
        "scene.toml",
        "frames/00001.png",
        // A file that other programs have too.
        "manifest.json",
        "inputs/mesh.obj",
        "checkpoints/model.bin",
        "notes.txt",
        "notes.tmp",
        "run.jsonl",
    ];
    for name in cases {
        let place = Place::new();
        let path = place.path("a").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "{\"name\": \"mine\"}").unwrap();
        for how in [&[][..], &["--overwrite"], &["--resume"]] {
            let ran = place.expect(2, &TINY, &[&["--out", "a"], how].concat());
            ran.says("a holds `").says(name.split('/').next().unwrap());
            let found = files(&place.path("a"));
            assert_eq!(found.len(), 1, "{name} {how:?}: {found:?}");
            assert_eq!(found[0].1, b"{\"name\": \"mine\"}");
        }
    }
}

#[test]
fn a_removal_that_was_cut_short_is_finished() {
    let place = Place::new();
    let hash = place.hash(&TINY, &["--out", "whole"]);
    place.expect(
        0,
        &TINY,
        &["--out", "a", "--frames", "9", "--set", "seed=1"],
    );
    fs::write(place.path("a/.removing"), "").unwrap();
    fs::remove_file(place.path("a/manifest.json")).unwrap();
    fs::remove_file(place.path("a/scene.toml")).unwrap();
    assert_eq!(place.hash(&TINY, &["--out", "a", "--resume"]), hash);
    same_run(&place.path("a"), &place.path("whole"));
}

#[test]
fn a_run_that_was_killed_while_it_began_is_begun_again() {
    let place = Place::new();
    let hash = place.hash(&TINY, &["--out", "whole"]);
    fs::create_dir_all(place.path("a/frames")).unwrap();
    for name in [
        ".lock",
        "scene.toml",
        "probes.csv",
        "topology.safetensors.12.tmp",
    ] {
        fs::write(place.path("a").join(name), "").unwrap();
    }
    assert_eq!(place.hash(&TINY, &["--out", "a"]), hash);
    same_run(&place.path("a"), &place.path("whole"));
    assert!(!place.path("a/topology.safetensors.12.tmp").exists());
}

#[test]
fn two_processes_do_not_write_to_one_folder() {
    let place = Place::new();
    let long = [&TINY[..3], &["--frames", "100000", "--out", "a"]].concat();
    let mut first = place.start(&long);
    first.wait_for(&place.path("a/frames/00002.safetensors"));
    for how in ["--resume", "--overwrite"] {
        let ran = place.expect(2, &long, &[how]);
        ran.says("another reefknot is writing to a");
    }
    place.expect(2, &long, &[]);
    first.signal("-TERM");
    let ran = first.wait();
    assert_eq!(ran.code, Some(75), "{ran:#?}");
    place.expect(0, &["check", "a"], &[]);
}

#[test]
fn of_many_processes_that_start_at_once_one_runs_and_none_removes_its_work() {
    let place = Place::new();
    let hash = place.hash(&TINY, &["--out", "whole"]);
    for round in 0..5 {
        let out = format!("a{round}");
        let start = [&TINY[..], &["--out", &out, "--quiet", "--summary", "json"]].concat();
        let running: Vec<_> = (0..4).map(|_| place.start(&start)).collect();
        let ran: Vec<_> = running.into_iter().map(|one| one.wait()).collect();
        let codes: Vec<_> = ran.iter().filter_map(|one| one.code).collect();
        assert_eq!(
            codes.iter().filter(|code| **code == 0).count(),
            1,
            "{ran:#?}"
        );
        assert_eq!(
            codes.iter().filter(|code| **code == 2).count(),
            3,
            "{ran:#?}"
        );
        same_run(&place.path(&out), &place.path("whole"));
    }
    assert_eq!(place.hash(&TINY, &["--out", "a0", "--resume"]), hash);
}

#[test]
fn a_place_that_cannot_be_written_is_named() {
    let place = Place::new();
    fs::write(place.path("file"), "mine").unwrap();
    for out in ["file", "file/a"] {
        place.expect(2, &TINY, &["--out", out]).says(out);
        assert_eq!(fs::read_to_string(place.path("file")).unwrap(), "mine");
    }
    // Not even the superuser makes folders here.
    place
        .expect(2, &TINY, &["--out", "/proc/reefknot"])
        .says("/proc/reefknot");
}

#[test]
fn another_scene_is_not_taken_for_the_same() {
    let place = Place::new();
    place.expect(0, &TINY, &["--out", "a"]);
    let before = files(&place.path("a"));
    let cases = [
        (
            "parameters.speed=\"8 m/s\"",
            "`parameters.speed` is \"9 m/s\" there and \"8 m/s\" here",
        ),
        (
            "wind.density=\"1 kg/m^3\"",
            "`wind.density` is (nothing) there",
        ),
        ("time.h=\"5 ms\"", "`time.h`"),
        ("seed=8", "`seed` is 7 there and 8 here"),
    ];
    for (set, difference) in cases {
        place
            .expect(2, &TINY, &["--out", "a", "--resume", "--set", set])
            .says(difference);
    }
    assert_eq!(files(&place.path("a")), before);
}

#[test]
fn a_run_is_not_made_shorter() {
    // The manifest was rewritten with the smaller number, and the longer run was called done.
    let place = Place::new();
    place.expect(0, &TINY, &["--out", "a", "--frames", "6"]);
    let before = files(&place.path("a"));
    let shorter = ["--out", "a", "--resume", "--frames", "5"];
    place.expect(2, &TINY, &shorter).says("a run of 6 frames");
    assert_eq!(files(&place.path("a")), before);
}

#[test]
fn going_on_with_another_build_is_noted() {
    let place = Place::new();
    let two = ["--out", "a", "--resume", "--frames", "2"];
    place.expect(0, &TINY, &two);
    let folder = RunFolder::new(place.path("a"));
    let last = folder.checkpoints().unwrap().pop().unwrap();
    let request = SceneRequest {
        text: folder.read_text("scene.toml").unwrap(),
        ..SceneRequest::default()
    };
    let model = Model::build(&Scene::read(&request).unwrap()).unwrap();
    let (state, origin) = folder.read_checkpoint(last, &model).unwrap();
    let other = Origin {
        commit: "somebodyelse".into(),
        ..origin
    };
    folder.write_checkpoint(&state, &other).unwrap();
    let three = ["--out", "a", "--resume", "--frames", "3"];
    let ran = place.expect(0, &TINY, &three);
    ran.says("the run comes from build somebodyelse")
        .says("bits may differ");
}

#[test]
fn a_folder_with_the_name_of_a_shipped_scene_does_not_hide_it() {
    let place = Place::new();
    fs::create_dir(place.path("flag")).unwrap();
    place.expect(0, &TINY, &["--frames", "1"]);
    place
        .expect(0, &["check", "flag", "--quick"], &[])
        .says("flag: 1 objects");
    place
        .expect(2, &["run", "runs"], &[])
        .says("runs is a folder");
}

#[test]
fn a_run_remembers_every_command_that_worked_on_it() {
    let place = Place::new();
    for frames in ["2", "2", "5"] {
        place.expect(0, &TINY, &["--out", "a", "--resume", "--frames", frames]);
    }
    let manifest = fs::read_to_string(place.path("a/manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    let command = manifest["command"].as_array().unwrap();
    assert_eq!(command.last().unwrap(), "2");
    // The second call found everything done.
    let continued = manifest["continued"].as_array().unwrap();
    assert_eq!(continued.len(), 1);
    assert_eq!(continued[0]["from_step"], 10);
    assert_eq!(
        continued[0]["command"].as_array().unwrap().last().unwrap(),
        "5"
    );
    assert_eq!(manifest["frames"], 5);
}
