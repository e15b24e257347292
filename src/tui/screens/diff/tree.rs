//! The file tree of a diff: folders folded where they hold one folder only, numbers, flags and viewed marks.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::diff::Model;
use crate::tui::list::Cursor;
use crate::tui::parts;
use crate::tui::theme::Role;
use crate::tui::ui::Row;
use crate::tui::view::{Hit, Hits};
use crate::tui::world::World;

/// A line of the tree.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// How deep it stands.
    pub depth: usize,
    /// Name of the file, or of the folded folders.
    pub name: String,
    /// The file; none for a folder.
    pub file: Option<usize>,
}

/// The tree of a diff's files, in the order of the diff.
pub fn nodes(model: &Model) -> Vec<Node> {
    let paths: Vec<&str> = model.files.iter().map(|file| file.path.as_str()).collect();
    let mut out = Vec::new();
    let mut open: Vec<&str> = Vec::new();
    for (file, path) in paths.iter().enumerate() {
        let (folder, name) = path.rsplit_once('/').map_or(("", *path), |(folder, name)| (folder, name));
        while open.last().is_some_and(|last| !inside(folder, last)) {
            open.pop();
        }
        if !folder.is_empty() && open.last() != Some(&folder) {
            // Opens the common folders that later files share, each once.
            for shared in shared_folders(folder, &paths[file..]) {
                if open.last().is_none_or(|last| *last != shared && inside(shared, last)) {
                    let above = open.last().map_or("", |last| *last);
                    let label = shared.strip_prefix(above).unwrap_or(shared).trim_start_matches('/');
                    out.push(Node { depth: open.len(), name: format!("{label}/"), file: None });
                    open.push(shared);
                }
            }
        }
        out.push(Node { depth: open.len(), name: name.to_owned(), file: Some(file) });
    }
    out
}

fn inside(folder: &str, of: &str) -> bool {
    folder == of || folder.strip_prefix(of).is_some_and(|rest| rest.starts_with('/'))
}

/// Prefixes of `folder` at which files branch off, and the folder itself.
fn shared_folders<'a>(folder: &'a str, rest: &[&str]) -> Vec<&'a str> {
    let mut out = Vec::new();
    for (at, _) in folder.match_indices('/') {
        let prefix = &folder[..at];
        let branches = rest.iter().take_while(|path| inside(path, prefix)).any(|path| {
            let own = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            !inside(own, &folder[..next_slash(folder, at)])
        });
        if branches {
            out.push(prefix);
        }
    }
    out.push(folder);
    out
}

fn next_slash(folder: &str, at: usize) -> usize {
    folder[at + 1..].find('/').map_or(folder.len(), |next| at + 1 + next)
}

/// Draws the tree with the current file marked.
pub fn draw(
    nodes: &[Node],
    current: usize,
    model: &Model,
    world: &World,
    buf: &mut Buffer,
    area: Rect,
    hits: &mut Hits,
) {
    let (viewed, all) = world.viewed_files();
    let note = format!("{} of {all} viewed", viewed.len());
    let head = Rect { x: area.x + 1, width: area.width.saturating_sub(1), ..area };
    parts::heading(buf, world, head, "Files", &note);
    let body = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    let selected = nodes.iter().position(|node| node.file == Some(current)).unwrap_or(0);
    let window = Cursor { selected, offset: 0 }.window(nodes.len(), usize::from(body.height));
    let first = window.start;
    for (y, at) in (body.y..).zip(window) {
        let node = &nodes[at];
        let mut row = Row::new(world.paint(), body.width);
        if at == selected {
            row = row.on(Role::Selection);
        }
        row.put(Role::Accent, if at == selected { world.glyphs.pointer } else { " " });
        row.gap(node.depth * 2);
        match node.file {
            None => _ = row.put(Role::Faint, world.glyphs.open).gap(1).put(Role::Muted, &node.name),
            Some(file) => file_row(&mut row, file, node, model, world),
        }
        row.draw(buf, body.x, y);
        if let Some(hit) = super::tree_hit(node) {
            hits.add(Rect { y, height: 1, ..body }, Hit::Line(hit));
        }
    }
    parts::scroll_bar(buf, world, body, first, nodes.len());
}

fn file_row(row: &mut Row<'_>, file: usize, node: &Node, model: &Model, world: &World) {
    let entry = super::patch_file(model, file, world).map(|(_, entry)| entry);
    let viewed = super::is_viewed(model, file, world);
    let forbidden = entry.is_some_and(|entry| entry.flags.iter().any(|flag| flag == "forbidden"));
    row.put(
        if viewed { Role::Good } else { Role::Faint },
        if viewed { world.glyphs.pass } else { world.glyphs.empty },
    );
    row.gap(1);
    let change = entry.map_or("MODIFIED", |entry| entry.change.as_str());
    let (role, letter) = match change {
        "ADDED" => (Role::Good, "A"),
        "DELETED" => (Role::Bad, "D"),
        "RENAMED" => (Role::Badge, "R"),
        "COPIED" => (Role::Badge, "C"),
        _ => (Role::Muted, "M"),
    };
    row.put(role, letter).gap(1);
    let (added, removed) = model.files[file].counts;
    let numbers = format!("+{added} -{removed} ");
    let flags = entry.map_or_else(String::new, |entry| entry.flags.join(" "));
    let room = row.left().saturating_sub(numbers.len() + 1);
    let name = crate::text::truncate(&crate::text::visible(&node.name), room);
    let text = if forbidden {
        Role::Bad
    } else if viewed {
        Role::Muted
    } else {
        Role::Text
    };
    row.put(text, &name);
    if !flags.is_empty() && row.left() > numbers.len() + flags.len() + 2 {
        row.gap(1).put(if forbidden { Role::Bad } else { Role::Badge }, &flags);
    }
    let gap = row.left().saturating_sub(numbers.len());
    row.gap(gap).put(Role::Good, &format!("+{added} ")).put(Role::Bad, &format!("-{removed} "));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::diff::File;

    fn names(paths: &[&str]) -> Vec<String> {
        let file = |path: &&str| File { path: (*path).to_owned(), ..File::default() };
        let model = Model::new(String::new(), paths.iter().map(file).collect());
        nodes(&model).iter().map(|node| format!("{}{}", "  ".repeat(node.depth), node.name)).collect()
    }

    #[test]
    fn folders_with_one_child_are_folded() {
        assert_eq!(names(&["src/a/b/one.rs", "src/a/b/two.rs"]), ["src/a/b/", "  one.rs", "  two.rs"]);
        assert_eq!(names(&["README.md", "src/a.rs"]), ["README.md", "src/", "  a.rs"]);
    }

    #[test]
    fn folders_where_files_branch_off_stand_on_their_own() {
        assert_eq!(
            names(&["src/a/one.rs", "src/b/two.rs", "tests/x.rs"]),
            ["src/", "  a/", "    one.rs", "  b/", "    two.rs", "tests/", "  x.rs"]
        );
    }
}
