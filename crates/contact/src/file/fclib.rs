//! FCLIB: the HDF5 format in which programs of computational mechanics exchange contact problems
//! (Acary, Brémond, Koziara and Pérignon 2014).
//!
//! A file contains `/fclib_local` (u = W r + q) or `/fclib_global` (M v = H r + f, u = Hᵀ v + w),
//! always in local axes (normal, tangent, tangent). Matrices are triplets, compressed columns or
//! compressed rows. Initial guesses and solutions are not read: in most files they are not valid.

mod write;

use std::collections::BTreeMap;

use glam::{DMat3, DVec3};

use super::FileError;
use super::hdf5::Hdf5;
use crate::block_rows::BlockRows;
use crate::delassus::DelassusProblem;
use crate::global::GlobalProblem;
use crate::sparse_rows::SparseRows;

/// Problem in one of the two forms of FCLIB.
#[derive(Clone, Debug, PartialEq)]
pub enum FclibProblem {
    /// Problem in the impulses.
    Local(DelassusProblem),
    /// Problem in velocities and impulses.
    Global(GlobalProblem),
}

impl FclibProblem {
    /// Reads a file.
    ///
    /// # Errors
    /// If the bytes are not an HDF5 file, an object is missing, of the wrong type or size, or not
    /// valid, or if the problem is two-dimensional or has bilateral constraints.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FileError> {
        let file = Hdf5::open(bytes)?;
        let groups = file.groups("/")?;
        let has = |name: &str| groups.iter().any(|group| group == name);
        match (has("fclib_local"), has("fclib_global")) {
            (true, _) => local(&file).map(Self::Local),
            (false, true) => global(&file).map(Self::Global),
            (false, false) => {
                let reason =
                    "has neither a group /fclib_local nor /fclib_global: not an FCLIB problem";
                Err(FileError::new("the file", reason))
            }
        }
    }

    /// Number of contacts.
    pub fn contacts(&self) -> usize {
        match self {
            Self::Local(problem) => problem.contacts(),
            Self::Global(problem) => problem.friction.len(),
        }
    }
}

fn local(file: &Hdf5) -> Result<DelassusProblem, FileError> {
    refuse_unsupported(file, "/fclib_local", &["V", "R"])?;
    let friction = friction(file, "/fclib_local/vectors/mu")?;
    let free = vectors(file, "/fclib_local/vectors/q", friction.len())?;
    let operator = matrix(file, "/fclib_local/W", [3 * friction.len(); 2])?;
    DelassusProblem::new(blocks(&operator), free, friction)
        .map_err(|error| FileError::new("/fclib_local", format!("is not valid: {error}")))
}

fn global(file: &Hdf5) -> Result<GlobalProblem, FileError> {
    refuse_unsupported(file, "/fclib_global", &["G"])?;
    let friction = friction(file, "/fclib_global/vectors/mu")?;
    let kinematic = vectors(file, "/fclib_global/vectors/w", friction.len())?;
    let force = finite(file, "/fclib_global/vectors/f")?;
    let mass = matrix(file, "/fclib_global/M", [force.len(); 2])?;
    let shape = [force.len(), 3 * friction.len()];
    let contacts = matrix(file, "/fclib_global/H", shape)?;
    GlobalProblem::new(mass, contacts, force, kinematic, friction)
        .map_err(|error| FileError::new("/fclib_global", format!("is not valid: {error}")))
}

/// Refuses bilateral constraints and two-dimensional problems.
fn refuse_unsupported(file: &Hdf5, path: &str, matrices: &[&str]) -> Result<(), FileError> {
    let groups = file.groups(path)?;
    if let Some(name) = matrices
        .iter()
        .find(|name| groups.iter().any(|it| it == *name))
    {
        let reason = format!("has bilateral constraints ({name}), which are not supported");
        return Err(FileError::new(path, reason));
    }
    let path = format!("{path}/spacedim");
    match integer(file, &path)? {
        3 => Ok(()),
        other => Err(FileError::new(
            path,
            format!("is {other}, but only problems in 3 dimensions are supported"),
        )),
    }
}

fn integer(file: &Hdf5, path: &str) -> Result<i32, FileError> {
    match file.integers(path)?[..] {
        [number] => Ok(number),
        ref all => Err(FileError::new(
            path,
            format!("has {} entries, not 1", all.len()),
        )),
    }
}

fn finite(file: &Hdf5, path: &str) -> Result<Vec<f64>, FileError> {
    let numbers = file.numbers(path)?;
    match numbers.iter().position(|number| !number.is_finite()) {
        Some(place) => Err(FileError::new(
            path,
            format!("is not finite at entry {place}"),
        )),
        None => Ok(numbers),
    }
}

fn friction(file: &Hdf5, path: &str) -> Result<Vec<f64>, FileError> {
    let friction = finite(file, path)?;
    match friction.iter().position(|mu| *mu < 0.0) {
        Some(place) => Err(FileError::new(
            path,
            format!("is negative at contact {place}"),
        )),
        None => Ok(friction),
    }
}

