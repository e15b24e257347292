//! Repository inventory, ranking and secret detection.

pub mod paths;
pub mod ranking;
pub mod secrets;
