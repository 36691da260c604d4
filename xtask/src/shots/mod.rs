//! `cargo xtask shots`: pictures of the program in a terminal, for the README.
//!
//! The program runs in tmux. The task types keys, reads the screen with its colours, and draws it as SVG.
//! With `rsvg-convert` on the path, it also writes each picture as PNG to `target/shots`, to look at.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use crate::terminal::Terminal;
use crate::{cargo, root, run as execute, target_folder};

/// A picture: its name, the arguments of `tally` (`LOGS` is the folder of sample logs, `PROFILE` the file of
/// a running .NET program), and the keys to type, each with the seconds to wait before it.
struct Shot {
    name: &'static str,
    arguments: &'static str,
    keys: &'static [(u64, &'static [&'static str])],
}

/// Instead of a key: moves the cursor to the left until the selected line is high.
const TO_SPIKE: &str = "to the spike";
/// Per cent from which on a line is high.
const HIGH: f64 = 75.0;

const BUSY: &str = r"mon '\Processor(_Total)\% Processor Time' '\System\Context Switches/sec' '\Memory\Available MBytes' '\PhysicalDisk(_Total)\Disk Bytes/sec' '\Process(_Total)\Thread Count' -i 250ms";

const SHOTS: &[Shot] = &[
    Shot { name: "graph", arguments: BUSY, keys: &[(20, &["BSpace"])] },
    Shot { name: "spike", arguments: BUSY, keys: &[(18, &[TO_SPIKE, "Enter"])] },
    Shot {
        name: "table",
        arguments: r"mon '\Process(_Total)\% Processor Time' -i 1s",
        keys: &[(2, &["T"]), (4, &[])],
    },
    Shot {
        name: "add",
        arguments: BUSY,
        keys: &[(4, &["a"]), (1, &["프로세서", "Space", "시간"]), (1, &["Down"]), (2, &[])],
    },
    Shot {
        name: "log",
        arguments: r"mon --log LOGS/Tx_BasicPerfCounters.blg '\Processor(*)\% Processor Time'",
        keys: &[(2, &["G"]), (1, &["Down", ":"]), (1, &["02:55:30", "Enter"]), (1, &[])],
    },
    Shot { name: "prof-top", arguments: "prof top PROFILE", keys: &[(5, &[])] },
];

/// What runs beside the program: real work under names that reveal nothing about this machine. It runs in a
/// process namespace of its own, so the process list shows nothing else.
const WORK: &str = "\
while :; do head -c 40000000 /dev/zero; sleep 0.9; done | gzip >/dev/null &
while :; do head -c 60000000 /dev/zero; sleep 0.4; done | sha256sum >/dev/null &
while :; do head -c 300000 /dev/urandom; sleep 0.7; done | xz >/dev/null &
while :; do head -c 90000000 /dev/zero; sleep 2; done | md5sum >/dev/null &
while :; do seq 90000; sleep 1.5; done | grep -c 7 >/dev/null &
tail -f /dev/null &
";

const COLUMNS: usize = 110;
const ROWS: usize = 32;

pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    execute(cargo().args(["build", "--release", "--package", "tallymon-cli", "--package", "tallymon-clr"]))?;
    let target = target_folder();
    let tally = target.join("release/tally");
    let folder = root().join("docs/pictures");
    let drafts = target.join("shots");
    for folder in [&folder, &drafts] {
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    for shot in
        SHOTS.iter().filter(|shot| arguments.is_empty() || arguments.iter().any(|name| name == shot.name))
    {
        let samples: PathBuf = std::env::var_os("TALLYMON_TESTDATA")
            .map_or_else(|| root().join("../shared/testdata"), Into::into);
        let logs = samples.join("logs");
        if shot.arguments.contains("LOGS") && !logs.is_dir() {
            eprintln!("{}: left out, there are no sample logs in {}", shot.name, logs.display());
            continue;
        }
        let mut arguments = shot.arguments.replace("LOGS", &logs.to_string_lossy());
        let mut program = None;
        if arguments.contains("PROFILE") {
            let Some((child, profile)) = shop(&target, &drafts, &tally) else {
                eprintln!("{}: left out, there is no C# compiler or no .NET runtime", shot.name);
                continue;
            };
            program = Some(child);
            arguments = arguments.replace("PROFILE", &profile);
        }
        let script = drafts.join("shot.sh");
        // This work would disturb a log, or a program that is being profiled.
        let work = if shot.arguments.starts_with("mon '") { WORK } else { "" };
        let line =
            format!("exec env -u NO_COLOR COLORTERM=truecolor TZ=UTC '{}' {arguments}\n", tally.display());
        fs::write(&script, format!("{work}{line}"))
            .map_err(|error| format!("{}: {error}", script.display()))?;
        let screen = take(shot, &script, !work.is_empty())?;
        let file = folder.join(format!("{}.svg", shot.name));
        if let Some(mut program) = program {
            program.wait().map_err(|error| format!("{}: {error}", shot.name))?;
        }
        fs::write(&file, svg(&screen)).map_err(|error| format!("{}: {error}", file.display()))?;
        eprintln!("{}", file.display());
        let png = drafts.join(format!("{}.png", shot.name));
        // Somebody without the converter opens the SVG in a browser.
        let _ = Command::new("rsvg-convert").arg(&file).arg("-o").arg(&png).status();
    }
    Ok(())
}

/// Starts the shop of the profiler's tests under the profiler, for long enough to take a picture. Returns the
/// process and its profile file; `None` when something that it needs is missing.
fn shop(target: &Path, drafts: &Path, tally: &Path) -> Option<(Child, String)> {
    let runtime = target.join("peers/dotnet-8.0.15");
    let program = drafts.join("shop.exe");
    let mut compiler = Command::new("mcs");
    compiler.args(["-optimize+", &format!("-out:{}", program.display())]);
    compiler.arg(root().join("crates/clr/tests/dotnet/programs/shop.cs"));
    if !runtime.join("dotnet").is_file() || !compiler.status().is_ok_and(|status| status.success()) {
        return None;
    }
    let config = r#"{"runtimeOptions":{"rollForward":"LatestMajor","framework":{"name":"Microsoft.NETCore.App",
        "version":"3.1.0"},"configProperties":{"System.Globalization.Invariant":true}}}"#;
    fs::write(drafts.join("shop.runtimeconfig.json"), config).ok()?;
    let profile = drafts.join(format!("shop-{}.prof", std::process::id()));
    let mut command = Command::new(tally);
    // The picture shows the command line, which is to name no folder of this machine.
    command.current_dir(drafts).env("PATH", runtime).stdout(Stdio::null()).stderr(Stdio::null());
    command.args(["prof", "run", "--duration", "12s", "-o"]).arg(&profile);
    command.args(["--", "dotnet", "exec", "shop.exe", "0"]);
    let child = command.spawn().ok()?;
    // The runtime takes a moment to start.
    sleep(Duration::from_secs(2));
    Some((child, profile.to_string_lossy().into_owned()))
}

