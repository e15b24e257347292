//! Facts of the real file system, told to the controller.

use crate::controller::Facts;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// As many links as are followed on one path; more are a loop.
const LINKS: usize = 40;

/// The real file system.
#[derive(Clone, Copy, Debug, Default)]
pub struct FileSystem;

impl Facts for FileSystem {
    fn directory(&self, path: &str) -> Option<String> {
        let real = std::fs::canonicalize(path).ok()?;
        real.is_dir().then(|| real.into_os_string().into_string().ok()).flatten()
    }

    fn real_path(&self, path: &str) -> Option<String> {
        resolve(Path::new(path))?.into_os_string().into_string().ok()
    }
}

/// Follows every link of an absolute path, also one that dangles; components that do not exist are kept.
fn resolve(path: &Path) -> Option<PathBuf> {
    if !path.is_absolute() {
        return None;
    }
    let mut left: VecDeque<OsString> = parts(path);
    let mut real = PathBuf::from("/");
    let mut followed = 0;
    while let Some(part) = left.pop_front() {
        if part == ".." {
            real.pop();
            continue;
        }
        let next = real.join(&part);
        match std::fs::symlink_metadata(&next) {
            Ok(found) if found.is_symlink() => {
                followed += 1;
                if followed > LINKS {
                    return None;
                }
                let target = std::fs::read_link(&next).ok()?;
                if target.is_absolute() {
                    real = PathBuf::from("/");
                }
                for part in parts(&target).into_iter().rev() {
                    left.push_front(part);
                }
            }
            Ok(_) => real = next,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => real = next,
            // A component below a plain file cannot exist either.
            Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => real = next,
            Err(_) => return None,
        }
    }
    Some(real)
}

fn parts(path: &Path) -> VecDeque<OsString> {
    path.components()
        .filter_map(|component| match component {
            Component::Normal(part) => Some(part.to_owned()),
            Component::ParentDir => Some("..".into()),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_are_followed_also_where_they_dangle() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let at = |name: &str| root.join(name).to_str().unwrap().to_owned();
        std::fs::create_dir(root.join("inside")).unwrap();
        symlink("/nowhere/else", root.join("out")).unwrap();
        symlink("inside", root.join("in")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        let real = |name: &str| FileSystem.real_path(&at(name));
        assert_eq!(real("in/new/file"), Some(at("inside/new/file")));
        assert_eq!(real("out/x"), Some("/nowhere/else/x".into()));
        assert_eq!(real("loop/x"), None);
        assert_eq!(FileSystem.real_path("relative"), None);
        assert_eq!(FileSystem.directory(&at("in")), Some(at("inside")));
        assert_eq!(FileSystem.directory(&at("missing")), None);
    }
}
