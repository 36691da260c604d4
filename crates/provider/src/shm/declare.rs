//! Declarations by derive: a struct of handles is a counter set.

use super::publisher::{Instance, NewInstance, PublishError, Publisher};
use super::set::CounterSet;

/// A struct of handles that declares the set which they write.
///
/// `#[derive(CounterSet)]` implements it; the attributes are listed there.
///
/// ```
/// use tallymon_provider::shm::{
///     Average, Counter, CounterSet, Declare, Gauge, Group, Histogram, Instance, NewInstance, Publisher, Text,
/// };
///
/// /// The behemoths that are alive.
/// #[derive(CounterSet)]
/// #[set(name = "Behemoth", instances = 100)]
/// #[text(RUSSIAN, name = "Бегемот")]
/// struct Behemoth {
///     instance: Instance,
///     /// Meals eaten in a second.
///     #[counter(name = "Meals/sec", scale = 1)]
///     #[text(GERMAN, name = "Mahlzeiten/s")]
///     meals: Counter,
///     #[counter(name = "Weight", unit = "kg")]
///     weight: Gauge,
///     #[counter(name = "Mood", most = 40)]
///     mood: Text,
///     #[counter(name = "% Awake", kind = PERF_LARGE_RAW_FRACTION)]
///     awake: Average,
///     #[counter(name = "Meal", percentiles = [50_000, 99_900])]
///     meal: Histogram,
///     #[counter(name = "X")]
///     #[counter(name = "Y")]
///     place: Group,
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = std::env::temp_dir().join(format!("tallymon-derive-{}", std::process::id()));
/// # let start = |name, sets: &[CounterSet]| Publisher::start_in(&directory, name, sets);
/// # /*
/// let publisher = Publisher::start("behemoths", &[Behemoth::set()])?;
/// # */
/// # let publisher = start("behemoths", &[Behemoth::set()])?;
/// let mut ada: Behemoth = publisher.create(&NewInstance { name: "Ada", ..Default::default() })?;
/// ada.meals.increment();
/// ada.weight.set(9_000);
/// ada.mood.set("hungry");
/// ada.awake.set(7, 24);
/// ada.meal.record(250);
/// ada.place.update(|numbers| {
///     numbers.set(0, 17);
///     numbers.set(1, 4);
/// });
/// # drop(ada.instance);
/// # drop(publisher);
/// # std::fs::remove_dir_all(&directory)?;
/// # Ok(())
/// # }
/// ```
pub trait Declare: Sized {
    /// The set.
    fn set() -> CounterSet;

    /// The handles of an instance of the set.
    ///
    /// # Errors
    ///
    /// The instance is of another set, or one of its counters has a writer already.
    fn open(instance: Instance) -> Result<Self, PublishError>;
}

impl Publisher {
    /// Creates an instance of a declared set, with its handles. It is visible until its [`Instance`] is
    /// dropped.
    ///
    /// # Errors
    ///
    /// As [`Publisher::instance`].
    pub fn create<D: Declare>(&self, new: &NewInstance<'_>) -> Result<D, PublishError> {
        D::open(self.instance(D::set().name(), new)?)
    }

    /// The values of a declared set without instances.
    ///
    /// # Errors
    ///
    /// As [`Publisher::single`].
    pub fn create_single<D: Declare>(&self) -> Result<D, PublishError> {
        D::open(self.single(D::set().name())?)
    }
}
