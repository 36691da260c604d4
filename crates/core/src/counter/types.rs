//! Counter types: the bit fields of `CounterType`, and the one table of all types.

use core::fmt;

use super::formula::Formula;

/// A `CounterType` of winperf.h: bit fields that say how the raw value becomes a value.
///
/// Every number is allowed, including undescribed ones, for which [`CounterType::info`] is `None`. It prints
/// as its name, or as `0x%08X` if it has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CounterType(pub u32);

/// The description of one counter type.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct TypeInfo {
    /// Its name in winperf.h.
    pub name: &'static str,
    /// Other names of the same number.
    pub aliases: &'static [&'static str],
    /// The number.
    pub value: CounterType,
    /// The size of its raw value according to its bits.
    pub size: Size,
    /// The clock that its bits name. Meaningless for a type without a clock.
    pub time_base: TimeBase,
    /// What [`Sample::second`](crate::flow::Sample::second) contains.
    pub denominator: Denominator,
    /// The type that the next definition must have; `None` for types that stand alone.
    pub base: Option<CounterType>,
    /// The equation as text.
    ///
    /// N is the value, D the clock, F the clock's ticks per second, B the base or multi count; 0 is the older
    /// sample and 1 the newer one.
    pub formula: &'static str,
    /// The equation, for [`compute`](super::compute).
    pub compute: Formula,
    /// The suffix of the value.
    pub suffix: Suffix,
    /// What the value means, in one line.
    pub summary: &'static str,
    /// Whether counters of this type are listed and displayed.
    pub visible: bool,
    /// Whether a value needs two samples.
    pub two_samples: bool,
    /// Whether the type is Tallymon's own, unknown to other systems.
    pub ours: bool,
}

