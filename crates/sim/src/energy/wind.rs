//! Wind on cloth and rods: a gusty wind field, and its drag on triangles and edges.
//!
//! A triangle with unit normal n in a relative wind u = w − v has the force
//! ρA/2 (Cₙ|u·n|(u·n)n + Cₜ|u_T|u_T). With the speeds of the start of the step this is D u with
//! D = ρA/2 (Cₙ|u·n| nnᵀ + Cₜ|u_T|(I − nnᵀ)), which is symmetric and positive semidefinite. With
//! the force D w and the damping matrix D, the cloth approaches the velocity of the wind for any
//! time step. A third of the D of a triangle acts on each corner: D is block-diagonal. A rod edge
//! has the drag of a circular cylinder, ρdL/2 Cₙ|u_N| across it and ρπdL/2 Cₜ|u_T| along it, half
//! of it at each end.

use super::assemble::Incidence;
use super::{CHUNK, at_nodes};
use crate::random::Random;
use glam::{DMat3, DVec3};
use rayon::prelude::*;
use std::f64::consts::{PI, TAU};

/// Number of waves of a gusty wind.
const MODES: usize = 16;

/// A wind field as a function of position and time.
#[derive(Clone, Debug)]
pub struct Wind {
    mean: DVec3,
    modes: Vec<Mode>,
}

/// One travelling wave. Its velocity is orthogonal to its wave vector: it is free of divergence.
#[derive(Clone, Debug)]
struct Mode {
    /// Wave vector (rad/m).
    wave_vector: DVec3,
    /// Amplitude of the velocity (m/s).
    amplitude: DVec3,
    /// Angular frequency in the frame of the mean wind (rad/s).
    frequency: f64,
    /// Phase (rad).
    phase: f64,
}

impl Wind {
    /// A uniform wind (m/s).
    pub fn steady(mean: DVec3) -> Self {
        Self {
            mean,
            modes: Vec::new(),
        }
    }

    /// A wind whose deviation from the mean has the root mean square `turbulence` (m/s), in eddies
    /// of size about `length_scale` (m).
    ///
    /// The eddies drift with the mean wind (Taylor's frozen turbulence) and decorrelate over about
    /// their turnover time, so that the wind also varies without a mean velocity.
    pub fn gusty(mean: DVec3, turbulence: f64, length_scale: f64, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut modes = Vec::with_capacity(MODES);
        let mut energy = 0.0;
        for index in 0..MODES {
            // Wavelengths from twice the scale to a quarter of it, in equal ratios.
            let ratio = 2f64.powf(-1.0 + 3.0 * index as f64 / (MODES - 1) as f64);
            let direction = random.unit_vector();
            let wave_number = TAU / length_scale * ratio;
            // Kolmogorov's −5/3 spectrum: energy k E(k) ~ k^(−2/3) per equal ratio of k.
            let amplitude = direction
                .cross(random.unit_vector())
                .normalize_or(direction.any_orthonormal_vector())
                * ratio.powf(-1.0 / 3.0);
            energy += 0.5 * amplitude.length_squared();
            modes.push(Mode {
                wave_vector: direction * wave_number,
                amplitude,
                frequency: turbulence * wave_number * random.between(-0.5, 0.5),
                phase: random.between(0.0, TAU),
            });
        }
        for mode in &mut modes {
            mode.amplitude *= turbulence / energy.sqrt();
        }
        Self { mean, modes }
    }

    /// Velocity of the air (m/s).
    pub fn velocity(&self, position: DVec3, time: f64) -> DVec3 {
        let drifted = position - self.mean * time;
        self.modes.iter().fold(self.mean, |sum, mode| {
            sum + mode.amplitude
                * (mode.wave_vector.dot(drifted) + mode.frequency * time + mode.phase).sin()
        })
    }
}

/// Density and drag coefficients of the air.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Air {
    /// ρ (kg/m³).
    pub density: f64,
    /// Drag coefficient Cₙ of a sheet normal to the wind, about 1.2 to 2.
    pub normal_coefficient: f64,
    /// Drag coefficient Cₜ of a sheet parallel to the wind, a few hundredths.
    pub tangential_coefficient: f64,
}

