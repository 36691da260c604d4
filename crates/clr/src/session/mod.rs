//! The profiler of this process: what it does when the runtime starts it, loads a module, compiles a method,
//! names a thread, throws an exception, and ends.
//!
//! Callbacks about exceptions come while the garbage collector may be waiting for the thread, so they take no
//! lock. All others may; none calls the runtime while it holds the lock, because the runtime may call back.
//! The only exception is setting the event mask: it causes no callback, and two such calls must not overtake
//! each other.

pub(crate) mod callbacks;
mod gate;
mod retired;
mod rules;

use self::gate::Gate;
use self::retired::Retired;
use self::rules::{family, is_user, throws_for_others};
use crate::clock;
use crate::com::{Id, Info, Metadata, Token, events};
use crate::compilations;
use crate::functions::{Function, Functions};
use crate::hooks;
use crate::layout::*;
use crate::map::{self, Map, UnreservedFile};
use crate::names::{RawName, keyword};
use crate::settings::{Filter, Mode, Settings, Unwinding};
use crate::signature::{self, TypeNames};
use crate::system;
use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// How often the clock pair is written and requests are looked for.
const KEEPER_PERIOD: Duration = Duration::from_millis(100);

/// How often requests are looked for when one came within [`BUSY`], as who switches once often does so again.
const BUSY_PERIOD: Duration = Duration::from_millis(5);

/// How long after a request the next one is looked for more often.
const BUSY: Duration = Duration::from_secs(2);

/// How long the end of the runtime waits for a switch. A program that ends must not hang by us.
const END_PATIENCE: Duration = Duration::from_secs(2);

/// How long an unloading waits for the part of a switch that is about one module.
const UNLOAD_PATIENCE: Duration = Duration::from_secs(30);

/// How long a switch waits for the compilations that run.
const COMPILATION_PATIENCE: Duration = Duration::from_secs(5);

/// Size of the table of functions; about twice the methods of a large program.
const N_FUNCTIONS: usize = 1 << 18;

/// The most levels of enclosing types, and of types inside type arguments.
const MAX_TYPES: u32 = 8;

/// Why a switch does nothing.
const HAS_ENDED: &str = "not switched: the runtime of the program has ended";

static SESSION: OnceLock<Session> = OnceLock::new();

struct Session {
    info: Info,
    map: Map,
    settings: Settings,
    /// Low word of the event mask without the hooks.
    events: u32,
    /// Whether the runtime's reports end the calls that exceptions end.
    unwind_events: bool,
    functions: Functions<'static>,
    state: Mutex<State>,
    /// Whether a request for new code must not meet an inlining, see [`compilations`].
    inlining_blocks: bool,
    /// Whether the runtime must not be asked for new code at all.
    never_switch: bool,
    /// Whether such a request is being made.
    requesting: AtomicBool,
    /// Where the keeper's thread uses the runtime.
    gate: Gate,
}

#[derive(Default)]
struct State {
    modules: HashMap<Id, Module>,
    /// The folder of the runtime's own library, once that is loaded.
    framework: Option<PathBuf>,
    /// The first two parts of the name of the program's own module, when it is named like a framework's.
    family: Option<String>,
    /// Modules that are being loaded now.
    loads: u32,
    /// How many modules have been loaded.
    loaded: u64,
    hooks_on: bool,
    /// The methods that have hooks, of those that the settings select: the filter of the last switch request.
    switched: Filter,
    /// In mode dormant: which kinds of code a method has, of those that a switch may give new code.
    code: HashMap<(Id, Token), Code>,
    threads: HashMap<Id, Thread>,
    /// Records of what has been unloaded.
    retired: Retired,
}

#[derive(Debug, Clone, Copy, Default)]
struct Module {
    /// Number of its record plus one, 0 without one. A copy of an unloaded module has the same one.
    number: u32,
    /// Which loading it came by: a copy may have the id of the one before it, too.
    load: u64,
    user: bool,
    /// Whether it belongs to an assembly already. Before that the runtime crashes when asked for new code.
    attached: bool,
    /// Whether new code was requested for all its methods once. From then on none of them runs precompiled
    /// code or is inlined, so the runtime reports all their code.
    requested: bool,
}

