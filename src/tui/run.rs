//! The event loop: one channel in, bursts drained, effects carried out, one frame per burst.
//!
//! The main thread draws and never waits for anything but this channel. Input, signals and slow work have threads
//! of their own that only send.

use std::io::{self, BufWriter, Stdout, Write, stdout};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use crossterm::clipboard::CopyToClipboard;
use crossterm::event::{self, Event as Input, MouseEventKind};
use crossterm::terminal::{BeginSynchronizedUpdate, EndSynchronizedUpdate, SetTitle};
use crossterm::{execute, queue};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use nix::sys::signal::{Signal, raise};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use tokio::signal::unix::{SignalKind, signal};

use super::app::{App, update};
use super::guard::{self, Guard};
use super::keymap::{KeyChanges, Keymap, KeymapError};
use super::msg::{Effect, Msg};
use super::pacing::Pacer;
use super::theme::{Depth, Theme, ThemeError};
use super::time::Now;
use super::view::view;
use super::worker;
use super::world::{DiffSlot, World};
use super::{glyphs, glyphs::Glyphs};
use crate::service::link::{Command, Link, Reply, Request};
use crate::text;

/// Most events that are taken in before a frame is drawn.
const BURST: usize = 512;

/// How the dashboard looks and behaves.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Name of a built-in theme; none to choose dark or light by the terminal's background.
    pub theme: Option<String>,
    /// Whether to draw plain ASCII signs.
    pub ascii: bool,
    /// Changed keys.
    pub keys: KeyChanges,
    /// Whether the mouse is left to the terminal.
    pub no_mouse: bool,
    /// Whether nothing rings or notifies.
    pub quiet: bool,
}

/// How the dashboard ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The person quit.
    Quit,
    /// A signal with this number asked for it.
    Signal(i32),
}

