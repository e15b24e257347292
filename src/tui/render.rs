//! One frame of any screen without a terminal: for documentation, bug reports, tests and sharing.

use std::sync::Arc;

use super::app::act;
use super::glyphs::{ASCII, UNICODE};
use super::keymap::{Action, KeyChanges, Keymap, KeymapError};
use super::msg::Msg;
use super::picture;
use super::run::new_world;
use super::stage::{Stage, Supply};
use super::theme::{Depth, Theme, ThemeError};
use super::time::Now;
use super::world::Out;
use crate::service::snapshot::{RunKey, Snapshot};

/// The screens that can be drawn, by name.
pub const SCREENS: [&str; 16] = [
    "home",
    "overview",
    "permissions",
    "diff",
    "diff-split",
    "checks",
    "trace",
    "artifacts",
    "attempts",
    "session",
    "approval",
    "clarification",
    "help",
    "palette",
    "messages",
    "themes",
];

/// What a frame becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// Letters only.
    #[default]
    Text,
    /// Letters and SGR colours.
    Ansi,
    /// A picture.
    Svg,
}

/// A frame to draw.
pub struct Still {
    /// One of [`SCREENS`].
    pub screen: String,
    /// The state of the stores.
    pub snapshot: Arc<Snapshot>,
    /// The run to open; none to open the one selected at home.
    pub run: Option<RunKey>,
    /// Details, patches and logs that the screen may ask for.
    pub supply: Supply,
    /// Columns and rows.
    pub size: (u16, u16),
    /// Name of a built-in theme.
    pub theme: String,
    /// Whether to use plain ASCII signs.
    pub ascii: bool,
    /// What becomes of it.
    pub format: Format,
    /// The moment that ages are measured from.
    pub now: Now,
}

/// Why a frame cannot be drawn.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// No screen of that name.
    #[error("there is no screen `{0}`; there are {list}", list = SCREENS.join(", "))]
    UnknownScreen(String),
    /// No such run, or no run at all.
    #[error("there is no run to show on this screen")]
    NoRun,
    /// The theme.
    #[error(transparent)]
    Theme(#[from] ThemeError),
    /// The keys.
    #[error(transparent)]
    Keymap(#[from] KeymapError),
}

impl RenderError {
    /// Stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::UnknownScreen(_) => "render_unknown_screen",
            Self::NoRun => "render_no_run",
            Self::Theme(error) => error.code(),
            Self::Keymap(error) => error.code(),
        }
    }
}

/// Draws a frame.
///
/// # Errors
/// A [`RenderError`] for an unknown screen or theme, or where there is no run to show.
pub fn render(still: Still) -> Result<String, RenderError> {
    let format = still.format;
    let title = match still.screen.as_str() {
        "home" => "telic".to_owned(),
        screen => format!("telic: {screen}"),
    };
    let mut stage = stage(still)?;
    let frame = stage.frame();
    Ok(match format {
        Format::Text => picture::plain(&frame),
        Format::Ansi => picture::ansi(&frame),
        Format::Svg => picture::svg(&frame, &stage.app.world.theme, &title),
    })
}

/// A dashboard that stands on the screen of a frame.
///
/// # Errors
/// As [`render`].
pub fn stage(still: Still) -> Result<Stage, RenderError> {
    if !SCREENS.contains(&still.screen.as_str()) {
        return Err(RenderError::UnknownScreen(still.screen));
    }
    let theme = Theme::built_in(&still.theme, Depth::True)?;
    let keymap = Keymap::new(&KeyChanges::new())?;
    let glyphs = if still.ascii { ASCII } else { UNICODE };
    let world = new_world(theme, glyphs, keymap, still.now, still.size);
    let mut stage = Stage::new(world, still.snapshot, still.supply);
    let overlay = match still.screen.as_str() {
        "help" => Some(Action::Help),
        "palette" => Some(Action::Palette),
        "messages" => Some(Action::Messages),
        "themes" => Some(Action::Themes),
        _ => None,
    };
    if still.screen != "home" && (overlay.is_none() || still.run.is_some()) {
        open(&mut stage, &still.screen, still.run)?;
    }
    if let Some(action) = overlay {
        stage_act(&mut stage, action);
    }
    Ok(stage)
}

fn open(stage: &mut Stage, screen: &str, run: Option<RunKey>) -> Result<(), RenderError> {
    let key = match run {
        Some(key) => key,
        None => stage.app.home.selected(&stage.app.world).ok_or(RenderError::NoRun)?.key.clone(),
    };
    if stage.app.world.snapshot.row(&key).is_none() {
        return Err(RenderError::NoRun);
    }
    stage.app.open_run(key);
    stage.take(Msg::Tick);
    if screen != "clarification" {
        stage.app.layers.clear();
    }
    stage.wait(super::app::GUARD + 1);
    let action = match screen {
        "permissions" => Action::Tab2,
        "diff" | "diff-split" => Action::Tab3,
        "checks" => Action::Tab4,
        "trace" => Action::Tab5,
        "artifacts" => Action::Tab6,
        "attempts" => Action::Tab7,
        "session" => Action::Tab8,
        "approval" => Action::OpenApproval,
        "clarification" if stage.app.layers.is_empty() => Action::Answer,
        _ => return Ok(()),
    };
    stage_act(stage, action);
    if screen == "diff-split" {
        stage_act(stage, Action::SideBySide);
    }
    Ok(())
}

/// Does an action as if its key had been pressed, and what follows from it.
fn stage_act(stage: &mut Stage, action: Action) {
    let mut out = Out { ticket: stage.app.ticket, ..Out::default() };
    act(&mut stage.app, action, &mut out);
    stage.app.ticket = out.ticket;
    stage.app.queued.append(&mut out.go);
    stage.take(Msg::Tick);
}
