//! The header of a PLY file: its elements, and the properties of their rows.

use super::cursor::{self, ByteOrder, Cursor, quoted};
use super::{FilePlace, ImportError};

/// Encoding of the numbers after the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Text,
    Binary(ByteOrder),
}

/// The type of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NumberType {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
}

impl NumberType {
    fn from_name(name: &[u8]) -> Option<NumberType> {
        Some(match name {
            b"char" | b"int8" => NumberType::I8,
            b"uchar" | b"uint8" => NumberType::U8,
            b"short" | b"int16" => NumberType::I16,
            b"ushort" | b"uint16" => NumberType::U16,
            b"int" | b"int32" => NumberType::I32,
            b"uint" | b"uint32" => NumberType::U32,
            b"int64" | b"long" => NumberType::I64,
            b"uint64" | b"ulong" => NumberType::U64,
            b"float" | b"float32" => NumberType::F32,
            b"double" | b"float64" => NumberType::F64,
            _ => return None,
        })
    }

    /// Whether it is a floating-point type.
    pub(super) fn is_real(self) -> bool {
        matches!(self, NumberType::F32 | NumberType::F64)
    }
}

/// Type of a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PropertyType {
    Scalar(NumberType),
    List { count: NumberType, item: NumberType },
}

/// One number or list in every row of an element.
#[derive(Clone, Debug)]
pub(super) struct Property {
    pub(super) name: Vec<u8>,
    pub(super) kind: PropertyType,
}

/// A table of the file, which PLY calls an element.
#[derive(Clone, Debug)]
pub(super) struct Element {
    pub(super) name: Vec<u8>,
    pub(super) count: u64,
    pub(super) properties: Vec<Property>,
    /// Its location in the header.
    pub(super) place: FilePlace,
}

impl Element {
    /// Index of the property of this name.
    pub(super) fn find(&self, name: &[u8]) -> Option<usize> {
        let mut properties = self.properties.iter();
        properties.position(|property| property.name == name)
    }

    /// The names of its properties, for messages.
    pub(super) fn names(&self) -> String {
        let names = self.properties.iter().take(10);
        let names: Vec<String> = names.map(|property| quoted(&property.name)).collect();
        names.join(", ")
    }
}

/// Contents of the header.
#[derive(Clone, Debug)]
pub(super) struct PlyHeader {
    pub(super) encoding: Encoding,
    pub(super) elements: Vec<Element>,
}

/// Reads the header, and moves the cursor to the first byte after it.
pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<PlyHeader, ImportError> {
    cursor.find_token();
    // The signature `ply` has been checked.
    cursor.token();
    let is_carriage_return = matches!(cursor.rest(), [b'\r', next, ..] if *next != b'\n');
    let mut encoding = None;
    let mut elements: Vec<Element> = Vec::new();
    while cursor.next_line() {
        let Some(keyword) = cursor.token() else {
            continue;
        };
        match keyword {
            b"format" => encoding = Some(format(cursor)?),
            b"comment" | b"obj_info" => {}
            b"element" => {
                let element = element(cursor)?;
                if elements.iter().any(|other| other.name == element.name) {
                    return Err(cursor.error(
                        format!("a second element {}", quoted(&element.name)),
                        "put the rows of both into one element",
                    ));
                }
                elements.push(element);
            }
            b"property" => match elements.last_mut() {
                Some(element) => property(cursor, element)?,
                None => {
                    return Err(cursor.error(
                        "a property before the first element",
                        "move it below the element that it belongs to",
                    ));
                }
            },
            b"end_header" => {
                cursor.end_line()?;
                let Some(encoding) = encoding else {
                    return Err(cursor.error(
                        "the header has no format",
                        "add the line `format ascii 1.0`, or that of the binary format",
                    ));
                };
                end(cursor, encoding, is_carriage_return);
                return Ok(PlyHeader { encoding, elements });
            }
            _ => {
                return Err(cursor.error(
                    format!("{} is not a statement of a header", quoted(keyword)),
                    "remove the line, or write the file again",
                ));
            }
        }
    }
    Err(cursor.error(
        "the file ends before `end_header`",
        "the file may be cut off; copy or write it again",
    ))
}

/// Skips the last line end. In binary, a byte `\n` after a lone `\r` is data.
fn end(cursor: &mut Cursor<'_>, encoding: Encoding, is_carriage_return: bool) {
    match (encoding, is_carriage_return) {
        (Encoding::Binary(_), true) => cursor.advance(1),
        _ => {
            cursor.next_line();
        }
    }
    cursor.is_binary = encoding != Encoding::Text;
}

fn format(cursor: &mut Cursor<'_>) -> Result<Encoding, ImportError> {
    let advice = "write it as `ascii`, `binary_little_endian` or `binary_big_endian`, version 1.0";
    let encoding = match cursor.expect_token("the format")? {
        b"ascii" => Encoding::Text,
        b"binary_little_endian" => Encoding::Binary(ByteOrder::Little),
        b"binary_big_endian" => Encoding::Binary(ByteOrder::Big),
        other => {
            let message = format!("the format {} is not known", quoted(other));
            return Err(cursor.error(message, advice));
        }
    };
    match cursor.expect_token("the version 1.0")? {
        b"1.0" | b"1" => Ok(encoding),
        other => {
            let message = format!("the version {} is not known", quoted(other));
            Err(cursor.error(message, advice))
        }
    }
}

fn element(cursor: &mut Cursor<'_>) -> Result<Element, ImportError> {
    let name = cursor.expect_token("the name of the element")?.to_vec();
    let count = cursor.integer("the number of rows")?;
    let Ok(count) = u64::try_from(count) else {
        return Err(cursor.error(
            format!("{count} rows of {}", quoted(&name)),
            "give the number of rows that follow",
        ));
    };
    cursor.end_line()?;
    Ok(Element {
        name,
        count,
        properties: Vec::new(),
        place: cursor.place(),
    })
}

fn property(cursor: &mut Cursor<'_>, element: &mut Element) -> Result<(), ImportError> {
    let kind = match cursor.expect_token("the type of the property")? {
        b"list" => {
            let count = number(cursor)?;
            let item = number(cursor)?;
            if count.is_real() {
                return Err(cursor.error(
                    "the length of a list cannot have digits after the point",
                    "give it a type such as `uchar`",
                ));
            }
            PropertyType::List { count, item }
        }
        other => PropertyType::Scalar(number_from(cursor, other)?),
    };
    let name = cursor.expect_token("the name of the property")?;
    if element.find(name).is_some() {
        return Err(cursor.error(
            format!("a second property {}", quoted(name)),
            "remove it, or write the file again",
        ));
    }
    element.properties.push(Property {
        name: name.to_vec(),
        kind,
    });
    cursor.end_line()
}

fn number(cursor: &mut Cursor<'_>) -> Result<NumberType, ImportError> {
    let name = cursor.expect_token("the type of the property")?;
    number_from(cursor, name)
}

fn number_from(cursor: &Cursor<'_>, name: &[u8]) -> Result<NumberType, ImportError> {
    NumberType::from_name(name).ok_or_else(|| {
        cursor.error(
            format!("the type {} is not known", quoted(name)),
            "use char, uchar, short, ushort, int, uint, float or double",
        )
    })
}

/// The name of an element for a message.
pub(super) fn shown(name: &[u8]) -> String {
    cursor::name(name.get(..40).unwrap_or(name))
}
