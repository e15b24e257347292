//! The MCP server over standard input and output, thin over `service`.

pub mod replay;
