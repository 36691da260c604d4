//! The border to the runtime: the class factory, the callback with 98 slots that the runtime calls, and our
//! calls of its `ICorProfilerInfo` and `IMetaDataImport2`.
//!
//! The runtime loads the library, gets a factory from [`DllGetClassObject`] and a callback from the factory,
//! and calls `Initialize` with its own interface. [`crate::session`] decides what a callback does; this file
//! only converts each call to a Rust one and back. It checks every HRESULT: a profiler that ignores one runs
//! and records nothing.
//!
//! Unsafe code is here because all of this is C: tables of functions by number, pointers that a call fills
//! in, and buffers with a length. Pointers of the runtime leave this file only inside of [`Info`] and
//! [`Metadata`].
#![allow(unsafe_code)]

use crate::hooks::Hooks;
use crate::{compilations, session, stubs};
use std::ffi::c_void;
use std::fmt;
use std::ptr::{NonNull, null, null_mut};

/// The runtime's name for a function, a class, a module, a thread: an address that means nothing to us.
pub(crate) type Id = usize;

/// A metadata token.
pub(crate) type Token = u32;

/// A result code; negative ones are failures.
pub(crate) type Hresult = i32;

const S_OK: Hresult = 0;
const E_NOINTERFACE: Hresult = 0x8000_4002_u32 as Hresult;
const E_POINTER: Hresult = 0x8000_4003_u32 as Hresult;
const CLASS_E_NOAGGREGATION: Hresult = 0x8004_0110_u32 as Hresult;
const CLASS_E_CLASSNOTAVAILABLE: Hresult = 0x8004_0111_u32 as Hresult;

/// The answer of a profiler that rejects this process; the runtime continues without it.
const CANCEL_ACTIVATION: Hresult = 0x8013_1375_u32 as Hresult;

/// Events to subscribe to, the low word.
pub(crate) mod events {
    /// Functions that are unloaded.
    pub(crate) const FUNCTION_UNLOADS: u32 = 1;
    /// Modules.
    pub(crate) const MODULE_LOADS: u32 = 4;
    /// Compilation, and with it the question whether to inline.
    pub(crate) const JIT_COMPILATION: u32 = 0x20;
    /// Exceptions.
    pub(crate) const EXCEPTIONS: u32 = 0x40;
    /// Threads.
    pub(crate) const THREADS: u32 = 0x200;
    /// Enter, leave and tail call.
    pub(crate) const ENTERLEAVE: u32 = 0x1000;
    /// Methods may be compiled again on request.
    pub(crate) const ENABLE_REJIT: u32 = 0x4_0000;
    /// Nothing is inlined anywhere.
    pub(crate) const DISABLE_INLINING: u32 = 0x20_0000;
}

/// A call of the runtime that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ComError {
    /// The function.
    pub what: &'static str,
    /// Its result code.
    pub code: Hresult,
}

impl fmt::Display for ComError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} failed with {:#010x}", self.what, self.code)
    }
}

impl std::error::Error for ComError {}

/// An interface id, in the memory order of a GUID.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Guid(u32, u16, u16, [u8; 8]);

impl Guid {
    /// From its text without dashes and braces.
    const fn new(number: u128) -> Guid {
        let tail = number as u64;
        Guid((number >> 96) as u32, (number >> 80) as u16, (number >> 64) as u16, tail.to_be_bytes())
    }
}

const CLASS_PROFILER: Guid = Guid::new(0x9E2B38F2_7355_4C61_A54F_434B7AC266C0);
const IUNKNOWN: Guid = Guid::new(0x00000000_0000_0000_C000_000000000046);
const ICLASS_FACTORY: Guid = Guid::new(0x00000001_0000_0000_C000_000000000046);
const ICOR_PROFILER_INFO5: Guid = Guid::new(0x07602928_CE38_4B83_81E7_74ADAF781214);
const IMETA_DATA_IMPORT2: Guid = Guid::new(0xFCE5EFA0_8BBA_4F8E_A036_8F2022B08466);

