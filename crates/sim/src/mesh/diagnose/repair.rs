//! Repair of meshes: welding, orientation, and removal of isolated vertices.

use glam::DVec3;

use super::diagonal;
use super::elements::six_times_volume;
use crate::mesh::{Group, Mesh};

/// Merges vertices within `tolerance` (m) into the one with the lowest index; returns the kept
/// vertices.
///
/// A vertex is merged into the first one within the tolerance that is not merged itself, so that no
/// chain of vertices collapses. Elements with a repeated vertex are then removed, and isolated
/// vertices too. A curve must stay a range of vertices, so vertices of curves are not merged. A
/// mesh that uses missing vertices is not changed.
pub fn weld(mesh: &mut Mesh, tolerance: f64) -> Vec<u32> {
    let count = mesh.points.len();
    let mut names = (mesh.triangles.iter().flatten()).chain(mesh.tetrahedra.iter().flatten());
    let runs = mesh.curves.iter().map(|curve| {
        let first = curve.first as usize;
        first..first.saturating_add(curve.count as usize)
    });
    let is_whole =
        names.all(|vertex| (*vertex as usize) < count) && runs.clone().all(|run| run.end <= count);
    if !(is_whole && tolerance >= 0.0 && tolerance.is_finite()) {
        return (0..count as u32).collect();
    }
    let mut used = vec![false; count];
    runs.for_each(|run| used[run].fill(true));
    let first = first_coincident(&mesh.points, tolerance, |vertex| !used[vertex]);

    join_corners(&mut mesh.triangles, &first, &mut used);
    join_corners(&mut mesh.tetrahedra, &first, &mut used);
    for group in &mut mesh.groups {
        let joined = group.vertices.iter().filter_map(|v| first.get(*v as usize));
        group.vertices = joined.copied().collect();
    }
    keep_vertices(mesh, &used)
}

/// Removes vertices without elements; returns the kept ones. A mesh that uses missing vertices is
/// not changed.
pub fn remove_isolated_vertices(mesh: &mut Mesh) -> Vec<u32> {
    let count = mesh.points.len();
    let mut used = vec![false; count];
    let corners = mesh.triangles.as_flattened().iter();
    let corners = corners.chain(mesh.tetrahedra.as_flattened()).copied();
    let runs = mesh.curves.iter();
    let runs = runs.flat_map(|curve| curve.first..curve.first.saturating_add(curve.count));
    for vertex in corners.chain(runs) {
        match used.get_mut(vertex as usize) {
            Some(used) => *used = true,
            None => return (0..count as u32).collect(),
        }
    }
    keep_vertices(mesh, &used)
}

/// Removes the vertices that are not used; returns the others, which keep their order, so that
/// curves stay ranges.
fn keep_vertices(mesh: &mut Mesh, used: &[bool]) -> Vec<u32> {
    let mut next = 0;
    let numbers: Vec<Option<u32>> = used
        .iter()
        .map(|is_used| {
            let number = is_used.then_some(next);
            next += u32::from(*is_used);
            number
        })
        .collect();
    let number = |vertex: u32| numbers.get(vertex as usize).copied().flatten();
    let renumber = |vertex: &mut u32| *vertex = number(*vertex).unwrap_or(*vertex);
    mesh.triangles.iter_mut().flatten().for_each(renumber);
    mesh.tetrahedra.iter_mut().flatten().for_each(renumber);
    for curve in &mut mesh.curves {
        curve.first = number(curve.first).unwrap_or(0);
    }
    for group in &mut mesh.groups {
        let vertices = group.vertices.iter().filter_map(|vertex| number(*vertex));
        *group = Group::new(std::mem::take(&mut group.name), vertices.collect());
    }
    let mut is_used = used.iter();
    mesh.points
        .retain(|_| is_used.next().is_some_and(|is_used| *is_used));
    let vertices = (0..).zip(used).filter(|(_, is_used)| **is_used);
    vertices.map(|(vertex, _)| vertex).collect()
}

/// Replaces the corners of elements by the vertices that they are merged into, removes elements
/// that collapse, and marks the used vertices.
fn join_corners<const CORNERS: usize>(
    elements: &mut Vec<[u32; CORNERS]>,
    first: &[u32],
    used: &mut [bool],
) {
    elements.retain_mut(|corners| {
        *corners = corners.map(|vertex| first[vertex as usize]);
        let is_whole = (1..CORNERS).all(|corner| !corners[..corner].contains(&corners[corner]));
        if is_whole {
            corners
                .iter()
                .for_each(|vertex| used[*vertex as usize] = true);
        }
        is_whole
    });
}

