//! Files of named arrays, in the safetensors format.
//!
//! The format is 8 bytes with the length of a JSON header (little endian), the header, and the
//! arrays one after the other, so that any language reads it in ten lines. Two things are added
//! within its rules:
//!
//! - The header starts with the metadata entry `checksum`: xxh3-128 in hexadecimal over the *whole
//!   file*, with zeros in place of its own 32 digits. It covers the header as well as the data,
//!   since a flipped bit in a name, a type or a shape does as much harm as one in a number.
//! - The same contents give the same bytes: arrays are sorted by the size of their elements (which
//!   keeps them aligned) and then by name, metadata by key. The safetensors crate writes its
//!   metadata in the order of a hash map, so the header is written here; the crate validates what
//!   is read.

use super::IoError;
use super::atomic::write_atomically;
use safetensors::tensor::{Dtype, Metadata, SafeTensors, TensorInfo};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::Xxh3;

/// Metadata key of the checksum; a value that a user sets under this key is not written.
pub const CHECKSUM_KEY: &str = "checksum";

/// Every header starts with these bytes and the digits, so the digits are found without trusting
/// the header.
const HEADER_START: &str = "{\"__metadata__\":{\"checksum\":\"";
const CHECKSUM_ZEROS: &str = "00000000000000000000000000000000";
pub(super) const LENGTH_BYTES: usize = 8;
const CHECKSUM_BEGIN: usize = LENGTH_BYTES + HEADER_START.len();
const CHECKSUM_END: usize = CHECKSUM_BEGIN + CHECKSUM_ZEROS.len();

/// Named arrays with text metadata, to be written to a file or read from one.
#[derive(Clone, Debug)]
pub struct TensorFile {
    /// Where it was read from, for the messages of the getters.
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

    /// Sets a text of the header.
    pub fn set_metadata(&mut self, key: &str, value: &str) {
        self.metadata.insert(key.to_string(), value.to_string());
    }

    /// A text of the header.
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
                "nothing".to_string()
            } else {
                names.join(", ")
            };
            tensor_error(
                &self.path,
                name,
                format!("is not there; the file holds {held}"),
            )
        })
    }

    fn wrong_type(&self, name: &str, found: &Values, wanted: &str) -> IoError {
        let reason = format!(
            "holds {}, not {wanted}; was it written by another version?",
            found.type_name()
        );
        tensor_error(&self.path, name, reason)
    }

    /// The first array of this file that is not in the other, with the same bits.
    pub fn first_difference(&self, other: &TensorFile) -> Option<&str> {
        let same = |name: &String, tensor: &Tensor| {
            let other = other.tensors.get(name);
            other.is_some_and(|other| other.has_bits_of(tensor))
        };
        let mut tensors = self.tensors.iter();
        let different = tensors.find(|(name, tensor)| !same(name, tensor))?;
        Some(different.0)
    }

    /// Writes the file, replacing an earlier one in one instant; `durable` makes it survive a power
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
        let mut header = format!("{HEADER_START}{CHECKSUM_ZEROS}\"");
        for (key, value) in self.metadata.iter().filter(|(key, _)| *key != CHECKSUM_KEY) {
            header += &format!(",{}:{}", json(key), json(value));
        }
        header.push('}');
        let mut data_length = 0;
        for (name, tensor) in &ordered {
            let end = data_length
                + tensor
                    .checked_size()
                    .map_err(|reason| tensor_error(path, name, reason))?;
            if name.as_str() == "__metadata__" {
                return Err(tensor_error(
                    path,
                    name,
                    "is a name that the format keeps for itself".to_string(),
                ));
            }
            let (dtype, shape) = (tensor.values.dtype(), &tensor.shape);
            header += &format!(
                ",{}:{{\"dtype\":\"{dtype}\",\"shape\":{shape:?},",
                json(name)
            );
            header += &format!("\"data_offsets\":[{data_length},{end}]}}");
            data_length = end;
        }
        header.push('}');
        // Spaces up to a multiple of 8 keep the arrays aligned for readers that map the file into
        // memory.
        let header_length = header.len().next_multiple_of(LENGTH_BYTES);
        let mut bytes = Vec::with_capacity(LENGTH_BYTES + header_length + data_length);
        bytes.extend_from_slice(&(header_length as u64).to_le_bytes());
        bytes.extend_from_slice(header.as_bytes());
        bytes.resize(LENGTH_BYTES + header_length, b' ');
        for (_, tensor) in &ordered {
            tensor.values.append_to(&mut bytes);
        }
        let digits = checksum(&bytes);
        bytes[CHECKSUM_BEGIN..CHECKSUM_END].copy_from_slice(digits.as_bytes());
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
                "has {count} values, which do not fill the shape {:?}",
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

/// Header and data of a file whose bytes are those that were written. The checksum comes before the header is
/// believed, so that damage is reported as damage.
pub(super) fn verified(bytes: &[u8]) -> Result<(Metadata, &[u8]), String> {
    let header = header_of(bytes)?;
    if !header.starts_with(HEADER_START.as_bytes()) || bytes.len() < CHECKSUM_END {
        return Err(
            "its header does not start with a checksum, as one of reefknot's files would"
                .to_string(),
        );
    }
    if bytes[CHECKSUM_BEGIN..CHECKSUM_END] != *checksum(bytes).as_bytes() {
        let found = bytes.len();
        return Err(match length_by_header(header) {
            Some(length) if length > found => {
                format!("only {found} of its {length} bytes are there")
            }
            _ => format!("its {found} bytes do not agree with their checksum"),
        });
    }
    let (_, parsed) = SafeTensors::read_metadata(bytes).map_err(|error| error.to_string())?;
    Ok((parsed, &bytes[LENGTH_BYTES + header.len()..]))
}

/// The header's bytes, if the file is long enough to hold a header of the length it claims.
fn header_of(bytes: &[u8]) -> Result<&[u8], String> {
    let found = bytes.len();
    let Some((length, rest)) = bytes.split_first_chunk::<LENGTH_BYTES>() else {
        return Err(format!(
            "only {found} of at least {LENGTH_BYTES} bytes are there"
        ));
    };
    let length = u64::from_le_bytes(*length);
    usize::try_from(length)
        .ok()
        .and_then(|length| rest.get(..length))
        .ok_or_else(|| format!("it has {found} bytes, but its header alone claims {length}"))
}

/// The length of the whole file that its header promises; only a hint, for the message about a cut
/// file.
fn length_by_header(header: &[u8]) -> Option<usize> {
    let parsed: BTreeMap<String, serde_json::Value> = serde_json::from_slice(header).ok()?;
    let ends = parsed
        .values()
        .filter_map(|tensor| tensor.get("data_offsets")?.get(1)?.as_u64());
    let data_length = usize::try_from(ends.max()?).ok()?;
    data_length.checked_add(LENGTH_BYTES + header.len())
}

/// Digits of xxh3-128 over the file with zeros in their own place.
fn checksum(bytes: &[u8]) -> String {
    let mut hasher = Xxh3::new();
    hasher.update(&bytes[..CHECKSUM_BEGIN]);
    hasher.update(CHECKSUM_ZEROS.as_bytes());
    hasher.update(&bytes[CHECKSUM_END..]);
    format!("{:032x}", hasher.digest128())
}

/// The texts of a header, without the checksum.
pub(super) fn texts(parsed: &Metadata) -> BTreeMap<String, String> {
    let texts = parsed.metadata().iter().flatten();
    texts
        .filter(|(key, _)| *key != CHECKSUM_KEY)
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

pub(super) fn json(text: &str) -> String {
    serde_json::Value::from(text).to_string()
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
