//! `reefknot render`: the page of the viewer draws the frames in a browser without a window, and sends them here.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use reefknot::io::atomic::write_atomically;
use reefknot::io::status::RunStatus;
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::arguments::{RenderArguments, Size};
use crate::browser::{self, Headless};
use crate::run::INTERRUPTED;
use crate::serve::{Job, JobEvent, Server};
use crate::{Failure, say, view};

/// How long nothing may come before it is called off.
const PATIENCE: Duration = Duration::from_secs(120);
/// How often to see whether the browser still lives, and whether somebody pressed Ctrl-C.
const PAUSE: Duration = Duration::from_millis(100);
/// A line says how far it is after so many pictures, or after this time.
const LINE_PICTURES: usize = 10;
const LINE_EVERY: Duration = Duration::from_secs(5);
/// Ended by a signal.
const TERMINATED: u8 = 143;

pub(crate) fn render(arguments: &RenderArguments) -> Result<u8, Failure> {
    let status = view::look(&arguments.run)?;
    let frames = choose(&status, arguments)?;
    let program = browser::find(&arguments.run)?;
    let folder = &arguments.png;
    std::fs::create_dir_all(folder)
        .map_err(|error| Failure::refused(format!("cannot write {}: {error}", folder.display())))?;
    let signal = Arc::new(AtomicUsize::new(0));
    for number in [SIGINT, SIGTERM] {
        signal_hook::flag::register_usize(number, signal.clone(), number as usize)
            .map_err(|error| Failure::refused(format!("cannot listen to signals: {error}")))?;
    }
    let Size(size) = arguments.size;
    let look = arguments.look.clone().unwrap_or_default();
    let count = frames.len();
    let (job, events) = Job::new(frames, size, look);
    let token = job.token.clone();
    let server = Server::start(std::slice::from_ref(&arguments.run), 0, Some(job))
        .map_err(|error| Failure::refused(format!("cannot serve the page: {error}")))?;
    let address = format!("{}?job={token}", server.address());
    let watched = Watched {
        browser: Headless::start(&program, &address, size)?,
        program,
        signal,
    };
    collect(&events, folder, count, watched)?;
    let plural = if count == 1 { "" } else { "s" };
    say(&format!("{}: {count} picture{plural}", folder.display()));
    Ok(0)
}

/// What can go wrong while pictures are made.
struct Watched {
    program: PathBuf,
    browser: Headless,
    signal: Arc<AtomicUsize>,
}

impl Watched {
    fn is_stopped(&self) -> Result<(), Failure> {
        let code = match self.signal.load(Ordering::Relaxed) as i32 {
            0 => return Ok(()),
            SIGINT => INTERRUPTED,
            _ => TERMINATED,
        };
        let message = "stopped by a signal".to_owned();
        Err(Failure { code, message })
    }

    fn is_alive(&mut self) -> Result<(), Failure> {
        let program = self.program.display();
        match self.browser.last_words() {
            None => Ok(()),
            Some(words) => Err(Failure::failed(format!(
                "{program} ended before the pictures were made {words}"
            ))),
        }
    }
}

/// The frames to draw, all of which are there.
fn choose(status: &RunStatus, arguments: &RenderArguments) -> Result<Vec<u64>, Failure> {
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
        let ranges = status
            .frames
            .iter()
            .map(|[first, last]| match first == last {
                true => first.to_string(),
                false => format!("{first}..{last}"),
            });
        let ranges: Vec<String> = ranges.collect();
        return Err(Failure::refused(format!(
            "{name} has no frame {missing}; it has {}",
            ranges.join(", ")
        )));
    }
    Ok(asked.clone().collect())
}

/// Writes the pictures as they come, until all are there or something is wrong.
fn collect(
    events: &Receiver<JobEvent>,
    folder: &Path,
    count: usize,
    mut watched: Watched,
) -> Result<(), Failure> {
    let mut done = 0;
    let (mut heard, mut told) = (Instant::now(), Instant::now());
    loop {
        watched.is_stopped()?;
        match events.recv_timeout(PAUSE) {
            Ok(JobEvent::Picture(frame, picture)) => {
                let path = folder.join(format!("{frame:05}.png"));
                write_atomically(&path, &picture, false)
                    .map_err(|error| Failure::of_export(&error))?;
                done += 1;
                heard = Instant::now();
                if done % LINE_PICTURES == 0 || told.elapsed() > LINE_EVERY {
                    told = heard;
                    let _ = writeln!(std::io::stderr(), "{done} of {count} pictures");
                }
            }
            Ok(JobEvent::Done) if done >= count => return Ok(()),
            Ok(JobEvent::Done) => {
                let text = format!("the page made {done} of {count} pictures");
                return Err(Failure::failed(text));
            }
            Ok(JobEvent::Error(message)) => return Err(Failure::failed(message)),
            Err(RecvTimeoutError::Timeout) if heard.elapsed() > PATIENCE => {
                let seconds = PATIENCE.as_secs();
                return Err(Failure::failed(format!(
                    "no picture came for {seconds} s, after {done} of {count}; try fewer pixels with --size"
                )));
            }
            // What came before the end of the browser has been taken out.
            Err(RecvTimeoutError::Timeout) => watched.is_alive()?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Failure::failed("the server ended"));
            }
        }
    }
}
