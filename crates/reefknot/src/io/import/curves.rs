//! From what a file holds to a mesh, in which every curve is a run of vertices.
//!
//! Files name the vertices of a line in any order, and often give a line segment by segment. Here segments
//! are chained, and the vertices of lines are put in order behind the others. Points that no element
//! uses would have no mass, so they are left out. Where nothing has to move, every vertex keeps its
//! number.

use glam::DVec3;

use super::{ImportError, Imported, Place};
use crate::mesh::{Curve, Group, Mesh};

/// Marks the absence of a vertex or of a neighbour.
const NONE: u32 = u32::MAX;

const BRANCH: &str = "rods do not branch; end the lines at vertices of their own";

impl Imported {
    /// A mesh, with lines as curves; what is wrong with its elements is for others to say. Lines of two vertices that meet end to end become
    /// one curve. A line of three vertices or more is a curve of its own.
    ///
    /// The vertices that triangles or tetrahedra use come first, in the order of the file, then those of
    /// the curves. A vertex that both use is doubled, and so is its place in groups. If the vertices of the curves
    /// already stand so, no number changes. Points that nothing uses are left out, if there are any
    /// elements.
    ///
    /// # Errors
    /// If lines branch.
    pub fn into_mesh(self) -> Result<Mesh, ImportError> {
        Ok(self.into_mesh_and_origins()?.0)
    }

    /// The same, and for every vertex of the mesh that of the file: positions from another file of the same kind
    /// ([`import_points`](super::import_points)) can be put in order with it.
    ///
    /// # Errors
    /// If lines branch.
    pub fn into_mesh_and_origins(mut self) -> Result<(Mesh, Vec<u32>), ImportError> {
        self.check_vertices()?;
        let solid = self.used_by_solids();
        let chains = chains(&self.lines, self.points.len())?;
        let (origins, curves) = number(&solid, &chains);
        let mut places = vec![NONE; self.points.len()];
        for (place, origin) in (0u32..).zip(&origins) {
            // A doubled vertex is first that of the triangles.
            if places[*origin as usize] == NONE {
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

    /// Refuses elements of vertices that are not there; the readers never give such.
    fn check_vertices(&self) -> Result<(), ImportError> {
        let triangles = self.triangles.as_flattened().iter();
        let tetrahedra = self.tetrahedra.as_flattened().iter();
        let lines = self.lines.iter().flatten();
        let groups = self.groups.iter().flat_map(|group| &group.vertices);
        let largest = triangles.chain(tetrahedra).chain(lines).chain(groups).max();
        let count = self.points.len();
        // Doubled, the points must still have numbers.
        if count >= (NONE / 2) as usize {
            let message = format!("{count} points are too many");
            let advice = "split the file";
            return Err(ImportError::new(Place::Nowhere, message, advice));
        }
        match largest {
            Some(vertex) if *vertex as usize >= count => Err(ImportError::new(
                Place::Vertex(*vertex as usize),
                format!("it is named, but there are {count} points"),
                "add the point, or remove what names it",
            )),
            _ => Ok(()),
        }
    }

    /// Which points triangles or tetrahedra use; all, if there are no elements.
    fn used_by_solids(&self) -> Vec<bool> {
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

/// A curve by the vertices of the file.
struct Chain {
    vertices: Vec<u32>,
    closed: bool,
}

/// The lines as curves, in the order in which the file first mentions them.
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
    /// The first neighbour is there if the second is.
    neighbours: Vec<[u32; 2]>,
}

impl Links {
    fn new(lines: &[Vec<u32>], points: usize) -> Result<Links, ImportError> {
        let mut neighbours = vec![[NONE; 2]; points];
        let mut is_in_line = vec![false; points];
        for line in lines.iter().filter(|line| line.len() > 2) {
            let is_closed = line.first() == line.last();
            for vertex in line.iter().skip(usize::from(is_closed)) {
                if std::mem::replace(&mut is_in_line[*vertex as usize], true) {
                    return Err(branch(*vertex, "lines lead through it twice"));
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
                    return Err(branch(vertex, "lines lead through it twice"));
                }
                match &mut neighbours[vertex as usize] {
                    [first, _] if *first == other => {
                        return Err(branch(vertex, "the same segment is there twice"));
                    }
                    [first, _] if *first == NONE => *first = other,
                    [_, second] if *second == NONE => *second = other,
                    _ => return Err(branch(vertex, "three lines meet")),
                }
            }
        }
        Ok(Links { neighbours })
    }

    /// The neighbour of `vertex` that is not `before`.
    fn onwards(&self, before: u32, vertex: u32) -> u32 {
        let [one, other] = self.neighbours[vertex as usize];
        if one == before { other } else { one }
    }

    /// The curve that the segment belongs to, in the direction of the segment.
    fn follow(&self, from: u32, to: u32) -> Chain {
        let (mut start, mut ahead) = (from, to);
        loop {
            let back = self.onwards(ahead, start);
            (start, ahead) = match back {
                NONE => break,
                _ => (back, start),
            };
            if start == from {
                (start, ahead) = (from, to);
                break;
            }
        }
        let first = start;
        let mut vertices = vec![first];
        while ahead != NONE && ahead != first {
            vertices.push(ahead);
            (start, ahead) = (ahead, self.onwards(start, ahead));
        }
        Chain {
            vertices,
            closed: ahead == first,
        }
    }
}

fn branch(vertex: u32, message: &str) -> ImportError {
    ImportError::new(Place::Vertex(vertex as usize), message, BRANCH)
}

/// The vertex of the file for each vertex of the mesh, and the curves.
fn number(solid: &[bool], chains: &[Chain]) -> (Vec<u32>, Vec<Curve>) {
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
        // The points and their doubles have been counted.
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

/// Whether all vertices of curves come after all others, and every curve is a run.
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

/// The groups by the vertices of the mesh.
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