/// `ICorProfilerCallback` to `ICorProfilerCallback11`; the last table includes all earlier ones.
const CALLBACKS: [Guid; 11] = [
    Guid::new(0x176FBED1_A55C_4796_98CA_A9DA0EF883E7),
    Guid::new(0x8A8CC829_CCF2_49FE_BBAE_0F022228071A),
    Guid::new(0x4FD2ED52_7731_4B8D_9469_03D2CC3086C5),
    Guid::new(0x7B63B2E3_107D_4D48_B2F6_F61E229470D2),
    Guid::new(0x8DFBA405_8C9F_45F8_BFFA_83B14CEF78B5),
    Guid::new(0xFC13DF4B_4448_4F4F_950C_BA8D19D00C36),
    Guid::new(0xF76A2DBA_1D52_4539_866C_2AA518F9EFC3),
    Guid::new(0x5BED9B15_C079_4D47_BFE2_215A140C07E0),
    Guid::new(0x27583EC3_C8F5_482F_8052_194B8CE4705A),
    Guid::new(0xCEC5B60E_C69C_495F_87F6_84D28EE16FFB),
    Guid::new(0x42350846_AAED_47F7_B128_FD0C98881CDE),
];

// ---- what the runtime calls
// --------------------------------------------------------------------------------------

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
    table[16] = module_unload_finished as *const c_void;
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

extern "C" fn shutdown(_this: *const c_void) -> Hresult {
    session::ended();
    S_OK
}

extern "C" fn module_load_started(_this: *const c_void, _module: Id) -> Hresult {
    session::module_load_started();
    S_OK
}

extern "C" fn module_load_finished(_this: *const c_void, module: Id, status: Hresult) -> Hresult {
    session::module_load_finished(module, status >= 0);
    S_OK
}

extern "C" fn module_unload_finished(_this: *const c_void, module: Id, _status: Hresult) -> Hresult {
    session::module_unloaded(module);
    S_OK
}

extern "C" fn module_attached(_this: *const c_void, module: Id, assembly: Id) -> Hresult {
    session::module_attached(module, assembly);
    S_OK
}

extern "C" fn function_unload_started(_this: *const c_void, function: Id) -> Hresult {
    session::function_unloaded(function);
    S_OK
}

extern "C" fn compilation_started(_this: *const c_void) -> Hresult {
    compilations::began();
    S_OK
}

extern "C" fn compilation_finished(_this: *const c_void, function: Id) -> Hresult {
    compilations::ended(|hooked| session::compiled(function, hooked));
    S_OK
}

unsafe extern "C" fn jit_inlining(
    _this: *const c_void,
    caller: Id,
    callee: Id,
    should_inline: *mut i32,
) -> Hresult {
    if !should_inline.is_null() && !session::may_inline(caller, callee) {
        // SAFETY: it is not null, and the runtime passes a variable of its own.
        unsafe { *should_inline = 0 };
    }
    S_OK
}

extern "C" fn thread_destroyed(_this: *const c_void, thread: Id) -> Hresult {
    session::thread_destroyed(thread);
    S_OK
}

extern "C" fn thread_assigned(_this: *const c_void, thread: Id, os_id: u32) -> Hresult {
    session::thread_assigned(thread, os_id);
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
    session::thread_named(thread, text);
    S_OK
}

extern "C" fn exception_thrown(_this: *const c_void, _object: Id) -> Hresult {
    session::exception_thrown();
    S_OK
}

extern "C" fn unwind_function_enter(_this: *const c_void, function: Id) -> Hresult {
    session::unwind_enter(function);
    S_OK
}

extern "C" fn unwind_function_leave(_this: *const c_void) -> Hresult {
    session::unwind_leave();
    S_OK
}

extern "C" fn unwind_finally_enter(_this: *const c_void, function: Id) -> Hresult {
    session::finally_enter(function);
    S_OK
}

