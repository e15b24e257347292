//! A command line split into words without a shell.

/// The words of a command: separated by blanks, with single and double quotes and the backslash as in a shell.
/// Nothing is expanded. A command that is not complete, or that only a shell could run, gives nothing.
pub(super) fn split(command: &str) -> Option<Vec<String>> {
    if !crate::controller::authority::is_safe_command(command) {
        return None;
    }
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = command.chars();
    let mut quote = None;
    while let Some(c) = characters.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some('"'), '\\') => match characters.next()? {
                c @ ('"' | '\\') => word.get_or_insert_default().push(c),
                c => {
                    let word = word.get_or_insert_default();
                    word.push('\\');
                    word.push(c);
                }
            },
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, '\\') => word.get_or_insert_default().push(characters.next()?),
            (None, ' ' | '\t') => words.extend(word.take()),
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    (quote.is_none() && !words.is_empty()).then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_a_shell_would_without_expanding() {
        for (command, words) in [
            ("sh tests/run.sh", vec!["sh", "tests/run.sh"]),
            ("  a\t b ", vec!["a", "b"]),
            ("a 'b c' \"d \\\" e\" f\\ g", vec!["a", "b c", "d \" e", "f g"]),
            ("a '' b", vec!["a", "", "b"]),
            ("echo $HOME *", vec!["echo", "$HOME", "*"]),
        ] {
            assert_eq!(
                split(command).as_deref(),
                Some(&*words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>())
            );
        }
    }

    #[test]
    fn what_only_a_shell_could_run_is_refused() {
        for command in
            ["", "  ", "a; b", "a && b", "a | b", "a > b", "a $(b)", "a `b`", "a 'b", "a \"b", "a\nb", "a \\"]
        {
            assert_eq!(split(command), None, "{command:?}");
        }
    }
}
