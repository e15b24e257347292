//! Family 5 of the floor: `token = value` and its like.
//!
//! Letters are compared ignoring case the way ECMAScript does with the `u` and `i` flags: U+017F is an `s` and
//! U+212A is a `k`, and both are word and value characters. After a key the positions of separator, quote
//! and value are forced, so nothing is tried twice.

use crate::text::is_script_space;

const KEYS: [&str; 10] = [
    "apikey",
    "api_key",
    "api-key",
    "authorization",
    "clientsecret",
    "client_secret",
    "client-secret",
    "password",
    "secret",
    "token",
];

const PLACEHOLDERS: [&str; 4] = ["example", "placeholder", "redacted", "changeme"];

/// The shortest value that counts, in characters.
const SHORTEST: usize = 8;

/// The byte where the first key with a likely credential begins.
pub(super) fn find(text: &str) -> Option<usize> {
    let mut inside_word = false;
    for (at, c) in text.char_indices() {
        let starts = !inside_word;
        inside_word = is_word(c);
        if starts
            && inside_word
            && key_at(&text[at..]).is_some_and(|length| is_assigned(&text[at + length..]))
        {
            return Some(at);
        }
    }
    None
}

/// The length in bytes of the key at the start of `text`, when a boundary follows it.
fn key_at(text: &str) -> Option<usize> {
    KEYS.iter().find_map(|key| {
        let length = prefix(text, key)?;
        (!text[length..].chars().next().is_some_and(is_word)).then_some(length)
    })
}

/// Whether a separator and a value that is no placeholder follow a key.
fn is_assigned(rest: &str) -> bool {
    let rest = rest.trim_start_matches(is_script_space);
    let Some(rest) = rest.strip_prefix([':', '=']) else { return false };
    let rest = rest.trim_start_matches(is_script_space);
    let value = rest.strip_prefix(['"', '\'']).unwrap_or(rest);
    let placeholder = value.starts_with("${")
        || value.starts_with('<')
        || PLACEHOLDERS.iter().any(|word| {
            prefix(value, word).is_some_and(|length| !value[length..].chars().next().is_some_and(is_word))
        });
    !placeholder && value.chars().take_while(|c| is_value(*c)).take(SHORTEST).count() == SHORTEST
}

/// The length in bytes of the start of `text` that equals `word` (lower case) ignoring case.
fn prefix(text: &str, word: &str) -> Option<usize> {
    let mut chars = text.chars();
    for expected in word.chars() {
        if fold(chars.next()?) != expected {
            return None;
        }
    }
    Some(text.len() - chars.as_str().len())
}

fn fold(c: char) -> char {
    match c {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        c => c.to_ascii_lowercase(),
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '\u{17f}' | '\u{212a}')
}

fn is_value(c: char) -> bool {
    is_word(c) || matches!(c, '+' | '.' | '/' | ':' | '@' | '=' | '-')
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn a_key_needs_boundaries_where_two_foreign_letters_are_words() {
        assert_eq!(find("a.token=xxxxxxxx"), Some(2));
        assert_eq!(find("\u{17f}token=xxxxxxxx"), None);
        assert_eq!(find("token\u{212a}=xxxxxxxx"), None);
        assert_eq!(find("étoken=xxxxxxxx"), Some(2));
    }

    #[test]
    fn a_value_has_at_least_eight_characters() {
        assert!(find("secret: 1234567").is_none());
        assert!(find("secret: 12345678").is_some());
        assert!(find("secret: 1234567 8").is_none());
    }

    #[test]
    fn placeholders_end_at_a_boundary() {
        assert!(find("token=redacted.by.us").is_none());
        assert!(find("token=redactedbyus").is_some());
        assert!(find("token=example\u{17f}xx").is_some());
    }
}
