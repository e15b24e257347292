//! The checks: boundary and apply status on top, verification checks and judge findings, and the log of the
//! selected check beside them, following while it runs.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::service::link::Command;
use crate::service::snapshot::{BoundaryView, CheckView, JudgeView, RunDetail, RunKey};
use crate::tui::keymap::Action;
use crate::tui::list::{Cursor, Motion, Scroll};
use crate::tui::log::LogSlot;
use crate::tui::theme::Role;
use crate::tui::ui::{self, Row};
use crate::tui::view::{Hit, Hits};
use crate::tui::world::{Breadth, Out, World};
use crate::tui::{parts, time};

/// Milliseconds between two looks at a log that is being written.
pub const LOG_EVERY: u64 = 1000;

/// State of the checks tab.
#[derive(Default)]
pub struct Checks {
    cursor: Cursor,
    in_log: bool,
    /// First line of the log; none to follow its end.
    log: Option<Scroll>,
}

impl Checks {
    /// Moves through the checks, or through the log.
    pub fn step(&mut self, motion: Motion, world: &World, area: Rect) {
        if self.in_log {
            let Some(log) = &world.log else { return };
            let height =
                usize::from(panes(self, world, area).1.map_or(0, |pane| pane.height.saturating_sub(1)));
            let mut scroll = self.log.unwrap_or(Scroll(usize::MAX));
            scroll.step(motion, log.len(), height);
            let at_end = scroll.0 + height >= log.len();
            self.log = if at_end && motion != Motion::Up { None } else { Some(scroll) };
        } else if let Some(detail) = &world.detail {
            self.cursor.step(motion, checks(detail).len(), usize::from(area.height));
            self.log = None;
        }
    }

    /// A click selects a check.
    pub fn select(&mut self, line: usize) {
        self.cursor.selected = line;
        self.in_log = false;
        self.log = None;
    }

    /// Does an action of this tab.
    pub fn act(&mut self, action: Action, world: &World, out: &mut Out) -> bool {
        match action {
            Action::ReadLog => self.in_log = !self.in_log,
            Action::Back if self.in_log => self.in_log = false,
            Action::FirstFailure => match world.log.as_ref().and_then(LogSlot::first_failure) {
                Some(line) => {
                    self.in_log = true;
                    self.log = Some(Scroll(line.saturating_sub(2)));
                }
                None => out.say("Nothing in this log reads like a failure"),
            },
            _ => return false,
        }
        true
    }

    /// Whether the selected check still runs.
    #[must_use]
    pub fn is_running(&self, detail: &RunDetail) -> bool {
        checks(detail).get(self.cursor.selected).is_some_and(|check| check.status == "RUNNING")
    }

    /// Asks for the selected check's log, window by window while there is more.
    pub fn want(&mut self, key: &RunKey, world: &mut World, out: &mut Out) {
        let Some(detail) = world.detail_of(key) else { return };
        let running = self.is_running(detail);
        let wanted = checks(detail).get(self.cursor.selected).and_then(|check| check.log.clone());
        let Some(artifact) = wanted else {
            world.log = None;
            return;
        };
        let log = match &mut world.log {
            Some(log) if log.artifact == artifact => log,
            slot => slot.insert(LogSlot::new(&artifact)),
        };
        // A log that is being written is asked for again now and then; one that is whole is not.
        let again = log.asked_at.is_none_or(|at| running && world.now.steady.saturating_sub(at) >= LOG_EVERY);
        if !log.loading && (again || log.has_more()) {
            log.asked_at = Some(world.now.steady);
            log.loading = true;
            out.send(Command::LoadLog { key: key.clone(), artifact, from: log.next });
        }
    }
}

fn checks(detail: &RunDetail) -> &[CheckView] {
    detail.verification.as_ref().map_or(&[], |report| &report.checks)
}

/// List and log; on a narrow screen one of them.
fn panes(state: &Checks, world: &World, area: Rect) -> (Option<Rect>, Option<Rect>) {
    let inner = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
    if world.breadth() == Breadth::Narrow {
        return if state.in_log { (None, Some(inner)) } else { (Some(inner), None) };
    }
    let left = inner.width * 2 / 5;
    let right = Rect { x: inner.x + left + 2, width: inner.width - left - 2, ..inner };
    (Some(Rect { width: left, ..inner }), Some(right))
}

