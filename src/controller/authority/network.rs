//! Host names of allowlists and of action targets (`controller.md` 4.8).

use crate::text::{script_trim, units};
use std::net::{IpAddr, Ipv6Addr};

/// The normal form of an allowlist entry, or nothing when it is no exact host.
#[must_use]
pub fn normalize_domain(entry: &str) -> Option<String> {
    let name = script_trim(entry).to_lowercase();
    if name.is_empty() || units(&name) > 253 {
        return None;
    }
    let inside = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(&name);
    if is_ip_literal(inside) {
        return Some(inside.to_owned());
    }
    if name == "localhost" {
        return Some(name);
    }
    if name.contains("://") || name.contains(['/', '?', '#', '@', ':', '*']) {
        return None;
    }
    name.split('.').all(is_label).then_some(name)
}

fn is_label(label: &str) -> bool {
    (1..=63).contains(&label.len())
        && label.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        && !label.starts_with('-')
        && !label.ends_with('-')
}

fn is_ip_literal(text: &str) -> bool {
    if text.parse::<IpAddr>().is_ok() {
        return true;
    }
    let Some((address, zone)) = text.split_once('%') else { return false };
    address.parse::<Ipv6Addr>().is_ok() && !zone.is_empty()
}

/// The form in which a parsed URL writes an address, so that an entry can ever match one (W-28); names stay as they
/// are. Nothing for an address with a zone, which no URL can name.
#[must_use]
pub fn canonical_ip(domain: &str) -> Option<String> {
    if domain.contains('%') {
        return None;
    }
    let url = if domain.contains(':') { format!("http://[{domain}]/") } else { format!("http://{domain}/") };
    let looks_numeric = domain.contains(':')
        || domain
            .rsplit('.')
            .next()
            .is_some_and(|last| !last.is_empty() && last.starts_with(|c: char| c.is_ascii_digit()));
    if !looks_numeric {
        return Some(domain.to_owned());
    }
    let parsed = url::Url::parse(&url).ok();
    match parsed.as_ref().and_then(url::Url::host) {
        // The address of the URL's own text: `::ffff:1.2.3.4` is written `::ffff:102:304` there.
        Some(url::Host::Ipv4(_) | url::Host::Ipv6(_)) => {
            let text = parsed.as_ref().and_then(url::Url::host_str).unwrap_or(domain);
            Some(text.trim_matches(['[', ']']).to_owned())
        }
        _ => Some(domain.to_owned()),
    }
}

/// The host that an action's target names, or nothing when it is no plain http(s) target.
#[must_use]
pub fn target_host(target: &str) -> Option<String> {
    let url = parse(target)?;
    if !matches!(url.scheme(), "http" | "https") || !url.username().is_empty() {
        return None;
    }
    if url.password().is_some_and(|password| !password.is_empty()) {
        return None;
    }
    normalize_domain(url.host_str()?)
}

/// The host that a trace event may show for a network target: any scheme, credentials ignored (9.3).
#[must_use]
pub fn shown_host(target: &str) -> Option<String> {
    normalize_domain(parse(target)?.host_str()?)
}

fn parse(target: &str) -> Option<url::Url> {
    let with_scheme = if target.contains("://") { target.to_owned() } else { format!("http://{target}") };
    url::Url::parse(&with_scheme).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_written_as_a_parsed_url_writes_them() {
        for (entry, canonical) in [
            ("0:0:0:0:0:0:0:1", Some("::1")),
            ("127.1", Some("127.0.0.1")),
            ("::ffff:1.2.3.4", Some("::ffff:102:304")),
            ("10.0.0.7", Some("10.0.0.7")),
            ("fe80::1%eth0", None),
            ("example.com", Some("example.com")),
            ("localhost", Some("localhost")),
        ] {
            assert_eq!(canonical_ip(entry).as_deref(), canonical, "{entry}");
            if let Some(canonical) = canonical {
                let target =
                    if canonical.contains(':') { format!("http://[{canonical}]/") } else { canonical.into() };
                assert_eq!(target_host(&target).as_deref(), Some(canonical), "{entry}");
            }
        }
    }

    #[test]
    fn a_shown_host_never_carries_credentials_or_a_path() {
        assert_eq!(
            shown_host("https://user:pw@api.example.com/secret?x=1").as_deref(),
            Some("api.example.com")
        );
        assert_eq!(shown_host("ftp://api.example.com/x").as_deref(), Some("api.example.com"));
        assert_eq!(shown_host("::::"), None);
    }
}
