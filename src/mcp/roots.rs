//! The folders that a host says it works in, compared with the repository that is served.

use std::path::{Path, PathBuf};

/// What to say when none of the host's folders has to do with the repository; nothing when one has, or when the host
/// named none that can be read.
pub(super) fn mismatch(uris: &[&str], repository: &Path) -> Option<String> {
    let folders: Vec<PathBuf> = uris.iter().filter_map(|uri| folder(uri)).collect();
    let first = folders.first()?;
    if folders.iter().any(|folder| folder.starts_with(repository) || repository.starts_with(folder)) {
        return None;
    }
    Some(format!(
        "the host works in {}, but this server works on {}; set TELIC_REPOSITORY_ROOT",
        first.display(),
        repository.display()
    ))
}

/// The folder of a `file://` URI, its links resolved where it exists.
fn folder(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let path = PathBuf::from(decoded(&rest[rest.find('/')?..])?);
    Some(path.canonicalize().unwrap_or(path))
}

/// Percent signs decoded; nothing when what comes out is no text.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = [rest.next()?, rest.next()?];
        bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_in_another_folder_is_told_and_one_above_or_below_is_not() {
        let repository = Path::new("/srv/no such/a b");
        let says = |uri: &str| mismatch(&[uri], repository);
        assert_eq!(says("file:///srv/no%20such/a%20b"), None);
        assert_eq!(says("file:///srv/no%20such"), None);
        assert_eq!(says("file:///srv/no%20such/a%20b/crates/x"), None);
        assert_eq!(says("https://example.org/"), None, "nothing can be said of it");
        assert_eq!(says("file:///srv/%zz"), None);
        assert!(says("file:///srv/other").is_some_and(|words| words.contains("TELIC_REPOSITORY_ROOT")));
    }
}
