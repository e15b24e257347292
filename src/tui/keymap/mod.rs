//! From keys to actions: the table, what configuration changes in it, and the search through scopes.
//!
//! A clash between two actions of one scope is refused when the keymap is made, never decided by chance.

mod chord;
mod table;

use std::collections::{BTreeMap, HashMap};

pub use chord::{Chord, UnknownKey};
pub use table::{Action, Entry, Scope, TABLE};

/// Keys of actions as configuration names them: scope, action id, keys.
pub type KeyChanges = BTreeMap<String, BTreeMap<String, Vec<String>>>;

/// The actions that decide an approval.
const DECIDING: [Action; 5] =
    [Action::ApproveAndPublish, Action::ApproveOnly, Action::RequestChanges, Action::Reject, Action::Decide];

/// What is wrong with configured keys.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeymapError {
    /// A key's name cannot be read.
    #[error(transparent)]
    Key(#[from] UnknownKey),
    /// Two actions of one scope want one key.
    #[error("`{key}` is both `{first}` and `{second}` in [keys.{scope}]")]
    Clash {
        /// Scope.
        scope: &'static str,
        /// The key.
        key: String,
        /// One action.
        first: &'static str,
        /// The other.
        second: &'static str,
    },
    /// A key that decides an approval is one that people type in texts.
    #[error("`{key}` may not be `{action}`: a decision needs a key that nobody types, such as Ctrl-Y")]
    Typed {
        /// The key.
        key: String,
        /// The action.
        action: &'static str,
    },
    /// Configuration names an action that does not exist there.
    #[error("there is no action `{action}` in [keys.{scope}]")]
    UnknownAction {
        /// Scope as written.
        scope: String,
        /// Action as written.
        action: String,
    },
}

impl KeymapError {
    /// Stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Key(_) => "keymap_unknown_key",
            Self::Clash { .. } => "keymap_clash",
            Self::Typed { .. } => "keymap_typed_decision",
            Self::UnknownAction { .. } => "keymap_unknown_action",
        }
    }
}

impl Scope {
    /// The scope's name in configuration and help.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Motion => "motion",
            Self::Home => "home",
            Self::Run => "run",
            Self::Permissions => "permissions",
            Self::Trace => "trace",
            Self::Diff => "diff",
            Self::Checks => "checks",
            Self::Artifacts => "artifacts",
            Self::Approval => "approval",
            Self::Clarification => "clarification",
            Self::ToolCall => "tool_call",
            Self::Confirm => "confirm",
            Self::Reader => "reader",
            Self::Picker => "picker",
            Self::Field => "field",
            Self::Editor => "editor",
        }
    }
}

/// Actions by key, and keys by action.
#[derive(Debug, Clone)]
pub struct Keymap {
    actions: HashMap<(Scope, Chord), Action>,
    keys: HashMap<Action, Vec<Chord>>,
}

impl Keymap {
    /// The table's keys with the changes of a configuration.
    ///
    /// # Errors
    /// A [`KeymapError`] that names the clash, the key or the action.
    pub fn new(changes: &KeyChanges) -> Result<Keymap, KeymapError> {
        for (scope, actions) in changes {
            for action in actions.keys() {
                if !TABLE.iter().any(|entry| entry.scope.id() == scope && entry.id == action) {
                    return Err(KeymapError::UnknownAction { scope: scope.clone(), action: action.clone() });
                }
            }
        }
        let mut map = Keymap { actions: HashMap::new(), keys: HashMap::new() };
        for entry in TABLE {
            let changed = changes.get(entry.scope.id()).and_then(|actions| actions.get(entry.id));
            let names: Vec<&str> =
                changed.map_or_else(|| entry.keys.to_vec(), |keys| keys.iter().map(String::as_str).collect());
            for name in names {
                let chord: Chord = name.parse()?;
                if DECIDING.contains(&entry.action) && chord.is_typed() {
                    return Err(KeymapError::Typed { key: name.to_owned(), action: entry.id });
                }
                if let Some(other) = map.actions.insert((entry.scope, chord), entry.action) {
                    return Err(KeymapError::Clash {
                        scope: entry.scope.id(),
                        key: name.to_owned(),
                        first: Keymap::entry(other).id,
                        second: entry.id,
                    });
                }
                map.keys.entry(entry.action).or_default().push(chord);
            }
        }
        Ok(map)
    }

