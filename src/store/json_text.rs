//! Reading JSON text into values whose strings may hold unpaired surrogates.
//!
//! The usual crate refuses `"\ud800"`, the reference stores it (`store.md` 5.4). This reader is used where a blob
//! does not parse otherwise, and where raw text is canonicalised.

use super::canonical_json::{CanonicalError, MAX_DEPTH};

/// A JSON value. Repeated keys are all kept; the last one counts.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Json {
    Null,
    Bool(bool),
    Number(f64),
    Text(Text),
    Array(Vec<Json>),
    Object(Vec<(Text, Json)>),
}

/// A string: as Rust's own where it can be, else its UTF-16 units.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Text {
    Plain(String),
    Units(Vec<u16>),
}

impl Text {
    pub(super) fn is(&self, other: &str) -> bool {
        matches!(self, Self::Plain(text) if text == other)
    }

    fn into_lossy(self) -> String {
        match self {
            Self::Plain(text) => text,
            Self::Units(units) => String::from_utf16_lossy(&units),
        }
    }
}

impl Json {
    /// The value for code that works with Rust strings: an unpaired surrogate becomes U+FFFD.
    pub(super) fn into_lossy(self) -> serde_json::Value {
        use serde_json::Value;
        match self {
            Self::Null => Value::Null,
            Self::Bool(flag) => Value::Bool(flag),
            Self::Number(number) => number_value(number),
            Self::Text(text) => Value::String(text.into_lossy()),
            Self::Array(items) => Value::Array(items.into_iter().map(Self::into_lossy).collect()),
            Self::Object(members) => Value::Object(
                members.into_iter().map(|(key, value)| (key.into_lossy(), value.into_lossy())).collect(),
            ),
        }
    }
}

fn number_value(number: f64) -> serde_json::Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() <= EXACT {
        #[expect(clippy::cast_possible_truncation, reason = "a whole number of at most 2^53 is exact")]
        return (number as i64).into();
    }
    number.into()
}

