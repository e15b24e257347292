//! Tool arguments: checked strictly, every fault named with its path, unknown names reported.

use super::diagnostics::say;
use crate::protocol::wire::{Fault, Reader, Wire};
use crate::text::cut_units;
use serde_json::{Map, Value};

/// Reads the arguments of one call.
pub(super) struct Arguments<'a> {
    object: &'a Map<String, Value>,
    reader: Reader,
    known: Vec<&'static str>,
}

/// The faults of a call's arguments.
pub(super) struct Malformed(pub Vec<Fault>);

impl<'a> Arguments<'a> {
    pub(super) fn new(object: &'a Map<String, Value>) -> Self {
        Self { object, reader: Reader::default(), known: Vec::new() }
    }

    /// An argument that must be there.
    pub(super) fn required<T: Wire>(&mut self, name: &'static str) -> Option<T> {
        self.known.push(name);
        let value = self.object.get(name);
        self.reader.within(name, |reader| T::decode(value, reader))
    }

    /// An argument that may be left out; `null` is a fault (`mcp.md` 4).
    pub(super) fn optional<T: Wire>(&mut self, name: &'static str) -> Option<T> {
        self.known.push(name);
        let value = self.object.get(name)?;
        self.reader.within(name, |reader| T::decode(Some(value), reader))
    }

    /// A nested object, read by `read`.
    pub(super) fn nested<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(&Map<String, Value>, &mut Reader) -> Option<T>,
    ) -> Option<T> {
        self.known.push(name);
        let value = self.object.get(name)?;
        self.reader.within(name, |reader| match value {
            Value::Object(object) => read(object, reader),
            other => {
                crate::protocol::wire::wrong_type(reader, "an object", Some(other));
                None
            }
        })
    }

    /// Ends the reading: the faults, or a warning for each argument that no tool has.
    pub(super) fn finish(self) -> Result<Vec<String>, Malformed> {
        let faults = self.reader.into_faults();
        if !faults.is_empty() {
            return Err(Malformed(faults));
        }
        let unknown =
            self.object.keys().filter(|name| !self.known.contains(&name.as_str()) && *name != "_meta");
        let warnings: Vec<String> = unknown
            .map(|name| format!("the argument {:?} is unknown and was not used", cut_units(name, 64)))
            .collect();
        warnings.iter().for_each(|warning| say(warning));
        Ok(warnings)
    }
}
