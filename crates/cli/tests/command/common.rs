//! Calls the program and looks at what it leaves.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value as Json;
use tempfile::TempDir;

/// No call takes longer than this, or the test fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// A flag small enough for a tenth of a second.
pub(crate) const TINY: [&str; 5] = ["run", "flag", "--quick", "--set", "parameters.n=8"];

/// A folder in which commands are called.
pub(crate) struct Place {
    folder: TempDir,
}

/// What a call left behind.
#[derive(Debug)]
pub(crate) struct Ran {
    /// The exit code; none if a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A call under way.
pub(crate) struct Running {
    child: Child,
    outputs: [tempfile::TempPath; 2],
    began: Instant,
}

impl Place {
    pub(crate) fn new() -> Place {
        let folder = tempfile::tempdir().unwrap();
        Place { folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Calls the program here.
    pub(crate) fn call(&self, arguments: &[&str]) -> Ran {
        self.start(arguments).wait()
    }

    /// Calls a scene with more arguments, and expects an exit code.
    pub(crate) fn expect(&self, code: i32, scene: &[&str], more: &[&str]) -> Ran {
        let ran = self.call(&[scene, more].concat());
        assert_eq!(ran.code, Some(code), "{scene:?} {more:?}: {ran:#?}");
        ran
    }

    /// Runs to the end and gives the summary.
    pub(crate) fn finish(&self, scene: &[&str], more: &[&str]) -> Json {
        let summary = ["--summary", "json", "--quiet"];
        self.expect(0, scene, &[more, &summary].concat()).summary()
    }

    /// Runs to the end and gives the hash of the last state.
    pub(crate) fn hash(&self, scene: &[&str], more: &[&str]) -> String {
        let summary = self.finish(scene, more);
        summary["state_hash"].as_str().unwrap().to_owned()
    }

    /// Starts the program here.
    pub(crate) fn start(&self, arguments: &[&str]) -> Running {
        self.start_in(&[], arguments)
    }

    /// Starts the program here, with other variables of its environment. There is no screen.
    pub(crate) fn start_in(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Running {
        // Outputs go to files: a pipe that nobody empties would stop the program.
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
            began: Instant::now(),
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

    /// Ends it without a chance to clean up; whether it was still alive.
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

    /// Waits until something is there.
    pub(crate) fn wait_until(&mut self, what: &str, is_there: impl Fn() -> bool) {
        while !is_there() {
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none(), "it ended before {what} came");
            self.rest();
        }
    }

    /// What it has said up to now, standard output first.
    pub(crate) fn said(&self) -> String {
        let said = self.outputs.iter().map(|path| fs::read(path).unwrap());
        String::from_utf8_lossy(&said.collect::<Vec<_>>().concat()).into_owned()
    }

    /// Waits until it has said something.
    pub(crate) fn wait_to_say(&mut self, text: &str) -> String {
        while !self.said().contains(text) {
            let ended = self.child.try_wait().unwrap();
            assert!(
                ended.is_none(),
                "it ended without `{text}`: {}",
                self.said()
            );
            self.rest();
        }
        self.said()
    }

    /// Waits for the end.
    pub(crate) fn wait(mut self) -> Ran {
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                let read = |path: &Path| String::from_utf8(fs::read(path).unwrap()).unwrap();
                return Ran {
                    code: status.code(),
                    stdout: read(&self.outputs[0]),
                    stderr: read(&self.outputs[1]),
                };
            }
            self.rest();
        }
    }

    fn rest(&self) {
        assert!(self.began.elapsed() < PATIENCE, "it takes too long");
        std::thread::sleep(Duration::from_millis(2));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A test that fails leaves no process behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Ran {
    /// The last line of standard output.
    pub(crate) fn summary(&self) -> Json {
        let last = self.stdout.lines().last().unwrap_or_default();
        serde_json::from_str(last).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }

    /// Expects a text in what was said.
    pub(crate) fn says(&self, text: &str) -> &Ran {
        let said = self.stdout.contains(text) || self.stderr.contains(text);
        assert!(said, "`{text}` is not in {self:#?}");
        self
    }
}

/// Every file below a folder with its bytes, by name.
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

/// Expects the run in `folder` to be whole, with the same bits as another.
pub(crate) fn same_run(folder: &Path, other: &Path) {
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
