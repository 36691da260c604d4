//! Screens of a terminal as SVG.

use std::collections::BTreeSet;

const CELL: (usize, usize) = (9, 19);
const PAPER: &str = "#16181d";
const INK: &str = "#d8dadf";

/// The colours and letters of some cells.
#[derive(Debug, Clone, Default, PartialEq)]
struct Style {
    colour: Option<String>,
    bold: bool,
    dim: bool,
    inverse: bool,
    underlined: bool,
}

/// Draws a screen as tmux writes it: text with escape sequences for its style.
pub(super) fn still(screen: &str, size: (usize, usize)) -> String {
    let mut out = begin(size);
    rows(screen, size).iter().for_each(|row| out.push_str(row));
    out.push_str("</svg>\n");
    out
}

/// Draws screens that follow each other, each with the seconds that it stays, again and again. What does not
/// change from one to the next is drawn once. Readers who want no motion see the first one.
pub(super) fn film(screens: &[(String, f64)], size: (usize, usize)) -> String {
    let frames: Vec<Vec<String>> = screens.iter().map(|(screen, _)| rows(screen, size)).collect();
    let mut ends = vec![0.0];
    for (_, seconds) in screens {
        ends.push(ends.last().copied().unwrap_or_default() + seconds);
    }
    let all = ends.last().copied().unwrap_or_default().max(0.1);
    let (mut body, mut rules) = (String::new(), BTreeSet::new());
    for row in 0..size.1 {
        let text = |frame: usize| frames.get(frame).and_then(|rows| rows.get(row)).map_or("", String::as_str);
        let mut first = 0;
        while first < frames.len() {
            let last = (first..frames.len()).take_while(|frame| text(*frame) == text(first)).count() + first;
            if !text(first).is_empty() {
                rules.insert((first, last));
                body += &format!("<g class=\"f{first}-{last}\">\n{}</g>\n", text(first));
            }
            first = last;
        }
    }
    let mut out = begin(size);
    out.push_str("<style>\n");
    for (first, last) in rules.iter().filter(|(first, last)| *first > 0 || *last < frames.len()) {
        let at = |frame: usize| 100.0 * ends.get(frame).copied().unwrap_or(all) / all;
        let before = if *first > 0 { "0%{visibility:hidden}" } else { "" };
        let behind = if *last < frames.len() {
            format!("{:.3}%{{visibility:hidden}}", at(*last))
        } else {
            String::new()
        };
        out += &format!(
            "@keyframes f{first}-{last}{{{before}{:.3}%{{visibility:visible}}{behind}}}\n\
             .f{first}-{last}{{animation:f{first}-{last} {all:.1}s steps(1,end) infinite}}\n",
            at(*first)
        );
        let still = if *first > 0 { "visibility:hidden;" } else { "" };
        out += &format!("@media(prefers-reduced-motion){{.f{first}-{last}{{{still}animation:none}}}}\n");
    }
    out.push_str("</style>\n");
    out + &body + "</svg>\n"
}

fn begin((columns, lines): (usize, usize)) -> String {
    let (width, height) = (columns * CELL.0 + 20, lines * CELL.1 + 20);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" \
         font-family=\"'DejaVu Sans Mono','Noto Sans Mono CJK KR',Menlo,Consolas,monospace\" \
         font-size=\"15\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{PAPER}\"/>\n"
    )
}

/// Each line of a screen, drawn.
fn rows(screen: &str, (_, lines): (usize, usize)) -> Vec<String> {
    let mut style = Style::default();
    let draw_row = |(row, line): (usize, &str)| {
        let (mut out, mut column) = (String::new(), 0);
        for (text, style) in runs(line, &mut style) {
            let cells: usize = text.chars().map(cells_of).sum();
            draw(&mut out, &text, &style, column, row, cells);
            column += cells;
        }
        out
    };
    screen.lines().take(lines).enumerate().map(draw_row).collect()
}

/// The parts of a line, each with one style.
fn runs(line: &str, style: &mut Style) -> Vec<(String, Style)> {
    let mut runs = Vec::new();
    let mut parts = line.split("\u{1b}[");
    let first = parts.next().unwrap_or_default();
    if !first.is_empty() {
        runs.push((first.to_string(), style.clone()));
    }
    for part in parts {
        let Some((codes, text)) = part.split_once('m') else { continue };
        change(style, codes);
        let text: String = text.chars().filter(|letter| !letter.is_control()).collect();
        if !text.is_empty() {
            runs.push((text, style.clone()));
        }
    }
    runs
}

