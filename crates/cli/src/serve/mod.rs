//! The server behind the viewer: the page, the runs that it shows, and the job that it may have to do.
//!
//! It only reads what it serves. Each connection has its own thread: one that fails, or waits for a slow peer, does not
//! keep the others from their answers.

mod answer;
mod guard;
mod http;
mod request;

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use reefknot::io::IoError;
use reefknot::io::folder::RunFolder;
use reefknot::io::slim::SlimRun;
use reefknot::io::status::{RunState, RunStatus, identity};

pub(crate) use answer::lines_from;

/// The viewer: one file with everything in it.
pub(crate) const PAGE: &str = include_str!("../../../../viewer/dist/index.html");

/// More connections than a few pages open at once are refused.
const MOST_CONNECTIONS: usize = 64;
/// How long to wait if the system has no connection to give.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Pictures that wait to be written.
const MOST_WAITING: usize = 2;

/// A server that answers for as long as the process lives.
pub(crate) struct Server {
    port: u16,
    served: Arc<Served>,
}

/// What is served.
struct Served {
    runs: Vec<ServedRun>,
    job: Option<Job>,
    last_asked: Mutex<Option<Instant>>,
    connections: AtomicUsize,
}

/// A run, and what is known of it.
struct ServedRun {
    /// As the user wrote it.
    path: String,
    folder: RunFolder,
    /// Whether a run has been seen there.
    was_there: AtomicBool,
    /// By the identity of the run that it was opened for.
    slim: Mutex<Option<(String, Arc<SlimRun>)>>,
}

/// Pictures that the page is to make.
pub(crate) struct Job {
    /// Only the page that was started for the job knows it.
    pub(crate) token: String,
    pub(crate) frames: Vec<u64>,
    pub(crate) size: [u32; 2],
    /// How the page shows the run, as in its address.
    pub(crate) look: String,
    events: SyncSender<JobEvent>,
}

/// What becomes of a job.
pub(crate) enum JobEvent {
    /// A frame, as a PNG file.
    Picture(u64, Vec<u8>),
    Done,
    Error(String),
}

impl Server {
    /// Listens on this port of this machine, or on any that is free if it is 0.
    pub(crate) fn start(runs: &[PathBuf], port: u16, job: Option<Job>) -> io::Result<Server> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let port = listener.local_addr()?.port();
        let served = Arc::new(Served {
            runs: runs.iter().map(|run| ServedRun::new(run)).collect(),
            job,
            last_asked: Mutex::default(),
            connections: AtomicUsize::new(0),
        });
        let shared = served.clone();
        let name = "viewer".to_owned();
        let thread = std::thread::Builder::new().name(name);
        thread.spawn(move || listen(&listener, &shared))?;
        Ok(Server { port, served })
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Where a browser finds the page.
    pub(crate) fn address(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    /// For how long nobody has asked for anything; none if nobody ever has.
    pub(crate) fn idle(&self) -> Option<Duration> {
        let last = self.served.last_asked.lock();
        let last = *last.unwrap_or_else(PoisonError::into_inner);
        last.map(|last| last.elapsed())
    }
}

impl Job {
    /// A job, and where to hear of it.
    pub(crate) fn new(frames: Vec<u64>, size: [u32; 2], look: String) -> (Job, Receiver<JobEvent>) {
        let (events, receiver) = sync_channel(MOST_WAITING);
        // The keys of hash maps are random so that nobody can guess them, and so is what they make of a number.
        let halves = [0_u64, 1].map(|half| format!("{:016x}", RandomState::new().hash_one(half)));
        let job = Job {
            token: halves.concat(),
            frames,
            size,
            look,
            events,
        };
        (job, receiver)
    }
}

impl ServedRun {
    fn new(path: &Path) -> ServedRun {
        let run = ServedRun {
            path: path.display().to_string(),
            folder: RunFolder::new(path),
            was_there: AtomicBool::new(false),
            slim: Mutex::default(),
        };
        run.status();
        run
    }

    fn status(&self) -> RunStatus {
        let status = RunStatus::of(&self.folder, self.was_there.load(Ordering::Relaxed));
        use RunState::{Finished, Running, Stopped};
        if matches!(status.state, Running | Finished | Stopped) {
            self.was_there.store(true, Ordering::Relaxed);
        }
        status
    }

    /// The run as it is now: another may have taken its place.
    fn slim(&self) -> Result<Arc<SlimRun>, IoError> {
        let identity = identity(&self.folder)?;
        let mut known = self.slim.lock().unwrap_or_else(PoisonError::into_inner);
        match &*known {
            Some((of, slim)) if *of == identity => Ok(slim.clone()),
            _ => {
                let slim = Arc::new(SlimRun::open(&self.folder)?);
                *known = Some((identity, slim.clone()));
                Ok(slim)
            }
        }
    }
}

fn listen(listener: &TcpListener, served: &Arc<Served>) {
    loop {
        match listener.accept() {
            Ok((stream, _)) => attend(stream, served),
            // A peer that went away, or too many open files: neither lasts.
            Err(_) => std::thread::sleep(ACCEPT_PAUSE),
        }
    }
}

/// Counts a connection for as long as it is open, however it ends.
struct Counted(Arc<Served>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

fn attend(stream: TcpStream, served: &Arc<Served>) {
    let before = served.connections.fetch_add(1, Ordering::Relaxed);
    let counted = Counted(served.clone());
    if before >= MOST_CONNECTIONS {
        return;
    }
    let thread = std::thread::Builder::new().name("connection".to_owned());
    // Without a thread the connection is closed, and the page asks again.
    let _ = thread.spawn(move || {
        let served = &counted.0;
        // A peer that breaks off has its reasons.
        let _ = http::converse(stream, |request, body| {
            answer::answer(served, request, body)
        });
    });
}
