//! The state directory on disk: creating it, its modes, owners and links (`store.md` 2).
//!
//! It is opened once; everything in it is reached relative to that descriptor, component by component, never
//! following a link. The ledger file itself is only ever *named* here, not opened: closing any descriptor of it
//! would drop the locks SQLite holds for the whole process.

use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat};
use nix::sys::stat::{FchmodatFlags, FileStat, Mode, SFlag, fchmod, fchmodat, fstat, fstatat, mkdirat};

use super::StoreError;

pub(super) const LEDGER: &str = "ledger.sqlite3";
/// Where blobs wait that nobody names, relative to the state directory.
pub(super) const QUARANTINE: &str = "blobs/quarantine";
const SIDE_FILES: [&str; 2] = ["ledger.sqlite3-wal", "ledger.sqlite3-shm"];
const PRIVATE_DIR: Mode = Mode::S_IRWXU;
const PRIVATE_FILE: Mode = Mode::S_IRUSR.union(Mode::S_IWUSR);
const DIR_FLAGS: OFlag =
    OFlag::O_DIRECTORY.union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC).union(OFlag::O_RDONLY);

/// An open state directory.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    root: OwnedFd,
    writable: bool,
}

impl Folder {
    /// Creates or checks everything that must be there before the ledger is opened.
    pub(super) fn create(path: &Path) -> Result<Self, StoreError> {
        // Without a trailing slash, which would follow a link.
        let path: PathBuf = path.components().collect();
        match fs::symlink_metadata(&path) {
            Ok(found) if found.file_type().is_symlink() => {
                return Err(refused(&path, "it is a symbolic link"));
            }
            Ok(_) => {}
            Err(_) => fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(&path)
                .map_err(|error| refused(&path, format!("it cannot be created: {error}")))?,
        }
        let folder = Self::open(&path, true)?;
        folder.private_dir(&folder.root, "")?;
        folder.check_ledger()?;
        for name in SIDE_FILES {
            folder.regular_or_absent(name)?;
        }
        folder.sha_dir(true)?;
        Ok(folder)
    }

    /// Opens what is there and changes nothing.
    pub(super) fn inspect(path: &Path) -> Result<Self, StoreError> {
        let path: PathBuf = path.components().collect();
        match fs::symlink_metadata(&path) {
            Ok(found) if found.file_type().is_symlink() => {
                return Err(refused(&path, "it is a symbolic link"));
            }
            Ok(_) => {}
            Err(_) => return Err(StoreError::NoLedger { path }),
        }
        let folder = Self::open(&path, false)?;
        if folder.regular_or_absent(LEDGER)?.is_none() {
            return Err(StoreError::NoLedger { path: folder.path });
        }
        for name in SIDE_FILES {
            folder.regular_or_absent(name)?;
        }
        Ok(folder)
    }

    fn open(path: &Path, writable: bool) -> Result<Self, StoreError> {
        let root = nix::fcntl::open(path, DIR_FLAGS, Mode::empty()).map_err(|error| match error {
            Errno::ENOTDIR => refused(path, "it is not a directory"),
            error => refused(path, format!("it cannot be opened: {error}")),
        })?;
        let stat = fstat(&root).map_err(|error| refused(path, error.to_string()))?;
        let real = fs::canonicalize(path).map_err(|error| refused(path, error.to_string()))?;
        let found = fs::metadata(&real).map_err(|error| refused(path, error.to_string()))?;
        if (found.dev(), found.ino()) != (stat.st_dev as u64, stat.st_ino as u64) {
            return Err(refused(path, "it was exchanged while it was being opened"));
        }
        let folder = Self { path: real, root, writable };
        folder.owned(&stat, "")?;
        Ok(folder)
    }

