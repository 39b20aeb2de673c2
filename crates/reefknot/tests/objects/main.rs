//! Every kind of object and collider: mass, groups, placement, copies, contact properties, grooms.

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
