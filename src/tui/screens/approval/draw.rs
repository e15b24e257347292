//! Draws the approval page: verdict and reasons, checklist, acknowledgements, what will be made, comment, decisions.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;

use super::{Approval, Line, short_digest};
use crate::service::snapshot::{ApprovalView, ItemState};
use crate::tui::keymap::Action;
use crate::tui::parts;
use crate::tui::theme::Role;
use crate::tui::ui::{self, Row};
use crate::tui::view::{Hit, Hits};
use crate::tui::world::{Breadth, World};

/// Draws the page.
pub fn draw(page: &Approval, world: &World, buf: &mut Buffer, area: Rect, hits: &mut Hits) {
    let inner = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
    let Some(view) = super::view(world) else {
        ui::paragraph(buf, world.paint(), inner, Role::Muted, "\nReading the verdict …");
        return;
    };
    let decisions_height = 3;
    let decisions_area = Rect { y: inner.bottom() - decisions_height, height: decisions_height, ..inner };
    let body = Rect { height: inner.height - decisions_height, ..inner };
    if page.editing && world.breadth() == Breadth::Narrow {
        comment(page, world, buf, body);
    } else if world.breadth() == Breadth::Narrow {
        let mut rest = body;
        verdict(page, view, world, buf, &mut rest);
        list(page, view, world, buf, &mut rest, hits);
        made(view, world, buf, &mut rest);
    } else {
        let left = body.width * 11 / 20;
        let mut first = Rect { width: left, ..body };
        let mut second = Rect { x: body.x + left + 3, width: body.width - left - 3, ..body };
        ui::vertical(buf, world.paint(), second.x - 2, body.y, body.bottom());
        verdict(page, view, world, buf, &mut first);
        list(page, view, world, buf, &mut first, hits);
        made(view, world, buf, &mut second);
        comment(page, world, buf, second);
    }
    decisions(page, view, world, buf, decisions_area);
}

fn take(rest: &mut Rect, lines: u16) {
    let lines = lines.min(rest.height);
    rest.y += lines;
    rest.height -= lines;
}

fn put(buf: &mut Buffer, world: &World, rest: &mut Rect, role: Role, words: &str) {
    let used = ui::paragraph(buf, world.paint(), *rest, role, words);
    take(rest, used);
}

fn verdict(page: &Approval, view: &ApprovalView, world: &World, buf: &mut Buffer, rest: &mut Rect) {
    let role = parts::status_role(&view.status);
    let mut row = Row::new(world.paint(), rest.width);
    row.put(role, parts::status_sign(&view.status, world)).gap(1);
    row.put(role, &parts::status(&view.status)).put(Role::Muted, ": ");
    row.put(Role::Text, &parts::status(&view.eligibility));
    row.draw(buf, rest.x, rest.y);
    take(rest, 1);
    if let Some(dead) = page.dead(view) {
        let key = world.keymap.key(Action::Reload);
        put(buf, world, rest, Role::Bad, &format!("{dead} Press {key} to look at it as it is now."));
    }
    if let Some(stale) = &view.stale {
        put(buf, world, rest, Role::Warn, &format!("The approval given before no longer holds: {stale}"));
    }
    if let Some(decision) = &view.decision {
        let note = view.decision_note.as_deref().unwrap_or_default();
        put(buf, world, rest, Role::Badge, &format!("{}: {note}", parts::status(decision)));
    }
    if let Some(publication) = &view.publication {
        put(buf, world, rest, Role::Badge, publication);
    }
    for reason in view.reasons.iter().filter(|reason| !reason.acknowledge) {
        if rest.height == 0 {
            return;
        }
        Row::new(world.paint(), 1).put(Role::Faint, world.glyphs.dot).draw(buf, rest.x, rest.y);
        let area = Rect { x: rest.x + 2, width: rest.width.saturating_sub(2), ..*rest };
        let used = ui::paragraph(buf, world.paint(), area, Role::Muted, &reason.text);
        take(rest, used);
    }
    if world.size.1 >= 30 {
        take(rest, 1);
    }
}

fn list(
    page: &Approval,
    view: &ApprovalView,
    world: &World,
    buf: &mut Buffer,
    rest: &mut Rect,
    hits: &mut Hits,
) {
    let lines = page.lines(view, world);
    parts::heading(buf, world, *rest, "Checklist", "");
    take(rest, 1);
    let reasons = lines.iter().position(|line| matches!(line, Line::Reason(_)));
    let extra = usize::from(reasons.is_some());
    // The window slides so that the selected line is seen; the commit keeps three lines under it.
    let keep = if world.breadth() == Breadth::Narrow { 4 } else { 0 };
    let room = usize::from(rest.height.saturating_sub(keep)).saturating_sub(extra).max(2);
    let cursor = crate::tui::list::Cursor { selected: page.selected, offset: 0 };
    for at in cursor.window(lines.len(), room) {
        if rest.height == 0 {
            return;
        }
        if Some(at) == reasons {
            parts::heading(buf, world, *rest, "Acknowledge", "one by one, before you can approve");
            take(rest, 1);
        }
        hits.add(Rect { height: rest.height.min(1), ..*rest }, Hit::Line(at));
        let used = line(page, view, &lines[at], at == page.selected, world, buf, *rest);
        take(rest, used);
    }
    take(rest, 1);
}

