//! The tables that say which counter a foreign metric becomes: the numbers of a foreign record, and how a
//! counter is computed from them.

/// A number of a foreign record, with the width in which its program counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Number {
    /// 32 bits: a count of this width wraps around to 0.
    U32(u32),
    /// 64 bits.
    U64(u64),
    /// Signed.
    I64(i64),
    /// With fractions.
    F64(f64),
}

impl Number {
    pub(crate) fn as_f64(self) -> f64 {
        match self {
            Number::U32(number) => f64::from(number),
            #[allow(clippy::cast_precision_loss, reason = "a value that is shown, not a count to subtract")]
            Number::U64(number) => number as f64,
            #[allow(clippy::cast_precision_loss, reason = "a value that is shown, not a count to subtract")]
            Number::I64(number) => number as f64,
            Number::F64(number) => number,
        }
    }

    /// The number, if it is whole.
    pub(crate) fn as_whole(self) -> Option<i128> {
        match self {
            Number::U32(number) => Some(i128::from(number)),
            Number::U64(number) => Some(i128::from(number)),
            Number::I64(number) => Some(i128::from(number)),
            Number::F64(_) => None,
        }
    }
}

/// How the numbers of a record become the raw value of a counter, and its type. *Sum* is the sum of the
/// fields in [`Row::from`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    /// The sum times the first number, divided by the second, as a raw count. A sum with fractions becomes a
    /// `PERF_DOUBLE_RAW`.
    Level(u64, u64),
    /// The sum times the number, as `PERF_DOUBLE_RAW`: values that the foreign program computed.
    Value(f64),
    /// Counts up: the sum times the first number, divided by the second, per second.
    Rate(u64, u64),
    /// Counts up in units of so many 100 ns: the share of the time in percent.
    Busy(u64),
    /// As [`Kind::Busy`], with so many units in 100 ns.
    BusyPart(u64),
    /// Counts up in units of so many 100 ns: what the share leaves of 100 %.
    Idle(u64),
    /// Counts up: the share of the growth of another sum, in percent.
    Share(&'static str),
    /// The share of another sum now, in percent.
    Fraction(&'static str),
    /// Counts up in units of so many 100 ns: the average number at a time.
    Queue(u64),
    /// Counts up in units of so many 100 ns: the average time of one of the operations in the other sum.
    TimePer(u64, &'static str),
    /// Counts up: the sum times the number, for each of the operations in the other sum.
    AmountPer(u64, &'static str),
}

/// Counts up by one, per second.
pub(crate) const RATE: Kind = Kind::Rate(1, 1);
/// A raw count as it is.
pub(crate) const LEVEL: Kind = Kind::Level(1, 1);
/// A computed value as it is.
pub(crate) const VALUE: Kind = Kind::Value(1.0);
/// KiB that become bytes.
pub(crate) const KIB: Kind = Kind::Level(1024, 1);

impl Kind {
    /// The second sum, if the kind has one.
    pub(crate) const fn base(self) -> Option<&'static str> {
        match self {
            Kind::Share(base) | Kind::Fraction(base) | Kind::TimePer(_, base) | Kind::AmountPer(_, base) => {
                Some(base)
            }
            _ => None,
        }
    }

    /// Words for the table of the documentation: the counter type and the scale.
    #[cfg(test)]
    pub(crate) fn words(self) -> String {
        let scaled = |name: &str, number: u64, divisor: u64| match (number, divisor) {
            (1, 1) => name.to_owned(),
            (_, 1) => format!("{name}, × {number}"),
            (1, _) => format!("{name}, ÷ {divisor}"),
            _ => format!("{name}, × {number} ÷ {divisor}"),
        };
        match self {
            Kind::Level(number, divisor) => scaled("PERF_COUNTER_LARGE_RAWCOUNT", number, divisor),
            Kind::Value(1.0) => "PERF_DOUBLE_RAW".to_owned(),
            Kind::Value(factor) => format!("PERF_DOUBLE_RAW, × {factor}"),
            Kind::Rate(number, divisor) => scaled("PERF_COUNTER_BULK_COUNT", number, divisor),
            Kind::Busy(number) => scaled("PERF_100NSEC_TIMER", number, 1),
            Kind::BusyPart(divisor) => scaled("PERF_100NSEC_TIMER", 1, divisor),
            Kind::Idle(number) => scaled("PERF_100NSEC_TIMER_INV", number, 1),
            Kind::Share(base) => format!("PERF_PRECISION_100NS_TIMER of {base}"),
            Kind::Fraction(base) => format!("PERF_LARGE_RAW_FRACTION of {base}"),
            Kind::Queue(number) => scaled("PERF_COUNTER_100NS_QUEUELEN_TYPE", number, 1),
            Kind::TimePer(number, base) => {
                format!("{} of {base}", scaled("PERF_AVERAGE_TIMER", number, 1))
            }
            Kind::AmountPer(number, base) => format!("{} of {base}", scaled("PERF_AVERAGE_BULK", number, 1)),
        }
    }
}

/// One counter that is made of the fields of a foreign record.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    /// The fields: `user + nice - guest`. A record without one of them has no such counter, but `?` behind a
    /// name makes the field 0 where it is missing.
    pub(crate) from: &'static str,
    /// The object.
    pub(crate) object: &'static str,
    /// The counter.
    pub(crate) counter: &'static str,
    /// Its type and scale.
    pub(crate) kind: Kind,
}

/// A line of a table.
pub(crate) const fn row(from: &'static str, object: &'static str, counter: &'static str, kind: Kind) -> Row {
    Row { from, object, counter, kind }
}

/// The counters of one kind of foreign record.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Table<'a> {
    /// What the foreign program calls the record.
    pub(crate) group: &'a str,
    /// The object for fields that no line uses; empty if another table has them.
    pub(crate) own: &'a str,
    /// The lines.
    pub(crate) rows: &'static [Row],
}

/// One field of a foreign record.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field<'a> {
    /// Its name.
    pub(crate) name: &'a str,
    /// Its value; `None` if this record has none.
    pub(crate) number: Option<Number>,
    /// What becomes of it where no line of the table uses it.
    pub(crate) own: Kind,
    /// Identifies it among all fields of a log whose records do not always have all fields; else 0.
    pub(crate) source: u32,
}

/// The terms of a sum: whether each is subtracted, its field, and whether the field may be missing.
pub(crate) fn terms(sum: &'static str) -> impl Iterator<Item = (bool, &'static str, bool)> {
    let mut minus = false;
    sum.split(' ').filter_map(move |word| match word {
        "+" => {
            minus = false;
            None
        }
        "-" => {
            minus = true;
            None
        }
        _ => match word.strip_suffix('?') {
            Some(name) => Some((minus, name, true)),
            None => Some((minus, word, false)),
        },
    })
}
