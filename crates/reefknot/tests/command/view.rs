//! The server of the viewer: served files, refused requests, runs during computation.

use std::fs;
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::path::Path;
use std::time::Duration;

use reefknot_sim::io::folder::RunFolder;

use crate::common::{Sandbox, TINY};
use crate::web::{Web, array};

const PAGE: &str = include_str!("../../../../viewer/dist/index.html");

/// Frames 0, 1 and 2.
const SHORT: [&str; 2] = ["--frames", "2"];

fn sandbox_with_run() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.expect(0, &TINY, &[&["--out", "a", "--quiet"], &SHORT[..]].concat());
    sandbox
}

#[test]
fn the_page_is_served_with_security_headers() {
    let sandbox = sandbox_with_run();
    let web = Web::view(&sandbox, &["a"]);
    let printed = web.running.printed();
    assert!(
        printed.contains("viewer of a: http://127.0.0.1:"),
        "{printed}"
    );
    assert!(
        printed.contains("ssh -L") && printed.contains("press Ctrl-C to stop the viewer"),
        "{printed}"
    );
    let reply = web.request("GET", "/", &[]);
    assert_eq!((reply.code, reply.text().as_str()), (200, PAGE));
    let headers = [
        "Content-Type: text/html; charset=utf-8",
        "X-Content-Type-Options: nosniff",
        "Cross-Origin-Resource-Policy: same-origin",
        "Cross-Origin-Opener-Policy: same-origin",
        "X-Frame-Options: DENY",
        "Referrer-Policy: no-referrer",
        "Cache-Control: no-store",
        "Content-Security-Policy: default-src 'none'; script-src 'unsafe-inline'",
    ];
    for header in headers {
        assert!(reply.head.contains(header), "{header}: {}", reply.head);
    }
    let head = web.request("HEAD", "/", &[]);
    assert_eq!((head.code, head.body.len()), (200, 0));
    assert!(
        head.head
            .contains(&format!("Content-Length: {}", PAGE.len()))
    );
    assert_eq!(web.request("GET", "/favicon.ico", &[]).code, 204);
    for target in ["/runs.json", "/nothing", "/runs/0/status.json"] {
        let head = web.request("GET", target, &[]).head;
        assert!(
            head.contains("nosniff") && head.contains("no-store"),
            "{head}"
        );
        assert!(!head.contains("Access-Control"), "{head}");
    }
}

#[test]
fn the_served_files_of_a_run_equal_the_stored_ones() {
    let sandbox = sandbox_with_run();
    sandbox.expect(0, &TINY, &["--out", "b", "--frames", "1"]);
    let web = Web::view(&sandbox, &["a", "b"]);
    let runs = web.json("/runs.json");
    assert_eq!(runs["runs"][0]["path"], "a");
    assert_eq!(runs["runs"][1]["path"], "b");
    assert_eq!(
        (runs["version"].is_string(), runs["job"].is_null()),
        (true, true)
    );
    let status = web.json("/runs/0/status.json");
    assert_eq!(status["state"], "finished");
    assert!(status["message"].is_null() && status["identity"].is_string());
    assert_eq!(status["frames"].to_string(), "[[0,2]]");
    let status = web.json("/runs/1/status.json");
    assert_eq!(status["frames"].to_string(), "[[0,1]]");
    for name in ["manifest.json", "scene.toml", "run.jsonl", "probes.csv"] {
        let stored = fs::read(sandbox.path("a").join(name)).unwrap();
        assert!(web.get(&format!("/runs/0/{name}")) == stored, "{name}");
    }
    let folder = RunFolder::new(sandbox.path("a"));
    for (name, number) in [("2", 2), ("00001", 1)] {
        let slim = web.get(&format!("/runs/0/frames/{name}.safetensors"));
        let stored = folder.read_frame(number).unwrap();
        let points = stored.f64("flag/points").unwrap().1;
        let points: Vec<f32> = points.iter().map(|number| *number as f32).collect();
        assert_eq!(array(&slim, "flag/points").unwrap(), points);
        let velocities = stored.f32("flag/velocities").unwrap().1;
        assert_eq!(array(&slim, "flag/velocities").unwrap(), velocities);
        assert!(array(&slim, "pin/force").is_some());
    }
    let topology = web.get("/runs/0/topology.safetensors");
    assert!(array(&topology, "flag/start_points").is_some());
}

