//! Every screen and modal of the dashboard as a snapshot: letters and looks, in several sizes and themes.
#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

mod support;

use ratatui::buffer::Buffer;
use support::{stage_of, still};
use telic::service::link::Reply;
use telic::service::snapshot::ToolCallAsk;
use telic::tui::render::stage;
use telic::tui::stage::Stage;
use telic::tui::{Format, SCREENS, render};

/// Letters, then the looks that occur with a letter for each, then the looks of every line, run by run.
fn compact(buf: &Buffer) -> String {
    let mut text = String::new();
    let mut looks: Vec<String> = Vec::new();
    let mut styles = String::new();
    for y in 0..buf.area.height {
        let mut line = String::new();
        let mut runs: Vec<(usize, u16)> = Vec::new();
        let mut covered = 0;
        for x in 0..buf.area.width {
            let cell = &buf[(x, y)];
            if covered == 0 {
                line.push_str(cell.symbol());
                covered = telic::text::width(cell.symbol()).saturating_sub(1);
            } else {
                covered -= 1;
            }
            let look = format!("{} on {} {:?}", cell.fg, cell.bg, cell.modifier);
            let at = looks.iter().position(|known| *known == look).unwrap_or_else(|| {
                looks.push(look);
                looks.len() - 1
            });
            match runs.last_mut().filter(|(last, _)| *last == at) {
                Some((_, count)) => *count += 1,
                None => runs.push((at, 1)),
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
        let runs: Vec<String> = runs.iter().map(|(at, count)| format!("{}{count}", letter(*at))).collect();
        styles.push_str(&runs.join(" "));
        styles.push('\n');
    }
    let names: Vec<String> =
        looks.iter().enumerate().map(|(at, look)| format!("{}: {look}", letter(at))).collect();
    format!("{text}---\n{}\n---\n{styles}", names.join("\n"))
}

fn letter(at: usize) -> String {
    let c = char::from(b'a' + u8::try_from(at % 26).unwrap());
    if at < 26 { c.to_string() } else { format!("{c}'") }
}

fn check(name: &str, stage: &mut Stage) {
    let (columns, rows) = stage.app.world.size;
    let theme = stage.app.world.theme.name().to_owned();
    let frame = compact(&stage.frame());
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/snapshots"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.set_snapshot_suffix(format!("{columns}x{rows}-{theme}"));
    settings.bind(|| insta::assert_snapshot!(name, frame));
}

#[test]
fn every_screen_looks_as_it_did() {
    for screen in SCREENS {
        for (size, theme) in [((80, 24), "dark"), ((160, 45), "light")] {
            check(screen, &mut stage(still(screen, size, theme)).unwrap());
        }
    }
}

#[test]
fn the_screens_that_decide_look_as_they_did_at_the_smallest_and_a_large_size() {
    for screen in ["home", "overview", "clarification", "approval", "diff"] {
        for size in [(60, 16), (200, 60)] {
            check(screen, &mut stage(still(screen, size, "dark")).unwrap());
        }
    }
}

#[test]
fn modals_in_use_look_as_they_did() {
    let mut question = stage_of("clarification", (80, 24));
    question.press("2");
    check("clarification-chosen", &mut question);
    question.press("Enter");
    check("clarification-armed", &mut question);
    let mut approval = stage_of("approval", (80, 24));
    approval.press("Ctrl-X");
    check("approval-needs-comment", &mut approval);
    approval.press("c not yet Esc Ctrl-X");
    check("approval-confirm", &mut approval);
    let mut call = stage_of("overview", (80, 24));
    let mut detail = (**call.app.world.detail.as_ref().unwrap()).clone();
    detail.clarification = None;
    detail.tool_calls = vec![ToolCallAsk {
        id: "call_1".into(),
        tool: "telic_run_command".into(),
        exact: "cargo install --path tools/pri\u{441}es".into(),
        asker: "executor at node fetch-prices".into(),
        why: "shell.execute is on the ask list of the policy".into(),
        effective: "shell.execute for: cargo test".into(),
        since: telic::tui::sample::minutes_ago(3),
    }];
    call.reply(Reply::Detail(std::sync::Arc::new(detail)));
    call.wait(500);
    call.press("1");
    check("tool-call", &mut call);
    let mut home = stage_of("home", (80, 24));
    home.press("/ tile");
    check("home-filtered", &mut home);
}

#[test]
fn no_colour_and_plain_signs_still_say_everything() {
    let plain = telic::tui::Still { theme: "mono".into(), ascii: true, ..still("home", (80, 24), "dark") };
    let text = render(plain).unwrap();
    assert!(!text.contains(|c| "│─━═┄▌●◆✓✗▲○‹›→".contains(c)), "{text}");
    for words in ["Needs you 3", "Active 3", "Recent 4", ">x harbor", "? ledger"] {
        assert!(text.contains(words), "{words} is missing in\n{text}");
    }
}

#[test]
fn pictures_can_be_written_for_a_look() {
    let folder = std::env::var("TELIC_PICTURES").ok();
    for screen in SCREENS {
        for (size, theme) in
            [((160, 45), "dark"), ((80, 24), "dark"), ((80, 24), "light"), ((60, 16), "light")]
        {
            let picture =
                render(telic::tui::Still { format: Format::Svg, ..still(screen, size, theme) }).unwrap();
            assert!(picture.starts_with("<svg ") && picture.ends_with("</svg>\n"), "{screen}");
            if let Some(folder) = &folder {
                let name = format!("{folder}/{screen}-{}x{}-{theme}.svg", size.0, size.1);
                std::fs::write(name, picture).unwrap();
            }
        }
    }
}
