//! Records which source and which compiler a binary was made from.

use std::process::Command;

fn main() {
    let output = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    let unknown = || "unknown".to_owned();
    let commit = output("git", &["rev-parse", "--short=12", "HEAD"]).unwrap_or_else(unknown);
    let compiler = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let rustc = output(&compiler, &["--version"]).unwrap_or_else(unknown);
    println!("cargo:rustc-env=REEFKNOT_COMMIT={commit}");
    println!("cargo:rustc-env=REEFKNOT_RUSTC={rustc}");
    println!("cargo:rerun-if-changed=build.rs");
    // The log of HEAD changes with every commit and checkout.
    if let Some(git) = output("git", &["rev-parse", "--git-dir"]) {
        println!("cargo:rerun-if-changed={git}/logs/HEAD");
    }
}
