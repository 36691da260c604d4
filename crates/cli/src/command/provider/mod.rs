//! `tally provider`: installs, removes and configures counter providers.

mod bridge;
#[cfg_attr(not(windows), path = "perfmon_none.rs")]
mod perfmon;
mod set;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::json;
use tallymon::core::text::CodePage;
use tallymon::core::title::TitleIndex;
use tallymon::events::EventLog;
use tallymon::registry::{
    Installed, Manifest, Package, Removed, Roots, Scope, Service, ServiceSetting, TitleRange, Trust,
    ValidationCode, Writer, read_reg,
};
use tallymon::{LibraryOptions, LibraryTrial, try_library};
use tallymon_bridge::Declared;

use crate::arguments::{Provider, ProviderAction, ProviderAdd, ProviderFiles, ScopeOptions};
use crate::border;
use crate::exit::{Failure, Kind};
use crate::output::save_or_print;
use crate::words::{say, visible};

pub(crate) fn run(provider: &Provider) -> Result<(), Failure> {
    let roots = Roots::of_environment();
    let scope = provider.scope.scope();
    let writer = || Writer::open(&roots, scope);
    let writer_of = |service: &str| Writer::of_service(&roots, scope, service);
    match &provider.action {
        ProviderAction::Add(add) => add_files(&roots, writer()?, add),
        ProviderAction::Check(files) => check(&roots, &writer()?, files),
        ProviderAction::Remove { services } => {
            for service in services {
                if is_manifest(Path::new(service)) {
                    let manifest = Manifest::read(Path::new(service), None)?;
                    let guid = manifest.providers.first().map_or("", |provider| provider.guid());
                    for removed in writer_of(guid)?.reporting(&log()).remove_manifest(&manifest)? {
                        say_removed(&removed);
                    }
                } else {
                    let writer = writer_of(service)?;
                    let scope = writer.scope();
                    match writer.reporting(&log()).remove(service) {
                        Ok(removed) => {
                            bridge::remove(&roots, scope, &removed.service)?;
                            say_removed(&removed);
                        }
                        // After a rollback there may be a bridge without names.
                        Err(_) if bridge::remove(&roots, scope, service)? => {
                            say(format_args!("{service} is removed; it had no names"));
                        }
                        Err(error) => return Err(error.into()),
                    }
                }
            }
            Ok(())
        }
        ProviderAction::Update { bridges } => {
            let update = |name: &String| bridge::update(&roots, &writer_of(name)?.reporting(&log()), name);
            bridges.iter().try_for_each(update)
        }
        ProviderAction::List { json } => list(&roots, scope, *json),
        ProviderAction::Export { file, replacing } => {
            let text = writer()?.export()?;
            save_or_print(file.as_ref(), *replacing, text.as_bytes())
        }
        ProviderAction::Enable { services } => set_enabled(writer_of, services, true),
        ProviderAction::Disable { services } => set_enabled(writer_of, services, false),
        ProviderAction::Translate { files, code_page } => {
            for file in files {
                let package = Package::read(file, code_page.map(CodePage))?;
                let languages = writer_of(&package.service)?.translate(&package)?;
                let codes: Vec<String> = languages.iter().map(|language| language.code()).collect();
                say(format_args!("{} now has texts in {}", package.service, codes.join(", ")));
            }
            Ok(())
        }
        ProviderAction::Perfmon { folder, library } => perfmon::run(folder, library.as_deref()),
        ProviderAction::Set(set) => set::run(&roots, scope, set),
        ProviderAction::Rollback { list: true, .. } => versions(&writer()?),
        ProviderAction::Rollback { to, list: false } => {
            let writer = writer()?;
            let (from, to) = writer.rollback(*to)?;
            say(format_args!(
                "the {} registry is restored to version {to}; it was version {from}",
                writer.scope().word()
            ));
            Ok(())
        }
    }
}

impl ScopeOptions {
    fn scope(&self) -> Option<Scope> {
        match self {
            ScopeOptions { system: true, .. } => Some(Scope::System),
            ScopeOptions { user: true, .. } => Some(Scope::User),
            _ => None,
        }
    }
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found.eq_ignore_ascii_case(extension))
}

