//! Tables of names for logs in other languages.

use std::path::PathBuf;
use std::sync::Arc;

use tallymon_core::flow::SourceError;
use tallymon_core::title::Language;
use tallymon_host::titles;
use tallymon_log::names::{NameFile, NameTable};
use tallymon_log::{LogError, LogErrorKind, ReadOptions};

/// Makes logs that are opened with `options` show names in `language`, by the tables in `files` and our own.
///
/// Files are those that Windows keeps (`perfc007.dat`, `PerfStringBackup.INI`) and backups of `lodctr /S`;
/// they are read in the code page of `options`. Of the names in several tables, those of the first file are
/// used. Returns what could not be read in the files, in words.
///
/// # Errors
///
/// A file cannot be read or has no names.
pub fn show_names_in(
    language: Language,
    files: &[PathBuf],
    options: &mut ReadOptions,
) -> Result<Vec<String>, LogError> {
    let failed = |error: SourceError| LogError::new(LogErrorKind::Request(error.to_string()));
    let counters = titles::counter_helps().map_err(failed)?;
    let mut table = NameTable::new(counters.keys().copied());
    let mut remarks = Vec::new();
    for path in files {
        let file = NameFile::read(path, options.code_page.as_deref())?;
        for (of, names) in &file.tables {
            if *of == Some(language) { table.add_target(names) } else { table.add(names) }
        }
        remarks.extend(file.remarks.iter().map(|words| format!("{}: {words}", path.display())));
    }
    for known in titles::languages() {
        for names in [titles::translations(known).map_err(failed)?, titles::titles(known).map_err(failed)?] {
            if known == language { table.add_target(&names) } else { table.add(&names) }
        }
    }
    table.add_target(&titles::titles(Language::ENGLISH).map_err(failed)?);
    options.names = Some(Arc::new(table));
    Ok(remarks)
}
