//! A simulator of thin and soft things in frictional contact: hair and rods, cloth and shells, soft
//! solids, rigid props and scripted colliders in one scene.
//!
//! A [`Scene`] becomes a [`Model`], built once and immutable. A [`State`] holds everything that the
//! next step depends on. [`step`] reads one state and returns the next one with its contacts, their
//! forces, and the certificate of the step. Units are SI, z is up.
//!
//! ```
//! use reefknot::{Model, Scene, SceneRequest, Scratch, step};
//!
//! // A shipped scene at its small size; `Scene::load("my.toml")` reads a file.
//! let scene = Scene::read(&SceneRequest {
//!     quick: true,
//!     sets: vec!["parameters.n=8".into(), "parameters.mu=0.4".into()],
//!     ..SceneRequest::find("drape")?
//! })?;
//! let model = Model::build(&scene)?;
//! let mut state = model.start.clone();
//! let mut scratch = Scratch::new(&model);
//! for _ in 0..20 {
//!     state = step(&model, &state, &mut scratch)?.to;
//! }
//! // After 0.2 s of free fall the cloth is 19.6 cm lower, up to an error of the order of h.
//! let cloth = model.object("cloth").ok_or("no cloth")?;
//! let height = model.points(cloth, &state)[0].z;
//! assert!((height - (0.65 - 0.5 * 9.81 * 0.2 * 0.2)).abs() < 0.015, "{height}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Meshes and curves come from files that a scene names, or from memory:
//!
//! ```
//! use reefknot::glam::DVec3;
//! use reefknot::{Mesh, Model, Scene, SceneRequest};
//!
//! let mut scene = Scene::read(&SceneRequest {
//!     text: r#"
//!         time = { duration = "0.1 s" }
//!         [material.paper]
//!         preset = "cotton"
//!         [object.sheet]
//!         kind = "cloth-mesh"
//!         file = "triangle.obj"
//!         material = "paper"
//!     "#
//!     .into(),
//!     ..SceneRequest::default()
//! })?;
//! scene.add_mesh(
//!     "triangle.obj",
//!     &Mesh {
//!         points: vec![DVec3::ZERO, DVec3::X, DVec3::Y],
//!         triangles: vec![[0, 1, 2]],
//!         ..Mesh::default()
//!     },
//! )?;
//! let model = Model::build(&scene)?;
//! assert_eq!(model.masses.len(), 3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`run()`] writes a run folder that can be resumed, viewed and checked. The examples `drop_cloth`
//! and `contact_forces` are complete programs. Without the feature `cli` the library has none of
//! the command's dependencies.

pub use glam;

pub use reefknot_sim::certify::{ContactRecord, Step};
pub use reefknot_sim::integrate::{Scratch, StepError, StepOptions};
pub use reefknot_sim::mesh::{Curve, Group, Mesh};
pub use reefknot_sim::model::{Model, Object};
pub use reefknot_sim::report::{Energies, StepReport, Summary};
pub use reefknot_sim::run::{Observer, RunError, RunOptions, RunOutcome, run};
pub use reefknot_sim::scene::load::LoadError;
pub use reefknot_sim::scene::problem::Problems;
pub use reefknot_sim::scene::{Scene, SceneRequest};
pub use reefknot_sim::state::{Clock, State};
pub use reefknot_sim::step::{step, step_with};

/// Contact problems of other programs and of captured steps, and their solvers.
pub use reefknot_contact as contact;

#[cfg(feature = "cli")]
pub mod cli;