/// Reverses all tetrahedra if all are inverted, which is a convention of numbering; returns whether
/// it did.
pub fn orient_tetrahedra(mesh: &mut Mesh) -> bool {
    let count = mesh.points.len();
    let mut is_any_negative = false;
    for corners in &mesh.tetrahedra {
        if corners.iter().any(|vertex| *vertex as usize >= count) {
            return false;
        }
        let volume = six_times_volume(mesh, corners);
        if volume > 0.0 {
            return false;
        }
        is_any_negative |= volume < 0.0;
    }
    if is_any_negative {
        mesh.tetrahedra
            .iter_mut()
            .for_each(|corners| corners.swap(2, 3));
    }
    is_any_negative
}

/// For every vertex, the first one within `tolerance` that is its own representative. Vertices that
/// may not join, and those that are not finite, are their own.
///
/// The points are hashed into cubes four times as wide as `tolerance`. Representatives are further
/// than `tolerance` from each other, so a cube has few of them, and a vertex tests at most eight
/// cubes: the cost is that of sorting, for any distribution of points.
pub(super) fn first_coincident(
    points: &[DVec3],
    tolerance: f64,
    may_join: impl Fn(usize) -> bool,
) -> Vec<u32> {
    let mut first: Vec<u32> = (0..points.len() as u32).collect();
    let diagonal = diagonal(points);
    let width = (4.0 * tolerance).max(1e-12 * diagonal);
    if !(width > 0.0 && width.is_finite()) {
        // Without extent, all points coincide.
        if diagonal == 0.0 {
            let mut same = (0..points.len()).filter(|v| points[*v].is_finite() && may_join(*v));
            if let Some(lowest) = same.next() {
                same.for_each(|vertex| first[vertex] = lowest as u32);
            }
        }
        return first;
    }
    let members = |vertex: &usize| points[*vertex].is_finite() && may_join(*vertex);
    let members: Vec<usize> = (0..points.len()).filter(members).collect();
    let low = members
        .iter()
        .fold(DVec3::INFINITY, |low, vertex| low.min(points[*vertex]));
    // The shift moves the points of regular meshes away from the faces of cubes.
    let place = |vertex: usize| (points[vertex] - low) / width + DVec3::splat(0.37);
    let cube = |place: DVec3| place.to_array().map(|coordinate| coordinate as u64);
    let mut buckets = Buckets::new(members.iter().map(|vertex| cube(place(*vertex))).collect());
    let reach = DVec3::splat(tolerance / width * (1.0 + 1e-9));
    for vertex in members {
        let place = place(vertex);
        let (from, to) = (cube((place - reach).max(DVec3::ZERO)), cube(place + reach));
        let is_near = |other: &&u32| points[**other as usize].distance(points[vertex]) <= tolerance;
        let mut best = vertex as u32;
        for x in from[0]..=to[0] {
            for y in from[1]..=to[1] {
                for z in from[2]..=to[2] {
                    let near = buckets.representatives([x, y, z]).iter().find(is_near);
                    best = best.min(near.copied().unwrap_or(best));
                }
            }
        }
        first[vertex] = best;
        if best as usize == vertex {
            buckets.add(cube(place), best);
        }
    }
    first
}

/// Representatives by cube.
struct Buckets {
    /// Occupied cubes, sorted.
    cubes: Vec<[u64; 3]>,
    /// The representatives of cube i are `members[starts[i]..]`, in number `filled[i]`.
    starts: Vec<usize>,
    filled: Vec<usize>,
    members: Vec<u32>,
}

impl Buckets {
    /// Empty buckets with capacity for one representative for each entry of `cubes`.
    fn new(mut cubes: Vec<[u64; 3]>) -> Buckets {
        cubes.sort_unstable();
        let mut starts = Vec::new();
        let mut sum = 0;
        for same in cubes.chunk_by(|one, other| one == other) {
            starts.push(sum);
            sum += same.len();
        }
        cubes.dedup();
        Buckets {
            filled: vec![0; cubes.len()],
            members: vec![0; sum],
            cubes,
            starts,
        }
    }

    fn representatives(&self, cube: [u64; 3]) -> &[u32] {
        match self.cubes.binary_search(&cube) {
            Ok(found) => &self.members[self.starts[found]..][..self.filled[found]],
            Err(_) => &[],
        }
    }

    fn add(&mut self, cube: [u64; 3], vertex: u32) {
        if let Ok(found) = self.cubes.binary_search(&cube) {
            self.members[self.starts[found] + self.filled[found]] = vertex;
            self.filled[found] += 1;
        }
    }
}
