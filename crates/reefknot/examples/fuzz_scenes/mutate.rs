//! Mutations of scene files.

use reefknot_sim::scene::SceneRequest;

use crate::choices::Choices;
use crate::seeds::Seed;

const PUNCTUATION: [&str; 24] = [
    "[", "]", "{", "}", "=", "\"", "'", ".", ",", "#", "\\", "\n", "\"\"\"", "'''", "[[", "]]",
    "$", "=\"", "_", "-", "+", "\t", " ", "\\u",
];

const STRANGE: [&str; 16] = [
    "\0",
    "\u{feff}",
    "é",
    "日本",
    "🧶",
    "\u{202e}",
    "\r",
    "\u{7f}",
    "\u{1b}[31m",
    "\u{2028}",
    "e\u{301}",
    "\u{10ffff}",
    "\t",
    "\u{85}",
    "\u{fffd}",
    "\u{0b}",
];

const NUMBERS: [&str; 46] = [
    "1e300",
    "-1e300",
    "1e-300",
    "1e100",
    "1e-100",
    "1e30",
    "1e-30",
    "1e6",
    "1e-6",
    "1000",
    "100",
    "1e-3",
    "0",
    "-0",
    "-0.0",
    "1",
    "-1",
    "2",
    "3",
    "1e308",
    "-1e308",
    "1e-308",
    "1e-320",
    "5e-324",
    "1e400",
    "nan",
    "-nan",
    "inf",
    "-inf",
    "9223372036854775807",
    "-9223372036854775808",
    "99999999999999999999",
    "0x7fffffffffffffff",
    "0xfffffffffffffffff",
    "0o17",
    "0b1",
    "1_000",
    "8192",
    "8193",
    "1e9",
    "1e-9",
    "1e16",
    "1e150",
    "1e-150",
    "18446744073709551615",
    "0.5",
];

const VALUES: [&str; 34] = [
    "true",
    "\"\"",
    "[]",
    "{}",
    "[[]]",
    "[{}]",
    "\"$n\"",
    "\"$nope\"",
    "\"$\"",
    "\"=\"",
    "\"= $n\"",
    "\"= 1/0\"",
    "\"= $n * 1e308 * 1e308\"",
    "\"= (\"",
    "\"= sqrt(-1)\"",
    "\"= 3*mm\"",
    "\"= $width ^ 9 ^ 9\"",
    "\"1e308 km\"",
    "\"1e-320 nm\"",
    "\"5\"",
    "\" 5 m \"",
    "\"nan m\"",
    "\"m\"",
    "\"1 m^9/s^-9\"",
    "1979-05-27T07:32:00Z",
    "07:32:00",
    "\"\\u0000\"",
    "\"a\\nb\"",
    "\"\\u001b[31m\"",
    "{ group = \"left\" }",
    "[1, 2]",
    "[0, 0, 0]",
    "\"left\"",
    "\"sheet\"",
];

const UNITS: [&str; 22] = [
    "m", "mm", "kg", "g", "s", "ms", "N", "Pa", "MPa", "bar", "J", "W", "Hz", "rad", "deg", "turn",
    "denier", "tex", "%", "g/m^2", "m/s^2", "parsec",
];

const KEYS: [&str; 30] = [
    "time",
    "duration",
    "h",
    "substeps",
    "frame_rate",
    "start_frame",
    "seed",
    "gravity",
    "title",
    "material",
    "object",
    "pin",
    "probe",
    "wind",
    "quick",
    "parameters",
    "kind",
    "size",
    "vertices",
    "position",
    "rotation",
    "velocity",
    "preset",
    "young",
    "thickness",
    "at",
    "box",
    "\"\"",
    "\"a b\"",
    "n",
];

const PATHS: [&str; 20] = [
    "time.duration",
    "time.h",
    "time",
    "time.substeps",
    "parameters.n",
    "parameters",
    "quick",
    "quick.x",
    "object",
    "object.sheet.size",
    "object.sheet.size.0",
    "object.cloth.vertices.1",
    "object.a.vertices",
    "gravity.2",
    "gravity.9",
    "material.a.preset",
    "",
    ".",
    "title.x",
    "object.sheet.rotation.axis",
];

