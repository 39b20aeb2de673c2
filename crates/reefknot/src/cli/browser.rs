//! Browsers: the default browser of the user, and a headless one that renders images.

use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::cli::Failure;

/// Program names of browsers based on Chromium.
const NAMES: [&str; 6] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
];

/// Their paths on macOS, where they are not in PATH.
const APPLICATIONS: [&str; 3] = [
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
];

/// Environment variable with the browser that renders images.
const VARIABLE: &str = "REEFKNOT_BROWSER";

/// Number of lines of the browser's log in an error message.
const LOG_LINES: usize = 10;
/// Longest wait for the child processes of a browser to exit.
const EXIT_TIMEOUT: Duration = Duration::from_secs(3);

/// Whether the machine has a display.
pub(crate) fn has_display() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    cfg!(any(windows, target_os = "macos")) || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")
}

/// Opens an address in the default browser. Returns whether it was started; `on_failure` is called
/// if it exits with an error later.
pub(crate) fn open(address: &str, on_failure: impl FnOnce() + Send + 'static) -> bool {
    let (program, arguments): (&str, &[&str]) = match std::env::consts::OS {
        "windows" => ("cmd", &["/C", "start", ""]),
        "macos" => ("open", &[]),
        _ => ("xdg-open", &[]),
    };
    if !has_display() {
        return false;
    }
    let mut command = Command::new(program);
    command.args(arguments).arg(address);
    command.stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    // Ctrl-C must not reach the browser.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let Ok(mut child) = command.spawn() else {
        return false;
    };
    let waiting = std::thread::Builder::new().spawn(move || {
        let is_open = child.wait().is_ok_and(|status| status.success());
        if !is_open {
            on_failure();
        }
    });
    waiting.is_ok()
}

/// Instructions to open the page from another machine.
pub(crate) fn remote_hint(port: u16) -> String {
    let known = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let host = fs::read_to_string("/etc/hostname").ok();
    let host = host.map(|name| name.trim().to_owned());
    let host = host.filter(|name| !name.is_empty());
    let host = host.or_else(|| known("HOSTNAME"));
    format!(
        "from another machine: ssh -L {port}:127.0.0.1:{port} {}@{}, then open this address",
        known("USER").unwrap_or_else(|| "USER".to_owned()),
        host.unwrap_or_else(|| "HOST".to_owned())
    )
}

/// Finds a browser that can run headless.
pub(crate) fn find(run: &Path) -> Result<PathBuf, Failure> {
    let on_path = |name: &str| {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        let mut paths = std::env::split_paths(&folders).map(|folder| folder.join(name));
        paths.find(|path| path.is_file())
    };
    if let Some(named) = std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
        let path = PathBuf::from(&named);
        let found = match path.components().count() {
            1 => on_path(&named.to_string_lossy()),
            _ => path.is_file().then_some(path),
        };
        return found.ok_or_else(|| {
            let named = named.to_string_lossy();
            Failure::refused(format!("{VARIABLE} is {named}, which does not exist"))
        });
    }
    let of_mac = || {
        APPLICATIONS
            .map(PathBuf::from)
            .into_iter()
            .find(|path| path.is_file())
    };
    let found = NAMES.iter().find_map(|name| on_path(name)).or_else(of_mac);
    found.ok_or_else(|| {
        Failure::refused(format!(
            "rendering needs Chromium or Chrome, which was not found; install it \
             (Debian: apt install chromium), or set {VARIABLE} to its path. \
             `reefknot view {}` has a button that saves a PNG in any browser",
            run.display()
        ))
    })
}

/// A headless browser. Dropping it ends the process and removes its files.
pub(crate) struct Headless {
    child: Child,
    folder: PathBuf,
}

impl Headless {
    pub(crate) fn start(program: &Path, address: &str, size: [u32; 2]) -> Result<Self, Failure> {
        let random = RandomState::new().hash_one(std::process::id());
        let folder = std::env::temp_dir().join(format!("reefknot-{random:016x}"));
        let cannot = |path: &Path, error: std::io::Error| {
            Failure::refused(format!("cannot start {}: {error}", path.display()))
        };
        make_private(&folder).map_err(|error| cannot(&folder, error))?;
        let log = File::create(log_of(&folder)).map_err(|error| cannot(&folder, error))?;
        let [width, height] = size;
        let mut command = Command::new(program);
        command.args([
            "--headless",
            // The sandbox does not work in containers, and the browser opens our own page only.
            "--no-sandbox",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-extensions",
            "--hide-scrollbars",
            "--mute-audio",
            "--ignore-gpu-blocklist",
            "--enable-unsafe-swiftshader",
        ]);
        command.arg(format!("--window-size={width},{height}"));
        command.arg(format!("--user-data-dir={}", folder.display()));
        command.arg(address);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        if cfg!(target_os = "linux") {
            // A killed browser does not remove its temporary files.
            command.env("TMPDIR", &folder);
        }
        match command.spawn() {
            Ok(child) => Ok(Headless { child, folder }),
            Err(error) => {
                let _ = fs::remove_dir_all(&folder);
                Err(cannot(program, error))
            }
        }
    }

    /// Exit status and last lines of the log, if the browser has exited by itself.
    pub(crate) fn exit_report(&mut self) -> Option<String> {
        let status = self.child.try_wait().ok()??;
        let log = fs::read(log_of(&self.folder)).unwrap_or_default();
        let log = String::from_utf8_lossy(&log).into_owned();
        let lines: Vec<&str> = log.lines().filter(|line| !line.trim().is_empty()).collect();
        let last = &lines[lines.len().saturating_sub(LOG_LINES)..];
        Some(if last.is_empty() {
            format!("({status})")
        } else {
            format!("({status}):\n{}", last.join("\n"))
        })
    }
}

impl Drop for Headless {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        // Child processes exit after the main process, and may write files until then.
        let began = Instant::now();
        while fs::remove_dir_all(&self.folder).is_err()
            && self.folder.exists()
            && began.elapsed() < EXIT_TIMEOUT
        {
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

fn log_of(folder: &Path) -> PathBuf {
    folder.join("browser.log")
}

/// Creates a new folder that only this user can read.
fn make_private(folder: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}
