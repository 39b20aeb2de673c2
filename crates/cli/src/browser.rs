//! Other programs that show a page: the user's own browser, and one without a window that makes pictures.

use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::Failure;

/// Names of Chromium and its relatives.
const NAMES: [&str; 6] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
];

/// Where they are on macOS, which does not put them on the PATH.
const APPLICATIONS: [&str; 3] = [
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
];

/// Names the browser to make pictures with.
const VARIABLE: &str = "REEFKNOT_BROWSER";

/// How much of what a browser said is passed on when it fails.
const LAST_LINES: usize = 10;
/// How long the helpers of a browser may take to follow it.
const FAREWELL: Duration = Duration::from_secs(3);

/// Whether there is a screen that a browser can be shown on.
pub(crate) fn has_display() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    cfg!(any(windows, target_os = "macos")) || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")
}

/// Opens the user's browser, if there is a screen; whether it was started. Whether that did anything is known later:
/// `regret` is called if not.
pub(crate) fn open(address: &str, regret: impl FnOnce() + Send + 'static) -> bool {
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
    // Ctrl-C is for us, not for the browser.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let Ok(mut child) = command.spawn() else {
        return false;
    };
    let waiting = std::thread::Builder::new().spawn(move || {
        let is_open = child.wait().is_ok_and(|status| status.success());
        if !is_open {
            regret();
        }
    });
    waiting.is_ok()
}

/// How to see the page from another machine.
pub(crate) fn from_afar(port: u16) -> String {
    let known = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let host = fs::read_to_string("/etc/hostname").ok();
    let host = host.map(|name| name.trim().to_owned());
    let host = host.filter(|name| !name.is_empty());
    let host = host.or_else(|| known("HOSTNAME"));
    format!(
        "from another machine: ssh -L {port}:127.0.0.1:{port} {}@{}, then open the address there",
        known("USER").unwrap_or_else(|| "USER".to_owned()),
        host.unwrap_or_else(|| "HOST".to_owned())
    )
}

/// Looks for a browser that can do without a window.
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
            Failure::refused(format!("{VARIABLE} names {named}, which is not there"))
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
            "pictures are drawn by Chromium or Chrome, and neither is there; install one (Debian: apt install chromium), or name it in {VARIABLE}. \
             `reefknot view {}` has a button that saves a PNG in any browser",
            run.display()
        ))
    })
}

/// A browser without a window. It ends with this value, and its files are removed.
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
            // Containers lack what the sandbox needs, and the browser shows nothing but our own page.
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
            // A browser that is killed does not clean up behind itself.
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

    /// If it has ended by itself: the last that it said.
    pub(crate) fn last_words(&mut self) -> Option<String> {
        let status = self.child.try_wait().ok()??;
        let log = fs::read(log_of(&self.folder)).unwrap_or_default();
        let log = String::from_utf8_lossy(&log).into_owned();
        let lines: Vec<&str> = log.lines().filter(|line| !line.trim().is_empty()).collect();
        let last = &lines[lines.len().saturating_sub(LAST_LINES)..];
        Some(match last.is_empty() {
            true => format!("({status})"),
            false => format!("({status}):\n{}", last.join("\n")),
        })
    }
}

impl Drop for Headless {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        // Its helpers end when they miss it, and may write until then.
        let began = Instant::now();
        while fs::remove_dir_all(&self.folder).is_err()
            && self.folder.exists()
            && began.elapsed() < FAREWELL
        {
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

fn log_of(folder: &Path) -> PathBuf {
    folder.join("browser.log")
}

/// Makes a folder that nobody else may look into, and that was not there.
fn make_private(folder: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}
