//! Events about libraries that did not answer, and the same in words.

use tallymon_provider::library::client::Exit;
use tallymon_provider::library::client::Function;
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
