//! Surfaces with the motion of a step, also as files for other programs.
//!
//! A case is a folder with `from.bin` and `to.bin` (three f64 per point), `triangles.bin` (three
//! u32 per triangle), all little-endian, and `case.json` with its name and reach.

use std::fs;
use std::hint::black_box;
use std::path::Path;

use glam::DVec3;
use reefknot_sim::collide::certify::certify;
use reefknot_sim::collide::features::{Features, Part};
use reefknot_sim::collide::impacts::impacts;
use reefknot_sim::collide::pairs::Candidates;
use reefknot_sim::collide::tree::Tree;
use reefknot_sim::collide::volume::{MOVING, PointMotion, Volumes};
use reefknot_sim::random::Random;
use serde_json::{Value, json};

use crate::best::Best;

/// A surface and its motion.
pub(crate) struct Case {
    pub(crate) name: String,
    /// Points at the start (m).
    pub(crate) from: Vec<DVec3>,
    /// Points at the end (m).
    pub(crate) to: Vec<DVec3>,
    /// Distance from its motion within which a point is tested (m).
    pub(crate) reach: f64,
    /// Corners of the triangles.
    pub(crate) triangles: Vec<[u32; 3]>,
}

impl Case {
    /// All features; the ball collides with itself too, as in the peer.
    fn features(&self) -> Features {
        let part = Part {
            is_free: true,
            self_collides: true,
        };
        Features::new(
            vec![0; self.from.len()],
            vec![part],
            self.triangles.clone(),
            &[],
            &[],
        )
    }

    /// Writes the case to a folder.
    ///
    /// # Errors
    /// If the folder cannot be written.
    pub(crate) fn write(&self, folder: &Path) -> Result<(), String> {
        let write = |name: &str, bytes: Vec<u8>| {
            let path = folder.join(name);
            fs::write(&path, bytes).map_err(|error| format!("{}: {error}", path.display()))
        };
        let floats = |points: &[DVec3]| {
            points
                .iter()
                .flat_map(|point| point.to_array())
                .flat_map(f64::to_le_bytes)
                .collect()
        };
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        write("from.bin", floats(&self.from))?;
        write("to.bin", floats(&self.to))?;
        let corners = self.triangles.iter().flatten().copied();
        write(
            "triangles.bin",
            corners.flat_map(u32::to_le_bytes).collect(),
        )?;
        let description = json!({ "name": self.name, "reach": self.reach });
        write("case.json", description.to_string().into_bytes())
    }

    /// Times of broad phase (with a new tree) and narrow phase.
    pub(crate) fn measure(&self) -> Value {
        let features = self.features();
        let reach = vec![self.reach; self.from.len()];
        let motion = PointMotion {
            from: &self.from,
            to: &self.to,
            reach: &reach,
        };
        let boxes = || Tree::new(&features, &Volumes::<3>::new(&motion)).candidates(&features);
        let dops = || Tree::new(&features, &Volumes::<9>::new(&motion)).candidates(&features);
        let moving =
            || Tree::new(&features, &Volumes::<3, MOVING>::new(&motion)).candidates(&features);
        let found = boxes();
        let fewer = dops();
        let pairs = |found: &Candidates| found.point_triangle.len() + found.edge_edge.len();
        let search =
            |found: &Candidates| impacts(&features, found, &self.from, &self.to, |_, _| 0.0);
        let hits = search(&found);
        let narrow = Best::of(|| drop(black_box(search(&found))));
        let certified = certify(
            &features,
            &found.point_triangle,
            &found.edge_edge,
            &self.from,
            &self.to,
            |_, _| 0.0,
        );
        json!({
            "point_triangle": found.point_triangle.len(),
            "edge_edge": found.edge_edge.len(),
            "broad": Best::of(|| drop(black_box(boxes()))).json(),
            "broad_18_dops": {
                "pairs": pairs(&fewer),
                "time": Best::of(|| drop(black_box(dops()))).json(),
            },
            "broad_moving": {
                "pairs": pairs(&moving()),
                "time": Best::of(|| drop(black_box(moving()))).json(),
            },
            "narrow": narrow.json(),
            "queries_per_second": pairs(&found) as f64 / (1e-3 * narrow.wall),
            "hits": hits.point_triangle.len() + hits.edge_edge.len(),
            "hits_of_the_independent_test": certified.intersections,
            "step_size": hits.earliest(),
        })
    }
}

/// Two square cloths of 1 m, one above the other, each folded into five layers 4 mm apart, rippled
/// so that layers nearly touch. Points fall by up to 1 mm. `side` is the number of points along a
/// side.
pub(crate) fn folded_cloths(side: usize) -> Case {
    let mut random = Random::new(1);
    let (mut from, mut to, mut triangles) = (vec![], vec![], vec![]);
    for cloth in 0..2 {
        let first = from.len();
        for i in 0..side * side {
            let along = (i / side) as f64 / (side - 1) as f64;
            let across = (i % side) as f64 / (side - 1) as f64;
            let place = folded(along, across) + DVec3::Z * 0.02 * f64::from(cloth);
            let place = place + 1e-4 * random.unit_vector();
            from.push(place);
            let fall = 0.5 * (1.0 + (9.0 * place.x).sin() * (7.0 * place.y).cos());
            to.push(place + 1e-3 * DVec3::new(0.3 * (8.0 * across).sin(), 0.1, -fall));
        }
        for i in 0..(side - 1) * (side - 1) {
            let corner = first + (i / (side - 1)) * side + i % (side - 1);
            let [a, b, c, d] = [corner, corner + side, corner + side + 1, corner + 1];
            triangles.extend([[a, b, c], [a, c, d]].map(|corners| corners.map(|p| p as u32)));
        }
    }
    Case {
        name: format!("two folded cloths of {side} × {side}"),
        from,
        to,
        reach: 2.5e-4,
        triangles,
    }
}

/// A point of a sheet folded back and forth into layers.
fn folded(along: f64, across: f64) -> DVec3 {
    let layers = 5.0;
    let layer = (along * layers).floor().min(layers - 1.0);
    let within = along * layers - layer;
    let is_back = layer % 2.0 == 1.0;
    let x = if is_back { 1.0 - within } else { within } / layers;
    let ripple = 1e-3 * (40.0 * x).sin() * (31.0 * across + 2.0 * layer).cos();
    DVec3::new(x, across, 4e-3 * along * layers + ripple)
}