/// The code that was compiled for a method since its last request for new code; several pieces if it is
/// generic.
#[derive(Debug, Clone, Copy, Default)]
struct Code {
    hooked: bool,
    plain: bool,
}

#[derive(Default)]
struct Thread {
    record: Option<&'static ThreadRecord>,
    os_id: u32,
    name: String,
}

/// Prints a message for the person who started the program. A failure to print must not stop the program.
pub(crate) fn tell(message: &str) {
    let _ = writeln!(std::io::stderr(), "tallymon profiler: {}", crate::export::one_line(message));
}

/// The runtime starts the profiler.
///
/// # Errors
///
/// What did not work, in words.
pub(crate) fn start(info: Info) -> Result<(), String> {
    let settings = Settings::read(|name| std::env::var_os(name)).map_err(|error| error.to_string())?;
    let kind = clock::choose(settings.clock);
    let first = clock::pair();
    let wanted = settings.file_of(std::process::id());
    let bytes = (settings.size as usize).saturating_mul(1 << 20);
    let (map, rest, _path) = Map::create(&wanted, bytes, settings.events as usize)
        .map_err(|error| format!("{}: {error}", wanted.display()))?;
    let result = start_with(info, settings, map, rest, kind, first);
    if let Err(why) = &result {
        map.set_text(&map.header.problem, why);
    }
    result
}

fn start_with(
    info: Info,
    settings: Settings,
    map: Map,
    rest: UnreservedFile,
    kind: u32,
    first: (u64, u64),
) -> Result<(), String> {
    let runtime = info.runtime().map_err(|error| error.to_string())?;
    let unwind_events = match settings.unwinding {
        // From .NET 9 on, some reports come twice.
        Unwinding::Auto => runtime.first().is_some_and(|major| *major < 9),
        Unwinding::Events => true,
        Unwinding::Stack | Unwinding::Off => false,
    };
    // .NET Core 3.1 calls itself 4.
    let inlining_blocks = runtime.first().is_none_or(|major| *major < 9);
    let never_switch = inlining_blocks;
    describe(&map, &settings, runtime, unwind_events, kind, first);
    let mut events = events::MODULE_LOADS | events::THREADS | events::FUNCTION_UNLOADS;
    if settings.unwinding != Unwinding::Off {
        events |= events::EXCEPTIONS;
    }
    match (settings.exact, settings.mode) {
        (true, Mode::All) => events |= events::DISABLE_INLINING,
        // Without counts that are exact the question is not refused, but counted. In mode dormant, a switch
        // must know the compilations.
        (true, _) | (false, _) => events |= events::JIT_COMPILATION,
    }
    let hooks_on = settings.mode != Mode::Dormant;
    if settings.mode == Mode::Dormant {
        events |= events::ENABLE_REJIT;
    }
    // With hooks in the first mask, the runtime discards all precompiled code. So only the mode that records
    // the framework starts with them; user code gets them when the first module is loaded.
    let first_mask = if settings.mode == Mode::All { events | events::ENTERLEAVE } else { events };
    let slots = map::slots(N_FUNCTIONS).ok_or("no memory for the table of functions")?;
    hooks::set_map(map);
    map.header.overhead_clock.store(clock::cost(), Relaxed);
    if let Some(overhead) = hooks::measure_overhead() {
        map.header.overhead_inner.store(overhead.inner, Relaxed);
        map.header.overhead_outer.store(overhead.outer, Relaxed);
        map.header.overhead_least.store(overhead.least, Relaxed);
        map.header.overhead_most.store(overhead.most, Relaxed);
    }
    map.header.hooks_on.store(u32::from(hooks_on), Relaxed);
    let state = Mutex::new(State { hooks_on, ..State::default() });
    let functions = Functions::new(slots);
    let requesting = AtomicBool::new(false);
    let session = Session {
        info,
        map,
        settings,
        events,
        unwind_events,
        functions,
        state,
        inlining_blocks,
        never_switch,
        requesting,
        gate: Gate::default(),
    };
    if SESSION.set(session).is_err() {
        return Err("it is running already".into());
    }
    if let Err(error) = system::call_in_forks(forked) {
        return Err(format!("it could not prepare for forks: {error}"));
    }
    // The mask comes first: the runtime refuses hooks that do not fit it.
    info.set_mask(first_mask, 0).and_then(|()| info.set_hooks()).map_err(|error| error.to_string())?;
    system::without_signals(|| {
        std::thread::Builder::new().name("tallymon-prof".into()).spawn(move || keep(rest))
    })
    .map_err(|error| format!("its thread did not start: {error}"))?;
    Ok(())
}

