//! The two ends of the line between the dashboard and the engine.
//!
//! The dashboard sends [`Request`]s and never waits; the engine publishes the latest [`Snapshot`] and queues
//! [`Reply`]s that say what they answer. A snapshot that is newer replaces one that was not taken yet. Both
//! [`EngineEnd::publish`] and [`EngineEnd::reply`] call the waker that the dashboard has set, so it sleeps
//! until there is something to show. What a command does is `service`'s and `engine`'s business.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use super::snapshot::{RunDetail, RunKey, Snapshot};

/// A command and the ticket that its answer will name.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Ticket, unique within one dashboard.
    pub ticket: u64,
    /// What is asked.
    pub command: Command,
}

/// What the dashboard asks of the engine.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Send the detail of this run now and whenever it changes, in place of the one followed before.
    Follow(RunKey),
    /// Stop sending details.
    Unfollow,
    /// Send the unified diff of the patch with this digest.
    LoadDiff {
        /// Run.
        key: RunKey,
        /// Digest of the patch.
        digest: String,
    },
    /// Send an artifact's body.
    LoadArtifact {
        /// Run.
        key: RunKey,
        /// Artifact id.
        id: String,
    },
    /// Send a window of a log from a byte offset on.
    LoadLog {
        /// Run.
        key: RunKey,
        /// Artifact id of the log.
        artifact: String,
        /// First byte wanted.
        from: u64,
    },
    /// Answer the open question.
    Answer {
        /// Run.
        key: RunKey,
        /// Artifact id of the question.
        request_id: String,
        /// Id of the choice.
        choice: String,
        /// Version of the run the answer is for.
        expected_version: u64,
    },
    /// Decide a waiting tool call.
    DecideToolCall {
        /// Run.
        key: RunKey,
        /// Id of the call.
        call: String,
        /// The decision.
        decision: ToolCallDecision,
    },
    /// Cancel the run.
    Cancel {
        /// Run.
        key: RunKey,
        /// Version of the run the decision is for.
        expected_version: u64,
    },
    /// Approve the verdict, and publish if asked.
    Approve {
        /// Run.
        key: RunKey,
        /// Verdict.
        verdict_id: String,
        /// Digest of the patch that was on the page.
        patch_digest: String,
        /// Comment; may be empty.
        comment: String,
        /// Whether to publish right away.
        publish: bool,
        /// Codes of the reasons that were acknowledged one by one.
        acknowledged: Vec<String>,
        /// Paths of the files that were viewed.
        reviewed_files: Vec<String>,
    },
    /// Reject the verdict. The comment is not empty (AP-4).
    Reject {
        /// Run.
        key: RunKey,
        /// Verdict.
        verdict_id: String,
        /// Digest of the patch that was on the page.
        patch_digest: String,
        /// Comment.
        comment: String,
    },
    /// Ask for changes: a new run of the same task. The comment is not empty (AP-4).
    RequestChanges {
        /// Run.
        key: RunKey,
        /// Verdict.
        verdict_id: String,
        /// Digest of the patch that was on the page.
        patch_digest: String,
        /// Comment.
        comment: String,
    },
    /// Submit a task.
    SubmitTask(NewTask),
    /// Publish what is approved.
    Publish {
        /// Run.
        key: RunKey,
    },
    /// Look at every store again.
    Refresh,
    /// End the engine of this process.
    Shutdown,
}

/// The answers to a waiting tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolCallDecision {
    /// Allow this one call.
    AllowOnce,
    /// Allow the same exact call for the rest of the run.
    AllowForRun,
    /// Deny it.
    Deny,
    /// Deny it and cancel the run.
    DenyAndCancel,
}

/// A task as the form holds it; what is left out is the policy's or the type's default.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NewTask {
    /// Repository root.
    pub repository: String,
    /// Branch or commit to start from.
    pub base_ref: String,
    /// Task type.
    pub kind: String,
    /// Intent mode; empty for the type's default.
    pub mode: String,
    /// Title; empty for the first words of the instruction.
    pub title: String,
    /// Instruction.
    pub instruction: String,
    /// Globs the run may touch; empty for all.
    pub allowed_paths: Vec<String>,
    /// Globs the run may not touch.
    pub forbidden_paths: Vec<String>,
    /// Verification commands.
    pub verification: Vec<String>,
    /// Autonomy level.
    pub autonomy: String,
    /// Agent; empty for the configured default.
    pub agent: String,
}

