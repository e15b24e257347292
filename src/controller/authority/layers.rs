//! What each layer of authority says about each capability, and which one closes it first.

use super::capability::{backed, effective_scopes};
use super::sets::{mode_allows, run_authorization};
use crate::controller::policy::RepositoryPolicy;
use crate::controller::predicates::{before_gate, control, envelope, pending_node};
use crate::controller::run::RunPhase;
use crate::controller::view::RunView;
use crate::protocol::{ActionCapability as C, IntentMode, Kind, PermissionSet, TaskContract};

/// A layer of authority, outermost first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// What the mode allows at most; before the diagnosis gate what an analysis allows.
    Mode,
    /// What the user granted.
    Granted,
    /// What the user denied.
    Denied,
    /// The repository's policy.
    Policy,
    /// The contract.
    Contract,
    /// The node that is due.
    Node,
}

impl Layer {
    /// Every layer, in order.
    pub const ALL: [Self; 6] =
        [Self::Mode, Self::Granted, Self::Denied, Self::Policy, Self::Contract, Self::Node];
}

/// What a layer says about a capability.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// Nothing: there is no such layer now, or it does not speak of the capability.
    Silent,
    /// It allows it, within these scopes; no scopes for a capability without any.
    Allows(Vec<String>),
    /// It closes it.
    Closes,
}

/// What all layers say about one capability.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerRow {
    /// The capability.
    pub capability: C,
    /// One word per layer, in the order of [`Layer::ALL`].
    pub words: [Word; 6],
    /// What holds in the end.
    pub effective: Word,
    /// The first layer that closes it.
    pub closed_by: Option<Layer>,
}

/// The table of all capabilities of a run, in their own order.
#[must_use]
pub fn layers(view: &RunView, policy: Option<&RepositoryPolicy>) -> Vec<LayerRow> {
    let locked = before_gate(view) && !control(view).is_some_and(|control| control.is_correction());
    let mode = if locked { IntentMode::AnalyzeOnly } else { view.run.mode };
    let authorization = envelope(view).map(|envelope| &envelope.authorization);
    let contract = view.last::<TaskContract>(Kind::TaskContract).map(|(_, contract)| &contract.permissions);
    let executes = view.run.phase == RunPhase::Execute;
    let node = executes.then(|| pending_node(view)).flatten().map(|node| &node.permissions);
    let open = run_authorization(view, policy);
    let from = |set: Option<&PermissionSet>, capability| match set {
        None => Word::Silent,
        Some(set) if backed(set, capability) => Word::Allows(effective_scopes(set, capability)),
        Some(_) => Word::Closes,
    };
    let row = |capability: C| {
        let denied = authorization.is_some_and(|it| match capability {
            C::SubagentSpawn => it.denied.subagents.spawn,
            _ => backed(&it.denied, capability),
        });
        let words = [
            if mode_allows(mode, capability) { Word::Allows(Vec::new()) } else { Word::Closes },
            from(Some(authorization.map_or(&PermissionSet::empty(), |it| &it.granted)), capability),
            if denied { Word::Closes } else { Word::Silent },
            policy_word(policy, view.run.mode, capability, &open),
            from(contract, capability),
            from(node, capability),
        ];
        let closed_by = words.iter().position(|word| *word == Word::Closes).map(|at| Layer::ALL[at]);
        let innermost = node.or(contract).unwrap_or(&open);
        let effective = if closed_by.is_some() || !backed(innermost, capability) {
            Word::Closes
        } else {
            Word::Allows(effective_scopes(innermost, capability))
        };
        LayerRow { capability, words, effective, closed_by }
    };
    C::ALL.iter().copied().map(row).collect()
}

fn policy_word(
    policy: Option<&RepositoryPolicy>,
    mode: IntentMode,
    capability: C,
    open: &PermissionSet,
) -> Word {
    let Some(policy) = policy else { return Word::Silent };
    if !policy.allows_mode(mode) || policy.deny.contains(&capability) {
        return Word::Closes;
    }
    let list = match capability {
        C::ShellExecute => policy.shell_execute.as_ref(),
        C::NetworkRead => policy.read_domains.as_ref(),
        _ => None,
    };
    match list {
        None => Word::Silent,
        // A list that leaves nothing of the grant closes the capability.
        Some(list) if list.is_empty() || !backed(open, capability) => Word::Closes,
        Some(list) => Word::Allows(list.clone()),
    }
}