    /// What a key does in the innermost of these scopes that knows it.
    #[must_use]
    pub fn action(&self, scopes: &[Scope], chord: Chord) -> Option<Action> {
        scopes.iter().find_map(|scope| self.actions.get(&(*scope, chord)).copied())
    }

    /// The first key of an action; empty when it has none.
    #[must_use]
    pub fn key(&self, action: Action) -> String {
        self.keys(action).first().map(ToString::to_string).unwrap_or_default()
    }

    /// All keys of an action.
    #[must_use]
    pub fn keys(&self, action: Action) -> &[Chord] {
        self.keys.get(&action).map_or(&[], Vec::as_slice)
    }

    /// The table's entry of an action.
    #[must_use]
    pub fn entry(action: Action) -> &'static Entry {
        TABLE.iter().find(|entry| entry.action == action).expect("the table makes the enum")
    }

    /// Entries of these scopes that still have a key there which no inner scope takes.
    pub fn entries<'a>(&'a self, scopes: &'a [Scope]) -> impl Iterator<Item = &'static Entry> + 'a {
        scopes.iter().flat_map(move |scope| {
            TABLE.iter().filter(move |entry| {
                entry.scope == *scope
                    && self
                        .keys(entry.action)
                        .iter()
                        .any(|key| self.action(scopes, *key) == Some(entry.action))
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(scope: &str, action: &str, keys: &[&str]) -> KeyChanges {
        let keys = keys.iter().map(|key| (*key).to_owned()).collect();
        KeyChanges::from([(scope.to_owned(), BTreeMap::from([(action.to_owned(), keys)]))])
    }

    #[test]
    fn the_default_keys_do_not_clash() {
        Keymap::new(&KeyChanges::new()).unwrap();
    }

    #[test]
    fn a_clash_names_both_actions() {
        let error = Keymap::new(&change("diff", "next_hunk", &["w"])).unwrap_err();
        assert_eq!(error.code(), "keymap_clash");
        assert_eq!(error.to_string(), "`w` is both `next_hunk` and `wrap` in [keys.diff]");
    }

    #[test]
    fn configured_keys_replace_the_default_ones() {
        let map = Keymap::new(&change("diff", "next_hunk", &["J"])).unwrap();
        let key = |name: &str| map.action(&[Scope::Diff], name.parse().unwrap());
        assert_eq!(key("J"), Some(Action::NextHunk));
        assert_eq!(key("n"), None);
        assert_eq!(map.key(Action::NextHunk), "J");
    }

    #[test]
    fn an_unknown_action_or_key_is_refused() {
        let code = |changes| Keymap::new(&changes).unwrap_err().code();
        assert_eq!(code(change("diff", "fly", &["n"])), "keymap_unknown_action");
        assert_eq!(code(change("home", "next_hunk", &["n"])), "keymap_unknown_action");
        assert_eq!(code(change("diff", "next_hunk", &["Hyper-n"])), "keymap_unknown_key");
    }

    #[test]
    fn the_innermost_scope_wins_and_the_outer_entry_is_not_offered_with_that_key() {
        let map = Keymap::new(&KeyChanges::new()).unwrap();
        let scopes = [Scope::Diff, Scope::Run, Scope::Motion, Scope::Global];
        assert_eq!(map.action(&scopes, "p".parse().unwrap()), Some(Action::PreviousHunk));
        assert!(map.entries(&scopes).any(|entry| entry.action == Action::Answer));
        let scopes = [Scope::Checks, Scope::Run];
        assert!(map.entries(&scopes).all(|entry| entry.action != Action::Open));
    }

    #[test]
    fn no_key_that_decides_an_approval_can_be_typed_in_a_text() {
        let map = Keymap::new(&KeyChanges::new()).unwrap();
        for action in DECIDING {
            assert!(map.keys(action).iter().all(|key| !key.is_typed()), "{action:?}");
        }
        for key in ["Enter", "y", "Space"] {
            let error = Keymap::new(&change("approval", "reject", &[key])).unwrap_err();
            assert!(matches!(error.code(), "keymap_typed_decision"), "{key}");
        }
    }
}
