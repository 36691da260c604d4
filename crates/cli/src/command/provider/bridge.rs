//! Bridges: metrics of other programs, added by their address or by a file that declares them.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use tallymon::private_file::read_secret;
use tallymon::registry::{ReportingWriter, Roots, Scope, Service, TitleRange, Writer};
use tallymon_bridge::{Declared, Kind, Plan, Settings, check_name, forget, inspect, usual_name};

use crate::arguments::ProviderFiles;
use crate::border;
use crate::exit::{Failure, Kind as ExitKind};
use crate::words::{say, visible};

/// The bridge of `--metrics`.
pub(super) fn of_arguments(files: &ProviderFiles) -> Result<Option<Declared>, Failure> {
    let bridge = &files.bridge;
    let Some(url) = &bridge.metrics else { return Ok(None) };
    let full = |path: &Path| std::path::absolute(path).map_err(|error| Failure::file(path, &error));
    let settings = Settings {
        url: url.clone(),
        kind: Kind::ALL.into_iter().find(|kind| bridge.kind.as_deref() == Some(kind.word())),
        socket: bridge.socket.as_deref().map(full).transpose()?,
        password: bridge.password.as_deref().map(full).transpose()?,
        timeout: bridge.scrape_timeout.map(Duration::from_millis),
        headers: bridge.headers.as_deref().map(full).transpose()?,
        certificate: bridge.certificate.as_deref().map(full).transpose()?,
        labels: bridge.labels.clone(),
    };
    settings.check().map_err(|words| Failure::new(ExitKind::Usage, words))?;
    let name = bridge.name.clone().unwrap_or_else(|| usual_name(&settings));
    check_name(&name).map_err(|words| Failure::new(ExitKind::Usage, words))?;
    Ok(Some(Declared { name, settings }))
}

/// The bridges that a file declares.
pub(super) fn of_file(file: &Path) -> Result<Vec<Declared>, Failure> {
    tallymon_bridge::read_declared(file).map_err(|words| Failure::new(ExitKind::BadFile, words))
}

fn plan(roots: &Roots, scope: Scope, declared: &Declared) -> Result<Plan, Failure> {
    let plan = Plan::new(roots, scope, declared, read_secret);
    let plan = plan.map_err(|words| Failure::new(ExitKind::Unreachable, visible(&words)))?;
    if let Some(words) = plan.omission() {
        say(format_args!("{}: {words}", declared.name));
    }
    Ok(plan)
}

/// Adds a bridge: its file first, and then its names. Returns their indexes.
pub(super) fn add(
    roots: &Roots,
    writer: &ReportingWriter<'_>,
    declared: &Declared,
    deadline: Option<u32>,
) -> Result<TitleRange, Failure> {
    let scope = writer.writer().scope();
    let plan = plan(roots, scope, declared)?;
    writer.writer().check(&plan.package)?;
    plan.save().map_err(|error| Failure::file(&plan.package.path, &error))?;
    match writer.install(&plan.package, &Service { deadline, ..Service::default() }) {
        Ok(range) => Ok(range),
        Err(error) => {
            forget(roots, scope, &declared.name)?;
            Err(error.into())
        }
    }
}

/// Takes in what a bridge has now and did not have before: its names first, and then its file.
pub(super) fn update(roots: &Roots, writer: &ReportingWriter<'_>, name: &str) -> Result<(), Failure> {
    let Some(plan) = Plan::update(roots, writer.writer().scope(), name, read_secret) else {
        let words =
            format_args!("{}: no bridge has this name; 'tally provider list' names them", visible(name));
        return Err(Failure::new(ExitKind::NotFound, words));
    };
    let plan = plan.map_err(|words| Failure::new(ExitKind::Unreachable, visible(&words)))?;
    if let Some(words) = plan.omission() {
        say(format_args!("{name}: {words}"));
    }
    if plan.package.titles.is_empty() {
        say(format_args!("{}: nothing is new", visible(name)));
        return Ok(());
    }
    writer.extend_names(&plan.package)?;
    plan.save().map_err(|error| Failure::file(&plan.package.path, &error))?;
    let mut out = border::stdout();
    for (object, _, counters) in plan.objects() {
        for counter in counters {
            writeln!(out, "new  {}: {}", visible(object), visible(&counter))?;
        }
    }
    Ok(())
}

/// Prints what a bridge would add.
pub(super) fn show(roots: &Roots, writer: &Writer, declared: &Declared) -> Result<(), Failure> {
    let plan = plan(roots, writer.scope(), declared)?;
    let range = writer.check(&plan.package)?;
    let mut out = border::stdout();
    let address = declared.settings.address();
    writeln!(out, "bridge {}: {}", declared.name, super::words(range))?;
    writeln!(out, "  address  {}, {} series", visible(&address), plan.series())?;
    writeln!(out, "  kind     {}", declared.settings.kind().word())?;
    for (object, labels, counters) in plan.objects() {
        let instances = if labels.is_empty() { "" } else { " (instances)" };
        writeln!(out, "  object   {}{instances}", visible(object))?;
        for counter in counters {
            writeln!(out, "  counter    {}", visible(&counter))?;
        }
    }
    Ok(())
}

/// Scrapes the endpoint of an installed bridge and prints what is new or missing; `false` for a service that
/// is no bridge.
pub(super) fn try_out(roots: &Roots, scope: Scope, name: &str) -> Result<bool, Failure> {
    let Some(inspection) = inspect(roots, scope, name, read_secret) else { return Ok(false) };
    let inspection = inspection.map_err(|words| Failure::new(ExitKind::Unreachable, visible(&words)))?;
    let mut out = border::stdout();
    writeln!(out, "bridge {}", visible(name))?;
    writeln!(out, "  address  {}, {} series", visible(&inspection.address), inspection.series)?;
    writeln!(out, "  kind     {}", inspection.kind.word())?;
    for (word, counters) in [("new", &inspection.new), ("missing", &inspection.missing)] {
        for (object, counter) in counters {
            writeln!(out, "  {word:8} {}: {}", visible(object), visible(counter))?;
        }
    }
    if let Some(words) = &inspection.omission {
        say(format_args!("{name}: {words}"));
    }
    if !inspection.new.is_empty() {
        say(format_args!(
            "'tally provider update {name}' makes counters of the new metrics; the others keep their indexes"
        ));
    }
    say(format_args!("no errors found"));
    Ok(true)
}

/// The address of a bridge for the list and what it speaks, which is not known of one that is not used;
/// `None` for a service that is no bridge.
pub(super) fn address(roots: &Roots, scope: Scope, service: &str) -> Option<(String, Option<Kind>)> {
    Some(match tallymon_bridge::address_of(roots, scope, service)? {
        Ok((address, kind)) => (address, Some(kind)),
        Err(words) => (format!("not used: {words}"), None),
    })
}

/// Removes the file of a bridge; `false` when there is none.
pub(super) fn remove(roots: &Roots, scope: Scope, service: &str) -> Result<bool, Failure> {
    Ok(forget(roots, scope, service)?)
}
