//! Cursor over the bytes of a file, for text and binary.
//!
//! Text is read token by token without copying. A token ends at a blank or line end, and only
//! [`Cursor::next_line`] and [`Cursor::find_token`] cross a line end, so that the error of a line
//! that is too short has the right line number. Lines end in `\n`, `\r\n` or `\r`.

use super::{FilePlace, ImportError};

/// Byte order of binary numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ByteOrder {
    /// The least significant byte first.
    Little,
    /// The most significant byte first.
    Big,
}

/// Position in the bytes of a file.
#[derive(Clone, Debug)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    line: usize,
    /// Whether a `\` at the end of a line joins it to the next.
    continues: bool,
    /// Whether errors have a byte as location, not a line.
    pub(super) is_binary: bool,
}

const TRUNCATED_ADVICE: &str = "the file may be cut off; copy or write it again";

/// The bytes after the byte order mark of UTF-8, if any.
pub(super) fn skip_byte_order_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

/// Quotes a part of a file in a message: shortened, and without control characters.
pub(super) fn quoted(token: &[u8]) -> String {
    let text = String::from_utf8_lossy(token.get(..120).unwrap_or(token));
    let mut shown: String = text.chars().map(printable).take(40).collect();
    if text.chars().nth(40).is_some() || token.len() > 120 {
        shown.push('…');
    }
    format!("`{shown}`")
}

/// A name as text; bytes that are not UTF-8 are replaced.
pub(super) fn name(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.trim_ascii())
        .chars()
        .map(printable)
        .collect()
}

fn printable(character: char) -> char {
    if character.is_control() {
        '\u{fffd}'
    } else {
        character
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | 0x0b | 0x0c)
}

fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// Length of the line end at the start of `bytes`; 0 if there is none.
fn line_end_length(bytes: &[u8]) -> usize {
    match bytes {
        [b'\r', b'\n', ..] => 2,
        [b'\r' | b'\n', ..] => 1,
        _ => 0,
    }
}

/// Parses a whole number.
pub(super) fn parse_integer(token: &[u8]) -> Option<i64> {
    let (is_negative, digits) = match token {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        _ => (false, token),
    };
    if digits.is_empty() {
        return None;
    }
    let mut value = 0i64;
    for &digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        value = value
            .checked_mul(10)?
            .checked_add(i64::from(digit - b'0'))?;
    }
    Some(if is_negative { -value } else { value })
}