fn vectors(file: &Hdf5, path: &str, contacts: usize) -> Result<Vec<DVec3>, FileError> {
    let numbers = finite(file, path)?;
    if numbers.len() != 3 * contacts {
        let found = numbers.len();
        let reason = format!("has {found} entries, but {contacts} contacts in mu need three each");
        return Err(FileError::new(path, reason));
    }
    Ok(numbers.chunks_exact(3).map(DVec3::from_slice).collect())
}

/// Reads a matrix in any of the three storage formats. `shape` is that required by the vectors.
fn matrix(file: &Hdf5, path: &str, shape: [usize; 2]) -> Result<SparseRows, FileError> {
    let number = |name: &str| integer(file, &format!("{path}/{name}"));
    let found = [number("m")?, number("n")?];
    if found.map(|size| usize::try_from(size).ok()) != shape.map(Some) {
        let reason = format!("is {found:?} in size (m, n), but the vectors need {shape:?}");
        return Err(FileError::new(path, reason));
    }
    let [p, i] = ["p", "i"].map(|name| file.integers(&format!("{path}/{name}")));
    let (p, i, x) = (p?, i?, file.numbers(&format!("{path}/x"))?);
    let storage = number("nz")?;
    let (places, count) = match storage {
        0.. => triplets(&p, &i, storage as usize),
        -1 => compressed(&p, &i, shape[1]),
        -2 => compressed(&p, &i, shape[0]),
        _ => Err(format!(
            "has nz = {storage}, but must have -2, -1, 0 or more"
        )),
    }
    .map_err(|reason| FileError::new(path, reason))?;
    let x = x.get(..count).ok_or_else(|| {
        FileError::new(
            path,
            format!("has {} values in x for {count} entries", x.len()),
        )
    })?;
    if let Some(place) = x.iter().position(|value| !value.is_finite()) {
        let reason = format!("is not finite at entry {place}");
        return Err(FileError::new(format!("{path}/x"), reason));
    }
    let limits = if storage == -2 {
        shape
    } else {
        [shape[1], shape[0]]
    };
    let is_outside = |(line, place): &(i32, i32)| {
        let outside = |index: i32, limit| !usize::try_from(index).is_ok_and(|it| it < limit);
        outside(*line, limits[0]) || outside(*place, limits[1])
    };
    if let Some(entry) = places.iter().position(is_outside) {
        let reason = format!(
            "has entry {entry} outside of its {} × {}",
            shape[0], shape[1]
        );
        return Err(FileError::new(path, reason));
    }
    let entries = places
        .into_iter()
        .zip(x)
        .map(|((line, place), value)| match storage {
            -2 => (line as u32, place as u32, *value),
            _ => (place as u32, line as u32, *value),
        });
    Ok(SparseRows::new(shape, entries))
}

/// Pairs (column, row) or (row, column), and their number.
type Places = (Vec<(i32, i32)>, usize);

/// Columns and rows of a matrix in triplet format.
fn triplets(p: &[i32], i: &[i32], count: usize) -> Result<Places, String> {
    match (p.get(..count), i.get(..count)) {
        (Some(columns), Some(rows)) => {
            let pairs = columns.iter().copied().zip(rows.iter().copied());
            Ok((pairs.collect(), count))
        }
        _ => Err(format!(
            "has nz = {count}, but {} entries in p and {} in i",
            p.len(),
            i.len()
        )),
    }
}

/// Lines (columns or rows) of a compressed matrix, and the places of its entries in them.
fn compressed(p: &[i32], i: &[i32], lines: usize) -> Result<Places, String> {
    if p.len() != lines + 1 {
        return Err(format!("has {} entries in p, not {}", p.len(), lines + 1));
    }
    if p[0] != 0 || p.windows(2).any(|pair| pair[1] < pair[0]) {
        return Err("has a p that does not begin at 0 or does not ascend".into());
    }
    let count = p[lines] as usize;
    let Some(places) = i.get(..count) else {
        return Err(format!("has {count} entries by p, but {} in i", i.len()));
    };
    let mut pairs = Vec::with_capacity(count);
    for (line, ends) in p.windows(2).enumerate() {
        let range = ends[0] as usize..ends[1] as usize;
        pairs.extend(places[range].iter().map(|place| (line as i32, *place)));
    }
    Ok((pairs, count))
}

/// Converts a matrix to 3×3 blocks.
fn blocks(matrix: &SparseRows) -> BlockRows {
    let contacts = matrix.rows() / 3;
    let entries = (0..contacts).flat_map(|contact| {
        let mut blocks: BTreeMap<u32, DMat3> = BTreeMap::new();
        for axis in 0..3 {
            let (columns, values) = matrix.row(3 * contact + axis);
            for (column, value) in columns.iter().zip(values) {
                let block = blocks.entry(column / 3).or_insert(DMat3::ZERO);
                block.col_mut(*column as usize % 3)[axis] = *value;
            }
        }
        blocks
            .into_iter()
            .map(move |(column, block)| (contact as u32, column, block))
    });
    BlockRows::new(contacts, entries)
}

#[cfg(test)]
mod tests;
