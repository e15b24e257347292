//! The ledger (SQLite), the content-addressed blobs and the change feed. No SQL and no blob path outside.
