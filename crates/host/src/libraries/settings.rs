//! How a service is run: its registration, and the settings of all services.

use tallymon_provider::library::check::Rules;
use tallymon_provider::library::client::Indexes;
use tallymon_provider::library::client::{Isolation, Registered, SERVICE, Settings, Times};
use tallymon_provider::library::program::{expected_program, find_program};
use tallymon_provider::library::protocol::Load;
use tallymon_provider::trust::has_more_rights_than_its_user;

use crate::library::LibraryOptions;
use crate::registry::{Installed, PerflibSetting, Service, Trust};

/// The settings of all services.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ForAll {
    /// All libraries are disabled.
    pub(super) disabled: bool,
    pub(super) rules: Rules,
    /// Which events are written; `None` for all.
    pub(super) event_level: Option<u32>,
    open_wait: Option<u32>,
}

impl ForAll {
    pub(super) fn of(installed: &Installed, options: &LibraryOptions) -> ForAll {
        let default = Rules::default();
        let test_level = installed.perflib(PerflibSetting::TestLevel).unwrap_or(default.test_level);
        let flags = installed.perflib(PerflibSetting::ConfigurationFlags).unwrap_or(default.flags);
        ForAll {
            disabled: installed.perflib(PerflibSetting::Disabled).is_some_and(|value| value != 0),
            rules: options.rules.unwrap_or(Rules { test_level, flags }),
            event_level: installed.perflib(PerflibSetting::EventLogLevel),
            open_wait: installed.perflib(PerflibSetting::OpenWait),
        }
    }
}

/// How a service is run; `None` when it has no library.
pub(super) fn settings(service: &Service, options: &LibraryOptions, for_all: &ForAll) -> Option<Settings> {
    let name = |name: &Option<String>| name.clone().filter(|name| !name.is_empty());
    let load = Load {
        library: name(&service.library)?,
        open: name(&service.open)?,
        collect: name(&service.collect)?,
        close: name(&service.close)?,
        context: context(&service.export),
    };
    // Without the program, a request fails with a message that says so.
    let program = options.program.clone().or_else(find_program).unwrap_or_else(expected_program);
    let times = Times::of(&Registered {
        open: service.open_timeout,
        collect: service.collect_timeout,
        deadline: service.deadline,
        open_wait: for_all.open_wait,
    });
    let here = service.in_process && service.trust() == Trust::Trusted && !has_more_rights_than_its_user();
    let in_process = service.validation_code.filter(|_| here).map(|code| Indexes {
        hash: code.hash(),
        service: service.name.clone(),
        first_counter: service.titles.map_or(0, |range| range.first_counter.0),
        first_help: service.titles.map_or(0, |range| range.first_help.0),
    });
    let environment = environment(service);
    Some(Settings { program, load, isolation: isolation(service), in_process, environment, times })
}

/// How the reader is protected against the library's process.
fn isolation(service: &Service) -> Isolation {
    /// User id of `nobody`.
    const NOBODY: u32 = 65_534;
    // The range that systemd takes dynamic users from; no user of a system has one of them for good.
    const FIRST: u32 = 61_184;
    const COUNT: u32 = 65_519 - FIRST;
    match service {
        Service { unprotected: true, .. } => Isolation::None,
        Service { as_nobody: true, .. } => Isolation::OwnUser(NOBODY),
        Service { as_caller: true, .. } => Isolation::SameUser,
        // Its own user could not load it.
        service if service.closed_to_others().is_some() => Isolation::SameUser,
        Service { name, .. } => {
            // FNV-1a: the same service has the same user in all readers, so that it can read its own files.
            let step = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
            let hash = name.to_lowercase().bytes().fold(0x811c_9dc5, step);
            Isolation::OwnUser(FIRST.saturating_add(hash % COUNT))
        }
    }
}

/// The environment of a library: its name and first indexes, for libraries that cannot read the registry. A
/// library that is installed again gets other indexes, and is loaded again.
fn environment(service: &Service) -> Vec<(String, String)> {
    let mut all = vec![(SERVICE.to_string(), service.name.clone())];
    if let Some(range) = service.titles {
        all.push(("TALLYMON_FIRST_COUNTER".to_string(), range.first_counter.to_string()));
        all.push(("TALLYMON_FIRST_HELP".to_string(), range.first_help.to_string()));
    }
    all
}

/// The argument of Open: the texts of `Linkage\Export`, each with its terminator, and one more terminator.
fn context(export: &[String]) -> Option<Vec<u16>> {
    if export.is_empty() {
        return None;
    }
    let texts = export.iter().flat_map(|text| text.encode_utf16().chain(std::iter::once(0)));
    Some(texts.chain(std::iter::once(0)).collect())
}