#[test]
fn a_growing_log_is_served_in_complete_lines_from_any_byte() {
    let sandbox = sandbox_with_run();
    let web = Web::view(&sandbox, &["a"]);
    let path = sandbox.path("a/run.jsonl");
    let whole = fs::read(&path).unwrap();
    let from = |byte: usize| web.get(&format!("/runs/0/run.jsonl?from={byte}"));
    assert!(from(0) == whole && from(10) == whole[10..]);
    assert!(from(whole.len()).is_empty() && from(whole.len() + 999).is_empty());
    // An incomplete last line.
    fs::write(&path, [&whole[..], b"{\"step\": 11"].concat()).unwrap();
    assert!(from(0) == whole && from(whole.len()).is_empty());
    fs::write(&path, [&whole[..], b"{\"step\": 11}\n{"].concat()).unwrap();
    assert_eq!(from(whole.len()), b"{\"step\": 11}\n");
    assert_eq!(
        web.request("GET", "/runs/0/run.jsonl?from=x", &[]).code,
        404
    );
}

#[test]
fn no_file_outside_of_a_run_is_served() {
    let sandbox = sandbox_with_run();
    fs::write(sandbox.path("secret"), "SECRET").unwrap();
    fs::write(sandbox.path("a/frames/secret.safetensors"), "SECRET").unwrap();
    let web = Web::view(&sandbox, &["a"]);
    let targets = [
        "/../secret",
        "/../../../../../../etc/passwd",
        "/runs/0/../secret",
        "/runs/0/../../secret",
        "/runs/0/%2e%2e%2fsecret",
        "/runs/0/%2e%2e/secret",
        "/runs/0/..%2f..%2fsecret",
        "/runs/0/..%5csecret",
        "/runs/0/..\\secret",
        "/runs/0/frames/..%2fmanifest.json",
        "/runs/0/frames/../../../secret",
        "/runs/0/frames/secret.safetensors",
        "/runs/0/frames/%00.safetensors",
        "/runs/0/frames/0.safetensors%00.txt",
        "/runs/0/frames/0%2esafetensors",
        "//etc/passwd",
        "/etc/passwd",
        "file:///etc/passwd",
        "http://127.0.0.1/runs.json",
        "http://evil.example/runs.json",
        "/runs/2/manifest.json",
        "/runs/1/manifest.json",
        "/runs/-1/manifest.json",
        "/runs/00000000000000000000000000/manifest.json/../../../secret",
        "/runs/0/.lock",
        "/runs/0/checkpoints/000000010.safetensors",
        "/runs/0/inputs/mesh.obj",
        "/runs/0/manifest.json/",
        "/runs/./0/manifest.json",
        "/viewer/dist/index.html",
        "/job/00000000000000000000000000000000/done",
        "secret",
        "*",
    ];
    for target in targets {
        let reply = web.request("GET", target, &[]);
        assert!([400, 403, 404].contains(&reply.code), "{target}: {reply:?}");
        let text = reply.text();
        let leaked = ["SECRET", "root:", "format_version", "\"version\""];
        assert!(
            !leaked.iter().any(|word| text.contains(word)),
            "{target}: {text}"
        );
    }
    assert_eq!(web.json("/runs/0/status.json")["state"], "finished");
}

