//! A login at a server and its open pipe `winreg`. The asynchronous work below it runs on the runtime that
//! all hosts of the process share, in the thread of the caller, and never longer than the deadline.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use smb2::client::Connection;
use smb2::msg::close::CloseRequest;
use smb2::msg::create::{CreateDisposition, CreateRequest, CreateResponse, ImpersonationLevel, ShareAccess};
use smb2::msg::read::{ReadRequest, ReadResponse, SMB2_CHANNEL_NONE};
use smb2::msg::tree_connect::{TreeConnectRequest, TreeConnectRequestFlags};
use smb2::msg::write::WriteRequest;
use smb2::pack::{ReadCursor, Unpack};
use smb2::types::flags::FileAccessMask;
use smb2::types::status::NtStatus;
use smb2::types::{Command, FileId, OplockLevel, TreeId};
use tallymon_core::flow::performance_registry::{ACCESS_DENIED, SUCCESS};
use tallymon_core::flow::{SourceError, SourceErrorKind};

use super::kerberos::{self, KerberosError};
use super::login::{self, Proof};
use super::offer::Caller;
use super::rpc::{self, RpcError};
use super::seal::{BY_KERBEROS, BY_NTLM, Seal};
use super::step::Step;
use super::winreg::{self, Handle, Value};
use crate::address::RrpAddress;
use crate::asynchronous::{self, Runtime};
use crate::credentials::{Credentials, PasswordLogin};
use crate::kerberos::{KerberosLogin, KerberosSecret};

/// The port of SMB.
const PORT: u16 = 445;

/// Bytes of one read of the pipe.
const READ: u32 = 65_536;

/// How long a server may take to start its remote registry: opening the pipe starts it.
const STARTING: Duration = Duration::from_secs(1);

/// Attempts to open the pipe.
const ATTEMPTS: u32 = 4;

/// A login at a server, with the performance registry open.
pub(super) struct Session {
    pipe: Pipe,
    key: Handle,
    /// Dropped after the pipe, whose socket it closes.
    runtime: Running,
}

/// The runtime of a session.
struct Running(Arc<Runtime>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.let_go();
    }
}

/// The pipe.
pub(super) struct Pipe {
    connection: Connection,
    tree: TreeId,
    file: FileId,
    call: u32,
    /// What protects the calls where SMB does not encrypt.
    seal: Option<Seal>,
}

/// Why there is no session, and whether the same login would be refused again.
pub(super) struct NotOpen {
    pub(super) why: SourceError,
    pub(super) is_refusal: bool,
}

impl From<SourceError> for NotOpen {
    fn from(why: SourceError) -> NotOpen {
        NotOpen { why, is_refusal: false }
    }
}

/// What failed, at which step.
pub(super) enum Failed {
    Smb(smb2::Error),
    Rpc(RpcError),
    Kerberos(KerberosError),
    Status(u32),
}

impl From<smb2::Error> for Failed {
    fn from(error: smb2::Error) -> Failed {
        Failed::Smb(error)
    }
}

impl From<KerberosError> for Failed {
    fn from(error: KerberosError) -> Failed {
        Failed::Kerberos(error)
    }
}

impl From<RpcError> for Failed {
    fn from(error: RpcError) -> Failed {
        Failed::Rpc(error)
    }
}

/// What logs in, with what was read for it: to read it may block.
pub(super) struct Login {
    credentials: Credentials,
    /// The bytes of a cache of tickets or of a keytab, or why there are none.
    secret: Result<Vec<u8>, String>,
}

impl Login {
    /// Reads what the login needs.
    pub(super) fn read(credentials: Credentials) -> Login {
        let secret = match &credentials {
            Credentials::Kerberos(KerberosLogin {
                secret: KerberosSecret::Cache(_, read) | KerberosSecret::Keytab(_, read),
                ..
            }) => read(),
            _ => Ok(Vec::new()),
        };
        Login { credentials, secret }
    }
}

