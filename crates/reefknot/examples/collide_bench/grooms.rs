//! Time of the broad phase for grooms.

use std::f64::consts::{PI, TAU};
use std::hint::black_box;

use glam::DVec3;
use reefknot_sim::collide::features::{Features, Part};
use reefknot_sim::collide::tree::Tree;
use reefknot_sim::collide::volume::{PointMotion, Volumes};
use reefknot_sim::random::Random;
use serde_json::{Map, Value, json};

use crate::best::{Best, on_threads};

/// A groom, and a motion of its points.
struct Groom {
    features: Features,
    from: Vec<DVec3>,
    to: Vec<DVec3>,
    reach: Vec<f64>,
}

impl Groom {
    fn motion(&self) -> PointMotion<'_> {
        PointMotion {
            from: &self.from,
            to: &self.to,
            reach: &self.reach,
        }
    }

    /// Moves the points by one step, so that the tree is slightly worn.
    fn advance(&mut self) {
        for (from, to) in self.from.iter_mut().zip(&mut self.to) {
            let step = *to - *from;
            *from = *to;
            *to += step;
        }
    }
}

const FREE: Part = Part {
    is_free: true,
    self_collides: true,
};

/// Kinds of hair.
#[derive(Clone, Copy)]
enum Hair {
    /// Curls of 15 cm in wisps of 20.
    Curly,
    /// Straight hair of 40 cm.
    Long,
    /// Fur of 2 cm.
    Fur,
}

impl Hair {
    const ALL: [Hair; 3] = [Hair::Curly, Hair::Long, Hair::Fur];

    fn name(self) -> &'static str {
        match self {
            Hair::Curly => "curly",
            Hair::Long => "long",
            Hair::Fur => "fur",
        }
    }

    /// Segments and length of a hair, radius and number of its curls.
    fn shape(self) -> (usize, f64, f64, f64) {
        match self {
            Hair::Curly => (30, 0.15, 4e-3, 5.0),
            Hair::Long => (40, 0.4, 0.0, 0.0),
            Hair::Fur => (20, 0.02, 5e-4, 1.0),
        }
    }
}

/// About `segments` segments of hair on the upper half of a head of radius 10 cm, with motions of
/// up to 1 mm.
fn groom(hair: Hair, segments: usize) -> Groom {
    let mut random = Random::new(2);
    let (count, length, curl, turns) = hair.shape();
    let (mut from, mut to, mut ends) = (vec![], vec![], vec![]);
    let mut wisp = DVec3::Z;
    let mut phase = 0.0;
    for strand in 0..segments / count {
        if strand % 20 == 0 || !matches!(hair, Hair::Curly) {
            wisp = random.unit_vector();
            wisp.z = wisp.z.abs();
            phase = random.between(0.0, TAU);
        }
        let root = (wisp + 0.04 * random.unit_vector()).normalize();
        let phase = phase + random.between(-0.3, 0.3);
        let side = root.any_orthonormal_vector();
        let other = root.cross(side);
        for vertex in 0..=count {
            let t = vertex as f64 / count as f64;
            // Out of the head, then down by gravity.
            let fall = length * t * t * 0.7;
            let out = 0.1 * root + root * (length * t * (1.0 - 0.5 * t)) - DVec3::Z * fall;
            let (sine, cosine) = (phase + TAU * turns * t).sin_cos();
            let grow = (PI * t).sin().min(t * 8.0);
            let place = out + curl * grow * (cosine * side + sine * other);
            from.push(place);
            to.push(place + 1e-3 * t * DVec3::new((30.0 * place.y).sin(), 0.5, -0.3));
            if vertex > 0 {
                let last = from.len() as u32 - 1;
                ends.push([last - 1, last]);
            }
        }
    }
    let points = from.len();
    Groom {
        features: Features::new(vec![0; points], vec![FREE], vec![], &ends, &[]),
        from,
        to,
        reach: vec![1e-4; points],
    }
}

/// Times of refit and search on two threads, by kind and size.
///
/// # Errors
/// If threads cannot be started.
pub(crate) fn measure(sizes: &[usize]) -> Result<Value, String> {
    let mut result = Map::new();
    for hair in Hair::ALL {
        let mut by_size = Map::new();
        for &segments in sizes {
            let value = on_threads(2, || measure_groom(groom(hair, segments)))?;
            by_size.insert(segments.to_string(), value);
        }
        result.insert(hair.name().into(), Value::Object(by_size));
    }
    Ok(Value::Object(result))
}

fn measure_groom(mut groom: Groom) -> Value {
    let volumes = Volumes::<3>::new(&groom.motion());
    let found = Tree::new(&groom.features, &volumes).candidates(&groom.features);
    // A lower bound: every search reads the motion and writes the pairs.
    let bound = Best::of(|| {
        let motion = (groom.from.clone(), groom.to.clone(), groom.reach.clone());
        drop(black_box((
            motion,
            groom.features.primitives.clone(),
            found.edge_edge.clone(),
        )));
    });
    json!({
        "segments": groom.features.primitives.len(),
        "boxes": steps::<3>(&mut groom),
        "18-dops": steps::<9>(&mut groom),
        "copying_once": bound.json(),
    })
}

/// Time of a step with a refitted tree.
fn steps<const K: usize>(scene: &mut Groom) -> Value {
    let mut tree = Tree::new(&scene.features, &Volumes::<K>::new(&scene.motion()));
    scene.advance();
    let mut pairs = 0;
    let best = Best::of(|| {
        let volumes = Volumes::<K>::new(&scene.motion());
        tree.refit(&scene.features, &volumes);
        pairs = tree.candidates(&scene.features).edge_edge.len();
    });
    let mut result = best.json();
    result["edge_edge"] = json!(pairs);
    result["wear"] = json!(tree.wear());
    result
}
