//! The `reefknot` command.
fn main() {}
