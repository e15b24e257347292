//! The one owner of every terminal mode: raw mode, alternate screen, cursor, paste, focus, mouse and title.
//!
//! Whatever happens, the terminal is left as it was found: on return, on error, on a panic of any thread that
//! unwinds through the guard's owner, on a signal (the event loop returns), and while the program is stopped.
//! Restoring twice does nothing the second time.

use std::io::{self, Write, stdout};
use std::panic;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crossterm::event::{
    DisableBracketedPaste, DisableFocusChange, DisableMouseCapture, EnableBracketedPaste, EnableFocusChange,
    EnableMouseCapture,
};
use crossterm::terminal::{
    EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use crossterm::{cursor, execute, queue};

/// Whether the modes are on.
static ACTIVE: AtomicBool = AtomicBool::new(false);
static HOOK: Once = Once::new();

/// Keeps the terminal's modes until it is dropped.
pub struct Guard {
    mouse: bool,
}

impl Guard {
    /// Takes the terminal over.
    ///
    /// # Errors
    /// When the terminal refuses a mode; those that were set are taken back.
    pub fn enter(mouse: bool) -> io::Result<Guard> {
        HOOK.call_once(install_hook);
        let guard = Guard { mouse };
        guard.resume()?;
        Ok(guard)
    }

    /// Sets all modes, again after [`restore`].
    ///
    /// # Errors
    /// As [`Guard::enter`].
    pub fn resume(&self) -> io::Result<()> {
        ACTIVE.store(true, Ordering::SeqCst);
        let set = || -> io::Result<()> {
            enable_raw_mode()?;
            let mut out = stdout();
            // The window's title is put aside and brought back (XTWINOPS 22 and 23).
            out.write_all(b"\x1b[22;2t")?;
            queue!(out, EnterAlternateScreen, cursor::Hide, EnableBracketedPaste, EnableFocusChange)?;
            if self.mouse {
                queue!(out, EnableMouseCapture)?;
            }
            out.flush()
        };
        set().inspect_err(|_| restore())
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        restore();
    }
}

/// Takes all modes back. Every step is tried, whatever the ones before it did.
pub fn restore() {
    if !ACTIVE.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut out = stdout();
    // What fails here fails because the terminal is gone; there is nobody left to tell.
    let _ = execute!(out, EndSynchronizedUpdate);
    let _ = execute!(out, DisableMouseCapture, DisableFocusChange, DisableBracketedPaste);
    let _ = execute!(out, LeaveAlternateScreen, cursor::Show);
    let _ = out.write_all(b"\x1b[23;2t");
    let _ = out.flush();
    let _ = disable_raw_mode();
}

/// A panic of the thread that draws restores the terminal before it is printed. One of another thread goes to the
/// log, since printing it would land in the middle of the screen.
fn install_hook() {
    let drawing = thread::current().id();
    let previous = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if thread::current().id() == drawing || !ACTIVE.load(Ordering::SeqCst) {
            restore();
            previous(info);
        } else {
            tracing::error!(panic = %info, "a background thread panicked");
        }
    }));
}
