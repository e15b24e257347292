//! A hardened wrapper over the `git` program, and diff parsing.
