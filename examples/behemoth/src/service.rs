//! The service: advances and publishes the world, and accepts queries and changes over a socket.

use std::fmt;
use std::fs::{self, Permissions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tallymon_provider::FileTime;
use tallymon_provider::shm::{PublishError, perf_time};

use crate::figures::Figures;
use crate::life::{Moment, Sex, World};
use crate::publish::Published;

/// Interval between steps, unless slowed down.
pub const STEP: Duration = Duration::from_millis(100);
/// The same interval in units of 100 ns.
const STEP_TICKS: u64 = 1_000_000;
/// Maximum number of clients answered at a time, and how long each may take to send its request.
const MOST_ASKERS: u32 = 64;
const PATIENCE: Duration = Duration::from_secs(1);

/// Options of a service.
#[derive(Debug, Clone)]
pub struct Options {
    /// The same seed gives the same life.
    pub seed: u64,
    /// Number of adults at the beginning.
    pub number: u32,
    /// Steps that have already passed at the start.
    pub steps: u32,
    /// Tenths of a second per step; 0 stops the world.
    pub slow: u32,
    /// Path of the socket.
    pub socket: PathBuf,
}

/// Why the service cannot continue.
#[derive(Debug)]
#[non_exhaustive]
pub enum ServiceError {
    /// The socket cannot be created.
    Socket {
        /// Path of the socket.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// Another service listens on the socket.
    Running {
        /// Path of the socket.
        path: PathBuf,
    },
    /// The counters cannot be published.
    Publish(PublishError),
}

impl fmt::Display for ServiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServiceError::Socket { path, error } => write!(f, "listening at {}: {error}", path.display()),
            ServiceError::Running { path } => {
                write!(f, "another service listens at {}: stop it, or set BEHEMOTH_SOCKET", path.display())
            }
            ServiceError::Publish(error) => write!(f, "publishing: {error}"),
        }
    }
}

impl std::error::Error for ServiceError {}

/// A running service.
#[derive(Debug)]
pub struct Service {
    state: Mutex<State>,
    askers: AtomicU32,
}

/// Published values and socket answers always agree, because both change under one lock.
#[derive(Debug)]
struct State {
    world: World,
    published: Published,
    slow: u32,
}

impl Service {
    /// Starts publishing and listening. The first step comes with [`Service::live`].
    ///
    /// # Errors
    ///
    /// Publishing or listening failed.
    pub fn start(options: &Options) -> Result<Arc<Service>, ServiceError> {
        let listener = listen(options)?;
        // The earlier steps, computed as fast as possible.
        let now = now();
        let before = |steps: u32| {
            let ticks = STEP_TICKS.saturating_mul(u64::from(steps));
            Moment {
                perf: now.perf.saturating_sub(ticks).max(1),
                civil: FileTime(now.civil.0.saturating_sub(ticks)),
            }
        };
        let mut world = World::new(options.seed, options.number, before(options.steps));
        (0..options.steps).rev().for_each(|left| world.step(before(left)));
        let mut published = Published::start().map_err(ServiceError::Publish)?;
        published.show(&Figures::of(&world)).map_err(ServiceError::Publish)?;
        let state = Mutex::new(State { world, published, slow: options.slow });
        let service = Arc::new(Service { state, askers: AtomicU32::new(0) });
        let answering = Arc::clone(&service);
        thread::spawn(move || answering.answer_all(&listener));
        Ok(service)
    }