fn line(
    page: &Approval,
    view: &ApprovalView,
    line: &Line,
    selected: bool,
    world: &World,
    buf: &mut Buffer,
    area: Rect,
) -> u16 {
    let glyphs = world.glyphs;
    let (state, name, detail) = match line {
        Line::Item(at) => {
            let item = &view.checklist[*at];
            (item.state, item.name.clone(), item.detail.clone())
        }
        Line::Files(viewed, all) => {
            let state = if viewed == all { ItemState::Pass } else { ItemState::Warn };
            (state, "Files viewed".to_owned(), format!("{viewed} of {all}"))
        }
        Line::Reason(at) => (ItemState::Warn, String::new(), view.reasons[*at].text.clone()),
    };
    let role = match state {
        ItemState::Pass => Role::Good,
        ItemState::Warn => Role::Warn,
        ItemState::Fail => Role::Bad,
        ItemState::Info => Role::Faint,
    };
    let mut row = Row::new(world.paint(), area.width);
    if selected {
        row = row.on(Role::Selection);
    }
    row.put(Role::Accent, if selected { glyphs.pointer } else { " " });
    row.put(role, glyphs.item(state)).gap(1);
    let box_wanted = Approval::code(line, view).is_some();
    let done = page.is_acknowledged(line, view);
    if box_wanted {
        row.put(if done { Role::Good } else { Role::Warn }, if done { "[x]" } else { "[ ]" }).gap(1);
    }
    if !name.is_empty() {
        row.cell(Role::Text, &name, if box_wanted { 20 } else { 24 }).gap(1);
    }
    // A long reason of the selected line is shown whole.
    let room = row.left();
    if selected && crate::text::width(&crate::text::visible(&detail)) > room && room > 10 {
        let lines: Vec<String> = ui::wrap(&detail, room).collect();
        let indent = usize::from(area.width) - room;
        let mut used = 0;
        for (at, content) in lines.iter().enumerate().take(usize::from(area.height)) {
            let mut next = Row::new(world.paint(), area.width).on(Role::Selection);
            next.gap(indent);
            let row = if at == 0 { &mut row } else { &mut next };
            row.put(Role::Text, content);
            row.draw(buf, area.x, area.y + used);
            used += 1;
        }
        return used.max(1);
    }
    row.put(if state == ItemState::Pass { Role::Muted } else { Role::Text }, &detail);
    row.draw(buf, area.x, area.y);
    1
}

fn made(view: &ApprovalView, world: &World, buf: &mut Buffer, rest: &mut Rect) {
    if rest.height == 0 {
        return;
    }
    parts::heading(buf, world, *rest, "What will be made", "");
    take(rest, 1);
    let base = short_digest(&view.base_commit);
    let facts = [
        ("branch", format!("{} on {}, from {base}", view.branch, view.remote)),
        ("commit", view.commit_subject.clone()),
        ("patch", short_digest(&view.patch_digest).to_owned()),
    ];
    for (name, value) in facts {
        if rest.height == 0 {
            return;
        }
        let mut row = Row::new(world.paint(), rest.width);
        row.cell(Role::Faint, name, 8).put(Role::Text, &value);
        row.draw(buf, rest.x, rest.y);
        take(rest, 1);
    }
    take(rest, 1);
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
    let mut row = Row::new(world.paint(), area.width);
    let note = match (&page.sent, &obstacle) {
        (Some(_), _) => (Role::Accent, "Sent; waiting for the answer …".to_owned()),
        (None, Some(words)) => (Role::Warn, format!("Cannot be approved: {words}")),
        (None, None) => {
            (Role::Good, "Ready: nothing stands in the way. Each decision asks once more.".to_owned())
        }
    };
    row.put(note.0, &note.1);
    row.draw(buf, area.x, area.y + 1);
    let dead = page.dead(view).is_some() || page.sent.is_some();
    let actions = [
        (Action::ApproveAndPublish, "approve and publish", obstacle.is_none() && !dead),
        (Action::ApproveOnly, "approve only", obstacle.is_none() && !dead),
        (Action::RequestChanges, "request changes", !dead),
        (Action::Reject, "reject", !dead),
    ];
    let mut row = Row::new(world.paint(), area.width);
    for (action, words, alive) in actions {
        if view.eligibility == "NOT_ELIGIBLE"
            && matches!(action, Action::ApproveAndPublish | Action::ApproveOnly)
        {
            continue;
        }
        let key = world.keymap.key(action);
        if alive {
            row.put(Role::Accent, &key).gap(1).put(Role::Text, words).gap(2);
        } else {
            row.put(Role::Faint, &format!("({key} {words})")).gap(2);
        }
    }
    row.draw(buf, area.x, area.y + 2);
}
