//! As much of HTTP/1.1 as a browser needs to ask a server on the same machine.
//!
//! Whatever comes in is bounded: the length of a head and of a body, the time that a peer may keep silent, and the
//! number of connections (by the caller). A body is read only if somebody wants it, and a connection whose body
//! nobody read is closed. So a peer that does not play by the rules costs one thread for a while, and nothing else.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// No head is longer: browsers send along the cookies of everything that is served from this machine.
const LONGEST_HEAD: u64 = 1 << 18;
/// A connection on which nothing is asked for so long is closed.
const LONGEST_SILENCE: Duration = Duration::from_secs(120);
/// A peer that takes nothing for so long is given up.
const LONGEST_STALL: Duration = Duration::from_secs(300);
/// How long a peer may go on to send what nobody reads, so that it still gets to read its answer.
const LINGER: Duration = Duration::from_secs(1);
/// Bodies up to here are sent along with their head, in one piece.
const SMALL: usize = 1 << 16;

/// With every answer: nobody but the own page may read it, embed it or keep it.
const HEADERS: &str = "X-Content-Type-Options: nosniff\r\n\
    Cross-Origin-Resource-Policy: same-origin\r\n\
    Cross-Origin-Opener-Policy: same-origin\r\n\
    X-Frame-Options: DENY\r\n\
    Referrer-Policy: no-referrer\r\n\
    Cache-Control: no-store\r\n";

/// What was asked for, without its body.
pub(super) struct Request {
    pub(super) method: String,
    pub(super) target: String,
    headers: Vec<(String, String)>,
    keeps_alive: bool,
}

/// The body of a request, as yet unread.
pub(super) struct Body<'a> {
    reader: &'a mut BufReader<TcpStream>,
    left: u64,
}

/// What is sent back.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) code: u16,
    pub(super) kind: &'static str,
    /// Another header line, with its end.
    pub(super) header: &'static str,
    pub(super) body: Vec<u8>,
}

impl Answer {
    /// A file.
    pub(super) fn file(kind: &'static str, body: Vec<u8>) -> Answer {
        Answer {
            code: 200,
            kind,
            header: "",
            body,
        }
    }

    /// A sentence that says why there is nothing better.
    pub(super) fn sentence(code: u16, sentence: &str) -> Answer {
        Answer {
            code,
            kind: "text/plain; charset=utf-8",
            header: "",
            body: format!("{sentence}\n").into_bytes(),
        }
    }
}

impl Request {
    /// The values of a header, by its name in lower case.
    pub(super) fn headers(&self, name: &str) -> impl Iterator<Item = &str> {
        let of_name = self.headers.iter().filter(move |(other, _)| other == name);
        of_name.map(|(_, value)| value.as_str())
    }

    /// The value of a header.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers(name).next()
    }

    /// A head without the empty line at its end; what is wrong with it, if it is none.
    fn parse(head: &str) -> Result<Request, &'static str> {
        let mut lines = head.split("\r\n");
        let line: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
        let [method, target, version] = line[..] else {
            return Err("the first line is not METHOD PATH VERSION");
        };
        if !matches!(version, "HTTP/1.1" | "HTTP/1.0") {
            return Err("only HTTP/1.1 is spoken here");
        }
        let mut headers = Vec::new();
        for line in lines {
            let (name, value) = line.split_once(':').ok_or("a header has no colon")?;
            if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_graphic()) {
                return Err("a header has no proper name");
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

    /// The length of the body.
    fn body_length(&self) -> Result<u64, &'static str> {
        if self.header("transfer-encoding").is_some() {
            return Err("a body needs a Content-Length here");
        }
        let mut lengths = self.headers("content-length");
        match (lengths.next(), lengths.next()) {
            (None, _) => Ok(0),
            (Some(text), None) => super::request::number(text).ok_or("Content-Length is no number"),
            _ => Err("there is more than one Content-Length"),
        }
    }
}

impl Body<'_> {
    /// All of it, or the answer to somebody who sends too much or too little.
    pub(super) fn read(&mut self, longest: u64) -> Result<Vec<u8>, Answer> {
        if self.left > longest {
            return Err(Answer::sentence(
                413,
                &format!("the body has more than {longest} bytes"),
            ));
        }
        let mut bytes = Vec::new();
        let read = self.reader.take(self.left).read_to_end(&mut bytes);
        let is_whole = read.is_ok() && bytes.len() as u64 == self.left;
        self.left -= bytes.len() as u64;
        match is_whole {
            true => Ok(bytes),
            false => Err(Answer::sentence(400, "the body ended too early")),
        }
    }
}

/// Answers what is asked on a connection, until its end.
pub(super) fn converse(
    stream: TcpStream,
    answer: impl Fn(&Request, &mut Body<'_>) -> Answer,
) -> io::Result<()> {
    // An answer must not wait for the receipt of the one before.
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(LONGEST_SILENCE))?;
    stream.set_write_timeout(Some(LONGEST_STALL))?;
    let mut reader = BufReader::with_capacity(1 << 16, stream);
    loop {
        let Some(head) = read_head(&mut reader)? else {
            return Ok(());
        };
        let parsed = Request::parse(&head).and_then(|request| {
            let left = request.body_length()?;
            Ok((request, left))
        });
        let (request, left) = match parsed {
            Ok(parsed) => parsed,
            Err(reason) => {
                send(&mut reader, &Answer::sentence(400, reason), false, true)?;
                return hang_up(&mut reader);
            }
        };
        let mut body = Body {
            reader: &mut reader,
            left,
        };
        let answer = answer(&request, &mut body);
        let goes_on = request.keeps_alive && body.left == 0;
        send(&mut reader, &answer, request.method == "HEAD", !goes_on)?;
        if !goes_on {
            return hang_up(&mut reader);
        }
    }
}

/// The next head, without the empty line at its end; none if the peer has nothing more to ask.
fn read_head(reader: &mut BufReader<TcpStream>) -> io::Result<Option<String>> {
    let mut head = Vec::new();
    let mut limited = reader.take(LONGEST_HEAD);
    while !head.ends_with(b"\r\n\r\n") {
        if limited.read_until(b'\n', &mut head)? == 0 {
            return match head.is_empty() {
                true => Ok(None),
                false => Err(io::ErrorKind::InvalidData.into()),
            };
        }
    }
    head.truncate(head.len() - 4);
    let text = String::from_utf8(head);
    Ok(Some(text.map_err(|_| io::ErrorKind::InvalidData)?))
}

fn send(
    reader: &mut BufReader<TcpStream>,
    answer: &Answer,
    head_only: bool,
    is_last: bool,
) -> io::Result<()> {
    let Answer {
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
    let body = match head_only {
        true => &[][..],
        false => &answer.body,
    };
    let stream = reader.get_mut();
    if body.len() <= SMALL {
        bytes.extend_from_slice(body);
        return stream.write_all(&bytes);
    }
    stream.write_all(&bytes)?;
    stream.write_all(body)
}

/// Ends a connection. To close it while something is unread would take back the answer too.
fn hang_up(reader: &mut BufReader<TcpStream>) -> io::Result<()> {
    let stream = reader.get_mut();
    stream.shutdown(Shutdown::Write)?;
    stream.set_read_timeout(Some(LINGER))?;
    let began = Instant::now();
    let mut thrown_away = vec![0; SMALL];
    while began.elapsed() < LINGER && stream.read(&mut thrown_away)? > 0 {}
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
    fn a_head_is_read_as_a_browser_writes_it() {
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
    fn heads_that_could_be_read_in_two_ways_are_refused() {
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
