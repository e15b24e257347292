//! Where state lives: choosing the state directory of a repository (`store.md` 1).
//!
//! Owns the choice, the repository key, the overlap check and the list of all stores of a user. It creates nothing;
//! opening is the `store`'s part.

use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

use sha2::{Digest, Sha256};
use thiserror::Error;

/// What the choice depends on: variables, the working directory, and the home directory of the password database.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// `TELIC_STATE_DIR`.
    pub telic_state_dir: Option<OsString>,
    /// `TELIC_REPOSITORY_ROOT`.
    pub telic_repository_root: Option<OsString>,
    /// `XDG_STATE_HOME`.
    pub xdg_state_home: Option<OsString>,
    /// `HOME`, or what the password database says.
    pub home: Option<OsString>,
    /// The working directory.
    pub working_dir: PathBuf,
}

impl Surroundings {
    /// Reads them from the process.
    ///
    /// # Errors
    /// [`PathError::WorkingDir`] when the working directory is gone.
    pub fn of_process() -> Result<Self, PathError> {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let from_database = || {
            let user = nix::unistd::User::from_uid(nix::unistd::geteuid()).ok()??;
            Some(user.dir.into_os_string())
        };
        Ok(Self {
            telic_state_dir: variable("TELIC_STATE_DIR"),
            telic_repository_root: variable("TELIC_REPOSITORY_ROOT"),
            xdg_state_home: variable("XDG_STATE_HOME"),
            home: variable("HOME").or_else(from_database),
            working_dir: std::env::current_dir().map_err(|error| PathError::WorkingDir(error.to_string()))?,
        })
    }

    fn absolute(&self, path: &OsString) -> PathBuf {
        self.working_dir.join(path)
    }
}

/// Why there is no state directory.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PathError {
    /// The working directory cannot be found.
    #[error("the working directory cannot be found: {0}")]
    WorkingDir(String),
    /// No variable says where state belongs.
    #[error("neither XDG_STATE_HOME nor HOME is set; set TELIC_STATE_DIR to a folder for telic's state")]
    NoHome,
    /// The repository root does not exist or cannot be resolved.
    #[error("repository root {}: {reason}", path.display())]
    Repository {
        /// What was to be resolved.
        path: PathBuf,
        /// The system's words.
        reason: String,
    },
    /// The state directory and the repository lie in each other (`store.md` 1.3).
    #[error(
        "the state directory {} and the repository {} overlap; set TELIC_REPOSITORY_ROOT to the repository, or \
         TELIC_STATE_DIR to a folder outside of it",
        state.display(),
        repository.display()
    )]
    Overlap {
        /// The state directory.
        state: PathBuf,
        /// The repository root.
        repository: PathBuf,
    },
}

impl PathError {
    /// The stable name of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::WorkingDir(_) => "working_directory_missing",
            Self::NoHome => "state_directory_unknown",
            Self::Repository { .. } => "repository_unavailable",
            Self::Overlap { .. } => "state_directory_overlaps",
        }
    }
}

fn set(value: Option<&OsString>) -> Option<&OsString> {
    value.filter(|value| !value.is_empty())
}

/// The canonical repository root: `given`, else `TELIC_REPOSITORY_ROOT`, else the working directory.
///
/// # Errors
/// [`PathError::Repository`] when it does not exist.
pub fn repository_root(surroundings: &Surroundings, given: Option<&Path>) -> Result<PathBuf, PathError> {
    let path = match (given, set(surroundings.telic_repository_root.as_ref())) {
        (Some(given), _) => surroundings.working_dir.join(given),
        (None, Some(root)) => surroundings.absolute(root),
        (None, None) => surroundings.working_dir.clone(),
    };
    fs::canonicalize(&path).map_err(|error| PathError::Repository { path, reason: error.to_string() })
}

/// The state directory of the repository with this canonical root (`store.md` 1.1). It need not exist.
///
/// # Errors
/// [`PathError::NoHome`] when nothing says where state belongs.
pub fn state_dir(surroundings: &Surroundings, repository_root: &Path) -> Result<PathBuf, PathError> {
    match set(surroundings.telic_state_dir.as_ref()) {
        Some(dir) => Ok(surroundings.absolute(dir)),
        None => Ok(stores_dir(surroundings)?.join(repository_key(repository_root))),
    }
}

