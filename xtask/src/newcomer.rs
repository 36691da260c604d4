//! `cargo xtask newcomer`: types what a newcomer types, and reads the screen.
//!
//! A fresh Debian 11 gets the package of `cargo xtask dist`; a copy of this machine, with its compiler, gets
//! a clone. In both, `tally` must show its overview without a further word. Then programs make the machine slow
//! on purpose, and the overview must name each of them after at most five keys.
//!
//! `--short` installs the package over this machine, with all changes in memory, and leaves out the clone.
//! `--write` writes `docs/newcomer.md` anew.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::dist::check;
use crate::terminal::Terminal;
use crate::{root, target_folder};

const COLUMNS: usize = 100;
const ROWS: usize = 30;
/// How many keys an answer may need.
const KEYS: usize = 5;
const SOON: Duration = Duration::from_secs(20);
/// For a build from a clone, also on a machine that does other work.
const LONG: Duration = Duration::from_secs(40 * 60);
const PROMPT: &str = "newcomer$ ";

/// Something that a user wants to know of a slow machine.
struct Question {
    words: &'static str,
    /// What a shell runs before `tally`. It makes the machine slow.
    before: &'static str,
    /// The keys to press, until the answer is on the screen.
    keys: [&'static str; KEYS],
    /// The program that is to be named.
    culprit: &'static str,
    answer: Answer,
}

/// Where the culprit must stand.
#[derive(Clone, Copy, PartialEq)]
enum Answer {
    /// In the first line of the processes.
    First,
    /// The same, after it has ended: it must have been first, and be gone, before a key is pressed.
    FirstThen,
    /// In the title of the details.
    Details,
}

const QUESTIONS: [Question; 5] = [
    Question {
        words: "What uses the processor?",
        before: "report-maker -c 'while :; do :; done' &",
        keys: [""; KEYS],
        culprit: "report-maker",
        answer: Answer::First,
    },
    Question {
        words: "Which command is that, and whose?",
        before: "report-maker -c 'while :; do :; done' &",
        keys: ["Enter", "", "", "", ""],
        culprit: "report-maker",
        answer: Answer::Details,
    },
    Question {
        words: "What fills the memory?",
        before: "(head -c 300000000 /dev/zero; sleep 600) | cache-filler -c 300000000 > /dev/null &",
        keys: ["s", "", "", "", ""],
        culprit: "cache-filler",
        answer: Answer::First,
    },
    Question {
        words: "What reads and writes so much?",
        before: "log-writer -c 'line=$(head -c 60000 /dev/zero | tr \"\\0\" x)
while :; do echo \"$line\"; sleep 0.1; done > /tmp/log' &",
        keys: ["s", "s", "", "", ""],
        culprit: "log-writer",
        answer: Answer::First,
    },
    Question {
        words: "What was it a moment ago?",
        before: "(sleep 3; timeout 4 night-job -c 'while :; do :; done') &",
        keys: ["Left"; KEYS],
        culprit: "night-job",
        answer: Answer::FirstThen,
    },
];

/// A step that was done, for the page.
struct Step {
    words: String,
    typed: String,
    screen: String,
}

pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let has = |option: &str| arguments.iter().any(|argument| argument == option);
    if let Some(other) =
        arguments.iter().find(|argument| !["--short", "--write"].contains(&argument.as_str()))
    {
        return Err(format!("unknown argument {other:?}; it takes --short and --write"));
    }
    let (is_short, is_written) = (has("--short"), has("--write"));
    if is_short && is_written {
        return Err("--write needs the long form: the page tells of the clone, too".to_string());
    }
    let package = package()?;
    let prepare = if is_short { check::over_this_machine() } else { check::in_a_copy(&check::fresh_root()?) };
    let name = package.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut steps = Vec::new();

