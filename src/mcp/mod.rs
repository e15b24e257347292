//! The MCP server over standard input and output, thin over `service`.
//!
//! Rooms: `line` (messages, one a line), `server` (rmcp's handler), `tools` (what is published), `calls` (what each
//! tool does), `arguments` and `answer` (in and out), `prompt` (words for models), `replay` (a scripted client).

mod answer;
mod arguments;
mod calls;
mod line;
mod prompt;
pub mod replay;
mod server;
mod tools;

pub use server::{Settings, serve};