/// Every described counter type, in order of its number.
pub static TYPES: &[TypeInfo] = {
    use CounterType as T;
    use Denominator::{Base, BaseAndPerfFrequency, None as Alone, ObjectTime, PerfTime, Time100ns};
    use Formula as F;
    &[
        row(
            "PERF_COUNTER_RAWCOUNT_HEX",
            T::PERF_COUNTER_RAWCOUNT_HEX,
            Alone,
            F::Raw,
            "the last value, in hexadecimal",
        ),
        row(
            "PERF_COUNTER_LARGE_RAWCOUNT_HEX",
            T::PERF_COUNTER_LARGE_RAWCOUNT_HEX,
            Alone,
            F::Raw,
            "the last value, in hexadecimal, 64 bits",
        ),
        row("PERF_COUNTER_TEXT", T::PERF_COUNTER_TEXT, Alone, F::NotNumeric, "a text"),
        row("PERF_COUNTER_RAWCOUNT", T::PERF_COUNTER_RAWCOUNT, Alone, F::Raw, "the last value"),
        row(
            "PERF_COUNTER_LARGE_RAWCOUNT",
            T::PERF_COUNTER_LARGE_RAWCOUNT,
            Alone,
            F::Raw,
            "the last value, 64 bits",
        ),
        row(
            "PERF_DOUBLE_RAW",
            T::PERF_DOUBLE_RAW,
            Alone,
            F::Double,
            "a value that was computed before it was logged",
        ),
        row("PERF_COUNTER_DELTA", T::PERF_COUNTER_DELTA, Alone, F::Delta, "the change between two samples"),
        row(
            "PERF_COUNTER_LARGE_DELTA",
            T::PERF_COUNTER_LARGE_DELTA,
            Alone,
            F::Delta,
            "the change between two samples, 64 bits",
        ),
        row("PERF_SAMPLE_COUNTER", T::PERF_SAMPLE_COUNTER, PerfTime, F::Rate, "operations per second"),
        row(
            "PERF_COUNTER_QUEUELEN_TYPE",
            T::PERF_COUNTER_QUEUELEN_TYPE,
            PerfTime,
            F::QueueLength,
            "the average length of a queue",
        ),
        row(
            "PERF_COUNTER_LARGE_QUEUELEN_TYPE",
            T::PERF_COUNTER_LARGE_QUEUELEN_TYPE,
            PerfTime,
            F::QueueLength,
            "the average length of a queue, 64 bits",
        ),
        row(
            "PERF_COUNTER_100NS_QUEUELEN_TYPE",
            T::PERF_COUNTER_100NS_QUEUELEN_TYPE,
            Time100ns,
            F::QueueLength,
            "the average length of a queue, by the 100 ns clock",
        ),
        row(
            "PERF_COUNTER_OBJ_TIME_QUEUELEN_TYPE",
            T::PERF_COUNTER_OBJ_TIME_QUEUELEN_TYPE,
            ObjectTime,
            F::QueueLength,
            "the average length of a queue, by the object's clock",
        ),
        row("PERF_COUNTER_COUNTER", T::PERF_COUNTER_COUNTER, PerfTime, F::Rate, "events per second"),
        row(
            "PERF_COUNTER_BULK_COUNT",
            T::PERF_COUNTER_BULK_COUNT,
            PerfTime,
            F::Rate,
            "events per second, 64 bits",
        ),
        row(
            "PERF_RAW_FRACTION",
            T::PERF_RAW_FRACTION,
            Base,
            F::Fraction,
            "the last value as a share of its base",
        )
        .base(T::PERF_RAW_BASE),
        row(
            "PERF_LARGE_RAW_FRACTION",
            T::PERF_LARGE_RAW_FRACTION,
            Base,
            F::Fraction,
            "the last value as a share of its base, 64 bits",
        )
        .base(T::PERF_LARGE_RAW_BASE),
        row(
            "PERF_COUNTER_TIMER",
            T::PERF_COUNTER_TIMER,
            PerfTime,
            F::Share,
            "the share of time spent active",
        ),
        row(
            "PERF_PRECISION_SYSTEM_TIMER",
            T::PERF_PRECISION_SYSTEM_TIMER,
            Base,
            F::BaseShare,
            "the share of time spent active, by a time stamp of the performance clock",
        )
        .base(T::PERF_PRECISION_TIMESTAMP),
        row(
            "PERF_100NSEC_TIMER",
            T::PERF_100NSEC_TIMER,
            Time100ns,
            F::Share,
            "the share of time spent active, by the 100 ns clock",
        ),
        row(
            "PERF_PRECISION_100NS_TIMER",
            T::PERF_PRECISION_100NS_TIMER,
            Base,
            F::BaseShare,
            "the share of time spent active, by a time stamp of the 100 ns clock",
        )
        .base(T::PERF_PRECISION_TIMESTAMP),
        row(
            "PERF_OBJ_TIME_TIMER",
            T::PERF_OBJ_TIME_TIMER,
            ObjectTime,
            F::Share,
            "the share of time spent active, by the object's clock",
        ),
        row(
            "PERF_PRECISION_OBJECT_TIMER",
            T::PERF_PRECISION_OBJECT_TIMER,
            Base,
            F::BaseShare,
            "the share of time spent active, by a time stamp of the object's clock",
        )
        .base(T::PERF_PRECISION_TIMESTAMP),
        row(
            "PERF_SAMPLE_FRACTION",
            T::PERF_SAMPLE_FRACTION,
            Base,
            F::BaseShare,
            "the share of successful operations since the last sample, such as cache hits",
        )
        .base(T::PERF_SAMPLE_BASE),
        row(
            "PERF_COUNTER_TIMER_INV",
            T::PERF_COUNTER_TIMER_INV,
            PerfTime,
            F::InverseShare,
            "the share of time spent active, computed from idle time",
        ),
        row(
            "PERF_100NSEC_TIMER_INV",
            T::PERF_100NSEC_TIMER_INV,
            Time100ns,
            F::InverseShare,
            "the share of time spent active, computed from idle time, by the 100 ns clock",
        ),
        row(
            "PERF_COUNTER_MULTI_TIMER",
            T::PERF_COUNTER_MULTI_TIMER,
            PerfTime,
            F::MultiShare,
            "the share of time that several resources were active, on average",
        )
        .base(T::PERF_COUNTER_MULTI_BASE),
        row(
            "PERF_100NSEC_MULTI_TIMER",
            T::PERF_100NSEC_MULTI_TIMER,
            Time100ns,
            F::MultiShare,
            "the share of time that several resources were active, on average, by the 100 ns clock",
        )
        .base(T::PERF_COUNTER_MULTI_BASE),
        row(
            "PERF_COUNTER_MULTI_TIMER_INV",
            T::PERF_COUNTER_MULTI_TIMER_INV,
            PerfTime,
            F::InverseMultiShare,
            "the share of time active, summed over several resources, from idle time",
        )
        .base(T::PERF_COUNTER_MULTI_BASE),
        row(
            "PERF_100NSEC_MULTI_TIMER_INV",
            T::PERF_100NSEC_MULTI_TIMER_INV,
            Time100ns,
            F::InverseMultiShare,
            "the share of time active, summed over several resources, from idle time, by the 100 ns clock",
        )
        .base(T::PERF_COUNTER_MULTI_BASE),
        row(
            "PERF_AVERAGE_TIMER",
            T::PERF_AVERAGE_TIMER,
            BaseAndPerfFrequency,
            F::AverageTime,
            "the average time of one operation",
        )
        .base(T::PERF_AVERAGE_BASE),
        row("PERF_ELAPSED_TIME", T::PERF_ELAPSED_TIME, ObjectTime, F::Elapsed, "the time since it started"),
        row(
            "PERF_COUNTER_NODATA",
            T::PERF_COUNTER_NODATA,
            Alone,
            F::Raw,
            "a label; its number, if any, as it is",
        ),
        row(
            "TALLYMON_VALUE_STATUS",
            T::VALUE_STATUS,
            Alone,
            F::NotNumeric,
            "one byte for each counter of the object: whether its value is present",
        )
        .ours(),
        row(
            "PERF_AVERAGE_BULK",
            T::PERF_AVERAGE_BULK,
            Base,
            F::AverageBulk,
            "the average amount of one operation, such as bytes",
        )
        .base(T::PERF_AVERAGE_BASE),
        row("PERF_SAMPLE_BASE", T::PERF_SAMPLE_BASE, Alone, F::NotNumeric, "base of PERF_SAMPLE_FRACTION"),
        row(
            "PERF_AVERAGE_BASE",
            T::PERF_AVERAGE_BASE,
            Alone,
            F::NotNumeric,
            "base of PERF_AVERAGE_TIMER and PERF_AVERAGE_BULK",
        ),
        row("PERF_RAW_BASE", T::PERF_RAW_BASE, Alone, F::NotNumeric, "base of PERF_RAW_FRACTION"),
        row(
            "PERF_LARGE_RAW_BASE",
            T::PERF_LARGE_RAW_BASE,
            Alone,
            F::NotNumeric,
            "base of PERF_LARGE_RAW_FRACTION; also the time stamp of the precision timers",
        )
        .aliases(&["PERF_PRECISION_TIMESTAMP"]),
        row(
            "PERF_COUNTER_MULTI_BASE",
            T::PERF_COUNTER_MULTI_BASE,
            Alone,
            F::NotNumeric,
            "base of the multi timers",
        ),
        row(
            "PERF_COUNTER_HISTOGRAM_TYPE",
            T::PERF_COUNTER_HISTOGRAM_TYPE,
            Alone,
            F::NotNumeric,
            "a histogram; reserved, used by no provider",
        ),
    ]
};

