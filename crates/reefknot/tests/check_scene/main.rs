//! What is wrong with a scene is said with object, element, place and what to do; what is right is left alone.

#[cfg(test)]
mod common;
#[cfg(test)]
mod holds;
#[cfg(test)]
mod meshes;
#[cfg(test)]
mod objects;
