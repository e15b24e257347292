//! Blob files: one per distinct body, named by its digest (`store.md` 4).
//!
//! This file owns writing, reading and checking single blobs. Making them durable with a row is `journal`'s part,
//! parsing them is `bodies`'.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use nix::errno::Errno;
use nix::fcntl::{OFlag, openat, renameat};
use nix::sys::stat::{FileStat, Mode, fstat, futimens};
use nix::sys::time::TimeSpec;
use nix::unistd::{UnlinkatFlags, unlinkat};
use sha2::{Digest as _, Sha256};

use super::folder::{Folder, is_regular};
use super::{Digest, StoreError};

const CHUNK: usize = 64 * 1024;
static NEXT_TEMPORARY: AtomicU64 = AtomicU64::new(0);

/// The blob folder of one state directory.
#[derive(Debug, Clone)]
pub(super) struct Blobs {
    folder: Arc<Folder>,
}

/// What tells one state of a blob file from another: size and modification time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) size: u64,
    seconds: i64,
    nanoseconds: i64,
}

impl Stamp {
    fn of(stat: &FileStat) -> Self {
        Self {
            size: u64::try_from(stat.st_size).unwrap_or(0),
            seconds: stat.st_mtime,
            nanoseconds: stat.st_mtime_nsec,
        }
    }
}

/// How far a written blob must have reached before the caller goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Durability {
    /// Visible to every program; the journal row makes it survive a power cut.
    Visible,
    /// Synced, with its directories.
    Synced,
}

impl Blobs {
    pub(super) fn new(folder: Arc<Folder>) -> Self {
        Self { folder }
    }

    /// Writes `bytes` under their digest unless a blob with exactly these bytes is there.
    ///
    /// An existing blob is compared, not trusted (`store.md` 11, item 2); its modification time is refreshed so that
    /// a collector leaves it alone.
    pub(super) fn put(
        &self,
        digest: &Digest,
        bytes: &[u8],
        durability: Durability,
    ) -> Result<(), StoreError> {
        let hex = digest.hex();
        let dir = self.folder.prefix_dir(&hex[..2])?;
        if let Some(mut file) = open_blob(&dir, &hex[2..], digest)?
            && holds(&mut file, bytes).map_err(|error| StoreError::blob(digest, &error))?
        {
            refresh(&file);
            if durability == Durability::Synced {
                self.sync_one(digest, &file, &dir)?;
            }
            return Ok(());
        }
        let mut temporary = Temporary::create(&dir, &hex[2..], digest)?;
        temporary.file.write_all(bytes).map_err(|error| StoreError::blob(digest, &error))?;
        let file = temporary.publish(&dir, &hex[2..], digest)?;
        if durability == Durability::Synced {
            self.sync_one(digest, &file, &dir)?;
        }
        Ok(())
    }

    /// Streams `source` into the folder, never holding it whole. Returns its digest and size; it is synced.
    pub(super) fn put_stream(&self, source: &mut dyn Read) -> Result<(Digest, u64), StoreError> {
        let failed = |error: &dyn std::fmt::Display| StoreError::Blob {
            digest: "being written".to_owned(),
            detail: error.to_string(),
        };
        let sha = self.folder.sha_dir(true)?;
        let mut temporary = Temporary::create(&sha, "stream", &Digest::of(b""))?;
        let mut hasher = Sha256::new();
        let mut size = 0;
        let mut chunk = vec![0; CHUNK];
        loop {
            let read = match source.read(&mut chunk) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(failed(&error)),
            };
            hasher.update(&chunk[..read]);
            temporary.file.write_all(&chunk[..read]).map_err(|error| failed(&error))?;
            size += read as u64;
        }
        let digest = Digest::from_hasher(hasher);
        let hex = digest.hex();
        let dir = self.folder.prefix_dir(&hex[..2])?;
        // Replacing an existing blob by the same bytes also mends a damaged one.
        let file = temporary.publish(&dir, &hex[2..], &digest)?;
        self.sync_one(&digest, &file, &dir)?;
        Ok((digest, size))
    }

    /// Opens a blob for reading and tells its state; `None` when there is none.
    pub(super) fn open(&self, digest: &Digest) -> Result<Option<(File, Stamp)>, StoreError> {
        let hex = digest.hex();
        let Some(dir) = self.folder.find_prefix_dir(&hex[..2])? else { return Ok(None) };
        let Some(file) = open_blob(&dir, &hex[2..], digest)? else { return Ok(None) };
        let stat = fstat(&file).map_err(|error| StoreError::blob(digest, &error))?;
        Ok(Some((file, Stamp::of(&stat))))
    }

    /// The whole blob and its state.
    pub(super) fn read(&self, digest: &Digest) -> Result<(Vec<u8>, Stamp), StoreError> {
        let (mut file, stamp) =
            self.open(digest)?.ok_or_else(|| StoreError::integrity(digest, "is missing"))?;
        let mut bytes = Vec::with_capacity(usize::try_from(stamp.size).unwrap_or(0).min(4 << 20));
        file.read_to_end(&mut bytes).map_err(|error| StoreError::blob(digest, &error))?;
        Ok((bytes, stamp))
    }

    /// Whether the blob's bytes are what its name says, read in pieces.
    pub(super) fn verify(&self, digest: &Digest) -> Result<u64, StoreError> {
        let (mut file, stamp) =
            self.open(digest)?.ok_or_else(|| StoreError::integrity(digest, "is missing"))?;
        let found = hash(&mut file).map_err(|error| StoreError::blob(digest, &error))?;
        if found == *digest { Ok(stamp.size) } else { Err(StoreError::integrity(digest, "is damaged")) }
    }

    fn sync_one(&self, digest: &Digest, file: &File, dir: &OwnedFd) -> Result<(), StoreError> {
        file.sync_all().map_err(|error| StoreError::blob(digest, &error))?;
        sync_dir(dir, digest)?;
        self.sync_roots(digest)
    }

    /// Syncs a blob file; its directories are synced once per batch by [`Blobs::sync_prefix`] and
    /// [`Blobs::sync_roots`].
    pub(super) fn sync_file(&self, digest: &Digest) -> Result<(), StoreError> {
        let (file, _) = self.open(digest)?.ok_or_else(|| StoreError::integrity(digest, "is missing"))?;
        file.sync_all().map_err(|error| StoreError::blob(digest, &error))
    }

    pub(super) fn sync_prefix(&self, digest: &Digest) -> Result<(), StoreError> {
        sync_dir(&self.folder.prefix_dir(&digest.hex()[..2])?, digest)
    }

    pub(super) fn sync_roots(&self, digest: &Digest) -> Result<(), StoreError> {
        sync_dir(&self.folder.sha_dir(false)?, digest)
    }
}

