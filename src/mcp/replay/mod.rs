//! The scripted agent: a real MCP client that plays a recorded workflow and makes real edits.
//!
//! It serves the demo and the tests. A script names the artifacts to submit, with placeholders for what
//! only the server knows, the edits to make and the commands to run in between. A script can be played
//! again for a run that has already come some way: what was accepted is not submitted twice.

mod client;
mod player;
mod script;
mod template;

pub use player::{Ending, Options, play};
pub use script::{Script, ScriptError};
