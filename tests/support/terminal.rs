//! A program on a pseudo-terminal: keys go in, the screen is parsed, and tests wait for what it shows.

use std::io::{Read, Write};
use std::num::NonZero;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

/// How long a test waits for the screen that it wants.
const PATIENCE: Duration = Duration::from_secs(30);

pub struct Terminal {
    pub child: Box<dyn Child + Send + Sync>,
    pub screen: vt100::Parser,
    // None once the terminal was taken away.
    line: Option<Line>,
}

/// What of a terminal the program in it can miss.
struct Line {
    _master: Box<dyn MasterPty + Send>,
    writer: Box<dyn Write + Send>,
    output: Receiver<Vec<u8>>,
    reading: std::thread::JoinHandle<()>,
}

impl Drop for Terminal {
    /// A test that fails leaves no program behind.
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

impl Terminal {
    /// Starts a program on a terminal of so many columns and rows.
    pub fn start(mut command: CommandBuilder, (columns, rows): (u16, u16)) -> Terminal {
        let size = PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).unwrap();
        command.env("TERM", "xterm-256color");
        command.env("LANG", "C.UTF-8");
        command.env("RUST_BACKTRACE", "0");
        command.env_remove("NO_COLOR");
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let mut reader = pair.master.try_clone_reader().unwrap();
        let writer = pair.master.take_writer().unwrap();
        let (sender, output) = channel();
        let reading = std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                if sender.send(bytes[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        let screen = vt100::Parser::new(NonZero::new(rows).unwrap(), NonZero::new(columns).unwrap(), 0);
        Terminal { child, screen, line: Some(Line { _master: pair.master, writer, output, reading }) }
    }

    /// Reads on until the screen is as wanted.
    pub fn until(&mut self, what: &str, wanted: impl Fn(&vt100::Screen) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !wanted(self.screen.screen()) {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.line.as_ref().unwrap().output.recv_timeout(left) {
                Ok(bytes) => self.screen.process(&bytes),
                Err(_) => panic!("not {what}:\n{}", self.screen.screen().contents()),
            }
        }
    }

    /// Waits until the program shows these words on its own screen.
    pub fn shows(&mut self, words: &str) {
        self.until(words, |screen| screen.alternate_screen() && screen.contents().contains(words));
    }

    /// Waits until these words are gone from the screen.
    pub fn no_longer_shows(&mut self, words: &str) {
        self.until(&format!("without {words}"), |screen| !screen.contents().contains(words));
    }

    pub fn press(&mut self, keys: &str) {
        let line = self.line.as_mut().unwrap();
        line.writer.write_all(keys.as_bytes()).unwrap();
        line.writer.flush().unwrap();
    }

    /// Closes the terminal's window: nobody reads or writes any more.
    pub fn vanish(&mut self) {
        // What the key makes the program draw ends the thread that reads, which holds the terminal open.
        self.press("?");
        let Line { _master, writer, output, reading } = self.line.take().unwrap();
        drop(output);
        reading.join().unwrap();
        drop(writer);
    }

    pub fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.child.process_id().unwrap()).unwrap())
    }

    pub fn signal(&self, signal: Signal) {
        kill(self.pid(), signal).unwrap();
    }

    /// Waits until the terminal is as a shell wants it.
    pub fn restored(&mut self) {
        self.until("restored", |screen| {
            !screen.alternate_screen()
                && !screen.hide_cursor()
                && !screen.bracketed_paste()
                && screen.mouse_protocol_mode() == vt100::MouseProtocolMode::None
        });
    }

    pub fn ends_with(&mut self, code: u32) {
        self.restored();
        assert_eq!(self.child.wait().unwrap().exit_code(), code);
    }
}
