//! `telic demo`: three scripted agents on a small repository, from the question to the pushed branch.

mod headless;
mod world;

use super::output::print_line;
use super::{Failure, dashboard, session};
use crate::text::visible;
use clap::Args;
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::process::ExitCode;
use world::World;

/// Arguments of `telic demo`.
#[derive(Debug, Args)]
pub(super) struct DemoArguments {
    /// Make everything in this folder and keep it (default: a temporary folder that is removed at the end)
    #[arg(long, value_name = "PATH")]
    folder: Option<PathBuf>,
    /// Run without a terminal and print what happens
    #[arg(long)]
    headless: bool,
    /// Answer the question with this choice (headless)
    #[arg(long, value_name = "CHOICE", requires = "headless")]
    answer: Option<String>,
    /// Approve and publish what may be approved (headless)
    #[arg(long, requires = "headless")]
    approve: bool,
    /// Multiply every wait of the agents; 0 leaves them out
    #[arg(long, default_value_t = 1.0)]
    pace: f64,
}

pub(super) fn run(given: &DemoArguments, as_json: bool) -> Result<ExitCode, Failure> {
    if !(given.pace.is_finite() && (0.0..=100.0).contains(&given.pace)) {
        return Err(Failure::usage("--pace must be from 0 to 100"));
    }
    let terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    if !given.headless && !terminal {
        return Err(Failure::usage("the demo needs a terminal; without one use telic demo --headless"));
    }
    let temporary = match &given.folder {
        Some(_) => None,
        None => {
            let made = tempfile::Builder::new().prefix("telic-demo-").tempdir();
            Some(made.map_err(|error| Failure::coded("folder_failed", error))?)
        }
    };
    let folder = given.folder.clone().or_else(|| temporary.as_ref().map(|made| made.path().to_owned()));
    let folder = folder.ok_or_else(|| Failure::usage("the demo needs a folder"))?;
    let world = World::make(&folder, given.pace)?;
    let _log = session::log_to(&world.folder.join("logs"));
    let mut settings = session::settings(session::configuration()?, &world.repository)?;
    settings.config.agents.extend(world.agents(&settings.program));
    let store = world.open_store()?;
    let runs = world.submit(&settings, &store)?;
    let config = settings.config.clone();
    let code = if given.headless {
        let wishes = headless::Wishes { answer: given.answer.clone(), approve: given.approve, json: as_json };
        headless::watch(&settings, world.store_id(), store, &runs, &wishes)?
    } else {
        dashboard::show(&config, &settings, vec![(world.store_id(), store)])?
    };
    report(&world, temporary.is_none());
    Ok(code)
}

/// Says what stands in the remote at the end.
fn report(world: &World, kept: bool) {
    for branch in world.pushed() {
        print_line(&visible(&format!("pushed: {branch}")));
    }
    if kept {
        print_line(&visible(&format!("everything is kept in {}", world.folder.display())));
    }
}
