//! Alternatives in braces: `{a,b}`, `{1..3}`, `{a..e..2}`, nested. Expanded before a pattern is split at `/`.
//!
//! Units are UTF-16 code units. A brace that turned out to be literal is set aside as a number above them.

/// A literal `}` that must not close anything any more.
const SET_ASIDE_CLOSE: u32 = 0x11_0001;
/// A literal `{` that must not open anything any more.
const SET_ASIDE_OPEN: u32 = 0x11_0000;

const OPEN: u32 = b'{' as u32;
const CLOSE: u32 = b'}' as u32;
const COMMA: u32 = b',' as u32;

/// The pattern makes more alternatives than the limit.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooMany;

/// All alternatives of `pattern`, at most `limit`.
pub(super) fn expand(pattern: &str, limit: usize) -> Result<Vec<Vec<u16>>, TooMany> {
    let mut units: Vec<u32> = pattern.encode_utf16().map(u32::from).collect();
    // A leading `{}` is literal, also where a later brace could close it.
    if units.starts_with(&[OPEN, CLOSE]) {
        units[0] = SET_ASIDE_OPEN;
        units[1] = SET_ASIDE_CLOSE;
    }
    let expanded = expand_units(&units, true, limit)?;
    let restore = |unit: u32| match unit {
        SET_ASIDE_OPEN => u16::from(b'{'),
        SET_ASIDE_CLOSE => u16::from(b'}'),
        other => u16::try_from(other).unwrap_or(0xfffd),
    };
    Ok(expanded.into_iter().map(|units| units.into_iter().map(restore).collect()).collect())
}

/// The first pair of braces: the first that closes on the outermost level, else the leftmost closed pair
/// behind an open brace that nothing closes.
fn first_pair(units: &[u32]) -> Option<(usize, usize)> {
    let mut open = Vec::new();
    let mut leftmost: Option<(usize, usize)> = None;
    for (at, unit) in units.iter().enumerate() {
        match *unit {
            OPEN => open.push(at),
            CLOSE => {
                let Some(start) = open.pop() else { continue };
                if open.is_empty() {
                    return Some((start, at));
                }
                if leftmost.is_none_or(|(left, _)| start < left) {
                    leftmost = Some((start, at));
                }
            }
            _ => {}
        }
    }
    leftmost
}

