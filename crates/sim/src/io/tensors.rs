//! Files of named arrays, in the safetensors format.
//!
//! Files are sealed with a checksum over all their bytes ([`reefknot_contact::file::header`]).
//! Equal contents have equal bytes: arrays are sorted by the size of their elements (which keeps
//! them aligned) and then by name, metadata by key. The safetensors crate validates files that are
//! read.

use super::IoError;
use super::atomic::write_atomically;
use reefknot_contact::file::header::{CHECKSUM_KEY, TensorHeader, seal, verify};
use safetensors::tensor::{Dtype, Metadata, SafeTensors, TensorInfo};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Named arrays with text metadata, to be written to a file or read from one.
#[derive(Clone, Debug)]
pub struct TensorFile {
    /// Path that it was read from, for messages.
    path: PathBuf,
    metadata: BTreeMap<String, String>,
    tensors: BTreeMap<String, Tensor>,
}

#[derive(Clone, Debug)]
struct Tensor {
    shape: Vec<usize>,
    values: Values,
}

#[derive(Clone, Debug)]
enum Values {
    F64(Vec<f64>),
    F32(Vec<f32>),
    I32(Vec<i32>),
    U8(Vec<u8>),
}

impl Default for TensorFile {
    fn default() -> Self {
        Self::new()
    }
}

impl TensorFile {
    /// A file without arrays, in memory.
    pub fn new() -> Self {
        Self {
            path: PathBuf::from("(not yet a file)"),
            metadata: BTreeMap::new(),
            tensors: BTreeMap::new(),
        }
    }

    /// Sets a metadata entry of the header.
    pub fn set_metadata(&mut self, key: &str, value: &str) {
        self.metadata.insert(key.to_string(), value.to_string());
    }

    /// A metadata entry of the header.
    pub fn metadata(&self, key: &str) -> Option<&str> {
        self.metadata.get(key).map(String::as_str)
    }

    /// The names of the arrays, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }

    /// Puts an array of `f64` of this shape (the last index runs fastest) under `name`, replacing
    /// an earlier one.
    ///
    /// A shape that does not fit the number of values is reported by [`TensorFile::write`].
    pub fn put_f64(&mut self, name: &str, shape: &[usize], values: Vec<f64>) {
        self.put(name, shape, Values::F64(values));
    }

    /// Like [`TensorFile::put_f64`], for `f32`.
    pub fn put_f32(&mut self, name: &str, shape: &[usize], values: Vec<f32>) {
        self.put(name, shape, Values::F32(values));
    }

    /// Like [`TensorFile::put_f64`], for `i32`.
    pub fn put_i32(&mut self, name: &str, shape: &[usize], values: Vec<i32>) {
        self.put(name, shape, Values::I32(values));
    }

    /// Like [`TensorFile::put_f64`], for `u8`.
    pub fn put_u8(&mut self, name: &str, shape: &[usize], values: Vec<u8>) {
        self.put(name, shape, Values::U8(values));
    }

    fn put(&mut self, name: &str, shape: &[usize], values: Values) {
        let shape = shape.to_vec();
        self.tensors
            .insert(name.to_string(), Tensor { shape, values });
    }

    /// Shape and values of an array of `f64`.
    ///
    /// # Errors
    /// [`IoError::Tensor`] if the file has no such array, or one of another type.
    pub fn f64(&self, name: &str) -> Result<(&[usize], &[f64]), IoError> {
        let tensor = self.get(name)?;
        match &tensor.values {
            Values::F64(values) => Ok((&tensor.shape, values)),
            other => Err(self.wrong_type(name, other, "f64")),
        }
    }

    /// Shape and values of an array of `f32`.
    ///
    /// # Errors
    /// As for [`TensorFile::f64`].
    pub fn f32(&self, name: &str) -> Result<(&[usize], &[f32]), IoError> {
        let tensor = self.get(name)?;
        match &tensor.values {
            Values::F32(values) => Ok((&tensor.shape, values)),
            other => Err(self.wrong_type(name, other, "f32")),
        }
    }

