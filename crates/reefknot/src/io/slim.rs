//! Topology and frames as the viewer needs them: half the bytes, and a copy of the data less.
//!
//! A picture does not show more than the digits of an f32, nor the inside of a solid, nor how round sections are
//! turned. So every f64 becomes an f32, and directors of rods with round sections, lattices and tetrahedra are left
//! out; the rest is as stored, under the same names, again as safetensors. While a run is played this is done for
//! every frame, so the bytes of a file are looked at three times only: they are read, tested and turned.

use std::collections::BTreeSet;
use std::path::Path;

use safetensors::tensor::{Dtype, TensorInfo};

use super::IoError;
use super::folder::RunFolder;
use super::tensors::{LENGTH_BYTES, TensorFile, json, texts, verified};

/// Half axes of a section that differ by less than this ratio make it round.
const ROUND: f64 = 1e-9;

/// A run whose files are read in slim form.
#[derive(Clone, Debug)]
pub struct SlimRun {
    folder: RunFolder,
    /// The directors of rods with round sections.
    left_out: BTreeSet<String>,
}

/// An array of the slim file, and where it comes from.
struct Part<'a> {
    name: &'a str,
    shape: &'a [usize],
    from: &'a [u8],
    is_f64: bool,
    /// The type in the slim file, and the bytes of one of its elements.
    dtype: Dtype,
    element: usize,
}

impl SlimRun {
    /// Looks which rods are round.
    ///
    /// # Errors
    /// If the topology is missing or damaged.
    pub fn open(folder: &RunFolder) -> Result<SlimRun, IoError> {
        let topology = TensorFile::read(&folder.file("topology.safetensors"))?;
        let mut left_out = BTreeSet::new();
        for name in topology.names() {
            let Some(object) = name.strip_suffix("/radius") else {
                continue;
            };
            if let (_, &[first, second]) = topology.f64(name)?
                && (first - second).abs() <= ROUND * first.max(second)
            {
                left_out.insert(format!("{object}/directors"));
            }
        }
        Ok(SlimRun {
            folder: folder.clone(),
            left_out,
        })
    }

    /// What does not change.
    ///
    /// # Errors
    /// If it is missing or damaged.
    pub fn topology(&self) -> Result<Vec<u8>, IoError> {
        let path = self.folder.file("topology.safetensors");
        self.read(&path, None)
    }

    /// A frame.
    ///
    /// # Errors
    /// If it is missing, damaged or another frame.
    pub fn frame(&self, frame: u64) -> Result<Vec<u8>, IoError> {
        self.read(&self.folder.frame(frame), Some(frame))
    }

    fn read(&self, path: &Path, frame: Option<u64>) -> Result<Vec<u8>, IoError> {
        let bytes = std::fs::read(path).map_err(|error| IoError::read(path, error))?;
        slim(&bytes, &self.left_out, frame).map_err(|reason| IoError::damaged(path, reason))
    }
}

/// The slim form of the bytes of a file, which is to hold this frame.
fn slim(bytes: &[u8], left_out: &BTreeSet<String>, frame: Option<u64>) -> Result<Vec<u8>, String> {
    let (parsed, data) = verified(bytes)?;
    let texts = texts(&parsed);
    if let Some(frame) = frame {
        let number = texts.get("frame").map_or("of no number", String::as_str);
        if number != frame.to_string() {
            return Err(format!("it holds frame {number}"));
        }
    }
    let stored = parsed.tensors();
    let mut parts = Vec::with_capacity(stored.len());
    for (name, information) in &stored {
        if is_shown(name) && !left_out.contains(name) {
            let part = Part::of(name, information, data);
            parts.push(part.map_err(|reason| format!("tensor `{name}` {reason}"))?);
        }
    }
    parts.sort_by(|a, b| (b.element, a.name).cmp(&(a.element, b.name)));

    let texts = texts
        .iter()
        .map(|(k, v)| format!("{}:{}", json(k), json(v)));
    let texts: Vec<String> = texts.collect();
    let mut header = format!("{{\"__metadata__\":{{{}}}", texts.join(","));
    let mut length = 0;
    for part in &parts {
        let end = length + part.length();
        header += &format!(
            ",{}:{{\"dtype\":\"{}\",\"shape\":{:?},\"data_offsets\":[{length},{end}]}}",
            json(part.name),
            part.dtype,
            part.shape
        );
        length = end;
    }
    header.push('}');
    let begin = (LENGTH_BYTES + header.len()).next_multiple_of(8);
    let mut slim = vec![0; begin + length];
    let (head, mut rest) = slim.split_at_mut(begin);
    head.fill(b' ');
    head[..LENGTH_BYTES].copy_from_slice(&((begin - LENGTH_BYTES) as u64).to_le_bytes());
    head[LENGTH_BYTES..][..header.len()].copy_from_slice(header.as_bytes());
    for part in &parts {
        let (to, others) = rest.split_at_mut(part.length());
        part.write(to);
        rest = others;
    }
    Ok(slim)
}

/// Whether a picture shows anything of an array.
fn is_shown(name: &str) -> bool {
    let (_, what) = name.rsplit_once('/').unwrap_or(("", name));
    what != "tetrahedra" && !what.starts_with("lattice_")
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
        match self.is_f64 {
            true => self.from.len() / 2,
            false => self.from.len(),
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

    /// A ribbon, hair and a solid; the frame is the third.
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
    fn a_slim_frame_has_the_numbers_of_the_stored_one() {
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
        // Round hair looks the same however it is turned.
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
    fn arrays_begin_where_a_typed_view_of_them_can() {
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
    fn a_slim_topology_has_no_inside() {
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
    fn damage_and_other_frames_are_not_shown() {
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
