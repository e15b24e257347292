//! The dashboard: state, update, view. It talks to the engine through channels only.
//!
//! One [`msg::Msg`] at a time reaches [`app::update`], which is pure and gives effects; [`view::view`] draws the
//! state and changes nothing. [`run::run`] is the loop around them, [`stage::Stage`] the same without a terminal.
//! Nothing here reads a store, a repository or a process: what a screen needs is asked of the engine over
//! [`crate::service::link`] and shown when it comes.

pub mod app;
pub mod diff;
pub mod glyphs;
mod guard;
pub mod home;
mod input;
pub mod keymap;
pub mod layers;
mod list;
mod log;
pub mod msg;
mod notices;
mod pacing;
mod parts;
mod picture;
pub mod render;
pub mod run;
pub mod sample;
pub mod screens;
pub mod stage;
pub mod theme;
pub mod time;
pub mod ui;
pub mod view;
mod worker;
pub mod world;

pub use render::{Format, RenderError, SCREENS, Still, render};
pub use run::{Ended, Options, TuiError, run};
