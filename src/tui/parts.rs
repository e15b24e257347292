//! Pieces that several screens draw the same way: words for protocol values, gauges, badges, scroll bars.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::theme::Role;
use super::time;
use super::ui::Row;
use super::world::World;
use crate::service::snapshot::Gauge;

/// A mode in words.
#[must_use]
pub fn mode(mode: &str) -> &str {
    match mode {
        "report_only" => "report only",
        "plan_only" => "plan only",
        "analyze_only" => "analyse only",
        "fix_only" => "fix only",
        "analyze_and_fix" => "analyse and fix",
        other => other,
    }
}

/// A mode in one or two words.
#[must_use]
pub fn mode_short(mode: &str) -> &str {
    match mode {
        "report_only" => "report",
        "plan_only" => "plan",
        "analyze_only" => "analyse",
        "fix_only" => "fix",
        "analyze_and_fix" => "analyse+fix",
        other => other,
    }
}

/// A phase in words.
#[must_use]
pub fn phase(phase: &str) -> &str {
    match phase {
        "received" => "Received",
        "context_discovery" => "Context",
        "awaiting_clarification" => "Waiting for an answer",
        "agent_1_frame" => "Frame the problem",
        "agent_2_compile" => "Write the contract",
        "agent_1_review" => "Review the contract",
        "agent_2_revision" => "Revise the contract",
        "agent_3_plan" => "Plan",
        "agent_4_execute" => "Carry out",
        "agent_3_quality_review" => "Quality review",
        "agent_5_release_audit" => "Release audit",
        "user_report" | "agent_5_report" => "Report",
        "completed" => "Completed",
        "partial" => "Partly done",
        "blocked" => "Blocked",
        "cancelled" => "Cancelled",
        other => other,
    }
}

/// A role or other value with its underscores as blanks.
#[must_use]
pub fn plain(value: &str) -> String {
    value.replace('_', " ")
}

/// An upper-case status as words: `SUCCESS_NEEDS_REVIEW` is `success, needs review`.
#[must_use]
pub fn status(value: &str) -> String {
    match value {
        "SUCCESS_NEEDS_REVIEW" => "Success, needs review".to_owned(),
        "FAILED_AGENT_COULD_NOT_COMPLETE" => "The agent could not complete it".to_owned(),
        "FAILED_VERIFICATION" => "Verification failed".to_owned(),
        "FAILED_POLICY" => "Policy was broken".to_owned(),
        "FAILED_INFRASTRUCTURE" => "Infrastructure failed".to_owned(),
        "ELIGIBLE_FOR_AUTO_PR" => "may be published without asking".to_owned(),
        "ELIGIBLE_AFTER_HUMAN_APPROVAL" => "may be published once you approve".to_owned(),
        "DRAFT_ONLY" => "as a draft only".to_owned(),
        "NOT_ELIGIBLE" => "may not be published".to_owned(),
        other => {
            let mut words = other.to_ascii_lowercase().replace('_', " ");
            if let Some(first) = words.get_mut(..1) {
                first.make_ascii_uppercase();
            }
            words
        }
    }
}

