//! The service in the service manager.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use tallymon::record::session::SessionStore;
use tallymon_provider::trust::check_path;
use windows_service::Error;
use windows_service::service::{
    Service, ServiceAccess, ServiceAction, ServiceActionType, ServiceErrorControl, ServiceExitCode,
    ServiceFailureActions, ServiceFailureResetPeriod, ServiceInfo, ServiceStartType, ServiceState,
    ServiceStatus, ServiceType, UserEventCode,
};
use windows_service::service_manager::{ServiceManager, ServiceManagerAccess};

use super::running;
use crate::border;
use crate::exit::{Failure, Kind};
use crate::words::{say, visible};

/// The name of the service.
pub(super) const NAME: &str = "Tallymon";
const TITLE: &str = "Tallymon recorder";
const DESCRIPTION: &str =
    "Records performance counters: the sessions of 'tally log' that start with the machine.";

/// What the program of the service gets.
const ARGUMENTS: [&str; 3] = ["log", "service", "run"];

/// The control by which the service looks for sessions that somebody asks for.
pub(super) const LOOK: u32 = 128;

/// How long the service may take to begin and to end: at its end the last logs are converted.
const BEGINNING: Duration = Duration::from_secs(30);
const ENDING: Duration = Duration::from_secs(660);

/// How long Windows waits for the service when it shuts down.
const SHUTDOWN: Duration = Duration::from_secs(180);

const ERROR_ACCESS_DENIED: i32 = 5;
const ERROR_SERVICE_ALREADY_RUNNING: i32 = 1056;
const ERROR_SERVICE_DISABLED: i32 = 1058;
const ERROR_SERVICE_DOES_NOT_EXIST: i32 = 1060;
const ERROR_SERVICE_NOT_ACTIVE: i32 = 1062;
const ERROR_SERVICE_NEVER_STARTED: u32 = 1077;
const ERROR_FAILED_SERVICE_CONTROLLER_CONNECT: i32 = 1063;
const ERROR_SERVICE_MARKED_FOR_DELETE: i32 = 1072;
const ERROR_SERVICE_EXISTS: i32 = 1073;

/// The number of the system's error.
fn code(error: &Error) -> Option<i32> {
    match error {
        Error::Winapi(error) => error.raw_os_error(),
        _ => None,
    }
}

/// What failed in words, and what to do about it.
fn failure(doing: &str, error: &Error) -> Failure {
    let fail = |kind, words: &str| Failure::new(kind, format_args!("{doing} the service {NAME:?}: {words}"));
    match code(error) {
        Some(ERROR_ACCESS_DENIED) => fail(
            Kind::AccessDenied,
            "only an administrator may do that; open the terminal with 'Run as administrator'",
        ),
        Some(ERROR_SERVICE_DOES_NOT_EXIST) => {
            fail(Kind::NotFound, "it is not installed; 'tally log service install' installs it")
        }
        Some(ERROR_SERVICE_EXISTS) => {
            fail(Kind::Other, "it is installed already; 'tally log service status' shows it")
        }
        Some(ERROR_SERVICE_MARKED_FOR_DELETE) => fail(
            Kind::Other,
            "it is being removed; close the window 'Services' and every program that shows it, and try again",
        ),
        Some(ERROR_SERVICE_DISABLED) => {
            fail(Kind::Other, "it is disabled; 'sc config Tallymon start= demand' enables it")
        }
        _ => match error {
            Error::Winapi(error) => fail(Kind::Other, &error.to_string()),
            error => fail(Kind::Other, &error.to_string()),
        },
    }
}

fn open(access: ServiceAccess) -> Result<Service, Error> {
    let manager = ServiceManager::local_computer(None::<&OsStr>, ServiceManagerAccess::CONNECT)?;
    manager.open_service(NAME, access)
}

fn is_installed() -> Result<bool, Failure> {
    match open(ServiceAccess::QUERY_STATUS) {
        Ok(_) => Ok(true),
        Err(error) if code(&error) == Some(ERROR_SERVICE_DOES_NOT_EXIST) => Ok(false),
        Err(error) => Err(failure("looking at", &error)),
    }
}