/// A row of the table. What the bits and the formula determine is derived from them, so that the columns
/// cannot disagree.
const fn row(
    name: &'static str,
    value: CounterType,
    denominator: Denominator,
    compute: Formula,
    summary: &'static str,
) -> TypeInfo {
    TypeInfo {
        name,
        aliases: &[],
        value,
        size: value.size_bits(),
        time_base: value.time_base(),
        denominator,
        base: None,
        formula: compute.equation(),
        compute,
        suffix: value.suffix(),
        summary,
        visible: value.is_visible(),
        two_samples: compute.needs_two_samples(),
        ours: false,
    }
}

impl TypeInfo {
    const fn base(mut self, base: CounterType) -> TypeInfo {
        self.base = Some(base);
        self
    }

    const fn aliases(mut self, aliases: &'static [&'static str]) -> TypeInfo {
        self.aliases = aliases;
        self
    }

    const fn ours(mut self) -> TypeInfo {
        self.ours = true;
        self
    }
}

/// Hash table: the position in [`TYPES`] of the type with this hash, or a position past the end. Every sample
/// looks its type up, and a search would cost more than the formula.
#[expect(clippy::indexing_slicing, reason = "it is computed by the compiler, which would tell")]
static PLACES: [u8; 128] = {
    let mut places = [u8::MAX; 128];
    let mut place = 0u8;
    while (place as usize) < TYPES.len() {
        let hash = hash_slot(TYPES[place as usize].value);
        assert!(places[hash] == u8::MAX, "two types have one hash: another factor is needed");
        places[hash] = place;
        place += 1;
    }
    places
};

/// The hash of a type. The factor gives all types different hashes.
const fn hash_slot(counter_type: CounterType) -> usize {
    (counter_type.0.wrapping_mul(0x6cac_4e27) >> 25) as usize
}

