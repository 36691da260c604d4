//! The columns of tables in a settings file.

use std::fmt;

use toml::Table;

use crate::model::ColumnChoices;
use crate::settings::{list_of, quoted, wrong};

/// The columns that the file has for some objects.
pub(super) fn parse(table: &Table) -> Result<Option<ColumnChoices>, String> {
    let Some(value) = table.get("columns") else { return Ok(None) };
    let own = value.as_table().ok_or_else(|| wrong("columns", "a table", value))?;
    let mut choices = ColumnChoices::default();
    for object in own.keys() {
        let names = list_of(own, object)?.iter().map(|name| {
            name.as_str()
                .map(str::to_string)
                .ok_or_else(|| wrong(&format!("columns of {object}"), "texts", name))
        });
        choices.0.insert(object.clone(), names.collect::<Result<_, _>>()?);
    }
    Ok(Some(choices))
}

/// Writes the columns as a table.
pub(super) fn write(choices: &ColumnChoices, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if choices.0.is_empty() {
        return Ok(());
    }
    writeln!(f, "\n[columns]")?;
    for (object, names) in &choices.0 {
        let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
        writeln!(f, "{} = [{}]", quoted(object), names.join(", "))?;
    }
    Ok(())
}