/// Reads one JSON text. Numbers are doubles, correctly rounded.
pub(super) fn parse(text: &[u8]) -> Result<Json, CanonicalError> {
    let text = std::str::from_utf8(text)
        .map_err(|error| CanonicalError::NotJson { at: error.valid_up_to(), reason: "it is not UTF-8" })?;
    let mut reader = Reader { text, at: 0 };
    let value = reader.value(0)?;
    reader.space();
    if reader.at < text.len() {
        return Err(reader.wrong("nothing more was expected"));
    }
    Ok(value)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn wrong(&self, reason: &'static str) -> CanonicalError {
        CanonicalError::NotJson { at: self.at, reason }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn take(&mut self, expected: u8) -> bool {
        let found = self.peek() == Some(expected);
        self.at += usize::from(found);
        found
    }

    fn value(&mut self, depth: usize) -> Result<Json, CanonicalError> {
        if depth > MAX_DEPTH {
            return Err(CanonicalError::TooDeep);
        }
        self.space();
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string().map(Json::Text),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => self.word(),
        }
    }

    fn word(&mut self) -> Result<Json, CanonicalError> {
        for (word, value) in [("true", Json::Bool(true)), ("false", Json::Bool(false)), ("null", Json::Null)]
        {
            if self.text[self.at..].starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(self.wrong("a value was expected"))
    }

    fn array(&mut self, depth: usize) -> Result<Json, CanonicalError> {
        self.at += 1;
        let mut items = Vec::new();
        self.space();
        if self.take(b']') {
            return Ok(Json::Array(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.space();
            if self.take(b']') {
                return Ok(Json::Array(items));
            }
            if !self.take(b',') {
                return Err(self.wrong("a comma or ] was expected"));
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json, CanonicalError> {
        self.at += 1;
        let mut members = Vec::new();
        self.space();
        if self.take(b'}') {
            return Ok(Json::Object(members));
        }
        loop {
            self.space();
            if self.peek() != Some(b'"') {
                return Err(self.wrong("a key was expected"));
            }
            let key = self.string()?;
            self.space();
            if !self.take(b':') {
                return Err(self.wrong("a colon was expected"));
            }
            members.push((key, self.value(depth + 1)?));
            self.space();
            if self.take(b'}') {
                return Ok(Json::Object(members));
            }
            if !self.take(b',') {
                return Err(self.wrong("a comma or } was expected"));
            }
        }
    }

    fn digits(&mut self) -> usize {
        let from = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        self.at - from
    }

    fn number(&mut self) -> Result<Json, CanonicalError> {
        let from = self.at;
        self.take(b'-');
        let leading_zero = self.peek() == Some(b'0');
        let whole = self.digits();
        if whole == 0 || (leading_zero && whole > 1) {
            return Err(self.wrong("a number was expected"));
        }
        if self.take(b'.') && self.digits() == 0 {
            return Err(self.wrong("digits were expected after the point"));
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            if self.digits() == 0 {
                return Err(self.wrong("digits were expected in the exponent"));
            }
        }
        let number: f64 =
            self.text[from..self.at].parse().map_err(|_| self.wrong("a number was expected"))?;
        if number.is_finite() { Ok(Json::Number(number)) } else { Err(CanonicalError::Overflow) }
    }

    fn string(&mut self) -> Result<Text, CanonicalError> {
        self.at += 1;
        let mut text = String::new();
        // Filled only once an unpaired surrogate turns up; then it holds the whole string.
        let mut units: Option<Vec<u16>> = None;
        loop {
            let from = self.at;
            while self.peek().is_some_and(|byte| byte >= 0x20 && byte != b'"' && byte != b'\\') {
                self.at += 1;
            }
            let run = &self.text[from..self.at];
            match &mut units {
                Some(units) => units.extend(run.encode_utf16()),
                None => text.push_str(run),
            }
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(units.map_or(Text::Plain(text), Text::Units));
                }
                Some(b'\\') => {
                    let unit = self.escape()?;
                    self.escaped(unit, &mut text, &mut units)?;
                }
                Some(_) => return Err(self.wrong("a control character must be escaped")),
                None => return Err(self.wrong("the string has no end")),
            }
        }
    }

    /// Appends an escaped unit, joined with a following one when they are a pair.
    fn escaped(
        &mut self,
        unit: u16,
        text: &mut String,
        units: &mut Option<Vec<u16>>,
    ) -> Result<(), CanonicalError> {
        let mut pair = vec![unit];
        if (0xd800..0xdc00).contains(&unit) && self.text[self.at..].starts_with("\\u") {
            let before = self.at;
            let next = self.escape()?;
            if (0xdc00..0xe000).contains(&next) {
                pair.push(next);
            } else {
                self.at = before;
            }
        }
        match (&mut *units, String::from_utf16(&pair)) {
            (Some(units), _) => units.extend(pair),
            (None, Ok(character)) => text.push_str(&character),
            (None, Err(_)) => *units = Some(text.encode_utf16().chain(pair).collect()),
        }
        Ok(())
    }

    fn escape(&mut self) -> Result<u16, CanonicalError> {
        self.at += 1;
        let kind = self.peek().ok_or_else(|| self.wrong("the string has no end"))?;
        let plain = match kind {
            b'"' | b'\\' | b'/' => kind,
            b'b' => 0x08,
            b'f' => 0x0c,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                let hex = self.text.as_bytes().get(self.at + 1..self.at + 5);
                let unit = hex
                    .filter(|hex| hex.iter().all(u8::is_ascii_hexdigit))
                    .and_then(|hex| std::str::from_utf8(hex).ok())
                    .and_then(|hex| u16::from_str_radix(hex, 16).ok())
                    .ok_or_else(|| self.wrong("four hexadecimal digits were expected"))?;
                self.at += 5;
                return Ok(unit);
            }
            _ => return Err(self.wrong("an unknown escape")),
        };
        self.at += 1;
        Ok(u16::from(plain))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unpaired_surrogate_becomes_a_replacement_character_where_rust_strings_are_needed() {
        let value = parse(br#"{"a":"x\ud800y","n":[1,2.5,1e300,true,null]}"#).unwrap().into_lossy();
        assert_eq!(value, serde_json::json!({"a": "x\u{fffd}y", "n": [1, 2.5, 1e300, true, null]}));
    }

    #[test]
    fn what_is_not_json_is_refused_with_its_place() {
        for (text, at) in
            [("[1,]", 3), ("{\"a\":01}", 7), ("\"\t\"", 1), ("1 2", 2), ("\"\\x41\"", 2), ("-", 1)]
        {
            match parse(text.as_bytes()) {
                Err(CanonicalError::NotJson { at: found, .. }) => assert_eq!(found, at, "{text}"),
                other => panic!("{text}: {other:?}"),
            }
        }
    }

    #[test]
    fn bytes_that_are_not_utf8_are_refused() {
        assert!(matches!(parse(b"\"\xff\""), Err(CanonicalError::NotJson { at: 1, .. })));
    }
}
