//! Child processes that cannot get out of hand: own session, null input, bounded output, bounded time.
//!
//! A process is started in a session of its own, so it has no terminal to ask and its group can be ended as
//! a whole: SIGTERM, then SIGKILL after a grace. Its output is read by one thread per pipe into one log file
//! that keeps head and tail past the limit. Pipes that a stray child holds open are waited for a bounded
//! time only, then left.

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use process_wrap::std::{CommandWrap, ProcessSession};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Read;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::log_file::LogFile;

/// How long a group may take to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(5);
/// How long pipes are drained after the process has ended.
const DRAIN: Duration = Duration::from_secs(2);
/// How often the process is looked at.
const TICK: Duration = Duration::from_millis(20);

/// What to run, and within which bounds.
#[derive(Clone, Debug)]
pub struct Job {
    /// Program and arguments; no shell is involved.
    pub command: Vec<OsString>,
    /// Where it runs.
    pub directory: PathBuf,
    /// Variables beside the scrubbed environment.
    pub environment: BTreeMap<String, OsString>,
    /// Names of further variables that are passed on when they are set.
    pub pass: Vec<String>,
    /// The most time it may take.
    pub limit: Duration,
    /// The most output that is kept, in bytes; head and tail are kept past it.
    pub output_limit: u64,
    /// What is written to its standard input; nothing is a null input.
    pub input: Option<Vec<u8>>,
}

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself, with a code.
    Exited(i32),
    /// By a signal that was not ours.
    Signalled(i32),
    /// It took too long and was ended.
    TimedOut,
    /// It was ended because that was asked for.
    Stopped,
}

/// What is known about a process that ran.
#[derive(Clone, Debug)]
pub struct Ran {
    /// How it ended.
    pub end: End,
    /// How long it took.
    pub took: Duration,
    /// Bytes of output that were not kept.
    pub dropped: u64,
    /// Whether processes of its group outlived it and were killed.
    pub left_behind: bool,
}

/// A process that could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// There is no such program.
    #[error("{program}: not found")]
    NotFound {
        /// The program.
        program: String,
    },
    /// The system refused.
    #[error("{program}: {source}")]
    Failed {
        /// The program.
        program: String,
        /// Why.
        source: std::io::Error,
    },
}

