//! Typed access to the tables of a policy file that remembers which keys were asked for and where they stand.

use super::policy_file::PolicyError;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::str::FromStr;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The line, from 1, of a place in a text.
pub(super) fn line_of(text: &str, at: usize) -> usize {
    let before = text.as_bytes().get(..at.min(text.len())).unwrap_or_default();
    before.iter().filter(|byte| **byte == b'\n').count() + 1
}

type Value<'a> = Spanned<DeValue<'a>>;

/// One table, and the keys of it that were read.
pub(super) struct Section<'a> {
    text: &'a str,
    file: &'a str,
    path: String,
    line: usize,
    table: &'a DeTable<'a>,
    read: BTreeSet<&'static str>,
}

impl<'a> Section<'a> {
    pub(super) fn root(text: &'a str, file: &'a str, table: &'a DeTable<'a>) -> Self {
        Self { text, file, path: String::new(), line: 1, table, read: BTreeSet::new() }
    }

    fn key_path(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    fn error(&self, line: usize, key: &str, message: impl Into<String>) -> PolicyError {
        let key = self.key_path(key);
        let message = format!("{key} {}", message.into());
        PolicyError { file: self.file.to_owned(), line, key, message }
    }

    fn line(&self, value: &Value<'_>) -> usize {
        line_of(self.text, value.span().start)
    }

    /// An error about a key of this table, at the key's line where it is there.
    pub(super) fn fault(&self, key: &str, message: impl Into<String>) -> PolicyError {
        let line = self.table.get(key).map_or(self.line, |value| self.line(value));
        self.error(line, key, message)
    }

    fn take(&mut self, key: &'static str) -> Option<&'a Value<'a>> {
        self.read.insert(key);
        self.table.get(key)
    }

    /// Refuses the first key that nobody asked for.
    pub(super) fn finish(&self) -> Result<(), PolicyError> {
        let unknown = self.table.keys().find(|key| !self.read.contains(key.get_ref().as_ref()));
        match unknown {
            Some(key) => {
                let line = line_of(self.text, key.span().start);
                Err(self.error(line, key.get_ref(), "is not known"))
            }
            None => Ok(()),
        }
    }

    /// Reads a table by `read`, or takes its default where it is absent.
    pub(super) fn section<T: Default>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&mut Section<'_>) -> Result<T, PolicyError>,
    ) -> Result<T, PolicyError> {
        let Some(value) = self.take(key) else { return Ok(T::default()) };
        let mut section = self.inner(key, value)?;
        let result = read(&mut section)?;
        section.finish()?;
        Ok(result)
    }

