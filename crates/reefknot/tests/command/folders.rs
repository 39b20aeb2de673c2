//! The folder of a run: resume, overwrite, foreign files, locks.

use std::fs;

use reefknot_sim::io::folder::{Origin, RunFolder};
use reefknot_sim::model::Model;
use reefknot_sim::scene::{Scene, SceneRequest};

use crate::common::{Sandbox, TINY, assert_same_run, files};

#[test]
fn resume_starts_in_an_empty_folder_and_changes_nothing_in_a_finished_one() {
    let sandbox = Sandbox::new();
    let hash = sandbox.hash(&TINY, &["--out", "whole"]);
    fs::create_dir(sandbox.path("a")).unwrap();
    assert_eq!(sandbox.hash(&TINY, &["--out", "a", "--resume"]), hash);
    let before = files(&sandbox.path("a/frames"));
    let output = sandbox.expect(0, &TINY, &["--out", "a", "--resume", "--summary", "json"]);
    output.prints("already finished");
    assert_eq!(output.summary()["state_hash"], hash.as_str());
    assert_eq!(files(&sandbox.path("a/frames")), before);
    assert_same_run(&sandbox.path("a"), &sandbox.path("whole"));
}

#[test]
fn a_run_can_be_extended_on_another_number_of_threads() {
    let sandbox = Sandbox::new();
    let hash = sandbox.hash(&TINY, &["--out", "whole", "--frames", "30"]);
    sandbox.expect(0, &TINY, &["--out", "a", "--threads", "1"]);
    let longer = ["--out", "a", "--resume", "--frames", "30", "--threads", "2"];
    assert_eq!(sandbox.hash(&TINY, &longer), hash);
    assert_same_run(&sandbox.path("a"), &sandbox.path("whole"));
    sandbox.expect(0, &["check", "a"], &[]);
}

#[test]
fn a_run_of_another_format_version_is_not_continued() {
    let sandbox = Sandbox::new();
    sandbox.expect(0, &TINY, &["--out", "a", "--frames", "2"]);
    let path = sandbox.path("a/manifest.json");
    let manifest = fs::read_to_string(&path).unwrap();
    for (version, age) in [(1, "an older"), (99, "a newer")] {
        let other = manifest.replace(
            "\"format_version\": 3",
            &format!("\"format_version\": {version}"),
        );
        assert_ne!(other, manifest);
        fs::write(&path, other).unwrap();
        let output = sandbox.expect(2, &TINY, &["--out", "a", "--resume", "--frames", "3"]);
        output
            .prints(&format!("was written by {age} reefknot"))
            .prints("--overwrite");
    }
}

#[test]
fn claims_of_the_method_are_in_summary_and_manifest_and_are_checked() {
    let sandbox = Sandbox::new();
    let output = sandbox.expect(
        0,
        &TINY,
        &["--out", "a", "--frames", "2", "--summary", "json"],
    );
    let path = sandbox.path("a/manifest.json");
    let text = fs::read_to_string(&path).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
    let claims = &output.summary()["claims"];
    assert_eq!(&manifest["claims"], claims);
    assert_eq!(claims["equations"], "nonlinear");
    assert_eq!(claims["path"], "straight");
    assert_eq!(claims["energy"], "dissipative");
    sandbox.expect(0, &["check", "a"], &[]);
    // A manifest with other claims than the method guarantees fails the check.
    let more = text.replace("\"energy\": \"dissipative\"", "\"energy\": \"bounded\"");
    assert_ne!(more, text);
    fs::write(&path, more).unwrap();
    let found = sandbox.expect(1, &["check", "a"], &[]);
    found.prints("its `claims` is not that of scene.toml");
    fs::write(&path, text).unwrap();
    // A log without a claimed error fails the check.
    let log = sandbox.path("a/run.jsonl");
    let lines = fs::read_to_string(&log).unwrap();
    let key = "\"momentum_error_m\":";
    let start = lines.find(key).unwrap() + key.len();
    let end = start + lines[start..].find(',').unwrap();
    let silent = format!("{}null{}", &lines[..start], &lines[end..]);
    fs::write(&log, silent).unwrap();
    let found = sandbox.expect(1, &["check", "a"], &[]);
    found.prints("step 1 has no `momentum_error_m`");
}

#[test]
fn a_run_is_neither_replaced_nor_continued_without_an_option() {
    let sandbox = Sandbox::new();
    sandbox.expect(0, &TINY, &["--out", "a"]);
    let before = files(&sandbox.path("a"));
    let output = sandbox.expect(2, &TINY, &["--out", "a"]);
    output
        .prints("a holds a run already")
        .prints("--resume")
        .prints("--overwrite");
    assert_eq!(files(&sandbox.path("a")), before);
}

