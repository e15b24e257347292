//! The dashboard's state and its one pure transition: a message in, effects out.
//!
//! Owns the order in which things are asked (top modal, tab, run, home, everything else) and what a change of
//! place means. Screens own their state and actions, `input` turns keys, mouse and paste into actions.

use super::home::Home;
use super::input;
use super::keymap::{Action, Scope};
use super::layers::{self, Confirm, Layer, Palette, Reader, ThemePicker};
use super::msg::{Effect, Msg, Work};
use super::notices::Notices;
use super::screens::{RunView, Tab};
use super::time::Now;
use super::view::Hits;
use super::world::{DiffSlot, Go, Out, World};
use crate::service::link::{Command, Reply};
use crate::service::snapshot::RunKey;

/// Milliseconds for which a modal that appeared by itself takes no key.
pub const GUARD: u64 = 400;

/// The whole state.
pub struct App {
    /// What every screen reads.
    pub world: World,
    /// The list of runs.
    pub home: Home,
    /// The open run.
    pub run: Option<RunView>,
    /// The modals, the top one last.
    pub layers: Vec<Opened>,
    /// Toasts and the message log.
    pub notices: Notices,
    /// What can be clicked in the frame that was drawn last.
    pub hits: Hits,
    /// Whether the terminal's window has the focus, and since when.
    pub focus: (bool, u64),
    /// Ticket of the last request.
    pub ticket: u64,
    /// Changes of place that wait for the next message.
    pub queued: Vec<Go>,
}

/// A modal and how it came.
pub struct Opened {
    /// The modal.
    pub layer: Layer,
    /// Until when it takes no key, on the steady clock.
    pub guard_until: u64,
}

impl App {
    /// A dashboard that has seen nothing yet.
    #[must_use]
    pub fn new(world: World) -> App {
        let mut home = Home::default();
        home.refresh(&world);
        App {
            world,
            home,
            run: None,
            layers: Vec::new(),
            notices: Notices::default(),
            hits: Hits::default(),
            focus: (true, 0),
            ticket: 0,
            queued: Vec::new(),
        }
    }

    /// Opens a run with the next message.
    pub fn open_run(&mut self, key: RunKey) {
        self.queued.push(Go::Run(key, Tab::Overview));
    }

    /// The scopes in which a key is looked up now, innermost first.
    #[must_use]
    pub fn scopes(&self) -> Vec<Scope> {
        if let Some(top) = self.layers.last() {
            return top.layer.scopes();
        }
        let mut scopes = match &self.run {
            Some(run) => run.scopes(),
            None => self.home.scopes(),
        };
        if !matches!(scopes.first(), Some(Scope::Field | Scope::Editor)) {
            scopes.extend([Scope::Motion, Scope::Global]);
        }
        scopes
    }

    /// Whether the footer offers an action: those that have nothing to act on now are left out.
    #[must_use]
    pub fn offers(&self, action: Action) -> bool {
        let detail = self.world.detail.as_ref();
        match action {
            Action::Answer => {
                detail.is_some_and(|detail| detail.clarification.is_some() || !detail.tool_calls.is_empty())
            }
            Action::OpenApproval => detail.is_some_and(|detail| detail.approval.is_some()),
            _ => true,
        }
    }

    /// Milliseconds until something changes on the screen by itself; none when nothing will.
    #[must_use]
    pub fn next_tick(&self) -> Option<u64> {
        let now = self.world.now.steady;
        let minute = 60_000 - self.world.now.wall.as_millisecond().rem_euclid(60_000).unsigned_abs();
        let guard = self.layers.last().and_then(|top| top.guard_until.checked_sub(now)).filter(|ms| *ms > 0);
        let look = self.run.as_ref().and_then(|run| run.next_look(&self.world));
        [Some(minute), guard, look, self.notices.next_change(now)].into_iter().flatten().min()
    }

    /// Puts a modal on top. One that appears by itself is deaf for a moment.
    pub fn open(&mut self, layer: Layer, by_itself: bool) {
        let guard_until = if by_itself { self.world.now.steady + GUARD } else { 0 };
        self.layers.push(Opened { layer, guard_until });
    }
}

/// Takes one message in and gives what is to be done.
pub fn update(app: &mut App, now: Now, msg: Msg) -> Vec<Effect> {
    app.world.now = now;
    app.notices.expire(app.world.now.steady);
    let go = std::mem::take(&mut app.queued);
    let mut out = Out { ticket: app.ticket, go, ..Out::default() };
    match msg {
        Msg::Key(event) => input::key(app, event, &mut out),
        Msg::Paste(text) => input::paste(app, &text, &mut out),
        Msg::Mouse(event) => input::mouse(app, event, &mut out),
        Msg::Resize(columns, rows) => app.world.size = (columns, rows),
        Msg::Focus(gained) => app.focus = (gained, app.world.now.steady),
        Msg::Snapshot(snapshot) => snapshot_came(app, snapshot, &mut out),
        Msg::Reply(reply) => reply_came(app, reply, &mut out),
        Msg::Worked(work) => worked(app, work, &mut out),
        Msg::Tick => {}
    }
    settle(app, &mut out);
    app.ticket = out.ticket;
    out.effects
}