impl<'a> Cursor<'a> {
    /// The start of a file, after a byte order mark.
    pub(super) fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor {
            bytes,
            at: bytes.len() - skip_byte_order_mark(bytes).len(),
            line: 1,
            continues: false,
            is_binary: false,
        }
    }

    /// The same, for text in which a `\` at the end of a line joins it to the next.
    pub(super) fn with_continuation(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor {
            continues: true,
            ..Cursor::new(bytes)
        }
    }

    /// Location of the cursor.
    pub(super) fn place(&self) -> FilePlace {
        if self.is_binary {
            FilePlace::Byte(self.at)
        } else {
            FilePlace::Line(self.line)
        }
    }

    /// An error at the location of the cursor.
    pub(super) fn error(
        &self,
        message: impl Into<String>,
        advice: impl Into<String>,
    ) -> ImportError {
        ImportError::new(self.place(), message, advice)
    }

    /// Bytes that have not been read.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// Skips `count` bytes.
    pub(super) fn advance(&mut self, count: usize) {
        self.at = self.at.saturating_add(count).min(self.bytes.len());
    }

    fn skip_blanks(&mut self) {
        loop {
            match self.rest() {
                [byte, ..] if is_blank(*byte) => self.at += 1,
                [b'\\', after @ ..] if self.continues && line_end_length(after) > 0 => {
                    self.at += 1 + line_end_length(after);
                    self.line += 1;
                }
                _ => return,
            }
        }
    }

    /// The next token of this line.
    pub(super) fn token(&mut self) -> Option<&'a [u8]> {
        self.skip_blanks();
        let rest = self.rest();
        let is_end = |byte: &u8| is_blank(*byte) || is_line_end(*byte);
        let length = rest.iter().position(is_end).unwrap_or(rest.len());
        let (mut token, after) = rest.split_at(length);
        if self.continues && line_end_length(after) > 0 {
            token = token.strip_suffix(b"\\").unwrap_or(token);
        }
        self.at += token.len();
        (!token.is_empty()).then_some(token)
    }

    /// The rest of this line.
    pub(super) fn rest_of_line(&mut self) -> &'a [u8] {
        let rest = self.rest();
        let is_end = |byte: &u8| is_line_end(*byte);
        let length = rest.iter().position(is_end).unwrap_or(rest.len());
        self.at += length;
        rest.get(..length).unwrap_or_default()
    }

    /// Moves to the start of the next line; false if there is none.
    pub(super) fn next_line(&mut self) -> bool {
        self.rest_of_line();
        let length = line_end_length(self.rest());
        self.at += length;
        self.line += usize::from(length > 0);
        length > 0 && self.at < self.bytes.len()
    }

    /// Moves to the next token, across empty lines; false if there is none.
    pub(super) fn find_token(&mut self) -> bool {
        loop {
            self.skip_blanks();
            match self.rest().first() {
                None => return false,
                Some(byte) if is_line_end(*byte) => self.next_line(),
                Some(_) => return true,
            };
        }
    }

    /// Refuses further tokens on this line.
    pub(super) fn end_line(&mut self) -> Result<(), ImportError> {
        match self.token() {
            None => Ok(()),
            Some(token) => Err(self.error(
                format!("{} is one value too many on this line", quoted(token)),
                "remove it, or write the file again",
            )),
        }
    }

    /// The next token of this line, or the error that `label` is missing.
    pub(super) fn expect_token(&mut self, label: &str) -> Result<&'a [u8], ImportError> {
        match self.token() {
            Some(token) => Ok(token),
            None => Err(self.missing(label)),
        }
    }

    /// The error that `label` is missing here.
    pub(super) fn missing(&self, label: &str) -> ImportError {
        match (self.rest().is_empty(), self.is_binary) {
            (true, _) | (_, true) => self.error(
                format!("the file ends where {label} should be"),
                TRUNCATED_ADVICE,
            ),
            _ => self.error(
                format!("the line ends where {label} should be"),
                format!("add {label}, or write the file again"),
            ),
        }
    }

    /// A finite number on this line.
    pub(super) fn real(&mut self, label: &str) -> Result<f64, ImportError> {
        let token = self.expect_token(label)?;
        let text = std::str::from_utf8(token).unwrap_or_default();
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(number),
            Ok(_) => Err(self.error(
                format!("{label} is {}, which is not finite", quoted(token)),
                "correct the number; the program that wrote it may have failed",
            )),
            Err(_) if token.contains(&b',') => Err(self.error(
                format!("{label} is {}, which has a comma", quoted(token)),
                "write numbers with a point, and blanks between them",
            )),
            Err(_) => Err(self.error(
                format!("{label} is {}, which is not a number", quoted(token)),
                "correct it, or write the file again",
            )),
        }
    }

    /// A whole number on this line.
    pub(super) fn integer(&mut self, label: &str) -> Result<i64, ImportError> {
        let token = self.expect_token(label)?;
        parse_integer(token).ok_or_else(|| {
            self.error(
                format!("{label} is {}, which is not a whole number", quoted(token)),
                "correct it, or write the file again",
            )
        })
    }

    /// The bytes of the next binary number, the least significant first.
    pub(super) fn binary<const N: usize>(
        &mut self,
        order: ByteOrder,
        label: &str,
    ) -> Result<[u8; N], ImportError> {
        let Some(bytes) = self.rest().first_chunk::<N>() else {
            let message = format!("the file ends in the middle of {label}");
            return Err(self.error(message, TRUNCATED_ADVICE));
        };
        self.at += N;
        let mut bytes = *bytes;
        if order == ByteOrder::Big {
            bytes.reverse();
        }
        Ok(bytes)
    }

    /// Refuses a binary number that is not finite.
    pub(super) fn finite(&self, number: f64, label: &str) -> Result<f64, ImportError> {
        if number.is_finite() {
            return Ok(number);
        }
        Err(self.error(
            format!("{label} is {number}, which is not finite"),
            "write the file again; the program that wrote it may have failed",
        ))
    }
}
