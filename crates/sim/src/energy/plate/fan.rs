//! The ordered triangles around a vertex, and their flattened rest shape.

use glam::{DVec2, DVec3};
use std::f64::consts::{PI, TAU};

/// Neighbours of a vertex, in the order of the triangles around it.
pub(super) struct Fan {
    pub(super) centre: u32,
    pub(super) ring: Vec<u32>,
    /// Whether a triangle joins the last neighbour with the first.
    pub(super) closed: bool,
}

impl Fan {
    /// Index in the ring of the neighbour before a spoke.
    pub(super) fn before(&self, spoke: usize) -> Option<usize> {
        let last = self.ring.len() - 1;
        match spoke {
            0 => self.closed.then_some(last),
            _ => Some(spoke - 1),
        }
    }

    /// Index in the ring of the neighbour after a spoke.
    pub(super) fn after(&self, spoke: usize) -> Option<usize> {
        let last = self.ring.len() - 1;
        if spoke == last {
            self.closed.then_some(0)
        } else {
            Some(spoke + 1)
        }
    }
}

/// Fans of all vertices, ascending. A vertex shared by several sheets has several.
///
/// At most two triangles share an edge, and no triangle repeats a node.
pub(super) fn fans(triangles: &[[u32; 3]]) -> Vec<Fan> {
    let mut links: Vec<[u32; 3]> = triangles
        .iter()
        .flat_map(|&[a, b, c]| [[a, b, c], [b, c, a], [c, a, b]])
        .collect();
    links.sort_unstable();
    let mut fans = Vec::new();
    for around in links.chunk_by(|one, other| one[0] == other[0]) {
        let mut left: Vec<[u32; 2]> = around.iter().map(|link| [link[1], link[2]]).collect();
        while let Some(start) = start_of_fan(&left) {
            fans.push(walk(around[0][0], start, &mut left));
        }
    }
    fans
}

/// The first neighbour of a fan: one with a single triangle, if there is any.
fn start_of_fan(links: &[[u32; 2]]) -> Option<u32> {
    let lonely = |node: &u32| links.as_flattened().iter().filter(|n| *n == node).count() == 1;
    links
        .iter()
        .map(|link| link[0])
        .find(lonely)
        .or_else(|| links.as_flattened().iter().copied().find(lonely))
        .or_else(|| links.first().map(|link| link[0]))
}

/// The fan of connected links that starts at a neighbour. Removes these links.
fn walk(centre: u32, start: u32, links: &mut Vec<[u32; 2]>) -> Fan {
    let mut ring = vec![start];
    let mut end = start;
    while let Some(next) = links.iter().position(|link| link.contains(&end)) {
        let [a, b] = links.remove(next);
        end = if a == end { b } else { a };
        ring.push(end);
    }
    let closed = ring.len() > 1 && end == start;
    if closed {
        ring.pop();
    }
    Fan {
        centre,
        ring,
        closed,
    }
}

/// A flattened fan at rest: edges to the centre keep their lengths, and angles their proportions.
pub(super) struct FlatFan {
    pub(super) points: Vec<DVec2>,
    /// A third of the area of its triangles (m²).
    pub(super) area: f64,
}

impl FlatFan {
    pub(super) fn new(fan: &Fan, rest: &[DVec3]) -> Self {
        let spokes: Vec<DVec3> = fan
            .ring
            .iter()
            .map(|node| rest[*node as usize] - rest[fan.centre as usize])
            .collect();
        let angles: Vec<f64> = (0..spokes.len())
            .filter_map(|spoke| fan.after(spoke).map(|after| (spoke, after)))
            .map(|(spoke, after)| spokes[spoke].angle_between(spokes[after]))
            .collect();
        let sum: f64 = angles.iter().sum();
        let scale = if fan.closed && sum > 0.0 {
            TAU / sum
        } else {
            1.0
        };
        let mut turned = 0.0;
        let mut points = Vec::with_capacity(spokes.len());
        for (place, spoke) in spokes.iter().enumerate() {
            points.push(DVec2::from_angle(turned) * spoke.length());
            turned += scale * angles.get(place).copied().unwrap_or(0.0);
        }
        let double_areas = angles.iter().enumerate().map(|(spoke, angle)| {
            let after = fan.after(spoke).unwrap_or(spoke);
            (scale * angle).min(PI).sin() * points[spoke].length() * points[after].length()
        });
        Self {
            area: double_areas.sum::<f64>() / 6.0,
            points,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fans_are_in_order() {
        // A square with its centre, and a triangle that shares a corner with it.
        let triangles = [[0, 1, 4], [2, 3, 4], [1, 2, 4], [3, 0, 4], [0, 5, 6]];
        let fans = fans(&triangles);
        let of = |centre: u32| fans.iter().filter(move |fan| fan.centre == centre);
        let around: Vec<_> = of(4).map(|fan| (&fan.ring[..], fan.closed)).collect();
        assert_eq!(around, [(&[0, 1, 2, 3][..], true)]);
        let corner: Vec<_> = of(0).map(|fan| (&fan.ring[..], fan.closed)).collect();
        assert_eq!(corner, [(&[1, 4, 3][..], false), (&[5, 6][..], false)]);
    }

    #[test]
    fn fans_do_not_depend_on_the_orientation_of_triangles() {
        let fans = fans(&[[0, 1, 2], [0, 3, 2], [0, 3, 4]]);
        assert_eq!(fans[0].ring, [1, 2, 3, 4]);
        assert!(!fans[0].closed);
    }

    #[test]
    fn the_corner_of_a_cube_is_flattened() {
        let rest = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z * 2.0];
        let fans = fans(&[[0, 1, 2], [0, 2, 3], [0, 3, 1]]);
        let flat = FlatFan::new(&fans[0], &rest);
        let third = DVec2::from_angle(TAU / 3.0);
        assert!(flat.points[1].abs_diff_eq(third, 1e-14));
        assert!(flat.points[2].abs_diff_eq(third.rotate(third) * 2.0, 1e-14));
        // ½ sin 120° (1 + 2 + 2) / 3.
        assert!((flat.area - 0.75f64.sqrt() * 2.5 / 3.0).abs() < 1e-14);
    }
}
