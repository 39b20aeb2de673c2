//! Where a run can go on after any stop: the newest checkpoint that everything before it agrees
//! with, else the start. Nothing that follows is trusted, and what is cut off is computed again to
//! the same bits.

use crate::io::IoError;
use crate::io::folder::{Origin, RunFolder};
use crate::model::Model;
use crate::probe::ProbeSeries;
use crate::report::{Statistics, StepReport};
use crate::state::State;

/// Where to go on, and what led there.
#[derive(Debug)]
pub struct ResumePoint {
    /// The state to go on from.
    pub state: State,
    /// Where the checkpoint was made; nothing at the start.
    pub origin: Option<Origin>,
    /// Statistics of the steps before.
    pub statistics: Statistics,
    /// Probes of the steps before.
    pub probes: ProbeSeries,
    /// What was repaired, in sentences.
    pub repairs: Vec<String>,
}

/// The first line of `probes.csv`.
#[must_use]
pub fn probe_header(model: &Model) -> String {
    let mut columns = vec!["step".to_owned(), "time [s]".to_owned()];
    columns.extend(model.probes.iter().flat_map(|probe| probe.columns()));
    columns.join(",")
}

/// Finds where to go on, and cuts the logs off there.
///
/// # Errors
/// If the folder cannot be read or written; damage is no error, but repaired.
pub fn find(folder: &RunFolder, model: &Model) -> Result<ResumePoint, IoError> {
    let mut repairs = Vec::new();
    let steps = StepLog::read(folder)?;
    let rows = ProbeLog::read(folder, model)?;
    let intact_frames = intact_frames(folder, &mut repairs)?;
    let per_frame = model.clock.steps_per_frame;

    let mut chosen = None;
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
                    chosen = Some((state, Some(origin)));
                    break;
                }
            }
        }
    }
    match &chosen {
        None if !steps.reports.is_empty() => {
            repairs.push("no checkpoint can be used: the run starts again".to_owned());
        }
        Some((state, _)) if checkpoints.last() > Some(&state.step) => {
            let name = folder.checkpoint(state.step);
            repairs.push(format!("went back to {}", name.display()));
        }
        _ => {}
    }
    let (state, origin) = chosen.unwrap_or_else(|| (model.start.clone(), None));
    let kept = state.step as usize;
    let mut statistics = Statistics::default();
    steps
        .reports
        .iter()
        .take(kept)
        .for_each(|report| statistics.add(report));
    let mut probes = ProbeSeries::new(&model.probes, model.clock.h(), &model.method.integrator);
    // Step 0 has a row, but is written again when a run starts from there.
    let kept_rows = if kept == 0 { 0 } else { kept + 1 };
    rows.rows
        .iter()
        .take(kept_rows)
        .for_each(|row| probes.add(row));
    if let Some(lost) = (steps.reports.len() as u64)
        .checked_sub(state.step)
        .filter(|lost| *lost > 0)
    {
        repairs.push(format!(
            "{lost} steps after the last checkpoint are computed again"
        ));
    }
    steps.cut(folder, kept)?;
    rows.cut(folder, kept_rows, model)?;
    Ok(ResumePoint {
        state,
        origin,
        statistics,
        probes,
        repairs,
    })
}

/// How many frames from the first on are whole.
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

/// `run.jsonl` as far as it makes sense.
pub(crate) struct StepLog {
    text: String,
    /// Byte at which each line ends.
    ends: Vec<usize>,
    /// The reports, step 1 first.
    pub(crate) reports: Vec<StepReport>,
}

impl StepLog {
    pub(crate) fn read(folder: &RunFolder) -> Result<StepLog, IoError> {
        let text = read_if_there(folder, "run.jsonl")?;
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

    /// Whether something follows the last whole line.
    pub(crate) fn is_torn(&self) -> bool {
        self.ends.last().copied().unwrap_or(0) < self.text.len()
    }

    fn cut(&self, folder: &RunFolder, steps: usize) -> Result<(), IoError> {
        let end = if steps == 0 { 0 } else { self.ends[steps - 1] };
        cut_text(folder, "run.jsonl", &self.text, end)
    }
}

/// `probes.csv` as far as it makes sense.
pub(crate) struct ProbeLog {
    text: String,
    header_end: usize,
    ends: Vec<usize>,
    /// The values of each row, step 0 first.
    pub(crate) rows: Vec<Vec<f64>>,
}

impl ProbeLog {
    pub(crate) fn read(folder: &RunFolder, model: &Model) -> Result<ProbeLog, IoError> {
        let text = read_if_there(folder, "probes.csv")?;
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

    /// Whether something follows the last whole line.
    pub(crate) fn is_torn(&self) -> bool {
        self.ends.last().copied().unwrap_or(self.header_end) < self.text.len()
    }

    fn cut(&self, folder: &RunFolder, rows: usize, model: &Model) -> Result<(), IoError> {
        if rows == 0 {
            return folder.write_text("probes.csv", &format!("{}\n", probe_header(model)));
        }
        cut_text(folder, "probes.csv", &self.text, self.ends[rows - 1])
    }
}

fn read_if_there(folder: &RunFolder, name: &str) -> Result<String, IoError> {
    match std::fs::read(folder.file(name)) {
        // A crash of the machine can leave bytes that are no text: those lines are cut off.
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(IoError::read(&folder.file(name), error)),
    }
}

fn cut_text(folder: &RunFolder, name: &str, text: &str, end: usize) -> Result<(), IoError> {
    if end == text.len() {
        return Ok(());
    }
    folder.write_text(name, &text[..end])
}
