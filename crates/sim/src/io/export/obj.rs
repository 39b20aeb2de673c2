//! Wavefront OBJ: one text file per frame.

use super::{Animation, ExportOptions, FrameInfo, ObjectFrame};
use super::{clear_earlier_export, is_frame_number};
use crate::io::IoError;
use crate::io::atomic::write_atomically;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Writes `NAME.NNNN.obj` into `folder` for every frame, replacing an earlier export of that name,
/// and returns the paths.
///
/// All points of the simulation are written, in its order; solids as their surface. Numbers have
/// enough digits to be read back with the same bits.
///
/// # Errors
/// [`IoError::Export`] if names or frames are not valid, [`IoError::Write`] if a file cannot be
/// written, and the errors of loading a frame.
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

/// Appends elements. OBJ counts vertices from 1, across all objects of a file.
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
