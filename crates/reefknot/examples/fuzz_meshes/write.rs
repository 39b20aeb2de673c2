//! Writes a mesh in each format that can be read. The tests of the readers use it too.

use std::fmt::Write;

/// A mesh to write.
#[derive(Clone, Debug, Default)]
pub(crate) struct RawMesh {
    pub(crate) points: Vec<[f64; 3]>,
    pub(crate) triangles: Vec<[u32; 3]>,
    pub(crate) tetrahedra: Vec<[u32; 4]>,
    pub(crate) lines: Vec<[u32; 2]>,
}

/// Encoding of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Text,
    Little,
    Big,
}

pub(crate) const ENCODINGS: [Encoding; 3] = [Encoding::Text, Encoding::Little, Encoding::Big];

/// A file under construction, with numbers as text or binary.
struct Output {
    bytes: Vec<u8>,
    encoding: Encoding,
}

impl Output {
    fn text(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// Writes a number, given as text and as little-endian bytes.
    fn number(&mut self, text: impl std::fmt::Display, little: &[u8]) {
        match self.encoding {
            Encoding::Text => self.text(&format!("{text} ")),
            Encoding::Little => self.bytes.extend(little),
            Encoding::Big => self.bytes.extend(little.iter().rev()),
        }
    }

    fn byte(&mut self, value: u8) {
        self.number(value, &[value]);
    }

    fn int(&mut self, value: u32) {
        self.number(value, &value.to_le_bytes());
    }

    fn size(&mut self, value: usize) {
        self.number(value, &(value as u64).to_le_bytes());
    }

    fn real(&mut self, value: f64) {
        self.number(format!("{value:?}"), &value.to_le_bytes());
    }

    /// Ends a row of text.
    fn row(&mut self) {
        if self.encoding == Encoding::Text {
            self.text("\n");
        }
    }
}

/// The mesh as OBJ, without tetrahedra; triangles and lines are in groups.
pub(crate) fn obj(mesh: &RawMesh) -> Vec<u8> {
    let mut text = String::from("# a mesh\n");
    for [x, y, z] in &mesh.points {
        let _ = writeln!(text, "v {x:?} {y:?} {z:?}");
    }
    text += "g surface\n";
    for corners in &mesh.triangles {
        let [a, b, c] = corners.map(|corner| corner + 1);
        let _ = writeln!(text, "f {a} {b} {c}");
    }
    text += "g wire\n";
    for ends in &mesh.lines {
        let [a, b] = ends.map(|end| end + 1);
        let _ = writeln!(text, "l {a} {b}");
    }
    text.into_bytes()
}

/// The mesh as PLY, without tetrahedra; with additional columns and an additional element.
pub(crate) fn ply(mesh: &RawMesh, encoding: Encoding) -> Vec<u8> {
    let mut output = Output {
        bytes: Vec::new(),
        encoding,
    };
    let format = match encoding {
        Encoding::Text => "ascii",
        Encoding::Little => "binary_little_endian",
        Encoding::Big => "binary_big_endian",
    };
    output.text(&format!(
        "ply\nformat {format} 1.0\ncomment a mesh\n\
         element vertex {}\nproperty uchar red\nproperty double x\nproperty double y\n\
         property double z\n\
         element noise 1\nproperty list uchar int numbers\nproperty double last\n\
         element face {}\nproperty list uchar int vertex_indices\nproperty uchar flag\n\
         element edge {}\nproperty int vertex1\nproperty int vertex2\nend_header\n",
        mesh.points.len(),
        mesh.triangles.len(),
        mesh.lines.len()
    ));
    for point in &mesh.points {
        output.byte(255);
        point.iter().for_each(|number| output.real(*number));
        output.row();
    }
    output.byte(2);
    output.int(7);
    output.int(8);
    output.real(0.5);
    output.row();
    for corners in &mesh.triangles {
        output.byte(3);
        corners.iter().for_each(|corner| output.int(*corner));
        output.byte(0);
        output.row();
    }
    for ends in &mesh.lines {
        ends.iter().for_each(|end| output.int(*end));
        output.row();
    }
    output.bytes
}

const PHYSICAL_NAMES: &str =
    "$PhysicalNames\n3\n1 7 \"wire\"\n2 8 \"surface\"\n3 9 \"body\"\n$EndPhysicalNames\n";

fn gmsh_start(version: &str, encoding: Encoding) -> Output {
    let is_binary = u8::from(encoding != Encoding::Text);
    let mut output = Output {
        bytes: Vec::new(),
        encoding,
    };
    output.text(&format!("$MeshFormat\n{version} {is_binary} 8\n"));
    if is_binary == 1 {
        output.int(1);
        output.text("\n");
    }
    output.text("$EndMeshFormat\n");
    output.text(PHYSICAL_NAMES);
    output
}

/// Elements by dimension: element type of Gmsh, and corners.
fn blocks(mesh: &RawMesh) -> [(u32, Vec<&[u32]>); 3] {
    [
        (1, mesh.lines.iter().map(|e| e.as_slice()).collect()),
        (2, mesh.triangles.iter().map(|e| e.as_slice()).collect()),
        (4, mesh.tetrahedra.iter().map(|e| e.as_slice()).collect()),
    ]
}

/// The mesh as MSH 2.2; the tag of vertex i is `tag(i)`.
pub(crate) fn gmsh2(mesh: &RawMesh, encoding: Encoding, tag: impl Fn(u32) -> u32) -> Vec<u8> {
    let mut output = gmsh_start("2.2", encoding);
    output.text(&format!("$Nodes\n{}\n", mesh.points.len()));
    for (vertex, point) in (0..).zip(&mesh.points) {
        output.int(tag(vertex));
        point.iter().for_each(|number| output.real(*number));
        output.row();
    }
    let blocks = blocks(mesh);
    let count: usize = blocks.iter().map(|(_, elements)| elements.len()).sum();
    output.text(&format!("\n$EndNodes\n$Elements\n{count}\n"));
    for (dimension, (code, elements)) in (1u32..).zip(blocks) {
        if encoding != Encoding::Text && !elements.is_empty() {
            output.int(code);
            output.int(elements.len() as u32);
            output.int(2);
        }
        for element in elements {
            output.int(1);
            if encoding == Encoding::Text {
                output.int(code);
                output.int(2);
            }
            output.int(6 + dimension);
            output.int(1);
            element.iter().for_each(|vertex| output.int(tag(*vertex)));
            output.row();
        }
    }
    output.text("\n$EndElements\n");
    output.bytes
}

/// The entities of MSH 4.1: one curve, surface and volume, each with a physical group.
fn write_entities(output: &mut Output) {
    output.text("$Entities\n");
    [0, 1, 1, 1].iter().for_each(|count| output.size(*count));
    output.row();
    for dimension in 1..4 {
        output.int(1);
        (0..6).for_each(|_| output.real(0.0));
        output.size(1);
        output.int(6 + dimension);
        output.size(0);
        output.row();
    }
    output.text("\n$EndEntities\n");
}

/// The mesh as MSH 4.1; the tag of vertex i is `tag(i)`.
pub(crate) fn gmsh4(mesh: &RawMesh, encoding: Encoding, tag: impl Fn(u32) -> u32) -> Vec<u8> {
    let mut output = gmsh_start("4.1", encoding);
    write_entities(&mut output);
    output.text("$Nodes\n");
    // Two blocks; the second has parametric coordinates.
    let (first, second) = mesh.points.split_at(mesh.points.len() / 2);
    let counts = [2, mesh.points.len(), 0, 1000];
    counts.iter().for_each(|count| output.size(*count));
    output.row();
    let mut vertex = 0;
    for (dimension, points) in [(3, first), (2, second)] {
        output.int(dimension);
        output.int(1);
        output.int(u32::from(dimension == 2));
        output.size(points.len());
        output.row();
        for _ in points {
            output.size(tag(vertex) as usize);
            output.row();
            vertex += 1;
        }
        for point in points {
            point.iter().for_each(|number| output.real(*number));
            (0..2 * usize::from(dimension == 2)).for_each(|_| output.real(0.25));
            output.row();
        }
    }
    output.text("\n$EndNodes\n$Elements\n");
    let blocks = blocks(mesh);
    let count: usize = blocks.iter().map(|(_, elements)| elements.len()).sum();
    [3, count, 1, 1000]
        .iter()
        .for_each(|count| output.size(*count));
    output.row();
    for (dimension, (code, elements)) in (1u32..).zip(blocks) {
        output.int(dimension);
        output.int(1);
        output.int(code);
        output.size(elements.len());
        output.row();
        for element in elements {
            output.size(1);
            for vertex in element {
                output.size(tag(*vertex) as usize);
            }
            output.row();
        }
    }
    output.text("\n$EndElements\n");
    output.bytes
}
