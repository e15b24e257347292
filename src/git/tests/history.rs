use super::*;

/// A small generator of numbers, so that the history is the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % limit
    }
}

/// One random change of a folder's files.
fn change(root: &Path, numbers: &mut Numbers, step: usize) {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let names: Vec<Vec<u8>> = (0..12)
        .map(|n| match n % 6 {
            0 => format!("plain{n}.txt").into_bytes(),
            1 => format!("dir {n}/with space").into_bytes(),
            2 => format!("tab\t{n} -> x").into_bytes(),
            3 => [b"bytes\xff".as_slice(), n.to_string().as_bytes()].concat(),
            4 => format!("deep/er/{n}\n\"q\"").into_bytes(),
            _ => format!("--- a{n}").into_bytes(),
        })
        .collect();
    let name = &names[numbers.below(names.len())];
    let at = root.join(OsStr::from_bytes(name));
    let remove = || {
        let _ = fs::remove_file(&at);
    };
    match numbers.below(9) {
        0 => remove(),
        1 => {
            remove();
            fs::create_dir_all(at.parent().expect("a parent")).expect("a folder");
            symlink(format!("target{step}"), &at).expect("a link");
        }
        2 => {
            remove();
            write(root, name, &[0, u8::try_from(step % 251).expect("a byte"), 0, 7]);
        }
        3 => {
            remove();
            write(root, name, b"");
        }
        4 => {
            if at.symlink_metadata().is_ok_and(|found| found.is_file()) {
                fs::set_permissions(&at, fs::Permissions::from_mode(0o755)).expect("a mode");
            }
        }
        5 => {
            let to = root.join(OsStr::from_bytes(&names[numbers.below(names.len())]));
            fs::create_dir_all(to.parent().expect("a parent")).expect("a folder");
            let _ = fs::rename(&at, to);
        }
        _ => {
            let mut lines: Vec<String> = match at.symlink_metadata() {
                Ok(found) if found.is_file() => String::from_utf8_lossy(&fs::read(&at).expect("a file"))
                    .lines()
                    .map(str::to_owned)
                    .collect(),
                _ => (0..20).map(|n| format!("{n} start")).collect(),
            };
            remove();
            for _ in 0..=numbers.below(4) {
                let line =
                    ["--- a/x", "+++ b/x", "@@ -1 +1 @@", "Binary files differ", "", "\\ No newline", "é"]
                        [numbers.below(7)];
                let place = numbers.below(lines.len() + 1);
                lines.insert(place, line.to_owned());
                if numbers.below(2) == 0 {
                    let place = numbers.below(lines.len());
                    lines.remove(place);
                }
            }
            let end = if numbers.below(4) == 0 { "" } else { "\n" };
            write(root, name, (lines.join(["\n", "\r\n"][numbers.below(2)]) + end).as_bytes());
        }
    }
}

/// What the model says of each file, both halves of a changed type as one.
fn listed(model: &Diff) -> Vec<(RepoPath, Option<RepoPath>, ChangeType, u64, u64, bool)> {
    let mut rows = Vec::new();
    let mut before: Option<&FileDiff> = None;
    for file in model.files() {
        let (added, deleted) = file.counts();
        let row = match file.kind {
            ChangeType::Renamed | ChangeType::Copied => file.old_path.clone(),
            _ => None,
        };
        let row =
            (file.path().expect("a name").clone(), row, file.kind, added, deleted, file.binary.is_some());
        match before.filter(|before| file.completes(before)) {
            Some(_) => {
                let last: &mut (_, _, ChangeType, u64, u64, bool) = rows.last_mut().expect("the first half");
                last.2 = ChangeType::Modified;
                last.3 += row.3;
                last.4 += row.4;
                last.5 |= row.5;
                if last.5 {
                    (last.3, last.4) = (0, 0);
                }
            }
            None => rows.push(row),
        }
        before = Some(file);
    }
    rows
}

#[test]
fn a_hundred_random_patches_read_the_same_from_the_diff_and_from_gits_own_list() {
    let fixture = Fixture::new();
    let repository = fixture.repository();
    let mut numbers = Numbers(2026);
    let mut kinds = std::collections::BTreeSet::new();
    for step in 0..100 {
        let base = fixture.head();
        for _ in 0..=numbers.below(6) {
            change(&fixture.root(), &mut numbers, step);
        }
        let capture = capture(&repository, &fixture.root(), &base, &fixture.place()).expect("a patch");
        let model = capture.model().expect("a readable diff");
        let by_git: Vec<_> = capture
            .changes
            .iter()
            .map(|c| {
                // Where the content is the same the diff has no word on whether it is binary.
                let binary = c.binary && c.old_oid != c.new_oid;
                (c.path.clone(), c.old_path.clone(), c.change_type, c.additions, c.deletions, binary)
            })
            .collect();
        assert_eq!(listed(&model), by_git, "step {step}");
        kinds.extend(by_git.iter().map(|row| (row.2, row.5)));
        assert_eq!(model.stats(), capture.stats());
        // The parts of the files lie side by side and cover the diff.
        let mut at = 0;
        for file in model.files() {
            assert_eq!(file.span.start, at);
            at = file.span.end;
        }
        assert_eq!(at, capture.diff.len());
        let commit = fixture.commit("step");
        assert_eq!(repository.tree_of(&commit).expect("a tree"), capture.tree, "step {step}");
    }
    for kind in [ChangeType::Added, ChangeType::Modified, ChangeType::Deleted, ChangeType::Renamed] {
        assert!(kinds.contains(&(kind, false)), "no {kind} among {kinds:?}");
    }
    assert!(kinds.contains(&(ChangeType::Modified, true)) || kinds.contains(&(ChangeType::Added, true)));
}
