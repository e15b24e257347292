//! Finds runs among the local stores.

use super::Failure;
use super::place::PlaceArguments;
use crate::paths::{self, Surroundings};
use crate::service::queries::Queries;
use crate::service::snapshot::RunRow;
use crate::service::views::Views;
use crate::store::Store;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How a store is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// For reading; nothing on disk is changed.
    Read,
    /// For a decision that will be written.
    Write,
}

/// The stores that a command is about: `--repo`'s, else `TELIC_STATE_DIR`'s, else all of them.
///
/// # Errors
/// Nothing says where state belongs, or a store that was named cannot be opened. Where all stores are meant,
/// one that cannot be opened is named in the second list.
pub(super) fn open(place: &PlaceArguments, access: Access) -> Result<(Vec<Queries>, Vec<String>), Failure> {
    let one = place.names_one()?;
    let dirs = folders(place)?;
    if let (true, [dir]) = (one, dirs.as_slice()) {
        return Ok((vec![open_one(dir, access)?], Vec::new()));
    }
    let (mut stores, mut faults) = (Vec::new(), Vec::new());
    for dir in dirs {
        match open_one(&dir, access) {
            Ok(queries) => stores.push(queries),
            Err(failure) => faults.push(failure.to_string()),
        }
    }
    Ok((stores, faults))
}

/// Opens one store; its name is the last part of its folder.
pub(super) fn open_one(dir: &Path, access: Access) -> Result<Queries, Failure> {
    let store = match access {
        Access::Read => Store::open_read_only(dir),
        // Inspection never makes a store (`store.md` 11.9), nor does a decision on a run that must exist.
        Access::Write => Store::open_read_only(dir).and_then(|_| Store::open(dir)),
    };
    let store = store.map_err(|error| Failure::coded(error.code(), error))?;
    Ok(Queries::new(store_id(dir), Arc::new(Views::new(store))))
}

/// The name of a store among the watched ones.
pub(super) fn store_id(dir: &Path) -> String {
    dir.file_name().map_or_else(|| "store".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// The run with this id, or whose id alone begins with it.
///
/// # Errors
/// There is no such run, or several begin so.
pub(super) fn find(
    place: &PlaceArguments,
    access: Access,
    given: &str,
) -> Result<(Queries, RunRow), Failure> {
    let (stores, _) = open(place, access)?;
    let mut found: Vec<(Queries, RunRow)> = Vec::new();
    for queries in &stores {
        match queries.row(given) {
            Ok(row) => return Ok((queries.clone(), row)),
            Err(error) if error.code() == "run_not_found" => {}
            Err(error) => return Err(error.into()),
        }
        let (rows, _) = queries.rows()?;
        let begins = rows.into_iter().filter(|row| !given.is_empty() && row.key.run.starts_with(given));
        found.extend(begins.map(|row| (queries.clone(), row)));
    }
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => Err(Failure::coded("run_not_found", format!("there is no run {given:?}"))),
        count => Err(Failure::coded("run_ambiguous", format!("{count} runs begin with {given:?}"))),
    }
}

/// The folders of all stores, for commands that work on more than one.
pub(super) fn folders(place: &PlaceArguments) -> Result<Vec<PathBuf>, Failure> {
    if place.names_one()? {
        return Ok(vec![place.find()?.state_dir]);
    }
    let surroundings = Surroundings::of_process().map_err(|error| Failure::coded(error.code(), error))?;
    paths::all_state_dirs(&surroundings).map_err(|error| Failure::coded(error.code(), error))
}
