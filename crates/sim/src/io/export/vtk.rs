//! VTK for ParaView and PyVista: one `.vtu` per object and frame, and a `.pvd` with their times.
//!
//! Arrays are base64 within the XML, so that the files are plain text without compression. Each
//! starts with its length in bytes, as VTK requires.

use super::{Animation, ExportOptions, FrameInfo, ObjectFrame, ObjectTopology};
use super::{clear_earlier_export, is_frame_number, is_name};
use crate::io::IoError;
use crate::io::atomic::write_atomically;
use std::path::{Path, PathBuf};

const VTK_VERTEX: u8 = 1;
const VTK_LINE: u8 = 3;
const VTK_TRIANGLE: u8 = 5;
const VTK_TETRAHEDRON: u8 = 10;

/// Writes `NAME.OBJECT.NNNN.vtu` into `folder` for every frame and object, and `NAME.pvd` with the
/// times, replacing an earlier export of that name. Returns the paths, the `.pvd` last.
///
/// # Errors
/// [`IoError::Export`] if names or frames are not valid, [`IoError::Write`] if a file cannot be
/// written, and the errors of loading a frame.
pub fn write_vtk(
    animation: &Animation,
    options: &ExportOptions,
    folder: &Path,
    name: &str,
) -> Result<Vec<PathBuf>, IoError> {
    animation.check_names(folder, name)?;
    clear_earlier_export(folder, name, |rest| rest == "pvd" || is_grid_name(rest))?;
    let mut paths = Vec::new();
    let mut entries = String::new();
    for frame in &animation.frames {
        let number = animation.frame_number(frame);
        let objects = animation.load_frame(frame, options, &folder.join(format!("{name}.pvd")))?;
        for (part, (topology, object)) in animation.objects.iter().zip(&objects).enumerate() {
            let file = format!("{name}.{}.{number}.vtu", topology.name);
            let path = folder.join(&file);
            let text = grid(topology, object, frame, options);
            write_atomically(&path, text.as_bytes(), false)?;
            paths.push(path);
            let (time, object_name) = (frame.time, &topology.name);
            entries += &format!("<DataSet timestep=\"{time}\" part=\"{part}\" ");
            entries += &format!("name=\"{object_name}\" file=\"{file}\"/>\n");
        }
    }
    // The collection is written last, so that all files that it names exist.
    let path = folder.join(format!("{name}.pvd"));
    let content = format!("<Collection>\n{entries}</Collection>\n");
    write_atomically(
        &path,
        document("Collection", options, &content).as_bytes(),
        false,
    )?;
    paths.push(path);
    Ok(paths)
}

/// Whether `rest` is `OBJECT.NNNN.vtu`.
fn is_grid_name(rest: &str) -> bool {
    let parts = rest
        .strip_suffix(".vtu")
        .and_then(|rest| rest.split_once('.'));
    parts.is_some_and(|(object, number)| is_name(object) && is_frame_number(number))
}

fn document(kind: &str, options: &ExportOptions, content: &str) -> String {
    format!(
        "<?xml version=\"1.0\"?>\n<!-- reefknot, {} -->\n\
         <VTKFile type=\"{kind}\" version=\"1.0\" \
         byte_order=\"LittleEndian\" header_type=\"UInt64\">\n\
         {content}</VTKFile>\n",
        options.describe()
    )
}

fn grid(
    topology: &ObjectTopology,
    object: &ObjectFrame,
    frame: &FrameInfo,
    options: &ExportOptions,
) -> String {
    let cells = Cells::of(topology, object.points.len());
    let (points, velocities) = (
        object.points.as_flattened(),
        object.velocities.as_flattened(),
    );
    let content = format!(
        "<UnstructuredGrid>\n<FieldData>\n{}</FieldData>\n\
         <Piece NumberOfPoints=\"{}\" NumberOfCells=\"{}\">\n\
         <PointData Vectors=\"velocity\">\n{}</PointData>\n<Points>\n{}</Points>\n\
         <Cells>\n{}{}{}</Cells>\n</Piece>\n</UnstructuredGrid>\n",
        array(
            "Float64",
            "TimeValue",
            "NumberOfTuples=\"1\"",
            &frame.time.to_le_bytes()
        ),
        object.points.len(),
        cells.types.len(),
        array(
            "Float32",
            "velocity",
            THREE_COMPONENTS,
            &little_endian(velocities, |value| value.to_le_bytes())
        ),
        array(
            "Float64",
            "Points",
            THREE_COMPONENTS,
            &little_endian(points, |value| value.to_le_bytes())
        ),
        array("Int64", "connectivity", "", &cells.connectivity),
        array("Int64", "offsets", "", &cells.offsets),
        array("UInt8", "types", "", &cells.types),
    );
    document("UnstructuredGrid", options, &content)
}