#[test]
fn requests_of_other_origins_are_refused() {
    let sandbox = sandbox_with_run();
    let web = Web::view(&sandbox, &["a"]);
    let port = web.port;
    let own = format!("Origin: http://127.0.0.1:{port}");
    let refused: [&[&str]; 8] = [
        &["Origin: http://evil.example"],
        &["Origin: null"],
        &["Origin: http://127.0.0.1:1"],
        &["Origin: https://127.0.0.1"],
        &[&own, "Origin: http://evil.example"],
        &["Sec-Fetch-Site: cross-site"],
        &["Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: no-cors"],
        &[
            "Sec-Fetch-Site: cross-site",
            "Sec-Fetch-Mode: navigate",
            "Sec-Fetch-Dest: iframe",
        ],
    ];
    for headers in refused {
        for target in ["/", "/runs/0/manifest.json", "/nothing"] {
            let reply = web.request("GET", target, headers);
            assert_eq!(reply.code, 403, "{headers:?} {target}");
            assert!(!reply.text().contains("format_version"));
        }
    }
    for headers in [
        &[own.as_str()][..],
        &["Sec-Fetch-Site: same-origin"],
        &["Sec-Fetch-Site: none"],
    ] {
        assert_eq!(web.request("GET", "/runs.json", headers).code, 200);
    }
    // A link on another site may open the page, but no other path.
    let link = [
        "Sec-Fetch-Site: cross-site",
        "Sec-Fetch-Mode: navigate",
        "Sec-Fetch-Dest: document",
    ];
    assert_eq!(web.request("GET", "/?colour=speed", &link).code, 200);
    assert_eq!(web.request("GET", "/runs.json", &link).code, 403);
}

