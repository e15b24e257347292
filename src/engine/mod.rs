//! The background thread: leases, workspaces, agent processes, verification, judging, verdicts, publication.
