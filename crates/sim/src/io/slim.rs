//! Reduced topology and frames for the viewer, with half the bytes.
//!
//! An image does not show more digits than those of an f32, the inside of a solid, or the twist of
//! round rods. So every f64 becomes an f32, and directors of rods with round sections, lattices and
//! tetrahedra are omitted. The other arrays keep their names and values, again as safetensors.
//! Playback reduces every frame, so there are only three passes over the bytes of a file: reading,
//! checksum and conversion.

use std::collections::BTreeSet;
use std::path::Path;

use safetensors::tensor::{Dtype, TensorInfo};

use super::IoError;
use super::folder::RunFolder;
use super::tensors::{TensorFile, texts, verified};
use reefknot_contact::file::header::TensorHeader;

/// A section is round if its half axes differ by less than this ratio.
const ROUND_TOLERANCE: f64 = 1e-9;

/// A run whose files are read in reduced form.
#[derive(Clone, Debug)]
pub struct SlimRun {
    folder: RunFolder,
    /// Names of omitted arrays: the directors of rods with round sections.
    omitted: BTreeSet<String>,
}

/// An array of the reduced file, with its stored bytes.
struct Part<'a> {
    name: &'a str,
    shape: &'a [usize],
    from: &'a [u8],
    is_f64: bool,
    /// Type in the reduced file, and the size of an element in bytes.
    dtype: Dtype,
    element: usize,
}

impl SlimRun {
    /// Opens a run, and finds the rods with round sections.
    ///
    /// # Errors
    /// If the topology is missing or damaged.
    pub fn open(folder: &RunFolder) -> Result<SlimRun, IoError> {
        let topology = TensorFile::read(&folder.file("topology.safetensors"))?;
        let mut omitted = BTreeSet::new();
        for name in topology.names() {
            let Some(object) = name.strip_suffix("/radius") else {
                continue;
            };
            if let (_, &[first, second]) = topology.f64(name)?
                && (first - second).abs() <= ROUND_TOLERANCE * first.max(second)
            {
                omitted.insert(format!("{object}/directors"));
            }
        }
        Ok(SlimRun {
            folder: folder.clone(),
            omitted,
        })
    }

    /// The reduced topology.
    ///
    /// # Errors
    /// If it is missing or damaged.
    pub fn topology(&self) -> Result<Vec<u8>, IoError> {
        let path = self.folder.file("topology.safetensors");
        self.read(&path, None)
    }

    /// A reduced frame.
    ///
    /// # Errors
    /// If it is missing, damaged or has the number of another frame.
    pub fn frame(&self, frame: u64) -> Result<Vec<u8>, IoError> {
        self.read(&self.folder.frame(frame), Some(frame))
    }

    fn read(&self, path: &Path, frame: Option<u64>) -> Result<Vec<u8>, IoError> {
        let bytes = self.folder.read(path)?;
        slim(&bytes, &self.omitted, frame).map_err(|reason| IoError::damaged(path, reason))
    }
}

/// The reduced form of a file. If `frame` is given, the file must have that number.
fn slim(bytes: &[u8], omitted: &BTreeSet<String>, frame: Option<u64>) -> Result<Vec<u8>, String> {
    let (parsed, data) = verified(bytes)?;
    let texts = texts(&parsed);
    if let Some(frame) = frame {
        let number = texts
            .get("frame")
            .map_or("without a number", String::as_str);
        if number != frame.to_string() {
            return Err(format!("it holds frame {number}"));
        }
    }
    let stored = parsed.tensors();
    let mut parts = Vec::with_capacity(stored.len());
    for (name, information) in &stored {
        if is_shown(name) && !omitted.contains(name) {
            let part = Part::of(name, information, data);
            parts.push(part.map_err(|reason| format!("tensor `{name}` {reason}"))?);
        }
    }
    parts.sort_by(|a, b| (b.element, a.name).cmp(&(a.element, b.name)));

    let texts = texts
        .iter()
        .map(|(key, value)| (key.as_str(), value.as_str()));
    let mut header = TensorHeader::new(texts);
    for part in &parts {
        header.array(part.name, part.dtype, part.shape, part.length());
    }
    let mut slim = header.into_bytes();
    let begin = slim.len();
    slim.resize(begin + parts.iter().map(Part::length).sum::<usize>(), 0);
    let mut rest = &mut slim[begin..];
    for part in &parts {
        let (to, others) = rest.split_at_mut(part.length());
        part.write(to);
        rest = others;
    }
    Ok(slim)
}

