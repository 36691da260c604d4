//! Publishing: sets that a program declares, their instances, and the counters that it writes.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::{PyKeyError, PyOSError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use tallymon::core::counter::CounterType;
use tallymon::core::title::Language;
use tallymon::shm::{self, HistogramShape, KindError, NewInstance, PublishError, Writer};

fn failed(error: PublishError) -> PyErr {
    let text = error.to_string();
    match error {
        PublishError::File { .. } => PyOSError::new_err(text),
        PublishError::NoSuch { .. } => PyKeyError::new_err(text),
        PublishError::Full { .. } | PublishError::Taken { .. } | PublishError::BigEndian => {
            PyRuntimeError::new_err(text)
        }
        _ => PyValueError::new_err(text),
    }
}

fn of_kind(error: KindError) -> PyErr {
    PyTypeError::new_err(error.to_string())
}

fn closed() -> PyErr {
    PyRuntimeError::new_err("it is closed")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A set of counters, declared once. Readers see it as an object. Every method returns the set itself.
#[pyclass(module = "tallymon")]
pub(crate) struct CounterSet {
    set: shm::CounterSet,
}

impl CounterSet {
    fn change(&mut self, change: impl FnOnce(shm::CounterSet) -> shm::CounterSet) {
        let set = std::mem::replace(&mut self.set, shm::CounterSet::new(""));
        self.set = change(set);
    }
}

#[pymethods]
impl CounterSet {
    /// A set with an English name. With `instances` it has instances, which come and go.
    #[new]
    #[pyo3(signature = (name, *, help=None, instances=false))]
    fn new(name: &str, help: Option<String>, instances: bool) -> CounterSet {
        let mut set = shm::CounterSet::new(name);
        if let Some(help) = help {
            set = set.help(help);
        }
        CounterSet { set: if instances { set.instances() } else { set } }
    }

    /// Adds a counter with one of this module's types; a type with a base includes the base. Any number of
    /// threads can add to a shared counter.
    #[pyo3(signature = (name, counter_type, *, help=None, unit=None, scale=0, shared=false))]
    fn counter<'py>(
        mut slf: PyRefMut<'py, Self>,
        name: &str,
        counter_type: u32,
        help: Option<String>,
        unit: Option<String>,
        scale: i32,
        shared: bool,
    ) -> PyRefMut<'py, Self> {
        let counter_type = CounterType(counter_type);
        slf.change(|set| {
            let based = counter_type.needs_base();
            let set =
                if based { set.with_usual_base(name, counter_type) } else { set.counter(name, counter_type) };
            let set = if shared { set.shared() } else { set };
            let set = help.into_iter().fold(set.scale(scale), shm::CounterSet::help);
            unit.into_iter().fold(set, shm::CounterSet::unit)
        });
        slf
    }

    /// Adds a text of at most `most` bytes of UTF-8.
    #[pyo3(signature = (name, most=64))]
    fn text<'py>(mut slf: PyRefMut<'py, Self>, name: &str, most: u16) -> PyRefMut<'py, Self> {
        slf.change(|set| set.text(name, most));
        slf
    }

    /// Adds a histogram: an average, the number of values, and percentiles. With `time`, the values are
    /// times.
    #[pyo3(signature = (name, *, time=false, most=None, bits=4, percentiles=None))]
    fn histogram<'py>(
        mut slf: PyRefMut<'py, Self>,
        name: &str,
        time: bool,
        most: Option<u64>,
        bits: u32,
        percentiles: Option<Vec<f64>>,
    ) -> PyRefMut<'py, Self> {
        let mut shape = HistogramShape { bits, ..HistogramShape::default() };
        shape.most = most.unwrap_or(shape.most);
        if let Some(percentiles) = percentiles {
            // A percentage out of range becomes 0 or too large, and is rejected with the set.
            let part = |percent: f64| (percent * 1000.0).round().clamp(0.0, 1e6) as u32;
            shape.percentiles = percentiles.into_iter().map(part).collect();
        }
        slf.change(|set| if time { set.histogram_time(name, &shape) } else { set.histogram(name, &shape) });
        slf
    }

    /// Adds numbers that must agree, as pairs of name and type. They are written and read together.
    fn together<'py>(mut slf: PyRefMut<'py, Self>, counters: Vec<(String, u32)>) -> PyRefMut<'py, Self> {
        slf.change(|set| {
            set.together(|set| {
                let add =
                    |set: shm::CounterSet, (name, counter_type)| set.counter(name, CounterType(counter_type));
                counters.into_iter().fold(set, add)
            })
        });
        slf
    }

    /// Sets the name, help text or unit of the last named item in another language: "ru", "German", "0412".
    #[pyo3(signature = (language, *, name=None, help=None, unit=None))]
    fn words<'py>(
        mut slf: PyRefMut<'py, Self>,
        language: &str,
        name: Option<String>,
        help: Option<String>,
        unit: Option<String>,
    ) -> PyResult<PyRefMut<'py, Self>> {
        let known = Language::parse(language);
        let language = known.ok_or_else(|| PyValueError::new_err(format!("no language {language:?}")))?;
        slf.change(|set| {
            let set = name.into_iter().fold(set, |set, name| set.name_in(language, name));
            let set = help.into_iter().fold(set, |set, help| set.help_in(language, help));
            unit.into_iter().fold(set, |set, unit| set.unit_in(language, unit))
        });
        Ok(slf)
    }
}

