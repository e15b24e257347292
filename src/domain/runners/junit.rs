//! JUnit XML, as far as it says which tests ran and which failed.
//!
//! A small reader of tags, not of XML as a whole: comments, CDATA, quoted `>` and the five named entities are
//! understood, nothing is fetched or expanded. A file that breaks off is an error, never a pass.

use super::super::verification::TestCounts;
use super::TestSummary;

/// Why a file is no report.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no JUnit report: {0}")]
pub struct JunitError(&'static str);

impl JunitError {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        "junit_invalid"
    }
}

/// One tag: its name, its attributes as text, whether it closes and whether it is empty.
struct Tag<'a> {
    name: &'a str,
    attributes: &'a str,
    closes: bool,
    empty: bool,
}

/// Reads one report.
///
/// # Errors
/// [`JunitError`] for text that breaks off, or has no `testsuite`.
pub fn read(text: &str) -> Result<TestSummary, JunitError> {
    let mut summary = TestSummary::default();
    let mut suites = 0_usize;
    let mut depth = 0_usize;
    // The test that is open: its name, and whether it failed or was skipped so far.
    let mut open: Option<(String, bool, bool)> = None;
    let mut rest = text;
    while let Some(tag) = next_tag(&mut rest)? {
        if tag.closes {
            depth = depth.checked_sub(1).ok_or(JunitError("a tag is closed that is not open"))?;
        } else if !tag.empty {
            depth += 1;
        }
        match (tag.name, tag.closes) {
            ("testsuite" | "testsuites", false) => suites += 1,
            ("testcase", false) => {
                let name = full_name(tag.attributes);
                if tag.empty {
                    finish(&mut summary, &name, false, false);
                } else {
                    open = Some((name, false, false));
                }
            }
            ("testcase", true) => {
                if let Some((name, failed, skipped)) = open.take() {
                    finish(&mut summary, &name, failed, skipped);
                }
            }
            ("failure" | "error", false) => {
                if let Some((_, failed, _)) = &mut open {
                    *failed = true;
                }
            }
            ("skipped", false) => {
                if let Some((_, _, skipped)) = &mut open {
                    *skipped = true;
                }
            }
            _ => {}
        }
    }
    if depth > 0 {
        return Err(JunitError("it breaks off"));
    }
    if suites == 0 {
        return Err(JunitError("it has no testsuite"));
    }
    summary.counts.get_or_insert_default();
    Ok(summary)
}

/// Adds up several reports.
#[must_use]
pub fn sum(reports: impl IntoIterator<Item = TestSummary>) -> TestSummary {
    let mut all = TestSummary::default();
    for report in reports {
        if let Some(counts) = report.counts {
            all.count(counts);
        }
        for name in &report.failed {
            all.name(name);
        }
    }
    all
}

fn finish(summary: &mut TestSummary, name: &str, failed: bool, skipped: bool) {
    if failed {
        summary.name(name);
    }
    summary.count(TestCounts {
        passed: u64::from(!failed && !skipped),
        failed: u64::from(failed),
        skipped: u64::from(skipped && !failed),
    });
}

fn full_name(attributes: &str) -> String {
    let name = attribute(attributes, "name").unwrap_or_default();
    match attribute(attributes, "classname") {
        Some(class) if !class.is_empty() => format!("{class}.{name}"),
        _ => name,
    }
}

/// The next tag of `rest`; comments, CDATA, declarations and instructions are passed over.
fn next_tag<'a>(rest: &mut &'a str) -> Result<Option<Tag<'a>>, JunitError> {
    loop {
        let Some(at) = rest.find('<') else { return Ok(None) };
        let tag = &rest[at + 1..];
        let passed_over = [("!--", "-->"), ("![CDATA[", "]]>"), ("?", "?>"), ("!", ">")];
        if let Some((start, end)) = passed_over.iter().find(|(start, _)| tag.starts_with(start)) {
            let length = tag[start.len()..].find(end).ok_or(JunitError("it breaks off"))?;
            *rest = &tag[start.len() + length + end.len()..];
            continue;
        }
        let end = end_of_tag(tag).ok_or(JunitError("it breaks off"))?;
        *rest = &tag[end + 1..];
        let inside = &tag[..end];
        let closes = inside.starts_with('/');
        let empty = inside.ends_with('/');
        let inside = inside.trim_matches('/');
        let name_end = inside.find(char::is_whitespace).unwrap_or(inside.len());
        let (name, attributes) = inside.split_at(name_end);
        let name = name.rsplit(':').next().unwrap_or(name);
        return Ok(Some(Tag { name, attributes, closes, empty }));
    }
}

/// Where the tag ends: the first `>` outside of quotes.
fn end_of_tag(tag: &str) -> Option<usize> {
    let mut quote = None;
    for (at, c) in tag.char_indices() {
        match (quote, c) {
            (None, '>') => return Some(at),
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            _ => {}
        }
    }
    None
}

fn attribute(attributes: &str, name: &str) -> Option<String> {
    let mut rest = attributes;
    loop {
        let (key, value) = rest.split_once('=')?;
        let value = value.trim_start();
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let (text, after) = value[1..].split_once(quote)?;
        if key.trim() == name {
            return Some(decode(text));
        }
        rest = after;
    }
}

fn decode(text: &str) -> String {
    // The ampersand last, so that nothing is decoded twice.
    let named = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    named.iter().fold(text.to_owned(), |text, (entity, plain)| text.replace(entity, plain))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const REPORT: &str = r#"<?xml version="1.0"?>
<!-- <testcase name="not this"> -->
<testsuites><testsuite name="cart" tests="5">
  <testcase classname="CartTest" name="adds"/>
  <testcase classname="CartTest" name="a &gt; b &amp;amp; c"><failure message="x > y"><![CDATA[ </testcase> ]]></failure></testcase>
  <testcase classname="CartTest" name="breaks"><error/><system-out>text</system-out></testcase>
  <testcase name='later'><skipped/></testcase>
  <testcase name="noisy"><system-out>failure</system-out></testcase>
</testsuite></testsuites>"#;

    #[test]
    fn passed_failed_and_skipped_tests_are_told_apart() {
        let summary = read(REPORT).unwrap();
        assert_eq!(summary.counts, Some(TestCounts { passed: 2, failed: 2, skipped: 1 }));
        assert_eq!(summary.failed, ["CartTest.a > b &amp; c", "CartTest.breaks"]);
        assert_eq!(
            sum([summary.clone(), summary]).counts,
            Some(TestCounts { passed: 4, failed: 4, skipped: 2 })
        );
    }

    #[test]
    fn v_7_a_report_without_tests_says_that_none_ran() {
        assert_eq!(read("<testsuite tests=\"0\"/>").unwrap().counts, Some(TestCounts::default()));
    }

    #[test]
    fn what_breaks_off_or_is_something_else_is_no_report() {
        for end in (1..REPORT.len()).filter(|end| REPORT.is_char_boundary(*end)) {
            assert!(read(&REPORT[..end]).is_err(), "cut at {end}");
        }
        for text in ["", "<html></html>", "</testsuite>", "plain"] {
            assert_eq!(read(text).unwrap_err().code(), "junit_invalid", "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[<>/=\"'&a-c!\\[\\]? -]{0,60}") {
            let _ = read(&text);
        }
    }
}
