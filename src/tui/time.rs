//! Times in words: how long ago, how long, what o'clock.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Now, as the event loop saw it: a wall clock for words and a steady one for waiting.
#[derive(Debug, Clone, PartialEq)]
pub struct Now {
    /// Wall clock.
    pub wall: Timestamp,
    /// Milliseconds on a clock that never goes back.
    pub steady: u64,
    /// The reader's time zone.
    pub zone: TimeZone,
}

impl Now {
    /// A fixed moment in UTC.
    #[must_use]
    pub fn fixed(wall: Timestamp) -> Now {
        Now { wall, steady: 0, zone: TimeZone::UTC }
    }

    /// Seconds since a stored moment; none when it cannot be read, 0 when it lies ahead.
    #[must_use]
    pub fn seconds_since(&self, stamp: &str) -> Option<u64> {
        let then: Timestamp = stamp.parse().ok()?;
        Some(u64::try_from(self.wall.duration_since(then).as_secs()).unwrap_or(0))
    }

    /// How long ago a stored moment was, in at most seven columns: `now`, `5 min`, `3 h`, `12 d`.
    #[must_use]
    pub fn ago(&self, stamp: &str) -> String {
        self.seconds_since(stamp).map_or_else(|| "?".to_owned(), short)
    }

    /// Hour and minute of a stored moment where the reader is, with the date when it is another day.
    #[must_use]
    pub fn clock(&self, stamp: &str) -> String {
        let Ok(then) = stamp.parse::<Timestamp>() else { return "?".to_owned() };
        let (then, now) = (self.zone.to_datetime(then), self.zone.to_datetime(self.wall));
        let form = if then.date() == now.date() { "%H:%M:%S" } else { "%b %d %H:%M" };
        then.strftime(form).to_string()
    }

    /// Hour and minute where the reader is.
    #[must_use]
    pub fn wall_clock(&self) -> String {
        self.zone.to_datetime(self.wall).strftime("%H:%M").to_string()
    }

    /// The stored form of the moment at which this day began where the reader is: stored moments of today are not
    /// less than it.
    #[must_use]
    pub fn today_began(&self) -> String {
        let midnight = self.zone.to_datetime(self.wall).date().at(0, 0, 0, 0);
        let began = self.zone.to_timestamp(midnight).unwrap_or(self.wall);
        began.strftime("%Y-%m-%dT%H:%M:%S.000Z").to_string()
    }
}

/// A length of time in one unit.
#[must_use]
pub fn short(seconds: u64) -> String {
    match seconds {
        0..5 => "now".to_owned(),
        5..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..86_400 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// A length of time in two units: `1 m 12 s`, `340 ms`.
#[must_use]
pub fn length(milliseconds: u64) -> String {
    let seconds = milliseconds / 1000;
    match milliseconds {
        0..1000 => format!("{milliseconds} ms"),
        1000..60_000 => format!("{}.{} s", seconds, milliseconds % 1000 / 100),
        60_000..3_600_000 => format!("{} m {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} m", seconds / 3600, seconds / 60 % 60),
    }
}

/// A size in bytes, in the unit that reads best.
#[must_use]
pub fn bytes(count: u64) -> String {
    match count {
        0..1024 => format!("{count} B"),
        1024..1_048_576 => format!("{} KiB", count / 1024),
        1_048_576..1_073_741_824 => format!("{} MiB", count / 1_048_576),
        _ => format!("{} GiB", count / 1_073_741_824),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_short_and_a_clock_that_was_set_back_says_now() {
        let now = Now::fixed("2026-03-02T12:00:00Z".parse().unwrap());
        let cases = [
            ("2026-03-02T11:59:58.000Z", "now"),
            ("2026-03-02T11:59:20.000Z", "40 s"),
            ("2026-03-02T11:15:00.000Z", "45 min"),
            ("2026-03-02T02:00:00.000Z", "10 h"),
            ("2026-02-20T12:00:00.000Z", "10 d"),
            ("2026-03-02T13:00:00.000Z", "now"),
            ("yesterday", "?"),
        ];
        for (stamp, words) in cases {
            assert_eq!(now.ago(stamp), words, "{stamp}");
        }
    }

    #[test]
    fn the_clock_names_the_day_when_it_is_another_one() {
        let now = Now::fixed("2026-03-02T12:00:00Z".parse().unwrap());
        assert_eq!(now.clock("2026-03-02T09:05:07.000Z"), "09:05:07");
        assert_eq!(now.clock("2026-03-01T09:05:07.000Z"), "Mar 01 09:05");
    }

    #[test]
    fn the_day_begins_at_the_readers_midnight() {
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        let now = Now { zone, ..Now::fixed("2026-03-02T00:30:00Z".parse().unwrap()) };
        assert_eq!(now.today_began(), "2026-03-01T22:00:00.000Z");
    }

    #[test]
    fn lengths_and_sizes_read_well() {
        assert_eq!(
            [length(340), length(1250), length(72_000), length(3_720_000)],
            ["340 ms", "1.2 s", "1 m 12 s", "1 h 2 m"]
        );
        assert_eq!([bytes(12), bytes(2048), bytes(64 << 20)], ["12 B", "2 KiB", "64 MiB"]);
    }
}
