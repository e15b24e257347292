//! Draws the approval page: verdict and reasons, checklist, acknowledgements, what will be made, comment, decisions.
//!
//! The page is laid out as lines first; what does not fit slides with the selected line, so nothing is ever cut off
//! for good.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;

use super::{Approval, Line, short_digest};
use crate::service::snapshot::{ApprovalView, ItemState};
use crate::tui::keymap::Action;
use crate::tui::list::Cursor;
use crate::tui::parts;
use crate::tui::theme::Role;
use crate::tui::ui::{self, Row};
use crate::tui::view::{Hit, Hits};
use crate::tui::world::{Breadth, World};

/// One line of the page.
enum Entry {
    Blank,
    Heading(&'static str, &'static str),
    /// A sign and words; a line that goes on has no sign.
    Words(Role, Option<(Role, &'static str)>, String),
    /// A name and a value.
    Fact(&'static str, String),
    /// A line of the list: its index, which row of it, and its words.
    Item(usize, usize, String),
}

/// Draws the page.
pub fn draw(page: &Approval, world: &World, buf: &mut Buffer, area: Rect, hits: &mut Hits) {
    let inner = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
    let Some(view) = super::view(world) else {
        ui::paragraph(buf, world.paint(), inner, Role::Muted, "\nReading the verdict …");
        return;
    };
    let buttons = if inner.width < 76 { 4 } else { 3 };
    let bottom = Rect { y: inner.bottom() - buttons, height: buttons, ..inner };
    let body = Rect { height: inner.height - buttons, ..inner };
    if world.breadth() == Breadth::Narrow {
        if page.editing {
            comment(page, world, buf, body);
        } else {
            let mut entries = left(page, view, world, body.width);
            entries.push(Entry::Blank);
            entries.extend(made(view, body.width));
            column(page, view, &entries, world, buf, body, hits);
        }
    } else {
        let half = body.width * 11 / 20;
        let first = Rect { width: half, ..body };
        let mut second = Rect { x: body.x + half + 3, width: body.width - half - 3, ..body };
        ui::vertical(buf, world.paint(), second.x - 2, body.y, body.bottom());
        column(page, view, &left(page, view, world, first.width), world, buf, first, hits);
        let entries = made(view, second.width);
        let height = u16::try_from(entries.len() + 1).unwrap_or(u16::MAX).min(second.height);
        column(page, view, &entries, world, buf, Rect { height, ..second }, hits);
        second.y += height;
        second.height -= height;
        comment(page, world, buf, second);
    }
    decisions(page, view, world, buf, bottom);
}

/// Wrapped words with a sign before the first line.
fn words(out: &mut Vec<Entry>, width: u16, role: Role, sign: Option<(Role, &'static str)>, content: &str) {
    let room = usize::from(width).saturating_sub(if sign.is_some() { 2 } else { 0 });
    for (at, line) in ui::wrap(content, room).enumerate() {
        let sign = sign.map(|(role, sign)| (role, if at == 0 { sign } else { " " }));
        out.push(Entry::Words(role, sign, line));
    }
}

/// Verdict, reasons, checklist, acknowledgements.
fn left(page: &Approval, view: &ApprovalView, world: &World, width: u16) -> Vec<Entry> {
    let mut out = Vec::new();
    let role = parts::status_role(&view.status);
    let verdict = format!("{}: {}", parts::status(&view.status), parts::status(&view.eligibility));
    words(&mut out, width, role, Some((role, parts::status_sign(&view.status, world))), &verdict);
    if let Some(dead) = page.dead(view) {
        let key = world.keymap.key(Action::Reload);
        words(&mut out, width, Role::Bad, None, &format!("{dead} {key} shows it as it is now."));
    }
    if let Some(stale) = &view.stale {
        words(
            &mut out,
            width,
            Role::Warn,
            None,
            &format!("The approval given before no longer holds: {stale}"),
        );
    }
    if let Some(decision) = &view.decision {
        let note = view.decision_note.as_deref().unwrap_or_default();
        words(&mut out, width, Role::Badge, None, &format!("{}: {note}", parts::status(decision)));
    }
    if let Some(publication) = &view.publication {
        words(&mut out, width, Role::Badge, None, publication);
    }
    for reason in view.reasons.iter().filter(|reason| !reason.acknowledge) {
        words(&mut out, width, Role::Muted, Some((Role::Faint, world.glyphs.dot)), &reason.text);
    }
    out.push(Entry::Blank);
    out.push(Entry::Heading("Checklist", ""));
    let lines = page.lines(view, world);
    let reasons = lines.iter().position(|line| matches!(line, Line::Reason(_)));
    for (at, line) in lines.iter().enumerate() {
        if Some(at) == reasons {
            out.push(Entry::Blank);
            out.push(Entry::Heading("Acknowledge", "one by one, before you can approve"));
        }
        let (_, name, detail) = about(line, view);
        let room = usize::from(width).saturating_sub(indent(line, view, &name));
        for (part, content) in ui::wrap(&detail, room.max(8)).enumerate() {
            out.push(Entry::Item(at, part, content));
        }
    }
    out
}

/// State, name and words of a line of the list.
fn about(line: &Line, view: &ApprovalView) -> (ItemState, String, String) {
    match line {
        Line::Item(at) => {
            let item = &view.checklist[*at];
            (item.state, item.name.clone(), parts::humane(&item.detail))
        }
        Line::Files(viewed, all) => {
            let state = if viewed == all { ItemState::Pass } else { ItemState::Warn };
            (state, "Files viewed".to_owned(), format!("{viewed} of {all}"))
        }
        Line::Reason(at) => (ItemState::Warn, String::new(), view.reasons[*at].text.clone()),
    }
}

/// Columns before the words of a line of the list.
fn indent(line: &Line, view: &ApprovalView, name: &str) -> usize {
    match (name.is_empty(), Approval::code(line, view).is_some()) {
        (true, true) => 7,
        (true, false) => 3,
        (false, _) => 3 + 25,
    }
}

fn made(view: &ApprovalView, width: u16) -> Vec<Entry> {
    let mut out = vec![Entry::Heading("What will be made", "")];
    let facts = [
        ("branch", view.branch.clone()),
        ("on", format!("{}, from {}", view.remote, short_digest(&view.base_commit))),
        ("commit", view.commit_subject.clone()),
        ("patch", short_digest(&view.patch_digest).to_owned()),
    ];
    for (name, value) in facts {
        for (at, line) in ui::wrap(&value, usize::from(width.saturating_sub(8))).enumerate() {
            out.push(Entry::Fact(if at == 0 { name } else { "" }, line));
        }
    }
    out
}

/// Draws lines; the window slides with the selected one.
fn column(
    page: &Approval,
    view: &ApprovalView,
    entries: &[Entry],
    world: &World,
    buf: &mut Buffer,
    area: Rect,
    hits: &mut Hits,
) {
    let lines = page.lines(view, world);
    let of = |entry: &Entry| matches!(entry, Entry::Item(at, ..) if *at == page.selected);
    let seen = match entries.iter().rposition(of) {
        // The last line of the list brings what stands under it along, the first what stands above.
        Some(_) if page.selected + 1 == lines.len() => entries.len() - 1,
        Some(_) if page.selected == 0 => 0,
        Some(at) => at,
        None => 0,
    };
    let window = Cursor { selected: seen, offset: 0 }.window(entries.len(), usize::from(area.height));
    let first = window.start;
    for (y, entry) in (area.y..).zip(&entries[window]) {
        let mut row = Row::new(world.paint(), area.width);
        match entry {
            Entry::Blank => continue,
            Entry::Heading(words, note) => _ = row.put(Role::Heading, words).gap(2).put(Role::Faint, note),
            Entry::Words(role, sign, words) => {
                if let Some((look, sign)) = sign {
                    row.put(*look, sign).gap(1);
                }
                row.put(*role, words);
            }
            Entry::Fact(name, value) => _ = row.cell(Role::Faint, name, 8).put(Role::Text, value),
            Entry::Item(at, part, words) => {
                hits.add(Rect { y, height: 1, ..area }, Hit::Line(*at));
                row = item(page, view, (&lines[*at], *part, words), *at == page.selected, world, area.width);
            }
        }
        row.draw(buf, area.x, y);
    }
    parts::scroll_bar(buf, world, Rect { width: area.width + 1, ..area }, first, entries.len());
}

fn item<'a>(
    page: &Approval,
    view: &ApprovalView,
    (line, part, words): (&Line, usize, &str),
    selected: bool,
    world: &'a World,
    width: u16,
) -> Row<'a> {
    let (state, name, _) = about(line, view);
    let role = match state {
        ItemState::Pass => Role::Good,
        ItemState::Warn => Role::Warn,
        ItemState::Fail => Role::Bad,
        ItemState::Info => Role::Faint,
    };
    let mut row = Row::new(world.paint(), width);
    if selected {
        row = row.on(Role::Selection);
    }
    row.put(Role::Accent, if selected { world.glyphs.pointer } else { " " });
    if part == 0 {
        row.put(role, world.glyphs.item(state)).gap(1);
        let mut room = 24;
        if Approval::code(line, view).is_some() {
            let done = page.is_acknowledged(line, view);
            row.put(if done { Role::Good } else { Role::Warn }, if done { "[x]" } else { "[ ]" }).gap(1);
            room = 20;
        }
        if !name.is_empty() {
            row.cell(Role::Text, &name, room).gap(1);
        }
    }
    row.to(indent(line, view, &name));
    row.put(if state == ItemState::Pass { Role::Muted } else { Role::Text }, words);
    row
}

fn comment(page: &Approval, world: &World, buf: &mut Buffer, area: Rect) {
    let note = if page.editing { "writing" } else { "" };
    parts::heading(buf, world, area, "Comment", note);
    let body = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    if body.height == 0 {
        return;
    }
    if !page.editing && page.comment().is_empty() {
        let key = world.keymap.key(Action::Comment);
        let words = format!("None yet. {key} writes one; a rejection and a change request need one.");
        ui::paragraph(buf, world.paint(), body, Role::Faint, &words);
        return;
    }
    if page.editing {
        let ground = world.theme.style(Role::Panel);
        ui::fill(buf, body, &world.theme, Role::Panel);
        let mut editor = page.comment.clone();
        editor.set_style(ground);
        editor.set_cursor_line_style(ground);
        editor.set_wrap_mode(tui_textarea::WrapMode::WordOrGlyph);
        (&editor).render(body, buf);
    } else {
        ui::paragraph(buf, world.paint(), body, Role::Text, &page.comment.lines().join("\n"));
    }
}

fn decisions(page: &Approval, view: &ApprovalView, world: &World, buf: &mut Buffer, area: Rect) {
    ui::horizontal(buf, world.paint(), area.x, area.y, area.width);
    let obstacle = page.obstacle(view, world);
    let (role, note) = match (&page.sent, &obstacle) {
        (Some(_), _) => (Role::Accent, "Sent; waiting for the answer …".to_owned()),
        (None, Some(words)) if Approval::decided(view).is_some() => (Role::Badge, words.clone()),
        (None, Some(words)) => (Role::Warn, format!("Cannot be approved: {}", parts::inside(words))),
        (None, None) => (Role::Good, "Ready. Each decision asks once more.".to_owned()),
    };
    Row::new(world.paint(), area.width).put(role, &note).draw(buf, area.x, area.y + 1);
    let alive = page.dead(view).is_none() && page.sent.is_none();
    let short = area.width < 96;
    let actions = [
        (Action::ApproveAndPublish, if short { "approve+publish" } else { "approve and publish" }, true),
        (Action::ApproveOnly, if short { "approve" } else { "approve only" }, true),
        (Action::RequestChanges, if short { "changes" } else { "request changes" }, false),
        (Action::Reject, "reject", false),
    ];
    let mut row = Row::new(world.paint(), area.width);
    let mut y = area.y + 2;
    if Approval::decided(view).is_some() {
        if page.publishable(view, world) {
            let key = world.keymap.key(Action::ApproveAndPublish);
            row.put(Role::Accent, &key).put(Role::Text, " publish");
        }
        row.draw(buf, area.x, y);
        return;
    }
    for (action, words, approves) in actions {
        if approves && view.eligibility == "NOT_ELIGIBLE" {
            continue;
        }
        let key = world.keymap.key(action);
        if key.len() + words.len() + 3 > row.left() {
            row.draw(buf, area.x, y);
            row = Row::new(world.paint(), area.width);
            y += 1;
        }
        if alive && (!approves || obstacle.is_none()) {
            row.put(Role::Accent, &key).gap(1).put(Role::Text, words).gap(2);
        } else {
            row.put(Role::Faint, &format!("({key} {words})")).gap(2);
        }
    }
    if y < area.bottom() {
        row.draw(buf, area.x, y);
    }
}
