//! One hardened call of the `git` program.
//!
//! Owns what every call has in common: a scrubbed environment, settings that keep configuration from starting
//! programs, a session of its own without terminal or input, a time limit that ends the whole group, and an
//! output limit. Which subcommand is run with which arguments is the callers' matter.
//!
//! A repository's configuration is written by whoever works in it, so also by an agent. No call may start a
//! program that is named there: hooks, file-system monitor, filters, external diffs, ssh and proxy commands,
//! signature programs, credential helpers.

use std::ffi::{OsStr, OsString};
use std::io::{Read, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use process_wrap::std::{ChildWrapper, CommandWrap, ProcessSession};

use super::GitError;
use super::remote::redact;

/// How long a local call may take.
pub const TIME_LIMIT: Duration = Duration::from_secs(120);
/// How long a call that talks to a remote may take.
pub const NETWORK_TIME_LIMIT: Duration = Duration::from_secs(300);
/// How many bytes of output a call may write.
pub const OUTPUT_LIMIT: u64 = 256 * 1024 * 1024;
/// How much of what git said goes into an error, in characters.
const MESSAGE_LIMIT: usize = 2_000;
/// How long pipes are drained that a stray child holds open.
const DRAIN: Duration = Duration::from_secs(1);
/// How often a process is looked at whose pipes stay open.
const TICK: Duration = Duration::from_millis(20);

/// Variables a local call gets when they are set.
const PASSED: [&str; 9] =
    ["PATH", "HOME", "TMPDIR", "USER", "LOGNAME", "LD_LIBRARY_PATH", "DEVELOPER_DIR", "SDKROOT", "NIX_LD"];

/// Variables that are kept even from a call that talks to a remote, beside everything that begins with `GIT_`.
const KEPT_BACK: [&str; 3] = ["SSH_ASKPASS", "DISPLAY", "WAYLAND_DISPLAY"];

/// Settings of every call. They stand above every configuration file.
const SETTINGS: [&str; 21] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.pager=cat",
    "core.editor=false",
    "core.askPass=",
    "core.attributesFile=/dev/null",
    "core.alternateRefsCommand=true",
    "core.quotePath=true",
    "protocol.ext.allow=never",
    "log.showSignature=false",
    "commit.gpgSign=false",
    "tag.gpgSign=false",
    "push.gpgSign=false",
    "gpg.program=false",
    "gpg.ssh.program=false",
    "gpg.x509.program=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    "advice.detachedHead=false",
];

/// Settings of a call that has no business with the network.
const LOCAL_SETTINGS: [&str; 4] =
    ["protocol.allow=never", "credential.helper=", "core.sshCommand=false", "core.gitProxy=false"];

/// What a call may reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// This repository only; the user's configuration is not read either.
    Local,
    /// Repositories on this machine, by path.
    Files,
    /// A remote, with the user's own (not the repository's) credential helpers and ssh settings.
    Network,
}

/// One call of git, being put together.
#[derive(Clone, Debug)]
pub(super) struct Call {
    subcommand: String,
    arguments: Vec<OsString>,
    settings: Vec<(OsString, OsString)>,
    place: Vec<OsString>,
    directory: PathBuf,
    environment: Vec<(&'static str, OsString)>,
    input: Option<Vec<u8>>,
    accepted: Vec<i32>,
    reach: Reach,
    user_settings: bool,
    time_limit: Duration,
    output_limit: u64,
}

/// What an ended call wrote.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    /// The exit code; one of those the call accepts.
    pub(super) exit: i32,
    /// Its standard output.
    pub(super) out: Vec<u8>,
    /// Its standard error, sanitised.
    pub(super) message: String,
}

impl Answer {
    /// The output as one line of text without its line end.
    pub(super) fn line(&self) -> String {
        String::from_utf8_lossy(&self.out).trim_end_matches(['\n', '\r']).to_owned()
    }

    /// The output as lines of text.
    pub(super) fn lines(&self) -> Vec<String> {
        String::from_utf8_lossy(&self.out).lines().map(ToOwned::to_owned).collect()
    }

    /// The output as records that end with a zero byte.
    pub(super) fn records(&self) -> Vec<&[u8]> {
        let whole = self.out.strip_suffix(b"\0").unwrap_or(&self.out);
        if self.out.is_empty() { Vec::new() } else { whole.split(|b| *b == 0).collect() }
    }
}

impl Call {
    /// A call of `subcommand` that runs in `directory`.
    pub(super) fn new(directory: &Path, subcommand: &str) -> Self {
        Self {
            subcommand: subcommand.to_owned(),
            arguments: Vec::new(),
            settings: Vec::new(),
            place: Vec::new(),
            directory: directory.to_owned(),
            environment: Vec::new(),
            input: None,
            accepted: vec![0],
            reach: Reach::Local,
            user_settings: false,
            time_limit: TIME_LIMIT,
            output_limit: OUTPUT_LIMIT,
        }
    }