/// Another name for [`CounterType::VALUE_STATUS`].
pub const VALUE_STATUS: CounterType = CounterType::VALUE_STATUS;

/// `PERF_LARGE_RAW_BASE` as some exporters list it; no header has this number.
const LARGE_RAW_BASE_WITH_SERIAL: CounterType = CounterType(0x4003_0503);

macro_rules! constants {
    ($($name:ident = $value:literal)*) => {
        #[allow(missing_docs, reason = "the names are those of winperf.h, and TYPES describes each of them")]
        impl CounterType {
            $(pub const $name: CounterType = CounterType($value);)*
        }
    };
}

constants! {
    PERF_COUNTER_RAWCOUNT_HEX = 0x0000_0000
    PERF_COUNTER_LARGE_RAWCOUNT_HEX = 0x0000_0100
    PERF_COUNTER_TEXT = 0x0000_0b00
    PERF_COUNTER_RAWCOUNT = 0x0001_0000
    PERF_COUNTER_LARGE_RAWCOUNT = 0x0001_0100
    PERF_DOUBLE_RAW = 0x0001_2000
    PERF_COUNTER_DELTA = 0x0040_0400
    PERF_COUNTER_LARGE_DELTA = 0x0040_0500
    PERF_SAMPLE_COUNTER = 0x0041_0400
    PERF_COUNTER_QUEUELEN_TYPE = 0x0045_0400
    PERF_COUNTER_LARGE_QUEUELEN_TYPE = 0x0045_0500
    PERF_COUNTER_100NS_QUEUELEN_TYPE = 0x0055_0500
    PERF_COUNTER_OBJ_TIME_QUEUELEN_TYPE = 0x0065_0500
    PERF_COUNTER_COUNTER = 0x1041_0400
    PERF_COUNTER_BULK_COUNT = 0x1041_0500
    PERF_RAW_FRACTION = 0x2002_0400
    PERF_LARGE_RAW_FRACTION = 0x2002_0500
    PERF_COUNTER_TIMER = 0x2041_0500
    PERF_PRECISION_SYSTEM_TIMER = 0x2047_0500
    PERF_100NSEC_TIMER = 0x2051_0500
    PERF_PRECISION_100NS_TIMER = 0x2057_0500
    PERF_OBJ_TIME_TIMER = 0x2061_0500
    PERF_PRECISION_OBJECT_TIMER = 0x2067_0500
    PERF_SAMPLE_FRACTION = 0x20c2_0400
    PERF_COUNTER_TIMER_INV = 0x2141_0500
    PERF_100NSEC_TIMER_INV = 0x2151_0500
    PERF_COUNTER_MULTI_TIMER = 0x2241_0500
    PERF_100NSEC_MULTI_TIMER = 0x2251_0500
    PERF_COUNTER_MULTI_TIMER_INV = 0x2341_0500
    PERF_100NSEC_MULTI_TIMER_INV = 0x2351_0500
    PERF_AVERAGE_TIMER = 0x3002_0400
    PERF_ELAPSED_TIME = 0x3024_0500
    PERF_COUNTER_NODATA = 0x4000_0200
    PERF_AVERAGE_BULK = 0x4002_0500
    PERF_SAMPLE_BASE = 0x4003_0401
    PERF_AVERAGE_BASE = 0x4003_0402
    PERF_RAW_BASE = 0x4003_0403
    PERF_LARGE_RAW_BASE = 0x4003_0500
    PERF_PRECISION_TIMESTAMP = 0x4003_0500
    PERF_COUNTER_MULTI_BASE = 0x4203_0500
    PERF_COUNTER_HISTOGRAM_TYPE = 0x8000_0000
}

impl CounterType {
    /// Tallymon's own type: one byte for each earlier counter definition of the object, which says whether
    /// the counter's value is present, see [`ValueState`](crate::flow::ValueState).
    ///
    /// Its bits are `PERF_DISPLAY_NOSHOW | PERF_SIZE_VARIABLE_LEN | PERF_TYPE_NUMBER | PERF_NUMBER_HEX`:
    /// readers that do not know the type neither display it nor take it for a number of 4 or 8 bytes.
    pub const VALUE_STATUS: CounterType = CounterType(0x4000_0300);

