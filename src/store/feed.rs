//! The change feed: sleep until something was committed, by whatever program, and learn what.
//!
//! A file notification on the state directory only wakes; whether something changed is what the ledger itself says,
//! and a slow poll finds what no notification told of. What changed is found by reading only what was added.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use rusqlite::{Connection, OptionalExtension};

use super::connection::OwnReader;
use super::{Store, StoreError};

/// Between looks while notifications work; they may be lost on some file systems.
const SLOW_POLL: Duration = Duration::from_secs(2);
/// Between looks without notifications.
const POLL: Duration = Duration::from_millis(250);
/// A notification comes before its commit is visible: how long to look again, doubling from a millisecond.
const SETTLE: Duration = Duration::from_millis(256);

/// What tells one state of a workflow run from another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunPulse {
    /// The run.
    pub run_id: String,
    /// Its version.
    pub version: i64,
    /// Its status.
    pub status: String,
    /// Its phase.
    pub phase: String,
    /// When it moved last.
    pub updated_at: String,
    /// The greatest sequence of its trace.
    pub last_event: i64,
    /// How many artifacts it holds.
    pub artifacts: i64,
}

/// A record of telic's own that was written.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Touched {
    /// The kind's name ([`super::Kind::name`]), or `lease`, `event`, `fact`.
    pub kind: String,
    /// Its id.
    pub id: String,
    /// The run it belongs to.
    pub run_id: Option<String>,
    /// The task it belongs to.
    pub task_id: Option<String>,
}

/// What changed since the feed was asked last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// Workflow runs that are new or moved, as they are now.
    pub runs: Vec<RunPulse>,
    /// Workflow runs that are gone.
    pub removed: Vec<String>,
    /// Records of telic's own that were written, each once, oldest first.
    pub records: Vec<Touched>,
    /// The feed was too far behind to tell which records: read all of them again.
    pub records_unknown: bool,
}

impl Changes {
    /// Whether nothing changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty() && self.removed.is_empty() && self.records.is_empty() && !self.records_unknown
    }
}

/// Wakes a waiting feed from another thread.
#[derive(Debug, Clone)]
pub struct Waker {
    bell: SyncSender<()>,
    called: Arc<AtomicBool>,
}

impl Waker {
    /// Makes the next or current [`Feed::wait`] return.
    pub fn wake(&self) {
        self.called.store(true, Ordering::Release);
        self.ring();
    }

    fn ring(&self) {
        // Full means that it rings already.
        let _ = self.bell.try_send(());
    }
}

/// Where the trace was read to: the last row and its event, for rows can be renumbered.
#[derive(Debug, Clone, PartialEq, Eq)]
struct TraceMark {
    row: i64,
    event_id: String,
}

/// A feed of one store. It belongs to one thread.
pub struct Feed {
    // Before the store, so that the reader closes before the writer may.
    reader: OwnReader,
    _watcher: Option<RecommendedWatcher>,
    woken: Receiver<()>,
    waker: Waker,
    poll: Duration,
    pending: bool,
    known: HashMap<String, RunPulse>,
    trace: Option<TraceMark>,
    revision: i64,
    store: Store,
}

impl Store {
    /// A feed that starts with what is there now: [`Feed::changes`] first reports every run and asks to read all
    /// records.
    ///
    /// # Errors
    /// When the ledger cannot be read. Without file notifications the feed polls.
    pub fn feed(&self) -> Result<Feed, StoreError> {
        let (bell, woken) = sync_channel(1);
        let waker = Waker { bell, called: Arc::default() };
        let watcher = watch(self, waker.clone());
        let poll = if watcher.is_some() { SLOW_POLL } else { POLL };
        Ok(Feed {
            reader: self.core().readers.open_own()?,
            _watcher: watcher,
            woken,
            waker,
            poll,
            pending: true,
            known: HashMap::new(),
            trace: None,
            revision: -1,
            store: self.clone(),
        })
    }
}

fn watch(store: &Store, waker: Waker) -> Option<RecommendedWatcher> {
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        // Our own reading opens and closes files; an overflow or error may hide a change.
        if event.map_or(true, |event| !matches!(event.kind, EventKind::Access(_))) {
            waker.ring();
        }
    })
    .ok()?;
    watcher.watch(store.state_dir(), RecursiveMode::NonRecursive).ok()?;
    Some(watcher)
}

impl Feed {
    /// Something to wake this feed with from another thread.
    #[must_use]
    pub fn waker(&self) -> Waker {
        self.waker.clone()
    }

