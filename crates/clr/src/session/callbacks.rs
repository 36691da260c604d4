//! What the runtime calls while a session runs: modules, compilations, threads and exceptions. Each function
//! does nothing before [`super::start`].

use super::*;

/// A module begins to be loaded.
pub(crate) fn module_load_started() {
    let Some(session) = live() else { return };
    let mut state = session.lock();
    state.loads = state.loads.saturating_add(1);
    session.set_events(&state);
}

/// A module has been loaded, or could not be.
pub(crate) fn module_load_finished(id: Id, loaded: bool) {
    let Some(session) = live() else { return };
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
    // The runtime loads its own library first and the program's second.
    if state.modules.len() == 1 {
        state.family = family(file);
    }
    let user = is_user(file, state.framework.as_deref(), state.family.as_deref());
    let number = session.add_module(&mut state.retired, id, &path, user);
    state.loaded = state.loaded.saturating_add(1);
    let load = state.loaded;
    state.modules.insert(id, Module { number, load, user, attached: false, requested: false });
}

/// A module belongs to an assembly from now on, and with it to an application domain.
pub(crate) fn module_attached(id: Id, assembly: Id) {
    let Some(session) = live() else { return };
    let number = {
        let mut state = session.lock();
        let Some(module) = state.modules.get_mut(&id) else { return };
        module.attached = true;
        module.number.checked_sub(1)
    };
    let Ok(name) = session.info.domain_of(assembly) else { return };
    if let Some(record) = number.and_then(|number| session.map.modules.get(number as usize)) {
        session.map.set_text(&record.domain, &name);
    }
}

/// A module is about to be unloaded; its id may be used for another one afterwards.
pub(crate) fn module_unloaded(id: Id) {
    let Some(session) = ours() else { return };
    let module = {
        let mut state = session.lock();
        state.code.retain(|(module, _), _| *module != id);
        state.modules.remove(&id)
    };
    // A switch may be using it. No lock is held meanwhile.
    session.gate.wait(UNLOAD_PATIENCE);
    if let Some(module) = module {
        session.lock().retired.add(&session.map, &session.functions, module.number);
    }
}

/// A function is about to be unloaded; its id may be used for another one. Runtimes do not say so of all
/// functions of a module that is unloaded: see [`Session::function`].
pub(crate) fn function_unloaded(id: Id) {
    let Some(session) = ours() else { return };
    let _state = session.lock();
    if session.functions.get(id) != Function::Unknown {
        session.functions.set(id, Function::Unknown);
    }
}

/// Whether calls of a function may be inlined into another: never into user code when counts must be exact.
/// Allowed inlinings are counted for methods that would have hooks, so that a report can say whose calls are
/// missing.
pub(crate) fn may_inline(caller: Id, callee: Id) -> bool {
    let Some(session) = live() else { return true };
    let switching = session.settings.mode == Mode::Dormant
        && (session.requesting.load(SeqCst) || session.map.header.hooks_on.load(Relaxed) != 0);
    if switching && session.may_be_switched(callee) {
        return false;
    }
    if session.settings.exact {
        let Ok(function) = session.info.function(callee) else { return true };
        return !session.lock().modules.get(&function.module).is_some_and(|module| module.user);
    }
    if session.settings.mode == Mode::Dormant {
        return true;
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

/// A function has been compiled, with hooks or without.
pub(crate) fn compiled(function: Id, hooked: bool) {
    let Some(session) = live() else { return };
    if session.settings.mode != Mode::Dormant {
        return;
    }
    let Ok(function) = session.info.function(function) else { return };
    let mut state = session.lock();
    if !session.settings.filter.include.is_empty()
        || state.modules.get(&function.module).is_some_and(|module| module.user)
    {
        let code = state.code.entry((function.module, function.token)).or_default();
        if hooked {
            code.hooked = true;
        } else {
            code.plain = true;
        }
    }
}

/// A thread of the kernel runs a thread of the runtime from now on; called on that thread.
pub(crate) fn thread_assigned(id: Id, os_id: u32) {
    let Some(session) = ours() else { return };
    let record = if os_id == system::thread_id() { hooks::current_record() } else { None };
    let mut state = session.lock();
    let thread = state.threads.entry(id).or_default();
    (thread.record, thread.os_id) = (record, os_id);
    // A thread that is named before it starts is named before it is assigned.
    if let Some(record) = record
        && !thread.name.is_empty()
    {
        session.map.set_text(&record.name, &thread.name);
    }
}

/// A thread got a name.
pub(crate) fn thread_named(id: Id, name: String) {
    let Some(session) = ours() else { return };
    let mut state = session.lock();
    let thread = state.threads.entry(id).or_default();
    if let Some(record) = thread.record {
        session.map.set_text(&record.name, &name);
    }
    thread.name = name;
}

/// A thread of the runtime has ended.
pub(crate) fn thread_destroyed(id: Id) {
    let Some(session) = ours() else { return };
    let Some(thread) = session.lock().threads.remove(&id) else { return };
    if thread.os_id == system::thread_id() {
        hooks::end_thread();
    } else if let Some(record) = thread.record {
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
    let Some(session) = ours() else { return };
    if session.unwind_events {
        let method = session.method_of(function);
        hooks::with_thread(|thread| thread.unwind_enter(method));
    }
}

/// The unwinding of a function is over.
pub(crate) fn unwind_leave() {
    let Some(session) = ours() else { return };
    if session.unwind_events {
        let now = clock::now();
        hooks::with_thread(|thread| thread.unwind_leave(now));
    }
}

/// A block that runs with and without an exception begins in a function.
pub(crate) fn finally_enter(function: Id) {
    let Some(session) = ours() else { return };
    if !session.unwind_events {
        session.handler_enter(function);
    }
}

/// A function catches.
pub(crate) fn catcher_enter(function: Id) {
    let Some(session) = ours() else { return };
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
    let session = live()?;
    let Function::Method(number) = session.function(id) else { return None };
    if !session.takes_now(id) {
        return None;
    }
    if let Some(record) = session.map.methods.get(number as usize) {
        record.compiled.fetch_add(1, Relaxed);
    }
    compilations::hooked();
    Some(number)
}