/// Publishes counter sets as long as the publisher, or anything created from it, exists. Do not use it after
/// a fork.
#[pyclass(frozen, module = "tallymon")]
pub(crate) struct Publisher {
    publisher: shm::Publisher,
}

#[pymethods]
impl Publisher {
    /// Publishes sets under a program name.
    #[new]
    fn new(name: &str, sets: Vec<PyRef<'_, CounterSet>>) -> PyResult<Publisher> {
        let sets: Vec<shm::CounterSet> = sets.iter().map(|set| set.set.clone()).collect();
        Ok(Publisher { publisher: shm::Publisher::start(name, &sets).map_err(failed)? })
    }

    /// The file that readers read.
    #[getter]
    fn path(&self) -> String {
        self.publisher.path().display().to_string()
    }

    /// Keeps the last values visible, marked as stale, if this program is killed.
    fn keep_last_values(&self) {
        self.publisher.keep_last_values();
    }

    /// Creates an instance of a set. Without a name: the single set of values of a set without instances.
    #[pyo3(signature = (set, name=None, *, id=None, parent=None))]
    fn instance(
        &self,
        set: &str,
        name: Option<&str>,
        id: Option<i32>,
        parent: Option<PyRef<'_, Instance>>,
    ) -> PyResult<Instance> {
        let parent = parent.as_ref().map(|parent| lock(&parent.instance));
        let parent = parent.as_ref().map(|parent| parent.as_ref().ok_or_else(closed)).transpose()?;
        let made = match name {
            Some(name) => self.publisher.instance(set, &NewInstance { name, id, parent }),
            None => self.publisher.single(set),
        };
        Ok(Instance { instance: Mutex::new(Some(made.map_err(failed)?)) })
    }
}

/// An instance of a published set. It disappears for readers when it is closed, at the end of `with`, or when
/// Python drops it.
#[pyclass(frozen, module = "tallymon")]
pub(crate) struct Instance {
    instance: Mutex<Option<shm::Instance>>,
}

#[pymethods]
impl Instance {
    /// The writer of a counter by its English name. Any member of a group gives the writer of the whole
    /// group.
    fn __getitem__(&self, name: &str) -> PyResult<Counter> {
        let instance = lock(&self.instance);
        let writer = instance.as_ref().ok_or_else(closed)?.writer(name);
        Ok(Counter { writer: writer.map_err(failed)? })
    }

    fn close(&self) {
        lock(&self.instance).take();
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __exit__(&self, _kind: &Bound<'_, PyAny>, _value: &Bound<'_, PyAny>, _trace: &Bound<'_, PyAny>) {
        self.close();
    }
}

/// The writer of a counter.
#[pyclass(frozen, module = "tallymon")]
pub(crate) struct Counter {
    writer: Writer,
}

#[pymethods]
impl Counter {
    /// Adds to a number.
    #[pyo3(signature = (n=1))]
    fn add(&self, n: i64) -> PyResult<()> {
        self.writer.add(n).map_err(of_kind)
    }

    /// A number that belongs to no group, and is not shared if it is set.
    #[getter]
    fn get_value(&self) -> PyResult<u64> {
        self.writer.value().map_err(of_kind)
    }

    #[setter]
    fn set_value(&self, value: u64) -> PyResult<()> {
        self.writer.set(value).map_err(of_kind)
    }

    /// Sets the start time to now, for PERF_ELAPSED_TIME.
    fn start_time(&self) -> PyResult<()> {
        self.writer.start_time().map_err(of_kind)
    }

    /// Sets a text; a text longer than declared is truncated between two characters.
    fn set_text(&self, text: &str) -> PyResult<()> {
        self.writer.set_text(text).map_err(of_kind)
    }

    /// Records a value in an average or a histogram.
    fn record(&self, value: u64) -> PyResult<()> {
        self.writer.record(value).map_err(of_kind)
    }

    /// Records a time, in seconds, in an average or a histogram of times.
    fn record_time(&self, seconds: f64) -> PyResult<()> {
        if !(0.0..=1e9).contains(&seconds) {
            return Err(PyValueError::new_err(format!("a time is 0 to 1e9 seconds, not {seconds}")));
        }
        // The performance clock counts units of 100 ns.
        self.record((seconds * 1e7).round() as u64)
    }

    /// Sets the first numbers of a group, or the value and base of a fraction. Readers see all of them or
    /// none.
    fn set_all(&self, values: Vec<u64>) -> PyResult<()> {
        let set = |numbers: shm::Numbers<'_>| {
            values.iter().enumerate().for_each(|(at, value)| numbers.set(at, *value));
        };
        self.writer.update(set).map_err(of_kind)
    }

    /// Adds to the first numbers of a group. Readers see all of the additions or none.
    fn add_all(&self, values: Vec<i64>) -> PyResult<()> {
        let add = |numbers: shm::Numbers<'_>| {
            values.iter().enumerate().for_each(|(at, n)| numbers.add(at, n.cast_unsigned()));
        };
        self.writer.update(add).map_err(of_kind)
    }
}
