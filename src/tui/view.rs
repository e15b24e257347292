//! The frame: header, body, footer, toasts and modals. Pure: the state goes in, cells and click targets come out.

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::app::App;
use super::keymap::{Entry, Keymap, Scope, TABLE};
use super::layers;
use super::screens::{self, Tab};
use super::theme::Role;
use super::ui::{self, Row};
use super::world::{Breadth, World};
use super::{home, layers::Layer};

/// Fewest columns and rows with which everything works.
pub const SMALLEST: (u16, u16) = (60, 16);

/// What a click on a place means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hit {
    /// A line of the screen's list.
    Line(usize),
    /// A tab of the run view.
    Tab(Tab),
    /// A choice of the top modal.
    Choice(usize),
}

/// The places of one frame that can be clicked.
#[derive(Debug, Clone, Default)]
pub struct Hits(Vec<(Rect, Hit)>);

impl Hits {
    /// Marks a place.
    pub fn add(&mut self, area: Rect, hit: Hit) {
        self.0.push((area, hit));
    }

    /// What is at a place; what was drawn last is on top.
    #[must_use]
    pub fn at(&self, column: u16, row: u16) -> Option<Hit> {
        let inside = |area: &Rect| area.contains((column, row).into());
        self.0.iter().rev().find(|(area, _)| inside(area)).map(|(_, hit)| *hit)
    }
}

/// The area between header and footer.
#[must_use]
pub fn body(size: (u16, u16)) -> Rect {
    Rect::new(0, 1, size.0, size.1.saturating_sub(2))
}

/// Draws one frame and says what can be clicked in it.
pub fn view(app: &App, frame: &mut Frame<'_>) -> Hits {
    let area = frame.area();
    let buf = frame.buffer_mut();
    let mut hits = Hits::default();
    draw(app, buf, area, &mut hits);
    hits
}

/// Draws one frame into a buffer.
pub fn draw(app: &App, buf: &mut Buffer, area: Rect, hits: &mut Hits) {
    let world = &app.world;
    ui::fill(buf, area, &world.theme, Role::Text);
    if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
        too_small(world, buf, area);
        return;
    }
    let size = (area.width, area.height);
    header(app, buf, size);
    let inner = body(size);
    match &app.run {
        Some(run) => screens::draw(run, world, buf, inner, hits),
        None => home::draw(&app.home, world, buf, inner, hits),
    }
    footer(app, buf, size);
    for (at, open) in app.layers.iter().enumerate() {
        if at == 0 {
            ui::dim(buf, &world.theme);
        }
        layers::draw(&open.layer, world, buf, inner, hits);
    }
    if !app.layers.is_empty() {
        footer(app, buf, size);
    }
    toasts(app, buf, size);
}

fn too_small(world: &World, buf: &mut Buffer, area: Rect) {
    let text =
        format!("telic needs {} x {}; this is {} x {}", SMALLEST.0, SMALLEST.1, area.width, area.height);
    ui::paragraph(buf, world.paint(), area, Role::Text, &text);
}

fn header(app: &App, buf: &mut Buffer, (columns, _): (u16, u16)) {
    let world = &app.world;
    let snapshot = &world.snapshot;
    let counts = app.home.counts();
    let mut row = Row::new(world.paint(), columns).on(Role::Band);
    row.put(Role::Brand, " telic").gap(2);
    if counts.need > 0 {
        row.put(Role::Warn, &format!("{} {} need you", world.glyphs.waiting, counts.need));
    } else {
        row.put(Role::Muted, "nothing needs you");
    }
    row.gap(2).put(Role::Muted, &format!("{} active", counts.active));
    row.gap(2).put(Role::Faint, &format!("{} done today", counts.done_today));
    let engine = &snapshot.engine;
    let (role, words) = if let Some(error) = snapshot.stores.iter().find_map(|store| store.error.as_ref()) {
        (Role::Bad, format!("store: {error}"))
    } else if let Some(error) = &engine.last_error {
        (Role::Bad, format!("engine: {error}"))
    } else if !engine.running {
        (Role::Faint, "no engine".to_owned())
    } else if engine.leases + engine.queue == 0 {
        (Role::Faint, "engine idle".to_owned())
    } else if columns < 100 {
        (Role::Muted, format!("{} running", engine.leases))
    } else {
        (Role::Muted, format!("engine: {} running, {} queued", engine.leases, engine.queue))
    };
    let clock = world.now.wall_clock();
    let room = row.left().saturating_sub(clock.len() + 5);
    let mut words = crate::text::truncate(&crate::text::visible(&words), room);
    if role != Role::Bad && words.ends_with('…') {
        words.clear();
    }
    let gap = row.left().saturating_sub(crate::text::width(&words) + clock.len() + 3);
    row.gap(gap).put(role, &words).gap(2).put(Role::Muted, &clock);
    row.draw(buf, 0, 0);
}