/// Writes what is known at the start into the header.
fn describe(
    map: &Map,
    settings: &Settings,
    runtime: [u16; 4],
    unwind_events: bool,
    clock: u32,
    (ticks, nanoseconds): (u64, u64),
) {
    let header = map.header;
    header.pid.store(std::process::id(), Relaxed);
    let mode = match settings.mode {
        Mode::Dormant => 0,
        Mode::User => 1,
        Mode::All => 2,
    };
    header.mode.store(mode, Relaxed);
    let exact = match (settings.exact, settings.mode) {
        (false, _) => 0,
        (true, Mode::All) => FLAG_EXACT_ALL,
        (true, _) => FLAG_EXACT_USER,
    };
    let counted = !settings.exact && settings.mode != Mode::Dormant;
    let inlining = if counted { FLAG_INLINING_COUNTED } else { 0 };
    header.flags.store(exact | inlining | if unwind_events { FLAG_UNWIND_EVENTS } else { 0 }, Relaxed);
    header.clock.store(clock, Relaxed);
    if settings.events > 0 && settings.events_min > 0 {
        header.events_least.store(clock::ticks(settings.events_min), Relaxed);
    }
    let since_1970 = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    header.started.store(u64::try_from(since_1970.as_nanos()).unwrap_or(u64::MAX), Relaxed);
    header.first_ticks.store(ticks, Relaxed);
    header.first_nanoseconds.store(nanoseconds, Relaxed);
    map.set_clock(clock::pair());
    header.runtime.store(runtime.iter().fold(0, |all, part| (all << 16) | u64::from(*part)), Relaxed);
    map.set_text(&header.command, &system::command_line());
    let lines: Vec<String> = settings
        .variables()
        .iter()
        .map(|(name, value)| format!("{name}={}", value.to_string_lossy()))
        .collect();
    map.set_text(&header.settings, &lines.join("\n"));
}

/// The runtime ends. Threads may still run, and their hooks stay. Nothing may be asked of the runtime from
/// here on, so a switch that is under way gets some time to end.
pub(crate) fn ended() {
    let Some(session) = ours() else { return };
    session.gate.close();
    // Later than that the program's end matters more.
    session.gate.wait(END_PATIENCE);
    // The lock keeps the keeper from writing the pair at the same time.
    let _state = session.lock();
    session.map.set_clock(clock::pair());
    session.map.header.state.store(STATE_ENDED, Release);
}

/// The keeper's thread: allocates more room for the file, writes the clock pair from time to time, and
/// switches the hooks when another process requests it.
fn keep(rest: UnreservedFile) {
    let Some(session) = SESSION.get() else { return };
    rest.keep_here();
    let mut rest = Some(rest);
    let header = session.map.header;
    let mut may_ask = false;
    let mut answered: Option<Instant> = None;
    loop {
        match rest.as_ref().map(|rest| rest.reserve(&session.map)) {
            Some(Ok(true)) | None => {}
            Some(Ok(false)) => rest = None,
            Some(Err(error)) => {
                let why = format!("no room for all of the file: {error}");
                session.map.set_text(&header.problem, &why);
                rest = None;
            }
        }
        let is_busy = answered.is_some_and(|answered| answered.elapsed() < BUSY);
        std::thread::park_timeout(if is_busy { BUSY_PERIOD } else { KEEPER_PERIOD });
        {
            let _state = session.lock();
            session.map.set_clock(clock::pair());
        }
        let wanted = header.wanted.load(Acquire);
        if wanted != header.answered.load(Relaxed) {
            let filter = Filter::from_lines(&session.map.request());
            let result = session.switch(wanted & 3 == WANTED_ON, filter, &mut may_ask);
            match result {
                Ok(()) => header.problem.store(0, Relaxed),
                Err(why) => session.map.set_text(&header.problem, &why),
            }
            header.answered.store(wanted, Release);
            answered = Some(Instant::now());
        }
    }
}

