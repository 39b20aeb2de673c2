//! Wavefront OBJ: one text file per frame, which nearly every program reads.

use super::{Animation, ExportOptions, FrameInfo, ObjectFrame};
use super::{clear_earlier_export, is_frame_number};
use crate::io::IoError;
use crate::io::atomic::write_atomically;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Writes `NAME.NNNN.obj` into `folder` for every frame, in place of those of an earlier export of
/// that name, and returns the paths.
///
/// All points of the simulation are there, in its order; solids are their surface. Numbers are
/// printed with as many digits as it takes to read the same bits back.
///
/// # Errors
/// [`IoError::Export`] if names or frames do not make a file, [`IoError::Write`] if the system
/// refuses, and the errors of loading a frame.
pub fn write_obj(
    animation: &Animation,
    options: &ExportOptions,
    folder: &Path,
    name: &str,
) -> Result<Vec<PathBuf>, IoError> {
    animation.check_names(folder, name)?;
    clear_earlier_export(folder, name, |rest| {
        rest.strip_suffix(".obj").is_some_and(is_frame_number)
    })?;
    let mut paths = Vec::with_capacity(animation.frames.len());
    for frame in &animation.frames {
        let path = folder.join(format!("{name}.{}.obj", animation.frame_number(frame)));
        let objects = animation.load_frame(frame, options, &path)?;
        let mut text = header(frame, options);
        let mut first = 1;
        for (topology, object) in animation.objects.iter().zip(&objects) {
            append_object(&mut text, &topology.name, object);
            append_elements(&mut text, 'f', &topology.triangles, first);
            append_elements(&mut text, 'l', &topology.edges, first);
            first += object.points.len();
        }
        write_atomically(&path, text.as_bytes(), false)?;
        paths.push(path);
    }
    Ok(paths)
}

fn header(frame: &FrameInfo, options: &ExportOptions) -> String {
    let (index, time) = (frame.index, frame.time);
    format!(
        "# reefknot frame {index}, time: {time} s\n# {}\n",
        options.describe()
    )
}

fn append_object(text: &mut String, name: &str, object: &ObjectFrame) {
    // Writing into a string cannot fail.
    let _ = writeln!(text, "o {name}");
    for [x, y, z] in &object.points {
        let _ = writeln!(text, "v {x:?} {y:?} {z:?}");
    }
}

/// Vertices of a file count from 1, across its objects.
fn append_elements<const N: usize>(
    text: &mut String,
    letter: char,
    elements: &[[u32; N]],
    first: usize,
) {
    for element in elements {
        text.push(letter);
        for &vertex in element {
            let _ = write!(text, " {}", first + vertex as usize);
        }
        text.push('\n');
    }
}
