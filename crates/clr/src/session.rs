//! The profiler of this process: what it does when the runtime starts it, loads a module, compiles a method,
//! names a thread, throws an exception, and ends.
//!
//! Callbacks about exceptions come while the garbage collector may be waiting for the thread, so they take no
//! lock. All others may; none calls the runtime while it holds the lock, because the runtime may call back.
//! The only exception is setting the event mask: it causes no callback, and two such calls must not overtake
//! each other.

use crate::clock;
use crate::com::{Id, Info, Metadata, Token, events};
use crate::functions::{Function, Functions};
use crate::hooks;
use crate::layout::*;
use crate::map::{self, Map, Rest};
use crate::names::{RawName, keyword};
use crate::settings::{Filter, Mode, Settings, Unwinding};
use crate::signature::{self, TypeNames};
use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// How often the clock pair is written and requests are looked for.
const KEEPER_PERIOD: Duration = Duration::from_millis(100);

/// Size of the table of functions; about twice the methods of a large program.
const N_FUNCTIONS: usize = 1 << 18;

/// The most levels of enclosing types, and of types inside type arguments.
const MAX_TYPES: u32 = 8;

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
}

#[derive(Default)]
struct State {
    modules: HashMap<Id, Module>,
    /// The folder of the runtime's own library, once that is loaded.
    framework: Option<PathBuf>,
    /// Modules that are being loaded now.
    loads: u32,
    hooks_on: bool,
    /// The methods that have hooks, of those that the settings select: the filter of the last switch request.
    switched: Filter,
    threads: HashMap<Id, Thread>,
}

#[derive(Debug, Clone, Copy)]
struct Module {
    /// Number of its record plus one, 0 without one.
    number: u32,
    user: bool,
}

