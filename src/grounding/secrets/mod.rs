//! Likely credentials in a text (`grounding.md` 7 and 10.10).
//!
//! Owns the question "may this text be stored?". The `floor` is fixed by the specification and shared with
//! every other program of the protocol; the `extended` rules stand on top of it, can only exclude more, and
//! can be switched off. A hit names its rule and its line, never the text. Every rule reads the text once from
//! front to back: no input makes it slow.
//!
//! Leaves to others: which texts are asked about, and secret-like names (`super::paths`).

mod assignment;
mod bytes;
mod extended;
mod floor;

pub use bytes::likely_credential_in_bytes;

use std::fmt;

/// The rule that recognised a credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RuleId {
    /// Floor 1: a private key in PEM form.
    PemPrivateKey,
    /// Floor 2: an AWS access key id.
    AwsAccessKey,
    /// Floor 3: a GitHub token.
    GithubToken,
    /// Floor 4: a JSON web token.
    JsonWebToken,
    /// Floor 5: a value assigned to a name such as `password`.
    Assignment,
    /// Extended: a token with the prefix of a known vendor.
    VendorToken,
    /// Extended: a private key in PGP, PuTTY or age form.
    PrivateKeyBlock,
    /// Extended: an `Authorization` header with its scheme.
    AuthorizationHeader,
    /// Extended: a quoted name with a quoted value, as in JSON and YAML.
    QuotedAssignment,
    /// Extended: a variable whose name ends in `_TOKEN` and the like.
    VariableAssignment,
    /// Extended: a user name and a password in a URL.
    UrlCredentials,
}

impl RuleId {
    /// The stable name of the rule.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PemPrivateKey => "pem_private_key",
            Self::AwsAccessKey => "aws_access_key",
            Self::GithubToken => "github_token",
            Self::JsonWebToken => "json_web_token",
            Self::Assignment => "assignment",
            Self::VendorToken => "vendor_token",
            Self::PrivateKeyBlock => "private_key_block",
            Self::AuthorizationHeader => "authorization_header",
            Self::QuotedAssignment => "quoted_assignment",
            Self::VariableAssignment => "variable_assignment",
            Self::UrlCredentials => "url_credentials",
        }
    }
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Where a likely credential stands. It never holds the text itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hit {
    /// The rule that matched.
    pub rule: RuleId,
    /// The line it matched on, counted from 1.
    pub line: usize,
}

/// A set of rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detector {
    extended: bool,
}

impl Detector {
    /// The five families of `grounding.md` 7, exactly. `Evidence` is checked with these.
    #[must_use]
    pub const fn floor() -> Self {
        Self { extended: false }
    }

    /// The floor and the maintained rules on top of it (10.10).
    #[must_use]
    pub const fn extended() -> Self {
        Self { extended: true }
    }

    /// Whether the rules beyond the floor are on.
    #[must_use]
    pub const fn is_extended(self) -> bool {
        self.extended
    }

    /// The first rule, in order of the families, that finds a likely credential in `text`.
    #[must_use]
    pub fn find(self, text: &str) -> Option<Hit> {
        let found = floor::find(text).or_else(|| self.extended.then(|| extended::find(text)).flatten());
        found.map(|(rule, at)| Hit { rule, line: line_of(text, at) })
    }
}

/// The floor's answer: whether `text` holds a likely credential (`controller.md` C-EV-7).
#[must_use]
pub fn likely_credential(text: &str) -> Option<Hit> {
    Detector::floor().find(text)
}

fn line_of(text: &str, at: usize) -> usize {
    1 + text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count()
}

/// Whether a byte is an ASCII word character. Bytes above 127 never are, so bytes may be asked one by one.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Whether an ASCII word boundary lies before the byte at `at`.
fn boundary(bytes: &[u8], at: usize) -> bool {
    let before = at.checked_sub(1).is_some_and(|at| is_word(bytes[at]));
    let after = bytes.get(at).is_some_and(|byte| is_word(*byte));
    before != after
}

/// The end of the run of bytes from `from` on that `accept` takes.
fn run_end(bytes: &[u8], from: usize, accept: impl Fn(u8) -> bool) -> usize {
    bytes[from..].iter().position(|byte| !accept(*byte)).map_or(bytes.len(), |length| from + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hit_names_the_rule_and_the_line_and_not_the_text() {
        let text = "first\nsecond\npassword = xxxxxxxxxxxx\n";
        assert_eq!(likely_credential(text), Some(Hit { rule: RuleId::Assignment, line: 3 }));
        assert!(!format!("{:?}", likely_credential(text)).contains("xxxx"));
    }

    #[test]
    fn the_extended_rules_only_add_to_the_floor() {
        let plain = "token = xxxxxxxx";
        assert_eq!(Detector::floor().find(plain), Detector::extended().find(plain));
        let quoted = "{\"password\": \"Tr0ub4dor&3xyz\"}";
        assert_eq!(Detector::floor().find(quoted), None);
        assert_eq!(Detector::extended().find(quoted), Some(Hit { rule: RuleId::QuotedAssignment, line: 1 }));
    }
}
