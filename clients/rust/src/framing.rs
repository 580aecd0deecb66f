//! Bytes into lines. Only 0x0A ends a frame, and a CR just before it is ignored.

use std::io::{self, Read};

pub const MAX_FRAME_BYTES: usize = 64 << 20;
const READ_BYTES: usize = 64 << 10;

pub struct Frames<R> {
    input: R,
    pub limit: usize,
    kept: Vec<u8>,
    filled: usize,
    from: usize,
    seen: usize, // Up to here no LF was found.
}

impl<R: Read> Frames<R> {
    pub fn new(input: R) -> Self {
        Frames { input, limit: MAX_FRAME_BYTES, kept: vec![0; READ_BYTES], filled: 0, from: 0, seen: 0 }
    }

    /// The next frame without its line end; `None` is the end of input.
    pub fn next_frame(&mut self) -> io::Result<Option<&str>> {
        loop {
            if let Some(at) = self.kept[self.seen..self.filled].iter().position(|&byte| byte == b'\n') {
                let (from, mut end) = (self.from, self.seen + at);
                self.from = end + 1;
                self.seen = end + 1;
                if end > from && self.kept[end - 1] == b'\r' {
                    end -= 1;
                }
                self.fits(end - from)?;
                return match std::str::from_utf8(&self.kept[from..end]) {
                    Ok(text) => Ok(Some(text)),
                    Err(error) => Err(io::Error::new(io::ErrorKind::InvalidData, error)),
                };
            }
            self.seen = self.filled;
            self.fits((self.filled - self.from).saturating_sub(1))?; // One more, for a CR.
            self.make_room();
            match self.input.read(&mut self.kept[self.filled..]) {
                Ok(0) => return Ok(None),
                Ok(n) => self.filled += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Ok(None),
            }
        }
    }

    fn fits(&self, size: usize) -> io::Result<()> {
        if size <= self.limit {
            return Ok(());
        }
        let text = format!("a frame of {size} bytes or more; the largest is {}", self.limit);
        Err(io::Error::new(io::ErrorKind::InvalidData, text))
    }

    fn make_room(&mut self) {
        if self.from > 0 {
            self.kept.copy_within(self.from..self.filled, 0);
            self.filled -= self.from;
            self.seen -= self.from;
            self.from = 0;
        }
        if self.kept.len() - self.filled < READ_BYTES / 4 {
            self.kept.resize(2 * self.kept.len(), 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Slowly<'a>(&'a [u8]);

    impl Read for Slowly<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let n = self.0.len().min(7777).min(into.len());
            into[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    #[test]
    fn only_lf_ends_a_frame() {
        let long = "x".repeat(200_000);
        let text = format!("a\u{2028}b\u{85}\r\n{long}\n\ncut");
        let mut frames = Frames::new(Slowly(text.as_bytes()));
        assert_eq!(frames.next_frame().unwrap(), Some("a\u{2028}b\u{85}"));
        assert_eq!(frames.next_frame().unwrap(), Some(long.as_str()));
        assert_eq!(frames.next_frame().unwrap(), Some(""));
        assert_eq!(frames.next_frame().unwrap(), None);
    }

    #[test]
    fn a_frame_that_is_too_long_is_refused() {
        let mut frames = Frames::new(&b"12345\n"[..]);
        frames.limit = 4;
        assert!(frames.next_frame().is_err());
        let endless = vec![b'x'; 300_000];
        let mut frames = Frames::new(&endless[..]);
        frames.limit = 100_000;
        assert!(frames.next_frame().is_err());
    }
}
