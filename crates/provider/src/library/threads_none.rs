//! A system where provider libraries are not loaded: no thread has to be reported.

/// Gives a program the functions that report threads to `DllMain`; nothing here.
#[macro_export]
macro_rules! export_threads {
    () => {};
}
