//! Steps of one scene by phases, compared with lower bounds.

use std::time::Instant;

use reefknot_contact::banded::BandedFactor;
use reefknot_contact::cholesky::Factor;
use reefknot_contact::system::{BodyFactor, Matrix, System, SystemFactor};
use reefknot_sim::integrate::Scratch;
use reefknot_sim::machine;
use reefknot_sim::model::{Elements, Model};
use reefknot_sim::report::Phases;
use reefknot_sim::scene::{Scene, SceneRequest};
use reefknot_sim::step::step;
use serde_json::{Value, json};

use crate::bounds::{self, BoundSize, best_of};
use crate::scenes::{self, SceneSize};

/// Size of a measurement.
pub(crate) struct Size {
    /// Sizes of the scenes.
    pub(crate) scene: SceneSize,
    /// Threads of the pool.
    pub(crate) threads: usize,
    /// Number of measured steps, after one that is not counted.
    pub(crate) repetitions: usize,
    /// Sizes of the bounds.
    pub(crate) bound: BoundSize,
}

/// Figures of one scene, and the bounds.
///
/// # Errors
/// If the scene is unknown, or cannot be built or stepped.
pub(crate) fn measure(name: &str, size: &Size) -> Result<Value, String> {
    let pool = |threads: usize| {
        let builder = rayon::ThreadPoolBuilder::new().num_threads(threads);
        builder.build().map_err(|error| error.to_string())
    };
    let text = scenes::text(name, size.scene)?;
    // Before the bounds: their memory is returned to the system only in part.
    let mut result = pool(size.threads)?.install(|| steps(name, text, size))?;
    let runs = size.repetitions.max(3);
    let mut bandwidth = Vec::new();
    let mut flops = Vec::new();
    for threads in [1, 2] {
        let pool = pool(threads)?;
        bandwidth.push(pool.install(|| bounds::triad(size.bound, runs)));
        flops.push(pool.install(|| bounds::dense_product(size.bound, runs)));
    }
    let threads = size.threads.clamp(1, 2) - 1;
    compare(&mut result, bandwidth[threads], flops[threads]);
    result["bounds"] = json!({
        "triad_bytes_per_s": { "1": bandwidth[0], "2": bandwidth[1] },
        "dense_flops_per_s": { "1": flops[0], "2": flops[1] },
    });
    Ok(result)
}

/// Adds the ratios of times to their bounds.
fn compare(result: &mut Value, bandwidth: f64, flops: f64) {
    let number = |pointer: &str| result.pointer(pointer).and_then(Value::as_f64);
    let ratio = |time: &str, work: &str, rate: f64| {
        let (time, work) = (number(time)?, number(work)?);
        Some(time * rate / work)
    };
    let over = |time: &str, bare: &str| Some(number(time)? / number(bare)?);
    result["ratios"] = json!({
        "assemble_over_writing_the_matrix":
            ratio("/phases_s/assemble/best", "/amounts/matrix_bytes", bandwidth),
        "product_over_reading_the_matrix":
            ratio("/bare_s/product", "/amounts/matrix_bytes", bandwidth),
        "solve_over_reading_the_factor_twice":
            ratio("/bare_s/solve", "/amounts/two_factor_bytes", bandwidth),
        "factorize_over_dense_product": ratio("/bare_s/factorize", "/amounts/factor_flops", flops),
        "linear_over_bare": over("/phases_s/linear/best", "/bare_s/factorize_and_solve"),
        "step_over_bare": over("/step_s/best", "/bare_s/factorize_and_solve"),
    });
}

/// Builds and steps a scene.
fn steps(name: &str, text: String, size: &Size) -> Result<Value, String> {
    let before = resident_memory();
    let start = Instant::now();
    let request = SceneRequest {
        file: name.to_owned(),
        text,
        ..SceneRequest::default()
    };
    let scene = Scene::read(&request).map_err(|problems| problems.to_string())?;
    let model = Model::build(&scene).map_err(|problems| problems.to_string())?;
    let build_s = start.elapsed().as_secs_f64();
    let mut scratch = Scratch::new(&model);
    let mut state = model.start.clone();
    let (mut walls, mut cpus, mut phases) = (Vec::new(), Vec::new(), Vec::new());
    let mut momentum_error: f64 = 0.0;
    for repetition in 0..=size.repetitions {
        let (start, cpu) = (Instant::now(), cpu_seconds());
        let taken = step(&model, &state, &mut scratch).map_err(|error| error.to_string())?;
        let wall = start.elapsed().as_secs_f64();
        momentum_error = momentum_error.max(taken.report.momentum_error_m.unwrap_or(0.0));
        state = taken.to;
        // The first step also maps memory.
        if repetition > 0 {
            walls.push(wall);
            cpus.push(cpu_seconds() - cpu);
            phases.push(taken.report.phases_s);
        }
    }
    let after = resident_memory();
    let nodes = model.masses.len();
    let memory = before.zip(after).map(|(before, after)| after - before);
    let (bare_s, work) = bare(&model, scratch.held_system(), size.repetitions)?;
    Ok(json!({
        "threads": size.threads,
        "repetitions": size.repetitions,
        "nodes": nodes,
        "dofs": model.unknowns.count,
        "elements": model.bodies.iter().map(|body| body.elements.count()).sum::<usize>(),
        "build_s": build_s,
        "step_s": best_and_median(walls.clone()),
        "step_cpu_s": best_and_median(cpus),
        "phases_s": by_phase(&walls, &phases),
        "bare_s": bare_s,
        "amounts": work,
        "bytes_per_vertex": memory.map(|bytes| bytes / nodes as f64),
        "momentum_error_m": momentum_error,
        "state_hash": state.hash(),
    }))
}