/// Carries out changes of place until none is left, then asks for what the screen needs to be drawn.
fn settle(app: &mut App, out: &mut Out) {
    while !out.go.is_empty() {
        for go in std::mem::take(&mut out.go) {
            travel(app, go, out);
        }
    }
    if let Some(run) = &mut app.run {
        run.want(&mut app.world, out);
    } else if let Some(key) = app.home.previewed(&app.world) {
        follow(&mut app.world, key, out);
    }
    for text in std::mem::take(&mut out.say) {
        app.notices.add(app.world.now.wall, app.world.now.steady, text);
    }
}

/// Follows this run from now on, in place of another one.
fn follow(world: &mut World, key: RunKey, out: &mut Out) {
    if world.following.as_ref() != Some(&key) {
        world.detail = None;
        world.diff = DiffSlot::default();
        world.log = None;
        world.following = Some(key.clone());
        out.send(Command::Follow(key));
    }
}

fn travel(app: &mut App, go: Go, out: &mut Out) {
    match go {
        Go::Back => back(app),
        Go::Run(key, tab) => {
            if app.run.as_ref().is_none_or(|run| run.key != key) {
                app.run = Some(RunView::new(key.clone()));
            }
            follow(&mut app.world, key, out);
            if let Some(run) = &mut app.run {
                run.show_tab(tab);
            }
            offer_question(app);
        }
        Go::Tab(tab) => {
            if let Some(run) = &mut app.run {
                run.show_tab(tab);
            }
        }
        Go::Approval => {
            if let Some(run) = &mut app.run {
                run.open_approval(&app.world, out);
            }
        }
        Go::Open(layer) => app.open(layer, false),
        Go::Close => _ = app.layers.pop(),
        Go::Later(id) => {
            if let Some(run) = &mut app.run {
                run.later.insert(id);
            }
        }
        Go::Act(action) => act(app, action, out),
        Go::Confirmed(Action::Quit) => out.effects.push(Effect::Quit),
        Go::Confirmed(action) => {
            if let Some(run) = &mut app.run {
                run.confirmed(action, &app.world, out);
            }
        }
        Go::Theme(theme) => app.world.theme = theme,
    }
}

fn back(app: &mut App) {
    match &mut app.run {
        Some(run) => {
            if !run.back() {
                app.run = None;
            }
        }
        None => ask_to_quit(app),
    }
}

fn ask_to_quit(app: &mut App) {
    let leases = app.world.snapshot.engine.leases;
    let detail = match leases {
        0 => "Runs that wait for you keep waiting.".to_owned(),
        1 => "The engine here holds 1 lease; its run goes on when an engine runs again.".to_owned(),
        n => format!("The engine here holds {n} leases; their runs go on when an engine runs again."),
    };
    let confirm = Confirm::new(Action::Quit, Scope::Global, "Leave telic?", &detail);
    app.open(Layer::Confirm(confirm), false);
}

/// Does an action: the innermost that knows it takes it.
pub fn act(app: &mut App, action: Action, out: &mut Out) {
    if let Some(top) = app.layers.last_mut() {
        layers::act(&mut top.layer, action, &app.world, out);
        return;
    }
    let taken = match &mut app.run {
        Some(run) => run.act(action, &mut app.world, out),
        None => app.home.act(action, &app.world, out),
    };
    if taken {
        return;
    }
    match action {
        Action::Back => back(app),
        Action::Help => {
            let scopes = app.scopes();
            app.open(Layer::Reader(Reader::help(&app.world, &scopes)), false);
        }
        Action::Palette => {
            let scopes = app.scopes();
            app.open(Layer::Palette(Palette::new(&app.world, &scopes)), false);
        }
        Action::Messages => app.open(Layer::Reader(Reader::messages(&app.world, &app.notices)), false),
        Action::Themes => app.open(Layer::Themes(ThemePicker::new(&app.world)), false),
        Action::Refresh => {
            out.send(Command::Refresh);
            out.say("Looking at the stores again");
        }
        Action::Copy => match input::copyable(app) {
            Some(id) => out.effects.push(Effect::Copy(id)),
            None => out.say("Nothing to copy here"),
        },
        Action::Quit => ask_to_quit(app),
        action => {
            let entry = super::keymap::Keymap::entry(action);
            out.say(format!("Not here: {}", entry.words));
        }
    }
}

fn snapshot_came(app: &mut App, snapshot: std::sync::Arc<crate::service::snapshot::Snapshot>, out: &mut Out) {
    let first = app.world.snapshot.generation == 0;
    let before: std::collections::HashSet<_> =
        app.world.snapshot.rows.iter().filter(|row| row.need.is_some()).map(|row| row.key.clone()).collect();
    app.world.snapshot = snapshot;
    if !first {
        let mut new =
            app.world.snapshot.rows.iter().filter(|row| row.need.is_some() && !before.contains(&row.key));
        if let Some(row) = new.next() {
            let line = row.need.as_ref().map(|need| need.line.as_str()).unwrap_or_default();
            let text = match new.count() {
                0 => format!("Needs you: {} {} {line}", row.title, app.world.glyphs.dot),
                more => format!("Needs you: {} and {more} more", row.title),
            };
            out.effects.push(Effect::Attention(text.clone()));
            out.say(text);
        }
    }
    app.home.refresh(&app.world);
    app.home.ask_matches(&app.world, out);
}

