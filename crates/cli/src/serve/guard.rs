//! Who may ask.
//!
//! The server listens to this machine only, but so do all the pages that its user has open: any of them can have a
//! browser send a request here. What a browser says about where a request comes from tells them from the own page.

use super::http::Request;

/// Why a request is refused; none if it may be answered.
pub(super) fn refusal(request: &Request) -> Option<&'static str> {
    let mut hosts = request.headers("host");
    let (Some(host), None) = (hosts.next(), hosts.next()) else {
        return Some("a request names its host once");
    };
    // The address of another name may lead here (DNS rebinding); the port may be another (ssh -L).
    if !is_this_machine(host) {
        return Some("the page is at 127.0.0.1 or localhost, under no other name");
    }
    let mut origins = request.headers("origin");
    if origins.any(|origin| origin != format!("http://{host}")) {
        return Some("a page from elsewhere may not ask here");
    }
    let one = |name: &str| request.header(name).unwrap_or_default();
    match one("sec-fetch-site") {
        "" | "same-origin" | "none" => None,
        // A link that somebody follows to here.
        _ if one("sec-fetch-mode") == "navigate"
            && one("sec-fetch-dest") == "document"
            && request.target.split('?').next() == Some("/") =>
        {
            None
        }
        _ => Some("a page from elsewhere may not ask here"),
    }
}

fn is_this_machine(host: &str) -> bool {
    let (name, port) = match host.rfind(']') {
        Some(end) => host.split_at(end + 1),
        None => host.split_at(host.find(':').unwrap_or(host.len())),
    };
    let is_port = port.is_empty()
        || port
            .strip_prefix(':')
            .is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()));
    let names = ["127.0.0.1", "localhost", "[::1]"];
    is_port && names.iter().any(|own| own.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_taken() {
        for host in ["127.0.0.1", "localhost:1", "LocalHost:65000", "[::1]:80"] {
            assert!(is_this_machine(host), "{host}");
        }
        let others = [
            "",
            "evil.example",
            "127.0.0.1.evil.example",
            "localhost.evil.example:80",
            "evil.example:127.0.0.1",
            "localhost:80:80",
            "localhost:a",
            "127.0.0.2",
            "0.0.0.0",
            "[::2]",
            "x[::1]",
            "user@localhost",
        ];
        for host in others {
            assert!(!is_this_machine(host), "{host}");
        }
    }
}