/// Ends a running process from another thread.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Asks for the end.
    pub fn request(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Whether the end was asked for.
    #[must_use]
    pub fn requested(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// A process by pid and start time, so that a recycled pid is never taken for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Its pid, which is the pid of its group as well.
    pub pid: i32,
    /// When it started, in the unit of the system; 0 where the system does not tell.
    pub started: u64,
}

/// The variables that every process gets when they are set; all others are kept from it.
const PASSED: [&str; 5] = ["PATH", "HOME", "LANG", "TERM", "TMPDIR"];

/// Runs a job to its end. `started` is told the identity of the process, `alive` is called about twice a
/// second while it runs.
///
/// # Errors
/// The program cannot be started.
pub fn run(
    job: &Job,
    log: &Path,
    stop: &Stop,
    started: &mut dyn FnMut(Identity),
    alive: &mut dyn FnMut(),
) -> Result<Ran, StartError> {
    let program = job.command.first().map(|p| p.to_string_lossy().into_owned()).unwrap_or_default();
    let failed = |source: std::io::Error| match source.kind() {
        std::io::ErrorKind::NotFound => StartError::NotFound { program: program.clone() },
        _ => StartError::Failed { program: program.clone(), source },
    };
    let log = LogFile::create(log, job.output_limit).map_err(failed)?;
    let log = Arc::new(Mutex::new(log));
    let mut child = CommandWrap::from(command(job)).wrap(ProcessSession).spawn().map_err(failed)?;
    let began = Instant::now();
    let pid = i32::try_from(child.id()).unwrap_or(i32::MAX);
    started(Identity { pid, started: start_time(pid) });

    let (done, readers) = channel::<()>();
    let streams: [Option<Box<dyn Read + Send>>; 2] = [
        child.stdout().take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>),
        child.stderr().take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>),
    ];
    for stream in streams.into_iter().flatten() {
        let (log, done) = (Arc::clone(&log), done.clone());
        std::thread::spawn(move || {
            copy(stream, &log);
            // Nobody waits any more when the drain time is over.
            let _ = done.send(());
        });
    }
    drop(done);
    if let (Some(mut pipe), Some(input)) = (child.stdin().take(), job.input.clone()) {
        std::thread::spawn(move || {
            // A program that does not read its input is free to close it.
            let _ = std::io::Write::write_all(&mut pipe, &input);
        });
    }

    let mut told = began;
    let (status, ours) = loop {
        match child.inner_mut().try_wait() {
            Ok(Some(status)) => break (Some(status), None),
            Ok(None) => {}
            Err(_) => break (None, None),
        }
        let ours = if stop.requested() {
            Some(End::Stopped)
        } else if began.elapsed() >= job.limit {
            Some(End::TimedOut)
        } else {
            None
        };
        if ours.is_some() {
            end_group(pid, &mut || matches!(child.inner_mut().try_wait(), Ok(None)));
            break (child.inner_mut().try_wait().ok().flatten(), ours);
        }
        if told.elapsed() >= Duration::from_millis(500) {
            told = Instant::now();
            alive();
        }
        std::thread::sleep(TICK);
    };
    let took = began.elapsed();
    // What is still in the group outlived its leader (V-8).
    let left_behind = killpg(Pid::from_raw(pid), Signal::SIGKILL).is_ok();
    let until = Instant::now() + DRAIN;
    // Until every reader is done, or for as long as is waited.
    while readers.recv_timeout(until.saturating_duration_since(Instant::now())).is_ok() {}
    let dropped = log.lock().unwrap_or_else(PoisonError::into_inner).finish();
    let end = ours.unwrap_or_else(|| match status {
        Some(status) => {
            status.code().map_or_else(|| End::Signalled(status.signal().unwrap_or(0)), End::Exited)
        }
        None => End::Signalled(0),
    });
    Ok(Ran { end, took, dropped, left_behind })
}

