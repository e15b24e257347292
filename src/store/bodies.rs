//! Bodies: blobs parsed and checked against their digests, kept in a bounded cache (`store.md` 4.2; 11, item 7).

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::sync::{Arc, Mutex};

use serde_json::Value;

use super::blobs::{self, Blobs, Durability, Stamp};
use super::canonical_json::canonical_json;
use super::connection::lock;
use super::{ArtifactRecord, Body, Digest, Store, StoreError, json_text};

/// Bytes of text whose parsed bodies are kept.
const CACHE_BYTES: u64 = 48 << 20;

/// Bytes a body's file may have; canonical text has at most 2 MiB, but it may have been written otherwise.
const READ_LIMIT: u64 = 16 << 20;

struct Kept {
    value: Arc<Value>,
    stamp: Stamp,
    used: u64,
}

#[derive(Default)]
struct Cache {
    kept: HashMap<Digest, Kept>,
    bytes: u64,
    clock: u64,
}

impl Cache {
    fn get(&mut self, digest: &Digest, stamp: Stamp) -> Option<Arc<Value>> {
        self.clock += 1;
        let kept = self.kept.get_mut(digest).filter(|kept| kept.stamp == stamp)?;
        kept.used = self.clock;
        Some(Arc::clone(&kept.value))
    }

    fn keep(&mut self, digest: Digest, stamp: Stamp, value: &Arc<Value>) {
        self.clock += 1;
        let kept = Kept { value: Arc::clone(value), stamp, used: self.clock };
        self.bytes += stamp.size;
        if let Some(old) = self.kept.insert(digest, kept) {
            self.bytes -= old.stamp.size;
        }
        if self.bytes > CACHE_BYTES {
            self.shrink();
        }
    }

    /// Forgets the least recently used bodies until a quarter is free.
    fn shrink(&mut self) {
        let mut ages: Vec<(u64, Digest)> =
            self.kept.iter().map(|(digest, kept)| (kept.used, *digest)).collect();
        ages.sort_unstable();
        for (_, digest) in ages {
            if self.bytes <= CACHE_BYTES / 4 * 3 {
                break;
            }
            if let Some(old) = self.kept.remove(&digest) {
                self.bytes -= old.stamp.size;
            }
        }
    }
}

/// The checked bodies of one store.
pub(super) struct Bodies {
    blobs: Blobs,
    cache: Mutex<Cache>,
}

impl Bodies {
    pub(super) fn new(blobs: Blobs) -> Self {
        Self { blobs, cache: Mutex::default() }
    }

    /// The parsed body, from the cache when its file has not changed since it was checked.
    pub(super) fn value(&self, digest: &Digest) -> Result<Arc<Value>, StoreError> {
        let (mut file, stamp) =
            self.blobs.open(digest)?.ok_or_else(|| StoreError::integrity(digest, "is missing"))?;
        if let Some(value) = lock(&self.cache).get(digest, stamp) {
            return Ok(value);
        }
        if stamp.size > READ_LIMIT {
            return Err(StoreError::integrity(digest, format!("is larger than {READ_LIMIT} bytes")));
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(|error| StoreError::blob(digest, &error))?;
        let value = Arc::new(checked_value(digest, &bytes)?);
        lock(&self.cache).keep(*digest, stamp, &value);
        Ok(value)
    }

    /// The canonical text of the body.
    pub(super) fn text(&self, digest: &Digest) -> Result<String, StoreError> {
        let (bytes, _) = self.blobs.read(digest)?;
        if Digest::of(&bytes) == *digest {
            return String::from_utf8(bytes).map_err(|_| StoreError::integrity(digest, "is not UTF-8"));
        }
        checked_text(digest, &bytes).map(|(text, _)| text)
    }
}

/// Accepts the bytes at once when their digest is right, and otherwise what they mean (`store.md` 4.2).
fn checked_value(digest: &Digest, bytes: &[u8]) -> Result<Value, StoreError> {
    if Digest::of(bytes) != *digest {
        return checked_text(digest, bytes).map(|(_, json)| json.into_lossy());
    }
    match serde_json::from_slice(bytes) {
        Ok(value) => Ok(value),
        // Deeper than that parser goes, or with an unpaired surrogate (`store.md` 5.4).
        Err(_) => Ok(parsed(digest, bytes)?.into_lossy()),
    }
}

fn checked_text(digest: &Digest, bytes: &[u8]) -> Result<(String, json_text::Json), StoreError> {
    let json = parsed(digest, bytes)?;
    let text = canonical_json(&json).map_err(|error| StoreError::integrity(digest, error.to_string()))?;
    if Digest::of(text.as_bytes()) == *digest {
        Ok((text, json))
    } else {
        Err(StoreError::integrity(digest, "does not match its digest"))
    }
}

fn parsed(digest: &Digest, bytes: &[u8]) -> Result<json_text::Json, StoreError> {
    json_text::parse(bytes).map_err(|error| StoreError::integrity(digest, format!("cannot be read: {error}")))
}

/// A blob whose bytes were checked when it was opened; reads give any part of it.
#[derive(Debug)]
pub struct BlobReader {
    file: File,
    size: u64,
    digest: Digest,
}

impl BlobReader {
    /// Size in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Up to `length` bytes from `offset`; fewer at the end, none beyond it.
    ///
    /// # Errors
    /// [`StoreError::Blob`] when the file cannot be read.
    pub fn range(&mut self, offset: u64, length: usize) -> Result<Vec<u8>, StoreError> {
        let failed = |error: std::io::Error| StoreError::blob(&self.digest, &error);
        let length = (length as u64).min(self.size.saturating_sub(offset));
        let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
        self.file.seek(SeekFrom::Start(offset)).map_err(failed)?;
        Read::by_ref(&mut self.file).take(length).read_to_end(&mut bytes).map_err(failed)?;
        Ok(bytes)
    }
}

impl Store {
    /// The body of an artifact, its digest checked, shared with other callers.
    ///
    /// An unpaired surrogate in it is shown as U+FFFD here; [`Store::body_text`] has it exactly.
    ///
    /// # Errors
    /// [`StoreError::Integrity`] when the body is missing, damaged or not the one the row names.
    pub fn body(&self, artifact: &ArtifactRecord) -> Result<Arc<Value>, StoreError> {
        self.core().bodies.value(&artifact.digest()?)
    }

