//! What is taken, and what the stored bodies say.

use super::*;
use crate::grounding::Watch;
use crate::grounding::secrets::{Detector, Hit, RuleId};
use crate::protocol::{Body, ExclusionReason, Kind};
use crate::store::Digest;
use crate::text::units;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

fn assert_valid(grounding: &Grounding) {
    let documents = grounding.documents.iter().map(|document| (Kind::ContextDocument, &document.body));
    for (kind, body) in documents.chain([(Kind::ContextManifest, &grounding.manifest)]) {
        Body::read(kind, body).unwrap_or_else(|faults| panic!("{kind}: {faults:?}"));
    }
}

#[test]
fn links_are_read_inside_the_root_only() {
    let place = Place::git();
    std::fs::create_dir(place.beside("outside")).unwrap();
    std::fs::write(place.beside("outside/x.txt"), "not yours\n").unwrap();
    place.write("a.txt", "a\n").write("dir/b.txt", "b\n");
    place.link("inner.txt", "dir/b.txt").link("folder", "dir").link("dangling", "nowhere");
    place.link("outer.txt", "../outside/x.txt").link("loop", "loop").link("escape", "../outside");
    let mut input = place.input();
    let grounding = ground(&input).unwrap();
    assert_eq!(selected(&grounding), ["a.txt", "dir/b.txt"]);
    let expected =
        [("duplicate_content", 1), ("non_regular_file", 1), ("symlink_escape", 2), ("unreadable_file", 2)];
    assert_eq!(excluded(&grounding), counts(expected));

    // Git lists nothing below a link, so the path comes from its index here.
    std::fs::remove_file(place.root.join("escape")).unwrap();
    place.write("escape/x.txt", "tracked\n").run(["add", "-A"]);
    std::fs::remove_dir_all(place.root.join("escape")).unwrap();
    place.link("escape", "../outside");
    input.request = "look".to_owned();
    let grounding = ground(&input).unwrap();
    assert_eq!(excluded(&grounding)["path_escape"], 1);
    assert!(!grounding.manifest.to_string().contains("escape/"));
}

#[test]
fn a_link_does_not_make_readable_what_the_name_of_its_target_forbids() {
    let place = Place::git();
    place.write(".env", "A=1\n").write("a.txt", "a\n");
    place.link("harmless.txt", ".env").link("config.txt", ".git/config");
    let grounding = place.ground();
    assert_eq!(selected(&grounding), ["a.txt"]);
    assert_eq!(excluded(&grounding), counts([("excluded_directory", 1), ("secret_like_file", 2)]));
}

