//! A server under load for minutes that is switched on and off all the time.

use std::io::{BufReader, Read};
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::time::{Duration, Instant};

use super::Mode;
use super::cases::cases;
use super::running::{PATIENCE, Switched, Switcher, address, ask, code_of, command, end};

/// Keeps the server under load and switches it, prints a row, and returns 1 if something was not as without a
/// profiler.
pub(super) fn run(time: Duration, folder: &Path) -> Result<u32, String> {
    let case = cases(folder)?.into_iter().find(|case| case.is_server).ok_or("there is no server here")?;
    let profile = folder.join("run.prof");
    let mut command = command(&case, Some(Mode::Switched), folder, &profile);
    let mut child = command.stderr(Stdio::inherit()).spawn().map_err(|error| error.to_string())?;
    let mut output = BufReader::new(child.stdout.take().ok_or("no output")?);
    let input = child.stdin.take();
    let address = address(&mut output);
    let (over, asked, wrong) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    let mut switcher = Switcher::new();
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for client in 0..4 {
            let (over, asked, wrong, address) = (&over, &asked, &wrong, &address);
            scope.spawn(move || {
                let mut number = client;
                while !over.load(Relaxed) {
                    let (path, status) = ask(address, number);
                    let expected = if path == "/fail" { "500" } else { "200" };
                    if status != expected && wrong.fetch_add(1, Relaxed) < 10 {
                        eprintln!("{path}: {status}");
                    }
                    number = asked.fetch_add(1, Relaxed) + client;
                }
            });
        }
        while begun.elapsed() < time && child.try_wait().is_ok_and(|status| status.is_none()) {
            switcher.look(&profile);
            std::thread::sleep(Duration::from_millis(1));
        }
        over.store(true, Relaxed);
    });
    let seconds = begun.elapsed().as_secs_f64();
    // It ends with its input.
    drop(input);
    let asked_to_end = Instant::now();
    let code = loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) => break code_of(status).to_string(),
            None if asked_to_end.elapsed() > PATIENCE => {
                end(&mut child);
                break "it stood still".into();
            }
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    let mut rest = String::new();
    output.read_to_string(&mut rest).map_err(|error| error.to_string())?;
    let switches = match switcher.switched {
        Switched::Times(times) => times,
        Switched::Refused => return Err("the profiler refuses to switch".into()),
    };
    let (asked, wrong) = (asked.into_inner(), wrong.into_inner());
    println!(
        "| runtime | program | s | requests | wrong answers | switches | switches a second | exit code |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let rate = f64::from(switches) / seconds;
    let (runtime, name) = (case.runtime, case.name);
    println!("| {runtime} | {name} | {seconds:.0} | {asked} | {wrong} | {switches} | {rate:.1} | {code} |");
    Ok(u32::from(wrong > 0 || code != "0" || asked == 0 || switches == 0))
}
