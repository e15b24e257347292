//! What the dashboard does with keys, clicks, pastes and answers: above all what it must not do by accident.
#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

mod support;

use std::sync::Arc;

use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use support::{stage_of, still, text, world_of};
use telic::service::link::{Command, Reply, ToolCallDecision};
use telic::service::snapshot::{ItemState, RunDetail, Snapshot, ToolCallAsk};
use telic::tui::msg::{Effect, Msg};
use telic::tui::render::stage;
use telic::tui::stage::Stage;
use telic::tui::{SCREENS, Still, sample};

fn decisions(stage: &Stage) -> Vec<&Command> {
    let decides = |command: &&Command| {
        !matches!(
            command,
            Command::Follow(_)
                | Command::Unfollow
                | Command::LoadDiff { .. }
                | Command::LoadLog { .. }
                | Command::LoadArtifact { .. }
                | Command::Refresh
        )
    };
    stage.sent.iter().map(|request| &request.command).filter(decides).collect()
}

fn detail(stage: &mut Stage, change: impl FnOnce(&mut RunDetail)) {
    let mut detail = (**stage.app.world.detail.as_ref().unwrap()).clone();
    change(&mut detail);
    stage.reply(Reply::Detail(Arc::new(detail)));
}

/// Opens the run with a question from the list, so that the picker comes up by itself.
fn question_appears(size: (u16, u16)) -> Stage {
    let mut stage = stage_of("home", size);
    stage.press("n n");
    assert!(text(&mut stage).contains("Waiting for your choice"), "the question is selected");
    stage.press("Enter");
    assert!(text(&mut stage).contains("A question for you"));
    stage
}

#[test]
fn keys_typed_ahead_into_a_question_that_appears_do_nothing() {
    let mut stage = question_appears((80, 24));
    stage.press("1 Enter Enter");
    assert!(decisions(&stage).is_empty());
    stage.wait(401);
    stage.press("Enter Enter");
    assert!(decisions(&stage).is_empty(), "nothing was chosen, so Enter sends nothing");
    stage.press("1 Enter");
    let sent = decisions(&stage);
    assert!(matches!(
        sent[..],
        [Command::Answer { choice, expected_version: 7, request_id, .. }]
            if choice == "ledger-cache" && request_id == "clarification-1"
    ));
}

#[test]
fn typing_on_keeps_a_question_that_appeared_deaf() {
    let mut stage = question_appears((80, 24));
    for _ in 0..10 {
        stage.wait(300);
        stage.press("1");
    }
    stage.wait(300);
    stage.press("Enter");
    assert!(decisions(&stage).is_empty());
}

#[test]
fn an_answer_that_ends_the_run_takes_enter_twice_and_is_sent_once() {
    let mut stage = stage_of("clarification", (80, 24));
    stage.press("3 Enter");
    assert!(decisions(&stage).is_empty());
    assert!(text(&mut stage).contains("This cancels this run."));
    stage.press("Esc Enter");
    assert!(decisions(&stage).is_empty(), "Esc took the first Enter back");
    stage.press("Enter Enter Enter");
    assert_eq!(decisions(&stage).len(), 1);
}

#[test]
fn choosing_another_answer_takes_the_first_enter_back() {
    let mut stage = stage_of("clarification", (80, 24));
    stage.press("3 Enter 2 Enter");
    assert!(decisions(&stage).is_empty());
}

#[test]
fn later_is_no_answer_and_the_question_does_not_come_up_again_by_itself() {
    let mut stage = stage_of("clarification", (80, 24));
    stage.press("1 Esc");
    assert!(decisions(&stage).is_empty());
    assert!(!text(&mut stage).contains("A question for you"));
    detail(&mut stage, |detail| detail.row.sentence.push('!'));
    assert!(!text(&mut stage).contains("A question for you"));
    stage.press("a");
    assert!(text(&mut stage).contains("A question for you"), "it can be opened again");
}