/// This program. Whoever can replace it could have the service run something else.
fn program() -> Result<PathBuf, Failure> {
    let program = std::env::current_exe()
        .map_err(|error| Failure::new(Kind::Other, format_args!("this program is not found: {error}")))?;
    check_path(&program).map_err(|untrusted| {
        let words = "the service would run a program that others can replace; install Tallymon for all \
                     users, into 'C:\\Program Files'";
        Failure::new(Kind::AccessDenied, format_args!("{untrusted}: {words}"))
    })?;
    Ok(program)
}

fn described(program: PathBuf) -> ServiceInfo {
    ServiceInfo {
        name: NAME.into(),
        display_name: TITLE.into(),
        service_type: ServiceType::OWN_PROCESS,
        // Without a session that starts with the machine it ends at once.
        start_type: ServiceStartType::AutoStart,
        error_control: ServiceErrorControl::Normal,
        executable_path: program,
        launch_arguments: ARGUMENTS.map(OsString::from).to_vec(),
        dependencies: Vec::new(),
        account_name: None,
        account_password: None,
    }
}

/// Fails where [`ensure_installed`] could not install the service.
pub(in super::super) fn check_installable() -> Result<(), Failure> {
    if is_installed()? {
        return Ok(());
    }
    program()?;
    let access = ServiceManagerAccess::CONNECT | ServiceManagerAccess::CREATE_SERVICE;
    let manager = ServiceManager::local_computer(None::<&OsStr>, access);
    manager.map(drop).map_err(|error| failure("installing", &error))
}

fn create() -> Result<(), Failure> {
    let failed = |error: Error| failure("installing", &error);
    let access = ServiceManagerAccess::CONNECT | ServiceManagerAccess::CREATE_SERVICE;
    let manager = ServiceManager::local_computer(None::<&OsStr>, access).map_err(failed)?;
    let access = ServiceAccess::CHANGE_CONFIG | ServiceAccess::START;
    let service = manager.create_service(&described(program()?), access).map_err(failed)?;
    configure(&service);
    Ok(())
}

/// Sets what an installer does not: how long Windows waits for the service when it shuts down, and that it
/// is started again when it ends by itself. Without that it works too.
fn configure(service: &Service) {
    let _ = service.set_description(DESCRIPTION);
    let _ = service.set_preshutdown_timeout(SHUTDOWN);
    let restart = ServiceAction { action_type: ServiceActionType::Restart, delay: Duration::from_secs(10) };
    let _ = service.update_failure_actions(ServiceFailureActions {
        reset_period: ServiceFailureResetPeriod::After(Duration::from_secs(24 * 3600)),
        reboot_msg: None,
        command: None,
        actions: Some(vec![restart; 3]),
    });
}

/// As [`configure`], of the service that runs.
pub(super) fn configure_running() {
    if let Ok(service) = open(ServiceAccess::CHANGE_CONFIG | ServiceAccess::START) {
        configure(&service);
    }
}

pub(crate) fn install() -> Result<(), Failure> {
    create()?;
    say(format_args!(
        "service {NAME:?} is installed; it records the sessions of 'tally log start NAME --at-boot'"
    ));
    Ok(())
}

pub(crate) fn uninstall() -> Result<(), Failure> {
    let failed = |error: Error| failure("removing", &error);
    let access = ServiceAccess::STOP | ServiceAccess::QUERY_STATUS | ServiceAccess::DELETE;
    let service = open(access).map_err(failed)?;
    stop_opened(&service)?;
    service.delete().map_err(failed)?;
    say(format_args!("service {NAME:?} is removed; sessions and their logs stay"));
    Ok(())
}

pub(crate) fn start() -> Result<(), Failure> {
    let service = open(ServiceAccess::START | ServiceAccess::QUERY_STATUS)
        .map_err(|error| failure("starting", &error))?;
    say(format_args!(
        "service {NAME:?} {}",
        match start_opened(&service)? {
            Started::Now => "runs",
            Started::Before => "runs already",
            Started::Idle => "has ended, as it has nothing to do: no session starts with the machine",
        }
    ));
    Ok(())
}

