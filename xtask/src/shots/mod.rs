//! `cargo xtask shots`: pictures of the program in a terminal, for the README.
//!
//! The program runs in tmux. The task types keys, reads the screen with its colours, and draws it as SVG. A
//! film is all screens of a run in one file, which browsers and GitHub show one after the other.
//! With `rsvg-convert` on the path, it also writes each picture as PNG to `target/shots`, to look at.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

mod svg;

use crate::terminal::Terminal;
use crate::{cargo, root, run as execute, target_folder};

/// A picture: its name, the arguments of `tally` (`LOGS` is the folder of sample logs, `PROFILE` the file of
/// a running .NET program), and the keys to type, each with the seconds to wait before it.
struct Shot {
    name: &'static str,
    arguments: &'static str,
    keys: &'static [(u64, &'static [&'static str])],
    /// Columns and rows.
    size: (usize, usize),
    /// Whether all screens are kept, and not only the last one.
    is_film: bool,
}

impl Shot {
    /// The last screen.
    const fn of(
        name: &'static str,
        arguments: &'static str,
        keys: &'static [(u64, &'static [&'static str])],
    ) -> Shot {
        Shot { name, arguments, keys, size: (110, 32), is_film: false }
    }
}

/// Instead of a key: moves the cursor to the left until the selected line is high.
const TO_SPIKE: &str = "to the spike";
/// Per cent from which on a line is high.
const HIGH: f64 = 75.0;

const BUSY: &str = r"mon '\Processor(_Total)\% Processor Time' '\System\Context Switches/sec' '\Memory\Available MBytes' '\PhysicalDisk(_Total)\Disk Bytes/sec' '\Process(_Total)\Thread Count' -i 250ms";

const SHOTS: &[Shot] = &[
    Shot { size: (140, 42), ..Shot::of("overview", "mon -i 1s", &[(30, &[])]) },
    // From the overview to the chart, to the spike, to who caused it, and back.
    Shot {
        is_film: true,
        ..Shot::of(
            "film",
            "mon -i 1s",
            &[(24, &["g"]), (5, &[TO_SPIKE]), (2, &["Enter"]), (4, &["o"]), (3, &[])],
        )
    },
    Shot::of("graph", BUSY, &[(20, &["BSpace"])]),
    Shot::of("spike", BUSY, &[(18, &[TO_SPIKE, "Enter"])]),
    Shot::of("table", r"mon '\Process(_Total)\% Processor Time' -i 1s", &[(2, &["T"]), (4, &[])]),
    Shot::of("add", BUSY, &[(4, &["a"]), (1, &["프로세서", "Space", "시간"]), (1, &["Down"]), (2, &[])]),
    Shot::of(
        "log",
        r"mon --log LOGS/Tx_BasicPerfCounters.blg '\Processor(*)\% Processor Time'",
        &[(2, &["G"]), (1, &["Down", ":"]), (1, &["02:55:30", "Enter"]), (1, &[])],
    ),
    Shot::of("prof-top", "prof top PROFILE", &[(5, &[])]),
];

/// Unmounts what is not part of any Linux, in a name space of its own.
const HIDE: &str = "cut -d\\  -f2 /proc/mounts | grep -Ev \"^/($|proc|sys|dev)\" | sort -r | \
                    xargs -r umount -l 2>/dev/null; ";

/// How many seconds of a film are left out at its begin, and how often it is looked at.
const SILENT: f64 = 18.0;
const LOOK: Duration = Duration::from_millis(500);

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

pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    execute(cargo().args(["build", "--release", "--package", "tallymon-cli", "--package", "tallymon-clr"]))?;
    let target = target_folder();
    let built = target.join("release");
    let tally = built.join("tally");
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
        let is_live = shot.arguments.starts_with("mon ") && !shot.arguments.contains("LOGS");
        let work = if is_live { WORK } else { "" };
        let line = format!(
            "exec env -u NO_COLOR COLORTERM=truecolor TZ=UTC PATH='{}':\"$PATH\" tally {arguments}\n",
            built.display()
        );
        fs::write(&script, format!("{work}{line}"))
            .map_err(|error| format!("{}: {error}", script.display()))?;
        let screens = take(shot, &script, !work.is_empty())?;
        let file = folder.join(format!("{}.svg", shot.name));
        if let Some(mut program) = program {
            program.wait().map_err(|error| format!("{}: {error}", shot.name))?;
        }
        let picture = match screens.last() {
            Some((last, _)) if !shot.is_film => svg::still(last, shot.size),
            _ => svg::film(&screens, shot.size),
        };
        fs::write(&file, picture).map_err(|error| format!("{}: {error}", file.display()))?;
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

/// Runs the program in a terminal, types, and reads its screens with colours, each with the seconds that it
/// stays.
fn take(shot: &Shot, script: &Path, alone: bool) -> Result<Vec<(String, f64)>, String> {
    // For root only; others see all processes of the machine.
    let namespace = ["--pid", "--fork", "--mount", "--mount-proc", "--kill-child"];
    let has_own =
        Command::new("unshare").args(namespace).arg("true").status().is_ok_and(|status| status.success());
    let prefix = if alone && has_own { format!("unshare {} ", namespace.join(" ")) } else { String::new() };
    // Pictures name no folder of this machine: neither that of the script nor what else is mounted.
    let (folder, name) = (script.parent().unwrap_or(script), script.file_name().unwrap_or_default());
    let hide = if prefix.is_empty() { "" } else { HIDE };
    let command = format!("cd '{}' && {prefix}sh -c '{hide}exec sh {}'", folder.display(), name.display());
    let mut camera = Camera {
        terminal: Terminal::start(shot.size.0, shot.size.1, &command)?,
        begun: Instant::now(),
        screens: Vec::new(),
        is_film: shot.is_film,
    };
    for (seconds, keys) in shot.keys {
        camera.wait(Duration::from_secs(*seconds))?;
        for key in *keys {
            if *key != TO_SPIKE {
                camera.terminal.press(key)?;
                continue;
            }
            for _ in 0..shot.size.0 / 2 {
                camera.terminal.press("Left")?;
                camera.wait(Duration::from_millis(150))?;
                if chosen_value(&camera.terminal.screen()?).is_some_and(|value| value >= HIGH) {
                    break;
                }
            }
        }
    }
    camera.wait(Duration::from_millis(700))?;
    camera.look()?;
    Ok(camera.screens)
}

/// Looks at a terminal.
struct Camera {
    terminal: Terminal,
    begun: Instant,
    /// The screens, each with the seconds that it stays.
    screens: Vec<(String, f64)>,
    is_film: bool,
}

impl Camera {
    /// Lets time pass, and keeps what is seen meanwhile if that is wanted.
    fn wait(&mut self, time: Duration) -> Result<(), String> {
        let end = Instant::now() + time;
        while let Some(left) = end.checked_duration_since(Instant::now()) {
            sleep(left.min(LOOK));
            if self.is_film && self.begun.elapsed().as_secs_f64() > SILENT {
                self.look()?;
            }
        }
        Ok(())
    }

    /// Keeps the screen as it is now.
    fn look(&mut self) -> Result<(), String> {
        let screen = self.terminal.coloured_screen()?;
        match self.screens.last_mut() {
            Some((last, seconds)) if *last == screen => *seconds += LOOK.as_secs_f64(),
            _ => self.screens.push((screen, LOOK.as_secs_f64())),
        }
        Ok(())
    }
}

/// The value of the selected line in the legend on the screen.
fn chosen_value(screen: &str) -> Option<f64> {
    let line = screen.lines().find(|line| line.starts_with('▶'))?;
    line.trim_end().trim_end_matches('%').split_whitespace().last()?.parse().ok()
}
