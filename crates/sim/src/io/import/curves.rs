//! Conversion of imported elements to a mesh, in which every curve is a range of vertices.
//!
//! Files list the vertices of a line in any order, and often segment by segment. Here segments are
//! chained, and the vertices of lines are ordered after the others. Points without elements would
//! have no mass, and are omitted. If the order is right already, every vertex keeps its number.

use glam::DVec3;

use super::{FilePlace, ImportError, Imported};
use crate::mesh::{Curve, Group, Mesh};

/// Marks a missing vertex or neighbour.
const NO_VERTEX: u32 = u32::MAX;

const BRANCH_ADVICE: &str = "rods do not branch; end the lines at vertices of their own";

impl Imported {
    /// Mesh of the file, and the vertex of the file for every vertex of the mesh. The latter also
    /// orders the positions of another file of a sequence
    /// ([`import_points`](super::import_points)).
    ///
    /// Lines become curves: lines of two vertices are chained end to end, a line of three vertices
    /// or more is a curve of its own. Elements are not checked for defects.
    ///
    /// The vertices of triangles and tetrahedra come first, in the order of the file, then those of
    /// the curves. A vertex of both is duplicated, also in groups. If the vertices of the curves
    /// already have this order, no number changes. Points without elements are omitted, unless
    /// there are no elements at all.
    ///
    /// # Errors
    /// If lines branch.
    pub fn into_mesh(mut self) -> Result<(Mesh, Vec<u32>), ImportError> {
        self.check_vertices()?;
        let solid = self.used_by_elements();
        let chains = chains(&self.lines, self.points.len())?;
        let (origins, curves) = assign_numbers(&solid, &chains);
        let mut places = vec![NO_VERTEX; self.points.len()];
        for (place, origin) in (0u32..).zip(&origins) {
            // Of a duplicated vertex, the first is that of the triangles.
            if places[*origin as usize] == NO_VERTEX {
                places[*origin as usize] = place;
            }
        }
        for corner in self.triangles.as_flattened_mut() {
            *corner = places[*corner as usize];
        }
        for corner in self.tetrahedra.as_flattened_mut() {
            *corner = places[*corner as usize];
        }
        let points: Vec<DVec3> = origins
            .iter()
            .map(|origin| self.points[*origin as usize])
            .collect();
        let groups = move_groups(&self.groups, &origins, self.points.len());
        let mesh = Mesh {
            points,
            triangles: self.triangles,
            tetrahedra: self.tetrahedra,
            curves,
            groups,
        };
        Ok((mesh, origins))
    }

    /// Refuses elements of missing vertices. The readers have checked this already.
    fn check_vertices(&self) -> Result<(), ImportError> {
        let triangles = self.triangles.as_flattened().iter();
        let tetrahedra = self.tetrahedra.as_flattened().iter();
        let lines = self.lines.iter().flatten();
        let groups = self.groups.iter().flat_map(|group| &group.vertices);
        let largest = triangles.chain(tetrahedra).chain(lines).chain(groups).max();
        let count = self.points.len();
        // Also duplicated vertices must have a number below NO_VERTEX.
        if count >= (NO_VERTEX / 2) as usize {
            let message = format!("{count} points are too many");
            let advice = "split the file";
            return Err(ImportError::new(FilePlace::WholeFile, message, advice));
        }
        match largest {
            Some(vertex) if *vertex as usize >= count => Err(ImportError::new(
                FilePlace::Vertex(*vertex as usize),
                format!("it is used, but there are {count} points"),
                "add the point, or remove the elements that use it",
            )),
            _ => Ok(()),
        }
    }

    /// Whether each point is part of a triangle or tetrahedron; all are if there are no elements.
    fn used_by_elements(&self) -> Vec<bool> {
        let is_cloud =
            self.triangles.is_empty() && self.tetrahedra.is_empty() && self.lines.is_empty();
        let mut is_used = vec![is_cloud; self.points.len()];
        let triangles = self.triangles.as_flattened().iter();
        for corner in triangles.chain(self.tetrahedra.as_flattened()) {
            is_used[*corner as usize] = true;
        }
        is_used
    }
}

/// A curve, in vertices of the file.
struct Chain {
    vertices: Vec<u32>,
    closed: bool,
}

/// The lines as curves, in the order of their first segments in the file.
fn chains(lines: &[Vec<u32>], points: usize) -> Result<Vec<Chain>, ImportError> {
    let links = Links::new(lines, points)?;
    let mut chains = Vec::new();
    let mut is_done = vec![false; points];
    for line in lines {
        match line.as_slice() {
            [] | [_] => {}
            [from, to] if !is_done[*from as usize] => {
                let chain = links.follow(*from, *to);
                for vertex in &chain.vertices {
                    is_done[*vertex as usize] = true;
                }
                chains.push(chain);
            }
            [_, _] => {}
            [first, inner @ .., last] => {
                let closed = first == last;
                let mut vertices = vec![*first];
                vertices.extend(inner);
                if !closed {
                    vertices.push(*last);
                }
                chains.push(Chain { vertices, closed });
            }
        }
    }
    Ok(chains)
}

/// The neighbours of every vertex along lines of two vertices.
struct Links {
    /// The second is missing if the first is.
    neighbours: Vec<[u32; 2]>,
}