#[derive(Default)]
struct Thread {
    record: Option<&'static ThreadRecord>,
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
    rest: Rest,
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
    describe(&map, &settings, runtime, unwind_events, kind, first);
    let mut events = events::MODULE_LOADS | events::THREADS | events::FUNCTION_UNLOADS;
    if settings.unwinding != Unwinding::Off {
        events |= events::EXCEPTIONS;
    }
    match (settings.exact, settings.mode) {
        (true, Mode::All) => events |= events::DISABLE_INLINING,
        // Without counts that are exact the question is not refused, but counted.
        (true, _) | (false, Mode::User | Mode::All) => events |= events::JIT_COMPILATION,
        (false, Mode::Dormant) => {}
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
    if let Some((inner, outer)) = hooks::measure_overhead() {
        map.header.overhead_inner.store(inner, Relaxed);
        map.header.overhead_outer.store(outer, Relaxed);
    }
    map.header.hooks_on.store(u32::from(hooks_on), Relaxed);
    let state = Mutex::new(State { hooks_on, ..State::default() });
    let functions = Functions::new(slots);
    let session = Session { info, map, settings, events, unwind_events, functions, state };
    if SESSION.set(session).is_err() {
        return Err("it is running already".into());
    }
    // The mask comes first: the runtime refuses hooks that do not fit it.
    info.set_mask(first_mask, 0).and_then(|()| info.set_hooks()).map_err(|error| error.to_string())?;
    hooks::without_signals(|| {
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
    let since_1970 = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    header.started.store(u64::try_from(since_1970.as_nanos()).unwrap_or(u64::MAX), Relaxed);
    header.first_ticks.store(ticks, Relaxed);
    header.first_nanoseconds.store(nanoseconds, Relaxed);
    map.set_clock(clock::pair());
    header.runtime.store(runtime.iter().fold(0, |all, part| (all << 16) | u64::from(*part)), Relaxed);
    let command = std::fs::read("/proc/self/cmdline").unwrap_or_default();
    let command = String::from_utf8_lossy(&command).trim_end_matches('\0').replace('\0', " ");
    map.set_text(&header.command, &command);
    let lines: Vec<String> = settings
        .variables()
        .iter()
        .map(|(name, value)| format!("{name}={}", value.to_string_lossy()))
        .collect();
    map.set_text(&header.settings, &lines.join("\n"));
}

/// The runtime ends. Threads may still run, and their hooks stay.
pub(crate) fn ended() {
    let Some(session) = SESSION.get() else { return };
    // The lock keeps the keeper from writing the pair at the same time.
    let _state = session.lock();
    session.map.set_clock(clock::pair());
    session.map.header.state.store(STATE_ENDED, Release);
}

/// The keeper's thread: allocates more room for the file, writes the clock pair from time to time, and
/// switches the hooks when another process requests it.
fn keep(rest: Rest) {
    let Some(session) = SESSION.get() else { return };
    rest.keep_here();
    let mut rest = Some(rest);
    let header = session.map.header;
    let mut may_ask = false;
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
        std::thread::park_timeout(KEEPER_PERIOD);
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
        }
    }
}

/// A module begins to be loaded.
pub(crate) fn module_load_started() {
    let Some(session) = SESSION.get() else { return };
    let mut state = session.lock();
    state.loads = state.loads.saturating_add(1);
    session.set_events(&state);
}

/// A module has been loaded, or could not be.
pub(crate) fn module_load_finished(id: Id, loaded: bool) {
    let Some(session) = SESSION.get() else { return };
    let path = session.info.module_path(id).unwrap_or_default();
    let mut state = session.lock();
    state.loads = state.loads.saturating_sub(1);
    session.set_events(&state);
    if !loaded {
        return;
    }
    let file = Path::new(&path);
    if file.file_name().is_some_and(|name| name == "System.Private.CoreLib.dll") {
        state.framework = file.parent().map(Path::to_path_buf);
    }
    let user = is_user(file, state.framework.as_deref());
    let number = session.add_module(id, &path, user);
    state.modules.insert(id, Module { number, user });
}

/// A module belongs to an assembly from now on, and with it to an application domain.
pub(crate) fn module_attached(id: Id, assembly: Id) {
    let Some(session) = SESSION.get() else { return };
    let Ok(name) = session.info.domain_of(assembly) else { return };
    let number = session.lock().modules.get(&id).and_then(|module| module.number.checked_sub(1));
    if let Some(record) = number.and_then(|number| session.map.modules.get(number as usize)) {
        session.map.set_text(&record.domain, &name);
    }
}

/// A module was unloaded; its id may be used for another one.
pub(crate) fn module_unloaded(id: Id) {
    let Some(session) = SESSION.get() else { return };
    let module = session.lock().modules.remove(&id);
    let number = module.and_then(|module| module.number.checked_sub(1));
    if let Some(record) = number.and_then(|number| session.map.modules.get(number as usize)) {
        record.flags.fetch_or(MODULE_UNLOADED, Relaxed);
    }
}

/// A function is about to be unloaded; its id may be used for another one.
pub(crate) fn function_unloaded(id: Id) {
    let Some(session) = SESSION.get() else { return };
    let _state = session.lock();
    if session.functions.get(id) != Function::Unknown {
        session.functions.set(id, Function::Unknown);
    }
}

/// Whether calls of a function may be inlined into another: never into user code when counts must be exact.
/// Allowed inlinings are counted for methods that would have hooks, so that a report can say whose calls are
/// missing.
pub(crate) fn may_inline(caller: Id, callee: Id) -> bool {
    let Some(session) = SESSION.get() else { return true };
    if session.settings.exact {
        let Ok(function) = session.info.function(callee) else { return true };
        return !session.lock().modules.get(&function.module).is_some_and(|module| module.user);
    }
    let known = match session.functions.get(callee) {
        Function::Unknown => session.add_function(callee),
        known => known,
    };
    let Function::Method(number) = known else { return true };
    if let Some(record) = session.map.methods.get(number as usize) {
        record.inlined.fetch_add(1, Relaxed);
        record.inlined_into.store(session.method_of(caller), Relaxed);
    }
    true
}

/// A thread of the kernel runs a thread of the runtime from now on; called on that thread.
pub(crate) fn thread_assigned(id: Id, os_id: u32) {
    let Some(session) = SESSION.get() else { return };
    let record = if os_id == hooks::os_thread_id() { hooks::current_record() } else { None };
    let mut state = session.lock();
    let thread = state.threads.entry(id).or_default();
    thread.record = record;
    // A thread that is named before it starts is named before it is assigned.
    if let Some(record) = record
        && !thread.name.is_empty()
    {
        session.map.set_text(&record.name, &thread.name);
    }
}

/// A thread got a name.
pub(crate) fn thread_named(id: Id, name: String) {
    let Some(session) = SESSION.get() else { return };
    let mut state = session.lock();
    let thread = state.threads.entry(id).or_default();
    if let Some(record) = thread.record {
        session.map.set_text(&record.name, &name);
    }
    thread.name = name;
}

/// A thread of the runtime has ended.
pub(crate) fn thread_destroyed(id: Id) {
    let Some(session) = SESSION.get() else { return };
    let thread = session.lock().threads.remove(&id);
    let Some(record) = thread.and_then(|thread| thread.record) else { return };
    if record.os_id.load(Relaxed) == hooks::os_thread_id() {
        hooks::end_thread();
    } else {
        record.state.store(ENDED, Release);
    }
}

/// An exception is thrown on this thread.
pub(crate) fn exception_thrown() {
    let now = clock::now();
    hooks::with_thread(|thread| thread.thrown(now));
}

/// The unwinding of a function begins.
pub(crate) fn unwind_enter(function: Id) {
    let Some(session) = SESSION.get() else { return };
    if session.unwind_events {
        let method = session.method_of(function);
        hooks::with_thread(|thread| thread.unwind_enter(method));
    }
}

/// The unwinding of a function is over.
pub(crate) fn unwind_leave() {
    let Some(session) = SESSION.get() else { return };
    if session.unwind_events {
        let now = clock::now();
        hooks::with_thread(|thread| thread.unwind_leave(now));
    }
}

/// A block that runs with and without an exception begins in a function.
pub(crate) fn finally_enter(function: Id) {
    let Some(session) = SESSION.get() else { return };
    if !session.unwind_events {
        session.handler_enter(function);
    }
}

/// A function catches.
pub(crate) fn catcher_enter(function: Id) {
    let Some(session) = SESSION.get() else { return };
    if session.unwind_events {
        let method = session.method_of(function);
        hooks::with_thread(|thread| thread.catcher_enter(method));
    } else {
        session.handler_enter(function);
    }
}

/// A function is about to be compiled with hooks: the number of its method, `None` when it is to have no
/// hooks.
pub(crate) fn map_function(id: Id) -> Option<u32> {
    let session = SESSION.get()?;
    let known = match session.functions.get(id) {
        Function::Unknown => session.add_function(id),
        known => known,
    };
    let Function::Method(number) = known else { return None };
    if !session.takes_now(id) {
        return None;
    }
    if let Some(record) = session.map.methods.get(number as usize) {
        record.compiled.fetch_add(1, Relaxed);
    }
    Some(number)
}

/// Whether a module is the user's own: not in the folder of a shared framework, together with the runtime's
/// library, and not named like a part of a framework that comes with a program. A module without a path was
/// created by the program.
fn is_user(file: &Path, framework: Option<&Path>) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let belongs = |prefix: &str| name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('.'));
    // A program that ships its runtime, in its folder or in its single file, has its own modules in the same
    // place.
    let shared = |folder: &Path| folder.components().any(|part| part.as_os_str() == "Microsoft.NETCore.App");
    let beside = framework.is_some_and(|folder| shared(folder) && file.parent() == Some(folder));
    !beside
        && !belongs("System")
        && !belongs("Microsoft")
        && name != "mscorlib.dll"
        && name != "netstandard.dll"
        && name != "WindowsBase.dll"
}