#[test]
fn a_run_that_moved_on_gets_no_answer_and_the_choice_is_taken_back() {
    let mut stage = stage_of("clarification", (80, 24));
    stage.press("1");
    detail(&mut stage, |detail| {
        detail.row.version = 8;
        detail.clarification.as_mut().unwrap().version = 8;
    });
    stage.press("Enter");
    assert!(decisions(&stage).is_empty());
    stage.press("1");
    detail(&mut stage, |detail| detail.row.version = 9);
    stage.press("Enter");
    assert!(decisions(&stage).is_empty());
    assert!(text(&mut stage).contains("the run moved on"));
}

#[test]
fn a_question_that_was_answered_elsewhere_closes_its_own_modal() {
    let mut stage = stage_of("clarification", (80, 24));
    stage.press("1");
    detail(&mut stage, |detail| detail.clarification = None);
    assert!(!text(&mut stage).contains("A question for you"));
    stage.press("Enter");
    assert!(decisions(&stage).is_empty());
}

#[test]
fn an_answer_is_read_to_its_end_before_it_is_sent() {
    let mut stage = stage_of("clarification", (80, 24));
    detail(&mut stage, |detail| {
        let choices = &mut detail.clarification.as_mut().unwrap().choices;
        choices[0].consequence = "word ".repeat(600);
    });
    stage.press("1 Enter");
    assert!(decisions(&stage).is_empty());
    stage.press("PageDown PageDown PageDown PageDown PageDown PageDown Up 1");
    for _ in 0..10 {
        stage.press("PageDown Enter");
    }
    assert_eq!(decisions(&stage).len(), 1);
}

fn call(id: &str, exact: &str) -> ToolCallAsk {
    ToolCallAsk {
        id: id.into(),
        tool: "telic_run_command".into(),
        exact: exact.into(),
        ..ToolCallAsk::default()
    }
}

/// The run with two calls that wait, after the moment in which the modal is deaf.
fn calls_wait(exact: &str) -> Stage {
    let mut stage = stage_of("overview", (80, 24));
    detail(&mut stage, |detail| {
        detail.clarification = None;
        detail.tool_calls = vec![call("call_1", exact), call("call_2", "cargo doc")];
    });
    stage.press("1 Ctrl-Y");
    assert!(decisions(&stage).is_empty(), "the modal was deaf");
    stage.wait(1000);
    stage
}

#[test]
fn a_tool_call_is_decided_by_a_choice_and_a_key_that_nobody_types() {
    let mut stage = calls_wait("cargo fix");
    stage.press("Ctrl-Y Enter 1 Enter y Space");
    assert!(decisions(&stage).is_empty());
    stage.press("Ctrl-Y Ctrl-Y");
    assert!(matches!(
        decisions(&stage)[..],
        [Command::DecideToolCall { call, decision: ToolCallDecision::AllowOnce, .. }] if call == "call_1"
    ));
    detail(&mut stage, |detail| _ = detail.tool_calls.remove(0));
    assert!(text(&mut stage).contains("cargo doc"), "the next call in the queue comes up");
    stage.press("1 Ctrl-Y");
    assert_eq!(decisions(&stage).len(), 1, "and is deaf at first");
}

#[test]
fn a_long_call_is_read_to_its_end_before_it_is_allowed_and_its_odd_letters_are_named() {
    let mut stage = calls_wait(&format!("{} && rm -rf / \u{202e}\u{430}", "x ".repeat(700)));
    stage.press("1 Ctrl-Y");
    assert!(decisions(&stage).is_empty());
    for _ in 0..6 {
        stage.press("PageDown");
    }
    let shown = text(&mut stage);
    assert!(shown.contains("<U+202E>") && shown.contains("U+0430"), "{shown}");
    stage.press("Ctrl-Y");
    assert_eq!(decisions(&stage).len(), 1);
}

#[test]
fn denying_and_cancelling_takes_the_key_twice_and_later_is_no_denial() {
    let mut stage = calls_wait("cargo fix");
    stage.press("4 Ctrl-Y");
    assert!(decisions(&stage).is_empty());
    stage.press("Ctrl-Y");
    assert_eq!(decisions(&stage).len(), 1);
    let mut stage = calls_wait("cargo fix");
    stage.press("3 Esc");
    assert!(decisions(&stage).is_empty());
}

