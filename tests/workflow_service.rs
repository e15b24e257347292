//! The use cases of the workflow over a real store: what is written, and what is not.

#![expect(clippy::unwrap_used, reason = "a test ends where its setting cannot be made")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use telic::controller::{Schemas, StartInput, Submission, Tokens};
use telic::grounding::{Budget, Watch};
use telic::protocol::{IntentMode, Kind};
use telic::service::views::Views;
use telic::service::workflow::{Answer, Workflow};
use telic::store::Store;

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("repository")).unwrap();
        std::fs::write(folder.path().join("repository/main.txt"), "the login page\n").unwrap();
        Self { folder }
    }

    fn root(&self) -> std::path::PathBuf {
        self.folder.path().canonicalize().unwrap().join("repository")
    }

    /// As another process would open it: nothing in memory is shared.
    fn workflow(&self) -> Workflow {
        let store = Store::open(&self.folder.path().canonicalize().unwrap().join("state")).unwrap();
        Workflow::new(Arc::new(Views::new(store)), self.root(), Schemas::Compact)
    }

    fn start(&self, workflow: &Workflow) -> Answer {
        let root = self.root().to_str().unwrap().to_owned();
        workflow
            .start(&StartInput::new("why is the login page empty", IntentMode::AnalyzeOnly, root))
            .unwrap()
    }
}

fn tokens(workflow: &Workflow, run_id: &str) -> Tokens {
    Tokens::of(&workflow.view(run_id).unwrap())
}

fn counts(workflow: &Workflow, run_id: &str) -> (usize, usize) {
    let view = workflow.view(run_id).unwrap();
    (view.artifacts().len(), view.events().len())
}

#[test]
fn a_cancelled_call_writes_nothing_at_all() {
    let place = Place::new();
    let workflow = place.workflow();
    let run = place.start(&workflow).run.run_id;
    let before = counts(&workflow, &run);
    let cancelled = Arc::new(AtomicBool::new(true));
    let call = workflow.until(Arc::clone(&cancelled));
    let refused = call.cancel(&run, &tokens(&workflow, &run)).unwrap_err();
    assert_eq!(refused.code(), "cancelled");
    let refused = call
        .ground(&run, &tokens(&workflow, &run), Vec::new(), Budget::default(), Watch::default())
        .unwrap_err();
    assert_eq!(refused.code(), "cancelled");
    assert_eq!(counts(&workflow, &run), before);
    assert_eq!(workflow.view(&run).unwrap().run.version, 1);
    cancelled.store(false, Ordering::SeqCst);
    assert_eq!(call.cancel(&run, &tokens(&workflow, &run)).unwrap().run.version, 2);
}

#[test]
fn of_two_groundings_of_one_run_exactly_one_is_written() {
    let place = Place::new();
    let (one, two) = (place.workflow(), place.workflow());
    let run = place.start(&one).run.run_id;
    let tokens = tokens(&one, &run);
    let ground = |workflow: &Workflow| {
        workflow
            .ground(&run, &tokens, Vec::new(), Budget::default(), Watch::default())
            .map(|(answer, _)| answer)
    };
    let (first, second) = std::thread::scope(|scope| {
        let first = scope.spawn(|| ground(&one));
        let second = scope.spawn(|| ground(&two));
        (first.join().unwrap(), second.join().unwrap())
    });
    let (won, lost): (Vec<_>, Vec<_>) = [first, second].into_iter().partition(Result::is_ok);
    assert_eq!((won.len(), lost.len()), (1, 1));
    let code = lost.into_iter().next().unwrap().unwrap_err().code().to_owned();
    assert!(["concurrent_update", "stale_version"].contains(&code.as_str()), "{code}");
    for workflow in [&one, &two] {
        let view = workflow.view(&run).unwrap();
        assert_eq!(view.run.version, 2, "both see what the other wrote");
        assert_eq!(view.of_kind(Kind::ContextManifest).count(), 1);
    }
}

#[test]
fn a_cancel_while_grounding_wins_and_the_grounding_leaves_nothing() {
    let place = Place::new();
    let (host, user) = (place.workflow(), place.workflow());
    let run = place.start(&host).run.run_id;
    let tokens = tokens(&host, &run);
    user.cancel(&run, &tokens).unwrap();
    let before = counts(&user, &run);
    let refused = host.ground(&run, &tokens, Vec::new(), Budget::default(), Watch::default()).unwrap_err();
    assert_eq!(refused.code(), "stale_version");
    assert_eq!(counts(&host, &run), before);
    let again = host.cancel(&run, &Tokens::of(&host.view(&run).unwrap())).unwrap();
    assert!(!again.changed, "a run that has ended stays as it is");
}

#[test]
fn a_refused_submission_changes_nothing() {
    let place = Place::new();
    let workflow = place.workflow();
    let run = place.start(&workflow).run.run_id;
    let before = counts(&workflow, &run);
    let body = serde_json::json!({ "id": "frame-1", "runId": run });
    let submission = Submission::artifact(tokens(&workflow, &run), Kind::ProblemFrame, body);
    assert_eq!(workflow.submit(&run, &submission).unwrap_err().code(), "wrong_phase");
    assert_eq!(counts(&workflow, &run), before);
    assert_eq!(place.workflow().view(&run).unwrap().run.version, 1);
}

#[test]
fn many_readers_and_one_writer_of_a_run_see_whole_versions_only() {
    let place = Place::new();
    let workflow = place.workflow();
    let run = place.start(&workflow).run.run_id;
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..5)
            .map(|_| {
                scope.spawn(|| {
                    let mut last = 0;
                    while !done.load(Ordering::SeqCst) {
                        let view = workflow.view(&run).unwrap();
                        let next = workflow.next_action(&view).unwrap();
                        assert!(view.run.version >= last, "a reader never goes back");
                        last = view.run.version;
                        let manifests = view.of_kind(Kind::ContextManifest).count();
                        assert_eq!(manifests, usize::from(last > 1), "{next:?}");
                    }
                })
            })
            .collect();
        let tokens = tokens(&workflow, &run);
        let grounded = workflow.ground(&run, &tokens, Vec::new(), Budget::default(), Watch::default());
        // Before anything can fail here: the readers wait for it.
        done.store(true, Ordering::SeqCst);
        grounded.unwrap();
        readers.into_iter().for_each(|reader| reader.join().unwrap());
    });
}
