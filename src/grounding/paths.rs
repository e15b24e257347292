//! Repository paths: their normal form, what their names say, and how they are written as references
//! (`grounding.md` 3.3, 4.1 to 4.3, 8).
//!
//! Everything here looks at names only. Nothing touches the disk.

use crate::text::units;
use std::borrow::Cow;
use std::cmp::Ordering;

/// The longest repository path, in UTF-16 code units.
pub const PATH_LIMIT: usize = 1024;

/// Directories that are never read, and names that no segment may have (4.1).
pub const EXCLUDED_NAMES: [&str; 6] = [".git", ".telic", "build", "coverage", "dist", "node_modules"];

/// Directories of generated files that are left out where Git does not tell what is ignored (10.12).
pub const GENERATED_NAMES: [&str; 7] =
    ["target", "__pycache__", ".venv", ".tox", ".mypy_cache", ".pytest_cache", ".gradle"];

/// The instruction files that are looked for at the root, also when Git ignores them (3.5).
pub const ROOT_INSTRUCTIONS: [&str; 7] = [
    "AGENTS.md",
    "CLAUDE.md",
    "CODEX.md",
    "GEMINI.md",
    ".cursorrules",
    ".windsurfrules",
    ".github/copilot-instructions.md",
];

/// Compares by UTF-16 code units, the protocol's order of strings.
#[must_use]
pub fn utf16_order(a: &str, b: &str) -> Ordering {
    let differing = a.chars().zip(b.chars()).find(|(x, y)| x != y);
    let Some((x, y)) = differing else { return a.len().cmp(&b.len()) };
    let (mut first, mut second) = ([0; 2], [0; 2]);
    x.encode_utf16(&mut first).cmp(&y.encode_utf16(&mut second))
}

/// The normal form of a repository path, or nothing when it is not valid (3.3).
#[must_use]
pub fn normalize(path: &str) -> Option<Cow<'_, str>> {
    // The length is that of the path as it came.
    if path.is_empty() || units(path) > PATH_LIMIT || path.contains(['\0', '\\']) || path.starts_with('/') {
        return None;
    }
    // Repeated slashes collapse first, so that `.//a` is `./a`.
    let mut plain = if path.contains("//") { Cow::Owned(collapse(path)) } else { Cow::Borrowed(path) };
    if plain.starts_with("./") {
        plain = match plain {
            Cow::Borrowed(text) => Cow::Borrowed(&text[2..]),
            Cow::Owned(text) => Cow::Owned(text[2..].to_owned()),
        };
    }
    plain.split('/').all(|segment| !matches!(segment, "" | "." | "..")).then_some(plain)
}

fn collapse(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for c in path.chars() {
        if c != '/' || !out.ends_with('/') {
            out.push(c);
        }
    }
    out
}

/// The last segment of a path.
#[must_use]
pub fn base_name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, base)| base)
}

/// Whether any segment, the file name included, is one of the excluded names, ignoring case (4.1).
#[must_use]
pub fn is_excluded(path: &str) -> bool {
    path.split('/').any(|segment| EXCLUDED_NAMES.iter().any(|name| segment.eq_ignore_ascii_case(name)))
}

