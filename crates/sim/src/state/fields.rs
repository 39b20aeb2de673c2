//! The list of all fields of a state, used by hashes, checkpoints and comparisons.

use glam::DVec3;
use reefknot_contact::problem::{ContactMemory, ContactState};
use xxhash_rust::xxh3::Xxh3;

use super::State;

/// Values of a field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Array {
    /// 3-vectors.
    Vectors(Vec<DVec3>),
    /// Numbers.
    Numbers(Vec<f64>),
    /// Ids.
    Ids(Vec<u64>),
    /// Numbers of enum variants.
    Bytes(Vec<u8>),
}

/// Number of values of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    /// One per node.
    Nodes,
    /// One per rod edge.
    Edges,
    /// Any number.
    Any,
    /// The same number as a field before it.
    As(&'static str),
}

/// A field of a state.
pub(crate) struct Field {
    /// Name in files.
    pub(crate) name: &'static str,
    pub(crate) length: Length,
    pub(crate) get: fn(&State) -> Array,
    /// Sets the field, or returns the reason why the values are invalid.
    pub(crate) set: fn(&mut State, Array) -> Result<(), &'static str>,
}

/// Error of an array whose type is not that of the field.
const WRONG_TYPE: &str = "values of the wrong type";

/// A field that is a `Vec` of the state.
macro_rules! list {
    ($name:literal, $length:expr, $kind:ident, $($path:ident).+) => {
        Field {
            name: $name,
            length: $length,
            get: |state| Array::$kind(state.$($path).+.clone()),
            set: |state, array| match array {
                Array::$kind(values) => {
                    state.$($path).+ = values;
                    Ok(())
                }
                _ => Err(WRONG_TYPE),
            },
        }
    };
}

/// A member of the records of a `Vec` of the state.
macro_rules! part {
    ($name:literal, $of:literal, $kind:ident, $list:ident, $get:expr, $set:expr) => {
        Field {
            name: $name,
            length: Length::As($of),
            get: |state| Array::$kind(state.$list.iter().map($get).collect()),
            set: |state, array| match array {
                Array::$kind(values) => {
                    let records = state.$list.iter_mut().zip(values);
                    records.into_iter().try_for_each($set)
                }
                _ => Err(WRONG_TYPE),
            },
        }
    };
}

/// All fields of a state except the number of its step.
pub(crate) static FIELDS: [Field; 11] = [
    list!("positions", Length::Nodes, Vectors, positions),
    list!("velocities", Length::Nodes, Vectors, velocities),
    list!("directors", Length::Edges, Vectors, directors),
    list!("twists", Length::Edges, Numbers, twists),
    list!("spins", Length::Edges, Numbers, spins),
    Field {
        name: "contact/id",
        length: Length::Any,
        get: |state| Array::Ids(state.contacts.iter().map(|known| known.id).collect()),
        set: |state, array| match array {
            Array::Ids(ids) => {
                let known = ids.into_iter().map(|id| ContactMemory {
                    id,
                    ..ContactMemory::default()
                });
                state.contacts = known.collect();
                Ok(())
            }
            _ => Err(WRONG_TYPE),
        },
    },
    part!(
        "contact/force",
        "contact/id",
        Vectors,
        contacts,
        |known| known.reaction,
        |(known, force)| {
            known.reaction = force;
            Ok(())
        }
    ),
    part!(
        "contact/average",
        "contact/id",
        Vectors,
        contacts,
        |known| known.average,
        |(known, average)| {
            known.average = average;
            Ok(())
        }
    ),
    part!(
        "contact/state",
        "contact/id",
        Bytes,
        contacts,
        |known| known.state as u8,
        |(known, number)| {
            known.state = ContactState::from_number(number).ok_or("an unknown contact state")?;
            Ok(())
        }
    ),
    list!("carried/id", Length::Any, Ids, carried.ids),
    list!("carried/values", Length::Any, Numbers, carried.values),
];

impl Array {
    /// Number of values.
    pub(crate) fn len(&self) -> usize {
        match self {
            Array::Vectors(values) => values.len(),
            Array::Numbers(values) => values.len(),
            Array::Ids(values) => values.len(),
            Array::Bytes(values) => values.len(),
        }
    }

    fn hash(&self, hasher: &mut Xxh3) {
        hasher.update(&(self.len() as u64).to_le_bytes());
        let mut number = |value: f64| hasher.update(&value.to_bits().to_le_bytes());
        match self {
            Array::Vectors(values) => {
                values
                    .iter()
                    .flat_map(|value| value.to_array())
                    .for_each(number);
            }
            Array::Numbers(values) => values.iter().for_each(|value| number(*value)),
            Array::Ids(values) => {
                values
                    .iter()
                    .for_each(|id| hasher.update(&id.to_le_bytes()));
            }
            Array::Bytes(values) => hasher.update(values),
        }
    }
}

impl State {
    /// Hash of all bits (XXH3, 128 bits), in hexadecimal.
    #[must_use]
    pub fn hash(&self) -> String {
        let mut hasher = Xxh3::new();
        hasher.update(&self.step.to_le_bytes());
        for field in &FIELDS {
            (field.get)(self).hash(&mut hasher);
        }
        format!("{:032x}", hasher.digest128())
    }

    /// Name of the first field whose bits differ from those of another state.
    #[must_use]
    pub fn first_difference(&self, other: &State) -> Option<&'static str> {
        if self.step != other.step {
            return Some("step");
        }
        let fingerprint = |array: Array| {
            let mut hasher = Xxh3::new();
            array.hash(&mut hasher);
            hasher.digest128()
        };
        let differs =
            |field: &&Field| fingerprint((field.get)(self)) != fingerprint((field.get)(other));
        FIELDS.iter().find(differs).map(|field| field.name)
    }
}