    /// The description of the type; `None` if there is none.
    ///
    /// `0x40030503`, which some exporters list for `PERF_LARGE_RAW_BASE`, counts as that type.
    pub fn info(self) -> Option<&'static TypeInfo> {
        let value = if self == LARGE_RAW_BASE_WITH_SERIAL { CounterType::PERF_LARGE_RAW_BASE } else { self };
        let place = PLACES.get(hash_slot(value))?;
        TYPES.get(usize::from(*place)).filter(|info| info.value == value)
    }

    /// Its name in winperf.h; `unknown` if it has none.
    pub fn name(self) -> &'static str {
        self.info().map_or("unknown", |info| info.name)
    }

    /// The type with a name of winperf.h, in any case.
    pub fn from_name(name: &str) -> Option<CounterType> {
        let is = |candidate: &&str| candidate.eq_ignore_ascii_case(name);
        TYPES.iter().find(|info| is(&info.name) || info.aliases.iter().any(is)).map(|info| info.value)
    }

    /// The size of the raw value according to the type (bits 8 and 9).
    pub const fn size_bits(self) -> Size {
        match (self.0 >> 8) & 3 {
            0 => Size::Dword,
            1 => Size::Large,
            2 => Size::Zero,
            _ => Size::Variable,
        }
    }

    /// Bytes of the raw value in a block: 4 or 8. `None` if the definition must give the size, and for
    /// labels.
    ///
    /// `PERF_AVERAGE_TIMER` says 4, but every Windows provider writes 8, and so do we. `PERF_DOUBLE_RAW` also
    /// says 4, but is an 8-byte floating-point number.
    pub const fn default_size(self) -> Option<u32> {
        if self.0 == CounterType::PERF_AVERAGE_TIMER.0 || self.0 == CounterType::PERF_DOUBLE_RAW.0 {
            return Some(8);
        }
        match self.size_bits() {
            Size::Dword => Some(4),
            Size::Large => Some(8),
            Size::Zero | Size::Variable => None,
        }
    }

    /// The kind of data (bits 10 and 11).
    pub const fn kind(self) -> Kind {
        match (self.0 >> 10) & 3 {
            0 => Kind::Number,
            1 => Kind::Counter,
            2 => Kind::Text,
            _ => Kind::Zero,
        }
    }

    /// The details of the kind (bits 16 to 19).
    pub const fn subtype(self) -> Subtype {
        match (self.kind(), (self.0 >> 16) & 15) {
            (Kind::Number, 0) => Subtype::Hex,
            (Kind::Number, 1) => Subtype::Decimal,
            (Kind::Number, 2) => Subtype::Dec1000,
            (Kind::Counter, 0) => Subtype::Value,
            (Kind::Counter, 1) => Subtype::Rate,
            (Kind::Counter, 2) => Subtype::Fraction,
            (Kind::Counter, 3) => Subtype::Base,
            (Kind::Counter, 4) => Subtype::Elapsed,
            (Kind::Counter, 5) => Subtype::QueueLength,
            (Kind::Counter, 6) => Subtype::Histogram,
            (Kind::Counter, 7) => Subtype::Precision,
            (Kind::Text, 0) => Subtype::Unicode,
            (Kind::Text, 1) => Subtype::Ascii,
            _ => Subtype::Other,
        }
    }

    /// The clock that it is measured with (bits 20 and 21).
    pub const fn time_base(self) -> TimeBase {
        match (self.0 >> 20) & 3 {
            0 => TimeBase::PerfTime,
            1 => TimeBase::Time100ns,
            2 => TimeBase::ObjectTime,
            _ => TimeBase::Other,
        }
    }

    /// Whether the value is a difference of two samples (`PERF_DELTA_COUNTER`, bit 22).
    pub const fn delta(self) -> bool {
        self.0 & 0x0040_0000 != 0
    }

    /// Whether the base is a difference of two samples too (`PERF_DELTA_BASE`, bit 23).
    pub const fn delta_base(self) -> bool {
        self.0 & 0x0080_0000 != 0
    }

    /// Whether the share is the remainder to 100 % (`PERF_INVERSE_COUNTER`, bit 24).
    pub const fn inverse(self) -> bool {
        self.0 & 0x0100_0000 != 0
    }

    /// Whether several resources are summed, so that
    /// [`Sample::multi_count`](crate::flow::Sample::multi_count) must say how many (`PERF_MULTI_COUNTER`, bit
    /// 25).
    ///
    /// Their number is in the next definition if that is a `PERF_COUNTER_MULTI_BASE`, else it is a 32-bit
    /// number directly after the value. The base itself also has the bit, but is not such a counter.
    pub const fn multi(self) -> bool {
        self.0 & 0x0200_0000 != 0 && !self.is_base()
    }

    /// The suffix of the value (bits 28 to 31).
    pub const fn suffix(self) -> Suffix {
        match self.0 >> 28 {
            1 => Suffix::PerSecond,
            2 => Suffix::Percent,
            3 => Suffix::Seconds,
            _ => Suffix::None,
        }
    }

    /// Whether the type's bits request not to display it (`PERF_DISPLAY_NOSHOW`). Viewers follow
    /// [`CounterType::is_visible`] instead.
    pub const fn no_show(self) -> bool {
        self.0 >> 28 == 4
    }

    /// Whether it is the base of the preceding counter.
    pub const fn is_base(self) -> bool {
        matches!(self.subtype(), Subtype::Base)
    }

    /// Whether its raw value is a text.
    pub const fn is_text(self) -> bool {
        matches!(self.kind(), Kind::Text)
    }

    /// Whether counters of this type are listed and displayed: all except bases, labels and
    /// [`CounterType::VALUE_STATUS`].
    ///
    /// The bit `PERF_DISPLAY_NOSHOW` does not decide this: `PERF_AVERAGE_BULK` has the bit, and every viewer
    /// displays it.
    pub const fn is_visible(self) -> bool {
        !self.is_base()
            && self.0 != CounterType::PERF_COUNTER_NODATA.0
            && self.0 != CounterType::VALUE_STATUS.0
    }

    /// Whether a value needs two samples. For an undescribed type, its delta bits decide.
    pub fn needs_two_samples(self) -> bool {
        let by_bits = || self.kind() != Kind::Number && (self.delta() || self.delta_base());
        self.info().map_or_else(by_bits, |info| info.two_samples)
    }

    /// What [`Sample::second`](crate::flow::Sample::second) and
    /// [`Sample::frequency`](crate::flow::Sample::frequency) contain.
    pub fn denominator(self) -> Denominator {
        self.info().map_or(Denominator::None, |info| info.denominator)
    }

    /// Whether the next definition must be its base, whose value goes into
    /// [`Sample::second`](crate::flow::Sample::second).
    ///
    /// The base is always the next definition, never one with a matching name. See [`CounterType::multi`] for
    /// the types that have a multi count.
    pub fn needs_base(self) -> bool {
        matches!(self.denominator(), Denominator::Base | Denominator::BaseAndPerfFrequency)
    }

    /// Whether the next definition may be its base: it [must](CounterType::needs_base), or it may have the
    /// number of resources, see [`CounterType::multi`].
    pub fn takes_base(self) -> bool {
        self.needs_base() || self.multi()
    }

    /// Whether the value is a share of at most 100 %, so that a larger value is a measurement error.
    ///
    /// Not the inverse multi timers: several resources add up to several hundred per cent.
    pub const fn caps_at_100(self) -> bool {
        matches!(self.suffix(), Suffix::Percent) && !(self.multi() && self.inverse())
    }
}

