//! `behemoth`: the service, its manager, and a demonstration that starts everything.

#[cfg(target_os = "linux")]
mod demo;

/// The usage message.
#[cfg(target_os = "linux")]
const HELP: &str = "\
behemoth demo [--still] [--once] [--root FOLDER] [--library FILE]
                                                   starts everything and shows it
behemoth serve [--seed N] [--number N] [--steps N] [--slow N] [--while-input]
                                                   the service alone; until its input ends
behemoth list                                      everybody alive
behemoth feed NAME KILOGRAMS                       gives it something to eat
behemoth add female|male [NAME]                    an adult walks in
behemoth remove NAME                               it goes away for good
behemoth slow N                                    a step takes N tenths of a second; 0 stands still
behemoth install FOLDER [LIBRARY]                  writes what tally lodctr needs
";

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    use std::io::Write;
    use std::process::ExitCode;

    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments) {
        // A reader that stops reading early is not an error.
        Ok(output) => match std::io::stdout().write_all(output.as_bytes()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        },
        Err(error) => {
            eprintln!("behemoth: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the command in the arguments, and returns the final output.
#[cfg(target_os = "linux")]
fn run(arguments: &[&str]) -> Result<String, Box<dyn std::error::Error>> {
    use behemoth::manager::{list, tell};
    use behemoth::service::Service;
    use behemoth::socket;

    let path = socket::path();
    let answer = match arguments {
        [] | ["help" | "--help" | "-h"] => return Ok(HELP.to_string()),
        ["demo", options @ ..] => return Ok(demo::run(options)?),
        ["serve", options @ ..] => {
            Service::start(&serve_options(options)?)?.live()?;
            return Ok(String::new());
        }
        ["install", folder] => return Ok(demo::install(folder.as_ref(), None)?),
        ["install", folder, library] => return Ok(demo::install(folder.as_ref(), Some(library.as_ref()))?),
        ["list"] => list(&path),
        ["feed" | "add" | "remove" | "slow", ..] => tell(&path, arguments),
        [other, ..] => return Err(format!("{other:?} is no command\n{HELP}").into()),
    };
    use std::io::ErrorKind::{ConnectionRefused, NotFound};
    answer.map_err(|error| match error.kind() {
        NotFound | ConnectionRefused => {
            format!("no service listens at {}: start one with behemoth serve", path.display()).into()
        }
        _ => error.into(),
    })
}

#[cfg(target_os = "linux")]
fn serve_options(options: &[&str]) -> Result<behemoth::service::Options, String> {
    let mut wanted = behemoth::service::Options {
        seed: 2003,
        number: 8,
        steps: 0,
        slow: 1,
        socket: behemoth::socket::path(),
    };
    let mut options = options.iter();
    while let Some(option) = options.next() {
        if *option == "--while-input" {
            std::thread::spawn(|| {
                // The service ends when its input ends.
                let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
                std::process::exit(0);
            });
            continue;
        }
        let value = options.next().and_then(|text| text.parse::<u32>().ok());
        let value = value.ok_or(format!("a number needed behind {option}"))?;
        match *option {
            "--seed" => wanted.seed = u64::from(value),
            "--number" => wanted.number = value.min(100),
            // One month.
            "--steps" => wanted.steps = value.min(25_920_000),
            "--slow" => wanted.slow = value,
            other => return Err(format!("{other} is no option\n{HELP}")),
        }
    }
    Ok(wanted)
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("the behemoths need Linux: they publish in shared memory and answer at a Unix socket");
}