/// The approval page with every warning acknowledged.
fn ready() -> Stage {
    let mut stage = stage_of("approval", (120, 40));
    stage.press("j j j j Space j j j j j Space j Space");
    assert!(text(&mut stage).contains("Ready."), "{}", text(&mut stage));
    stage
}

#[test]
fn approving_takes_its_own_key_twice() {
    for keys in
        ["Enter", "Enter Enter Enter", "y", "a", "A", "Space", "Ctrl-Y Enter", "Ctrl-Y y", "Ctrl-Y Ctrl-O"]
    {
        let mut stage = ready();
        stage.press(keys);
        assert!(decisions(&stage).is_empty(), "{keys} decided something");
    }
    let mut stage = ready();
    stage.press("Ctrl-Y Esc Ctrl-Y");
    assert!(decisions(&stage).is_empty());
    stage.press("Ctrl-Y");
    let sent = decisions(&stage);
    let [Command::Approve { patch_digest, acknowledged, publish: true, verdict_id, reviewed_files, .. }] =
        sent[..]
    else {
        panic!("{sent:?}")
    };
    assert_eq!((patch_digest.as_str(), verdict_id.as_str()), ("sha256:5be1f0c2a9d34471", "verdict_01"));
    assert_eq!(acknowledged[..], ["links (optional)", "files_not_viewed", "judge_warning"]);
    assert!(reviewed_files.is_empty());
}

#[test]
fn a_decision_is_sent_once_until_it_is_answered() {
    let mut stage = ready();
    stage.press("Ctrl-O Ctrl-O Ctrl-O Ctrl-O Ctrl-O Ctrl-O");
    assert_eq!(decisions(&stage).len(), 1);
    let ticket = stage.sent.last().unwrap().ticket;
    stage.reply(Reply::Refused { request: ticket, code: "stale".into(), text: "the base moved".into() });
    assert!(text(&mut stage).contains("Not done: the base moved"));
    stage.press("Ctrl-O Ctrl-O");
    assert_eq!(decisions(&stage).len(), 2);
}

#[test]
fn warnings_are_acknowledged_one_by_one_before_an_approval() {
    let mut stage = stage_of("approval", (120, 40));
    stage.press("Ctrl-Y Ctrl-Y");
    assert!(decisions(&stage).is_empty());
    assert!(text(&mut stage).contains("3 warnings are not acknowledged yet."));
    stage.press("j j j j Space");
    assert!(text(&mut stage).contains("2 warnings are not acknowledged yet."));
}

#[test]
fn what_failed_or_is_not_eligible_cannot_be_approved() {
    let mut stage = ready();
    detail(&mut stage, |detail| detail.approval.as_mut().unwrap().checklist[0].state = ItemState::Fail);
    stage.press("Ctrl-Y Ctrl-Y Ctrl-O Ctrl-O");
    assert!(decisions(&stage).is_empty());
    let mut stage = ready();
    detail(&mut stage, |detail| detail.approval.as_mut().unwrap().eligibility = "NOT_ELIGIBLE".into());
    let shown = text(&mut stage);
    assert!(shown.contains("may not be approved") && !shown.contains("approve and publish"), "{shown}");
    stage.press("Ctrl-Y Ctrl-Y Ctrl-O Ctrl-O");
    assert!(decisions(&stage).is_empty());
}

#[test]
fn a_patch_that_changes_while_the_page_is_open_kills_its_buttons() {
    let mut stage = ready();
    stage.press("Ctrl-Y");
    detail(&mut stage, |detail| detail.approval.as_mut().unwrap().patch_digest = "sha256:other".into());
    stage.press("Ctrl-Y");
    assert!(decisions(&stage).is_empty(), "the second key came after the change");
    assert!(text(&mut stage).contains("The patch changed while this page was open."));
    stage.press("c no Esc Ctrl-X Ctrl-X Ctrl-R Ctrl-R Ctrl-O Ctrl-O");
    assert!(decisions(&stage).is_empty());
    stage.press("R");
    assert!(text(&mut stage).contains("3 warnings are not acknowledged yet."), "acknowledgements are gone");
}