/// Whether a file is a manifest rather than an INI file. The name decides, so that an error is about the
/// right kind of file.
fn is_manifest(path: &Path) -> bool {
    has_extension(path, "man") || has_extension(path, "xml")
}

/// A file that can be installed.
enum Input {
    Names(Package),
    Manifest(Manifest),
    Registrations(Vec<Service>),
    Bridge(Declared),
}

/// Reads all files before the first is installed. Registrations come first, because names need them.
fn read(files: &ProviderFiles) -> Result<Vec<Input>, Failure> {
    let code_page = files.code_page.map(CodePage);
    let mut inputs = Vec::new();
    inputs.extend(bridge::of_arguments(files)?.map(Input::Bridge));
    for file in &files.files {
        if has_extension(file, "reg") {
            inputs.insert(0, Input::Registrations(read_reg(file, code_page)?));
        } else if has_extension(file, "toml") {
            inputs.extend(bridge::of_file(file)?.into_iter().map(Input::Bridge));
        } else if is_manifest(file) {
            inputs.push(Input::Manifest(Manifest::read(file, files.binary.as_deref())?));
        } else {
            let package = Package::read(file, code_page)?;
            for warning in &package.warnings {
                say(format_args!("{warning}"));
            }
            inputs.push(Input::Names(package));
        }
    }
    Ok(inputs)
}

fn add_files(roots: &Roots, writer: Writer, add: &ProviderAdd) -> Result<(), Failure> {
    let registration = registration_of(add)?;
    let inputs = read(&add.files)?;
    let packages = inputs.iter().filter(|input| matches!(input, Input::Names(_))).count();
    let has_bridges = inputs.iter().any(|input| matches!(input, Input::Bridge(_)));
    // Of all that is said about a library only the deadline means something for a bridge.
    let for_bridges = Service { deadline: add.deadline, ..Service::default() };
    let is_right = registration == Service::default() || (has_bridges && registration == for_bridges);
    if !is_right && packages != 1 {
        let words = format!("--library and its functions need exactly one INI file, found {packages}");
        return Err(Failure::new(Kind::Usage, words));
    }
    let scope = writer.scope().word();
    let log = log();
    let writer = writer.reporting(&log);
    for input in &inputs {
        match input {
            Input::Bridge(declared) => {
                let range = bridge::add(roots, &writer, declared, add.deadline)?;
                let (name, range) = (&declared.name, words(range));
                say(format_args!("{name} is installed in the {scope} registry: {range}"));
            }
            Input::Registrations(services) => {
                writer.writer().register(services)?;
                for service in services {
                    say(format_args!("{} is registered in the {scope} registry", service.name));
                }
            }
            Input::Names(package) => {
                let range = writer.install(package, &registration)?;
                say(format_args!(
                    "{} is installed in the {scope} registry: {}",
                    package.service,
                    words(range)
                ));
                if let Some(service) = writer.writer().contents()?.service(&package.service) {
                    warn_of_library(service);
                }
            }
            Input::Manifest(manifest) => {
                let ranges = writer.install_manifest(manifest)?;
                for (range, provider) in ranges.into_iter().zip(&manifest.providers) {
                    let (name, guid) = (provider.name(), provider.guid());
                    say(format_args!("{name} {guid} is installed in the {scope} registry: {}", words(range)));
                }
            }
        }
    }
    Ok(())
}

/// What the options say about the library of a service.
fn registration_of(add: &ProviderAdd) -> Result<Service, Failure> {
    let library = add.library.as_deref().map(in_full);
    let validation_code = library.as_deref().filter(|_| add.in_process).and_then(ValidationCode::of);
    if add.in_process && validation_code.is_none() {
        let words =
            "--in-process needs --library with the full path of the library, to detect changes of the file";
        return Err(Failure::new(Kind::Usage, words));
    }
    Ok(Service {
        library,
        trusted: add.in_process,
        in_process: add.in_process,
        validation_code,
        deadline: add.deadline,
        open: add.open.clone(),
        collect: add.collect.clone(),
        close: add.close.clone(),
        open_timeout: add.open_timeout,
        collect_timeout: add.collect_timeout,
        as_nobody: add.as_nobody,
        as_caller: add.as_caller,
        unprotected: add.unprotected,
        wrapped_objects: add.wraps.iter().copied().map(TitleIndex).collect(),
        ..Service::default()
    })
}

