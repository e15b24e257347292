//! One segment of a pattern against one segment of a path: wildcards, classes and extended groups.
//!
//! A segment becomes a small automaton whose states are walked as a set, so that no pattern can make the
//! matching slow. Everything counts UTF-16 code units.

use std::collections::HashMap;

const DOT: u16 = b'.' as u16;

/// A pattern that is not read, since it could be misread.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unreadable(pub(super) &'static str);

/// Characters that a class takes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Class {
    ranges: Vec<(u16, u16)>,
    named: Vec<&'static str>,
    negated: bool,
}

const NAMED: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
    "upper", "word", "xdigit",
];

fn in_named(name: &str, c: char) -> bool {
    match name {
        "alnum" => c.is_alphanumeric(),
        "alpha" => c.is_alphabetic(),
        "ascii" => c.is_ascii(),
        "blank" => c == '\t' || (c.is_whitespace() && !c.is_control() && c != '\u{2028}' && c != '\u{2029}'),
        "cntrl" => c.is_control(),
        "digit" => c.is_ascii_digit(),
        "graph" | "print" => !c.is_control() && (name == "print" || !c.is_whitespace()),
        "lower" => c.is_lowercase(),
        "punct" => {
            c.is_ascii_punctuation()
                || (!c.is_ascii() && !c.is_alphanumeric() && !c.is_whitespace() && !c.is_control())
        }
        "space" => c.is_whitespace(),
        "upper" => c.is_uppercase(),
        "word" => c.is_alphanumeric() || c == '_',
        "xdigit" => c.is_ascii_hexdigit(),
        _ => false,
    }
}

impl Class {
    fn takes(&self, unit: u16) -> bool {
        let listed = self.ranges.iter().any(|(from, to)| (*from..=*to).contains(&unit));
        let named = || {
            char::from_u32(u32::from(unit)).is_some_and(|c| self.named.iter().any(|name| in_named(name, c)))
        };
        (listed || named()) != self.negated
    }
}

/// What stands at a place of a segment's pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Unit(u16),
    Any,
    Star,
    Class(Class),
    /// The mark (`?`, `*`, `+`, `@`, `!`) and the alternatives.
    Group(u8, Vec<Vec<Part>>),
}

/// Reads one segment.
fn parse(pattern: &[u16]) -> Result<Vec<Part>, Unreadable> {
    let mut parts = Vec::new();
    let mut at = 0;
    while at < pattern.len() {
        let unit = pattern[at];
        if let Some((group, length)) = parse_group(&pattern[at..])? {
            parts.push(group);
            at += length;
            continue;
        }
        match u8::try_from(unit) {
            Ok(b'*') => {
                if parts.last() != Some(&Part::Star) {
                    parts.push(Part::Star);
                }
                at += 1;
            }
            Ok(b'?') => {
                parts.push(Part::Any);
                at += 1;
            }
            Ok(b'[') => match parse_class(&pattern[at..]) {
                Some((part, length)) => {
                    parts.push(part);
                    at += length;
                }
                None => {
                    parts.push(Part::Unit(unit));
                    at += 1;
                }
            },
            _ => {
                parts.push(Part::Unit(unit));
                at += 1;
            }
        }
    }
    Ok(parts)
}

/// A class at the start of `pattern`, and its length; nothing where it is not closed.
fn parse_class(pattern: &[u16]) -> Option<(Part, usize)> {
    let at_unit = |at: usize, byte: u8| pattern.get(at) == Some(&u16::from(byte));
    let mut class = Class::default();
    let mut at = 1;
    if at_unit(at, b'!') || at_unit(at, b'^') {
        class.negated = true;
        at += 1;
    }
    let first = at;
    let mut range_from: Option<u16> = None;
    let mut impossible = false;
    loop {
        let unit = *pattern.get(at)?;
        if unit == u16::from(b']') && at > first {
            break;
        }
        if let Some((name, length)) = parse_named(&pattern[at..]) {
            // A range that ends in a named class means nothing, and the pattern then matches nothing.
            impossible |= range_from.is_some();
            class.named.push(name);
            at += length;
            continue;
        }
        if let Some(from) = range_from.take() {
            if from <= unit {
                class.ranges.push((from, unit));
            }
            at += 1;
        } else if at_unit(at + 1, b'-') && at_unit(at + 2, b']') {
            class.ranges.extend([(unit, unit), (u16::from(b'-'), u16::from(b'-'))]);
            at += 2;
        } else if at_unit(at + 1, b'-') {
            range_from = Some(unit);
            at += 2;
        } else {
            class.ranges.push((unit, unit));
            at += 1;
        }
    }
    if impossible || (class.ranges.is_empty() && class.named.is_empty()) {
        // Also when negated: such a class matches nothing at all.
        return Some((Part::Class(Class::default()), at + 1));
    }
    let part = match class.ranges.as_slice() {
        [(from, to)] if from == to && class.named.is_empty() && !class.negated => Part::Unit(*from),
        _ => Part::Class(class),
    };
    Some((part, at + 1))
}