/// Whether a type is part of how .NET 9 and later throw exceptions. The exception is reported in the middle
/// of that code, would count for that type, and its calls never return. Earlier versions do the same in
/// native code, which is not recorded.
fn throws_for_others(type_name: &str, user: bool) -> bool {
    let outermost = type_name.split('+').next().unwrap_or_default();
    let types = [
        "System.Runtime.EH",
        "System.Runtime.StackFrameIterator",
        "System.Runtime.ExceptionServices.InternalCalls",
    ];
    !user && types.contains(&outermost)
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

    /// Writes the record of a module and returns its number plus one; 0 when there is no room.
    fn add_module(&self, id: Id, path: &str, user: bool) -> u32 {
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

    /// Decides whether a new function gets hooks, and creates its record if so.
    fn add_function(&self, id: Id) -> Function {
        let Ok(function) = self.info.function(id) else { return Function::Ignored };
        let module = self.lock().modules.get(&function.module).copied();
        let module = module.unwrap_or(Module { number: 0, user: false });
        let by_default = self.settings.mode == Mode::All || module.user;
        let mut wanted = by_default || !self.settings.filter.include.is_empty();
        let mut name = RawName::default();
        if wanted {
            name = self.raw_name(id, function.class, function.module, function.token, &function.arguments);
            wanted = self.settings.filter.takes(&name, by_default)
                && !throws_for_others(&name.type_name, module.user);
        }
        let _state = self.lock();
        // Another thread may have compiled the same function meanwhile.
        let known = self.functions.get(id);
        if known != Function::Unknown {
            return known;
        }
        let mut decision = Function::Ignored;
        if wanted {
            match self.add_method(id, module.number, function.token, &name) {
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

    fn add_method(&self, id: Id, module: u32, token: Token, name: &RawName) -> Option<u32> {
        let number = self.map.header.methods.take()?;
        let record = self.map.methods.get(number as usize)?;
        record.id.store(id as u64, Relaxed);
        record.module.store(module, Relaxed);
        record.token.store(token, Relaxed);
        record.flags.store(METHOD_HOOKED | if name.state_machine { METHOD_ASYNC } else { 0 }, Relaxed);
        record.name.store(self.map.store_text(&name.encode()), Relaxed);
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
        if !*may_ask {
            self.info.initialize_thread().map_err(|error| error.to_string())?;
            *may_ask = true;
        }
        let modules: Vec<(Id, Module)> = {
            let mut state = self.lock();
            state.hooks_on = on;
            state.switched = filter;
            self.set_events(&state);
            state.modules.iter().map(|(id, module)| (*id, *module)).collect()
        };
        let mut problem = Ok(());
        for (id, module) in modules {
            if !module.user && self.settings.filter.include.is_empty() {
                continue;
            }
            let Ok(metadata) = self.info.metadata(id) else { continue };
            let tokens: Vec<Token> = metadata
                .all_methods()
                .unwrap_or_default()
                .into_iter()
                .filter(|token| self.wants(&metadata, *token, module.user))
                .collect();
            // Removing the hooks means compiling without them: the first code of a method may have had them.
            if let Err(error) = self.info.request_rejit(&vec![id; tokens.len()], &tokens)
                && !tokens.is_empty()
            {
                problem = Err(error.to_string());
            }
        }
        // A process that waits for this sees the following calls.
        self.map.header.hooks_on.store(u32::from(on), Release);
        problem
    }

    fn wants(&self, metadata: &Metadata, token: Token, user: bool) -> bool {
        let Ok(method) = metadata.method(token) else { return false };
        let type_name = type_name(metadata, method.class, false);
        let name = RawName { type_name, method: method.name, ..RawName::default() };
        method.has_code && self.settings.filter.takes(&name, user)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn framework_modules_differ_from_user_modules() {
        let framework = Some(Path::new("/dotnet/shared/Microsoft.NETCore.App/3.1.23"));
        let check = |path: &str| is_user(Path::new(path), framework);
        assert!(check("/app/TestApp.dll"));
        assert!(check("/app/Systematic.dll"));
        assert!(check(""));
        assert!(!check("/dotnet/shared/Microsoft.NETCore.App/3.1.23/WindowsBase.dll"));
        assert!(!check("/app/System.Text.Json.dll"));
        assert!(!check("/app/Microsoft.Extensions.Logging.dll"));
        assert!(!check("/app/mscorlib.dll"));
        assert!(!is_user(Path::new("/app/System.Private.CoreLib.dll"), None));
        let carried = Some(Path::new("/app"));
        assert!(is_user(Path::new("/app/TestApp.dll"), carried));
        assert!(!is_user(Path::new("/app/System.Linq.dll"), carried));
    }

    #[test]
    fn throw_helpers_belong_to_the_runtime() {
        assert!(throws_for_others("System.Runtime.EH+ExInfo", false));
        assert!(throws_for_others("System.Runtime.StackFrameIterator", false));
        assert!(!throws_for_others("System.Runtime.EHandler", false));
        assert!(!throws_for_others("System.Runtime.EH", true));
    }
}
