//! How git writes a name that holds odd bytes: in double quotes, with the escapes of C.

/// A name in quotes, as git reads it.
pub(in crate::git) fn quoted(name: &[u8]) -> Vec<u8> {
    let mut out = vec![b'"'];
    for byte in name {
        match byte {
            b'"' | b'\\' => out.extend([b'\\', *byte]),
            0x20..=0x7e => out.push(*byte),
            other => out.extend(format!("\\{other:03o}").into_bytes()),
        }
    }
    out.push(b'"');
    out
}

/// Reads a name in quotes at the start of `text`: the name, and what stands after it.
pub(super) fn unquoted(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut rest = text.strip_prefix(b"\"")?;
    let mut name = Vec::new();
    loop {
        let (first, after) = rest.split_first()?;
        rest = after;
        match first {
            b'"' => return Some((name, rest)),
            b'\\' => {
                let (escape, after) = rest.split_first()?;
                rest = after;
                name.push(match escape {
                    b'a' => 7,
                    b'b' => 8,
                    b't' => b'\t',
                    b'n' => b'\n',
                    b'v' => 11,
                    b'f' => 12,
                    b'r' => b'\r',
                    b'"' | b'\\' => *escape,
                    b'0'..=b'3' => {
                        let (digits, after) = rest.split_at_checked(2)?;
                        rest = after;
                        let mut value = escape - b'0';
                        for digit in digits {
                            if !matches!(digit, b'0'..=b'7') {
                                return None;
                            }
                            value = value << 3 | (digit - b'0');
                        }
                        value
                    }
                    _ => return None,
                });
            }
            other => name.push(*other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn escapes_are_read_as_git_writes_them() {
        let (name, rest) = unquoted(br#""a\t\"\\\303\244\n" tail"#).expect("a quoted name");
        assert_eq!(name, b"a\t\"\\\xc3\xa4\n");
        assert_eq!(rest, b" tail");
        assert_eq!(unquoted(br#""\400""#), None);
        assert_eq!(unquoted(br#""open"#), None);
    }

    proptest! {
        #[test]
        fn what_was_quoted_is_read_back(name in proptest::collection::vec(any::<u8>(), 0..40)) {
            let text = quoted(&name);
            prop_assert_eq!(unquoted(&text), Some((name, &b""[..])));
        }
    }
}
