//! Mutations of mesh files.

use crate::choices::Choices;
use crate::seeds::Seed;

const NUMBERS: [&str; 34] = [
    "0",
    "-0",
    "1",
    "-1",
    "2",
    "3",
    "4",
    "15",
    "255",
    "256",
    "-128",
    "1e308",
    "-1e308",
    "1e-320",
    "1e400",
    "nan",
    "-nan",
    "inf",
    "-inf",
    "2147483647",
    "2147483648",
    "-2147483648",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "99999999999999999999",
    "4000000000",
    "0.5",
    "1,5",
    "0x10",
    "1/2/3",
    "+7",
];

const STRANGE: [&[u8]; 16] = [
    b"\0",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\xe9",
    b"\r",
    b"\n",
    b"\r\n",
    b"\\\n",
    b"\\",
    b"\x1b[31m",
    b"$",
    b"#",
    b"/",
    b"-",
    b"\"",
    b" ",
];

const LINES: [&str; 34] = [
    "v 1 2 3",
    "v nan 0 0",
    "f 1 2 3",
    "f 1 2 3 4 5",
    "f 1 1 1 1",
    "f 0 1 2",
    "f -1 -2 -3",
    "l 1 2 3 1",
    "l 1 2 1",
    "l 3 1",
    "g a b c d e f g",
    "g",
    "o \u{1b}name",
    "curv 0 1 1 2",
    "surf 0 1 0 1 1 2 3",
    "call a.obj",
    "format ascii 1.0",
    "format binary_big_endian 1.0",
    "element vertex 4000000000",
    "element face 9223372036854775807",
    "element other 99999",
    "property list uchar int vertex_indices",
    "property list double double x",
    "property double z",
    "property uint64 other",
    "end_header",
    "$Nodes",
    "$EndNodes",
    "$Elements",
    "$EndElements",
    "$PhysicalNames",
    "$Entities",
    "2.2 1 8",
    "4.1 0 4",
];

const EXTENSIONS: [&str; 12] = [
    "obj",
    "ply",
    "msh",
    "OBJ",
    "Ply",
    "MSH",
    "stl",
    "off",
    "",
    "vtk",
    "o\u{1b}bj",
    "obj.gz",
];

/// Input of a case.
pub(crate) struct File {
    /// Format of the seed file.
    pub(crate) format: &'static str,
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

/// Input of a case; it depends on seed and case number only.
pub(crate) fn file(seeds: &[Seed], seed: u64, case: u64) -> File {
    let mut random = Choices::of_case(seed, case);
    let start = &seeds[random.below(seeds.len())];
    let mut bytes = start.bytes.clone();
    let rounds = match random.below(8) {
        0 => 0,
        1..=4 => 1,
        5 | 6 => 2,
        _ => 1 + random.below(6),
    };
    for _ in 0..rounds {
        mutate(&mut bytes, seeds, &mut random);
    }
    let extension = if random.one_in(40) {
        random.pick(&EXTENSIONS)
    } else {
        start.extension
    };
    File {
        format: start.format,
        name: format!("fuzz.{extension}"),
        bytes,
    }
}

fn mutate(bytes: &mut Vec<u8>, seeds: &[Seed], random: &mut Choices) {
    match random.below(30) {
        0..=3 => flip_bits(bytes, random),
        4 | 5 => set_number(bytes, random),
        6 => insert(bytes, random.pick(&STRANGE), random),
        7 | 8 => delete(bytes, random),
        9..=12 => change_lines(bytes, random),
        13..=19 => replace_token(bytes, random),
        20 | 21 => swap_tokens(bytes, random),
        22 | 23 => add_line(bytes, random),
        24 => change_line_ends(bytes, random),
        25 => splice(bytes, seeds, random),
        26 => lengthen(bytes, random),
        _ => bytes.truncate(random.below(bytes.len() + 1)),
    }
}

fn insert(bytes: &mut Vec<u8>, what: &[u8], random: &mut Choices) {
    let at = random.below(bytes.len() + 1);
    bytes.splice(at..at, what.iter().copied());
}

fn flip_bits(bytes: &mut [u8], random: &mut Choices) {
    for _ in 0..random.size(8) {
        let at = random.below(bytes.len());
        if let Some(byte) = bytes.get_mut(at) {
            *byte ^= 1 << random.below(8);
        }
    }
}

/// Overwrites bytes by a binary number.
fn set_number(bytes: &mut [u8], random: &mut Choices) {
    let value: &[u8] = match random.below(8) {
        0 => &[0xff; 4],
        1 => &[0xff; 8],
        2 => &[0; 4],
        3 => &[0; 8],
        4 => &f64::NAN.to_le_bytes(),
        5 => &f32::INFINITY.to_be_bytes(),
        6 => &i32::MAX.to_le_bytes(),
        _ => &i64::MAX.to_be_bytes(),
    };
    let at = random.below(bytes.len());
    for (byte, new) in bytes.iter_mut().skip(at).zip(value) {
        *byte = *new;
    }
}

fn delete(bytes: &mut Vec<u8>, random: &mut Choices) {
    let start = random.below(bytes.len() + 1);
    let end = (start + random.size(200)).min(bytes.len());
    bytes.drain(start..end);
}

fn change_lines(bytes: &mut Vec<u8>, random: &mut Choices) {
    let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    let (one, other) = (random.below(lines.len()), random.below(lines.len()));
    match random.below(3) {
        0 => lines.swap(one, other),
        1 => lines.insert(other, lines[one]),
        _ => {
            lines.remove(one);
        }
    }
    *bytes = lines.join(&b'\n');
}

/// Ranges of bytes between white space.
fn tokens(bytes: &[u8]) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    for (at, byte) in bytes.iter().enumerate() {
        match found.last_mut() {
            _ if byte.is_ascii_whitespace() => {}
            Some(last) if last.1 == at => last.1 = at + 1,
            _ => found.push((at, at + 1)),
        }
    }
    found
}