impl Session {
    /// Logs in and opens the performance registry.
    pub(super) fn open(address: &RrpAddress, login: &Login, timeout: Duration) -> Result<Session, NotOpen> {
        let runtime = Running(asynchronous::shared().map_err(no_runtime)?);
        let step = Step::new("connecting");
        let work = open(address, login, timeout, &step);
        let (pipe, key) = within(&runtime.0, (timeout, timeout), &step, work)?;
        Ok(Session { pipe, key, runtime })
    }

    /// Whether this process has begun it, and not the one that was forked.
    pub(super) fn is_of_this_process(&self) -> bool {
        self.runtime.0.is_of_this_process()
    }

    /// Queries a value of the performance registry into `room` bytes. `time` is what is left of the
    /// deadline, and the whole of it.
    pub(super) fn query(
        &mut self,
        name: &str,
        room: u32,
        time: (Duration, Duration),
    ) -> Result<Value, SourceError> {
        let key = self.key;
        self.with_pipe("reading the performance registry", time, async |pipe| {
            pipe.query(&key, name, room).await
        })
    }

    /// Calls as many procedures as it takes.
    pub(super) fn with_pipe<T>(
        &mut self,
        step: &'static str,
        time: (Duration, Duration),
        work: impl AsyncFnOnce(&mut Pipe) -> Result<T, Failed>,
    ) -> Result<T, SourceError> {
        let Session { pipe, runtime, .. } = self;
        within(&runtime.0, time, &Step::new(step), work(pipe)).map_err(|failed| failed.why)
    }
}

fn no_runtime(error: io::Error) -> SourceError {
    SourceError::new(SourceErrorKind::Io, format!("no connection can be made: {error}"))
}

/// Runs something as long as time is left of the whole deadline.
fn within<T>(
    runtime: &Runtime,
    (left, whole): (Duration, Duration),
    step: &Step,
    work: impl Future<Output = Result<T, Failed>>,
) -> Result<T, NotOpen> {
    let timed = async { asynchronous::time::timeout(left, work).await };
    match runtime.wait(timed).map_err(no_runtime)? {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(failed)) if !failed.is_timeout() => {
            let is_refusal = failed.is_refusal();
            Err(NotOpen { why: failed.at(&step.get()), is_refusal })
        }
        // The connection's own timer has the same length, and may be the first.
        Ok(Err(_)) | Err(_) => {
            let words = format!("no answer within {whole:?} while {}; --timeout waits longer", step.get());
            Err(SourceError::new(SourceErrorKind::Unreachable, words).into())
        }
    }
}

async fn open(
    address: &RrpAddress,
    login: &Login,
    timeout: Duration,
    step: &Step,
) -> Result<(Pipe, Handle), Failed> {
    let port = address.port.unwrap_or(PORT);
    let host = &address.host;
    let place = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
    let caller = Caller::connect(&place, host, timeout).await?;
    step.set("agreeing on a version of SMB");
    let (mut connection, offer) = caller.negotiate(timeout).await?;
    let sealer = match &login.credentials {
        Credentials::Password(password) => {
            step.set("logging in");
            login::login(&mut connection, &offer, Proof::by_password(password)).await?;
            Sealer::Password(password)
        }
        Credentials::Kerberos(user) => {
            step.set("asking for a ticket");
            // A realm may be asked three times, and must leave time to its next server.
            let for_server = timeout.checked_div(3).unwrap_or(timeout);
            let ticket = kerberos::ticket((user, &login.secret), host, for_server, step).await?;
            step.set("logging in by Kerberos");
            login::login(&mut connection, &offer, Proof::by_ticket(&ticket)?).await?;
            Sealer::Ticket(Box::new(ticket))
        }
    };
    step.set("opening IPC$");
    let request = TreeConnectRequest {
        flags: TreeConnectRequestFlags::default(),
        path: format!(r"\\{}\IPC$", connection.server_name()),
    };
    let frame = connection.execute(Command::TreeConnect, &request, None).await?;
    good(frame.header.status, Command::TreeConnect)?;
    let tree = frame.header.tree_id.ok_or_else(|| smb2::Error::invalid_data("the answer names no tree"))?;
    step.set("opening the pipe winreg");
    let file = open_pipe(&connection, tree).await?;
    let mut pipe = Pipe { connection, tree, file, call: 0, seal: None };
    step.set("asking for the remote registry");
    match pipe.connection.should_encrypt() {
        true => pipe.bind().await?,
        false => pipe.bind_sealed(&sealer).await?,
    }
    step.set("opening the performance registry");
    let (key, status) = winreg::opened(&pipe.call(winreg::OPEN_PERFORMANCE_DATA, &winreg::open()).await?)?;
    if status == SUCCESS { Ok((pipe, key)) } else { Err(Failed::Status(status)) }
}