    /// Shape and values of an array of `i32`.
    ///
    /// # Errors
    /// As for [`TensorFile::f64`].
    pub fn i32(&self, name: &str) -> Result<(&[usize], &[i32]), IoError> {
        let tensor = self.get(name)?;
        match &tensor.values {
            Values::I32(values) => Ok((&tensor.shape, values)),
            other => Err(self.wrong_type(name, other, "i32")),
        }
    }

    /// Shape and values of an array of `u8`.
    ///
    /// # Errors
    /// As for [`TensorFile::f64`].
    pub fn u8(&self, name: &str) -> Result<(&[usize], &[u8]), IoError> {
        let tensor = self.get(name)?;
        match &tensor.values {
            Values::U8(values) => Ok((&tensor.shape, values)),
            other => Err(self.wrong_type(name, other, "u8")),
        }
    }

    fn get(&self, name: &str) -> Result<&Tensor, IoError> {
        self.tensors.get(name).ok_or_else(|| {
            let names: Vec<&str> = self.names().collect();
            let held = if names.is_empty() {
                "no tensors".to_string()
            } else {
                names.join(", ")
            };
            tensor_error(&self.path, name, format!("is missing; the file has {held}"))
        })
    }

    fn wrong_type(&self, name: &str, found: &Values, wanted: &str) -> IoError {
        let reason = format!(
            "has the type {}, not {wanted}; check which version of reefknot has written the file",
            found.type_name()
        );
        tensor_error(&self.path, name, reason)
    }

    /// The first array of this file that is missing in the other, or has other bits there.
    pub fn first_difference(&self, other: &TensorFile) -> Option<&str> {
        let same = |name: &String, tensor: &Tensor| {
            let other = other.tensors.get(name);
            other.is_some_and(|other| other.has_bits_of(tensor))
        };
        let mut tensors = self.tensors.iter();
        let different = tensors.find(|(name, tensor)| !same(name, tensor))?;
        Some(different.0)
    }

    /// Writes the file, replacing an earlier one atomically; `durable` makes it survive a power
    /// cut.
    ///
    /// # Errors
    /// [`IoError::Tensor`] if an array does not fit its shape, [`IoError::Write`] if the system
    /// refuses.
    pub fn write(&self, path: &Path, durable: bool) -> Result<(), IoError> {
        write_atomically(path, &self.to_bytes(path)?, durable)
    }

    /// Reads a file that [`TensorFile::write`] wrote.
    ///
    /// # Errors
    /// [`IoError::Read`] if the system refuses, [`IoError::Damaged`] if any byte is not as it was
    /// written.
    pub fn read(path: &Path) -> Result<Self, IoError> {
        let bytes = std::fs::read(path).map_err(|error| IoError::read(path, error))?;
        Self::from_bytes(&bytes, path).map_err(|reason| IoError::damaged(path, reason))
    }

    fn to_bytes(&self, path: &Path) -> Result<Vec<u8>, IoError> {
        let mut ordered: Vec<(&String, &Tensor)> = self.tensors.iter().collect();
        ordered.sort_by_key(|(_, tensor)| std::cmp::Reverse(tensor.values.element_size()));
        let metadata = self.metadata.iter().filter(|(key, _)| *key != CHECKSUM_KEY);
        let mut header = TensorHeader::sealed(metadata.map(|(k, v)| (k.as_str(), v.as_str())));
        for (name, tensor) in &ordered {
            let size = tensor.checked_size();
            let size = size.map_err(|reason| tensor_error(path, name, reason))?;
            if name.as_str() == "__metadata__" {
                let reason = "is a reserved name of the format; choose another one".to_owned();
                return Err(tensor_error(path, name, reason));
            }
            header.array(name, tensor.values.dtype(), &tensor.shape, size);
        }
        let mut bytes = header.into_bytes();
        for (_, tensor) in &ordered {
            tensor.values.append_to(&mut bytes);
        }
        seal(&mut bytes);
        Ok(bytes)
    }

    fn from_bytes(bytes: &[u8], path: &Path) -> Result<Self, String> {
        let (parsed, data) = verified(bytes)?;
        let mut tensors = BTreeMap::new();
        for (name, information) in parsed.tensors() {
            let tensor = Tensor::from_data(information, data)
                .map_err(|reason| format!("tensor `{name}` {reason}"))?;
            tensors.insert(name, tensor);
        }
        Ok(Self {
            path: path.to_path_buf(),
            metadata: texts(&parsed),
            tensors,
        })
    }
}

