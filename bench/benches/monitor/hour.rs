//! Going back through an hour of a machine with 1,000 processes: what a key takes until the screen is drawn.

use std::time::{Duration, Instant};

use ratatui::crossterm::event::{Event, KeyCode};
use tallymon_bench::idle::Idle;

use crate::on_a_terminal;

const PROCESSES: usize = 1_000;
/// One sample a second.
const HOUR: usize = 3_600;
/// How often each key is pressed.
const PRESSES: usize = 60;

pub(crate) fn measure() {
    let idle = Idle::processes(PROCESSES);
    let (mut app, mut terminal, sent) = on_a_terminal();
    for _ in 0..HOUR {
        app.sample();
    }
    println!("\nback through {HOUR} samples of {} more processes, from key to drawn screen", idle.count());
    println!("{:24} {:>10} {:>10} {:>8}", "", "median", "longest", "bytes");
    let rows = [
        ("to the oldest second", vec![KeyCode::End, KeyCode::Home]),
        ("a second on", vec![KeyCode::Right]),
        ("back to now", vec![KeyCode::Home, KeyCode::End]),
        ("a second back", vec![KeyCode::Left]),
        ("a page back", vec![KeyCode::PageUp]),
    ];
    for (name, keys) in rows {
        let (mut times, mut bytes) = (Vec::new(), Vec::new());
        for _ in 0..PRESSES {
            let Some((last, before)) = keys.split_last() else { continue };
            let mut press = |code: &KeyCode| {
                app.event(&Event::Key((*code).into()));
                terminal.draw(|frame| app.draw(frame)).expect("it draws");
                while app.has_jobs() {
                    app.jobs_end(Duration::from_millis(20));
                }
            };
            before.iter().for_each(&mut press);
            sent.0.set(0);
            let begin = Instant::now();
            press(last);
            times.push(begin.elapsed());
            bytes.push(sent.0.get());
        }
        times.sort();
        bytes.sort_unstable();
        let milliseconds = |time: Option<&Duration>| time.map_or(0.0, Duration::as_secs_f64) * 1e3;
        println!(
            "{name:24} {:>7.2} ms {:>7.2} ms {:>8}",
            milliseconds(times.get(PRESSES / 2)),
            milliseconds(times.last()),
            bytes.get(PRESSES / 2).copied().unwrap_or(0)
        );
    }
}
