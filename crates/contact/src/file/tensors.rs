//! Named arrays in the safetensors format: 8 bytes with the length of a JSON header, the header, the arrays.
//!
//! All arrays are of 8-byte numbers, floating-point or unsigned, so that they lie aligned one after the other. The header is
//! written here, in the order of writing, because the crate keeps its metadata in a hash map: the same contents give
//! the same bytes. What is read is validated by the crate.

use glam::{DMat3, DVec3};
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};

use super::FileError;

const NUMBER: usize = 8;

/// Whether these may be the bytes of a safetensors file.
pub(super) fn is_safetensors(bytes: &[u8]) -> bool {
    bytes.get(NUMBER) == Some(&b'{')
}

/// A file being put together.
pub(super) struct Writer {
    header: String,
    data: Vec<u8>,
}

impl Writer {
    /// A file without arrays, with the name and version of what it holds.
    pub(super) fn new(format: &str, version: u32) -> Self {
        let header =
            format!("{{\"__metadata__\":{{\"format\":\"{format}\",\"version\":\"{version}\"}}");
        let data = Vec::new();
        Self { header, data }
    }

    pub(super) fn numbers(&mut self, name: &str, shape: &[usize], values: &[f64]) {
        let bytes = values.iter().map(|value| value.to_le_bytes());
        self.put(name, "F64", shape, bytes);
    }

    pub(super) fn integers(&mut self, name: &str, values: impl IntoIterator<Item = u64>) {
        let bytes: Vec<_> = values.into_iter().map(u64::to_le_bytes).collect();
        self.put(name, "U64", &[bytes.len()], bytes.into_iter());
    }

    pub(super) fn vectors(&mut self, name: &str, values: impl IntoIterator<Item = DVec3>) {
        let flat: Vec<f64> = values
            .into_iter()
            .flat_map(|value| value.to_array())
            .collect();
        self.numbers(name, &[flat.len() / 3, 3], &flat);
    }

    /// Matrices by rows, as most languages have them.
    pub(super) fn blocks(&mut self, name: &str, values: impl IntoIterator<Item = DMat3>) {
        let by_rows = |block: DMat3| block.transpose().to_cols_array();
        let flat: Vec<f64> = values.into_iter().flat_map(by_rows).collect();
        self.numbers(name, &[flat.len() / 9, 3, 3], &flat);
    }

    fn put(
        &mut self,
        name: &str,
        kind: &str,
        shape: &[usize],
        bytes: impl Iterator<Item = [u8; NUMBER]>,
    ) {
        let begin = self.data.len();
        self.data.extend(bytes.flatten());
        let end = self.data.len();
        self.header += &format!(
            ",\"{name}\":{{\"dtype\":\"{kind}\",\"shape\":{shape:?},\"data_offsets\":[{begin},{end}]}}"
        );
    }

    pub(super) fn finish(mut self) -> Vec<u8> {
        self.header.push('}');
        let length = self.header.len().next_multiple_of(NUMBER);
        let mut bytes = (length as u64).to_le_bytes().to_vec();
        bytes.extend_from_slice(self.header.as_bytes());
        bytes.resize(NUMBER + length, b' ');
        bytes.extend_from_slice(&self.data);
        bytes
    }
}

/// A file being read.
pub(super) struct Reader<'a> {
    arrays: SafeTensors<'a>,
    metadata: safetensors::tensor::Metadata,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Result<Self, FileError> {
        let damaged =
            |error| FileError::new("the file", format!("is no safetensors file: {error}"));
        let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(damaged)?;
        let arrays = SafeTensors::deserialize(bytes).map_err(damaged)?;
        Ok(Self { arrays, metadata })
    }

    /// A text of the header.
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        let texts = self.metadata.metadata().as_ref()?;
        texts.get(key).map(String::as_str)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.arrays.tensor(name).is_ok()
    }

    /// Finite numbers of the shape (any, rest…).
    pub(super) fn numbers(&self, name: &str, rest: &[usize]) -> Result<Vec<f64>, FileError> {
        let array = self.array(name, Dtype::F64)?;
        if array.shape().len() != rest.len() + 1 || array.shape()[1..] != *rest {
            let reason = format!("has the shape {:?}, not {}", array.shape(), wanted(rest));
            return Err(FileError::new(name, reason));
        }
        let (numbers, _) = array.data().as_chunks();
        let numbers: Vec<f64> = numbers.iter().map(|it| f64::from_le_bytes(*it)).collect();
        match numbers.iter().position(|number| !number.is_finite()) {
            Some(place) => Err(FileError::new(
                name,
                format!("is not finite at entry {place}"),
            )),
            None => Ok(numbers),
        }
    }

    pub(super) fn vectors(&self, name: &str) -> Result<Vec<DVec3>, FileError> {
        let flat = self.numbers(name, &[3])?;
        Ok(flat.chunks_exact(3).map(DVec3::from_slice).collect())
    }

    pub(super) fn blocks(&self, name: &str) -> Result<Vec<DMat3>, FileError> {
        let flat = self.numbers(name, &[3, 3])?;
        let blocks = flat.chunks_exact(9);
        Ok(blocks
            .map(|rows| DMat3::from_cols_slice(rows).transpose())
            .collect())
    }

    /// One finite number.
    pub(super) fn number(&self, name: &str) -> Result<f64, FileError> {
        match self.numbers(name, &[])?[..] {
            [number] => Ok(number),
            ref all => Err(FileError::new(
                name,
                format!("has {} entries, not 1", all.len()),
            )),
        }
    }

    /// Integers that fit into the memory of this machine.
    pub(super) fn integers(&self, name: &str) -> Result<Vec<usize>, FileError> {
        let integers = self.identifiers(name)?;
        let small = integers.into_iter().map(usize::try_from);
        small
            .collect::<Result<_, _>>()
            .map_err(|_| FileError::new(name, "has an entry that is too large"))
    }

    /// Integers of any size.
    pub(super) fn identifiers(&self, name: &str) -> Result<Vec<u64>, FileError> {
        let array = self.array(name, Dtype::U64)?;
        if array.shape().len() != 1 {
            let reason = format!("has the shape {:?}, not {}", array.shape(), wanted(&[]));
            return Err(FileError::new(name, reason));
        }
        let (integers, _) = array.data().as_chunks();
        Ok(integers.iter().map(|it| u64::from_le_bytes(*it)).collect())
    }

    fn array(&self, name: &str, kind: Dtype) -> Result<TensorView<'a>, FileError> {
        let array = self.arrays.tensor(name);
        let array = array.map_err(|_| FileError::new(name, "is not in the file"))?;
        match array.dtype() == kind {
            true => Ok(array),
            false => Err(FileError::new(
                name,
                format!("holds {}, not {kind}", array.dtype()),
            )),
        }
    }
}

/// A shape whose first length is free.
fn wanted(rest: &[usize]) -> String {
    let rest: String = rest.iter().map(|length| format!(", {length}")).collect();
    format!("[any{rest}]")
}