fn reply_came(app: &mut App, reply: Reply, out: &mut Out) {
    match reply {
        Reply::Detail(detail) => {
            if app.world.following.as_ref() == Some(&detail.row.key) {
                app.world.detail = Some(detail);
                retire_question(app, out);
                offer_question(app);
            }
        }
        Reply::Diff { key, digest, patch, .. } => {
            if app.world.following.as_ref() == Some(&key) && app.world.diff.digest == digest {
                out.effects.push(Effect::Work(super::msg::Job::Parse { key, digest, patch }));
            }
        }
        Reply::Log { key, artifact, from, bytes, total, .. } => {
            if app.world.following.as_ref() == Some(&key)
                && let Some(log) = app.world.log.as_mut().filter(|log| log.artifact == artifact)
            {
                log.take(from, &bytes, total);
            }
        }
        Reply::Artifact { request, id, body, .. } => {
            if let Some(run) = &mut app.run {
                run.body_came(request, &id, &body, out);
            }
        }
        Reply::Done { request, text } => {
            if let Some(run) = &mut app.run {
                run.settled(request, true);
            }
            out.say(text);
        }
        Reply::Refused { request, text, .. } => {
            if let Some(run) = &mut app.run {
                run.settled(request, false);
            }
            for open in &mut app.layers {
                match &mut open.layer {
                    Layer::ToolCall(modal) => modal.reopen(),
                    Layer::Clarification(picker) => picker.reopen(),
                    _ => {}
                }
            }
            out.say(format!("Not done: {text}"));
        }
        Reply::Notice { text, .. } => out.say(text),
    }
}

/// Opens the modal for a tool call or a question that came up in the open run, unless it was left for later.
fn offer_question(app: &mut App) {
    let Some(run) = &app.run else { return };
    let Some(detail) = app.world.detail_of(&run.key) else { return };
    let asks = |open: &Opened| matches!(open.layer, Layer::Clarification(_) | Layer::ToolCall(_));
    if run.shown_page().is_some() || app.layers.iter().any(asks) {
        return;
    }
    if let Some(ask) = detail.tool_calls.iter().find(|ask| !run.later.contains(&ask.id)) {
        let modal = layers::ToolCall::new(run.key.clone(), ask.clone());
        app.open(Layer::ToolCall(Box::new(modal)), true);
        return;
    }
    let Some(question) = &detail.clarification else { return };
    if !run.later.contains(&question.request_id) {
        let picker = layers::Clarification::new(run.key.clone(), question.clone());
        app.open(Layer::Clarification(Box::new(picker)), true);
    }
}

/// Takes away a modal whose question or call was settled elsewhere, and says so.
fn retire_question(app: &mut App, out: &mut Out) {
    let Some(detail) = &app.world.detail else { return };
    let open = detail.clarification.as_ref().map(|question| question.request_id.as_str());
    let mut gone = false;
    app.layers.retain(|layer| match &layer.layer {
        Layer::Clarification(picker) if Some(picker.question.request_id.as_str()) != open => {
            gone |= !picker.is_sent();
            false
        }
        Layer::ToolCall(modal) if detail.tool_calls.iter().all(|ask| *ask != modal.ask) => {
            gone |= !modal.is_sent();
            false
        }
        _ => true,
    });
    if gone {
        out.say(format!("What was asked is no longer open: {}", detail.row.sentence));
    }
    for layer in &mut app.layers {
        if let (Layer::Clarification(picker), Some(question)) = (&mut layer.layer, &detail.clarification) {
            picker.renew(question);
        }
    }
}

fn worked(app: &mut App, work: Work, out: &mut Out) {
    match work {
        Work::Filtered { rows, query, matches } => app.home.matched(&app.world, &rows, &query, matches),
        Work::Parsed { key, digest, model } => {
            if app.world.following.as_ref() == Some(&key) && app.world.diff.digest == digest {
                if let Err(text) = &model {
                    out.say(format!("The diff cannot be shown: {text}"));
                }
                app.world.diff.model = Some(model);
            }
        }
        Work::Decorated { digest, file, hunk, decor } => {
            if app.world.diff.digest == digest {
                app.world.diff.decor.insert((file, hunk), Some(decor));
            }
        }
    }
}

/// The tab to open a run on, by what it needs.
#[must_use]
pub fn landing(need: Option<crate::service::snapshot::NeedKind>) -> Tab {
    use crate::service::snapshot::NeedKind;
    match need {
        Some(NeedKind::Infrastructure) => Tab::Attempts,
        _ => Tab::Overview,
    }
}