/// A sentence as the second half of another one.
#[must_use]
pub fn inside(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// A line with the status words in it put as words.
#[must_use]
pub fn humane(line: &str) -> String {
    const KNOWN: [&str; 14] = [
        "ELIGIBLE_FOR_AUTO_PR",
        "ELIGIBLE_AFTER_HUMAN_APPROVAL",
        "DRAFT_ONLY",
        "NOT_ELIGIBLE",
        "PASSED",
        "PASSED_WITH_WARNINGS",
        "FAILED",
        "NEEDS_HUMAN_REVIEW",
        "INCONCLUSIVE",
        "NOT_RUN",
        "TIMED_OUT",
        "INFRA_FAILURE",
        "SKIPPED_BY_POLICY",
        "PARTIAL",
    ];
    let word = |token: &str| {
        let bare = token.trim_end_matches([',', '.', ':', ';']);
        if KNOWN.contains(&bare) {
            format!("{}{}", inside(&status(bare)), &token[bare.len()..])
        } else {
            token.to_owned()
        }
    };
    line.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// Role of a status word of checks, verdicts, steps and attempts.
#[must_use]
pub fn status_role(status: &str) -> Role {
    match status {
        "PASSED" | "SUCCESS" | "SUCCEEDED" | "COMPLETED" | "APPROVED" | "CLEAN" | "ALLOWED" => Role::Good,
        "RUNNING" | "STARTED" | "ACTIVE" | "STARTING" => Role::Accent,
        "NOT_RUN" | "SKIPPED" | "SKIPPED_BY_POLICY" | "CANCELLED" | "NOT_CHECKED" => Role::Faint,
        "PASSED_WITH_WARNINGS"
        | "SUCCESS_NEEDS_REVIEW"
        | "PARTIAL"
        | "NEEDS_HUMAN_REVIEW"
        | "INCONCLUSIVE"
        | "CHANGES_REQUESTED"
        | "WARNING" => Role::Warn,
        _ => Role::Bad,
    }
}

/// Sign of a status word.
#[must_use]
pub fn status_sign(status: &str, world: &World) -> &'static str {
    match status_role(status) {
        Role::Good => world.glyphs.pass,
        Role::Accent => world.glyphs.current,
        Role::Faint => world.glyphs.empty,
        Role::Warn => world.glyphs.warn,
        _ => world.glyphs.fail,
    }
}

/// The numbers of a budget: `3 of 4`, `12 m of 60 m`, `2 MiB of 64 MiB`.
#[must_use]
pub fn amount(gauge: &Gauge) -> String {
    let value = |n: u64| match gauge.unit.as_str() {
        "s" => time::length(n * 1000),
        "B" => time::bytes(n),
        _ => n.to_string(),
    };
    if gauge.limit == 0 {
        "none".to_owned()
    } else {
        format!("{} of {}", value(gauge.used), value(gauge.limit))
    }
}

/// Draws a budget on one line: name, bar, numbers. Red when nothing is left, amber from 80 %.
pub fn gauge(buf: &mut Buffer, world: &World, area: Rect, gauge: &Gauge) {
    let name = usize::from(area.width / 3).clamp(12, 22);
    let numbers = amount(gauge);
    let bar = usize::from(area.width).saturating_sub(name + 2 + 18).clamp(4, 24);
    let full = gauge.limit > 0 && gauge.used >= gauge.limit;
    let (role, numbers_role) = if full {
        (Role::Bad, Role::Bad)
    } else if gauge.limit > 0 && gauge.used * 5 >= gauge.limit * 4 {
        (Role::Warn, Role::Warn)
    } else {
        (Role::Accent, Role::Muted)
    };
    let share = if gauge.limit == 0 { 0.0 } else { gauge.used as f64 / gauge.limit as f64 };
    let filled = ((share.min(1.0) * bar as f64).ceil() as usize).min(bar);
    let mut row = Row::new(world.paint(), area.width);
    row.cell(if gauge.limit == 0 { Role::Faint } else { Role::Text }, &gauge.name, name).gap(1);
    row.put(role, &world.glyphs.full.repeat(filled));
    row.put(Role::Track, &world.glyphs.track.repeat(bar - filled)).gap(1);
    row.put(if gauge.limit == 0 { Role::Faint } else { numbers_role }, &numbers);
    row.draw(buf, area.x, area.y);
}

/// Draws where the window stands, over the last column, when not everything is shown.
pub fn scroll_bar(buf: &mut Buffer, world: &World, area: Rect, first: usize, len: usize) {
    let height = usize::from(area.height);
    if len <= height || height < 3 || area.width == 0 {
        return;
    }
    let size = (height * height / len).max(1);
    let room = height - size;
    let at = (first * room).div_ceil(len - height).min(room);
    for y in at..at + size {
        let y = area.y + u16::try_from(y).unwrap_or(0);
        let cell = &mut buf[(area.right() - 1, y)];
        let bg = cell.bg;
        cell.set_symbol(world.glyphs.thumb);
        cell.set_style(world.theme.style(Role::Border));
        cell.bg = bg;
    }
}

/// Draws a heading with a number beside it.
pub fn heading(buf: &mut Buffer, world: &World, area: Rect, words: &str, note: &str) {
    let mut row = Row::new(world.paint(), area.width);
    row.put(Role::Heading, words);
    if !note.is_empty() {
        row.gap(2).put(Role::Faint, note);
    }
    if area.height > 0 {
        row.draw(buf, area.x, area.y);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_read_as_words() {
        assert_eq!(status("TIMED_OUT"), "Timed out");
        assert_eq!(status("NOT_ELIGIBLE"), "may not be published");
        assert_eq!(status(""), "");
    }

    #[test]
    fn status_words_in_a_line_are_put_as_words_and_names_stay() {
        assert_eq!(humane("PASSED_WITH_WARNINGS, see README"), "passed with warnings, see README");
        assert_eq!(humane("NOT_ELIGIBLE"), "may not be published");
    }

    #[test]
    fn a_budget_says_its_numbers_in_its_unit() {
        let gauge = |unit: &str, used, limit| Gauge { name: "x".into(), used, limit, unit: unit.into() };
        assert_eq!(amount(&gauge("", 3, 4)), "3 of 4");
        assert_eq!(amount(&gauge("B", 2048, 1 << 20)), "2 KiB of 1 MiB");
        assert_eq!(amount(&gauge("s", 90, 3600)), "1 m 30 s of 1 h 0 m");
        assert_eq!(amount(&gauge("", 0, 0)), "none");
    }
}
