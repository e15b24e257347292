//! A log that cannot fill the disk: past its limit it keeps the head as written and the latest tail.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

/// An output log with a limit.
#[derive(Debug)]
pub(super) struct LogFile {
    file: File,
    head_left: u64,
    tail: VecDeque<u8>,
    tail_limit: usize,
    dropped: u64,
}

impl LogFile {
    /// Creates the file; of `limit` bytes one half is for the head, one for the tail.
    pub(super) fn create(path: &Path, limit: u64) -> io::Result<Self> {
        use std::os::unix::fs::OpenOptionsExt as _;
        let file = File::options().write(true).create(true).truncate(true).mode(0o600).open(path)?;
        let tail_limit = usize::try_from(limit / 2).unwrap_or(usize::MAX).min(4 << 20);
        Ok(Self {
            file,
            head_left: limit - (tail_limit as u64).min(limit),
            tail: VecDeque::new(),
            tail_limit,
            dropped: 0,
        })
    }

    /// Adds output. A disk that is full costs output, never the run.
    pub(super) fn write(&mut self, bytes: &[u8]) {
        let head = usize::try_from(self.head_left).unwrap_or(usize::MAX).min(bytes.len());
        if head > 0 {
            if self.file.write_all(&bytes[..head]).is_err() {
                self.dropped += head as u64;
            }
            self.head_left -= head as u64;
        }
        self.tail.extend(&bytes[head..]);
        let over = self.tail.len().saturating_sub(self.tail_limit);
        self.tail.drain(..over);
        self.dropped += over as u64;
    }

    /// Writes the tail and says how many bytes were dropped in between.
    pub(super) fn finish(&mut self) -> u64 {
        if self.dropped > 0 {
            // The note begins a line of its own and the tail goes on at one.
            let cut = self.tail.iter().position(|&byte| byte == b'\n').map_or(0, |at| at + 1);
            let note = self.dropped + cut as u64;
            self.tail.drain(..cut);
            self.dropped = note;
            let _ = write!(self.file, "\n[… {note} bytes left out …]\n");
        }
        let (front, back) = self.tail.as_slices();
        for part in [front, back] {
            if self.file.write_all(part).is_err() {
                self.dropped += part.len() as u64;
            }
        }
        self.tail.clear();
        self.dropped
    }
}
