//! The MCP server over standard input and output, thin over `service`.
//!
//! Rooms: `line` and `message` (one message a line), `server` (rmcp's handler), `tools` (what is published), `calls`
//! (what each tool does), `arguments` and `answer` (in and out), `prompt` (words for models), `diagnostics` (the error
//! stream), `roots` (where the host works), `manifest` (in short), `replay` (a scripted client).

mod answer;
mod arguments;
mod calls;
mod diagnostics;
mod line;
mod manifest;
mod message;
mod prompt;
pub mod replay;
mod roots;
mod server;
mod tools;

pub use diagnostics::say;
pub use server::{Settings, serve};
