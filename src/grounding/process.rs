//! Runs one short-lived child in bounds (`grounding.md` 3.1, 10.2): no shell, no input, 16 MiB of output, a time
//! limit after which its whole process group is killed.

use super::error::GroundingError;
use super::watch::Watch;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

/// Bytes that stdout and stderr may hold together.
const OUTPUT_LIMIT: usize = 16 * 1024 * 1024;
/// How often a silent child is looked at.
const TICK: Duration = Duration::from_millis(20);

/// Why a child gave no answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// It could not be started, failed, or wrote too much.
    Failed,
    /// It took too long and was killed.
    TimedOut,
}

/// The standard output of a child that ended well.
///
/// `Err` is for the whole of grounding (cancelled, overall deadline); the inner `Err` is for this child.
pub(super) fn run(
    program: &OsStr,
    arguments: &[OsString],
    directory: &Path,
    environment: &[(OsString, OsString)],
    limit: Duration,
    watch: &Watch,
) -> Result<Result<Vec<u8>, Failure>, GroundingError> {
    watch.check()?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(directory)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    // Whatever the caller's shell says about another repository must not reach this one (10.3).
    for (name, _) in std::env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"GIT_") {
            command.env_remove(name);
        }
    }
    command.envs(environment.iter().map(|(name, value)| (name, value)));
    let Ok(mut child) = command.spawn() else { return Ok(Err(Failure::Failed)) };
    let ended = follow(&mut child, &watch.within(limit));
    if !matches!(ended, Ended::Exited(..)) {
        kill(&mut child);
    }
    match ended {
        Ended::Exited(status, output) if status.success() => Ok(Ok(output)),
        Ended::Exited(..) | Ended::TooMuch => Ok(Err(Failure::Failed)),
        Ended::Stopped => watch.check().map(|()| Err(Failure::TimedOut)),
    }
}

enum Ended {
    Exited(ExitStatus, Vec<u8>),
    TooMuch,
    Stopped,
}

/// Collects the output until both pipes are closed, then the exit status.
fn follow(child: &mut Child, watch: &Watch) -> Ended {
    let (sender, receiver) = sync_channel(16);
    if let Some(pipe) = child.stdout.take() {
        read_on_thread(pipe, true, sender.clone());
    }
    if let Some(pipe) = child.stderr.take() {
        read_on_thread(pipe, false, sender);
    }
    let output = match collect(&receiver, watch) {
        Ok(output) => output,
        Err(ended) => return ended,
    };
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ended::Exited(status, output),
            Ok(None) if watch.check().is_ok() => std::thread::sleep(TICK.min(watch.left())),
            _ => return Ended::Stopped,
        }
    }
}

fn collect(receiver: &Receiver<(bool, Vec<u8>)>, watch: &Watch) -> Result<Vec<u8>, Ended> {
    let (mut output, mut total) = (Vec::new(), 0);
    loop {
        match receiver.recv_timeout(TICK) {
            Ok((wanted, chunk)) => {
                total += chunk.len();
                if total > OUTPUT_LIMIT {
                    return Err(Ended::TooMuch);
                }
                if wanted {
                    output.extend_from_slice(&chunk);
                }
            }
            Err(RecvTimeoutError::Disconnected) => return Ok(output),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if watch.check().is_err() {
            return Err(Ended::Stopped);
        }
    }
}

/// The thread ends with its pipe, or with the next chunk after nobody listens any more.
fn read_on_thread(mut pipe: impl Read + Send + 'static, wanted: bool, sender: SyncSender<(bool, Vec<u8>)>) {
    std::thread::spawn(move || {
        let mut buffer = vec![0; 64 * 1024];
        loop {
            match pipe.read(&mut buffer) {
                Ok(0) => return,
                Ok(read) => {
                    if sender.send((wanted, buffer[..read].to_vec())).is_err() {
                        return;
                    }
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    });
}

/// Ends the child and everything in its process group.
fn kill(child: &mut Child) {
    if let Ok(id) = i32::try_from(child.id()) {
        // The group may be gone already; then there is nothing to end.
        let _ = killpg(Pid::from_raw(id), Signal::SIGKILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;
    use std::time::Instant;

    fn shell(
        script: &str,
        limit: Duration,
        watch: &Watch,
    ) -> Result<Result<Vec<u8>, Failure>, GroundingError> {
        run(OsStr::new("sh"), &["-c".into(), script.into()], Path::new("/"), &[], limit, watch)
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn only_standard_output_of_a_success_is_an_answer() {
        let watch = Watch::default();
        assert_eq!(shell("echo out; echo err >&2", LONG, &watch), Ok(Ok(b"out\n".to_vec())));
        assert_eq!(shell("echo out; exit 3", LONG, &watch), Ok(Err(Failure::Failed)));
        let missing = run(OsStr::new("/no/such/program"), &[], Path::new("/"), &[], LONG, &watch);
        assert_eq!(missing, Ok(Err(Failure::Failed)));
    }

    #[test]
    fn a_child_that_hangs_is_killed_with_its_children() {
        let watch = Watch::default();
        let limit = Duration::from_millis(50);
        // The grandchild keeps the pipe open; only the end of the whole group closes it.
        assert_eq!(shell("sleep 600 & sleep 600", limit, &watch), Ok(Err(Failure::TimedOut)));
    }

    #[test]
    fn too_much_output_counts_as_failure() {
        let script = "head -c 20000000 /dev/zero";
        assert_eq!(shell(script, LONG, &Watch::default()), Ok(Err(Failure::Failed)));
    }

    #[test]
    fn cancelling_and_the_overall_deadline_end_everything() {
        let cancelled = Watch::new(Instant::now() + LONG, Arc::new(AtomicBool::new(true)));
        assert_eq!(shell("echo", LONG, &cancelled), Err(GroundingError::Cancelled));
        let late = Watch::new(Instant::now() + Duration::from_millis(50), Arc::default());
        assert_eq!(shell("sleep 600", LONG, &late), Err(GroundingError::DeadlineExceeded));
    }
}
