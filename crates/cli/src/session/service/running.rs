//! The process of the service, as the service manager of Windows calls it.

use std::ffi::OsString;
use std::io;
use std::os::windows::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tallymon::record::session::SessionStore;
use windows_service::service::{
    ServiceControl, ServiceControlAccept, ServiceExitCode, ServiceState, ServiceStatus, ServiceType,
};
use windows_service::service_control_handler::{self, ServiceControlHandlerResult, ServiceStatusHandle};
use windows_service::{Error, define_windows_service, service_dispatcher};

use super::platform::{LOOK, NAME, configure_running};
use super::supervisor::{Event, Supervisor};
use crate::session::detach::{NEW_GROUP, NO_WINDOW};

/// Between two signs of life of a service that starts or stops the manager waits this long.
const HINT: Duration = Duration::from_secs(15);

/// What Windows is told when it went wrong; `sc query` and 'tally log service status' show it.
const ERROR_ACCESS_DENIED: u32 = 5;
const ERROR_INVALID_DATA: u32 = 13;
const ERROR_TIMEOUT: u32 = 1460;

define_windows_service!(service_main, main);

/// Runs the service until it is stopped.
pub(super) fn dispatch() -> Result<(), Error> {
    service_dispatcher::start(NAME, service_main)
}

fn main(_arguments: Vec<OsString>) {
    // A service that cannot even register is ended by the manager, which writes an event.
    let _ = serve();
}

/// Tells the manager about the service.
struct State {
    handle: ServiceStatusHandle,
    checkpoint: u32,
}

impl State {
    fn set(&mut self, state: ServiceState, exit_code: ServiceExitCode) -> Result<(), Error> {
        let is_pending = matches!(state, ServiceState::StartPending | ServiceState::StopPending);
        self.checkpoint = if is_pending { self.checkpoint.saturating_add(1) } else { 0 };
        let controls_accepted = match state {
            ServiceState::Running => ServiceControlAccept::STOP | ServiceControlAccept::PRESHUTDOWN,
            _ => ServiceControlAccept::empty(),
        };
        self.handle.set_service_status(ServiceStatus {
            service_type: ServiceType::OWN_PROCESS,
            current_state: state,
            controls_accepted,
            exit_code,
            checkpoint: self.checkpoint,
            wait_hint: if is_pending { HINT } else { Duration::ZERO },
            process_id: None,
        })
    }
}

fn serve() -> Result<(), Error> {
    let store = SessionStore::of_environment();
    let mut supervisor = store.as_ref().ok().map(|store| Supervisor::new(store.clone(), recorder));
    let sender = supervisor.as_ref().map(Supervisor::sender);
    let handler = move |control| {
        let event = match control {
            ServiceControl::Stop | ServiceControl::Preshutdown => Event::Stop,
            ServiceControl::UserEvent(code) if code.to_raw() == LOOK => Event::Look,
            ServiceControl::Interrogate => return ServiceControlHandlerResult::NoError,
            _ => return ServiceControlHandlerResult::NotImplemented,
        };
        if let Some(sender) = &sender {
            // Nobody takes it when the service has ended.
            let _ = sender.send(event);
        }
        ServiceControlHandlerResult::NoError
    };
    let handle = service_control_handler::register(NAME, handler)?;
    let mut state = State { handle, checkpoint: 0 };
    state.set(ServiceState::StartPending, ServiceExitCode::NO_ERROR)?;
    let supervisor = match &mut supervisor {
        // The sessions of this service's own account are nobody's: it records those of the machine.
        Some(supervisor) if store.is_ok_and(|store| store.is_system()) => supervisor,
        _ => return state.set(ServiceState::Stopped, ServiceExitCode::Win32(ERROR_ACCESS_DENIED)),
    };
    configure_running();
    let Ok(is_needed) = supervisor.begin() else {
        return state.set(ServiceState::Stopped, ServiceExitCode::Win32(ERROR_INVALID_DATA));
    };
    if !is_needed {
        return state.set(ServiceState::Stopped, ServiceExitCode::NO_ERROR);
    }
    state.set(ServiceState::Running, ServiceExitCode::NO_ERROR)?;
    supervisor.run();
    let left = supervisor.stop(|| {
        // The manager may be gone when Windows ends; the logs are completed all the same.
        let _ = state.set(ServiceState::StopPending, ServiceExitCode::NO_ERROR);
    });
    let code = if left.is_empty() { 0 } else { ERROR_TIMEOUT };
    state.set(ServiceState::Stopped, ServiceExitCode::Win32(code))
}

/// Starts the process that records a session: without a window, and out of reach of a terminal's Ctrl-C.
fn recorder(name: &str) -> io::Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["log", "run", name]).creation_flags(NO_WINDOW | NEW_GROUP);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
}
