//! What users of this crate need of the crates below it, by name. A face that needs another name adds it
//! here, so that this file shows what faces can touch.

/// The vocabulary of counters: blocks, types, paths, samples and rows, names, times.
pub mod core {
    pub use tallymon_core::Error;

    /// Data blocks: read, written, and indexed as snapshots.
    pub mod block {
        pub use tallymon_core::block::{
            BlockWriter, ByteOrder, CounterBlock, CounterBlockMut, CounterDefinition, CounterSpec, DataBlock,
            DetailLevel, InstanceKind, NumInstances, Object, ObjectLayout, ObjectSpec, ObjectsWriter,
            RawValue, ReadWindow, Snapshot, SnapshotInstance, WriteHeader,
        };
    }

    /// Counter types, their formulas, and how values are shown.
    pub mod counter {
        pub use tallymon_core::counter::{
            CHART_SCALE_RANGE, CounterType, Digits, F6, Format, Formula, G17, Human, Joined, Kind,
            SCALE_RANGE, Scale, Size, Subtype, Suffix, TYPES, TextStyle, TimeBase, TypeInfo, apply, average,
            compute, f6, g17, human, weight,
        };
    }

    /// What moves: sources, samples, values, rows, sinks.
    pub mod flow {
        pub use tallymon_core::flow::{
            Absence, Cell, Column, LiveColumn, NoValue, PartialSum, PdhStatus, RegisteredObjects, Row,
            Sample, Sink, Source, SourceError, SourceErrorKind, UnlistedService, Value, ValueState,
        };
    }

    /// Counter paths.
    pub mod path {
        pub use tallymon_core::path::{
            CounterPath, InstanceIndex, InstancePath, InstancePattern, ParsedPath, Part,
        };
    }

    /// Requests to a source.
    pub mod request {
        pub use tallymon_core::request::{Interest, Request, RequestKind};
    }

    /// Text of data blocks.
    pub mod text {
        pub use tallymon_core::text::CodePage;
    }

    /// File times, clocks and frequencies.
    pub mod time {
        pub use tallymon_core::time::{FileTime, Frequency, PerfTime, SystemTime, UNITS_PER_SECOND};
    }

    /// Names and help texts.
    pub mod title {
        pub use tallymon_core::title::{HelpIndex, Language, TitleIndex, Titles, nearest};
    }

    /// Text from outside, made safe to show.
    pub mod visible {
        pub use tallymon_core::visible::{Inspector, escape_json, visible};
    }
}

/// Performance logs: reading, writing and converting them.
pub mod log {
    pub use tallymon_log::info::info;
    pub use tallymon_log::relog::{Report, relog, relog_to};
    pub use tallymon_log::{
        BytesRead, Column, FORMATS, Format, FormatInfo, HEAD, LogClock, LogError, LogErrorKind, LogReader,
        LogTime, Moment, Notes, ProcessNames, ReadOptions, Record, Selection, Wanted, is_address, open,
        open_regular,
    };

    /// Windows' binary logs.
    pub mod blg {
        pub use tallymon_log::blg::{BlgSink, WriteOptions};
    }

    /// Which counters of two logs differ most.
    pub mod compare {
        pub use tallymon_log::compare::{Align, Comparison, Difference, Side, compare, compare_beside};
    }

    /// The clock of a log.
    pub mod clock {
        pub use tallymon_log::clock::local_text;
    }

    /// PDH-CSV and PDH-TSV.
    pub mod csv {
        pub use tallymon_log::csv::{CsvOptions, CsvWriter, LineEnd, NO_TYPES};
    }

    /// JSON lines.
    pub mod json {
        pub use tallymon_log::json::{JsonSink, json_value};
    }

    /// Descriptions of logs.
    pub mod info {
        pub use tallymon_log::info::{Holes, Info, holes_of, info, info_of};
    }

    /// Lakes.
    #[cfg(feature = "parquet")]
    pub mod lake {
        pub use tallymon_log::lake::{
            Compacted, Vacuumed, check_address, compact, has_table, is_table, vacuum,
        };
    }

    /// The native log.
    pub mod native {
        pub use tallymon_log::native::{NativeSink, NativeWriter, WriteOptions};
    }

    /// Files that appear whole.
    pub mod new_file {
        pub use tallymon_log::new_file::{NewFile, Overwrite, is_same_file, remove_unfinished, write_file};
    }

    /// Converting logs.
    pub mod relog {
        pub use tallymon_log::relog::{InputReport, Options, Report, relog, relog_into, relog_to};
    }

    /// Selecting counters of a log.
    pub mod select {
        pub use tallymon_log::select::columns_of;
    }

    /// Log sets of SQLite databases.
    #[cfg(feature = "sqlite")]
    pub mod sqlite {
        pub use tallymon_log::sqlite::{
            LogSet, SetOptions, SqliteSink, add_log_set, create_tables, has_tables, log_sets, set_run_id,
        };
    }

    /// Statistics of logs.
    pub mod stats {
        pub use tallymon_log::stats::{ColumnStats, PERCENTILES, Stats, Summary, stats};
    }

    /// Time zones of logs.
    pub mod zone {
        pub use tallymon_log::zone::{Zone, add_minutes};
    }
}
