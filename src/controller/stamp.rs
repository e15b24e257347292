//! Time and identity for one operation: they come in with it, the controller makes neither.

/// When an operation happens, and a fresh word from which its ids are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// UTC, `YYYY-MM-DDTHH:MM:SS.mmmZ`.
    pub now: String,
    /// Unique for all times, such as a ULID: letters and digits, at most 64.
    pub fresh: String,
}

impl Stamp {
    /// A stamp.
    #[must_use]
    pub fn new(now: impl Into<String>, fresh: impl Into<String>) -> Self {
        Self { now: now.into(), fresh: fresh.into() }
    }

    pub(super) fn run_id(&self) -> String {
        format!("run_{}", self.fresh)
    }

    pub(super) fn message_id(&self) -> String {
        format!("msg_{}", self.fresh)
    }

    /// The id of the operation's event at `index`.
    pub(super) fn event_id(&self, index: usize) -> String {
        format!("evt_{}_{index}", self.fresh)
    }
}