/// This process has just been forked: it records nothing, takes no lock, which another thread of the profiled
/// process may have held, and asks the runtime nothing.
extern "C" fn forked() {
    hooks::stop_in_fork();
    if let Some(session) = SESSION.get() {
        session.gate.close();
    }
}

/// The session, unless this process is a fork of the profiled one.
fn ours() -> Option<&'static Session> {
    SESSION.get().filter(|_| !hooks::is_fork())
}

/// The session, as long as the runtime may be asked.
fn live() -> Option<&'static Session> {
    SESSION.get().filter(|session| !session.gate.is_closed())
}

impl Session {
    /// The state; a thread that panicked while it held the lock has aborted the process already.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the event mask that the state wants. Hooks stay off while a module is loaded, or the runtime
    /// would not use the module's precompiled code.
    fn set_events(&self, state: &State) {
        if self.settings.mode == Mode::All {
            return;
        }
        if self.gate.is_closed() {
            return;
        }
        let hooks = if state.hooks_on && state.loads == 0 { events::ENTERLEAVE } else { 0 };
        if let Err(error) = self.info.set_mask(self.events | hooks, 0) {
            self.map.set_text(&self.map.header.problem, &error.to_string());
        }
    }

    /// The method number of a function; 0 when it has no hooks.
    fn method_of(&self, function: Id) -> u32 {
        match self.functions.get(function) {
            Function::Method(number) => number,
            Function::Unknown | Function::Ignored => 0,
        }
    }

    /// Writes the record of a module and returns its number plus one; 0 when there is no room. A copy of a
    /// module that has been unloaded gets the record of that one.
    fn add_module(&self, retired: &mut Retired, id: Id, path: &str, user: bool) -> u32 {
        let again = retired.module(path, user);
        if let Some(record) = again.and_then(|number| self.map.modules.get(number.wrapping_sub(1) as usize)) {
            record.id.store(id as u64, Relaxed);
            record.flags.store(if user { MODULE_USER } else { 0 }, Relaxed);
            return again.unwrap_or(0);
        }
        let Some(number) = self.map.header.modules.take() else {
            self.map.header.lost_modules.fetch_add(1, Relaxed);
            return 0;
        };
        let Some(record) = self.map.modules.get(number as usize) else { return 0 };
        record.id.store(id as u64, Relaxed);
        record.flags.store(if user { MODULE_USER } else { 0 }, Relaxed);
        record.path.store(self.map.store_text(path), Relaxed);
        record.state.store(READY, Release);
        number.saturating_add(1)
    }

    /// A function that is being compiled. Its id may have been that of another one, which was unloaded, so
    /// what is known of the id is compared with the function.
    fn function(&self, id: Id) -> Function {
        if let Function::Method(number) = self.functions.get(id) {
            let same = self.info.function(id).is_ok_and(|function| {
                let module = self.lock().modules.get(&function.module).map_or(0, |module| module.number);
                self.map.methods.get(number as usize).is_some_and(|record| {
                    (record.module.load(Relaxed), record.token.load(Relaxed)) == (module, function.token)
                })
            });
            if same {
                return Function::Method(number);
            }
            let _state = self.lock();
            self.functions.set(id, Function::Unknown);
        }
        self.add_function(id)
    }

