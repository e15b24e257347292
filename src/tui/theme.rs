//! Themes: roles, not colours.
//!
//! A screen asks for a [`Role`]; the theme file says what it looks like. A role that a file leaves out takes
//! what its parent has (see [`Role::parent`]), down to `text`, so a theme may be five lines long. The depth of
//! the palette is chosen once, when a theme is loaded. Owns no geometry and no glyphs.

use std::collections::BTreeMap;

use ratatui::style::{Color, Modifier, Style};
use serde::Deserialize;

macro_rules! roles {
    ($($(#[doc = $doc:literal])* $name:ident = $id:literal < $parent:ident),+ $(,)?) => {
        /// What a piece of the screen is, as far as its looks go.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Role { $($(#[doc = $doc])* $name),+ }

        impl Role {
            /// Every role.
            pub const ALL: &'static [Role] = &[$(Role::$name),+];

            /// The role's name in a theme file.
            #[must_use]
            pub fn id(self) -> &'static str { match self { $(Role::$name => $id),+ } }

            /// The role that fills in what this one leaves open. `text` is its own parent.
            #[must_use]
            pub fn parent(self) -> Role { match self { $(Role::$name => Role::$parent),+ } }
        }
    };
}

roles! {
    /// Plain text on the background.
    Text = "text" < Text,
    /// Text that matters more.
    Strong = "strong" < Text,
    /// Text that matters less.
    Muted = "muted" < Text,
    /// Times, line numbers, hints.
    Faint = "faint" < Muted,
    /// The one accent.
    Accent = "accent" < Text,
    /// Heading of a group or column.
    Heading = "heading" < Accent,
    /// Rules between areas.
    Border = "border" < Faint,
    /// The part of a gauge or rail that is not filled.
    Track = "track" < Border,
    /// Header and footer.
    Band = "band" < Text,
    /// The program's name.
    Brand = "brand" < Band,
    /// A key in the footer.
    Key = "key" < Band,
    /// The selected row, where the keys go.
    Selection = "selection" < Text,
    /// The selected row of an area without the keys.
    SelectionIdle = "selection_idle" < Selection,
    /// A modal.
    Panel = "panel" < Text,
    /// Passed, allowed, done.
    Good = "good" < Text,
    /// Needs attention.
    Warn = "warn" < Text,
    /// Failed, denied, forbidden.
    Bad = "bad" < Text,
    /// Mode and kind badges.
    Badge = "badge" < Muted,
    /// An added line.
    Added = "added" < Text,
    /// Changed words of an added line.
    AddedWord = "added_word" < Added,
    /// The sign of an added line.
    AddedSign = "added_sign" < Added,
    /// A removed line.
    Removed = "removed" < Text,
    /// Changed words of a removed line.
    RemovedWord = "removed_word" < Removed,
    /// The sign of a removed line.
    RemovedSign = "removed_sign" < Removed,
    /// The line that opens a hunk.
    Hunk = "hunk" < Muted,
    /// A control or look-alike character made visible.
    Symbol = "symbol" < Warn,
    /// Letters that a search matched.
    Match = "match" < Accent,
    /// Keywords of a language.
    SyntaxKeyword = "syntax_keyword" < Text,
    /// Strings of a language.
    SyntaxString = "syntax_string" < Text,
    /// Comments of a language.
    SyntaxComment = "syntax_comment" < Muted,
    /// Functions of a language.
    SyntaxFunction = "syntax_function" < Text,
    /// Types of a language.
    SyntaxType = "syntax_type" < Text,
    /// Numbers and constants of a language.
    SyntaxNumber = "syntax_number" < Text,
    /// Punctuation of a language.
    SyntaxPunctuation = "syntax_punctuation" < Muted,
}

/// How many colours the terminal shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// 24 bits.
    True,
    /// The 256-colour palette.
    Indexed,
    /// The sixteen named colours.
    Named,
    /// None: `NO_COLOR` or a terminal without colours.
    Mono,
}

impl Depth {
    /// The depth that the environment promises. `lookup` reads a variable.
    #[must_use]
    pub fn detect(lookup: impl Fn(&str) -> Option<String>) -> Depth {
        if lookup("NO_COLOR").is_some_and(|value| !value.is_empty()) {
            return Depth::Mono;
        }
        let term = lookup("TERM").unwrap_or_default();
        let colours = lookup("COLORTERM").unwrap_or_default();
        if colours.contains("truecolor") || colours.contains("24bit") || term.contains("direct") {
            Depth::True
        } else if term.is_empty() || term == "dumb" {
            Depth::Mono
        } else if term.contains("256color") {
            Depth::Indexed
        } else {
            Depth::Named
        }
    }
}

/// What is wrong with a theme file.
#[derive(Debug, thiserror::Error)]
pub enum ThemeError {
    /// It is not TOML of the right form.
    #[error("theme {name}: {source}")]
    Syntax {
        /// Name of the theme.
        name: String,
        /// What the parser says.
        source: Box<toml::de::Error>,
    },
    /// A role that does not exist.
    #[error("theme {name}: there is no role `{role}`")]
    UnknownRole {
        /// Name of the theme.
        name: String,
        /// The role.
        role: String,
    },
    /// A colour that is neither in the palette nor `#rrggbb` nor a terminal colour.
    #[error("theme {name}: `{colour}` is not a colour")]
    UnknownColour {
        /// Name of the theme.
        name: String,
        /// The colour.
        colour: String,
    },
    /// No built-in theme of that name.
    #[error("there is no theme `{0}`; built in are {list}", list = BUILT_IN.map(|(name, _)| name).join(", "))]
    UnknownTheme(String),
}

impl ThemeError {
    /// Stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Syntax { .. } => "theme_syntax",
            Self::UnknownRole { .. } => "theme_unknown_role",
            Self::UnknownColour { .. } => "theme_unknown_colour",
            Self::UnknownTheme(_) => "theme_unknown",
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    #[serde(default)]
    appearance: Option<String>,
    #[serde(default)]
    palette: BTreeMap<String, String>,
    #[serde(default)]
    roles: BTreeMap<String, Look>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Look {
    fg: Option<String>,
    bg: Option<String>,
    #[serde(default)]
    bold: bool,
    #[serde(default)]
    italic: bool,
    #[serde(default)]
    underline: bool,
    #[serde(default)]
    reverse: bool,
}

/// The built-in themes by name.
pub const BUILT_IN: [(&str, &str); 6] = [
    ("dark", include_str!("../../themes/dark.toml")),
    ("light", include_str!("../../themes/light.toml")),
    ("high-contrast", include_str!("../../themes/high-contrast.toml")),
    ("colour-blind", include_str!("../../themes/colour-blind.toml")),
    ("plain", include_str!("../../themes/plain.toml")),
    ("mono", include_str!("../../themes/mono.toml")),
];

/// Looks of every role.
#[derive(Debug, Clone, PartialEq)]
pub struct Theme {
    name: String,
    light: bool,
    depth: Depth,
    styles: Vec<Style>,
}

impl Theme {
    /// A built-in theme. With [`Depth::Mono`] every name gives the colourless one.
    ///
    /// # Errors
    /// [`ThemeError::UnknownTheme`] for a name that is not built in.
    pub fn built_in(name: &str, depth: Depth) -> Result<Theme, ThemeError> {
        let wanted = if depth == Depth::Mono { "mono" } else { name };
        let (_, source) = BUILT_IN
            .iter()
            .find(|(id, _)| *id == wanted)
            .ok_or_else(|| ThemeError::UnknownTheme(name.to_owned()))?;
        Theme::parse(wanted, source, depth)
    }

    /// A theme from the text of its file.
    ///
    /// # Errors
    /// A [`ThemeError`] that names the role, the colour or the line.
    pub fn parse(name: &str, source: &str, depth: Depth) -> Result<Theme, ThemeError> {
        let file: File = toml::from_str(source)
            .map_err(|error| ThemeError::Syntax { name: name.to_owned(), source: Box::new(error) })?;
        let mut looks: BTreeMap<Role, Style> = BTreeMap::new();
        for (id, look) in &file.roles {
            let role = *Role::ALL
                .iter()
                .find(|role| role.id() == id)
                .ok_or_else(|| ThemeError::UnknownRole { name: file.name.clone(), role: id.clone() })?;
            looks.insert(role, style(&file, look, depth)?);
        }
        let styles = Role::ALL.iter().map(|role| resolve(*role, &looks)).collect();
        let light = file.appearance.as_deref() == Some("light");
        Ok(Theme { name: file.name, light, depth, styles })
    }

    /// The theme's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The depth it was made for.
    #[must_use]
    pub fn depth(&self) -> Depth {
        self.depth
    }

    /// Whether it is made for a light background.
    #[must_use]
    pub fn is_light(&self) -> bool {
        self.light
    }

    /// How a role looks, complete: foreground and background are those of the role's chain.
    #[must_use]
    pub fn style(&self, role: Role) -> Style {
        self.styles[role as usize]
    }

    /// `role`'s letters on the background of `ground`.
    #[must_use]
    pub fn on(&self, role: Role, ground: Role) -> Style {
        let ground = self.style(ground);
        let mut style = self.style(role);
        style.bg = ground.bg;
        style.add_modifier |= ground.add_modifier & Modifier::REVERSED;
        style
    }
}

fn style(file: &File, look: &Look, depth: Depth) -> Result<Style, ThemeError> {
    let mut style = Style::new();
    if let Some(fg) = &look.fg {
        style.fg = colour(file, fg, depth)?;
    }
    if let Some(bg) = &look.bg {
        style.bg = colour(file, bg, depth)?;
    }
    let modifiers = [
        (look.bold, Modifier::BOLD),
        (look.italic, Modifier::ITALIC),
        (look.underline, Modifier::UNDERLINED),
        (look.reverse, Modifier::REVERSED),
    ];
    for (wanted, modifier) in modifiers {
        if wanted {
            style.add_modifier |= modifier;
        }
    }
    Ok(style)
}

/// Weight is the role's own; colours come down the chain.
fn resolve(role: Role, looks: &BTreeMap<Role, Style>) -> Style {
    let mut style = looks.get(&role).copied().unwrap_or_default();
    let own = looks.contains_key(&role);
    let mut at = role;
    while at != Role::Text {
        at = at.parent();
        let parent = looks.get(&at).copied().unwrap_or_default();
        style.fg = style.fg.or(parent.fg);
        style.bg = style.bg.or(parent.bg);
        if !own && style.add_modifier.is_empty() {
            style.add_modifier = parent.add_modifier;
        }
    }
    style
}

fn colour(file: &File, name: &str, depth: Depth) -> Result<Option<Color>, ThemeError> {
    let unknown = || ThemeError::UnknownColour { name: file.name.clone(), colour: name.to_owned() };
    let value = file.palette.get(name).map_or(name, String::as_str);
    let colour: Color = value.parse().map_err(|_| unknown())?;
    Ok(match (depth, colour) {
        (Depth::Mono, _) => None,
        (Depth::Indexed, Color::Rgb(r, g, b)) => Some(Color::Indexed(nearest_indexed(r, g, b))),
        (Depth::Named, Color::Rgb(r, g, b)) => nearest_named(r, g, b),
        (_, colour) => Some(colour),
    })
}

/// The entry of the 6x6x6 cube or the grey ramp that is nearest.
fn nearest_indexed(r: u8, g: u8, b: u8) -> u8 {
    const STEPS: [i32; 6] = [0, 95, 135, 175, 215, 255];
    let (r, g, b) = (i32::from(r), i32::from(g), i32::from(b));
    let mut best = (i32::MAX, 16);
    for index in 16..=255u8 {
        let (x, y, z) = if index >= 232 {
            let grey = 8 + 10 * (i32::from(index) - 232);
            (grey, grey, grey)
        } else {
            let cube = usize::from(index - 16);
            (STEPS[cube / 36], STEPS[cube / 6 % 6], STEPS[cube % 6])
        };
        let distance = (r - x).pow(2) + (g - y).pow(2) + (b - z).pow(2);
        if distance < best.0 {
            best = (distance, index);
        }
    }
    best.1
}

/// A named colour of the same hue; greys and near-blacks give the terminal's own colour.
fn nearest_named(r: u8, g: u8, b: u8) -> Option<Color> {
    let (high, low) = (r.max(g).max(b), r.min(g).min(b));
    if high - low < 48 {
        return None;
    }
    let strong = |part: u8| u16::from(part) * 2 > u16::from(high) + u16::from(low);
    Some(match (strong(r), strong(g), strong(b)) {
        (true, false, false) => Color::Red,
        (false, true, false) => Color::Green,
        (true, true, false) => Color::Yellow,
        (true, false, true) => Color::Magenta,
        (false, true, true) => Color::Cyan,
        _ => Color::Blue,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn luminance(colour: Color) -> f64 {
        let Color::Rgb(r, g, b) = colour else { panic!("{colour:?} is not a 24-bit colour") };
        let part = |value: u8| {
            let x = f64::from(value) / 255.0;
            if x <= 0.03928 { x / 12.92 } else { ((x + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b)
    }

    fn contrast(a: Color, b: Color) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn every_text_role_meets_wcag_aa_on_every_ground_it_stands_on() {
        let letters = Role::ALL.iter().filter(|role| !matches!(role, Role::Border | Role::Track));
        let grounds = [Role::Text, Role::Band, Role::Selection, Role::SelectionIdle, Role::Panel];
        for name in ["dark", "light", "high-contrast", "colour-blind"] {
            let theme = Theme::built_in(name, Depth::True).unwrap();
            for role in letters.clone() {
                let own = theme.style(*role);
                let on = grounds.iter().map(|ground| theme.style(*ground).bg).chain([own.bg]);
                for bg in on.flatten() {
                    let ratio = contrast(own.fg.unwrap(), bg);
                    assert!(ratio >= 4.5, "{name}: {} has {ratio:.2} on {bg:?}", role.id());
                }
            }
            for ground in [Role::Added, Role::Removed, Role::AddedWord, Role::RemovedWord] {
                let bg = theme.style(ground).bg.unwrap();
                for role in Role::ALL.iter().filter(|role| role.id().starts_with("syntax_")).chain([
                    &Role::Text,
                    &Role::AddedSign,
                    &Role::RemovedSign,
                ]) {
                    let ratio = contrast(theme.style(*role).fg.unwrap(), bg);
                    assert!(ratio >= 4.5, "{name}: {} has {ratio:.2} on {}", role.id(), ground.id());
                }
            }
        }
    }

    #[test]
    fn a_role_that_is_left_out_takes_the_colours_of_its_chain() {
        let source =
            "name = 't'\n[roles]\ntext = { fg = '#ffffff', bg = '#000000' }\nmuted = { fg = '#cccccc' }";
        let theme = Theme::parse("t", source, Depth::True).unwrap();
        assert_eq!(theme.style(Role::Faint).fg, Some(Color::Rgb(0xcc, 0xcc, 0xcc)));
        assert_eq!(theme.style(Role::SyntaxKeyword).fg, Some(Color::Rgb(255, 255, 255)));
        assert_eq!(theme.style(Role::Faint).bg, Some(Color::Rgb(0, 0, 0)));
    }

    #[test]
    fn a_wrong_file_is_refused_with_what_is_wrong() {
        let cases = [
            ("name = 't'\n[roles]\nnope = {}", "theme_unknown_role"),
            ("name = 't'\n[roles]\ntext = { fg = 'mauve-ish' }", "theme_unknown_colour"),
            ("name = 't'\nsize = 3", "theme_syntax"),
        ];
        for (source, code) in cases {
            assert_eq!(Theme::parse("t", source, Depth::True).unwrap_err().code(), code, "{source}");
        }
        assert_eq!(Theme::built_in("neon", Depth::True).unwrap_err().code(), "theme_unknown");
    }

    #[test]
    fn no_color_leaves_no_colour_in_any_role() {
        let theme = Theme::built_in("dark", Depth::Mono).unwrap();
        for role in Role::ALL {
            assert_eq!((theme.style(*role).fg, theme.style(*role).bg), (None, None), "{}", role.id());
        }
        assert!(theme.style(Role::Selection).add_modifier.contains(Modifier::REVERSED));
    }

    #[test]
    fn the_environment_decides_the_depth() {
        let depth = |pairs: &[(&str, &str)]| {
            Depth::detect(|name| {
                pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
            })
        };
        assert_eq!(depth(&[("COLORTERM", "truecolor"), ("TERM", "xterm")]), Depth::True);
        assert_eq!(depth(&[("TERM", "xterm-256color")]), Depth::Indexed);
        assert_eq!(depth(&[("TERM", "xterm")]), Depth::Named);
        assert_eq!(depth(&[("TERM", "dumb")]), Depth::Mono);
        assert_eq!(depth(&[("NO_COLOR", "1"), ("COLORTERM", "truecolor")]), Depth::Mono);
        assert_eq!(depth(&[("NO_COLOR", ""), ("COLORTERM", "truecolor")]), Depth::True);
    }
}
