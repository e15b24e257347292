//! The references of a submission: where they stand, what is stored with it, and what they may name
//! (`controller.md` 6).
//!
//! Rooms: `walk` finds them, `effective` makes the list that is stored, `place` says what a place demands,
//! `check` holds the C-RF rules.

mod check;
mod effective;
mod place;
mod walk;

pub use check::check;
pub use effective::effective_refs;
pub use place::{Place, is_direct_evidence, is_user_reported};
pub use walk::{Found, recognised};

/// The longest list of references that is stored with an artifact or shown as input.
pub const REFERENCES_LIMIT: usize = 256;
