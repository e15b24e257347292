//! Addresses of remotes: what may be shown of them, which forge they belong to, where a pull request is opened.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

/// A remote of the user's repository.
#[derive(Clone, PartialEq, Eq)]
pub struct Remote {
    /// Its name.
    pub name: String,
    /// Where it is fetched from; may hold credentials.
    pub url: String,
    /// Where it is pushed to, if that is another address.
    pub push_url: Option<String>,
}

impl std::fmt::Debug for Remote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Remote").field("name", &self.name).field("address", &self.shown()).finish()
    }
}

impl Remote {
    /// The address that is pushed to; may hold credentials.
    #[must_use]
    pub fn push_address(&self) -> &str {
        self.push_url.as_deref().unwrap_or(&self.url)
    }

    /// The address that is pushed to, without credentials and safe for a terminal.
    #[must_use]
    pub fn shown(&self) -> String {
        crate::text::visible(&redact(self.push_address()))
    }

    /// The forge it belongs to, where its host tells.
    #[must_use]
    pub fn forge(&self) -> Option<Forge> {
        Forge::of(self.push_address())
    }
}

/// Programs that host repositories and take pull requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForgeKind {
    /// GitHub, whose program is `gh`.
    GitHub,
    /// GitLab, whose program is `glab`.
    GitLab,
}

impl ForgeKind {
    /// The program that opens a pull request there.
    #[must_use]
    pub fn program(self) -> &'static str {
        match self {
            Self::GitHub => "gh",
            Self::GitLab => "glab",
        }
    }
}

/// A repository on a forge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forge {
    /// Which kind.
    pub kind: ForgeKind,
    /// Its host, with a port where one is named.
    pub host: String,
    /// The repository there, such as `owner/name`.
    pub path: String,
}

impl Forge {
    /// Reads an address; nothing where its host names no known forge.
    #[must_use]
    pub fn of(address: &str) -> Option<Self> {
        let (host, path) = host_and_path(address)?;
        let kind = match host.split(':').next().unwrap_or_default().to_ascii_lowercase() {
            name if name.split('.').any(|part| part == "github") => ForgeKind::GitHub,
            name if name.split('.').any(|part| part == "gitlab") => ForgeKind::GitLab,
            _ => return None,
        };
        let path = path.trim_matches('/');
        let path = path.strip_suffix(".git").unwrap_or(path);
        let parts: Vec<&str> = path.split('/').collect();
        let plain = |part: &&str| {
            !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-~".contains(&b))
        };
        let enough = if kind == ForgeKind::GitHub { parts.len() == 2 } else { parts.len() >= 2 };
        (enough && parts.iter().all(plain)).then(|| Self { kind, host, path: path.to_owned() })
    }

    /// Where a person opens the pull request of `branch` against `base` in a browser.
    #[must_use]
    pub fn compare_url(&self, base: &str, branch: &str) -> String {
        let (host, path) = (&self.host, &self.path);
        match self.kind {
            ForgeKind::GitHub => {
                let (base, branch) = (encoded(base, true), encoded(branch, true));
                format!("https://{host}/{path}/compare/{base}...{branch}?expand=1")
            }
            ForgeKind::GitLab => {
                let (base, branch) = (encoded(base, false), encoded(branch, false));
                format!(
                    "https://{host}/{path}/-/merge_requests/new?merge_request%5Bsource_branch%5D={branch}\
                     &merge_request%5Btarget_branch%5D={base}"
                )
            }
        }
    }
}

/// Host (with the port of a web address) and path of `https://`, `ssh://` and `user@host:path` addresses.
fn host_and_path(address: &str) -> Option<(String, &str)> {
    let Some((scheme, rest)) = address.split_once("://") else {
        let (host, path) = address.split_once(':')?;
        let host = host.rsplit('@').next().unwrap_or(host);
        return (!host.is_empty() && !host.contains('/')).then(|| (host.to_owned(), path));
    };
    let (authority, path) = rest.split_once('/')?;
    let host = authority.rsplit('@').next().unwrap_or(authority);
    let (name, port) = host.split_once(':').map_or((host, None), |(name, port)| (name, Some(port)));
    let name = match (scheme, name) {
        // The same forge behind another port.
        ("ssh", "ssh.github.com") => "github.com",
        ("ssh", "altssh.gitlab.com") => "gitlab.com",
        ("http" | "https" | "ssh", name) if !name.is_empty() => name,
        _ => return None,
    };
    match port {
        Some(port) if scheme != "ssh" => Some((format!("{name}:{port}"), path)),
        _ => Some((name.to_owned(), path)),
    }
}