impl Air {
    /// D of one triangle (kg/s) at the relative wind `u`.
    fn drag(&self, x: &[DVec3; 3], u: DVec3) -> DMat3 {
        let double_area = (x[1] - x[0]).cross(x[2] - x[0]);
        let normal = double_area.normalize_or_zero();
        let across = u.dot(normal);
        let along = (u - across * normal).length();
        let projector = DMat3::from_cols(normal * normal.x, normal * normal.y, normal * normal.z);
        let push = projector * (self.normal_coefficient * across.abs());
        let drag = (DMat3::IDENTITY - projector) * (self.tangential_coefficient * along);
        (push + drag) * (0.25 * self.density * double_area.length())
    }
}

impl Air {
    /// D of one rod edge (kg/s) at the relative wind `u`.
    fn edge_drag(&self, x: &[DVec3; 2], diameter: f64, u: DVec3) -> DMat3 {
        let side = x[1] - x[0];
        let along = side.normalize_or_zero();
        let speed = u.dot(along);
        let across = (u - speed * along).length();
        let projector = DMat3::from_cols(along * along.x, along * along.y, along * along.z);
        let push = (DMat3::IDENTITY - projector) * (self.normal_coefficient * across);
        let drag = projector * (PI * self.tangential_coefficient * speed.abs());
        (push + drag) * (0.5 * self.density * diameter * side.length())
    }
}

/// Elements exposed to the wind.
#[derive(Clone, Debug)]
enum Sail {
    Triangles(Vec<[u32; 3]>),
    /// Edges of rods of a diameter.
    Edges(Vec<[u32; 2]>, f64),
}

/// Wind load on the nodes of triangles or edges, with the speeds of the start of a step.
#[derive(Clone, Debug)]
pub struct WindLoad {
    sail: Sail,
    corners_of_node: Incidence,
    drag: Vec<DMat3>,
    wind: Vec<DVec3>,
    /// D of each node (kg/s). The force on a node of velocity v is `force` − `damping` v.
    pub damping: Vec<DMat3>,
    /// D w of each node (N), the force on a node at rest.
    pub force: Vec<DVec3>,
}

impl WindLoad {
    /// A zero load on triangles.
    pub fn on_triangles(triangles: &[[u32; 3]], nodes: usize) -> Self {
        let sail = Sail::Triangles(triangles.to_vec());
        Self::new(sail, triangles.as_flattened(), triangles.len(), nodes)
    }

    /// A zero load on rod edges.
    pub fn on_edges(edges: &[[u32; 2]], diameter: f64, nodes: usize) -> Self {
        let sail = Sail::Edges(edges.to_vec(), diameter);
        Self::new(sail, edges.as_flattened(), edges.len(), nodes)
    }

    fn new(sail: Sail, corners: &[u32], elements: usize, nodes: usize) -> Self {
        Self {
            sail,
            corners_of_node: Incidence::new(nodes, corners),
            drag: vec![DMat3::ZERO; elements],
            wind: vec![DVec3::ZERO; nodes],
            damping: vec![DMat3::ZERO; nodes],
            force: vec![DVec3::ZERO; nodes],
        }
    }

    /// Computes the load at a time (s), with the drag at these positions (m) and velocities (m/s).
    pub fn update(
        &mut self,
        air: &Air,
        wind: &Wind,
        time: f64,
        positions: &[DVec3],
        velocities: &[DVec3],
    ) {
        self.wind
            .par_chunks_mut(CHUNK)
            .zip(positions.par_chunks(CHUNK))
            .for_each(|(winds, positions)| {
                for (velocity, position) in winds.iter_mut().zip(positions) {
                    *velocity = wind.velocity(*position, time);
                }
            });
        let winds = &self.wind;
        let relative = |node: u32| winds[node as usize] - velocities[node as usize];
        match &self.sail {
            Sail::Triangles(triangles) => fill(&mut self.drag, triangles, |corners| {
                let [a, b, c] = corners.map(relative);
                air.drag(&at_nodes(corners, positions), (a + b + c) / 3.0)
            }),
            Sail::Edges(edges, diameter) => fill(&mut self.drag, edges, |ends| {
                let [a, b] = ends.map(relative);
                air.edge_drag(&at_nodes(ends, positions), *diameter, (a + b) / 2.0)
            }),
        }
        self.gather();
    }

