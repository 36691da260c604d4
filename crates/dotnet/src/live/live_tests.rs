use super::*;
use std::collections::BTreeSet;

#[test]
fn objects_are_declared_once_and_fully() {
    let mut seen = BTreeSet::new();
    for (table, spec) in TABLES.iter().zip(SPECS.iter()) {
        // Each object has room for a hundred names.
        assert!(table.counters.len() < 99 && table.index % 200 == 0);
        assert_eq!(spec.name.0, table.index);
        let default = &spec.counters[usize::from(spec.default_counter)];
        let (name, row) = indexes(table).nth(usize::from(table.default)).unwrap();
        assert_eq!(default.name, name);
        assert!(!matches!(row.source, From::Nowhere | From::Pid), "{}", row.name);
        let names: BTreeSet<&str> = table.counters.iter().map(|row| row.name).collect();
        assert_eq!(names.len(), table.counters.len(), "{}", table.name);
        assert!(table.counters.iter().all(|row| row.help.ends_with('.')));
        for (index, row) in indexes(table) {
            assert!(seen.insert(index.0), "{}", row.name);
            // A sum is shown as a rate, a share as a share.
            let fits = match row.source {
                From::Sum(_) => row.kind.needs_two_samples(),
                From::Share(_) => has_base(row),
                From::Level(_) | From::Pid | From::Listed => !row.kind.needs_two_samples() && !has_base(row),
                From::Always(_) | From::Nowhere => true,
            };
            assert!(fits, "{}", row.name);
        }
    }
    let titles = DotnetPrograms::default().titles(Language::ENGLISH);
    for spec in SPECS.iter() {
        for counter in spec.counters {
            assert!(titles.name(counter.name).is_some() && titles.help(counter.help).is_some());
        }
    }
}

/// The page with all counters, written by `TALLYMON_BLESS=1 cargo test -p tallymon-dotnet --lib`.
#[test]
fn the_reference_lists_every_counter() {
    let mut text = String::from(
        "# Counters of .NET programs\n\nThe objects of running .NET programs; [Running .NET \
        programs](../dotnet.md) says \
         how they are read. A counter\nwithout a source has no value, never 0.\n",
    );
    for table in TABLES {
        text.push_str(&format!(
            "\n## {}\n\n{}\n\n| counter | type | what it is |\n|---|---|---|\n",
            table.name, table.help
        ));
        for row in table.counters {
            let what = match row.source {
                From::Nowhere => format!("no source: {}", row.help.replace(" It has no source.", "")),
                _ => row.help.to_string(),
            };
            text.push_str(&format!("| {} | `{}` | {what} |\n", row.name, row.kind.name()));
        }
    }
    let page =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/dotnet-counters.md");
    if std::env::var_os("TALLYMON_BLESS").is_some() {
        std::fs::write(&page, &text).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&page).unwrap(), text);
}

#[test]
fn programs_of_root_and_own_ones_come_first() {
    let own = rustix::process::geteuid().as_raw();
    let mut users = [own + 1, own, own + 2, 0];
    users.sort_by_key(|user| place(*user));
    assert_eq!(users, [own, 0, own + 1, own + 2]);
}
