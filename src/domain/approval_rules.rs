//! What a person may decide about a verdict, and when that decision no longer holds (AP-1 to AP-6).

use super::approval::{Approval, ApprovalBinding, ApprovalChannel, ApprovalDecision};
use super::error::{DomainCode, DomainError};
use super::ids::ApprovalId;
use super::patch::RepoPath;
use super::policy::Reason;
use super::time::Timestamp;
use super::verdict::{EvidenceRef, PrEligibility, Verdict};

/// What a person says, before it is checked.
#[derive(Clone, Debug, PartialEq)]
pub struct ApprovalInput {
    /// What is said.
    pub decision: ApprovalDecision,
    /// Who says it (AP-5).
    pub actor: String,
    /// How (AP-6).
    pub channel: ApprovalChannel,
    /// Why.
    pub comment: Option<String>,
    /// The files marked as read.
    pub reviewed_files: Vec<RepoPath>,
    /// Codes of reasons that the person acknowledged.
    pub acknowledged_reasons: Vec<String>,
    /// Whether it would be published as a draft.
    pub as_draft: bool,
    /// Whether the caller is a process of the run itself (AP-6).
    pub from_inside_the_run: bool,
}

/// Who acts (AP-5): the configured name, else git's `user.email`, else the user of the operating system.
#[must_use]
pub fn actor_name(
    configured: Option<&str>,
    git_email: Option<&str>,
    os_user: Option<&str>,
) -> Option<String> {
    [configured, git_email, os_user]
        .into_iter()
        .flatten()
        .map(str::trim)
        .find(|name| !name.is_empty())
        .map(str::to_owned)
}

impl Verdict {
    /// Whether it can be approved (AP-1): for a pull request, or only for a draft.
    #[must_use]
    pub fn may_be_approved(&self, as_draft: bool) -> bool {
        match self.pr_eligibility {
            PrEligibility::EligibleAfterHumanApproval => true,
            PrEligibility::DraftOnly => as_draft,
            // The one goes without a person, the other goes not at all.
            PrEligibility::EligibleForAutoPr | PrEligibility::NotEligible => false,
        }
    }

    /// Records what a person decided about this verdict. The verdict itself stays as it is (AP-3).
    ///
    /// # Errors
    /// `not_approvable` (AP-1, AP-6), `comment_missing` (AP-4), `actor_missing` (AP-5).
    pub fn record_approval(
        &self,
        id: ApprovalId,
        input: ApprovalInput,
        binding: ApprovalBinding,
        at: Timestamp,
    ) -> Result<Approval, DomainError> {
        let fault = |code, rule, message: &str| {
            Err(DomainError::new(code, rule, format!("verdict {}: {message}", self.id)))
        };
        if input.from_inside_the_run {
            return fault(DomainCode::NotApprovable, "AP-6", "a process of the run cannot decide about it");
        }
        if input.actor.trim().is_empty() {
            return fault(DomainCode::ActorMissing, "AP-5", "nobody is named who decides");
        }
        if input.decision == ApprovalDecision::Approved {
            if !self.may_be_approved(input.as_draft) {
                let message = format!("it is {} and cannot be approved", self.pr_eligibility);
                return fault(DomainCode::NotApprovable, "AP-1", &message);
            }
        } else if input.comment.as_deref().is_none_or(crate::text::is_blank) {
            return fault(
                DomainCode::CommentMissing,
                "AP-4",
                "a rejection or change request needs a comment",
            );
        }
        Ok(Approval {
            id,
            verdict_id: self.id.clone(),
            run_id: self.run_id.clone(),
            decision: input.decision,
            actor: input.actor,
            channel: input.channel,
            comment: input.comment,
            binding,
            reviewed_files: input.reviewed_files,
            acknowledged_reasons: input.acknowledged_reasons,
            decided_at: at,
        })
    }
}

