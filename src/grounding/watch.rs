//! When grounding has to stop: the overall deadline and a cancelled call (`grounding.md` 10.2).

use super::error::GroundingError;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long all of grounding may take when the caller sets no deadline.
const USUAL: Duration = Duration::from_secs(120);

/// A deadline and a flag that ends the work early.
#[derive(Clone, Debug)]
pub struct Watch {
    deadline: Instant,
    cancelled: Arc<AtomicBool>,
}

impl Default for Watch {
    fn default() -> Self {
        Self::new(Instant::now() + USUAL, Arc::default())
    }
}

impl Watch {
    /// Work that must end at `deadline`, or soon after `cancelled` becomes true.
    #[must_use]
    pub fn new(deadline: Instant, cancelled: Arc<AtomicBool>) -> Self {
        Self { deadline, cancelled }
    }

    /// The same flag with a deadline no later than `most` from now.
    pub(super) fn within(&self, most: Duration) -> Self {
        Self { deadline: self.deadline.min(Instant::now() + most), cancelled: Arc::clone(&self.cancelled) }
    }

    /// Time that is left.
    pub(super) fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// Whether to go on.
    pub(super) fn check(&self) -> Result<(), GroundingError> {
        if self.cancelled.load(Ordering::Relaxed) {
            return Err(GroundingError::Cancelled);
        }
        if self.left().is_zero() {
            return Err(GroundingError::DeadlineExceeded);
        }
        Ok(())
    }
}
