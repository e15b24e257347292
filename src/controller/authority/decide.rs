//! Whether one action is authorised: every policy must allow it (`controller.md` 4.5, W-2).

use super::capability::{flag, scopes};
use super::network::{canonical_ip, normalize_domain, target_host};
use super::scopes::covers;
use super::sets::{mode_allows, run_authorization};
use super::shell::is_safe_command;
use super::targets::{Resolved, resolve};
use crate::controller::context::Context;
use crate::domain::glob;
use crate::protocol::{ActionCapability as C, Kind, PermissionSet, TaskContract, WorkNode};

/// The answer for one action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The policies that refused, in order; nobody refused an authorised action.
    pub refused_by: Vec<String>,
}

impl Decision {
    /// Whether the action is authorised.
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        self.refused_by.is_empty()
    }
}

/// Decides an action of a node against the mode, the run authorization, the contract and the node.
#[must_use]
pub fn decide(ctx: &Context<'_>, node: &WorkNode, capability: C, target: &str) -> Decision {
    let seen = Seen::of(ctx, capability, target);
    let mut refused_by = Vec::new();
    if !seen.mode_allows(ctx.mode) {
        refused_by.push(format!("intent_mode:{}", ctx.mode));
    }
    if !seen.set_allows(&run_authorization(ctx.view, ctx.env.policy), true) {
        refused_by.push("run_authorization".to_owned());
    }
    match ctx.view.last::<TaskContract>(Kind::TaskContract) {
        Some((_, contract)) if seen.set_allows(&contract.permissions, true) => {}
        Some((_, contract)) => refused_by.push(format!("task_contract:{}", contract.id)),
        None => refused_by.push("task_contract".to_owned()),
    }
    if !seen.set_allows(&node.permissions, false) {
        refused_by.push(format!("work_node:{}", node.id));
    }
    Decision { refused_by }
}

/// An action as policies look at it, its target resolved once.
struct Seen<'a> {
    capability: C,
    target: &'a str,
    resolved: Option<Resolved>,
    host: Option<String>,
}

impl<'a> Seen<'a> {
    fn of(ctx: &Context<'_>, capability: C, target: &'a str) -> Self {
        let resolved = is_repository(capability)
            .then(|| resolve(&ctx.view.run.repository_root, target, ctx.env.facts))
            .flatten();
        let host = (capability == C::NetworkRead).then(|| target_host(target)).flatten();
        Self { capability, target, resolved, host }
    }

    fn mode_allows(&self, mode: crate::protocol::IntentMode) -> bool {
        mode_allows(mode, self.capability) && (!is_repository(self.capability) || self.resolved.is_some())
    }

    /// `covering` says whether a repository scope also matches what it textually covers, dot files included.
    fn set_allows(&self, set: &PermissionSet, covering: bool) -> bool {
        let Some(scopes) = scopes(set, self.capability) else {
            return flag(set, self.capability) == Some(true);
        };
        match self.capability {
            C::RepositoryRead | C::RepositoryWrite | C::RepositoryDelete => {
                let Some(resolved) = &self.resolved else { return false };
                [&resolved.lexical, &resolved.canonical].into_iter().all(|path| {
                    scopes.iter().any(|scope| {
                        *scope == "**" || glob::matches(scope, path) || (covering && covers(scope, path))
                    })
                })
            }
            C::ShellExecute => {
                is_safe_command(self.target) && scopes.iter().any(|scope| ["**", self.target].contains(scope))
            }
            C::NetworkRead => {
                let Some(host) = &self.host else { return false };
                scopes.iter().any(|scope| {
                    *scope == "**"
                        || normalize_domain(scope).and_then(|name| canonical_ip(&name)).as_ref() == Some(host)
                })
            }
            _ => scopes.iter().any(|scope| *scope == "**" || glob::matches(scope, self.target)),
        }
    }
}

fn is_repository(capability: C) -> bool {
    matches!(capability, C::RepositoryRead | C::RepositoryWrite | C::RepositoryDelete)
}
