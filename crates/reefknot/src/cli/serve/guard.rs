//! Protection against requests of other web pages.
//!
//! The server listens on 127.0.0.1 only, but any page in the user's browser can send requests
//! there. The headers Host, Origin and Sec-Fetch-Site tell them from requests of the own page.

use super::http::Request;

/// Reason to refuse a request; `None` if it is allowed.
pub(super) fn refusal(request: &Request) -> Option<&'static str> {
    let mut hosts = request.headers("host");
    let (Some(host), None) = (hosts.next(), hosts.next()) else {
        return Some("a request needs exactly one Host header");
    };
    // DNS rebinding: another host name may resolve to 127.0.0.1. The port may differ (ssh -L).
    if !is_this_machine(host) {
        return Some("the host must be 127.0.0.1 or localhost");
    }
    let mut origins = request.headers("origin");
    if origins.any(|origin| origin != format!("http://{host}")) {
        return Some("requests of other pages are refused");
    }
    let one = |name: &str| request.header(name).unwrap_or_default();
    match one("sec-fetch-site") {
        "" | "same-origin" | "none" => None,
        // The user followed a link to the page.
        _ if one("sec-fetch-mode") == "navigate"
            && one("sec-fetch-dest") == "document"
            && request.target.split('?').next() == Some("/") =>
        {
            None
        }
        _ => Some("requests of other pages are refused"),
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
    fn only_loopback_hosts_are_accepted() {
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
