//! Rules on top of the floor (`grounding.md` 10.10). Each may only exclude more.
//!
//! A name alone is never enough: a value must look made by a machine ([`looks_random`]), so that typed code,
//! documentation and placeholders stay readable. A lock file full of digests is not a credential either, so
//! there is no rule on entropy alone.

use super::{RuleId, boundary, is_word, run_end};

/// The first rule that matches, and the byte it matches at.
pub(super) fn find(text: &str) -> Option<(RuleId, usize)> {
    private_key_block(text)
        .map(|at| (RuleId::PrivateKeyBlock, at))
        .or_else(|| vendor(text).map(|at| (RuleId::VendorToken, at)))
        .or_else(|| url(text).map(|at| (RuleId::UrlCredentials, at)))
        .or_else(|| by_line(text))
}

fn private_key_block(text: &str) -> Option<usize> {
    ["-----BEGIN PGP PRIVATE KEY BLOCK-----", "PuTTY-User-Key-File-", "AGE-SECRET-KEY-1"]
        .iter()
        .find_map(|opening| text.find(opening))
}

/// Prefixes that vendors give to their tokens, with the least number of characters behind each.
const VENDORS: [(&str, usize); 24] = [
    ("glpat-", 20),
    ("github_pat_", 22),
    ("sk-", 32),
    ("sk_live_", 16),
    ("rk_live_", 16),
    ("xoxa-", 20),
    ("xoxb-", 20),
    ("xoxp-", 20),
    ("xoxr-", 20),
    ("xoxs-", 20),
    ("xapp-", 20),
    ("AIza", 35),
    ("ASIA", 16),
    ("npm_", 36),
    ("pypi-", 50),
    ("hf_", 30),
    ("dckr_pat_", 20),
    ("dop_v1_", 40),
    ("shpat_", 32),
    ("lin_api_", 32),
    ("SG.", 40),
    ("ya29.", 30),
    ("hvs.", 24),
    ("ATATT3", 40),
];

/// One pass: at each start of a word the prefixes are compared, and a run is measured only behind one.
fn vendor(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let token = |byte: u8| is_word(byte) || byte == b'-' || byte == b'.';
    let mut at = 0;
    while at < bytes.len() {
        if !is_word(bytes[at]) {
            at += 1;
            continue;
        }
        // Runs that follow a prefix are skipped whole: prefixes inside them start no new measurement.
        let prefix = VENDORS.iter().find(|(prefix, _)| bytes[at..].starts_with(prefix.as_bytes()));
        if let Some((prefix, least)) = prefix {
            let from = at + prefix.len();
            let end = run_end(bytes, from, token);
            if end - from >= *least && looks_random(&text[from..end]) {
                return Some(at);
            }
            at = end.max(at + 1);
        } else {
            at = run_end(bytes, at, is_word);
        }
    }
    None
}

/// `scheme://name:password@host`.
fn url(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    text.match_indices("://").find_map(|(at, _)| {
        if !boundary(bytes, at) {
            return None;
        }
        let from = at + 3;
        let end = run_end(bytes, from, |b| b.is_ascii_graphic() && !b"/\"'`<>()[]{}\\?#,".contains(&b));
        let (login, host) = text[from..end].rsplit_once('@')?;
        let (_, password) = login.split_once(':')?;
        let local = host.starts_with("localhost") || host.starts_with("127.") || host.starts_with("example.");
        (!local && !host.is_empty() && password.len() >= 8 && !is_placeholder(password)).then_some(at)
    })
}

/// The rules that never look beyond one line.
fn by_line(text: &str) -> Option<(RuleId, usize)> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let rule = if authorization(line) {
            Some(RuleId::AuthorizationHeader)
        } else if quoted(line) {
            Some(RuleId::QuotedAssignment)
        } else if variable(line) {
            Some(RuleId::VariableAssignment)
        } else {
            None
        };
        if let Some(rule) = rule {
            return Some((rule, at));
        }
        at += line.len();
    }
    None
}

/// `Authorization: Bearer VALUE`, also quoted and with other schemes.
fn authorization(line: &str) -> bool {
    let lower = line.to_ascii_lowercase();
    lower.match_indices("authorization").any(|(at, name)| {
        let rest = line[at + name.len()..].trim_start_matches(['"', '\'', ' ', ':', '=', ',', '\t', '`']);
        let scheme = ["bearer ", "basic ", "token "]
            .iter()
            .find(|scheme| rest.get(..scheme.len()).is_some_and(|head| head.eq_ignore_ascii_case(scheme)));
        scheme.is_some_and(|scheme| {
            let value = &rest[scheme.len()..];
            let end = run_end(value.as_bytes(), 0, is_token);
            end >= 16 && looks_random(&value[..end])
        })
    })
}

/// `"password": "VALUE"` and `'api_key' => 'VALUE'`.
fn quoted(line: &str) -> bool {
    let mut rest = line;
    while let Some(open) = rest.find(['"', '\'']) {
        let quote = &rest[open..=open];
        let inside = &rest[open + 1..];
        let Some(close) = inside.find(quote) else { return false };
        let behind = &inside[close + 1..];
        if is_sensitive(&inside[..close]) {
            let value = behind.trim_start_matches([' ', '\t', ':', '=', '>']);
            if value.len() < behind.len() && quoted_value(value) {
                return true;
            }
        }
        rest = behind;
    }
    false
}