const THREE_COMPONENTS: &str = "NumberOfComponents=\"3\"";

/// Cells of a grid, as the bytes of VTK's three arrays.
#[derive(Default)]
struct Cells {
    connectivity: Vec<u8>,
    offsets: Vec<u8>,
    types: Vec<u8>,
}

impl Cells {
    fn of(topology: &ObjectTopology, points: usize) -> Self {
        let mut cells = Self::default();
        // The surface of a solid is drawn from its tetrahedra.
        if topology.tetrahedra.is_empty() {
            cells.append(VTK_TRIANGLE, &topology.triangles);
        } else {
            cells.append(VTK_TETRAHEDRON, &topology.tetrahedra);
        }
        cells.append(VTK_LINE, &topology.edges);
        if cells.types.is_empty() {
            // Points without a cell are not drawn, and some readers refuse a grid without cells.
            let vertices: Vec<[u32; 1]> = (0_u32..).take(points).map(|vertex| [vertex]).collect();
            cells.append(VTK_VERTEX, &vertices);
        }
        cells
    }

    fn append<const N: usize>(&mut self, kind: u8, elements: &[[u32; N]]) {
        for element in elements {
            for &vertex in element {
                self.connectivity
                    .extend_from_slice(&i64::from(vertex).to_le_bytes());
            }
            let end = (self.connectivity.len() / size_of::<i64>()) as i64;
            self.offsets.extend_from_slice(&end.to_le_bytes());
            self.types.push(kind);
        }
    }
}

fn little_endian<T, const N: usize>(values: &[T], to_bytes: fn(&T) -> [u8; N]) -> Vec<u8> {
    values.iter().flat_map(to_bytes).collect()
}

fn array(kind: &str, name: &str, attributes: &str, data: &[u8]) -> String {
    let mut bytes = Vec::with_capacity(size_of::<u64>() + data.len());
    bytes.extend_from_slice(&(data.len() as u64).to_le_bytes());
    bytes.extend_from_slice(data);
    let (start, text) = (
        format!("<DataArray type=\"{kind}\" Name=\"{name}\""),
        base64(&bytes),
    );
    format!("{start} {attributes} format=\"binary\">{text}</DataArray>\n")
}

/// Base64 of RFC 4648: three bytes become four letters of six bits each, padded with `=`.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let mut group = [0; 4];
        group[1..=chunk.len()].copy_from_slice(chunk);
        let bits = u32::from_be_bytes(group);
        for letter in 0..4 {
            let six = bits >> (18 - 6 * letter) & 63;
            text.push(if letter <= chunk.len() {
                char::from(LETTERS[six as usize])
            } else {
                '='
            });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_follows_the_examples_of_rfc_4648() {
        let examples = [
            "", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy",
        ];
        for (length, expected) in examples.into_iter().enumerate() {
            assert_eq!(base64(&b"foobar"[..length]), expected);
        }
        assert_eq!(base64(&[0xfb, 0xff, 0xbf]), "+/+/");
    }

    #[test]
    fn points_without_elements_become_vertex_cells() {
        let cells = Cells::of(&ObjectTopology::default(), 2);
        assert_eq!(cells.types, [VTK_VERTEX; 2]);
        assert_eq!(
            cells.offsets,
            [1_i64.to_le_bytes(), 2_i64.to_le_bytes()].concat()
        );
    }

    #[test]
    fn only_names_of_grids_match_the_pattern() {
        assert!(is_grid_name("cloth.0001.vtu") && is_grid_name("a-b_C.12345.vtu"));
        for other in [
            "cloth.vtu",
            "cloth.1.vtu",
            "cloth.a.0001.vtu",
            ".0001.vtu",
            "cloth.0001.vtp",
        ] {
            assert!(!is_grid_name(other), "{other}");
        }
    }
}
