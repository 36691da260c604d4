//! The log formats and their names. [`open`](mod@crate::open) detects and reads them.

/// A format of logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// Windows' binary log.
    Blg,
    /// Comma-separated text.
    Csv,
    /// Tab-separated text.
    Tsv,
    /// The log of this project.
    Tally,
    /// SQLite database in the schema of Windows.
    Sqlite,
    /// Parquet file.
    Parquet,
    /// Folder of Parquet files that is a table of Delta Lake.
    Lake,
    /// JSON lines: one object a row.
    Json,
    /// Binary file of sysstat.
    Sysstat,
    /// Archive of Performance Co-Pilot.
    Pcp,
    /// Report of `vmstat -t`.
    Vmstat,
    /// Report of `iostat -t`, `mpstat`, `pidstat` or `sar`.
    SysstatText,
    /// File of nmon.
    Nmon,
    /// Raw log of atop, or the output of `atop -P`.
    Atop,
    /// Output of `collectl -P`.
    Collectl,
    /// Output of `perf stat -I`.
    Perf,
    /// Samples of Prometheus as text.
    OpenMetrics,
}

/// One line of [`FORMATS`].
#[derive(Debug, Clone, Copy)]
pub struct FormatInfo {
    /// The format.
    pub format: Format,
    /// Its name for users, as in the option `-f`.
    pub name: &'static str,
    /// Other names of it.
    pub aliases: &'static [&'static str],
    /// The usual ending of a file name. The content of a file decides how it is read, not its ending.
    pub extension: &'static str,
    /// A description for users.
    pub description: &'static str,
    /// This build can read it.
    pub reads: bool,
    /// This build can write it.
    pub writes: bool,
}

/// Every format, in the order in which detection tries them.
pub const FORMATS: &[FormatInfo] = &[
    FormatInfo {
        format: Format::Blg,
        name: "blg",
        aliases: &["bin"],
        extension: "blg",
        description: "Windows binary performance log",
        reads: true,
        writes: true,
    },
    FormatInfo {
        format: Format::Csv,
        name: "csv",
        aliases: &[],
        extension: "csv",
        description: "PDH-CSV: computed values, separated by commas",
        reads: true,
        writes: true,
    },
    FormatInfo {
        format: Format::Tsv,
        name: "tsv",
        aliases: &[],
        extension: "tsv",
        description: "PDH-TSV: computed values, separated by tabs",
        reads: true,
        writes: true,
    },
    FormatInfo {
        format: Format::Tally,
        name: "tally",
        aliases: &["native"],
        extension: "tally",
        description: "native log: raw values in a fraction of a byte each",
        reads: true,
        writes: true,
    },
    FormatInfo {
        format: Format::Sqlite,
        name: "sqlite",
        aliases: &["sql", "db"],
        extension: "sqlite",
        description: "SQLite database with the tables of Windows",
        reads: cfg!(feature = "sqlite"),
        writes: cfg!(feature = "sqlite"),
    },
    FormatInfo {
        format: Format::Parquet,
        name: "parquet",
        aliases: &[],
        extension: "parquet",
        description: "Parquet file: one row a value",
        reads: cfg!(feature = "parquet"),
        writes: cfg!(feature = "parquet"),
    },
    FormatInfo {
        format: Format::Lake,
        name: "lake",
        aliases: &["delta"],
        extension: "lake",
        description: "lake: a folder that is a table of Delta Lake, for many logs",
        reads: cfg!(feature = "parquet"),
        writes: cfg!(feature = "parquet"),
    },
    FormatInfo {
        format: Format::Json,
        name: "json",
        aliases: &["jsonl", "ndjson"],
        extension: "jsonl",
        description: "JSON lines: one object a row, as --json prints them",
        reads: true,
        writes: true,
    },
    FormatInfo {
        format: Format::Sysstat,
        name: "sysstat",
        aliases: &["sar"],
        extension: "sa",
        description: "binary file of sysstat (sadc)",
        reads: true,
        writes: false,
    },
    FormatInfo {
        format: Format::Pcp,
        name: "pcp",
        aliases: &[],
        extension: "meta",
        description: "archive of Performance Co-Pilot (pmlogger)",
        reads: true,
        writes: false,
    },
    FormatInfo {
        format: Format::Vmstat,
        name: "vmstat",
        aliases: &[],
        extension: "vmstat",
        description: "report of vmstat -t",
        reads: true,
        writes: false,
    },
    FormatInfo {
        format: Format::SysstatText,
        name: "sysstat-text",
        aliases: &[],
        extension: "txt",
        description: "report of iostat -t, mpstat, pidstat or sar",
        reads: true,
        writes: false,
    },
    FormatInfo {
        format: Format::Nmon,
        name: "nmon",
        aliases: &[],
        extension: "nmon",
        description: "file of nmon",
        reads: true,
        writes: false,
    },
    FormatInfo {
        format: Format::Atop,
        name: "atop",
        aliases: &[],
        extension: "atop",
        description: "raw log of atop, or the output of atop -P ALL",
        reads: true,
        writes: false,
    },
    FormatInfo {
        format: Format::Collectl,
        name: "collectl",
        aliases: &[],
        extension: "tab",
        description: "output of collectl -P",
        reads: true,
        writes: false,
    },
    FormatInfo {
        format: Format::Perf,
        name: "perf",
        aliases: &[],
        extension: "perf",
        description: "output of perf stat -I MS -x, -o FILE",
        reads: true,
        writes: false,
    },
    FormatInfo {
        format: Format::OpenMetrics,
        name: "openmetrics",
        aliases: &["prometheus"],
        extension: "prom",
        description: "OpenMetrics text with times, or the output of promtool tsdb dump",
        reads: true,
        writes: false,
    },
];

impl Format {
    /// Its entry in [`FORMATS`].
    pub fn info(self) -> &'static FormatInfo {
        const FALLBACK: &FormatInfo = match FORMATS.first() {
            Some(first) => first,
            None => panic!("the table of formats is empty"),
        };
        FORMATS.iter().find(|info| info.format == self).unwrap_or(FALLBACK)
    }

    /// The format with this name or file ending, in any case.
    pub fn from_name(name: &str) -> Option<Format> {
        let is = |candidate: &&str| candidate.eq_ignore_ascii_case(name);
        FORMATS.iter().find(|info| is(&info.name) || info.aliases.iter().any(is)).map(|info| info.format)
    }
}

/// How many bytes [`Format::detect`] needs: the first buffer of a usual BLG, and the first event of the next
/// one.
pub const HEAD: usize = 0x1_0000 + 0x100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_formats() {
        for info in FORMATS {
            assert_eq!(Format::from_name(&info.name.to_uppercase()), Some(info.format));
            assert_eq!(info.format.info().name, info.name);
        }
        assert_eq!(Format::from_name("BIN"), Some(Format::Blg));
        assert_eq!(Format::from_name("SQL"), Some(Format::Sqlite));
        assert_eq!(Format::from_name("xls"), None);
    }
}