fn by_phase(walls: &[f64], phases: &[Phases]) -> Value {
    let of = |phase: fn(&Phases) -> f64| best_and_median(phases.iter().map(phase).collect());
    let known = |p: &Phases| p.assemble + p.linear + p.certify;
    let rest = walls.iter().zip(phases).map(|(wall, p)| wall - known(p));
    json!({
        "assemble": of(|p| p.assemble),
        "linear": of(|p| p.linear),
        "certify": of(|p| p.certify),
        "rest": best_and_median(rest.collect()),
    })
}

fn best_and_median(mut seconds: Vec<f64>) -> Value {
    seconds.sort_by(f64::total_cmp);
    json!({ "best": seconds[0], "median": seconds[seconds.len() / 2] })
}

/// Times of the linear algebra of a step alone, with the last matrix; and its amount of work.
fn bare(model: &Model, system: &System, runs: usize) -> Result<(Value, Value), String> {
    let mut factors = Vec::new();
    let (mut factor_bytes, mut flops, mut matrix_bytes) = (0.0, 0.0, 0.0);
    for (body, of_system) in model.bodies.iter().zip(&system.bodies) {
        match (&body.elements, &of_system.matrix) {
            (Elements::Blocks(blocks), Matrix::Blocks(matrix)) => {
                let symbolic = blocks.symbolic.clone();
                factor_bytes += 8.0 * symbolic.factor_entries() as f64;
                flops += symbolic.operations();
                matrix_bytes += 72.0 * matrix.values.len() as f64;
                let factor = Factor::new(symbolic).map_err(|error| error.to_string())?;
                factors.push(BodyFactor::Blocks(factor));
            }
            (Elements::Rods(_), Matrix::Rods(batch)) => {
                let (layout, count) = (batch.layout().clone(), batch.count());
                let (rows, band) = ((count * layout.size()) as f64, layout.bandwidth() as f64);
                matrix_bytes += 8.0 * rows * (band + 1.0);
                factor_bytes += 8.0 * rows * (band + 1.0);
                flops += rows * band * (band + 1.0);
                factors.push(BodyFactor::Rods(BandedFactor::new(layout, count)));
            }
            _ => return Err("matrix and body are of different kinds".to_owned()),
        }
    }
    let mut factor = SystemFactor::new(factors);
    factor
        .factorize(system)
        .map_err(|error| error.to_string())?;
    let rhs: Vec<f64> = (0..system.dofs())
        .map(|dof| (0.37 * dof as f64).sin())
        .collect();
    let mut x = rhs.clone();
    let factorize = best_of(runs, || drop(factor.factorize(system)));
    let solve = best_of(runs, || {
        x.copy_from_slice(&rhs);
        factor.solve_in_place(system, &mut x);
    });
    let product = best_of(runs, || system.multiply(&rhs, &mut x));
    let bare_s = json!({
        "factorize": factorize,
        "solve": solve,
        "factorize_and_solve": factorize + solve,
        "product": product,
    });
    let work = json!({
        "matrix_bytes": matrix_bytes,
        "two_factor_bytes": 2.0 * factor_bytes,
        "factor_flops": flops,
    });
    Ok((bare_s, work))
}

/// CPU time of all threads (s); hardly affected by other load on the machine.
fn cpu_seconds() -> f64 {
    machine::processor_time().map_or(0.0, |time| time.as_secs_f64())
}

/// Resident memory of this process (bytes), on Linux.
fn resident_memory() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find(|line| line.starts_with("VmRSS:"))?;
    let kibibytes: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes * 1024.0)
}
