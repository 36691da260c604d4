//! The samples of a stream: what each thread ran, with the methods behind the addresses.
//!
//! A stream describes its methods at its end, so the whole of it is read first.

use std::collections::{BTreeMap, HashMap};
use std::io::Read;

use crate::events::{Meaning, Method, Sample, meaning};
use crate::nettrace::{Start, Trace, TraceError};

/// The most methods and modules that are kept. Large programs have some hundred thousand methods.
const MOST_METHODS: usize = 1 << 22;

/// The samples of a program.
#[derive(Debug, Clone, Default)]
pub struct Samples {
    /// What the stream says about itself.
    pub start: Start,
    /// Nanoseconds from the start to the last sample.
    pub duration: u64,
    /// The command line; empty when the stream does not have it.
    pub command: String,
    /// Major, minor, build and revision number of the runtime; zeros when the stream does not have it.
    pub runtime: [u16; 4],
    /// The samples of each thread in the order of their times, by the number that the kernel gives a thread.
    pub threads: BTreeMap<u64, Vec<ThreadSample>>,
    /// The different stacks, the innermost call first.
    pub stacks: Vec<Vec<u64>>,
    /// The methods, by where their code begins.
    pub methods: Vec<Method>,
    /// The paths of the modules, by their numbers.
    pub modules: BTreeMap<u64, String>,
    /// Events that the runtime dropped.
    pub lost: u64,
    /// Why the stream ended early; the samples before that are good.
    pub damage: Option<String>,
}

/// What a thread ran at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadSample {
    /// Nanoseconds from the start.
    pub at: u64,
    /// Its stack in [`Samples::stacks`].
    pub stack: usize,
    /// Whether it ran .NET code.
    pub kind: Sample,
}

impl Samples {
    /// Reads a stream, up to its damage if it is damaged.
    ///
    /// # Errors
    ///
    /// It is not an event stream of version 4, or cannot be read.
    pub fn read(input: impl Read) -> Result<Samples, TraceError> {
        let mut trace = Trace::new(input)?;
        let start = *trace.start();
        let mut samples = Samples { start, ..Samples::default() };
        let mut numbers: HashMap<Vec<u64>, usize> = HashMap::new();
        loop {
            let more = trace.next(&mut |event| match meaning(event) {
                Some(Meaning::Sample(kind)) if !event.stack.is_empty() => {
                    let known = numbers.get(event.stack).copied();
                    let stack = known.unwrap_or_else(|| {
                        samples.stacks.push(event.stack.to_vec());
                        let number = samples.stacks.len().saturating_sub(1);
                        numbers.insert(event.stack.to_vec(), number);
                        number
                    });
                    let at = start.nanoseconds(event.ticks);
                    samples.threads.entry(event.thread).or_default().push(ThreadSample { at, stack, kind });
                }
                Some(Meaning::Method(method)) if samples.methods.len() < MOST_METHODS => {
                    samples.methods.push(method);
                }
                Some(Meaning::Module(module)) if samples.modules.len() < MOST_METHODS => {
                    samples.modules.insert(module.id, module.path);
                }
                Some(Meaning::Runtime(version)) => samples.runtime = version,
                Some(Meaning::Program(command)) => samples.command = command,
                _ => {}
            });
            match more {
                Ok(true) => {}
                Ok(false) => break,
                Err(TraceError::Io(error)) => return Err(TraceError::Io(error)),
                Err(damage) => {
                    samples.damage = Some(damage.to_string());
                    break;
                }
            }
        }
        samples.lost = trace.lost();
        samples.finish();
        Ok(samples)
    }

    fn finish(&mut self) {
        for samples in self.threads.values_mut() {
            samples.sort_by_key(|sample| sample.at);
        }
        let last = |samples: &Vec<ThreadSample>| samples.last().map_or(0, |sample| sample.at);
        self.duration = self.threads.values().map(last).max().unwrap_or(0);
        // What was compiled again is described again; the same code has one description.
        self.methods.sort_by_key(|method| method.start);
        self.methods.dedup_by_key(|method| method.start);
    }

    /// The method whose code has an address, in [`Samples::methods`].
    pub fn method_at(&self, address: u64) -> Option<usize> {
        let after = self.methods.partition_point(|method| method.start <= address);
        let at = after.checked_sub(1)?;
        let method = self.methods.get(at)?;
        (address.saturating_sub(method.start) < u64::from(method.size)).then_some(at)
    }
}
