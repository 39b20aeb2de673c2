//! Read access to a run on disk, without its scene and model.

use std::path::{Path, PathBuf};

use super::IoError;
use super::export::{Animation, FrameInfo, ObjectFrame, ObjectTopology};
use super::folder::{Contents, RunFolder};
use super::tensors::TensorFile;

/// A run on disk, finished or in progress.
#[derive(Debug)]
pub struct StoredRun {
    folder: RunFolder,
    scene: String,
    frame_rate: f64,
    start_frame: u64,
    objects: Vec<ObjectTopology>,
}

impl StoredRun {
    /// Opens the run in a folder.
    ///
    /// # Errors
    /// A message if the folder holds no run, or it cannot be read.
    pub fn open(path: &Path) -> Result<StoredRun, String> {
        let folder = RunFolder::new(path);
        let contents = folder.contents().map_err(|error| error.to_string())?;
        if contents != Contents::Run {
            return Err(format!(
                "{} holds no run (it has no manifest.json)",
                path.display()
            ));
        }
        StoredRun::read(folder).map_err(|error| error.to_string())
    }

    fn read(folder: RunFolder) -> Result<StoredRun, IoError> {
        let path = folder.file("manifest.json");
        let damaged = |key: &str| IoError::damaged(&path, format!("it has no {key}"));
        let manifest: serde_json::Value = serde_json::from_str(&folder.read_text("manifest.json")?)
            .map_err(|error| IoError::damaged(&path, error.to_string()))?;
        let names = manifest["objects"]
            .as_array()
            .ok_or_else(|| damaged("objects"))?;
        let topology = TensorFile::read(&folder.file("topology.safetensors"))?;
        let mut objects = Vec::new();
        for name in names.iter().filter_map(|name| name.as_str()) {
            objects.push(ObjectTopology {
                name: name.to_owned(),
                triangles: elements(&topology, &format!("{name}/triangles"))?,
                edges: elements(&topology, &format!("{name}/edges"))?,
                tetrahedra: elements(&topology, &format!("{name}/tetrahedra"))?,
            });
        }
        let scene = manifest["scene"]
            .as_str()
            .ok_or_else(|| damaged("scene"))?
            .to_owned();
        let frame_rate = manifest["frame_rate"]
            .as_f64()
            .ok_or_else(|| damaged("frame_rate"))?;
        let start_frame = manifest["start_frame"].as_u64().unwrap_or(0);
        Ok(StoredRun {
            scene,
            frame_rate,
            start_frame,
            objects,
            folder,
        })
    }

    /// Name of the scene, with characters that are safe in file names.
    #[must_use]
    pub fn name(&self) -> String {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        self.scene.replace(|c| !is_word(c), "-")
    }

    /// Calls an exporter with the animation. Returns the files that it wrote.
    ///
    /// # Errors
    /// Those of the exporter, or if the frames cannot be listed.
    pub fn animate(
        &self,
        export: impl FnOnce(&Animation<'_>) -> Result<Vec<PathBuf>, IoError>,
    ) -> Result<Vec<PathBuf>, IoError> {
        let frames = self.folder.frames()?;
        let load = |frame: usize| self.load(frame as u64);
        export(&Animation {
            objects: self.objects.clone(),
            frames: frames
                .iter()
                .map(|frame| FrameInfo {
                    index: *frame as usize,
                    number: (self.start_frame + frame) as usize,
                    time: *frame as f64 / self.frame_rate,
                })
                .collect(),
            load: &load,
        })
    }

    fn load(&self, frame: u64) -> Result<Vec<ObjectFrame>, IoError> {
        let file = self.folder.read_frame(frame)?;
        let load_object = |object: &ObjectTopology| {
            let (_, points) = file.f64(&format!("{}/points", object.name))?;
            let (_, velocities) = file.f32(&format!("{}/velocities", object.name))?;
            Ok(ObjectFrame {
                points: points.as_chunks::<3>().0.to_vec(),
                velocities: velocities.as_chunks::<3>().0.to_vec(),
            })
        };
        self.objects.iter().map(load_object).collect()
    }
}

/// The elements under this name; none if the file has no such array.
fn elements<const N: usize>(file: &TensorFile, name: &str) -> Result<Vec<[u32; N]>, IoError> {
    if !file.names().any(|other| other == name) {
        return Ok(Vec::new());
    }
    let (_, corners) = file.i32(name)?;
    let (elements, _) = corners.as_chunks::<N>();
    Ok(elements
        .iter()
        .map(|element| element.map(|vertex| vertex as u32))
        .collect())
}
