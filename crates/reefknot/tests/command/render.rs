//! `render` with a stand-in for the browser, and `export --to html`.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;

use crate::common::{Output, Running, Sandbox, TINY};
use crate::web::{Reply, Web, send};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nnot much of a picture";

fn sandbox_with_run() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.expect(0, &TINY, &["--out", "a", "--quiet", "--frames", "2"]);
    sandbox
}

/// Writes a shell script in place of the browser; returns its path.
fn fake_browser(sandbox: &Sandbox, script: &str) -> String {
    let path = sandbox.path("browser");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

fn render(sandbox: &Sandbox, browser: &str, more: &[&str]) -> Output {
    let arguments = [&["render", "a", "--png", "p"], more].concat();
    let variables = [("REEFKNOT_BROWSER", browser)];
    sandbox.start_in(&variables, &arguments).wait()
}

/// A rendering with this test in place of the browser.
struct Page {
    running: Running,
    port: u16,
    token: String,
    /// Process number of the browser.
    process: String,
    /// Profile folder of the browser.
    folder: String,
}

impl Page {
    fn start(sandbox: &Sandbox, more: &[&str]) -> Page {
        let script = "echo $$ \"$@\" > called.part; mv called.part called; exec sleep 100";
        let program = fake_browser(sandbox, script);
        let _ = fs::remove_file(sandbox.path("called"));
        let arguments = [&["render", "a", "--png", "p"], more].concat();
        let mut running = sandbox.start_in(&[("REEFKNOT_BROWSER", &program)], &arguments);
        running.wait_for(&sandbox.path("called"));
        let called = fs::read_to_string(sandbox.path("called")).unwrap();
        let words: Vec<&str> = called.split_whitespace().collect();
        let address = words
            .last()
            .unwrap()
            .strip_prefix("http://127.0.0.1:")
            .unwrap();
        let (port, token) = address.split_once("/?job=").unwrap();
        let folder = words
            .iter()
            .find_map(|word| word.strip_prefix("--user-data-dir="));
        Page {
            port: port.parse().unwrap(),
            token: token.to_owned(),
            process: words[0].to_owned(),
            folder: folder.unwrap().to_owned(),
            running,
        }
    }

    fn request(&self, path: &str, body: &[u8]) -> Vec<u8> {
        let (token, length) = (&self.token, body.len());
        let head = format!(
            "POST /job/{token}/{path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\
                Connection: close\r\n\r\n"
        );
        [head.as_bytes(), body].concat()
    }

    fn post(&self, path: &str, body: &[u8]) -> Reply {
        send(self.port, &self.request(path, body))
    }

    /// Posts the last request; the program may end before it responds.
    fn post_last(&self, path: &str, body: &[u8]) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.write_all(&self.request(path, body)).unwrap();
        let _ = stream.read(&mut [0]);
    }

    /// Waits for the end; browser and profile folder must be gone by then.
    fn end(self, code: i32) -> Output {
        let output = self.running.wait();
        assert_eq!(output.code, Some(code), "{output:#?}");
        assert!(!Path::new(&self.folder).exists());
        assert!(!Path::new("/proc").join(&self.process).exists());
        output
    }
}

#[test]
fn without_a_browser_the_message_says_what_to_install() {
    let sandbox = sandbox_with_run();
    let arguments = ["render", "a", "--png", "p"];
    let nowhere = [("PATH", ""), ("REEFKNOT_BROWSER", "")];
    let output = sandbox.start_in(&nowhere, &arguments).wait();
    assert_eq!(output.code, Some(2), "{output:?}");
    output
        .prints("apt install chromium")
        .prints("REEFKNOT_BROWSER")
        .prints("reefknot view a");
    for named in ["/absent/browser", "absent-browser"] {
        let output = render(&sandbox, named, &[]);
        assert_eq!(output.code, Some(2), "{output:?}");
        output.prints(&format!("REEFKNOT_BROWSER is {named}"));
    }
    assert!(!sandbox.path("p").exists());
}

#[test]
fn the_message_of_a_failing_browser_is_printed() {
    let sandbox = sandbox_with_run();
    let program = fake_browser(&sandbox, "echo 'no display, no luck' >&2; exit 1");
    let output = render(&sandbox, &program, &[]);
    assert_eq!(output.code, Some(1), "{output:?}");
    output
        .prints("no display, no luck")
        .prints("exit status: 1");
}

