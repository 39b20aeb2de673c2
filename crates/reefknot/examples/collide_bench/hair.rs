//! Time of the broad phase for swinging hair: large motions, in which neighbours move together.

use std::f64::consts::{PI, TAU};
use std::hint::black_box;

use glam::{DQuat, DVec3};
use reefknot_sim::collide::features::{Features, Part};
use reefknot_sim::collide::tree::Tree;
use reefknot_sim::collide::volume::{MOVING, PointMotion, Volumes, WHOLE};
use reefknot_sim::machine;
use reefknot_sim::random::Random;
use serde_json::{Value, json};

use crate::best::{Best, on_threads};

/// Radius of the head (m).
const HEAD_RADIUS: f64 = 0.09;
/// Length of a hair (m).
const LENGTH: f64 = 0.2;
/// Radius of the curls of a hair (m).
const CURL_RADIUS: f64 = 4e-3;
/// Number of curls of a hair.
const CURLS: f64 = 5.0;
/// Vertices of a hair.
const VERTICES: usize = 30;
/// Radius of a hair (m).
const RADIUS: f64 = 0.037e-3;
/// Rotation of the head in the step (degrees).
const HEAD_TURN: f64 = 15.0;
/// Random displacement of a strand (m).
const STRAND_DISPLACEMENT: f64 = 1e-3;
/// Random displacement of a vertex (m).
const VERTEX_DISPLACEMENT: f64 = 0.2e-3;
/// Clearance around the predicted end of a point (m).
const CLEARANCE: f64 = 1e-3;
/// Memory of a pair (bytes).
const PAIR_BYTES: f64 = 8.0;
/// Number of runs of a measurement.
const RUNS: usize = 3;
/// Limit of listed pairs: more do not fit into the memory of a small machine.
const MAX_PAIRS: f64 = 3e8;

/// A head of hair, and the motion of its points in a step.
struct Swing {
    features: Features,
    from: Vec<DVec3>,
    to: Vec<DVec3>,
    reach: Vec<f64>,
    clearance: Vec<f64>,
}

/// Curly hair on the upper half of a head that rotates about x.
fn swing(strands: usize) -> Swing {
    let mut random = Random::new(5);
    let turn = DQuat::from_rotation_x(HEAD_TURN.to_radians());
    let (mut from, mut to, mut ends) = (vec![], vec![], vec![]);
    for _ in 0..strands {
        let mut root = random.unit_vector();
        root.z = root.z.abs();
        let side = root.any_orthonormal_vector();
        let other = root.cross(side);
        let phase = random.between(0.0, TAU);
        let strand_displacement = STRAND_DISPLACEMENT * random.unit_vector();
        for vertex in 0..VERTICES {
            let t = vertex as f64 / (VERTICES - 1) as f64;
            // Out of the head, then down by gravity.
            let out = root * (HEAD_RADIUS + LENGTH * t * (1.0 - 0.5 * t));
            let (sine, cosine) = (phase + TAU * CURLS * t).sin_cos();
            let grow = (PI * t).sin().min(8.0 * t);
            let curl = CURL_RADIUS * grow * (cosine * side + sine * other);
            let place = out - DVec3::Z * (0.7 * LENGTH * t * t) + curl;
            let displacement = strand_displacement + VERTEX_DISPLACEMENT * random.unit_vector();
            from.push(place);
            to.push(turn * place + displacement);
            if vertex > 0 {
                let last = from.len() as u32 - 1;
                ends.push([last - 1, last]);
            }
        }
    }
    let points = from.len();
    let part = Part {
        is_free: true,
        self_collides: true,
    };
    Swing {
        features: Features::new(vec![0; points], vec![part], vec![], &ends, &[]),
        from,
        to,
        reach: vec![2.0 * RADIUS; points],
        clearance: vec![CLEARANCE; points],
    }
}

/// Times of refit and search with moving volumes and with volumes of the whole path, on two
/// threads.
///
/// # Errors
/// If threads cannot be started.
pub(crate) fn measure(strands: usize) -> Result<Value, String> {
    let scene = swing(strands);
    // The number of pairs of whole paths is quadratic in the number of strands.
    let few = strands.div_ceil(16);
    let scale = (strands as f64 / few as f64).powi(2);
    let fewer = swing(few);
    on_threads(2, || {
        json!({
            "strands": strands,
            "segments": scene.features.primitives.len(),
            "moving_boxes": steps::<3, MOVING>(&scene),
            "moving_18_dops": steps::<9, MOVING>(&scene),
            "whole_boxes": whole::<3>(&scene, &fewer, scale),
            "whole_18_dops": whole::<9>(&scene, &fewer, scale),
        })
    })
}

/// Times with volumes of the whole path; an estimate of the number of pairs if it exceeds
/// [`MAX_PAIRS`].
fn whole<const K: usize>(scene: &Swing, fewer: &Swing, scale: f64) -> Value {
    let few = steps::<K, WHOLE>(fewer);
    let estimate = scale * few["edge_edge"].as_f64().unwrap_or(f64::INFINITY);
    if estimate < MAX_PAIRS {
        return steps::<K, WHOLE>(scene);
    }
    json!({ "edge_edge_about": estimate, "of_a_sixteenth_of_the_strands": few })
}

/// Times of a step with a refitted tree.
fn steps<const K: usize, const T: usize>(scene: &Swing) -> Value {
    let motion = PointMotion {
        from: &scene.from,
        to: &scene.to,
        reach: &scene.reach,
    };
    let volumes = || Volumes::<K, T>::with_clearance(&motion, &scene.clearance);
    let mut tree = Tree::new(&scene.features, &volumes());
    let peak = machine::peak_memory();
    let mut pairs = 0;
    let mut find = || pairs = tree.candidates(&scene.features).edge_edge.len();
    find();
    let grown = machine::peak_memory().zip(peak);
    let grown = grown.map(|(after, before)| (after - before) as f64 / PAIR_BYTES);
    let search = Best::of_runs(RUNS, &mut find);
    let both = Best::of_runs(RUNS, || {
        tree.refit(&scene.features, &volumes());
        drop(black_box(tree.candidates(&scene.features)));
    });
    let mut result = both.json();
    result["search"] = search.json();
    result["edge_edge"] = json!(pairs);
    // Valid only if this search needs more memory than all before it.
    result["peak_relative_to_the_list"] = json!(grown.map(|grown| grown / pairs as f64));
    result
}