    /// Makes a step every tenth of a second, or at the configured slower pace, forever.
    ///
    /// # Errors
    ///
    /// There is no more space for published instances.
    pub fn live(&self) -> Result<(), ServiceError> {
        let mut waited = 0u32;
        loop {
            thread::sleep(STEP);
            let mut state = self.state();
            waited = waited.saturating_add(1);
            if state.slow > 0 && waited >= state.slow {
                waited = 0;
                state.world.step(now());
                state.show().map_err(ServiceError::Publish)?;
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Each change is complete before it becomes visible.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer_all(self: &Arc<Service>, listener: &UnixListener) {
        for stream in listener.incoming() {
            let Ok(stream) = stream else {
                // Too many open files: one will be closed soon.
                thread::sleep(STEP);
                continue;
            };
            if self.askers.fetch_add(1, Ordering::Relaxed) >= MOST_ASKERS {
                self.askers.fetch_sub(1, Ordering::Relaxed);
                continue;
            }
            let service = Arc::clone(self);
            thread::spawn(move || {
                // A client that disconnects early does not need the answer.
                let _ = service.answer(stream);
                service.askers.fetch_sub(1, Ordering::Relaxed);
            });
        }
    }

    fn answer(&self, stream: UnixStream) -> io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut question = String::new();
        BufReader::new((&stream).take(256)).read_line(&mut question)?;
        let answer = match self.state().answer(question.trim_end_matches('\n')) {
            Ok(answer) => answer,
            Err(why) => format!("error\t{why}\n"),
        };
        (&stream).write_all(answer.as_bytes())
    }
}

impl State {
    fn show(&mut self) -> Result<(), PublishError> {
        self.published.show(&Figures::of(&self.world))
    }

    fn answer(&mut self, question: &str) -> Result<String, String> {
        let mut words = question.split('\t');
        let mut word = || words.next().filter(|word| !word.is_empty());
        let command = word().unwrap_or_default();
        if command == "figures" {
            self.world.wait(now());
            return Ok(Figures::of(&self.world).to_string());
        }
        self.world.wait(now());
        let nobody = |name: &str| format!("there is no behemoth {name:?}");
        let number = |text: Option<&str>| {
            let text = text.unwrap_or_default();
            text.parse::<u32>().map_err(|_| format!("a number from 0 to 4294967295 needed, found {text:?}"))
        };
        let done = match command {
            "feed" => {
                let name = word().unwrap_or_default();
                let kilograms = number(word())?;
                let eaten = self.world.feed(name, u64::from(kilograms)).ok_or_else(|| nobody(name))?;
                format!("{name} eats {eaten} kg")
            }
            "add" => {
                let sex = match word() {
                    Some("female") => Sex::Female,
                    Some("male") => Sex::Male,
                    other => {
                        return Err(format!("female or male needed, found {:?}", other.unwrap_or_default()));
                    }
                };
                let name = word();
                let why = "the name is taken or no short word, or the meadow is full";
                let id = self.world.walk_in(sex, name).ok_or(why)?;
                let name = self.world.behemoths().iter().find(|one| one.id == id).map_or("", |one| &one.name);
                format!("{name} walks in")
            }
            "remove" => {
                let name = word().unwrap_or_default();
                if !self.world.remove(name) {
                    return Err(nobody(name));
                }
                format!("{name} goes away")
            }
            "slow" => {
                self.slow = number(word())?;
                match self.slow {
                    0 => "they stand still".to_string(),
                    slow => format!("a step takes {} s", f64::from(slow) / 10.0),
                }
            }
            other => {
                return Err(format!("figures, feed, add, remove or slow needed, found {other:?}"));
            }
        };
        self.show().map_err(|error| error.to_string())?;
        Ok(format!("ok\t{done}\n"))
    }
}

/// The current time.
pub fn now() -> Moment {
    let civil = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let civil = i128::try_from(civil.as_nanos()).ok().and_then(FileTime::from_unix_nanoseconds);
    Moment { perf: perf_time(), civil: civil.unwrap_or(FileTime(0)) }
}

/// Listens on the socket, also if a killed service left it behind.
fn listen(options: &Options) -> Result<UnixListener, ServiceError> {
    let path = &options.socket;
    let failed = |error| ServiceError::Socket { path: path.clone(), error };
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    let listener = match UnixListener::bind(path) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            if UnixStream::connect(path).is_ok() {
                return Err(ServiceError::Running { path: path.clone() });
            }
            fs::remove_file(path).and_then(|()| UnixListener::bind(path))
        }
        bound => bound,
    };
    let listener = listener.map_err(failed)?;
    fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(failed)?;
    Ok(listener)
}