/// The parts of a body, split at the commas that no inner brace holds.
fn comma_parts(body: &[u32]) -> Vec<&[u32]> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0_usize, 0);
    for (at, unit) in body.iter().enumerate() {
        match *unit {
            OPEN => depth += 1,
            CLOSE => depth = depth.saturating_sub(1),
            COMMA if depth == 0 => {
                parts.push(&body[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&body[start..]);
    parts
}

/// Whether `post` holds a comma (not doubled) and a closing brace behind it, so that the pair before it may
/// have been closed too early, as in `{a},b}`.
fn closes_later(post: &[u32]) -> bool {
    let last_close = post.iter().rposition(|unit| *unit == CLOSE);
    (0..post.len()).any(|at| {
        post[at] == COMMA && post.get(at + 1) != Some(&COMMA) && last_close.is_some_and(|close| close > at)
    })
}

fn expand_units(units: &[u32], top: bool, limit: usize) -> Result<Vec<Vec<u32>>, TooMany> {
    let Some((start, end)) = first_pair(units) else { return Ok(vec![units.to_vec()]) };
    let (pre, body, post) = (&units[..start], &units[start + 1..end], &units[end + 1..]);
    if pre.last() == Some(&u32::from(b'$')) {
        let kept = &units[..=end];
        return join(kept, &[Vec::new()], &expand_units(post, false, limit)?, false, limit);
    }
    let sequence = sequence(body, limit)?;
    let is_sequence = sequence.is_some();
    let middles = if let Some(items) = sequence {
        items
    } else if body.contains(&COMMA) {
        let parts = comma_parts(body);
        if let [only] = parts.as_slice() {
            // The commas belong to inner braces: these are expanded, the outer pair is literal.
            let inner = expand_units(only, false, limit)?;
            inner
                .into_iter()
                .map(|part| [&[SET_ASIDE_OPEN], part.as_slice(), &[SET_ASIDE_CLOSE]].concat())
                .collect()
        } else {
            let mut all = Vec::new();
            for part in parts {
                all.extend(expand_units(part, false, limit)?);
            }
            all
        }
    } else {
        if closes_later(post) {
            let mut units = units.to_vec();
            units[end] = SET_ASIDE_CLOSE;
            return expand_units(&units, true, limit);
        }
        return Ok(vec![units.to_vec()]);
    };
    let posts = expand_units(post, false, limit)?;
    join(pre, &middles, &posts, top && !is_sequence, limit)
}

/// Every middle with every post. An empty whole is dropped where `drop_empty`.
fn join(
    pre: &[u32],
    middles: &[Vec<u32>],
    posts: &[Vec<u32>],
    drop_empty: bool,
    limit: usize,
) -> Result<Vec<Vec<u32>>, TooMany> {
    if middles.len().saturating_mul(posts.len()) > limit {
        return Err(TooMany);
    }
    let mut all = Vec::with_capacity(middles.len() * posts.len());
    for middle in middles {
        for post in posts {
            let whole = [pre, middle, post].concat();
            if !(drop_empty && whole.is_empty()) {
                all.push(whole);
            }
        }
    }
    Ok(all)
}

/// The items of `1..3`, `01..10..2`, `a..e`; nothing where the body is no sequence.
fn sequence(body: &[u32], limit: usize) -> Result<Option<Vec<Vec<u32>>>, TooMany> {
    let Ok(units) = body.iter().map(|unit| u16::try_from(*unit)).collect::<Result<Vec<u16>, _>>() else {
        return Ok(None);
    };
    let Ok(text) = String::from_utf16(&units) else { return Ok(None) };
    let parts: Vec<&str> = text.split("..").collect();
    let (first, last, step) = match parts.as_slice() {
        [first, last] => (*first, *last, 1),
        [first, last, step] => match number(step) {
            Some(step) => (*first, *last, step.unsigned_abs().max(1)),
            None => return Ok(None),
        },
        _ => return Ok(None),
    };
    let letter = |text: &str| {
        let mut chars = text.chars();
        chars.next().filter(|c| c.is_ascii_alphabetic() && chars.next().is_none())
    };
    let (from, to, width, letters) = if let (Some(from), Some(to)) = (number(first), number(last)) {
        let padded = [first, last].iter().any(|text| {
            let digits = text.trim_start_matches('-');
            digits.len() > 1 && digits.starts_with('0')
        });
        (from, to, if padded { first.len().max(last.len()) } else { 0 }, false)
    } else if let (Some(from), Some(to)) = (letter(first), letter(last)) {
        (i64::from(u32::from(from)), i64::from(u32::from(to)), 0, true)
    } else {
        return Ok(None);
    };
    let count = from.abs_diff(to) / step + 1;
    if usize::try_from(count).map_or(true, |count| count > limit) {
        return Err(TooMany);
    }
    let item = |n: u64| {
        let moved = i64::try_from(n * step).unwrap_or(i64::MAX);
        let value = if to < from { from - moved } else { from + moved };
        let text = if letters {
            u32::try_from(value).ok().and_then(char::from_u32).map_or_else(String::new, String::from)
        } else if value < 0 {
            format!("-{:0>width$}", value.unsigned_abs(), width = width.saturating_sub(1))
        } else {
            format!("{value:0>width$}")
        };
        // Between `Z` and `a` lies the backslash, which is no character of a path.
        if text == "\\" { Vec::new() } else { text.encode_utf16().map(u32::from).collect() }
    };
    Ok(Some((0..count).map(item).collect()))
}

fn number(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    // Ends beyond this could not be counted, and nobody names files so.
    plain.then(|| text.parse().ok()).flatten().filter(|n: &i64| n.unsigned_abs() < 1 << 53)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(pattern: &str) -> Vec<String> {
        expand(pattern, 100).unwrap().iter().map(|units| String::from_utf16(units).unwrap()).collect()
    }

    #[test]
    fn alternatives_and_sequences_are_written_out_in_order() {
        let cases: [(&str, &[&str]); 20] = [
            ("a", &["a"]),
            ("x{a,b}y", &["xay", "xby"]),
            ("{a,b}{c,d}", &["ac", "ad", "bc", "bd"]),
            ("{a,{b,c}}/d", &["a/d", "b/d", "c/d"]),
            ("a{,/**}", &["a", "a/**"]),
            ("{1..3}", &["1", "2", "3"]),
            ("{3..1}", &["3", "2", "1"]),
            ("{01..03}", &["01", "02", "03"]),
            ("{8..10..2}", &["8", "10"]),
            ("{-1..1}", &["-1", "0", "1"]),
            ("{a..e..2}", &["a", "c", "e"]),
            ("{}", &["{}"]),
            ("{a}", &["{a}"]),
            ("{a", &["{a"]),
            ("a}", &["a}"]),
            ("{a,{b,c}", &["{a,b", "{a,c"]),
            ("{{a,b}}", &["{a}", "{b}"]),
            ("{a},b}", &["a}", "b"]),
            ("${a,b}", &["${a,b}"]),
            ("{a..}", &["{a..}"]),
        ];
        for (pattern, expected) in cases {
            assert_eq!(all(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn a_pattern_that_would_flood_is_refused() {
        assert_eq!(expand("{1..1000000}", 1_000), Err(TooMany));
        assert_eq!(expand(&"{a,b}".repeat(20), 1_000), Err(TooMany));
        assert_eq!(expand("{-9007199254740991..9007199254740991}", 1_000), Err(TooMany));
    }
}
