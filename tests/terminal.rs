//! The dashboard on a real pseudo-terminal: it draws, and whatever ends it, the terminal is left as it was.
//!
//! The dashboard runs in a child of this test program, so that signals reach a whole process.
#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::io::{Read, Write};
use std::num::NonZero;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use telic::service::link::{Command, Reply, link};
use telic::tui::{Ended, Options, run, sample};

const CHILD: &str = "TELIC_TEST_DASHBOARD";

/// The child: a dashboard over the sample world. In a normal run of the tests it does nothing.
#[test]
fn the_dashboard_of_the_other_tests() {
    let Ok(mode) = std::env::var(CHILD) else { return };
    let (dashboard, engine) = link();
    engine.publish(sample::snapshot());
    let (failing, fail) = channel::<()>();
    std::thread::spawn(move || {
        let supply = sample::supply();
        for request in &engine.requests {
            let _ = failing.send(());
            if let Command::Follow(key) = request.command
                && let Some(detail) = supply.details.get(&key)
            {
                engine.reply(Reply::Detail(detail.clone()));
            }
        }
    });
    if mode == "failing thread" {
        // Fails once the dashboard has asked for a run, so while it has the terminal.
        std::thread::spawn(move || {
            let _ = fail.recv();
            panic!("a background thread fails");
        });
    }
    let options = Options { theme: Some("dark".into()), quiet: true, ..Options::default() };
    let ended = run(dashboard, &options).unwrap();
    std::process::exit(if ended == Ended::Quit { 10 } else { 11 });
}

struct Terminal {
    child: Box<dyn Child + Send + Sync>,
    // None once the terminal was taken away.
    line: Option<Line>,
    screen: vt100::Parser,
}

/// What of a terminal the program in it can miss.
struct Line {
    _master: Box<dyn MasterPty + Send>,
    writer: Box<dyn Write + Send>,
    output: Receiver<Vec<u8>>,
    reading: std::thread::JoinHandle<()>,
}

impl Drop for Terminal {
    /// A test that fails leaves no dashboard behind.
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

impl Terminal {
    fn start(mode: &str) -> Terminal {
        let size = PtySize { rows: 24, cols: 80, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new(std::env::current_exe().unwrap());
        command.args(["--exact", "the_dashboard_of_the_other_tests", "--nocapture", "--test-threads=1"]);
        command.env(CHILD, mode);
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
        let (rows, columns) = (NonZero::new(24).unwrap(), NonZero::new(80).unwrap());
        let line = Some(Line { _master: pair.master, writer, output, reading });
        Terminal { child, line, screen: vt100::Parser::new(rows, columns, 0) }
    }

    /// Reads on until the screen is as wanted.
    fn until(&mut self, what: &str, wanted: impl Fn(&vt100::Screen) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(30);
        while !wanted(self.screen.screen()) {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.line.as_ref().unwrap().output.recv_timeout(left) {
                Ok(bytes) => self.screen.process(&bytes),
                Err(_) => panic!("not {what}:\n{}", self.screen.screen().contents()),
            }
        }
    }

    fn shows(&mut self, words: &str) {
        self.until(words, |screen| screen.alternate_screen() && screen.contents().contains(words));
    }

    fn press(&mut self, keys: &str) {
        let line = self.line.as_mut().unwrap();
        line.writer.write_all(keys.as_bytes()).unwrap();
        line.writer.flush().unwrap();
    }

    /// Closes the terminal's window: nobody reads or writes any more.
    fn vanish(&mut self) {
        // What the key makes the dashboard draw ends the thread that reads, which holds the terminal open.
        self.press("?");
        let Line { _master, writer, output, reading } = self.line.take().unwrap();
        drop(output);
        reading.join().unwrap();
        drop(writer);
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.child.process_id().unwrap()).unwrap())
    }

    fn signal(&self, signal: Signal) {
        kill(self.pid(), signal).unwrap();
    }

    fn restored(&mut self) {
        self.until("restored", |screen| {
            !screen.alternate_screen()
                && !screen.hide_cursor()
                && !screen.bracketed_paste()
                && screen.mouse_protocol_mode() == vt100::MouseProtocolMode::None
        });
    }

    fn ends_with(&mut self, code: u32) {
        self.restored();
        assert_eq!(self.child.wait().unwrap().exit_code(), code);
    }
}

#[test]
fn it_draws_takes_keys_and_leaves_the_terminal_as_it_was() {
    let mut terminal = Terminal::start("plain");
    terminal.shows("Needs you");
    terminal.press("nn\r");
    // The footer offers keys once the question has stood long enough.
    terminal.shows("Esc later");
    terminal.press("\x1b");
    terminal.until("closed", |screen| !screen.contents().contains("A question for you"));
    terminal.press("\x03");
    terminal.shows("Leave telic?");
    terminal.press("\x03");
    terminal.ends_with(10);
}

#[test]
fn a_signal_that_ends_it_restores_the_terminal() {
    for signal in [Signal::SIGTERM, Signal::SIGHUP] {
        let mut terminal = Terminal::start("plain");
        terminal.shows("Needs you");
        terminal.signal(signal);
        terminal.ends_with(11);
    }
}

#[test]
fn while_it_is_stopped_the_terminal_is_free_and_it_comes_back() {
    let mut terminal = Terminal::start("plain");
    terminal.shows("Needs you");
    terminal.signal(Signal::SIGTSTP);
    terminal.restored();
    let status = waitpid(terminal.pid(), Some(WaitPidFlag::WUNTRACED)).unwrap();
    assert_eq!(status, WaitStatus::Stopped(terminal.pid(), Signal::SIGSTOP));
    terminal.signal(Signal::SIGCONT);
    terminal.shows("Needs you");
    terminal.signal(Signal::SIGTERM);
    terminal.ends_with(11);
}

#[test]
fn a_background_thread_that_panics_does_not_write_over_the_screen() {
    let mut terminal = Terminal::start("failing thread");
    terminal.shows("Needs you");
    terminal.press("\r");
    terminal.shows("Overview");
    terminal.press("?");
    terminal.shows("Keys");
    assert!(!terminal.screen.screen().contents().contains("background thread"));
    terminal.signal(Signal::SIGTERM);
    terminal.ends_with(11);
}

#[test]
fn pasted_text_fires_no_key() {
    let mut terminal = Terminal::start("plain");
    terminal.shows("Needs you");
    terminal.press("\x1b[200~\x03\x03q\x1b[201~");
    terminal.shows("Pasted text was dropped");
    terminal.signal(Signal::SIGTERM);
    terminal.ends_with(11);
}

#[test]
fn a_terminal_that_goes_away_ends_it() {
    let mut terminal = Terminal::start("plain");
    terminal.shows("Needs you");
    terminal.vanish();
    let pid = terminal.pid();
    let (ended, end) = channel();
    std::thread::spawn(move || ended.send(waitpid(pid, None)));
    let status = end.recv_timeout(Duration::from_secs(30)).expect("it runs on without a terminal");
    // It may end by its own doing or by the hang-up, but it ends.
    assert!(matches!(status, Ok(WaitStatus::Exited(..) | WaitStatus::Signaled(..))), "{status:?}");
}