/// Keys that objects and colliders of every kind have.
const PLACEMENTS: [&str; 20] = [
    "scale = 1e9",
    "scale = 1e-9",
    "scale = [1, 1e9, 1e-9]",
    "scale = [1, 2, 3]",
    "position = [1e300, 0, 0]",
    "position = [1e9, 1e-9, 0]",
    "rotation = { angle = 1e300 }",
    "rotation = { axis = [1e-300, 0, 1e-300], angle = \"1 turn\" }",
    "copies = { array = { count = [3, 1, 1], spacing = [1e308, 0, 0] } }",
    "copies = { array = { count = [1000000, 1, 1], spacing = [1, 0, 0] } }",
    "copies = { array = { count = [2, 2, 1], spacing = [0, 0, 0] } }",
    "copies = { scatter = { count = 4, min = [-1e300, 0, 0], max = [1e300, 1, 1] } }",
    "copies = { scatter = { count = 4, min = [0, 0, 0], max = [0, 0, 0], apart = 0 } }",
    "motion = { angular_velocity = [1e300, 0, 1e9], velocity = [1e300, 0, 0] }",
    "motion = { oscillation = { frequency = 1e308, amplitude = [1e308, 0, 0], \
        rotation = { angle = 1e308 }, phase = 1e308 } }",
    "motion = { keyframes = [{ time = 0, position = [-1e308, 0, 0] }, { time = 1e-300, \
        position = [1e308, 0, 0] }], interpolation = \"smooth\" }",
    "motion = { start = 1e300, keyframes = [{ time = 1e300, rotation = { axis = [1, 0, 0], \
        angle = 1e308 } }] }",
    "motion = { center = [1e308, 0, 0], angular_velocity = [0, 0, 1] }",
    "contact = { thickness = 1e300, friction = 1000, cohesion = 1e300, compliance = 1e300 }",
    "velocity = [1e300, 0, 0]",
];

/// Adds one of [`PLACEMENTS`] to a table that has a kind.
fn add_key(text: &mut String, random: &mut Choices) {
    let kinds: Vec<usize> = text
        .match_indices("\nkind = ")
        .map(|(at, _)| at + 1)
        .collect();
    if !kinds.is_empty() {
        let line = random.pick(&PLACEMENTS);
        text.insert_str(kinds[random.below(kinds.len())], &format!("{line}\n"));
    }
}

/// Input of a case, and the index of its seed scene. Both depend on seed and case number only.
pub(crate) fn request(seeds: &[Seed], seed: u64, case: u64) -> (SceneRequest, usize) {
    let mut random = Choices::of_case(seed, case);
    let start = random.below(seeds.len());
    let mut text = seeds[start].text.clone();
    let rounds = match random.below(8) {
        0 => 0,
        1..=4 => 1,
        5 | 6 => 2,
        _ => 1 + random.below(6),
    };
    // Half of the cases change numbers only, so that extreme numbers reach the code behind the
    // reader.
    let only_numbers = random.one_in(2);
    for _ in 0..rounds {
        if !only_numbers {
            mutate(&mut text, seeds, &mut random);
        } else if random.one_in(3) {
            add_key(&mut text, &mut random);
        } else {
            replace_number(&mut text, &mut random);
        }
    }
    let mut sets = Vec::new();
    while sets.len() < 4 && random.one_in(5) {
        sets.push(set(&text, &mut random));
    }
    let request = SceneRequest {
        name: "fuzz".into(),
        file: "fuzz.toml".into(),
        text,
        quick: !random.one_in(3),
        sets,
        ..SceneRequest::default()
    };
    (request, start)
}

fn mutate(text: &mut String, seeds: &[Seed], random: &mut Choices) {
    match random.below(32) {
        0 | 1 => flip_bytes(text, random),
        2 | 3 => insert(text, random.pick(&PUNCTUATION), random),
        4 => insert(text, random.pick(&STRANGE), random),
        5 => delete(text, random),
        6..=8 => change_lines(text, random),
        9..=14 => replace_number(text, random),
        15 | 16 => replace_unit(text, random),
        17 | 18 => replace_key(text, random),
        19..=24 => replace_value(text, seeds, random),
        25 => change_line_ends(text, random),
        26 => splice(text, seeds, random),
        27 => nest(text, random),
        28 => lengthen(text, random),
        29 => chain_parameters(text, random),
        30 => crowd(text, random),
        _ => *text = text.chars().take(random.below(text.len() + 1)).collect(),
    }
}

/// A random character boundary of a text.
fn position(text: &str, random: &mut Choices) -> usize {
    floor(text, random.below(text.len() + 1))
}

fn floor(text: &str, mut index: usize) -> usize {
    index = index.min(text.len());
    while !text.is_char_boundary(index) {
        index -= 1;
    }
    index
}

fn insert(text: &mut String, what: &str, random: &mut Choices) {
    let at = position(text, random);
    text.insert_str(at, what);
}

