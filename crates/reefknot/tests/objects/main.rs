//! Every kind of object and collider, from a few lines of a scene: how heavy it is, where its groups are, where it is
//! put, and what its copies, seeds and hairs do.

#[cfg(test)]
mod common;
#[cfg(test)]
mod contact;
#[cfg(test)]
mod groom;
#[cfg(test)]
mod groups;
#[cfg(test)]
mod mass;
#[cfg(test)]
mod placement;

#[cfg(test)]
#[path = "../shared/read.rs"]
mod read;