/// Warns of what keeps a library from being loaded. It is no error: names may be installed before their
/// library.
fn warn_of_library(service: &Service) {
    let Some(library) = &service.library else { return };
    if library.contains('/') && !std::path::Path::new(library).is_file() {
        say(format_args!("{library} does not exist yet; {} is loaded when the file appears", service.name));
    }
    if let Err(untrusted) = service.check_place() {
        say(format_args!("{library} is not loaded as it is now: {untrusted}"));
    }
    if let Some(part) = closed_part(service) {
        let part = part.display();
        say(format_args!(
            "{library} is loaded as this user, not as one of its own: others cannot read {part}"
        ));
    }
    if [&service.open, &service.collect, &service.close].into_iter().any(Option::is_none) {
        say(format_args!(
            "{} is not loaded without its three functions: --open, --collect, --close",
            service.name
        ));
    }
}

/// What keeps other users from a library, where that is not wanted.
fn closed_part(service: &Service) -> Option<PathBuf> {
    let has_choice = service.as_caller || service.as_nobody || service.unprotected;
    service.closed_to_others().filter(|_| !has_choice)
}

/// The absolute path of a library, so that it is the same for every reader. A name without slashes is kept.
fn in_full(library: &str) -> String {
    if !library.contains('/') {
        return library.to_string();
    }
    std::path::absolute(library).map_or_else(|_| library.to_string(), |path| path.display().to_string())
}

/// The event log, where changes of names are reported.
pub(crate) fn log() -> EventLog {
    EventLog::of_environment(&Roots::of_environment())
}

/// The indexes of a service as text.
fn words(range: TitleRange) -> String {
    let TitleRange { first_counter, last_counter, first_help, last_help } = range;
    format!("names {first_counter} to {last_counter}, help texts {first_help} to {last_help}")
}

fn say_removed(removed: &Removed) {
    match removed.titles {
        Some(range) => say(format_args!("{} is removed: {}", removed.service, words(range))),
        None => say(format_args!("{} is removed; it had no names", removed.service)),
    }
}

fn check(roots: &Roots, writer: &Writer, files: &ProviderFiles) -> Result<(), Failure> {
    let installed = Installed::read(roots)?;
    let service = |file: &Path| {
        let name = file.to_str().filter(|_| !file.exists())?;
        let same = |(_, service): &(Scope, &Service)| service.name.eq_ignore_ascii_case(name);
        installed.services().find(same).map(|(_, service)| service)
    };
    let services: Option<Vec<&Service>> = files.files.iter().map(|file| service(file)).collect();
    if let Some(services) = services.filter(|services| !services.is_empty()) {
        let scope_of = |service: &Service| {
            let same = |(_, known): &(Scope, &Service)| known.name == service.name;
            installed.services().find(same).map_or(Scope::User, |(scope, _)| scope)
        };
        return services.into_iter().try_for_each(|service| {
            match bridge::try_out(roots, scope_of(service), &service.name)? {
                true => Ok(()),
                false => try_out(service),
            }
        });
    }
    let mut out = border::stdout();
    for input in read(files)? {
        match input {
            Input::Bridge(declared) => bridge::show(roots, writer, &declared)?,
            Input::Registrations(services) => {
                for service in services {
                    writeln!(out, "service {}", visible(&service.name))?;
                    registration(&mut out, &service)?;
                }
            }
            Input::Names(package) => {
                let range = writer.check(&package)?;
                writeln!(out, "service {}: {}", visible(&package.service), words(range))?;
                for title in &package.titles {
                    let index = range.first_counter.0.saturating_add(title.offset);
                    let kind = if title.is_object { "object" } else { "counter" };
                    for (language, name) in &title.names {
                        writeln!(out, "  {index}  {language}  {kind:7}  {}", visible(name))?;
                    }
                }
            }
            Input::Manifest(manifest) => {
                for (range, provider) in
                    writer.check_manifest(&manifest)?.into_iter().zip(&manifest.providers)
                {
                    writeln!(
                        out,
                        "provider {} {}: {}",
                        visible(provider.name()),
                        provider.guid(),
                        words(range)
                    )?;
                    for (set, counters) in provider.sets() {
                        writeln!(out, "  object   {}", visible(set))?;
                        for counter in counters {
                            writeln!(out, "  counter  {}", visible(counter))?;
                        }
                    }
                }
            }
        }
    }
    say(format_args!("no errors found; nothing was installed"));
    Ok(())
}

