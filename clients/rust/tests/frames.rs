//! Frames of the daemon that cannot be read, and answers that nobody waits for, with a process of its own.

use std::io::{Read, Write};
use std::process::{Command, Output, Stdio};

/// What an example makes of these lines, behind `initialize`.
fn told(lines: &[&[u8]]) -> Output {
    let mut program = std::env::current_exe().unwrap();
    program.pop();
    program.pop();
    let mut command = Command::new(program.join("examples/plus_one"));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut to = child.stdin.take().unwrap();
    let mut from = child.stdout.take().unwrap();
    let first = br#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocol":1,"capabilities":{}}}"#;
    for line in [&first[..]].iter().chain(lines) {
        to.write_all(&[line, &b"\n"[..]].concat()).unwrap();
    }
    // Ended only when something was said, since the end of input ends the process whatever it does.
    let mut stdout = Vec::new();
    while stdout.iter().filter(|&&byte| byte == b'\n').count() < 2 {
        let mut bytes = [0; 4096];
        let size = from.read(&mut bytes).unwrap();
        assert!(size > 0, "it has ended");
        stdout.extend_from_slice(&bytes[..size]);
    }
    drop(to);
    from.read_to_end(&mut stdout).unwrap();
    Output { stdout, ..child.wait_with_output().unwrap() }
}

fn last_line(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).lines().last().unwrap_or_default().to_string()
}

#[test]
fn a_frame_that_cannot_be_read_is_told_on_both_sides_and_ends_the_process() {
    let frames: [(&[u8], i64); 5] = [
        (b"what?", -32700),
        (b"\xff", -32700),
        (b"[1]", -32600),
        (br#"{"jsonrpc":"2.0","id":2,"method":5}"#, -32600),
        (br#"{"jsonrpc":"2.0","id":2.5,"method":"shutdown","params":{}}"#, -32600),
    ];
    for (frame, code) in frames {
        let output = told(&[frame]);
        let start = format!(r#"{{"jsonrpc":"2.0","id":null,"error":{{"code":{code},"#);
        assert!(last_line(&output).starts_with(&start), "{output:?}");
        assert_eq!(output.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&output.stderr).contains("broke the protocol"), "{output:?}");
    }
}

#[test]
fn answers_that_nobody_waits_for_are_dropped() {
    let output = told(&[
        br#"{"jsonrpc":"2.0","id":77,"result":1}"#,
        br#"{"jsonrpc":"2.0","id":"1","result":1}"#,
        br#"{"jsonrpc":"2.0","id":null,"result":1}"#,
        br#"{"jsonrpc":"2.0","id":-1,"error":{"code":-1,"message":"m"}}"#,
        br#"{"jsonrpc":"2.0","id":2,"method":"handle","params":{"call":0,"fn":"handler","event":4,"seq":0}}"#,
    ]);
    assert_eq!(last_line(&output), r#"{"jsonrpc":"2.0","id":2,"result":{"output":5}}"#);
    assert_eq!(output.status.code(), Some(0));
}