    /// Decides whether a new function gets hooks, and creates its record if so.
    fn add_function(&self, id: Id) -> Function {
        let Ok(function) = self.info.function(id) else { return Function::Ignored };
        let module = self.lock().modules.get(&function.module).copied();
        let module = module.unwrap_or_default();
        let by_default = self.settings.mode == Mode::All || module.user;
        let mut wanted = by_default || !self.settings.filter.include.is_empty();
        let mut name = RawName::default();
        if wanted {
            name = self.raw_name(id, function.class, function.module, function.token, &function.arguments);
            wanted = self.settings.filter.takes(&name, by_default)
                && !throws_for_others(&name.type_name, module.user);
        }
        let mut state = self.lock();
        // Another thread may have compiled the same function meanwhile.
        if let known @ Function::Method(_) = self.functions.get(id) {
            return known;
        }
        let mut decision = Function::Ignored;
        if wanted {
            match self.add_method(&mut state.retired, id, module.number, function.token, &name) {
                Some(number) => decision = Function::Method(number),
                None => {
                    self.map.header.lost_methods.fetch_add(1, Relaxed);
                }
            }
        }
        if !self.functions.set(id, decision) && decision != Function::Ignored {
            // The mapper must always give the same answer, and only the table can provide it.
            self.map.header.lost_methods.fetch_add(1, Relaxed);
            return Function::Ignored;
        }
        decision
    }

    fn add_method(
        &self,
        retired: &mut Retired,
        id: Id,
        module: u32,
        token: Token,
        name: &RawName,
    ) -> Option<u32> {
        let name_text = name.encode();
        if let Some(number) = retired.method(module, &name_text) {
            let record = self.map.methods.get(number as usize)?;
            record.id.store(id as u64, Relaxed);
            record.token.store(token, Relaxed);
            return Some(number);
        }
        let number = self.map.header.methods.take()?;
        let record = self.map.methods.get(number as usize)?;
        record.id.store(id as u64, Relaxed);
        record.module.store(module, Relaxed);
        record.token.store(token, Relaxed);
        record.flags.store(METHOD_HOOKED | if name.state_machine { METHOD_ASYNC } else { 0 }, Relaxed);
        record.name.store(self.map.store_text(&name_text), Relaxed);
        record.state.store(READY, Release);
        Some(number)
    }

    /// The name of a function; one without a name in metadata is named by its id.
    fn raw_name(&self, id: Id, class: Id, module: Id, token: Token, arguments: &[Id]) -> RawName {
        let found = self.info.metadata(module).and_then(|metadata| Ok((metadata.method(token)?, metadata)));
        let Ok((method, metadata)) = found else {
            return RawName { method: format!("function {id:#x}"), ..RawName::default() };
        };
        let type_name = type_name(&metadata, method.class, false);
        let state_machine = method.name == "MoveNext"
            && type_name.contains(">d__")
            && metadata.has_method(method.class, "SetStateMachine");
        // The signature refers to parameters by their names, whatever types are in their place here.
        let declared = metadata.generic_parameters(method.class);
        let method_declared = metadata.generic_parameters(token);
        let mut names = Names { metadata: &metadata, type_: &declared, method: &method_declared };
        let signature =
            signature::method(&method.signature, &mut names).map(|s| s.parameter_list()).unwrap_or_default();
        let class_arguments = self.info.class(class).map(|class| class.arguments).unwrap_or_default();
        RawName {
            type_name,
            type_parameters: self.named_arguments(declared, &class_arguments, 0),
            method: method.name,
            method_parameters: self.named_arguments(method_declared, arguments, 0),
            signature,
            state_machine,
        }
    }

    /// A function handles an exception: the calls that it made have ended.
    fn handler_enter(&self, function: Id) {
        let (method, stack, now) = (self.method_of(function), self.info.handler_stack(), clock::now());
        hooks::with_thread(|thread| thread.handler_enter(method, stack, now));
    }

    /// The types of generic parameters; the parameter's own name where many types share the code.
    fn named_arguments(&self, declared: Vec<String>, arguments: &[Id], depth: u32) -> Vec<String> {
        let arguments = arguments.iter().map(Some).chain(std::iter::repeat(None));
        let named = |(name, argument): (String, Option<&Id>)| {
            argument.and_then(|class| self.class_name(*class, depth)).unwrap_or(name)
        };
        declared.into_iter().zip(arguments).map(named).collect()
    }