fn encoded(text: &str, keep_slash: bool) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'/' if keep_slash => out.push('/'),
            b if b.is_ascii_alphanumeric() || b"-._~".contains(&b) => out.push(char::from(b)),
            b => out.push_str(&format!("%{b:02X}")),
        }
    }
    out
}

/// `text` with the credentials of every address in it left out: `https://name:secret@host` becomes
/// `https://***@host`. A bare user name of an ssh address stays.
#[must_use]
pub fn redact(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let scheme_from = rest[..at]
            .rfind(|c: char| !(c.is_ascii_alphanumeric() || c == '+'))
            .map_or(0, |b| b + rest[b..].chars().next().map_or(1, char::len_utf8));
        let (before, after) = rest.split_at(at + 3);
        let end = after.find(|c: char| c.is_whitespace() || "/'\"<>?#".contains(c)).unwrap_or(after.len());
        out.push_str(before);
        rest = after;
        if let Some(sign) = after[..end].rfind('@') {
            let user = &after[..sign];
            let is_web = rest_scheme(before, scheme_from).starts_with("http");
            out.push_str(if is_web || user.contains(':') { "***" } else { user });
            rest = &after[sign..];
        }
    }
    out.push_str(rest);
    out
}

fn rest_scheme(before: &str, from: usize) -> String {
    before.get(from..before.len().saturating_sub(3)).unwrap_or_default().to_ascii_lowercase()
}

/// A program on the PATH; folders that are named relative to the current one do not count.
#[must_use]
pub fn program_on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).filter(|folder| folder.is_absolute()).map(|folder| folder.join(name)).find(
        |file| file.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forges_are_told_by_their_host() {
        let of = |address| Forge::of(address).map(|forge| (forge.kind, forge.host, forge.path));
        let hub = |host: &str, path: &str| Some((ForgeKind::GitHub, host.to_owned(), path.to_owned()));
        assert_eq!(of("git@github.com:owner/name.git"), hub("github.com", "owner/name"));
        assert_eq!(of("https://u:p@github.com/owner/name/"), hub("github.com", "owner/name"));
        assert_eq!(of("ssh://git@ssh.github.com:443/owner/name.git"), hub("github.com", "owner/name"));
        assert_eq!(of("https://github.example.org:8443/o/n"), hub("github.example.org:8443", "o/n"));
        assert_eq!(
            of("ssh://git@gitlab.example.org:2222/group/sub/name.git"),
            Some((ForgeKind::GitLab, "gitlab.example.org".to_owned(), "group/sub/name".to_owned()))
        );
        for other in
            ["/srv/git/github.com/a/b", "file:///a/b", "https://example.org/a/b", "notgithub.com:a/b"]
        {
            assert_eq!(of(other), None, "{other}");
        }
        assert_eq!(of("https://github.com/only"), None);
        assert_eq!(of("https://github.com/a/b?x=y"), None);
    }

    #[test]
    fn compare_addresses_keep_names_apart_from_their_own_signs() {
        let hub = Forge::of("git@github.com:o/n.git").expect("a forge");
        assert_eq!(
            hub.compare_url("main", "telic/a&b-1"),
            "https://github.com/o/n/compare/main...telic/a%26b-1?expand=1"
        );
        let lab = Forge::of("git@gitlab.com:g/s/n.git").expect("a forge");
        assert_eq!(
            lab.compare_url("main", "telic/x"),
            "https://gitlab.com/g/s/n/-/merge_requests/new?merge_request%5Bsource_branch%5D=telic%2Fx\
             &merge_request%5Btarget_branch%5D=main"
        );
    }

    #[test]
    fn credentials_never_stay_in_an_address() {
        for (text, shown) in [
            ("https://name:secret@host/p", "https://***@host/p"),
            ("HTTPS://ghp_token@host/p", "HTTPS://***@host/p"),
            ("ssh://git@host/p", "ssh://git@host/p"),
            ("ssh://git:pw@host/p", "ssh://***@host/p"),
            ("https://host/p@q", "https://host/p@q"),
            (
                "fatal: unable to access 'https://a:b@h/': gone; 'https://c@i/'",
                "fatal: unable to access 'https://***@h/': gone; 'https://***@i/'",
            ),
            ("https://p@ss:w@rd@host/x", "https://***@host/x"),
            ("äöü://x:y@z", "äöü://***@z"),
        ] {
            assert_eq!(redact(text), shown);
        }
        let remote = Remote { name: "o".into(), url: "https://t@h/p".into(), push_url: None };
        assert!(!format!("{remote:?}").contains("t@h"));
    }
}
