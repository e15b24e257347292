//! `telic runs`: the runs of the local stores.

use super::Failure;
use super::output::{print_json, print_line};
use super::place::PlaceArguments;
use super::stores::{self, Access};
use crate::service::snapshot::RunRow;
use crate::text::{truncate, visible, width};
use clap::Args;
use serde_json::json;
use std::process::ExitCode;

/// Arguments of `telic runs`.
#[derive(Debug, Args)]
pub(super) struct RunsArguments {
    /// Only runs that need a person
    #[arg(long)]
    needs_you: bool,
    /// How many runs, newest change first
    #[arg(long, default_value_t = 50)]
    limit: usize,
}

pub(super) fn run(arguments: &RunsArguments, place: &PlaceArguments) -> Result<ExitCode, Failure> {
    let (stores, mut faults) = stores::open(place, Access::Read)?;
    let mut rows = Vec::new();
    for queries in &stores {
        let (of_store, unreadable) = queries.rows()?;
        rows.extend(of_store);
        faults.extend(unreadable);
    }
    rows.retain(|row| !arguments.needs_you || row.need.is_some());
    rows.sort_by(|a, b| b.updated_at.cmp(&a.updated_at));
    rows.truncate(arguments.limit);
    if place.json {
        print_json(&json!({ "ok": true, "runs": rows, "faults": faults }))?;
        return Ok(ExitCode::SUCCESS);
    }
    if rows.is_empty() {
        print_line("no runs yet");
    }
    let wide = rows.iter().map(|row| width(&row.key.run)).max().unwrap_or(0);
    for row in &rows {
        print_line(&line(row, wide));
    }
    for fault in &faults {
        print_line(&visible(&format!("cannot be read: {fault}")));
    }
    Ok(ExitCode::SUCCESS)
}

fn line(row: &RunRow, wide: usize) -> String {
    let mark = match (&row.need, row.ended) {
        (Some(_), _) => '?',
        (None, false) => '>',
        (None, true) => ' ',
    };
    let id = visible(&row.key.run);
    let pad = " ".repeat(wide.saturating_sub(width(&id)));
    let repository = truncate(&visible(&row.repository), 16);
    let title = truncate(&visible(&row.title), 48);
    format!("{mark} {id}{pad}  {repository}  {title}  {}", visible(&row.sentence))
}