    let copy = format!("{prepare}cp '{}' tmp/\n", package.display());
    let terminal = enter(&copy, "/tmp", "/usr/sbin:/usr/bin:/sbin:/bin")?;
    let install = format!("dpkg --install ./{name}");
    terminal.type_line(&install)?;
    terminal.wait_for("the end of the installation", SOON * 3, at_prompt)?;
    let screen = overview(&terminal, "tally", SOON)?;
    eprintln!("package to overview: 2 commands");
    let words = "From the package to the overview".to_string();
    steps.push(Step { words, typed: format!("`{install}`, `tally`"), screen });
    leave(&terminal)?;
    for question in &QUESTIONS {
        let (keys, screen) = ask(&terminal, question)?;
        eprintln!("{} {}: {} keys", question.words, question.culprit, keys.len());
        let typed = match keys.len() {
            0 => "`tally`, no key".to_string(),
            _ => format!(
                "`tally`, {}",
                keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(" ")
            ),
        };
        steps.push(Step { words: question.words.to_string(), typed, screen });
    }
    drop(terminal);

    if !is_short {
        steps.insert(1, from_a_clone()?);
    }
    if is_written { write_page(&steps) } else { Ok(()) }
}

/// The package for Debian that `cargo xtask dist` made.
fn package() -> Result<PathBuf, String> {
    let folder = target_folder().join("packages");
    let files = fs::read_dir(&folder).map_err(|error| {
        format!("{}: {error}; cargo xtask dist (or dist --short) makes the packages", folder.display())
    })?;
    let mut files = files.flatten().map(|entry| entry.path());
    let package = files.find(|path| path.extension().is_some_and(|extension| extension == "deb"));
    package.ok_or_else(|| format!("{}: no package for Debian; cargo xtask dist makes it", folder.display()))
}