#[test]
fn overwriting_removes_only_the_files_of_the_old_run() {
    let sandbox = Sandbox::new();
    sandbox.expect(0, &TINY, &["--out", "a", "--frames", "5"]);
    let kept = [
        "notes.txt",
        "notes.tmp",
        "frames/00001.png",
        "frames/7.safetensors",
        "export/a.obj",
    ];
    fs::create_dir(sandbox.path("a/export")).unwrap();
    for name in kept {
        fs::write(sandbox.path("a").join(name), "mine").unwrap();
    }
    sandbox.expect(0, &TINY, &["--out", "a", "--overwrite", "--frames", "2"]);
    for name in kept {
        let text = fs::read_to_string(sandbox.path("a").join(name)).unwrap();
        assert_eq!(text, "mine", "{name}");
    }
    assert!(!sandbox.path("a/frames/00003.safetensors").exists());
    assert!(!sandbox.path("a/checkpoints/000000025.safetensors").exists());
    sandbox.expect(0, &["check", "a"], &[]);
}

#[test]
fn folders_with_foreign_files_are_not_changed() {
    let cases = [
        // A scene file of the user would be removed as that of an old run.
        "scene.toml",
        "frames/00001.png",
        // Other programs use this name too.
        "manifest.json",
        "inputs/mesh.obj",
        "checkpoints/model.bin",
        "notes.txt",
        "notes.tmp",
        "run.jsonl",
    ];
    for name in cases {
        let sandbox = Sandbox::new();
        let path = sandbox.path("a").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "{\"name\": \"mine\"}").unwrap();
        for how in [&[][..], &["--overwrite"], &["--resume"]] {
            let output = sandbox.expect(2, &TINY, &[&["--out", "a"], how].concat());
            output
                .prints("a holds `")
                .prints(name.split('/').next().unwrap());
            let found = files(&sandbox.path("a"));
            assert_eq!(found.len(), 1, "{name} {how:?}: {found:?}");
            assert_eq!(found[0].1, b"{\"name\": \"mine\"}");
        }
    }
}

#[test]
fn an_interrupted_removal_is_completed() {
    let sandbox = Sandbox::new();
    let hash = sandbox.hash(&TINY, &["--out", "whole"]);
    sandbox.expect(
        0,
        &TINY,
        &["--out", "a", "--frames", "9", "--set", "seed=1"],
    );
    fs::write(sandbox.path("a/.removing"), "").unwrap();
    fs::remove_file(sandbox.path("a/manifest.json")).unwrap();
    fs::remove_file(sandbox.path("a/scene.toml")).unwrap();
    assert_eq!(sandbox.hash(&TINY, &["--out", "a", "--resume"]), hash);
    assert_same_run(&sandbox.path("a"), &sandbox.path("whole"));
}

#[test]
fn a_run_killed_during_its_start_starts_again() {
    let sandbox = Sandbox::new();
    let hash = sandbox.hash(&TINY, &["--out", "whole"]);
    fs::create_dir_all(sandbox.path("a/frames")).unwrap();
    for name in [
        ".lock",
        "scene.toml",
        "probes.csv",
        "topology.safetensors.12.tmp",
    ] {
        fs::write(sandbox.path("a").join(name), "").unwrap();
    }
    assert_eq!(sandbox.hash(&TINY, &["--out", "a"]), hash);
    assert_same_run(&sandbox.path("a"), &sandbox.path("whole"));
    assert!(!sandbox.path("a/topology.safetensors.12.tmp").exists());
}

#[test]
fn two_processes_do_not_write_to_one_folder() {
    let sandbox = Sandbox::new();
    let long = [&TINY[..3], &["--frames", "100000", "--out", "a"]].concat();
    let mut first = sandbox.start(&long);
    first.wait_for(&sandbox.path("a/frames/00002.safetensors"));
    for how in ["--resume", "--overwrite"] {
        let output = sandbox.expect(75, &long, &[how]);
        output.prints("another reefknot is writing to a");
    }
    sandbox.expect(2, &long, &[]);
    first.signal("-TERM");
    let output = first.wait();
    assert_eq!(output.code, Some(75), "{output:#?}");
    sandbox.expect(0, &["check", "a"], &[]);
}