#[test]
fn invalid_frames_sizes_and_looks_are_refused() {
    let sandbox = sandbox_with_run();
    let cases: [(&[&str], &str); 9] = [
        (&["--frames", "7"], "a has no frame 7; it has 0..2"),
        (&["--frames", "1..3"], "a has no frame 3; it has 0..2"),
        (
            &["--frames", "2..1"],
            "the first frame is larger than the last",
        ),
        (&["--frames", "x"], "expected frames such as 10 or 10..20"),
        (&["--frames", "0..99999999999999"], "a has no frame 3"),
        (&["--size", "1280"], "such as 1280x800"),
        (&["--size", "0x800"], "16 to 8192"),
        (&["--size", "99999x800"], "16 to 8192"),
        (&["--look", "a b"], "without spaces"),
    ];
    for (arguments, reason) in cases {
        let output = render(&sandbox, "/bin/false", arguments);
        assert_eq!(output.code, Some(2), "{output:?}");
        output.prints(reason);
    }
}

#[test]
fn pictures_are_written_as_the_page_sends_them() {
    let sandbox = sandbox_with_run();
    let more = [
        "--frames",
        "1..2",
        "--size",
        "640x480",
        "--look",
        "?colour=speed&contacts=1",
    ];
    let page = Page::start(&sandbox, &more);
    let web = |target: &str| {
        let request =
            format!("GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        send(page.port, request.as_bytes())
    };
    let runs: Json = serde_json::from_slice(&web("/runs.json").body).unwrap();
    let job = r#"{"frames":[1,2],"width":640,"height":480,"look":"colour=speed&contacts=1"}"#;
    assert_eq!(runs["job"].to_string(), job);
    assert!(!runs.to_string().contains(&page.token));
    // Bodies that are no PNG, frames that were not requested, and oversized bodies.
    assert_eq!(page.post("frames/1", b"GIF89a").code, 400);
    assert_eq!(page.post("frames/0", PNG).code, 404);
    assert_eq!(web(&format!("/job/{}/done", page.token)).code, 405);
    let head = format!(
        "POST /job/{}/frames/1 HTTP/1.1\r\nHost: localhost\r\n",
        page.token
    );
    let huge = format!("{head}Content-Length: 99999999999\r\n\r\n");
    assert_eq!(send(page.port, huge.as_bytes()).code, 413);
    let wrong_token = huge.replace(&page.token, &"0".repeat(page.token.len()));
    assert_eq!(send(page.port, wrong_token.as_bytes()).code, 404);
    for path in ["frames/1", "frames/2"] {
        assert_eq!(page.post(path, PNG).code, 200);
    }
    page.post_last("done", b"");
    page.end(0).prints("p: 2 images");
    let mut names: Vec<_> = fs::read_dir(sandbox.path("p"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["00001.png", "00002.png"]);
    assert_eq!(fs::read(sandbox.path("p/00002.png")).unwrap(), PNG);
}

#[test]
fn errors_and_missing_pictures_of_the_page_fail_the_rendering() {
    let sandbox = sandbox_with_run();
    let page = Page::start(&sandbox, &[]);
    page.post_last("error", b"no WebGL here\n");
    page.end(1).prints("error: no WebGL here");
    let page = Page::start(&sandbox, &[]);
    page.post_last("done", b"");
    page.end(1).prints("the viewer rendered 0 of 3 images");
}

#[test]
fn a_signal_ends_the_browser() {
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let sandbox = sandbox_with_run();
        let page = Page::start(&sandbox, &[]);
        page.running.signal(signal);
        page.end(code);
    }
}

/// Text of the script element with these attributes.
fn element<'a>(page: &'a str, attributes: &str) -> &'a str {
    let (_, rest) = page.split_once(&format!("<script {attributes}>")).unwrap();
    rest.split_once("</script>").unwrap().0
}

