//! `reefknot render`: the viewer draws frames in a headless browser and sends them as PNG files.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use reefknot_sim::io::atomic::write_atomically;
use reefknot_sim::io::status::RunStatus;
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::cli::arguments::{RenderArguments, Size};
use crate::cli::browser::{self, Headless};
use crate::cli::run::INTERRUPTED;
use crate::cli::serve::{Job, JobEvent, Server};
use crate::cli::{Failure, say, view};

/// Largest time between two images before rendering fails.
const IMAGE_TIMEOUT: Duration = Duration::from_secs(120);
/// Interval at which the browser process and signals are checked.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Number of images between two lines of progress.
const IMAGES_PER_LINE: usize = 10;
/// Largest time between two lines of progress.
const LINE_INTERVAL: Duration = Duration::from_secs(5);
/// Exit code: ended by SIGTERM.
const TERMINATED: u8 = 143;

pub(crate) fn render(arguments: &RenderArguments) -> Result<u8, Failure> {
    let status = view::readable_status(&arguments.run)?;
    let frames = selected_frames(&status, arguments)?;
    let program = browser::find(&arguments.run)?;
    let folder = &arguments.png;
    std::fs::create_dir_all(folder)
        .map_err(|error| Failure::refused(format!("cannot write {}: {error}", folder.display())))?;
    let signal = Arc::new(AtomicUsize::new(0));
    for number in [SIGINT, SIGTERM] {
        signal_hook::flag::register_usize(number, signal.clone(), number as usize)
            .map_err(|error| Failure::refused(format!("cannot handle signals: {error}")))?;
    }
    let Size(size) = arguments.size;
    let look = arguments.look.clone().unwrap_or_default();
    let count = frames.len();
    let (job, events) = Job::new(frames, size, look);
    let token = job.token.clone();
    let server = Server::start(std::slice::from_ref(&arguments.run), 0, Some(job))
        .map_err(|error| Failure::refused(format!("cannot start the viewer: {error}")))?;
    let address = format!("{}?job={token}", server.address());
    let renderer = Renderer {
        browser: Headless::start(&program, &address, size)?,
        program,
        signal,
    };
    collect(&events, folder, count, renderer)?;
    let plural = if count == 1 { "" } else { "s" };
    say(&format!("{}: {count} image{plural}", folder.display()));
    Ok(0)
}

/// The browser that renders, and the signal that stops it.
struct Renderer {
    program: PathBuf,
    browser: Headless,
    signal: Arc<AtomicUsize>,
}

impl Renderer {
    /// Fails after Ctrl-C or SIGTERM.
    fn check_signal(&self) -> Result<(), Failure> {
        let code = match self.signal.load(Ordering::Relaxed) as i32 {
            0 => return Ok(()),
            SIGINT => INTERRUPTED,
            _ => TERMINATED,
        };
        Err(Failure::new(code, "stopped by a signal"))
    }

    /// Fails if the browser has exited.
    fn check_browser(&mut self) -> Result<(), Failure> {
        let program = self.program.display();
        match self.browser.exit_report() {
            None => Ok(()),
            Some(report) => Err(Failure::failed(format!(
                "{program} exited before all images were rendered {report}"
            ))),
        }
    }
}

/// The frames to render; fails if one of them is not stored.
fn selected_frames(status: &RunStatus, arguments: &RenderArguments) -> Result<Vec<u64>, Failure> {
    let stored = status
        .frames
        .iter()
        .flat_map(|[first, last]| *first..=*last);
    let stored: Vec<u64> = stored.collect();
    let name = arguments.run.display();
    if stored.is_empty() {
        return Err(Failure::refused(format!("{name} has no frames yet")));
    }
    let Some(asked) = &arguments.frames else {
        return Ok(stored);
    };
    let is_stored = |frame: &u64| stored.binary_search(frame).is_ok();
    if let Some(missing) = asked.clone().find(|frame| !is_stored(frame)) {
        let ranges = status.frames.iter().map(|[first, last]| {
            if first == last {
                first.to_string()
            } else {
                format!("{first}..{last}")
            }
        });
        let ranges: Vec<String> = ranges.collect();
        return Err(Failure::refused(format!(
            "{name} has no frame {missing}; it has {}",
            ranges.join(", ")
        )));
    }
    Ok(asked.clone().collect())
}

/// Writes images as they arrive, until all are written.
fn collect(
    events: &Receiver<JobEvent>,
    folder: &Path,
    count: usize,
    mut renderer: Renderer,
) -> Result<(), Failure> {
    let mut done = 0;
    let (mut last_image, mut last_line) = (Instant::now(), Instant::now());
    loop {
        renderer.check_signal()?;
        match events.recv_timeout(POLL_INTERVAL) {
            Ok(JobEvent::Picture(frame, picture)) => {
                let path = folder.join(format!("{frame:05}.png"));
                write_atomically(&path, &picture, false)
                    .map_err(|error| Failure::of_export(&error))?;
                done += 1;
                last_image = Instant::now();
                if done % IMAGES_PER_LINE == 0 || last_line.elapsed() > LINE_INTERVAL {
                    last_line = last_image;
                    let _ = writeln!(std::io::stderr(), "{done} of {count} images");
                }
            }
            Ok(JobEvent::Done) if done >= count => return Ok(()),
            Ok(JobEvent::Done) => {
                let text = format!("the viewer rendered {done} of {count} images");
                return Err(Failure::failed(text));
            }
            Ok(JobEvent::Error(message)) => return Err(Failure::failed(message)),
            Err(RecvTimeoutError::Timeout) if last_image.elapsed() > IMAGE_TIMEOUT => {
                let seconds = IMAGE_TIMEOUT.as_secs();
                return Err(Failure::failed(format!(
                    "no image for {seconds} s, after {done} of {count}; try a smaller --size"
                )));
            }
            // Images that arrived before the browser exited are already written.
            Err(RecvTimeoutError::Timeout) => renderer.check_browser()?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Failure::failed("the viewer stopped"));
            }
        }
    }
}