/// A clone, built and started by the README's command, on a copy of this machine.
fn from_a_clone() -> Result<Step, String> {
    let home = std::env::var("HOME").map_err(|_| "HOME is not set: where are the compiler's files?")?;
    let path = format!("{home}/.cargo/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    let terminal = enter(&check::over_this_machine(), &home, &path)?;
    let source = root();
    terminal.type_line(&format!(
        "git clone -q 'file://{}' /tmp/tallymon && cd /tmp/tallymon",
        source.display()
    ))?;
    terminal.wait_for("the end of the clone", LONG, at_prompt)?;
    let start = Instant::now();
    let screen = overview(&terminal, "cargo run --release", LONG)?;
    let minutes = start.elapsed().as_secs().div_ceil(60);
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    eprintln!("clone to overview: 2 commands, {minutes} minutes on {processors} processors");
    let typed = "`git clone …`, `cargo run --release`, which builds it first".to_string();
    Ok(Step { words: "From a clone to the overview".to_string(), typed, screen })
}

/// A shell in a root that `prepare` makes, with processes and a name of its own.
fn enter(prepare: &str, home: &str, path: &str) -> Result<Terminal, String> {
    let script = target_folder().join("newcomer.sh");
    let text = format!(
        "set -eu\n{prepare}\
         cp bin/dash usr/bin/report-maker\ncp bin/dash usr/bin/log-writer\ncp bin/dash usr/bin/night-job\n\
         cp usr/bin/tail usr/bin/cache-filler\n\
         hostname newcomer\nmount -t proc proc proc\nmount --rbind /sys sys\n\
         mount -t devtmpfs none dev 2>/dev/null || mount --rbind /dev dev\n\
         exec chroot . env -i HOME='{home}' PATH='{path}' TERM=screen-256color LC_ALL=C.UTF-8 TZ=UTC \
         PS1='{PROMPT}' sh -c 'cd /tmp; exec sh'\n"
    );
    fs::write(&script, text).map_err(|error| format!("{}: {error}", script.display()))?;
    let namespaces = "--mount --uts --pid --fork --kill-child";
    let command = format!("unshare {namespaces} -- bash '{}' || sleep 5", script.display());
    let terminal = Terminal::start(COLUMNS, ROWS, &command)?;
    terminal.wait_for("a prompt", SOON * 3, at_prompt)?;
    Ok(terminal)
}

fn at_prompt(screen: &str) -> bool {
    screen.trim_end().lines().last().is_some_and(|line| line.trim_end() == PROMPT.trim_end())
}

/// Starts the monitor and waits for its overview with processes.
fn overview(terminal: &Terminal, command: &str, deadline: Duration) -> Result<String, String> {
    terminal.type_line(&format!("clear; {command}"))?;
    terminal.wait_for("the overview", deadline, |screen| {
        let has_rates = screen.contains("─ 1 Processors ─") && !screen.contains("─ 1 Processors ─ …");
        has_rates && first_process(screen).is_some_and(|line| line.contains('.'))
    })
}

/// Ends the monitor and the programs of the question.
fn leave(terminal: &Terminal) -> Result<(), String> {
    terminal.press("q")?;
    terminal.wait_for("the prompt after q", SOON, at_prompt)?;
    // All processes of the namespace except its first one, which is this shell.
    terminal.type_line("clear; kill -9 -1; wait; jobs; clear")?;
    terminal.wait_for("an empty screen", SOON, |screen| screen.trim_end() == PROMPT.trim_end()).map(drop)
}

/// Makes the machine slow and presses keys until the answer is there. Returns them, and the screen.
fn ask(terminal: &Terminal, question: &Question) -> Result<(Vec<&'static str>, String), String> {
    for line in question.before.lines() {
        terminal.type_line(line)?;
    }
    overview(terminal, "tally", SOON)?;
    let culprit = question.culprit;
    let is_first = |screen: &str| first_process(screen).is_some_and(|line| line.contains(culprit));
    if question.answer == Answer::FirstThen {
        terminal.wait_for(&format!("{culprit} as the first process"), SOON, is_first)?;
        terminal.wait_for(&format!("{culprit} gone"), SOON, |screen| !screen.contains(culprit))?;
    }
    let title = format!("─ {culprit} (");
    let is_answer = |screen: &str| match question.answer {
        Answer::First | Answer::FirstThen => is_first(screen),
        Answer::Details => screen.contains(&title),
    };
    let mut pressed = Vec::new();
    for key in question.keys.iter().filter(|key| !key.is_empty()) {
        if question.answer == Answer::Details {
            // Somebody opens what he sees.
            terminal.wait_for(culprit, SOON, is_first)?;
        }
        terminal.press(key)?;
        pressed.push(*key);
        if let Ok(screen) = terminal.wait_for(culprit, Duration::from_secs(2), is_answer) {
            return finish(terminal, question, pressed, screen);
        }
    }
    let screen = terminal.wait_for(&format!("{culprit}, {} {pressed:?}", question.words), SOON, is_answer)?;
    finish(terminal, question, pressed, screen)
}

/// Closes what the question opened.
fn finish(
    terminal: &Terminal,
    question: &Question,
    pressed: Vec<&'static str>,
    screen: String,
) -> Result<(Vec<&'static str>, String), String> {
    if question.answer == Answer::Details {
        terminal.press("Escape")?;
        let title = format!("─ {} (", question.culprit);
        terminal.wait_for("the overview again", SOON, |screen| !screen.contains(&title))?;
    }
    leave(terminal)?;
    Ok((pressed, screen))
}

/// The first line below the heading of the processes.
fn first_process(screen: &str) -> Option<&str> {
    let mut lines = screen.lines().skip_while(|line| !line.trim_start().starts_with("PID User"));
    lines.next()?;
    lines.next()
}

/// Writes the page of the documents.
fn write_page(steps: &[Step]) -> Result<(), String> {
    let mut page = String::from(
        "# The first minute\n\n\
         What a newcomer types, and what the screen then shows. `cargo xtask newcomer --write` types it in\n\
         a fresh Debian 11 without network, and in a copy of the developer's machine for the clone, and\n\
         writes this page; programs with telling names make the machine slow on purpose. It fails when an\n\
         answer is not on the screen after five keys.\n\n| from | typed |\n|---|---|\n",
    );
    for step in steps {
        let _ = writeln!(page, "| {} | {} |", step.words, step.typed);
    }
    for step in steps {
        let lines: Vec<&str> = step.screen.trim_end().lines().map(str::trim_end).collect();
        let _ = write!(page, "\n## {}\n\n```text\n{}\n```\n", step.words, lines.join("\n"));
    }
    let file = root().join("docs/newcomer.md");
    fs::write(&file, page).map_err(|error| format!("{}: {error}", file.display()))?;
    eprintln!("{}", file.display());
    Ok(())
}
