//! `telic` without a command: the dashboard.

use super::Failure;
use super::place::PlaceArguments;
use super::{session, stores};
use crate::config::{Config, Glyphs};
use crate::engine;
use crate::paths::{self, Surroundings};
use crate::store::Store;
use crate::tui;
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::process::ExitCode;

pub(super) fn run(place: &PlaceArguments) -> Result<ExitCode, Failure> {
    if !(std::io::stdin().is_terminal() && std::io::stdout().is_terminal()) {
        return Err(Failure::usage("the dashboard needs a terminal; `telic runs` lists runs without one"));
    }
    let config = session::configuration()?;
    let folder = std::env::current_dir().map_err(|error| Failure::coded("working_dir", error))?;
    let surroundings = Surroundings::of_process().map_err(|error| Failure::coded(error.code(), error))?;
    let logs =
        paths::stores_dir(&surroundings).ok().and_then(|dir| dir.parent().map(|base| base.join("logs")));
    let _log = logs.as_deref().and_then(session::log_to);
    let stores = open(place)?;
    let settings = session::settings(config.clone(), &folder)?;
    show(&config, &settings, stores)
}

/// Opens the dashboard on stores, with an engine behind it.
///
/// # Errors
/// The terminal or the configuration of keys and theme fails.
pub(super) fn show(
    config: &Config,
    settings: &engine::Settings,
    stores: Vec<(String, Store)>,
) -> Result<ExitCode, Failure> {
    let options = tui::Options {
        theme: config.theme.clone(),
        ascii: config.glyphs == Some(Glyphs::Ascii),
        keys: config.keys.clone(),
        ..tui::Options::default()
    };
    let (link, engine) = engine::start(settings, stores);
    let ended = tui::run(link, &options);
    engine.join();
    match ended.map_err(|error| Failure::coded("dashboard_failed", error))? {
        tui::Ended::Quit => Ok(ExitCode::SUCCESS),
        tui::Ended::Signal(number) => Ok(ExitCode::from(u8::try_from(128 + number).unwrap_or(1))),
    }
}

/// Every local store, and that of the repository one stands in, which is made when it is not there yet.
fn open(place: &PlaceArguments) -> Result<Vec<(String, Store)>, Failure> {
    let mut folders: Vec<PathBuf> = stores::folders(place)?;
    if let Ok(here) = place.find()
        && here.repository.join(".git").exists()
        && paths::check_overlap(&here.repository, &here.state_dir).is_ok()
        && !folders.contains(&here.state_dir)
    {
        folders.push(here.state_dir);
    }
    let mut opened = Vec::new();
    for folder in folders {
        let store = Store::open(&folder).map_err(|error| Failure::coded(error.code(), error))?;
        opened.push((stores::store_id(&folder), store));
    }
    if opened.is_empty() {
        let text = "there is no store yet; start telic in a git repository, or try `telic demo`";
        return Err(Failure::coded("no_store", text));
    }
    Ok(opened)
}
