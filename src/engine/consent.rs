//! Consent: commands that a repository brings run on this machine only after a person has seen them.

use crate::domain::{CheckSource, ExecutionSpec, PolicyFile};
use sha2::{Digest, Sha256};

/// What has to be consented to: the commands of one repository, whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The repository root.
    pub repository: String,
    /// Every command that comes from the repository, in order.
    pub commands: Vec<String>,
}

impl Question {
    /// The question for an execution spec; nothing when no command comes from the repository.
    #[must_use]
    pub fn of(spec: &ExecutionSpec) -> Option<Self> {
        let checks = spec.verification_plan.iter();
        let mut commands: Vec<String> = checks
            .filter(|check| check.source == CheckSource::RepositoryPolicy)
            .map(|check| check.command.clone())
            .collect();
        if spec.judge.command_source == CheckSource::RepositoryPolicy && !spec.judge.command.is_empty() {
            commands.push(spec.judge.command.join(" "));
        }
        (!commands.is_empty()).then(|| Self { repository: spec.repository.clone(), commands })
    }

    /// The commands that a repository's policy would run, in the order of [`Question::of`].
    #[must_use]
    pub fn commands_of(policy: &PolicyFile) -> Vec<String> {
        let mut commands: Vec<String> =
            policy.verification.checks.iter().map(|check| check.command.clone()).collect();
        commands.extend(
            policy.judge.command.iter().filter(|words| !words.is_empty()).map(|words| words.join(" ")),
        );
        commands
    }

    /// The fact under which the consent is remembered: repository and command list, so that a changed list
    /// asks again.
    #[must_use]
    pub fn key(&self) -> String {
        let mut hasher = Sha256::new();
        for part in std::iter::once(&self.repository).chain(&self.commands) {
            hasher.update((part.len() as u64).to_be_bytes());
            hasher.update(part.as_bytes());
        }
        let digest = hasher.finalize();
        let hex: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        format!("consent:{hex}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_command_or_repository_asks_again() {
        let question = |repository: &str, commands: &[&str]| Question {
            repository: repository.to_owned(),
            commands: commands.iter().map(|command| (*command).to_owned()).collect(),
        };
        let key = question("/r", &["a", "b"]).key();
        assert_eq!(key, question("/r", &["a", "b"]).key());
        for other in [question("/r", &["a"]), question("/r", &["ab"]), question("/s", &["a", "b"])] {
            assert_ne!(key, other.key());
        }
    }
}
