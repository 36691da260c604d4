use super::activities::ACTIVITIES;
use crate::import::table::terms;

/// Every field of an activity is in a line of its table, or identifies its items.
#[test]
fn no_field_is_lost_and_no_line_names_an_unknown_one() {
    let identify = ["line", "major", "minor", "wwn0", "wwn1", "part_nr", "bus_nr", "vendor_id", "product_id"];
    for activity in ACTIVITIES.iter().filter(|activity| !activity.table.rows.is_empty() && activity.id != 43)
    {
        let fields: Vec<&str> = [activity.longs, activity.words, activity.ints]
            .iter()
            .flat_map(|names| names.split_ascii_whitespace())
            .map(|name| name.trim_start_matches('~').trim_end_matches('/'))
            .collect();
        let mut used: Vec<&str> = Vec::new();
        for row in activity.table.rows {
            let sums = [Some(row.from), row.kind.base()];
            used.extend(sums.into_iter().flatten().flat_map(terms).map(|(_, name, _)| name));
        }
        for name in &used {
            assert!(fields.contains(name), "{}: {name} is not a field", activity.name);
        }
        for field in fields {
            assert!(used.contains(&field) || identify.contains(&field), "{}: {field} is lost", activity.name);
        }
    }
}