    /// The resolved path of the state directory.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn ledger_path(&self) -> PathBuf {
        self.path.join(LEDGER)
    }

    /// Size and modification time of the ledger file, and the size of its log, for noticing changes.
    pub(super) fn ledger_stamp(&self) -> (i64, i64, i64, Option<i64>) {
        let stat = |name: &str| fstatat(&self.root, name, AtFlags::AT_SYMLINK_NOFOLLOW).ok();
        let ledger = stat(LEDGER);
        let log = stat(SIDE_FILES[0]).map(|log| log.st_size).filter(|size| *size > 0);
        ledger.map_or((0, 0, 0, log), |ledger| (ledger.st_size, ledger.st_mtime, ledger.st_mtime_nsec, log))
    }

    fn refused(&self, name: &str, reason: impl Into<String>) -> StoreError {
        refused(&self.path.join(name), reason)
    }

    fn owned(&self, stat: &FileStat, name: &str) -> Result<(), StoreError> {
        if stat.st_uid == nix::unistd::geteuid().as_raw() {
            Ok(())
        } else {
            Err(self.refused(name, "it belongs to someone else"))
        }
    }

    /// Gives a directory mode 0700 when it has another one.
    fn private_dir(&self, dir: impl AsFd, name: &str) -> Result<(), StoreError> {
        let stat = fstat(&dir).map_err(|error| self.refused(name, error.to_string()))?;
        if stat.st_mode & 0o7777 != 0o700 {
            fchmod(&dir, PRIVATE_DIR).map_err(|error| self.refused(name, format!("its mode: {error}")))?;
        }
        Ok(())
    }

    fn regular_or_absent(&self, name: &str) -> Result<Option<FileStat>, StoreError> {
        match fstatat(&self.root, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
            Ok(stat) if !is_regular(&stat) => Err(self.refused(name, "it is not a regular file")),
            Ok(stat) => self.owned(&stat, name).map(|()| Some(stat)),
            Err(Errno::ENOENT) => Ok(None),
            Err(error) => Err(self.refused(name, error.to_string())),
        }
    }

    fn check_ledger(&self) -> Result<(), StoreError> {
        if self.regular_or_absent(LEDGER)?.is_none() {
            if self.regular_or_absent(SIDE_FILES[0])?.is_some_and(|log| log.st_size > 0) {
                // A new ledger would throw away what the log still holds.
                return Err(
                    self.refused(LEDGER, "it is missing, but its log is here; put it back, or move the log")
                );
            }
            let flags = OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_RDWR | OFlag::O_CLOEXEC;
            match openat(&self.root, LEDGER, flags, PRIVATE_FILE) {
                // Another opening was faster (`store.md` 11, item 3): what it made is checked below.
                Ok(_) | Err(Errno::EEXIST) => {}
                Err(error) => return Err(self.refused(LEDGER, format!("it cannot be created: {error}"))),
            }
            self.regular_or_absent(LEDGER)?;
        }
        Ok(())
    }

    /// Gives the ledger mode 0600 when it has another one.
    pub(super) fn private_ledger(&self) -> Result<(), StoreError> {
        let Some(stat) = self.regular_or_absent(LEDGER)? else {
            return Err(self.refused(LEDGER, "it vanished"));
        };
        if stat.st_mode & 0o7777 != 0o600 {
            fchmodat(&self.root, LEDGER, PRIVATE_FILE, FchmodatFlags::FollowSymlink)
                .map_err(|error| self.refused(LEDGER, format!("its mode: {error}")))?;
        }
        Ok(())
    }

    /// Opens `blobs/sha256`, creating it when asked. The link checks of `store.md` 2 are made by opening.
    pub(super) fn sha_dir(&self, create: bool) -> Result<OwnedFd, StoreError> {
        let blobs = present(self.dir(&self.root, "blobs", "blobs", create)?, "blobs")?;
        present(self.dir(&blobs, "sha256", "blobs/sha256", create)?, "blobs/sha256")
    }

    /// The prefix directory a digest's blob lies in, created if missing.
    pub(super) fn prefix_dir(&self, prefix: &str) -> Result<OwnedFd, StoreError> {
        let shown = format!("blobs/sha256/{prefix}");
        present(self.dir(&self.sha_dir(true)?, prefix, &shown, true)?, &shown)
    }

    /// The prefix directory a digest's blob lies in, if there is one.
    pub(super) fn find_prefix_dir(&self, prefix: &str) -> Result<Option<OwnedFd>, StoreError> {
        let Some(blobs) = self.dir(&self.root, "blobs", "blobs", false)? else { return Ok(None) };
        let Some(sha) = self.dir(&blobs, "sha256", "blobs/sha256", false)? else { return Ok(None) };
        self.dir(&sha, prefix, &format!("blobs/sha256/{prefix}"), false)
    }

    /// Opens the quarantine beside `blobs/sha256`, created if missing.
    pub(super) fn quarantine_dir(&self) -> Result<OwnedFd, StoreError> {
        let blobs = present(self.dir(&self.root, "blobs", "blobs", false)?, "blobs")?;
        present(self.dir(&blobs, "quarantine", QUARANTINE, true)?, QUARANTINE)
    }

    /// A directory of telic's own directly under the state directory, created if missing.
    pub(super) fn own_dir(&self, name: &str) -> Result<PathBuf, StoreError> {
        present(self.dir(&self.root, name, name, true)?, name)?;
        Ok(self.path.join(name))
    }

    /// Opens a directory without following a link. `shown` names it in errors, relative to the state directory.
    fn dir(
        &self,
        parent: impl AsFd,
        name: &str,
        shown: &str,
        create: bool,
    ) -> Result<Option<OwnedFd>, StoreError> {
        let open = || openat(parent.as_fd(), name, DIR_FLAGS, Mode::empty());
        let refused = |reason: String| refused(Path::new(shown), reason);
        let mut opened = open();
        if matches!(opened, Err(Errno::ENOENT)) && create {
            if !self.writable {
                return Err(StoreError::ReadOnly);
            }
            match mkdirat(parent.as_fd(), name, PRIVATE_DIR) {
                Ok(()) | Err(Errno::EEXIST) => {}
                Err(error) => return Err(refused(format!("it cannot be created: {error}"))),
            }
            opened = open();
        }
        match opened {
            Ok(dir) => {
                if create && self.writable {
                    self.private_dir(&dir, shown)?;
                }
                Ok(Some(dir))
            }
            Err(Errno::ENOENT) => Ok(None),
            Err(Errno::ENOTDIR | Errno::ELOOP) => {
                Err(refused("it is a symbolic link, or not a directory".to_owned()))
            }
            Err(error) => Err(refused(error.to_string())),
        }
    }
}

