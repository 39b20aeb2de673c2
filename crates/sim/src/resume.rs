//! Resume point of a run after any stop: the newest intact checkpoint with complete logs and frames
//! before it, else the start. Later frames and log lines are discarded and computed again, with the
//! same bits.

use crate::io::IoError;
use crate::io::folder::{Origin, RunFolder};
use crate::model::Model;
use crate::probe::ProbeSeries;
use crate::report::{Statistics, StepReport};
use crate::state::State;

/// State and history from which a run resumes.
#[derive(Debug)]
pub struct ResumePoint {
    /// State of the checkpoint, or the start.
    pub state: State,
    /// Build and instruction set that wrote the checkpoint; none at the start.
    pub origin: Option<Origin>,
    /// Statistics of the steps before.
    pub statistics: Statistics,
    /// Probes of the steps before.
    pub probes: ProbeSeries,
    /// Messages on repaired files.
    pub repairs: Vec<String>,
}

/// The first line of `probes.csv`.
#[must_use]
pub fn probe_header(model: &Model) -> String {
    let mut columns = vec!["step".to_owned(), "time [s]".to_owned()];
    columns.extend(model.probes.iter().flat_map(|probe| probe.columns()));
    columns.join(",")
}

/// Finds the resume point, and truncates the logs to it.
///
/// # Errors
/// If the folder cannot be read or written. Damaged files are no error: they are repaired.
pub fn restore(folder: &RunFolder, model: &Model) -> Result<ResumePoint, IoError> {
    let mut repairs = Vec::new();
    let steps = StepLog::read(folder)?;
    let rows = ProbeLog::read(folder, model)?;
    let chosen = newest_usable_checkpoint(folder, model, &steps, &rows, &mut repairs)?;
    let (state, origin) = chosen.unwrap_or_else(|| (model.start.clone(), None));
    let kept = state.step as usize;
    let mut statistics = Statistics::default();
    for report in steps.reports.iter().take(kept) {
        statistics.add(report);
    }
    let mut probes = ProbeSeries::new(&model.probes, model.clock.h(), &model.method.integrator);
    // Step 0 has a row, but is written again when a run starts from there.
    let kept_rows = if kept == 0 { 0 } else { kept + 1 };
    for row in rows.rows.iter().take(kept_rows) {
        probes.add(row);
    }
    let lost = steps.reports.len().saturating_sub(kept);
    if lost > 0 {
        repairs.push(format!(
            "{lost} steps after the checkpoint are computed again"
        ));
    }
    steps.truncate(folder, kept)?;
    rows.truncate(folder, kept_rows, model)?;
    Ok(ResumePoint {
        state,
        origin,
        statistics,
        probes,
        repairs,
    })
}

/// State and origin of the newest intact checkpoint whose logs and frames are complete. Removes
/// damaged checkpoints.
fn newest_usable_checkpoint(
    folder: &RunFolder,
    model: &Model,
    steps: &StepLog,
    rows: &ProbeLog,
    repairs: &mut Vec<String>,
) -> Result<Option<(State, Option<Origin>)>, IoError> {
    let intact_frames = intact_frames(folder, repairs)?;
    let per_frame = model.clock.steps_per_frame;
    let checkpoints = folder.checkpoints()?;
    for step in checkpoints.iter().rev().copied() {
        match folder.read_checkpoint(step, model) {
            Err(IoError::Damaged { path, reason }) => {
                let name = path.display();
                repairs.push(format!("{name} was damaged ({reason})"));
                std::fs::remove_file(&path).map_err(|error| IoError::write(&path, error))?;
            }
            Err(error) => return Err(error),
            Ok((state, origin)) => {
                let logged = step <= steps.reports.len() as u64 && step < rows.rows.len() as u64;
                if logged && step / per_frame < intact_frames {
                    if checkpoints.last() > Some(&step) {
                        let name = folder.checkpoint(step);
                        repairs.push(format!("resumed from {}", name.display()));
                    }
                    return Ok(Some((state, Some(origin))));
                }
            }
        }
    }
    if !steps.reports.is_empty() {
        repairs.push("no checkpoint can be used: the run starts again".to_owned());
    }
    Ok(None)
}