#[test]
fn requests_with_other_host_names_are_refused() {
    let sandbox = sandbox_with_run();
    let web = Web::view(&sandbox, &["a"]);
    for host in [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example:80",
        "0.0.0.0",
        "",
    ] {
        let request =
            format!("GET /runs.json HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        assert_eq!(web.send(request.as_bytes()).code, 403, "{host}");
    }
    for host in ["localhost", "localhost:9000", "[::1]:9000", "127.0.0.1"] {
        let request = format!(
            "GET /runs.json HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\n\
                Connection: close\r\n\r\n"
        );
        assert_eq!(web.send(request.as_bytes()).code, 200, "{host}");
    }
    let two = b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    assert_eq!(web.send(two).code, 403);
    for version in ["1.0", "1.1"] {
        let none = format!("GET / HTTP/{version}\r\nConnection: close\r\n\r\n");
        assert_eq!(web.send(none.as_bytes()).code, 403);
    }
}

#[test]
fn invalid_requests_are_refused_and_the_server_continues() {
    let sandbox = sandbox_with_run();
    let web = Web::view(&sandbox, &["a"]);
    for method in [
        "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "CONNECT", "post", "POST",
    ] {
        for target in ["/", "/runs/0/manifest.json"] {
            let reply = web.request(method, target, &[]);
            assert_eq!(reply.code, 405, "{method} {target}");
            assert!(reply.head.contains("Allow: GET, HEAD"));
        }
    }
    for target in ["/nothing", "/runs", "/job/0/done"] {
        assert_eq!(web.request("GET", target, &[]).code, 404);
        assert_eq!(web.request("POST", target, &[]).code, 404);
    }
    let heads: [&[u8]; 6] = [
        b"nonsense\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    ];
    for head in heads {
        let code = web.send(head).code;
        assert_eq!(code, 400, "{}", String::from_utf8_lossy(head));
    }
    // A huge body that is announced but not sent.
    let huge = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999999999999999\r\n\r\n";
    assert_eq!(web.send(huge).code, 405);
    // Two requests on one connection.
    let one = "GET /runs.json HTTP/1.1\r\nHost: localhost\r\n";
    let both = format!("{one}\r\n{one}Connection: close\r\n\r\n");
    let text = web.send(both.as_bytes()).text();
    assert_eq!(text.matches("\"runs\":[{").count(), 2, "{text}");
    assert_eq!(web.request("GET", "/", &[]).code, 200);
}

#[test]
fn only_this_machine_can_connect() {
    let sandbox = sandbox_with_run();
    let web = Web::view(&sandbox, &["a"]);
    // The address of this machine in its network, if it has one; nothing is sent.
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    let _ = socket.connect("192.0.2.1:9");
    let IpAddr::V4(outside) = socket.local_addr().unwrap().ip() else {
        return;
    };
    if !outside.is_loopback() && !outside.is_unspecified() {
        let address = SocketAddr::from((outside, web.port));
        assert!(TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_err());
    }
    assert!(TcpStream::connect(("127.0.0.1", web.port)).is_ok());
}

#[test]
fn a_port_in_use_is_refused_and_a_free_port_accepted() {
    let sandbox = sandbox_with_run();
    let web = Web::view(&sandbox, &["a"]);
    let port = web.port.to_string();
    let again = ["view", "a", "--no-open", "--port", &port];
    sandbox
        .expect(2, &again, &[])
        .prints(&format!("port {port} is in use"))
        .prints("--port");
    drop(web);
    let web = Web::of(sandbox.start(&again));
    assert_eq!(web.port.to_string(), port);
}

#[test]
fn view_and_render_refuse_paths_without_a_run() {
    let sandbox = sandbox_with_run();
    for folder in ["empty", "foreign", "runs", "broken/frames"] {
        fs::create_dir_all(sandbox.path(folder)).unwrap();
    }
    fs::write(sandbox.path("file"), "").unwrap();
    fs::write(sandbox.path("foreign/notes.txt"), "").unwrap();
    fs::rename(sandbox.path("a"), sandbox.path("runs/a")).unwrap();
    fs::copy(sandbox.path("runs/a/.lock"), sandbox.path("broken/.lock")).unwrap();
    fs::write(sandbox.path("broken/manifest.json"), "{\"scene\":").unwrap();
    let cases = [
        (
            "absent",
            "absent does not exist; `reefknot run flag --out absent` creates a run there",
        ),
        ("file", "file is a file; a run is a folder"),
        (
            "empty",
            "empty holds no run; `reefknot run flag --out empty` creates a run there",
        ),
        (
            "foreign",
            "foreign holds `notes.txt`, which is not part of a run",
        ),
        (
            "runs",
            "runs holds `a`, which is not part of a run; runs/a is a run",
        ),
        ("broken", "broken/manifest.json is damaged"),
    ];
    for (path, sentence) in cases {
        sandbox
            .expect(2, &["view", path, "--no-open"], &[])
            .prints(sentence);
        sandbox
            .expect(2, &["view", "runs/a", path], &[])
            .prints(sentence);
        sandbox
            .expect(2, &["render", path, "--png", "p"], &[])
            .prints(sentence);
    }
    assert!(!sandbox.path("p").exists());
}

#[test]
fn damaged_missing_and_removed_frames_have_different_responses() {
    let sandbox = sandbox_with_run();
    let web = Web::view(&sandbox, &["a"]);
    let get = |target: &str| web.request("GET", target, &[]);
    let missing = get("/runs/0/frames/7.safetensors");
    assert_eq!(
        (missing.code, missing.text().as_str()),
        (404, "a has no frame 7\n")
    );
    let path = sandbox.path("a/frames/00001.safetensors");
    let mut bytes = fs::read(&path).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&path, bytes).unwrap();
    let damaged = get("/runs/0/frames/1.safetensors");
    assert_eq!(damaged.code, 422);
    assert!(damaged.text().contains("00001.safetensors is damaged"));
    assert_eq!(get("/runs/0/frames/2.safetensors").code, 200);
    fs::remove_file(&path).unwrap();
    let status = web.json("/runs/0/status.json");
    assert_eq!(
        (&status["state"], status["frames"].to_string()),
        (&"stopped".into(), "[[0,0],[2,2]]".into())
    );
    fs::remove_dir_all(sandbox.path("a")).unwrap();
    let status = web.json("/runs/0/status.json");
    assert_eq!(status["state"], "gone");
    assert_eq!(status["message"], "the run in a is no longer there");
    for name in [
        "frames/2.safetensors",
        "manifest.json",
        "run.jsonl",
        "topology.safetensors",
    ] {
        let reply = get(&format!("/runs/0/{name}"));
        assert_eq!(
            (reply.code, reply.text().as_str()),
            (410, "the run in a is no longer there\n")
        );
    }
    // A new run in the same folder is served.
    sandbox.expect(0, &TINY, &["--out", "a", "--frames", "1"]);
    let again = web.json("/runs/0/status.json");
    assert_eq!(again["state"], "finished");
    assert_ne!(again["identity"], status["identity"]);
}

#[test]
fn the_frames_of_a_running_simulation_are_served_as_they_are_written() {
    let sandbox = Sandbox::new();
    let long = [&TINY[..3], &["--frames", "100000", "--out", "a"]].concat();
    let mut run = sandbox.start(&long);
    run.wait_for(&sandbox.path("a/frames/00001.safetensors"));
    let web = Web::view(&sandbox, &["a"]);
    let last = || {
        let status = web.json("/runs/0/status.json");
        assert_eq!(status["state"], "running", "{status}");
        status["frames"][0][1].as_u64().unwrap()
    };
    let first = last();
    run.wait_until("another frame", || last() > first);
    let frame = web.get(&format!("/runs/0/frames/{}.safetensors", last()));
    assert!(array(&frame, "flag/points").is_some());
    run.signal("-TERM");
    assert_eq!(run.wait().code, Some(75));
    assert_eq!(web.json("/runs/0/status.json")["state"], "stopped");
}

#[test]
fn a_run_with_view_and_no_open_page_ends_by_itself() {
    let sandbox = Sandbox::new();
    let output = sandbox.expect(0, &TINY, &["--view", "--summary", "json", "--frames", "2"]);
    output
        .prints("viewer of runs/flag: http://127.0.0.1:")
        .prints("ssh -L");
    output.prints("to view it: reefknot view runs/flag");
    assert_eq!(output.summary()["frames"], 2);
    assert!(!output.stdout.contains("http://"), "{}", output.stdout);
    let quiet = ["--view", "--quiet", "--frames", "2", "--overwrite"];
    let output = sandbox.expect(0, &TINY, &quiet);
    assert_eq!(
        (output.stdout.as_str(), output.stderr.lines().count()),
        ("", 1),
        "{output:?}"
    );
}

#[test]
fn a_run_with_an_open_page_serves_it_until_a_signal() {
    let sandbox = Sandbox::new();
    let arguments = [
        &TINY[..],
        &["--view", "--summary", "json", "--frames", "60"],
    ]
    .concat();
    let mut web = Web::of(sandbox.start(&arguments));
    let state = |web: &Web| web.json("/runs/0/status.json")["state"].clone();
    assert!(["empty", "running"].contains(&state(&web).as_str().unwrap()));
    let printed = web
        .running
        .wait_for_text("the viewer runs while its page is open; press Ctrl-C to stop it");
    assert!(printed.contains("\"state_hash\""), "{printed}");
    assert_eq!(state(&web), "finished");
    web.running.signal("-INT");
    let port = web.port;
    let output = web.running.wait();
    assert_eq!(output.code, Some(0), "{output:?}");
    assert_eq!(output.summary()["frames"], 60);
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
}

#[test]
fn a_refused_run_with_view_ends_at_once() {
    let sandbox = sandbox_with_run();
    let output = sandbox.expect(2, &TINY, &["--out", "a", "--view"]);
    output.prints("a holds a run already");
}

#[test]
fn the_gallery_shows_every_shipped_scene() {
    let gallery = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/gallery");
    let page = fs::read_to_string(gallery.join("README.md")).unwrap();
    let scenes = Sandbox::new().call(&["scenes"]).stdout;
    let names = scenes.lines().filter_map(|line| line.split(' ').next());
    let mut shown = 0;
    for name in names.filter(|name| !name.contains('/')) {
        assert!(page.contains(&format!("({name}.png)")), "{name}");
        assert!(gallery.join(format!("{name}.png")).is_file(), "{name}");
        shown += 1;
    }
    assert!(shown >= 17, "{shown}");
}
