//! The workflow artifacts as Rust types: scalars, fields, schema-level rules and JSON Schemas. No I/O.