/// Draws the tab.
pub fn draw(state: &Checks, world: &World, buf: &mut Buffer, area: Rect, hits: &mut Hits) {
    let Some(detail) = &world.detail else { return };
    let (list, log) = panes(state, world, area);
    if let Some(list) = list {
        let mut rest = list;
        boundary(detail.boundary.as_ref(), world, buf, &mut rest);
        verification(state, detail, world, buf, &mut rest, hits);
        judge(detail.judge.as_ref(), world, buf, &mut rest);
    }
    if let Some(log) = log {
        if list.is_some() {
            ui::vertical(buf, world.paint(), log.x - 2, area.y, area.bottom());
        }
        draw_log(state, detail, world, buf, log);
    }
}

fn line<'a>(world: &'a World, rest: &Rect) -> Row<'a> {
    Row::new(world.paint(), rest.width)
}

fn next(row: &mut Row<'_>, buf: &mut Buffer, rest: &mut Rect) {
    if rest.height > 0 {
        row.draw(buf, rest.x, rest.y);
        rest.y += 1;
        rest.height -= 1;
    }
}

fn boundary(view: Option<&BoundaryView>, world: &World, buf: &mut Buffer, rest: &mut Rect) {
    next(line(world, rest).put(Role::Heading, "Boundary"), buf, rest);
    let Some(view) = view else {
        next(line(world, rest).put(Role::Faint, "not checked yet"), buf, rest);
        next(&mut line(world, rest), buf, rest);
        return;
    };
    let mut row = line(world, rest);
    if view.passed {
        row.put(Role::Good, world.glyphs.pass).put(Role::Text, " every change is inside the boundary");
    } else {
        let n = view.violations.len();
        let words = if n == 1 { " 1 violation".to_owned() } else { format!(" {n} violations") };
        row.put(Role::Bad, world.glyphs.fail).put(Role::Bad, &words);
    }
    next(&mut row, buf, rest);
    for violation in &view.violations {
        next(line(world, rest).gap(2).put(Role::Bad, violation), buf, rest);
    }
    let mut row = line(world, rest);
    let (role, words) = match view.apply_status.as_str() {
        "CLEAN" => (Role::Good, " applies cleanly"),
        "CONFLICT" => (Role::Bad, " does not apply"),
        _ => (Role::Faint, " not tried on the base branch"),
    };
    row.put(role, parts::status_sign(&view.apply_status, world)).put(Role::Text, words);
    if !view.apply_note.is_empty() {
        row.put(Role::Muted, &format!(" {} {}", world.glyphs.dot, view.apply_note));
    }
    next(&mut row, buf, rest);
    next(&mut line(world, rest), buf, rest);
}

fn verification(
    state: &Checks,
    detail: &RunDetail,
    world: &World,
    buf: &mut Buffer,
    rest: &mut Rect,
    hits: &mut Hits,
) {
    let mut head = line(world, rest);
    head.put(Role::Heading, "Verification");
    if let Some(report) = &detail.verification {
        head.gap(2).put(parts::status_role(&report.status), &parts::status(&report.status));
    }
    next(&mut head, buf, rest);
    if checks(detail).is_empty() {
        next(line(world, rest).put(Role::Faint, "no checks were run"), buf, rest);
    }
    for (at, check) in checks(detail).iter().enumerate() {
        let selected = at == state.cursor.selected;
        hits.add(Rect { height: rest.height.min(1), ..*rest }, Hit::Line(at));
        next(&mut check_row(check, selected && !state.in_log, selected, world, rest), buf, rest);
        if selected {
            about_check(check, world, buf, rest);
        }
    }
    next(&mut line(world, rest), buf, rest);
}

fn check_row<'a>(check: &CheckView, here: bool, selected: bool, world: &'a World, rest: &Rect) -> Row<'a> {
    let mut row = line(world, rest);
    if selected {
        row = row.on(if here { Role::Selection } else { Role::SelectionIdle });
    }
    let role = parts::status_role(&check.status);
    row.put(role, parts::status_sign(&check.status, world)).gap(1);
    let name = row.left().saturating_sub(30).max(10);
    row.cell(Role::Text, &check.name, name).gap(1);
    row.cell(role, &parts::status(&check.status), 16);
    row.cell_right(Role::Faint, &check.duration_ms.map_or_else(String::new, time::length), 9);
    row
}