impl From<u32> for CounterType {
    fn from(value: u32) -> CounterType {
        CounterType(value)
    }
}

impl From<CounterType> for u32 {
    fn from(counter_type: CounterType) -> u32 {
        counter_type.0
    }
}

impl fmt::Display for CounterType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.info() {
            Some(info) => f.pad(info.name),
            None => write!(f, "0x{:08X}", self.0),
        }
    }
}

/// The size of a raw value according to its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Size {
    /// 4 bytes (`PERF_SIZE_DWORD`).
    Dword,
    /// 8 bytes (`PERF_SIZE_LARGE`).
    Large,
    /// None (`PERF_SIZE_ZERO`).
    Zero,
    /// The size in the definition (`PERF_SIZE_VARIABLE_LEN`).
    Variable,
}

/// The kind of data of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A number that is displayed directly (`PERF_TYPE_NUMBER`).
    Number,
    /// A number that enters a computation (`PERF_TYPE_COUNTER`).
    Counter,
    /// A text (`PERF_TYPE_TEXT`).
    Text,
    /// Always zero (`PERF_TYPE_ZERO`).
    Zero,
}

/// The details of a [`Kind`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Subtype {
    /// A number displayed in hexadecimal.
    Hex,
    /// A number displayed in decimal.
    Decimal,
    /// A number of which a thousandth is displayed.
    Dec1000,
    /// A counter displayed directly.
    Value,
    /// A counter divided by time.
    Rate,
    /// A counter divided by a base.
    Fraction,
    /// The base of the preceding counter.
    Base,
    /// A start time.
    Elapsed,
    /// Queue lengths, summed over time.
    QueueLength,
    /// A histogram.
    Histogram,
    /// A counter divided by a clock that was read at the same time.
    Precision,
    /// A text in UTF-16.
    Unicode,
    /// A text in a single-byte code page.
    Ascii,
    /// Undescribed.
    Other,
}