fn parse_named(pattern: &[u16]) -> Option<(&'static str, usize)> {
    NAMED.iter().find_map(|name| {
        let text: Vec<u16> = format!("[:{name}:]").encode_utf16().collect();
        pattern.starts_with(&text).then_some((*name, text.len()))
    })
}

/// An extended group at the start of `pattern`, and its length; nothing where there is none or it is not closed.
fn parse_group(pattern: &[u16]) -> Result<Option<(Part, usize)>, Unreadable> {
    let Some(mark) = pattern.first().and_then(|unit| u8::try_from(*unit).ok()) else { return Ok(None) };
    if !matches!(mark, b'?' | b'*' | b'+' | b'@' | b'!') || pattern.get(1) != Some(&u16::from(b'(')) {
        return Ok(None);
    }
    let mut alternatives = Vec::new();
    let (mut start, mut at, mut depth) = (2, 2, 0_usize);
    while let Some(unit) = pattern.get(at) {
        if let Some((_, length)) = (*unit == u16::from(b'[')).then(|| parse_class(&pattern[at..])).flatten() {
            at += length;
            continue;
        }
        match u8::try_from(*unit) {
            Ok(b'(') if at > 2 && is_mark(pattern[at - 1]) => depth += 1,
            Ok(b')') if depth > 0 => depth -= 1,
            Ok(b'|') if depth == 0 => {
                alternatives.push(parse(&pattern[start..at])?);
                start = at + 1;
            }
            Ok(b')') => {
                alternatives.push(parse(&pattern[start..at])?);
                if matches!(mark, b'*' | b'+') && alternatives.iter().any(|parts| has_negation(parts)) {
                    return Err(Unreadable("a `!(…)` inside a repeated group"));
                }
                return Ok(Some((Part::Group(mark, alternatives), at + 1)));
            }
            _ => {}
        }
        at += 1;
    }
    Ok(None)
}

fn is_mark(unit: u16) -> bool {
    b"?*+@!".iter().any(|mark| u16::from(*mark) == unit)
}

fn has_negation(parts: &[Part]) -> bool {
    parts.iter().any(|part| match part {
        Part::Group(mark, alternatives) => {
            *mark == b'!' || alternatives.iter().any(|parts| has_negation(parts))
        }
        _ => false,
    })
}

#[derive(Clone, Debug)]
enum State {
    End,
    Unit(u16, usize),
    Any(usize),
    Class(Class, usize),
    Star(usize),
    Split(Vec<usize>),
    /// Where the alternatives begin (they end where the group ends), and what follows the group.
    Not(usize, usize),
}

/// One segment of a pattern, ready to match.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    states: Vec<State>,
    start: usize,
    literal: Option<Vec<u16>>,
}

impl Segment {
    /// Reads a segment.
    pub(super) fn new(pattern: &[u16]) -> Result<Self, Unreadable> {
        let parts = parse(pattern)?;
        let literal = parts.iter().map(|part| if let Part::Unit(unit) = part { Some(*unit) } else { None });
        let literal = literal.collect::<Option<Vec<u16>>>();
        let mut states = vec![State::End];
        let start = link(&mut states, &parts, 0);
        Ok(Self { states, start, literal })
    }

    /// The text, where the segment has no wildcard.
    pub(super) fn literal(&self) -> Option<&[u16]> {
        self.literal.as_deref()
    }

    /// Whether the segment matches all of `text`. With `dots_free` a wildcard may match a leading dot.
    pub(super) fn matches(&self, text: &[u16], dots_free: bool) -> bool {
        if let Some(literal) = &self.literal {
            return literal == text;
        }
        // Nothing but their own names matches the empty segment, `.` and `..`.
        if text.is_empty() || text == [DOT] || text == [DOT, DOT] {
            return false;
        }
        let guarded = !dots_free && text.first() == Some(&DOT);
        Walk { states: &self.states, text, guarded, refused: HashMap::new() }.accepts(self.start, 0)
    }
}