impl ApprovalBinding {
    /// What is different `now` from what was approved (AP-2); empty when the approval still holds.
    #[must_use]
    pub fn changes(&self, now: &Self) -> Vec<Reason> {
        let mut changes = Vec::new();
        let mut compare = |code: &str, what: &str, then: &str, now: &str| {
            if then != now {
                changes.push(Reason::new(code, format!("{what} was {then} and is {now}")));
            }
        };
        compare("patch_changed", "the patch", &self.patch_sha256, &now.patch_sha256);
        compare("base_commit_changed", "the base commit", &self.base_commit, &now.base_commit);
        compare("base_moved", "the tip of the base", &self.base_tip, &now.base_tip);
        compare(
            "execution_spec_changed",
            "the execution spec",
            &self.execution_spec_sha256,
            &now.execution_spec_sha256,
        );
        compare("policy_changed", "the policy", &self.policy_digest, &now.policy_digest);
        let sorted = |evidence: &[EvidenceRef]| {
            let mut evidence = evidence.to_vec();
            evidence.sort();
            evidence
        };
        let (then, now) = (sorted(&self.evidence), sorted(&now.evidence));
        for (missing, there, word) in [(&then, &now, "is no longer there"), (&now, &then, "is new")] {
            for evidence in missing.iter().filter(|evidence| !there.contains(evidence)) {
                let text = format!("{} {} ({}) {word}", evidence.kind, evidence.id, &*evidence.sha256);
                changes.push(Reason::new("evidence_changed", text).with_ref(evidence.id.clone()));
            }
        }
        changes
    }
}