/// The clock that a type is measured with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TimeBase {
    /// The performance clock (`PERF_TIMER_TICK`).
    PerfTime,
    /// The clock of 100 ns units (`PERF_TIMER_100NS`).
    Time100ns,
    /// The clock of the object (`PERF_OBJECT_TIMER`).
    ObjectTime,
    /// Undescribed.
    Other,
}

/// What a value is divided by: the source of [`Sample::second`](crate::flow::Sample::second) and
/// [`Sample::frequency`](crate::flow::Sample::frequency).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Denominator {
    /// Nothing; both are 0.
    None,
    /// `PERF_DATA_BLOCK.PerfTime` and `PerfFreq`.
    PerfTime,
    /// `PERF_DATA_BLOCK.PerfTime100nSec`, and ten million.
    Time100ns,
    /// `PERF_OBJECT_TYPE.PerfTime` and `PerfFreq`.
    ObjectTime,
    /// The value of the base counter; no frequency.
    Base,
    /// The value of the base counter, and `PERF_DATA_BLOCK.PerfFreq` (`PERF_AVERAGE_TIMER`).
    BaseAndPerfFrequency,
}

/// The suffix of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Suffix {
    /// Nothing.
    #[default]
    None,
    /// `/sec`
    PerSecond,
    /// `%`
    Percent,
    /// `secs`
    Seconds,
}

impl Suffix {
    /// The suffix in NT's spelling, empty for none.
    pub const fn as_str(self) -> &'static str {
        match self {
            Suffix::None => "",
            Suffix::PerSecond => "/sec",
            Suffix::Percent => "%",
            Suffix::Seconds => "secs",
        }
    }
}

