//! Header of a safetensors file: 8 bytes with the length of a JSON text, the text, spaces up to a
//! multiple of 8. The arrays follow.
//!
//! The same contents have the same bytes: metadata and arrays stay in the order given. (The
//! safetensors crate keeps metadata in a hash map.) A *sealed* file begins its metadata with
//! `checksum`: xxh3-128 in hexadecimal over the whole file, with zeros in place of its own digits.
//! It covers names, types and shapes as well as numbers.

use std::collections::BTreeMap;

use safetensors::tensor::Dtype;
use serde_json::Value;
use xxhash_rust::xxh3::Xxh3;

/// Metadata key of the checksum.
pub const CHECKSUM_KEY: &str = "checksum";

/// Sealed files begin with these bytes, so the digits are found without trusting the header.
const SEALED_START: &str = "{\"__metadata__\":{\"checksum\":\"";
const ZEROS: &str = "00000000000000000000000000000000";
const LENGTH_BYTES: usize = 8;
const DIGITS_BEGIN: usize = LENGTH_BYTES + SEALED_START.len();
const DIGITS_END: usize = DIGITS_BEGIN + ZEROS.len();

/// A header under construction.
#[derive(Clone, Debug)]
pub struct TensorHeader {
    text: String,
    data_length: usize,
}

impl TensorHeader {
    /// A header with this metadata and no arrays.
    pub fn new<'t>(metadata: impl IntoIterator<Item = (&'t str, &'t str)>) -> TensorHeader {
        let entries = metadata.into_iter();
        let entries: Vec<String> = entries
            .map(|(key, value)| format!("{}:{}", quoted(key), quoted(value)))
            .collect();
        TensorHeader {
            text: format!("{{\"__metadata__\":{{{}}}", entries.join(",")),
            data_length: 0,
        }
    }

    /// A header with room for a checksum, which [`seal`] computes.
    pub fn sealed<'t>(metadata: impl IntoIterator<Item = (&'t str, &'t str)>) -> TensorHeader {
        TensorHeader::new([(CHECKSUM_KEY, ZEROS)].into_iter().chain(metadata))
    }

    /// Adds an array that takes `length` bytes, behind those before it.
    pub fn array(&mut self, name: &str, kind: Dtype, shape: &[usize], length: usize) {
        let (begin, end) = (self.data_length, self.data_length + length);
        let name = quoted(name);
        self.text += &format!(
            ",{name}:{{\"dtype\":\"{kind}\",\"shape\":{shape:?},\"data_offsets\":[{begin},{end}]}}"
        );
        self.data_length = end;
    }

    /// Bytes of the header, with capacity for the arrays.
    pub fn into_bytes(self) -> Vec<u8> {
        let text = self.text + "}";
        // The padding keeps arrays aligned for readers that map the file into memory.
        let length = text.len().next_multiple_of(LENGTH_BYTES);
        let mut bytes = Vec::with_capacity(LENGTH_BYTES + length + self.data_length);
        bytes.extend_from_slice(&(length as u64).to_le_bytes());
        bytes.extend_from_slice(text.as_bytes());
        bytes.resize(LENGTH_BYTES + length, b' ');
        bytes
    }
}

/// Writes the checksum of a file into it, if it has a [`TensorHeader::sealed`] header.
pub fn seal(bytes: &mut [u8]) {
    if is_sealed(bytes) {
        let digits = checksum(bytes);
        bytes[DIGITS_BEGIN..DIGITS_END].copy_from_slice(digits.as_bytes());
    }
}

/// Whether the file begins as a sealed one.
pub fn is_sealed(bytes: &[u8]) -> bool {
    bytes.len() >= DIGITS_END && bytes[LENGTH_BYTES..].starts_with(SEALED_START.as_bytes())
}

/// Compares a sealed file with its checksum, and returns the bytes behind the header.
///
/// # Errors
/// A sentence on the damage.
pub fn verify(bytes: &[u8]) -> Result<&[u8], String> {
    let header = header_of(bytes)?;
    if !is_sealed(bytes) {
        return Err("its header does not start with a checksum".to_owned());
    }
    if bytes[DIGITS_BEGIN..DIGITS_END] != *checksum(bytes).as_bytes() {
        let found = bytes.len();
        return Err(match promised_length(header) {
            Some(length) if length > found => {
                format!("only {found} of its {length} bytes are there")
            }
            _ => format!("its {found} bytes do not agree with their checksum"),
        });
    }
    Ok(&bytes[LENGTH_BYTES + header.len()..])
}

fn checksum(bytes: &[u8]) -> String {
    let mut hasher = Xxh3::new();
    hasher.update(&bytes[..DIGITS_BEGIN]);
    hasher.update(ZEROS.as_bytes());
    hasher.update(&bytes[DIGITS_END..]);
    format!("{:032x}", hasher.digest128())
}

/// Text of the header, if the file is long enough for the length it states.
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

/// Length of the whole file by its header: a hint, for the message about a cut file.
fn promised_length(header: &[u8]) -> Option<usize> {
    let parsed: BTreeMap<String, Value> = serde_json::from_slice(header).ok()?;
    let ends = parsed
        .values()
        .filter_map(|tensor| tensor.get("data_offsets")?.get(1)?.as_u64());
    let data = usize::try_from(ends.max()?).ok()?;
    data.checked_add(LENGTH_BYTES + header.len())
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> Vec<u8> {
        let mut header = TensorHeader::sealed([("format", "a \"b\"")]);
        header.array("x", Dtype::F64, &[2], 16);
        header.array("y", Dtype::U8, &[3, 1], 3);
        let mut bytes = header.into_bytes();
        bytes.extend_from_slice(&[1; 19]);
        seal(&mut bytes);
        bytes
    }

    #[test]
    fn headers_are_valid_for_the_safetensors_crate() {
        let bytes = file();
        let (length, parsed) = safetensors::SafeTensors::read_metadata(&bytes).unwrap();
        assert_eq!(length % 8, 0);
        assert_eq!(parsed.tensors()["y"].data_offsets, (16, 19));
        assert_eq!(parsed.metadata().as_ref().unwrap()["format"], "a \"b\"");
        assert_eq!(verify(&bytes).unwrap(), [1; 19]);
    }

    #[test]
    fn every_changed_byte_and_every_cut_is_found() {
        let whole = file();
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            assert!(verify(&changed).is_err(), "byte {at}");
            assert!(verify(&whole[..at]).is_err(), "cut at {at}");
        }
    }
}