fn about_check(check: &CheckView, world: &World, buf: &mut Buffer, rest: &mut Rect) {
    let mut row = line(world, rest);
    row.gap(2).put(Role::Muted, &check.command);
    next(&mut row, buf, rest);
    let mut facts = vec![if check.required { "required" } else { "optional" }.to_owned()];
    if let Some(code) = check.exit_code {
        facts.push(format!("exit code {code}"));
    }
    if let Some(baseline) = &check.baseline {
        facts.push(format!("on the base commit: {}", parts::status(baseline).to_lowercase()));
    }
    next(line(world, rest).gap(2).put(Role::Faint, &facts.join(", ")), buf, rest);
    if let Some(summary) = &check.summary {
        let area =
            Rect { x: rest.x + 2, width: rest.width.saturating_sub(2), height: rest.height.min(4), ..*rest };
        let used = ui::paragraph(buf, world.paint(), area, Role::Warn, summary);
        rest.y += used;
        rest.height -= used;
    }
    for test in check.failed_tests.iter().take(8) {
        next(
            line(world, rest).gap(2).put(Role::Bad, world.glyphs.fail).gap(1).put(Role::Text, test),
            buf,
            rest,
        );
    }
    if check.failed_tests.len() > 8 {
        let more = format!("and {} more", check.failed_tests.len() - 8);
        next(line(world, rest).gap(4).put(Role::Faint, &more), buf, rest);
    }
}

fn judge(view: Option<&JudgeView>, world: &World, buf: &mut Buffer, rest: &mut Rect) {
    let mut head = line(world, rest);
    head.put(Role::Heading, "Judge");
    let Some(view) = view else {
        next(head.gap(2).put(Role::Faint, "has not looked yet"), buf, rest);
        return;
    };
    head.gap(2).put(parts::status_role(&view.status), &parts::status(&view.status));
    head.gap(2).put(Role::Faint, &format!("confidence {:.2}", view.confidence));
    next(&mut head, buf, rest);
    for finding in &view.findings {
        let (role, sign) = match finding.severity.as_str() {
            "INFO" => (Role::Faint, world.glyphs.info),
            "WARNING" => (Role::Warn, world.glyphs.warn),
            _ => (Role::Bad, world.glyphs.fail),
        };
        let place = match (&finding.path, finding.line) {
            (Some(path), Some(line)) => format!(" ({path}:{line})"),
            (Some(path), None) => format!(" ({path})"),
            _ => String::new(),
        };
        if rest.height == 0 {
            return;
        }
        Row::new(world.paint(), 1).put(role, sign).draw(buf, rest.x, rest.y);
        let area = Rect { x: rest.x + 2, width: rest.width.saturating_sub(2), ..*rest };
        let used =
            ui::paragraph(buf, world.paint(), area, Role::Text, &format!("{}{place}", finding.message));
        rest.y += used;
        rest.height -= used;
    }
}

fn draw_log(state: &Checks, detail: &RunDetail, world: &World, buf: &mut Buffer, area: Rect) {
    let check = checks(detail).get(state.cursor.selected);
    let mut head = Row::new(world.paint(), area.width);
    head.put(Role::Heading, "Log");
    let Some(check) = check else {
        head.draw(buf, area.x, area.y);
        return;
    };
    head.gap(2).put(Role::Muted, &check.name);
    if state.in_log {
        head.gap(2).put(Role::Accent, "reading");
    }
    let Some(log) = &world.log else {
        head.draw(buf, area.x, area.y);
        let below = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
        ui::paragraph(buf, world.paint(), below, Role::Faint, "This check has no log.");
        return;
    };
    let following = state.log.is_none() && check.status == "RUNNING";
    let note = if following { "following".to_owned() } else { format!("{} lines", log.len() + log.dropped) };
    head.right(if following { Role::Accent } else { Role::Faint }, &note);
    head.draw(buf, area.x, area.y);
    let height = usize::from(area.height.saturating_sub(1));
    let scroll = state.log.unwrap_or(Scroll(usize::MAX));
    let window = scroll.window(log.len(), height);
    let first = window.start;
    for (y, at) in (area.y + 1..).zip(window) {
        let mut row = Row::new(world.paint(), area.width);
        let base = world.theme.style(Role::Text);
        let plain = base.fg.is_none() && base.bg.is_none();
        for piece in log.line(at) {
            let style = if plain { Style { fg: None, ..piece.style } } else { piece.style };
            row.styled(base.patch(style), &piece.text);
        }
        row.draw(buf, area.x, y);
    }
    let body = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    parts::scroll_bar(buf, world, body, first, log.len());
}
