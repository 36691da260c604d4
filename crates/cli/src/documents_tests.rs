//! Every command line of the documents is one that this program takes: no option of theirs is invented.

use std::fs;
use std::path::{Path, PathBuf};

use clap::CommandFactory;

use crate::command_line::Arguments;

/// The pages of a folder and below.
fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            pages(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
}

/// The lines of the code of a page that call `tally`, without their prompt. A line that ends with a backslash
/// goes on.
fn lines(page: &str) -> Vec<String> {
    let (mut is_code, mut begun) = (false, String::new());
    let mut found = Vec::new();
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
            continue;
        }
        let line = line.trim();
        let line = line.strip_prefix("$ ").unwrap_or(line);
        let line = line.strip_prefix("sudo ").unwrap_or(line);
        if !is_code || begun.is_empty() && !line.starts_with("tally ") {
            continue;
        }
        match line.strip_suffix('\\') {
            Some(part) => begun.push_str(part),
            None => found.push(std::mem::take(&mut begun) + line),
        }
    }
    found
}

/// The words of a command line, as a shell has them: up to a pipe, another command, or an explanation behind
/// several spaces.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            (letter, Some(open)) if letter == open => quote = None,
            ('\'' | '"', None) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (' ', None) => {
                words.extend(word.take());
                if letters.peek().is_some_and(|next| " #|>&;".contains(*next)) {
                    break;
                }
            }
            (';' | '>' | '|', None) => break,
            (letter, _) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

#[test]
fn words_are_those_of_a_shell() {
    let line = r#"tally get '\A B(*)\C' "x y" --json > out   # explained"#;
    assert_eq!(words(line), ["tally", "get", r"\A B(*)\C", "x y", "--json"]);
    assert_eq!(words("tally provider list     what it does"), ["tally", "provider", "list"]);
    assert_eq!(words("tally get ''; echo"), ["tally", "get", ""]);
}

#[test]
fn the_command_lines_of_the_documents_are_taken() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Vec::new();
    pages(&root.join("docs"), &mut found);
    for entry in fs::read_dir(&root).unwrap().flatten() {
        let name = entry.file_name();
        if name.to_string_lossy().starts_with("README") {
            found.push(entry.path());
        }
    }
    let (mut count, mut refused) = (0, Vec::new());
    for page in found {
        for line in lines(&fs::read_to_string(&page).unwrap()) {
            count += 1;
            let line_words = words(&line).into_iter().map(|word| word.replace("PID", "4711"));
            if let Err(error) = Arguments::whole_command().try_get_matches_from(line_words)
                && error.use_stderr()
            {
                let first = error.to_string().lines().next().unwrap_or_default().to_owned();
                refused.push(format!("{}: {line}: {first}", page.display()));
            }
        }
    }
    assert!(count > 250, "{count}");
    assert!(refused.is_empty(), "{}", refused.join("\n"));
    // The check is one: what no document may have is refused.
    assert!(Arguments::command().try_get_matches_from(["tally", "get", "--no-such-option"]).is_err());
}
