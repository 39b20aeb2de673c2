//! Seed files of every format and encoding, with the extras that exporters write.

use crate::write::{ENCODINGS, Encoding, RawMesh, gmsh2, gmsh4, obj, ply};

/// A file to mutate.
pub(crate) struct Seed {
    /// Format and encoding, by which cases are counted.
    pub(crate) format: &'static str,
    pub(crate) extension: &'static str,
    pub(crate) bytes: Vec<u8>,
}

/// All formats, in the order of the report.
pub(crate) const FORMATS: [&str; 8] = [
    "obj",
    "ply_text",
    "ply_little",
    "ply_big",
    "msh2_text",
    "msh2_binary",
    "msh4_text",
    "msh4_binary",
];

const OBJ: [&str; 3] = [
    "# exported\nmtllib a.mtl\no Body\nv 0 0 0 1.0\nv 1.5e-1 0 0 0.5 0.5 0.5\nv 1 1 0\nv 0 1 0\n\
     v .5 .5 2.\nvt 0 0\nvn 0 0 1\nusemtl skin\ns 1\ng front left\n\
     f 1/1/1 2/1/1 3/1/1 4/1/1\nf -1//1 -2//1 -3//1\n\
     g back\nf 5/1 1/1 2/1 # note\np 1 2\n",
    "v 0 0 0\r\nv 1 0 0\r\nv 2 0 0\r\nv 3 0 0\r\nv 4 1 0\r\nv 5 0 0\r\nv 6 0 1\r\n\
     l 1 2\r\nl 2 3\r\nl 4 5 6 7\r\n",
    "v 2 1 0\nv 1 1 0\nv 1 2 0\nv 0 2 0\nv 0 0 0\nv 2 0 0\nv 9 9 9\nv 8 8 8\n\
     f 1 2 3 \\\n4 5 6\nl 7 8\nl 1 2 \\\n3 4 1\n",
];

const PLY: &str = "ply\nformat ascii 1.0\nobj_info none\ncomment by hand\nelement vertex 5\n\
    property float x\nproperty float y\nproperty float z\nproperty float confidence\n\
    element tristrips 1\n\
    property list int int vertex_indices\nelement face 2\nproperty list uchar int vertex_index\n\
    property list uchar float texcoord\nend_header\n0 0 0 1\n1 0 0 1\n1 1 0 .5\n0 1 0 1\n3 3 3 1\n\
    7 0 1 3 -1 2 3 4\n4 0 1 2 3 2 0.5 0.5\n3 2 3 4 0\n";

const MSH2: &str = "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n2\n2 1 \"skin\"\n\
    3 2 \"inside\"\n$EndPhysicalNames\n\
    $Nodes\n6\n1 0 0 0\n2 1 0 0\n3 1 1 0\n4 0 1 0\n50 0 0 1\n600 2 2 2\n\
    $EndNodes\n$Elements\n4\n1 15 2 0 1 1\n2 3 2 1 1 1 2 3 4\n3 9 2 1 2 1 2 50 3 4 600\n\
    4 1 0 50 600\n\
    $EndElements\n\
    $NodeData\n1\n\"x\"\n0\n0\n$EndNodeData\n";

fn text(format: &'static str, extension: &'static str, text: &str) -> Seed {
    Seed {
        format,
        extension,
        bytes: text.as_bytes().to_vec(),
    }
}

/// A sheet with so many points and triangles that most mutations change one.
fn sheet() -> RawMesh {
    let points = (0..64).map(|index| [f64::from(index % 8), f64::from(index / 8), 0.125]);
    let corners = (0..55).filter(|index| index % 8 < 7);
    RawMesh {
        points: points.collect(),
        triangles: corners.map(|index| [index, index + 1, index + 8]).collect(),
        ..RawMesh::default()
    }
}

/// All seed files.
pub(crate) fn seeds() -> Vec<Seed> {
    let mut seeds: Vec<Seed> = OBJ.iter().map(|file| text("obj", "obj", file)).collect();
    seeds.push(text("ply_text", "ply", PLY));
    seeds.push(text("msh2_text", "msh", MSH2));
    let surface = RawMesh {
        points: vec![
            [0.0, 0.0, 0.0],
            [1.0, 0.0, 0.25],
            [0.0, 1.0, 0.5],
            [0.0, 0.0, 1.0],
            [2.0, 2.0, 2.0],
            [3.0, 2.0, 1e-3],
        ],
        triangles: vec![[0, 1, 2], [0, 2, 3], [1, 3, 2]],
        lines: vec![[4, 5]],
        tetrahedra: Vec::new(),
    };
    let solid = RawMesh {
        tetrahedra: vec![[0, 1, 2, 3], [1, 2, 3, 4]],
        ..surface.clone()
    };
    seeds.push(Seed {
        format: "obj",
        extension: "obj",
        bytes: obj(&surface),
    });
    for encoding in ENCODINGS {
        let [ply_format, two, four] = match encoding {
            Encoding::Text => ["ply_text", "msh2_text", "msh4_text"],
            Encoding::Little => ["ply_little", "msh2_binary", "msh4_binary"],
            Encoding::Big => ["ply_big", "msh2_binary", "msh4_binary"],
        };
        seeds.push(Seed {
            format: ply_format,
            extension: "ply",
            bytes: ply(&surface, encoding),
        });
        seeds.push(Seed {
            format: ply_format,
            extension: "ply",
            bytes: ply(&sheet(), encoding),
        });
        for (shape, step) in [(&surface, 1), (&solid, 1000)] {
            seeds.push(Seed {
                format: two,
                extension: "msh",
                bytes: gmsh2(shape, encoding, |vertex| 1 + step * vertex),
            });
            seeds.push(Seed {
                format: four,
                extension: "msh",
                bytes: gmsh4(shape, encoding, |vertex| 1 + step * vertex),
            });
        }
    }
    seeds
}
