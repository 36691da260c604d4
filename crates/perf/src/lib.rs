//! `tallymon_perf.dll`: what programs publish, for perfmon and every other reader of the performance
//! registry.
//!
//! Windows loads it into the process of each reader. `tally provider perfmon` writes the files with which it
//! is registered; `docs/windows.md` has the steps.
#![cfg(any(target_os = "linux", windows))]
#![deny(unsafe_code)]

use std::path::Path;

use tallymon_host::Publishers;
use tallymon_host::perfmon::{Answers, Numbers, SERVICE};
use tallymon_provider::export_provider;
use tallymon_provider::library::author::{Answer, DeclaredObject, Opening, ProviderLibrary};

/// `ERROR_BAD_CONFIGURATION`: the registration names no INI file, or one that cannot be used.
const ERROR_BAD_CONFIGURATION: u32 = 1610;

struct Published {
    opening: Opening,
    answers: Answers,
}

impl ProviderLibrary for Published {
    const OBJECTS: &'static [DeclaredObject] = &[];
    const SERVICE: &'static str = SERVICE;

    fn open(opening: &Opening) -> Result<Published, u32> {
        let ini = opening.export.first().ok_or(ERROR_BAD_CONFIGURATION)?;
        let numbers = Numbers::read(Path::new(ini)).map_err(|_| ERROR_BAD_CONFIGURATION)?;
        // Only what had a name of its own when the files were written has a number, so no name is taken here.
        let publishers = Publishers::system([]);
        Ok(Published { opening: opening.clone(), answers: Answers::new(publishers, numbers) })
    }

    fn collect(&mut self, answer: &mut Answer<'_, '_>) {
        self.answers.collect(&self.opening, answer);
    }
}

export_provider!(Published);
