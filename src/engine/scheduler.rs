//! The engine's loop: follows the stores, takes queued runs, carries out requests, publishes snapshots.
//!
//! One thread decides; each leased run has a thread of its own, each store one that waits for changes. Nothing is
//! polled while nothing happens, except leases that are held elsewhere, which may run out.

use super::process::{Identity, Stop, end_orphan};
use super::shop::Shop;
use super::{EngineError, desk, worker};
use crate::domain::{AgentProcess, RunStatus};
use crate::service::ServiceError;
use crate::service::clock::now;
use crate::service::link::{Command, Publisher, Reply, Request};
use crate::service::queries::Queries;
use crate::service::snapshot::{EngineStatus, RunKey, RunRow, Snapshot, StoreInfo};
use crate::store::{Changes, Waker};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often leases are looked at while runs are open.
const LEASES: Duration = Duration::from_secs(5);
/// How long a feed waits before it looks whether it shall end.
const FEED: Duration = Duration::from_secs(3600);

/// What wakes the loop.
pub(super) enum Wake {
    /// A store changed.
    Changed(usize, Box<Changes>),
    /// A store cannot be followed.
    Broken(usize, String),
    /// The dashboard asks.
    Asked(Box<Request>),
    /// The dashboard is gone.
    Alone,
    /// A worker is done with a run.
    Done(usize, String, Option<String>),
}

/// One store that the engine follows.
pub(super) struct Followed {
    /// What its workers share.
    pub shop: Shop,
    /// Reads it.
    pub queries: Queries,
    rows: HashMap<String, RunRow>,
    info: StoreInfo,
}

impl Followed {
    pub(super) fn new(shop: Shop, queries: Queries) -> Self {
        let info = queries.info(None);
        Self { shop, queries, rows: HashMap::new(), info }
    }
}

/// The loop and everything it owns.
pub(super) struct Scheduler {
    stores: Vec<Followed>,
    publisher: Publisher,
    wakes: Sender<Wake>,
    workers: usize,
    works: bool,
    busy: HashMap<(usize, String), (Stop, JoinHandle<()>)>,
    follows: Option<RunKey>,
    generation: u64,
    last_error: Option<String>,
    stopping: bool,
}

impl Scheduler {
    pub(super) fn new(
        stores: Vec<Followed>,
        publisher: Publisher,
        wakes: Sender<Wake>,
        workers: usize,
    ) -> Self {
        Self {
            stores,
            publisher,
            wakes,
            workers,
            works: workers > 0,
            busy: HashMap::new(),
            follows: None,
            generation: 0,
            last_error: None,
            stopping: false,
        }
    }

