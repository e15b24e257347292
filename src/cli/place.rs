//! Which repository and which store a command is about.

use super::Failure;
use crate::paths::{self, Surroundings};
use clap::Args;
use std::path::PathBuf;

/// Arguments that every command takes.
#[derive(Debug, Args)]
pub(super) struct PlaceArguments {
    /// Repository to work on (default: the working directory)
    #[arg(long, global = true, value_name = "PATH")]
    pub repo: Option<PathBuf>,
    /// Print one line of JSON
    #[arg(long, global = true)]
    pub json: bool,
}

/// A repository and its store.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// The canonical root of the repository.
    pub repository: PathBuf,
    /// The state directory; it need not exist.
    pub state_dir: PathBuf,
}

impl PlaceArguments {
    /// Whether one store is meant: `--repo` or `TELIC_STATE_DIR` names it.
    ///
    /// # Errors
    /// The working directory is gone.
    pub(super) fn names_one(&self) -> Result<bool, Failure> {
        let surroundings = Surroundings::of_process().map_err(|error| Failure::coded(error.code(), error))?;
        Ok(self.repo.is_some() || surroundings.telic_state_dir.is_some_and(|dir| !dir.is_empty()))
    }

    /// Finds the repository and its store.
    ///
    /// # Errors
    /// The repository does not exist, or nothing says where state belongs.
    pub(super) fn find(&self) -> Result<Place, Failure> {
        let surroundings = Surroundings::of_process().map_err(|error| Failure::coded(error.code(), error))?;
        let root = paths::repository_root(&surroundings, self.repo.as_deref());
        let repository = root.map_err(|error| Failure::coded(error.code(), error))?;
        let state_dir = paths::state_dir(&surroundings, &repository);
        let state_dir = state_dir.map_err(|error| Failure::coded(error.code(), error))?;
        Ok(Place { repository, state_dir })
    }
}
