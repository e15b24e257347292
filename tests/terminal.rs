//! The dashboard on a real pseudo-terminal: it draws, and whatever ends it, the terminal is left as it was.
//!
//! The dashboard runs in a child of this test program, so that signals reach a whole process.
#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

mod support;

use std::sync::mpsc::channel;
use std::time::Duration;

use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use portable_pty::CommandBuilder;
use support::terminal::Terminal;
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

/// The dashboard of the child, on a terminal.
fn start(mode: &str) -> Terminal {
    let mut command = CommandBuilder::new(std::env::current_exe().unwrap());
    command.args(["--exact", "the_dashboard_of_the_other_tests", "--nocapture", "--test-threads=1"]);
    command.env(CHILD, mode);
    Terminal::start(command, (80, 24))
}

#[test]
fn it_draws_takes_keys_and_leaves_the_terminal_as_it_was() {
    let mut terminal = start("plain");
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
        let mut terminal = start("plain");
        terminal.shows("Needs you");
        terminal.signal(signal);
        terminal.ends_with(11);
    }
}

#[test]
fn while_it_is_stopped_the_terminal_is_free_and_it_comes_back() {
    let mut terminal = start("plain");
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
    let mut terminal = start("failing thread");
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
    let mut terminal = start("plain");
    terminal.shows("Needs you");
    terminal.press("\x1b[200~\x03\x03q\x1b[201~");
    terminal.shows("Pasted text was dropped");
    terminal.signal(Signal::SIGTERM);
    terminal.ends_with(11);
}

#[test]
fn a_terminal_that_goes_away_ends_it() {
    let mut terminal = start("plain");
    terminal.shows("Needs you");
    terminal.vanish();
    let pid = terminal.pid();
    let (ended, end) = channel();
    std::thread::spawn(move || ended.send(waitpid(pid, None)));
    let status = end.recv_timeout(Duration::from_secs(30)).expect("it runs on without a terminal");
    // It may end by its own doing or by the hang-up, but it ends.
    assert!(matches!(status, Ok(WaitStatus::Exited(..) | WaitStatus::Signaled(..))), "{status:?}");
}
