//! `reefknot export --to html`: one HTML file with the viewer and all frames of a run.
//!
//! Arrays are the slim arrays of the server, shuffled, deflated and in base64. The shuffle stores
//! the first bytes of all numbers, then the second bytes, and so on: neighbouring numbers have
//! similar signs and exponents, which saves about 12%. The file contains neither paths nor commands
//! of the machine.

use std::io::Write;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use rayon::prelude::*;
use reefknot_sim::io::IoError;
use reefknot_sim::io::atomic::AtomicFile;
use reefknot_sim::io::folder::RunFolder;
use reefknot_sim::io::slim::SlimRun;
use reefknot_sim::io::status::{RunState, RunStatus};
use serde_json::{Value as Json, json};

use crate::cli::arguments::{ExportArguments, UpAxis};
use crate::cli::serve::PAGE;
use crate::cli::{Failure, say};

/// Compression level of deflate. Level 9 takes twice as long and saves 0.2%.
const COMPRESSION_LEVEL: u32 = 6;

pub(crate) fn export(arguments: &ExportArguments, name: &str) -> Result<u8, Failure> {
    if matches!(arguments.up, UpAxis::Y) || arguments.unit != 1.0 {
        return Err(Failure::refused(
            "--up and --unit apply to --to obj and --to vtk only",
        ));
    }
    let path = output_path(arguments, name);
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|error| {
            Failure::refused(format!("cannot write {}: {error}", folder.display()))
        })?;
    }
    let folder = RunFolder::new(&arguments.run);
    let status = RunStatus::read(&folder, true);
    if let Some(message) = status.message {
        return Err(Failure::refused(message));
    }
    write(&folder, status, arguments.look.as_deref(), &path)
        .map_err(|error| Failure::of_export(&error))?;
    let bytes = std::fs::metadata(&path).map_or(0, |file| file.len());
    let size = bytes as f64 / 1e6;
    say(&format!("{}: {size:.1} MB", path.display()));
    Ok(0)
}

/// Path of the HTML file: `--out` itself, or a file with the name of the scene in that folder.
fn output_path(arguments: &ExportArguments, name: &str) -> PathBuf {
    let file = format!("{name}.html");
    match &arguments.out {
        Some(path) if path.extension().is_some_and(|ending| ending == "html") => path.clone(),
        Some(folder) => folder.join(file),
        None => arguments.run.join("export").join(file),
    }
}

fn write(
    folder: &RunFolder,
    status: RunStatus,
    look: Option<&str>,
    path: &Path,
) -> Result<(), IoError> {
    let failed = |error| IoError::write(path, error);
    let (before, after) = split_page(path)?;
    let slim = SlimRun::open(folder)?;
    let frames = status
        .frames
        .iter()
        .flat_map(|[first, last]| *first..=*last);
    let frames: Vec<u64> = frames.collect();
    let mut file = AtomicFile::create(path)?;
    let mut put = |text: &str| file.write_all(text.as_bytes()).map_err(failed);
    put(before)?;
    put(&element(
        "type=\"application/json\" id=\"reefknot-data\"",
        // A text must not contain the end tag of the element.
        &data(folder, status, look)?.replace('<', "\\u003c"),
    ))?;
    let arrays = |name: &str, bytes: &[u8]| {
        let attributes =
            format!("type=\"application/octet-stream\" data-run=\"0\" data-file=\"{name}\"");
        element(&attributes, &STANDARD.encode(deflate(&shuffle(bytes))))
    };
    put(&arrays("topology.safetensors", &slim.topology()?))?;
    // One frame per thread at a time: the run may be larger than the memory.
    for some in frames.chunks(rayon::current_num_threads()) {
        let elements: Result<Vec<String>, IoError> = some
            .par_iter()
            .map(|frame| {
                let name = format!("frames/{frame}.safetensors");
                Ok(arrays(&name, &slim.frame(*frame)?))
            })
            .collect();
        elements?.iter().try_for_each(|text| put(text))?;
    }
    put(after)?;
    file.finish(false)
}

/// The page before its first script, and the rest.
fn split_page(path: &Path) -> Result<(&'static str, &'static str), IoError> {
    let at = PAGE.find("<script").ok_or_else(|| IoError::Export {
        path: path.to_path_buf(),
        reason: "the embedded viewer has no script; build the program again".to_owned(),
    })?;
    Ok(PAGE.split_at(at))
}

fn element(attributes: &str, text: &str) -> String {
    format!("<script {attributes}>{text}</script>\n")
}

/// The texts of a run in JSON, as the server sends them.
fn data(folder: &RunFolder, status: RunStatus, look: Option<&str>) -> Result<String, IoError> {
    let manifest = folder.file("manifest.json");
    let text = folder.read_text("manifest.json")?;
    let mut manifest: Json = serde_json::from_str(&text)
        .map_err(|error| IoError::damaged(&manifest, error.to_string()))?;
    remove_commands(&mut manifest);
    let lines = |name: &str| {
        let bytes = folder.read_lines(&folder.file(name), 0)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    let state = match status.state {
        // The exported file does not change any more.
        RunState::Running => RunState::Stopped,
        other => other,
    };
    let status = RunStatus { state, ..status };
    let run = json!({
        "path": manifest["scene"],
        "status": serde_json::to_value(status).unwrap_or_default(),
        "texts": {
            "manifest.json": format!("{manifest:#}\n"),
            "run.jsonl": lines("run.jsonl")?,
            "probes.csv": lines("probes.csv")?,
            "scene.toml": folder.read_text("scene.toml")?,
        },
    });
    Ok(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "runs": [run],
        "job": null,
        "look": look,
    })
    .to_string())
}

/// Removes the command lines, which contain paths of the machine and the name of the user.
fn remove_commands(manifest: &mut Json) {
    let remove = |entry: &mut Json| {
        if let Some(command) = entry.get_mut("command") {
            *command = json!([]);
        }
    };
    remove(manifest);
    let continued = manifest.get_mut("continued");
    if let Some(entries) = continued.and_then(|entries| entries.as_array_mut()) {
        entries.iter_mut().for_each(remove);
    }
}

/// The bytes 0, 4, 8, …, then 1, 5, 9, …, then the other two quarters.
fn shuffle(bytes: &[u8]) -> Vec<u8> {
    let mut shuffled = Vec::with_capacity(bytes.len());
    for first in 0..4 {
        shuffled.extend(bytes.iter().skip(first).step_by(4));
    }
    shuffled
}

fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::new(COMPRESSION_LEVEL));
    // Writing to memory does not fail.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shuffle_is_a_permutation_for_any_length() {
        assert_eq!(shuffle(b"0123456789"), b"0481592637");
        assert_eq!(shuffle(b""), b"");
        for length in 0..12 {
            let bytes: Vec<u8> = (0..length).collect();
            let mut sorted = shuffle(&bytes);
            sorted.sort_unstable();
            assert_eq!(sorted, bytes);
        }
    }

    #[test]
    fn no_command_is_left_in_a_manifest() {
        let mut manifest = json!({
            "command": ["/home/me/reefknot"],
            "continued": [{"from_step": 3, "command": ["/home/me/reefknot"]}],
        });
        remove_commands(&mut manifest);
        assert!(!manifest.to_string().contains("/home/me"));
        assert_eq!(manifest["continued"][0]["from_step"], 3);
    }
}
