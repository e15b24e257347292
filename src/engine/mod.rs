//! The background thread: leases, workspaces, agent processes, verification, judging, verdicts, publication.

mod log_file;
pub mod process;