/// What the engine answers. A reply about something that is no longer open is dropped by the dashboard.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// The followed run, whenever it changed.
    Detail(Arc<RunDetail>),
    /// A unified diff as git wrote it.
    Diff {
        /// Ticket of the request.
        request: u64,
        /// Run.
        key: RunKey,
        /// Digest of the patch.
        digest: String,
        /// The bytes.
        patch: Arc<[u8]>,
    },
    /// An artifact's body.
    Artifact {
        /// Ticket of the request.
        request: u64,
        /// Run.
        key: RunKey,
        /// Artifact id.
        id: String,
        /// The bytes.
        body: Arc<[u8]>,
    },
    /// A window of a log.
    Log {
        /// Ticket of the request.
        request: u64,
        /// Run.
        key: RunKey,
        /// Artifact id of the log.
        artifact: String,
        /// Offset of the first byte.
        from: u64,
        /// The bytes.
        bytes: Arc<[u8]>,
        /// Size of the whole log so far.
        total: u64,
    },
    /// The command was carried out.
    Done {
        /// Ticket of the request.
        request: u64,
        /// What was done, in words.
        text: String,
    },
    /// The command was refused and nothing was changed.
    Refused {
        /// Ticket of the request.
        request: u64,
        /// Stable code.
        code: String,
        /// Why, in words.
        text: String,
    },
    /// Something happened that a person may want to know.
    Notice {
        /// Which run it is about.
        key: Option<RunKey>,
        /// What, in words.
        text: String,
    },
}

type Waker = Box<dyn Fn() + Send>;

/// What both ends share: the snapshot that was not taken yet, and how to wake the dashboard.
#[derive(Default)]
struct Latest {
    snapshot: Mutex<Option<Arc<Snapshot>>>,
    waker: Mutex<Option<Waker>>,
}

impl Latest {
    fn wake(&self) {
        if let Some(wake) = self.waker.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
            wake();
        }
    }
}

/// The dashboard's end.
pub struct Link {
    /// Where commands go.
    pub commands: Sender<Request>,
    /// Where answers come from.
    pub replies: Receiver<Reply>,
    latest: Arc<Latest>,
}

/// The engine's end.
pub struct EngineEnd {
    /// Where commands come from; it is closed when the dashboard is gone.
    pub requests: Receiver<Request>,
    publisher: Publisher,
}

/// The part of the engine's end that may be cloned and moved to other threads.
#[derive(Clone)]
pub struct Publisher {
    replies: Sender<Reply>,
    latest: Arc<Latest>,
}

/// A line with both its ends.
#[must_use]
pub fn link() -> (Link, EngineEnd) {
    let (commands, requests) = channel();
    let (reply_sender, replies) = channel();
    let latest = Arc::new(Latest::default());
    (
        Link { commands, replies, latest: Arc::clone(&latest) },
        EngineEnd { requests, publisher: Publisher { replies: reply_sender, latest } },
    )
}

impl Link {
    /// The newest snapshot, if one came since the last call.
    #[must_use]
    pub fn take_snapshot(&self) -> Option<Arc<Snapshot>> {
        self.latest.snapshot.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Sets what is called, from the engine's threads, after every snapshot and reply. Calls it once at once,
    /// since something may have come before.
    pub fn set_waker(&self, waker: impl Fn() + Send + 'static) {
        *self.latest.waker.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(waker));
        self.latest.wake();
    }
}

impl EngineEnd {
    /// A handle for other threads.
    #[must_use]
    pub fn publisher(&self) -> Publisher {
        self.publisher.clone()
    }

    /// See [`Publisher::publish`].
    pub fn publish(&self, snapshot: Arc<Snapshot>) {
        self.publisher.publish(snapshot);
    }

    /// See [`Publisher::reply`].
    pub fn reply(&self, reply: Reply) {
        self.publisher.reply(reply);
    }
}

impl Publisher {
    /// Replaces the latest snapshot and wakes the dashboard.
    pub fn publish(&self, snapshot: Arc<Snapshot>) {
        *self.latest.snapshot.lock().unwrap_or_else(PoisonError::into_inner) = Some(snapshot);
        self.latest.wake();
    }

    /// Queues an answer and wakes the dashboard. An answer to a dashboard that is gone is dropped.
    pub fn reply(&self, reply: Reply) {
        if self.replies.send(reply).is_ok() {
            self.latest.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn a_newer_snapshot_replaces_one_that_was_not_taken() {
        let (dashboard, engine) = link();
        for generation in 1..=3 {
            engine.publish(Arc::new(Snapshot { generation, ..Snapshot::default() }));
        }
        assert_eq!(dashboard.take_snapshot().map(|s| s.generation), Some(3));
        assert_eq!(dashboard.take_snapshot(), None);
    }

    #[test]
    fn every_publication_and_reply_wakes_the_dashboard() {
        let (dashboard, engine) = link();
        let woken = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&woken);
        dashboard.set_waker(move || {
            counter.fetch_add(1, Ordering::SeqCst);
        });
        engine.publish(Arc::new(Snapshot::default()));
        engine.publisher().reply(Reply::Done { request: 1, text: "sent".into() });
        assert_eq!(woken.load(Ordering::SeqCst), 3);
        assert!(matches!(dashboard.replies.try_recv(), Ok(Reply::Done { request: 1, .. })));
    }

    #[test]
    fn a_reply_to_a_dashboard_that_is_gone_is_dropped() {
        let (dashboard, engine) = link();
        drop(dashboard);
        engine.reply(Reply::Notice { key: None, text: "late".into() });
        assert!(engine.requests.recv().is_err());
    }
}