/// `export CI_TOKEN=VALUE` and `access_key = "VALUE"` at the start of a line.
fn variable(line: &str) -> bool {
    let line = line.trim_start().trim_start_matches("export ").trim_start_matches("- ");
    let end = run_end(line.as_bytes(), 0, |b| is_word(b) || b == b'.' || b == b'-');
    let (name, rest) = line.split_at(end);
    let behind = rest.trim_start();
    let Some(value) = behind.strip_prefix(['=', ':']) else { return false };
    let value = value.trim_start_matches([' ', '\t']);
    if !is_sensitive(name) {
        return false;
    }
    if quoted_value(value) {
        return true;
    }
    // Without quotes only a shell-like variable counts: in code, a call or a name stands there.
    let shell = name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
    let end = run_end(value.as_bytes(), 0, is_token);
    let ends = value[end..].trim_start().is_empty() || value[end..].starts_with(" #");
    shell && ends && looks_random(&value[..end])
}

fn quoted_value(text: &str) -> bool {
    let Some(quote) = text.chars().next().filter(|c| matches!(c, '"' | '\'')) else { return false };
    let inside = &text[1..];
    inside.find(quote).is_some_and(|close| {
        let value = &inside[..close];
        value.bytes().all(|b| b.is_ascii_graphic()) && looks_random(value)
    })
}

fn is_token(byte: u8) -> bool {
    is_word(byte) || b"+/=.-~!@%^&*".contains(&byte)
}

/// Whether a name says that a secret is assigned to it.
fn is_sensitive(name: &str) -> bool {
    if name.len() > 64 {
        return false;
    }
    let name: String =
        name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    const ENDINGS: [&str; 11] = [
        "password",
        "passwd",
        "passphrase",
        "secret",
        "token",
        "apikey",
        "accesskey",
        "secretkey",
        "privatekey",
        "authkey",
        "credential",
    ];
    ENDINGS.iter().any(|ending| name.ends_with(ending))
}

fn is_placeholder(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    value.starts_with(['$', '<', '{', '%', '*'])
        || value.contains("${")
        || value.contains("{{")
        || ["example", "placeholder", "redacted", "changeme", "password", "your", "xxxx", "secret", "dummy"]
            .iter()
            .any(|word| lower.contains(word))
}

/// Whether a value looks made by a machine: long enough, of letters and digits, and without much repetition.
fn looks_random(value: &str) -> bool {
    let bytes = value.as_bytes();
    if bytes.len() < 10 || is_placeholder(value) {
        return false;
    }
    let mut counts = [0_u32; 256];
    for byte in bytes {
        counts[usize::from(*byte)] += 1;
    }
    let length = bytes.len() as f64;
    let entropy: f64 = counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| f64::from(*count) / length)
        .map(|share| -share * share.log2())
        .sum();
    let has = |kind: fn(&u8) -> bool| bytes.iter().any(kind);
    // One digit behind plain words is a counter, as in `progress-1`.
    let digits = bytes.iter().filter(|byte| byte.is_ascii_digit()).count();
    let mixed = has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase);
    has(u8::is_ascii_alphabetic) && (digits >= 2 || digits == 1 && mixed) && entropy >= 2.8
}

#[cfg(test)]
mod tests {
    use super::super::{Detector, RuleId};
    use super::find;

    fn rule(text: &str) -> Option<RuleId> {
        find(text).map(|(rule, _)| rule)
    }

    #[test]
    fn each_rule_finds_its_kind() {
        for (text, expected) in [
            ("-----BEGIN PGP PRIVATE KEY BLOCK-----", RuleId::PrivateKeyBlock),
            ("key = glpat-k3Jx9Qm2Zr7Tb5Vn1Wp8", RuleId::VendorToken),
            ("slack: xoxb-123456789012-a1B2c3D4e5F6g7H8", RuleId::VendorToken),
            ("mongodb://app:h7Gk2pQ9xL@db.internal/x", RuleId::UrlCredentials),
            ("Authorization: Bearer q8Zk2Lm9Xw4Rt7Vb1N", RuleId::AuthorizationHeader),
            ("  \"dbPassword\": \"h7Gk2pQ9xL\",", RuleId::QuotedAssignment),
            ("export CI_TOKEN=h7Gk2pQ9xLw3", RuleId::VariableAssignment),
            ("aws_secret_access_key = \"h7Gk2pQ9xLw3\"", RuleId::VariableAssignment),
        ] {
            assert_eq!(rule(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn code_and_documentation_stay_readable() {
        for text in [
            "\"password\": \"string\"",
            "\"password\": \"<your password 1234>\"",
            "let access_token = self.next_token(input1);",
            "API_TOKEN=${TOKEN_FROM_VAULT_1}",
            "API_TOKEN=changeme12345",
            "postgres://user:password@localhost/db",
            "https://example.com/a:b@c",
            "\"integrity\": \"sha512-v2kDEe57lecTulaDIuNTPy3Ry4gLGJ6Z1O3vE1krgXZNrsQ+LFTGHVxVjcXPs17LhbZVGedAJv8XZ1tvj5FvSg==\"",
            "Authorization: Bearer <token>",
            "npm_config_registry and sk-learn",
            "\"tokens\": \"a1b2c3d4e5f6\"",
            "\"progressToken\": \"progress-test-1\"",
        ] {
            assert_eq!(rule(text), None, "{text}");
        }
    }

    #[test]
    fn long_lines_are_read_once() {
        for text in ["sk-".repeat(600_000), "://a:b".repeat(300_000), "\"token\":".repeat(200_000)] {
            assert_eq!(Detector::extended().find(&text), None);
        }
    }
}