fn flip_bytes(text: &mut String, random: &mut Choices) {
    let mut bytes = std::mem::take(text).into_bytes();
    for _ in 0..random.size(20) {
        let at = random.below(bytes.len());
        if let Some(byte) = bytes.get_mut(at) {
            *byte ^= 1 << random.below(8);
        }
    }
    *text = String::from_utf8_lossy(&bytes).into_owned();
}

fn delete(text: &mut String, random: &mut Choices) {
    let start = position(text, random);
    let end = floor(text, start + random.size(200));
    text.replace_range(start..end.clamp(start, text.len()), "");
}

fn change_lines(text: &mut String, random: &mut Choices) {
    let mut lines: Vec<&str> = text.split('\n').collect();
    let (one, other) = (random.below(lines.len()), random.below(lines.len()));
    match random.below(3) {
        0 => lines.swap(one, other),
        1 => lines.insert(other, lines[one]),
        _ => {
            lines.remove(one);
        }
    }
    *text = lines.join("\n");
}

/// Maximal ranges of characters that satisfy `accept`.
fn tokens(text: &str, accept: impl Fn(char) -> bool) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    for (at, character) in text.char_indices().filter(|(_, c)| accept(*c)) {
        let end = at + character.len_utf8();
        match found.last_mut() {
            Some(last) if last.1 == at => last.1 = end,
            _ => found.push((at, end)),
        }
    }
    found
}

fn replace_token(
    text: &mut String,
    accept: impl Fn(char) -> bool,
    with: &str,
    random: &mut Choices,
) {
    let found = tokens(text, accept);
    if !found.is_empty() {
        let (start, end) = found[random.below(found.len())];
        text.replace_range(start..end, with);
    }
}

fn replace_number(text: &mut String, random: &mut Choices) {
    let number = random.pick(&NUMBERS);
    replace_token(text, |c| c.is_ascii_digit() || c == '.', number, random);
}

fn replace_unit(text: &mut String, random: &mut Choices) {
    // The last word before each quote.
    let found: Vec<(usize, usize)> = text
        .match_indices('"')
        .map(|(quote, _)| {
            let start = text[..quote].rfind([' ', '"']).map_or(quote, |at| at + 1);
            (start, quote)
        })
        .collect();
    if !found.is_empty() {
        let (start, end) = found[random.below(found.len())];
        text.replace_range(start..end, random.pick(&UNITS));
    }
}

fn replace_key(text: &mut String, random: &mut Choices) {
    let key = random.pick(&KEYS);
    if random.one_in(3) {
        replace_token(text, |c| c.is_ascii_lowercase(), key, random);
    } else {
        replace_side(text, 0, key, random);
    }
}

fn replace_value(text: &mut String, seeds: &[Seed], random: &mut Choices) {
    let other = &seeds[random.below(seeds.len())].text;
    let borrowed: Vec<&str> = other
        .lines()
        .filter_map(|line| Some(line.split_once('=')?.1.trim()))
        .collect();
    let value = match random.below(4) {
        0 => random.pick(&NUMBERS),
        1 => random.pick(&borrowed),
        _ => random.pick(&VALUES),
    };
    replace_side(text, 1, value, random);
}

/// Replaces the text before (0) or after (1) the first `=` of a random line.
fn replace_side(text: &mut String, side: usize, with: &str, random: &mut Choices) {
    let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
    let assignments: Vec<usize> = (0..lines.len())
        .filter(|line| lines[*line].contains('='))
        .collect();
    if assignments.is_empty() {
        return;
    }
    let line = &mut lines[assignments[random.below(assignments.len())]];
    if let Some((key, value)) = line.split_once('=') {
        *line = match side {
            0 => format!("{with} = {value}"),
            _ => format!("{key} = {with}"),
        };
    }
    *text = lines.join("\n");
}

fn change_line_ends(text: &mut String, random: &mut Choices) {
    *text = match random.below(4) {
        0 => text.replace('\n', "\r\n"),
        1 => text.replace('\n', "\r"),
        2 => format!("\u{feff}{text}"),
        _ => text.replace("\n", "\n\t"),
    };
}

/// Replaces the tail by that of another scene.
fn splice(text: &mut String, seeds: &[Seed], random: &mut Choices) {
    let other = &seeds[random.below(seeds.len())].text;
    let (cut, from) = (position(text, random), position(other, random));
    text.truncate(cut);
    *text += &other[from..];
}

