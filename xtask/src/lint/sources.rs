//! Checks of the source files themselves: names of test files, module files, line lengths, the table of
//! unsafe files, and the tests that `docs/fidelity.md` names.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::root;

/// The folders that hold Rust sources.
const FOLDERS: &[&str] = &["crates", "examples", "xtask", "fuzz", "bench", "bindings"];

/// The longest line, in columns, and how many of 1,000 lines may be longer (a link or a table has no other
/// place to break).
const COLUMNS: usize = 110;
const LONG_LINES_PER_1000: usize = 1;

/// Crates whose files do not follow these rules yet. `lint` lists their problems and does not fail.
const UNFINISHED: &[&str] = &[];

/// One Rust file of the workspace.
pub(super) struct SourceFile {
    /// Its path from the root of the workspace, with `/`.
    pub(super) path: String,
    pub(super) text: String,
}

impl SourceFile {
    pub(super) fn parse(&self) -> Result<syn::File, String> {
        syn::parse_file(&self.text)
            .map_err(|error| format!("{}:{}: {error}", self.path, error.span().start().line))
    }
}

/// A rule that a file or a crate breaks.
struct Problem {
    /// The path of the file or crate, to which [`UNFINISHED`] applies.
    path: String,
    words: String,
}

/// Checks every Rust file in the workspace.
pub(super) fn check() -> Result<(), String> {
    let files = read_sources()?;
    let mut problems = Vec::new();
    problems.extend(files.iter().flat_map(|file| test_file_names(file, &files)));
    problems.extend(files.iter().filter_map(|file| module_file(file, &files)));
    problems.extend(long_lines(&files));
    problems.extend(files.iter().flat_map(direct_output));
    let (unfinished, failed): (Vec<_>, Vec<_>) =
        problems.into_iter().partition(|problem| UNFINISHED.contains(&crate_of(&problem.path)));
    let mut failed: Vec<String> = failed.into_iter().map(|problem| problem.words).collect();
    failed.extend(unsafe_table(&files)?);
    failed.extend(choices_in_functions(&files)?);
    failed.extend(super::imports::check(&files)?);
    failed.extend(super::fidelity::check(&files)?);
    for problem in unfinished {
        eprintln!("  not yet: {}", problem.words);
    }
    if failed.is_empty() { Ok(()) } else { Err(format!("source files:\n  {}", failed.join("\n  "))) }
}

