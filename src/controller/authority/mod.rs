//! Who may do what (`controller.md` 4): mode ceilings, the user's grant, the subset relation, one action's decision.
//!
//! Rooms: `capability` (what a capability is), `sets` (grants as permission sets and their intersection), `scopes`
//! (covering and refused patterns), `targets` (containment of paths), `network` and `shell` (hosts, commands),
//! `decide` (one action against its policies), `layers` (which layer closes a capability).

mod capability;
mod decide;
mod layers;
mod network;
mod scopes;
mod sets;
mod shell;
mod targets;

pub use capability::{
    always_mutating, always_read_only, backed, effective_scopes, flag, kind_of, potentially_mutating, scopes,
};
pub use decide::{Decision, decide};
pub use layers::{Layer, LayerRow, Word, layers};
pub use network::{canonical_ip, normalize_domain, shown_host, target_host};
pub use scopes::{covers, excess, refuse_unsafe_scopes, subset};
pub use sets::{
    analysis_ceiling, authorized, ceiling, default_grants, denied_set, granted_set, mode_allows,
    run_authorization,
};
pub use shell::{TYPED_INSPECTIONS, is_exact_command, is_safe_command, is_typed_inspection};
pub use targets::{Resolved, resolve};
