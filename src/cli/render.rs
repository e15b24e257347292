//! `telic render SCREEN`: one frame of a screen, without a terminal.

use super::Failure;
use super::output::print_line;
use super::place::PlaceArguments;
use super::stores::{self, Access};
use crate::service::snapshot::{EngineStatus, RunKey, Snapshot};
use crate::store::Digest;
use crate::tui::stage::Supply;
use crate::tui::time::Now;
use crate::tui::{Format, SCREENS, Still, render};
use clap::{Args, ValueEnum};
use std::process::ExitCode;
use std::sync::Arc;

/// The most of a log that is drawn, in bytes.
const LOG: usize = 1 << 20;

/// Arguments of `telic render`.
#[derive(Debug, Args)]
pub(super) struct RenderArguments {
    /// The screen
    #[arg(value_parser = SCREENS)]
    screen: String,
    /// The run to show (default: the one that home would select)
    #[arg(long)]
    run: Option<String>,
    /// Columns and rows
    #[arg(long, default_value = "120x35", value_parser = parse_size)]
    size: (u16, u16),
    /// The theme
    #[arg(long, default_value = "dark")]
    theme: String,
    /// What the frame becomes
    #[arg(long, value_enum, default_value = "text")]
    format: FrameFormat,
    /// Draw with plain ASCII
    #[arg(long)]
    ascii: bool,
    /// Draw the built-in sample instead of the local stores
    #[arg(long)]
    sample: bool,
}

/// What a frame becomes.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum FrameFormat {
    /// Letters only
    Text,
    /// Letters and colours
    Ansi,
    /// A picture
    Svg,
}

fn parse_size(text: &str) -> Result<(u16, u16), String> {
    let wrong = || format!("{text:?} is no size; write columns x rows, as 120x35");
    let (columns, rows) = text.split_once('x').ok_or_else(wrong)?;
    let side =
        |text: &str| text.parse::<u16>().ok().filter(|side| (1..=1000).contains(side)).ok_or_else(wrong);
    Ok((side(columns)?, side(rows)?))
}

pub(super) fn run(given: &RenderArguments, place: &PlaceArguments) -> Result<ExitCode, Failure> {
    let format = match given.format {
        FrameFormat::Text => Format::Text,
        FrameFormat::Ansi => Format::Ansi,
        FrameFormat::Svg => Format::Svg,
    };
    let (snapshot, supply, run, now) = if given.sample {
        (crate::tui::sample::snapshot(), crate::tui::sample::supply(), None, crate::tui::sample::now())
    } else {
        let (snapshot, run) = snapshot(given, place)?;
        let supply = supply(given, place, run.as_ref())?;
        (
            snapshot,
            supply,
            run,
            Now { wall: jiff::Timestamp::now(), steady: 0, zone: jiff::tz::TimeZone::system() },
        )
    };
    let still = Still {
        screen: given.screen.clone(),
        snapshot,
        run,
        supply,
        size: given.size,
        theme: given.theme.clone(),
        ascii: given.ascii,
        format,
        now,
    };
    let picture = render(still).map_err(|error| Failure::coded(error.code(), error))?;
    print_line(picture.trim_end_matches('\n'));
    Ok(ExitCode::SUCCESS)
}

fn snapshot(
    given: &RenderArguments,
    place: &PlaceArguments,
) -> Result<(Arc<Snapshot>, Option<RunKey>), Failure> {
    let (opened, faults) = stores::open(place, Access::Read)?;
    let mut rows = Vec::new();
    let mut infos = Vec::new();
    for queries in &opened {
        let (of_store, unreadable) = queries.rows()?;
        rows.extend(of_store);
        infos.push(queries.info(unreadable.into_iter().next()));
    }
    rows.sort_by(|a, b| b.updated_at.cmp(&a.updated_at));
    let run = match &given.run {
        Some(run) => Some(stores::find(place, Access::Read, run)?.1.key),
        None => rows.iter().find(|row| row.need.is_some()).or(rows.first()).map(|row| row.key.clone()),
    };
    let engine = EngineStatus { last_error: faults.into_iter().next(), ..EngineStatus::default() };
    let taken_at = crate::service::clock::now().to_string();
    let snapshot = Snapshot { generation: 1, taken_at, stores: infos, rows: Arc::new(rows), engine };
    Ok((Arc::new(snapshot), run))
}

/// Everything that the screen of a run may ask for.
fn supply(given: &RenderArguments, place: &PlaceArguments, run: Option<&RunKey>) -> Result<Supply, Failure> {
    let mut supply = Supply::default();
    let Some(key) = run else { return Ok(supply) };
    let (queries, _) = stores::find(place, Access::Read, given.run.as_deref().unwrap_or(&key.run))?;
    let detail = queries.detail(&key.run)?;
    let store = queries.views().store();
    let read = |digest: &str, most: usize| -> Option<Arc<[u8]>> {
        let mut blob = store.open_blob(&Digest::parse(digest).ok()?).ok()?;
        let size = usize::try_from(blob.size()).ok()?.min(most);
        Some(blob.range(0, size).ok()?.into())
    };
    if let Some(patch) = &detail.patch
        && let Some(bytes) = read(&patch.digest, usize::MAX)
    {
        supply.patches.insert(patch.digest.clone(), bytes);
    }
    for check in detail.verification.iter().flat_map(|report| &report.checks) {
        let Some(id) = &check.log else { continue };
        let artifact: Option<crate::domain::RunArtifact> =
            store.find_record(id).map_err(crate::service::ServiceError::from)?;
        if let Some(bytes) = artifact.and_then(|artifact| read(&artifact.sha256, LOG)) {
            supply.logs.insert(id.clone(), bytes);
        }
    }
    supply.details.insert(key.clone(), Arc::new(detail));
    Ok(supply)
}
