//! How much grounding may look at and take (`grounding.md` 1).

use super::error::GroundingError;
use serde::{Deserialize, Serialize};

/// A budget with every value in its limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Files that may be selected, 1 to 256.
    pub max_files: u64,
    /// Bytes of one file, 1 to 2,097,152.
    pub max_file_bytes: u64,
    /// Bytes of all selected files, 1 to 16,777,216.
    pub max_total_bytes: u64,
    /// Paths that are considered, 1 to 100,000.
    pub max_inventory_files: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Self { max_files: 48, max_file_bytes: 131_072, max_total_bytes: 524_288, max_inventory_files: 20_000 }
    }
}

impl Budget {
    /// The hard limits.
    pub const HARD: Self = Self {
        max_files: 256,
        max_file_bytes: 2_097_152,
        max_total_bytes: 16_777_216,
        max_inventory_files: 100_000,
    };

    /// This budget, when every value is between 1 and its hard limit.
    ///
    /// # Errors
    /// [`GroundingError::InvalidBudget`] names the first field that is not.
    pub fn checked(self) -> Result<Self, GroundingError> {
        let hard = Self::HARD;
        for (field, value, limit) in [
            ("max_files", self.max_files, hard.max_files),
            ("max_file_bytes", self.max_file_bytes, hard.max_file_bytes),
            ("max_total_bytes", self.max_total_bytes, hard.max_total_bytes),
            ("max_inventory_files", self.max_inventory_files, hard.max_inventory_files),
        ] {
            if value == 0 || value > limit {
                return Err(GroundingError::InvalidBudget { field, value, limit });
            }
        }
        Ok(self)
    }
}

/// A budget as a caller asks for it: what is missing takes its default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BudgetRequest {
    /// See [`Budget::max_files`].
    pub max_files: Option<u64>,
    /// See [`Budget::max_file_bytes`].
    pub max_file_bytes: Option<u64>,
    /// See [`Budget::max_total_bytes`].
    pub max_total_bytes: Option<u64>,
    /// See [`Budget::max_inventory_files`].
    pub max_inventory_files: Option<u64>,
}

impl BudgetRequest {
    /// The budget with defaults filled in.
    ///
    /// # Errors
    /// [`GroundingError::InvalidBudget`] when a value is out of its limits.
    pub fn merged(self) -> Result<Budget, GroundingError> {
        let usual = Budget::default();
        Budget {
            max_files: self.max_files.unwrap_or(usual.max_files),
            max_file_bytes: self.max_file_bytes.unwrap_or(usual.max_file_bytes),
            max_total_bytes: self.max_total_bytes.unwrap_or(usual.max_total_bytes),
            max_inventory_files: self.max_inventory_files.unwrap_or(usual.max_inventory_files),
        }
        .checked()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_from_one_to_the_hard_limit_are_taken_and_others_named() {
        let hard = Budget::HARD;
        let all = BudgetRequest {
            max_files: Some(hard.max_files),
            max_file_bytes: Some(hard.max_file_bytes),
            max_total_bytes: Some(hard.max_total_bytes),
            max_inventory_files: Some(hard.max_inventory_files),
        };
        assert_eq!(all.merged(), Ok(hard));
        assert_eq!(BudgetRequest::default().merged(), Ok(Budget::default()));
        for (request, field) in [
            (BudgetRequest { max_files: Some(0), ..all }, "max_files"),
            (BudgetRequest { max_files: Some(257), ..all }, "max_files"),
            (BudgetRequest { max_file_bytes: Some(2_097_153), ..all }, "max_file_bytes"),
            (BudgetRequest { max_total_bytes: Some(16_777_217), ..all }, "max_total_bytes"),
            (BudgetRequest { max_inventory_files: Some(100_001), ..all }, "max_inventory_files"),
        ] {
            let error = request.merged().unwrap_err();
            assert_eq!(error.code(), "invalid_grounding_budget");
            assert!(error.to_string().contains(field), "{error}");
        }
    }
}
