//! Faces and lines as they come from a file, checked and added.

use super::cursor::Cursor;
use super::{ImportError, Imported, polygon};

/// Adds a face as triangles. `first` is the number that the format gives to the first vertex.
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
        return Err(twice(cursor, "face", u64::from(corner) + first));
    }
    let triangles = &mut imported.triangles;
    match polygon::triangulate(&imported.points, corners, triangles) {
        true => Ok(()),
        false => Err(cursor.error(
            format!(
                "a face of {} vertices that is not convex; it may have {}",
                corners.len(),
                polygon::MOST_CORNERS
            ),
            "cut it into triangles in the program that made it",
        )),
    }
}

/// Adds a line. `first` is the number that the format gives to the first vertex.
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
                "let a closed line have three vertices or more",
            ));
        }
        _ => {}
    }
    if let Some(pair) = vertices.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(twice(cursor, "line", u64::from(pair[0]) + first));
    }
    imported.lines.push(vertices.to_vec());
    Ok(())
}

/// A corner that is its own neighbour.
fn repeated(corners: &[u32]) -> Option<u32> {
    let next = corners.iter().cycle().skip(1);
    let pairs = corners.iter().zip(next);
    let mut same = pairs.filter(|(corner, next)| corner == next);
    same.next().map(|(corner, _)| *corner)
}

fn twice(cursor: &Cursor<'_>, what: &str, vertex: u64) -> ImportError {
    cursor.error(
        format!("the {what} has vertex {vertex} twice in a row"),
        format!("name it once, or remove the {what}"),
    )
}
