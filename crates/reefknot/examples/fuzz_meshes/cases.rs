//! Reads mutated mesh files, and notes what must not happen.

use std::collections::BTreeMap;
use std::time::Duration;

use reefknot::io::import::{ImportError, Imported, Place, import, import_points};
use reefknot::machine;
use reefknot::mesh::Mesh;

use crate::mutate::{self, File};
use crate::{guard, seeds};

/// Cases that take longer than this hang, as far as a user can tell; nobody uses a debug build.
const SLOW: Duration = Duration::from_secs(if cfg!(debug_assertions) { 20 } else { 1 });

/// Longer messages than this bury what they say.
const LONGEST_MESSAGE: usize = 600;

/// What happened.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) cases: u64,
    pub(crate) accepted: u64,
    pub(crate) rejected: u64,
    pub(crate) panics: u64,
    /// Refused without saying where.
    without_place: u64,
    /// Refused without advice, or in words that are too long or hold control characters.
    bad_messages: u64,
    /// Accepted, but not a mesh.
    bad_meshes: u64,
    slowest: Duration,
    slowest_case: u64,
    /// Accepted and rejected cases, by the format that they were made from.
    pub(crate) formats: BTreeMap<&'static str, [u64; 2]>,
    /// The first thing of each kind that must not happen: its case, what it is, and the file.
    pub(crate) findings: Vec<(&'static str, u64, String, String)>,
    /// Some refusals, for reading.
    pub(crate) sample: Vec<String>,
}

impl Tally {
    /// Whether nothing happened that must not.
    pub(crate) fn is_clean(&self) -> bool {
        self.findings.is_empty() && self.slowest <= SLOW
    }

    /// One line of JSON.
    pub(crate) fn json(&self) -> String {
        let counts = |format: &&str| {
            let [accepted, rejected] = self.formats.get(format).copied().unwrap_or_default();
            let counts = serde_json::json!({ "accepted": accepted, "rejected": rejected });
            ((*format).to_owned(), counts)
        };
        let formats: serde_json::Map<_, _> = seeds::FORMATS.iter().map(counts).collect();
        serde_json::json!({
            "cases": self.cases,
            "accepted": self.accepted,
            "rejected": self.rejected,
            "panics": self.panics,
            "without_place": self.without_place,
            "bad_messages": self.bad_messages,
            "bad_meshes": self.bad_meshes,
            "slowest_s": (self.slowest.as_secs_f64() * 1e4).round() / 1e4,
            "slowest_case": self.slowest_case,
            "peak_mib": machine::peak_memory().map(|bytes| bytes >> 20),
            "formats": formats,
        })
        .to_string()
    }

    fn find(&mut self, kind: &'static str, case: u64, what: String, file: &File) {
        if self.findings.iter().all(|finding| finding.0 != kind) {
            let shown = format!("{}\n{}", file.name, file.bytes.escape_ascii());
            self.findings.push((kind, case, what, shown));
        }
    }
}

/// Runs `count` cases from `first` on.
///
/// # Errors
/// If the thread that runs them cannot be started.
pub(crate) fn run(first: u64, count: u64, seed: u64) -> std::io::Result<Tally> {
    guard::run(|guard| {
        let seeds = seeds::seeds();
        let mut tally = Tally::default();
        for case in first..first + count {
            let file = mutate::file(&seeds, seed, case);
            let (taken, panic) = guard.case(case, || one(case, &file, &mut tally));
            tally.cases += 1;
            if taken > tally.slowest {
                (tally.slowest, tally.slowest_case) = (taken, case);
            }
            if let Some(what) = panic {
                tally.panics += 1;
                tally.find("panic", case, what, &file);
            }
        }
        tally
    })
}

/// Reads a file as a scene would.
fn one(case: u64, file: &File, tally: &mut Tally) {
    let points = import_points(&file.name, &file.bytes);
    let result = import(&file.name, &file.bytes).and_then(|imported| {
        let mut faults = faults_of_imported(&imported);
        if points.as_ref().ok() != Some(&imported.points) {
            faults.push("the points alone are read differently");
        }
        let (mesh, origins) = imported.into_mesh_and_origins()?;
        faults.extend(faults_of_mesh(&mesh));
        if origins.len() != mesh.points.len() {
            faults.push("points without an origin");
        }
        Ok(faults)
    });
    let counts = tally.formats.entry(file.format).or_default();
    match result {
        Ok(faults) => {
            counts[0] += 1;
            tally.accepted += 1;
            if !faults.is_empty() {
                tally.bad_meshes += 1;
                tally.find("bad mesh", case, faults.join(", "), file);
            }
        }
        Err(error) => {
            counts[1] += 1;
            tally.rejected += 1;
            note(case, &error, file, tally);
        }
    }
}

