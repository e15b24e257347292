//! The `telic` program.

fn main() {}
