//! The digest that names a body: SHA-256, written `sha256:` and 64 lower-case hexadecimal digits.

use std::fmt;

use sha2::{Digest as _, Sha256};

use super::StoreError;

/// A SHA-256 digest. It prints as `sha256:<hex>`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    pub(super) fn from_hasher(hasher: Sha256) -> Self {
        Self(hasher.finalize().into())
    }

    /// Reads a digest as a row holds it, with or without the `sha256:` prefix (`store.md` 3.4).
    ///
    /// # Errors
    /// [`StoreError::Malformed`] unless exactly 64 lower-case hexadecimal digits stand there.
    pub fn parse(text: &str) -> Result<Self, StoreError> {
        let hex = text.strip_prefix("sha256:").unwrap_or(text);
        let wrong = || StoreError::malformed("digest", "it is not 64 lower-case hexadecimal digits");
        if hex.len() != 64 {
            return Err(wrong());
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(hex.as_bytes().chunks_exact(2)) {
            let (Some(high), Some(low)) = (nibble(pair[0]), nibble(pair[1])) else { return Err(wrong()) };
            *byte = high << 4 | low;
        }
        Ok(Self(bytes))
    }

    /// The 64 hexadecimal digits, without the prefix.
    #[must_use]
    pub fn hex(&self) -> String {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut hex = String::with_capacity(64);
        for byte in self.0 {
            hex.push(char::from(DIGITS[usize::from(byte >> 4)]));
            hex.push(char::from(DIGITS[usize::from(byte & 15)]));
        }
        hex
    }
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[test]
    fn a_digest_prints_with_its_prefix_and_reads_back_in_both_forms() {
        let digest = Digest::of(b"");
        assert_eq!(digest.to_string(), format!("sha256:{EMPTY}"));
        assert_eq!(Digest::parse(EMPTY).unwrap(), digest);
        assert_eq!(Digest::parse(&digest.to_string()).unwrap(), digest);
    }

    #[test]
    fn upper_case_and_short_digests_are_malformed() {
        for text in [EMPTY.to_uppercase(), EMPTY[1..].to_owned(), format!("{EMPTY}0"), "sha256:".into()] {
            assert_eq!(Digest::parse(&text).unwrap_err().code(), "integrity_failure", "{text}");
        }
    }
}
