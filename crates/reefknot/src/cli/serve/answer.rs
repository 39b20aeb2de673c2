//! Responses to requests.

use std::sync::PoisonError;
use std::time::Instant;

use reefknot_sim::io::IoError;
use reefknot_sim::io::status::RunState;
use serde_json::json;

use super::guard;
use super::http::{Body, Request, Response};
use super::request::{File, Report, Resource};
use super::{Job, JobEvent, PAGE, Served, ServedRun};

/// The page runs its own scripts only, and connects to this server only.
const PAGE_POLICY: &str = "Content-Security-Policy: default-src 'none'; \
    script-src 'unsafe-inline' 'wasm-unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:; \
    connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'\r\n";

const JSON: &str = "application/json";
const TEXT: &str = "text/plain; charset=utf-8";
const ARRAYS: &str = "application/octet-stream";

/// Largest size of an image (bytes).
const MAX_IMAGE_SIZE: u64 = 64 << 20;
/// Largest size of an error message from the page (bytes).
const MAX_MESSAGE_SIZE: u64 = 1 << 16;
/// Signature of PNG files.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

pub(super) fn answer(served: &Served, request: &Request, body: &mut Body<'_>) -> Response {
    if let Some(reason) = guard::refusal(request) {
        return Response::sentence(403, reason);
    }
    let now = Some(Instant::now());
    *served
        .last_request
        .lock()
        .unwrap_or_else(PoisonError::into_inner) = now;
    let is_read = matches!(request.method.as_str(), "GET" | "HEAD");
    if !is_read && request.method != "POST" {
        return wrong_method("Allow: GET, HEAD\r\n");
    }
    let Some(resource) = Resource::parse(&request.target) else {
        return not_found();
    };
    match resource {
        Resource::JobReport(token, report) => match &served.job {
            Some(job) if job.token == token && is_read => wrong_method("Allow: POST\r\n"),
            Some(job) if job.token == token => {
                receive(job, report, body).unwrap_or_else(|answer| answer)
            }
            _ => not_found(),
        },
        _ if !is_read => wrong_method("Allow: GET, HEAD\r\n"),
        Resource::Page => Response {
            header: PAGE_POLICY,
            ..Response::file("text/html; charset=utf-8", PAGE.as_bytes().to_vec())
        },
        Resource::Icon => Response {
            code: 204,
            ..Response::file(TEXT, Vec::new())
        },
        Resource::Runs => Response::file(JSON, runs(served).into_bytes()),
        Resource::RunFile(number, file) => {
            let number = usize::try_from(number).unwrap_or(usize::MAX);
            match served.runs.get(number) {
                Some(run) => of_run(run, &file).unwrap_or_else(|error| failed(run, &file, &error)),
                None => not_found(),
            }
        }
    }
}

fn not_found() -> Response {
    Response::sentence(404, "not found")
}

fn wrong_method(allowed: &'static str) -> Response {
    Response {
        header: allowed,
        ..Response::sentence(405, "method not allowed")
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

fn of_run(run: &ServedRun, file: &File) -> Result<Response, IoError> {
    let text = |kind, name: &str, from: Option<u64>| {
        let path = run.folder.file(name);
        let bytes = match from {
            Some(from) => run.folder.read_lines(&path, from)?,
            None => run.folder.read(&path)?,
        };
        Ok(Response::file(kind, bytes))
    };
    match *file {
        File::Status => {
            let status = serde_json::to_vec(&run.status()).unwrap_or_default();
            Ok(Response::file(JSON, status))
        }
        File::Manifest => text(JSON, "manifest.json", None),
        File::Scene => text(TEXT, "scene.toml", None),
        File::Log(from) => text(TEXT, "run.jsonl", Some(from)),
        File::Probes(from) => text(TEXT, "probes.csv", Some(from)),
        File::Topology => Ok(Response::file(ARRAYS, run.slim()?.topology()?)),
        File::Frame(frame) => Ok(Response::file(ARRAYS, run.slim()?.frame(frame)?)),
    }
}

/// Response to a file that is missing or cannot be read.
fn failed(run: &ServedRun, file: &File, error: &IoError) -> Response {
    if !error.is_missing_file() {
        return Response::sentence(422, &error.to_string());
    }
    let status = run.status();
    match (status.message, file) {
        (Some(message), _) if status.state == RunState::Gone => Response::sentence(410, &message),
        (Some(message), _) => Response::sentence(404, &message),
        (None, File::Frame(frame)) => {
            Response::sentence(404, &format!("{} has no frame {frame}", run.path))
        }
        (None, _) => Response::sentence(404, &error.to_string()),
    }
}

/// Passes a report of the page to the receiver of the job's events.
fn receive(job: &Job, report: Report, body: &mut Body<'_>) -> Result<Response, Response> {
    let event = match report {
        Report::Picture(frame) if job.frames.contains(&frame) => {
            let picture = body.read(MAX_IMAGE_SIZE)?;
            if !picture.starts_with(PNG) {
                return Err(Response::sentence(400, "this is not a PNG file"));
            }
            JobEvent::Picture(frame, picture)
        }
        Report::Picture(_) => return Err(not_found()),
        Report::Done => JobEvent::Done,
        Report::Error => {
            let message = body.read(MAX_MESSAGE_SIZE)?;
            JobEvent::Error(String::from_utf8_lossy(&message).trim().to_owned())
        }
    };
    let over = |_| Response::sentence(410, "the job is over");
    job.events.send(event).map_err(over)?;
    Ok(Response::file(TEXT, Vec::new()))
}
