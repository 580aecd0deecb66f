//! What comes on stdin, back on stdout: no JSON, no frames.
use std::io::{stdin, stdout, Read, Result, Write};

fn main() -> Result<()> {
    let (mut input, mut output) = (stdin().lock(), stdout().lock());
    let mut bytes = [0; 65536];
    loop {
        let size = input.read(&mut bytes)?;
        if size == 0 {
            return Ok(());
        }
        output.write_all(&bytes[..size])?;
        output.flush()?;
    }
}