impl Tensor {
    fn has_bits_of(&self, other: &Tensor) -> bool {
        let bytes = |tensor: &Tensor| {
            let mut bytes = Vec::new();
            tensor.values.append_to(&mut bytes);
            bytes
        };
        self.shape == other.shape
            && self.values.dtype() == other.values.dtype()
            && bytes(self) == bytes(other)
    }

    fn checked_size(&self) -> Result<usize, String> {
        let count = self.values.count();
        if self
            .shape
            .iter()
            .try_fold(1_usize, |product, &length| product.checked_mul(length))
            != Some(count)
        {
            return Err(format!(
                "has {count} values, which do not fit the shape {:?}",
                self.shape
            ));
        }
        Ok(count * self.values.element_size())
    }

    fn from_data(information: &TensorInfo, data: &[u8]) -> Result<Self, String> {
        let (begin, end) = information.data_offsets;
        let bytes = data
            .get(begin..end)
            .ok_or("reaches beyond the end of the file")?;
        let values = match information.dtype {
            Dtype::F64 => Values::F64(decode(bytes, f64::from_le_bytes)),
            Dtype::F32 => Values::F32(decode(bytes, f32::from_le_bytes)),
            Dtype::I32 => Values::I32(decode(bytes, i32::from_le_bytes)),
            Dtype::U8 => Values::U8(bytes.to_vec()),
            other => return Err(format!("has the type {other}, which reefknot does not use")),
        };
        Ok(Self {
            shape: information.shape.clone(),
            values,
        })
    }
}

impl Values {
    fn dtype(&self) -> Dtype {
        match self {
            Self::F64(_) => Dtype::F64,
            Self::F32(_) => Dtype::F32,
            Self::I32(_) => Dtype::I32,
            Self::U8(_) => Dtype::U8,
        }
    }

    fn type_name(&self) -> String {
        self.dtype().to_string().to_lowercase()
    }

    fn element_size(&self) -> usize {
        self.dtype().bitsize() / 8
    }

    fn count(&self) -> usize {
        match self {
            Self::F64(values) => values.len(),
            Self::F32(values) => values.len(),
            Self::I32(values) => values.len(),
            Self::U8(values) => values.len(),
        }
    }

    fn append_to(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::F64(values) => values
                .iter()
                .for_each(|value| bytes.extend_from_slice(&value.to_le_bytes())),
            Self::F32(values) => values
                .iter()
                .for_each(|value| bytes.extend_from_slice(&value.to_le_bytes())),
            Self::I32(values) => values
                .iter()
                .for_each(|value| bytes.extend_from_slice(&value.to_le_bytes())),
            Self::U8(values) => bytes.extend_from_slice(values),
        }
    }
}

fn decode<const N: usize, T>(bytes: &[u8], from_le_bytes: fn([u8; N]) -> T) -> Vec<T> {
    bytes
        .as_chunks::<N>()
        .0
        .iter()
        .map(|&chunk| from_le_bytes(chunk))
        .collect()
}

/// Header and data of a file with a correct checksum. The checksum is tested before the header is
/// parsed, so that damage is reported as damage.
pub(super) fn verified(bytes: &[u8]) -> Result<(Metadata, &[u8]), String> {
    let data = verify(bytes)?;
    let (_, parsed) = SafeTensors::read_metadata(bytes).map_err(|error| error.to_string())?;
    Ok((parsed, data))
}

/// Metadata entries of a header, without the checksum.
pub(super) fn texts(parsed: &Metadata) -> BTreeMap<String, String> {
    let texts = parsed.metadata().iter().flatten();
    texts
        .filter(|(key, _)| *key != CHECKSUM_KEY)
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

fn tensor_error(path: &Path, name: &str, reason: String) -> IoError {
    IoError::Tensor {
        path: path.to_path_buf(),
        name: name.to_string(),
        reason,
    }
}

#[cfg(test)]
mod tests;