fn command(job: &Job) -> Command {
    let mut words = job.command.iter();
    let mut command = Command::new(words.next().cloned().unwrap_or_default());
    command.args(words).current_dir(&job.directory).env_clear();
    for name in PASSED.iter().copied().chain(job.pass.iter().map(String::as_str)) {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command.envs(&job.environment).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.stdin(if job.input.is_some() { Stdio::piped() } else { Stdio::null() });
    command
}

fn copy(mut stream: Box<dyn Read + Send>, log: &Mutex<LogFile>) {
    let mut buffer = vec![0; 64 << 10];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return,
            Ok(count) => log.lock().unwrap_or_else(PoisonError::into_inner).write(&buffer[..count]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

/// Ends a process group: SIGTERM, then SIGKILL when it is still `alive` after the grace.
fn end_group(pid: i32, alive: &mut dyn FnMut() -> bool) {
    let group = Pid::from_raw(pid);
    // A group that is gone already needs no signal.
    let _ = killpg(group, Signal::SIGTERM);
    let until = Instant::now() + GRACE;
    while Instant::now() < until {
        if !alive() {
            return;
        }
        std::thread::sleep(TICK);
    }
    let _ = killpg(group, Signal::SIGKILL);
    let until = Instant::now() + GRACE;
    while alive() && Instant::now() < until {
        std::thread::sleep(TICK);
    }
}

/// Ends what is left of a process group of an earlier engine, if it is provably the same process.
/// Returns whether something was ended.
pub fn end_orphan(identity: Identity) -> bool {
    let provable = identity.started != 0 && start_time(identity.pid) == identity.started;
    if provable {
        end_group(identity.pid, &mut || start_time(identity.pid) == identity.started);
    }
    provable
}

/// When a process started, in clock ticks since the system did; 0 when it is gone or cannot be told.
#[must_use]
pub fn start_time(pid: i32) -> u64 {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return 0 };
    // The name in parentheses may hold anything, so fields are counted after the last one.
    let Some((_, rest)) = stat.rsplit_once(") ") else { return 0 };
    let mut fields = rest.split(' ');
    if fields.next() == Some("Z") {
        return 0;
    }
    fields.nth(18).and_then(|ticks| ticks.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(script: &str) -> Job {
        Job {
            command: vec!["sh".into(), "-c".into(), script.into()],
            directory: std::env::temp_dir(),
            environment: BTreeMap::new(),
            pass: Vec::new(),
            limit: Duration::from_secs(60),
            output_limit: 1 << 20,
            input: None,
        }
    }

    fn play(job: &Job, stop: &Stop) -> (Ran, String) {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let ran = run(job, &log, stop, &mut |_| {}, &mut || {}).unwrap();
        let text = String::from_utf8_lossy(&std::fs::read(&log).unwrap()).into_owned();
        (ran, text)
    }

    #[test]
    fn output_of_both_streams_and_the_exit_code_are_kept() {
        let (ran, text) = play(&job("echo out; echo err >&2; exit 3"), &Stop::default());
        assert_eq!(ran.end, End::Exited(3));
        assert!(text.contains("out\n") && text.contains("err\n"), "{text:?}");
        assert!(!ran.left_behind);
    }

    #[test]
    fn a_child_in_the_background_does_not_outlive_the_command() {
        let (ran, text) = play(&job("sleep 999 & echo $!"), &Stop::default());
        assert_eq!(ran.end, End::Exited(0));
        assert!(ran.left_behind);
        let pid: i32 = text.trim().parse().unwrap();
        for _ in 0..250 {
            if start_time(pid) == 0 {
                return;
            }
            std::thread::sleep(TICK);
        }
        panic!("the process {pid} is still there");
    }

    #[test]
    fn a_command_that_takes_too_long_is_ended_although_it_ignores_the_request() {
        let mut slow = job("trap '' TERM; echo begun; while :; do sleep 1; done");
        slow.limit = Duration::from_millis(300);
        let (ran, text) = play(&slow, &Stop::default());
        assert_eq!((ran.end, text.as_str()), (End::TimedOut, "begun\n"));
        assert!(ran.took < Duration::from_secs(30));
    }

    #[test]
    fn a_stop_from_outside_ends_the_command() {
        let stop = Stop::default();
        stop.request();
        assert_eq!(play(&job("sleep 999"), &stop).0.end, End::Stopped);
    }

    #[test]
    fn there_is_no_terminal_to_ask_and_no_input_to_wait_for() {
        let (ran, text) =
            play(&job("read x && echo got; cat /dev/tty && echo asked; echo done"), &Stop::default());
        assert_eq!(ran.end, End::Exited(0));
        // The two streams come by two ways, so which is first is open.
        let said: Vec<&str> = text.lines().collect();
        assert!(said.contains(&"done") && !said.contains(&"asked") && !said.contains(&"got"), "{text:?}");
    }

    #[test]
    fn the_environment_is_scrubbed() {
        let mut seen = job("env");
        seen.environment.insert("TELIC_GIVEN".into(), "1".into());
        let (_, text) = play(&seen, &Stop::default());
        let extra =
            text.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).filter(|name| {
                !PASSED.contains(name) && !["TELIC_GIVEN", "PWD", "SHLVL", "_", "OLDPWD"].contains(name)
            });
        assert_eq!(extra.collect::<Vec<_>>(), Vec::<&str>::new());
        assert!(text.contains("TELIC_GIVEN=1"));
    }

    #[test]
    fn endless_output_keeps_head_and_tail() {
        let mut loud = job("i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done");
        loud.output_limit = 4096;
        let (ran, text) = play(&loud, &Stop::default());
        assert!(text.starts_with("line 0\n") && text.ends_with("line 19999\n"));
        assert!(ran.dropped > 0 && text.contains(&format!("{} bytes", ran.dropped)), "{text:?}");
        assert!(text.len() < 5000);
    }

    #[test]
    fn a_missing_program_is_told_from_other_failures() {
        let mut missing = job("");
        missing.command = vec!["/no/such/program".into()];
        let folder = tempfile::tempdir().unwrap();
        let result = run(&missing, &folder.path().join("log"), &Stop::default(), &mut |_| {}, &mut || {});
        assert!(matches!(result, Err(StartError::NotFound { .. })));
    }
}