    /// The canonical text of an artifact's body, its digest checked.
    ///
    /// # Errors
    /// As [`Store::body`].
    pub fn body_text(&self, artifact: &ArtifactRecord) -> Result<String, StoreError> {
        self.core().bodies.text(&artifact.digest()?)
    }

    /// Stores a canonical document under its digest, synced, without a row that names it; for what a record names.
    ///
    /// # Errors
    /// [`StoreError::Blob`] when the folder cannot be written.
    pub fn put_document(&self, body: &Body) -> Result<(), StoreError> {
        if self.is_read_only() {
            return Err(StoreError::ReadOnly);
        }
        self.core().blobs.put(&body.digest(), body.text().as_bytes(), Durability::Synced)
    }

    /// A stored document, its digest checked, shared with other callers.
    ///
    /// # Errors
    /// As [`Store::body`].
    pub fn document(&self, digest: &Digest) -> Result<Arc<Value>, StoreError> {
        self.core().bodies.value(digest)
    }

    /// Streams `source` into the blob folder. Returns the digest and the size in bytes; both file and directory are
    /// on the disk then.
    ///
    /// # Errors
    /// [`StoreError::Blob`] when `source` fails or the folder cannot be written; nothing stays behind.
    pub fn put_blob(&self, source: &mut dyn Read) -> Result<(Digest, u64), StoreError> {
        if self.is_read_only() {
            return Err(StoreError::ReadOnly);
        }
        self.core().blobs.put_stream(source)
    }

    /// The size of a blob in bytes, nothing when it is missing. The content is not looked at.
    ///
    /// # Errors
    /// [`StoreError::Blob`] when its place cannot be read.
    pub fn blob_size(&self, digest: &Digest) -> Result<Option<u64>, StoreError> {
        Ok(self.core().blobs.open(digest)?.map(|(_, stamp)| stamp.size))
    }

    /// Opens a blob of any size after checking all of its bytes.
    ///
    /// # Errors
    /// [`StoreError::Integrity`] when it is missing, damaged or not a regular file.
    pub fn open_blob(&self, digest: &Digest) -> Result<BlobReader, StoreError> {
        let found = self.core().blobs.open(digest)?;
        let (mut file, stamp) = found.ok_or_else(|| StoreError::integrity(digest, "is missing"))?;
        let is = blobs::hash(&mut file).map_err(|error| StoreError::blob(digest, &error))?;
        if is != *digest {
            return Err(StoreError::integrity(digest, "does not match its digest"));
        }
        Ok(BlobReader { file, size: stamp.size, digest: *digest })
    }
}
