//! Every option that names a file, with something that is no file: a pipe that nobody writes to, a folder, a
//! device without an end, a socket. The command says what it is, and neither waits nor reads for ever.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tallymon_testkit::attack;
use tallymon_testkit::terminal::clean;

use super::support::{AVAILABLE, Folder, TALLY};

/// Options that read a file: the command and its arguments, `@` for the file, LOG for a sound log.
const READ: &[&str] = &[
    "get COUNTER --file @",
    "get COUNTER --log @",
    "get COUNTER --log LOG --name-table @",
    "get COUNTER -H @@",
    "watch COUNTER --log @",
    "list --log @",
    "find x --log @",
    "explain COUNTER --log @",
    "stat cpu --log @",
    "dump --file @",
    "dump @",
    "mon --settings @",
    "relog @",
    "info @",
    "stats @",
    "compare @ LOG",
    "compare LOG @",
    "analyze @",
    "analyze LOG --against @",
    "analyze LOG --rules @",
    "why 00:00:00 @",
    "report @ -o OUT",
    "report LOG --against @ --md",
    "serve @",
    "serve --token-file @",
    "serve --password-file @ --port 0",
    "serve --client-authority @ --port 0",
    "push COUNTER --otlp https://127.0.0.1:9 --count 1 --certificate @",
    "log start x --alert ALERT --webhook http://127.0.0.1:9 --webhook-token @",
    "log start x --alert ALERT --webhook @@",
    "log import @",
    "provider add @",
    "provider check @",
    "provider check --metrics http://127.0.0.1:9 --headers @",
    "provider check --metrics https://127.0.0.1:9 --certificate @",
    "provider check --metrics redis://127.0.0.1:9 --password @",
    "provider check --metrics redis://127.0.0.1 --socket @ --scrape-timeout 300",
    "provider translate @",
    "remote install ssh://127.0.0.1:9 --program @",
    "prof tree @",
    "prof report @ -o OUT",
    "prof diff @ @",
    "prof export @",
    "prof top @",
    "prof status @",
    "prof publish @",
    "prof gc @",
    "prof exceptions @",
    "prof contention @",
    "prof threads @",
    "compat typeperf -cf @ -sc 1",
    "compat typeperf -config @ COUNTER -sc 1",
    "compat relog @ -q",
    "compat relog LOG -cf @ -q",
    "compat relog LOG -config @",
    "compat logman import x -xml @",
    "compat logman create counter x -cf @",
    "compat logman create counter x -c COUNTER -config @",
    "compat lodctr @",
    "compat lodctr /R:@",
    "compat lodctr /M:@",
    "compat lodctr /L:009 /C:@ /H:@",
    "compat unlodctr /M:@",
];

/// Options that write a file. A pipe and a device take what is written, as in a shell.
const WRITE: &[&str] = &[
    "watch COUNTER --count 1 -o @",
    "relog LOG -o @",
    "report LOG -o @",
    "report LOG --md -o @",
    "dump --raw @",
    "provider export @",
    "push COUNTER --otlp http://127.0.0.1:9 --count 1 --queue @/x",
    "serve --samba @/x",
    "man --output @/x/x",
    "compat typeperf COUNTER -sc 1 -o @",
    "compat relog LOG -o @",
    "compat lodctr /S:@",
];

/// Options that are in the help and not above: they need a terminal, a program or a session first, or name
/// what is on another machine.
const OTHERS: &[&str] = &["--binary", "--dir", "--library", "--to"];

fn run(words: &str, file: &str, folder: &Folder) -> (Option<i32>, String) {
    let (log, out) = (folder.file("sound.csv"), folder.file("out"));
    let arguments = words.split(' ').map(|word| match word {
        "COUNTER" => AVAILABLE.to_string(),
        "ALERT" => format!("{AVAILABLE} > 90"),
        "LOG" => log.clone(),
        "OUT" => out.clone(),
        "@@" => format!("@{file}"),
        word => word.replace('@', file),
    });
    let mut command: Command = clean("sh");
    command.args(["-c", r#"ulimit -v 4000000; exec "$0" "$@""#, TALLY]).args(arguments);
    command.env("TALLY_ROOT", folder.file("root")).stdin(Stdio::null()).stdout(Stdio::null());
    let errors = fs::File::create(folder.file("errors")).unwrap();
    let mut child = command.stderr(errors).spawn().unwrap();
    let begin = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if begin.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("tally {words}: it does not end with {file}");
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    (status.code(), fs::read_to_string(folder.file("errors")).unwrap())
}

#[test]
fn attack_with_pipes_folders_devices_and_sockets_as_files() {
    let folder = Folder::new();
    let row = |second: u8| format!("\"03/01/2026 00:00:0{second}.000\",\"1\"\r\n");
    let log = format!("\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\h\\o\\c\"\r\n{}{}", row(0), row(1));
    folder.write("sound.csv", log.as_bytes());
    let [pipe, directory, device, socket] =
        ["pipe", "folder", "device", "socket"].map(|name| folder.file(name));
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    fs::create_dir(&directory).unwrap();
    symlink("/dev/zero", &device).unwrap();
    let _listener = UnixListener::bind(&socket).unwrap();
    let refused = |words: &str, file: &str| {
        let (code, errors) = run(words, file, &folder);
        assert!(code.is_some_and(|code| code != 0), "tally {words}: {code:?} with {file}: {errors}");
        // The device is named where its link leads.
        let is_named = errors.contains(file) || errors.contains("/dev/zero");
        assert!(is_named && !errors.contains("panicked"), "tally {words}: {file}: {errors}");
    };
    for words in READ {
        for file in [&pipe, &directory, &device, &socket] {
            refused(words, file);
        }
    }
    for words in WRITE {
        for file in [&socket, &directory] {
            // In a folder files can be made.
            if file == &socket || !words.contains("@/x") {
                refused(words, file);
            }
        }
    }
    attack(
        "logs and other files",
        "a pipe, a folder, a device without an end or a socket as the file of each option",
        "refused by name; nothing waits, and nothing is read for ever",
    );
}

/// The options with files and folders that the help of a command names, and those of its commands.
fn options(words: &[String], found: &mut BTreeSet<String>) {
    let mut command = clean(TALLY);
    let out = command.args(words).arg("--help").output().unwrap();
    let help = String::from_utf8(out.stdout).unwrap();
    for line in help.lines().filter(|line| line.contains("<FILE>") || line.contains("<FOLDER>")) {
        let option = line.split([' ', ',']).find(|word| word.starts_with("--"));
        found.extend(option.map(str::to_string));
    }
    let commands = help.split_once("\nCommands:\n").map_or("", |(_, rest)| rest);
    let names =
        commands.lines().take_while(|line| !line.is_empty()).filter_map(|line| line.strip_prefix("  "));
    for name in
        names.filter_map(|line| line.split(' ').next()).filter(|name| !name.is_empty() && *name != "help")
    {
        options(&[words, &[name.to_string()]].concat(), found);
    }
}

#[test]
fn every_option_with_a_file_is_tried() {
    let mut found = BTreeSet::new();
    options(&[], &mut found);
    assert!(found.len() > 8, "{found:?}");
    let tried: BTreeSet<String> = READ
        .iter()
        .chain(WRITE)
        .flat_map(|words| words.split(' '))
        .chain(OTHERS.iter().copied())
        .filter(|word| word.starts_with("--"))
        .map(str::to_string)
        .collect();
    let missing: Vec<&String> = found.difference(&tried).collect();
    assert!(missing.is_empty(), "add them to READ or WRITE: {missing:?}");
}
