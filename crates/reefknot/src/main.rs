//! The `reefknot` command: a thin binary around [`reefknot::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(reefknot::cli::main(std::env::args_os()))
}
