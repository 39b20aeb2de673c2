//! The part of HTTP/1.1 that a browser needs for a server on the same machine.
//!
//! All input is bounded: the length of a request head and of a body, the time to receive them, and
//! the number of connections (by the caller). A body is read on demand only, and a connection with
//! an unread body is closed. A client that violates the protocol occupies one thread for a limited
//! time.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// Largest size of a request head (bytes). Browsers send the cookies of all servers on this
/// machine.
const MAX_HEAD_SIZE: usize = 1 << 18;
/// Deadline of a whole request head, from the moment the server waits for it. Connections are
/// limited, so a peer that sends a byte now and then must not keep one. Browsers connect again.
const HEAD_DEADLINE: Duration = Duration::from_secs(15);
/// Timeout of a read of the body, and of a write.
const TRANSFER_TIMEOUT: Duration = Duration::from_secs(60);
/// Time for which unread data is received before a connection is closed. Closing at once would
/// discard the response too.
const LINGER: Duration = Duration::from_secs(1);
/// Bodies up to this size are sent in one write with their head (bytes).
const SMALL_BODY: usize = 1 << 16;

/// Headers of every response: only the own page may read or embed it, and it is not cached.
const HEADERS: &str = "X-Content-Type-Options: nosniff\r\n\
    Cross-Origin-Resource-Policy: same-origin\r\n\
    Cross-Origin-Opener-Policy: same-origin\r\n\
    X-Frame-Options: DENY\r\n\
    Referrer-Policy: no-referrer\r\n\
    Cache-Control: no-store\r\n";

/// Head of a request.
pub(super) struct Request {
    pub(super) method: String,
    pub(super) target: String,
    headers: Vec<(String, String)>,
    keeps_alive: bool,
}

/// The unread body of a request.
pub(super) struct Body<'a> {
    reader: &'a mut BufReader<TcpStream>,
    left: u64,
}

/// A response.
#[derive(Debug)]
pub(super) struct Response {
    pub(super) code: u16,
    pub(super) kind: &'static str,
    /// An additional header line, with its line break.
    pub(super) header: &'static str,
    pub(super) body: Vec<u8>,
}

impl Response {
    /// A response with a file.
    pub(super) fn file(kind: &'static str, body: Vec<u8>) -> Response {
        Response {
            code: 200,
            kind,
            header: "",
            body,
        }
    }

    /// An error response with a sentence.
    pub(super) fn sentence(code: u16, sentence: &str) -> Response {
        Response {
            code,
            kind: "text/plain; charset=utf-8",
            header: "",
            body: format!("{sentence}\n").into_bytes(),
        }
    }
}

impl Request {
    /// All values of a header; the name is in lower case.
    pub(super) fn headers(&self, name: &str) -> impl Iterator<Item = &str> {
        let of_name = self.headers.iter().filter(move |(other, _)| other == name);
        of_name.map(|(_, value)| value.as_str())
    }

    /// First value of a header.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers(name).next()
    }

    /// Parses a head without the empty line at its end.
    fn parse(head: &str) -> Result<Request, &'static str> {
        let mut lines = head.split("\r\n");
        let line: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
        let [method, target, version] = line[..] else {
            return Err("the first line is not METHOD PATH VERSION");
        };
        if !matches!(version, "HTTP/1.1" | "HTTP/1.0") {
            return Err("only HTTP/1.1 is supported");
        }
        let mut headers = Vec::new();
        for line in lines {
            let (name, value) = line.split_once(':').ok_or("a header has no colon")?;
            if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_graphic()) {
                return Err("a header has no valid name");
            }
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut request = Request {
            method: method.to_owned(),
            target: target.to_owned(),
            headers,
            keeps_alive: false,
        };
        let connection = request.header("connection").unwrap_or_default();
        request.keeps_alive =
            version == "HTTP/1.1" && !connection.to_ascii_lowercase().contains("close");
        Ok(request)
    }

    /// Length of the body (bytes).
    fn body_length(&self) -> Result<u64, &'static str> {
        if self.header("transfer-encoding").is_some() {
            return Err("a body needs a Content-Length");
        }
        let mut lengths = self.headers("content-length");
        match (lengths.next(), lengths.next()) {
            (None, _) => Ok(0),
            (Some(text), None) => {
                super::request::number(text).ok_or("Content-Length is not a number")
            }
            _ => Err("there is more than one Content-Length"),
        }
    }
}

