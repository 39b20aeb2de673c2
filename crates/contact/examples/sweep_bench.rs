//! Measures the kernel of `admm`: sweeps of the matrix-free Gauss-Seidel method over many contacts.
//! Prints a line of JSON per problem size: nanoseconds per contact and sweep on one and two
//! threads, the bound by memory bandwidth, the times of coloring and assembly, and bytes per
//! contact.
//!
//! `cargo run --release -p reefknot-contact --example sweep_bench -- [CONTACTS]...`

use std::time::Instant;

use glam::DVec3;
use reefknot_contact::problem::NodalProblem;
use reefknot_contact::samples;
use reefknot_contact::solve::admm::projection::Projection;
use reefknot_contact::solve::admm::{WeightRule, WeightedNodes};
use reefknot_contact::solve::coloring::Coloring;

/// Each measurement is the shortest of this many runs.
const REPEATS: usize = 7;

fn main() {
    let sizes: Vec<usize> = std::env::args()
        .skip(1)
        .filter_map(|text| text.parse().ok())
        .collect();
    let sizes = if sizes.is_empty() {
        vec![10_000, 100_000, 1_000_000]
    } else {
        sizes
    };
    for size in sizes {
        let problem = samples::heap(size);
        let nodes = WeightedNodes::new(&problem, WeightRule::Mobility);
        let contacts = problem.contacts.len();
        let color_time = shortest_time(|| color(&problem, &nodes));
        let coloring = color(&problem, &nodes);
        let (stages, rest) = (coloring.stages.len(), coloring.rest.len());
        let none = vec![DVec3::ZERO; contacts];
        let mut projection = Projection::new(&problem, &nodes, &none);
        let store = shortest_time(|| projection.assemble(&problem, &nodes, &none));
        let [one, two] =
            [1, 2].map(|threads| sweep_time(&problem, &nodes, threads) / contacts as f64);
        let [stored, swept] = projection.bytes_per_contact();
        // A sweep reads and writes every contact node at least once.
        let moved = swept + 48.0 * nodes.nodes.len() as f64 / contacts as f64;
        let [bound, bound_two] =
            [1, 2].map(|threads| moved / bandwidth(threads, (moved * contacts as f64) as usize));
        println!(
            "{{\"contacts\":{contacts},\"nodes\":{},\"stages\":{stages},\"in_sequence\":{rest},\
             \"sweep_ns\":{:.1},\"sweep_ns_two_threads\":{:.1},\"memory_bound_ns\":{:.1},\
             \"ratio\":{:.2},\"ratio_two_threads\":{:.2},\"color_ns\":{:.1},\"store_ns\":{:.1},\
             \"bytes\":{stored:.0},\"bytes_swept\":{moved:.0}}}",
            nodes.nodes.len(),
            one * 1e9,
            two * 1e9,
            bound * 1e9,
            one / bound,
            two / bound_two,
            color_time / contacts as f64 * 1e9,
            store / contacts as f64 * 1e9,
        );
    }
}

fn color(problem: &NodalProblem, nodes: &WeightedNodes) -> Coloring {
    let contacts = &problem.contacts;
    Coloring::new(contacts.len(), nodes.nodes.len(), |contact| {
        contacts
            .stencil(contact)
            .iter()
            .map(|(node, _)| nodes.index(*node))
    })
}

/// Shortest time of a sweep (s).
fn sweep_time(problem: &NodalProblem, nodes: &WeightedNodes, threads: usize) -> f64 {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let Ok(pool) = pool else { return f64::NAN };
    let none = vec![DVec3::ZERO; problem.contacts.len()];
    let mut projection = Projection::new(problem, nodes, &none);
    let start = |place: usize| DVec3::new(0.0, 0.1, -0.2 * (place % 7) as f64);
    projection.set_velocities(nodes.nodes.len(), start);
    pool.install(|| shortest_time(|| projection.sweep(0.0)))
}

/// Shortest time of several runs (s).
fn shortest_time<T>(mut work: impl FnMut() -> T) -> f64 {
    let time = |_| {
        let start = Instant::now();
        std::hint::black_box(work());
        start.elapsed().as_secs_f64()
    };
    (0..REPEATS).map(time).fold(f64::INFINITY, f64::min)
}

/// Memory bandwidth of some threads (bytes/s), for the STREAM triad a(i) = b(i) + s c(i) on arrays
/// of `bytes` bytes in total.
fn bandwidth(threads: usize, bytes: usize) -> f64 {
    let length = (bytes / 24 / threads).max(1024);
    let mut arrays: Vec<[Vec<f64>; 3]> = (0..threads)
        .map(|_| [0.0, 1.0, 2.0].map(|x| vec![x; length]))
        .collect();
    let seconds = shortest_time(|| {
        std::thread::scope(|scope| {
            for [a, b, c] in &mut arrays {
                scope.spawn(move || {
                    // Small arrays are repeated, so that the start of a thread is negligible.
                    for _ in 0..repeats(length) {
                        for ((a, b), c) in a.iter_mut().zip(b.iter()).zip(c.iter()) {
                            *a = b + 3.0 * c;
                        }
                        std::hint::black_box(&mut *a);
                    }
                });
            }
        });
    });
    (24 * length * threads * repeats(length)) as f64 / seconds
}

fn repeats(length: usize) -> usize {
    (20_000_000 / length).max(1)
}
