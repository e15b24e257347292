//! What just happened: toasts in the corner, gone after four seconds or on any key, and the log of the last 200.

use std::collections::VecDeque;

use jiff::Timestamp;

const SHOWN_MS: u64 = 4000;
const KEPT: usize = 200;
const AT_ONCE: usize = 3;

/// One notice.
#[derive(Debug, Clone, PartialEq)]
pub struct Notice {
    /// When.
    pub at: Timestamp,
    /// What, as it came.
    pub text: String,
    /// How often in a row.
    pub times: u32,
    until: u64,
}

/// The notices, oldest first.
#[derive(Debug, Clone, Default)]
pub struct Notices(VecDeque<Notice>);

impl Notices {
    /// Adds one; the same text again only counts up.
    pub fn add(&mut self, at: Timestamp, steady: u64, text: String) {
        let until = steady + SHOWN_MS;
        if let Some(last) = self.0.back_mut().filter(|last| last.text == text) {
            *last = Notice { at, until, times: last.times + 1, text };
            return;
        }
        if self.0.len() == KEPT {
            self.0.pop_front();
        }
        self.0.push_back(Notice { at, text, times: 1, until });
    }

    /// Takes away the toasts whose time is over.
    pub fn expire(&mut self, steady: u64) {
        for notice in &mut self.0 {
            if notice.until <= steady {
                notice.until = 0;
            }
        }
    }

    /// Takes all toasts away; the log stays.
    pub fn dismiss(&mut self) {
        for notice in &mut self.0 {
            notice.until = 0;
        }
    }

    /// The toasts to show, oldest first.
    pub fn shown(&self) -> impl Iterator<Item = &Notice> {
        let from = self.0.len().saturating_sub(AT_ONCE);
        self.0.range(from..).filter(|notice| notice.until > 0)
    }

    /// Everything that is kept, newest first.
    pub fn log(&self) -> impl Iterator<Item = &Notice> {
        self.0.iter().rev()
    }

    /// Milliseconds until a toast goes.
    #[must_use]
    pub fn next_change(&self, steady: u64) -> Option<u64> {
        self.shown().map(|notice| notice.until.saturating_sub(steady).max(1)).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_toast_goes_after_four_seconds_and_stays_in_the_log() {
        let mut notices = Notices::default();
        notices.add(Timestamp::UNIX_EPOCH, 1000, "saved".into());
        assert_eq!(notices.next_change(1000), Some(4000));
        notices.expire(4999);
        assert_eq!(notices.shown().count(), 1);
        notices.expire(5000);
        assert_eq!((notices.shown().count(), notices.log().count()), (0, 1));
    }

    #[test]
    fn the_same_again_is_counted_and_only_two_hundred_are_kept() {
        let mut notices = Notices::default();
        notices.add(Timestamp::UNIX_EPOCH, 0, "again".into());
        notices.add(Timestamp::UNIX_EPOCH, 0, "again".into());
        assert_eq!(notices.log().next().map(|notice| notice.times), Some(2));
        for n in 0..300 {
            notices.add(Timestamp::UNIX_EPOCH, 0, n.to_string());
        }
        assert_eq!(notices.log().count(), 200);
        assert_eq!(notices.shown().count(), 3);
    }
}
