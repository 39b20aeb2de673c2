//! The viewer's server: what it tells, to whom, and that it tells nothing else.

use std::fs;
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::path::Path;
use std::time::Duration;

use reefknot::io::folder::RunFolder;

use crate::common::{Place, TINY};
use crate::web::{Web, array};

const PAGE: &str = include_str!("../../../../viewer/dist/index.html");

/// Two frames after the first.
const SHORT: [&str; 2] = ["--frames", "2"];

fn place_with_run() -> Place {
    let place = Place::new();
    place.expect(0, &TINY, &[&["--out", "a", "--quiet"], &SHORT[..]].concat());
    place
}

#[test]
fn the_page_is_served_with_what_keeps_others_out() {
    let place = place_with_run();
    let web = Web::view(&place, &["a"]);
    let said = web.running.said();
    assert!(said.contains("look at a: http://127.0.0.1:"), "{said}");
    assert!(
        said.contains("ssh -L") && said.contains("Ctrl-C ends it"),
        "{said}"
    );
    let reply = web.ask("GET", "/", &[]);
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
    let head = web.ask("HEAD", "/", &[]);
    assert_eq!((head.code, head.body.len()), (200, 0));
    assert!(
        head.head
            .contains(&format!("Content-Length: {}", PAGE.len()))
    );
    assert_eq!(web.ask("GET", "/favicon.ico", &[]).code, 204);
    for target in ["/runs.json", "/nothing", "/runs/0/status.json"] {
        let head = web.ask("GET", target, &[]).head;
        assert!(
            head.contains("nosniff") && head.contains("no-store"),
            "{head}"
        );
        assert!(!head.contains("Access-Control"), "{head}");
    }
}

#[test]
fn a_run_is_told_as_it_is_stored() {
    let place = place_with_run();
    place.expect(0, &TINY, &["--out", "b", "--frames", "1"]);
    let web = Web::view(&place, &["a", "b"]);
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
        let stored = fs::read(place.path("a").join(name)).unwrap();
        assert!(web.get(&format!("/runs/0/{name}")) == stored, "{name}");
    }
    let folder = RunFolder::new(place.path("a"));
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
fn a_growing_log_is_told_in_whole_lines_from_any_byte() {
    let place = place_with_run();
    let web = Web::view(&place, &["a"]);
    let path = place.path("a/run.jsonl");
    let whole = fs::read(&path).unwrap();
    let from = |byte: usize| web.get(&format!("/runs/0/run.jsonl?from={byte}"));
    assert!(from(0) == whole && from(10) == whole[10..]);
    assert!(from(whole.len()).is_empty() && from(whole.len() + 999).is_empty());
    // A line that is being written.
    fs::write(&path, [&whole[..], b"{\"step\": 11"].concat()).unwrap();
    assert!(from(0) == whole && from(whole.len()).is_empty());
    fs::write(&path, [&whole[..], b"{\"step\": 11}\n{"].concat()).unwrap();
    assert_eq!(from(whole.len()), b"{\"step\": 11}\n");
    assert_eq!(web.ask("GET", "/runs/0/run.jsonl?from=x", &[]).code, 404);
}

