//! Connections to the ledger: their settings, waiting for other programs, and the pool of readers.
//!
//! The one place that opens the ledger file. What tables it must hold is `schema`'s part.

use std::ops::Deref;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};

use super::StoreError;
use super::folder::Folder;

/// How long a writer waits for the lock (`store.md` 3.1).
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_millis(5000);
/// Statements kept prepared per connection.
const STATEMENTS: usize = 96;
/// Readers kept open between uses.
const IDLE_READERS: usize = 4;

/// Locks a mutex; what it guards stays consistent even if a holder panicked, for transactions roll back.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a step again while other programs are in its way, for at most the busy timeout (`store.md` 11, item 3).
pub(super) fn patiently<T>(
    context: &'static str,
    mut step: impl FnMut() -> rusqlite::Result<T>,
) -> Result<T, StoreError> {
    let started = Instant::now();
    let mut pause = Duration::from_millis(2);
    loop {
        match step() {
            Ok(done) => return Ok(done),
            Err(error) => {
                let error = StoreError::from_sql(context, &error);
                if !matches!(error, StoreError::Locked { .. }) || started.elapsed() >= BUSY_TIMEOUT {
                    return Err(error);
                }
            }
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

/// Opens the connection that writes, with the settings of `store.md` 3.1, the busy timeout first.
pub(super) fn open_writer(folder: &Folder) -> Result<Connection, StoreError> {
    let context = "opening the ledger";
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW
        | OpenFlags::SQLITE_OPEN_EXRESCODE;
    let connection =
        Connection::open_with_flags(folder.ledger_path(), flags).map_err(StoreError::sql(context))?;
    connection.busy_timeout(BUSY_TIMEOUT).map_err(StoreError::sql(context))?;
    folder.private_ledger()?;
    let context_of_mode = "setting the ledger's journal mode";
    let mode: String = patiently(context_of_mode, || {
        connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))
    })?;
    if mode != "wal" {
        let detail = format!("it stays {mode}; the file system may not support shared memory");
        return Err(StoreError::Ledger { context: context_of_mode, detail });
    }
    patiently(context, || {
        connection.execute_batch(
            "PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 67108864;",
        )
    })?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(connection)
}

/// Opens a connection that only reads. `still` says that no other program has the ledger open: then nothing at all is
/// written, not even the log's index.
fn open_reader(path: &Path, still: bool) -> Result<Connection, StoreError> {
    let context = "opening the ledger for reading";
    let mut flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW
        | OpenFlags::SQLITE_OPEN_EXRESCODE;
    let connection = if still {
        flags |= OpenFlags::SQLITE_OPEN_URI;
        let mut uri = url::Url::from_file_path(path)
            .map_err(|()| StoreError::malformed("the ledger's path", "it is not absolute"))?;
        uri.set_query(Some("immutable=1"));
        Connection::open_with_flags(uri.as_str(), flags)
    } else {
        Connection::open_with_flags(path, flags)
    }
    .map_err(StoreError::sql(context))?;
    connection.busy_timeout(BUSY_TIMEOUT).map_err(StoreError::sql(context))?;
    connection.execute_batch("PRAGMA query_only = ON").map_err(StoreError::sql(context))?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(connection)
}

/// What a reader may expect of the ledger it reads; an older or foreign one lacks some of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    /// `trace_events` has its `permission_decision_json` column (`store.md` 3.4).
    pub(super) decisions: bool,
    /// telic's own tables are there.
    pub(super) own_tables: bool,
}

impl Shape {
    fn of(connection: &Connection) -> Result<Self, StoreError> {
        let failed = StoreError::sql("looking at the ledger's tables");
        let has = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, bool>(0)).map_err(failed);
        Ok(Self {
            decisions: has("SELECT EXISTS (SELECT 1 FROM pragma_table_info('trace_events')
                             WHERE name = 'permission_decision_json')")?,
            own_tables: has("SELECT EXISTS (SELECT 1 FROM sqlite_schema
                             WHERE type = 'table' AND name = 'telic_meta')")?,
        })
    }
}