impl fmt::Display for Suffix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::vec::Vec;

    #[test]
    fn the_table_is_sorted_and_info_finds_every_type() {
        assert!(TYPES.is_sorted_by(|left, right| left.value < right.value));
        for info in TYPES {
            let found = info.value.info().expect("in the table");
            assert_eq!(found.name, info.name);
            assert_eq!(CounterType::from_name(info.name), Some(info.value));
            assert_eq!(CounterType::from_name(&info.name.to_ascii_lowercase()), Some(info.value));
            assert_eq!(format!("{}", info.value), info.name);
            assert!(!info.summary.is_empty() && !info.formula.is_empty());
        }
        assert_eq!(TYPES.iter().filter(|info| info.ours).count(), 1);
        // 40 numbers carry the 41 names of winperf.h; one more is ours.
        assert_eq!(TYPES.len(), 41);
    }

    #[test]
    fn bits_and_table_agree() {
        for info in TYPES {
            let value = info.value;
            let clock = match info.denominator {
                Denominator::PerfTime => Some(TimeBase::PerfTime),
                Denominator::Time100ns => Some(TimeBase::Time100ns),
                Denominator::ObjectTime => Some(TimeBase::ObjectTime),
                _ => None,
            };
            if let Some(clock) = clock {
                assert_eq!(info.time_base, clock, "{value}");
            }
            assert_eq!(info.base.is_some(), value.takes_base(), "{value}");
            assert!(info.base.is_none_or(CounterType::is_base), "{value}");
            // The average types need two samples, although none of their bits says so.
            let average = matches!(info.compute, Formula::AverageTime | Formula::AverageBulk);
            assert_eq!(info.two_samples, value.delta() || average, "{value}");
            let inverse = matches!(info.compute, Formula::InverseShare | Formula::InverseMultiShare);
            assert_eq!(value.inverse(), inverse, "{value}");
            let multi = matches!(info.compute, Formula::MultiShare | Formula::InverseMultiShare);
            assert_eq!(value.multi(), multi, "{value}");
            assert_eq!(info.summary.contains(" share"), value.suffix() == Suffix::Percent, "{value}");
        }
    }

    #[test]
    fn only_bases_labels_and_the_status_are_hidden() {
        let hidden: Vec<_> = TYPES.iter().filter(|info| !info.visible).map(|info| info.name).collect();
        assert_eq!(
            hidden,
            [
                "PERF_COUNTER_NODATA",
                "TALLYMON_VALUE_STATUS",
                "PERF_SAMPLE_BASE",
                "PERF_AVERAGE_BASE",
                "PERF_RAW_BASE",
                "PERF_LARGE_RAW_BASE",
                "PERF_COUNTER_MULTI_BASE",
            ]
        );
        assert!(CounterType::PERF_AVERAGE_BULK.no_show() && CounterType::PERF_AVERAGE_BULK.is_visible());
    }

    #[test]
    fn bit_fields_are_decoded() {
        let timer = CounterType::PERF_PRECISION_100NS_TIMER;
        assert_eq!((timer.kind(), timer.subtype()), (Kind::Counter, Subtype::Precision));
        assert_eq!((timer.size_bits(), timer.default_size()), (Size::Large, Some(8)));
        assert_eq!((timer.time_base(), timer.suffix()), (TimeBase::Time100ns, Suffix::Percent));
        assert!(timer.delta() && !timer.delta_base() && !timer.inverse() && !timer.multi());
        assert!(CounterType::PERF_SAMPLE_FRACTION.delta_base());
        assert!(CounterType::PERF_COUNTER_MULTI_TIMER_INV.multi());
        assert!(
            !CounterType::PERF_COUNTER_MULTI_BASE.multi() && CounterType::PERF_COUNTER_MULTI_BASE.is_base()
        );
        let text = CounterType::PERF_COUNTER_TEXT;
        assert_eq!(
            (text.is_text(), text.subtype(), text.size_bits()),
            (true, Subtype::Unicode, Size::Variable)
        );
        assert_eq!(CounterType(0x0001_0b00).subtype(), Subtype::Ascii);
        assert_eq!(CounterType(0x0002_0000).subtype(), Subtype::Dec1000);
        assert_eq!(CounterType(0x000f_0400).subtype(), Subtype::Other);
        assert_eq!(CounterType(0x0030_0400).time_base(), TimeBase::Other);
        assert_eq!(CounterType::PERF_COUNTER_NODATA.default_size(), None);
        assert_eq!(CounterType::VALUE_STATUS.default_size(), None);
        assert_eq!(CounterType::VALUE_STATUS.subtype(), Subtype::Hex);
        assert!(CounterType::VALUE_STATUS.no_show());
        let average = CounterType::PERF_AVERAGE_TIMER;
        assert_eq!((average.size_bits(), average.default_size()), (Size::Dword, Some(8)));
        let double = CounterType::PERF_DOUBLE_RAW;
        assert_eq!((double.size_bits(), double.default_size()), (Size::Dword, Some(8)));
        assert_eq!(format!("{}{}", Suffix::PerSecond, Suffix::None), "/sec");
    }

    #[test]
    fn decimal_numbers_of_wmi_documentation_are_known() {
        for (number, name) in [
            (65_536, "PERF_COUNTER_RAWCOUNT"),
            (272_696_320, "PERF_COUNTER_COUNTER"),
            (272_696_576, "PERF_COUNTER_BULK_COUNT"),
            (542_180_608, "PERF_100NSEC_TIMER"),
            (558_957_824, "PERF_100NSEC_TIMER_INV"),
            (1_073_939_458, "PERF_AVERAGE_BASE"),
        ] {
            assert_eq!(CounterType::from(number).name(), name);
        }
    }

    #[test]
    fn unknown_types_and_aliases_are_found() {
        let unknown = CounterType(0x1234_5678);
        assert!(unknown.info().is_none());
        assert_eq!((unknown.name(), format!("{unknown}").as_str()), ("unknown", "0x12345678"));
        assert_eq!(unknown.denominator(), Denominator::None);
        assert!(
            CounterType(0x0043_0f00).needs_two_samples() && !CounterType(0x0002_0000).needs_two_samples()
        );
        assert_eq!(CounterType(0x4003_0503).name(), "PERF_LARGE_RAW_BASE");
        assert!(CounterType(0x4003_0503).is_base());
        let stamp = CounterType::from_name("perf_precision_timestamp");
        assert_eq!(stamp, Some(CounterType::PERF_LARGE_RAW_BASE));
        assert_eq!(CounterType::from_name("PERF_COUNTER"), None);
        assert_eq!(VALUE_STATUS.name(), "TALLYMON_VALUE_STATUS");
    }
}
