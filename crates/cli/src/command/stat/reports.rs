//! The reports of `tally stat`: which counters they have, under which headings.

use tallymon::human::Unit;
use tallymon_monitor::model::overview::Limits;

use crate::arguments::StatReport;

/// A column of a report.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    pub(crate) title: &'static str,
    /// Its counter, by number.
    pub(crate) counter: u32,
    pub(crate) unit: Unit,
    /// The share that is missing to 100 %: idle time becomes busy time.
    pub(crate) is_rest: bool,
    pub(crate) limits: Option<Limits>,
}

/// A report.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) object: u32,
    /// What the first column is; nothing for an object without instances.
    pub(crate) rows: Option<&'static str>,
    pub(crate) columns: &'static [Column],
}

const fn column(title: &'static str, counter: u32, unit: Unit) -> Column {
    Column { title, counter, unit, is_rest: false, limits: None }
}

const fn share(title: &'static str, counter: u32, limits: Limits) -> Column {
    Column { title, counter, unit: Unit::Percent, is_rest: false, limits: Some(limits) }
}

const CPU: Report = Report {
    object: 238,
    rows: Some("CPU"),
    columns: &[
        share("%busy", 6, Limits::BUSY),
        share("%user", 142, Limits::BUSY),
        share("%kernel", 144, Limits::BUSY),
        column("%irq", 698, Unit::Percent),
        column("%idle", 1746, Unit::Percent),
        column("intr/s", 148, Unit::Count),
    ],
};

const MEM: Report = Report {
    object: 4,
    rows: None,
    columns: &[
        column("available", 24, Unit::Bytes),
        column("cache", 818, Unit::Bytes),
        column("committed", 26, Unit::Bytes),
        column("limit", 30, Unit::Bytes),
        share("%commit", 1406, Limits::MEMORY),
        column("pages/s", 40, Unit::Count),
        column("faults/s", 28, Unit::Count),
    ],
};

const DISK: Report = Report {
    object: 234,
    rows: Some("DISK"),
    columns: &[
        column("reads/s", 214, Unit::Count),
        column("writes/s", 216, Unit::Count),
        column("read", 220, Unit::BytesPerSecond),
        column("write", 222, Unit::BytesPerSecond),
        column("queue", 1400, Unit::Count),
        Column { limits: Some(Limits::LATENCY), ..column("latency", 206, Unit::Seconds) },
        Column { is_rest: true, ..share("%busy", 1482, Limits::BUSY) },
    ],
};

const NET: Report = Report {
    object: 510,
    rows: Some("IFACE"),
    columns: &[
        column("rxpck/s", 266, Unit::Count),
        column("txpck/s", 452, Unit::Count),
        column("rx", 264, Unit::BytesPerSecond),
        column("tx", 506, Unit::BytesPerSecond),
    ],
};

const PROC: Report = Report {
    object: 230,
    rows: Some("COMMAND"),
    columns: &[
        column("PID", 784, Unit::AsIs),
        share("%CPU", 6, Limits::BUSY),
        column("%user", 142, Unit::Percent),
        column("%kernel", 144, Unit::Percent),
        column("memory", 180, Unit::Bytes),
        column("I/O", 1424, Unit::BytesPerSecond),
        column("threads", 680, Unit::AsIs),
    ],
};

impl StatReport {
    pub(crate) const fn report(self) -> &'static Report {
        match self {
            StatReport::Cpu => &CPU,
            StatReport::Mem => &MEM,
            StatReport::Disk => &DISK,
            StatReport::Net => &NET,
            StatReport::Proc => &PROC,
        }
    }
}

impl Report {
    /// The path of a column, by numbers: the same in every language.
    pub(crate) fn path(&self, column: &Column) -> String {
        let instances = if self.rows.is_some() { "(*)" } else { "" };
        format!("\\{}{instances}\\{}", self.object, column.counter)
    }
}

impl Column {
    /// A number in its unit; per cents have a decimal, as those of sar.
    pub(crate) fn text(&self, number: f64) -> String {
        match self.unit {
            Unit::Percent => format!("{number:.1}"),
            Unit::AsIs => format!("{number:.0}"),
            unit => unit.text(number),
        }
    }

    /// The number of the report from the value of the counter.
    pub(crate) fn number(&self, value: f64) -> f64 {
        if self.is_rest { (100.0 - value).clamp(0.0, 100.0) } else { value }
    }
}
