//! Solutions in safetensors files: `r` and `u` (contacts × 3), and `v` (unknowns) if the problem
//! has velocities.
//!
//! For FCLIB problems, r and u are in the local axes of the file (normal, tangent, tangent); for
//! captured problems, they are in world axes. A solution of another solver needs only `r` to be
//! graded.

use glam::DVec3;

use super::FileError;
use super::tensors::{TensorReader, TensorWriter};

const FORMAT: &str = "reefknot-solution";
const VERSION: u32 = 1;

/// Complete solution of a problem.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// Impulse r of every contact.
    pub impulses: Vec<DVec3>,
    /// Relative velocity u of every contact.
    pub relative_velocities: Vec<DVec3>,
    /// Velocities v, if the problem has them.
    pub velocities: Option<Vec<f64>>,
}

/// Solution to be graded. Its relative velocities are computed from the problem.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SubmittedSolution {
    /// Impulse r of every contact.
    pub impulses: Vec<DVec3>,
    /// Velocities v, if given.
    pub velocities: Option<Vec<f64>>,
}

impl Answer {
    /// Bytes of a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut file = TensorWriter::new(FORMAT, VERSION);
        file.vectors("r", self.impulses.iter().copied());
        file.vectors("u", self.relative_velocities.iter().copied());
        if let Some(velocities) = &self.velocities {
            file.numbers("v", &[velocities.len()], velocities);
        }
        file.finish()
    }
}

impl SubmittedSolution {
    /// Solution without velocities.
    pub fn from_impulses(impulses: Vec<DVec3>) -> Self {
        Self {
            impulses,
            velocities: None,
        }
    }

    /// Reads `r`, and `v` if it is present. `unknowns` is 0 for a problem without velocities.
    ///
    /// # Errors
    /// If the bytes are not a safetensors file, `r` is missing, or an array has the wrong type or
    /// shape or is not finite.
    pub fn from_bytes(bytes: &[u8], contacts: usize, unknowns: usize) -> Result<Self, FileError> {
        let file = TensorReader::new(bytes)?;
        let impulses = file.vectors("r")?;
        if impulses.len() != contacts {
            let found = [impulses.len(), 3];
            return Err(FileError::new("r", wrong_shape(&found, &[contacts, 3])));
        }
        let velocities = if unknowns > 0 && file.has("v") {
            Some(file.numbers("v", &[])?)
        } else {
            None
        };
        match &velocities {
            Some(v) if v.len() != unknowns => {
                Err(FileError::new("v", wrong_shape(&[v.len()], &[unknowns])))
            }
            _ => Ok(Self {
                impulses,
                velocities,
            }),
        }
    }
}

fn wrong_shape(found: &[usize], wanted: &[usize]) -> String {
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
    fn files_preserve_all_bits() {
        let answer = answer();
        let read = SubmittedSolution::from_bytes(&answer.to_bytes(), 2, 4).unwrap();
        assert_eq!(read.impulses, answer.impulses);
        assert_eq!(read.velocities, answer.velocities);
        // The velocities are ignored for a problem without velocities.
        let read = SubmittedSolution::from_bytes(&answer.to_bytes(), 2, 0).unwrap();
        assert_eq!(read.velocities, None);
    }

    #[test]
    fn wrong_shapes_are_reported() {
        let bytes = answer().to_bytes();
        let message = |contacts, unknowns| {
            let read = SubmittedSolution::from_bytes(&bytes, contacts, unknowns);
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
        let mut flat = TensorWriter::new("x", 1);
        flat.numbers("r", &[6], &[0.0; 6]);
        let read = SubmittedSolution::from_bytes(&flat.finish(), 2, 0).unwrap_err();
        assert_eq!(read.to_string(), "r has the shape [6], not [any, 3]");
    }

    #[test]
    fn files_without_a_valid_r_are_refused() {
        let message = |bytes: &[u8]| {
            SubmittedSolution::from_bytes(bytes, 1, 0)
                .unwrap_err()
                .to_string()
        };
        assert!(message(b"").contains("not a safetensors file"));
        let empty = TensorWriter::new("x", 1).finish();
        assert_eq!(message(&empty), "r is not in the file");
        let mut integers = TensorWriter::new("x", 1);
        integers.integers("r", [1, 2, 3]);
        assert_eq!(message(&integers.finish()), "r holds U64, not F64");
        let mut nan = TensorWriter::new("x", 1);
        nan.vectors("r", [DVec3::NAN]);
        assert_eq!(message(&nan.finish()), "r is not finite at entry 0");
    }
}