impl Approval {
    /// Whether it lets the run be published `now` (AP-2): approved, about this verdict, and nothing changed.
    ///
    /// # Errors
    /// What stands against it.
    pub fn lets_publish(&self, verdict: &Verdict, now: &ApprovalBinding) -> Result<(), Vec<Reason>> {
        let mut against = Vec::new();
        if self.decision != ApprovalDecision::Approved {
            against.push(Reason::new("not_approved", format!("{} said {}", self.actor, self.decision)));
        }
        if self.verdict_id != verdict.id {
            let text = format!("it is about verdict {}, not {}", self.verdict_id, verdict.id);
            against.push(Reason::new("other_verdict", text));
        }
        against.extend(self.binding.changes(now));
        if against.is_empty() { Ok(()) } else { Err(against) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::samples::{commit, sha, time, ulid, verdict};
    use crate::domain::{VerdictId, VerdictStatus};

    fn binding() -> ApprovalBinding {
        ApprovalBinding {
            patch_sha256: sha(1),
            base_commit: commit(1),
            base_tip: commit(1),
            evidence: vec![
                EvidenceRef { kind: "diff".to_owned(), id: "artifact_1".to_owned(), sha256: sha(1) },
                EvidenceRef {
                    kind: "verifier_report".to_owned(),
                    id: "artifact_2".to_owned(),
                    sha256: sha(2),
                },
            ],
            execution_spec_sha256: sha(3),
            policy_digest: sha(4),
        }
    }

    fn input(decision: ApprovalDecision) -> ApprovalInput {
        ApprovalInput {
            decision,
            actor: "dev@example.org".to_owned(),
            channel: ApprovalChannel::Dashboard,
            comment: None,
            reviewed_files: Vec::new(),
            acknowledged_reasons: Vec::new(),
            as_draft: false,
            from_inside_the_run: false,
        }
    }

    fn record(eligibility: PrEligibility, input: ApprovalInput) -> Result<Approval, DomainError> {
        let verdict = verdict(VerdictStatus::Success, eligibility);
        verdict.record_approval(ApprovalId::new(ulid(20)), input, binding(), time(70))
    }

    #[test]
    fn ap_1_only_what_is_eligible_is_approved_and_a_draft_only_as_a_draft() {
        for (eligibility, as_draft, expected) in [
            (PrEligibility::EligibleAfterHumanApproval, false, true),
            (PrEligibility::EligibleAfterHumanApproval, true, true),
            (PrEligibility::DraftOnly, false, false),
            (PrEligibility::DraftOnly, true, true),
            (PrEligibility::EligibleForAutoPr, false, false),
            (PrEligibility::NotEligible, false, false),
            (PrEligibility::NotEligible, true, false),
        ] {
            let result = record(eligibility, ApprovalInput { as_draft, ..input(ApprovalDecision::Approved) });
            assert_eq!(result.is_ok(), expected, "{eligibility} as draft: {as_draft}");
            assert_eq!(result.err().map_or("AP-1", |error| error.rule), "AP-1");
        }
    }

    #[test]
    fn ap_2_anything_that_changed_makes_an_approval_stale_and_is_named() {
        let approval =
            record(PrEligibility::EligibleAfterHumanApproval, input(ApprovalDecision::Approved)).unwrap();
        let verdict = verdict(VerdictStatus::Success, PrEligibility::EligibleAfterHumanApproval);
        assert_eq!(approval.lets_publish(&verdict, &binding()), Ok(()));
        let mut shuffled = binding();
        shuffled.evidence.reverse();
        assert_eq!(approval.lets_publish(&verdict, &shuffled), Ok(()), "the order says nothing");
        type Change = fn(&mut ApprovalBinding);
        let changes: [(&str, Change); 7] = [
            ("patch_changed", |b| b.patch_sha256 = sha(9)),
            ("base_commit_changed", |b| b.base_commit = commit(9)),
            ("base_moved", |b| b.base_tip = commit(9)),
            ("execution_spec_changed", |b| b.execution_spec_sha256 = sha(9)),
            ("policy_changed", |b| b.policy_digest = sha(9)),
            ("evidence_changed", |b| b.evidence[1].sha256 = sha(9)),
            ("evidence_changed", |b| drop(b.evidence.pop())),
        ];
        for (code, change) in changes {
            let mut now = binding();
            change(&mut now);
            let against = approval.lets_publish(&verdict, &now).unwrap_err();
            assert!(against.iter().all(|reason| reason.code == code), "{code}: {against:?}");
        }
    }

    #[test]
    fn an_approval_of_another_verdict_or_a_rejection_publishes_nothing() {
        let eligible = PrEligibility::EligibleAfterHumanApproval;
        let approval = record(eligible, input(ApprovalDecision::Approved)).unwrap();
        let mut newer = verdict(VerdictStatus::Success, eligible);
        newer.id = VerdictId::new(ulid(99));
        assert_eq!(approval.lets_publish(&newer, &binding()).unwrap_err()[0].code, "other_verdict");
        let comment = Some("rounds down".to_owned());
        let rejected =
            record(eligible, ApprovalInput { comment, ..input(ApprovalDecision::Rejected) }).unwrap();
        let verdict = verdict(VerdictStatus::Success, eligible);
        assert_eq!(rejected.lets_publish(&verdict, &binding()).unwrap_err()[0].code, "not_approved");
    }

    #[test]
    fn ap_4_a_rejection_or_change_request_needs_a_comment_and_no_eligibility() {
        for decision in [ApprovalDecision::Rejected, ApprovalDecision::ChangesRequested] {
            for comment in [None, Some(" \n".to_owned())] {
                let error = record(PrEligibility::NotEligible, ApprovalInput { comment, ..input(decision) });
                assert_eq!(error.unwrap_err().rule, "AP-4");
            }
            let comment = Some("no".to_owned());
            assert!(record(PrEligibility::NotEligible, ApprovalInput { comment, ..input(decision) }).is_ok());
        }
    }

    #[test]
    fn ap_5_the_actor_is_the_configured_name_else_gits_else_the_systems() {
        assert_eq!(actor_name(Some("Ada"), Some("a@x"), Some("ada")).as_deref(), Some("Ada"));
        assert_eq!(actor_name(Some(" "), Some("a@x"), Some("ada")).as_deref(), Some("a@x"));
        assert_eq!(actor_name(None, None, Some("ada")).as_deref(), Some("ada"));
        assert_eq!(actor_name(None, None, None), None);
        let nobody = ApprovalInput { actor: " ".to_owned(), ..input(ApprovalDecision::Approved) };
        assert_eq!(record(PrEligibility::EligibleAfterHumanApproval, nobody).unwrap_err().rule, "AP-5");
    }

    #[test]
    fn ap_6_a_process_of_the_run_decides_nothing() {
        let inside = ApprovalInput { from_inside_the_run: true, ..input(ApprovalDecision::Approved) };
        assert_eq!(record(PrEligibility::EligibleAfterHumanApproval, inside).unwrap_err().rule, "AP-6");
    }

    #[test]
    fn an_approval_survives_the_wire() {
        let approval =
            record(PrEligibility::EligibleAfterHumanApproval, input(ApprovalDecision::Approved)).unwrap();
        let json = serde_json::to_value(&approval).unwrap();
        assert_eq!(json["patchSha256"], *sha(1).as_str());
        assert_eq!(serde_json::from_value::<Approval>(json).unwrap(), approval);
    }
}