    /// Sleeps until something was committed, the waker was used, or `timeout` passed. Whether something was committed
    /// since [`Feed::changes`] was asked last.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn wait(&mut self, timeout: Duration) -> Result<bool, StoreError> {
        let deadline = Instant::now() + timeout;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if self.look()? || left.is_zero() || self.waker.called.swap(false, Ordering::Acquire) {
                return Ok(self.pending);
            }
            if self.woken.recv_timeout(left.min(self.poll)).is_ok() {
                self.settle(left)?;
            }
        }
    }

    fn look(&mut self) -> Result<bool, StoreError> {
        self.pending |= self.reader.has_changed(&self.store.core().readers)?;
        Ok(self.pending)
    }

    /// After a notification: the commit it told of may become visible only a moment later.
    fn settle(&mut self, left: Duration) -> Result<(), StoreError> {
        let mut pause = Duration::from_millis(1);
        let mut spent = Duration::ZERO;
        while !self.look()? && !self.waker.called.load(Ordering::Acquire) && spent < SETTLE.min(left) {
            std::thread::sleep(pause);
            spent += pause;
            pause *= 2;
        }
        Ok(())
    }

    /// What changed since this was asked last.
    ///
    /// # Errors
    /// When the ledger cannot be read; then nothing counts as told.
    pub fn changes(&mut self) -> Result<Changes, StoreError> {
        self.look()?;
        let failed = StoreError::sql("reading what changed");
        // One snapshot for everything.
        let snapshot = self.reader.connection().unchecked_transaction().map_err(failed)?;
        let mut changes = Changes::default();
        let trace = trace_mark(&snapshot)?;
        // Every change of a run writes an event, so the new events name the runs that moved.
        let moved = match &self.trace {
            Some(from) if still_there(&snapshot, from)? => Some(moved_runs(&snapshot, from.row)?),
            _ => None,
        };
        let fresh =
            |moved: &[RunPulse]| moved.iter().filter(|run| !self.known.contains_key(&run.run_id)).count();
        let there = count_runs(&snapshot)?;
        let moved = match moved {
            Some(moved) if self.known.len() + fresh(&moved) == there => moved,
            // The first look, rows renumbered, or runs deleted: compare everything.
            _ => {
                let all = all_runs(&snapshot)?;
                let ids: HashSet<&str> = all.iter().map(|run| run.run_id.as_str()).collect();
                changes.removed =
                    self.known.keys().filter(|id| !ids.contains(id.as_str())).cloned().collect();
                all
            }
        };
        let mut revision = self.revision;
        if self.reader.shape().own_tables {
            revision = touched(&snapshot, self.revision, &mut changes)?;
        }
        snapshot.finish().map_err(failed)?;

        changes.runs = moved.into_iter().filter(|run| self.known.get(&run.run_id) != Some(run)).collect();
        for run in &changes.runs {
            self.known.insert(run.run_id.clone(), run.clone());
        }
        for id in &changes.removed {
            self.known.remove(id);
        }
        self.trace = trace;
        self.revision = revision;
        self.pending = false;
        Ok(changes)
    }
}

const PULSE: &str = "SELECT run_id, version, status, phase, updated_at,
    coalesce((SELECT max(sequence) FROM trace_events WHERE trace_events.run_id = runs.run_id), 0),
    (SELECT count(*) FROM artifacts WHERE artifacts.run_id = runs.run_id) FROM runs";

fn all_runs(connection: &Connection) -> Result<Vec<RunPulse>, StoreError> {
    pulses(connection, &format!("{PULSE} ORDER BY updated_at DESC, run_id"), ())
}

fn moved_runs(connection: &Connection, after_row: i64) -> Result<Vec<RunPulse>, StoreError> {
    let filter =
        "WHERE run_id IN (SELECT run_id FROM trace_events WHERE rowid > ?1) ORDER BY updated_at DESC, run_id";
    pulses(connection, &format!("{PULSE} {filter}"), [after_row])
}

fn pulses(
    connection: &Connection,
    sql: &str,
    params: impl rusqlite::Params,
) -> Result<Vec<RunPulse>, StoreError> {
    let failed = StoreError::sql("reading what changed");
    let mut select = connection.prepare_cached(sql).map_err(failed)?;
    let rows = select.query_map(params, |row| {
        Ok(RunPulse {
            run_id: row.get(0)?,
            version: row.get(1)?,
            status: row.get(2)?,
            phase: row.get(3)?,
            updated_at: row.get(4)?,
            last_event: row.get(5)?,
            artifacts: row.get(6)?,
        })
    });
    rows.and_then(Iterator::collect).map_err(failed)
}

fn count_runs(connection: &Connection) -> Result<usize, StoreError> {
    connection
        .prepare_cached("SELECT count(*) FROM runs")
        .and_then(|mut select| select.query_row([], |row| row.get::<_, i64>(0)))
        .map(|count| usize::try_from(count).unwrap_or(0))
        .map_err(StoreError::sql("counting runs"))
}

fn trace_mark(connection: &Connection) -> Result<Option<TraceMark>, StoreError> {
    connection
        .prepare_cached("SELECT rowid, event_id FROM trace_events ORDER BY rowid DESC LIMIT 1")
        .and_then(|mut select| {
            select.query_row([], |row| Ok(TraceMark { row: row.get(0)?, event_id: row.get(1)? })).optional()
        })
        .map_err(StoreError::sql("reading what changed"))
}

fn still_there(connection: &Connection, mark: &TraceMark) -> Result<bool, StoreError> {
    connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM trace_events WHERE rowid = ?1 AND event_id = ?2)")
        .and_then(|mut select| select.query_row((mark.row, &mark.event_id), |row| row.get(0)))
        .map_err(StoreError::sql("reading what changed"))
}

/// Adds the records written after `revision`; returns the revision read to.
fn touched(connection: &Connection, revision: i64, changes: &mut Changes) -> Result<i64, StoreError> {
    let failed = StoreError::sql("reading what changed");
    let (first, last): (i64, i64) = connection
        .prepare_cached("SELECT coalesce(min(revision), 0), coalesce(max(revision), 0) FROM telic_touched")
        .and_then(|mut select| select.query_row([], |row| Ok((row.get(0)?, row.get(1)?))))
        .map_err(failed)?;
    if revision < first - 1 || revision < 0 {
        changes.records_unknown = true;
        return Ok(last);
    }
    let mut select = connection
        .prepare_cached(
            "SELECT kind, id, run_id, task_id FROM telic_touched WHERE revision > ?1 ORDER BY revision",
        )
        .map_err(failed)?;
    let rows = select
        .query_map([revision], |row| {
            Ok(Touched { kind: row.get(0)?, id: row.get(1)?, run_id: row.get(2)?, task_id: row.get(3)? })
        })
        .map_err(failed)?;
    let mut seen = HashSet::new();
    for row in rows {
        let record = row.map_err(failed)?;
        if seen.insert(record.clone()) {
            changes.records.push(record);
        }
    }
    Ok(last)
}
