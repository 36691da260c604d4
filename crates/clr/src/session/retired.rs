//! The records of modules that have been unloaded, and of their methods, for the next copies of them.
//!
//! A program that loads a plug-in again and again would fill the file with records and its tree with places
//! that differ in nothing that a person sees. So a module that is loaded from where an unloaded one came
//! from gets its record, and each method that of the method with the same name there.

use crate::com::Id;
use crate::functions::{Function, Functions};
use crate::layout::{MODULE_UNLOADED, MODULE_USER, READY};
use crate::map::Map;
use std::collections::HashMap;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

/// The records that may be used again.
#[derive(Debug, Default)]
pub(super) struct Retired {
    /// Numbers of modules plus one, by path and whether they are the user's.
    modules: HashMap<(String, bool), Vec<u32>>,
    /// Numbers of methods, by the number of the module plus one and by their encoded names.
    methods: HashMap<u32, HashMap<String, Vec<u32>>>,
}

impl Retired {
    /// A module has been unloaded; `number` is that of its record plus one. The ids of its functions mean
    /// nothing any more.
    pub(super) fn add(&mut self, map: &Map, functions: &Functions<'_>, number: u32) {
        let Some(record) = number.checked_sub(1).and_then(|at| map.modules.get(at as usize)) else { return };
        let before = record.flags.fetch_or(MODULE_UNLOADED, Relaxed);
        let path = map.text(record.path.load(Relaxed));
        let user = before & MODULE_USER != 0;
        self.modules.entry((path, user)).or_default().push(number);
        // All its methods, also those that an earlier copy left and this one did not use.
        let mut methods: HashMap<String, Vec<u32>> = HashMap::new();
        let used = usize::try_from(map.header.methods.used.load(Relaxed)).unwrap_or(usize::MAX);
        for (at, method) in map.methods.iter().enumerate().take(used) {
            if method.state.load(Acquire) == READY && method.module.load(Relaxed) == number {
                let id = method.id.load(Relaxed) as Id;
                if functions.get(id) == Function::Method(at as u32) {
                    functions.set(id, Function::Unknown);
                }
                let name = map.text(method.name.load(Relaxed));
                methods.entry(name).or_default().push(at as u32);
            }
        }
        self.methods.insert(number, methods);
    }

    /// The number plus one of a record for a module; it is used by nobody else afterwards.
    pub(super) fn module(&mut self, path: &str, user: bool) -> Option<u32> {
        if self.modules.is_empty() {
            return None;
        }
        self.modules.get_mut(&(path.to_string(), user))?.pop()
    }

    /// The record for a method of a module that has a used record.
    pub(super) fn method(&mut self, module: u32, name: &str) -> Option<u32> {
        self.methods.get_mut(&module)?.get_mut(name)?.pop()
    }
}