/// Adds a deeply nested value.
fn nest(text: &mut String, random: &mut Choices) {
    let depth = random.size(10_000);
    let keys = vec!["a"; depth.min(79)].join(".");
    let line = match random.below(10) {
        0 => format!("x = {}", "[".repeat(depth)),
        1 => format!("x = {}{}", "[".repeat(depth), "]".repeat(depth)),
        2 => format!("x = {}1{}", "{a=".repeat(depth), "}".repeat(depth)),
        3 => format!("{} = 1", vec!["a"; depth].join(".")),
        4 => format!("[{}]\n{keys} = 1", vec!["object"; depth].join(".")),
        5 => format!("title = \"= {}\"", "(".repeat(depth)),
        6 => format!("title = \"= 1{}\"", " + -1 * 2 ^ 1".repeat(depth)),
        7 => format!(
            "x = {}1{}",
            format!("{{{keys}=").repeat(depth.min(90)),
            "}".repeat(depth.min(90))
        ),
        8 => format!("[quick]\n\"{}\" = 1", vec!["a"; depth].join(".")),
        _ => format!("[parameters]\nn = {}{}", "[".repeat(70), "]".repeat(70)),
    };
    add_line(text, &line, random);
}

/// Adds a line at either end.
fn add_line(text: &mut String, line: &str, random: &mut Choices) {
    if random.one_in(2) {
        *text = format!("{line}\n{text}");
    } else {
        *text += &format!("\n{line}\n");
    }
}

/// Adds a very long name or value.
fn lengthen(text: &mut String, random: &mut Choices) {
    let length = random.size(100_000);
    let word = random
        .pick(&["a", "é", "0", " ", "\t", "🧶"])
        .repeat(length);
    match random.below(6) {
        0 => insert(text, &word, random),
        1 => add_line(text, &format!("{} = 1", "b".repeat(length)), random),
        2 => add_line(text, &format!("title = \"{word}\""), random),
        3 => replace_side(text, 1, &format!("\"{word}\""), random),
        4 => replace_side(text, 1, &format!("[{}]", "1, ".repeat(length / 4)), random),
        _ => {
            let name = "p".repeat(length);
            let line = format!("[parameters]\n{name}q = 1\nx = \"${name}\"");
            add_line(text, &line, random);
        }
    }
}

/// Adds a chain of parameters.
fn chain_parameters(text: &mut String, random: &mut Choices) {
    let count = random.size(5000);
    let kind = random.below(4);
    let mut lines = String::from("p0 = [1, 2, 3, 4, 5, 6, 7, 8]\n");
    if kind == 0 {
        lines = String::from("p0 = 1\n");
    }
    for i in 1..count {
        let before = i - 1;
        lines += &match kind {
            0 => format!("p{i} = \"= $p{before} + 1\"\n"),
            1 => format!("p{i} = \"$p{before}\"\n"),
            2 => format!("p{i} = [\"$p{before}\", \"$p{before}\"]\n"),
            _ => format!("p{i} = [{}]\n", format!("\"$p{before}\", ").repeat(40)),
        };
    }
    let head = "[parameters]\n";
    match text.find(head) {
        Some(at) => text.insert_str(at + head.len(), &lines),
        None => *text += &format!("\n{head}{lines}"),
    }
}

/// Adds very many keys or tables.
fn crowd(text: &mut String, random: &mut Choices) {
    let count = random.size(3000);
    let names: Vec<&str> = text
        .split("[object.")
        .skip(1)
        .filter_map(|rest| rest.split(']').next())
        .collect();
    let name = names.first().copied().unwrap_or("nobody").to_owned();
    let part = |i: usize| match count % 5 {
        0 => format!("unknown{i} = {i}\n"),
        1 => format!("[pin.p{i}]\nobject = \"nobody\"\nat = {{ group = \"left\" }}\n"),
        2 => format!("[object.o{i}]\nkind = \"cloth-grid\"\n"),
        3 => format!(
            "[pin.p{i}]\nobject = \"{name}\"\nat = {{ vertices = [0, 1, {}] }}\n",
            i % 9
        ),
        _ => format!("[[object.o]]\nkind = {i}\n"),
    };
    let lines: String = (0..count).map(part).collect();
    add_line(text, &lines, random);
}

/// A `--set` argument.
fn set(text: &str, random: &mut Choices) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let borrowed = lines.get(random.below(lines.len())).copied().unwrap_or("");
    let value = match random.below(3) {
        0 => random.pick(&NUMBERS).to_owned(),
        1 => random.pick(&VALUES).to_owned(),
        _ => borrowed.chars().take(1000).collect(),
    };
    match random.below(8) {
        0 => value,
        1 => format!("{}={value}", vec!["a"; random.size(10_000)].join(".")),
        2 => format!("time={}", "[".repeat(random.size(10_000))),
        _ => format!("{}={value}", random.pick(&PATHS)),
    }
}