/// Loads the library of a service in its child process. Prints its answers and what is wrong with them.
fn try_out(service: &Service) -> Result<(), Failure> {
    let mut out = border::stdout();
    writeln!(out, "service {}", visible(&service.name))?;
    registration(&mut out, service)?;
    let trials = try_library(service, &LibraryOptions::default());
    let mut faults = 0usize;
    if let Some(protections) = trials.iter().find_map(|trial| trial.protections) {
        writeln!(out, "  protected by {}", listed(&protections.words()))?;
        let missing = protections.missing();
        if !missing.is_empty() {
            writeln!(out, "  not active here: {} (docs/security.md says why)", listed(&missing))?;
        }
    }
    for trial in &trials {
        let LibraryTrial { query, objects, bytes, calls, time, events, protections: _ } = trial;
        let indexes: Vec<String> = objects.iter().map(ToString::to_string).collect();
        let objects = if indexes.is_empty() {
            "no objects".to_string()
        } else {
            format!("objects {}", indexes.join(" "))
        };
        writeln!(out, "  {query:8} {objects}, {bytes} bytes, {calls} calls of Collect, {time:.0?}")?;
        for event in events {
            // What a library prints is no fault.
            faults = faults.saturating_add(usize::from(event.kind.level.word() != "information"));
            writeln!(
                out,
                "    {} {}: {}",
                event.kind.level.word(),
                event.kind.id,
                visible(&event.to_string())
            )?;
        }
    }
    if trials.is_empty() {
        return Err(Failure::new(
            Kind::NotFound,
            format_args!("{} has no library that can be loaded", service.name),
        ));
    }
    if faults > 0 {
        return Err(Failure::new(Kind::BadFile, format_args!("{faults} faults in {}", service.name)));
    }
    say(format_args!("no errors found"));
    Ok(())
}

/// Words as a list; "nothing" when there are none.
fn listed(words: &[&str]) -> String {
    if words.is_empty() { "nothing".to_string() } else { words.join(", ") }
}

fn registration(out: &mut impl Write, service: &Service) -> io::Result<()> {
    let rows = [
        ("library", &service.library),
        ("open", &service.open),
        ("collect", &service.collect),
        ("close", &service.close),
    ];
    for (name, value) in rows {
        if let Some(value) = value {
            writeln!(out, "  {name:8} {}", visible(value))?;
        }
    }
    let shown = |setting: &ServiceSetting| *setting != ServiceSetting::Disabled;
    for setting in ServiceSetting::ALL.into_iter().filter(shown) {
        if let Some(value) = setting.get(service) {
            writeln!(out, "  {} {value}", setting.text().name)?;
        }
    }
    match service.trust() {
        Trust::Trusted => writeln!(out, "  trusted"),
        Trust::Changed => writeln!(
            out,
            "  changed since it was trusted; 'tally lodctr /T:{}' trusts it again",
            visible(&service.name)
        ),
        _ => Ok(()),
    }?;
    if let Some(part) = closed_part(service) {
        let part = part.display();
        writeln!(out, "  runs as the user who reads it: others cannot read {part}")?;
    }
    match service.check_place() {
        Ok(()) => Ok(()),
        Err(untrusted) => writeln!(out, "  not loaded: {untrusted}"),
    }
}

/// The trust in a library as JSON has it.
fn trust_word(trust: Trust) -> &'static str {
    match trust {
        Trust::Trusted => "trusted",
        Trust::Changed => "changed",
        Trust::Unsafe => "unsafe",
        _ => "unmarked",
    }
}