#[test]
fn of_processes_started_at_once_in_one_folder_exactly_one_runs() {
    let sandbox = Sandbox::new();
    let hash = sandbox.hash(&TINY, &["--out", "whole"]);
    for round in 0..5 {
        let out = format!("a{round}");
        let start = [&TINY[..], &["--out", &out, "--quiet", "--summary", "json"]].concat();
        let running: Vec<_> = (0..4).map(|_| sandbox.start(&start)).collect();
        let output: Vec<_> = running.into_iter().map(|process| process.wait()).collect();
        let codes: Vec<_> = output.iter().filter_map(|output| output.code).collect();
        assert_eq!(
            codes.iter().filter(|code| **code == 0).count(),
            1,
            "{output:#?}"
        );
        assert_eq!(
            // Refused because there is a run already, or because the folder is in use.
            codes.iter().filter(|code| [2, 75].contains(code)).count(),
            3,
            "{output:#?}"
        );
        assert_same_run(&sandbox.path(&out), &sandbox.path("whole"));
    }
    assert_eq!(sandbox.hash(&TINY, &["--out", "a0", "--resume"]), hash);
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path("file"), "mine").unwrap();
    for out in ["file", "file/a"] {
        sandbox.expect(2, &TINY, &["--out", out]).prints(out);
        assert_eq!(fs::read_to_string(sandbox.path("file")).unwrap(), "mine");
    }
    // Not even root can create folders here.
    sandbox
        .expect(2, &TINY, &["--out", "/proc/reefknot"])
        .prints("/proc/reefknot");
}

#[test]
fn resume_refuses_another_scene() {
    let sandbox = Sandbox::new();
    sandbox.expect(0, &TINY, &["--out", "a"]);
    let before = files(&sandbox.path("a"));
    let cases = [
        (
            "parameters.speed=\"8 m/s\"",
            "`parameters.speed` is \"9 m/s\" there and \"8 m/s\" here",
        ),
        (
            "wind.density=\"1 kg/m^3\"",
            "`wind.density` is absent there",
        ),
        ("time.h=\"5 ms\"", "`time.h`"),
        ("seed=8", "`seed` is 7 there and 8 here"),
    ];
    for (set, difference) in cases {
        sandbox
            .expect(2, &TINY, &["--out", "a", "--resume", "--set", set])
            .prints(difference);
    }
    assert_eq!(files(&sandbox.path("a")), before);
}

#[test]
fn resume_does_not_shorten_a_run() {
    // Regression: the manifest got the smaller number of frames.
    let sandbox = Sandbox::new();
    sandbox.expect(0, &TINY, &["--out", "a", "--frames", "6"]);
    let before = files(&sandbox.path("a"));
    let shorter = ["--out", "a", "--resume", "--frames", "5"];
    sandbox
        .expect(2, &TINY, &shorter)
        .prints("a run of 6 frames");
    assert_eq!(files(&sandbox.path("a")), before);
}

#[test]
fn resuming_with_another_build_prints_a_note() {
    let sandbox = Sandbox::new();
    let two = ["--out", "a", "--resume", "--frames", "2"];
    sandbox.expect(0, &TINY, &two);
    let folder = RunFolder::new(sandbox.path("a"));
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
    let output = sandbox.expect(0, &TINY, &three);
    output
        .prints("the run comes from build somebodyelse")
        .prints("bits may differ");
}

#[test]
fn a_folder_with_the_name_of_a_shipped_scene_does_not_hide_it() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("flag")).unwrap();
    sandbox.expect(0, &TINY, &["--frames", "1"]);
    sandbox
        .expect(0, &["check", "flag", "--quick"], &[])
        .prints("flag: 1 objects");
    sandbox
        .expect(2, &["run", "runs"], &[])
        .prints("runs is a folder");
}

#[test]
fn the_manifest_lists_every_command_that_computed_steps() {
    let sandbox = Sandbox::new();
    for frames in ["2", "2", "5"] {
        sandbox.expect(0, &TINY, &["--out", "a", "--resume", "--frames", frames]);
    }
    let manifest = fs::read_to_string(sandbox.path("a/manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    let command = manifest["command"].as_array().unwrap();
    assert_eq!(command.last().unwrap(), "2");
    // The second call computed no step.
    let continued = manifest["continued"].as_array().unwrap();
    assert_eq!(continued.len(), 1);
    assert_eq!(continued[0]["from_step"], 10);
    assert_eq!(
        continued[0]["command"].as_array().unwrap().last().unwrap(),
        "5"
    );
    assert_eq!(manifest["frames"], 5);
}
