//! Answers to problems, in safetensors files: `r` and `u` (contacts × 3), `v` (unknowns) where there is one.
//!
//! Of FCLIB problems r and u are in the local axes of the file (normal, tangent, tangent), of captured problems in world axes.
//! Whoever has another solver writes `r`, and has it graded.

use glam::DVec3;

use super::FileError;
use super::tensors::{Reader, Writer};

const FORMAT: &str = "reefknot-solution";
const VERSION: u32 = 1;

/// An answer to a problem.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// r of every contact.
    pub impulses: Vec<DVec3>,
    /// u of every contact.
    pub relative_velocities: Vec<DVec3>,
    /// v, for problems that have one.
    pub velocities: Option<Vec<f64>>,
}

/// What others say of a problem: u follows from the rest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Claim {
    /// r of every contact.
    pub impulses: Vec<DVec3>,
    /// v, if they gave it.
    pub velocities: Option<Vec<f64>>,
}

impl Answer {
    /// The bytes of a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut file = Writer::new(FORMAT, VERSION);
        file.vectors("r", self.impulses.iter().copied());
        file.vectors("u", self.relative_velocities.iter().copied());
        if let Some(velocities) = &self.velocities {
            file.numbers("v", &[velocities.len()], velocities);
        }
        file.finish()
    }
}

impl Claim {
    /// Of impulses alone.
    pub fn of(impulses: Vec<DVec3>) -> Self {
        Self {
            impulses,
            velocities: None,
        }
    }

    /// Reads `r`, and `v` if it is there, for a problem with so many contacts and unknowns; 0 if it has no v.
    ///
    /// # Errors
    /// If the bytes are no safetensors file, `r` is missing, or an array is of another type or shape or not finite.
    pub fn from_bytes(bytes: &[u8], contacts: usize, unknowns: usize) -> Result<Self, FileError> {
        let file = Reader::new(bytes)?;
        let impulses = file.vectors("r")?;
        if impulses.len() != contacts {
            let found = [impulses.len(), 3];
            return Err(FileError::new("r", of_shape(&found, &[contacts, 3])));
        }
        let velocities = match unknowns > 0 && file.has("v") {
            true => Some(file.numbers("v", &[])?),
            false => None,
        };
        match &velocities {
            Some(v) if v.len() != unknowns => {
                Err(FileError::new("v", of_shape(&[v.len()], &[unknowns])))
            }
            _ => Ok(Self {
                impulses,
                velocities,
            }),
        }
    }
}

fn of_shape(found: &[usize], wanted: &[usize]) -> String {
    format!("has the shape {found:?}, but the problem needs {wanted:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer() -> Answer {
        Answer {
            impulses: vec![DVec3::new(1.0, -0.5, 1e-300), DVec3::ZERO],
            relative_velocities: vec![DVec3::ZERO, DVec3::X],
            velocities: Some(vec![0.1, 0.2, -0.3, 0.4]),
        }
    }

    #[test]
    fn what_is_written_is_read_to_the_bit() {
        let answer = answer();
        let read = Claim::from_bytes(&answer.to_bytes(), 2, 4).unwrap();
        assert_eq!(read.impulses, answer.impulses);
        assert_eq!(read.velocities, answer.velocities);
        // A problem without v has no use for one.
        let read = Claim::from_bytes(&answer.to_bytes(), 2, 0).unwrap();
        assert_eq!(read.velocities, None);
    }

    #[test]
    fn other_shapes_are_named() {
        let bytes = answer().to_bytes();
        let message = |contacts, unknowns| {
            let read = Claim::from_bytes(&bytes, contacts, unknowns);
            read.unwrap_err().to_string()
        };
        assert_eq!(
            message(5, 4),
            "r has the shape [2, 3], but the problem needs [5, 3]"
        );
        assert_eq!(
            message(2, 9),
            "v has the shape [4], but the problem needs [9]"
        );
        let mut flat = Writer::new("x", 1);
        flat.numbers("r", &[6], &[0.0; 6]);
        let read = Claim::from_bytes(&flat.finish(), 2, 0).unwrap_err();
        assert_eq!(read.to_string(), "r has the shape [6], not [any, 3]");
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        let message = |bytes: &[u8]| Claim::from_bytes(bytes, 1, 0).unwrap_err().to_string();
        assert!(message(b"").contains("no safetensors file"));
        let empty = Writer::new("x", 1).finish();
        assert_eq!(message(&empty), "r is not in the file");
        let mut integers = Writer::new("x", 1);
        integers.integers("r", [1, 2, 3]);
        assert_eq!(message(&integers.finish()), "r holds U64, not F64");
        let mut nan = Writer::new("x", 1);
        nan.vectors("r", [DVec3::NAN]);
        assert_eq!(message(&nan.finish()), "r is not finite at entry 0");
    }
}
