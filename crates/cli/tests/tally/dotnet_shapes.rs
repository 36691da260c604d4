//! A program of known shape: its sampled tree agrees with the one of all calls, and both with the program.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use super::dotnet::{compiled, runtimes};
use super::support::{Folder, TALLY, clean, tally};

/// Places of the tree by what their stacks have, and their shares of the time.
const PLACES: [(&[&str], f64); 5] = [
    (&[".Half("], 0.5),
    (&[".Third("], 0.3),
    (&[".Third(", ".Inner("], 0.1),
    (&[".Rest("], 0.2),
    (&[".Rest(", ".Inner("], 0.15),
];

/// The program; ended when the test is over.
struct Running(Child);

impl Running {
    fn start(mut command: std::process::Command) -> Running {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line.trim_end(), "ready");
        Running(child)
    }

    /// Ends it in order.
    fn end(mut self) {
        drop(self.0.stdin.take());
        self.0.wait().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The weight of each place, and of all rounds; `of` are the calls that count.
fn weights(file: &str, format: &str, of: &str) -> Vec<f64> {
    let stacks = tally(&["prof", "export", "-f", format, file]).data();
    let weight = |parts: &[&str]| -> f64 {
        let is_meant = |line: &&str| line.contains(of) && parts.iter().all(|part| line.contains(part));
        let lines = stacks.lines().filter(is_meant);
        lines.filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok()).sum()
    };
    PLACES.iter().map(|(parts, _)| weight(parts)).chain([weight(&[".Round("])]).collect()
}

/// The shares of the places.
fn shares(weights: &[f64]) -> Vec<f64> {
    weights.iter().take(PLACES.len()).map(|weight| weight / weights[PLACES.len()]).collect()
}

/// Both look at the same run, because a busy machine may take its time from any place of the tree.
#[test]
fn a_sampled_tree_agrees_with_the_exact_one() {
    let folder = Folder::new();
    let Some(file) = compiled(&folder, "shapes") else { return };
    for (version, dotnet) in runtimes::runtimes() {
        let (exact, sampled) =
            (folder.file(&format!("{version}.prof")), folder.file(&format!("{version}.nettrace")));
        let mut command = clean(TALLY);
        command.args(["prof", "run", "--exact", "-o", &exact, "--"]).arg(&dotnet).args(["exec", &file]);
        let running = Running::start(command);
        let all_times = || weights(&exact, "collapsed", "");
        let before = all_times();
        let process = tally(&["prof", "export", "-f", "json", &exact]).json()["process"]["pid"].to_string();
        let ran = tally(&["prof", "sample", &process, "--duration", "4s", "-o", &sampled]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let during: Vec<f64> = all_times().iter().zip(before).map(|(after, before)| after - before).collect();
        running.end();
        let calls = weights(&exact, "collapsed-calls", ".Unit(");
        let samples = weights(&sampled, "collapsed-calls", "");
        let n = samples[PLACES.len()];
        assert!(n > 200.0 && calls[PLACES.len()] > 200.0, ".NET {version}: {samples:?} {calls:?}");
        let (calls, times, samples) = (shares(&calls), shares(&during), shares(&samples));
        // An idle machine spends as much time on each unit. What a busy one adds falls on few places, and
        // on as few samples, in a row.
        let busy = calls.iter().zip(&times).map(|(calls, time)| (calls - time).abs()).fold(0.0, f64::max);
        for (at, (parts, known)) in PLACES.iter().enumerate() {
            let (calls, exact, sampled) = (calls[at], times[at], samples[at]);
            let error = (exact * (1.0 - exact) / n).sqrt();
            eprintln!(
                ".NET {version} {parts:?}: {calls:.3} of all calls, {exact:.3} of the time, {sampled:.3} of \
                 {n} samples, standard error {error:.3}, moved by the machine {busy:.3}"
            );
            // The last round may not be over.
            assert!((calls - known).abs() < 0.01, ".NET {version} {parts:?}: {calls} {known}");
            let bound = 5.0 * error + 2.0 * busy;
            assert!((sampled - exact).abs() < bound, ".NET {version} {parts:?}: {sampled} {exact}");
        }
    }
}