/// What calls can be sealed with.
enum Sealer<'s> {
    Password(&'s PasswordLogin),
    Ticket(Box<kerberos::Ready>),
}

/// Opens the pipe. A server that starts its remote registry on demand says at first that there is none.
async fn open_pipe(connection: &Connection, tree: TreeId) -> Result<FileId, Failed> {
    let request = CreateRequest {
        requested_oplock_level: OplockLevel::None,
        impersonation_level: ImpersonationLevel::Impersonation,
        desired_access: FileAccessMask::new(FileAccessMask::FILE_READ_DATA | FileAccessMask::FILE_WRITE_DATA),
        file_attributes: 0,
        share_access: ShareAccess(ShareAccess::FILE_SHARE_READ | ShareAccess::FILE_SHARE_WRITE),
        create_disposition: CreateDisposition::FileOpen,
        create_options: 0,
        name: "winreg".to_string(),
        create_contexts: Vec::new(),
    };
    let mut attempt = 1u32;
    loop {
        let frame = connection.execute(Command::Create, &request, Some(tree)).await?;
        match good(frame.header.status, Command::Create) {
            Ok(()) => {
                let mut cursor = ReadCursor::new(&frame.body);
                return Ok(CreateResponse::unpack(&mut cursor)?.file_id);
            }
            Err(error) if attempt >= ATTEMPTS || !is_starting(frame.header.status) => {
                return Err(error.into());
            }
            Err(_) => {
                attempt = attempt.saturating_add(1);
                asynchronous::time::sleep(STARTING).await;
            }
        }
    }
}

/// `STATUS_PIPE_NOT_AVAILABLE`, and what servers say for a pipe that nobody has created yet.
const fn is_starting(status: NtStatus) -> bool {
    matches!(status.0, 0xc000_00ac | 0xc000_0034)
}

fn good(status: NtStatus, command: Command) -> Result<(), smb2::Error> {
    if status == NtStatus::SUCCESS { Ok(()) } else { Err(smb2::Error::Protocol { status, command }) }
}

/// The flags of NTLM without which nothing can be sealed as it is here: signatures, sealing, session security
/// of the second kind, keys of 128 bits, and a key that the client chooses.
const SEALS: u32 = 0x10 | 0x20 | 0x0008_0000 | 0x2000_0000 | 0x4000_0000;

/// What an error of Kerberos begins with.
const KERBEROS_ERROR: u8 = 0x7e;

/// Whether the answer to the begin of a login allows sealing.
fn allows_seal(challenge: &[u8]) -> bool {
    let flags = challenge.get(20..).and_then(<[u8]>::first_chunk::<4>);
    flags.is_some_and(|flags| u32::from_le_bytes(*flags) & SEALS == SEALS)
}

