//! What the runtime calls: the class factory, and the callback with 98 slots.
#![allow(unsafe_code)]

use super::*;
use crate::{compilations, session};
use std::ptr::null;

/// A COM object of ours: it lives as long as the process, so it counts no references.
#[repr(C)]
struct Object {
    table: *const *const c_void,
}

// SAFETY: the pointer leads to an immutable table.
unsafe impl Sync for Object {}

/// A table of functions.
#[repr(transparent)]
struct Table<const N: usize>([*const c_void; N]);

// SAFETY: the functions are code and the table is never written.
unsafe impl<const N: usize> Sync for Table<N> {}

static FACTORY_TABLE: Table<5> = Table([
    factory_query as *const c_void,
    add_reference as *const c_void,
    add_reference as *const c_void,
    create_instance as *const c_void,
    // LockServer: the library stays loaded anyway.
    nothing as *const c_void,
]);

static CALLBACK_TABLE: Table<98> = Table({
    // Arguments are passed in registers and the caller cleans the stack, so one function that ignores them
    // answers all calls that we do not need.
    let mut table = [nothing as *const c_void; 98];
    table[0] = callback_query as *const c_void;
    table[1] = add_reference as *const c_void;
    table[2] = add_reference as *const c_void;
    table[3] = initialize as *const c_void;
    table[4] = shutdown as *const c_void;
    table[13] = module_load_started as *const c_void;
    table[14] = module_load_finished as *const c_void;
    table[15] = module_unload_started as *const c_void;
    table[17] = module_attached as *const c_void;
    table[22] = function_unload_started as *const c_void;
    // The compilation of a method for the first time, again, and of one without metadata.
    table[23] = compilation_started as *const c_void;
    table[24] = compilation_finished as *const c_void;
    table[83] = compilation_started as *const c_void;
    table[85] = compilation_finished as *const c_void;
    table[92] = compilation_started as *const c_void;
    table[93] = compilation_finished as *const c_void;
    table[28] = jit_inlining as *const c_void;
    table[30] = thread_destroyed as *const c_void;
    table[31] = thread_assigned as *const c_void;
    table[54] = exception_thrown as *const c_void;
    table[62] = unwind_function_enter as *const c_void;
    table[63] = unwind_function_leave as *const c_void;
    table[64] = unwind_finally_enter as *const c_void;
    table[66] = catcher_enter as *const c_void;
    table[72] = thread_name_changed as *const c_void;
    table[80] = initialize_for_attach as *const c_void;
    table[97] = load_as_notification_only as *const c_void;
    table
});

static FACTORY: Object = Object { table: &raw const FACTORY_TABLE.0 as *const *const c_void };
static CALLBACK: Object = Object { table: &raw const CALLBACK_TABLE.0 as *const *const c_void };

/// The only function that the runtime looks up in the library: the factory of the profiler's class.
///
/// # Safety
///
/// * `class` and `interface` are null or lead to a GUID each.
/// * `out` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn DllGetClassObject(
    class: *const Guid,
    interface: *const Guid,
    out: *mut *const c_void,
) -> Hresult {
    // SAFETY: the caller vouches for it.
    if unsafe { class.as_ref() } != Some(&CLASS_PROFILER) {
        return CLASS_E_CLASSNOTAVAILABLE;
    }
    // SAFETY: the caller vouches for both pointers.
    unsafe { query(&FACTORY, &[ICLASS_FACTORY], interface, out) }
}

/// Answers a QueryInterface.
///
/// # Safety
///
/// As for [`DllGetClassObject`].
unsafe fn query(
    object: &'static Object,
    known: &[Guid],
    interface: *const Guid,
    out: *mut *const c_void,
) -> Hresult {
    if out.is_null() {
        return E_POINTER;
    }
    // SAFETY: the caller vouches for it.
    let Some(interface) = (unsafe { interface.as_ref() }) else { return E_POINTER };
    let found = *interface == IUNKNOWN || known.contains(interface);
    let answer: *const c_void = if found { (object as *const Object).cast() } else { null() };
    // SAFETY: it is not null, and the caller vouches for the rest.
    unsafe { *out = answer };
    if found { S_OK } else { E_NOINTERFACE }
}

extern "C" fn nothing() -> Hresult {
    S_OK
}

extern "C" fn add_reference(_this: *const c_void) -> u32 {
    1
}

