use std::fmt::Write;
use std::path::Path;

use super::table::Table;

/// The tables of a program.
fn program(out: &mut String, name: &str, tables: &[Table<'_>]) {
    writeln!(out, "\n### {name}").unwrap();
    for table in tables {
        let rest = match table.own {
            "" => String::new(),
            own => format!(" (other fields: `{own}`)"),
        };
        writeln!(out, "\n**{}**{rest}\n\n| fields | counter | type, scale |\n|---|---|---|", table.group)
            .unwrap();
        for row in table.rows {
            let words = row.kind.words();
            writeln!(out, "| {} | `\\{}\\{}` | {words} |", row.from, row.object, row.counter).unwrap();
        }
    }
}

#[test]
fn the_page_has_the_tables_of_the_code() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats/import.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let mark = "which fields are added up, and the type and scale of the counter.\n";
    let (words, tables) = page.split_once(mark).unwrap();
    let mut expected = String::new();
    program(&mut expected, "sysstat", &super::sysstat::tables());
    program(&mut expected, "PCP", &super::pcp::tables());
    program(&mut expected, "atop", &super::atop::tables());
    program(&mut expected, "Text reports, collectl, nmon", &super::text::tables());
    if std::env::var_os("TALLYMON_BLESS").is_some_and(|value| value == "1") {
        std::fs::write(&path, [words, mark, &expected].concat()).unwrap();
        return;
    }
    assert!(tables == expected, "{} is not up to date; TALLYMON_BLESS=1 writes it", path.display());
}
