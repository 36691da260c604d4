//! Counter types: the bit fields of `CounterType`, and the one table of all types.

use core::fmt;

use super::formula::Formula;

/// A `CounterType` of winperf.h: bit fields that say how the raw value becomes a value.
///
/// Any number is one, also a number that nobody has described; [`CounterType::info`] is `None` then. It is written as
/// its name, or as `0x%08X` when it has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CounterType(pub u32);

/// What is known about one counter type.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct TypeInfo {
    /// Its name in winperf.h.
    pub name: &'static str,
    /// Other names of the same number.
    pub aliases: &'static [&'static str],
    /// The number.
    pub value: CounterType,
    /// How large it says that its raw value is.
    pub size: Size,
    /// Which clock its bits name. It means nothing for a type without a clock.
    pub time_base: TimeBase,
    /// What belongs into [`Sample::second`](crate::flow::Sample::second).
    pub denominator: Denominator,
    /// The type of the definition that has to follow a counter of this type; `None` for types that stand alone.
    pub base: Option<CounterType>,
    /// The equation, for people.
    ///
    /// N is the value, D the clock, F the ticks of that clock in a second, B the base or multi count; 0 is the older
    /// sample and 1 the newer one.
    pub formula: &'static str,
    /// The equation, for [`compute`](super::compute).
    pub compute: Formula,
    /// What stands behind the value.
    pub suffix: Suffix,
    /// What the value means, in one line.
    pub summary: &'static str,
    /// Counters of this type are listed and shown.
    pub visible: bool,
    /// A value needs two samples.
    pub two_samples: bool,
    /// The type is Tallymon's own and no system but ours has it.
    pub ours: bool,
}

/// Every counter type that is described, in the order of its number.
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
            "the share of time that it was active",
        ),
        row(
            "PERF_PRECISION_SYSTEM_TIMER",
            T::PERF_PRECISION_SYSTEM_TIMER,
            Base,
            F::BaseShare,
            "the share of time that it was active, by its own reading of the performance clock",
        )
        .base(T::PERF_PRECISION_TIMESTAMP),
        row(
            "PERF_100NSEC_TIMER",
            T::PERF_100NSEC_TIMER,
            Time100ns,
            F::Share,
            "the share of time that it was active, by the 100 ns clock",
        ),
        row(
            "PERF_PRECISION_100NS_TIMER",
            T::PERF_PRECISION_100NS_TIMER,
            Base,
            F::BaseShare,
            "the share of time that it was active, by its own reading of the 100 ns clock",
        )
        .base(T::PERF_PRECISION_TIMESTAMP),
        row(
            "PERF_OBJ_TIME_TIMER",
            T::PERF_OBJ_TIME_TIMER,
            ObjectTime,
            F::Share,
            "the share of time that it was active, by the object's clock",
        ),
        row(
            "PERF_PRECISION_OBJECT_TIMER",
            T::PERF_PRECISION_OBJECT_TIMER,
            Base,
            F::BaseShare,
            "the share of time that it was active, by its own reading of the object's clock",
        )
        .base(T::PERF_PRECISION_TIMESTAMP),
        row(
            "PERF_SAMPLE_FRACTION",
            T::PERF_SAMPLE_FRACTION,
            Base,
            F::BaseShare,
            "the share of operations since the last sample, such as hits of all look-ups",
        )
        .base(T::PERF_SAMPLE_BASE),
        row(
            "PERF_COUNTER_TIMER_INV",
            T::PERF_COUNTER_TIMER_INV,
            PerfTime,
            F::InverseShare,
            "the share of time that it was active, from the time that it was not",
        ),
        row(
            "PERF_100NSEC_TIMER_INV",
            T::PERF_100NSEC_TIMER_INV,
            Time100ns,
            F::InverseShare,
            "the share of time that it was active, from the time that it was not, by the 100 ns clock",
        ),
        row(
            "PERF_COUNTER_MULTI_TIMER",
            T::PERF_COUNTER_MULTI_TIMER,
            PerfTime,
            F::MultiShare,
            "the share of time that several items were active, on average",
        )
        .base(T::PERF_COUNTER_MULTI_BASE),
        row(
            "PERF_100NSEC_MULTI_TIMER",
            T::PERF_100NSEC_MULTI_TIMER,
            Time100ns,
            F::MultiShare,
            "the share of time that several items were active, on average, by the 100 ns clock",
        )
        .base(T::PERF_COUNTER_MULTI_BASE),
        row(
            "PERF_COUNTER_MULTI_TIMER_INV",
            T::PERF_COUNTER_MULTI_TIMER_INV,
            PerfTime,
            F::InverseMultiShare,
            "the summed shares of activity of several items, from their idle time",
        )
        .base(T::PERF_COUNTER_MULTI_BASE),
        row(
            "PERF_100NSEC_MULTI_TIMER_INV",
            T::PERF_100NSEC_MULTI_TIMER_INV,
            Time100ns,
            F::InverseMultiShare,
            "the summed shares of activity of several items, from their idle time, by the 100 ns clock",
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
        row("PERF_COUNTER_NODATA", T::PERF_COUNTER_NODATA, Alone, F::NotNumeric, "a label without a value"),
        row(
            "TALLYMON_VALUE_STATUS",
            T::VALUE_STATUS,
            Alone,
            F::NotNumeric,
            "one byte for each counter of the object: whether its value is there",
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
            "a histogram; reserved, nobody writes it",
        ),
    ]
};

