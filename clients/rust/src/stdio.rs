//! The real stdin and stdout, taken for the protocol.

#[cfg(unix)]
pub fn take() -> std::io::Result<(std::fs::File, std::fs::File)> {
    use std::fs::{File, OpenOptions};
    use std::io::Error;
    use std::os::fd::{AsRawFd, FromRawFd};

    fn duplicate(fd: i32) -> std::io::Result<File> {
        // SAFETY: descriptors are numbers; the new one is nobody else's, and is closed in children.
        match unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 3) } {
            made if made >= 0 => Ok(unsafe { File::from_raw_fd(made) }),
            _ => Err(Error::last_os_error()),
        }
    }

    fn replace(from: i32, to: i32) -> std::io::Result<()> {
        // SAFETY: as above.
        match unsafe { libc::dup2(from, to) } {
            made if made >= 0 => Ok(()),
            _ => Err(Error::last_os_error()),
        }
    }

    let (input, output) = (duplicate(0)?, duplicate(1)?);
    let null = OpenOptions::new().read(true).write(true).open("/dev/null")?;
    replace(null.as_raw_fd(), 0)?;
    replace(2, 1).or_else(|_| replace(null.as_raw_fd(), 1))?; // The second: started without a stderr.
    Ok((input, output))
}

/// Without descriptors, what the handler prints does reach the daemon, which reports it as stray lines.
#[cfg(not(unix))]
pub fn take() -> std::io::Result<(std::io::Stdin, std::io::Stdout)> {
    Ok((std::io::stdin(), std::io::stdout()))
}

/// End the process at once: no thread is waited for, and nothing is run at the exit.
#[cfg(unix)]
pub fn exit(status: i32) -> ! {
    // SAFETY: it does not come back.
    unsafe { libc::_exit(status) }
}

#[cfg(not(unix))]
pub fn exit(status: i32) -> ! {
    std::process::exit(status)
}