#[test]
fn pipes_and_directories_are_not_opened() {
    let place = Place::plain();
    place.write("a.txt", "a\n");
    nix::unistd::mkfifo(&place.root.join("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let mut input = place.input();
    input.active_paths = vec!["pipe".to_owned(), place.root.to_str().unwrap().to_owned()];
    let grounding = ground(&input).unwrap();
    assert_eq!(selected(&grounding), ["a.txt"]);
    assert_eq!(excluded(&grounding), counts([("non_regular_file", 2)]));
}

#[test]
fn text_is_told_from_binary_and_a_byte_order_mark_stays() {
    let place = Place::git();
    let tenth = [vec![b'a'; 90], vec![1; 10]].concat();
    let more = [vec![b'a'; 89], vec![1; 11]].concat();
    let late = [vec![b'a'; 8192], vec![0]].concat();
    place.write("tenth.txt", &tenth).write("more.txt", more).write("late.txt", &late);
    place.write("bom.txt", "\u{feff}text\n").write("latin.txt", b"caf\xe9\n").write("empty.txt", "");
    let grounding = place.ground();
    assert_eq!(selected(&grounding), ["bom.txt", "empty.txt", "late.txt", "tenth.txt"]);
    assert_eq!(excluded(&grounding), counts([("binary_file", 1), ("invalid_utf8", 1)]));
    assert_eq!(content(&grounding, "repo://bom.txt"), "\u{feff}text\n");
    let bom = &grounding.documents[0].body;
    assert_eq!(bom["sizeBytes"], 8);
    assert_eq!(bom["contentHash"], Digest::of(b"\xef\xbb\xbftext\n").to_string());
    assert_valid(&grounding);
}

#[test]
fn credentials_are_left_out_and_the_extended_rules_can_be_switched_off() {
    let place = Place::git();
    place.write("a.txt", "password = correcthorse1\n").write("id_rsa", "x\n");
    place.write("b.json", "{\"password\": \"h7Gk2pQ9xL\"}\n").write("terraform.tfvars", "x = 1\n");
    place.write("secrets.rs", "mod secrets;\n").write("c.txt", "c\n");
    let grounding = place.ground();
    assert_eq!(selected(&grounding), ["c.txt"]);
    assert_eq!(excluded(&grounding), counts([("secret_content", 2), ("secret_like_file", 3)]));
    let hit = grounding.decisions.iter().find(|decision| decision.path == "b.json").unwrap().credential;
    assert_eq!(hit, Some(Hit { rule: RuleId::QuotedAssignment, line: 1 }));
    // Nothing that was left out is named in what is stored.
    for hidden in ["a.txt", "b.json", "tfvars", "secrets.rs", "correcthorse"] {
        assert!(!grounding.manifest.to_string().contains(hidden), "{hidden}");
    }

    let mut floor = place.input();
    floor.options.detector = Detector::floor();
    floor.options.readable_names = ["secrets.rs".to_owned(), "a.txt".to_owned()].into();
    let grounding = ground(&floor).unwrap();
    assert_eq!(selected(&grounding), ["b.json", "c.txt", "secrets.rs", "terraform.tfvars"]);
    assert_eq!(excluded(&grounding), counts([("secret_content", 1), ("secret_like_file", 1)]));
}

#[test]
fn budgets_bound_files_and_bytes() {
    let place = Place::git();
    place.write("a.txt", "123").write("b.txt", "12345").write("c.txt", "1").write("d.txt", "x".repeat(11));
    let mut input = place.input();
    input.budget.max_total_bytes = 4;
    input.budget.max_file_bytes = 10;
    let grounding = ground(&input).unwrap();
    assert_eq!(selected(&grounding), ["a.txt", "c.txt"]);
    assert_eq!(excluded(&grounding), counts([("file_too_large", 1), ("total_bytes_budget", 1)]));
    assert_eq!(grounding.manifest["budget"]["selectedBytes"], 4);
    assert_eq!(grounding.manifest["budget"]["estimatedTokens"], 1);

    input = place.input();
    input.budget.max_files = 3;
    let grounding = ground(&input).unwrap();
    assert_eq!(selected(&grounding), ["a.txt", "b.txt", "c.txt"]);
    assert_eq!(excluded(&grounding), counts([("file_count_budget", 1)]));
}

#[test]
fn truncation_keeps_the_best_and_not_the_first_names() {
    let place = Place::git();
    for name in ["a.txt", "b.txt", "c.txt", "zebra.txt", ".env"] {
        place.write(name, name);
    }
    let mut input = place.input();
    input.request = "Where is the zebra?".to_owned();
    input.budget.max_inventory_files = 2;
    let grounding = ground(&input).unwrap();
    assert_eq!(selected(&grounding), ["zebra.txt", "a.txt"]);
    assert_eq!(excluded(&grounding), counts([("inventory_budget", 2), ("secret_like_file", 1)]));
    assert_eq!(grounding.manifest["budget"]["candidateFiles"], 5);
    assert_eq!(grounding.warnings.len(), 1);
}

#[test]
fn eight_files_without_relation_are_a_sample() {
    let place = Place::git();
    for at in 0..10 {
        place.write(&format!("f{at}.txt"), format!("{at}\n"));
    }
    place.write("same.txt", "0\n").write("AGENTS.md", "rules\n");
    let grounding = place.ground();
    // The ninth and all later ones are left out unread, the duplicate among them.
    assert_eq!(selected(&grounding).len(), 9);
    assert_eq!(excluded(&grounding), counts([("low_relevance", 3)]));
    assert_eq!(grounding.warnings.len(), 1);
}

#[test]
fn long_names_and_large_bodies_leave_one_file_out_and_ground_the_rest() {
    let place = Place::git();
    let accents = "é".repeat(127);
    place.write(&format!("{accents}/{accents}/ok.txt"), "still fits\n");
    place.write(&format!("{accents}/{accents}/{accents}/long.txt"), "its reference is too long\n");
    // Not binary, for the first bytes are text; but each control character takes six bytes as JSON.
    place.write("escaped.txt", ["a".repeat(8192), "\u{1}".repeat(400_000)].concat());
    let mut input = place.input();
    input.budget.max_file_bytes = 2_097_152;
    input.budget.max_total_bytes = 16_777_216;
    let grounding = ground(&input).unwrap();
    assert_eq!(selected(&grounding), [format!("{accents}/{accents}/ok.txt")]);
    assert_eq!(excluded(&grounding), counts([("file_too_large", 1), ("invalid_path", 1)]));
    assert!(units(&grounding.documents[0].summary()) <= 800);
    assert_valid(&grounding);
}

#[test]
fn the_same_state_gives_the_same_ids_and_another_state_others() {
    let place = Place::git();
    place.write("a.txt", "a\n").write("sub/AGENTS.md", "rules\n").commit();
    let (first, second) = (place.ground(), place.ground());
    assert_eq!(first, second);
    let head = String::from_utf8(run_git(&place.root, &["rev-parse", "HEAD"])).unwrap();
    assert_eq!(first.manifest["repositoryFingerprint"]["headCommit"], head.trim());
    assert_eq!(first.derived_refs[0], format!("artifact://run-1/{}", first.documents[0].id));
    assert_eq!(first.documents[0].body["instructionScope"], "sub");
    assert_eq!(first.documents[0].body["trustKind"], "applicable_instruction");
    assert_eq!(first.documents[1].body["instructionScope"], Value::Null);
    assert_valid(&first);
    place.write("a.txt", "b\n");
    assert_ne!(place.ground().manifest_id, first.manifest_id);
}

#[test]
fn the_fingerprint_is_the_digest_of_status_and_files() {
    let place = Place::git();
    place.write("a.txt", "before\n").commit();
    place.write("a.txt", "alpha\n").write("b.txt", "beta\n");
    let grounding = place.ground();
    assert_eq!(
        grounding.manifest["repositoryFingerprint"]["dirtyWorktreeHash"],
        "sha256:fe1c9ec778a44e7f418cae00db8feebe5827f8334818c045962fa9cfb110d784"
    );
    let plain = Place::plain();
    plain.write("a.txt", "alpha\n").write("secrets/x", "x\n");
    assert_eq!(
        plain.ground().manifest["repositoryFingerprint"]["dirtyWorktreeHash"],
        "sha256:5ae86ccdb54c9b9342c238c5ba33e692466d0083e9cf5399f85258fdc87a44b1"
    );
}

#[test]
fn nothing_is_read_in_report_only_or_without_permission() {
    let mut input = GroundingInput::new("run-1234567890abcdef", "/does/not/exist", "x");
    input.active_paths = vec!["../bad".to_owned()];
    input.input_refs = vec!["artifact://run-1234567890abcdef/request".to_owned()];
    for (report_only, may_read) in [(true, true), (false, false), (true, false)] {
        input.mode_report_only = report_only;
        input.may_read = may_read;
        let grounding = ground(&input).unwrap();
        assert_eq!(grounding.manifest_id, "context-report-only-run-12345678");
        assert!(grounding.documents.is_empty() && selected(&grounding).is_empty());
        assert_eq!(grounding.warnings.len(), 1);
        assert_eq!(grounding.warnings[0].contains("repository.read"), !report_only);
        assert_eq!(grounding.source_refs, input.input_refs);
        assert_eq!(
            grounding.manifest["repositoryFingerprint"]["dirtyWorktreeHash"],
            Digest::of(b"").to_string()
        );
        assert_valid(&grounding);
    }
}

#[test]
fn cancelling_and_the_deadline_end_grounding() {
    let place = Place::git();
    place.write("a.txt", "a\n");
    let mut input = place.input();
    let hour = Instant::now() + Duration::from_secs(3600);
    input.watch = Watch::new(hour, Arc::new(AtomicBool::new(true)));
    assert_eq!(ground(&input).unwrap_err().code(), "grounding_cancelled");
    input.watch = Watch::new(Instant::now(), Arc::default());
    assert_eq!(ground(&input).unwrap_err().code(), "grounding_deadline_exceeded");
    input.watch = Watch::new(hour, Arc::default());
    assert!(ground(&input).is_ok());
}

#[test]
fn decisions_tell_locally_what_became_of_every_path() {
    let place = Place::git();
    place.write("a.txt", "a\n").write(".env", "A=1\n").write("copy.txt", "a\n");
    let decisions = place.ground().decisions;
    let told: Vec<_> = decisions
        .iter()
        .map(|decision| {
            (decision.path.as_str(), decision.score, decision.excluded.map(ExclusionReason::as_str))
        })
        .collect();
    assert_eq!(
        told,
        [
            (".env", None, Some("secret_like_file")),
            ("a.txt", Some(0), None),
            ("copy.txt", Some(0), Some("duplicate_content")),
        ]
    );
}
