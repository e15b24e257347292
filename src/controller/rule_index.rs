//! Every rule of the controller by its id, for `telic rules` and for whoever met one in a refusal.
//!
//! The checks stand elsewhere, each beside its id; a test holds the two together.

/// A rule of `controller.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Its id, as in refusals.
    pub id: &'static str,
    /// What it is asked of.
    pub applies_to: &'static str,
    /// What must hold, or what happens.
    pub says: &'static str,
}

/// The rule with an id.
#[must_use]
pub fn find_rule(id: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.id == id)
}

macro_rules! rules {
    ($($family:literal, $applies_to:literal { $($number:literal $says:literal)* })*) => {
        /// Every rule, by family, in the order in which they are asked.
        pub const RULES: &[Rule] = &[
            $($(Rule { id: concat!($family, "-", $number), applies_to: $applies_to, says: $says },)*)*
        ];
    };
}

rules! {
    "C-ST", "start of a run" {
        1 "The request is not blank."
        2 "The request has at most 32768 units."
        3 "The host name is not blank."
        4 "Host, granted and denied capabilities are at most 256 each."
        5 "The command allowlist has at most 256 entries."
        6 "The domain list has at most 256 entries."
        7 "Commands need shell.execute from the host and from the user."
        8 "Domains need network.read from the host and from the user."
        9 "Every domain is an exact host name or address."
        10 "Every command is exact and plain: no wildcard, placeholder, second command or redirection."
        11 "Every capability is known."
        12 "Nothing is granted that the host does not have."
        13 "The repository exists and can be resolved."
    }
    "C-TR", "state machine" {
        1 "A start opens the run for grounding."
        2 "A context manifest leads to framing."
        3 "A problem frame leads to compiling."
        4 "The first contract leads to its review."
        5 "The revised contract leads to its review."
        6 "A passed contract leads to planning."
        7 "A contract to be revised goes back once; the revision is spent."
        8 "A second wish to revise blocks the run."
        9 "A blocked contract blocks the run."
        10 "Where the plan is the deliverable, it leads straight to the quality review."
        11 "Where work is executed, a plan leads to its execution."
        12 "A completed node leaves the execution open while others are not completed."
        13 "The last completed node leads to the quality review."
        14 "A node that is not completed ends the execution."
        15 "A supported diagnosis lets the fix be planned."
        16 "A passed quality review leads to the audit."
        17 "A partial quality review leads to the audit; the run can end as partial at best."
        18 "A blocking quality review leads to the audit; the run can only end as blocked."
        19 "A quality review may send the work back once; the remediation is spent."
        20 "A second wish to remediate leads to the audit as blocked."
        21 "A released run is reported as completed, unless it was held back before."
        22 "A partial audit leads to a partial report."
        23 "A blocking audit leads to a blocked report."
        24 "An audit may send the work back once; the remediation is spent and the outcome is open again."
        25 "A second wish of an audit to remediate blocks the run."
        26 "A completed report ends a run that nothing holds back."
        27 "A partial report, or one of failed verification, ends the run as partial."
        28 "A blocked report ends the run as blocked."
        29 "The first question pauses the run where it stands."
        30 "A further question blocks the run; the report is next."
        31 "An answer that resumes continues where the question was asked."
        32 "An answer that cancels, or asks for a new run, ends the run."
        33 "The user may cancel a run that has not ended."
        34 "Cancelling a run that has ended changes nothing."
    }
    "C-SB", "every submission" {
        1 "The call's arguments are well formed."
        2 "The run exists."
        3 "The caller saw the current version of the run."
        4 "The caller answers the current next action."
        5 "An answer to a clarification comes alone."
        6 "The artifact type is given."
        7 "The body is given once, as an object or as JSON text of one."
        8 "The body names its id and its run as strings."
        9 "The body names this run."
        10 "The run takes in artifacts now."
        11 "The type is one that a host may submit."
        12 "Evidence and scenarios go their own way."
        13 "The body satisfies its schema; defaults are filled in."
        14 "At most 256 references are stored with an artifact."
        15 "Id, run, version and producer of body and submission agree."
        16 "A further question is allowed here."
        17 "An answer that waits is taken up."
        18 "Every reference holds."
        19 "Every rule of the type holds."
        20 "A result belongs to the current plan and node."
        21 "The phase takes in this type, and the decision leads somewhere."
        22 "The id is free, the run has room, the body is small enough."
        23 "Everything is written together, if the version is still the one the caller saw."
        24 "The answer carries the run and its next action."
    }
    "C-AN", "answer to a clarification" {
        1 "The answer is not blank."
        2 "The answer has at most 32768 units."
        3 "The run waits for an answer."
        4 "The question is stored."
        5 "The answer is the id of one of the choices."
        6 "The choice resumes, cancels or asks for a new run."
    }
    "C-RF", "references" {
        1 "The redaction is none, partial or full."
        2 "Source references are well formed, given once, at most 256."
        3 "A part of the protocol is known and named only where rules and roles are."
        4 "A repository source cannot show what only the user knows."
        5 "A repository source was selected when the run was grounded."
        6 "A repository source is no proof."
        7 "A trace cannot show what only the user knows."
        8 "A trace reference names this run, and at most one event."
        9 "A whole trace is no proof."
        10 "A named event exists."
        11 "An event of the controller is no proof."
        12 "An artifact reference has a run and an id."
        13 "An artifact reference names this run."
        14 "The report that will follow has an id that is still free."
        15 "Any other artifact that is named exists."
        16 "It has the type its place demands."
        17 "What only the user knows rests on the user's message."
        18 "Proof is Evidence, or a document of the context; where the plan is the deliverable, the plan."
    }
    "C-CR", "ClarificationRequest" {
        1 "A further question is asked only while the run is running."
        2 "A further question is asked only where questions are taken in."
        3 "The first artifact after an answer cites question and answer."
    }
    "C-PF", "ProblemFrame" {
        1 "The mode is the run's."
        2 "The request is the run's."
        3 "A fact from the user cites the user's message."
        4 "A fact from the repository cites a repository source."
        5 "A fact from running something cites Evidence of a fitting kind."
        6 "A question that must be asked is asked before the frame."
    }
    "C-TC", "TaskContract" {
        1 "The mode is the run's."
        2 "Request and frame are the run's latest."
        3 "Sources of the frame's facts and inferences are kept."
        4 "Scope, constraints and non-goals are the frame's."
        5 "The acceptance criteria are the frame's drafts."
        6 "The rules are exactly the frame's."
        7 "The first contract is version 1 and the only one."
        8 "A revision is version 2 and cites what it revises and why."
        9 "A revision permits no more than before."
        10 "No field is both to be kept and to be corrected."
        11 "Only fields that are to be corrected change."
        12 "Every field that is to be corrected changes."
        13 "Every field that is to be kept stays."
        14 "A required verification can be carried out with the permissions."
        15 "Every allowed command is exact and plain."
        16 "The permissions stay within the run's authorization."
    }
    "C-PR", "PromptReview" {
        1 "The latest contract is reviewed."
        2 "Coverage has exactly three entries."
        3 "Each source is covered once, by the fields that answer it."
        4 "The revision number fits the contract's version."
    }
    "C-WP", "WorkPlan" {
        1 "The latest contract is planned."
        2 "The plan was validated."
        3 "Nodes run one after another."
        4 "The nodes' tool calls stay within the plan's."
        5 "All plans of the run together reserve at most 4000 tool calls."
        6 "Workers and depth stay within the run's."
        7 "An ordered plan has an order."
        8 "Every node of an ordered plan names what ordered it."
        9 "An ordered plan stays within the order's tool calls."
        10 "An ordered plan stays within the order's capabilities."
        11 "An ordered plan stays within the order's permissions."
        12 "A node permits no more than the contract."
        13 "Before the diagnosis gate a node permits no more than an analysis."
        14 "A node's children stay within its permissions."
        15 "A node's depth stays within the plan's."
        16 "Every allowed tool has permissions behind it."
        17 "Required capabilities are named once."
        18 "A node that is executed requires something."
        19 "Required capabilities are allowed."
        20 "There are tool calls for every required capability."
        21 "A node that must spawn may have a child."
        22 "Its criteria are the contract's."
        23 "An ordered node's criteria are the order's."
        24 "Before the diagnosis gate only diagnosis criteria are worked on."
        25 "The nodes together cover every criterion that is due."
        26 "Every required verification has a node that carries it out."
        27 "Completion is verified after everything that may change something."
    }
    "C-WR", "WorkResult" {
        1 "A node is due."
        2 "Actions and tool events stay within the node's tool calls."
        3 "Nothing changes where nothing may."
        4 "Every capability is known."
        5 "An inspection by shell names one of the typed targets."
        6 "An action uses a capability that the node allows."
        7 "What is reported as denied would have been denied."
        8 "What was tried was authorised."
        9 "What always changes something is marked as changing."
        10 "What never changes anything is not marked as changing."
        11 "Children stay within the node's number."
        12 "Every changed path was authorised."
        13 "Every changed file has its action."
        14 "Covered criteria are the node's."
        15 "A criterion is covered once."
        16 "Every write and delete has its changed file."
        17 "After the last change the completion is verified again."
        18 "Every required capability was used."
        19 "A completed node covers all its criteria."
        20 "A completed node has no failed or denied action."
        21 "A completed node has no failed test."
        22 "A completed node passes its criteria."
        23 "What is cited as proof can prove it."
        24 "The result belongs to the latest plan."
        25 "The result is the due node's."
    }
    "C-QR", "QualityReview" {
        1 "The remaining remediations are the run's."
        2 "The latest contract is judged."
        3 "The latest plan is among those judged."
        4 "Exactly the results of the latest plan are judged."
        5 "A pass needs every node completed."
        6 "A fix cannot pass without a change."
        7 "Exactly the criteria that are due are judged."
        8 "A passed criterion rests on what its result, or an earlier review, showed."
        9 "Every rule of the contract is answered."
        10 "Every verification that is due is answered."
        11 "A verification is answered under its own capability."
        12 "A pass needs every required verification passed."
        13 "A passed verification was carried out."
        14 "The order of a correction is sound and names every completion criterion."
        15 "The order of a remediation is sound."
        16 "Only a diagnosis before its gate can let the fix begin."
        17 "A diagnosis lets the fix begin, it does not pass."
        18 "What is cited as proof can prove it."
    }
    "C-RA", "ReleaseAudit" {
        1 "The remaining remediations are the run's."
        2 "Request, contract, review, and all plans and results are the run's."
        3 "Fidelity is judged against the request, once."
        4 "A mode that was not kept cannot be released or sent back."
        5 "A blocking review stays blocking."
        6 "A release needs a passed review."
        7 "A release needs claims."
        8 "Claims have different ids."
        9 "Claims name the contract's criteria."
        10 "The order of a remediation is sound."
        11 "A release has a supported direct claim for every criterion."
        12 "What is cited as proof can prove it."
    }
    "C-UR", "UserReport" {
        1 "The trace is the run's."
        2 "Exactly the diffs of all results are named."
        3 "A report without an audit is blocked, claims nothing and cites what blocked the run."
        4 "It is the report that the audit announced."
        5 "Whether permissions were honoured is what the audit found."
        6 "A completed report claims something."
        7 "Any other report cites the latest review or audit."
        8 "A completed report names exactly the proof of every required verification."
        9 "Failed verification means that a required one did not pass."
        10 "The outcome fits the audit's decision."
        11 "Every claim was audited, word for word, with its evidence."
        12 "A released report makes every supported claim."
        13 "What is cited as proof can prove it."
    }
    "C-WO", "work orders" {
        1 "The order is there."
        2 "Its criteria are allowed and named once."
        3 "Where demanded, it names all of them."
        4 "Its permissions stay within contract and authority."
        5 "Where demanded, it allows a capability."
        6 "Every allowed capability has permissions behind it."
        7 "It rests on something that was judged."
    }
    "C-ES", "what evidence can prove" {
        1 "A document of the context supports observations and inferences of a result only."
        2 "Evidence that is cited can be read."
        3 "Its kind fits what it is to prove."
    }
    "C-EV", "Evidence" {
        1 "It is captured while a plan is executed."
        2 "The body satisfies its schema."
        3 "Id, run, version and producer agree."
        4 "Its references can be stored."
        5 "Base64 is canonical."
        6 "The decoded content has at most 2 MiB."
        7 "Nothing in it looks like a credential."
        8 "Every reference holds."
        9 "Every artifact it rests on exists."
        10 "The same id again is the same Evidence."
        11 "The run has room."
        12 "At most 128 follow a plan."
    }
    "C-SS", "ScenarioSpec" {
        1 "It is written while the contract is compiled."
        2 "The body satisfies its schema."
        3 "Id, run, version and producer agree."
        4 "Its references can be stored and hold."
        5 "The frame it retells exists."
        6 "The same id again is the same scenario."
        7 "A frame has one scenario."
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    /// Ids such as the ones of the table, in a text.
    fn ids_in(text: &str, found: &mut BTreeSet<String>) {
        for (at, _) in text.match_indices("C-") {
            let rest = &text.as_bytes()[at + 2..];
            let [a, b, b'-', digits @ ..] = rest else { continue };
            let number: String = digits
                .iter()
                .take_while(|digit| digit.is_ascii_digit())
                .map(|digit| *digit as char)
                .collect();
            if a.is_ascii_uppercase() && b.is_ascii_uppercase() && !number.is_empty() {
                found.insert(format!("C-{}{}-{number}", *a as char, *b as char));
            }
        }
    }

    fn walk(folder: &Path, found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.file_name().is_some_and(|name| name != "rule_index.rs") {
                ids_in(&std::fs::read_to_string(path).unwrap(), found);
            }
        }
    }

    #[test]
    fn the_code_names_exactly_the_rules_of_the_table() {
        let mut named = BTreeSet::new();
        walk(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/controller"), &mut named);
        let table: BTreeSet<String> = RULES.iter().map(|rule| rule.id.to_owned()).collect();
        assert_eq!(table.len(), RULES.len(), "an id stands twice in the table");
        let unknown: Vec<_> = named.difference(&table).collect();
        let unused: Vec<_> = table.difference(&named).collect();
        assert!(unknown.is_empty() && unused.is_empty(), "unknown: {unknown:?}, not in the code: {unused:?}");
    }

    #[test]
    fn the_table_has_as_many_rules_as_the_chapter() {
        let count = |family: &str| RULES.iter().filter(|rule| rule.id.starts_with(family)).count();
        let families = [
            ("C-ST-", 13),
            ("C-TR-", 34),
            ("C-SB-", 24),
            ("C-AN-", 6),
            ("C-RF-", 18),
            ("C-CR-", 3),
            ("C-PF-", 6),
            ("C-TC-", 16),
            ("C-PR-", 4),
            ("C-WP-", 27),
            ("C-WR-", 25),
            ("C-QR-", 18),
            ("C-RA-", 12),
            ("C-UR-", 13),
            ("C-WO-", 7),
            ("C-ES-", 3),
            ("C-EV-", 12),
            ("C-SS-", 7),
        ];
        assert_eq!(families.map(|(family, _)| (family, count(family))), families);
        assert_eq!(find_rule("C-WP-11").map(|rule| rule.applies_to), Some("WorkPlan"));
        assert_eq!(find_rule("C-WP-28"), None);
    }
}