/// A row of the table. All that the bits and the formula say follows from them, so that the columns can not disagree.
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

/// Where the type of a hash stands in [`TYPES`]; a place behind its end for a hash of none. Every sample asks for its type,
/// and a search would cost more than the formula.
#[expect(clippy::indexing_slicing, reason = "it is computed by the compiler, which would tell")]
static PLACES: [u8; 128] = {
    let mut places = [u8::MAX; 128];
    let mut place = 0u8;
    while (place as usize) < TYPES.len() {
        let hash = place_of(TYPES[place as usize].value);
        assert!(places[hash] == u8::MAX, "two types have one hash: another factor is needed");
        places[hash] = place;
        place += 1;
    }
    places
};

/// The hash of a type; the factor is one that gives all types different ones.
const fn place_of(counter_type: CounterType) -> usize {
    (counter_type.0.wrapping_mul(0x6cac_4e27) >> 25) as usize
}

/// The same as [`CounterType::VALUE_STATUS`].
pub const VALUE_STATUS: CounterType = CounterType::VALUE_STATUS;

/// `PERF_LARGE_RAW_BASE` as some exporters list it; no header has this number.
const LARGE_RAW_BASE_WITH_SERIAL: CounterType = CounterType(0x4003_0503);

macro_rules! constants {
    ($($name:ident = $value:literal)*) => {
        #[allow(missing_docs, reason = "the names are those of winperf.h and TYPES says what each of them means")]
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
    /// Tallymon's own type: one byte for each counter definition of the object before it, which says whether the
    /// counter's value is there, see [`ValueState`](crate::flow::ValueState).
    ///
    /// Its bits are `PERF_DISPLAY_NOSHOW | PERF_SIZE_VARIABLE_LEN | PERF_TYPE_NUMBER | PERF_NUMBER_HEX`: readers that
    /// do not know it neither show it nor take it for a number of 4 or 8 bytes.
    pub const VALUE_STATUS: CounterType = CounterType(0x4000_0300);

    /// What is known about the type; `None` when nobody has described it.
    ///
    /// `0x40030503`, which some exporters list for `PERF_LARGE_RAW_BASE`, is taken for that.
    pub fn info(self) -> Option<&'static TypeInfo> {
        let value = if self == LARGE_RAW_BASE_WITH_SERIAL { CounterType::PERF_LARGE_RAW_BASE } else { self };
        let place = PLACES.get(place_of(value))?;
        TYPES.get(usize::from(*place)).filter(|info| info.value == value)
    }

    /// Its name in winperf.h; `unknown` when it has none.
    pub fn name(self) -> &'static str {
        self.info().map_or("unknown", |info| info.name)
    }

    /// The type of a name of winperf.h, in capital or small letters.
    pub fn from_name(name: &str) -> Option<CounterType> {
        let is = |candidate: &&str| candidate.eq_ignore_ascii_case(name);
        TYPES.iter().find(|info| is(&info.name) || info.aliases.iter().any(is)).map(|info| info.value)
    }

    /// How large the type says that the raw value is (bits 8 and 9).
    pub const fn size_bits(self) -> Size {
        match (self.0 >> 8) & 3 {
            0 => Size::Dword,
            1 => Size::Large,
            2 => Size::Zero,
            _ => Size::Variable,
        }
    }

    /// Bytes of the raw value in a block: 4 or 8; `None` when the definition has to say it, and for labels.
    ///
    /// `PERF_AVERAGE_TIMER` says 4, but every provider of Windows writes 8, and so do we. `PERF_DOUBLE_RAW` says 4 too, and is a
    /// floating point number of 8.
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

    /// What kind of data it is (bits 10 and 11).
    pub const fn kind(self) -> Kind {
        match (self.0 >> 10) & 3 {
            0 => Kind::Number,
            1 => Kind::Counter,
            2 => Kind::Text,
            _ => Kind::Zero,
        }
    }

    /// What the kind is in detail (bits 16 to 19).
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

    /// Which clock it is measured by (bits 20 and 21).
    pub const fn time_base(self) -> TimeBase {
        match (self.0 >> 20) & 3 {
            0 => TimeBase::PerfTime,
            1 => TimeBase::Time100ns,
            2 => TimeBase::ObjectTime,
            _ => TimeBase::Other,
        }
    }

    /// The value is a difference of two samples (`PERF_DELTA_COUNTER`, bit 22).
    pub const fn delta(self) -> bool {
        self.0 & 0x0040_0000 != 0
    }

    /// The base is a difference of two samples too (`PERF_DELTA_BASE`, bit 23).
    pub const fn delta_base(self) -> bool {
        self.0 & 0x0080_0000 != 0
    }

    /// The share is what is left to 100 % (`PERF_INVERSE_COUNTER`, bit 24).
    pub const fn inverse(self) -> bool {
        self.0 & 0x0100_0000 != 0
    }

    /// Several resources were added up, and [`Sample::multi_count`](crate::flow::Sample::multi_count) has to say how
    /// many (`PERF_MULTI_COUNTER`, bit 25).
    ///
    /// Their number is in the definition behind the counter if that is a `PERF_COUNTER_MULTI_BASE`, else it is a
    /// 32-bit number directly behind the value. The base itself has the bit too, but is no such counter.
    pub const fn multi(self) -> bool {
        self.0 & 0x0200_0000 != 0 && !self.is_base()
    }

    /// What stands behind the value (bits 28 to 31).
    pub const fn suffix(self) -> Suffix {
        match self.0 >> 28 {
            1 => Suffix::PerSecond,
            2 => Suffix::Percent,
            3 => Suffix::Seconds,
            _ => Suffix::None,
        }
    }

    /// The type's own bits ask not to show it (`PERF_DISPLAY_NOSHOW`); [`CounterType::is_visible`] is what viewers do.
    pub const fn no_show(self) -> bool {
        self.0 >> 28 == 4
    }

    /// It is the base of the counter before it.
    pub const fn is_base(self) -> bool {
        matches!(self.subtype(), Subtype::Base)
    }

    /// Its raw value is a text.
    pub const fn is_text(self) -> bool {
        matches!(self.kind(), Kind::Text)
    }

    /// Counters of this type are listed and shown: all but bases, labels and [`CounterType::VALUE_STATUS`].
    ///
    /// The bit `PERF_DISPLAY_NOSHOW` does not decide it: `PERF_AVERAGE_BULK` has the bit and every viewer shows it.
    pub const fn is_visible(self) -> bool {
        !self.is_base()
            && self.0 != CounterType::PERF_COUNTER_NODATA.0
            && self.0 != CounterType::VALUE_STATUS.0
    }

    /// A value needs two samples. For a type that nobody has described its delta bits say it.
    pub fn needs_two_samples(self) -> bool {
        self.info().map_or(self.delta() || self.delta_base(), |info| info.two_samples)
    }

    /// What belongs into [`Sample::second`](crate::flow::Sample::second) and
    /// [`Sample::frequency`](crate::flow::Sample::frequency).
    pub fn denominator(self) -> Denominator {
        self.info().map_or(Denominator::None, |info| info.denominator)
    }

    /// The definition behind this one has to be its base, whose value belongs into
    /// [`Sample::second`](crate::flow::Sample::second).
    ///
    /// It is always the next definition, never one with a fitting name. See [`CounterType::multi`] for the types that
    /// have a multi count.
    pub fn needs_base(self) -> bool {
        matches!(self.denominator(), Denominator::Base | Denominator::BaseAndPerfFrequency)
    }

    /// The value is a share whose full scale is 100 %, so that more than that is an error of measurement.
    ///
    /// The inverse multi timers are none: several resources add up to several hundred per cent.
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

