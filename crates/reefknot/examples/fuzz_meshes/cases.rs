//! Reads mutated mesh files, and records violated requirements.

use std::collections::BTreeMap;
use std::time::Duration;

use reefknot_sim::io::import::{FilePlace, ImportError, Imported, import, import_points};
use reefknot_sim::machine;
use reefknot_sim::mesh::Mesh;

use crate::mutate::{self, File};
use crate::{guard, seeds};

/// Time limit of a case; longer in debug builds.
const CASE_LIMIT: Duration = Duration::from_secs(if cfg!(debug_assertions) { 20 } else { 1 });

/// Longest acceptable message (bytes).
const MAX_MESSAGE_LENGTH: usize = 600;

/// Counts and findings of all cases.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) cases: u64,
    pub(crate) accepted: u64,
    pub(crate) rejected: u64,
    pub(crate) panics: u64,
    /// Refused without a place.
    without_place: u64,
    /// Refused without advice, or with a message that is too long or contains control characters.
    bad_messages: u64,
    /// Accepted, but the mesh is invalid.
    bad_meshes: u64,
    slowest: Duration,
    slowest_case: u64,
    /// Accepted and rejected cases by format of the seed file.
    pub(crate) formats: BTreeMap<&'static str, [u64; 2]>,
    /// First finding of each kind: kind, case, description and file.
    pub(crate) findings: Vec<(&'static str, u64, String, String)>,
    /// Some messages, for inspection.
    pub(crate) sample: Vec<String>,
}

impl Tally {
    /// Whether there are no findings and no slow cases.
    pub(crate) fn is_clean(&self) -> bool {
        self.findings.is_empty() && self.slowest <= CASE_LIMIT
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

    fn add_finding(&mut self, kind: &'static str, case: u64, what: String, file: &File) {
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
            let (taken, panic) = guard.case(case, || run_case(case, &file, &mut tally));
            tally.cases += 1;
            if taken > tally.slowest {
                (tally.slowest, tally.slowest_case) = (taken, case);
            }
            if let Some(what) = panic {
                tally.panics += 1;
                tally.add_finding("panic", case, what, &file);
            }
        }
        tally
    })
}

/// Reads a file as a scene would.
fn run_case(case: u64, file: &File, tally: &mut Tally) {
    let points = import_points(&file.name, &file.bytes);
    let result = import(&file.name, &file.bytes).and_then(|imported| {
        let mut faults = faults_of_imported(&imported);
        if points.as_ref().ok() != Some(&imported.points) {
            faults.push("the points alone are read differently");
        }
        let (mesh, origins) = imported.into_mesh()?;
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
                tally.add_finding("bad mesh", case, faults.join(", "), file);
            }
        }
        Err(error) => {
            counts[1] += 1;
            tally.rejected += 1;
            check_message(case, &error, file, tally);
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
    let is_group = |group: &reefknot_sim::mesh::Group| {
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

/// Checks the message of a refused file.
fn check_message(case: u64, error: &ImportError, file: &File, tally: &mut Tally) {
    let message = error.to_string();
    let ends = |byte: &&u8| matches!(byte, b'\n' | b'\r');
    let is_placed = match error.place {
        FilePlace::Line(line) => (1..=2 + file.bytes.iter().filter(ends).count()).contains(&line),
        FilePlace::Byte(byte) => byte <= file.bytes.len(),
        FilePlace::Vertex(index) => index < file.bytes.len(),
        // Only an unknown extension has no place in the file.
        FilePlace::WholeFile => error.message.contains("extension"),
    };
    if !is_placed {
        tally.without_place += 1;
        tally.add_finding("rejection without a place", case, message.clone(), file);
    }
    let is_said = !error.message.is_empty() && !error.advice.is_empty();
    if !is_said || message.len() > MAX_MESSAGE_LENGTH || message.contains(char::is_control) {
        tally.bad_messages += 1;
        tally.add_finding("bad message", case, message.clone(), file);
    }
    if tally.sample.len() < 1000 {
        tally.sample.push(message);
    }
}
