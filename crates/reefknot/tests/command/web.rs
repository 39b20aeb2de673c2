//! A minimal HTTP client for the server of the viewer. It sends raw bytes: a library would correct
//! the invalid requests under test.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value as Json;

use crate::common::{Running, Sandbox};

/// Time limit of a response.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(20);

/// A running server.
pub(crate) struct Web {
    pub(crate) running: Running,
    pub(crate) port: u16,
}

/// A response.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) code: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Web {
    /// Starts `reefknot view`.
    pub(crate) fn view(sandbox: &Sandbox, runs: &[&str]) -> Web {
        let arguments = [&["view", "--no-open"], runs].concat();
        Web::of(sandbox.start(&arguments))
    }

    /// A server whose address the program prints.
    pub(crate) fn of(mut running: Running) -> Web {
        let printed = running.wait_for_text("/\n");
        let (_, port) = printed.split_once(": http://127.0.0.1:").unwrap();
        let (port, _) = port.split_once('/').unwrap();
        Web {
            port: port.parse().unwrap(),
            running,
        }
    }

    /// Sends raw bytes.
    pub(crate) fn send(&self, request: &[u8]) -> Reply {
        send(self.port, request)
    }

    /// Sends a request with the usual headers and more.
    pub(crate) fn request(&self, method: &str, target: &str, headers: &[&str]) -> Reply {
        let more: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
        let host = format!("Host: 127.0.0.1:{}", self.port);
        let request = format!("{method} {target} HTTP/1.1\r\n{host}\r\n{more}");
        self.send(format!("{request}Connection: close\r\n\r\n").as_bytes())
    }

    /// Body of a successful GET request.
    pub(crate) fn get(&self, target: &str) -> Vec<u8> {
        let reply = self.request("GET", target, &[]);
        assert_eq!(reply.code, 200, "{target}: {reply:?}");
        reply.body
    }

    pub(crate) fn json(&self, target: &str) -> Json {
        serde_json::from_slice(&self.get(target)).unwrap()
    }
}

impl Reply {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// Sends bytes to a port, and reads until the server closes the connection.
pub(crate) fn send(port: u16, request: &[u8]) -> Reply {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(RESPONSE_TIMEOUT)).unwrap();
    stream.write_all(request).unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
    let end = end.unwrap_or_else(|| panic!("no head in {:?}", String::from_utf8_lossy(&bytes)));
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let code = head.split(' ').nth(1).unwrap().parse().unwrap();
    Reply {
        code,
        head,
        body: bytes.split_off(end + 4),
    }
}

/// An f32 array of a safetensors file.
pub(crate) fn array(file: &[u8], name: &str) -> Option<Vec<f32>> {
    let length = u64::from_le_bytes(file[..8].try_into().unwrap()) as usize;
    let header: Json = serde_json::from_slice(&file[8..8 + length]).unwrap();
    let entry = header.get(name)?;
    assert_eq!(entry["dtype"], "F32");
    let offset = |at: usize| 8 + length + entry["data_offsets"][at].as_u64().unwrap() as usize;
    let chunks = file[offset(0)..offset(1)].as_chunks::<4>().0;
    Some(
        chunks
            .iter()
            .map(|four| f32::from_le_bytes(*four))
            .collect(),
    )
}
