//! Options that say what is printed or written, and how.

use clap::{Args, ValueEnum};
use tallymon::log::new_file::Overwrite;

/// What happens to an existing file of the output's name.
#[derive(Debug, Default, Clone, Copy, Args)]
pub(crate) struct Replacing {
    /// Replace the output file if it exists. The old file stays until the new one is complete.
    #[arg(long, help_heading = "Output")]
    pub(crate) force: bool,
}

impl Replacing {
    pub(crate) const fn overwrite(self) -> Overwrite {
        if self.force { Overwrite::Replace } else { Overwrite::Never }
    }
}

/// How values are printed. Without an option: a table.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct FormatOptions {
    /// Print PDH-CSV, as typeperf writes it.
    #[arg(long, group = "form")]
    csv: bool,
    /// Print PDH-TSV.
    #[arg(long, group = "form")]
    tsv: bool,
    /// Print one JSON object per row.
    #[arg(long, group = "form")]
    json: bool,
    /// Print only the values, one per line; an empty line for a missing value.
    #[arg(long, group = "form")]
    plain: bool,
    /// Limit percentages to 100, as Windows' PDH library does by default.
    #[arg(long)]
    pub(crate) cap: bool,
    /// In CSV and TSV, put ' before text that a spreadsheet would run as a formula (it begins with = + - or
    /// @).
    #[arg(long)]
    pub(crate) no_formulas: bool,
}

impl FormatOptions {
    pub(crate) const fn form(&self) -> Form {
        match self {
            FormatOptions { csv: true, .. } => Form::Csv,
            FormatOptions { tsv: true, .. } => Form::Tsv,
            FormatOptions { json: true, .. } => Form::Json,
            FormatOptions { plain: true, .. } => Form::Plain,
            _ => Form::Table,
        }
    }
}

/// Output form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// Aligned columns for people.
    Table,
    /// PDH-CSV.
    Csv,
    /// PDH-TSV.
    Tsv,
    /// One JSON object per row.
    Json,
    /// Values only.
    Plain,
}