extern "C" fn catcher_enter(_this: *const c_void, function: Id, _object: Id) -> Hresult {
    session::catcher_enter(function);
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
unsafe extern "C" fn map_function(function: Id, _data: *mut c_void, hook: *mut i32) -> usize {
    let method = session::map_function(function);
    if !hook.is_null() {
        // SAFETY: it is not null, and the runtime passes a variable of its own.
        unsafe { *hook = i32::from(method.is_some()) };
    }
    // Without hooks the value is not used, but it must not be 0.
    method.map_or(function.max(1), |number| number as usize)
}

// ---- what we call
// ------------------------------------------------------------------------------------------------

/// The function in a slot of a COM object.
///
/// # Safety
///
/// * `object` is a live COM object whose table has the slot.
/// * `F` is the type of the function there.
unsafe fn slot<F: Copy>(object: NonNull<c_void>, number: usize) -> F {
    const { assert!(size_of::<F>() == size_of::<*const c_void>()) };
    // SAFETY: a COM object begins with the pointer to its table.
    let table = unsafe { object.cast::<*const *const c_void>().read() };
    // SAFETY: the caller vouches that the table is so long.
    let entry = unsafe { table.add(number) };
    // SAFETY: the entry is readable, and the caller vouches that it is such a function.
    unsafe { entry.cast::<F>().read() }
}

/// Queries a COM object for another interface, which the caller then owns.
///
/// # Safety
///
/// `object` is a live COM object.
unsafe fn query_interface(
    object: NonNull<c_void>,
    interface: &Guid,
    what: &'static str,
) -> Result<NonNull<c_void>, ComError> {
    let mut out: *mut c_void = null_mut();
    // SAFETY: slot 0 of every COM object is QueryInterface.
    let function: unsafe extern "C" fn(*mut c_void, *const Guid, *mut *mut c_void) -> Hresult =
        unsafe { slot(object, 0) };
    // SAFETY: both pointers lead to live variables.
    let code = unsafe { function(object.as_ptr(), interface, &raw mut out) };
    check(what, code)?;
    NonNull::new(out).ok_or(ComError { what, code: E_POINTER })
}

fn check(what: &'static str, code: Hresult) -> Result<(), ComError> {
    if code < 0 { Err(ComError { what, code }) } else { Ok(()) }
}

/// The runtime's `ICorProfilerInfo5` (.NET Core 2.1 and later have at least this).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Info(NonNull<c_void>);

// SAFETY: the interface may be used from every thread, and is never released.
unsafe impl Send for Info {}
// SAFETY: as above.
unsafe impl Sync for Info {}

/// A function of an interface: its name, slot and arguments; the result is a checked HRESULT.
macro_rules! function {
    ($(#[$documentation:meta])* $name:ident, $slot:literal, $what:literal, $($argument:ident: $type:ty),*) => {
        $(#[$documentation])*
        ///
        /// # Safety
        ///
        /// Every pointer may be written, for as many elements as the count beside it says.
        // The arguments are those of the runtime's header.
        #[allow(clippy::too_many_arguments)]
        unsafe fn $name(self, $($argument: $type),*) -> Result<(), ComError> {
            // SAFETY: the object is live, and the slot and its type are those of the runtime's header.
            let function: unsafe extern "C" fn(*mut c_void, $($type),*) -> Hresult = unsafe {
                slot(self.0, $slot)
            };
            // SAFETY: the caller vouches for the arguments.
            check($what, unsafe { function(self.0.as_ptr(), $($argument),*) })
        }
    };
}

/// A function: the classes of its generic parameters, and where it is defined.
#[derive(Debug, Clone, Default)]
pub(crate) struct FunctionInfo {
    /// The class, 0 when the code is shared by several.
    pub class: Id,
    /// The module.
    pub module: Id,
    /// The method's token.
    pub token: Token,
    /// The classes of the method's own generic parameters.
    pub arguments: Vec<Id>,
}

/// A class: a type or an instantiation of one.
#[derive(Debug, Clone, Default)]
pub(crate) struct ClassInfo {
    /// The module.
    pub module: Id,
    /// The type's token.
    pub token: Token,
    /// The classes of its generic parameters.
    pub arguments: Vec<Id>,
}

/// A clause of a method that handles an exception, in the layout of the runtime's header.
#[repr(C)]
#[derive(Debug, Default)]
struct Clause {
    kind: u32,
    code: usize,
    frame: usize,
    shadow_stack: usize,
}

impl Info {
    function!(raw_set_mask, 82, "SetEventMask2", low: u32, high: u32);
    function!(
        raw_set_hooks, 61, "SetEnterLeaveFunctionHooks3",
        enter: *const c_void, leave: *const c_void, tail_call: *const c_void
    );
    function!(raw_set_mapper, 59, "SetFunctionIDMapper2", mapper: *const c_void, data: *mut c_void);
    function!(
        raw_runtime, 67, "GetRuntimeInformation",
        instance: *mut u16, kind: *mut u32, major: *mut u16, minor: *mut u16, build: *mut u16,
        revision: *mut u16,
        length: u32, used: *mut u32, text: *mut u16
    );
    function!(
        raw_function, 38, "GetFunctionInfo2",
        function: Id, frame: usize, class: *mut Id, module: *mut Id, token: *mut Token, length: u32,
        used: *mut u32,
        arguments: *mut Id
    );
    function!(
        raw_class, 41, "GetClassIDInfo2",
        class: Id, module: *mut Id, token: *mut Token, parent: *mut Id, length: u32, used: *mut u32,
        arguments: *mut Id
    );
    function!(raw_clause, 56, "GetNotifiedExceptionClauseInfo", clause: *mut Clause);
    function!(raw_array, 11, "IsArrayClass", class: Id, element: *mut u32, base: *mut Id, rank: *mut u32);
    function!(
        raw_module, 20, "GetModuleInfo",
        module: Id, base: *mut *const u8, length: u32, used: *mut u32, name: *mut u16, assembly: *mut Id
    );
    function!(
        raw_assembly, 26, "GetAssemblyInfo",
        assembly: Id, length: u32, used: *mut u32, name: *mut u16, domain: *mut Id, module: *mut Id
    );
    function!(
        raw_domain, 25, "GetAppDomainInfo",
        domain: Id, length: u32, used: *mut u32, name: *mut u16, process: *mut Id
    );
    function!(
        raw_metadata, 21, "GetModuleMetaData",
        module: Id, flags: u32, interface: *const Guid, out: *mut *mut c_void
    );
    function!(raw_initialize_thread, 72, "InitializeCurrentThread",);
    function!(raw_rejit, 73, "RequestReJIT", count: u32, modules: *const Id, tokens: *const Token);

    /// Subscribes to events. After the start, only `ENTERLEAVE` and a few other bits of the low word may
    /// change.
    pub(crate) fn set_mask(self, low: u32, high: u32) -> Result<(), ComError> {
        // SAFETY: no pointers.
        unsafe { self.raw_set_mask(low, high) }
    }

    /// Passes our hooks and the mapper to the runtime, which calls them from then on until the process ends.
    pub(crate) fn set_hooks(self) -> Result<(), ComError> {
        let [enter, leave, tail_call] = [
            stubs::enter::<Hooks> as *const c_void,
            stubs::leave::<Hooks> as *const c_void,
            stubs::tail_call::<Hooks> as *const c_void,
        ];
        // SAFETY: the three functions keep what the convention of these hooks wants kept.
        unsafe { self.raw_set_hooks(enter, leave, tail_call)? };
        // SAFETY: the function has the type that the runtime's header gives a mapper, and needs no data.
        unsafe { self.raw_set_mapper(map_function as *const c_void, null_mut()) }
    }

    /// Major, minor, build and revision number of the runtime. .NET Core 3.1 returns 4.0.30319.0.
    pub(crate) fn runtime(self) -> Result<[u16; 4], ComError> {
        let (mut instance, mut kind, mut used) = (0, 0, 0);
        let [mut major, mut minor, mut build, mut revision] = [0u16; 4];
        // The text has the same numbers; without a buffer for it the call fails.
        let mut text = [0u16; 128];
        // SAFETY: all lead to live variables, and the buffer is as long as said.
        unsafe {
            self.raw_runtime(
                &raw mut instance,
                &raw mut kind,
                &raw mut major,
                &raw mut minor,
                &raw mut build,
                &raw mut revision,
                text.len() as u32,
                &raw mut used,
                text.as_mut_ptr(),
            )?;
        }
        Ok([major, minor, build, revision])
    }

    /// The stack pointer of the method that is handling an exception, valid in a callback about that; 0 when
    /// the runtime does not know it.
    pub(crate) fn handler_stack(self) -> usize {
        let mut clause = Clause::default();
        // SAFETY: it leads to a live variable.
        let known = unsafe { self.raw_clause(&raw mut clause) };
        if known.is_ok() { clause.frame } else { 0 }
    }

    /// The place of a function's definition, and its generic arguments (the first 16).
    pub(crate) fn function(self, function: Id) -> Result<FunctionInfo, ComError> {
        let (mut class, mut module, mut token, mut used) = (0, 0, 0, 0);
        let mut arguments = [0; 16];
        // SAFETY: all lead to live variables, and the buffer is as long as said.
        unsafe {
            self.raw_function(
                function,
                0,
                &raw mut class,
                &raw mut module,
                &raw mut token,
                arguments.len() as u32,
                &raw mut used,
                arguments.as_mut_ptr(),
            )?;
        }
        let arguments = arguments.into_iter().take(used as usize).collect();
        Ok(FunctionInfo { class, module, token, arguments })
    }

    /// The place of a class's definition, and its generic arguments (the first 16). Fails for arrays.
    pub(crate) fn class(self, class: Id) -> Result<ClassInfo, ComError> {
        let (mut module, mut token, mut parent, mut used) = (0, 0, 0, 0);
        let mut arguments = [0; 16];
        // SAFETY: all lead to live variables, and the buffer is as long as said.
        unsafe {
            self.raw_class(
                class,
                &raw mut module,
                &raw mut token,
                &raw mut parent,
                arguments.len() as u32,
                &raw mut used,
                arguments.as_mut_ptr(),
            )?;
        }
        let arguments = arguments.into_iter().take(used as usize).collect();
        Ok(ClassInfo { module, token, arguments })
    }

    /// Element type, element class (0 for a simple type) and rank of an array class; fails for others.
    pub(crate) fn array(self, class: Id) -> Result<(u32, Id, u32), ComError> {
        let (mut element, mut base, mut rank) = (0, 0, 0);
        // SAFETY: all lead to live variables.
        let code = unsafe { self.raw_array(class, &raw mut element, &raw mut base, &raw mut rank) };
        code.map(|()| (element, base, rank))
    }

    /// The path of a module, or its name when it was created in memory.
    pub(crate) fn module_path(self, module: Id) -> Result<String, ComError> {
        let (mut base, mut used, mut assembly) = (null(), 0, 0);
        let mut name = [0u16; 4096];
        // SAFETY: all lead to live variables, and the buffer is as long as said.
        unsafe {
            self.raw_module(
                module,
                &raw mut base,
                name.len() as u32,
                &raw mut used,
                name.as_mut_ptr(),
                &raw mut assembly,
            )?;
        }
        Ok(terminated(&name))
    }

    /// The name of the application domain that an assembly belongs to. .NET Core has one, .NET Framework any
    /// number.
    pub(crate) fn domain_of(self, assembly: Id) -> Result<String, ComError> {
        let (mut used, mut domain, mut other) = (0, 0, 0);
        let mut name = [0u16; 512];
        let length = name.len() as u32;
        // SAFETY: all lead to live variables, and the buffer is as long as said.
        unsafe {
            self.raw_assembly(
                assembly,
                length,
                &raw mut used,
                name.as_mut_ptr(),
                &raw mut domain,
                &raw mut other,
            )?;
        }
        name = [0; 512];
        // SAFETY: as above.
        unsafe { self.raw_domain(domain, length, &raw mut used, name.as_mut_ptr(), &raw mut other)? };
        Ok(terminated(&name))
    }

    /// The metadata of a module.
    pub(crate) fn metadata(self, module: Id) -> Result<Metadata, ComError> {
        let mut out = null_mut();
        // SAFETY: both lead to live variables.
        unsafe { self.raw_metadata(module, 0, &IMETA_DATA_IMPORT2, &raw mut out)? };
        match NonNull::new(out) {
            Some(import) => Ok(Metadata(Import(import))),
            None => Err(ComError { what: "GetModuleMetaData", code: E_POINTER }),
        }
    }

    /// Prepares this thread, which the runtime did not create, to request new compilations.
    pub(crate) fn initialize_thread(self) -> Result<(), ComError> {
        // SAFETY: no pointers.
        unsafe { self.raw_initialize_thread() }
    }

    /// Requests that these methods are compiled again at their next call.
    pub(crate) fn request_rejit(self, modules: &[Id], tokens: &[Token]) -> Result<(), ComError> {
        let count = modules.len().min(tokens.len()) as u32;
        // SAFETY: both lead to at least that many elements.
        unsafe { self.raw_rejit(count, modules.as_ptr(), tokens.as_ptr()) }
    }
}

/// A live `IMetaDataImport2`.
#[derive(Clone, Copy)]
struct Import(NonNull<c_void>);

/// The metadata of a module, released when it is dropped.
pub(crate) struct Metadata(Import);

/// A type of the metadata.
#[derive(Debug, Clone)]
pub(crate) struct TypeInfo {
    /// Its name with its namespace, without the types around it.
    pub name: String,
    /// The type around it, if it is nested.
    pub enclosing: Option<Token>,
}

/// A method of the metadata.
#[derive(Debug, Clone)]
pub(crate) struct MethodInfo {
    /// Its name.
    pub name: String,
    /// The type it belongs to.
    pub class: Token,
    /// Its signature.
    pub signature: Vec<u8>,
    /// Whether it has code in the module.
    pub has_code: bool,
}

impl Import {
    function!(
        raw_method, 30, "GetMethodProps",
        method: Token, class: *mut Token, name: *mut u16, length: u32, used: *mut u32, attributes: *mut u32,
        signature: *mut *const u8, signature_length: *mut u32, address: *mut u32, flags: *mut u32
    );
    function!(
        raw_type, 12, "GetTypeDefProps",
        token: Token, name: *mut u16, length: u32, used: *mut u32, flags: *mut u32, extends: *mut Token
    );
    function!(
        raw_type_reference, 14, "GetTypeRefProps",
        token: Token, scope: *mut Token, name: *mut u16, length: u32, used: *mut u32
    );
    function!(raw_nested, 62, "GetNestedClassProps", token: Token, enclosing: *mut Token);
    function!(
        raw_find_method, 27, "FindMethod",
        class: Token, name: *const u16, signature: *const u8, length: u32, method: *mut Token
    );
    function!(
        raw_enum_parameters, 65, "EnumGenericParams",
        position: *mut *mut c_void, owner: Token, tokens: *mut Token, length: u32, used: *mut u32
    );
    function!(
        raw_parameter, 66, "GetGenericParamProps",
        token: Token, number: *mut u32, flags: *mut u32, owner: *mut Token, reserved: *mut u32,
        name: *mut u16,
        length: u32, used: *mut u32
    );
    function!(
        raw_enum_types, 6, "EnumTypeDefs",
        position: *mut *mut c_void, tokens: *mut Token, length: u32, used: *mut u32
    );
    function!(
        raw_enum_methods, 18, "EnumMethods",
        position: *mut *mut c_void, class: Token, tokens: *mut Token, length: u32, used: *mut u32
    );

    fn close(self, position: *mut c_void) {
        if position.is_null() {
            return;
        }
        // SAFETY: slot 3 of the interface is CloseEnum, which returns nothing.
        let function: unsafe extern "C" fn(*mut c_void, *mut c_void) = unsafe { slot(self.0, 3) };
        // SAFETY: the position came from one of the enumerating functions and is not used again.
        unsafe { function(self.0.as_ptr(), position) };
    }

    /// All tokens of an enumerating function, which returns them in portions.
    fn all(
        self,
        mut next: impl FnMut(*mut *mut c_void, *mut Token, u32, *mut u32) -> Result<(), ComError>,
    ) -> Result<Vec<Token>, ComError> {
        let mut position = null_mut();
        let mut all = Vec::new();
        let result = loop {
            let mut portion = [0; 64];
            let mut used = 0;
            if let Err(error) =
                next(&raw mut position, portion.as_mut_ptr(), portion.len() as u32, &raw mut used)
            {
                break Err(error);
            }
            if used == 0 {
                break Ok(all);
            }
            all.extend(portion.iter().take(used as usize));
        };
        self.close(position);
        result
    }
}

impl Drop for Metadata {
    fn drop(&mut self) {
        // SAFETY: slot 2 of every COM object is Release.
        let function: unsafe extern "C" fn(*mut c_void) -> u32 = unsafe { slot(self.0.0, 2) };
        // SAFETY: the reference is ours and not used again.
        unsafe { function(self.0.0.as_ptr()) };
    }
}

impl Metadata {
    /// A method.
    pub(crate) fn method(&self, token: Token) -> Result<MethodInfo, ComError> {
        let (mut class, mut used, mut attributes, mut address, mut flags) = (0, 0, 0, 0, 0);
        let (mut signature, mut signature_length) = (null(), 0);
        let mut name = [0u16; 1024];
        // SAFETY: all lead to live variables, and the buffer is as long as said.
        unsafe {
            self.0.raw_method(
                token,
                &raw mut class,
                name.as_mut_ptr(),
                name.len() as u32,
                &raw mut used,
                &raw mut attributes,
                &raw mut signature,
                &raw mut signature_length,
                &raw mut address,
                &raw mut flags,
            )?;
        }
        let mut bytes = Vec::new();
        if !signature.is_null() {
            // SAFETY: the runtime says that so many bytes of the module's metadata stand there; the module is
            // loaded while one of its methods is compiled, and they are copied at once.
            bytes.extend_from_slice(unsafe {
                std::slice::from_raw_parts(signature, signature_length as usize)
            });
        }
        Ok(MethodInfo { name: terminated(&name), class, signature: bytes, has_code: address != 0 })
    }

    /// A type that the module defines.
    pub(crate) fn type_definition(&self, token: Token) -> Result<TypeInfo, ComError> {
        let (mut used, mut flags, mut extends) = (0, 0, 0);
        let mut name = [0u16; 1024];
        // SAFETY: all lead to live variables, and the buffer is as long as said.
        unsafe {
            self.0.raw_type(
                token,
                name.as_mut_ptr(),
                name.len() as u32,
                &raw mut used,
                &raw mut flags,
                &raw mut extends,
            )?;
        }
        // Visibility 0 and 1 are types of a namespace, the others are nested.
        let mut enclosing = None;
        if flags & 7 >= 2 {
            let mut outer = 0;
            // SAFETY: it leads to a live variable.
            unsafe { self.0.raw_nested(token, &raw mut outer)? };
            enclosing = Some(outer);
        }
        Ok(TypeInfo { name: terminated(&name), enclosing })
    }

    /// The name of a type that the module uses, and the type around it if it is nested.
    pub(crate) fn type_reference(&self, token: Token) -> Result<TypeInfo, ComError> {
        let (mut scope, mut used) = (0, 0);
        let mut name = [0u16; 1024];
        // SAFETY: all lead to live variables, and the buffer is as long as said.
        unsafe {
            self.0.raw_type_reference(
                token,
                &raw mut scope,
                name.as_mut_ptr(),
                name.len() as u32,
                &raw mut used,
            )?;
        }
        // A nested type's scope is the reference of the type around it.
        let enclosing = (scope >> 24 == 0x01).then_some(scope);
        Ok(TypeInfo { name: terminated(&name), enclosing })
    }

    /// Whether a type has a method of this name.
    pub(crate) fn has_method(&self, class: Token, name: &str) -> bool {
        let name: Vec<u16> = name.encode_utf16().chain([0]).collect();
        let mut method = 0;
        // SAFETY: the name ends with a zero; without a signature its length is 0; the last leads to a live
        // variable.
        unsafe { self.0.raw_find_method(class, name.as_ptr(), null(), 0, &raw mut method) }.is_ok()
    }

    /// The names of the generic parameters of a type or method, in order (the first 64).
    pub(crate) fn generic_parameters(&self, owner: Token) -> Vec<String> {
        // SAFETY: `all` passes pointers to live variables and a buffer of that length.
        let tokens = self.0.all(|position, tokens, length, used| unsafe {
            self.0.raw_enum_parameters(position, owner, tokens, length, used)
        });
        let mut names = Vec::new();
        for token in tokens.unwrap_or_default().into_iter().take(64) {
            let (mut number, mut flags, mut owner, mut reserved, mut used) = (0, 0, 0, 0, 0);
            let mut name = [0u16; 256];
            // SAFETY: all lead to live variables, and the buffer is as long as said.
            let result = unsafe {
                self.0.raw_parameter(
                    token,
                    &raw mut number,
                    &raw mut flags,
                    &raw mut owner,
                    &raw mut reserved,
                    name.as_mut_ptr(),
                    name.len() as u32,
                    &raw mut used,
                )
            };
            names.push((number, if result.is_ok() { terminated(&name) } else { "?".to_string() }));
        }
        names.sort_by_key(|(number, _)| *number);
        names.into_iter().map(|(_, name)| name).collect()
    }

    /// All methods that the module defines.
    pub(crate) fn all_methods(&self) -> Result<Vec<Token>, ComError> {
        // SAFETY: `all` passes pointers to live variables and a buffer of that length.
        let types = self.0.all(|position, tokens, length, used| unsafe {
            self.0.raw_enum_types(position, tokens, length, used)
        })?;
        let mut methods = Vec::new();
        for class in types {
            // SAFETY: as above.
            methods.extend(self.0.all(|position, tokens, length, used| unsafe {
                self.0.raw_enum_methods(position, class, tokens, length, used)
            })?);
        }
        Ok(methods)
    }
}

/// The text before the first zero; it is cut when it filled the buffer.
fn terminated(units: &[u16]) -> String {
    let text: Vec<u16> = units.iter().copied().take_while(|unit| *unit != 0).collect();
    String::from_utf16_lossy(&text)
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

    #[test]
    fn a_guid_has_the_memory_order_of_windows() {
        let Guid(a, b, c, d) = CLASS_PROFILER;
        assert_eq!((a, b, c), (0x9E2B_38F2, 0x7355, 0x4C61));
        assert_eq!(d, [0xA5, 0x4F, 0x43, 0x4B, 0x7A, 0xC2, 0x66, 0xC0]);
    }

    #[test]
    fn text_ends_at_the_first_zero() {
        assert_eq!(terminated(&[0x61, 0x62, 0, 0x63]), "ab");
        assert_eq!(terminated(&[0x61, 0xD800]), "a\u{fffd}");
    }
}
