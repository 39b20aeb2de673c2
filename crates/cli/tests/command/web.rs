//! Talks to the server of a view, byte by byte: a library would tidy up what is to be tested.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value as Json;

use crate::common::{Place, Running};

/// An answer takes no longer than this.
const PATIENCE: Duration = Duration::from_secs(20);

/// A server under way.
pub(crate) struct Web {
    pub(crate) running: Running,
    pub(crate) port: u16,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) code: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Web {
    /// Starts a view.
    pub(crate) fn view(place: &Place, runs: &[&str]) -> Web {
        let arguments = [&["view", "--no-open"], runs].concat();
        Web::of(place.start(&arguments))
    }

    /// Reads the address from what a program says.
    pub(crate) fn of(mut running: Running) -> Web {
        let said = running.wait_to_say("/\n");
        let (_, port) = said.split_once(": http://127.0.0.1:").unwrap();
        let (port, _) = port.split_once('/').unwrap();
        Web {
            port: port.parse().unwrap(),
            running,
        }
    }

    /// Asks with these very bytes.
    pub(crate) fn send(&self, request: &[u8]) -> Reply {
        send(self.port, request)
    }

    /// Asks as a browser does, with more headers.
    pub(crate) fn ask(&self, method: &str, target: &str, headers: &[&str]) -> Reply {
        let more: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
        let host = format!("Host: 127.0.0.1:{}", self.port);
        let request = format!("{method} {target} HTTP/1.1\r\n{host}\r\n{more}");
        self.send(format!("{request}Connection: close\r\n\r\n").as_bytes())
    }

    /// Gets something that is there.
    pub(crate) fn get(&self, target: &str) -> Vec<u8> {
        let reply = self.ask("GET", target, &[]);
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

/// Sends these bytes to a port, and reads until the other side ends.
pub(crate) fn send(port: u16, request: &[u8]) -> Reply {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
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

/// The header of a safetensors file, and an array of f32 in it.
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
