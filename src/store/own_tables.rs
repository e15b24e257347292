//! The tables of telic's own records.

/// Created in the same transaction as everything else.
pub(super) const TABLES: &str = "";
