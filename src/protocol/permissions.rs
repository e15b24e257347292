//! What may be done: the permission set (`protocol.md` 3).

use super::scalars::{Int, List, Str};
use crate::wire_object;

wire_object! {
    /// PermissionSet.
    pub struct PermissionSet {
        /// `repository`.
        repository: "repository" => RepositoryPermissions;
        /// `shell`.
        shell: "shell" => ShellPermissions;
        /// `runtime`.
        runtime: "runtime" => RuntimePermissions;
        /// `browser`.
        browser: "browser" => BrowserPermissions;
        /// `network`.
        network: "network" => NetworkPermissions;
        /// `subagents`.
        subagents: "subagents" => SubagentPermissions;
    }
}

wire_object! {
    /// RepositoryPermissions.
    pub struct RepositoryPermissions {
        /// Path globs.
        read: "read" => List<Str<1024>>;
        /// Path globs.
        write: "write" => List<Str<1024>>;
        /// Path globs.
        delete: "delete" => List<Str<1024>>;
    }
}

wire_object! {
    /// ShellPermissions.
    pub struct ShellPermissions {
        /// Typed inspection targets.
        inspect: "inspect" => bool;
        /// Exact commands.
        execute_allowlist: "executeAllowlist" => List<Str<2048>>;
    }
}

wire_object! {
    /// RuntimePermissions.
    pub struct RuntimePermissions {
        /// Service names.
        inspect: "inspect" => List<Str<255>>;
        /// Service names.
        restart: "restart" => List<Str<255>>;
    }
}

wire_object! {
    /// BrowserPermissions.
    pub struct BrowserPermissions {
        /// Look at pages.
        inspect: "inspect" => bool;
        /// Change state through pages.
        mutate_state: "mutateState" => bool;
    }
}

wire_object! {
    /// NetworkPermissions.
    pub struct NetworkPermissions {
        /// Exact host names.
        read_domains: "readDomains" => List<Str<253>>;
        /// Writes outside.
        external_write: "externalWrite" => bool;
    }
}

wire_object! {
    /// SubagentPermissions.
    pub struct SubagentPermissions {
        /// May start children.
        spawn: "spawn" => bool;
        /// At one time.
        maximum_children: "maximumChildren" => Int<0, 16>;
        /// Levels of children.
        maximum_depth: "maximumDepth" => Int<0, 4>;
    }
}

impl PermissionSet {
    /// The set that allows nothing.
    #[must_use]
    pub fn empty() -> Self {
        Self {
            repository: RepositoryPermissions {
                read: List::default(),
                write: List::default(),
                delete: List::default(),
            },
            shell: ShellPermissions { inspect: false, execute_allowlist: List::default() },
            runtime: RuntimePermissions { inspect: List::default(), restart: List::default() },
            browser: BrowserPermissions { inspect: false, mutate_state: false },
            network: NetworkPermissions { read_domains: List::default(), external_write: false },
            subagents: SubagentPermissions {
                spawn: false,
                maximum_children: 0.into(),
                maximum_depth: 0.into(),
            },
        }
    }

    /// Whether the set allows a change that no reading mode may make (TC-7).
    #[must_use]
    pub fn mutates(&self) -> bool {
        !self.repository.write.is_empty()
            || !self.repository.delete.is_empty()
            || !self.runtime.restart.is_empty()
            || self.browser.mutate_state
            || self.network.external_write
    }
}
