//! What the controller must be told about the file system (`controller.md` 4.6, W-3).

/// Facts of the file system, told by whoever can look. Answers are never cached across submissions.
pub trait Facts {
    /// The real path of an existing directory.
    fn directory(&self, path: &str) -> Option<String>;

    /// Where an absolute path leads: every symbolic link in it followed, also one that dangles; components that do
    /// not exist are kept as they are. Nothing when that cannot be found out (a loop, no access, no UTF-8).
    fn real_path(&self, path: &str) -> Option<String>;
}

/// A file system without symbolic links in which every directory exists; for tests and for pure evaluation.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFacts;

impl Facts for NoFacts {
    fn directory(&self, path: &str) -> Option<String> {
        Some(path.to_owned())
    }

    fn real_path(&self, path: &str) -> Option<String> {
        Some(path.to_owned())
    }
}