fn sync_dir(dir: &OwnedFd, digest: &Digest) -> Result<(), StoreError> {
    nix::unistd::fsync(dir).map_err(|error| StoreError::blob(digest, &error))
}

/// Opens a blob's file without following a link; anything but a regular file is refused.
fn open_blob(dir: &OwnedFd, name: &str, digest: &Digest) -> Result<Option<File>, StoreError> {
    // O_NONBLOCK: a pipe put there must not hang us.
    let flags = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC | OFlag::O_NONBLOCK;
    let file = match openat(dir, name, flags, Mode::empty()) {
        Ok(file) => file,
        Err(Errno::ENOENT) => return Ok(None),
        Err(Errno::ELOOP) => return Err(StoreError::integrity(digest, "is a symbolic link")),
        Err(error) => return Err(StoreError::blob(digest, &error)),
    };
    let stat = fstat(&file).map_err(|error| StoreError::blob(digest, &error))?;
    if !is_regular(&stat) {
        return Err(StoreError::integrity(digest, "is not a regular file"));
    }
    Ok(Some(File::from(file)))
}

fn holds(file: &mut File, bytes: &[u8]) -> io::Result<bool> {
    if file.metadata()?.len() != bytes.len() as u64 {
        return Ok(false);
    }
    let mut at = 0;
    let mut chunk = [0; 8192];
    loop {
        let read = file.read(&mut chunk)?;
        if read == 0 {
            return Ok(at == bytes.len());
        }
        if bytes.get(at..at + read) != Some(&chunk[..read]) {
            return Ok(false);
        }
        at += read;
    }
}

pub(super) fn hash(file: &mut File) -> io::Result<Digest> {
    file.seek(SeekFrom::Start(0))?;
    let mut hasher = Sha256::new();
    let mut chunk = vec![0; CHUNK];
    loop {
        let read = file.read(&mut chunk)?;
        if read == 0 {
            return Ok(Digest::from_hasher(hasher));
        }
        hasher.update(&chunk[..read]);
    }
}

fn refresh(file: &File) {
    // A courtesy to the collector of the other program; nothing depends on it here.
    let _ = futimens(file, &TimeSpec::UTIME_NOW, &TimeSpec::UTIME_NOW);
}

/// A temporary file beside its blob; removed again unless it is published.
struct Temporary {
    dir: OwnedFd,
    name: String,
    file: File,
    published: bool,
}

impl Temporary {
    fn create(dir: &OwnedFd, stem: &str, digest: &Digest) -> Result<Self, StoreError> {
        let failed = |error: Errno| StoreError::blob(digest, &error);
        let own_dir = dir.as_fd().try_clone_to_owned().map_err(|error| StoreError::blob(digest, &error))?;
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        loop {
            let number = NEXT_TEMPORARY.fetch_add(1, Ordering::Relaxed);
            let name = format!("{stem}.{}.{number}.tmp", std::process::id());
            match openat(dir, name.as_str(), flags, Mode::S_IRUSR | Mode::S_IWUSR) {
                Ok(file) => return Ok(Self { dir: own_dir, name, file: File::from(file), published: false }),
                // Left by an earlier process with our number.
                Err(Errno::EEXIST) => {}
                Err(error) => return Err(failed(error)),
            }
        }
    }

