//! The version of the compiler, which the daemon is told.

use std::process::Command;

fn main() {
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_string());
    let output = Command::new(rustc).arg("--version").output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    println!("cargo:rustc-env=PLAYHEAD_RUSTC={}", text.split(' ').nth(1).unwrap_or("unknown"));
    println!("cargo:rerun-if-changed=build.rs");
}
