//! The imports within each crate: circles of files that need each other, and the layers of modules that
//! `docs/imports.md` shows.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;

use super::modules::{Module, Modules};
use super::sources::{SourceFile, read_sources};
use crate::root;

/// Files that may need each other in a circle.
const CIRCLE: usize = 3;

/// Crates with a larger circle, and the number of its files. A number only becomes smaller.
const LARGER: &[(&str, usize)] = &[];

const PAGE: &str = "docs/imports.md";

/// The crates, as folders, and the roots of their modules.
const ROOTS: &[&str] = &["lib.rs", "main.rs"];

type Arrows<'m> = BTreeMap<(&'m str, &'m str), String>;

/// Writes the page, and tells of every circle what holds it together.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let files = read_sources()?;
    let crates = read_crates(&files)?;
    for (name, modules) in &crates {
        if !arguments.is_empty() && !arguments.contains(name) {
            continue;
        }
        let arrows = modules.arrows();
        for circle in circles(&arrows).iter().filter(|circle| circle.len() > CIRCLE) {
            println!("{name}: {} files in a circle", circle.len());
            for ((from, to), what) in &arrows {
                if circle.contains(from) && circle.contains(to) {
                    println!("  {} -> {}  ({what})", short(from), short(to));
                }
            }
        }
    }
    let page = root().join(PAGE);
    fs::write(&page, page_of(&crates)).map_err(|error| format!("{PAGE}: {error}"))
}

/// Compares the circles with those that may be, and the page with the sources.
pub(super) fn check(files: &[SourceFile]) -> Result<Vec<String>, String> {
    let crates = read_crates(files)?;
    let mut problems = Vec::new();
    for (name, modules) in &crates {
        problems.extend(circle_problem(name, &modules.arrows(), allowed(name)));
    }
    let unknown = LARGER.iter().filter(|(name, _)| !crates.contains_key(*name));
    problems.extend(unknown.map(|(name, _)| format!("xtask/src/lint/imports.rs: LARGER names {name}")));
    let written = fs::read_to_string(root().join(PAGE)).map_err(|error| format!("{PAGE}: {error}"))?;
    if written != page_of(&crates) {
        problems.push(format!("{PAGE}: is not what the sources say; run 'cargo xtask imports'"));
    }
    Ok(problems)
}

fn allowed(name: &str) -> usize {
    LARGER.iter().find(|(larger, _)| *larger == name).map_or(CIRCLE, |(_, size)| *size)
}

/// What is wrong with the circles of a crate of which the largest may have `allowed` files.
pub(super) fn circle_problem(name: &str, arrows: &Arrows<'_>, allowed: usize) -> Option<String> {
    let circles = circles(arrows);
    let largest = circles.iter().max_by_key(|circle| circle.len());
    let found = largest.map_or(0, BTreeSet::len);
    if let Some(largest) = largest.filter(|_| found > allowed) {
        let way = longest(arrows, largest);
        return Some(format!(
            "crates/{name}: {found} files need each other in a circle, {allowed} may; one way around: {} \
             ('cargo xtask imports {name}' names all)",
            way.join(" -> ")
        ));
    }
    let file = "xtask/src/lint/imports.rs";
    if found >= allowed || allowed == CIRCLE {
        return None;
    }
    Some(if found > CIRCLE {
        format!("crates/{name}: its largest circle has {found} files now: write that into LARGER in {file}")
    } else {
        format!(
            "crates/{name}: it has no circle of more than {CIRCLE} files: take it out of LARGER in {file}"
        )
    })
}

fn read_crates(files: &[SourceFile]) -> Result<BTreeMap<String, Modules>, String> {
    let by_path: BTreeMap<&str, &SourceFile> = files.iter().map(|file| (file.path.as_str(), file)).collect();
    let mut crates = BTreeMap::new();
    for path in by_path.keys() {
        let Some((name, file)) = path.strip_prefix("crates/").and_then(|path| path.split_once("/src/"))
        else {
            continue;
        };
        if ROOTS.contains(&file) {
            crates.insert(name.to_string(), Modules::read(path, &by_path)?);
        }
    }
    Ok(crates)
}

/// The sets of files that reach each other, each with two files or more.
pub(super) fn circles<'m>(arrows: &Arrows<'m>) -> Vec<BTreeSet<&'m str>> {
    let mut next: BTreeMap<&str, BTreeSet<&'m str>> = BTreeMap::new();
    for (from, to) in arrows.keys() {
        next.entry(from).or_default().insert(to);
    }
    let reach: BTreeMap<&'m str, BTreeSet<&'m str>> =
        arrows.keys().map(|(from, _)| (*from, reached(from, &next))).collect();
    let mut circles: Vec<BTreeSet<&'m str>> = Vec::new();
    for (from, reached) in &reach {
        if circles.iter().any(|circle| circle.contains(from)) {
            continue;
        }
        let returns = |to: &&'m str| reach.get(to).is_some_and(|reached| reached.contains(from));
        let circle: BTreeSet<&'m str> = reached.iter().copied().filter(returns).collect();
        if circle.len() > 1 {
            circles.push(circle);
        }
    }
    circles
}

