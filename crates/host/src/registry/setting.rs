//! Numbers in the registry that control how libraries are run: of one service, and of all services.
//!
//! There is one table of each kind; the registry's files, `.reg` files and `tally provider set` use it.

use super::service::Service;

/// A number of one service, as in its key `Performance` on Windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ServiceSetting {
    /// The service is disabled.
    Disabled,
    /// Milliseconds for loading and Open, until its process is killed.
    OpenTimeout,
    /// Milliseconds for Collect, until its process is killed.
    CollectTimeout,
    /// Milliseconds that a request waits for its answer.
    Deadline,
    /// When the reader is root, the process of the library has the rights of the user `nobody`.
    RunAsNobody,
    /// The process of the library has the user of the reader, also if this is root.
    RunAsCaller,
    /// The process of the library has no own user, namespaces, Landlock or seccomp.
    Unprotected,
    /// Its library is loaded by the reader itself, as long as it is trusted.
    InProcess,
}

/// A number of all services, as in the key `Perflib` on Windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum PerflibSetting {
    /// All services are disabled.
    Disabled,
    /// How much of an answer is looked at: 1 everything, 2 buffers only, 3 and 4 nothing.
    TestLevel,
    /// The sum of 1 for no test of alignment, 2 for never disabling a service, 4 for no test of buffers and
    /// lengths, 8 for no test of times.
    ConfigurationFlags,
    /// Which events are written: 0 none, 1 errors, 2 warnings too, 3 all.
    EventLogLevel,
    /// Milliseconds that a request waits for a library to be loaded and opened.
    OpenWait,
}

/// The texts about a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SettingText {
    /// Windows' name of the value, where it exists there.
    pub name: &'static str,
    /// Its meaning, with unit and default.
    pub about: &'static str,
    /// The highest number that means something.
    pub highest: u32,
}

impl ServiceSetting {
    /// All of them, in the order in which they are shown.
    pub const ALL: [ServiceSetting; 8] = [
        ServiceSetting::Disabled,
        ServiceSetting::OpenTimeout,
        ServiceSetting::CollectTimeout,
        ServiceSetting::Deadline,
        ServiceSetting::RunAsNobody,
        ServiceSetting::RunAsCaller,
        ServiceSetting::Unprotected,
        ServiceSetting::InProcess,
    ];

    /// Name and meaning.
    pub const fn text(self) -> SettingText {
        match self {
            ServiceSetting::Disabled => text("Disable Performance Counters", "1: it is not asked", u32::MAX),
            ServiceSetting::OpenTimeout => {
                text("Open Timeout", "ms until Open is broken off; 10000 if not set", u32::MAX)
            }
            ServiceSetting::CollectTimeout => {
                text("Collect Timeout", "ms until Collect is broken off; 10000 if not set", u32::MAX)
            }
            ServiceSetting::Deadline => text(
                "Deadline",
                "ms that a request waits for its answer, before its last values stand in; 50 if not set",
                u32::MAX,
            ),
            ServiceSetting::RunAsNobody => {
                text("Run As Nobody", "1: its process is one of the user nobody where root asks", 1)
            }
            ServiceSetting::RunAsCaller => text(
                "Run As Caller",
                "1: its process has the reader's user, also if that is root; else a user of its own",
                1,
            ),
            ServiceSetting::Unprotected => {
                text("Unprotected", "1: its process has no own user, namespaces, Landlock or seccomp", 1)
            }
            ServiceSetting::InProcess => text(
                "In Process",
                "1: loaded by the reader itself while it is trusted; nothing protects the reader",
                1,
            ),
        }
    }

    /// The setting with a name, ignoring case.
    pub fn of_name(name: &str) -> Option<ServiceSetting> {
        Self::ALL.into_iter().find(|setting| setting.text().name.eq_ignore_ascii_case(name))
    }