unsafe extern "C" fn factory_query(
    _this: *const c_void,
    interface: *const Guid,
    out: *mut *const c_void,
) -> Hresult {
    // SAFETY: the runtime passes pointers as COM asks for.
    unsafe { query(&FACTORY, &[ICLASS_FACTORY], interface, out) }
}

unsafe extern "C" fn callback_query(
    _this: *const c_void,
    interface: *const Guid,
    out: *mut *const c_void,
) -> Hresult {
    // SAFETY: the runtime passes pointers as COM asks for.
    unsafe { query(&CALLBACK, &CALLBACKS, interface, out) }
}

unsafe extern "C" fn create_instance(
    _this: *const c_void,
    outer: *const c_void,
    interface: *const Guid,
    out: *mut *const c_void,
) -> Hresult {
    if !outer.is_null() {
        return CLASS_E_NOAGGREGATION;
    }
    // SAFETY: the runtime passes pointers as COM asks for.
    unsafe { query(&CALLBACK, &CALLBACKS, interface, out) }
}

unsafe extern "C" fn initialize(_this: *const c_void, unknown: *mut c_void) -> Hresult {
    let Some(unknown) = NonNull::new(unknown) else { return E_POINTER };
    // SAFETY: the runtime passes a live COM object.
    let info = unsafe { query_interface(unknown, &ICOR_PROFILER_INFO5, "QueryInterface(ICorProfilerInfo5)") };
    let started = match info {
        Ok(info) => session::start(Info(info)),
        Err(error) => Err(error.to_string()),
    };
    match started {
        Ok(()) => S_OK,
        Err(why) => {
            session::tell(&format!("{why}; the program runs without it"));
            CANCEL_ACTIVATION
        }
    }
}

/// Somebody attaches the profiler to a running program. The runtime is asked for the hooks, and its refusal
/// is the answer: it allows them from the start only. Without an error, a profiler that records nothing would
/// stay there, in the place of any other.
unsafe extern "C" fn initialize_for_attach(
    _this: *const c_void,
    unknown: *mut c_void,
    _data: *const c_void,
    _length: u32,
) -> Hresult {
    let Some(unknown) = NonNull::new(unknown) else { return E_POINTER };
    // SAFETY: the runtime passes a live COM object.
    let info = unsafe { query_interface(unknown, &ICOR_PROFILER_INFO5, "QueryInterface(ICorProfilerInfo5)") };
    match info.and_then(|info| Info(info).set_mask(events::ENTERLEAVE, 0)) {
        Ok(()) => CANCEL_ACTIVATION,
        Err(refused) => refused.code,
    }
}

extern "C" fn shutdown(_this: *const c_void) -> Hresult {
    session::ended();
    S_OK
}

extern "C" fn module_load_started(_this: *const c_void, _module: Id) -> Hresult {
    session::callbacks::module_load_started();
    S_OK
}

extern "C" fn module_load_finished(_this: *const c_void, module: Id, status: Hresult) -> Hresult {
    session::callbacks::module_load_finished(module, status >= 0);
    S_OK
}

extern "C" fn module_unload_started(_this: *const c_void, module: Id) -> Hresult {
    session::callbacks::module_unloaded(module);
    S_OK
}

extern "C" fn module_attached(_this: *const c_void, module: Id, assembly: Id) -> Hresult {
    session::callbacks::module_attached(module, assembly);
    S_OK
}

extern "C" fn function_unload_started(_this: *const c_void, function: Id) -> Hresult {
    session::callbacks::function_unloaded(function);
    S_OK
}

extern "C" fn compilation_started(_this: *const c_void) -> Hresult {
    compilations::began();
    S_OK
}

extern "C" fn compilation_finished(_this: *const c_void, function: Id) -> Hresult {
    compilations::ended(|hooked| session::callbacks::compiled(function, hooked));
    S_OK
}

unsafe extern "C" fn jit_inlining(
    _this: *const c_void,
    caller: Id,
    callee: Id,
    should_inline: *mut i32,
) -> Hresult {
    if !should_inline.is_null() && !session::callbacks::may_inline(caller, callee) {
        // SAFETY: it is not null, and the runtime passes a variable of its own.
        unsafe { *should_inline = 0 };
    }
    S_OK
}

extern "C" fn thread_destroyed(_this: *const c_void, thread: Id) -> Hresult {
    session::callbacks::thread_destroyed(thread);
    S_OK
}

