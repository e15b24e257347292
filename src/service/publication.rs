//! What a publication will be: branch, commit message, pull request body. Nothing is done here.

use crate::domain::{ExecutionSpec, Publication, PublicationStatus, Run, Task, Verdict};
use crate::text::{cut_units, visible};

/// The longest slug of a branch, in bytes.
const SLUG: usize = 40;
/// The longest commit subject, in UTF-16 units.
const SUBJECT: usize = 72;

/// What publishing a run would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Where the branch is pushed.
    pub remote: String,
    /// The branch: prefix, slug of the title, the last six characters of the run's id.
    pub branch: String,
    /// The commit it stands on.
    pub base_commit: String,
    /// Subject of the one commit.
    pub subject: String,
    /// Whether the pull request is a draft.
    pub draft: bool,
    /// Labels of the pull request.
    pub labels: Vec<String>,
}

/// Plans the publication of a run.
#[must_use]
pub fn plan(title: &str, run: &Run, spec: &ExecutionSpec) -> Plan {
    let id = run.id.as_str();
    let tail: String = id.chars().rev().take(6).collect::<Vec<_>>().into_iter().rev().collect();
    let slug = slug(title);
    let dash = if slug.is_empty() { "" } else { "-" };
    Plan {
        remote: spec.publish.remote.clone(),
        branch: format!("{}{slug}{dash}{}", spec.publish.branch_prefix, tail.to_ascii_lowercase()),
        base_commit: run.base_commit.as_ref().map_or_else(String::new, ToString::to_string),
        subject: subject(title),
        draft: spec.publish.draft,
        labels: spec.publish.labels.clone(),
    }
}

fn subject(title: &str) -> String {
    let line = visible(crate::text::script_trim(title.lines().next().unwrap_or_default()));
    let line = if line.is_empty() { "Apply the result of a run".to_owned() } else { line };
    cut_units(&line, SUBJECT).to_owned()
}

/// Letters and digits of a title, joined by hyphens: safe in a branch name.
fn slug(title: &str) -> String {
    let mut slug = String::new();
    for c in title.chars() {
        if c.is_ascii_alphanumeric() {
            slug.push(c.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.truncate(SLUG);
    slug.trim_matches('-').to_owned()
}

/// The message of the one commit: subject, why, trailers.
#[must_use]
pub fn commit_message(plan: &Plan, task: &Task, verdict: &Verdict, approved_by: Option<&str>) -> String {
    let mut message = format!("{}\n\n", plan.subject);
    let instruction = visible_paragraph(&task.instruction);
    if !instruction.is_empty() && instruction != plan.subject {
        message.push_str(&instruction);
        message.push_str("\n\n");
    }
    message.push_str(&format!("Telic-Run: {}\nTelic-Verdict: {}\n", verdict.run_id, verdict.id));
    if let Some(name) = approved_by {
        message.push_str(&format!("Telic-Approved-By: {}\n", visible(name)));
    }
    message
}

/// Outside text as one or more lines that cannot begin a trailer or hide characters.
fn visible_paragraph(text: &str) -> String {
    let lines = crate::text::visible_lines(crate::text::script_trim(text))
        .map(|line| if line.starts_with("Telic-") { format!(" {line}") } else { line });
    lines.collect::<Vec<_>>().join("\n")
}

/// The state of a publication in words.
#[must_use]
pub fn words(publication: &Publication) -> String {
    match publication.status {
        PublicationStatus::NotRequested => "not published".to_owned(),
        PublicationStatus::Requested => format!("pushing {} to {}", publication.branch, publication.remote),
        PublicationStatus::Pushed => format!("pushed {} to {}", publication.branch, publication.remote),
        PublicationStatus::Created => {
            let url = publication.url.as_deref().unwrap_or(&publication.branch);
            format!("pull request {url}")
        }
        PublicationStatus::Failed => {
            format!("failed: {}", publication.failure.as_deref().unwrap_or("no reason was given"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_name_holds_nothing_that_git_or_a_shell_could_misread() {
        for (title, expected) in [
            ("Fix the price: 50 EUR & more", "fix-the-price-50-eur-more"),
            ("--force; rm -rf ~", "force-rm-rf"),
            ("Überraschung", "berraschung"),
            ("日本語", ""),
            ("../../x", "x"),
        ] {
            assert_eq!(slug(title), expected);
        }
        assert!(slug(&"word ".repeat(50)).len() <= SLUG);
    }

    #[test]
    fn a_subject_is_one_visible_line() {
        assert_eq!(subject("first\nsecond"), "first");
        assert_eq!(subject("a\u{1b}[31mb"), "a␛[31mb");
        assert_eq!(subject(" \n"), "Apply the result of a run");
        assert!(crate::text::units(&subject(&"x".repeat(200))) <= SUBJECT);
    }
}