/// Appends the states for `parts` in front of `next`; gives the entry.
fn link(states: &mut Vec<State>, parts: &[Part], next: usize) -> usize {
    let mut next = next;
    for part in parts.iter().rev() {
        let state = match part {
            Part::Unit(unit) => State::Unit(*unit, next),
            Part::Any => State::Any(next),
            Part::Class(class) => State::Class(class.clone(), next),
            Part::Star => State::Star(next),
            Part::Group(mark, alternatives) => {
                next = link_group(states, *mark, alternatives, next);
                continue;
            }
        };
        states.push(state);
        next = states.len() - 1;
    }
    next
}

fn link_group(states: &mut Vec<State>, mark: u8, alternatives: &[Vec<Part>], next: usize) -> usize {
    let again = states.len();
    if matches!(mark, b'*' | b'+') {
        // Where an alternative ends: once more, or on. Filled in below.
        states.push(State::Split(Vec::new()));
    }
    let exit = if matches!(mark, b'*' | b'+') { again } else { next };
    let entries: Vec<usize> = alternatives.iter().map(|parts| link(states, parts, exit)).collect();
    states.push(State::Split(entries));
    let choice = states.len() - 1;
    match mark {
        b'*' | b'+' => {
            states[again] = State::Split(vec![choice, next]);
            if mark == b'*' { again } else { choice }
        }
        b'?' => {
            states.push(State::Split(vec![choice, next]));
            states.len() - 1
        }
        b'!' => {
            states.push(State::Not(choice, next));
            states.len() - 1
        }
        _ => choice,
    }
}

struct Walk<'a> {
    states: &'a [State],
    text: &'a [u16],
    /// Whether a wildcard at the start would have to match a dot it may not match.
    guarded: bool,
    /// For each `!(…)` and place: whether its alternatives match the rest.
    refused: HashMap<(usize, usize), bool>,
}

impl Walk<'_> {
    fn accepts(&mut self, start: usize, from: usize) -> bool {
        let mut current = self.reach(vec![(start, true)], from);
        for at in from..self.text.len() {
            let unit = self.text[at];
            let mut next = Vec::new();
            for index in &current {
                match &self.states[*index] {
                    State::Unit(wanted, then) if *wanted == unit => next.push((*then, true)),
                    State::Any(then) => next.push((*then, true)),
                    State::Class(class, then) if class.takes(unit) => next.push((*then, true)),
                    State::Star(_) | State::Not(..) => next.push((*index, false)),
                    _ => {}
                }
            }
            if next.is_empty() {
                return false;
            }
            current = self.reach(next, at + 1);
        }
        current.iter().any(|index| matches!(self.states[*index], State::End))
    }

    /// The states reached at `at` without a character. A `!(…)` that goes on (not fresh) was tested where it
    /// was entered and is not tested again.
    fn reach(&mut self, mut work: Vec<(usize, bool)>, at: usize) -> Vec<usize> {
        let guarded = self.guarded && at == 0;
        let mut seen = vec![false; self.states.len()];
        let mut entered = vec![false; self.states.len()];
        let mut reached = Vec::new();
        let states = self.states;
        while let Some((index, fresh)) = work.pop() {
            if seen[index] || (fresh && entered[index]) {
                continue;
            }
            entered[index] |= fresh;
            match &states[index] {
                State::Split(branches) => {
                    seen[index] = true;
                    work.extend(branches.iter().map(|branch| (*branch, true)));
                    continue;
                }
                State::Any(_) | State::Class(..) | State::Star(_) | State::Not(..) if guarded => continue,
                State::Not(alternatives, _) if fresh && self.is_refused(*alternatives, at) => continue,
                State::Star(next) | State::Not(_, next) => work.push((*next, true)),
                _ => {}
            }
            seen[index] = true;
            reached.push(index);
        }
        reached
    }

    fn is_refused(&mut self, alternatives: usize, at: usize) -> bool {
        if let Some(known) = self.refused.get(&(alternatives, at)) {
            return *known;
        }
        let refused = self.accepts(alternatives, at);
        self.refused.insert((alternatives, at), refused);
        refused
    }
}
