//! Named arrays in sealed safetensors files ([`super::header`]). All arrays have 8-byte elements,
//! so they are aligned. The safetensors crate validates files that are read.

use glam::{DMat3, DVec3};
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};

use super::FileError;
use super::header::{TensorHeader, is_sealed, seal, verify};

/// Bytes of a number, and of the length of the header.
const NUMBER_BYTES: usize = 8;

/// Whether these may be the bytes of a safetensors file.
pub(super) fn is_safetensors(bytes: &[u8]) -> bool {
    bytes.get(NUMBER_BYTES) == Some(&b'{')
}

/// File being written.
pub(super) struct TensorWriter {
    header: TensorHeader,
    data: Vec<u8>,
}

impl TensorWriter {
    /// File without arrays. `format` and `version` are stored in its metadata.
    pub(super) fn new(format: &str, version: u32) -> Self {
        let version = version.to_string();
        Self {
            header: TensorHeader::sealed([("format", format), ("version", version.as_str())]),
            data: Vec::new(),
        }
    }

    pub(super) fn numbers(&mut self, name: &str, shape: &[usize], values: &[f64]) {
        let bytes = values.iter().map(|value| value.to_le_bytes());
        self.put(name, Dtype::F64, shape, bytes);
    }

    pub(super) fn integers(&mut self, name: &str, values: impl IntoIterator<Item = u64>) {
        let bytes: Vec<_> = values.into_iter().map(u64::to_le_bytes).collect();
        self.put(name, Dtype::U64, &[bytes.len()], bytes.into_iter());
    }

    pub(super) fn vectors(&mut self, name: &str, values: impl IntoIterator<Item = DVec3>) {
        let flat: Vec<f64> = values
            .into_iter()
            .flat_map(|value| value.to_array())
            .collect();
        self.numbers(name, &[flat.len() / 3, 3], &flat);
    }

    /// Matrices in row-major order, as in most languages.
    pub(super) fn blocks(&mut self, name: &str, values: impl IntoIterator<Item = DMat3>) {
        let by_rows = |block: DMat3| block.transpose().to_cols_array();
        let flat: Vec<f64> = values.into_iter().flat_map(by_rows).collect();
        self.numbers(name, &[flat.len() / 9, 3, 3], &flat);
    }

    fn put(
        &mut self,
        name: &str,
        kind: Dtype,
        shape: &[usize],
        bytes: impl Iterator<Item = [u8; NUMBER_BYTES]>,
    ) {
        let begin = self.data.len();
        self.data.extend(bytes.flatten());
        self.header
            .array(name, kind, shape, self.data.len() - begin);
    }

    pub(super) fn finish(self) -> Vec<u8> {
        let mut bytes = self.header.into_bytes();
        bytes.extend_from_slice(&self.data);
        seal(&mut bytes);
        bytes
    }
}

/// File being read.
pub(super) struct TensorReader<'a> {
    arrays: SafeTensors<'a>,
    metadata: safetensors::tensor::Metadata,
}

impl<'a> TensorReader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Result<Self, FileError> {
        let damaged =
            |error| FileError::new("the file", format!("is not a safetensors file: {error}"));
        // Files of other programs have no checksum.
        if is_sealed(bytes) {
            verify(bytes)
                .map_err(|reason| FileError::new("the file", format!("is damaged: {reason}")))?;
        }
        let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(damaged)?;
        let arrays = SafeTensors::deserialize(bytes).map_err(damaged)?;
        Ok(Self { arrays, metadata })
    }

    /// Text of the metadata.
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        let texts = self.metadata.metadata().as_ref()?;
        texts.get(key).map(String::as_str)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.arrays.tensor(name).is_ok()
    }

    /// Finite numbers of an array with the shape [any, rest…].
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

    /// Array with one finite number.
    pub(super) fn number(&self, name: &str) -> Result<f64, FileError> {
        match self.numbers(name, &[])?[..] {
            [number] => Ok(number),
            ref all => Err(FileError::new(
                name,
                format!("has {} entries, not 1", all.len()),
            )),
        }
    }

    /// Integers that fit into `usize`.
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
        if array.dtype() == kind {
            Ok(array)
        } else {
            Err(FileError::new(
                name,
                format!("holds {}, not {kind}", array.dtype()),
            ))
        }
    }
}

/// Text of a shape with any first length.
fn wanted(rest: &[usize]) -> String {
    let rest: String = rest.iter().map(|length| format!(", {length}")).collect();
    format!("[any{rest}]")
}
