//! The HTTP server of the viewer: its page, the runs that it shows, and a render job.
//!
//! The server only reads run folders. Each connection has its own thread, so that a slow or failing
//! client does not delay others.

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

use reefknot_sim::io::IoError;
use reefknot_sim::io::folder::RunFolder;
use reefknot_sim::io::slim::SlimRun;
use reefknot_sim::io::status::{RunState, RunStatus, identity};

/// The viewer: one HTML file with all scripts and styles.
pub(crate) const PAGE: &str = include_str!("../../../../../viewer/dist/index.html");

/// Largest number of open connections. A few pages need fewer.
const MAX_CONNECTIONS: usize = 64;
/// Pause after a failed `accept`.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Largest number of images that wait to be written.
const MAX_QUEUED_IMAGES: usize = 2;

/// A running server. It ends with the process.
pub(crate) struct Server {
    port: u16,
    served: Arc<Served>,
}

/// Shared state of all connections.
struct Served {
    runs: Vec<ServedRun>,
    job: Option<Job>,
    last_request: Mutex<Option<Instant>>,
    connections: AtomicUsize,
}

/// A run folder with cached state.
struct ServedRun {
    /// Path as given by the user.
    path: String,
    folder: RunFolder,
    /// Whether the folder had a run before.
    had_run: AtomicBool,
    /// The opened run with its identity, to detect that another run has replaced it.
    slim: Mutex<Option<(String, Arc<SlimRun>)>>,
}

/// A render job: frames that the page renders to images.
pub(crate) struct Job {
    /// Secret that only the page of this job knows.
    pub(crate) token: String,
    pub(crate) frames: Vec<u64>,
    pub(crate) size: [u32; 2],
    /// Camera and colours: the query of a viewer address.
    pub(crate) look: String,
    events: SyncSender<JobEvent>,
}

/// Event of a render job.
pub(crate) enum JobEvent {
    /// A frame and its PNG file.
    Picture(u64, Vec<u8>),
    Done,
    Error(String),
}

impl Server {
    /// Listens on this port of 127.0.0.1. Port 0 is any free port.
    pub(crate) fn start(runs: &[PathBuf], port: u16, job: Option<Job>) -> io::Result<Server> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let port = listener.local_addr()?.port();
        let served = Arc::new(Served {
            runs: runs.iter().map(|run| ServedRun::new(run)).collect(),
            job,
            last_request: Mutex::default(),
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

    /// Address of the page.
    pub(crate) fn address(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    /// Time since the last request; `None` before the first.
    pub(crate) fn idle(&self) -> Option<Duration> {
        let last = self.served.last_request.lock();
        let last = *last.unwrap_or_else(PoisonError::into_inner);
        last.map(|last| last.elapsed())
    }
}

impl Job {
    /// A job and the receiver of its events.
    pub(crate) fn new(frames: Vec<u64>, size: [u32; 2], look: String) -> (Job, Receiver<JobEvent>) {
        let (events, receiver) = sync_channel(MAX_QUEUED_IMAGES);
        // `RandomState` has random keys, so its hash of a number cannot be guessed.
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
            had_run: AtomicBool::new(false),
            slim: Mutex::default(),
        };
        run.status();
        run
    }

    fn status(&self) -> RunStatus {
        let status = RunStatus::read(&self.folder, self.had_run.load(Ordering::Relaxed));
        use RunState::{Finished, Running, Stopped};
        if matches!(status.state, Running | Finished | Stopped) {
            self.had_run.store(true, Ordering::Relaxed);
        }
        status
    }

    /// The opened run; opened again if another run has replaced it.
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
            // A client that has disconnected, or too many open files: both are temporary.
            Err(_) => std::thread::sleep(ACCEPT_PAUSE),
        }
    }
}

/// Guard that counts an open connection until it is dropped.
struct Counted(Arc<Served>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

fn attend(stream: TcpStream, served: &Arc<Served>) {
    let before = served.connections.fetch_add(1, Ordering::Relaxed);
    let counted = Counted(served.clone());
    if before >= MAX_CONNECTIONS {
        return;
    }
    let thread = std::thread::Builder::new().name("connection".to_owned());
    // If no thread starts, the connection is closed and the page retries.
    let _ = thread.spawn(move || {
        let served = &counted.0;
        // Clients may disconnect at any time.
        let _ = http::converse(stream, |request, body| {
            answer::answer(served, request, body)
        });
    });
}
