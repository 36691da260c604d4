//! Completion of command lines: what the command answers, and what stands in the terminal of each shell after
//! a press of the tab key.

use std::path::Path;

use tallymon_testkit::terminal::Terminal;
use tallymon_testkit::{peer, shared};

use crate::support::{Folder, TALLY, has, tally, tally_with};

/// The answer for a line, in which the words are separated by `|`, and the last is the one to complete.
#[track_caller]
fn answer(words: &str) -> (String, Vec<String>) {
    let mut line = vec!["__complete", "zsh", "--"];
    line.extend(words.split('|'));
    let text = tally(&line).data();
    let mut lines = text.lines();
    let kind = lines.next().unwrap().to_string();
    (kind, lines.map(|line| line.split('\t').next().unwrap().to_string()).collect())
}

#[test]
fn candidates_fit_their_place() {
    for (words, kind, some) in [
        ("", "words", &["get", "watch", "completions"][..]),
        ("wat", "words", &["watch"]),
        ("--la", "words", &["--lang"]),
        ("--lang|k", "words", &["ko"]),
        ("--tier|", "words", &["t0", "t2"]),
        ("watch|--cou", "words", &["--count"]),
        ("relog|x.blg|--format|par", "words", &["parquet"]),
        ("log|st", "words", &["start", "stop"]),
        ("stat|", "words", &["cpu", "mem", "disk", "net", "proc"]),
        ("get|", "parts", &[r"\Memory\", r"\Processor("]),
        ("get|Memory", "parts", &[r"\Memory\"]),
        (r"get|\mem", "parts", &[r"\Memory\", r"\Memory Extended\"]),
        (r"get|\Memory\Available M", "words", &[r"\Memory\Available MBytes"]),
        (r"get|\Processor(", "parts", &[r"\Processor(_Total)\", r"\Processor(*)\", r"\Processor(0)\"]),
        (r"get|\Processor(_T", "words", &[r"\Processor(_Total)\% Processor Time"]),
        ("get|//./Memory/Available M", "words", &["//./Memory/Available MBytes"]),
        (r"get|--lang|ru|\пам", "parts", &[r"\Память\"]),
        ("list|Mem", "words", &["Memory"]),
        ("man|wat", "words", &["watch"]),
        ("info|", "logs blg csv tsv tally sqlite", &[]),
        ("get|--log|", "logs blg csv tsv tally sqlite", &[]),
        ("prof|report|", "words", &[]),
        ("prof|run|--output|", "files", &[]),
        ("provider|add|", "files", &[]),
        ("get|--|--", "words", &[]),
        ("nonsense|x", "words", &[]),
    ] {
        let (found, candidates) = answer(words);
        assert!(found.starts_with(kind.split(" sqlite").next().unwrap()), "{words}: {found}");
        for wanted in some {
            assert!(candidates.iter().any(|one| one == wanted), "{words}: no {wanted} in {candidates:?}");
        }
    }
}

#[test]
fn every_offered_path_is_one_that_get_takes() {
    let (kind, candidates) = answer(r"get|\System\");
    assert_eq!(kind, "words");
    assert!(candidates.len() > 5, "{candidates:?}");
    let mut line = vec!["get", "--json", "-i", "20ms"];
    line.extend(candidates.iter().map(String::as_str));
    let ran = tally(&line);
    assert_ne!(ran.code, Some(2), "{}", ran.err);
    assert_ne!(ran.code, Some(3), "{}", ran.err);
}

#[test]
fn paths_of_a_log_and_names_of_sessions() {
    let Some(log) = shared("logs") else { return };
    let Some(log) = first_log(&log) else { return };
    let (kind, candidates) = answer(&format!(r"get|--log|{log}|\"));
    assert_eq!(kind, "parts");
    assert!(!candidates.is_empty() && candidates.iter().all(|one| one.starts_with('\\')), "{candidates:?}");
    let root = Folder::new();
    let start = |arguments: &[&str]| {
        tally_with(arguments, |command| {
            command.env("TALLYMON_ROOT", root.path());
        })
    };
    let started = start(&["log", "start", "web one", "-c", r"\Memory\*", "--samples", "1", "-i", "50ms"]);
    assert_eq!(started.code, Some(0), "{}", started.err);
    let answered = start(&["__complete", "zsh", "--", "log", "show", "we"]).data();
    has(&answered, &["words\nweb one\tsession\n"]);
}

/// Some binary log of a folder.
fn first_log(folder: &Path) -> Option<String> {
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path()).collect();
    files.sort();
    let is_log = |file: &std::path::PathBuf| file.extension().is_some_and(|extension| extension == "blg");
    Some(files.into_iter().find(is_log)?.to_str().unwrap().to_string())
}

#[test]
fn the_script_of_each_shell_is_there() {
    for (shell, part) in [
        ("bash", "complete -o default -F _tally tally"),
        ("zsh", "#compdef tally"),
        ("fish", "complete -c tally"),
        ("powershell", "Register-ArgumentCompleter"),
    ] {
        let script = tally(&["completions", shell]).data();
        has(&script, &[part, &format!("tally completions {shell}")]);
    }
    assert_eq!(tally(&["completions", "tcsh"]).code, Some(2));
}

/// A shell in a terminal, with the command in its path and its completion loaded; `None` without the shell.
fn shell(name: &str, folder: &Folder) -> Option<Terminal> {
    peer(name)?;
    let terminal = Terminal::open()?;
    terminal.tmux(&["resize-window", "-x", "150", "-y", "40"]);
    std::os::unix::fs::symlink(TALLY, folder.path().join("tally")).unwrap();
    let script = folder.write("script", tally(&["completions", name]).data().as_bytes());
    let path = folder.path().display();
    let state = folder.file("state");
    let set = format!("PATH='{path}':$PATH TALLYMON_ROOT='{state}' HOME='{path}'");
    let start = match name {
        "bash" => format!("{set} PS1='here> ' bash --norc --noprofile"),
        "zsh" => format!("{set} PS1='here> ' zsh -f"),
        _ => format!("{set} fish --no-config"),
    };
    terminal.line(&format!(
        "unset LANG LC_ALL LC_MESSAGES TALLY_LANG; export LC_ALL=C.UTF-8; cd '{path}'; {start}"
    ));
    match name {
        "bash" => terminal.line(&format!("bind 'set bell-style none'; source {script}; echo loaded")),
        "zsh" => terminal.line(&format!(
            "autoload -U compinit; compinit -u -D; unsetopt beep; source {script}; echo loaded"
        )),
        _ => {
            terminal.line(&format!("function fish_prompt; echo 'here> '; end; source {script}; echo loaded"))
        }
    }
    terminal.wait("the script", |screen| screen.lines().any(|line| line.trim() == "loaded"));
    Some(terminal)
}

/// Types a beginning, presses tab, and waits until the line goes on as expected.
#[track_caller]
fn tab(terminal: &Terminal, typed: &str, expected: &str) {
    terminal.types(typed);
    terminal.wait("what was typed", |screen| screen.contains(typed.trim_end()));
    terminal.key("Tab");
    // A letter behind it shows the blank at its end, or that there is none.
    terminal.types("Z");
    terminal.wait(&format!("{expected} after {typed}"), |screen| screen.contains(&format!("{expected}Z")));
    terminal.key("C-u");
    terminal.wait("an empty line", |screen| screen.lines().any(|line| line.trim_end() == "here>"));
    terminal.line("clear");
    terminal.wait("an empty screen", |screen| !screen.contains("tally"));
}

/// Completes a path, runs the line, and waits for the value: the shell reads the quotes as it wrote them.
#[track_caller]
fn run(terminal: &Terminal, typed: &str) {
    terminal.types(typed);
    terminal.wait("what was typed", |screen| screen.contains(typed.trim_end()));
    terminal.key("Tab");
    terminal.wait("the counter", |screen| {
        screen.contains("Available MBytes") || screen.contains(r"Available\ MBytes")
    });
    terminal.key("Enter");
    terminal.wait("the value", |screen| {
        screen.lines().any(|line| {
            let value = line.strip_prefix(r"\Memory\Available MBytes").map(str::trim);
            value.is_some_and(|value| value.parse::<u64>().is_ok())
        })
    });
    terminal.line("clear");
    terminal.wait("an empty screen", |screen| !screen.contains("Available"));
}

#[test]
fn bash_completes_paths_with_their_quotes() {
    let folder = Folder::new();
    let Some(terminal) = shell("bash", &folder) else { return };
    tab(&terminal, "tally wat", "tally watch ");
    tab(&terminal, "tally watch --cou", "tally watch --count ");
    tab(&terminal, r"tally get '\Processor(_T", r"tally get '\Processor(_Total)\");
    tab(&terminal, r"tally get \Available; tally get Memor", r"tally get '\Memory");
    folder.write("one log.blg", b"x");
    tab(&terminal, "tally info one", r"tally info one\ log.blg ");
    for typed in [
        r"tally get '\Memory\Available MB",
        "tally get \"\\Memory\\Available MB",
        "tally get \"\\\\Memory\\\\Available MB",
        r"tally get --lang=en '\Memory\Available MB",
        r"tally get \\Memory\\Available\ MB",
    ] {
        run(&terminal, typed);
    }
}

#[test]
fn zsh_completes_paths_with_their_quotes() {
    let folder = Folder::new();
    let Some(terminal) = shell("zsh", &folder) else { return };
    tab(&terminal, "tally wat", "tally watch ");
    tab(&terminal, "tally watch --cou", "tally watch --count ");
    tab(&terminal, r"tally get '\Processor(_T", r"tally get '\Processor(_Total)\");
    tab(&terminal, "tally get Memor", r"tally get '\Memory");
    for typed in [
        r"tally get '\Memory\Available MB",
        "tally get \"\\\\Memory\\\\Available MB",
        r"tally get \\Memory\\Available\ MB",
    ] {
        run(&terminal, typed);
    }
}

#[test]
fn fish_completes_paths_with_their_quotes() {
    let folder = Folder::new();
    let Some(terminal) = shell("fish", &folder) else { return };
    tab(&terminal, "tally wat", "tally watch ");
    tab(&terminal, "tally watch --cou", "tally watch --count ");
    for typed in [
        r"tally get '\Memory\Available MB",
        "tally get \"\\Memory\\Available MB",
        r"tally get \\Memory\\Available\ MB",
    ] {
        run(&terminal, typed);
    }
}