    /// Names the git directory, so that none is looked for.
    pub(super) fn git_dir(mut self, path: &Path) -> Self {
        self.place.push(joined("--git-dir=", path));
        self
    }

    /// Names the work tree, so that no `core.worktree` counts.
    pub(super) fn work_tree(mut self, path: &Path) -> Self {
        self.place.push(joined("--work-tree=", path));
        self
    }

    /// Adds one argument.
    pub(super) fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    /// Adds arguments.
    pub(super) fn args<A: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments.extend(arguments.into_iter().map(|a| a.as_ref().to_owned()));
        self
    }

    /// Adds settings. They pass through the environment, where a name may hold any character.
    pub(super) fn set(mut self, settings: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        self.settings.extend(settings);
        self
    }

    /// Sets a variable.
    pub(super) fn env(mut self, name: &'static str, value: impl AsRef<OsStr>) -> Self {
        self.environment.push((name, value.as_ref().to_owned()));
        self
    }

    /// Works on this index file.
    pub(super) fn index(self, path: &Path) -> Self {
        self.env("GIT_INDEX_FILE", path)
    }

    /// What is written to its standard input.
    pub(super) fn input(mut self, bytes: Vec<u8>) -> Self {
        self.input = Some(bytes);
        self
    }

    /// Takes this exit code for an answer as well.
    pub(super) fn accept(mut self, exit: i32) -> Self {
        self.accepted.push(exit);
        self
    }

    /// Allows it to reach a remote, with the user's own configuration.
    pub(super) fn network(mut self) -> Self {
        self.reach = Reach::Network;
        self.time_limit = NETWORK_TIME_LIMIT;
        self
    }

    /// Allows it to reach repositories on this machine.
    pub(super) fn files(mut self) -> Self {
        self.reach = Reach::Files;
        self
    }

    /// Lets the user's own configuration count (what he ignores, how he signs in), under the fixed settings.
    pub(super) fn user_settings(mut self) -> Self {
        self.user_settings = true;
        self
    }

    /// Changes the time limit.
    pub(super) fn within(mut self, limit: Duration) -> Self {
        self.time_limit = limit;
        self
    }

    /// Changes the output limit.
    pub(super) fn limited(mut self, bytes: u64) -> Self {
        self.output_limit = bytes;
        self
    }

    fn command(&self) -> Command {
        let mut command = Command::new("git");
        command.env_clear();
        match self.reach {
            Reach::Local | Reach::Files => {
                command.envs(PASSED.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
                if self.user_settings {
                    let names = ["XDG_CONFIG_HOME"];
                    command.envs(names.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
                } else {
                    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
                }
                command.env("GIT_ALLOW_PROTOCOL", if self.reach == Reach::Files { "file" } else { "none" });
            }
            Reach::Network => {
                command.envs(std::env::vars_os().filter(|(name, _)| {
                    !name.as_encoded_bytes().starts_with(b"GIT_")
                        && !KEPT_BACK.iter().any(|kept| name == kept)
                }));
                command.env("GIT_ALLOW_PROTOCOL", "file:git:http:https:ssh");
                command.env("SSH_ASKPASS_REQUIRE", "never").env("GCM_INTERACTIVE", "never");
            }
        }
        command
            .env("GIT_ATTR_NOSYSTEM", "1")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0")
            // Neither replaced objects, nor grafts, nor objects fetched on the way stand in for a commit.
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("GIT_GRAFT_FILE", "/dev/null")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_LITERAL_PATHSPECS", "1")
            .env("LC_ALL", "C")
            .env("LANGUAGE", "C")
            .envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.arg("--no-pager");
        let local = match self.reach {
            Reach::Local => &LOCAL_SETTINGS[..],
            Reach::Files => &LOCAL_SETTINGS[1..],
            Reach::Network => &[],
        };
        for setting in SETTINGS.iter().chain(local) {
            command.arg("-c").arg(setting);
        }
        if !self.settings.is_empty() {
            command.env("GIT_CONFIG_COUNT", self.settings.len().to_string());
        }
        for (number, (name, value)) in self.settings.iter().enumerate() {
            command
                .env(format!("GIT_CONFIG_KEY_{number}"), name)
                .env(format!("GIT_CONFIG_VALUE_{number}"), value);
        }
        command.args(&self.place).arg(&self.subcommand).args(&self.arguments);
        let input = if self.input.is_some() { Stdio::piped() } else { Stdio::null() };
        command.current_dir(&self.directory).stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs the call to its end.
    pub(super) fn run(mut self) -> Result<Answer, GitError> {
        let input = self.input.take();
        if input.is_some() {
            self.input = Some(Vec::new());
        }
        let mut child = CommandWrap::from(self.command()).wrap(ProcessSession).spawn().map_err(|source| {
            // A missing directory looks like a missing program.
            if source.kind() == std::io::ErrorKind::NotFound && self.directory.is_dir() {
                GitError::NotInstalled
            } else {
                GitError::Start { subcommand: self.subcommand.clone(), source }
            }
        })?;
        if let (Some(mut pipe), Some(bytes)) = (child.stdin().take(), input) {
            // git may close its input early; its exit code then says why.
            std::thread::spawn(move || drop(pipe.write_all(&bytes)));
        }
        let (tell, told) = channel();
        if let Some(pipe) = child.stdout().take() {
            read(pipe, self.output_limit, Stream::Out, tell.clone());
        }
        if let Some(pipe) = child.stderr().take() {
            read(pipe, self.output_limit, Stream::Err, tell.clone());
        }
        drop(tell);

        let until = Instant::now() + self.time_limit;
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut ended: Option<Instant> = None;
        loop {
            let wait = until.min(ended.map_or(Instant::now() + TICK, |at| at + DRAIN));
            match told.recv_timeout(wait.saturating_duration_since(Instant::now())) {
                Ok((_, Piece::TooMuch)) => {
                    end(child.as_mut());
                    return Err(GitError::OutputLimit {
                        subcommand: self.subcommand,
                        limit: self.output_limit,
                    });
                }
                Ok((Stream::Out, Piece::Whole(bytes))) => out = bytes,
                Ok((Stream::Err, Piece::Whole(bytes))) => err = bytes,
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    if Instant::now() >= until {
                        return self.timed_out(child.as_mut());
                    }
                    match ended {
                        // A stray child holds a pipe open; what it holds is not waited for.
                        Some(at) if at.elapsed() >= DRAIN => break,
                        Some(_) => {}
                        None if matches!(child.inner_mut().try_wait(), Ok(Some(_))) => {
                            ended = Some(Instant::now());
                        }
                        None => {}
                    }
                }
            }
        }
        let status = loop {
            match child.inner_mut().try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(1)),
                Ok(None) | Err(_) => return self.timed_out(child.as_mut()),
            }
        };
        if ended.is_some() {
            kill_group(child.as_ref());
        }
        self.answer(status, out, &err)
    }

    fn timed_out(self, child: &mut dyn ChildWrapper) -> Result<Answer, GitError> {
        end(child);
        Err(GitError::TimedOut { subcommand: self.subcommand, seconds: self.time_limit.as_secs() })
    }

    fn answer(self, status: ExitStatus, out: Vec<u8>, err: &[u8]) -> Result<Answer, GitError> {
        let exit = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
        let message = message(err);
        if self.accepted.contains(&exit) {
            return Ok(Answer { exit, out, message });
        }
        Err(GitError::Failed { subcommand: self.subcommand, exit, message })
    }
}

