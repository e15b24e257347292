//! Commands and typed inspections (`controller.md` 4.9).

/// Whether a command holds nothing that a shell would read as a second command, a redirection or a substitution.
/// Quotes, variables, parentheses and tabs are allowed.
#[must_use]
pub fn is_safe_command(command: &str) -> bool {
    !command.contains([';', '&', '|', '>', '<', '`', '\n', '\r']) && !command.contains("$(")
}

/// Whether a command names itself and nothing else (C-ST-10): safe, without wildcards, no placeholder.
#[must_use]
pub fn is_exact_command(command: &str) -> bool {
    command != "authorized"
        && command != "**"
        && !command.contains(['*', '?', '[', ']'])
        && is_safe_command(command)
}

/// The targets that `shell.inspect` may have.
pub const TYPED_INSPECTIONS: [&str; 6] =
    ["git.status", "git.diff", "git.log", "network.listen", "process.list", "runtime.logs"];

/// Whether a target is one of the typed inspections.
#[must_use]
pub fn is_typed_inspection(target: &str) -> bool {
    TYPED_INSPECTIONS.contains(&target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compound_globbed_and_placeholder_commands_are_not_exact() {
        for command in ["npm test", "make 'a b'", "echo $HOME", "echo ${X}", "(cd x)", "a\tb"] {
            assert!(is_exact_command(command), "{command:?}");
        }
        for command in ["a;b", "a&b", "a|b", "a>b", "a<b", "a`b`", "a\nb", "a\rb", "echo $(x)"] {
            assert!(!is_safe_command(command), "{command:?}");
        }
        for command in ["authorized", "**", "ls *", "ls ?", "ls [a", "ls ]"] {
            assert!(!is_exact_command(command), "{command:?}");
        }
    }
}
