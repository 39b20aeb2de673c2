//! A simulator of thin and soft things in frictional contact.
//!
//! What the user wrote ([`scene`]) becomes a [`model`], built once and never changed, and a
//! [`state`], which holds everything that the next step depends on. [`integrate`] takes steps,
//! [`run`](mod@run) makes a folder of them. See ARCHITECTURE.md for the whole.

pub mod build;
pub mod certify;
pub mod check;
pub mod claims;
pub mod collide;
mod detect;
pub mod energy;
mod equations;
mod gate;
pub mod generate;
pub mod integrate;
pub mod io;
pub mod machine;
pub mod manifest;
pub mod material;
pub mod mesh;
pub mod model;
pub mod motion;
mod path;
pub mod physics;
mod pose;
pub mod probe;
pub mod report;
pub mod resume;
pub mod run;
pub mod scene;
pub mod state;
pub mod step;
pub mod step_input;
pub mod units;

pub use reefknot_contact::random;