impl Links {
    fn new(lines: &[Vec<u32>], points: usize) -> Result<Links, ImportError> {
        let mut neighbours = vec![[NO_VERTEX; 2]; points];
        let mut is_in_line = vec![false; points];
        for line in lines.iter().filter(|line| line.len() > 2) {
            let is_closed = line.first() == line.last();
            for vertex in line.iter().skip(usize::from(is_closed)) {
                if std::mem::replace(&mut is_in_line[*vertex as usize], true) {
                    return Err(branch(*vertex, "it is on two lines, or twice on one"));
                }
            }
            if is_closed && line.len() < 4 {
                return Err(branch(line[0], "a closed line of two vertices"));
            }
        }
        for line in lines {
            let [a, b] = *line.as_slice() else { continue };
            if a == b {
                return Err(branch(a, "a line from a vertex to itself"));
            }
            for (vertex, other) in [(a, b), (b, a)] {
                if is_in_line[vertex as usize] {
                    return Err(branch(vertex, "it is on two lines, or twice on one"));
                }
                match &mut neighbours[vertex as usize] {
                    [first, _] if *first == other => {
                        return Err(branch(vertex, "the same segment occurs twice"));
                    }
                    [first, _] if *first == NO_VERTEX => *first = other,
                    [_, second] if *second == NO_VERTEX => *second = other,
                    _ => return Err(branch(vertex, "three lines meet")),
                }
            }
        }
        Ok(Links { neighbours })
    }

    /// The neighbour of `vertex` that is not `before`.
    fn next(&self, before: u32, vertex: u32) -> u32 {
        let [one, other] = self.neighbours[vertex as usize];
        if one == before { other } else { one }
    }

    /// The curve of a segment, in the direction of the segment.
    fn follow(&self, from: u32, to: u32) -> Chain {
        let (mut start, mut ahead) = (from, to);
        loop {
            let back = self.next(ahead, start);
            (start, ahead) = match back {
                NO_VERTEX => break,
                _ => (back, start),
            };
            if start == from {
                (start, ahead) = (from, to);
                break;
            }
        }
        let first = start;
        let mut vertices = vec![first];
        while ahead != NO_VERTEX && ahead != first {
            vertices.push(ahead);
            (start, ahead) = (ahead, self.next(start, ahead));
        }
        Chain {
            vertices,
            closed: ahead == first,
        }
    }
}

fn branch(vertex: u32, message: &str) -> ImportError {
    ImportError::new(FilePlace::Vertex(vertex as usize), message, BRANCH_ADVICE)
}

/// Vertex of the file for each vertex of the mesh, and the curves.
fn assign_numbers(solid: &[bool], chains: &[Chain]) -> (Vec<u32>, Vec<Curve>) {
    let mut is_used = solid.to_vec();
    for vertex in chains.iter().flat_map(|chain| &chain.vertices) {
        is_used[*vertex as usize] = true;
    }
    if is_used.iter().all(|is_used| *is_used) && is_in_order(solid, chains) {
        let curve = |chain: &Chain| curve(chain, chain.vertices[0]);
        return (
            (0u32..).take(solid.len()).collect(),
            chains.iter().map(curve).collect(),
        );
    }
    let with_use = (0u32..).zip(solid).filter(|(_, is_used)| **is_used);
    let mut origins: Vec<u32> = with_use.map(|(vertex, _)| vertex).collect();
    let mut curves = Vec::with_capacity(chains.len());
    for chain in chains {
        // check_vertices has limited the number of points and their duplicates.
        curves.push(curve(chain, origins.len() as u32));
        origins.extend(&chain.vertices);
    }
    (origins, curves)
}

fn curve(chain: &Chain, first: u32) -> Curve {
    Curve {
        first,
        count: chain.vertices.len() as u32,
        closed: chain.closed,
    }
}

/// Whether the vertices of curves come after all others, and every curve is a range.
fn is_in_order(solid: &[bool], chains: &[Chain]) -> bool {
    let behind = solid
        .iter()
        .rposition(|is_used| *is_used)
        .map_or(0, |last| last + 1);
    chains.iter().all(|chain| {
        let pairs = chain.vertices.windows(2);
        chain.vertices[0] as usize >= behind && pairs.into_iter().all(|pair| pair[1] == pair[0] + 1)
    })
}

/// The groups, in vertices of the mesh.
fn move_groups(groups: &[Group], origins: &[u32], points: usize) -> Vec<Group> {
    let mut by_origin: Vec<(u32, u32)> = origins.iter().copied().zip(0u32..).collect();
    by_origin.sort_unstable();
    let mut starts = vec![0; points + 1];
    for (origin, _) in &by_origin {
        starts[*origin as usize + 1] += 1;
    }
    for index in 0..points {
        starts[index + 1] += starts[index];
    }
    let moved = groups.iter().map(|group| {
        let places = group.vertices.iter().flat_map(|vertex| {
            let range = starts[*vertex as usize]..starts[*vertex as usize + 1];
            by_origin[range].iter().map(|(_, place)| *place)
        });
        Group::new(group.name.clone(), places.collect())
    });
    moved.filter(|group| !group.vertices.is_empty()).collect()
}
