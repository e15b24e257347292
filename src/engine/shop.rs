//! What every worker shares: the store's use cases, the configuration, and who it works for.

use crate::config::Config;
use crate::domain::PolicyFile;
use crate::service::supervision::Supervision;
use crate::store::Store;
use std::path::{Path, PathBuf};

/// One store that an engine works on.
#[derive(Clone, Debug)]
pub(super) struct Shop {
    /// The use cases.
    pub supervision: Supervision,
    /// The user's configuration.
    pub config: Config,
    /// The user's own policy, which narrows every repository's.
    pub user_policy: PolicyFile,
    /// This program, which serves MCP to agents.
    pub program: PathBuf,
    /// The name of this worker.
    pub worker: String,
}

impl Shop {
    /// The store.
    pub(super) fn store(&self) -> &Store {
        self.supervision.store()
    }

    /// The folder of the store.
    pub(super) fn state_dir(&self) -> &Path {
        self.store().state_dir()
    }
}
