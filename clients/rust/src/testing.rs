//! Recordings in `cargo test`.
//!
//! ```no_run
//! #[test]
//! fn recordings() {
//!     playhead::testing::verify("tests/recordings", &[env!("CARGO_BIN_EXE_charge")]);
//! }
//! # fn main() {}
//! ```

use std::process::Command;

use serde_json::Value;

/// Replay the recordings of a folder, or one recording, against the handler that `command` starts. What verifies is the
/// program `playhead`, found on PATH or named by the environment variable PLAYHEAD.
///
/// Each recording is a line of the test's output. Panics if one diverged, or could not be told: with all that did, and
/// where.
pub fn verify(recordings: &str, command: &[&str]) {
    let verdicts = verdicts(recordings, command).unwrap_or_else(|fault| panic!("{fault}"));
    let mut failed = Vec::new();
    for (name, fault) in &verdicts {
        match fault {
            None => println!("{name} ... ok"),
            Some(text) => failed.push(format!("{name} ... FAILED\n{text}")),
        }
    }
    let (bad, all) = (failed.len(), verdicts.len());
    assert!(failed.is_empty(), "{bad} of {all} recordings failed\n{}", failed.join("\n"));
}

/// Each recording, and what is wrong with it.
fn verdicts(recordings: &str, command: &[&str]) -> Result<Vec<(String, Option<String>)>, String> {
    let program = std::env::var("PLAYHEAD").unwrap_or_else(|_| "playhead".to_string());
    verdicts_of(&program, recordings, command)
}

fn verdicts_of(program: &str, recordings: &str, command: &[&str]) -> Result<Vec<(String, Option<String>)>, String> {
    let run = Command::new(program).args(["verify", recordings, "--json", "--"]).args(command).output();
    let run = run.map_err(|error| {
        format!("{program} cannot be started: {error}; install it (pip install playhead), or name it in PLAYHEAD")
    })?;
    let told: Value = serde_json::from_slice(&run.stdout)
        .map_err(|_| format!("{program} gave no verdict\n{}", String::from_utf8_lossy(&run.stderr)))?;
    if let Some(message) = told["error"]["message"].as_str() {
        return Err(format!("{message} {}", told["error"]["hint"].as_str().unwrap_or_default()));
    }
    let results = told["results"].as_array().filter(|results| !results.is_empty());
    let results = results.ok_or_else(|| format!("nothing was verified in {recordings}"))?;
    Ok(results.iter().map(|one| (one["recording"].as_str().unwrap_or("?").to_string(), fault(one))).collect())
}

fn fault(result: &Value) -> Option<String> {
    if result["ok"] == true {
        return None;
    }
    if let Some(message) = result["error"]["message"].as_str() {
        return Some(message.to_string());
    }
    let divergence = &result["divergence"];
    let text = |name: &str| divergence[name].as_str().unwrap_or_default().to_string();
    let mut said =
        format!("  event {}  {}  {} ({})", divergence["seq"], text("pointer"), text("message"), text("kind"));
    for name in ["expected", "actual"] {
        if let Some(value) = divergence.get(name) {
            said += &format!("\n    {name:<9} {value}");
        }
    }
    Some(said)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::{Path, PathBuf};

    const GOLDEN: &str = "../../protocol/vectors/tape/recordings/incident-4211.golden.json";

    /// The daemon: the one that PLAYHEAD names, that of this project, or the one on PATH.
    fn daemon() -> Option<String> {
        let own = Path::new("../../.venv/bin/playhead");
        let named = std::env::var("PLAYHEAD").ok();
        let found = named.or_else(|| own.exists().then(|| own.display().to_string()));
        let found = found.or_else(|| Some("playhead".to_string()));
        found.filter(|program| Path::new(GOLDEN).exists() && Command::new(program).arg("--version").output().is_ok())
    }

    fn example(name: &str) -> String {
        let mut folder: PathBuf = std::env::current_exe().unwrap();
        folder.pop();
        folder.pop();
        folder.join("examples").join(name).display().to_string()
    }

    #[test]
    fn a_handler_that_is_the_same_verifies() {
        let Some(daemon) = daemon() else { return eprintln!("no playhead, or no recordings: not run") };
        let verdicts = verdicts_of(&daemon, GOLDEN, &[&example("charge")]).unwrap();
        assert_eq!(verdicts.len(), 1);
        assert_eq!(verdicts[0].1, None);
    }

    #[test]
    fn a_divergence_says_where_it_is() {
        let Some(daemon) = daemon() else { return eprintln!("no playhead, or no recordings: not run") };
        let verdicts = verdicts_of(&daemon, GOLDEN, &[&example("charge_drifted")]).unwrap();
        let text = verdicts[0].1.clone().unwrap();
        for part in ["event 1", "/approved", "expected  true", "actual    false"] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
    }

    #[test]
    fn what_cannot_be_verified_is_an_error() {
        let Some(daemon) = daemon() else { return eprintln!("no playhead, or no recordings: not run") };
        let verdicts = verdicts_of(&daemon, "no/such/folder", &[&example("charge")]).unwrap();
        assert!(verdicts[0].1.clone().unwrap().contains("No such file"));
        assert!(verdicts_of(&daemon, GOLDEN, &["no/such/handler"]).is_err());
        let missing = verdicts_of("no/such/playhead", GOLDEN, &["x"]).unwrap_err();
        assert!(missing.contains("pip install"), "{missing}");
    }
}
