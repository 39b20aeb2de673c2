//! Sections of a Gmsh file, between `$Name` and `$EndName`, with numbers as text or binary.
//!
//! Text is read row by row, so that the error of a row with a missing or extra number has the right
//! line. Binary files have the same numbers without line ends.

use super::ImportError;
use super::cursor::{self, ByteOrder, Cursor, quoted};

/// Major version of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    Two,
    Four,
}

/// Reads the numbers of a Gmsh file.
pub(super) struct GmshReader<'a> {
    pub(super) cursor: Cursor<'a>,
    pub(super) version: Version,
    /// Byte order, if the file is binary.
    order: Option<ByteOrder>,
    /// Size of a count in a binary file, in bytes.
    size: i64,
}

const VERSION_ADVICE: &str =
    "save the mesh as MSH 4.1 or 2.2, in Gmsh by `-format msh41` or `msh22`";

impl<'a> GmshReader<'a> {
    /// Reads `$MeshFormat`.
    pub(super) fn new(bytes: &'a [u8]) -> Result<GmshReader<'a>, ImportError> {
        let mut cursor = Cursor::new(bytes);
        cursor.find_token();
        match cursor.token() {
            Some(b"$MeshFormat") => cursor.end_line()?,
            _ => {
                return Err(cursor.error(
                    "a Gmsh file of version 1 or without `$MeshFormat`",
                    VERSION_ADVICE,
                ));
            }
        }
        cursor.next_line();
        cursor.find_token();
        let version = match cursor.expect_token("the version")? {
            b"2" | b"2.0" | b"2.1" | b"2.2" => Version::Two,
            b"4.1" => Version::Four,
            other => {
                let message = format!("version {} of the format is not known", quoted(other));
                return Err(cursor.error(message, VERSION_ADVICE));
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
        let mut reader = GmshReader {
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

    /// Reads the number 1, by which a binary file shows its byte order.
    fn find_order(&mut self) -> Result<(), ImportError> {
        self.cursor.next_line();
        self.cursor.is_binary = true;
        let one = self.cursor.binary::<4>(ByteOrder::Little, "the number 1")?;
        self.order = match one {
            [1, 0, 0, 0] => Some(ByteOrder::Little),
            [0, 0, 0, 1] => Some(ByteOrder::Big),
            _ => {
                return Err(self.cursor.error(
                    "the number before this byte should be 1 in four bytes",
                    "copy the file as binary, or write it as text",
                ));
            }
        };
        Ok(())
    }

    /// Moves to the first number of the next section, and returns its name; none at the end of the
    /// file.
    pub(super) fn section(&mut self) -> Result<Option<&'a [u8]>, ImportError> {
        if !self.cursor.find_token() {
            return Ok(None);
        }
        let heading = self.cursor.expect_token("a section")?;
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
        let heading = self.cursor.expect_token("the end of the section")?;
        if heading.strip_prefix(b"$End") == Some(name.as_bytes()) {
            return self.cursor.end_line();
        }
        Err(self.cursor.error(
            format!("{} where `$End{name}` should be", quoted(heading)),
            "correct the counts of the section, or write the file again",
        ))
    }

    /// Skips a section.
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

    /// Moves to the next row. Binary files have no rows.
    pub(super) fn row(&mut self, label: &str) -> Result<(), ImportError> {
        match self.order {
            None => self.text_row(label),
            Some(_) => Ok(()),
        }
    }

    /// Moves to the next row of a part that is text also in binary files.
    pub(super) fn text_row(&mut self, label: &str) -> Result<(), ImportError> {
        if self.cursor.find_token() {
            Ok(())
        } else {
            Err(self.cursor.missing(label))
        }
    }

    /// Ends a row, and refuses further numbers in it.
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
    pub(super) fn int(&mut self, label: &str) -> Result<i64, ImportError> {
        match self.order {
            None => self.cursor.integer(label),
            Some(order) => Ok(i32::from_le_bytes(self.cursor.binary(order, label)?).into()),
        }
    }

    /// A count or a tag, in version 4.
    pub(super) fn size(&mut self, label: &str) -> Result<u64, ImportError> {
        match (self.order, self.size) {
            (None, _) => {
                let value = self.cursor.integer(label)?;
                self.not_negative(value, label)
            }
            (Some(order), 4) => Ok(u32::from_le_bytes(self.cursor.binary(order, label)?).into()),
            (Some(order), _) => Ok(u64::from_le_bytes(self.cursor.binary(order, label)?)),
        }
    }

    /// Refuses a negative number.
    pub(super) fn not_negative(&self, value: i64, label: &str) -> Result<u64, ImportError> {
        u64::try_from(value).map_err(|_| {
            self.cursor.error(
                format!("{label} is {value}, which is negative"),
                "correct it, or write the file again",
            )
        })
    }

    /// A finite number.
    pub(super) fn real(&mut self, label: &str) -> Result<f64, ImportError> {
        match self.order {
            None => self.cursor.real(label),
            Some(order) => {
                let value = f64::from_le_bytes(self.cursor.binary(order, label)?);
                self.cursor.finite(value, label)
            }
        }
    }

    /// Skips a number. Text is not checked.
    pub(super) fn skip_real(&mut self, label: &str) -> Result<(), ImportError> {
        match self.order {
            None => self.cursor.expect_token(label).map(|_| ()),
            Some(order) => self.cursor.binary::<8>(order, label).map(|_| ()),
        }
    }
}
