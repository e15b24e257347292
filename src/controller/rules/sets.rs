//! Comparing lists as sets, and values as canonical JSON (`controller.md` 0).

use super::predicates::exact_set;
use serde_json::Value;
use std::collections::HashSet;
use std::fmt::Write as _;

/// Why a list is not exactly a set; nothing when it is. At most three members of each kind are named.
pub(super) fn mismatch<L: AsRef<str>, R: AsRef<str>>(found: &[L], expected: &[R]) -> Option<String> {
    if exact_set(found, expected) {
        return None;
    }
    let found: Vec<&str> = found.iter().map(AsRef::as_ref).collect();
    let expected: Vec<&str> = expected.iter().map(AsRef::as_ref).collect();
    let lacks = expected.iter().filter(|member| !found.contains(member)).copied();
    let adds = found.iter().filter(|member| !expected.contains(member)).copied();
    let mut words = String::new();
    for (verb, members) in
        [("lacks", lacks.collect()), ("adds", adds.collect()), ("repeats", repeats(&found))]
    {
        name(&mut words, verb, &members);
    }
    if words.is_empty() {
        // Only repeats on the right are left: nothing can match them.
        name(&mut words, "cannot match what repeats", &repeats(&expected));
    }
    Some(words)
}

fn name(words: &mut String, verb: &str, members: &[&str]) {
    if members.is_empty() {
        return;
    }
    let separator = if words.is_empty() { "" } else { ", " };
    let first: Vec<&str> = members.iter().take(3).map(|member| super::shown(member)).collect();
    let more = if members.len() > 3 { format!(" and {} more", members.len() - 3) } else { String::new() };
    let _ = write!(words, "{separator}{verb} {}{more}", first.join(", "));
}

/// The members that stand in a list more than once, each named once.
pub(super) fn repeats<T: AsRef<str>>(list: &[T]) -> Vec<&str> {
    let (mut seen, mut named) = (HashSet::new(), HashSet::new());
    list.iter().map(AsRef::as_ref).filter(|member| !seen.insert(*member) && named.insert(*member)).collect()
}

/// The first member that stands in a list more than once.
pub(super) fn repeat<T: AsRef<str>>(list: &[T]) -> Option<&str> {
    repeats(list).first().copied()
}

/// A list without later repeats, in order.
pub(super) fn distinct<'a>(list: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = HashSet::new();
    list.into_iter().filter(|member| seen.insert(*member)).collect()
}

/// Strings of any kind as plain text slices.
pub(super) fn texts<T: std::ops::Deref<Target = str>>(list: &[T]) -> Vec<&str> {
    list.iter().map(|member| &**member).collect()
}

/// Whether two values have the same canonical JSON: numbers are compared as doubles, lists in order, the order of
/// keys does not matter.
pub(super) fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter().all(|(key, value)| b.get(key).is_some_and(|other| same(value, other)))
        }
        _ => left == right,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_mismatch_names_what_is_missing_added_and_repeated() {
        assert_eq!(mismatch(&["b", "a"], &["a", "b"]), None);
        assert_eq!(mismatch(&["a"], &["a", "b"]).as_deref(), Some("lacks b"));
        assert_eq!(mismatch(&["a", "a", "c"], &["a", "b"]).as_deref(), Some("lacks b, adds c, repeats a"));
        assert_eq!(mismatch(&["a", "a"], &["a"]).as_deref(), Some("repeats a"));
        assert_eq!(mismatch(&["a"], &["a", "a"]).as_deref(), Some("cannot match what repeats a"));
        let many = ["1", "2", "3", "4", "5"];
        assert_eq!(mismatch::<&str, _>(&[], &many).as_deref(), Some("lacks 1, 2, 3 and 2 more"));
    }

    #[test]
    fn a_repeated_member_on_the_right_never_matches() {
        assert!(mismatch(&["a", "a"], &["a", "a"]).is_some());
    }

    #[test]
    fn canonical_equality_ignores_notation_and_key_order_but_not_list_order() {
        let two: Value = serde_json::from_str(r#"{"b": 1.0, "a": [1, 2]}"#).unwrap();
        assert!(same(&json!({"a": [1, 2.0], "b": 1}), &two));
        assert!(!same(&json!({"a": [2, 1], "b": 1}), &two));
        assert!(!same(&json!({"a": [1, 2]}), &two));
        assert!(!same(&json!([1]), &json!([1, 1])));
        assert!(!same(&json!("1"), &json!(1)));
    }

    #[test]
    fn repeats_are_named_once_and_distinct_keeps_the_first() {
        assert_eq!(repeats(&["x", "y", "x", "x"]), ["x"]);
        assert_eq!(repeat(&["x", "y"]), None);
        assert_eq!(distinct(["b", "a", "b"]), ["b", "a"]);
    }
}