#[test]
fn rejecting_and_asking_for_changes_need_a_comment() {
    let mut stage = stage_of("approval", (120, 40));
    stage.press("Ctrl-X Ctrl-X Ctrl-R Ctrl-R");
    assert!(decisions(&stage).is_empty());
    stage.press("c wrong Esc Ctrl-X Ctrl-X");
    assert!(matches!(decisions(&stage)[..], [Command::Reject { comment, .. }] if comment == "wrong"));
}

#[test]
fn no_key_decides_while_a_comment_is_written() {
    let mut stage = ready();
    stage.press("c Ctrl-Y Ctrl-Y Ctrl-O Ctrl-O Ctrl-X Ctrl-X q a");
    assert!(decisions(&stage).is_empty());
    assert!(text(&mut stage).contains("writing"));
}

#[test]
fn a_look_aside_leads_back_to_the_page_as_it_was() {
    let mut stage = ready();
    stage.press("Enter");
    assert!(!text(&mut stage).contains("Checklist"));
    stage.press("Ctrl-Y Ctrl-Y Esc");
    assert!(text(&mut stage).contains("Ready."), "the acknowledgements are still there");
    assert!(decisions(&stage).is_empty(), "a tab decides nothing");
}

#[test]
fn what_is_decided_offers_no_decision_but_what_is_approved_can_be_published() {
    let mut stage = ready();
    detail(&mut stage, |detail| detail.approval.as_mut().unwrap().decision = Some("APPROVED".into()));
    let shown = text(&mut stage);
    assert!(shown.contains("Ctrl-Y publish") && !shown.contains("Ctrl-X"), "{shown}");
    stage.press("c no Esc Ctrl-X Ctrl-X Ctrl-R Ctrl-R Ctrl-O Ctrl-O Ctrl-Y");
    assert!(decisions(&stage).is_empty());
    stage.press("Ctrl-Y");
    assert!(matches!(decisions(&stage)[..], [Command::Publish { .. }]));
}

#[test]
fn pasted_text_is_text_and_fires_no_key() {
    let mut stage = ready();
    stage.take(Msg::Paste("\u{19}\u{19}q1\r\n:".into()));
    assert!(decisions(&stage).is_empty());
    assert!(text(&mut stage).contains("Pasted text was dropped"));
    stage.press("c");
    stage.take(Msg::Paste("first\r\nsecond\u{1b}[31m".into()));
    let shown = text(&mut stage);
    assert!(shown.contains("first") && shown.contains("second[31m"), "{shown}");
    let mut question = stage_of("clarification", (80, 24));
    question.take(Msg::Paste("1\n\n".into()));
    question.press("Enter");
    assert!(decisions(&question).is_empty());
}

fn click_everywhere(stage: &mut Stage) {
    let (columns, rows) = stage.app.world.size;
    for row in 0..rows {
        for column in 0..columns {
            stage.frame();
            let kind = MouseEventKind::Down(MouseButton::Left);
            stage.take(Msg::Mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE }));
        }
    }
}

#[test]
fn no_click_decides_anything() {
    for screen in ["clarification", "approval"] {
        let mut stage = stage_of(screen, (60, 16));
        click_everywhere(&mut stage);
        assert!(decisions(&stage).is_empty(), "{screen}");
    }
    let mut stage = ready();
    stage.press("Ctrl-Y");
    click_everywhere(&mut stage);
    assert!(decisions(&stage).is_empty());
}

#[test]
fn the_click_that_brings_the_window_into_focus_is_swallowed() {
    let mut stage = stage_of("clarification", (80, 24));
    let row = text(&mut stage).lines().position(|line| line.contains("Cache in the gateway, for")).unwrap();
    let click = |stage: &mut Stage| {
        let kind = MouseEventKind::Down(MouseButton::Left);
        let row = u16::try_from(row).unwrap();
        stage.take(Msg::Mouse(MouseEvent { kind, column: 20, row, modifiers: KeyModifiers::NONE }));
    };
    stage.take(Msg::Focus(false));
    click(&mut stage);
    stage.wait(100);
    stage.take(Msg::Focus(true));
    click(&mut stage);
    assert!(text(&mut stage).contains("Nothing is chosen yet."));
    stage.wait(500);
    click(&mut stage);
    assert!(!text(&mut stage).contains("Nothing is chosen yet."));
}

