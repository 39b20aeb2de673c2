//! The frame of a Gmsh file: sections between `$Name` and `$EndName`, with numbers as text or binary.
//!
//! Text is read row by row, so that a row with a number too few or too many is noticed where it is. In binary
//! files the same numbers follow one another without line ends.

use super::ImportError;
use super::cursor::{self, Cursor, Order, quoted};

/// Which layout the sections have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    Two,
    Four,
}

/// Reads the numbers of a Gmsh file.
pub(super) struct Reader<'a> {
    pub(super) cursor: Cursor<'a>,
    pub(super) version: Version,
    /// The order of the bytes if the file is binary.
    order: Option<Order>,
    /// The bytes of a count in a binary file.
    size: i64,
}

const VERSIONS: &str = "save the mesh as MSH 4.1 or 2.2, in Gmsh by `-format msh41` or `msh22`";

impl<'a> Reader<'a> {
    /// Reads `$MeshFormat`.
    pub(super) fn new(bytes: &'a [u8]) -> Result<Reader<'a>, ImportError> {
        let mut cursor = Cursor::new(bytes);
        cursor.find_token();
        match cursor.token() {
            Some(b"$MeshFormat") => cursor.end_line()?,
            _ => {
                return Err(cursor.error(
                    "a Gmsh file of version 1 or without `$MeshFormat`",
                    VERSIONS,
                ));
            }
        }
        cursor.next_line();
        cursor.find_token();
        let version = match cursor.needed("the version")? {
            b"2" | b"2.0" | b"2.1" | b"2.2" => Version::Two,
            b"4.1" => Version::Four,
            other => {
                let message = format!("version {} of the format is not known", quoted(other));
                return Err(cursor.error(message, VERSIONS));
            }
        };
        let is_binary = match cursor.integer("0 for text or 1 for binary")? {
            0 => false,
            1 => true,
            other => {
                let message = format!("{other} is neither 0 for text nor 1 for binary");
                return Err(cursor.error(message, "correct it, or write the file again"));
            }
        };
        let size = cursor.integer("the size of numbers")?;
        let is_known = size == 8 || (size == 4 && version == Version::Four);
        if is_binary && !is_known {
            let message = format!("numbers of {size} bytes");
            return Err(cursor.error(message, "write the file with numbers of 8 bytes"));
        }
        cursor.end_line()?;
        let mut reader = Reader {
            cursor,
            version,
            order: None,
            size,
        };
        if is_binary {
            reader.find_order()?;
        }
        reader.end_section("MeshFormat")?;
        Ok(reader)
    }

    /// A binary file holds the number 1 to show the order of its bytes.
    fn find_order(&mut self) -> Result<(), ImportError> {
        self.cursor.next_line();
        self.cursor.is_binary = true;
        let one = self.cursor.binary::<4>(Order::Little, "the number 1")?;
        self.order = match one {
            [1, 0, 0, 0] => Some(Order::Little),
            [0, 0, 0, 1] => Some(Order::Big),
            _ => {
                return Err(self.cursor.error(
                    "the number before this byte should be 1 in four bytes",
                    "copy the file as binary, or write it as text",
                ));
            }
        };
        Ok(())
    }

    /// The name of the next section, at whose first number the cursor then is; none at the end of the file.
    pub(super) fn section(&mut self) -> Result<Option<&'a [u8]>, ImportError> {
        if !self.cursor.find_token() {
            return Ok(None);
        }
        let heading = self.cursor.needed("a section")?;
        let name = heading.strip_prefix(b"$").filter(|name| !name.is_empty());
        let Some(name) = name.filter(|name| !name.starts_with(b"End")) else {
            return Err(self.cursor.error(
                format!(
                    "{} where a section such as `$Nodes` should begin",
                    quoted(heading)
                ),
                "correct the counts of the section before, or write the file again",
            ));
        };
        self.cursor.end_line()?;
        self.cursor.next_line();
        Ok(Some(name))
    }