/// What came of starting the service.
enum Started {
    Now,
    Before,
    /// It ended in order.
    Idle,
}

/// Starts the service and waits until it runs.
fn start_opened(service: &Service) -> Result<Started, Failure> {
    match service.start::<&OsStr>(&[]) {
        Err(error) if code(&error) == Some(ERROR_SERVICE_ALREADY_RUNNING) => return Ok(Started::Before),
        started => started.map_err(|error| failure("starting", &error))?,
    }
    let status = wait(service, "starting", BEGINNING, ServiceState::StartPending)?;
    match (status.current_state, status.exit_code) {
        (ServiceState::Running, _) => Ok(Started::Now),
        (ServiceState::Stopped | ServiceState::StopPending, ServiceExitCode::Win32(0)) => Ok(Started::Idle),
        _ => {
            let words = format!("starting the service {NAME:?}: {}", ended_with(&status));
            Err(Failure::new(Kind::Other, words))
        }
    }
}

pub(crate) fn stop() -> Result<(), Failure> {
    let service = open(ServiceAccess::STOP | ServiceAccess::QUERY_STATUS)
        .map_err(|error| failure("stopping", &error))?;
    if stop_opened(&service)? {
        say(format_args!("service {NAME:?} has stopped, and its logs are complete"));
    } else {
        say(format_args!("service {NAME:?} does not run"));
    }
    Ok(())
}

/// Stops the service and waits until its sessions have ended; `false` if it did not run.
fn stop_opened(service: &Service) -> Result<bool, Failure> {
    match service.stop() {
        Err(error) if code(&error) == Some(ERROR_SERVICE_NOT_ACTIVE) => return Ok(false),
        stopped => drop(stopped.map_err(|error| failure("stopping", &error))?),
    }
    let status = wait(service, "stopping", ENDING, ServiceState::StopPending)?;
    // It had not noticed the request when it was looked at first.
    if status.current_state == ServiceState::Running {
        wait(service, "stopping", ENDING, ServiceState::Running)?;
        wait(service, "stopping", ENDING, ServiceState::StopPending)?;
    }
    Ok(true)
}

/// Waits as long as the service is in a state.
fn wait(
    service: &Service,
    doing: &str,
    longest: Duration,
    state: ServiceState,
) -> Result<ServiceStatus, Failure> {
    let begin = Instant::now();
    loop {
        let status = service.query_status().map_err(|error| failure(doing, &error))?;
        if status.current_state != state {
            return Ok(status);
        }
        if begin.elapsed() > longest {
            let words =
                format!("{doing} the service {NAME:?}: it does not answer (process {:?})", status.process_id);
            return Err(Failure::new(Kind::Unreachable, words));
        }
        thread::sleep(Duration::from_millis(50));
    }
}

/// Has the service start with Windows: installs it if needed.
pub(in super::super) fn ensure_installed() -> Result<(), Failure> {
    let service = match open(ServiceAccess::QUERY_CONFIG) {
        Err(error) if code(&error) == Some(ERROR_SERVICE_DOES_NOT_EXIST) => return create(),
        service => service.map_err(|error| failure("looking at", &error))?,
    };
    let config = service.query_config().map_err(|error| failure("looking at", &error))?;
    if config.start_type != ServiceStartType::AutoStart {
        say(format_args!(
            "the service {NAME:?} starts {}, not with Windows; 'sc config {NAME} start= auto' changes that",
            start_word(config.start_type)
        ));
    }
    Ok(())
}

/// Has the service look for sessions that are asked for; starts it if it does not run.
pub(in super::super) fn wake() -> Result<(), Failure> {
    let access = ServiceAccess::START | ServiceAccess::QUERY_STATUS | ServiceAccess::USER_DEFINED_CONTROL;
    let service = open(access).map_err(|error| failure("starting", &error))?;
    if !matches!(start_opened(&service)?, Started::Before) {
        return Ok(());
    }
    let look = UserEventCode::from_raw(LOOK).map_err(|error| Failure::new(Kind::Other, error))?;
    service.notify(look).map(drop).map_err(|error| failure("telling", &error))
}