fn change(style: &mut Style, codes: &str) {
    let mut codes = codes.split(';').map(|code| code.parse::<u8>().unwrap_or(0));
    while let Some(code) = codes.next() {
        match code {
            0 => *style = Style::default(),
            1 => style.bold = true,
            2 => style.dim = true,
            4 => style.underlined = true,
            7 => style.inverse = true,
            22 => (style.bold, style.dim) = (false, false),
            24 => style.underlined = false,
            27 => style.inverse = false,
            30..=37 => style.colour = Some(basic(code - 30)),
            90..=97 => style.colour = Some(basic(code - 90 + 8)),
            39 => style.colour = None,
            38 => match codes.next() {
                Some(2) => {
                    let mut part = || codes.next().unwrap_or(0);
                    style.colour = Some(format!("#{:02x}{:02x}{:02x}", part(), part(), part()));
                }
                Some(5) => style.colour = codes.next().filter(|colour| *colour < 16).map(basic),
                _ => {}
            },
            _ => {}
        }
    }
}

/// The 16 colours as most terminals have them.
fn basic(number: u8) -> String {
    let colours = [
        "#000000", "#c0392b", "#27ae60", "#c9a227", "#2f6fde", "#9b59b6", "#16a085", "#bdc3c7", "#6b7280",
        "#ff6b6b", "#5fd38a", "#f4d35e", "#6fa8ff", "#d6a2e8", "#5ed3d0", "#ffffff",
    ];
    colours.get(usize::from(number)).copied().unwrap_or(INK).to_string()
}

/// The columns of a character; Korean, Japanese and Chinese ones are wide.
fn cells_of(letter: char) -> usize {
    match u32::from(letter) {
        0x1100..=0x115f
        | 0x2e80..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60 => 2,
        _ => 1,
    }
}

fn draw(out: &mut String, text: &str, style: &Style, column: usize, row: usize, cells: usize) {
    let (x, y) = (10 + column * CELL.0, 10 + row * CELL.1);
    let colour = style.colour.as_deref().unwrap_or(INK);
    let (ink, paper) = if style.inverse { (PAPER, Some(colour)) } else { (colour, None) };
    if let Some(paper) = paper {
        *out += &format!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{}\" fill=\"{paper}\"/>\n",
            cells * CELL.0,
            CELL.1
        );
    }
    if text.trim().is_empty() {
        return;
    }
    let attributes = [
        if style.bold { " font-weight=\"bold\"" } else { "" },
        if style.dim { " opacity=\"0.6\"" } else { "" },
        if style.underlined { " text-decoration=\"underline\"" } else { "" },
    ]
    .concat();
    // Dots are drawn as dots, because fonts disagree about the width of braille. Every word has its own
    // position, else the reader's fonts would shift the words after it.
    let mut word = String::new();
    let (mut at, mut start) = (x, x);
    for letter in text.chars().chain([' ']) {
        let is_dots = ('\u{2800}'..='\u{28ff}').contains(&letter);
        if letter == ' ' || is_dots {
            if !word.is_empty() {
                *out += &format!(
                    "<text x=\"{start}\" y=\"{}\" fill=\"{ink}\" textLength=\"{}\" \
                     lengthAdjust=\"spacingAndGlyphs\"{attributes}>{word}</text>\n",
                    y + 15,
                    at - start
                );
                word.clear();
            }
            if is_dots {
                dots(out, u32::from(letter) & 0xff, at, y, ink);
            }
            at += CELL.0;
            start = at;
            continue;
        }
        match letter {
            '&' => word.push_str("&amp;"),
            '<' => word.push_str("&lt;"),
            other => word.push(other),
        }
        at += cells_of(letter) * CELL.0;
    }
}

/// The dots of a braille letter: three pixels each, so that neighbours make a line.
fn dots(out: &mut String, bits: u32, x: usize, y: usize, ink: &str) {
    let places = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 3), (1, 3)];
    let mut path = String::new();
    for (bit, (column, row)) in places.into_iter().enumerate() {
        if bits & (1 << bit) != 0 {
            path += &format!("M{} {}h3v3h-3z", x + 1 + column * 4, y + 1 + row * 5);
        }
    }
    if !path.is_empty() {
        *out += &format!("<path d=\"{path}\" fill=\"{ink}\"/>\n");
    }
}