/// What can be reached from a place; the place itself only in a circle.
fn reached<'m>(from: &str, next: &BTreeMap<&str, BTreeSet<&'m str>>) -> BTreeSet<&'m str> {
    let mut found = BTreeSet::new();
    let mut open: Vec<&'m str> = next.get(from).into_iter().flatten().copied().collect();
    while let Some(place) = open.pop() {
        if found.insert(place) {
            open.extend(next.get(place).into_iter().flatten().copied());
        }
    }
    found
}

/// The longest of the shortest ways around, for people: the others are often between two files only.
fn longest<'m>(arrows: &Arrows<'m>, circle: &BTreeSet<&'m str>) -> Vec<&'m str> {
    let inside: Vec<(&'m str, &'m str)> =
        arrows.keys().copied().filter(|(from, to)| circle.contains(from) && circle.contains(to)).collect();
    // The first of several that are as long.
    let ways = circle.iter().rev().filter_map(|start| way_around(start, &inside));
    ways.max_by_key(Vec::len).map(|way| way.into_iter().map(short).collect()).unwrap_or_default()
}

fn way_around<'m>(start: &'m str, arrows: &[(&'m str, &'m str)]) -> Option<Vec<&'m str>> {
    let mut ways = vec![vec![start]];
    let mut seen = BTreeSet::new();
    while !ways.is_empty() {
        let mut longer = Vec::new();
        for way in &ways {
            let end = *way.last()?;
            for (_, to) in arrows.iter().filter(|(from, _)| *from == end) {
                let mut way = way.clone();
                way.push(to);
                if *to == start {
                    return Some(way);
                }
                if seen.insert(*to) {
                    longer.push(way);
                }
            }
        }
        ways = longer;
    }
    None
}

/// A file below the sources of its crate.
fn short(file: &str) -> &str {
    file.split_once("/src/").map_or(file, |(_, file)| file)
}

/// The modules right below a crate, in layers.
fn page_of(crates: &BTreeMap<String, Modules>) -> String {
    let mut page = String::from(
        "# Modules and what they import\n\n\
         The modules right below each crate, in layers: a module imports only from layers below its own. The \
         last column names modules that import each other. To read a crate, begin at layer 1 for how it \
         works, and at the highest layer for what it does.\n\nWritten by `cargo xtask imports` from the \
         sources; `cargo xtask lint` compares it, and refuses new circles of more than three files.\n",
    );
    for (name, modules) in crates {
        let tops = tops(modules);
        if tops.len() < 2 {
            continue;
        }
        let _ =
            write!(page, "\n## {name}\n\n| layer | module | holds | in a circle with |\n|---|---|---|---|\n");
        for (layer, members) in layers(modules) {
            for member in &members {
                let others: Vec<String> = members
                    .iter()
                    .filter(|other| *other != member)
                    .map(|other| format!("`{other}`"))
                    .collect();
                let circle = match others.as_slice() {
                    [] => String::new(),
                    few if few.len() < 4 => few.join(", "),
                    many => format!("{} others", many.len()),
                };
                let holds = tops.get(member.as_str()).map_or("", |summary| summary.as_str());
                let _ = writeln!(page, "| {layer} | `{member}` | {} | {circle} |", holds.replace('|', "\\|"));
            }
        }
    }
    page
}

/// The modules right below a crate, and what they hold.
fn tops(modules: &Modules) -> BTreeMap<&str, String> {
    let tops = modules.0.iter().filter(|module| !module.is_block);
    let tops = tops.filter_map(|module| match module.path.as_slice() {
        [name] => Some((name.as_str(), module.summary.clone())),
        _ => None,
    });
    tops.collect()
}

/// The file of a module, and the module right below the crate that it belongs to.
fn top_of(module: &Module) -> Option<(&str, &str)> {
    Some((module.file.as_str(), module.path.first()?.as_str()))
}

/// Modules that need each other, and the layer that they are on, from the highest to 1.
pub(super) fn layers(modules: &Modules) -> Vec<(usize, Vec<String>)> {
    let top_of: BTreeMap<&str, &str> =
        modules.0.iter().filter(|module| !module.is_block).filter_map(top_of).collect();
    let arrows: Arrows<'_> = modules
        .arrows()
        .keys()
        .filter_map(|(from, to)| Some((*top_of.get(from)?, *top_of.get(to)?)))
        .filter(|(from, to)| from != to)
        .map(|arrow| (arrow, String::new()))
        .collect();
    let mut groups: Vec<BTreeSet<&str>> = circles(&arrows);
    for name in tops(modules).into_keys() {
        if !groups.iter().any(|group| group.contains(name)) {
            groups.push(BTreeSet::from([name]));
        }
    }
    let mut layers = vec![1_usize; groups.len()];
    // Groups have no circle, so this ends.
    let mut changed = true;
    while changed {
        changed = false;
        for (from, group) in groups.iter().enumerate() {
            let below = |to: &usize| {
                *to != from && arrows.keys().any(|(a, b)| group.contains(a) && groups[*to].contains(b))
            };
            let layer = (0..groups.len()).filter(below).map(|to| layers[to] + 1).max().unwrap_or(1);
            if layer > layers[from] {
                layers[from] = layer;
                changed = true;
            }
        }
    }
    let mut found: Vec<(usize, Vec<String>)> = groups
        .into_iter()
        .zip(layers)
        .map(|(group, layer)| (layer, group.into_iter().map(str::to_string).collect()))
        .collect();
    found.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    found
}
