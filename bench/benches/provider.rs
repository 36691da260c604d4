//! The cost of a separate process for a provider library: Collect through it, compared with Collect in this
//! process, for answers of several lengths. The library copies a prepared answer, so the time is almost all
//! transport.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use tallymon_provider::library::child;
use tallymon_provider::library::client::{self, Client, Isolation, Meant, Outcome, Settings, Times};
use tallymon_provider::library::client::{InProcess, Indexes};
use tallymon_provider::library::protocol::Load;

/// Marks a run of this program as the one that loads libraries.
const CHILD: &str = "TALLYMON_BENCH_CHILD";
const CALLS: usize = 2_000;
const LENGTHS: [u32; 4] = [184, 4 << 10, 256 << 10, 4 << 20];

/// One object of LENGTH bytes, of which only the header is meaningful.
const SOURCE: &str = r"
#include <stdint.h>
#include <string.h>
static uint32_t answer[LENGTH / 4] = { LENGTH, 64, 64, 1848 };
uint32_t Open(uint16_t *context) { return 0; }
uint32_t Collect(uint16_t *query, void **data, uint32_t *bytes, uint32_t *objects)
{
    if (*bytes < sizeof answer) { *bytes = *objects = 0; return 234; }
    memcpy(*data, answer, sizeof answer);
    *data = (char *)*data + sizeof answer;
    *bytes = sizeof answer;
    *objects = 1;
    return 0;
}
uint32_t Close(void) { return 0; }
";

fn main() -> std::process::ExitCode {
    if std::env::var_os(CHILD).is_some() {
        return child::serve();
    }
    // `cargo bench` passes --bench; `cargo test` passes --test, and nothing runs then.
    if std::env::args().any(|argument| argument == "--test") {
        return std::process::ExitCode::SUCCESS;
    }
    let folder = std::env::temp_dir().join(format!("tallymon-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("it can be made");
    println!(
        "{:>12}{:>14}{:>14}{:>14}{:>16}",
        "bytes", "child µs", "in process µs", "added µs", "added µs a MB"
    );
    let mut empty = 0.0;
    for length in LENGTHS {
        let library = compile(&folder, length);
        let (through, here) = (through_child(&library), in_process(&library));
        let added = through - here;
        if length == LENGTHS[0] {
            empty = added;
        }
        // For a few bytes the difference is smaller than the noise of the machine.
        let megabytes = f64::from(length) / f64::from(1 << 20);
        let each =
            if megabytes < 0.1 { String::new() } else { format!("{:.0}", (added - empty) / megabytes) };
        println!("{length:>12}{through:>14.1}{here:>14.1}{added:>14.1}{each:>16}");
    }
    let _ = std::fs::remove_dir_all(&folder);
    std::process::ExitCode::SUCCESS
}

fn compile(folder: &Path, length: u32) -> Load {
    let (source, library): (PathBuf, PathBuf) =
        (folder.join("library.c"), folder.join(format!("lib{length}.so")));
    std::fs::write(&source, SOURCE).expect("there is room");
    let status = Command::new("cc")
        .args(["-O2", "-shared", "-fPIC", &format!("-DLENGTH={length}")])
        .arg(&source)
        .arg("-o")
        .arg(&library)
        .status();
    assert!(status.is_ok_and(|status| status.success()), "a C compiler, cc, is needed");
    let name = |name: &str| name.to_string();
    let library = library.display().to_string();
    Load { library, open: name("Open"), collect: name("Collect"), close: name("Close"), context: None }
}

/// Median time of a call in microseconds.
fn median(mut call: impl FnMut()) -> f64 {
    call();
    let mut times: Vec<Duration> = (0..CALLS)
        .map(|_| {
            let start = Instant::now();
            call();
            start.elapsed()
        })
        .collect();
    times.sort();
    times[CALLS / 2].as_secs_f64() * 1e6
}

fn through_child(load: &Load) -> f64 {
    let patience = Duration::from_secs(10);
    let mut client = Client::new(Settings {
        program: std::env::current_exe().expect("it has a path"),
        load: load.clone(),
        isolation: Isolation::SameUser,
        in_process: None,
        environment: vec![(CHILD.to_string(), "1".to_string())],
        times: Times {
            answer: patience,
            first_answer: patience,
            first_of_all: patience,
            collect: patience,
            open: patience,
        },
    });
    median(|| {
        client.ask("Global", Meant::ByName);
        client::wait(&mut [&mut client]);
        match client.outcome() {
            Outcome::Answered(answered) => black_box(answered),
            other => panic!("{other:?}"),
        };
    })
}

fn in_process(load: &Load) -> f64 {
    let mut library = InProcess::load(load, &Indexes::default()).expect("it can be loaded");
    median(|| {
        black_box(library.collect("Global").expect("it answers"));
    })
}