/// Runs the program in a terminal, types, and reads its screen with colours.
fn take(shot: &Shot, script: &Path, alone: bool) -> Result<String, String> {
    // For root only; others see all processes of the machine.
    let namespace = ["--pid", "--fork", "--mount-proc", "--kill-child"];
    let has_own =
        Command::new("unshare").args(namespace).arg("true").status().is_ok_and(|status| status.success());
    let prefix = if alone && has_own { format!("unshare {} ", namespace.join(" ")) } else { String::new() };
    let command = format!("{prefix}sh '{}'", script.display());
    let terminal = Terminal::start(COLUMNS, ROWS, &command)?;
    for (seconds, keys) in shot.keys {
        sleep(Duration::from_secs(*seconds));
        for key in *keys {
            if *key != TO_SPIKE {
                terminal.press(key)?;
                continue;
            }
            for _ in 0..COLUMNS / 2 {
                terminal.press("Left")?;
                sleep(Duration::from_millis(150));
                if chosen_value(&terminal.screen()?).is_some_and(|value| value >= HIGH) {
                    break;
                }
            }
        }
    }
    sleep(Duration::from_millis(700));
    terminal.coloured_screen()
}

/// The value of the selected line in the legend on the screen.
fn chosen_value(screen: &str) -> Option<f64> {
    let line = screen.lines().find(|line| line.starts_with('▶'))?;
    line.trim_end().trim_end_matches('%').split_whitespace().last()?.parse().ok()
}

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
fn svg(screen: &str) -> String {
    let (width, height) = (COLUMNS * CELL.0 + 20, ROWS * CELL.1 + 20);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" \
         font-family=\"'DejaVu Sans Mono','Noto Sans Mono CJK KR',Menlo,Consolas,monospace\" \
         font-size=\"15\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{PAPER}\"/>\n"
    );
    let mut style = Style::default();
    for (row, line) in screen.lines().take(ROWS).enumerate() {
        let mut column = 0;
        for part in runs(line, &mut style) {
            let (text, style) = part;
            let cells: usize = text.chars().map(cells_of).sum();
            draw(&mut out, &text, &style, column, row, cells);
            column += cells;
        }
    }
    out.push_str("</svg>\n");
    out
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