#[test]
fn nothing_outside_of_a_run_is_told() {
    let place = place_with_run();
    fs::write(place.path("secret"), "SECRET").unwrap();
    fs::write(place.path("a/frames/secret.safetensors"), "SECRET").unwrap();
    let web = Web::view(&place, &["a"]);
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
        let reply = web.ask("GET", target, &[]);
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
fn pages_from_elsewhere_get_nothing() {
    let place = place_with_run();
    let web = Web::view(&place, &["a"]);
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
            let reply = web.ask("GET", target, headers);
            assert_eq!(reply.code, 403, "{headers:?} {target}");
            assert!(!reply.text().contains("format_version"));
        }
    }
    for headers in [
        &[own.as_str()][..],
        &["Sec-Fetch-Site: same-origin"],
        &["Sec-Fetch-Site: none"],
    ] {
        assert_eq!(web.ask("GET", "/runs.json", headers).code, 200);
    }
    // A link that is followed leads to the page, and to nothing else.
    let link = [
        "Sec-Fetch-Site: cross-site",
        "Sec-Fetch-Mode: navigate",
        "Sec-Fetch-Dest: document",
    ];
    assert_eq!(web.ask("GET", "/?colour=speed", &link).code, 200);
    assert_eq!(web.ask("GET", "/runs.json", &link).code, 403);
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
            "GET /runs.json HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nConnection: close\r\n\r\n"
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
fn what_does_not_play_by_the_rules_is_sent_off_and_does_no_harm() {
    let place = place_with_run();
    let web = Web::view(&place, &["a"]);
    for method in [
        "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "CONNECT", "post", "POST",
    ] {
        for target in ["/", "/runs/0/manifest.json"] {
            let reply = web.ask(method, target, &[]);
            assert_eq!(reply.code, 405, "{method} {target}");
            assert!(reply.head.contains("Allow: GET, HEAD"));
        }
    }
    for target in ["/nothing", "/runs", "/job/0/done"] {
        assert_eq!(web.ask("GET", target, &[]).code, 404);
        assert_eq!(web.ask("POST", target, &[]).code, 404);
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
    // A body that is announced and never comes, and that nobody has room for.
    let huge = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999999999999999\r\n\r\n";
    assert_eq!(web.send(huge).code, 405);
    // Two requests on one connection.
    let one = "GET /runs.json HTTP/1.1\r\nHost: localhost\r\n";
    let both = format!("{one}\r\n{one}Connection: close\r\n\r\n");
    let text = web.send(both.as_bytes()).text();
    assert_eq!(text.matches("\"runs\":[{").count(), 2, "{text}");
    assert_eq!(web.ask("GET", "/", &[]).code, 200);
}

#[test]
fn only_this_machine_can_connect() {
    let place = place_with_run();
    let web = Web::view(&place, &["a"]);
    // The address that this machine would have for others, if it has one; nothing is sent.
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
fn a_port_that_is_taken_is_refused_and_a_free_one_taken() {
    let place = place_with_run();
    let web = Web::view(&place, &["a"]);
    let port = web.port.to_string();
    let again = ["view", "a", "--no-open", "--port", &port];
    place
        .expect(2, &again, &[])
        .says(&format!("port {port} is in use"))
        .says("--port");
    drop(web);
    let web = Web::of(place.start(&again));
    assert_eq!(web.port.to_string(), port);
}

#[test]
fn what_is_no_run_is_not_viewed() {
    let place = place_with_run();
    for folder in ["empty", "foreign", "runs", "broken/frames"] {
        fs::create_dir_all(place.path(folder)).unwrap();
    }
    fs::write(place.path("file"), "").unwrap();
    fs::write(place.path("foreign/notes.txt"), "").unwrap();
    fs::rename(place.path("a"), place.path("runs/a")).unwrap();
    fs::copy(place.path("runs/a/.lock"), place.path("broken/.lock")).unwrap();
    fs::write(place.path("broken/manifest.json"), "{\"scene\":").unwrap();
    let cases = [
        (
            "absent",
            "absent does not exist; `reefknot run flag --out absent` makes a run there",
        ),
        ("file", "file is a file; a run is a folder"),
        (
            "empty",
            "empty holds no run; `reefknot run flag --out empty` makes a run there",
        ),
        (
            "foreign",
            "foreign holds `notes.txt`, which is no part of a run",
        ),
        (
            "runs",
            "runs holds `a`, which is no part of a run; runs/a holds one",
        ),
        ("broken", "broken/manifest.json is damaged"),
    ];
    for (path, sentence) in cases {
        place
            .expect(2, &["view", path, "--no-open"], &[])
            .says(sentence);
        place
            .expect(2, &["view", "runs/a", path], &[])
            .says(sentence);
        place
            .expect(2, &["render", path, "--png", "p"], &[])
            .says(sentence);
    }
    assert!(!place.path("p").exists());
}

#[test]
fn damage_absence_and_removal_are_told_apart() {
    let place = place_with_run();
    let web = Web::view(&place, &["a"]);
    let ask = |target: &str| web.ask("GET", target, &[]);
    let missing = ask("/runs/0/frames/7.safetensors");
    assert_eq!(
        (missing.code, missing.text().as_str()),
        (404, "a has no frame 7\n")
    );
    let path = place.path("a/frames/00001.safetensors");
    let mut bytes = fs::read(&path).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&path, bytes).unwrap();
    let damaged = ask("/runs/0/frames/1.safetensors");
    assert_eq!(damaged.code, 422);
    assert!(damaged.text().contains("00001.safetensors is damaged"));
    assert_eq!(ask("/runs/0/frames/2.safetensors").code, 200);
    fs::remove_file(&path).unwrap();
    let status = web.json("/runs/0/status.json");
    assert_eq!(
        (&status["state"], status["frames"].to_string()),
        (&"stopped".into(), "[[0,0],[2,2]]".into())
    );
    fs::remove_dir_all(place.path("a")).unwrap();
    let status = web.json("/runs/0/status.json");
    assert_eq!(status["state"], "gone");
    assert_eq!(status["message"], "the run in a is no longer there");
    for name in [
        "frames/2.safetensors",
        "manifest.json",
        "run.jsonl",
        "topology.safetensors",
    ] {
        let reply = ask(&format!("/runs/0/{name}"));
        assert_eq!(
            (reply.code, reply.text().as_str()),
            (410, "the run in a is no longer there\n")
        );
    }
    // Another run in its place is shown.
    place.expect(0, &TINY, &["--out", "a", "--frames", "1"]);
    let again = web.json("/runs/0/status.json");
    assert_eq!(again["state"], "finished");
    assert_ne!(again["identity"], status["identity"]);
}

#[test]
fn a_run_under_way_grows() {
    let place = Place::new();
    let long = [&TINY[..3], &["--frames", "100000", "--out", "a"]].concat();
    let mut run = place.start(&long);
    run.wait_for(&place.path("a/frames/00001.safetensors"));
    let web = Web::view(&place, &["a"]);
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
fn a_run_that_nobody_looks_at_ends_by_itself() {
    let place = Place::new();
    let ran = place.expect(0, &TINY, &["--view", "--summary", "json", "--frames", "2"]);
    ran.says("look at runs/flag: http://127.0.0.1:")
        .says("ssh -L");
    ran.says("look at it: reefknot view runs/flag");
    assert_eq!(ran.summary()["frames"], 2);
    assert!(!ran.stdout.contains("http://"), "{}", ran.stdout);
    let quiet = ["--view", "--quiet", "--frames", "2", "--overwrite"];
    let ran = place.expect(0, &TINY, &quiet);
    assert_eq!(
        (ran.stdout.as_str(), ran.stderr.lines().count()),
        ("", 1),
        "{ran:?}"
    );
}

#[test]
fn a_run_that_somebody_looks_at_stays_until_it_is_ended() {
    let place = Place::new();
    let arguments = [
        &TINY[..],
        &["--view", "--summary", "json", "--frames", "60"],
    ]
    .concat();
    let mut web = Web::of(place.start(&arguments));
    let state = |web: &Web| web.json("/runs/0/status.json")["state"].clone();
    assert!(["empty", "running"].contains(&state(&web).as_str().unwrap()));
    let said = web
        .running
        .wait_to_say("the picture stays while its page is open; Ctrl-C ends it");
    assert!(said.contains("\"state_hash\""), "{said}");
    assert_eq!(state(&web), "finished");
    web.running.signal("-INT");
    let port = web.port;
    let ran = web.running.wait();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.summary()["frames"], 60);
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
}

#[test]
fn a_run_that_is_refused_does_not_wait_for_those_who_look() {
    let place = place_with_run();
    let ran = place.expect(2, &TINY, &["--out", "a", "--view"]);
    ran.says("a holds a run already");
}

#[test]
fn the_gallery_shows_every_shipped_scene() {
    let gallery = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/gallery");
    let page = fs::read_to_string(gallery.join("README.md")).unwrap();
    let scenes = Place::new().call(&["scenes"]).stdout;
    let names = scenes.lines().filter_map(|line| line.split(' ').next());
    let mut shown = 0;
    for name in names.filter(|name| !name.contains('/')) {
        assert!(page.contains(&format!("({name}.png)")), "{name}");
        assert!(gallery.join(format!("{name}.png")).is_file(), "{name}");
        shown += 1;
    }
    assert!(shown >= 17, "{shown}");
}