fn replace_token(bytes: &mut Vec<u8>, random: &mut Choices) {
    let mut found = tokens(bytes);
    if random.below(4) > 0 {
        // Mostly numbers, including counts.
        found.retain(|(start, _)| bytes[*start].is_ascii_digit());
    }
    if !found.is_empty() {
        let (start, end) = found[random.below(found.len())];
        bytes.splice(start..end, random.pick(&NUMBERS).bytes());
    }
}

fn swap_tokens(bytes: &mut Vec<u8>, random: &mut Choices) {
    let found = tokens(bytes);
    if found.is_empty() {
        return;
    }
    let one = found[random.below(found.len())];
    let other = found[random.below(found.len())];
    let (first, second) = (one.min(other), one.max(other));
    if first != second {
        let (early, late) = (
            bytes[first.0..first.1].to_vec(),
            bytes[second.0..second.1].to_vec(),
        );
        bytes.splice(second.0..second.1, early);
        bytes.splice(first.0..first.1, late);
    }
}

fn add_line(bytes: &mut Vec<u8>, random: &mut Choices) {
    let ends: Vec<usize> = (0..bytes.len())
        .filter(|at| bytes[*at] == b'\n')
        .map(|at| at + 1)
        .collect();
    let at = ends.get(random.below(ends.len())).copied().unwrap_or(0);
    let line = format!("{}\n", random.pick(&LINES));
    bytes.splice(at..at, line.bytes());
}

fn change_line_ends(bytes: &mut Vec<u8>, random: &mut Choices) {
    let end = random
        .pick(&["\r\n", "\r", "\n\n", " \n", "\\\n"])
        .as_bytes();
    let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    *bytes = lines.join(end);
    if random.one_in(3) {
        bytes.splice(0..0, *b"\xef\xbb\xbf");
    }
}

/// Replaces the tail by that of another file, or appends the other file.
fn splice(bytes: &mut Vec<u8>, seeds: &[Seed], random: &mut Choices) {
    let other = &seeds[random.below(seeds.len())].bytes;
    let mut from = 0;
    if !random.one_in(3) {
        bytes.truncate(random.below(bytes.len() + 1));
        from = random.below(other.len());
    }
    bytes.extend_from_slice(&other[from..]);
}

/// Adds a very long line or very many lines.
fn lengthen(bytes: &mut Vec<u8>, random: &mut Choices) {
    let length = random.size(50_000);
    let part: Vec<u8> = match random.below(8) {
        0 => b"0".repeat(length),
        1 => b" ".repeat(length),
        2 => b"\n".repeat(length),
        3 => [b"f".as_slice(), &b" 1 2 3 4".repeat(length / 4), b"\n"].concat(),
        4 => [b"g".as_slice(), &b" a".repeat(length), b"\n"].concat(),
        5 => [b"l".as_slice(), &b" 1 2".repeat(length), b"\n"].concat(),
        6 => b"\\\n".repeat(length),
        _ => {
            // A face that is far from convex.
            let mut text = String::new();
            let count = length.min(3000);
            for index in 0..count {
                let (sine, cosine) = (index as f64 * 0.002).sin_cos();
                let radius = (1 + index % 2) as f64;
                text += &format!("v {} {} 0\n", radius * cosine, radius * sine);
            }
            text += "f";
            (0..count).for_each(|index| text += &format!(" -{}", count - index));
            text += "\n";
            text.into_bytes()
        }
    };
    if random.one_in(2) {
        bytes.extend_from_slice(&part);
    } else {
        insert(bytes, &part, random);
    }
}