    /// Reads the end of a section.
    pub(super) fn end_section(&mut self, name: &str) -> Result<(), ImportError> {
        if !self.cursor.find_token() {
            return Err(self.cursor.missing(&format!("`$End{name}`")));
        }
        let heading = self.cursor.needed("the end of the section")?;
        match heading.strip_prefix(b"$End") == Some(name.as_bytes()) {
            true => self.cursor.end_line(),
            false => Err(self.cursor.error(
                format!("{} where `$End{name}` should be", quoted(heading)),
                "correct the counts of the section, or write the file again",
            )),
        }
    }

    /// Passes over a section.
    pub(super) fn skip_section(&mut self, name: &[u8]) -> Result<(), ImportError> {
        let end = [b"$End", name].concat();
        if self.order.is_some() {
            let found = self
                .cursor
                .rest()
                .windows(end.len())
                .position(|part| part == end);
            if let Some(found) = found {
                self.cursor.advance(found + end.len());
                return Ok(());
            }
            self.cursor.advance(usize::MAX);
        }
        while self.cursor.find_token() {
            if self.cursor.token() == Some(&end) {
                return Ok(());
            }
            self.cursor.next_line();
        }
        let end = cursor::name(end.get(..40).unwrap_or(&end));
        Err(self.cursor.missing(&format!("`{end}`")))
    }

    /// Goes to the next row. Binary files have no rows.
    pub(super) fn row(&mut self, what: &str) -> Result<(), ImportError> {
        match self.order {
            None => self.text_row(what),
            Some(_) => Ok(()),
        }
    }

    /// Goes to the next row of what is text in binary files too.
    pub(super) fn text_row(&mut self, what: &str) -> Result<(), ImportError> {
        match self.cursor.find_token() {
            true => Ok(()),
            false => Err(self.cursor.missing(what)),
        }
    }

    /// Ends a row: nothing may be left of it.
    pub(super) fn end_row(&mut self) -> Result<(), ImportError> {
        match self.order {
            None => self.cursor.end_line(),
            Some(_) => Ok(()),
        }
    }

    /// Whether the file is binary.
    pub(super) fn is_binary(&self) -> bool {
        self.order.is_some()
    }

    /// A whole number: four bytes in binary.
    pub(super) fn int(&mut self, what: &str) -> Result<i64, ImportError> {
        match self.order {
            None => self.cursor.integer(what),
            Some(order) => Ok(i32::from_le_bytes(self.cursor.binary(order, what)?).into()),
        }
    }

    /// A count or a tag, in version 4.
    pub(super) fn size(&mut self, what: &str) -> Result<u64, ImportError> {
        match (self.order, self.size) {
            (None, _) => {
                let value = self.cursor.integer(what)?;
                self.not_negative(value, what)
            }
            (Some(order), 4) => Ok(u32::from_le_bytes(self.cursor.binary(order, what)?).into()),
            (Some(order), _) => Ok(u64::from_le_bytes(self.cursor.binary(order, what)?)),
        }
    }

    /// Refuses a negative number.
    pub(super) fn not_negative(&self, value: i64, what: &str) -> Result<u64, ImportError> {
        u64::try_from(value).map_err(|_| {
            self.cursor.error(
                format!("{what} is {value}, which is negative"),
                "correct it, or write the file again",
            )
        })
    }

    /// A finite number.
    pub(super) fn real(&mut self, what: &str) -> Result<f64, ImportError> {
        match self.order {
            None => self.cursor.real(what),
            Some(order) => {
                let value = f64::from_le_bytes(self.cursor.binary(order, what)?);
                self.cursor.finite(value, what)
            }
        }
    }

    /// A number that is not used, of which text may hold anything.
    pub(super) fn skip_real(&mut self, what: &str) -> Result<(), ImportError> {
        match self.order {
            None => self.cursor.needed(what).map(|_| ()),
            Some(order) => self.cursor.binary::<8>(order, what).map(|_| ()),
        }
    }
}
