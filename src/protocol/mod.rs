//! The workflow artifacts as Rust types: scalars, fields, schema-level rules and JSON Schemas. No I/O.
//!
//! A field table (`wire_object!`) is the one place that says what a body holds; decoding, encoding and the
//! published schema come from it. Rules across fields stand in `rules/`. Rules across artifacts are the
//! controller's.

mod artifact;
mod context;
mod control;
mod enums;
mod evidence;
mod execution;
mod intent;
mod literals;
mod open;
mod permissions;
mod release;
mod rules;
mod scalars;
mod shared;
mod trace;
pub mod wire;

pub use artifact::{Body, Kind};
pub use context::*;
pub use control::*;
pub use enums::*;
pub use evidence::*;
pub use execution::*;
pub use intent::*;
pub use literals::*;
pub use open::{OpenObject, SchemaMap};
pub use permissions::*;
pub use release::*;
pub use rules::weighted_score;
pub use scalars::*;
pub use shared::*;
pub use trace::*;
pub use wire::{Fault, FaultCode, Wire};
