//! When to draw: once per burst, at most sixty times a second, never without a change.

/// Milliseconds between two frames.
const FRAME: u64 = 16;

/// Says when the next frame is due. Requests merge.
#[derive(Debug, Default)]
pub struct Pacer {
    last: Option<u64>,
    wanted: bool,
}

impl Pacer {
    /// Something changed.
    pub fn request(&mut self) {
        self.wanted = true;
    }

    /// Milliseconds until the frame that was asked for may be drawn; none when none was.
    #[must_use]
    pub fn due_in(&self, now: u64) -> Option<u64> {
        let since = |last: u64| FRAME.saturating_sub(now.saturating_sub(last));
        self.wanted.then(|| self.last.map_or(0, since))
    }

    /// The frame was drawn.
    pub fn drawn(&mut self, now: u64) {
        self.last = Some(now);
        self.wanted = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_drawn_without_a_change() {
        let mut pacer = Pacer::default();
        assert_eq!(pacer.due_in(0), None);
        pacer.request();
        assert_eq!(pacer.due_in(5), Some(0));
        pacer.drawn(5);
        assert_eq!(pacer.due_in(1000), None);
    }

    #[test]
    fn a_burst_is_one_frame_and_frames_keep_their_distance() {
        let mut pacer = Pacer::default();
        pacer.request();
        pacer.drawn(100);
        pacer.request();
        pacer.request();
        assert_eq!(pacer.due_in(104), Some(12));
        assert_eq!(pacer.due_in(116), Some(0));
    }
}