/// Whether the name of a file says that it holds credentials (4.2).
#[must_use]
pub fn is_secret_like(path: &str) -> bool {
    const FILES: [&str; 4] = [".git-credentials", ".netrc", ".npmrc", ".pypirc"];
    const WORDS: [&str; 4] = ["credential", "credentials", "secret", "secrets"];
    const KEYS: [&str; 4] = ["id_dsa", "id_ecdsa", "id_ed25519", "id_rsa"];
    const ENDINGS: [&str; 4] = [".key", ".p12", ".pfx", ".pem"];
    let lower = path.to_lowercase();
    let base = base_name(&lower);
    let alone_or_dotted =
        |name: &&str| base.strip_prefix(*name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    base.starts_with(".env")
        || FILES.contains(&base)
        || lower.split('/').any(|segment| WORDS.contains(&segment))
        || WORDS.iter().any(alone_or_dotted)
        || base.strip_prefix("service-account").is_some_and(|rest| rest.starts_with(['.', '-', '_']))
        || KEYS.iter().any(alone_or_dotted)
        || ENDINGS.iter().any(|ending| base.ends_with(ending))
}

/// Names of credential files that the protocol's floor does not know (10.11).
#[must_use]
pub fn is_secret_like_extended(path: &str) -> bool {
    let lower = path.to_lowercase();
    let base = base_name(&lower);
    let inside = |directory: &str| lower.split('/').rev().skip(1).any(|segment| segment == directory);
    inside(".ssh")
        || inside(".aws")
        || inside(".gnupg")
        || (base == "config.json" && inside(".docker"))
        || base == "kubeconfig"
        || (base == "config" && inside(".kube"))
        || base.ends_with(".tfvars")
        || base.ends_with(".tfvars.json")
        || [".jks", ".kdbx", ".keystore"].iter().any(|ending| base.ends_with(ending))
}

/// Whether a file instructs agents (4.3).
#[must_use]
pub fn is_instruction(path: &str) -> bool {
    const FILES: [&str; 7] = [
        "AGENTS.md",
        "CLAUDE.md",
        "CODEX.md",
        "GEMINI.md",
        ".cursorrules",
        ".windsurfrules",
        "copilot-instructions.md",
    ];
    const FOLDERS: [&str; 4] = [".roo/rules/", ".cursor/rules/", ".agents/rules/", ".github/instructions/"];
    if FILES.contains(&base_name(path)) {
        return true;
    }
    let lower = path.to_lowercase();
    FOLDERS.iter().any(|folder| lower.starts_with(folder))
}

/// The directory an instruction file speaks for: `.` at the root (9).
#[must_use]
pub fn instruction_scope(path: &str) -> &str {
    path.rsplit_once('/').map_or(".", |(directory, _)| directory)
}

/// The reference of a repository path: `repo://` and its percent-encoded segments (8).
#[must_use]
pub fn repository_reference(path: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(path.len() + 7);
    out.push_str("repo://");
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.!~*'()/".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// Whether `path` is `folder` or lies below it. Both are repository paths.
#[must_use]
pub fn is_at_or_below(path: &str, folder: &str) -> bool {
    path == folder || is_below(path, folder)
}

/// Whether `path` lies below `folder`.
#[must_use]
pub fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_brought_to_their_normal_form_or_refused() {
        for (path, expected) in [
            ("a/b", Some("a/b")),
            ("./a//b", Some("a/b")),
            (".//a", Some("a")),
            (".env", Some(".env")),
            ("", None),
            (".", None),
            ("./", None),
            ("a/", None),
            ("a/./b", None),
            ("././a", None),
            ("../a", None),
            ("a/../b", None),
            ("/a", None),
            ("a\\b", None),
            ("a\0b", None),
        ] {
            assert_eq!(normalize(path).as_deref(), expected, "{path:?}");
        }
        assert!(normalize(&"a".repeat(1024)).is_some());
        assert!(normalize(&"a".repeat(1025)).is_none());
        assert!(normalize(&"😀".repeat(513)).is_none());
    }

    #[test]
    fn order_is_that_of_code_units() {
        // U+1F600 begins with a surrogate, which stands before U+FF21.
        assert_eq!(utf16_order("😀", "\u{ff21}"), Ordering::Less);
        assert_eq!("😀".cmp("\u{ff21}"), Ordering::Greater);
        assert_eq!(utf16_order("a", "ab"), Ordering::Less);
        assert_eq!(utf16_order("a/b", "a-b"), Ordering::Greater);
        assert_eq!(utf16_order("é", "é"), Ordering::Equal);
    }

    #[test]
    fn excluded_names_count_in_every_segment_and_case() {
        for path in ["build", "Dist/x", "a/NODE_MODULES/b", "x/coverage", ".git/config"] {
            assert!(is_excluded(path), "{path}");
        }
        for path in ["builds/x", "src/dist.rs", ".github/x", "target/x"] {
            assert!(!is_excluded(path), "{path}");
        }
    }

    #[test]
    fn more_credential_files_are_known_beyond_the_floor() {
        for path in [".ssh/config", "home/.aws/config", ".docker/config.json", "terraform.tfvars", "a/x.JKS"]
        {
            assert!(is_secret_like_extended(path) && !is_secret_like(path), "{path}");
        }
        assert!(!is_secret_like_extended("src/ssh/config.rs"));
        assert!(!is_secret_like_extended("docker/config.json"));
    }

    #[test]
    fn references_encode_everything_but_the_plain_characters() {
        assert_eq!(repository_reference("sub dir/é.txt"), "repo://sub%20dir/%C3%A9.txt");
        assert_eq!(repository_reference("paren(s)'!*~.txt"), "repo://paren(s)'!*~.txt");
        assert_eq!(repository_reference("a%b+@#"), "repo://a%25b%2B%40%23");
    }

    #[test]
    fn an_instruction_file_speaks_for_its_directory() {
        assert_eq!(instruction_scope("AGENTS.md"), ".");
        assert_eq!(instruction_scope("pkg/a/CLAUDE.md"), "pkg/a");
    }
}
