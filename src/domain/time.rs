//! A point in time as every record writes it: UTC with exactly three fraction digits. Nothing here reads a clock.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// Milliseconds since 1970 in UTC, written `2026-03-02T09:15:30.250Z`; texts sort as the times do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// A text that is not `YYYY-MM-DDTHH:MM:SS.mmmZ`, or a time outside the years 0000 to 9999.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("time {text:?} is not of the form 2026-03-02T09:15:30.250Z")]
pub struct TimeError {
    /// What was given.
    pub text: String,
}

impl TimeError {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        "invalid_time"
    }
}

/// 0000-01-01T00:00:00.000Z.
const FIRST: i64 = -62_167_219_200_000;
/// 9999-12-30T22:00:00.000Z, the last time that the calendar library takes as milliseconds.
const LAST: i64 = 253_402_207_200_000;

impl Timestamp {
    /// The time so many milliseconds after 1970 (before it, when negative).
    ///
    /// # Errors
    /// [`TimeError`] outside the years 0000 to 9999.
    pub fn from_millis(millis: i64) -> Result<Self, TimeError> {
        if (FIRST..=LAST).contains(&millis) {
            Ok(Self(millis))
        } else {
            Err(TimeError { text: format!("{millis} ms") })
        }
    }

    /// Milliseconds since 1970.
    #[must_use]
    pub fn as_millis(self) -> i64 {
        self.0
    }

    /// Reads exactly the form that [`fmt::Display`] writes.
    ///
    /// # Errors
    /// [`TimeError`] for any other form, and for days that do not exist.
    pub fn parse(text: &str) -> Result<Self, TimeError> {
        let fault = || TimeError { text: text.to_owned() };
        let parsed: jiff::Timestamp = text.parse().map_err(|_| fault())?;
        let time = Self::from_millis(parsed.as_millisecond()).map_err(|_| fault())?;
        // The parser takes many forms; only the one we write compares as text.
        if time.to_string() == text { Ok(time) } else { Err(fault()) }
    }

    /// The time `millis` later; stops at the last time that can be written.
    #[must_use]
    pub fn plus_millis(self, millis: i64) -> Self {
        Self(self.0.saturating_add(millis).clamp(FIRST, LAST))
    }

    /// Milliseconds from `earlier` to this time; zero when a clock was set back.
    #[must_use]
    pub fn millis_since(self, earlier: Self) -> u64 {
        u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0)
    }
}

impl From<jiff::Timestamp> for Timestamp {
    /// Cuts below the millisecond; a year outside 0000 to 9999 becomes the nearest time that can be written.
    fn from(time: jiff::Timestamp) -> Self {
        Self(time.as_millisecond().clamp(FIRST, LAST))
    }
}

impl From<Timestamp> for jiff::Timestamp {
    fn from(time: Timestamp) -> Self {
        Self::from_millisecond(time.0).expect("a Timestamp is always within jiff's range")
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{:.3}", jiff::Timestamp::from(*self));
        f.pad(&text)
    }
}

impl std::str::FromStr for Timestamp {
    type Err = TimeError;
    fn from_str(text: &str) -> Result<Self, TimeError> {
        Self::parse(text)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_time_is_written_in_utc_with_three_fraction_digits() {
        let cases = [
            (0, "1970-01-01T00:00:00.000Z"),
            (1_772_442_930_250, "2026-03-02T09:15:30.250Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (FIRST, "0000-01-01T00:00:00.000Z"),
            (LAST, "9999-12-30T22:00:00.000Z"),
        ];
        for (millis, text) in cases {
            let time = Timestamp::from_millis(millis).unwrap();
            assert_eq!(time.to_string(), text);
            assert_eq!(Timestamp::parse(text).unwrap(), time);
        }
    }

    #[test]
    fn every_other_form_is_refused() {
        for text in [
            "2026-03-02T09:15:30Z",
            "2026-03-02T09:15:30.25Z",
            "2026-03-02T09:15:30.2500Z",
            "2026-03-02T09:15:30.250+00:00",
            "2026-03-02T10:15:30.250+01:00",
            "2026-03-02 09:15:30.250Z",
            "2026-02-30T09:15:30.250Z",
            "2026-03-02t09:15:30.250z",
            "",
        ] {
            assert!(Timestamp::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_clock_that_was_set_back_measures_zero() {
        let early = Timestamp::from_millis(5).unwrap();
        assert_eq!(early.millis_since(early.plus_millis(10)), 0);
        assert_eq!(early.plus_millis(10).millis_since(early), 10);
    }

    proptest! {
        #[test]
        fn text_and_back_is_the_same_time_and_texts_sort_as_times(a in FIRST..=LAST, b in FIRST..=LAST) {
            let (a, b) = (Timestamp(a), Timestamp(b));
            prop_assert_eq!(Timestamp::parse(&a.to_string()).unwrap(), a);
            prop_assert_eq!(a.cmp(&b), a.to_string().cmp(&b.to_string()));
        }
    }
}