/// Inverse of the encoding of arrays in exported pages: base64, deflate, byte planes.
fn unpack(text: &str) -> Vec<u8> {
    let deflated = STANDARD.decode(text).unwrap();
    let mut shuffled = Vec::new();
    let mut decoder = flate2::read::DeflateDecoder::new(&deflated[..]);
    decoder.read_to_end(&mut shuffled).unwrap();
    let mut bytes = vec![0; shuffled.len()];
    let mut from = shuffled.iter();
    for first in 0..4 {
        bytes
            .iter_mut()
            .skip(first)
            .step_by(4)
            .for_each(|byte| *byte = *from.next().unwrap());
    }
    bytes
}

#[test]
fn an_html_file_contains_the_run_and_no_path_of_the_machine() {
    let sandbox = Sandbox::new();
    let folder = sandbox.path("").display().to_string();
    let out = sandbox.path("a").display().to_string();
    // The commands contain the folder, and the title contains the end of a script.
    let title = "title=\"</script><script>alert(1)</script>\"";
    for frames in ["1", "2"] {
        let more = [
            "--out", &out, "--set", title, "--resume", "--frames", frames,
        ];
        sandbox.expect(0, &TINY, &more);
    }
    let output = sandbox.expect(0, &["export", "a", "--to", "html"], &[]);
    output.prints("a/export/flag.html: ").prints(" MB");
    let page = fs::read_to_string(sandbox.path("a/export/flag.html")).unwrap();
    assert!(!page.contains(folder.trim_end_matches('/')));
    assert!(!page.contains("<script>alert(1)"));
    let data: Json = serde_json::from_str(element(
        &page,
        "type=\"application/json\" id=\"reefknot-data\"",
    ))
    .unwrap();
    assert!(data["job"].is_null() && data["look"].is_null());
    let run = &data["runs"][0];
    assert_eq!(run["path"], "flag");
    assert_eq!(run["status"]["state"], "finished");
    assert_eq!(run["status"]["frames"].to_string(), "[[0,2]]");
    let manifest: Json =
        serde_json::from_str(run["texts"]["manifest.json"].as_str().unwrap()).unwrap();
    assert_eq!(manifest["command"].to_string(), "[]");
    assert_eq!(manifest["title"], "</script><script>alert(1)</script>");
    for name in ["run.jsonl", "probes.csv", "scene.toml"] {
        let stored = fs::read_to_string(sandbox.path("a").join(name)).unwrap();
        assert_eq!(run["texts"][name], stored.as_str(), "{name}");
    }
    let web = Web::view(&sandbox, &["a"]);
    for name in [
        "topology.safetensors",
        "frames/0.safetensors",
        "frames/2.safetensors",
    ] {
        let attributes =
            format!("type=\"application/octet-stream\" data-run=\"0\" data-file=\"{name}\"");
        let served = web.get(&format!("/runs/0/{name}"));
        assert!(unpack(element(&page, &attributes)) == served, "{name}");
    }
    // The page around the data is unchanged.
    let own = include_str!("../../../../viewer/dist/index.html");
    let (before, after) = own.split_at(own.find("<script").unwrap());
    assert!(page.starts_with(before) && page.ends_with(after));
}

#[test]
fn html_export_accepts_a_file_or_a_folder_and_refuses_mesh_options() {
    let sandbox = sandbox_with_run();
    let export = ["export", "a", "--to", "html"];
    sandbox.expect(0, &export, &["--out", "b.html", "--look", "colour=speed"]);
    let page = fs::read_to_string(sandbox.path("b.html")).unwrap();
    assert!(page.contains("\"look\":\"colour=speed\""));
    sandbox
        .expect(0, &export, &["--out", "deep/er"])
        .prints("deep/er/flag.html");
    assert!(sandbox.path("deep/er/flag.html").is_file());
    for more in [["--up", "y"], ["--unit", "cm"]] {
        sandbox
            .expect(2, &export, &more)
            .prints("--up and --unit apply to --to obj and --to vtk only");
    }
    let look = ["export", "a", "--to", "obj", "--look", "colour=speed"];
    sandbox
        .expect(2, &look, &[])
        .prints("--look applies to --to html only");
    fs::remove_file(sandbox.path("a/frames/00001.safetensors")).unwrap();
    fs::write(sandbox.path("a/frames/00001.safetensors"), "x").unwrap();
    sandbox
        .expect(1, &export, &["--out", "c.html"])
        .prints("damaged");
    assert!(!sandbox.path("c.html").exists());
}
