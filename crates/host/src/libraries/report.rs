//! Events about libraries that did not answer, and the same in words.

use tallymon_provider::library::client::{CLOSE_TIME, Client, Closed, Exit, Function};
use tallymon_provider::library::event::{self, Event};
use tallymon_provider::library::protocol::{Loaded, Stage};

use crate::registry::Service;

/// The events of a library that could not be loaded, and the same in words.
pub(super) fn not_loaded(loaded: &Loaded, service: &Service) -> (Vec<Event>, String) {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let (error, library) = (loaded.error.to_string(), text(&service.library));
    let (library, service, names) = (
        library.as_str(),
        service.name.as_str(),
        [&service.open, &service.collect, &service.close].map(text),
    );
    let [open, collect, close] = &names;
    let event = match loaded.stage {
        Stage::Library => Event::new(&event::NOT_LOADED, [library, &error]),
        Stage::NoOpen => Event::new(&event::NO_OPEN, [open, library, service, &error]),
        Stage::NoCollect => Event::new(&event::NO_COLLECT, [collect, library, service, &error]),
        Stage::NoClose => Event::new(&event::NO_CLOSE, [close, library, service, &error]),
        Stage::Open | Stage::OpenFailed => Event::new(&event::OPEN_FAILED, [service, library, &error]),
    };
    let event = event.with_detail(loaded.detail.as_str());
    let words = event.to_string();
    (vec![event], words)
}

/// The events of a library whose process ended, and the same in words.
pub(super) fn crashed(during: Function, exit: Exit, service: &str, library: &str) -> (Vec<Event>, String) {
    let kind = match during {
        Function::Open => &event::OPEN_CRASHED,
        Function::Collect => &event::COLLECT_CRASHED,
        Function::Close => &event::CLOSE_CRASHED,
    };
    let detail = match exit {
        Exit { signal: Some(signal), .. } => format!("its process ended with signal {signal}"),
        Exit { code: Some(code), .. } => format!("its process ended with exit code {code}"),
        Exit { .. } => "its process closed its connection".to_string(),
    };
    let code = format!("{:#010x}", exception(exit));
    let event = Event::new(kind, [library, service, &code, ""]).with_detail(&detail);
    (vec![event], detail)
}

/// The events of a library that was to call Close.
pub(super) fn report_closed(closed: Closed, service: &Service) -> Vec<Event> {
    let library = service.library.as_deref().unwrap_or_default();
    match closed {
        Closed::Well => Vec::new(),
        Closed::Crashed(exit) => crashed(Function::Close, exit, &service.name, library).0,
        Closed::Hung => {
            let detail = format!("it had {} ms", CLOSE_TIME.as_millis());
            vec![Event::new(&event::CLOSE_LATE, [&service.name, library]).with_detail(detail)]
        }
    }
}

/// The events for what a library has printed and for what it tried and may not do, since the last call.
pub(super) fn side_effects(client: &mut Client, service: &Service) -> Vec<Event> {
    let library = service.library.as_deref().unwrap_or_default();
    let mut events = printed_events(&client.take_printed(), service);
    let attempts = client.take_attempts().into_iter();
    events.extend(attempts.map(|kind| Event::new(&event::ATTEMPT, [&service.name, library, kind.words()])));
    events
}

/// The events for what a library has printed: one for each line, equal lines together, and one for those that
/// are left out.
fn printed_events(printed: &[u8], service: &Service) -> Vec<Event> {
    const MOST_LINES: usize = 16;
    const LONGEST_LINE: usize = 500;
    let text = String::from_utf8_lossy(printed);
    let mut lines: Vec<(&str, usize)> = Vec::new();
    for line in text.lines().map(str::trim_end).filter(|line| !line.is_empty()) {
        match lines.last_mut() {
            Some((last, count)) if *last == line => *count = count.saturating_add(1),
            _ => lines.push((line, 1)),
        }
    }
    let library = service.library.as_deref().unwrap_or_default();
    let event = |(line, count): &(&str, usize)| {
        let short: String = line.chars().take(LONGEST_LINE).collect();
        let times = if *count > 1 { format!("{count} times") } else { String::new() };
        Event::new(&event::PRINTED, [&service.name, library, &short]).with_detail(times)
    };
    let mut events: Vec<Event> = lines.iter().take(MOST_LINES).map(event).collect();
    if lines.len() > MOST_LINES {
        let left = format!("{} more lines", lines.len().saturating_sub(MOST_LINES));
        events.push(Event::new(&event::PRINTED, [&service.name, library, &left]));
    }
    events
}

/// NT's code for what ended a process.
const fn exception(exit: Exit) -> u32 {
    match exit.signal {
        // SIGILL, SIGABRT, SIGBUS, SIGFPE, SIGSEGV.
        Some(4) => 0xc000_001d,
        Some(6) => 0xc000_0409,
        Some(7) => 0xc000_0006,
        Some(8) => 0xc000_0094,
        Some(11) => 0xc000_0005,
        // STATUS_FATAL_APP_EXIT, STATUS_PROCESS_IS_TERMINATING.
        Some(_) => 0x4000_0015,
        None => 0xc000_010a,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_lines_are_merged_and_limited() {
        let service = Service { name: "S".into(), library: Some("s.so".into()), ..Service::default() };
        let words = |printed: &[u8]| -> Vec<String> {
            printed_events(printed, &service).iter().map(ToString::to_string).collect()
        };
        let lines = words(b"one\n\xff two\none\none\n\n");
        assert_eq!(lines[0], "s.so of the service S printed: one");
        assert_eq!(lines[1], "s.so of the service S printed: \u{fffd} two");
        assert_eq!(lines[2], "s.so of the service S printed: one: 2 times");
        assert_eq!(lines.len(), 3);
        let many: String = (0..100).map(|number| format!("{number}\n")).collect();
        let lines = words(many.as_bytes());
        assert_eq!((lines.len(), lines[16].as_str()), (17, "s.so of the service S printed: 84 more lines"));
        assert!(words(&[b'x'; 5000])[0].len() < 600);
    }
}