fn faults_of_imported(imported: &Imported) -> Vec<&'static str> {
    let mut faults = Vec::new();
    let mut require = |holds: bool, what| {
        if !holds {
            faults.push(what);
        }
    };
    let count = imported.points.len();
    let exists = |vertex: &u32| (*vertex as usize) < count;
    let points = &imported.points;
    require(count > 0 && points.iter().all(|p| p.is_finite()), "points");
    let corners = imported.triangles.as_flattened().iter();
    let corners = corners.chain(imported.tetrahedra.as_flattened());
    require(corners.into_iter().all(exists), "corners");
    let is_proper = |corners: &[u32]| {
        let pairs = (0..corners.len()).flat_map(|i| (0..i).map(move |j| [i, j]));
        pairs.into_iter().all(|[i, j]| corners[i] != corners[j])
    };
    let triangles = &imported.triangles;
    require(triangles.iter().all(|e| is_proper(e)), "a triangle");
    let tetrahedra = &imported.tetrahedra;
    require(tetrahedra.iter().all(|e| is_proper(e)), "a tetrahedron");
    let is_line = |line: &Vec<u32>| {
        let is_moving = line.windows(2).all(|pair| pair[0] != pair[1]);
        line.len() >= 2 && line.iter().all(exists) && is_moving
    };
    require(imported.lines.iter().all(is_line), "a line");
    let is_group = |group: &reefknot::mesh::Group| {
        let vertices = &group.vertices;
        let is_sorted = vertices.windows(2).all(|pair| pair[0] < pair[1]);
        !group.name.is_empty() && !vertices.is_empty() && vertices.iter().all(exists) && is_sorted
    };
    require(imported.groups.iter().all(is_group), "a group");
    faults
}

fn faults_of_mesh(mesh: &Mesh) -> Vec<&'static str> {
    let mut faults = Vec::new();
    let mut require = |holds: bool, what| {
        if !holds {
            faults.push(what);
        }
    };
    let count = mesh.points.len();
    let corners = mesh.triangles.as_flattened().iter();
    let corners = corners.chain(mesh.tetrahedra.as_flattened());
    let groups = mesh.groups.iter().flat_map(|group| &group.vertices);
    let mut vertices = corners.chain(groups);
    let exist = vertices.all(|vertex| (*vertex as usize) < count);
    require(exist, "vertices of the mesh");
    let mut is_taken = vec![false; count];
    for curve in &mesh.curves {
        require(curve.count >= 2 + u32::from(curve.closed), "short curves");
        let last = curve.first as usize + curve.count as usize;
        match is_taken.get_mut(curve.first as usize..last) {
            Some(run) if run.iter().all(|is_taken| !is_taken) => run.fill(true),
            _ => require(false, "curves"),
        }
    }
    faults
}

/// Checks what a refusal says.
fn note(case: u64, error: &ImportError, file: &File, tally: &mut Tally) {
    let message = error.to_string();
    let ends = |byte: &&u8| matches!(byte, b'\n' | b'\r');
    let is_placed = match error.place {
        Place::Line(line) => (1..=2 + file.bytes.iter().filter(ends).count()).contains(&line),
        Place::Byte(byte) => byte <= file.bytes.len(),
        Place::Vertex(index) => index < file.bytes.len(),
        // What is wrong is the name.
        Place::Nowhere => error.message.contains("extension"),
    };
    if !is_placed {
        tally.without_place += 1;
        tally.find("rejection without a place", case, message.clone(), file);
    }
    let is_said = !error.message.is_empty() && !error.advice.is_empty();
    if !is_said || message.len() > LONGEST_MESSAGE || message.contains(char::is_control) {
        tally.bad_messages += 1;
        tally.find("bad message", case, message.clone(), file);
    }
    if tally.sample.len() < 1000 {
        tally.sample.push(message);
    }
}