impl Pipe {
    /// Binds with a login of its own, so that calls and answers are sealed. A server that takes none of these
    /// gets a pipe without, as from Windows; SMB signs what it says.
    async fn bind_sealed(&mut self, sealer: &Sealer<'_>) -> Result<(), Failed> {
        let sealed = match sealer {
            Sealer::Password(login) => self.seal_by_ntlm(login).await,
            Sealer::Ticket(ticket) => self.seal_by_kerberos(ticket).await,
        };
        match sealed {
            Err(Failed::Rpc(RpcError::Refused(_) | RpcError::Fault(_) | RpcError::NoLogin)) => {
                self.close().await?;
                self.file = open_pipe(&self.connection, self.tree).await?;
                self.bind().await
            }
            bound => bound,
        }
    }

    /// Closes the pipe. A server that has closed it already says so, which is no fault.
    async fn close(&self) -> Result<(), Failed> {
        let request = CloseRequest { flags: 0, file_id: self.file };
        self.connection.execute(Command::Close, &request, Some(self.tree)).await?;
        Ok(())
    }

    async fn seal_by_ntlm(&mut self, login: &PasswordLogin) -> Result<(), Failed> {
        let mut login = login::authenticator(login);
        self.call = self.call.wrapping_add(1);
        self.write(rpc::bind_with_login(self.call, BY_NTLM, &login.negotiate())).await?;
        let challenge = self.read(rpc::Answer::to_bind(self.call)).await?;
        if !allows_seal(&challenge) {
            return Err(RpcError::NoLogin.into());
        }
        let message = login.authenticate(&challenge)?;
        self.write(rpc::end_of_login(self.call, BY_NTLM, &message)).await?;
        self.seal = Some(login.session_key().and_then(Seal::by_ntlm).ok_or(RpcError::NoLogin)?);
        Ok(())
    }

    async fn seal_by_kerberos(&mut self, ticket: &kerberos::Ready) -> Result<(), Failed> {
        let (exchange, question) = ticket.begin_rpc()?;
        self.call = self.call.wrapping_add(1);
        self.write(rpc::bind_with_login(self.call, BY_KERBEROS, &question)).await?;
        let answer = self.read(rpc::Answer::to_bind(self.call)).await?;
        if matches!(answer.first(), None | Some(&KERBEROS_ERROR)) {
            return Err(RpcError::NoLogin.into());
        }
        let (agreed, last) = exchange.end_rpc(&answer)?;
        self.write(rpc::end_of_login(self.call, BY_KERBEROS, &last)).await?;
        self.seal = Some(Seal::by_kerberos(agreed));
        Ok(())
    }

    async fn bind(&mut self) -> Result<(), Failed> {
        self.call = self.call.wrapping_add(1);
        self.write(rpc::bind(self.call)).await?;
        self.read(rpc::Answer::to_bind(self.call)).await.map(drop)
    }

    /// Queries a value of a key.
    pub(super) async fn query(&mut self, key: &Handle, name: &str, room: u32) -> Result<Value, Failed> {
        let stub = self.call(winreg::QUERY_VALUE, &winreg::query(key, name, room)).await?;
        Ok(winreg::queried(&stub, room)?)
    }

    pub(super) async fn call(&mut self, operation: u16, stub: &[u8]) -> Result<Vec<u8>, Failed> {
        self.call = self.call.wrapping_add(1);
        let request = match &mut self.seal {
            Some(seal) => rpc::sealed_request(self.call, operation, stub, seal)?,
            None => rpc::request(self.call, operation, stub),
        };
        self.write(request).await?;
        self.read(rpc::Answer::to_request(self.call)).await
    }

    async fn write(&self, data: Vec<u8>) -> Result<(), Failed> {
        let request = WriteRequest {
            // Behind the heads of SMB (64 bytes) and of the request (48).
            data_offset: 0x70,
            offset: 0,
            file_id: self.file,
            channel: 0,
            remaining_bytes: 0,
            write_channel_info_offset: 0,
            write_channel_info_length: 0,
            flags: 0,
            data,
        };
        let frame = self.connection.execute(Command::Write, &request, Some(self.tree)).await?;
        Ok(good(frame.header.status, Command::Write)?)
    }

