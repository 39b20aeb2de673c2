//! The closed set of resources. No text of a request becomes part of a path on disk, so no file
//! outside of a run can be read.

/// A requested resource.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Resource<'a> {
    Page,
    Icon,
    Runs,
    RunFile(u64, File),
    JobReport(&'a str, Report),
}

/// A file of a run, or data computed from it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum File {
    Status,
    Manifest,
    Scene,
    Topology,
    Frame(u64),
    /// `run.jsonl` from this byte.
    Log(u64),
    /// `probes.csv` from this byte.
    Probes(u64),
}

/// Report of the page on its render job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Report {
    Picture(u64),
    Done,
    Error,
}

impl Resource<'_> {
    /// Parses the target of a request; `None` if there is no such resource.
    pub(super) fn parse(target: &str) -> Option<Resource<'_>> {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let parts: Vec<&str> = path.split('/').collect();
        let file = |run: &str, file: File| Some(Resource::RunFile(number(run)?, file));
        match parts[..] {
            ["", ""] => Some(Resource::Page),
            ["", "favicon.ico"] => Some(Resource::Icon),
            ["", "runs.json"] => Some(Resource::Runs),
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
                Some(Resource::JobReport(token, Report::Picture(number(frame)?)))
            }
            ["", "job", token, "done"] => Some(Resource::JobReport(token, Report::Done)),
            ["", "job", token, "error"] => Some(Resource::JobReport(token, Report::Error)),
            _ => None,
        }
    }
}

/// Number with decimal digits only.
pub(super) fn number(text: &str) -> Option<u64> {
    let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_plain.then(|| text.parse().ok())?
}

/// Value of `from` in a query: the first byte to send.
fn from(query: &str) -> Option<u64> {
    let mut pairs = query.split('&');
    let from = pairs.find_map(|pair| pair.strip_prefix("from="));
    from.map_or(Some(0), number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_of_resources_are_parsed() {
        let of_run = |run, file| Some(Resource::RunFile(run, file));
        let cases = [
            ("/", Some(Resource::Page)),
            ("/?job=1f&colour=speed", Some(Resource::Page)),
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
                Some(Resource::JobReport("ab", Report::Picture(3))),
            ),
        ];
        for (target, resource) in cases {
            assert_eq!(Resource::parse(target), resource, "{target}");
        }
    }

    #[test]
    fn other_targets_are_refused() {
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
            assert_eq!(Resource::parse(target), None, "{target}");
        }
    }
}
