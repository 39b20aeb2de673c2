//! Pictures, with something else in place of the browser; and the page with a run inside.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;

use crate::common::{Place, Ran, Running, TINY};
use crate::web::{Reply, Web, send};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nnot much of a picture";

fn place_with_run() -> Place {
    let place = Place::new();
    place.expect(0, &TINY, &["--out", "a", "--quiet", "--frames", "2"]);
    place
}

/// Makes a program that stands for the browser.
fn browser(place: &Place, script: &str) -> String {
    let path = place.path("browser");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

fn render(place: &Place, browser: &str, more: &[&str]) -> Ran {
    let arguments = [&["render", "a", "--png", "p"], more].concat();
    let variables = [("REEFKNOT_BROWSER", browser)];
    place.start_in(&variables, &arguments).wait()
}

/// A rendering whose browser is this test.
struct Page {
    running: Running,
    port: u16,
    token: String,
    /// Of the browser.
    process: String,
    /// Where the browser was told to put its files.
    folder: String,
}

impl Page {
    fn start(place: &Place, more: &[&str]) -> Page {
        let script = "echo $$ \"$@\" > called.part; mv called.part called; exec sleep 100";
        let program = browser(place, script);
        let _ = fs::remove_file(place.path("called"));
        let arguments = [&["render", "a", "--png", "p"], more].concat();
        let mut running = place.start_in(&[("REEFKNOT_BROWSER", &program)], &arguments);
        running.wait_for(&place.path("called"));
        let called = fs::read_to_string(place.path("called")).unwrap();
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
            "POST /job/{token}/{path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
        );
        [head.as_bytes(), body].concat()
    }

    fn post(&self, path: &str, body: &[u8]) -> Reply {
        send(self.port, &self.request(path, body))
    }

    /// Posts what ends the rendering, which may be over before it has answered.
    fn post_last(&self, path: &str, body: &[u8]) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.write_all(&self.request(path, body)).unwrap();
        let _ = stream.read(&mut [0]);
    }

    /// Waits for the end, after which nothing is left of the browser.
    fn end(self, code: i32) -> Ran {
        let ran = self.running.wait();
        assert_eq!(ran.code, Some(code), "{ran:#?}");
        assert!(!Path::new(&self.folder).exists());
        assert!(!Path::new("/proc").join(&self.process).exists());
        ran
    }
}

