//! The `telic` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    telic::cli::main()
}