extern "C" fn thread_assigned(_this: *const c_void, thread: Id, os_id: u32) -> Hresult {
    session::callbacks::thread_assigned(thread, os_id);
    S_OK
}

unsafe extern "C" fn thread_name_changed(
    _this: *const c_void,
    thread: Id,
    length: u32,
    name: *const u16,
) -> Hresult {
    let mut text = String::new();
    if !name.is_null() {
        // SAFETY: the runtime passes that many units, and they stay as they are during the call.
        let units = unsafe { std::slice::from_raw_parts(name, length as usize) };
        text = String::from_utf16_lossy(units);
    }
    session::callbacks::thread_named(thread, text);
    S_OK
}

extern "C" fn exception_thrown(_this: *const c_void, _object: Id) -> Hresult {
    session::callbacks::exception_thrown();
    S_OK
}

extern "C" fn unwind_function_enter(_this: *const c_void, function: Id) -> Hresult {
    session::callbacks::unwind_enter(function);
    S_OK
}

extern "C" fn unwind_function_leave(_this: *const c_void) -> Hresult {
    session::callbacks::unwind_leave();
    S_OK
}

extern "C" fn unwind_finally_enter(_this: *const c_void, function: Id) -> Hresult {
    session::callbacks::finally_enter(function);
    S_OK
}

extern "C" fn catcher_enter(_this: *const c_void, function: Id, _object: Id) -> Hresult {
    session::callbacks::catcher_enter(function);
    S_OK
}

unsafe extern "C" fn load_as_notification_only(_this: *const c_void, only: *mut i32) -> Hresult {
    if !only.is_null() {
        // SAFETY: it is not null, and the runtime passes a variable of its own.
        unsafe { *only = 0 };
    }
    S_OK
}

/// Called when a method is about to be compiled: returns what its hooks get, and whether it has hooks.
pub(super) unsafe extern "C" fn map_function(function: Id, _data: *mut c_void, hook: *mut i32) -> usize {
    let method = session::callbacks::map_function(function);
    if !hook.is_null() {
        // SAFETY: it is not null, and the runtime passes a variable of its own.
        unsafe { *hook = i32::from(method.is_some()) };
    }
    // Without hooks the value is not used, but it must not be 0.
    method.map_or(function.max(1), |number| number as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(class: &Guid, interface: &Guid) -> (Hresult, *const c_void) {
        let mut out = null();
        // SAFETY: all lead to live variables.
        let code = unsafe { DllGetClassObject(class, interface, &raw mut out) };
        (code, out)
    }

    #[test]
    fn the_class_gives_a_factory_and_the_factory_a_callback() {
        assert_eq!(ask(&IUNKNOWN, &ICLASS_FACTORY).0, CLASS_E_CLASSNOTAVAILABLE);
        assert_eq!(ask(&CLASS_PROFILER, &CALLBACKS[0]).0, E_NOINTERFACE);
        let (code, factory) = ask(&CLASS_PROFILER, &ICLASS_FACTORY);
        assert_eq!(code, S_OK);
        let factory = NonNull::new(factory.cast_mut()).unwrap();
        type Create =
            unsafe extern "C" fn(*mut c_void, *mut c_void, *const Guid, *mut *mut c_void) -> Hresult;
        // SAFETY: slot 3 of a factory is CreateInstance.
        let create: Create = unsafe { slot(factory, 3) };
        let mut out = null_mut();
        // SAFETY: all lead to live variables.
        let code = unsafe { create(factory.as_ptr(), null_mut(), &CALLBACKS[1], &raw mut out) };
        assert_eq!(code, S_OK);
        let callback = NonNull::new(out).unwrap();
        for interface in CALLBACKS {
            // SAFETY: the object is our own callback.
            assert_eq!(unsafe { query_interface(callback, &interface, "query") }, Ok(callback));
        }
        // SAFETY: as above.
        let error = unsafe { query_interface(callback, &ICOR_PROFILER_INFO5, "query") }.unwrap_err();
        assert_eq!(error.to_string(), "query failed with 0x80004002");
        // SAFETY: null pointers are answered with an error.
        assert_eq!(unsafe { DllGetClassObject(null(), null(), null_mut()) }, CLASS_E_CLASSNOTAVAILABLE);
        // SAFETY: as above.
        assert_eq!(unsafe { DllGetClassObject(&CLASS_PROFILER, null(), null_mut()) }, E_POINTER);
    }
}