    /// The name of a class; `None` when it is unknown or a placeholder for all reference types.
    fn class_name(&self, class: Id, depth: u32) -> Option<String> {
        if depth > MAX_TYPES || class == 0 {
            return None;
        }
        let inner = depth.saturating_add(1);
        if let Ok((_, base, rank)) = self.info.array(class)
            && rank > 0
        {
            let element = self.class_name(base, inner)?;
            let commas = usize::try_from(rank.min(32)).unwrap_or(1).saturating_sub(1);
            return Some(format!("{element}[{}]", ",".repeat(commas)));
        }
        let found = self.info.class(class).ok()?;
        let metadata = self.info.metadata(found.module).ok()?;
        let name = type_name(&metadata, found.token, false);
        if name.is_empty() || name == "System.__Canon" {
            return None;
        }
        let arguments =
            self.named_arguments(metadata.generic_parameters(found.token), &found.arguments, inner);
        if arguments.is_empty() {
            return Some(keyword(&name).to_string());
        }
        Some(format!("{}<{}>", signature::without_arity(&name), arguments.join(", ")))
    }

    /// Whether a function that the settings select has hooks now, by the last switch request.
    fn takes_now(&self, id: Id) -> bool {
        if self.settings.mode != Mode::Dormant {
            return true;
        }
        let filter = self.lock().switched.clone();
        if filter == Filter::default() {
            return true;
        }
        let Ok(function) = self.info.function(id) else { return false };
        let Ok(metadata) = self.info.metadata(function.module) else { return false };
        metadata.method(function.token).is_ok_and(|method| {
            let type_name = type_name(&metadata, method.class, false);
            filter.takes(&RawName { type_name, method: method.name, ..RawName::default() }, true)
        })
    }

    /// Adds hooks to the methods that the settings and the filter select, or removes them, by having all
    /// methods that the settings select compiled again.
    fn switch(&self, on: bool, filter: Filter, may_ask: &mut bool) -> Result<(), String> {
        if self.settings.mode != Mode::Dormant {
            return Err("only a program that was started in mode dormant can be switched".into());
        }
        if self.never_switch {
            return Err(
                "not switched: .NET before 9 may crash or stand still when hooks are switched while it \
                compiles; run the program with .NET 9 or later, or start it with --mode user"
                    .into(),
            );
        }
        if !*may_ask {
            let _inside = self.gate.enter().ok_or(HAS_ENDED)?;
            self.info.initialize_thread().map_err(|error| error.to_string())?;
            *may_ask = true;
        }
        // From here on no inlining of a method that gets new code begins, and before the request none is on
        // its way: some versions of the runtime would wait for ever.
        self.requesting.store(true, SeqCst);
        let before = {
            let _inside = self.gate.enter().ok_or(HAS_ENDED)?;
            self.set_switched(on, filter)
        };
        let waited = compilations::wait(COMPILATION_PATIENCE);
        let result = if waited || !self.inlining_blocks {
            let result = self.request_new_code();
            // A process that waits for this sees the following calls.
            self.map.header.hooks_on.store(u32::from(on), Release);
            result
        } else {
            self.set_switched(before.0, before.1);
            Err("not switched: a method is being compiled for more than 5 seconds, and this version of .NET \
                stands still when the hooks are switched meanwhile; switch again later"
                .to_string())
        };
        self.requesting.store(false, SeqCst);
        result
    }

    /// Whether a switch can give a function new code.
    fn may_be_switched(&self, function: Id) -> bool {
        if !self.settings.filter.include.is_empty() {
            return true;
        }
        let Ok(function) = self.info.function(function) else { return true };
        self.lock().modules.get(&function.module).is_none_or(|module| module.user)
    }

    /// Makes the next compilations follow a switch request, and returns what they followed before.
    fn set_switched(&self, on: bool, filter: Filter) -> (bool, Filter) {
        let mut state = self.lock();
        let before = (state.hooks_on, std::mem::replace(&mut state.switched, filter));
        state.hooks_on = on;
        self.set_events(&state);
        before
    }

