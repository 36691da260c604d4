//! The overview in a settings file.

use std::fmt;

use toml::{Table, Value};

use crate::model::overview::{Arrangement, ORDERS, OverviewLook, Pane};
use crate::settings::{flag_of, list_of, quoted, text_of, wrong};

/// The overview, when the file has one; missing keys have their defaults then.
pub(super) fn parse(table: &Table) -> Result<Option<OverviewLook>, String> {
    let Some(value) = table.get("overview") else { return Ok(None) };
    let own = value.as_table().ok_or_else(|| wrong("overview", "a table", value))?;
    let mut look = OverviewLook::default();
    if own.contains_key("panes") {
        look.panes = panes(list_of(own, "panes")?)?;
        if look.panes.is_empty() {
            return Err(format!("panes: needed some of {}, found none", names()));
        }
    }
    if let Some(order) = text_of(own, "order")? {
        let found = ORDERS.iter().find(|(name, _)| *name == order);
        let known = ORDERS.map(|(name, _)| name).join(", ");
        look.order =
            found.map(|(_, order)| *order).ok_or(format!("order: needed one of {known}, found {order}"))?;
    }
    look.ascending = flag_of(own, "ascending")?.unwrap_or(false);
    let is_tree = flag_of(own, "tree")?.unwrap_or(false);
    look.arrangement = match (is_tree, flag_of(own, "groups")?.unwrap_or(false)) {
        (false, false) => Arrangement::List,
        (true, false) => Arrangement::Tree,
        (false, true) => Arrangement::Groups,
        (true, true) => return Err("groups: needed false beside tree = true, found true".into()),
    };
    if own.contains_key("presets") {
        let lists = list_of(own, "presets")?.iter();
        let lists = lists.map(|list| panes(list.as_array().ok_or_else(|| wrong("presets", "lists", list))?));
        look.presets = lists.collect::<Result<_, _>>()?;
    }
    Ok(Some(look))
}

/// Panes by their names, each once, in the order of the screen.
fn panes(values: &[Value]) -> Result<Vec<Pane>, String> {
    let mut panes = Vec::new();
    for value in values {
        let name = value.as_str().ok_or_else(|| wrong("panes", "texts", value))?;
        let found = Pane::NAMES.iter().find(|(known, _)| *known == name);
        let (_, pane) = found.ok_or_else(|| format!("panes: needed some of {}, found {name}", names()))?;
        panes.push(*pane);
    }
    panes.sort();
    panes.dedup();
    Ok(panes)
}

fn names() -> String {
    Pane::NAMES.map(|(name, _)| name).join(", ")
}

/// Writes the overview as a table, the last part of a file.
pub(super) fn write(look: &OverviewLook, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if *look == OverviewLook::default() {
        return Ok(());
    }
    let list = |panes: &[Pane]| {
        let names: Vec<String> = panes.iter().map(|pane| quoted(pane.name())).collect();
        format!("[{}]", names.join(", "))
    };
    let order = ORDERS.iter().find(|(_, order)| *order == look.order).map_or("cpu", |(name, _)| name);
    writeln!(f, "\n[overview]\npanes = {}\norder = {}", list(&look.panes), quoted(order))?;
    let is_tree = look.arrangement == Arrangement::Tree;
    writeln!(f, "ascending = {}\ntree = {is_tree}", look.ascending)?;
    writeln!(f, "groups = {}", look.arrangement == Arrangement::Groups)?;
    let presets: Vec<String> = look.presets.iter().map(|panes| list(panes)).collect();
    writeln!(f, "presets = [{}]", presets.join(", "))
}
