//! The background thread: leases, workspaces, agent processes, verification, judging, verdicts, publication.
//!
//! [`start`] gives the dashboard its end of the line; the same engine runs without one. What the engine may do is
//! decided in `domain`, what it records goes through `service`.

mod agent;
mod command;
pub mod consent;
mod desk;
mod error;
mod evidence;
mod judge;
mod log_file;
pub mod process;
mod publisher;
mod scheduler;
mod shop;
mod verifier;
mod worker;

pub use error::EngineError;

use crate::config::Config;
use crate::domain::PolicyFile;
use crate::service::link::{Command, Link, Reply, link};
use crate::service::queries::Queries;
use crate::service::supervision::Supervision;
use crate::service::views::Views;
use crate::store::Store;
use scheduler::{Followed, Scheduler, Wake};
use shop::Shop;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread::JoinHandle;

/// What an engine is started with.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The user's configuration.
    pub config: Config,
    /// The user's own policy.
    pub user_policy: PolicyFile,
    /// This program, which serves MCP to agents.
    pub program: PathBuf,
    /// In whose name decisions are recorded (AP-5).
    pub actor: String,
    /// How many runs are worked on at once; with none the engine only follows the stores.
    pub workers: usize,
}

impl Settings {
    fn shop(&self, views: &Arc<Views>) -> Shop {
        Shop {
            supervision: Supervision::new(Arc::clone(views), self.actor.clone()),
            config: self.config.clone(),
            user_policy: self.user_policy.clone(),
            program: self.program.clone(),
            worker: format!("{}:{}", host_name(), std::process::id()),
        }
    }
}

fn host_name() -> String {
    nix::unistd::gethostname()
        .ok()
        .and_then(|name| name.into_string().ok())
        .unwrap_or_else(|| "host".to_owned())
}

/// A running engine; it ends when the other end of the line is dropped or asks for the end.
#[derive(Debug)]
pub struct Engine {
    thread: JoinHandle<()>,
}

impl Engine {
    /// Waits for the end: agents are stopped, leases are let go.
    pub fn join(self) {
        // A panic was reported when it happened.
        let _ = self.thread.join();
    }
}

/// Starts an engine on stores; each is known by a name.
#[must_use]
pub fn start(settings: &Settings, stores: Vec<(String, Store)>) -> (Link, Engine) {
    let (dashboard, end) = link();
    let (wakes, woken) = channel();
    let publisher = end.publisher();
    let asked = wakes.clone();
    std::thread::spawn(move || {
        while let Ok(request) = end.requests.recv() {
            if asked.send(Wake::Asked(Box::new(request))).is_err() {
                return;
            }
        }
        // The engine may have ended first.
        let _ = asked.send(Wake::Alone);
    });
    let followed = stores.into_iter().map(|(id, store)| {
        let views = Arc::new(Views::new(store));
        Followed::new(settings.shop(&views), Queries::new(id, views))
    });
    let scheduler = Scheduler::new(followed.collect(), publisher, wakes, settings.workers);
    let thread = std::thread::spawn(move || scheduler.run(&woken));
    (dashboard, Engine { thread })
}

/// Carries out one command on one store, without an engine running.
#[must_use]
pub fn perform(settings: &Settings, views: &Arc<Views>, command: &Command) -> Reply {
    desk::perform(&settings.shop(views), 0, command)
}
