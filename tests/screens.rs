//! Every screen and modal of the dashboard as a snapshot: letters and looks, in two sizes and two themes.

use telic::tui::render::{Still, stage};
use telic::tui::{Format, SCREENS, render, sample};

fn still(screen: &str, size: (u16, u16), theme: &str, format: Format) -> Still {
    let run = match screen {
        "home" | "help" | "palette" | "themes" | "messages" => None,
        "overview" | "clarification" => Some(sample::key("run_01QUESTION")),
        _ => Some(sample::key("run_01APPROVAL")),
    };
    Still {
        screen: screen.to_owned(),
        snapshot: sample::snapshot(),
        run,
        supply: sample::supply(),
        size,
        theme: theme.to_owned(),
        ascii: false,
        format,
        now: sample::now(),
    }
}

#[test]
fn pictures_are_written_for_a_look() {
    let Ok(folder) = std::env::var("TELIC_PICTURES") else { return };
    for screen in SCREENS {
        for (size, theme) in [((160, 45), "dark"), ((80, 24), "dark"), ((60, 16), "light")] {
            let picture = render(still(screen, size, theme, Format::Svg)).unwrap();
            let name = format!("{folder}/{screen}-{}x{}-{theme}.svg", size.0, size.1);
            std::fs::write(name, picture).unwrap();
        }
    }
    let _ = stage(still("home", (80, 24), "dark", Format::Text));
}
