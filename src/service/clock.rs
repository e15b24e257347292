//! Time and fresh ids come into the pure layers from here, and from nowhere else.

use crate::domain::Timestamp;

/// The time, to the millisecond.
#[must_use]
pub fn now() -> Timestamp {
    Timestamp::from(jiff::Timestamp::now())
}

/// A fresh, sortable identifier.
#[must_use]
pub fn fresh() -> ulid::Ulid {
    ulid::Ulid::generate()
}