    /// Runs until the dashboard asks for the end or is gone.
    pub(super) fn run(mut self, woken: &Receiver<Wake>) {
        let ending = Arc::new(AtomicBool::new(false));
        let wakers: Vec<Waker> = (0..self.stores.len()).filter_map(|at| self.follow(at, &ending)).collect();
        for at in 0..self.stores.len() {
            self.read_all(at);
        }
        self.tend();
        self.publish();
        while !self.stopping {
            let open = self.works && self.has_open_runs();
            let wake = if open {
                woken.recv_timeout(LEASES)
            } else {
                woken.recv().map_err(|_| RecvTimeoutError::Disconnected)
            };
            match wake {
                Ok(wake) => {
                    let mut changed = self.take(wake);
                    // A burst of changes makes one snapshot.
                    while let Ok(more) = woken.try_recv() {
                        changed |= self.take(more);
                    }
                    self.tend();
                    if changed {
                        self.publish();
                    }
                }
                Err(RecvTimeoutError::Timeout) => self.tend(),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        ending.store(true, Ordering::SeqCst);
        for waker in wakers {
            waker.wake();
        }
        for (stop, _) in self.busy.values() {
            stop.request();
        }
        for (_, (_, thread)) in self.busy.drain() {
            // A worker that panicked has left its lease to run out.
            let _ = thread.join();
        }
    }

    /// Starts the thread that waits for changes of a store.
    fn follow(&self, at: usize, ending: &Arc<AtomicBool>) -> Option<Waker> {
        let store = self.stores[at].shop.store().clone();
        let (wakes, ending) = (self.wakes.clone(), Arc::clone(ending));
        let mut feed = match store.feed() {
            Ok(feed) => feed,
            Err(error) => {
                // The receiver is this very loop.
                let _ = wakes.send(Wake::Broken(at, error.to_string()));
                return None;
            }
        };
        let waker = feed.waker();
        std::thread::spawn(move || {
            loop {
                let wake = match feed.wait(FEED) {
                    Ok(false) => None,
                    Ok(true) => Some(match feed.changes() {
                        Ok(changes) => Wake::Changed(at, Box::new(changes)),
                        Err(error) => Wake::Broken(at, error.to_string()),
                    }),
                    Err(error) => {
                        // A store that cannot be read is tried again after a while.
                        std::thread::sleep(Duration::from_secs(1));
                        Some(Wake::Broken(at, error.to_string()))
                    }
                };
                if ending.load(Ordering::SeqCst) || wake.is_some_and(|wake| wakes.send(wake).is_err()) {
                    return;
                }
            }
        });
        Some(waker)
    }

    fn has_open_runs(&self) -> bool {
        let open = |row: &RunRow| row.supervision_status.is_some() && !row.ended;
        !self.busy.is_empty() || self.stores.iter().any(|store| store.rows.values().any(open))
    }

    /// Takes in what happened; returns whether there is something new to show.
    fn take(&mut self, wake: Wake) -> bool {
        match wake {
            Wake::Changed(at, changes) => {
                self.stores[at].info.error = None;
                self.read_changed(at, &changes);
                true
            }
            Wake::Broken(at, error) => {
                let news = self.stores[at].info.error.as_ref() != Some(&error);
                self.stores[at].info.error = Some(error);
                news
            }
            Wake::Asked(request) => {
                self.carry_out(*request);
                false
            }
            Wake::Alone => {
                self.stopping = true;
                false
            }
            Wake::Done(at, run, error) => {
                self.busy.remove(&(at, run.clone()));
                if let Some(error) = error {
                    self.last_error = Some(format!("run {run}: {error}"));
                }
                true
            }
        }
    }

    fn read_all(&mut self, at: usize) {
        let store = &mut self.stores[at];
        match store.queries.rows() {
            Ok((rows, faults)) => {
                store.rows = rows.into_iter().map(|row| (row.key.run.clone(), row)).collect();
                store.info.error = faults.first().cloned();
            }
            Err(error) => store.info.error = Some(error.to_string()),
        }
    }

    fn read_changed(&mut self, at: usize, changes: &Changes) {
        if changes.records_unknown {
            self.read_all(at);
        }
        let mut runs: HashSet<&str> = changes.runs.iter().map(|pulse| pulse.run_id.as_str()).collect();
        runs.extend(changes.records.iter().filter_map(|touched| touched.run_id.as_deref()));
        let store = &mut self.stores[at];
        for run in &changes.removed {
            store.rows.remove(run);
        }
        for run in &runs {
            if let Ok(row) = store.queries.row(run) {
                store.rows.insert((*run).to_owned(), row);
            }
        }
        if store.info.repository_root.is_none() {
            store.info = store.queries.info(store.info.error.take());
        }
        let followed =
            self.follows.clone().filter(|key| key.store == store.info.id && runs.contains(key.run.as_str()));
        if let Some(key) = followed {
            self.send_detail(&key);
        }
    }

    fn send_detail(&self, key: &RunKey) {
        let Some(store) = self.stores.iter().find(|store| store.info.id == key.store) else { return };
        match store.queries.detail(&key.run) {
            Ok(detail) => self.publisher.reply(Reply::Detail(Arc::new(detail))),
            Err(error) => {
                let text = format!("run {} cannot be shown: {error}", key.run);
                self.publisher.reply(Reply::Notice { key: Some(key.clone()), text });
            }
        }
    }

    fn carry_out(&mut self, request: Request) {
        let key = match &request.command {
            Command::Follow(key) => {
                self.follows = Some(key.clone());
                self.send_detail(key);
                return;
            }
            Command::Unfollow => {
                self.follows = None;
                return;
            }
            Command::Refresh => {
                for at in 0..self.stores.len() {
                    self.read_all(at);
                }
                self.publish();
                self.publisher.reply(Reply::Done { request: request.ticket, text: "refreshed".into() });
                return;
            }
            Command::Shutdown => {
                self.stopping = true;
                return;
            }
            Command::SubmitTask(_) => None,
            Command::LoadDiff { key, .. }
            | Command::LoadArtifact { key, .. }
            | Command::LoadLog { key, .. }
            | Command::Answer { key, .. }
            | Command::DecideToolCall { key, .. }
            | Command::Cancel { key, .. }
            | Command::Approve { key, .. }
            | Command::Reject { key, .. }
            | Command::RequestChanges { key, .. }
            | Command::Publish { key } => Some(key.store.clone()),
        };
        let store = match &key {
            Some(id) => self.stores.iter().find(|store| store.info.id == *id),
            None => self.store_of(&request.command),
        };
        let Some(store) = store else {
            let text = "no watched store is of that repository".to_owned();
            self.publisher.reply(Reply::Refused {
                request: request.ticket,
                code: "store_unknown".into(),
                text,
            });
            return;
        };
        let (shop, publisher) = (store.shop.clone(), self.publisher.clone());
        std::thread::spawn(move || publisher.reply(desk::perform(&shop, request.ticket, &request.command)));
    }

    /// The store that a new task belongs to: that of its repository, or the only one.
    fn store_of(&self, command: &Command) -> Option<&Followed> {
        let Command::SubmitTask(task) = command else { return None };
        let root = std::fs::canonicalize(&task.repository).ok()?;
        let of_root = |store: &&Followed| {
            store.info.repository_root.as_deref().map(std::path::Path::new) == Some(&root)
        };
        self.stores
            .iter()
            .find(of_root)
            .or_else(|| if self.stores.len() == 1 { self.stores.first() } else { None })
    }

    /// Expires leases, resumes runs whose question was answered, and gives queued runs to free workers.
    fn tend(&mut self) {
        if !self.works || self.stopping {
            return;
        }
        for at in 0..self.stores.len() {
            if let Err(error) = self.tend_store(at) {
                self.last_error = Some(error.to_string());
            }
        }
    }

    fn tend_store(&mut self, at: usize) -> Result<(), EngineError> {
        let shop = self.stores[at].shop.clone();
        for (run, attempt) in shop.supervision.expire_leases()? {
            if let Some(process) = &attempt.process {
                end_orphan(identity(process));
            }
            tracing::warn!(run = %run.id, attempt = %attempt.id, "a lease ran out");
            // What did not go back to the queue has no attempt left.
            if !run.status.is_terminal() && !run.host_driven && run.status != RunStatus::Queued {
                desk::lost(&shop, &run)?;
            }
        }
        for run in shop.supervision.paused()? {
            let view = shop.supervision.views().view(run.id.as_str())?;
            if view.run.status != crate::controller::RunStatus::AwaitingClarification {
                shop.supervision.resume(&run)?;
            }
        }
        for run in shop.supervision.queued()? {
            if self.busy.len() >= self.workers {
                break;
            }
            if run.status != RunStatus::Queued || self.busy.contains_key(&(at, run.id.to_string())) {
                continue;
            }
            if waits(&shop, &run)? {
                continue;
            }
            let Some(held) = shop.supervision.take(&run, &shop.worker)? else { continue };
            self.employ(at, shop.clone(), held);
        }
        Ok(())
    }

    fn employ(&mut self, at: usize, shop: Shop, held: crate::service::supervision::Held) {
        let (stop, wakes, run) = (Stop::default(), self.wakes.clone(), held.run.id.to_string());
        let (worker_stop, name) = (stop.clone(), run.clone());
        let thread = std::thread::spawn(move || {
            let outcome = worker::work(&shop, held, &worker_stop);
            let error = outcome.err().filter(|error| !error.is_lease_lost()).map(|error| {
                tracing::error!(run = %name, %error, "a worker failed");
                error.to_string()
            });
            // The loop may be over already.
            let _ = wakes.send(Wake::Done(at, name, error));
        });
        self.busy.insert((at, run), (stop, thread));
    }

    fn publish(&mut self) {
        self.generation += 1;
        let mut rows: Vec<RunRow> =
            self.stores.iter().flat_map(|store| store.rows.values().cloned()).collect();
        rows.sort_by(|a, b| b.updated_at.cmp(&a.updated_at).then_with(|| a.key.run.cmp(&b.key.run)));
        let queued = |row: &&RunRow| row.supervision_status.as_deref() == Some(RunStatus::Queued.as_str());
        let engine = EngineStatus {
            running: self.works,
            leases: self.busy.len(),
            queue: rows.iter().filter(queued).count(),
            last_error: self.last_error.clone(),
            worker: self.stores.first().map(|store| store.shop.worker.clone()),
        };
        self.publisher.publish(Arc::new(Snapshot {
            generation: self.generation,
            taken_at: now().to_string(),
            stores: self.stores.iter().map(|store| store.info.clone()).collect(),
            rows: Arc::new(rows),
            engine,
        }));
    }
}

/// Whether a run that failed before shall wait longer before it is tried again.
fn waits(shop: &Shop, run: &crate::domain::Run) -> Result<bool, EngineError> {
    let attempts: Vec<crate::domain::Attempt> =
        shop.store().records_of_run(run.id.as_str()).map_err(ServiceError::from)?;
    let Some(last) = attempts.last() else { return Ok(false) };
    let (Some(code), Some(ended)) = (last.failure_code, last.ended_at) else { return Ok(false) };
    if !code.is_infrastructure() {
        return Ok(false);
    }
    let failures = attempts.iter().filter(|attempt| attempt.failure_code.is_some()).count();
    let retry = u32::try_from(failures.saturating_sub(1)).unwrap_or(u32::MAX);
    Ok(now().millis_since(ended) < crate::domain::backoff_millis(retry, 0.5))
}

fn identity(process: &AgentProcess) -> Identity {
    Identity {
        pid: i32::try_from(process.process_group).unwrap_or(0),
        started: process.start_mark.parse().unwrap_or(0),
    }
}