#[test]
fn without_a_browser_it_says_what_to_install() {
    let place = place_with_run();
    let arguments = ["render", "a", "--png", "p"];
    let nowhere = [("PATH", ""), ("REEFKNOT_BROWSER", "")];
    let ran = place.start_in(&nowhere, &arguments).wait();
    assert_eq!(ran.code, Some(2), "{ran:?}");
    ran.says("apt install chromium")
        .says("REEFKNOT_BROWSER")
        .says("reefknot view a");
    for named in ["/absent/browser", "absent-browser"] {
        let ran = render(&place, named, &[]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        ran.says(&format!("REEFKNOT_BROWSER names {named}"));
    }
    assert!(!place.path("p").exists());
}

#[test]
fn a_browser_that_fails_is_quoted() {
    let place = place_with_run();
    let program = browser(&place, "echo 'no display, no luck' >&2; exit 1");
    let ran = render(&place, &program, &[]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    ran.says("no display, no luck").says("exit status: 1");
}

#[test]
fn frames_sizes_and_looks_that_make_no_sense_are_refused() {
    let place = place_with_run();
    let cases: [(&[&str], &str); 9] = [
        (&["--frames", "7"], "a has no frame 7; it has 0..2"),
        (&["--frames", "1..3"], "a has no frame 3; it has 0..2"),
        (
            &["--frames", "2..1"],
            "the first frame comes after the last",
        ),
        (
            &["--frames", "x"],
            "frames are needed, such as 10 or 10..20",
        ),
        (&["--frames", "0..99999999999999"], "a has no frame 3"),
        (&["--size", "1280"], "such as 1280x800"),
        (&["--size", "0x800"], "16 to 8192"),
        (&["--size", "99999x800"], "16 to 8192"),
        (&["--look", "a b"], "no spaces"),
    ];
    for (arguments, reason) in cases {
        let ran = render(&place, "/bin/false", arguments);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        ran.says(reason);
    }
}

#[test]
fn pictures_are_written_as_the_page_sends_them() {
    let place = place_with_run();
    let more = [
        "--frames",
        "1..2",
        "--size",
        "640x480",
        "--look",
        "?colour=speed&contacts=1",
    ];
    let page = Page::start(&place, &more);
    let web = |target: &str| {
        let request =
            format!("GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        send(page.port, request.as_bytes())
    };
    let runs: Json = serde_json::from_slice(&web("/runs.json").body).unwrap();
    let job = r#"{"frames":[1,2],"width":640,"height":480,"look":"colour=speed&contacts=1"}"#;
    assert_eq!(runs["job"].to_string(), job);
    assert!(!runs.to_string().contains(&page.token));
    // What is no picture, not asked for, or too much.
    assert_eq!(page.post("frames/1", b"GIF89a").code, 400);
    assert_eq!(page.post("frames/0", PNG).code, 404);
    assert_eq!(web(&format!("/job/{}/done", page.token)).code, 405);
    let head = format!(
        "POST /job/{}/frames/1 HTTP/1.1\r\nHost: localhost\r\n",
        page.token
    );
    let huge = format!("{head}Content-Length: 99999999999\r\n\r\n");
    assert_eq!(send(page.port, huge.as_bytes()).code, 413);
    let stranger = huge.replace(&page.token, &"0".repeat(page.token.len()));
    assert_eq!(send(page.port, stranger.as_bytes()).code, 404);
    for path in ["frames/1", "frames/2"] {
        assert_eq!(page.post(path, PNG).code, 200);
    }
    page.post_last("done", b"");
    page.end(0).says("p: 2 pictures");
    let mut names: Vec<_> = fs::read_dir(place.path("p"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["00001.png", "00002.png"]);
    assert_eq!(fs::read(place.path("p/00002.png")).unwrap(), PNG);
}

#[test]
fn a_page_that_cannot_draw_says_so() {
    let place = place_with_run();
    let page = Page::start(&place, &[]);
    page.post_last("error", b"no WebGL here\n");
    page.end(1).says("error: no WebGL here");
    let page = Page::start(&place, &[]);
    page.post_last("done", b"");
    page.end(1).says("the page made 0 of 3 pictures");
}

#[test]
fn a_signal_ends_the_browser_too() {
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let place = place_with_run();
        let page = Page::start(&place, &[]);
        page.running.signal(signal);
        page.end(code);
    }
}

/// The text of the script element with these attributes.
fn element<'a>(page: &'a str, attributes: &str) -> &'a str {
    let (_, rest) = page.split_once(&format!("<script {attributes}>")).unwrap();
    rest.split_once("</script>").unwrap().0
}

/// Undoes what the export does to arrays.
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
fn an_html_file_has_the_run_inside_and_nothing_of_the_machine() {
    let place = Place::new();
    let folder = place.path("").display().to_string();
    let out = place.path("a").display().to_string();
    // With the folder in its commands, and the end of a script in its title.
    let title = "title=\"</script><script>alert(1)</script>\"";
    for frames in ["1", "2"] {
        let more = [
            "--out", &out, "--set", title, "--resume", "--frames", frames,
        ];
        place.expect(0, &TINY, &more);
    }
    let ran = place.expect(0, &["export", "a", "--to", "html"], &[]);
    ran.says("a/export/flag.html: ").says(" MB");
    let page = fs::read_to_string(place.path("a/export/flag.html")).unwrap();
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
        let stored = fs::read_to_string(place.path("a").join(name)).unwrap();
        assert_eq!(run["texts"][name], stored.as_str(), "{name}");
    }
    let web = Web::view(&place, &["a"]);
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
    // The page itself is around it, unchanged.
    let own = include_str!("../../../../viewer/dist/index.html");
    let (before, after) = own.split_at(own.find("<script").unwrap());
    assert!(page.starts_with(before) && page.ends_with(after));
}

#[test]
fn an_html_file_goes_where_it_is_told() {
    let place = place_with_run();
    let export = ["export", "a", "--to", "html"];
    place.expect(0, &export, &["--out", "b.html", "--look", "colour=speed"]);
    let page = fs::read_to_string(place.path("b.html")).unwrap();
    assert!(page.contains("\"look\":\"colour=speed\""));
    place
        .expect(0, &export, &["--out", "deep/er"])
        .says("deep/er/flag.html");
    assert!(place.path("deep/er/flag.html").is_file());
    for more in [["--up", "y"], ["--unit", "cm"]] {
        place
            .expect(2, &export, &more)
            .says("--up and --unit are for files of other programs");
    }
    let look = ["export", "a", "--to", "obj", "--look", "colour=speed"];
    place.expect(2, &look, &[]).says("--look is for html");
    fs::remove_file(place.path("a/frames/00001.safetensors")).unwrap();
    fs::write(place.path("a/frames/00001.safetensors"), "x").unwrap();
    place
        .expect(1, &export, &["--out", "c.html"])
        .says("damaged");
    assert!(!place.path("c.html").exists());
}
