//! What can be asked for: a closed set. No text of a request becomes part of a path on disk, so nothing outside of a
//! run can be reached.

/// Something that can be asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Asked<'a> {
    Page,
    Icon,
    Runs,
    OfRun(u64, File),
    OfJob(&'a str, Report),
}

/// A file of a run, or what is made of it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum File {
    Status,
    Manifest,
    Scene,
    Topology,
    Frame(u64),
    /// From this byte on.
    Log(u64),
    /// From this byte on.
    Probes(u64),
}

/// What the page says of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Report {
    Picture(u64),
    Done,
    Error,
}

impl Asked<'_> {
    /// Reads the target of a request: none if nothing has such a name.
    pub(super) fn parse(target: &str) -> Option<Asked<'_>> {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let parts: Vec<&str> = path.split('/').collect();
        let file = |run: &str, file: File| Some(Asked::OfRun(number(run)?, file));
        match parts[..] {
            ["", ""] => Some(Asked::Page),
            ["", "favicon.ico"] => Some(Asked::Icon),
            ["", "runs.json"] => Some(Asked::Runs),
            ["", "runs", run, "status.json"] => file(run, File::Status),
            ["", "runs", run, "manifest.json"] => file(run, File::Manifest),
            ["", "runs", run, "scene.toml"] => file(run, File::Scene),
            ["", "runs", run, "topology.safetensors"] => file(run, File::Topology),
            ["", "runs", run, "frames", name] => {
                let frame = number(name.strip_suffix(".safetensors")?)?;
                file(run, File::Frame(frame))
            }
            ["", "runs", run, "run.jsonl"] => file(run, File::Log(from(query)?)),
            ["", "runs", run, "probes.csv"] => file(run, File::Probes(from(query)?)),
            ["", "job", token, "frames", frame] => {
                Some(Asked::OfJob(token, Report::Picture(number(frame)?)))
            }
            ["", "job", token, "done"] => Some(Asked::OfJob(token, Report::Done)),
            ["", "job", token, "error"] => Some(Asked::OfJob(token, Report::Error)),
            _ => None,
        }
    }
}

/// Digits, and nothing but digits.
pub(super) fn number(text: &str) -> Option<u64> {
    let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_plain.then(|| text.parse().ok())?
}

/// The byte to begin with.
fn from(query: &str) -> Option<u64> {
    let mut pairs = query.split('&');
    let from = pairs.find_map(|pair| pair.strip_prefix("from="));
    from.map_or(Some(0), number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_names_are_read() {
        let of_run = |run, file| Some(Asked::OfRun(run, file));
        let cases = [
            ("/", Some(Asked::Page)),
            ("/?job=1f&colour=speed", Some(Asked::Page)),
            ("/runs/0/status.json?x", of_run(0, File::Status)),
            (
                "/runs/1/frames/00012.safetensors",
                of_run(1, File::Frame(12)),
            ),
            ("/runs/0/frames/7.safetensors", of_run(0, File::Frame(7))),
            ("/runs/0/run.jsonl", of_run(0, File::Log(0))),
            (
                "/runs/0/probes.csv?a=1&from=12",
                of_run(0, File::Probes(12)),
            ),
            (
                "/job/ab/frames/3",
                Some(Asked::OfJob("ab", Report::Picture(3))),
            ),
        ];
        for (target, asked) in cases {
            assert_eq!(Asked::parse(target), asked, "{target}");
        }
    }

    #[test]
    fn everything_else_is_nothing() {
        let targets = [
            "",
            "//",
            "runs.json",
            "*",
            "http://127.0.0.1/runs.json",
            "/index.html",
            "/runs",
            "/runs/0",
            "/runs/0/",
            "/runs/+0/status.json",
            "/runs/-1/status.json",
            "/runs/0x0/status.json",
            "/runs/99999999999999999999/status.json",
            "/runs/0/.lock",
            "/runs/0/Manifest.json",
            "/runs/0/manifest.json/",
            "/runs/0/manifest.json%00",
            "/runs/0/./manifest.json",
            "/runs/0/../0/manifest.json",
            "/runs/0/frames/",
            "/runs/0/frames/.safetensors",
            "/runs/0/frames/-1.safetensors",
            "/runs/0/frames/1e3.safetensors",
            "/runs/0/frames/0.safetensors.tmp",
            "/runs/0/frames/..%2fmanifest.json",
            "/runs/0/frames/../manifest.json",
            "/runs/0/frames\\0.safetensors",
            "/runs/0/checkpoints/000000000.safetensors",
            "/runs/0/run.jsonl?from=-1",
            "/job/ab/frames/../done",
        ];
        for target in targets {
            assert_eq!(Asked::parse(target), None, "{target}");
        }
    }
}