/// Why the dashboard could not run.
#[derive(Debug, thiserror::Error)]
pub enum TuiError {
    /// The terminal failed.
    #[error("the terminal failed: {0}")]
    Terminal(#[from] io::Error),
    /// The configured keys are wrong.
    #[error(transparent)]
    Keymap(#[from] KeymapError),
    /// The theme is wrong.
    #[error(transparent)]
    Theme(#[from] ThemeError),
}

impl TuiError {
    /// Stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Terminal(_) => "terminal_failed",
            Self::Keymap(error) => error.code(),
            Self::Theme(error) => error.code(),
        }
    }
}

enum Event {
    Msg(Msg),
    Wake,
    Signal(Signal),
}

/// How long the end waits for the reader of the keys.
const READER_PATIENCE: Duration = Duration::from_millis(500);

/// Runs the dashboard until the person quits or a signal comes. The terminal is restored in every case.
///
/// # Errors
/// A [`TuiError`] when keys or theme are wrong, before the terminal is touched, or when the terminal fails.
pub fn run(link: Link, options: &Options) -> Result<Ended, TuiError> {
    let keymap = Keymap::new(&options.keys)?;
    let depth = Depth::detect(|name| std::env::var(name).ok());
    let name = options.theme.clone().unwrap_or_else(background);
    let theme = Theme::built_in(&name, depth)?;
    let size = crossterm::terminal::size()?;
    let started = Instant::now();
    let clock = Clock { started, zone: TimeZone::system() };
    let glyphs = if options.ascii || !is_utf8() { glyphs::ASCII } else { glyphs::UNICODE };
    let app = App::new(new_world(theme, glyphs, keymap, clock.now(), size));
    let (events, inbox) = channel();
    signals(&events)?;
    let guard = Guard::enter(!options.no_mouse)?;
    let stop = Arc::new(AtomicBool::new(false));
    let reader = read_input(events.clone(), Arc::clone(&stop));
    let waker = events.clone();
    link.set_waker(move || _ = waker.send(Event::Wake));
    let jobs = start_worker(events);
    let terminal = Terminal::new(CrosstermBackend::new(BufWriter::with_capacity(1 << 16, stdout())))?;
    let mut looped =
        Loop { app, link, jobs, clock, guard, terminal, quiet: options.quiet, title: String::new() };
    let ended = looped.turn(&inbox);
    stop.store(true, Ordering::SeqCst);
    // The engine may be gone already; then there is nothing to end.
    let _ = looped.link.commands.send(Request { ticket: 0, command: Command::Shutdown });
    let Loop { mut terminal, guard, .. } = looped;
    if terminal.show_cursor().is_err() {
        // Dropped, it would complain on standard error, which is as dead as the terminal; that panics.
        std::mem::forget(terminal);
    }
    drop(guard);
    wait_for(&reader);
    ended
}

/// Waits for the reader of the keys, but not for ever: it may be stuck in a terminal that has gone.
fn wait_for(reader: &std::thread::JoinHandle<()>) {
    let begun = Instant::now();
    while !reader.is_finished() && begun.elapsed() < READER_PATIENCE {
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A world before anything is known.
#[must_use]
pub fn new_world(theme: Theme, glyphs: Glyphs, keymap: Keymap, now: Now, size: (u16, u16)) -> World {
    World {
        snapshot: Arc::default(),
        following: None,
        detail: None,
        now,
        size,
        theme,
        glyphs,
        keymap,
        diff: DiffSlot::default(),
        log: None,
        viewed: std::collections::HashSet::new(),
    }
}

struct Clock {
    started: Instant,
    zone: TimeZone,
}

impl Clock {
    fn now(&self) -> Now {
        let steady = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        Now { wall: Timestamp::now(), steady, zone: self.zone.clone() }
    }
}

struct Loop {
    app: App,
    link: Link,
    jobs: Sender<super::msg::Job>,
    clock: Clock,
    guard: Guard,
    terminal: Terminal<CrosstermBackend<BufWriter<Stdout>>>,
    quiet: bool,
    title: String,
}

impl Loop {
    fn turn(&mut self, inbox: &Receiver<Event>) -> Result<Ended, TuiError> {
        let mut pacer = Pacer::default();
        pacer.request();
        loop {
            let now = self.clock.now().steady;
            if pacer.due_in(now) == Some(0) {
                self.draw()?;
                pacer.drawn(self.clock.now().steady);
            }
            let wait = pacer.due_in(now).or_else(|| self.app.next_tick()).unwrap_or(60_000);
            let first = match inbox.recv_timeout(Duration::from_millis(wait.max(1))) {
                Ok(event) => event,
                Err(RecvTimeoutError::Timeout) if pacer.due_in(now).is_some() => continue,
                Err(RecvTimeoutError::Timeout) => Event::Msg(Msg::Tick),
                Err(RecvTimeoutError::Disconnected) => return Ok(Ended::Quit),
            };
            for event in std::iter::once(first).chain(inbox.try_iter().take(BURST)) {
                if let Some(ended) = self.take(event)? {
                    return Ok(ended);
                }
            }
            pacer.request();
        }
    }

    fn take(&mut self, event: Event) -> Result<Option<Ended>, TuiError> {
        match event {
            Event::Msg(msg) => self.update(msg),
            Event::Wake => {
                if let Some(snapshot) = self.link.take_snapshot()
                    && let Some(ended) = self.update(Msg::Snapshot(snapshot))?
                {
                    return Ok(Some(ended));
                }
                let replies: Vec<Reply> = self.link.replies.try_iter().collect();
                for reply in replies {
                    self.update(Msg::Reply(reply))?;
                }
                Ok(None)
            }
            Event::Signal(Signal::SIGTSTP) => self.suspend().map(|()| None),
            Event::Signal(signal) => Ok(Some(Ended::Signal(signal as i32))),
        }
    }

    fn update(&mut self, msg: Msg) -> Result<Option<Ended>, TuiError> {
        for effect in update(&mut self.app, self.clock.now(), msg) {
            match effect {
                Effect::Send(request) => {
                    if self.link.commands.send(request).is_err() {
                        self.notice("The engine of this dashboard has ended; nothing was sent");
                    }
                }
                // The worker outlives the loop.
                Effect::Work(job) => _ = self.jobs.send(job),
                Effect::Copy(content) => self.copy(&content),
                Effect::Attention(content) => self.attention(&content)?,
                Effect::Suspend => self.suspend()?,
                Effect::Quit => return Ok(Some(Ended::Quit)),
            }
        }
        Ok(None)
    }

    fn notice(&mut self, content: &str) {
        let now = self.clock.now();
        self.app.notices.add(now.wall, now.steady, content.to_owned());
    }

    /// Whether the terminal took it is not known, so that is not claimed.
    fn copy(&mut self, content: &str) {
        let sent =
            execute!(self.terminal.backend_mut(), CopyToClipboard::to_clipboard_from(content.as_bytes()));
        let words = match sent {
            Ok(()) => format!("Sent to the terminal's clipboard: {content}"),
            Err(error) => format!("Not copied ({error}): {content}"),
        };
        self.notice(&words);
    }

    fn attention(&mut self, content: &str) -> Result<(), TuiError> {
        if !self.quiet {
            let safe = text::truncate(&text::visible(content), 120);
            let out = self.terminal.backend_mut();
            write!(out, "\x07\x1b]9;{safe}\x07")?;
            out.flush()?;
        }
        Ok(())
    }

    fn suspend(&mut self) -> Result<(), TuiError> {
        guard::restore();
        // Stops the whole program here; it goes on when it is continued.
        raise(Signal::SIGSTOP).map_err(io::Error::from)?;
        self.guard.resume()?;
        // Resizing to the same size draws everything anew; `clear` would ask the terminal where the cursor is, and
        // the thread that reads input would take the answer.
        let size = self.terminal.size()?;
        self.terminal.resize(ratatui::layout::Rect::new(0, 0, size.width, size.height))?;
        Ok(())
    }

    fn draw(&mut self) -> Result<(), TuiError> {
        let size = self.terminal.size()?;
        if (size.width, size.height) != self.app.world.size {
            // A resize whose event was missed or comes late.
            self.update(Msg::Resize(size.width, size.height))?;
        }
        let need = self.app.home.counts().need;
        let title = if need > 0 { format!("telic ({need})") } else { "telic".to_owned() };
        queue!(self.terminal.backend_mut(), BeginSynchronizedUpdate)?;
        if title != self.title {
            queue!(self.terminal.backend_mut(), SetTitle(&title))?;
            self.title = title;
        }
        let mut hits = None;
        let app = &self.app;
        self.terminal.draw(|frame| hits = Some(view(app, frame)))?;
        self.app.hits = hits.unwrap_or_default();
        execute!(self.terminal.backend_mut(), EndSynchronizedUpdate)?;
        Ok(())
    }
}

fn read_input(events: Sender<Event>, stop: Arc<AtomicBool>) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        while !stop.load(Ordering::SeqCst) {
            match event::poll(Duration::from_millis(150)) {
                Ok(false) => continue,
                Ok(true) => {}
                // The terminal is gone: what follows is the same as a hang-up.
                Err(_) => {
                    hang_up(&events);
                    return;
                }
            }
            let msg = match event::read() {
                Ok(Input::Key(key)) => Msg::Key(key),
                Ok(Input::Paste(text)) => Msg::Paste(text),
                Ok(Input::Resize(columns, rows)) => Msg::Resize(columns, rows),
                Ok(Input::FocusGained) => Msg::Focus(true),
                Ok(Input::FocusLost) => Msg::Focus(false),
                Ok(Input::Mouse(mouse)) if mouse.kind == MouseEventKind::Moved => continue,
                Ok(Input::Mouse(mouse)) => Msg::Mouse(mouse),
                Err(_) => {
                    hang_up(&events);
                    return;
                }
            };
            if events.send(Event::Msg(msg)).is_err() {
                return;
            }
        }
    })
}