    /// Sums the drag of the elements at each node.
    fn gather(&mut self) {
        let size = match &self.sail {
            Sail::Triangles(_) => 3,
            Sail::Edges(..) => 2,
        };
        let (winds, drags, corners_of_node) = (&self.wind, &self.drag, &self.corners_of_node);
        let chunks = self
            .damping
            .par_chunks_mut(CHUNK)
            .zip(self.force.par_chunks_mut(CHUNK));
        chunks.enumerate().for_each(|(chunk, (damping, force))| {
            for (i, (damping, force)) in damping.iter_mut().zip(force).enumerate() {
                let node = chunk * CHUNK + i;
                let corners = corners_of_node.of(node);
                let sum = corners.iter().fold(DMat3::ZERO, |sum, &corner| {
                    sum + drags[corner as usize / size]
                });
                *damping = sum * (1.0 / size as f64);
                *force = *damping * winds[node];
            }
        });
    }
}

/// Computes the drag of every element.
fn fill<const K: usize>(
    drags: &mut [DMat3],
    elements: &[[u32; K]],
    drag_of: impl Fn(&[u32; K]) -> DMat3 + Sync,
) {
    let chunks = drags.par_chunks_mut(CHUNK).zip(elements.par_chunks(CHUNK));
    chunks.for_each(|(drags, elements)| {
        for (drag, corners) in drags.iter_mut().zip(elements) {
            *drag = drag_of(corners);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::super::check::{dense, eigenvalues};
    use super::*;
    use crate::generate::sheet::{Cells, grid};

    const AIR: Air = Air {
        density: 1.2,
        normal_coefficient: 1.3,
        tangential_coefficient: 0.05,
    };

    fn gusty(seed: u64) -> Wind {
        Wind::gusty(DVec3::new(6.0, 1.0, 0.0), 1.5, 0.8, seed)
    }

    /// Positions and times in many eddies.
    fn samples(count: usize) -> Vec<(DVec3, f64)> {
        let mut random = Random::new(99);
        let mut place = || random.between(-50.0, 50.0);
        (0..count)
            .map(|_| (DVec3::new(place(), place(), place()), place() + 50.0))
            .collect()
    }

    #[test]
    fn turbulence_is_the_root_mean_square() {
        for seed in 0..4 {
            let wind = gusty(seed);
            let samples = samples(40_000);
            let (mut mean, mut square) = (DVec3::ZERO, 0.0);
            for (position, time) in &samples {
                let deviation = wind.velocity(*position, *time) - wind.mean;
                mean += deviation / samples.len() as f64;
                square += deviation.length_squared() / samples.len() as f64;
            }
            assert!(
                (square.sqrt() / 1.5 - 1.0).abs() < 0.02,
                "{}",
                square.sqrt()
            );
            assert!(mean.length() < 0.05, "{mean}");
        }
    }

    #[test]
    fn the_same_seed_has_the_same_wind() {
        let (position, time) = (DVec3::new(0.3, -0.2, 1.1), 4.2);
        assert_eq!(
            gusty(7).velocity(position, time),
            gusty(7).velocity(position, time)
        );
        assert!(
            gusty(7)
                .velocity(position, time)
                .distance(gusty(8).velocity(position, time))
                > 1e-3
        );
        assert_eq!(Wind::steady(DVec3::X).velocity(position, time), DVec3::X);
    }

    #[test]
    fn gusts_are_smooth_and_free_of_divergence() {
        let wind = gusty(3);
        let slope: f64 = wind
            .modes
            .iter()
            .map(|mode| mode.amplitude.length() * mode.wave_vector.length())
            .sum();
        let step = 1e-5;
        for (position, time) in samples(200) {
            let along = |axis: DVec3| {
                let [ahead, behind] =
                    [step, -step].map(|step| wind.velocity(position + step * axis, time));
                assert!(ahead.distance(behind) <= 2.0 * step * slope);
                (ahead - behind) / (2.0 * step)
            };
            let divergence = along(DVec3::X).x + along(DVec3::Y).y + along(DVec3::Z).z;
            assert!(divergence.abs() < 1e-6 * slope, "{divergence}");
            let later = wind.velocity(position, time + step);
            assert!(later.distance(wind.velocity(position, time)) <= step * slope * 8.0);
        }
    }

    #[test]
    fn gusts_vary_in_the_frame_of_the_mean_wind() {
        let wind = gusty(1);
        let seen = |time: f64| wind.velocity(wind.mean * time, time);
        assert!(seen(0.0).distance(seen(0.01)) < 0.1);
        assert!(seen(0.0).distance(seen(10.0)) > 0.1);
    }

    #[test]
    fn a_plate_normal_to_the_wind_has_the_drag_of_its_coefficient() {
        let mesh = grid([0.4, 0.5], [5, 4], Cells::Right);
        let rest = vec![DVec3::ZERO; mesh.points.len()];
        let mut load = WindLoad::on_triangles(&mesh.triangles, mesh.points.len());
        load.update(
            &AIR,
            &Wind::steady(DVec3::new(0.0, 0.0, -10.0)),
            0.0,
            &mesh.points,
            &rest,
        );
        let push: DVec3 = load.force.iter().sum();
        assert!(
            push.abs_diff_eq(DVec3::new(0.0, 0.0, -0.5 * 1.2 * 1.3 * 0.2 * 100.0), 1e-12),
            "{push}"
        );
        load.update(
            &AIR,
            &Wind::steady(DVec3::new(10.0, 0.0, 0.0)),
            0.0,
            &mesh.points,
            &rest,
        );
        let drag: DVec3 = load.force.iter().sum();
        assert!(
            drag.abs_diff_eq(DVec3::new(0.5 * 1.2 * 0.05 * 0.2 * 100.0, 0.0, 0.0), 1e-12),
            "{drag}"
        );
        // The force is zero at the velocity of the wind.
        load.update(
            &AIR,
            &Wind::steady(DVec3::X),
            0.0,
            &mesh.points,
            &vec![DVec3::X; rest.len()],
        );
        assert!(load.damping.iter().all(|damping| *damping == DMat3::ZERO));
    }

    #[test]
    fn damping_is_positive_with_the_same_bits_for_any_number_of_threads() {
        let mesh = grid([1.0, 1.0], [30, 20], Cells::Alternating);
        let points: Vec<DVec3> = mesh
            .points
            .iter()
            .map(|point| *point + 0.1 * (9.0 * point.x + 4.0 * point.y).sin() * DVec3::Z)
            .collect();
        let velocities: Vec<DVec3> = points.iter().map(|point| *point * 3.0).collect();
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            let mut load = WindLoad::on_triangles(&mesh.triangles, points.len());
            pool.install(|| load.update(&AIR, &gusty(2), 0.3, &points, &velocities));
            load
        };
        let one = run(1);
        for load in [run(2), run(3)] {
            assert_eq!(one.force, load.force);
            assert_eq!(one.damping, load.damping);
        }
        for damping in &one.damping {
            let smallest = eigenvalues(dense(&[[*damping]]))
                .into_iter()
                .fold(f64::INFINITY, f64::min);
            assert!(smallest >= -1e-15);
        }
    }

    #[test]
    fn a_rod_normal_to_the_wind_has_the_drag_of_a_cylinder() {
        let points = [DVec3::ZERO, 0.3 * DVec3::Z, 0.5 * DVec3::Z];
        let mut load = WindLoad::on_edges(&[[0, 1], [1, 2]], 0.01, 3);
        let wind = Wind::steady(DVec3::new(8.0, 0.0, 2.0));
        load.update(&AIR, &wind, 0.0, &points, &[DVec3::ZERO; 3]);
        let push: DVec3 = load.force.iter().sum();
        let across = 0.5 * 1.2 * 1.3 * 0.01 * 0.5 * 64.0;
        let along = 0.5 * 1.2 * 0.05 * PI * 0.01 * 0.5 * 4.0;
        assert!(
            push.abs_diff_eq(DVec3::new(across, 0.0, along), 1e-12),
            "{push}"
        );
    }

    #[test]
    fn a_collapsed_triangle_has_no_drag() {
        assert_eq!(AIR.drag(&[DVec3::ONE; 3], DVec3::X), DMat3::ZERO);
    }
}