    fn inner(&self, key: &str, value: &'a Value<'a>) -> Result<Section<'a>, PolicyError> {
        let DeValue::Table(table) = value.get_ref() else {
            return Err(self.error(self.line(value), key, "must be a table"));
        };
        Ok(Section {
            text: self.text,
            file: self.file,
            path: self.key_path(key),
            line: self.line(value),
            table,
            read: BTreeSet::new(),
        })
    }

    /// Reads each table of a list.
    pub(super) fn tables(
        &mut self,
        key: &'static str,
        mut read: impl FnMut(&mut Section<'_>) -> Result<(), PolicyError>,
    ) -> Result<(), PolicyError> {
        let Some(value) = self.take(key) else { return Ok(()) };
        let DeValue::Array(entries) = value.get_ref() else {
            return Err(self.error(self.line(value), key, "must be a list of tables"));
        };
        for entry in entries {
            let mut section = self.inner(key, entry)?;
            read(&mut section)?;
            section.finish()?;
        }
        Ok(())
    }

    fn text_of(&self, key: &str, value: &'a Value<'a>) -> Result<&'a Cow<'a, str>, PolicyError> {
        match value.get_ref() {
            DeValue::String(text) => Ok(text),
            _ => Err(self.error(self.line(value), key, "must be a string")),
        }
    }

    pub(super) fn string(&mut self, key: &'static str) -> Result<Option<String>, PolicyError> {
        self.take(key).map(|value| self.text_of(key, value).map(ToString::to_string)).transpose()
    }

    pub(super) fn required_string(&mut self, key: &'static str) -> Result<String, PolicyError> {
        self.string(key)?.ok_or_else(|| self.fault(key, "is missing"))
    }

    pub(super) fn strings(&mut self, key: &'static str) -> Result<Option<Vec<String>>, PolicyError> {
        self.strings_that(key, |_| Ok(()))
    }

    /// A list of strings, each of which `check` accepts; a refusal names the line of that entry.
    pub(super) fn strings_that(
        &mut self,
        key: &'static str,
        check: impl Fn(&str) -> Result<(), String>,
    ) -> Result<Option<Vec<String>>, PolicyError> {
        let Some(value) = self.take(key) else { return Ok(None) };
        let DeValue::Array(entries) = value.get_ref() else {
            return Err(self.error(self.line(value), key, "must be a list of strings"));
        };
        let mut strings = Vec::with_capacity(entries.len());
        for entry in entries {
            let text = self.text_of(key, entry)?;
            check(text).map_err(|message| self.error(self.line(entry), key, message))?;
            strings.push(text.to_string());
        }
        Ok(Some(strings))
    }

    /// A word of a closed set.
    pub(super) fn word<T: FromStr<Err = String>>(
        &mut self,
        key: &'static str,
    ) -> Result<Option<T>, PolicyError> {
        let Some(value) = self.take(key) else { return Ok(None) };
        let text = self.text_of(key, value)?;
        text.parse().map(Some).map_err(|message: String| self.error(self.line(value), key, message))
    }

    /// A list of words of a closed set.
    pub(super) fn words<T: FromStr<Err = String>>(
        &mut self,
        key: &'static str,
    ) -> Result<Option<Vec<T>>, PolicyError> {
        let texts = self.strings_that(key, |text| text.parse::<T>().map(|_| ()))?;
        Ok(texts.map(|texts| texts.iter().filter_map(|text| text.parse().ok()).collect()))
    }

    pub(super) fn flag(&mut self, key: &'static str) -> Result<Option<bool>, PolicyError> {
        match self.take(key) {
            None => Ok(None),
            Some(value) => match value.get_ref() {
                DeValue::Boolean(flag) => Ok(Some(*flag)),
                _ => Err(self.error(self.line(value), key, "must be true or false")),
            },
        }
    }

    /// A whole number of things, at least 0.
    pub(super) fn count(&mut self, key: &'static str) -> Result<Option<u64>, PolicyError> {
        let Some(value) = self.take(key) else { return Ok(None) };
        let DeValue::Integer(number) = value.get_ref() else {
            return Err(self.error(self.line(value), key, "must be a whole number"));
        };
        u64::from_str_radix(&number.as_str().replace('_', ""), number.radix())
            .map(Some)
            .map_err(|_| self.error(self.line(value), key, "must be a whole number, not below 0"))
    }

    pub(super) fn number(&mut self, key: &'static str) -> Result<Option<f64>, PolicyError> {
        let Some(value) = self.take(key) else { return Ok(None) };
        let text = match value.get_ref() {
            DeValue::Float(number) => number.as_str().to_owned(),
            DeValue::Integer(number) if number.radix() == 10 => number.as_str().to_owned(),
            _ => return Err(self.error(self.line(value), key, "must be a number")),
        };
        let parsed: Option<f64> =
            text.replace('_', "").parse().ok().filter(|number: &f64| number.is_finite());
        parsed.map(Some).ok_or_else(|| self.error(self.line(value), key, "must be a number"))
    }

    /// A length of time such as `90s`, `20m`, `2h`, in seconds; at least 1.
    pub(super) fn duration(&mut self, key: &'static str) -> Result<Option<u64>, PolicyError> {
        let units = [("s", 1), ("m", 60), ("h", 3_600), ("d", 86_400)];
        self.measure(key, &units, "must be a time such as \"90s\", \"20m\" or \"2h\"")
    }

    /// A number of bytes such as `64MiB`, or a plain number of them; at least 1.
    pub(super) fn size(&mut self, key: &'static str) -> Result<Option<u64>, PolicyError> {
        let units = [
            ("KiB", 1 << 10),
            ("MiB", 1 << 20),
            ("GiB", 1 << 30),
            ("KB", 1_000),
            ("MB", 1_000_000),
            ("GB", 1_000_000_000),
            ("B", 1),
        ];
        if self.table.get(key).is_some_and(|value| matches!(value.get_ref(), DeValue::Integer(_))) {
            return self.count(key);
        }
        self.measure(key, &units, "must be a size such as \"64MiB\"")
    }

    fn measure(
        &mut self,
        key: &'static str,
        units: &[(&str, u64)],
        message: &str,
    ) -> Result<Option<u64>, PolicyError> {
        let Some(value) = self.take(key) else { return Ok(None) };
        let text = self.text_of(key, value)?;
        let parsed = units.iter().find_map(|(unit, factor)| {
            let number = text.strip_suffix(unit)?.trim_end();
            let plain = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
            plain.then(|| number.parse::<u64>().ok()?.checked_mul(*factor)).flatten()
        });
        match parsed.filter(|amount| *amount > 0) {
            Some(amount) => Ok(Some(amount)),
            None => Err(self.error(self.line(value), key, message)),
        }
    }
}
