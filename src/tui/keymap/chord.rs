//! One key press with its modifiers, as configuration and footer write it: `Ctrl-P`, `Enter`, `G`, `]`.

use std::fmt;
use std::str::FromStr;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// A key with its modifiers. Shift is part of a letter (`G`), not a modifier of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Chord {
    code: KeyCode,
    modifiers: KeyModifiers,
}

impl Chord {
    /// The chord of a key event.
    #[must_use]
    pub fn of(event: KeyEvent) -> Chord {
        let mut modifiers =
            event.modifiers & (KeyModifiers::CONTROL | KeyModifiers::ALT | KeyModifiers::SHIFT);
        let mut code = event.code;
        if let KeyCode::Char(c) = code {
            if modifiers.contains(KeyModifiers::CONTROL) {
                code = KeyCode::Char(c.to_ascii_lowercase());
            } else if modifiers.contains(KeyModifiers::SHIFT) {
                code = KeyCode::Char(c.to_ascii_uppercase());
            }
            modifiers -= KeyModifiers::SHIFT;
        }
        if code == KeyCode::BackTab {
            modifiers -= KeyModifiers::SHIFT;
        }
        Chord { code, modifiers }
    }

    /// A key event that gives this chord.
    #[must_use]
    pub fn event(self) -> KeyEvent {
        KeyEvent::new(self.code, self.modifiers)
    }

    /// Whether a person could type it in a text: a letter, a blank, Enter, Backspace.
    #[must_use]
    pub fn is_typed(self) -> bool {
        !self.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT)
            && matches!(self.code, KeyCode::Char(_) | KeyCode::Enter | KeyCode::Backspace | KeyCode::Tab)
    }
}

const NAMES: [(&str, KeyCode); 15] = [
    ("Enter", KeyCode::Enter),
    ("Esc", KeyCode::Esc),
    ("Tab", KeyCode::Tab),
    ("BackTab", KeyCode::BackTab),
    ("Space", KeyCode::Char(' ')),
    ("Backspace", KeyCode::Backspace),
    ("Delete", KeyCode::Delete),
    ("Up", KeyCode::Up),
    ("Down", KeyCode::Down),
    ("Left", KeyCode::Left),
    ("Right", KeyCode::Right),
    ("PageUp", KeyCode::PageUp),
    ("PageDown", KeyCode::PageDown),
    ("Home", KeyCode::Home),
    ("End", KeyCode::End),
];

/// A key's name that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a key; write it like `n`, `G`, `Enter`, `PageDown`, `Ctrl-P` or `Alt-x`")]
pub struct UnknownKey(pub String);

impl FromStr for Chord {
    type Err = UnknownKey;

    fn from_str(name: &str) -> Result<Chord, UnknownKey> {
        let mut modifiers = KeyModifiers::NONE;
        let mut rest = name;
        loop {
            if let Some(tail) = rest.strip_prefix("Ctrl-").filter(|tail| !tail.is_empty()) {
                modifiers |= KeyModifiers::CONTROL;
                rest = tail;
            } else if let Some(tail) = rest.strip_prefix("Alt-").filter(|tail| !tail.is_empty()) {
                modifiers |= KeyModifiers::ALT;
                rest = tail;
            } else {
                break;
            }
        }
        let mut letters = rest.chars();
        let code = match (letters.next(), letters.next()) {
            (Some(c), None) if !c.is_control() && c != ' ' => KeyCode::Char(c),
            _ => NAMES.iter().find(|(known, _)| *known == rest).ok_or_else(|| UnknownKey(name.to_owned()))?.1,
        };
        Ok(Chord::of(KeyEvent::new(code, modifiers)))
    }
}

impl fmt::Display for Chord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.modifiers.contains(KeyModifiers::CONTROL) {
            f.write_str("Ctrl-")?;
        }
        if self.modifiers.contains(KeyModifiers::ALT) {
            f.write_str("Alt-")?;
        }
        match (self.code, NAMES.iter().find(|(_, code)| *code == self.code)) {
            (_, Some((name, _))) => f.write_str(name),
            (KeyCode::Char(c), None) if self.modifiers.contains(KeyModifiers::CONTROL) => {
                write!(f, "{}", c.to_ascii_uppercase())
            }
            (KeyCode::Char(c), None) => write!(f, "{c}"),
            (code, None) => write!(f, "{code}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_events_meet() {
        let cases = [
            ("n", KeyCode::Char('n'), KeyModifiers::NONE),
            ("G", KeyCode::Char('G'), KeyModifiers::SHIFT),
            ("G", KeyCode::Char('g'), KeyModifiers::SHIFT),
            ("Ctrl-P", KeyCode::Char('p'), KeyModifiers::CONTROL),
            ("BackTab", KeyCode::BackTab, KeyModifiers::SHIFT),
            ("Space", KeyCode::Char(' '), KeyModifiers::NONE),
            ("?", KeyCode::Char('?'), KeyModifiers::SHIFT),
        ];
        for (name, code, modifiers) in cases {
            let chord: Chord = name.parse().unwrap();
            assert_eq!(chord, Chord::of(KeyEvent::new(code, modifiers)), "{name}");
            assert_eq!(chord.to_string(), name);
        }
    }

    #[test]
    fn a_wrong_name_is_refused() {
        for name in ["", "Ctrl-", "Entre", "ab", " "] {
            assert!(name.parse::<Chord>().is_err(), "{name:?}");
        }
    }
}