pub(super) fn read_sources() -> Result<Vec<SourceFile>, String> {
    let mut files = Vec::new();
    for folder in FOLDERS {
        read_folder(&root().join(folder), &mut files)?;
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn read_folder(folder: &Path, files: &mut Vec<SourceFile>) -> Result<(), String> {
    let fail = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    for entry in fs::read_dir(folder).map_err(|error| fail(folder, error))? {
        let path = entry.map_err(|error| fail(folder, error))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            // Builds, and the packages of npm and Python.
            if name != "target" && name != "node_modules" && !name.starts_with('.') {
                read_folder(&path, files)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).map_err(|error| fail(&path, error))?;
            let path = path.strip_prefix(root()).unwrap_or(&path).to_string_lossy().replace('\\', "/");
            files.push(SourceFile { path, text });
        }
    }
    Ok(())
}

/// The folder of the package that a file belongs to, such as `crates/core`.
fn crate_of(path: &str) -> &str {
    let depth = if path.starts_with("fuzz") || path.starts_with("bench") || path.starts_with("xtask") {
        1
    } else {
        2
    };
    match path.match_indices('/').nth(depth - 1) {
        Some((end, _)) => &path[..end],
        None => path,
    }
}

/// A module that only tests have, and that holds tests, is a file `*_tests.rs`, so that a search can leave
/// tests out.
fn test_file_names(file: &SourceFile, files: &[SourceFile]) -> Vec<Problem> {
    if !file.path.contains("/src/") {
        return Vec::new();
    }
    let mut problems = Vec::new();
    let mut for_tests = false;
    let mut named: Option<&str> = None;
    for line in file.text.lines().map(str::trim) {
        if line.starts_with("#[cfg(test)]") || line.starts_with("#[cfg(all(test") {
            for_tests = true;
        } else if let Some(path) = line.strip_prefix("#[path = \"") {
            named = path.strip_suffix("\"]");
        } else if !line.starts_with("#[") && !line.starts_with("//") {
            let module =
                line.strip_suffix(';').and_then(|line| line.split_once("mod ")).map(|(_, name)| name);
            if let Some(module) = module.filter(|_| for_tests) {
                let modules = module_paths(&file.path, module, named);
                let holds_tests = |path: &String| {
                    files.iter().any(|file| file.path == *path && file.text.contains("#[test]"))
                };
                let is_named = |path: &String| path.ends_with("_tests.rs") || path.ends_with("_tests/mod.rs");
                if let Some(path) = modules.iter().find(|path| holds_tests(path) && !is_named(path)) {
                    let words = format!("{path}: a file of tests is named *_tests.rs");
                    problems.push(Problem { path: path.clone(), words });
                }
            }
            for_tests = false;
            named = None;
        }
    }
    problems
}

/// Where the file of `mod <module>;` can be.
pub(super) fn module_paths(parent: &str, module: &str, named: Option<&str>) -> Vec<String> {
    let (folder, file) = parent.rsplit_once('/').unwrap_or(("", parent));
    if let Some(named) = named {
        return vec![format!("{folder}/{named}")];
    }
    let folder = match file {
        "mod.rs" | "lib.rs" | "main.rs" => folder.to_string(),
        file => format!("{folder}/{}", file.trim_end_matches(".rs")),
    };
    vec![format!("{folder}/{module}.rs"), format!("{folder}/{module}/mod.rs")]
}

/// A module with a folder of its own is the file `mod.rs` in that folder.
fn module_file(file: &SourceFile, files: &[SourceFile]) -> Option<Problem> {
    let folder = format!("{}/", file.path.strip_suffix(".rs")?);
    let has_folder = file.path.contains("/src/") && files.iter().any(|other| other.path.starts_with(&folder));
    has_folder.then(|| Problem {
        path: file.path.clone(),
        words: format!("{}: a module with a folder is the file {folder}mod.rs", file.path),
    })
}

/// The files of the faces that may use the standard streams: the borders to the terminal.
const BORDERS: &[&str] = &["crates/cli/src/border.rs", "crates/monitor/src/term/terminal.rs"];

/// The places of libraries that print: the program that reads provider libraries, and the profiler, whose
/// program has no other place for what does not work.
const PRINTING: &[&str] = &["crates/provider/src/library/child/", "crates/clr/src/session/mod.rs"];

/// Places in a face that write past its border, so that a name from outside would reach the terminal as it
/// is; and places in libraries that print at all.
fn direct_output(file: &SourceFile) -> Vec<Problem> {
    let is_in = |places: &[&str]| places.iter().any(|place| file.path.starts_with(place));
    let is_product = file.path.starts_with("crates/") && file.path.contains("/src/");
    let is_for_tests = file.path.contains("tests") || file.path.starts_with("crates/testkit/");
    if !is_product || is_for_tests || is_in(BORDERS) || is_in(PRINTING) {
        return Vec::new();
    }
    let what = if is_in(&["crates/cli/src/", "crates/monitor/src/"]) {
        "writes past border.rs"
    } else {
        "a library prints"
    };
    let code = file.text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let problem = |line: &str| Problem {
        path: file.path.clone(),
        words: format!("{}: {what}: {}", file.path, line.trim()),
    };
    code.lines().filter(|line| is_printing(line)).map(problem).collect()
}

/// Whether a line of code uses a standard stream to write.
fn is_printing(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    let code = code.replace("stdout().is_terminal", "").replace("stderr().is_terminal", "");
    ["println!", "eprint", "io::stdout()", "io::stderr()", " stdout()", " stderr()", " print!"]
        .iter()
        .any(|word| code.contains(word))
}

/// Whether a line may be a choice in a function; reading all sources as Rust takes seconds.
fn may_choose(line: &str) -> bool {
    line.contains("cfg!") || (line.starts_with(' ') && line.contains("#[cfg"))
}

/// Functions of products that choose by platform: a file or an item does that, so that each of them can be
/// read alone.
fn choices_in_functions(files: &[SourceFile]) -> Result<Vec<String>, String> {
    let is_product = |file: &&SourceFile| {
        file.path.starts_with("crates/")
            && file.path.contains("/src/")
            && !file.path.starts_with("crates/testkit/")
            && !file.path.contains("tests")
            && file.text.lines().any(may_choose)
    };
    let mut problems = Vec::new();
    for file in files.iter().filter(is_product) {
        let lines = super::platform::choices(&file.parse()?);
        let words = |line| format!("{}:{line}: cfg inside a function; choose an item or a file", file.path);
        problems.extend(lines.into_iter().map(words));
    }
    Ok(problems)
}

/// Whether a line does not fit, and could be broken: tables of documentation and raw strings cannot.
fn is_too_long(line: &str) -> bool {
    let text = line.trim_start();
    let is_table = text.starts_with("//! |") || text.starts_with("/// |");
    line.chars().count() > COLUMNS
        && !is_table
        && ![" r\"", "(r\"", " r#\"", "(r#\""].iter().any(|raw| text.contains(raw))
}

/// Lines that do not fit, counted for each crate.
fn long_lines(files: &[SourceFile]) -> Vec<Problem> {
    let mut counts: BTreeMap<&str, (usize, usize, &str)> = BTreeMap::new();
    for file in files {
        let (all, long, first) = counts.entry(crate_of(&file.path)).or_insert((0, 0, ""));
        let too_long = file.text.lines().filter(|line| is_too_long(line)).count();
        *all += file.text.lines().count();
        *long += too_long;
        if too_long > 0 && first.is_empty() {
            *first = &file.path;
        }
    }
    let allowed = |all: usize| (all * LONG_LINES_PER_1000).div_ceil(1000);
    let counts = counts.into_iter().filter(|(_, (all, long, _))| *long > allowed(*all));
    counts
        .map(|(path, (all, long, first))| Problem {
            path: path.to_string(),
            words: format!(
                "{path}: {long} of {all} lines are longer than {COLUMNS} columns, {} may be (first: {first})",
                allowed(all)
            ),
        })
        .collect()
}

/// The files with unsafe code are those that the table of crates in ARCHITECTURE.md names.
fn unsafe_table(files: &[SourceFile]) -> Result<Vec<String>, String> {
    let page = root().join("ARCHITECTURE.md");
    let text = fs::read_to_string(&page).map_err(|error| format!("{}: {error}", page.display()))?;
    let allowed = allowed_unsafe(&text);
    if allowed.is_empty() {
        return Err("ARCHITECTURE.md: the table of crates has no column `unsafe` with files".to_string());
    }
    let fits = |path: &str, entry: &str| path == entry || entry.ends_with('/') && path.starts_with(entry);
    let has: Vec<&str> = files
        .iter()
        .filter(|file| file.path.starts_with("crates/") && file.path.contains("/src/"))
        .filter(|file| file.text.lines().any(is_unsafe))
        .map(|file| file.path.as_str())
        .collect();
    let mut problems: Vec<String> = has
        .iter()
        .filter(|path| !allowed.iter().any(|entry| fits(path, entry)))
        .map(|path| format!("{path}: has unsafe code, and the table in ARCHITECTURE.md does not name it"))
        .collect();
    let unused = allowed.iter().filter(|entry| !has.iter().any(|path| fits(path, entry)));
    problems.extend(
        unused.map(|entry| format!("ARCHITECTURE.md: {entry} is said to have unsafe code and has none")),
    );
    Ok(problems)
}

/// The paths in the column `unsafe` of the table of crates; folders end with `/`.
fn allowed_unsafe(page: &str) -> Vec<String> {
    let rows = page.lines().skip_while(|line| !(line.starts_with("| crate ") && line.contains("| unsafe |")));
    let rows = rows.skip(2).take_while(|line| line.starts_with('|'));
    let mut paths = Vec::new();
    for row in rows {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [_, names, .., files, _] = cells.as_slice() else { continue };
        for name in names.split(',').map(str::trim).filter(|name| !name.contains("examples/")) {
            let quoted = files.split('`').skip(1).step_by(2);
            paths.extend(quoted.map(|file| format!("crates/{name}/src/{file}")));
        }
    }
    paths
}

/// Whether a line of code, not of a comment, opens something unsafe.
fn is_unsafe(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    ["unsafe {", "unsafe fn", "unsafe impl", "unsafe extern", "unsafe trait", "#[unsafe("]
        .iter()
        .any(|word| code.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(path: &str, text: &str) -> usize {
        direct_output(&SourceFile { path: path.to_string(), text: text.to_string() }).len()
    }

    #[test]
    fn libraries_do_not_print() {
        let printing = [
            "fn f() { println!(); }",
            "fn f() { let _ = writeln!(std::io::stderr(), \"x\"); }",
            "#[cfg(test)]\nmod some_tests;\nfn f() { eprintln!(); }",
            "fn f() { let mut out = stdout(); }",
        ];
        for text in printing {
            assert_eq!(problems("crates/log/src/open.rs", text), 1, "{text}");
            assert_eq!(problems("crates/cli/src/words.rs", text), 1, "{text}");
            for other in
                ["crates/cli/src/border.rs", "crates/provider/src/library/child/mod.rs", "xtask/src/main.rs"]
            {
                assert_eq!(problems(other, text), 0, "{other}: {text}");
            }
        }
        for text in [
            "// println!()",
            "fn f() -> bool { std::io::stdout().is_terminal() }",
            "fn f() { command.stdout(Stdio::null()); }",
            "#[cfg(test)]\nmod tests {\n    fn f() { println!(); }\n}",
        ] {
            assert_eq!(problems("crates/log/src/open.rs", text), 0, "{text}");
        }
    }
}