    fn publish(mut self, dir: &OwnedFd, name: &str, digest: &Digest) -> Result<File, StoreError> {
        let file = self.file.try_clone().map_err(|error| StoreError::blob(digest, &error))?;
        match renameat(&self.dir, self.name.as_str(), dir, name) {
            Ok(()) => self.published = true,
            // `store.md` 4.1, step 5: what is there meanwhile will do, if it is right.
            Err(error) => {
                let mut found =
                    open_blob(dir, name, digest)?.ok_or_else(|| StoreError::blob(digest, &error))?;
                if hash(&mut found).ok() != Some(*digest) {
                    return Err(StoreError::blob(digest, &error));
                }
                return Ok(found);
            }
        }
        Ok(file)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.published {
            // It may be gone already; a leftover is only a leftover (`store.md` 11, item 5).
            let _ = unlinkat(&self.dir, self.name.as_str(), UnlinkatFlags::NoRemoveDir);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::PathBuf;

    fn folder() -> (tempfile::TempDir, Blobs) {
        let temp = tempfile::tempdir().unwrap();
        let folder = Folder::create(&temp.path().join("state")).unwrap();
        (temp, Blobs::new(Arc::new(folder)))
    }

    fn path(temp: &tempfile::TempDir, digest: &Digest) -> PathBuf {
        let hex = digest.hex();
        temp.path().join("state/blobs/sha256").join(&hex[..2]).join(&hex[2..])
    }

    #[test]
    fn a_blob_is_private_and_holds_exactly_the_bytes() {
        let (temp, blobs) = folder();
        let digest = Digest::of(b"{\"a\":1}");
        blobs.put(&digest, b"{\"a\":1}", Durability::Visible).unwrap();
        let path = path(&temp, &digest);
        assert_eq!(fs::read(&path).unwrap(), b"{\"a\":1}");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600);
        assert_eq!(blobs.read(&digest).unwrap().0, b"{\"a\":1}");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "no temporary file stays");
    }

    #[test]
    fn a_truncated_or_altered_blob_is_replaced_by_the_next_write() {
        let (temp, blobs) = folder();
        let digest = Digest::of(b"body");
        for damage in [&b"bo"[..], b"bodx", b""] {
            blobs.put(&digest, b"body", Durability::Synced).unwrap();
            fs::write(path(&temp, &digest), damage).unwrap();
            assert_eq!(blobs.verify(&digest).unwrap_err().code(), "integrity_failure");
            blobs.put(&digest, b"body", Durability::Visible).unwrap();
            assert_eq!(blobs.verify(&digest).unwrap(), 4);
        }
    }

    #[test]
    fn a_blob_or_prefix_directory_that_is_a_link_is_refused_for_reading_and_writing() {
        let (temp, blobs) = folder();
        let digest = Digest::of(b"body");
        let outside = temp.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("file"), "body").unwrap();
        let path = path(&temp, &digest);
        fs::create_dir(path.parent().unwrap()).unwrap();
        symlink(outside.join("file"), &path).unwrap();
        assert_eq!(blobs.read(&digest).unwrap_err().code(), "integrity_failure");
        assert_eq!(blobs.put(&digest, b"body", Durability::Visible).unwrap_err().code(), "integrity_failure");

        fs::remove_file(&path).unwrap();
        fs::remove_dir(path.parent().unwrap()).unwrap();
        symlink(&outside, path.parent().unwrap()).unwrap();
        fs::rename(outside.join("file"), outside.join(path.file_name().unwrap())).unwrap();
        assert_eq!(blobs.read(&digest).unwrap_err().code(), "state_directory_refused");
        assert_eq!(
            blobs.put(&digest, b"body", Durability::Visible).unwrap_err().code(),
            "state_directory_refused"
        );
    }

    #[test]
    fn a_streamed_blob_has_the_digest_of_all_its_bytes() {
        let (_temp, blobs) = folder();
        let log = vec![b'x'; CHUNK * 2 + 7];
        let (digest, size) = blobs.put_stream(&mut log.as_slice()).unwrap();
        assert_eq!((digest, size), (Digest::of(&log), log.len() as u64));
        assert_eq!(blobs.verify(&digest).unwrap(), size);
    }

    #[test]
    fn a_stream_that_fails_leaves_nothing_behind() {
        struct Broken(usize);
        impl Read for Broken {
            fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
                self.0 += 1;
                if self.0 > 2 { Err(io::Error::other("gone")) } else { Ok(into.len()) }
            }
        }
        let (temp, blobs) = folder();
        assert_eq!(blobs.put_stream(&mut Broken(0)).unwrap_err().code(), "storage_failure");
        assert_eq!(fs::read_dir(temp.path().join("state/blobs/sha256")).unwrap().count(), 0);
    }

    #[test]
    fn a_missing_blob_is_an_integrity_error_that_names_the_digest() {
        let (_temp, blobs) = folder();
        let error = blobs.read(&Digest::of(b"never written")).unwrap_err();
        assert_eq!(error.code(), "integrity_failure");
        assert!(error.to_string().contains(&Digest::of(b"never written").to_string()));
    }
}