impl Body<'_> {
    /// The whole body, or an error response if it is too long or incomplete.
    pub(super) fn read(&mut self, longest: u64) -> Result<Vec<u8>, Response> {
        if self.left > longest {
            return Err(Response::sentence(
                413,
                &format!("the body has more than {longest} bytes"),
            ));
        }
        let mut bytes = Vec::new();
        let read = self.reader.take(self.left).read_to_end(&mut bytes);
        let is_whole = read.is_ok() && bytes.len() as u64 == self.left;
        self.left -= bytes.len() as u64;
        if is_whole {
            Ok(bytes)
        } else {
            Err(Response::sentence(400, "the body ended too early"))
        }
    }
}

/// Answers the requests of a connection until it is closed.
pub(super) fn converse(
    stream: TcpStream,
    answer: impl Fn(&Request, &mut Body<'_>) -> Response,
) -> io::Result<()> {
    // A response must not wait for the acknowledgement of the previous one.
    stream.set_nodelay(true)?;
    stream.set_write_timeout(Some(TRANSFER_TIMEOUT))?;
    let mut reader = BufReader::with_capacity(1 << 16, stream);
    loop {
        let Some(head) = read_head(&mut reader, HEAD_DEADLINE)? else {
            return Ok(());
        };
        reader.get_ref().set_read_timeout(Some(TRANSFER_TIMEOUT))?;
        let parsed = Request::parse(&head).and_then(|request| {
            let left = request.body_length()?;
            Ok((request, left))
        });
        let (request, left) = match parsed {
            Ok(parsed) => parsed,
            Err(reason) => {
                send(&mut reader, &Response::sentence(400, reason), false, true)?;
                return hang_up(&mut reader);
            }
        };
        let mut body = Body {
            reader: &mut reader,
            left,
        };
        let answer = answer(&request, &mut body);
        let is_last = !request.keeps_alive || body.left > 0;
        send(&mut reader, &answer, request.method == "HEAD", is_last)?;
        if is_last {
            return hang_up(&mut reader);
        }
    }
}

/// The next request head, without the empty line at its end; `None` if the client has closed the
/// connection.
fn read_head(reader: &mut BufReader<TcpStream>, deadline: Duration) -> io::Result<Option<String>> {
    let began = Instant::now();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let left = deadline.saturating_sub(began.elapsed());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        reader.get_ref().set_read_timeout(Some(left))?;
        let bytes = reader.fill_buf()?;
        if bytes.is_empty() && head.is_empty() {
            return Ok(None);
        }
        if bytes.is_empty() || head.len() > MAX_HEAD_SIZE {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let line_end = bytes.iter().position(|byte| *byte == b'\n');
        let count = line_end.map_or(bytes.len(), |end| end + 1);
        head.extend_from_slice(&bytes[..count]);
        reader.consume(count);
    }
    head.truncate(head.len() - 4);
    let text = String::from_utf8(head);
    Ok(Some(text.map_err(|_| io::ErrorKind::InvalidData)?))
}

fn send(
    reader: &mut BufReader<TcpStream>,
    answer: &Response,
    head_only: bool,
    is_last: bool,
) -> io::Result<()> {
    let Response {
        code, kind, header, ..
    } = answer;
    let mut head = format!("HTTP/1.1 {code} {}\r\n{HEADERS}{header}", reason(*code));
    if is_last {
        head += "Connection: close\r\n";
    }
    if *code != 204 {
        let length = answer.body.len();
        head += &format!("Content-Type: {kind}\r\nContent-Length: {length}\r\n");
    }
    head += "\r\n";
    let mut bytes = head.into_bytes();
    let body = if head_only { &[][..] } else { &answer.body };
    let stream = reader.get_mut();
    if body.len() <= SMALL_BODY {
        bytes.extend_from_slice(body);
        return stream.write_all(&bytes);
    }
    stream.write_all(&bytes)?;
    stream.write_all(body)
}

/// Closes a connection after the client had time to read the response ([`LINGER`]).
fn hang_up(reader: &mut BufReader<TcpStream>) -> io::Result<()> {
    let stream = reader.get_mut();
    stream.shutdown(Shutdown::Write)?;
    stream.set_read_timeout(Some(LINGER))?;
    let began = Instant::now();
    let mut discarded = vec![0; SMALL_BODY];
    while began.elapsed() < LINGER && stream.read(&mut discarded)? > 0 {}
    Ok(())
}

fn reason(code: u16) -> &'static str {
    match code {
        200 => "OK",
        204 => "No Content",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        410 => "Gone",
        413 => "Content Too Large",
        422 => "Unprocessable Content",
        503 => "Service Unavailable",
        _ => "Other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browser_request_heads_are_parsed() {
        let head = "GET /runs.json?a=b HTTP/1.1\r\nHost: localhost:80\r\nX-Two:a\r\nx-two:  b ";
        let request = Request::parse(head).unwrap();
        assert_eq!(request.method, "GET");
        assert_eq!(request.target, "/runs.json?a=b");
        assert_eq!(request.header("host"), Some("localhost:80"));
        assert_eq!(request.headers("x-two").collect::<Vec<_>>(), ["a", "b"]);
        assert!(request.keeps_alive);
        assert_eq!(request.body_length(), Ok(0));
        let close = Request::parse("GET / HTTP/1.1\r\nConnection: Close").unwrap();
        assert!(!close.keeps_alive);
        assert!(!Request::parse("GET / HTTP/1.0").unwrap().keeps_alive);
    }

    #[test]
    fn a_head_that_arrives_byte_by_byte_ends_at_the_deadline() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mut peer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (stream, _) = listener.accept().unwrap();
        let sender = std::thread::spawn(move || {
            // 300 bytes at intervals of 10 ms, 3 s in all, each far within any read timeout.
            for byte in b"GET / HTTP/1.1\r\nHost: localhost"
                .iter()
                .cycle()
                .take(300)
            {
                if peer.write_all(&[*byte]).is_err() {
                    break;
                }
                std::thread::sleep(Duration::from_millis(10));
            }
        });
        let began = Instant::now();
        let mut reader = BufReader::new(stream);
        let error = read_head(&mut reader, Duration::from_millis(300)).unwrap_err();
        let is_late = [io::ErrorKind::TimedOut, io::ErrorKind::WouldBlock].contains(&error.kind());
        assert!(is_late, "{error}");
        assert!(began.elapsed() < Duration::from_secs(2));
        drop(reader);
        sender.join().unwrap();
    }

    #[test]
    fn ambiguous_request_heads_are_refused() {
        let heads = [
            "",
            "GET /",
            "GET  / HTTP/1.1",
            "GET / a HTTP/1.1",
            "GET / HTTP/2.0",
            "GET / HTTP/1.1\r\nHost",
            "GET / HTTP/1.1\r\nHost : a",
            "GET / HTTP/1.1\r\n Host: a",
            "GET / HTTP/1.1\r\n: a",
        ];
        for head in heads {
            assert!(Request::parse(head).is_err(), "{head}");
        }
        let bodies = [
            "Content-Length: +1",
            "Content-Length: 99999999999999999999999",
            "Content-Length: 1\r\nContent-Length: 1",
            "Transfer-Encoding: chunked",
        ];
        for body in bodies {
            let request = Request::parse(&format!("POST / HTTP/1.1\r\n{body}")).unwrap();
            assert!(request.body_length().is_err(), "{body}");
        }
    }
}