/// The folder that holds the stores of all repositories, `BASE/telic/repositories`.
///
/// # Errors
/// [`PathError::NoHome`] when nothing says where state belongs.
pub fn stores_dir(surroundings: &Surroundings) -> Result<PathBuf, PathError> {
    let base = match (set(surroundings.xdg_state_home.as_ref()), set(surroundings.home.as_ref())) {
        (Some(base), _) => surroundings.absolute(base),
        (None, Some(home)) => surroundings.absolute(home).join(".local/state"),
        (None, None) => return Err(PathError::NoHome),
    };
    Ok(base.join("telic/repositories"))
}

/// The state directories of every store there is: those under [`stores_dir`] that hold a ledger, in order of their
/// names, and the one `TELIC_STATE_DIR` names, first.
///
/// # Errors
/// [`PathError::NoHome`]. A folder that cannot be read counts as empty.
pub fn all_state_dirs(surroundings: &Surroundings) -> Result<Vec<PathBuf>, PathError> {
    let holds_ledger = |dir: &PathBuf| {
        fs::symlink_metadata(dir).is_ok_and(|found| found.is_dir()) && dir.join("ledger.sqlite3").is_file()
    };
    let mut dirs: Vec<PathBuf> = match stores_dir(surroundings) {
        Ok(stores) => fs::read_dir(stores)
            .map(|entries| {
                entries.filter_map(Result::ok).map(|entry| entry.path()).filter(holds_ledger).collect()
            })
            .unwrap_or_default(),
        Err(error) if set(surroundings.telic_state_dir.as_ref()).is_none() => return Err(error),
        Err(_) => Vec::new(),
    };
    dirs.sort();
    if let Some(dir) = set(surroundings.telic_state_dir.as_ref()).map(|dir| surroundings.absolute(dir))
        && holds_ledger(&dir)
    {
        dirs.retain(|other| *other != dir);
        dirs.insert(0, dir);
    }
    Ok(dirs)
}

/// The key of a repository: 24 hexadecimal digits from its canonical root (`store.md` 1.2).
#[must_use]
pub fn repository_key(canonical_root: &Path) -> String {
    let digest = Sha256::digest(canonical_root.to_string_lossy().as_bytes());
    digest.iter().take(12).map(|byte| format!("{byte:02x}")).collect()
}

/// The store of an enclosing folder, when the state directory is chosen by the repository's root and the one for
/// `canonical_root` is not there yet: starting in a subdirectory otherwise silently uses another ledger
/// (`store.md` 11, item 13). The root it belongs to, nearest first.
///
/// # Errors
/// [`PathError::NoHome`].
pub fn enclosing_store(
    surroundings: &Surroundings,
    canonical_root: &Path,
) -> Result<Option<PathBuf>, PathError> {
    if set(surroundings.telic_state_dir.as_ref()).is_some() {
        return Ok(None);
    }
    let stores = stores_dir(surroundings)?;
    let has_ledger = |root: &Path| stores.join(repository_key(root)).join("ledger.sqlite3").is_file();
    if has_ledger(canonical_root) {
        return Ok(None);
    }
    Ok(canonical_root.ancestors().skip(1).find(|root| has_ledger(root)).map(Path::to_owned))
}

/// Refuses a state directory that is the repository, lies in it or holds it, by its text or by its real place
/// (`store.md` 1.3).
///
/// # Errors
/// [`PathError::Overlap`].
pub fn check_overlap(repository_root: &Path, state_dir: &Path) -> Result<(), PathError> {
    let lexical = without_dots(state_dir);
    let real = resolve_existing(&lexical);
    for form in [&lexical, &real] {
        if form.starts_with(repository_root) || repository_root.starts_with(form) {
            return Err(PathError::Overlap { state: form.clone(), repository: repository_root.to_owned() });
        }
    }
    Ok(())
}

/// An absolute path without `.` and `..`, by its text alone.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            // `pop` stays at the root, as `/..` does.
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