/// The loop may be over already; then nobody needs to know.
fn hang_up(events: &Sender<Event>) {
    let _ = events.send(Event::Signal(Signal::SIGHUP));
}

/// Turns signals into events. The handlers are the process's, so they catch signals whatever thread they reach.
fn signals(events: &Sender<Event>) -> io::Result<()> {
    const CAUGHT: [Signal; 4] = [Signal::SIGTERM, Signal::SIGHUP, Signal::SIGINT, Signal::SIGTSTP];
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let mut streams = Vec::new();
    {
        let _entered = runtime.enter();
        for caught in CAUGHT {
            streams.push((caught, signal(SignalKind::from_raw(caught as i32))?));
        }
    }
    let events = events.clone();
    thread::spawn(move || {
        runtime.block_on(async move {
            let tasks = streams.into_iter().map(|(caught, mut stream)| {
                let events = events.clone();
                tokio::spawn(async move {
                    while stream.recv().await.is_some() {
                        if events.send(Event::Signal(caught)).is_err() {
                            return;
                        }
                    }
                })
            });
            for task in tasks.collect::<Vec<_>>() {
                let _ = task.await;
            }
        });
    });
    Ok(())
}

fn start_worker(events: Sender<Event>) -> Sender<super::msg::Job> {
    let (jobs, inbox) = channel();
    let (answers, results) = channel::<Msg>();
    thread::spawn(move || worker::serve(&inbox, &answers));
    thread::spawn(move || {
        for msg in results {
            if events.send(Event::Msg(msg)).is_err() {
                return;
            }
        }
    });
    jobs
}

/// The theme for the terminal's background; dark when it does not say.
fn background() -> String {
    use terminal_colorsaurus::{QueryOptions, ThemeMode, theme_mode};
    let mode = theme_mode(QueryOptions::default());
    if matches!(mode, Ok(ThemeMode::Light)) { "light".to_owned() } else { "dark".to_owned() }
}

fn is_utf8() -> bool {
    let value = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
    // Without a word about it, a terminal of today is taken to know Unicode.
    value.is_none_or(|value| {
        let value = value.to_ascii_lowercase();
        value.contains("utf-8") || value.contains("utf8")
    })
}
