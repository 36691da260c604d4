//! For authors of provider libraries in Rust: what a library declares, and the requests that it gets.
//!
//! A library declares its objects in constants, and sets values on request. This module and
//! [`export_provider!`](crate::export_provider) compute lengths and offsets, assign the indexes of names,
//! handle buffers that are too small, and export NT's functions. The author's crate needs no unsafe code and
//! can forbid it. It is a `cdylib`, registered like a library in C.
//!
//! ```
//! #![forbid(unsafe_code)]
//! use tallymon_provider::library::author::*;
//! use tallymon_provider::{CounterType, export_provider};
//!
//! /// The numbers of the symbol file.
//! const TEA: DeclaredObject =
//!     DeclaredObject::many(0, &[DeclaredCounter::new(2, CounterType::PERF_COUNTER_RAWCOUNT)]);
//!
//! struct Tea;
//!
//! impl ProviderLibrary for Tea {
//!     const OBJECTS: &'static [DeclaredObject] = &[TEA];
//!     const SERVICE: &'static str = "Tea";
//!
//!     fn open(_: &Opening) -> Result<Tea, u32> {
//!         Ok(Tea)
//!     }
//!
//!     fn collect(&mut self, answer: &mut Answer<'_, '_>) {
//!         let Some(mut tea) = answer.object(0) else { return };
//!         for (cups, name) in [(3, "green"), (1, "black")] {
//!             tea.instance(name, None, None).set(0, cups);
//!         }
//!     }
//! }
//!
//! export_provider!(Tea);
//! # fn main() {}
//! ```

use tallymon_core::block::{
    CounterSpec, DetailLevel, InstanceKind, Object, ObjectLayout, ObjectSpec, ObjectWriter, Objects,
    ObjectsWriter,
};
use tallymon_core::counter::CounterType;
use tallymon_core::request::{Request, RequestKind};
use tallymon_core::time::{Frequency, PerfTime};
use tallymon_core::title::{HelpIndex, TitleIndex};

use super::check::ERROR_SUCCESS;

/// A provider library: implemented once in a `cdylib`, and exported by
/// [`export_provider!`](crate::export_provider).
pub trait ProviderLibrary: Send + Sized + 'static {
    /// The objects that it may answer with.
    const OBJECTS: &'static [DeclaredObject];

    /// Name of its service: `drivername` in its INI file. Windows passes a library no indexes, so Open looks
    /// them up under this name there. A library without it does not compile for Windows.
    const SERVICE: &'static str = "";

    /// Called once, before anything else.
    ///
    /// # Errors
    ///
    /// An error number of NT. The library is unloaded then, and tried again with the next request.
    fn open(opening: &Opening) -> Result<Self, u32>;

    /// It changes objects of others, which it was registered for (`--wraps`), and has none of its own.
    const WRAPS: bool = false;

    /// Called for each request of a library that wraps other objects, once for each of these objects: writes
    /// one object in its place; see [`with_counter`](tallymon_core::block::with_counter).
    fn wrap(&mut self, original: &Object<'_>, out: &mut Vec<u8>) {
        out.extend_from_slice(original.bytes());
    }

    /// Called for each request: writes the objects that [`Answer::object`] returns.
    fn collect(&mut self, answer: &mut Answer<'_, '_>);
}

/// What a library gets when it is opened.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Opening {
    /// The texts of `Linkage\Export` of its service; empty when it has none.
    pub export: Vec<String>,
    /// Index of the name with the number 0 in the symbol file (`First Counter`).
    pub first_counter: TitleIndex,
    /// Index of the help text with the number 0 in the symbol file (`First Help`).
    pub first_help: HelpIndex,
}

/// An object, declared with the numbers of its symbol file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeclaredObject {
    /// Its number in the symbol file.
    pub number: u32,
    /// Whether it has instances.
    pub instances: InstanceKind,
    /// How much a user has to know to need this object.
    pub detail: DetailLevel,
    /// Position of the counter that a viewer shows first.
    pub default_counter: u16,
    /// It is answered in requests for costly objects and not in those for all others.
    pub costly: bool,
    /// As [`ObjectLayout::packed`] lays it out.
    pub packed: bool,
    /// Its counters; a base directly follows the counter that needs it.
    pub counters: &'static [DeclaredCounter],
}

impl DeclaredObject {
    /// An object with one set of values.
    pub const fn single(number: u32, counters: &'static [DeclaredCounter]) -> DeclaredObject {
        DeclaredObject {
            number,
            instances: InstanceKind::None,
            detail: DetailLevel::NOVICE,
            default_counter: 0,
            costly: false,
            packed: false,
            counters,
        }
    }

    /// An object with instances.
    pub const fn many(number: u32, counters: &'static [DeclaredCounter]) -> DeclaredObject {
        DeclaredObject { instances: InstanceKind::Many, ..DeclaredObject::single(number, counters) }
    }