/// Resolves the nearest ancestor that exists and appends the missing tail.
fn resolve_existing(path: &Path) -> PathBuf {
    for ancestor in path.ancestors() {
        if let Ok(real) = fs::canonicalize(ancestor) {
            let tail = path.strip_prefix(ancestor).unwrap_or(Path::new(""));
            return real.components().chain(tail.components()).collect();
        }
    }
    path.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn surroundings(state: &str, xdg: &str, home: &str) -> Surroundings {
        Surroundings {
            telic_state_dir: Some(state.into()),
            telic_repository_root: None,
            xdg_state_home: Some(xdg.into()),
            home: Some(home.into()),
            working_dir: "/work dir".into(),
        }
    }

    #[test]
    fn the_key_of_the_chapters_example_is_right() {
        assert_eq!(repository_key(Path::new("/srv/projects/demo")), "9fe2fb7fa4f9089ddda0861e");
    }

    #[test]
    fn an_empty_variable_counts_as_unset_and_relative_ones_start_at_the_working_directory() {
        let root = Path::new("/srv/projects/demo");
        let key = "telic/repositories/9fe2fb7fa4f9089ddda0861e";
        for (state, xdg, home, expected) in [
            ("/s", "/x", "/h", "/s".to_owned()),
            ("s", "/x", "/h", "/work dir/s".to_owned()),
            ("", "/x", "/h", format!("/x/{key}")),
            ("", "x", "/h", format!("/work dir/x/{key}")),
            ("", "", "/h", format!("/h/.local/state/{key}")),
        ] {
            assert_eq!(state_dir(&surroundings(state, xdg, home), root).unwrap(), Path::new(&expected));
        }
        assert_eq!(state_dir(&surroundings("", "", ""), root), Err(PathError::NoHome));
    }

    #[test]
    fn a_state_directory_may_not_overlap_the_repository_in_either_form() {
        let temp = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(temp.path()).unwrap();
        let repository = base.join("repo");
        fs::create_dir_all(repository.join("inner")).unwrap();
        fs::create_dir(base.join("away")).unwrap();
        symlink(repository.join("inner"), base.join("into")).unwrap();
        symlink(base.join("away"), base.join("aside")).unwrap();
        symlink(base.join("away"), repository.join("out")).unwrap();
        for (state, refused) in [
            ("repo", true),
            ("repo/state", true),
            ("repo/missing/state", true),
            ("", true),
            ("/", true),
            ("away/../repo/x", true),
            ("into/state", true),
            ("repo/out/state", true),
            ("repo-state", false),
            ("repo/../repo-state", false),
            ("aside/state", false),
            ("away", false),
        ] {
            assert_eq!(check_overlap(&repository, &base.join(state)).is_err(), refused, "{state}");
        }
    }

    #[test]
    fn the_repository_root_is_resolved_and_must_exist() {
        let temp = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(temp.path()).unwrap();
        fs::create_dir(base.join("real")).unwrap();
        symlink("real", base.join("link")).unwrap();
        let mut surroundings = Surroundings { working_dir: base.clone(), ..Surroundings::default() };
        assert_eq!(repository_root(&surroundings, None).unwrap(), base);
        surroundings.telic_repository_root = Some("link".into());
        assert_eq!(repository_root(&surroundings, None).unwrap(), base.join("real"));
        assert_eq!(repository_root(&surroundings, Some(Path::new("."))).unwrap(), base);
        let missing = repository_root(&surroundings, Some(Path::new("none"))).unwrap_err();
        assert_eq!(missing.code(), "repository_unavailable");
    }

    #[test]
    fn the_store_of_an_enclosing_folder_is_noticed_until_there_is_an_own_one() {
        let temp = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(temp.path()).unwrap();
        let mut surroundings = surroundings("", base.to_str().unwrap(), "");
        let ledger = |root: &str| {
            let dir = base.join("telic/repositories").join(repository_key(Path::new(root)));
            fs::create_dir_all(&dir).unwrap();
            fs::write(dir.join("ledger.sqlite3"), "").unwrap();
        };
        let found = |surroundings: &Surroundings| {
            enclosing_store(surroundings, Path::new("/srv/shop/api/src")).unwrap()
        };
        assert_eq!(found(&surroundings), None);
        ledger("/srv/shop");
        assert_eq!(found(&surroundings), Some("/srv/shop".into()));
        surroundings.telic_state_dir = Some("/elsewhere".into());
        assert_eq!(found(&surroundings), None);
        surroundings.telic_state_dir = None;
        ledger("/srv/shop/api/src");
        assert_eq!(found(&surroundings), None);
    }

    #[test]
    fn every_store_with_a_ledger_is_listed_the_named_one_first() {
        let temp = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(temp.path()).unwrap();
        let stores = base.join("telic/repositories");
        for name in ["b", "a", "empty"] {
            fs::create_dir_all(stores.join(name)).unwrap();
        }
        for dir in [stores.join("a"), stores.join("b"), base.join("named")] {
            fs::create_dir_all(&dir).unwrap();
            fs::write(dir.join("ledger.sqlite3"), "").unwrap();
        }
        let mut surroundings = surroundings("", base.to_str().unwrap(), "");
        assert_eq!(all_state_dirs(&surroundings).unwrap(), [stores.join("a"), stores.join("b")]);
        surroundings.telic_state_dir = Some(base.join("named").into());
        assert_eq!(all_state_dirs(&surroundings).unwrap()[0], base.join("named"));
    }
}
