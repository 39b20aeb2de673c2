//! Export of an animation to the formats of other programs.
//!
//! The input is plain data ([`Animation`]), so that exporting needs no simulator: names and
//! connectivity once, and a function that loads the points of one frame, since all frames together
//! may not fit into memory.
//!
//! An export replaces the earlier one of the same name. The earlier files are removed *first*.
//! Otherwise a longer earlier export would leave frames after the last new one, and an export that
//! fails halfway would leave frames of both. Only files that match the name pattern of the export
//! are removed. Names of exports and objects have no dots, so patterns cannot overlap.

mod obj;
mod vtk;

pub use obj::write_obj;
pub use vtk::write_vtk;

use super::IoError;
use super::atomic::{final_name, remove_files};
use std::collections::BTreeSet;
use std::path::Path;

/// A sequence of frames of the same objects.
pub struct Animation<'a> {
    /// Names and elements, the same in all frames.
    pub objects: Vec<ObjectTopology>,
    /// The frames to export, in order.
    pub frames: Vec<FrameInfo>,
    /// Loads the frame with this index, one entry for each object.
    pub load: &'a dyn Fn(usize) -> Result<Vec<ObjectFrame>, IoError>,
}

/// Number and time of a frame.
#[derive(Clone, Copy, Debug)]
pub struct FrameInfo {
    /// Number of the frame in the run, from 0.
    pub index: usize,
    /// Number of the frame in file names: that of the scene's first frame plus `index`.
    pub number: usize,
    /// Simulated time in seconds.
    pub time: f64,
}

/// Name and connectivity of an object; vertices count from 0 within the object.
#[derive(Clone, Debug, Default)]
pub struct ObjectTopology {
    /// Letters, digits, `_` and `-`; used in file names.
    pub name: String,
    /// Surfaces, also those of solids.
    pub triangles: Vec<[u32; 3]>,
    /// Rods, as lines.
    pub edges: Vec<[u32; 2]>,
    /// Solids.
    pub tetrahedra: Vec<[u32; 4]>,
}

/// An object at one frame, as simulated: metres, z up.
#[derive(Clone, Debug, Default)]
pub struct ObjectFrame {
    /// Positions of the vertices.
    pub points: Vec<[f64; 3]>,
    /// Velocities of the vertices, as many as points.
    pub velocities: Vec<[f32; 3]>,
}

/// The axis that points up in exported files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerticalAxis {
    /// As simulated.
    Z,
    /// Rotated about the x axis, so that (x, y, z) becomes (x, z, −y).
    Y,
}

/// Transformation of positions and velocities.
#[derive(Clone, Copy, Debug)]
pub struct ExportOptions {
    /// The axis that points up.
    pub up: VerticalAxis,
    /// Units of the target in a metre: 100 for centimetres.
    pub scale: f64,
}

impl Default for ExportOptions {
    fn default() -> Self {
        Self {
            up: VerticalAxis::Z,
            scale: 1.0,
        }
    }
}

impl ExportOptions {
    fn apply(&self, object: &mut ObjectFrame) {
        for point in &mut object.points {
            *point = self.transformed(*point);
        }
        for velocity in &mut object.velocities {
            *velocity = self
                .transformed(velocity.map(f64::from))
                .map(|value| value as f32);
        }
    }

    fn transformed(&self, [x, y, z]: [f64; 3]) -> [f64; 3] {
        let rotated = match self.up {
            VerticalAxis::Z => [x, y, z],
            // A difference, because -y of 0 would be printed as -0.
            VerticalAxis::Y => [x, z, 0.0 - y],
        };
        rotated.map(|value| value * self.scale)
    }

    /// Unit and axis, for a comment in a file.
    fn describe(&self) -> String {
        let up = match self.up {
            VerticalAxis::Z => 'z',
            VerticalAxis::Y => 'y',
        };
        format!("unit: {} m, up axis: {up}", 1.0 / self.scale)
    }
}

impl ObjectTopology {
    fn largest_vertex(&self) -> Option<u32> {
        let triangles = self.triangles.as_flattened().iter();
        let edges = self.edges.as_flattened().iter();
        triangles
            .chain(edges)
            .chain(self.tetrahedra.as_flattened())
            .max()
            .copied()
    }