fn joined(option: &str, path: &Path) -> OsString {
    let mut joined = OsString::from(option);
    joined.push(path);
    joined
}

#[derive(Clone, Copy)]
enum Stream {
    Out,
    Err,
}

enum Piece {
    Whole(Vec<u8>),
    TooMuch,
}

/// Reads a pipe to its end on a thread of its own, so that no pipe fills while another one is read.
fn read(pipe: impl Read + Send + 'static, limit: u64, stream: Stream, tell: Sender<(Stream, Piece)>) {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was read before a broken pipe still counts; the exit code tells the rest.
        let _ = pipe.take(limit.saturating_add(1)).read_to_end(&mut bytes);
        let piece = if bytes.len() as u64 > limit { Piece::TooMuch } else { Piece::Whole(bytes) };
        // The caller may have stopped waiting.
        let _ = tell.send((stream, piece));
    });
}

fn kill_group(child: &dyn ChildWrapper) {
    if let Ok(group) = i32::try_from(child.id()) {
        // Nobody may be left in the group; that is no failure.
        let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
    }
}

fn end(child: &mut dyn ChildWrapper) {
    kill_group(child);
    // The zombie is collected; a process that cannot be waited for has been collected already.
    let _ = child.inner_mut().wait();
}

/// The end of what git said: on one line, sanitised, without credentials.
fn message(err: &[u8]) -> String {
    let text = String::from_utf8_lossy(err);
    let lines: Vec<String> = text
        .lines()
        .map(|line| line.rsplit('\r').find(|part| !part.trim().is_empty()).unwrap_or(""))
        .filter(|line| !line.trim().is_empty() && !line.starts_with("hint:"))
        .map(|line| crate::text::visible(&redact(line.trim_end())))
        .collect();
    let whole = lines.join("; ");
    let from = whole.char_indices().rev().nth(MESSAGE_LIMIT - 1).map_or(0, |(at, _)| at);
    whole[from..].to_owned()
}