    /// Requests new code for all methods whose code does not follow the switch request: for all methods of a
    /// module the first time, because their precompiled code and their inlined calls are not known.
    fn request_new_code(&self) -> Result<(), String> {
        let (modules, filter, on, code) = {
            let mut state = self.lock();
            let code = std::mem::take(&mut state.code);
            (state.modules.clone(), state.switched.clone(), state.hooks_on, code)
        };
        let mut known: HashMap<Id, Vec<(Token, Code)>> = HashMap::new();
        for ((module, token), code) in code {
            known.entry(module).or_default().push((token, code));
        }
        let mut problem = Ok(());
        for (id, module) in modules {
            let _inside = self.gate.enter().ok_or(HAS_ENDED)?;
            // It may have been unloaded since; from here on it stays.
            if self.lock().modules.get(&id).is_none_or(|now| now.load != module.load) {
                continue;
            }
            // What a module that is being loaded compiles follows the event mask.
            if !module.attached || (!module.user && self.settings.filter.include.is_empty()) {
                continue;
            }
            let Ok(metadata) = self.info.metadata(id) else { continue };
            let mut tokens: Vec<Token> = Vec::new();
            let mut stay: Vec<(Token, Code)> = Vec::new();
            if module.requested {
                for (token, code) in known.remove(&id).unwrap_or_default() {
                    let hooked = on && self.wants(&metadata, token, module.user, &filter);
                    if if hooked { code.plain } else { code.hooked } {
                        tokens.push(token);
                    } else {
                        stay.push((token, code));
                    }
                }
            } else if on {
                let all = metadata.all_methods().unwrap_or_default();
                let wanted = |token: &Token| self.wants(&metadata, *token, module.user, &Filter::default());
                tokens = all.into_iter().filter(wanted).collect();
            } else {
                // Nothing of it has hooks, but for what was compiled since it was loaded.
                for (token, code) in known.remove(&id).unwrap_or_default() {
                    if code.hooked { tokens.push(token) } else { stay.push((token, code)) }
                }
            }
            // Removing the hooks means compiling without them: the first code of a method may have had them.
            if !tokens.is_empty()
                && let Err(error) = self.info.request_rejit(&vec![id; tokens.len()], &tokens)
            {
                problem = Err(error.to_string());
                // The next switch tries again.
                stay.extend(tokens.iter().map(|token| (*token, Code { hooked: true, plain: true })));
            }
            let mut state = self.lock();
            if let Some(module) = state.modules.get_mut(&id) {
                module.requested |= on;
                for (token, code) in stay {
                    let now = state.code.entry((id, token)).or_default();
                    now.hooked |= code.hooked;
                    now.plain |= code.plain;
                }
            }
        }
        problem
    }

    /// Whether a method with code is selected by the settings and by the filter of a switch request.
    fn wants(&self, metadata: &Metadata, token: Token, user: bool, switched: &Filter) -> bool {
        let Ok(method) = metadata.method(token) else { return false };
        let type_name = type_name(metadata, method.class, false);
        let name = RawName { type_name, method: method.name, ..RawName::default() };
        method.has_code && self.settings.filter.takes(&name, user) && switched.takes(&name, true)
    }
}

/// The full name of a type with its enclosing types; empty when unknown.
fn type_name(metadata: &Metadata, token: Token, reference: bool) -> String {
    let mut parts = Vec::new();
    let mut next = Some(token);
    for _ in 0..MAX_TYPES {
        let Some(token) = next else { break };
        let found = if reference { metadata.type_reference(token) } else { metadata.type_definition(token) };
        let Ok(found) = found else { break };
        parts.push(found.name);
        next = found.enclosing;
    }
    parts.reverse();
    parts.join("+")
}

/// Names for the decoder of signatures.
struct Names<'a> {
    metadata: &'a Metadata,
    type_: &'a [String],
    method: &'a [String],
}

impl TypeNames for Names<'_> {
    fn type_name(&mut self, token: u32) -> Option<String> {
        let name = match token >> 24 {
            0x01 => type_name(self.metadata, token, true),
            0x02 => type_name(self.metadata, token, false),
            _ => String::new(),
        };
        (!name.is_empty()).then_some(name)
    }

    fn type_parameter(&mut self, number: u32) -> Option<String> {
        self.type_.get(number as usize).cloned()
    }

    fn method_parameter(&mut self, number: u32) -> Option<String> {
        self.method.get(number as usize).cloned()
    }
}
