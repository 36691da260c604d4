//! Colours of the interface, and how lines differ.

use ratatui::style::{Color, Modifier, Style};

use crate::model::Series;
use crate::model::overview::Level;
use crate::term::chart::{Glyphs, LineStyle, PATTERNS};

/// How many colours the terminal has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Colours {
    /// None: only bold, dim and inverse.
    None,
    /// The 16 of every terminal, in the shades that its user chose.
    #[default]
    Sixteen,
    /// 256.
    Indexed,
    /// All.
    True,
}

impl Colours {
    /// The colours that `NO_COLOR`, `COLORTERM` and `TERM` allow.
    pub fn of_environment() -> Colours {
        let variable = |name: &str| std::env::var(name).unwrap_or_default();
        if !variable("NO_COLOR").is_empty() || variable("TERM") == "dumb" {
            Colours::None
        } else if matches!(variable("COLORTERM").as_str(), "truecolor" | "24bit") {
            Colours::True
        } else if variable("TERM").contains("256color") {
            Colours::Indexed
        } else {
            Colours::Sixteen
        }
    }
}

impl Glyphs {
    /// The glyphs that the environment allows: ASCII for `TERM=linux` or `dumb` and for a locale without
    /// UTF-8.
    pub fn of_environment() -> Glyphs {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| variable(name));
        let narrow = locale.is_some_and(|locale| {
            let locale = locale.to_ascii_lowercase();
            // Containers often have the locale C, and their terminals show UTF-8.
            locale.contains('.') && !locale.contains("utf-8") && !locale.contains("utf8")
        });
        let old = variable("TERM").is_some_and(|term| matches!(term.as_str(), "linux" | "dumb" | "vt100"));
        // These terminals draw octants themselves, without the font.
        let blocks = variable("TERM").is_some_and(|term| {
            matches!(term.as_str(), "xterm-kitty" | "xterm-ghostty" | "foot" | "foot-extra")
        });
        match (narrow || old, blocks) {
            (true, _) => Glyphs::Ascii,
            (false, true) => Glyphs::Octant,
            (false, false) => Glyphs::Braille,
        }
    }
}

/// Styles of one kind of terminal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Theme {
    colours: Colours,
    pub(crate) glyphs: Glyphs,
}

/// Colours of lines, distinguishable also with colour blindness, brightest first.
const TRUE: [(u8, u8, u8); 8] = [
    (86, 180, 233),
    (230, 159, 0),
    (0, 190, 140),
    (240, 228, 66),
    (213, 94, 0),
    (204, 121, 167),
    (150, 150, 255),
    (190, 190, 190),
];

/// How many colours lines have before they start over.
pub(crate) const COLOUR_COUNT: usize = TRUE.len();

const INDEXED: [u8; 8] = [74, 214, 36, 227, 166, 175, 105, 250];
const SIXTEEN: [Color; 8] = [
    Color::LightCyan,
    Color::Yellow,
    Color::LightGreen,
    Color::LightMagenta,
    Color::LightBlue,
    Color::LightYellow,
    Color::Green,
    Color::Cyan,
];

impl Theme {
    pub(crate) const fn new(colours: Colours, glyphs: Glyphs) -> Theme {
        Theme { colours, glyphs }
    }

    fn coloured(self, colour: Color) -> Style {
        if self.colours == Colours::None { Style::new() } else { Style::new().fg(colour) }
    }

    /// The style of a series. Colours and patterns are numbered on and repeat, each after its own count.
    pub(crate) fn line(self, series: &Series) -> LineStyle {
        let colour = series.colour % TRUE.len();
        let style = match self.colours {
            Colours::None => Style::new(),
            Colours::Sixteen => Style::new().fg(SIXTEEN.get(colour).copied().unwrap_or(Color::Reset)),
            Colours::Indexed => Style::new().fg(Color::Indexed(INDEXED.get(colour).copied().unwrap_or(250))),
            Colours::True => {
                let (red, green, blue) = TRUE.get(colour).copied().unwrap_or((190, 190, 190));
                Style::new().fg(Color::Rgb(red, green, blue))
            }
        };
        // Without colours only the pattern distinguishes lines; with them it helps.
        let pattern = series.pattern.unwrap_or(series.colour) % PATTERNS.len();
        LineStyle { style, pattern, thick: series.width > 1 }
    }

    /// The highlighted line.
    pub(crate) fn highlight(self) -> LineStyle {
        let style = self.coloured(Color::White).add_modifier(Modifier::BOLD);
        LineStyle { style, pattern: 0, thick: true }
    }

    /// The sample of a line in the legend: the same colour and the same pattern.
    pub(crate) fn sample(self, series: &Series) -> (&'static str, Style) {
        let line = self.line(series);
        (self.sample_of(line), line.style)
    }

    /// A piece of a line for the legend.
    pub(crate) fn sample_of(self, line: LineStyle) -> &'static str {
        let samples = match self.glyphs {
            Glyphs::Braille | Glyphs::Octant => ["━━━", "━╺━", "╺╺╺", "━━╸", "╺━━", "· ·"],
            Glyphs::Ascii => ["---", "- -", "...", "--.", ".--", ". ."],
        };
        samples.get(line.pattern).copied().unwrap_or("---")
    }

    /// The line of what is folded.
    pub(crate) fn rest(self) -> LineStyle {
        LineStyle { style: self.dim(), pattern: 2, thick: false }
    }

    pub(crate) fn bold(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    pub(crate) fn plain(self) -> Style {
        Style::new()
    }

    pub(crate) fn dim(self) -> Style {
        match self.colours {
            Colours::None => Style::new().add_modifier(Modifier::DIM),
            _ => Style::new().fg(Color::DarkGray),
        }
    }

    pub(crate) fn badge(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED | Modifier::BOLD)
    }

    pub(crate) fn selected(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    pub(crate) fn bad(self) -> Style {
        self.coloured(Color::LightRed)
    }

    pub(crate) fn fault(self) -> Style {
        self.bad().add_modifier(Modifier::UNDERLINED)
    }

    pub(crate) fn warning(self) -> Style {
        self.coloured(Color::Yellow)
    }

    pub(crate) fn good(self) -> Style {
        self.coloured(Color::LightGreen)
    }

    /// How much load a number means.
    pub(crate) fn level(self, level: Level) -> Style {
        match level {
            Level::Idle => self.dim(),
            Level::Low => self.coloured(Color::Green),
            Level::Medium => self.coloured(Color::Yellow),
            Level::High => self.coloured(Color::LightRed).add_modifier(Modifier::BOLD),
        }
    }

    /// The time line of a sweep, red as in NT.
    pub(crate) fn time_line(self) -> Style {
        self.coloured(Color::LightRed)
    }

    /// The full text, or its ASCII form.
    pub(crate) const fn either(self, full: &'static str, ascii: &'static str) -> &'static str {
        match self.glyphs {
            Glyphs::Braille | Glyphs::Octant => full,
            Glyphs::Ascii => ascii,
        }
    }
}