/// How large a type says that its raw value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Size {
    /// 4 bytes (`PERF_SIZE_DWORD`).
    Dword,
    /// 8 bytes (`PERF_SIZE_LARGE`).
    Large,
    /// None (`PERF_SIZE_ZERO`).
    Zero,
    /// As many as the definition says (`PERF_SIZE_VARIABLE_LEN`).
    Variable,
}

/// What kind of data a type stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A number that is shown as it is (`PERF_TYPE_NUMBER`).
    Number,
    /// A number that is computed with (`PERF_TYPE_COUNTER`).
    Counter,
    /// A text (`PERF_TYPE_TEXT`).
    Text,
    /// Always zero (`PERF_TYPE_ZERO`).
    Zero,
}

/// A [`Kind`] in detail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Subtype {
    /// A number shown in hexadecimal.
    Hex,
    /// A number shown in decimal.
    Decimal,
    /// A number of which a thousandth is shown.
    Dec1000,
    /// A counter shown as it is.
    Value,
    /// A counter divided by time.
    Rate,
    /// A counter divided by a base.
    Fraction,
    /// The base of the counter before it.
    Base,
    /// A start time.
    Elapsed,
    /// The lengths of a queue, added up over time.
    QueueLength,
    /// A histogram.
    Histogram,
    /// A counter divided by a clock that was read together with it.
    Precision,
    /// A text in UTF-16.
    Unicode,
    /// A text in a code page of single bytes.
    Ascii,
    /// None that is described.
    Other,
}

/// The clock that a type is measured by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TimeBase {
    /// The performance clock (`PERF_TIMER_TICK`).
    PerfTime,
    /// The clock of 100 ns units (`PERF_TIMER_100NS`).
    Time100ns,
    /// The clock of the object (`PERF_OBJECT_TIMER`).
    ObjectTime,
    /// None that is described.
    Other,
}

/// What a value is divided by: where [`Sample::second`](crate::flow::Sample::second) and
/// [`Sample::frequency`](crate::flow::Sample::frequency) come from.
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

/// What stands behind a value.
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
    /// The suffix as NT writes it, empty for none.
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
    fn the_table_is_in_order_and_every_type_finds_itself() {
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
        // 41 names of winperf.h stand for 40 numbers; one more is ours.
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
            assert_eq!(info.base.is_some(), value.needs_base() || value.multi(), "{value}");
            assert!(info.base.is_none_or(CounterType::is_base), "{value}");
            // The average types need two samples though no bit of theirs says so.
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
    fn hidden_are_bases_labels_and_the_status() {
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
    fn bit_fields() {
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
    fn decimal_numbers_of_wmi_documents() {
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
    fn unknown_types_and_second_names() {
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
