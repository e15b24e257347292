//! Draws the file tree of a diff with numbers, flags and viewed marks.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::diff::{Model, Node};
use crate::tui::list::Cursor;
use crate::tui::parts;
use crate::tui::theme::Role;
use crate::tui::ui::Row;
use crate::tui::view::{Hit, Hits};
use crate::tui::world::World;

/// Draws the tree with the current file marked.
pub fn draw(current: usize, model: &Model, world: &World, buf: &mut Buffer, area: Rect, hits: &mut Hits) {
    let nodes = &model.tree;
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
