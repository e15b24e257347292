//! From the terminal's events to actions: what may act now, what is text, what is swallowed.
//!
//! The rules that keep decisions from happening by accident stand here: only the top layer sees a key; a modal
//! that appeared by itself is deaf at first; pasted text is text and fires no key; a click that brings the
//! window into focus is swallowed; the mouse selects and scrolls, it decides nothing.

use crossterm::event::{
    KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};

use super::app::{App, GUARD, act};
use super::keymap::{Action, Chord};
use super::msg::Effect;
use super::view::Hit;
use super::world::{Go, Out};

/// Most characters that are taken from one paste.
pub const PASTE_LIMIT: usize = 64 * 1024;

/// Milliseconds after getting the focus in which a click only brought the window forward.
const FOCUS_CLICK: u64 = 250;

/// A key was pressed.
pub fn key(app: &mut App, event: KeyEvent, out: &mut Out) {
    if event.kind == KeyEventKind::Release {
        return;
    }
    app.notices.dismiss();
    if event.code == KeyCode::Char('z') && event.modifiers == KeyModifiers::CONTROL {
        out.effects.push(Effect::Suspend);
        return;
    }
    let now = app.world.now.steady;
    if let Some(top) = app.layers.last_mut().filter(|top| top.guard_until > now) {
        top.guard_until = now + GUARD;
        return;
    }
    let scopes = app.scopes();
    match app.world.keymap.action(&scopes, Chord::of(event)) {
        Some(action) => act(app, action, out),
        None => typed(app, event, out),
    }
}

/// A key that is bound to nothing goes to the text field that is open, if one is.
fn typed(app: &mut App, event: KeyEvent, out: &mut Out) {
    if event.code == KeyCode::Char('c') && event.modifiers == KeyModifiers::CONTROL {
        // A way out of every text field and modal.
        if app.layers.pop().is_none() {
            leave_field(app, out);
        }
        return;
    }
    if let Some(top) = app.layers.last_mut() {
        top.layer.typed(event, out);
    } else if let Some(run) = &mut app.run {
        run.typed(event);
    } else {
        app.home.typed(event, &app.world, out);
    }
}

fn leave_field(app: &mut App, out: &mut Out) {
    let writing = app.run.as_ref().is_some_and(|run| run.shown_page().is_some());
    act(app, if writing { Action::Leave } else { Action::Clear }, out);
}

/// Text was pasted: it goes to the open text field, or nowhere.
pub fn paste(app: &mut App, text: &str, out: &mut Out) {
    let end = text.char_indices().nth(PASTE_LIMIT).map_or(text.len(), |(at, _)| at);
    let taken = &text[..end];
    let accepted = if let Some(top) = app.layers.last_mut() {
        top.guard_until <= app.world.now.steady && top.layer.pasted(taken, out)
    } else if let Some(run) = &mut app.run {
        run.pasted(taken)
    } else {
        app.home.pasted(taken, &app.world, out)
    };
    if !accepted {
        out.say("Pasted text was dropped: no text field is open");
    } else if end < text.len() {
        out.say(format!("Only the first {PASTE_LIMIT} characters were pasted"));
    }
}

/// The mouse did something.
pub fn mouse(app: &mut App, event: MouseEvent, out: &mut Out) {
    let now = app.world.now.steady;
    match event.kind {
        MouseEventKind::ScrollUp => wheel(app, Action::Up, out),
        MouseEventKind::ScrollDown => wheel(app, Action::Down, out),
        MouseEventKind::Down(MouseButton::Left) => {
            if !app.focus.0 || (app.focus.1 > 0 && now.saturating_sub(app.focus.1) < FOCUS_CLICK) {
                return;
            }
            if app.layers.last().is_some_and(|top| top.guard_until > now) {
                return;
            }
            if let Some(hit) = app.hits.at(event.column, event.row) {
                click(app, hit, out);
            }
        }
        _ => {}
    }
}

fn wheel(app: &mut App, action: Action, out: &mut Out) {
    if app.layers.last().is_some_and(|top| !top.layer.scrolls()) {
        return;
    }
    for _ in 0..3 {
        act(app, action, out);
    }
}

fn click(app: &mut App, hit: Hit, out: &mut Out) {
    match (hit, app.layers.last_mut()) {
        (Hit::Choice(index), Some(top)) => top.layer.select(index),
        (_, Some(_)) | (Hit::Choice(_), None) => {}
        (Hit::Tab(tab), None) => out.go(Go::Tab(tab)),
        (Hit::Line(index), None) => match &mut app.run {
            Some(run) => run.select(index, &app.world),
            None => app.home.select(index, &app.world),
        },
    }
}

/// What `y` copies here.
#[must_use]
pub fn copyable(app: &App) -> Option<String> {
    match &app.run {
        Some(run) => Some(run.key.run.clone()),
        None => app.home.selected(&app.world).map(|row| row.key.run.clone()),
    }
}