/// The keys that work here and now: those of the innermost scopes first, as many as fit.
fn footer(app: &App, buf: &mut Buffer, (columns, rows): (u16, u16)) {
    let world = &app.world;
    let mut row = Row::new(world.paint(), columns).on(Role::Band);
    let scopes = app.scopes();
    if app.layers.last().is_some_and(|top| top.guard_until > world.now.steady) {
        row.put(Role::Muted, " This just appeared: keys work in a moment");
        row.draw(buf, 0, rows - 1);
        return;
    }
    row.gap(1);
    if let Some(Layer::Confirm(confirm)) = app.layers.last().map(|top| &top.layer) {
        key_hint(&mut row, &world.keymap.key(confirm.action()), confirm.yes());
    }
    let global = [Scope::Global];
    let tail: usize = hints(&world.keymap, &scopes)
        .filter(|(_, _, scope)| global.contains(scope))
        .map(|(key, entry, _)| key.len() + entry.short.len() + 4)
        .sum();
    for (key, entry, scope) in hints(&world.keymap, &scopes).filter(|(_, entry, _)| app.offers(entry.action))
    {
        let words = entry.short;
        let wide = crate::text::width(&key) + words.len() + 3;
        let reserve = if scope == Scope::Global { 0 } else { tail };
        if wide + reserve <= row.left() {
            key_hint(&mut row, &key, words);
        }
    }
    row.draw(buf, 0, rows - 1);
}

fn key_hint(row: &mut Row<'_>, key: &str, words: &str) {
    row.put(Role::Key, key).put(Role::Faint, &format!(" {words}")).gap(2);
}

fn hints<'a>(
    keymap: &'a Keymap,
    scopes: &'a [Scope],
) -> impl Iterator<Item = (String, &'static Entry, Scope)> + 'a {
    scopes.iter().flat_map(move |scope| {
        TABLE.iter().filter(move |entry| entry.scope == *scope && !entry.short.is_empty()).filter_map(
            move |entry| {
                let key = keymap
                    .keys(entry.action)
                    .iter()
                    .find(|key| keymap.action(scopes, **key) == Some(entry.action))?;
                Some((key.to_string(), entry, *scope))
            },
        )
    })
}

fn toasts(app: &App, buf: &mut Buffer, (columns, rows): (u16, u16)) {
    let world = &app.world;
    let shown: Vec<_> = app.notices.shown().collect();
    let limit = usize::from(columns.min(64)) - 4;
    for (at, notice) in shown.iter().rev().enumerate() {
        let up = u16::try_from(at).unwrap_or(u16::MAX);
        let Some(y) = (rows - 2).checked_sub(up).filter(|y| *y > 1) else { break };
        let times = if notice.times > 1 { format!(" ({} times)", notice.times) } else { String::new() };
        let text = crate::text::truncate(&crate::text::visible(&format!("{}{times}", notice.text)), limit);
        let wide = u16::try_from(crate::text::width(&text)).unwrap_or(0) + 3;
        let x = columns.saturating_sub(wide + 1);
        let area = Rect::new(x, y, wide, 1);
        ui::fill(buf, area, &world.theme, Role::Selection);
        let mut row = Row::new(world.paint(), wide).on(Role::Selection);
        row.put(Role::Accent, world.glyphs.edge).gap(1).put(Role::Text, &text);
        row.draw(buf, x, y);
    }
}

/// Splits an area into list and the rest, by breadth: none when there is room for one only.
#[must_use]
pub fn split(area: Rect, breadth: Breadth) -> (Rect, Option<Rect>) {
    let left = match breadth {
        Breadth::Narrow => return (area, None),
        Breadth::Medium => area.width * 3 / 5,
        Breadth::Wide => area.width * 29 / 50,
    };
    let right = Rect::new(area.x + left + 1, area.y, area.width - left - 1, area.height);
    (Rect { width: left, ..area }, Some(right))
}