pub(crate) fn run() -> Result<(), Failure> {
    running::dispatch().map_err(|error| match code(&error) {
        Some(ERROR_FAILED_SERVICE_CONTROLLER_CONNECT) => {
            let words = "only the service manager of Windows runs this; 'tally log service start' starts the \
                         service";
            Failure::new(Kind::Usage, words)
        }
        _ => failure("running", &error),
    })
}

/// How the service ended, in words.
fn ended_with(status: &ServiceStatus) -> String {
    match status.exit_code {
        ServiceExitCode::Win32(0) => "it has stopped".to_owned(),
        ServiceExitCode::Win32(ERROR_SERVICE_NEVER_STARTED) => "not started since Windows was".to_owned(),
        ServiceExitCode::Win32(code) => {
            format!("it ended: {}", io::Error::from_raw_os_error(code.cast_signed()))
        }
        ServiceExitCode::ServiceSpecific(code) => format!("it ended with code {code}"),
    }
}

const fn word(state: ServiceState) -> &'static str {
    match state {
        ServiceState::Stopped => "stopped",
        ServiceState::StartPending => "starting",
        ServiceState::StopPending => "stopping",
        ServiceState::Running => "running",
        ServiceState::ContinuePending | ServiceState::PausePending | ServiceState::Paused => "paused",
    }
}

const fn start_word(start: ServiceStartType) -> &'static str {
    match start {
        ServiceStartType::AutoStart => "with Windows",
        ServiceStartType::OnDemand => "when it is started",
        ServiceStartType::Disabled => "never (disabled)",
        ServiceStartType::SystemStart | ServiceStartType::BootStart => "with the kernel",
    }
}

pub(crate) fn status(as_json: bool) -> Result<(), Failure> {
    let failed = |error: Error| failure("looking at", &error);
    let service = open(ServiceAccess::QUERY_STATUS | ServiceAccess::QUERY_CONFIG).map_err(failed)?;
    let (status, config) = (service.query_status().map_err(failed)?, service.query_config().map_err(failed)?);
    let store = SessionStore::of_environment()?;
    // Those of a user are not the service's.
    let names = if store.is_system() { store.names()? } else { Vec::new() };
    let mut sessions = Vec::new();
    for name in names {
        match store.read(&name) {
            Ok(settings) if settings.at_boot => {
                sessions.push((name.clone(), store.state(&name).word(), None))
            }
            Ok(_) => {}
            Err(error) => sessions.push((name.clone(), "damaged", Some(error.to_string()))),
        }
    }
    for (name, _, trouble) in &mut sessions {
        *trouble = trouble.take().or_else(|| store.status(name).last_error);
    }
    let account = config.account_name.unwrap_or_default().to_string_lossy().into_owned();
    let program = config.executable_path.display().to_string();
    let mut out = border::stdout();
    if as_json {
        let sessions: Vec<_> = sessions
            .iter()
            .map(|(name, state, error)| json!({ "name": name, "status": state, "last_error": error }))
            .collect();
        let value = json!({
            "service": NAME,
            "status": word(status.current_state),
            "process": status.process_id,
            "starts": start_word(config.start_type),
            "program": program,
            "account": account,
            "sessions": sessions,
        });
        writeln!(out, "{}", border::json(&value))?;
        return Ok(());
    }
    let mut line = |title: &str, text: &str| writeln!(out, "{title:>10}  {}", visible(text));
    let process = status.process_id.map_or_else(String::new, |process| format!(", process {process}"));
    let ended = match status.current_state {
        ServiceState::Stopped if status.exit_code != ServiceExitCode::Win32(0) => {
            format!("; {}", ended_with(&status))
        }
        _ => String::new(),
    };
    line("service", &format!("{NAME}, {}{process}{ended}", word(status.current_state)))?;
    line("starts", start_word(config.start_type))?;
    line("program", &program)?;
    line("account", &account)?;
    for (name, state, error) in &sessions {
        let error = error.as_ref().map_or_else(String::new, |error| format!("; the last error: {error}"));
        line("session", &format!("{name}, {state}{error}"))?;
    }
    if !store.is_system() {
        line("sessions", "only an administrator sees the sessions of the service")?;
    }
    Ok(())
}
