//! A place in the bytes of a file, and the steps that readers take from it.
//!
//! Text is read token by token without copying a line: a token ends at a blank or at the end of
//! its line, and no step crosses a line end but [`Cursor::next_line`]. So a line that is too short is
//! noticed on that line. Lines end in `\n`, `\r\n` or `\r`. Binary numbers are read from the same cursor.

use super::{ImportError, Place};

/// Which byte of a binary number comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// The least significant.
    Little,
    /// The most significant.
    Big,
}

/// A place in the bytes of a file.
#[derive(Clone, Debug)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    line: usize,
    /// Whether a `\` at the end of a line joins it to the next.
    continues: bool,
    /// Whether places are told as bytes.
    pub(super) is_binary: bool,
}

const CUT_OFF: &str = "the file may be cut off; copy or write it again";

/// The bytes after a byte order mark of UTF-8.
pub(super) fn after_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

/// A piece of a file for a message: short, and without anything that a terminal would obey.
pub(super) fn quoted(token: &[u8]) -> String {
    let text = String::from_utf8_lossy(token.get(..120).unwrap_or(token));
    let mut shown: String = text.chars().map(printable).take(40).collect();
    if text.chars().nth(40).is_some() || token.len() > 120 {
        shown.push('…');
    }
    format!("`{shown}`")
}

/// A name of a file as text, whatever its encoding.
pub(super) fn name(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.trim_ascii())
        .chars()
        .map(printable)
        .collect()
}

fn printable(character: char) -> char {
    match character.is_control() {
        true => '\u{fffd}',
        false => character,
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | 0x0b | 0x0c)
}

fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// How many bytes the line end at the start of `bytes` has.
fn line_end_length(bytes: &[u8]) -> usize {
    match bytes {
        [b'\r', b'\n', ..] => 2,
        [b'\r' | b'\n', ..] => 1,
        _ => 0,
    }
}

/// A whole number, if that is what the token is.
pub(super) fn whole(token: &[u8]) -> Option<i64> {
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
            at: bytes.len() - after_mark(bytes).len(),
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

    /// Where the cursor is.
    pub(super) fn place(&self) -> Place {
        match self.is_binary {
            true => Place::Byte(self.at),
            false => Place::Line(self.line),
        }
    }

    /// An error where the cursor is.
    pub(super) fn error(
        &self,
        message: impl Into<String>,
        advice: impl Into<String>,
    ) -> ImportError {
        ImportError::new(self.place(), message, advice)
    }

    /// What has not been read.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// Goes on by `count` bytes.
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

    /// What is left of this line.
    pub(super) fn rest_of_line(&mut self) -> &'a [u8] {
        let rest = self.rest();
        let is_end = |byte: &u8| is_line_end(*byte);
        let length = rest.iter().position(is_end).unwrap_or(rest.len());
        self.at += length;
        rest.get(..length).unwrap_or_default()
    }

    /// Goes to the start of the next line, if there is one.
    pub(super) fn next_line(&mut self) -> bool {
        self.rest_of_line();
        let length = line_end_length(self.rest());
        self.at += length;
        self.line += usize::from(length > 0);
        length > 0 && self.at < self.bytes.len()
    }

    /// Goes to the next token, across empty lines; false if there is none.
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

    /// Refuses what is left of a line.
    pub(super) fn end_line(&mut self) -> Result<(), ImportError> {
        match self.token() {
            None => Ok(()),
            Some(token) => Err(self.error(
                format!("{} is more than belongs on this line", quoted(token)),
                "remove it, or write the file again",
            )),
        }
    }

    /// The next token of this line, which must be there.
    pub(super) fn needed(&mut self, what: &str) -> Result<&'a [u8], ImportError> {
        match self.token() {
            Some(token) => Ok(token),
            None => Err(self.missing(what)),
        }
    }

    /// An error: `what` should be here.
    pub(super) fn missing(&self, what: &str) -> ImportError {
        match (self.rest().is_empty(), self.is_binary) {
            (true, _) | (_, true) => {
                self.error(format!("the file ends where {what} should be"), CUT_OFF)
            }
            _ => self.error(
                format!("the line ends where {what} should be"),
                format!("add {what}, or write the file again"),
            ),
        }
    }

    /// A finite number on this line.
    pub(super) fn real(&mut self, what: &str) -> Result<f64, ImportError> {
        let token = self.needed(what)?;
        let text = std::str::from_utf8(token).unwrap_or_default();
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(number),
            Ok(_) => Err(self.error(
                format!("{what} is {}, which is not finite", quoted(token)),
                "correct the number; the program that wrote it may have failed",
            )),
            Err(_) if token.contains(&b',') => Err(self.error(
                format!("{what} is {}, which has a comma", quoted(token)),
                "write numbers with a point, and blanks between them",
            )),
            Err(_) => Err(self.error(
                format!("{what} is {}, which is not a number", quoted(token)),
                "correct it, or write the file again",
            )),
        }
    }

    /// A whole number on this line.
    pub(super) fn integer(&mut self, what: &str) -> Result<i64, ImportError> {
        let token = self.needed(what)?;
        whole(token).ok_or_else(|| {
            self.error(
                format!("{what} is {}, which is not a whole number", quoted(token)),
                "correct it, or write the file again",
            )
        })
    }

    /// The next bytes of a binary number, the least significant first.
    pub(super) fn binary<const N: usize>(
        &mut self,
        order: Order,
        what: &str,
    ) -> Result<[u8; N], ImportError> {
        let Some(bytes) = self.rest().first_chunk::<N>() else {
            let message = format!("the file ends in the middle of {what}");
            return Err(self.error(message, CUT_OFF));
        };
        self.at += N;
        let mut bytes = *bytes;
        if order == Order::Big {
            bytes.reverse();
        }
        Ok(bytes)
    }

    /// Refuses a binary number that is not finite.
    pub(super) fn finite(&self, number: f64, what: &str) -> Result<f64, ImportError> {
        match number.is_finite() {
            true => Ok(number),
            false => Err(self.error(
                format!("{what} is {number}, which is not finite"),
                "write the file again; the program that wrote it may have failed",
            )),
        }
    }
}