/// Number of intact frames before the first missing or damaged one.
fn intact_frames(folder: &RunFolder, repairs: &mut Vec<String>) -> Result<u64, IoError> {
    let mut count = 0;
    for frame in folder.frames()? {
        if frame != count {
            break;
        }
        match folder.read_frame(frame) {
            Ok(_) => count += 1,
            Err(IoError::Damaged { path, reason }) => {
                repairs.push(format!("{} was damaged ({reason})", path.display()));
                break;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(count)
}

/// Valid lines at the start of `run.jsonl`.
pub(crate) struct StepLog {
    text: String,
    /// Byte at which each line ends.
    ends: Vec<usize>,
    /// The reports, step 1 first.
    pub(crate) reports: Vec<StepReport>,
}

impl StepLog {
    pub(crate) fn read(folder: &RunFolder) -> Result<StepLog, IoError> {
        let text = read_if_present(folder, "run.jsonl")?;
        let mut log = StepLog {
            text: String::new(),
            ends: Vec::new(),
            reports: Vec::new(),
        };
        let mut end = 0;
        for line in text.split_inclusive('\n') {
            end += line.len();
            match serde_json::from_str::<StepReport>(line) {
                Ok(report)
                    if line.ends_with('\n') && report.step == log.reports.len() as u64 + 1 =>
                {
                    log.reports.push(report);
                    log.ends.push(end);
                }
                _ => break,
            }
        }
        log.text = text;
        Ok(log)
    }

    /// Whether the file continues after the last valid line.
    pub(crate) fn is_torn(&self) -> bool {
        self.ends.last().copied().unwrap_or(0) < self.text.len()
    }

    fn truncate(&self, folder: &RunFolder, steps: usize) -> Result<(), IoError> {
        let end = if steps == 0 { 0 } else { self.ends[steps - 1] };
        truncate_file(folder, "run.jsonl", &self.text, end)
    }
}

/// Valid lines at the start of `probes.csv`.
pub(crate) struct ProbeLog {
    text: String,
    header_end: usize,
    ends: Vec<usize>,
    /// The values of each row, step 0 first.
    pub(crate) rows: Vec<Vec<f64>>,
}

impl ProbeLog {
    pub(crate) fn read(folder: &RunFolder, model: &Model) -> Result<ProbeLog, IoError> {
        let text = read_if_present(folder, "probes.csv")?;
        let mut log = ProbeLog {
            text: String::new(),
            header_end: 0,
            ends: Vec::new(),
            rows: Vec::new(),
        };
        let header = probe_header(model);
        let width = header.split(',').count();
        let mut lines = text.split_inclusive('\n');
        let mut end = header.len() + 1;
        if lines
            .next()
            .is_some_and(|line| line.strip_suffix('\n') == Some(&header))
        {
            log.header_end = end;
            for line in lines {
                end += line.len();
                let values: Result<Vec<f64>, _> =
                    line.trim_end().split(',').map(str::parse).collect();
                match values {
                    Ok(values)
                        if line.ends_with('\n')
                            && values.len() == width
                            && values[0] == log.rows.len() as f64 =>
                    {
                        log.rows.push(values[2..].to_vec());
                        log.ends.push(end);
                    }
                    _ => break,
                }
            }
        }
        log.text = text;
        Ok(log)
    }

    /// Whether the file continues after the last valid line.
    pub(crate) fn is_torn(&self) -> bool {
        self.ends.last().copied().unwrap_or(self.header_end) < self.text.len()
    }

    fn truncate(&self, folder: &RunFolder, rows: usize, model: &Model) -> Result<(), IoError> {
        if rows == 0 {
            return folder.write_text("probes.csv", &format!("{}\n", probe_header(model)));
        }
        truncate_file(folder, "probes.csv", &self.text, self.ends[rows - 1])
    }
}

fn read_if_present(folder: &RunFolder, name: &str) -> Result<String, IoError> {
    match folder.read(&folder.file(name)) {
        // A crash of the machine can leave invalid text. Its lines are discarded later.
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) if error.is_missing_file() => Ok(String::new()),
        Err(error) => Err(error),
    }
}

fn truncate_file(folder: &RunFolder, name: &str, text: &str, end: usize) -> Result<(), IoError> {
    if end == text.len() {
        return Ok(());
    }
    folder.write_text(name, &text[..end])
}