    fn layout(&self, counters: &'static [CounterSpec], opening: &Opening) -> ObjectLayout<'static> {
        let spec = ObjectSpec {
            name: TitleIndex(opening.first_counter.0.wrapping_add(self.number)),
            help: HelpIndex(opening.first_help.0.wrapping_add(self.number)),
            detail: self.detail,
            default_counter: self.default_counter,
            instances: self.instances,
            status: false,
            counters,
        };
        if self.packed { ObjectLayout::packed(spec) } else { ObjectLayout::new(spec) }
    }
}

/// A counter, declared with its number in the symbol file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeclaredCounter {
    /// Its number in the symbol file.
    pub number: u32,
    /// How its values are computed.
    pub counter_type: CounterType,
    /// Power of ten for charts, -7 to 7.
    pub scale: i32,
    /// How much a user has to know to need this counter.
    pub detail: DetailLevel,
    /// Size of its data in bytes, when the type does not define it.
    pub size: Option<u32>,
}

impl DeclaredCounter {
    /// A counter with a number and a type.
    pub const fn new(number: u32, counter_type: CounterType) -> DeclaredCounter {
        DeclaredCounter { number, counter_type, scale: 0, detail: DetailLevel::NOVICE, size: None }
    }

    /// A text of at most this many units of UTF-16, its end included.
    pub const fn text(number: u32, units: u32) -> DeclaredCounter {
        let size = Some(units.saturating_mul(2));
        DeclaredCounter { size, ..DeclaredCounter::new(number, CounterType::PERF_COUNTER_TEXT) }
    }

    /// The definition that it becomes.
    pub fn spec(&self, opening: &Opening) -> CounterSpec {
        let name = TitleIndex(opening.first_counter.0.wrapping_add(self.number));
        CounterSpec {
            help: HelpIndex(opening.first_help.0.wrapping_add(self.number)),
            scale: self.scale,
            detail: self.detail,
            size: self.size,
            ..CounterSpec::new(name, self.counter_type)
        }
    }
}

/// The answer to one request, while it is written.
#[derive(Debug)]
pub struct Answer<'a, 'b> {
    request: &'a Request,
    declared: &'static [DeclaredObject],
    layouts: &'a [ObjectLayout<'static>],
    out: &'a mut ObjectsWriter<'b>,
    error: u32,
}

impl<'b> Answer<'_, 'b> {
    /// Starts the object at a position in [`ProviderLibrary::OBJECTS`]. `None` when it is not requested, or
    /// when only its definitions are requested; these are then written already.
    pub fn object(&mut self, position: usize) -> Option<ObjectWriter<'_, 'b, '_>> {
        self.object_at(position, PerfTime(0), Frequency(0))
    }

    /// As [`Answer::object`], with values of this time on a clock of its own. Elapsed times need one.
    pub fn object_at(
        &mut self,
        position: usize,
        time: PerfTime,
        frequency: Frequency,
    ) -> Option<ObjectWriter<'_, 'b, '_>> {
        let (declared, layout) = (self.declared.get(position)?, self.layouts.get(position)?);
        let is_wanted = self.wants(layout.spec().name, declared.costly);
        is_wanted.then(|| self.write(layout, time, frequency))?
    }

    /// As [`Answer::object_at`], for an object that is not costly and not in [`ProviderLibrary::OBJECTS`],
    /// because the library learns of it while it runs. Its indexes must be those of the service.
    pub fn object_of<'w>(
        &'w mut self,
        layout: &'w ObjectLayout<'w>,
        time: PerfTime,
        frequency: Frequency,
    ) -> Option<ObjectWriter<'w, 'b, 'w>> {
        self.wants(layout.spec().name, false).then(|| self.write(layout, time, frequency))?
    }

    /// Whether an object is requested.
    pub fn wants(&self, name: TitleIndex, costly: bool) -> bool {
        match &self.request.kind {
            RequestKind::Global | RequestKind::OldGlobal => !costly,
            RequestKind::Costly => costly,
            RequestKind::Metadata { costly: wanted, .. } => *wanted == costly,
            RequestKind::Objects(objects) => objects.contains(&name),
            RequestKind::Foreign { objects, .. } if objects.is_empty() => !costly,
            RequestKind::Foreign { objects, .. } => objects.contains(&name),
            _ => false,
        }
    }

    /// Starts an object; `None` when its definitions are all that is requested.
    fn write<'w>(
        &'w mut self,
        layout: &'w ObjectLayout<'w>,
        time: PerfTime,
        frequency: Frequency,
    ) -> Option<ObjectWriter<'w, 'b, 'w>> {
        let writer = self.out.object(layout, time, frequency);
        if matches!(self.request.kind, RequestKind::Metadata { .. }) {
            writer.metadata();
            return None;
        }
        Some(writer)
    }

    /// Returns this NT error number from Collect, which becomes an event; what was written is discarded. The
    /// next request calls the library again.
    pub const fn fail(&mut self, error: u32) {
        self.error = error;
    }

    /// The request.
    pub const fn request(&self) -> &Request {
        self.request
    }
}

/// An open library: the state behind the exported functions.
#[derive(Debug)]
pub struct Opened<L> {
    library: L,
    layouts: Vec<ObjectLayout<'static>>,
}

