//! Checks faces and lines of a file, and adds them to the import.

use super::cursor::Cursor;
use super::{ImportError, Imported, polygon};

/// Adds a face as triangles. `first` is the number of the first vertex in the format.
pub(super) fn add_face(
    imported: &mut Imported,
    corners: &[u32],
    first: u64,
    cursor: &Cursor<'_>,
) -> Result<(), ImportError> {
    if corners.len() < 3 {
        let message = format!("a face of {} vertices", corners.len());
        let advice = "give it three or more, or remove it";
        return Err(cursor.error(message, advice));
    }
    if let Some(corner) = repeated(corners) {
        return Err(repeated_vertex(cursor, "face", u64::from(corner) + first));
    }
    let triangles = &mut imported.triangles;
    if polygon::triangulate(&imported.points, corners, triangles) {
        return Ok(());
    }
    Err(cursor.error(
        format!(
            "a face of {} vertices that is not convex; the limit is {}",
            corners.len(),
            polygon::MAX_CORNERS
        ),
        "triangulate it in the program that made it",
    ))
}

/// Adds a line. `first` is the number of the first vertex in the format.
pub(super) fn add_line(
    imported: &mut Imported,
    vertices: &[u32],
    first: u64,
    cursor: &Cursor<'_>,
) -> Result<(), ImportError> {
    match vertices {
        [] | [_] => {
            return Err(cursor.error(
                "a line of fewer than two vertices",
                "give it two or more, or remove it",
            ));
        }
        [start, _, end] if start == end => {
            let vertex = u64::from(*start) + first;
            return Err(cursor.error(
                format!("the line leads to its second vertex and back to vertex {vertex}"),
                "give a closed line three vertices or more",
            ));
        }
        _ => {}
    }
    if let Some(pair) = vertices.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(repeated_vertex(cursor, "line", u64::from(pair[0]) + first));
    }
    imported.lines.push(vertices.to_vec());
    Ok(())
}

/// A corner that is followed by itself.
fn repeated(corners: &[u32]) -> Option<u32> {
    let next = corners.iter().cycle().skip(1);
    let pairs = corners.iter().zip(next);
    let mut same = pairs.filter(|(corner, next)| corner == next);
    same.next().map(|(corner, _)| *corner)
}

fn repeated_vertex(cursor: &Cursor<'_>, element: &str, vertex: u64) -> ImportError {
    cursor.error(
        format!("the {element} has vertex {vertex} twice in a row"),
        format!("name it once, or remove the {element}"),
    )
}
