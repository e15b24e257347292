//! Reading telic's own records back, typed. A ledger that no telic has opened for writing has none.

use rusqlite::{OptionalExtension, Row};

use super::own::Record;
use super::{Store, StoreError};

fn read_row<T: Record>(row: &Row<'_>) -> rusqlite::Result<Result<T, StoreError>> {
    let (id, body): (String, String) = (row.get(0)?, row.get(1)?);
    Ok(serde_json::from_str(&body)
        .map_err(|error| StoreError::malformed(format!("{} {id}", T::KIND.name), error.to_string())))
}

impl Store {
    /// The record with this id.
    ///
    /// # Errors
    /// [`StoreError::RecordNotFound`]; [`StoreError::Malformed`] when the row cannot be read.
    pub fn record<T: Record>(&self, id: &str) -> Result<T, StoreError> {
        self.find_record(id)?
            .ok_or_else(|| StoreError::RecordNotFound { kind: T::KIND.name, id: id.to_owned() })
    }

    /// The record with this id, if there is one.
    ///
    /// # Errors
    /// [`StoreError::Malformed`] when the row cannot be read.
    pub fn find_record<T: Record>(&self, id: &str) -> Result<Option<T>, StoreError> {
        Ok(self.select("WHERE id = ?1", (id,))?.pop())
    }

    /// The records of a run, in the order they were inserted.
    ///
    /// # Errors
    /// [`StoreError::Malformed`] when a row cannot be read.
    pub fn records_of_run<T: Record>(&self, run_id: &str) -> Result<Vec<T>, StoreError> {
        self.select("WHERE run_id = ?1 ORDER BY position", (run_id,))
    }

    /// The record of a run that was inserted last.
    ///
    /// # Errors
    /// [`StoreError::Malformed`] when a row cannot be read.
    pub fn latest_of_run<T: Record>(&self, run_id: &str) -> Result<Option<T>, StoreError> {
        Ok(self.select("WHERE run_id = ?1 ORDER BY position DESC LIMIT 1", (run_id,))?.pop())
    }

    /// The records of a task, in the order they were inserted.
    ///
    /// # Errors
    /// [`StoreError::Malformed`] when a row cannot be read.
    pub fn records_of_task<T: Record>(&self, task_id: &str) -> Result<Vec<T>, StoreError> {
        self.select("WHERE task_id = ?1 ORDER BY position", (task_id,))
    }

    /// The records that hang under this one, in the order they were inserted.
    ///
    /// # Errors
    /// [`StoreError::Malformed`] when a row cannot be read.
    pub fn records_under<T: Record>(&self, parent_id: &str) -> Result<Vec<T>, StoreError> {
        self.select("WHERE parent_id = ?1 ORDER BY position", (parent_id,))
    }

    /// The records with one of these statuses, in the order they were inserted.
    ///
    /// # Errors
    /// [`StoreError::Malformed`] when a row cannot be read.
    pub fn records_with_status<T: Record>(&self, statuses: &[&str]) -> Result<Vec<T>, StoreError> {
        let statuses = serde_json::Value::from(statuses).to_string();
        self.select("WHERE status IN (SELECT value FROM json_each(?1)) ORDER BY position", (statuses,))
    }

    /// The records that were inserted last, newest first, after skipping `offset` of them.
    ///
    /// # Errors
    /// [`StoreError::Malformed`] when a row cannot be read.
    pub fn latest_records<T: Record>(&self, offset: u32, limit: u32) -> Result<Vec<T>, StoreError> {
        self.select("ORDER BY position DESC LIMIT ?1 OFFSET ?2", (limit, offset))
    }

    fn select<T: Record>(&self, tail: &str, params: impl rusqlite::Params) -> Result<Vec<T>, StoreError> {
        let failed = StoreError::sql("reading records");
        let reader = self.core().readers.take()?;
        if !reader.shape().own_tables {
            return Ok(Vec::new());
        }
        let sql = format!("SELECT id, body FROM {} {tail}", T::KIND.table());
        let mut select = reader.prepare_cached(&sql).map_err(failed)?;
        let rows = select.query_map(params, read_row).map_err(failed)?;
        rows.map(|row| row.map_err(failed)?).collect()
    }

    /// The events of the supervision after a place in the global order, ascending, at most `limit`, as JSON with
    /// their sequences; those of one run only when `run_id` is given.
    pub(super) fn event_bodies(
        &self,
        after: i64,
        limit: u32,
        run_id: Option<&str>,
    ) -> Result<Vec<(i64, String)>, StoreError> {
        let failed = StoreError::sql("reading events");
        let reader = self.core().readers.take()?;
        if !reader.shape().own_tables {
            return Ok(Vec::new());
        }
        let filter = if run_id.is_some() { "run_id = ?3" } else { "?3 IS NULL" };
        let sql = format!(
            "SELECT sequence, body FROM telic_events WHERE sequence > ?1 AND {filter} ORDER BY sequence LIMIT ?2"
        );
        let mut select = reader.prepare_cached(&sql).map_err(failed)?;
        let rows =
            select.query_map((after, limit, run_id), |row| Ok((row.get(0)?, row.get(1)?))).map_err(failed)?;
        rows.map(|row| row.map_err(failed)).collect()
    }

    /// The body of a run's current lease, and of every lease still held that ran out by `now`.
    pub(super) fn lease_bodies(&self, filter: &str, value: &str) -> Result<Vec<String>, StoreError> {
        let failed = StoreError::sql("reading leases");
        let reader = self.core().readers.take()?;
        if !reader.shape().own_tables {
            return Ok(Vec::new());
        }
        let mut select = reader
            .prepare_cached(&format!("SELECT body FROM telic_leases WHERE {filter}"))
            .map_err(failed)?;
        let rows = select.query_map([value], |row| row.get(0)).map_err(failed)?;
        rows.map(|row| row.map_err(failed)).collect()
    }

    /// A small fact stored under this key.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn fact(&self, key: &str) -> Result<Option<String>, StoreError> {
        let reader = self.core().readers.take()?;
        if !reader.shape().own_tables {
            return Ok(None);
        }
        reader
            .prepare_cached("SELECT value FROM telic_facts WHERE key = ?1")
            .and_then(|mut select| select.query_row([key], |row| row.get(0)).optional())
            .map_err(StoreError::sql("reading a fact"))
    }
}
