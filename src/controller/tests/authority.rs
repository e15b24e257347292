//! One action against four policies, and the layers of a run.

use super::play::Play;
use crate::controller::authority::{Layer, Word, decide, layers};
use crate::controller::{Context, Env, Facts, RepositoryPolicy};
use crate::protocol::{ActionCapability as C, Kind};

fn refused_by(env: Env<'_>, capability: C, target: &str) -> Vec<String> {
    let play = Play::before("fix", Kind::WorkResult, 2);
    let ctx = Context::new(&play.view, env, &[]);
    let node = crate::controller::predicates::pending_node(&play.view).unwrap();
    let policies = decide(&ctx, node, capability, target).refused_by;
    policies.into_iter().map(|policy| policy.split(':').next().unwrap().to_owned()).collect()
}

#[test]
fn an_action_needs_every_policy() {
    let all = ["intent_mode", "run_authorization", "task_contract", "work_node"];
    for (capability, target, refused) in [
        (C::RepositoryWrite, "lib/shipping.sh", &[][..]),
        (C::RepositoryWrite, "/r/lib/shipping.sh", &[]),
        (C::RepositoryWrite, "lib/../lib/shipping.sh", &[]),
        (C::RepositoryWrite, "docs/a.md", &all[2..]),
        (C::RepositoryWrite, "lib/../docs/a.md", &all[2..]),
        (C::RepositoryWrite, "../other/a", &all),
        (C::RepositoryWrite, "lib\\..\\docs\\a.md", &all),
        (C::RepositoryDelete, "lib/shipping.sh", &all[1..]),
        (C::ShellExecute, "sh tests/run.sh", &[]),
        (C::ShellExecute, "sh tests/run.sh ", &all[1..]),
        (C::ShellExecute, "sh tests/run.sh; true", &all[1..]),
        (C::NetworkRead, "https://example.com", &all[1..]),
        (C::BrowserMutate, "page", &all),
    ] {
        assert_eq!(refused_by(Env::none(), capability, target), refused, "{capability} {target:?}");
    }
}

#[test]
fn a_link_to_another_folder_carries_no_target_out_of_its_scope() {
    struct Linked;
    impl Facts for Linked {
        fn directory(&self, path: &str) -> Option<String> {
            Some(path.to_owned())
        }
        fn real_path(&self, path: &str) -> Option<String> {
            Some(path.replace("/r/lib/link", "/r/infra").replace("/r/lib/out", "/elsewhere"))
        }
    }
    let env = Env { facts: &Linked, ..Env::none() };
    assert_eq!(refused_by(env, C::RepositoryWrite, "lib/link/p"), ["task_contract", "work_node"]);
    assert_eq!(refused_by(env, C::RepositoryWrite, "lib/out/p").len(), 4);
    assert!(refused_by(env, C::RepositoryWrite, "lib/plain").is_empty());
}

#[test]
fn a_policy_of_the_repository_closes_what_the_user_granted() {
    let policy = RepositoryPolicy { deny: vec![C::RepositoryWrite], ..RepositoryPolicy::default() };
    let env = Env { policy: Some(&policy), ..Env::none() };
    assert_eq!(refused_by(env, C::RepositoryWrite, "lib/shipping.sh"), ["run_authorization"]);
}

#[test]
fn the_layer_that_closes_a_capability_first_is_named() {
    let play = Play::before("fix", Kind::WorkResult, 2);
    let policy = RepositoryPolicy { deny: vec![C::ShellExecute], ..RepositoryPolicy::default() };
    let table = layers(&play.view, Some(&policy));
    let closed = |capability| table.iter().find(|row| row.capability == capability).unwrap().closed_by;
    assert_eq!(closed(C::ExternalWrite), Some(Layer::Mode));
    assert_eq!(closed(C::NetworkRead), Some(Layer::Granted));
    assert_eq!(closed(C::ShellExecute), Some(Layer::Policy));
    assert_eq!(closed(C::RepositoryWrite), None);
    let write = table.iter().find(|row| row.capability == C::RepositoryWrite).unwrap();
    let Word::Allows(scopes) = &write.effective else { panic!("{write:?}") };
    assert!(scopes.contains(&"lib/**".to_owned()), "{scopes:?}");
    // Before the gate the mode column is that of an analysis.
    let locked = layers(&Play::before("fix", Kind::WorkResult, 1).view, None);
    let write = locked.iter().find(|row| row.capability == C::RepositoryWrite).unwrap();
    assert_eq!(write.closed_by, Some(Layer::Mode));
}

#[test]
fn without_a_contract_the_inner_layers_say_nothing() {
    let table = layers(&Play::start("fix").view, None);
    let read = table.iter().find(|row| row.capability == C::RepositoryRead).unwrap();
    assert_eq!(read.words[2..], [Word::Silent, Word::Silent, Word::Silent, Word::Silent]);
    assert_eq!(read.effective, Word::Allows(vec!["**".to_owned()]));
}