fn set_enabled<F>(writer_of: F, services: &[String], enabled: bool) -> Result<(), Failure>
where
    F: Fn(&str) -> Result<Writer, tallymon::registry::RegistryError>,
{
    for service in services {
        writer_of(service)?.set_enabled(service, enabled)?;
        say(format_args!("{service} is {}", if enabled { "enabled" } else { "disabled" }));
    }
    Ok(())
}

fn list(roots: &Roots, scope: Option<Scope>, as_json: bool) -> Result<(), Failure> {
    let installed = Installed::read(roots)?;
    let english = installed.titles(tallymon::core::title::Language::ENGLISH);
    let mut out = border::stdout();
    let mut rows = Vec::new();
    for (of, service) in installed.services().filter(|(of, _)| scope.is_none_or(|scope| scope == *of)) {
        let objects: Vec<String> = service
            .object_list
            .iter()
            .map(|index| english.name(*index).map_or_else(|| index.to_string(), str::to_string))
            .collect();
        let address = bridge::address(roots, of, &service.name);
        if as_json {
            rows.push(json!({
                "service": service.name,
                "scope": of.word(),
                "provider": service.manifest.as_ref().map(|manifest| &manifest.name),
                "library": service.library,
                "open": service.open,
                "collect": service.collect,
                "close": service.close,
                "first_counter": service.titles.map(|range| range.first_counter.0),
                "last_counter": service.titles.map(|range| range.last_counter.0),
                "first_help": service.titles.map(|range| range.first_help.0),
                "last_help": service.titles.map(|range| range.last_help.0),
                "wrapped_objects": service.wrapped_objects.iter().map(|index| index.0).collect::<Vec<_>>(),
                "object_list": service.object_list.iter().map(|index| index.0).collect::<Vec<_>>(),
                "objects": objects,
                "enabled": !service.disabled,
                "trusted": service.trusted,
                "trust": trust_word(service.trust()),
                "in_process": service.in_process,
                "as_nobody": service.as_nobody,
                "as_caller": service.as_caller,
                "unprotected": service.unprotected,
                "deadline": service.deadline,
                "open_timeout": service.open_timeout,
                "collect_timeout": service.collect_timeout,
                "file": service.ini,
                "bridge": address.as_ref().map(|(address, _)| address),
                "bridge_kind": address.as_ref().and_then(|(_, kind)| *kind).map(tallymon_bridge::Kind::word),
            }));
            continue;
        }
        let state = if service.disabled { ", disabled" } else { "" };
        match &service.manifest {
            Some(manifest) => writeln!(
                out,
                "{} {} ({}{state})",
                visible(&manifest.name),
                visible(&service.name),
                of.word()
            )?,
            None => writeln!(out, "{} ({}{state})", visible(&service.name), of.word())?,
        }
        registration(&mut out, service)?;
        if let Some((address, kind)) = &address {
            writeln!(out, "  address  {}", visible(address))?;
            if let Some(kind) = kind {
                writeln!(out, "  kind     {}", kind.word())?;
            }
        }
        match service.titles {
            Some(range) => writeln!(out, "  indexes  {}", words(range))?,
            None => writeln!(out, "  indexes  none; 'tally provider add FILE.ini' installs its names")?,
        }
        if !objects.is_empty() {
            writeln!(out, "  objects  {}", visible(&objects.join(", ")))?;
        }
    }
    if as_json {
        writeln!(out, "{}", border::json(&json!(rows)))?;
    } else if installed.services().next().is_none() {
        say(format_args!("nothing is installed; 'tally provider add FILE.ini' installs a provider"));
    }
    Ok(())
}

fn versions(writer: &Writer) -> Result<(), Failure> {
    let mut out = border::stdout();
    for version in writer.versions()? {
        let mark = if version.current { '*' } else { ' ' };
        match version.change {
            Ok(change) => writeln!(out, "{mark} {:6}  {}", version.number, visible(&change.to_string()))?,
            Err(error) => {
                writeln!(out, "{mark} {:6}  damaged: {}", version.number, visible(&error.to_string()))?
            }
        }
    }
    Ok(())
}
