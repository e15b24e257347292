//! Tests of whole runs: the scripts of the replay agent, played on the pure controller.

mod authority;
mod clarification;
mod inputs;
mod play;
mod properties;
mod start;
mod submission;
mod supporting;
mod trace;
mod transition;
