//! From what was asked for to what is sent back.

use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::PoisonError;
use std::time::Instant;

use reefknot::io::IoError;
use reefknot::io::status::RunState;
use serde_json::json;

use super::guard;
use super::http::{Answer, Body, Request};
use super::request::{Asked, File, Report};
use super::{Job, JobEvent, PAGE, Served, ServedRun};

/// The page runs what it brings along, and asks nobody but this server.
const PAGE_POLICY: &str = "Content-Security-Policy: default-src 'none'; \
    script-src 'unsafe-inline' 'wasm-unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:; \
    connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'\r\n";

const JSON: &str = "application/json";
const TEXT: &str = "text/plain; charset=utf-8";
const ARRAYS: &str = "application/octet-stream";

/// No picture is larger.
const LARGEST_PICTURE: u64 = 64 << 20;
const LONGEST_MESSAGE: u64 = 1 << 16;
/// How every PNG file begins.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

pub(super) fn answer(served: &Served, request: &Request, body: &mut Body<'_>) -> Answer {
    if let Some(reason) = guard::refusal(request) {
        return Answer::sentence(403, reason);
    }
    let now = Some(Instant::now());
    *served
        .last_asked
        .lock()
        .unwrap_or_else(PoisonError::into_inner) = now;
    let is_read = matches!(request.method.as_str(), "GET" | "HEAD");
    if !is_read && request.method != "POST" {
        return wrong_method("Allow: GET, HEAD\r\n");
    }
    let Some(asked) = Asked::parse(&request.target) else {
        return not_found();
    };
    match asked {
        Asked::OfJob(token, report) => match &served.job {
            Some(job) if job.token == token => match is_read {
                true => wrong_method("Allow: POST\r\n"),
                false => take(job, report, body).unwrap_or_else(|answer| answer),
            },
            _ => not_found(),
        },
        _ if !is_read => wrong_method("Allow: GET, HEAD\r\n"),
        Asked::Page => Answer {
            header: PAGE_POLICY,
            ..Answer::file("text/html; charset=utf-8", PAGE.as_bytes().to_vec())
        },
        Asked::Icon => Answer {
            code: 204,
            ..Answer::file(TEXT, Vec::new())
        },
        Asked::Runs => Answer::file(JSON, runs(served).into_bytes()),
        Asked::OfRun(number, file) => {
            let number = usize::try_from(number).unwrap_or(usize::MAX);
            match served.runs.get(number) {
                Some(run) => of_run(run, &file).unwrap_or_else(|error| failed(run, &file, &error)),
                None => not_found(),
            }
        }
    }
}

fn not_found() -> Answer {
    Answer::sentence(404, "there is nothing of this name")
}

fn wrong_method(allowed: &'static str) -> Answer {
    Answer {
        header: allowed,
        ..Answer::sentence(405, "this is not how to ask for it")
    }
}

fn runs(served: &Served) -> String {
    let runs = served.runs.iter().map(|run| json!({"path": run.path}));
    let job = served.job.as_ref().map(|job| {
        let [width, height] = job.size;
        json!({"frames": job.frames, "width": width, "height": height, "look": job.look})
    });
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "runs": runs.collect::<Vec<_>>(),
        "job": job,
    })
    .to_string()
}

fn of_run(run: &ServedRun, file: &File) -> Result<Answer, IoError> {
    let text = |kind, name: &str, from: Option<u64>| {
        let path = run.folder.file(name);
        let bytes = match from {
            Some(from) => lines_from(&path, from),
            None => fs::read(&path),
        };
        let bytes = bytes.map_err(|error| IoError::read(&path, error))?;
        Ok(Answer::file(kind, bytes))
    };
    match *file {
        File::Status => {
            let status = serde_json::to_vec(&run.status()).unwrap_or_default();
            Ok(Answer::file(JSON, status))
        }
        File::Manifest => text(JSON, "manifest.json", None),
        File::Scene => text(TEXT, "scene.toml", None),
        File::Log(from) => text(TEXT, "run.jsonl", Some(from)),
        File::Probes(from) => text(TEXT, "probes.csv", Some(from)),
        File::Topology => Ok(Answer::file(ARRAYS, run.slim()?.topology()?)),
        File::Frame(frame) => Ok(Answer::file(ARRAYS, run.slim()?.frame(frame)?)),
    }
}

/// What is missing, or cannot be read.
fn failed(run: &ServedRun, file: &File, error: &IoError) -> Answer {
    let is_absent = matches!(error, IoError::Read { source, .. }
        if matches!(source.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory));
    if !is_absent {
        return Answer::sentence(422, &error.to_string());
    }
    let status = run.status();
    match (status.message, file) {
        (Some(message), _) if status.state == RunState::Gone => Answer::sentence(410, &message),
        (Some(message), _) => Answer::sentence(404, &message),
        (None, File::Frame(frame)) => {
            Answer::sentence(404, &format!("{} has no frame {frame}", run.path))
        }
        (None, _) => Answer::sentence(404, &error.to_string()),
    }
}

/// A file that may be growing, from a byte up to the end of its last whole line.
pub(crate) fn lines_from(path: &Path, from: u64) -> io::Result<Vec<u8>> {
    let mut file = fs::File::open(path)?;
    let mut bytes = Vec::new();
    if from < file.metadata()?.len() {
        file.seek(SeekFrom::Start(from))?;
        file.read_to_end(&mut bytes)?;
    }
    let end = bytes.iter().rposition(|byte| *byte == b'\n');
    bytes.truncate(end.map_or(0, |end| end + 1));
    Ok(bytes)
}

/// Hands what the page says of its job to whoever waits for it.
fn take(job: &Job, report: Report, body: &mut Body<'_>) -> Result<Answer, Answer> {
    let event = match report {
        Report::Picture(frame) if job.frames.contains(&frame) => {
            let picture = body.read(LARGEST_PICTURE)?;
            if !picture.starts_with(PNG) {
                return Err(Answer::sentence(400, "this is no PNG file"));
            }
            JobEvent::Picture(frame, picture)
        }
        Report::Picture(_) => return Err(not_found()),
        Report::Done => JobEvent::Done,
        Report::Error => {
            let message = body.read(LONGEST_MESSAGE)?;
            JobEvent::Error(String::from_utf8_lossy(&message).trim().to_owned())
        }
    };
    let over = |_| Answer::sentence(410, "the job is over");
    job.events.send(event).map_err(over)?;
    Ok(Answer::file(TEXT, Vec::new()))
}
