//! Runs the program in a temporary folder, and inspects its output and files.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value as Json;
use tempfile::TempDir;

/// Time limit of a call; the test fails beyond it.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A flag that takes about 0.1 s.
pub(crate) const TINY: [&str; 5] = ["run", "flag", "--quick", "--set", "parameters.n=8"];

/// A temporary folder in which the program runs.
pub(crate) struct Sandbox {
    folder: TempDir,
}

/// Exit code and output of a call.
#[derive(Debug)]
pub(crate) struct Output {
    /// Exit code; `None` if a signal ended the process.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A running process.
pub(crate) struct Running {
    child: Child,
    outputs: [tempfile::TempPath; 2],
    started: Instant,
}

impl Sandbox {
    pub(crate) fn new() -> Sandbox {
        let folder = tempfile::tempdir().unwrap();
        Sandbox { folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs the program in this folder to its end.
    pub(crate) fn call(&self, arguments: &[&str]) -> Output {
        self.start(arguments).wait()
    }

    /// Runs the program with the arguments `scene` and `more`, and expects an exit code.
    pub(crate) fn expect(&self, code: i32, scene: &[&str], more: &[&str]) -> Output {
        let output = self.call(&[scene, more].concat());
        assert_eq!(output.code, Some(code), "{scene:?} {more:?}: {output:#?}");
        output
    }

    /// Runs to the end; returns the summary.
    pub(crate) fn finish(&self, scene: &[&str], more: &[&str]) -> Json {
        let summary = ["--summary", "json", "--quiet"];
        self.expect(0, scene, &[more, &summary].concat()).summary()
    }

    /// Runs to the end; returns the hash of the last state.
    pub(crate) fn hash(&self, scene: &[&str], more: &[&str]) -> String {
        let summary = self.finish(scene, more);
        summary["state_hash"].as_str().unwrap().to_owned()
    }

    /// Starts the program in this folder.
    pub(crate) fn start(&self, arguments: &[&str]) -> Running {
        self.start_in(&[], arguments)
    }

    /// Starts the program in this folder with additional environment variables and no display.
    pub(crate) fn start_in(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Running {
        // Outputs go to files: a full pipe would block the program.
        let outputs = [(); 2].map(|()| tempfile::NamedTempFile::new().unwrap());
        let outputs = outputs.map(|file| file.into_temp_path());
        let file = |path: &Path| Stdio::from(File::create(path).unwrap());
        let child = Command::new(env!("CARGO_BIN_EXE_reefknot"))
            .args(arguments)
            .envs([("DISPLAY", ""), ("WAYLAND_DISPLAY", "")])
            .envs(variables.iter().copied())
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(file(&outputs[0]))
            .stderr(file(&outputs[1]))
            .spawn()
            .unwrap();
        Running {
            child,
            outputs,
            started: Instant::now(),
        }
    }
}

impl Running {
    /// Sends a signal to this process.
    pub(crate) fn signal(&self, name: &str) {
        let process = self.child.id().to_string();
        let status = Command::new("kill").args([name, &process]).status();
        assert!(status.unwrap().success());
    }

    /// Kills the process. Returns whether it was still running.
    pub(crate) fn kill(&mut self) -> bool {
        let alive = self.child.try_wait().unwrap().is_none();
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        alive
    }

    /// Waits until a file appears.
    pub(crate) fn wait_for(&mut self, path: &Path) {
        self.wait_until(&path.display().to_string(), || path.exists());
    }

    /// Waits until a condition holds; `what` names it in error messages.
    pub(crate) fn wait_until(&mut self, what: &str, holds: impl Fn() -> bool) {
        while !holds() {
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none(), "the program ended before {what}");
            self.wait_briefly();
        }
    }

    /// Output so far, standard output first.
    pub(crate) fn printed(&self) -> String {
        let printed = self.outputs.iter().map(|path| fs::read(path).unwrap());
        String::from_utf8_lossy(&printed.collect::<Vec<_>>().concat()).into_owned()
    }

    /// Waits until the output contains a text; returns the output.
    pub(crate) fn wait_for_text(&mut self, text: &str) -> String {
        while !self.printed().contains(text) {
            let ended = self.child.try_wait().unwrap();
            assert!(
                ended.is_none(),
                "the program ended without `{text}`: {}",
                self.printed()
            );
            self.wait_briefly();
        }
        self.printed()
    }

    /// Waits for the end of the process.
    pub(crate) fn wait(mut self) -> Output {
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                let read = |path: &Path| String::from_utf8(fs::read(path).unwrap()).unwrap();
                return Output {
                    code: status.code(),
                    stdout: read(&self.outputs[0]),
                    stderr: read(&self.outputs[1]),
                };
            }
            self.wait_briefly();
        }
    }

    fn wait_briefly(&self) {
        assert!(
            self.started.elapsed() < TIMEOUT,
            "the program takes too long"
        );
        std::thread::sleep(Duration::from_millis(2));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A failed test leaves no process behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Output {
    /// The last line of standard output.
    pub(crate) fn summary(&self) -> Json {
        let last = self.stdout.lines().last().unwrap_or_default();
        serde_json::from_str(last).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }

    /// Asserts that the output contains a text.
    pub(crate) fn prints(&self, text: &str) -> &Output {
        let printed = self.stdout.contains(text) || self.stderr.contains(text);
        assert!(printed, "`{text}` is not in {self:#?}");
        self
    }
}

/// All files below a folder with their bytes, sorted by path.
pub(crate) fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push((path.clone(), fs::read(&path).unwrap()));
        }
    }
    found.sort();
    found
}

/// Asserts that the run in `folder` is complete, with the same bits as another.
pub(crate) fn assert_same_run(folder: &Path, other: &Path) {
    let names = |folder: &Path| {
        let names = files(&folder.join("frames")).into_iter();
        let named = names.map(|(path, bytes)| (path.file_name().unwrap().to_owned(), bytes));
        named.collect::<Vec<_>>()
    };
    let (frames, others) = (names(folder), names(other));
    assert_eq!(frames.len(), others.len());
    for ((name, bytes), (other_name, other_bytes)) in frames.iter().zip(&others) {
        assert_eq!(name, other_name);
        assert!(bytes == other_bytes, "{} differs", name.display());
    }
    for name in ["probes.csv", "topology.safetensors", "scene.toml"] {
        let read = |folder: &Path| fs::read(folder.join(name)).unwrap();
        assert!(read(folder) == read(other), "{name} differs");
    }
    let steps = |folder: &Path| {
        let text = fs::read_to_string(folder.join("run.jsonl")).unwrap();
        let steps = text.lines().map(|line| {
            let report: Json = serde_json::from_str(line).unwrap();
            report["step"].as_u64().unwrap()
        });
        steps.collect::<Vec<u64>>()
    };
    let count = steps(other).len() as u64;
    assert_eq!(steps(folder), (1..=count).collect::<Vec<u64>>());
}