    /// Reads until an answer is whole.
    async fn read(&mut self, mut answer: rpc::Answer) -> Result<Vec<u8>, Failed> {
        loop {
            let request = ReadRequest {
                padding: 0x50,
                flags: 0,
                length: READ,
                offset: 0,
                file_id: self.file,
                minimum_count: 0,
                channel: SMB2_CHANNEL_NONE,
                remaining_bytes: 0,
                read_channel_info: Vec::new(),
            };
            let frame = self.connection.execute(Command::Read, &request, Some(self.tree)).await?;
            let status = frame.header.status;
            // An overflow means that the rest of the message comes with the next read.
            if !status.is_success_or_partial() && answer.received() > 0 {
                return Err(RpcError::Cut(answer.received()).into());
            }
            if !status.is_success_or_partial() {
                return Err(smb2::Error::Protocol { status, command: Command::Read }.into());
            }
            let mut cursor = ReadCursor::new(&frame.body);
            let data = ReadResponse::unpack(&mut cursor)?.data;
            if data.is_empty() {
                // Else a server without an end would be read for ever.
                return Err(match answer.received() {
                    0 => RpcError::Short("the answer"),
                    bytes => RpcError::Cut(bytes),
                }
                .into());
            }
            if let Some(stub) = answer.add_sealed(&data, self.seal.as_mut())? {
                return Ok(stub);
            }
        }
    }
}

impl Failed {
    fn is_timeout(&self) -> bool {
        matches!(self, Failed::Smb(smb2::Error::Timeout))
    }

    /// Whether the same login would be refused again, and be counted as a wrong password.
    fn is_refusal(&self) -> bool {
        match self {
            // What the crate itself refuses, as a damaged answer, has no status.
            Failed::Smb(error) => error.status().is_some() && error.kind() == smb2::ErrorKind::AuthRequired,
            Failed::Kerberos(error) => error.is_refusal,
            Failed::Rpc(_) | Failed::Status(_) => false,
        }
    }

    /// As an error, with the step at which it happened.
    fn at(self, step: &str) -> SourceError {
        use smb2::ErrorKind as Smb;
        let (kind, advice) = match &self {
            Failed::Smb(error) => match error.kind() {
                Smb::AuthRequired => (
                    SourceErrorKind::AccessDenied,
                    "; check user, domain and password in the file of credentials; by Kerberos the server may also \
                     lack the key of this name, or have a wrong clock",
                ),
                Smb::AccessDenied => (
                    SourceErrorKind::AccessDenied,
                    "; on Windows the user must be an administrator, or be in Performance Monitor Users and \
                     be able to read the key winreg",
                ),
                Smb::NotFound => (
                    SourceErrorKind::NotFound,
                    "; on Windows start the service Remote Registry: sc start RemoteRegistry",
                ),
                Smb::InvalidData | Smb::SignatureInvalid => (SourceErrorKind::BadData, ""),
                _ => (SourceErrorKind::Unreachable, ""),
            },
            Failed::Rpc(RpcError::Fault(5)) | Failed::Status(ACCESS_DENIED) => (
                SourceErrorKind::AccessDenied,
                "; on Windows the user must be an administrator, or be in Performance Monitor Users",
            ),
            Failed::Kerberos(error) => (error.kind, ""),
            Failed::Rpc(_) => (SourceErrorKind::BadData, ""),
            Failed::Status(_) => (SourceErrorKind::Io, ""),
        };
        SourceError::new(kind, format!("{step}: {self}{advice}"))
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failed::Smb(error) => error.fmt(f),
            Failed::Rpc(error) => error.fmt(f),
            Failed::Kerberos(error) => error.fmt(f),
            Failed::Status(status) => write!(f, "the server reports error {status}"),
        }
    }
}
