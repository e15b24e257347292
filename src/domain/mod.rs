//! Tasks, runs, attempts, patches, verdicts and approvals as types, their state machines and deciders. No I/O.