#[test]
fn cancelling_a_run_and_quitting_ask_again() {
    let mut stage = stage_of("overview", (80, 24));
    stage.press("X Enter y");
    assert!(decisions(&stage).is_empty());
    stage.press("Esc X X");
    assert!(matches!(decisions(&stage)[..], [Command::Cancel { expected_version: 7, .. }]));
    let mut stage = stage_of("home", (80, 24));
    stage.press("Ctrl-C Esc q n");
    assert!(!stage.effects.contains(&Effect::Quit));
    stage.press("Ctrl-C Ctrl-C");
    assert!(stage.effects.contains(&Effect::Quit));
}

#[test]
fn only_the_top_layer_sees_a_key() {
    let mut stage = ready();
    stage.press("? Ctrl-Y Ctrl-Y Ctrl-O Ctrl-O");
    assert!(decisions(&stage).is_empty());
    assert!(text(&mut stage).contains("Keys"));
}

#[test]
fn nothing_that_a_run_says_reaches_the_terminal_as_a_control() {
    let hostile = "\u{1b}]0;t\u{7}\u{1b}[2J\u{9b}31m\u{202e}gnp.exe\u{200b}\r\u{8}\u{e0041}";
    for size in [(60, 16), (80, 24), (160, 45)] {
        for screen in SCREENS {
            let (snapshot, supply, key) = world_of(hostile);
            let run = Some(key);
            let mut stage = stage(Still { snapshot, supply, run, ..still(screen, size, "dark") }).unwrap();
            let shown = text(&mut stage);
            let bad = |c: char| c.is_control() && c != '\n' || "\u{202e}\u{200b}\u{e0041}\u{9b}".contains(c);
            assert!(!shown.contains(bad), "{screen} {size:?}");
        }
    }
}

#[test]
fn long_wide_and_empty_texts_draw_without_a_panic() {
    let family = "👩\u{200d}👩\u{200d}👧 ";
    let texts =
        [String::new(), "long ".repeat(150), "日本語の題名".repeat(40), family.repeat(30), "x".repeat(400)];
    for content in &texts {
        for screen in SCREENS {
            let (snapshot, supply, key) = world_of(content);
            let run = Some(key);
            let mut stage =
                stage(Still { snapshot, supply, run, ..still(screen, (80, 24), "light") }).unwrap();
            for size in [(60, 16), (101, 20)] {
                stage.take(Msg::Resize(size.0, size.1));
                stage.press("j G PageUp v w");
                stage.frame();
            }
        }
    }
}

#[test]
fn an_empty_log_is_asked_for_once_and_one_that_is_written_now_and_then() {
    let (snapshot, supply, key) = world_of("");
    let mut stage =
        stage(Still { snapshot, supply, run: Some(key), ..still("checks", (120, 40), "dark") }).unwrap();
    let asked = |stage: &Stage| {
        stage.sent.iter().filter(|request| matches!(request.command, Command::LoadLog { .. })).count()
    };
    stage.wait(5000);
    assert_eq!(asked(&stage), 1);
    detail(&mut stage, |detail| detail.verification.as_mut().unwrap().checks[0].status = "RUNNING".into());
    stage.wait(500);
    let before = asked(&stage);
    stage.wait(1000);
    assert_eq!(asked(&stage), before + 1);
}

#[test]
fn every_size_draws_without_a_panic() {
    for screen in SCREENS {
        let mut stage = stage_of(screen, (80, 24));
        for size in
            [(1, 1), (20, 5), (60, 16), (61, 17), (99, 30), (100, 20), (140, 16), (500, 200), (60, 200)]
        {
            stage.take(Msg::Resize(size.0, size.1));
            stage.frame();
            stage.press("j j G g PageDown Right Left");
            stage.frame();
        }
    }
}

#[test]
fn a_small_terminal_gets_one_plain_line() {
    let mut stage = stage_of("home", (59, 16));
    assert!(text(&mut stage).starts_with("telic needs 60 x 16; this is 59 x 16"));
}

#[test]
fn a_viewed_mark_belongs_to_the_content_of_the_file() {
    let mut stage = stage_of("diff", (160, 45));
    stage.press("Space");
    assert!(text(&mut stage).contains("1 of 3 viewed"));
    detail(&mut stage, |detail| {
        let patch = detail.patch.as_mut().unwrap();
        patch.files[0].digest = "sha256:changed".into();
    });
    assert!(text(&mut stage).contains("0 of 3 viewed"));
}