impl<L: ProviderLibrary> Opened<L> {
    /// Opens the library.
    ///
    /// # Errors
    ///
    /// As [`ProviderLibrary::open`].
    pub fn new(opening: &Opening) -> Result<Opened<L>, u32> {
        let library = L::open(opening)?;
        let layout = |object: &DeclaredObject| {
            let counters: Vec<CounterSpec> =
                object.counters.iter().map(|counter| counter.spec(opening)).collect();
            // A process opens a library once, or a few times; the definitions live as long as it does.
            object.layout(Vec::leak(counters), opening)
        };
        Ok(Opened { library, layouts: L::OBJECTS.iter().map(layout).collect() })
    }

    /// Answers a request; returns the number of objects that it wrote to `bytes`.
    ///
    /// # Errors
    ///
    /// As [`Answer::fail`].
    pub fn collect(&mut self, query: &str, bytes: &mut Vec<u8>) -> Result<u32, u32> {
        let request = Request::parse(query);
        let mut out = ObjectsWriter::growing(bytes);
        let (declared, layouts) = (L::OBJECTS, &*self.layouts);
        let mut answer = Answer { request: &request, declared, layouts, out: &mut out, error: ERROR_SUCCESS };
        self.library.collect(&mut answer);
        match answer.error {
            ERROR_SUCCESS => Ok(out.count()),
            error => Err(error),
        }
    }
}

impl<L: ProviderLibrary> Opened<L> {
    /// Changes the first `count` objects in `originals`; returns the number of objects that it wrote.
    pub fn wrap(&mut self, originals: &[u8], count: u32, bytes: &mut Vec<u8>) -> u32 {
        bytes.clear();
        let mut written = 0u32;
        // Bytes after these objects are not ours to read, so the walk ends after their number.
        let n_objects = usize::try_from(count).unwrap_or(usize::MAX);
        for original in Objects::bare(originals, count).take(n_objects).map_while(Result::ok) {
            self.library.wrap(&original, bytes);
            written = written.saturating_add(1);
        }
        written
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tallymon_core::block::{NumInstances, Objects};

    struct Two;

    impl ProviderLibrary for Two {
        const OBJECTS: &'static [DeclaredObject] = &[
            DeclaredObject::many(0, &[DeclaredCounter::new(2, CounterType::PERF_COUNTER_RAWCOUNT)]),
            DeclaredObject {
                costly: true,
                ..DeclaredObject::single(4, &[DeclaredCounter::new(6, CounterType::PERF_COUNTER_RAWCOUNT)])
            },
        ];

        fn open(_: &Opening) -> Result<Two, u32> {
            Ok(Two)
        }

        fn collect(&mut self, answer: &mut Answer<'_, '_>) {
            if answer.request().kind == RequestKind::Objects([TitleIndex(8)].into()) {
                answer.fail(21);
            }
            if let Some(mut object) = answer.object_at(0, PerfTime(5), Frequency(6)) {
                object.instance("one", None, None).set(0, 1);
            }
            if let Some(mut object) = answer.object(1) {
                object.single().set(0, 2);
            }
            assert!(answer.object(2).is_none());
        }
    }

    fn answer(query: &str) -> Vec<(u32, NumInstances)> {
        let opening =
            Opening { export: Vec::new(), first_counter: TitleIndex(2000), first_help: HelpIndex(2001) };
        let mut bytes = Vec::new();
        let count = Opened::<Two>::new(&opening).unwrap().collect(query, &mut bytes).unwrap();
        let objects = Objects::bare(&bytes, count).map(|object| *object.unwrap().header());
        objects
            .map(|header| {
                let clock = (header.perf_time, header.perf_freq);
                let own = (PerfTime(5), Frequency(6));
                assert_eq!(clock == own, header.name == TitleIndex(2000), "{clock:?}");
                (header.name.0, header.num_instances)
            })
            .collect()
    }

    #[test]
    fn library_can_fail_a_request() {
        let opening = Opening { first_counter: TitleIndex(2000), ..Opening::default() };
        let mut opened = Opened::<Two>::new(&opening).unwrap();
        let mut bytes = Vec::new();
        assert_eq!(opened.collect("8", &mut bytes), Err(21));
        assert_eq!(opened.collect("2000", &mut bytes), Ok(1));
    }

    #[test]
    fn only_requested_objects_are_written() {
        let many = (2000, NumInstances::Many(1));
        let single = (2004, NumInstances::None);
        for (query, wanted) in [
            ("Global", vec![many]),
            ("", vec![many]),
            ("Costly", vec![single]),
            ("2004 2000 7", vec![many, single]),
            ("2002", vec![]),
            ("nonsense", vec![]),
            ("Foreign here", vec![many]),
            ("Foreign here 2004", vec![single]),
            ("MetadataGlobal", vec![(2000, NumInstances::MetadataMany)]),
            ("MetadataCostly", vec![(2004, NumInstances::MetadataNone)]),
        ] {
            assert_eq!(answer(query), wanted, "{query}");
        }
    }
}