/// Whether an image depends on an array.
fn is_shown(name: &str) -> bool {
    let (_, array) = name.rsplit_once('/').unwrap_or(("", name));
    array != "tetrahedra" && !array.starts_with("lattice_")
}

impl<'a> Part<'a> {
    fn of(name: &'a str, information: &'a TensorInfo, data: &'a [u8]) -> Result<Self, String> {
        let (begin, end) = information.data_offsets;
        let from = data
            .get(begin..end)
            .ok_or("reaches beyond the end of the file")?;
        let (dtype, element) = match information.dtype {
            Dtype::F64 | Dtype::F32 => (Dtype::F32, 4),
            Dtype::I32 => (Dtype::I32, 4),
            Dtype::U8 => (Dtype::U8, 1),
            other => return Err(format!("has the type {other}, which reefknot does not use")),
        };
        Ok(Part {
            name,
            shape: &information.shape,
            from,
            is_f64: information.dtype == Dtype::F64,
            dtype,
            element,
        })
    }

    fn length(&self) -> usize {
        if self.is_f64 {
            self.from.len() / 2
        } else {
            self.from.len()
        }
    }

    fn write(&self, to: &mut [u8]) {
        if !self.is_f64 {
            to.copy_from_slice(self.from);
            return;
        }
        let (from, to) = (self.from.as_chunks::<8>().0, to.as_chunks_mut::<4>().0);
        for (from, to) in from.iter().zip(to) {
            *to = (f64::from_le_bytes(*from) as f32).to_le_bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use safetensors::SafeTensors;

    fn floats(file: &SafeTensors<'_>, name: &str) -> Vec<f32> {
        let tensor = file.tensor(name).unwrap();
        assert_eq!(tensor.dtype(), Dtype::F32, "{name}");
        let chunks = tensor.data().as_chunks::<4>().0;
        chunks
            .iter()
            .map(|four| f32::from_le_bytes(*four))
            .collect()
    }

    /// A ribbon, hair and a solid; the frame has number 3.
    fn store(place: &Path) -> RunFolder {
        let folder = RunFolder::new(place);
        std::fs::create_dir_all(place.join("frames")).unwrap();
        let mut topology = TensorFile::new();
        for (name, radii) in [("hair", [4e-5, 4e-5]), ("ribbon", [1e-3, 1e-4])] {
            topology.put_f64(&format!("{name}/radius"), &[2], radii.to_vec());
            topology.put_i32(&format!("{name}/edges"), &[1, 2], vec![0, 1]);
        }
        topology.put_i32("solid/triangles", &[1, 3], vec![0, 1, 2]);
        topology.put_i32("solid/tetrahedra", &[1, 4], vec![0, 1, 2, 3]);
        topology.put_f64("solid/lattice_weights", &[1, 4], vec![0.25; 4]);
        let path = folder.file("topology.safetensors");
        topology.write(&path, false).unwrap();
        let mut frame = TensorFile::new();
        frame.set_metadata("frame", "3");
        frame.set_metadata("time", "0.12");
        frame.put_f64(
            "hair/points",
            &[2, 3],
            vec![0.1, -2.0, 1e300, 4.0, 5.0, 6.5],
        );
        frame.put_f32("hair/velocities", &[2, 3], vec![0.5; 6]);
        for name in ["hair", "ribbon"] {
            frame.put_f32(&format!("{name}/directors"), &[1, 3], vec![1.0, 0.0, 0.0]);
        }
        frame.put_u8("contact/state", &[3], vec![0, 1, 2]);
        frame.put_i32("contact/objects", &[3, 2], vec![0, 1, 0, 2, 1, -1]);
        frame.put_f64("contact/gap", &[0], Vec::new());
        frame.write(&folder.frame(3), false).unwrap();
        folder
    }

    #[test]
    fn a_reduced_frame_has_the_values_of_the_stored_one() {
        let place = tempfile::tempdir().unwrap();
        let run = SlimRun::open(&store(place.path())).unwrap();
        let bytes = run.frame(3).unwrap();
        let file = SafeTensors::deserialize(&bytes).unwrap();
        assert_eq!(
            floats(&file, "hair/points"),
            [0.1, -2.0, f32::INFINITY, 4.0, 5.0, 6.5]
        );
        assert_eq!(file.tensor("hair/points").unwrap().shape(), [2, 3]);
        assert_eq!(floats(&file, "hair/velocities"), [0.5; 6]);
        assert!(floats(&file, "contact/gap").is_empty());
        assert_eq!(file.tensor("contact/state").unwrap().data(), [0, 1, 2]);
        let objects = file.tensor("contact/objects").unwrap();
        assert_eq!((objects.dtype(), objects.data()[20]), (Dtype::I32, 255));
        // An image of a round rod does not depend on its directors.
        assert!(file.tensor("hair/directors").is_err());
        assert_eq!(floats(&file, "ribbon/directors"), [1.0, 0.0, 0.0]);
        let (_, header) = SafeTensors::read_metadata(&bytes).unwrap();
        let texts = header.metadata().clone().unwrap();
        assert_eq!(
            (texts["frame"].as_str(), texts["time"].as_str()),
            ("3", "0.12")
        );
        assert_eq!(texts.len(), 2);
    }

    #[test]
    fn arrays_are_aligned_to_their_element_size() {
        let place = tempfile::tempdir().unwrap();
        let run = SlimRun::open(&store(place.path())).unwrap();
        for bytes in [run.frame(3).unwrap(), run.topology().unwrap()] {
            let (length, header) = SafeTensors::read_metadata(&bytes).unwrap();
            assert_eq!(length % 8, 0);
            for (name, information) in header.tensors() {
                let size = information.dtype.bitsize() / 8;
                assert_eq!(information.data_offsets.0 % size, 0, "{name}");
            }
        }
    }

    #[test]
    fn a_reduced_topology_has_no_tetrahedra_and_lattices() {
        let place = tempfile::tempdir().unwrap();
        let bytes = SlimRun::open(&store(place.path())).unwrap().topology();
        let bytes = bytes.unwrap();
        let file = SafeTensors::deserialize(&bytes).unwrap();
        let mut names: Vec<&str> = file.names();
        names.sort_unstable();
        let expected = [
            "hair/edges",
            "hair/radius",
            "ribbon/edges",
            "ribbon/radius",
            "solid/triangles",
        ];
        assert_eq!(names, expected);
        assert_eq!(floats(&file, "ribbon/radius"), [1e-3, 1e-4]);
    }

    #[test]
    fn damaged_and_misnumbered_frames_are_refused() {
        let place = tempfile::tempdir().unwrap();
        let folder = store(place.path());
        let run = SlimRun::open(&folder).unwrap();
        assert!(matches!(run.frame(4), Err(IoError::Read { .. })));
        std::fs::copy(folder.frame(3), folder.frame(4)).unwrap();
        let message = run.frame(4).unwrap_err().to_string();
        assert!(message.contains("it holds frame 3"), "{message}");
        let mut bytes = std::fs::read(folder.frame(3)).unwrap();
        let middle = bytes.len() - 20;
        bytes[middle] ^= 1;
        std::fs::write(folder.frame(3), bytes).unwrap();
        assert!(matches!(run.frame(3), Err(IoError::Damaged { .. })));
    }
}