fn present(dir: Option<OwnedFd>, shown: &str) -> Result<OwnedFd, StoreError> {
    dir.ok_or_else(|| refused(Path::new(shown), "it is missing"))
}

pub(super) fn is_regular(stat: &FileStat) -> bool {
    SFlag::from_bits_truncate(stat.st_mode & SFlag::S_IFMT.bits()) == SFlag::S_IFREG
}

fn refused(path: &Path, reason: impl Into<String>) -> StoreError {
    StoreError::StateDir { path: path.to_owned(), reason: reason.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn everything_created_is_private_and_wider_modes_are_narrowed() {
        let temp = tempfile::tempdir().unwrap();
        let state = temp.path().join("deep/state");
        fs::create_dir_all(state.join("blobs")).unwrap();
        for wide in [&state, &state.join("blobs")] {
            fs::set_permissions(wide, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let folder = Folder::create(&state).unwrap();
        folder.private_ledger().unwrap();
        folder.prefix_dir("ab").unwrap();
        for dir in ["", "blobs", "blobs/sha256", "blobs/sha256/ab"] {
            assert_eq!(mode(&state.join(dir)), 0o700, "{dir}");
        }
        assert_eq!(mode(&state.join(LEDGER)), 0o600);
    }

    #[test]
    fn links_are_refused_wherever_the_layout_forbids_them() {
        let temp = tempfile::tempdir().unwrap();
        let elsewhere = temp.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        for place in ["", "blobs", "blobs/sha256", LEDGER, SIDE_FILES[0]] {
            let state = temp.path().join(format!("state-{}", place.replace('/', "-")));
            if !place.is_empty() {
                fs::create_dir(&state).unwrap();
            }
            if place == "blobs/sha256" {
                fs::create_dir(state.join("blobs")).unwrap();
            }
            let link: PathBuf = state.join(place).components().collect();
            symlink(&elsewhere, link).unwrap();
            assert_eq!(Folder::create(&state).unwrap_err().code(), "state_directory_refused", "{place}");
        }
        let slash = temp.path().join("state-/");
        assert!(slash.to_str().unwrap().ends_with('/'));
        assert_eq!(Folder::create(&slash).unwrap_err().code(), "state_directory_refused");
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    }

    #[test]
    fn a_link_above_the_state_directory_is_followed() {
        let temp = tempfile::tempdir().unwrap();
        fs::create_dir(temp.path().join("real")).unwrap();
        symlink("real", temp.path().join("link")).unwrap();
        let folder = Folder::create(&temp.path().join("link/state")).unwrap();
        assert_eq!(folder.path(), fs::canonicalize(temp.path().join("real/state")).unwrap());
    }

    #[test]
    fn a_dangling_link_and_a_plain_file_are_refused() {
        let temp = tempfile::tempdir().unwrap();
        symlink("nowhere", temp.path().join("link")).unwrap();
        fs::write(temp.path().join("file"), "").unwrap();
        for name in ["link", "file"] {
            assert_eq!(
                Folder::create(&temp.path().join(name)).unwrap_err().code(),
                "state_directory_refused"
            );
        }
    }

    #[test]
    fn a_ledger_that_is_gone_is_not_made_anew_over_its_log() {
        let temp = tempfile::tempdir().unwrap();
        fs::write(temp.path().join(SIDE_FILES[0]), "frames").unwrap();
        assert_eq!(Folder::create(temp.path()).unwrap_err().code(), "state_directory_refused");
        assert_eq!(fs::read(temp.path().join(SIDE_FILES[0])).unwrap(), b"frames");
    }

    #[test]
    fn inspecting_creates_nothing() {
        let temp = tempfile::tempdir().unwrap();
        assert_eq!(Folder::inspect(&temp.path().join("none")).unwrap_err().code(), "no_ledger");
        assert_eq!(Folder::inspect(temp.path()).unwrap_err().code(), "no_ledger");
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 0);
    }
}
