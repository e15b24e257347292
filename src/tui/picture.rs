//! One frame as text, as ANSI, or as an SVG picture.
//!
//! In the picture every run of cells of one look is one text with a fixed length, so columns hold whatever font is
//! there; rules and gauges are drawn as lines, so they join.

use std::fmt::Write;

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier, Style};

use super::theme::{Role, Theme};
use crate::text;

const CELL: f64 = 8.4;
const LINE: f64 = 18.0;
const MARGIN: f64 = 14.0;
const BAR: f64 = 30.0;

/// The letters of a frame, line by line, without blanks at their ends.
#[must_use]
pub fn plain(buf: &Buffer) -> String {
    let mut out = String::new();
    for y in buf.area.top()..buf.area.bottom() {
        let mut line = String::new();
        for (cell, _) in cells(buf, y) {
            line.push_str(cell.symbol());
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// A frame with SGR colours.
#[must_use]
pub fn ansi(buf: &Buffer) -> String {
    let mut out = String::new();
    for y in buf.area.top()..buf.area.bottom() {
        let mut last = None;
        for (cell, _) in cells(buf, y) {
            let look = (cell.fg, cell.bg, cell.modifier);
            if last != Some(look) {
                out.push_str(&sgr(cell));
                last = Some(look);
            }
            out.push_str(cell.symbol());
        }
        out.push_str("\x1b[0m\n");
    }
    out
}

/// The cells of a line with their columns; what a wide letter covers is left out.
fn cells(buf: &Buffer, y: u16) -> impl Iterator<Item = (&Cell, u16)> {
    let mut covered = 0usize;
    (buf.area.left()..buf.area.right()).filter_map(move |x| {
        if covered > 0 {
            covered -= 1;
            return None;
        }
        let cell = &buf[(x, y)];
        covered = text::width(cell.symbol()).saturating_sub(1);
        Some((cell, x))
    })
}

fn sgr(cell: &Cell) -> String {
    let mut codes = vec!["0".to_owned()];
    let modifiers = [
        (Modifier::BOLD, "1"),
        (Modifier::DIM, "2"),
        (Modifier::ITALIC, "3"),
        (Modifier::UNDERLINED, "4"),
        (Modifier::REVERSED, "7"),
    ];
    codes.extend(
        modifiers.iter().filter(|(bit, _)| cell.modifier.contains(*bit)).map(|(_, code)| (*code).into()),
    );
    for (base, colour) in [(38, cell.fg), (48, cell.bg)] {
        match colour {
            Color::Rgb(r, g, b) => codes.push(format!("{base};2;{r};{g};{b}")),
            Color::Indexed(n) => codes.push(format!("{base};5;{n}")),
            Color::Reset => {}
            named => codes.push(format!("{base};5;{}", index_of(named))),
        }
    }
    format!("\x1b[{}m", codes.join(";"))
}

fn index_of(colour: Color) -> u8 {
    const ORDER: [Color; 16] = [
        Color::Black,
        Color::Red,
        Color::Green,
        Color::Yellow,
        Color::Blue,
        Color::Magenta,
        Color::Cyan,
        Color::Gray,
        Color::DarkGray,
        Color::LightRed,
        Color::LightGreen,
        Color::LightYellow,
        Color::LightBlue,
        Color::LightMagenta,
        Color::LightCyan,
        Color::White,
    ];
    ORDER.iter().position(|known| *known == colour).and_then(|at| u8::try_from(at).ok()).unwrap_or(7)
}

fn rgb(colour: Color, otherwise: (u8, u8, u8)) -> (u8, u8, u8) {
    const NAMED: [(u8, u8, u8); 16] = [
        (0, 0, 0),
        (205, 70, 70),
        (80, 170, 90),
        (190, 150, 60),
        (80, 130, 220),
        (170, 100, 200),
        (70, 170, 170),
        (200, 200, 200),
        (120, 120, 120),
        (240, 110, 110),
        (120, 210, 130),
        (230, 190, 100),
        (130, 170, 250),
        (210, 150, 240),
        (120, 210, 210),
        (255, 255, 255),
    ];
    match colour {
        Color::Rgb(r, g, b) => (r, g, b),
        Color::Reset => otherwise,
        Color::Indexed(n @ 0..16) => NAMED[usize::from(n)],
        Color::Indexed(n @ 232..) => {
            let grey = 8 + 10 * (n - 232);
            (grey, grey, grey)
        }
        Color::Indexed(n) => {
            let step = |part: u8| if part == 0 { 0 } else { 55 + 40 * part };
            (step((n - 16) / 36), step((n - 16) / 6 % 6), step((n - 16) % 6))
        }
        named => NAMED[usize::from(index_of(named))],
    }
}

fn hex((r, g, b): (u8, u8, u8)) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// How one cell looks in a picture.
#[derive(PartialEq, Clone)]
struct Look {
    fg: String,
    bg: String,
    bold: bool,
    italic: bool,
    underline: bool,
}

struct Painter {
    ink: (u8, u8, u8),
    paper: (u8, u8, u8),
}

impl Painter {
    fn look(&self, cell: &Cell) -> Look {
        let (mut fg, mut bg) = (rgb(cell.fg, self.ink), rgb(cell.bg, self.paper));
        if cell.modifier.contains(Modifier::REVERSED) {
            (fg, bg) = (bg, fg);
        }
        if cell.modifier.contains(Modifier::DIM) {
            let half = |a: u8, b: u8| u8::try_from((u16::from(a) + u16::from(b)) / 2).unwrap_or(a);
            fg = (half(fg.0, bg.0), half(fg.1, bg.1), half(fg.2, bg.2));
        }
        Look {
            fg: hex(fg),
            bg: hex(bg),
            bold: cell.modifier.contains(Modifier::BOLD),
            italic: cell.modifier.contains(Modifier::ITALIC),
            underline: cell.modifier.contains(Modifier::UNDERLINED),
        }
    }
}

/// A frame as a picture of a terminal window.
#[must_use]
pub fn svg(buf: &Buffer, theme: &Theme, title: &str) -> String {
    let base = theme.style(Role::Text);
    let (ink, paper) =
        if theme.is_light() { ((35, 39, 46), (252, 251, 248)) } else { ((217, 222, 231), (20, 23, 29)) };
    let colour = |style: Style, fallback| rgb(style.bg.unwrap_or(Color::Reset), fallback);
    let painter = Painter { ink: rgb(base.fg.unwrap_or(Color::Reset), ink), paper: colour(base, paper) };
    let band = hex(colour(theme.style(Role::Band), painter.paper));
    let rule = hex(rgb(theme.style(Role::Border).fg.unwrap_or(Color::Reset), painter.ink));
    let soft = hex(rgb(theme.style(Role::Muted).fg.unwrap_or(Color::Reset), painter.ink));
    let (columns, rows) = (f64::from(buf.area.width), f64::from(buf.area.height));
    let (width, height) = (columns * CELL + 2.0 * MARGIN, rows * LINE + BAR + MARGIN);
    let paper = hex(painter.paper);
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.1} {height:.1}\" font-family=\"'JetBrains Mono','Cascadia Code','DejaVu Sans \
         Mono',Menlo,Consolas,monospace\" font-size=\"14\">\n<title>{}</title>\n\
         <rect x=\".5\" y=\".5\" width=\"{:.1}\" height=\"{:.1}\" rx=\"9\" fill=\"{paper}\" stroke=\"{rule}\"/>\n\
         <path d=\"M.5 {BAR}V9.5a9 9 0 0 1 9-9H{:.1}a9 9 0 0 1 9 9V{BAR}z\" fill=\"{band}\" stroke=\"{rule}\"/>\n",
        escape(title),
        width - 1.0,
        height - 1.0,
        width - 9.5,
    );
    for (at, x) in [20.0, 38.0, 56.0].iter().enumerate() {
        let role = [Role::Bad, Role::Warn, Role::Good][at];
        let dot = hex(rgb(theme.style(role).fg.unwrap_or(Color::Reset), painter.ink));
        let _ = writeln!(out, "<circle cx=\"{x}\" cy=\"15.5\" r=\"5\" fill=\"{dot}\" opacity=\".75\"/>");
    }
    let _ = writeln!(
        out,
        "<text x=\"{:.1}\" y=\"20\" text-anchor=\"middle\" font-size=\"12\" fill=\"{soft}\">{}</text>",
        width / 2.0,
        escape(title)
    );
    for y in buf.area.top()..buf.area.bottom() {
        line(&mut out, buf, y, &painter);
    }
    out.push_str("</svg>\n");
    out
}

struct Run {
    from: u16,
    columns: u16,
    text: String,
    look: Look,
}

/// Neighbouring cells of one look. A drawn sign and a letter that is not one column of ASCII stand alone.
fn runs(buf: &Buffer, y: u16, painter: &Painter) -> Vec<Run> {
    let mut out: Vec<Run> = Vec::new();
    let mut alone = true;
    for (cell, x) in cells(buf, y) {
        let look = painter.look(cell);
        let symbol = cell.symbol();
        let wide = u16::try_from(text::width(symbol)).unwrap_or(1).max(1);
        let simple = symbol.is_ascii();
        match out.last_mut().filter(|run| run.look == look && simple && !alone) {
            Some(run) => {
                run.text.push_str(symbol);
                run.columns += wide;
            }
            None => out.push(Run { from: x, columns: wide, text: symbol.to_owned(), look }),
        }
        alone = !simple;
    }
    out
}

fn line(out: &mut String, buf: &Buffer, y: u16, painter: &Painter) {
    let top = BAR + f64::from(y) * LINE + 2.0;
    let runs = runs(buf, y, painter);
    let paper = hex(painter.paper);
    let mut at = 0;
    while at < runs.len() {
        let bg = &runs[at].look.bg;
        let end = runs[at..].iter().position(|run| run.look.bg != *bg).map_or(runs.len(), |n| at + n);
        if *bg != paper {
            let (x, last) = (left(runs[at].from), &runs[end - 1]);
            let end = left(last.from + last.columns);
            // A band over the whole width reaches the window's edges.
            let (x, end) = if last.from + last.columns == buf.area.width && runs[at].from == 0 {
                (1.0, end + MARGIN - 1.0)
            } else {
                (x, end)
            };
            let width = end - x;
            let _ = writeln!(
                out,
                "<rect x=\"{x:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{LINE}\" fill=\"{bg}\"/>"
            );
        }
        at = end;
    }
    for run in &runs {
        let (x, width) = (left(run.from), f64::from(run.columns) * CELL);
        if let Some(path) = drawn(&run.text, x, top, width) {
            let _ = writeln!(out, "<path d=\"{path}\" fill=\"{}\"/>", run.look.fg);
            continue;
        }
        let content = run.text.trim_end();
        let lead = content.len() - content.trim_start().len();
        let content = content.trim_start();
        if content.is_empty() {
            continue;
        }
        let x = x + f64::from(u16::try_from(lead).unwrap_or(0)) * CELL;
        let columns = if content.is_ascii() { content.len() } else { usize::from(run.columns) };
        let length = f64::from(u16::try_from(columns).unwrap_or(0)) * CELL;
        let mut style = String::new();
        if run.look.bold {
            style.push_str(" font-weight=\"bold\"");
        }
        if run.look.italic {
            style.push_str(" font-style=\"italic\"");
        }
        if run.look.underline {
            style.push_str(" text-decoration=\"underline\"");
        }
        let _ = writeln!(
            out,
            "<text x=\"{x:.1}\" y=\"{:.1}\" textLength=\"{length:.1}\" lengthAdjust=\"spacingAndGlyphs\" \
             fill=\"{}\" xml:space=\"preserve\"{style}>{}</text>",
            top + 13.2,
            run.look.fg,
            escape(content)
        );
    }
}

fn left(column: u16) -> f64 {
    MARGIN + f64::from(column) * CELL
}

/// Signs that must join their neighbours, as shapes.
fn drawn(symbol: &str, x: f64, top: f64, width: f64) -> Option<String> {
    let (middle, centre) = (top + LINE / 2.0, x + width / 2.0);
    let rect = |x: f64, y: f64, w: f64, h: f64| format!("M{x:.1} {y:.1}h{w:.1}v{h:.1}h-{w:.1}z");
    Some(match symbol {
        "│" => rect(centre - 0.5, top, 1.0, LINE),
        "┃" => rect(centre - 1.5, top, 3.0, LINE),
        "─" => rect(x, middle - 0.5, width, 1.0),
        "━" => rect(x, middle - 1.5, width, 3.0),
        "═" => format!("{}{}", rect(x, middle - 2.5, width, 1.6), rect(x, middle + 1.0, width, 1.6)),
        "┄" => {
            let dash = width / 3.0;
            format!("{}{}", rect(x, middle - 0.5, dash, 1.0), rect(x + width / 2.0, middle - 0.5, dash, 1.0))
        }
        "▌" => rect(x, top, 3.0, LINE),
        "╭" => format!(
            "{}{}",
            rect(centre - 0.5, middle, 1.0, LINE / 2.0),
            rect(centre, middle - 0.5, width / 2.0, 1.0)
        ),
        "╰" => format!(
            "{}{}",
            rect(centre - 0.5, top, 1.0, LINE / 2.0),
            rect(centre, middle - 0.5, width / 2.0, 1.0)
        ),
        _ => return None,
    })
}

fn escape(content: &str) -> String {
    let mut out = String::with_capacity(content.len());
    for c in content.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::theme::Depth;
    use ratatui::layout::Rect;

    fn buffer(text: &str) -> Buffer {
        let mut buf = Buffer::empty(Rect::new(0, 0, 12, 1));
        buf.set_string(0, 0, text, Style::new().fg(Color::Rgb(1, 2, 3)));
        buf
    }

    #[test]
    fn a_wide_letter_takes_two_columns_and_moves_nothing() {
        let theme = Theme::built_in("dark", Depth::True).unwrap();
        let picture = svg(&buffer("日x"), &theme, "t");
        assert!(picture.contains("textLength=\"16.8\" lengthAdjust=\"spacingAndGlyphs\" fill=\"#010203\""));
        assert!(picture.contains(&format!("<text x=\"{:.1}\"", MARGIN + 2.0 * CELL)), "{picture}");
        assert_eq!(plain(&buffer("日x")), "日x\n");
    }

    #[test]
    fn markup_in_a_frame_is_escaped() {
        let theme = Theme::built_in("dark", Depth::True).unwrap();
        let picture = svg(&buffer("<b>&"), &theme, "a<b");
        assert!(picture.contains("&lt;b&gt;&amp;"));
        assert!(picture.contains("<title>a&lt;b</title>"));
    }

    #[test]
    fn ansi_sets_the_colour_once_and_resets_at_the_end_of_a_line() {
        let text = ansi(&buffer("ab"));
        assert!(text.starts_with("\x1b[0;38;2;1;2;3mab"));
        assert!(text.ends_with("\x1b[0m\n"));
    }
}
