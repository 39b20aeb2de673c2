//! Meshes of a program as the bytes of a mesh file, so that they take the same path as files: read,
//! checked, copied into a run and compared when it resumes. Coordinates keep every bit.

use std::fmt::Write;

use crate::mesh::Mesh;

/// Wavefront OBJ for triangles and curves, Gmsh 2.2 for tetrahedra. Groups are not written.
pub(crate) fn encode(mesh: &Mesh) -> Vec<u8> {
    let text = if mesh.tetrahedra.is_empty() {
        obj(mesh)
    } else {
        gmsh(mesh)
    };
    text.into_bytes()
}

/// Extension of the file format that [`encode`] chooses.
pub(crate) fn extension(mesh: &Mesh) -> &'static str {
    if mesh.tetrahedra.is_empty() {
        ".obj"
    } else {
        ".msh"
    }
}

fn obj(mesh: &Mesh) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail. `{:?}` writes the shortest digits that read back exactly.
    for point in &mesh.points {
        let _ = writeln!(text, "v {:?} {:?} {:?}", point.x, point.y, point.z);
    }
    for [a, b, c] in &mesh.triangles {
        let _ = writeln!(
            text,
            "f {} {} {}",
            one_based(*a),
            one_based(*b),
            one_based(*c)
        );
    }
    for curve in &mesh.curves {
        text.push('l');
        let last = u64::from(curve.first) + u64::from(curve.count);
        for vertex in u64::from(curve.first)..last {
            let _ = write!(text, " {}", vertex + 1);
        }
        if curve.closed {
            let _ = write!(text, " {}", one_based(curve.first));
        }
        text.push('\n');
    }
    text
}

fn gmsh(mesh: &Mesh) -> String {
    let mut text = String::from("$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n");
    let _ = writeln!(text, "{}", mesh.points.len());
    for (index, point) in mesh.points.iter().enumerate() {
        let (x, y, z) = (point.x, point.y, point.z);
        let _ = writeln!(text, "{} {x:?} {y:?} {z:?}", index + 1);
    }
    let _ = writeln!(text, "$EndNodes\n$Elements\n{}", mesh.tetrahedra.len());
    for (index, corners) in mesh.tetrahedra.iter().enumerate() {
        let [a, b, c, d] = corners.map(one_based);
        // Element type 4 is the tetrahedron with four nodes; it has no tags.
        let _ = writeln!(text, "{} 4 0 {a} {b} {c} {d}", index + 1);
    }
    text + "$EndElements\n"
}

fn one_based(vertex: u32) -> u64 {
    u64::from(vertex) + 1
}

#[cfg(test)]
mod tests {
    use glam::DVec3;

    use super::*;
    use crate::io::import;
    use crate::mesh::Curve;

    fn read_back(mesh: &Mesh) -> Mesh {
        let name = format!("mesh{}", extension(mesh));
        let imported = import::import(&name, &encode(mesh)).unwrap();
        imported.into_mesh().unwrap().0
    }

    /// Coordinates whose decimal digits do not end, or are far apart.
    fn points(count: usize) -> Vec<DVec3> {
        let point = |i: usize| {
            let x = i as f64;
            DVec3::new(x / 3.0, 1e-300 * (x + 1.0), -1e20 * (x + 0.1).sqrt())
        };
        (0..count).map(point).collect()
    }

    #[test]
    fn triangles_and_curves_read_back_to_the_same_bits() {
        let sheet = Mesh {
            points: points(4),
            triangles: vec![[0, 1, 2], [2, 1, 3]],
            ..Mesh::default()
        };
        assert_eq!(read_back(&sheet), sheet);
        let curve = |first, count, closed| Curve {
            first,
            count,
            closed,
        };
        let rods = Mesh {
            points: points(9),
            curves: vec![curve(0, 4, false), curve(4, 5, true)],
            ..Mesh::default()
        };
        assert_eq!(read_back(&rods), rods);
    }

    #[test]
    fn tetrahedra_read_back_to_the_same_bits() {
        let corners = [DVec3::ZERO, DVec3::X / 3.0, DVec3::Y / 7.0, DVec3::Z];
        let solid = Mesh {
            points: corners.to_vec(),
            tetrahedra: vec![[0, 1, 2, 3]],
            ..Mesh::default()
        };
        let read = read_back(&solid);
        assert_eq!(
            (read.points, read.tetrahedra),
            (solid.points, solid.tetrahedra)
        );
    }
}