type LedgerStamp = (i64, i64, i64, Option<i64>);

struct OpenReader {
    connection: Connection,
    shape: Shape,
    /// For a ledger nobody else has open: how the file looked when it was opened.
    still: Option<LedgerStamp>,
}

/// The readers of one ledger. A reader is taken for one use and given back.
pub(super) struct Readers {
    folder: Arc<Folder>,
    inspecting: bool,
    idle: Mutex<Vec<OpenReader>>,
}

impl Readers {
    pub(super) fn new(folder: Arc<Folder>, inspecting: bool) -> Self {
        Self { folder, inspecting, idle: Mutex::new(Vec::new()) }
    }

    pub(super) fn take(&self) -> Result<Reader<'_>, StoreError> {
        let stamp = self.inspecting.then(|| self.folder.ledger_stamp());
        let found = {
            let mut idle = lock(&self.idle);
            if stamp.is_some() {
                // What another program has begun to change must be read with its log.
                idle.retain(|reader| reader.still.is_none() || reader.still == stamp);
            }
            idle.pop()
        };
        let open = match found {
            Some(open) => open,
            None => self.open(stamp)?,
        };
        Ok(Reader { open: Some(open), home: self })
    }

    /// Opens a reader that stays with its user: a change of the ledger shows only on a connection that was there
    /// before it.
    pub(super) fn open_own(&self) -> Result<OwnReader, StoreError> {
        let open = self.open(self.inspecting.then(|| self.folder.ledger_stamp()))?;
        let mut reader = OwnReader { open, version: 0 };
        reader.version = reader.data_version()?;
        Ok(reader)
    }

    fn open(&self, stamp: Option<LedgerStamp>) -> Result<OpenReader, StoreError> {
        let still = stamp.filter(|(.., log)| log.is_none());
        let connection = open_reader(&self.folder.ledger_path(), still.is_some())?;
        let shape = Shape::of(&connection)?;
        Ok(OpenReader { connection, shape, still })
    }

    /// Closes the idle readers, so that the writer can be the last to close.
    pub(super) fn close(&self) {
        lock(&self.idle).clear();
    }
}

/// A reader in use.
pub(super) struct Reader<'a> {
    open: Option<OpenReader>,
    home: &'a Readers,
}

impl Reader<'_> {
    pub(super) fn shape(&self) -> Shape {
        self.open.as_ref().map_or(Shape { decisions: true, own_tables: true }, |open| open.shape)
    }
}

impl Deref for Reader<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.open.as_ref().expect("a reader is only given back when it is dropped").connection
    }
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        if let Some(open) = self.open.take() {
            let mut idle = lock(&self.home.idle);
            if idle.len() < IDLE_READERS {
                idle.push(open);
            }
        }
    }
}

/// A reader that notices changes.
pub(super) struct OwnReader {
    open: OpenReader,
    version: i64,
}

impl OwnReader {
    /// Changes whenever another connection, of whatever program, has committed.
    fn data_version(&self) -> Result<i64, StoreError> {
        self.open
            .connection
            .prepare_cached("PRAGMA data_version")
            .and_then(|mut ask| ask.query_row([], |row| row.get(0)))
            .map_err(StoreError::sql("looking for changes"))
    }

    /// Whether anything was committed since this was asked last.
    pub(super) fn has_changed(&mut self, home: &Readers) -> Result<bool, StoreError> {
        if self.open.still.is_some() {
            let stamp = home.folder.ledger_stamp();
            if self.open.still == Some(stamp) {
                return Ok(false);
            }
            *self = home.open_own()?;
            return Ok(true);
        }
        let version = self.data_version()?;
        let changed = version != self.version;
        self.version = version;
        Ok(changed)
    }

    pub(super) fn connection(&self) -> &Connection {
        &self.open.connection
    }

    pub(super) fn shape(&self) -> Shape {
        self.open.shape
    }
}