#[test]
fn a_search_finds_lines_around_the_end_and_takes_letters_as_letters() {
    let mut stage = stage_of("diff", (120, 20));
    stage.press("/ streamreader q Backspace");
    stage.press("Enter");
    let shown = text(&mut stage);
    assert!(shown.contains("▌     ") && shown.contains("use tiles::v4::{Limits, StreamReader};"), "{shown}");
    // What stands right of the file tree, on the selected row.
    let mark = |stage: &mut Stage| {
        let shown = text(stage);
        let line = shown.lines().find(|line| line.contains("│▌") && line.contains("StreamReader"));
        line.and_then(|line| line.split_once('│')).map(|(_, diff)| diff.to_owned())
    };
    let first = mark(&mut stage).unwrap();
    stage.press("Enter");
    let second = mark(&mut stage).unwrap();
    assert!(second.contains("with_limits") && first != second);
    stage.press("Enter");
    assert_eq!(mark(&mut stage).unwrap(), first);
    stage.press("/ zebra Enter");
    assert!(text(&mut stage).contains("Not in this diff: zebra"));
}

#[test]
fn an_answer_about_something_else_is_dropped() {
    let mut stage = stage_of("diff", (160, 45));
    let before = text(&mut stage);
    let key = sample::key("run_01APPROVAL");
    stage.reply(Reply::Diff { request: 1, key, digest: "sha256:old".into(), patch: Arc::from(&b"junk"[..]) });
    let other = RunDetail { row: sample::rows()[0].clone(), ..RunDetail::default() };
    stage.reply(Reply::Detail(Arc::new(other)));
    assert_eq!(text(&mut stage), before);
}

#[test]
fn an_artifact_is_read_when_it_came_and_a_damaged_one_is_not_shown() {
    let mut stage = stage_of("artifacts", (100, 30));
    stage.press("j j Enter");
    let request = stage.sent.last().unwrap().clone();
    let Command::LoadArtifact { key, id } = request.command else { panic!("{request:?}") };
    assert_eq!(id, "artifact-3");
    let body = || Arc::from(&br#"{"objective":"read \u001b[31m tiles"}"#[..]);
    stage.reply(Reply::Artifact { request: 999, key: key.clone(), id: id.clone(), body: body() });
    assert!(!text(&mut stage).contains("objective"), "an answer to something else is dropped");
    stage.reply(Reply::Artifact { request: request.ticket, key, id, body: body() });
    assert!(text(&mut stage).contains("\"objective\": \"read"));
    let sent = stage.sent.len();
    stage.press("Esc j Enter");
    assert_eq!(stage.sent.len(), sent, "artifact-4 is damaged");
}

#[test]
fn a_run_that_newly_needs_a_person_is_told_once() {
    let mut stage = stage_of("home", (80, 24));
    let mut rows = sample::rows();
    rows[0].need = rows[3].need.clone();
    let snapshot = |generation| {
        Arc::new(Snapshot { generation, rows: Arc::new(rows.clone()), ..(*sample::snapshot()).clone() })
    };
    stage.take(Msg::Snapshot(snapshot(2)));
    stage.take(Msg::Snapshot(snapshot(3)));
    let told = stage.effects.iter().filter(|effect| matches!(effect, Effect::Attention(_))).count();
    assert_eq!(told, 1);
}

#[test]
fn the_selected_run_stays_selected_wherever_it_goes() {
    let mut stage = stage_of("home", (80, 24));
    stage.press("n");
    let selected = stage.app.home.selected(&stage.app.world).unwrap().key.clone();
    let mut rows = sample::rows();
    rows.reverse();
    for row in &mut rows {
        row.need = None;
    }
    let snapshot = Snapshot { generation: 2, rows: Arc::new(rows), ..(*sample::snapshot()).clone() };
    stage.take(Msg::Snapshot(Arc::new(snapshot)));
    assert_eq!(stage.app.home.selected(&stage.app.world).unwrap().key, selected);
}
