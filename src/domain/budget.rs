//! What a run may still spend. A budget warns at 80 % and pauses at 100 %; only a person goes on from there.

use super::policy::Budget;
use super::run::{BudgetExtension, BudgetKind, BudgetUse, Run};
use super::words::words;

words! {
    /// How far a budget is spent.
    pub enum BudgetLevel {
        Fine = "fine",
        Warning = "warning",
        Spent = "spent",
    }
}

/// One budget of a run: in milliseconds, attempts, calls or bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetState {
    /// Which one.
    pub kind: BudgetKind,
    /// What is used.
    pub used: u64,
    /// What is allowed, extensions included.
    pub allowed: u64,
}

impl BudgetState {
    /// How far it is spent: a warning from 80 %, a pause from 100 %.
    #[must_use]
    pub fn level(self) -> BudgetLevel {
        if self.used >= self.allowed {
            BudgetLevel::Spent
        } else if u128::from(self.used) * 5 >= u128::from(self.allowed) * 4 {
            BudgetLevel::Warning
        } else {
            BudgetLevel::Fine
        }
    }

    /// What is left.
    #[must_use]
    pub fn left(self) -> u64 {
        self.allowed.saturating_sub(self.used)
    }
}

/// What is allowed of one budget, extensions included, in the unit that its use is counted in.
#[must_use]
pub fn allowed(budget: &Budget, kind: BudgetKind, extensions: &[BudgetExtension]) -> u64 {
    let (base, unit) = match kind {
        BudgetKind::WallClock => (budget.wall_clock_seconds, 1_000),
        BudgetKind::Attempts => (u64::from(budget.attempts), 1),
        BudgetKind::ToolCalls => (budget.tool_calls, 1),
        BudgetKind::OutputBytes => (budget.output_bytes, 1),
    };
    let more = extensions.iter().filter(|extension| extension.kind == kind).map(|extension| extension.amount);
    more.fold(base, u64::saturating_add).saturating_mul(unit)
}

/// All budgets of a run.
#[must_use]
pub fn budget_states(budget: &Budget, run: &Run) -> Vec<BudgetState> {
    let BudgetUse { active_millis, tool_calls, output_bytes } = run.budget_use;
    BudgetKind::ALL
        .iter()
        .map(|kind| BudgetState {
            kind: *kind,
            used: match kind {
                BudgetKind::WallClock => active_millis,
                BudgetKind::Attempts => u64::from(run.attempts_used),
                BudgetKind::ToolCalls => tool_calls,
                BudgetKind::OutputBytes => output_bytes,
            },
            allowed: allowed(budget, *kind, &run.budget_extensions),
        })
        .collect()
}

/// How many attempts a run may use.
#[must_use]
pub fn attempts_allowed(budget: &Budget, run: &Run) -> u32 {
    u32::try_from(allowed(budget, BudgetKind::Attempts, &run.budget_extensions)).unwrap_or(u32::MAX)
}

/// How many milliseconds of work are left to a run.
#[must_use]
pub fn wall_clock_left(budget: &Budget, run: &Run) -> u64 {
    allowed(budget, BudgetKind::WallClock, &run.budget_extensions)
        .saturating_sub(run.budget_use.active_millis)
}

/// The budgets of a run that pause it. Attempts do not: they end it where the next one would begin.
#[must_use]
pub fn spent_budgets(budget: &Budget, run: &Run) -> Vec<BudgetKind> {
    budget_states(budget, run)
        .into_iter()
        .filter(|state| state.kind != BudgetKind::Attempts && state.level() == BudgetLevel::Spent)
        .map(|state| state.kind)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::samples::{run, time};
    use proptest::prelude::*;

    fn state(used: u64, allowed: u64) -> BudgetState {
        BudgetState { kind: BudgetKind::ToolCalls, used, allowed }
    }

    #[test]
    fn a_budget_warns_at_80_and_pauses_at_100_percent() {
        for (used, level) in [
            (0, BudgetLevel::Fine),
            (319, BudgetLevel::Fine),
            (320, BudgetLevel::Warning),
            (399, BudgetLevel::Warning),
            (400, BudgetLevel::Spent),
            (900, BudgetLevel::Spent),
        ] {
            assert_eq!(state(used, 400).level(), level, "{used}");
        }
        assert_eq!(state(0, 0).level(), BudgetLevel::Spent);
        assert_eq!(state(u64::MAX - 1, u64::MAX).level(), BudgetLevel::Warning);
    }

    #[test]
    fn an_extension_lets_a_spent_run_go_on() {
        let budget = Budget { wall_clock_seconds: 60, ..Budget::default() };
        let mut run = run();
        run.budget_use.active_millis = 60_000;
        assert_eq!(spent_budgets(&budget, &run), [BudgetKind::WallClock]);
        let kind = BudgetKind::WallClock;
        run.budget_extensions.push(BudgetExtension {
            kind,
            amount: 30,
            actor: "dev".to_owned(),
            granted_at: time(9),
        });
        assert!(spent_budgets(&budget, &run).is_empty());
        let left: Vec<u64> = budget_states(&budget, &run).iter().map(|state| state.left()).collect();
        assert_eq!(left[0], 30_000);
    }

    #[test]
    fn used_attempts_do_not_pause_a_run() {
        let budget = Budget::default();
        let run = Run { attempts_used: 3, ..run() };
        assert!(spent_budgets(&budget, &run).is_empty());
        assert_eq!(attempts_allowed(&budget, &run), 3);
    }

    proptest! {
        #[test]
        fn spending_more_never_lowers_the_level(used in 0_u64..1_000, more in 0_u64..1_000, allowed in 0_u64..1_000) {
            prop_assert!(state(used, allowed).level() <= state(used + more, allowed).level());
        }
    }
}
