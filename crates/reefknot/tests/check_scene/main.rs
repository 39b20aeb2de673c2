//! Problems and findings of scenes name object, element, place and remedy; valid scenes have none.

#[cfg(test)]
mod common;
#[cfg(test)]
mod holds;
#[cfg(test)]
mod meshes;
#[cfg(test)]
mod objects;
#[cfg(test)]
mod starts;