    /// Refuses a frame that does not fit this object, or is not finite.
    fn check(&self, frame: &ObjectFrame) -> Result<(), String> {
        let (name, points, velocities) = (&self.name, frame.points.len(), frame.velocities.len());
        if points != velocities {
            return Err(format!(
                "object `{name}` has {points} points but {velocities} velocities"
            ));
        }
        if let Some(vertex) = self
            .largest_vertex()
            .filter(|&vertex| vertex as usize >= points)
        {
            return Err(format!(
                "object `{name}` has {points} points but uses vertex {vertex}"
            ));
        }
        let finite = frame
            .points
            .as_flattened()
            .iter()
            .all(|value| value.is_finite())
            && frame
                .velocities
                .as_flattened()
                .iter()
                .all(|value| value.is_finite());
        if !finite {
            return Err(format!(
                "object `{name}` has a point or velocity that is not finite"
            ));
        }
        Ok(())
    }
}

impl Animation<'_> {
    /// The objects of a frame, checked and transformed, for the file `path`.
    fn load_frame(
        &self,
        frame: &FrameInfo,
        options: &ExportOptions,
        path: &Path,
    ) -> Result<Vec<ObjectFrame>, IoError> {
        let refuse = |reason: String| {
            let advice = "test the run with `reefknot check`";
            export_error(
                path,
                format!("in frame {}, {reason}; {advice}", frame.index),
            )
        };
        let mut objects = (self.load)(frame.index)?;
        if objects.len() != self.objects.len() {
            let (found, wanted) = (objects.len(), self.objects.len());
            return Err(refuse(format!(
                "there are {found} objects instead of {wanted}"
            )));
        }
        for (topology, object) in self.objects.iter().zip(&mut objects) {
            topology.check(object).map_err(refuse)?;
            options.apply(object);
        }
        Ok(objects)
    }

    /// Number of a frame, with the same number of digits for all frames, so that names sort.
    fn frame_number(&self, frame: &FrameInfo) -> String {
        let largest = self
            .frames
            .iter()
            .map(|frame| frame.number)
            .max()
            .unwrap_or(0);
        let digits = largest.to_string().len().max(MIN_DIGITS);
        format!("{:0digits$}", frame.number)
    }

    fn check_names(&self, folder: &Path, name: &str) -> Result<(), IoError> {
        let mut seen = BTreeSet::new();
        for name in self
            .objects
            .iter()
            .map(|object| object.name.as_str())
            .chain([name])
        {
            if !is_name(name) {
                let reason = "may have only letters, digits, `_` and `-`; choose another name";
                return Err(export_error(folder, format!("the name `{name}` {reason}")));
            }
        }
        for object in &self.objects {
            if !seen.insert(&object.name) {
                let name = &object.name;
                let reason = format!("two objects are named `{name}`; rename one in the scene");
                return Err(export_error(folder, reason));
            }
        }
        Ok(())
    }
}

/// Minimum number of digits of a frame number in file names.
const MIN_DIGITS: usize = 4;

fn is_name(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    !text.is_empty() && text.bytes().all(allowed)
}

fn is_frame_number(text: &str) -> bool {
    text.len() >= MIN_DIGITS && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Creates the folder and removes the files of an earlier export `name`: all `NAME.REST` with a
/// REST that `is_ours`, and their temporary files.
fn clear_earlier_export(
    folder: &Path,
    name: &str,
    is_ours: impl Fn(&str) -> bool,
) -> Result<(), IoError> {
    std::fs::create_dir_all(folder).map_err(|error| IoError::write(folder, error))?;
    remove_files(folder, |file| {
        let rest = final_name(file)
            .strip_prefix(name)
            .and_then(|rest| rest.strip_prefix('.'));
        rest.is_some_and(&is_ours)
    })?;
    Ok(())
}

fn export_error(path: &Path, reason: String) -> IoError {
    let path = path.to_path_buf();
    IoError::Export { path, reason }
}

#[cfg(test)]
mod tests;