    /// Its number in a service; `None` when it is not set.
    pub fn get(self, service: &Service) -> Option<u32> {
        let flag = |flag: bool| flag.then_some(1);
        match self {
            ServiceSetting::Disabled => flag(service.disabled),
            ServiceSetting::OpenTimeout => service.open_timeout,
            ServiceSetting::CollectTimeout => service.collect_timeout,
            ServiceSetting::Deadline => service.deadline,
            ServiceSetting::RunAsNobody => flag(service.as_nobody),
            ServiceSetting::RunAsCaller => flag(service.as_caller),
            ServiceSetting::Unprotected => flag(service.unprotected),
            ServiceSetting::InProcess => flag(service.in_process),
        }
    }

    /// Sets its number in a service, or removes it.
    pub fn set(self, service: &mut Service, value: Option<u32>) {
        // Windows has 2 and 4 too for services that tests have disabled.
        let flag = value.is_some_and(|value| value != 0);
        match self {
            ServiceSetting::Disabled => service.disabled = flag,
            ServiceSetting::OpenTimeout => service.open_timeout = value,
            ServiceSetting::CollectTimeout => service.collect_timeout = value,
            ServiceSetting::Deadline => service.deadline = value,
            ServiceSetting::RunAsNobody => service.as_nobody = flag,
            ServiceSetting::RunAsCaller => service.as_caller = flag,
            ServiceSetting::Unprotected => service.unprotected = flag,
            ServiceSetting::InProcess => service.in_process = flag,
        }
    }
}

impl PerflibSetting {
    /// All of them, in the order in which they are shown.
    pub const ALL: [PerflibSetting; 5] = [
        PerflibSetting::Disabled,
        PerflibSetting::TestLevel,
        PerflibSetting::ConfigurationFlags,
        PerflibSetting::EventLogLevel,
        PerflibSetting::OpenWait,
    ];

    /// Name and meaning.
    pub const fn text(self) -> SettingText {
        match self {
            PerflibSetting::Disabled => {
                text("Disable Performance Counters", "1: no library of anybody is asked", u32::MAX)
            }
            PerflibSetting::TestLevel => text(
                "ExtCounterTestLevel",
                "1 all checks of answers, 2 of buffers only, 3 and 4 none; 1 if not set",
                4,
            ),
            PerflibSetting::ConfigurationFlags => text(
                "Configuration Flags",
                "sum of 1 no check of alignment, 2 never disable a service, 4 no check of buffers and \
                lengths, 8 none of times",
                u32::MAX,
            ),
            PerflibSetting::EventLogLevel => {
                text("EventLogLevel", "0 no events, 1 errors, 2 warnings too, 3 all; 3 if not set", 3)
            }
            PerflibSetting::OpenWait => text(
                "OpenProcedureWaitTime",
                "ms that a request waits for loading and Open; 1000 if not set",
                u32::MAX,
            ),
        }
    }

    /// The setting with a name, ignoring case.
    pub fn of_name(name: &str) -> Option<PerflibSetting> {
        Self::ALL.into_iter().find(|setting| setting.text().name.eq_ignore_ascii_case(name))
    }
}

impl SettingText {
    /// The key of the value in a file of the registry.
    pub(crate) fn key(&self) -> String {
        self.name.to_ascii_lowercase()
    }
}

const fn text(name: &'static str, about: &'static str, highest: u32) -> SettingText {
    SettingText { name, about, highest }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn setting_stays_until_it_is_removed() {
        for setting in ServiceSetting::ALL {
            let mut service = Service::default();
            assert_eq!(setting.get(&service), None, "{setting:?}");
            setting.set(&mut service, Some(1));
            assert_eq!(setting.get(&service), Some(1), "{setting:?}");
            let others = ServiceSetting::ALL.into_iter().filter(|other| *other != setting);
            assert!(others.into_iter().all(|other| other.get(&service).is_none()), "{setting:?}");
            setting.set(&mut service, None);
            assert_eq!(service, Service::default(), "{setting:?}");
            assert_eq!(ServiceSetting::of_name(&setting.text().key()), Some(setting));
        }
        for setting in PerflibSetting::ALL {
            assert_eq!(PerflibSetting::of_name(&setting.text().key()), Some(setting));
        }
    }
}
