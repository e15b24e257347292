//! Which files there are (`grounding.md` 3): Git's list, else ripgrep's, else an own walk, and what is added.
//!
//! The two fallbacks apply the ignore files of the repository as well, so that a repository whose owner Git
//! distrusts does not suddenly show its ignored files (10.5), and leave out directories that tools generate
//! (10.12). A directory that cannot be read is counted and passed over (10.6).

use super::budget::Budget;
use super::error::GroundingError;
use super::git_source;
use super::paths::{EXCLUDED_NAMES, GENERATED_NAMES, ROOT_INSTRUCTIONS, normalize};
use super::process::{self, Failure};
use super::root::Root;
use super::watch::Watch;
use crate::protocol::InventorySource;
use ignore::WalkBuilder;
use std::collections::{BTreeSet, HashSet};
use std::ffi::{OsStr, OsString};
use std::time::Duration;

const RIPGREP_LIMIT: Duration = Duration::from_secs(30);

/// The paths that are considered, and how they were found.
#[derive(Debug)]
pub(super) struct Inventory {
    pub(super) source: InventorySource,
    /// Unique normalised paths, additions included.
    pub(super) paths: BTreeSet<String>,
    /// Paths without a normal form.
    pub(super) invalid: u64,
    /// Paths in excluded roots.
    pub(super) excluded: u64,
    /// Directories that could not be read.
    pub(super) unreadable: u64,
    /// Whether the walk stopped early.
    pub(super) cut: bool,
    /// Whether Git or ripgrep did not answer in time.
    pub(super) timed_out: bool,
}

struct Listing {
    source: InventorySource,
    raw: Vec<String>,
    unreadable: u64,
    cut: bool,
    timed_out: bool,
}

/// Lists the files below `root`.
pub(super) fn take(root: &Root, active: &[String], watch: &Watch) -> Result<Inventory, GroundingError> {
    let listing = list(root, watch)?;
    let mut inventory = Inventory {
        source: listing.source,
        paths: BTreeSet::new(),
        invalid: 0,
        excluded: 0,
        unreadable: listing.unreadable,
        cut: listing.cut,
        timed_out: listing.timed_out,
    };
    // A path with unresolved merge stages is listed several times and counts once.
    let raw: HashSet<String> = listing.raw.into_iter().collect();
    for path in raw {
        match normalize(&path) {
            None => inventory.invalid += 1,
            Some(path) if root.excludes(&path) => inventory.excluded += 1,
            Some(path) => {
                inventory.paths.insert(path.into_owned());
            }
        }
    }
    for path in ROOT_INSTRUCTIONS {
        if root.path.join(path).is_file() && !root.excludes(path) {
            inventory.paths.insert(path.to_owned());
        }
    }
    let outside = active.iter().filter(|path| !root.excludes(path));
    inventory.paths.extend(outside.cloned());
    Ok(inventory)
}

fn list(root: &Root, watch: &Watch) -> Result<Listing, GroundingError> {
    let mut timed_out = root.git_hangs;
    if !root.git_hangs {
        match git_source::list(&root.path, watch)? {
            Ok(output) => {
                return Ok(Listing {
                    source: InventorySource::Git,
                    raw: split(&output),
                    unreadable: 0,
                    cut: false,
                    timed_out,
                });
            }
            Err(failure) => timed_out |= failure == Failure::TimedOut,
        }
    }
    match ripgrep(root, watch)? {
        Ok(output) => {
            let raw = split(&output);
            return Ok(Listing {
                source: InventorySource::Ripgrep,
                raw,
                unreadable: 0,
                cut: false,
                timed_out,
            });
        }
        Err(failure) => timed_out |= failure == Failure::TimedOut,
    }
    walk(root, timed_out, watch)
}

fn split(output: &[u8]) -> Vec<String> {
    output
        .split(|byte| *byte == 0)
        .filter(|path| !path.is_empty())
        .map(|path| String::from_utf8_lossy(path).into_owned())
        .collect()
}

fn ripgrep(root: &Root, watch: &Watch) -> Result<Result<Vec<u8>, Failure>, GroundingError> {
    let mut arguments: Vec<OsString> = [
        "--no-config",
        "--files",
        "--hidden",
        "--null",
        "--no-require-git",
        "--no-ignore-global",
        "--no-ignore-dot",
        "--no-ignore-parent",
    ]
    .map(Into::into)
    .to_vec();
    for name in EXCLUDED_NAMES.iter().chain(&GENERATED_NAMES) {
        arguments.extend([format!("--glob=!{name}/**").into(), format!("--glob=!**/{name}/**").into()]);
    }
    let environment = git_source::environment();
    process::run(OsStr::new("rg"), &arguments, &root.path, &environment, RIPGREP_LIMIT, watch)
}

/// The own walk: hidden files too, links listed and not followed.
fn walk(root: &Root, timed_out: bool, watch: &Watch) -> Result<Listing, GroundingError> {
    let most = usize::try_from(Budget::HARD.max_inventory_files).unwrap_or(usize::MAX);
    let mut listing = Listing {
        source: InventorySource::Filesystem,
        raw: Vec::new(),
        unreadable: 0,
        cut: false,
        timed_out,
    };
    let walk = WalkBuilder::new(&root.path)
        .standard_filters(false)
        .git_ignore(true)
        .git_exclude(true)
        .require_git(false)
        .follow_links(false)
        .sort_by_file_name(Ord::cmp)
        .filter_entry(|entry| {
            let skipped = |name: &str| EXCLUDED_NAMES.contains(&name) || GENERATED_NAMES.contains(&name);
            entry.depth() == 0
                || !entry.file_type().is_some_and(|kind| kind.is_dir())
                || !entry.file_name().to_str().is_some_and(skipped)
        })
        .build();
    for entry in walk {
        watch.check()?;
        let Ok(entry) = entry else {
            listing.unreadable += 1;
            continue;
        };
        let listed = entry.file_type().is_some_and(|kind| kind.is_file() || kind.is_symlink());
        if !listed {
            continue;
        }
        if listing.raw.len() >= most {
            listing.cut = true;
            break;
        }
        if let Ok(path) = entry.path().strip_prefix(&root.path) {
            listing.raw.push(path.to_string_lossy().into_owned());
        }
    }
    Ok(listing)
}
