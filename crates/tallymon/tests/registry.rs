//! Objects above NT's own indexes: their installed names resolve in paths, in every language.
#![allow(clippy::unwrap_used, reason = "a test that fails is to panic")]

use std::fs;

use tallymon::Query;
use tallymon::core::block::{CounterSpec, InstanceKind, ObjectLayout, ObjectSpec, ObjectsWriter};
use tallymon::core::counter::CounterType;
use tallymon::core::flow::Value;
use tallymon::core::time::{Frequency, PerfTime};
use tallymon::core::title::{Language, TitleIndex};
use tallymon::registry::{Package, Roots, Scope, Service, Writer};
use tallymon::{Host, PathProblem};
use tallymon_provider::{CollectRequest, Provider, ProviderError};

const COUNTERS: &[CounterSpec] = &[CounterSpec::new(TitleIndex(1850), CounterType::PERF_COUNTER_RAWCOUNT)];

const OBJECT: ObjectSpec<'static> = ObjectSpec::new(TitleIndex(1848), InstanceKind::None, COUNTERS);

/// A provider of the first object that is installed.
struct Demo;

impl Provider for Demo {
    fn objects(&self) -> &[ObjectSpec<'static>] {
        &[OBJECT]
    }

    fn collect(&mut self, _: &CollectRequest<'_>, out: &mut ObjectsWriter<'_>) -> Result<(), ProviderError> {
        let layout = ObjectLayout::new(OBJECT);
        let mut object = out.object(&layout, PerfTime(0), Frequency(0));
        object.single().set(0, 42);
        Ok(())
    }
}

#[test]
fn installed_names_resolve_in_paths() {
    let folder = std::env::temp_dir().join(format!("tallymon-paths-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let roots = Roots::in_folder(&folder);
    let host = || Box::new(Host::of("here", vec![Box::new(Demo)]).with_registry(roots.clone()));
    let value = |path: &str| {
        let mut query = Query::new(host(), Language::KOREAN).unwrap();
        let handle = query.add(path).map_err(|error| error.problem)?;
        query.collect().unwrap();
        let reading = query.readings().into_iter().find(|reading| reading.handle == handle).unwrap();
        Ok((reading.path.clone(), reading.cell.value.clone()))
    };
    // Without names only the numbers resolve.
    assert_eq!(value(r"\1848\1850").unwrap().1, Ok(Value::Integer(42)));
    assert!(matches!(value(r"\Signals\Sine"), Err(PathProblem::Unknown(_))));

    fs::write(folder.join("s.h"), "#define SIGNALS 0\n#define SINE 2\n").unwrap();
    let ini = "[info]\ndrivername=Demo\nsymbolfile=s.h\n[languages]\n009=\n012=\n007=\n[objects]\nSIGNALS_009_NAME=\n\
               [text]\nSIGNALS_009_NAME=Signals\nSIGNALS_012_NAME=신호\nSINE_009_NAME=Sine\nSINE_007_NAME=Sinus\n";
    fs::write(folder.join("s.ini"), ini).unwrap();
    let package = Package::read(&folder.join("s.ini"), None).unwrap();
    let writer = Writer::open(&roots, Some(Scope::System)).unwrap();
    writer.install(&package, &Service::default()).unwrap();
    for path in [r"\Signals\Sine", r"\신호\Sine", r"\signals\SINUS", r"\신호\1850", "//./Signals/Sine"] {
        let (shown, found) = value(path).unwrap_or_else(|problem| panic!("{path}: {problem:?}"));
        assert_eq!(found, Ok(Value::Integer(42)), "{path}");
        assert_eq!(shown, r"\Signals\Sine", "{path}: English is the canonical form");
    }
    fs::remove_dir_all(&folder).unwrap();
}
