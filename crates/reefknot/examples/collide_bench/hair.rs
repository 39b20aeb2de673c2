//! Hair that swings: everything moves a long way, and neighbours move together.

use std::f64::consts::{PI, TAU};
use std::hint::black_box;

use glam::{DQuat, DVec3};
use reefknot::collide::features::{Features, Part};
use reefknot::collide::tree::Tree;
use reefknot::collide::volume::{MOVING, Motion, Volumes, WHOLE};
use reefknot::machine;
use reefknot::random::Random;
use serde_json::{Value, json};

use crate::best::{Best, on};

/// Radius of the head, length of a hair, radius of its curls (m), and how many of them it has.
const HEAD: f64 = 0.09;
const LENGTH: f64 = 0.2;
const CURL: f64 = 4e-3;
const CURLS: f64 = 5.0;
/// Vertices of a hair.
const VERTICES: usize = 30;
/// Radius of a hair (m).
const RADIUS: f64 = 0.037e-3;
/// How far the head turns in the step (degrees), and how far strands and vertices go astray (m).
const TURN: f64 = 15.0;
const STRAND_ASTRAY: f64 = 1e-3;
const VERTEX_ASTRAY: f64 = 0.2e-3;
/// How far from where it is expected a point may end (m).
const ROOM: f64 = 1e-3;
/// Memory of a pair (bytes).
const PAIR: f64 = 8.0;
/// Runs, of which the best counts.
const RUNS: usize = 3;
/// So many pairs are not listed: they would not fit the memory of a small machine.
const MOST_PAIRS: f64 = 3e8;

/// A head of hair, and the motion of its points in a step.
struct Swing {
    features: Features,
    from: Vec<DVec3>,
    to: Vec<DVec3>,
    reach: Vec<f64>,
    room: Vec<f64>,
}

/// Curly hair on the upper half of a head that turns about x.
fn swing(strands: usize) -> Swing {
    let mut random = Random::new(5);
    let turn = DQuat::from_rotation_x(TURN.to_radians());
    let (mut from, mut to, mut ends) = (vec![], vec![], vec![]);
    for _ in 0..strands {
        let mut root = random.unit_vector();
        root.z = root.z.abs();
        let side = root.any_orthonormal_vector();
        let other = root.cross(side);
        let phase = random.between(0.0, TAU);
        let strand_astray = STRAND_ASTRAY * random.unit_vector();
        for vertex in 0..VERTICES {
            let t = vertex as f64 / (VERTICES - 1) as f64;
            // Out of the head, then down by gravity.
            let out = root * (HEAD + LENGTH * t * (1.0 - 0.5 * t));
            let (sine, cosine) = (phase + TAU * CURLS * t).sin_cos();
            let grow = (PI * t).sin().min(8.0 * t);
            let curl = CURL * grow * (cosine * side + sine * other);
            let place = out - DVec3::Z * (0.7 * LENGTH * t * t) + curl;
            let astray = strand_astray + VERTEX_ASTRAY * random.unit_vector();
            from.push(place);
            to.push(turn * place + astray);
            if vertex > 0 {
                let last = from.len() as u32 - 1;
                ends.push([last - 1, last]);
            }
        }
    }
    let points = from.len();
    let part = Part {
        is_free: true,
        meets_itself: true,
    };
    Swing {
        features: Features::new(vec![0; points], vec![part], vec![], &ends, &[]),
        from,
        to,
        reach: vec![2.0 * RADIUS; points],
        room: vec![ROOM; points],
    }
}

/// Refitting and searching with volumes of the whole path and with moving ones, on two threads.
///
/// # Errors
/// If there are no threads to be had.
pub(crate) fn measure(strands: usize) -> Result<Value, String> {
    let scene = swing(strands);
    // Pairs of the whole path grow with the square of the hairs.
    let few = strands.div_ceil(16);
    let scale = (strands as f64 / few as f64).powi(2);
    let fewer = swing(few);
    on(2, || {
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

/// The same with volumes of the whole path, unless there are too many pairs to list: then how many there are about.
fn whole<const K: usize>(scene: &Swing, fewer: &Swing, scale: f64) -> Value {
    let few = steps::<K, WHOLE>(fewer);
    let about = scale * few["edge_edge"].as_f64().unwrap_or(f64::INFINITY);
    if about < MOST_PAIRS {
        return steps::<K, WHOLE>(scene);
    }
    json!({ "edge_edge_about": about, "of_a_sixteenth_of_the_strands": few })
}

/// Steps with a tree that is kept.
fn steps<const K: usize, const T: usize>(scene: &Swing) -> Value {
    let motion = Motion {
        from: &scene.from,
        to: &scene.to,
        reach: &scene.reach,
    };
    let volumes = || Volumes::<K, T>::with_room(&motion, &scene.room);
    let mut tree = Tree::new(&scene.features, &volumes());
    let peak = machine::peak_memory();
    let mut pairs = 0;
    let mut find = || pairs = tree.candidates(&scene.features).edge_edge.len();
    find();
    let grown = machine::peak_memory().zip(peak);
    let grown = grown.map(|(after, before)| (after - before) as f64 / PAIR);
    let search = Best::of_runs(RUNS, &mut find);
    let both = Best::of_runs(RUNS, || {
        tree.refit(&scene.features, &volumes());
        drop(black_box(tree.candidates(&scene.features)));
    });
    let mut result = both.json();
    result["search"] = search.json();
    result["edge_edge"] = json!(pairs);
    // Only of what takes more memory than all before it.
    result["peak_relative_to_the_list"] = json!(grown.map(|grown| grown / pairs as f64));
    result
}
